"""Translation of a `ResponsesBody` to a chat's call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from yaie.base.errors import ContextLengthExceeded, InvalidRequest
from yaie.server.http.body import refusal
from yaie.server.requests.call import Call
from yaie.server.requests.checks import check_common, rename_field
from yaie.server.requests.comparison import read_response_id
from yaie.server.requests.token_counts import Tokens
from yaie.server.requests.translator import Translator
from yaie.server.responses_api.chat_fields import (
    LOGPROBS,
    NAMES,
    chat_format,
    chat_tools,
    check_fields,
    translate_name,
    without_effect,
)
from yaie.server.responses_api.chat_messages import Messages
from yaie.server.responses_api.items import new_id, read_items
from yaie.server.responses_api.output_items import OutputItems
from yaie.server.responses_api.response_store import Item, Link
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.responses import ResponsesBody
from yaie.server.schemas.tokens import ResponseInputTokens
from yaie.text.output_parts import Part

# Fields with the same name and meaning in a chat.
_SHARED = (
    "model",
    "stream",
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "user",
)


class PreviousNotFound(InvalidRequest):
    """The response named by `previous_response_id` is not stored."""

    code = "previous_response_not_found"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request for a response: its body, its items, and the conversation before them."""

    body: ResponsesBody
    items: Sequence[Item]
    before: Link | None

    @property
    def is_stored(self) -> bool:
        """True if the response is to be stored."""
        return self.body.store is not False and self.body.place.store.is_on


def respond(translator: Translator, body: ResponsesBody) -> Call:
    """Translate a request for a response. Raises `InvalidRequest` or a subclass."""
    turn, messages = _turn(body)
    with _names_of(messages):
        call = _fitting(translator, body, messages)
    names = [translate_name(name) for name in call.ignored] + without_effect(body)
    if body.store and not turn.is_stored:
        names.append("store")
    response_id = new_id("resp")
    next_turn = call.next_turn
    return replace(
        call,
        next_turn=next_turn and replace(next_turn, sent_back=_send_back, names_results=True),
        response_id=response_id,
        requests=tuple(replace(each, request_id=response_id) for each in call.requests),
        ignored=tuple(names),
        body=turn,
        is_compared=body.prompt_cache_options is not None,
        compared_with=read_response_id(
            body.prompt_cache_options, "prompt_cache_options", "comparison_response_id"
        ),
    )


def _send_back(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return an answer as the messages that its output items become in the next turn."""
    items = OutputItems()
    for _ in items.push(parts):
        pass  # events
    for _ in items.end("completed"):
        pass
    messages = Messages(None)
    messages.add(items.items(), "output", is_numbered=False)
    return messages.messages


def count_response_tokens(translator: Translator, body: ResponsesBody) -> Tokens:
    """Return the number of input tokens that a request for a response would have."""
    _, messages = _turn(body)
    with _names_of(messages):
        chat = _chat_body(body, messages.messages)
        if body.truncation == "auto":
            number = len(_fitting(translator, body, messages).requests[0].prompt_token_ids)
        else:
            check_common(chat)
            number = len(translator.chat_prompt(chat))
    names = [translate_name(name) for name in translator.list_ignored(chat)] + without_effect(body)
    return Tokens(ResponseInputTokens(input_tokens=number), tuple(names))


def chat_of_response(body: ResponsesBody) -> tuple[ChatBody, list[str]]:
    """Return the chat with the same prompt, and the field that each of its messages comes from."""
    _, messages = _turn(body)
    with _names_of(messages):
        return _chat_body(body, messages.messages), list(messages.sources)


def _turn(body: ResponsesBody) -> tuple[Turn, Messages]:
    """Return the turn of a checked body, and its conversation as messages."""
    check_fields(body)
    place = body.place
    items = read_items(body.input, lambda item_id: place.store.item(place.tenant, item_id))
    turn = Turn(body, items, _conversation(body))
    messages = Messages(body.instructions)
    if turn.before is not None:
        messages.add(turn.before.items(), "previous_response_id", is_numbered=False)
    messages.add(items, "input", is_numbered=not isinstance(body.input, str))
    return turn, messages


def _fitting(translator: Translator, body: ResponsesBody, messages: Messages) -> Call:
    """Return the call; `truncation` "auto" keeps the most turns that fit the context."""
    try:
        return translator.chat(_chat_body(body, messages.messages))
    except ContextLengthExceeded:
        places = messages.later_turns() if body.truncation == "auto" else []
        if not places:
            raise
    # A shorter conversation fits if a longer one does: search for the first place that does.
    low, high = 0, len(places) - 1
    call: Call | None = None
    while low < high or call is None:
        middle = (low + high) // 2
        try:
            call = translator.chat(_chat_body(body, messages.since(places[middle])))
            high = middle
        except ContextLengthExceeded:
            if middle == len(places) - 1:
                raise  # the last turn alone
            low = middle + 1
    return call


@contextmanager
def _names_of(messages: Messages) -> Iterator[None]:
    """Give errors of a chat the names of this API's fields."""
    try:
        yield
    except ValidationError as error:
        raise _translate_error(refusal(error), messages.sources) from None
    except InvalidRequest as error:
        raise _translate_error(error, messages.sources) from None


def _conversation(body: ResponsesBody) -> Link | None:
    """Return the conversation that the request continues."""
    previous = body.previous_response_id
    if previous is None:
        return None
    link: Link | None = body.place.store.link(body.place.tenant, previous)
    if link is None:
        raise PreviousNotFound(
            f"previous_response_id {previous[:80]!r} is not stored or has expired; send the whole "
            f"conversation as input",
            param="previous_response_id",
        )
    return link


def _chat_body(body: ResponsesBody, messages: list[dict[str, Any]]) -> ChatBody:
    """Return the body of a chat. Raises pydantic's `ValidationError`, as for extensions."""
    tools, tool_choice = chat_tools(body)
    extra = (body.model_extra or {}).items()
    fields = {name: value for name, value in extra if name not in body.unused}
    fields.update({name: getattr(body, name) for name in _SHARED})
    fields.update(
        messages=messages,
        max_completion_tokens=body.max_output_tokens,
        tools=tools,
        tool_choice=tool_choice,
        response_format=chat_format(body),
        reasoning_effort=None if body.reasoning is None else body.reasoning.effort,
    )
    if LOGPROBS in (body.include or ()):
        fields.update(logprobs=True, top_logprobs=body.top_logprobs or 0)
    given = {name: value for name, value in fields.items() if value is not None}
    return ChatBody.model_validate(given).with_names(NAMES)


def _translate_error(error: InvalidRequest, sources: list[str]) -> InvalidRequest:
    """Return the error of a chat with the names of this API's fields."""
    if error.param is None:
        return error
    return rename_field(error, translate_name(error.param, sources))
