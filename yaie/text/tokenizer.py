"""`Tokenizer`: token ids from text and back, without torch.

The server and `LLM` load one per model; the engine never sees text. The `tokenizers` library does
the work and releases the interpreter lock; any thread may call it. A folder without
`tokenizer.json` is converted at each load, in a child process (`convert.py`).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from tokenizers import Encoding, decoders, normalizers
from tokenizers import Tokenizer as FastTokenizer

from yaie.base.errors import ContextLengthExceeded, InvalidRequest, ModelUnsupported
from yaie.base.json_reader import read_json_file
from yaie.process.spawn import module_command, module_environment
from yaie.text.convert import OLDER_FORMS, PROCESSOR_FILES, TOKENIZER

_CONVERT_LIMIT_S = 120
_START_CHARS = 16  # of a token; most tokens are shorter
# The rest of a text may change the last tokens of a start: a WordPiece word that is cut has up to
# 100, and one if it is whole.
_SETTLED_TOKENS = 128
_CUTTERS_THAT_KEEP_ALL = {"Sequence", "ByteLevel", "Split", "Digits", "Punctuation"}


# What a text is to its model; a text to embed and a document can be truncated. A long prompt may
# exceed the context: it is truncated, or its tokens are counted.
TextKind = Literal["prompt", "text", "query", "document", "long prompt"]


def tokens_of(name: str, number: int | str) -> str:
    """Return the clause that a prompt, by its name in errors, has a number of tokens."""
    return f"{name} has {number} tokens"


def too_long(
    name: str, least: int, max_tokens: int, kind: TextKind = "prompt"
) -> ContextLengthExceeded:
    """Return the refusal of a text, by its name in errors, with at least `least` tokens."""
    number = tokens_of(name, f"at least {least}")
    if kind == "long prompt":
        return ContextLengthExceeded(
            f"{number}; at most {max_tokens} are counted or truncated; send it in parts",
            param=name,
        )
    fix = ', or set "truncate": true' if kind in ("text", "document") else ""
    return ContextLengthExceeded(
        f"this model's maximum context length is {max_tokens} tokens, but "
        f"{number}, so the {kind} is too long; shorten it{fix}",
        param=name,
    )


def _check_number(least: int, max_tokens: int | None, name: str, kind: TextKind) -> None:
    if max_tokens is not None and least > max_tokens:
        raise too_long(name, least, max_tokens, kind)


def encode_start(encode: Callable[[str], list[int]], text: str, longest: int) -> list[int]:
    """Return the token ids of `text`, or of a start of it that has well above `longest`.

    A text that is cut to the context is not encoded whole: megabytes take seconds and a gigabyte.
    The last tokens of a start may differ from the text's, so the start has some more.
    """
    num_chars = _START_CHARS * longest
    while num_chars < len(text):
        ids = encode(text[:num_chars])
        if len(ids) > longest + _SETTLED_TOKENS:
            return ids
        num_chars *= 4
    return encode(text)


class Tokenizer:
    """A model's tokenizer: encoding, decoding, and the bytes of single tokens."""

    def __init__(self, hf: Any, path: Path) -> None:
        self.hf = hf  # transformers' wrapper: special tokens and the chat template
        self.path = path
        self.fast: FastTokenizer = hf.backend_tokenizer
        # Set before any thread uses it: a prompt is never truncated or padded.
        self.fast.no_truncation()
        self.fast.no_padding()
        self._bytes: dict[int, bytes] = {}

    def encode(
        self,
        text: str,
        add_special_tokens: bool = True,
        max_tokens: int | None = None,
        name: str = "prompt",
        kind: TextKind = "prompt",
    ) -> list[int]:
        """Return the token ids of `text`.

        Raises `InvalidRequest` for text that UTF-8 cannot encode, and, before the long encoding of
        megabytes, `ContextLengthExceeded` for text with many more than `max_tokens`.
        A long prompt is refused with one more than `max_tokens`. `name` is the text's name in
        errors.
        """
        self._check_text(text, max_tokens, name, kind)
        # The call for a single text would keep the interpreter lock.
        batch = self.fast.encode_batch_fast([text], add_special_tokens=add_special_tokens)
        ids: list[int] = batch[0].ids
        if kind == "long prompt":
            _check_number(len(ids), max_tokens, name, kind)
        return ids

    def encode_pair(self, first: str, second: str) -> Encoding:
        """Return the encoding of two texts as the tokenizer joins them, with special tokens.

        Raises `InvalidRequest` for text that UTF-8 cannot encode.
        """
        for text in (first, second):
            self._check_text(text, None, "prompt")
        return self.fast.encode_batch([(first, second)])[0]

    def encode_pieces(
        self,
        pieces: Sequence[str],
        max_tokens: int | None = None,
        name: str = "prompt",
        kind: TextKind = "prompt",
    ) -> list[int]:
        """Return the token ids of a text in pieces; no token spans two. Raises as `encode`."""
        if len(pieces) == 1:
            return self.encode(pieces[0], False, max_tokens, name, kind)
        self._check_text("".join(pieces), max_tokens, name, kind)
        anchor = self._anchor
        texts = [pieces[0], *(anchor + piece for piece in pieces[1:])]
        found = self.fast.encode_batch_fast([anchor, *texts], add_special_tokens=False)
        before, first, *others = (each.ids for each in found)
        ids: list[int] = list(first)
        for piece, its in zip(pieces[1:], others, strict=True):
            is_kept = its[: len(before)] == before
            ids += its[len(before) :] if is_kept else self.encode(piece, False)
        if kind == "long prompt":
            _check_number(len(ids), max_tokens, name, kind)
        return ids

    @cached_property
    def _anchor(self) -> str:
        """Text before a later piece, where the tokenizer begins each text with a space."""
        first, alone = (self.encode(text, False) for text in ("\nx", "x"))
        return "" if first[-len(alone) :] == alone else "\n"

    def _check_text(
        self, text: str, max_tokens: int | None, name: str, kind: TextKind = "prompt"
    ) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                "the text has an unpaired surrogate, which is not a character; send valid Unicode",
                param=name,
            ) from None
        if max_tokens is not None:
            _check_number(self._count_some(text, max_tokens), max_tokens, name, kind)

    def _count_some(self, text: str, max_tokens: int) -> int:
        """Return a lower bound for the number of tokens in `text`, at little cost.

        It exceeds `max_tokens` if the text has many more. Megabytes take a thread ten seconds, so
        longer and longer starts are encoded first.
        """
        if (least := self._least_tokens(text)) > max_tokens:
            return least
        num_chars = _START_CHARS * max_tokens
        while num_chars < len(text) and least <= max_tokens:
            start = text[:num_chars].rstrip()  # a token may absorb the spaces before it
            batch = self.fast.encode_batch_fast([start], add_special_tokens=False)
            least = len(batch[0].ids) - _SETTLED_TOKENS
            num_chars *= 4
        return least

    def most_chars(self, max_tokens: int) -> int | None:
        """Return a number of characters that certainly have more tokens; None if unknown."""
        # NFC composes one character from up to four.
        return 4 * max_tokens * self._longest_token if self._keeps_all_bytes else None

    def _least_tokens(self, text: str) -> int:
        """Return a lower bound for the number of tokens in `text`; 0 if unknown."""
        if not self._keeps_all_bytes:
            return 0
        normalizer = self.fast.normalizer
        if isinstance(normalizer, normalizers.NFC):
            # unicodedata is quadratic in the length of a run of combining marks.
            text = normalizer.normalize_str(text)
        elif normalizer is not None:
            return 0
        return -(-len(text.encode()) // self._longest_token)

    @cached_property
    def _keeps_all_bytes(self) -> bool:
        """True if a text's tokens contain all its bytes."""
        if not self.is_byte_level:
            return False
        added = self.fast.get_added_tokens_decoder().values()
        if any(token.lstrip or token.rstrip for token in added):
            return False  # such a token absorbs any number of spaces
        cutters = self.fast.pre_tokenizer.__getstate__() if self.fast.pre_tokenizer else b""
        kinds = {kind.decode() for kind in re.findall(rb'"type":\s*"(\w+)"', cutters)}
        if b"Removed" in cutters or not kinds <= _CUTTERS_THAT_KEEP_ALL:
            return False
        return _BYTE_OF_CHAR.keys() <= self.fast.get_vocab(with_added_tokens=False).keys()

    @cached_property
    def _longest_token(self) -> int:
        """Bytes of the longest token; a character of a byte-level token is one byte."""
        added = (token.content for token in self.fast.get_added_tokens_decoder().values())
        return max(
            max(map(len, self.fast.get_vocab(with_added_tokens=False)), default=1),
            max((len(content.encode()) for content in added), default=1),
        )

    def decode(self, ids: list[int] | tuple[int, ...], skip_special_tokens: bool = True) -> str:
        """Return the text of `ids` as a whole; unfinished characters become U+FFFD."""
        text: str = self.fast.decode(list(ids), skip_special_tokens=skip_special_tokens)
        return text

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that one token adds to the text; empty for an unknown id."""
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self.bytes_of(token_id)
        return found

    def bytes_of(self, token_id: int) -> bytes:
        """Return the same as `token_bytes`, without keeping it."""
        token = self.fast.id_to_token(token_id)
        if token is None:
            return b""
        if self.is_byte_level:
            try:
                return bytes(_BYTE_OF_CHAR[char] for char in token)
            except KeyError:  # an added token is plain text
                return str(token).encode()
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            return bytes([int(token[3:5], 16)])
        return str(token).replace("▁", " ").encode()

    @cached_property
    def is_byte_level(self) -> bool:
        """True if text is the concatenation of the tokens' bytes."""
        return isinstance(self.fast.decoder, decoders.ByteLevel)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Tokens that `skip_special_tokens` omits."""
        added = self.fast.get_added_tokens_decoder()
        return frozenset(token_id for token_id, token in added.items() if token.special)

    @cached_property
    def marker_ids(self) -> dict[str, int]:
        """Added tokens by text: markers that are single tokens."""
        added = self.fast.get_added_tokens_decoder()
        return {token.content: token_id for token_id, token in added.items()}

    @cached_property
    def vocab_size(self) -> int:
        """Number of tokens, added ones included."""
        return int(self.fast.get_vocab_size(with_added_tokens=True))

    @property
    def eos_token_id(self) -> int | None:
        """End-of-text token, if the tokenizer names one."""
        token_id: int | None = self.hf.eos_token_id
        return token_id

    @property
    def bos_token_id(self) -> int | None:
        """Begin-of-text token, if the tokenizer names one."""
        token_id: int | None = self.hf.bos_token_id
        return token_id

    @property
    def has_chat_template(self) -> bool:
        """True if conversations can be rendered."""
        return self.chat_template_fault is None

    @cached_property
    def chat_template_fault(self) -> str | None:
        """Description of a missing or unusable chat template; None if it is usable."""
        template = self.hf.chat_template
        if not template:
            return "no chat template"
        texts = template.values() if isinstance(template, dict) else (template,)
        for text in texts:
            if not isinstance(text, str):
                return f"a chat template that is not text: {str(text)[:80]!r}"
        return None


def load_tokenizer(path: Path) -> Tokenizer:
    """Load the tokenizer of the model folder `path`.

    Raises `ModelUnsupported` if it is missing or unsupported by the `tokenizers` library.
    """
    path = Path(path)
    if (path / TOKENIZER).is_file():
        return Tokenizer(_read(path, path), path)
    if not any(file for form in OLDER_FORMS for file in path.glob(form)):
        raise ModelUnsupported(
            f"{path} has no tokenizer.json and no file to convert ({', '.join(OLDER_FORMS)}); "
            f"copy the model's tokenizer into it"
        )
    with tempfile.TemporaryDirectory(prefix="yaie-tokenizer-") as converted:
        try:
            done = subprocess.run(
                module_command("yaie.text.convert", str(path), converted),
                env=module_environment(),
                capture_output=True,
                text=True,
                timeout=_CONVERT_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ModelUnsupported(
                f"the tokenizer in {path} was not converted within {_CONVERT_LIMIT_S} s; "
                "save it as tokenizer.json and retry"
            ) from None
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise ModelUnsupported(
                f"{path} has no tokenizer.json, and its tokenizer could not be converted to one: "
                f"{reason[0]}"
            )
        return Tokenizer(_read(Path(converted), path), path)


def _read(path: Path, folder: Path) -> Any:
    """Return transformers' tokenizer of a path, for the model in a folder."""
    # Imported late, as it takes a second. AutoTokenizer would import the model configurations, and
    # those import torch.
    from transformers import PreTrainedTokenizerFast

    try:
        hf = PreTrainedTokenizerFast.from_pretrained(str(path), local_files_only=True)
    except Exception as error:  # the Rust reader raises plain Exception
        raise ModelUnsupported(f"the tokenizer in {path} cannot be read: {error}") from error
    hf.chat_template = hf.chat_template or _template_of_processor(folder)
    return hf


def _template_of_processor(folder: Path) -> str | None:
    """Return the chat template that a vision model stores next to its tokenizer."""
    for name in PROCESSOR_FILES:
        try:
            template = read_json_file(folder / name)["chat_template"]
        except (OSError, ValueError, LookupError, TypeError):
            continue  # absent, or without one
        if isinstance(template, str):
            return template
    return None


def _byte_of_char() -> dict[str, int]:
    """Return the byte-level alphabet: printable bytes map to themselves, other bytes move up."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in printable]
    chars = {chr(byte): byte for byte in printable}
    return chars | {chr(256 + place): byte for place, byte in enumerate(moved)}


_BYTE_OF_CHAR = _byte_of_char()
