"""Calibration text: reads and checks the `--calibrate` text, and cuts it into token sequences.

Torch-free.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import logging
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaie.base.errors import ConfigError, TemplateTooCostly, YaieError

if TYPE_CHECKING:
    from yaie.text.chat_template import ChatTemplate
    from yaie.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

LEAST_TOKENS = 2048
MOST_TOKENS = 8192
MOST_SEQUENCE = 1024  # tokens
DEFAULT = Path(__file__).with_name("calibration.toml")
_MOST_BYTES = 1024**2  # read of a file; tokens are shorter than 128 bytes


@dataclass(frozen=True, slots=True)
class CalibrationText:
    """A text's tokens, and the token that begins each sequence."""

    tokens: tuple[int, ...]
    begin: tuple[int, ...]  # empty or one token
    is_default: bool = False  # the text of the package

    def sequences(self, context_len: int, num_tokens: int = MOST_TOKENS) -> list[list[int]]:
        """Return the first tokens in sequences no longer than 1,024 tokens or the context."""
        length = max(1, min(MOST_SEQUENCE, context_len) - len(self.begin))
        tokens = self.tokens[:num_tokens]
        starts = range(0, len(tokens), length)
        return [[*self.begin, *tokens[start : start + length]] for start in starts]


def read_calibration(file: str | None, folder: Path) -> CalibrationText | None:
    """Read a text, or the package's text, with a model folder's tokenizer.

    Without a tokenizer the package's text is None, with a warning. Raises `ConfigError` if the
    user's text is unreadable, not UTF-8, or shorter than 2,048 tokens.
    """
    if file is None:
        return _read_default(folder)
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
            f"has {len(tokens):,} tokens of this model, but needs at least {LEAST_TOKENS:,}; "
            "give a longer text",
        )
    return CalibrationText(tuple(tokens[:MOST_TOKENS]), _begin(tokenizer))


def calibration_digest(file: str | None) -> str:
    """Return the SHA-256 of the text that calibration uses. Raises `ConfigError`."""
    return hashlib.sha256(_read(str(DEFAULT) if file is None else file)).hexdigest()


def _read_default(folder: Path) -> CalibrationText | None:
    """Read the package's text. Chats pass the model's template; without one they are plain."""
    from yaie.text.chat_template import ChatTemplate
    from yaie.text.template_renderer import RENDERER
    from yaie.text.tokenizer import load_tokenizer

    try:
        tokenizer = load_tokenizer(folder)
    except YaieError as error:
        log.warning("int4 is not calibrated: %s", error.message)
        return None
    template: ChatTemplate | None = ChatTemplate(tokenizer)
    try:
        ChatTemplate(tokenizer).check()
    except TemplateTooCostly:
        template = None
    tokens: list[int] = []
    for part in tomllib.loads(DEFAULT.read_text(encoding="utf-8"))["part"]:
        tokens += _render(part, tokenizer, template)
    RENDERER.close()
    return CalibrationText(tuple(tokens[:MOST_TOKENS]), _begin(tokenizer), is_default=True)


def _render(part: dict[str, Any], tokenizer: Tokenizer, template: ChatTemplate | None) -> list[int]:
    if "text" in part:
        return tokenizer.encode(part["text"], add_special_tokens=False)
    messages = part["messages"]
    if template is not None:
        with contextlib.suppress(YaieError):  # e.g. from a template without system messages
            return template.render(messages, add_generation_prompt=False)
    text = "".join(f"{each['role']}: {each['content']}\n\n" for each in messages)
    return tokenizer.encode(text, add_special_tokens=False)


def _read(file: str) -> bytes:
    try:
        with Path(file).expanduser().open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unusable(file, f"cannot be read ({reason}); give a UTF-8 text file") from error


def _decode(file: str, content: bytes) -> str:
    # The limit may cut the last character.
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(content, final=len(content) < _MOST_BYTES)
    except UnicodeDecodeError as error:
        raise _unusable(
            file, f"is not UTF-8 (byte {error.start:,}); convert it, or give another file"
        ) from error


def _begin(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the token with which the tokenizer begins every text."""
    added = tokenizer.encode("")
    return tuple(added[:1]) if added and added[0] == tokenizer.bos_token_id else ()


def _unusable(file: str, why: str) -> ConfigError:
    return ConfigError(f"calibrate is {file!r}, which {why}", param="calibrate")
