"""Features of a chat template: its abilities and variables, and the setting that names one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from yaie.base.errors import ConfigError, InvalidRequest
from yaie.text.formats.json_calls import JsonCalls
from yaie.text.formats.output_format import detect_format
from yaie.text.template_renderer import RENDERER, template_parts
from yaie.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

PLAIN = "plain"
PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message.role | capitalize }}: {{ message.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)

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
    tools: bool = False  # the model sees tool definitions, by its template or as text
    reasoning: bool = False  # the template knows thoughts before an answer
    variables: tuple[str, ...] = ()  # for `chat_template_kwargs`
    tool_format: str | None = None  # tool-call format, as in `--tool-call-parser`


def abilities_of(tokenizer: Tokenizer, tool_call_parser: str = "auto") -> TemplateAbilities:
    """Return the abilities that the tokenizer's chat templates show.

    `tool_call_parser` names the format of calls; "auto" finds it in the template.
    """
    if not tokenizer.has_chat_template:
        return TemplateAbilities()
    text = template_source(tokenizer)
    names = template_parts(text).variables
    form = detect_format(text, tool_call_parser)
    tools = "tools" in names or isinstance(form.syntax, JsonCalls)
    return TemplateAbilities(
        chat=True,
        tools=tools,
        reasoning=form.thinking is not None or any(mark in text for mark in _REASONING_MARKS),
        variables=tuple(sorted(names - _SET_ELSEWHERE - set(tokenizer.hf.special_tokens_map))),
        tool_format=form.syntax.name if form.syntax is not None and tools else None,
    )


def template_source(tokenizer: Tokenizer) -> str:
    """Return the template's text, or the text of all named templates."""
    template = tokenizer.hf.chat_template or ""
    if isinstance(template, dict):
        return "\n".join(map(str, template.values()))
    return str(template)


def choose_template(template: str | Mapping[str, str], *, with_tools: bool) -> str:
    """Return the text of a template, or of the named template for a conversation.

    `tool_use` is for conversations with tools; others get `default`, or the first one that expects
    neither tools nor documents.
    """
    if isinstance(template, str):
        return template
    if with_tools and "tool_use" in template:
        return template["tool_use"]
    others = (name for name in template if name not in ("tool_use", "rag"))
    names = ("default", *others, "tool_use", "rag")
    return next(template[name] for name in names if name in template)


def set_chat_template(tokenizer: Tokenizer, wanted: str | None) -> None:
    """Give a tokenizer the template of a file, or the plain one if it has none.

    Starts the process that renders it. Raises `ConfigError` for a file that cannot be read.
    """
    if wanted is not None or tokenizer.hf.chat_template:
        RENDERER.start()
    if wanted is None or (wanted == PLAIN and tokenizer.has_chat_template):
        return
    if wanted == PLAIN:
        logger.warning("the model has no chat template; conversations use the plain format")
    tokenizer.hf.chat_template = PLAIN_TEMPLATE if wanted == PLAIN else _read(wanted)
    tokenizer.__dict__.pop("chat_template_fault", None)  # it was found for the other template


def with_template(tokenizer: Tokenizer, text: str) -> Tokenizer:
    """Return a tokenizer like this one with another chat template.

    Raises `InvalidRequest` for a template that is not text with Jinja tags.
    """
    if not isinstance(text, str) or "{" not in text:
        raise InvalidRequest(
            "chat_template must be a Jinja template as text; for a file give its content",
            param="chat_template",
        )
    hf = copy(tokenizer.hf)
    hf.chat_template = text
    return Tokenizer(hf, tokenizer.path)


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
