"""The tokenizer of a GGUF file, as a fast tokenizer of the `tokenizers` library. Torch-free.

Three kinds: byte-level BPE ("gpt2"), whose file names its pre-tokenizer, SentencePiece ("llama"),
which merges the pair with the best score first, and Gemma 4's, which has SentencePiece's tokens and
merges in a stated order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors

from yaie.base.errors import ModelUnsupported, first_line
from yaie.models.files.gguf.header import GgufFile
from yaie.models.files.gguf.pretokenizers import PRE_TOKENIZERS, PreTokenizer

# Types of tokens in a file.
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 2, 3, 4, 5
_SPACE = "▁"  # of SentencePiece
# Ends of a turn or a text, by which chats end whatever the file names as its end. Converters write
# some of them as plain or user-defined tokens; they are control tokens here.
_ENDS = (
    *("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
    *("<end_of_turn>", "<end_of_utterance>", "<|end|>", "<|EOT|>", "<EOT>", "_<EOT>", "[EOT]"),
    *("<|return|>", "<|call|>", "<turn|>", "[e~["),  # gpt-oss, Gemma 4, MiniMax-M2
    "<｜end▁of▁sentence｜>",  # DeepSeek's
)
# In gpt-oss it ends a part of an answer; these end the answer.
_END_OF_PART, _ENDS_OF_ANSWERS = "<|end|>", {"<|return|>", "<|call|>"}
_END_OF_SENTENCE = "</s>"  # also HTML, which other vocabularies hold as a plain token


_Merges = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer, and its settings as `tokenizer_config.json` has them."""

    tokenizer: Tokenizer
    settings: dict[str, Any]
    ends: list[int]  # end-of-text tokens, ascending


def read_vocabulary(file: GgufFile) -> Vocabulary:
    """Return the tokenizer of a file.

    Raises `ModelUnsupported` for a damaged one, and for an unsupported kind or pre-tokenizer.
    """
    tokens = _Tokens(file)
    kind = str(file.metadata.get("tokenizer.ggml.model"))
    if kind == "gpt2":
        pre, tokenizer = _byte_level(tokens)
        adds_bos = pre.adds_bos
    elif kind in ("llama", "gemma4"):
        merges = None if kind == "llama" else _merges(tokens)
        tokenizer, adds_bos = _sentencepiece(tokens, merges), True
    else:
        raise ModelUnsupported(
            f"{file.path} has a tokenizer of the kind {kind[:80]!r}, and gpt2, llama and "
            f"gemma4 are supported; use the model's safetensors folder instead"
        )
    tokenizer.add_special_tokens(tokens.added(special=True))
    tokenizer.add_tokens(tokens.added(special=False))
    _add_ends(tokenizer, tokens, adds_bos)
    return Vocabulary(tokenizer, _settings(tokens), _ends(tokens))


class _Tokens:
    """The tokens of a file and their types, by id."""

    def __init__(self, file: GgufFile) -> None:
        self.file = file
        self.texts = self._list("tokens", str)
        types = self.get("token_type")
        if not isinstance(types, np.ndarray | list | None):
            raise self.damaged("its types of tokens are no list")
        try:
            self.types = [1] * len(self.texts) if types is None else list(map(int, types))
        except (ValueError, OverflowError):
            raise self.damaged("its types of tokens hold other values") from None
        if len(self.types) != len(self.texts):
            raise self.damaged(f"{len(self.types)} types of {len(self.texts)} tokens")
        ends = set(_ENDS)
        self.types = [
            _CONTROL if text in ends else kind
            for text, kind in zip(self.texts, self.types, strict=True)
        ]

    def get(self, key: str) -> Any:
        """Return an entry of the tokenizer's metadata, or None."""
        return self.file.metadata.get(f"tokenizer.ggml.{key}")

    def strings(self, key: str) -> list[str]:
        """Return a list of texts. Raises `ModelUnsupported` if it is missing."""
        return self._list(key, str)

    def scores(self) -> list[float]:
        """Return the score of each token."""
        scores = self.get("scores")
        if not isinstance(scores, np.ndarray) or len(scores) != len(self.texts):
            raise self.damaged("it lacks a score for each token")
        return [float(score) for score in scores]

    def vocabulary(self) -> dict[str, int]:
        """Return ids by text, without filling; of equal texts the first."""
        found: dict[str, int] = {}
        for token_id, text in enumerate(self.texts):
            if not self._is_filling(token_id):
                found.setdefault(text, token_id)
        return found

    def added(self, *, special: bool) -> list[AddedToken]:
        """Return the tokens that are found in a text before it is split."""
        wanted = (_CONTROL, _UNKNOWN) if special else (_USER_DEFINED,)
        return [
            AddedToken(text, special=special, normalized=False)
            for token_id, text in enumerate(self.texts)
            if self.types[token_id] in wanted and text and not self._is_filling(token_id)
        ]

    def id_of(self, name: str) -> int | None:
        """Return the id of the token with a role: bos, eos, unknown, ..."""
        token_id = self.get(f"{name}_token_id")
        if type(token_id) is not int or not 0 <= token_id < len(self.texts):
            return None
        return token_id

    def damaged(self, why: str) -> ModelUnsupported:
        """Return the error for a damaged tokenizer."""
        return ModelUnsupported(
            f"the tokenizer in {self.file.path} is damaged: {why}; download the file again",
            code="model_damaged",
        )

    def _list(self, key: str, kind: type[str]) -> list[str]:
        found = self.get(key)
        if not isinstance(found, list) or not found or not isinstance(found[0], kind):
            raise self.damaged(f"it has no {key}")
        return found

    def _is_filling(self, token_id: int) -> bool:
        """Return True for a place that fills the vocabulary up; older files call it a token."""
        return self.types[token_id] == _UNUSED or self.texts[token_id] == f"[PAD{token_id}]"


