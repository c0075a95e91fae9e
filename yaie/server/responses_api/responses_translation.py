"""Translation of a `ResponsesBody` to a chat's call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import ValidationError

from yaie.base.errors import ContextLengthExceeded, InvalidRequest
from yaie.server.http.body import refusal
from yaie.server.requests.call import Call
from yaie.server.requests.checks import MAX_NAMED_IGNORED, check_common, rename_field
from yaie.server.requests.comparison import read_response_id
from yaie.server.requests.prompt_tokens import reserve_tokens
from yaie.server.requests.token_counts import Tokens
from yaie.server.requests.translator import Translator
from yaie.server.responses_api.chat_fields import (
    LOGPROBS,
    NAMES,
    chat_format,
    check_fields,
    translate_name,
    without_effect,
)
from yaie.server.responses_api.chat_messages import Messages
from yaie.server.responses_api.client_tools import (
    ClientTools,
    add_found_tools,
    chat_choice,
    read_tools,
)
from yaie.server.responses_api.items import new_id, read_input
from yaie.server.responses_api.output_items import OutputItems
from yaie.server.responses_api.response_store import Item, Link
from yaie.server.responses_api.stored_items import StoredItems
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


class ResponseInProgress(InvalidRequest):
    """The response has not ended, so it can be neither continued nor deleted."""

    code = "response_in_progress"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request for a response: its body, its items, and the conversation before them."""

    body: ResponsesBody
    items: Sequence[Item]
    before: Link | None
    tools: ClientTools
    tool_choice: Any  # of the chat
    ignored: Sequence[str]  # names of items and tools that were omitted

    @property
    def is_stored(self) -> bool:
        """True if the response is to be stored."""
        return self.body.store is not False and self.body.place.store.is_on

    @property
    def warnings(self) -> list[str]:
        """Sentences on what the model was not shown."""
        return self.tools.warnings()


def respond(translator: Translator, body: ResponsesBody) -> Call:
    """Translate a request for a response. Raises `InvalidRequest` or a subclass."""
    turn, messages = _turn(body)
    with _names_of(messages, turn.tools):
        call = _fitting(translator, turn, messages)
    names = _list_ignored(call.ignored, turn)
    if body.store and not turn.is_stored:
        names.append("store")
    response_id = new_id("resp")
    next_turn = call.next_turn
    sent_back = partial(_send_back, turn.tools)
    return replace(
        call,
        next_turn=next_turn and replace(next_turn, sent_back=sent_back, names_results=True),
        response_id=response_id,
        requests=tuple(replace(each, request_id=response_id) for each in call.requests),
        ignored=tuple(names),
        body=turn,
        is_compared=body.prompt_cache_options is not None,
        compared_with=read_response_id(
            body.prompt_cache_options, "prompt_cache_options", "comparison_response_id"
        ),
    )


def _list_ignored(of_chat: Sequence[str], turn: Turn) -> list[str]:
    """Return the names of fields, tools and items without effect."""
    names = [translate_name(name) for name in of_chat] + without_effect(turn.body)
    return list(dict.fromkeys([*names, *turn.ignored]))[:MAX_NAMED_IGNORED]


