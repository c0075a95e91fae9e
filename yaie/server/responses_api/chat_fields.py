"""Fields of `/v1/responses` in the form of chats: checks, formats, and names in errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.checks import check_unused, list_reported, plain
from yaie.server.schemas.chat import FieldNames
from yaie.server.schemas.responses import ResponsesBody

LOGPROBS = "message.output_text.logprobs"
# `include` has effects on results of tools that other servers run, and on reasoning in secret form.
_WITHOUT_EFFECT = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
)
ENCRYPTED = "reasoning.encrypted_content"


def check_fields(body: ResponsesBody) -> None:
    """Raise for fields with values that this server does not support."""
    check_unused(body)
    if body.background and (body.store is False or not body.place.store.is_on):
        raise InvalidRequest(
            "background requires `store` to be true, since a background response is fetched from "
            "the store",
            param="background",
        )
    if body.truncation not in (None, "disabled", "auto"):
        raise InvalidRequest(
            f"truncation must be 'auto' or 'disabled', got {body.truncation[:40]!r}",
            param="truncation",
        )
    known = (*_WITHOUT_EFFECT, LOGPROBS, ENCRYPTED)
    for at, name in enumerate(body.include or ()):
        if name not in known:
            raise InvalidRequest(
                f"include[{at}] is {name[:60]!r}; it must be one of {', '.join(known)}",
                param=f"include[{at}]",
            )


def without_effect(body: ResponsesBody) -> list[str]:
    """Return the names of given fields without effect here."""
    names = [name for name in list_reported(body) if name in body.unused]
    if body.top_logprobs and LOGPROBS not in (body.include or ()):
        names.append("top_logprobs")
    if ENCRYPTED in (body.include or ()):
        names.append("include")
    if body.text is not None and body.text.verbosity not in (None, "medium"):
        names.append("text.verbosity")
    inner = {
        "text": None if body.text is None else body.text.model_extra,
        "reasoning": None if body.reasoning is None else body.reasoning.model_extra,
    }
    for parent, given in inner.items():
        names += [f"{parent}.{plain(name)}" for name, value in (given or {}).items() if value]
    return names


def chat_format(body: ResponsesBody) -> dict[str, Any] | None:
    """Return `text.format` as the `response_format` of a chat."""
    given = None if body.text is None else body.text.format
    if given is None or given.get("type") == "text":
        return None
    if given.get("type") != "json_schema":
        return given
    return {
        "type": "json_schema",
        "json_schema": {name: value for name, value in given.items() if name != "type"},
    }


NAMES = FieldNames(
    messages="input",
    max_tokens="max_output_tokens",
    function="",
    allowed_tools="tool_choice",
    response_format="text.format",
    json_schema="text.format",
)
_NAMES = {
    "response_format": "text.format",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "messages": "input",
}


def translate_name(field: str, places: Mapping[str, Sequence[str]] = MappingProxyType({})) -> str:
    """Return this API's name of a chat's field.

    `places`: where each message and each tool of the chat is here.
    """
    name, bracket, rest = field.partition("[")
    number, _, rest = rest.partition("]")
    if not bracket or name not in ("messages", "tools"):
        return _NAMES.get(field, field)
    found, at = places.get(name, ()), int(number)
    return (found[at] if at < len(found) else _NAMES.get(name, name)) + rest
