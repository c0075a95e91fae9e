"""Chat template as a setting: a file, or a plain format for models that have none."""

from __future__ import annotations

import logging
from pathlib import Path

from yaie.base.errors import ConfigError
from yaie.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

PLAIN = "plain"
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)


def set_chat_template(tokenizer: Tokenizer, wanted: str | None) -> None:
    """Give a tokenizer the template of a file, or the plain one if it has none.

    Raises `ConfigError` for a file that cannot be read.
    """
    if wanted is None or (wanted == PLAIN and tokenizer.has_chat_template):
        return
    if wanted == PLAIN:
        logger.warning("the model has no chat template; conversations are written plainly")
    tokenizer.hf.chat_template = PLAIN_TEMPLATE if wanted == PLAIN else _read(wanted)
    tokenizer.__dict__.pop("chat_template_fault", None)  # it was found for the other template


def _read(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(
            f"the chat template {path!r} cannot be read ({reason}); name a file, or {PLAIN!r}",
            param="chat_template",
        ) from None
    if not text.strip():
        raise ConfigError(f"the chat template {path!r} is empty", param="chat_template")
    return text