def _send_back(tools: ClientTools, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return an answer as the messages that its output items become in the next turn."""
    items = OutputItems(tools.find)
    for _ in items.push(parts):
        pass  # events
    for _ in items.end("completed"):
        pass
    messages = Messages(None)
    made = items.items()
    messages.add(made, ["output"] * len(made))
    return messages.messages


def count_response_tokens(translator: Translator, body: ResponsesBody) -> Tokens:
    """Return the number of input tokens that a request for a response would have."""
    turn, messages = _turn(body)
    with _names_of(messages, turn.tools):
        chat = _chat_body(turn, messages.messages)
        if body.truncation == "auto":
            number = len(_fitting(translator, turn, messages).requests[0].prompt_token_ids)
        else:
            check_common(chat)
            number = len(translator.chat_prompt(chat))
    names = _list_ignored(translator.list_ignored(chat), turn)
    return Tokens(ResponseInputTokens(input_tokens=number), tuple(names))


def chat_of_response(body: ResponsesBody) -> tuple[ChatBody, list[str]]:
    """Return the chat with the same prompt, and the field that each of its messages comes from."""
    turn, messages = _turn(body)
    with _names_of(messages, turn.tools):
        return _chat_body(turn, messages.messages), list(messages.sources)


def _turn(body: ResponsesBody) -> tuple[Turn, Messages]:
    """Return the turn of a checked body, and its conversation as messages."""
    check_fields(body)
    place = body.place
    before = _conversation(body)
    # Clients try a server with nothing.
    given = "" if body.input == [] and before is None else body.input
    read = read_input(given, StoredItems(place).find)
    tools = read_tools(body.tools, body.tool_choice)
    earlier = [] if before is None else before.items()
    items, places = (
        [*earlier, *read.items],
        [*["previous_response_id"] * len(earlier), *read.places],
    )
    add_found_tools(tools, items, places)
    choice = chat_choice(body.tool_choice, tools)
    turn = Turn(body, read.items, before, tools, choice, (*tools.ignored, *read.ignored))
    messages = Messages(body.instructions)
    messages.add(items, places)
    return turn, messages


def _fitting(translator: Translator, turn: Turn, messages: Messages) -> Call:
    """Return the call; `truncation` "auto" keeps the most turns that leave room for the answer."""
    places = messages.later_turns() if turn.body.truncation == "auto" else []
    longest = translator.max_model_len
    room = reserve_tokens(turn.body.max_output_tokens, longest)

    def translate(number: int) -> Call:
        """Return the call without the first turns, as many as `number`."""
        kept = messages.since(places[number - 1]) if number else messages.messages
        return translator.chat(_chat_body(turn, kept))

    def try_without(number: int) -> Call | None:
        try:
            call = translate(number)
        except ContextLengthExceeded:
            return None
        return call if len(call.requests[0].prompt_token_ids) + room <= longest else None

    if not places:
        return translate(0)
    if (found := try_without(0)) is not None:
        return found
    # A shorter conversation fits if a longer one does: search for the first that does.
    low, high = 1, len(places)
    while low < high:
        middle = (low + high) // 2
        if (call := try_without(middle)) is None:
            low = middle + 1
        else:
            high, found = middle, call
    return translate(high) if found is None else found  # the last turn alone, without the room


@contextmanager
def _names_of(messages: Messages, tools: ClientTools) -> Iterator[None]:
    """Give errors of a chat the names of this API's fields."""
    places = {"messages": messages.sources, "tools": tools.places}
    try:
        yield
    except ValidationError as error:
        raise _translate_error(refusal(error), places) from None
    except InvalidRequest as error:
        raise _translate_error(error, places) from None


def _conversation(body: ResponsesBody) -> Link | None:
    """Return the conversation that the request continues, counted with its body."""
    previous = body.previous_response_id
    if previous is None:
        return None
    place = body.place
    is_running = place.store.running(place.tenant, previous) is not None  # first: it may end now
    link: Link | None = place.store.link(place.tenant, previous)
    if link is None and is_running:
        raise ResponseInProgress(
            f"previous_response_id {previous[:80]!r} is in progress; send the request again once "
            "its status is completed",
            param="previous_response_id",
        )
    if link is None:
        raise PreviousNotFound(
            f"previous_response_id {previous[:80]!r} is not stored or has expired; send the whole "
            f"conversation as input",
            param="previous_response_id",
        )
    place.share.add(link.total_bytes)
    return link


def _chat_body(turn: Turn, messages: list[dict[str, Any]]) -> ChatBody:
    """Return the body of a chat. Raises pydantic's `ValidationError`, as for extensions."""
    body = turn.body
    extra = (body.model_extra or {}).items()
    fields = {name: value for name, value in extra if name not in body.unused}
    fields.update({name: getattr(body, name) for name in _SHARED})
    fields.update(
        messages=messages,
        max_completion_tokens=body.max_output_tokens,
        tools=turn.tools.functions or None,
        tool_choice=turn.tool_choice,
        response_format=chat_format(body),
        reasoning_effort=None if body.reasoning is None else body.reasoning.effort,
    )
    if LOGPROBS in (body.include or ()):
        fields.update(logprobs=True, top_logprobs=body.top_logprobs or 0)
    given = {name: value for name, value in fields.items() if value is not None}
    return ChatBody.model_validate(given).with_names(NAMES)


def _translate_error(error: InvalidRequest, places: Mapping[str, Sequence[str]]) -> InvalidRequest:
    """Return the error of a chat with the names of this API's fields."""
    if error.param is None:
        return error
    return rename_field(error, translate_name(error.param, places))
