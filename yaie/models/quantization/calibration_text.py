"""The text that `--calibrate` names: read, checked, and cut into token sequences. Torch-free."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yaie.errors import ConfigError, YaieError

if TYPE_CHECKING:
    from yaie.text.tokenizer import Tokenizer

LEAST_TOKENS = 2048
MOST_TOKENS = 8192
MOST_SEQUENCE = 1024  # tokens
_MOST_BYTES = 1024**2  # read of a file; tokens are shorter than 128 bytes


@dataclass(frozen=True, slots=True)
class CalibrationText:
    """The tokens of a text, and the token that begins each sequence."""

    tokens: tuple[int, ...]
    begin: tuple[int, ...]  # empty or one token

    def sequences(self, context_len: int) -> list[list[int]]:
        """Return the tokens in sequences of at most 1,024 tokens or the context."""
        length = max(1, min(MOST_SEQUENCE, context_len) - len(self.begin))
        starts = range(0, len(self.tokens), length)
        return [[*self.begin, *self.tokens[start : start + length]] for start in starts]


def read_calibration(file: str, folder: Path) -> CalibrationText:
    """Read a text with the tokenizer of a model folder.

    Raises `ConfigError` if it is unreadable, not in UTF-8, or shorter than 2,048 tokens.
    """
    text = _decode(file, _read(file))
    from yaie.text.tokenizer import load_tokenizer  # transformers, which a restore does without

    tokenizer = load_tokenizer(folder)
    try:
        tokens = tokenizer.encode(text, add_special_tokens=False)
    except YaieError as error:
        raise _unusable(file, f"cannot be tokenized: {error.message}") from error
    if len(tokens) < LEAST_TOKENS:
        raise _unusable(
            file,
            f"has {len(tokens):,} tokens of this model, and at least {LEAST_TOKENS:,} are needed; "
            "give a longer text",
        )
    return CalibrationText(tuple(tokens[:MOST_TOKENS]), _begin(tokenizer))


def calibration_digest(file: str | None) -> str | None:
    """Return the SHA-256 of a text's used part; None without a text. Raises `ConfigError`."""
    return None if file is None else hashlib.sha256(_read(file)).hexdigest()


def _read(file: str) -> bytes:
    try:
        with Path(file).expanduser().open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unusable(file, f"cannot be read ({reason}); name a text file in UTF-8") from error


def _decode(file: str, content: bytes) -> str:
    # A character may be cut at the end of the part that is read.
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(content, final=len(content) < _MOST_BYTES)
    except UnicodeDecodeError as error:
        raise _unusable(
            file, f"is not in UTF-8 (byte {error.start:,}); convert it, or name another file"
        ) from error


def _begin(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the token with which the tokenizer begins every text."""
    added = tokenizer.encode("")
    return tuple(added[:1]) if added and added[0] == tokenizer.bos_token_id else ()


def _unusable(file: str, why: str) -> ConfigError:
    return ConfigError(f"calibrate is {file!r}, which {why}", param="calibrate")
