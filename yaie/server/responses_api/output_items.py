"""Output items of `/v1/responses`: built from an answer's parts, with their stream events."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from yaie.server.replies.custom_input import CustomInput
from yaie.server.responses_api.call_forms import CUSTOM, FUNCTION, ClientTool, tool_of
from yaie.server.responses_api.items import new_id
from yaie.server.responses_api.response_store import Item
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart

_OF_THE_END = ("completed_at", "error", "incomplete_details", "usage")

Event = dict[str, Any]
Status = Literal["in_progress", "completed", "incomplete"]


@dataclass(frozen=True, slots=True)
class Cuts:
    """Delta sizes by item, in characters and logprobs; the first items have ended."""

    deltas: list[list[tuple[int, int]]]
    num_ended: int


@dataclass(slots=True)
class _Open:
    """The item that grows."""

    kind: Literal["message", "reasoning", "call"]
    item_id: str
    output_index: int
    tool: ClientTool | None = None  # of a call
    call_index: int | None = None
    call_id: str = ""
    custom: CustomInput | None = None  # of a call whose tool takes text
    texts: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def place(self) -> dict[str, Any]:
        """The fields of its events that name the item."""
        return {"item_id": self.item_id, "output_index": self.output_index}

    def content(self) -> Item:
        """Return the one content part of a message or a thought, as it is so far."""
        text = self.text
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": text}
        return {
            "type": "output_text",
            "annotations": [],
            "logprobs": list(self.logprobs),
            "text": text,
        }

    def item(self, status: Status) -> Item:
        """Return the item; in progress it is still without content."""
        if self.tool is not None:
            text = "" if status == "in_progress" else self.text
            return {"id": self.item_id, **self.tool.item(self.call_id, text, status)}
        content = [] if status == "in_progress" else [self.content()]
        item: Item = {"id": self.item_id, "type": self.kind, "status": status}
        if self.kind == "reasoning":
            return item | {"summary": [], "content": content}
        return item | {"role": "assistant", "content": content}


class OutputItems:
    """Items of one response. Parts come in; events go out, and finished items stay.

    The items do not depend on the size of the parts. `find` takes the name of a function and
    returns the tool; `make_id` takes the prefix of an id.
    """

    def __init__(
        self, find: Callable[[str], ClientTool], make_id: Callable[[str], str] = new_id
    ) -> None:
        self._find = find
        self._make_id = make_id
        self._ended_cuts: list[list[tuple[int, int]]] = []
        self._done: list[Item] = []
        self._open: _Open | None = None
        self._logprobs: list[Any] = []  # for tokens without text so far

    def push(self, parts: Sequence[Part], logprobs: Sequence[Any] = ()) -> Iterator[Event]:
        """Add parts and the logprobs of their tokens; return the events."""
        self._logprobs += logprobs
        for part in parts:
            if isinstance(part, TextPart):
                if part.text:
                    yield from self._open_item("message")
                    yield self._text_delta(part.text)
            elif isinstance(part, ReasoningPart):
                if part.text:
                    yield from self._open_item("reasoning")
                    yield self._reasoning_delta(part.text)
            else:
                yield from self._open_item("call", part)
                if part.arguments:
                    yield from self._grow_call(part.arguments)

    def end(self, status: Status) -> Iterator[Event]:
        """Finish the last item with this status; return the events. A message is always there."""
        if not self._done and self._open is None:
            yield from self._open_item("message")
        yield from self._close_item(status)

    def items(self) -> list[Item]:
        """Return all items; one that still grows is incomplete."""
        if self._open is None:
            return list(self._done)
        return [*self._done, self._open.item("incomplete")]

    def cuts(self) -> Cuts:
        """Return the sizes of all deltas so far."""
        growing = [] if self._open is None else [list(self._open.cuts)]
        return Cuts([*self._ended_cuts, *growing], len(self._ended_cuts))

    def _open_item(
        self, kind: Literal["message", "reasoning", "call"], call: ToolCallPart | None = None
    ) -> Iterator[Event]:
        """Make an item of this kind the open one, unless it is."""
        last = self._open
        index = None if call is None else call.index
        if last is not None and last.kind == kind and last.call_index == index:
            return
        yield from self._close_item("completed")
        if call is None:
            prefix = {"message": "msg", "reasoning": "rs"}[kind]
            new = _Open(kind, self._make_id(prefix), len(self._done))
        else:
            tool = self._find(call.name)
            call_id = call.call_id or f"call_{uuid.uuid4().hex[:24]}"
            item_id = self._make_id(tool.form.prefix)
            new = _Open(kind, item_id, len(self._done), tool, index, call_id)
            new.custom = CustomInput() if tool.form is CUSTOM else None
        self._open = new
        yield {
            "type": "response.output_item.added",
            "output_index": new.output_index,
            "item": new.item("in_progress"),
        }
        if call is None:
            yield {
                "type": "response.content_part.added",
                **new.place,
                "content_index": 0,
                "part": new.content(),
            }

    def _text_delta(self, text: str) -> Event:
        assert self._open is not None
        logprobs, self._logprobs = self._logprobs, []
        self._open.texts.append(text)
        self._open.logprobs += logprobs
        self._open.cuts.append((len(text), len(logprobs)))
        return {
            "type": "response.output_text.delta",
            **self._open.place,
            "content_index": 0,
            "delta": text,
            "logprobs": logprobs,
        }

    def _reasoning_delta(self, text: str) -> Event:
        assert self._open is not None
        self._open.texts.append(text)
        self._open.cuts.append((len(text), 0))
        return {
            "type": "response.reasoning_text.delta",
            **self._open.place,
            "content_index": 0,
            "delta": text,
        }

    def _grow_call(self, arguments: str) -> Iterator[Event]:
        assert self._open is not None
        custom = self._open.custom
        yield from self._call_delta(arguments if custom is None else custom.push(arguments))

    def _call_delta(self, text: str) -> Iterator[Event]:
        call = self._open
        assert call is not None
        assert call.tool is not None
        if not text:
            return
        call.texts.append(text)
        if (event := call.tool.form.event) != "":
            call.cuts.append((len(text), 0))
            yield {"type": f"response.{event}.delta", **call.place, "delta": text}

    def _close_item(self, status: Status) -> Iterator[Event]:
        """Finish the open item, if any."""
        last = self._open
        if last is None:
            return
        if last.kind == "message" and self._logprobs:  # as of an end token
            yield self._text_delta("")
        if last.tool is not None:
            if last.custom is not None:
                yield from self._call_delta(last.custom.end())
            form = last.tool.form
            if form.event:
                named = {"name": last.tool.name} if form is FUNCTION else {}
                done = {**last.place, **named, form.field: last.text}
                yield {"type": f"response.{form.event}.done", **done}
        else:
            is_text = last.kind == "message"
            part = {**last.place, "content_index": 0}
            yield {
                "type": "response.output_text.done" if is_text else "response.reasoning_text.done",
                **part,
                "text": last.text,
                **({"logprobs": last.logprobs} if is_text else {}),
            }
            yield {"type": "response.content_part.done", **part, "part": last.content()}
        item = last.item(status)
        self._done.append(item)
        self._ended_cuts.append(last.cuts)
        self._open = None
        yield {
            "type": "response.output_item.done",
            "output_index": last.output_index,
            "item": item,
        }


def replay(document: dict[str, Any], cuts: Cuts) -> Iterator[Event]:
    """Yield the events of a response, without numbers; the last one only if it has ended."""
    status = document["status"]
    is_running = status in ("queued", "in_progress")
    begun = {name: value for name, value in document.items() if name != "tool_parse_error"}
    begun |= dict.fromkeys(_OF_THE_END) | {"status": "in_progress", "output": []}
    for name in ("created", "in_progress"):
        yield {"type": f"response.{name}", "response": begun}
    yield from _items(document["output"], cuts)
    if status == "failed":
        yield {"type": "error", **document["error"], "param": None}
        yield {"type": "response.failed", "response": document}
    elif not is_running:
        name = "completed" if status == "completed" else "incomplete"
        yield {"type": f"response.{name}", "response": document}


def _items(output: list[Any], cuts: Cuts) -> Iterator[Event]:
    ids = iter([item["id"] for item in output])
    tools = {str(at): tool_of(item) for at, item in enumerate(output) if "call_id" in item}
    made = OutputItems(lambda at: tools[at], lambda prefix: next(ids))
    for at, item in enumerate(output):
        sizes = cuts.deltas[at] if at < len(cuts.deltas) else ()
        if "call_id" in item:
            yield from made.push([ToolCallPart(at, str(at), "", item["call_id"])])
            for piece in tools[str(at)].form.pieces(item, [size for size, _ in sizes]):
                yield from made.push([ToolCallPart(at, arguments=piece)])
            continue
        content = item["content"][0]
        text, logprobs = content["text"], content.get("logprobs", [])
        make = ReasoningPart if item["type"] == "reasoning" else TextPart
        start = first = 0
        for num_characters, num_logprobs in sizes:
            piece, of_piece = (
                text[start : start + num_characters],
                slice(first, first + num_logprobs),
            )
            yield from made.push([make(piece)] if piece else [], logprobs[of_piece])
            start, first = start + num_characters, of_piece.stop
    if output and cuts.num_ended == len(output):
        yield from made.end(_ending(output[-1]["status"]))


def _ending(status: str) -> Status:
    return "completed" if status == "completed" else "incomplete"
