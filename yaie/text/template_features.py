"""Features of a chat template: its abilities and variables, and the setting that names one."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, TemplateError, meta
from jinja2.ext import loopcontrols

from yaie.base.errors import ConfigError
from yaie.text.formats.output_format import detect_format
from yaie.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

PLAIN = "plain"
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)

_TRAINING_MARK = re.compile(r"\{%-?\s*(end)?generation\s*-?%\}")  # transformers' own tag

# Set by the renderer, or by separate request fields.
_SET_ELSEWHERE = frozenset(
    (
        "messages", "tools", "documents", "add_generation_prompt", "continue_final_message",
        "raise_exception", "strftime_now", "bos_token", "eos_token", "pad_token", "unk_token",
    )
)  # fmt: skip
_REASONING_MARKS = ("enable_thinking", "reasoning_effort", "reasoning_content", "</think>")


@dataclass(frozen=True, slots=True)
class TemplateAbilities:
    """Abilities by the chat template; all False without one."""

    chat: bool = False
    tools: bool = False  # the template shows tool definitions to the model
    reasoning: bool = False  # the template knows thoughts before an answer
    variables: tuple[str, ...] = ()  # for `chat_template_kwargs`
    tool_format: str | None = None  # tool-call format, as in `--tool-call-parser`


def abilities_of(tokenizer: Tokenizer, tool_call_parser: str = "auto") -> TemplateAbilities:
    """Return the abilities that the tokenizer's default chat template shows.

    `tool_call_parser` names the format of calls; "auto" finds it in the template.
    """
    if not tokenizer.has_chat_template:
        return TemplateAbilities()
    template = tokenizer.hf.chat_template
    text = template["default"] if isinstance(template, dict) else template
    names = free_variables(text)
    form = detect_format(text, tool_call_parser)
    return TemplateAbilities(
        chat=True,
        tools="tools" in names,
        reasoning=form.thinking is not None or any(mark in text for mark in _REASONING_MARKS),
        variables=tuple(sorted(names - _SET_ELSEWHERE - set(tokenizer.hf.special_tokens_map))),
        tool_format=form.syntax.name if form.syntax is not None and "tools" in names else None,
    )


@lru_cache(maxsize=16)  # parsed for every request otherwise
def free_variables(template: str) -> frozenset[str]:
    """Return the variables that a template reads and does not set; none for a broken one."""
    environment = Environment(extensions=[loopcontrols])
    try:
        tree = environment.parse(_TRAINING_MARK.sub("", template))
    except TemplateError:
        return frozenset()
    return frozenset(meta.find_undeclared_variables(tree))


def set_chat_template(tokenizer: Tokenizer, wanted: str | None) -> None:
    """Give a tokenizer the template of a file, or the plain one if it has none.

    Raises `ConfigError` for a file that cannot be read.
    """
    if wanted is None or (wanted == PLAIN and tokenizer.has_chat_template):
        return
    if wanted == PLAIN:
        logger.warning("the model has no chat template; conversations use the plain format")
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