def _byte_level(tokens: _Tokens) -> tuple[PreTokenizer, Tokenizer]:
    name = tokens.get("pre")
    pre = PRE_TOKENIZERS.get(str(name))
    if pre is None:
        stated = "names no pre-tokenizer (tokenizer.ggml.pre)" if name is None else ""
        stated = stated or f"has the pre-tokenizer {str(name)[:80]!r}"
        raise ModelUnsupported(
            f"{tokens.file.path} {stated}, and its texts would be split wrongly; supported are "
            f"{', '.join(PRE_TOKENIZERS)}; use the model's safetensors folder instead"
        )
    vocabulary = tokens.vocabulary()
    tokenizer = _bpe(tokens, vocabulary, _merges(tokens), ignore_merges=pre.ignores_merges)
    tokenizer.normalizer = pre.normalizer()
    tokenizer.pre_tokenizer = pre.splitter()
    tokenizer.decoder = decoders.ByteLevel()
    return pre, tokenizer


def _bpe(tokens: _Tokens, vocabulary: dict[str, int], merges: _Merges, **options: Any) -> Tokenizer:
    try:
        return Tokenizer(models.BPE(vocab=vocabulary, merges=merges, **options))
    except Exception as error:  # the Rust library raises plain Exception
        raise tokens.damaged(first_line(error)) from None


def _merges(tokens: _Tokens) -> _Merges:
    return [_pair(tokens, merge) for merge in tokens.strings("merges")]


def _pair(tokens: _Tokens, merge: str) -> tuple[str, str]:
    left, space, right = merge[1:].partition(" ")  # the first token may be a space
    if not space or not right:
        raise tokens.damaged(f"{merge[:80]!r} is not a merge of two tokens")
    return merge[0] + left, right


def _sentencepiece(tokens: _Tokens, merges: _Merges | None) -> Tokenizer:
    """Return a tokenizer of texts with visible spaces; without merges, the scores order them."""
    vocabulary = tokens.vocabulary()
    if merges is None:
        merges = _merges_by_score(vocabulary, tokens.scores())
    unknown = tokens.texts[tokens.id_of("unknown") or 0]
    options = {"unk_token": unknown, "fuse_unk": True, "byte_fallback": True}
    tokenizer = _bpe(tokens, vocabulary, merges, **options)
    spaces: list[normalizers.Normalizer] = [normalizers.Replace(" ", _SPACE)]
    steps = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if tokens.get("add_space_prefix") is not False:
        spaces.insert(0, normalizers.Prepend(_SPACE))
        steps.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(spaces)
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _merges_by_score(vocabulary: Mapping[str, int], scores: list[float]) -> _Merges:
    """Return each way to merge two tokens to a third, the best scores first."""
    found = []
    for text, token_id in vocabulary.items():
        ways = [
            (vocabulary[left], vocabulary[right], left, right)
            for cut in range(1, len(text))
            if (left := text[:cut]) in vocabulary and (right := text[cut:]) in vocabulary
        ]
        found += [(-scores[token_id], left, right) for _, _, left, right in sorted(ways)]
    found.sort(key=lambda merge: merge[0])
    return [(left, right) for _, left, right in found]


def _add_ends(tokenizer: Tokenizer, tokens: _Tokens, adds_bos: bool) -> None:
    """Make the tokenizer begin and end a text with tokens, if the file asks for it."""
    pieces, special = ["$A"], []
    for name, default in (("bos", adds_bos), ("eos", False)):
        wanted, token_id = tokens.get(f"add_{name}_token"), tokens.id_of(name)
        if (wanted if type(wanted) is bool else default) and token_id is not None:
            pieces.insert(0 if name == "bos" else len(pieces), tokens.texts[token_id])
            special.append((tokens.texts[token_id], token_id))
    if special:
        template = [piece if piece == "$A" else f"{piece}:0" for piece in pieces]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, pair=[*template, "$B:1"], special_tokens=special
        )


def _settings(tokens: _Tokens) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    for role, name in roles.items():
        token_id = tokens.id_of(name)
        if token_id is not None:
            found[f"{role}_token"] = tokens.texts[token_id]
    template = _text(tokens, "tokenizer.chat_template")
    others = tokens.file.metadata.get("tokenizer.chat_templates")
    named = [
        {"name": name, "template": text}
        for name in (others if isinstance(others, list) else [])
        if (text := _text(tokens, f"tokenizer.chat_template.{name}"))
    ]
    default = [{"name": "default", "template": template}] if template else []
    if chat_template := template if not named else [*default, *named]:
        found["chat_template"] = chat_template
    return found


def _text(tokens: _Tokens, key: str) -> str | None:
    found = tokens.file.metadata.get(key)
    return found if isinstance(found, str) else None


def _ends(tokens: _Tokens) -> list[int]:
    stated = {tokens.id_of(name) for name in ("eos", "eot", "eom")}
    ends = {*_ENDS, _END_OF_SENTENCE}
    if set(tokens.texts) >= _ENDS_OF_ANSWERS:
        ends.remove(_END_OF_PART)
    known = {
        token_id
        for token_id, text in enumerate(tokens.texts)
        if text in ends and tokens.types[token_id] == _CONTROL
    }
    return sorted(known | {token_id for token_id in stated if token_id is not None})
