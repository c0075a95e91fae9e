"""`GenerationReply`: base of the replies to a call, whole or as server-sent events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping
from typing import Any

import msgspec

from yaie.base.errors import YaieError
from yaie.server.http.body import EVENTS
from yaie.server.http.http_errors import error_reply
from yaie.server.replies.generation import Generation
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.text.answer import TextPiece
from yaie.text.tokenizer import Tokenizer

PARSE_FAULT_HEADER = "X-YAIE-Tool-Parse-Error"
REPLICA_HEADER = "X-YAIE-Replica"
MAX_FAULT_CHARS = 300

InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]  # runs a serialization
RunLater = Callable[[Coroutine[Any, Any, None]], None]  # runs work without a waiting client


class GenerationReply(ABC):
    """Reply to one call. `notes`: facts about the prefix cache that it shows."""

    whole: type[ReplyStruct]
    event: type[ReplyStruct]
    media_type = EVENTS  # of the stream

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        self.generation = generation
        self.notes = notes
        self.call = generation.call
        self.tokenizer = tokenizer

    @abstractmethod
    def opening(self) -> bytes:
        """Return the events before the first piece."""

    @abstractmethod
    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return the events for pieces of several choices."""

    @abstractmethod
    def closing(self) -> bytes:
        """Return the last events."""

    def ping(self) -> bytes:
        """Return the sign of life of an idle stream: a comment, which clients of events skip."""
        return b": ping\n\n"

    @abstractmethod
    def collect(self, pieces: Mapping[int, TextPiece]) -> ReplyStruct | dict[str, Any]:
        """Return the whole reply, with one piece for each choice."""

    def begin(
        self, run_later: RunLater, in_thread: InThread
    ) -> bytes | AsyncIterable[bytes] | None:
        """Start a reply in the background; return its JSON or events, None for any other."""
        return None

    def fail(self, error: YaieError) -> None:
        """Store the error of a reply without a waiting client."""
        raise error

    def headers(self, pieces: Mapping[int, TextPiece]) -> dict[str, str]:
        """Return the headers of the whole reply."""
        return {**self.origin(), **self._report_faults(pieces)}

    def origin(self) -> dict[str, str]:
        """Return the header that names the replica, once one answers."""
        replica = self.generation.replica
        return {REPLICA_HEADER: replica} if replica else {}

    def _report_faults(self, pieces: Mapping[int, TextPiece]) -> dict[str, str]:
        faults = [piece.parse_fault for piece in pieces.values() if piece.parse_fault]
        if not faults:
            return {}
        shown = "; ".join(faults)[:MAX_FAULT_CHARS].encode("ascii", "backslashreplace").decode()
        return {PARSE_FAULT_HEADER: "".join(map(_printable, shown))}

    def num_logprobs(self, pieces: Mapping[int, TextPiece]) -> int:
        """Return the number of tokens whose logprobs `events` would write."""
        return sum(len(piece.logprobs) for piece in pieces.values())

    def failure(self, error: YaieError) -> bytes:
        """Return the last event of a stream that fails."""
        return encode_event(msgspec.json.encode(error_reply(error, self.generation.http_id)))


def _printable(character: str) -> str:
    return character if " " <= character <= "~" else " "


def encode_event(data: bytes) -> bytes:
    """Return `data` as one server-sent event."""
    return b"data: " + data + b"\n\n"


def encode_named_event(name: str, data: bytes) -> bytes:
    """Return `data` as one server-sent event with a name."""
    return b"event: " + name.encode() + b"\n" + encode_event(data)
