"""Messages between a client and the engine process, and their framing.

A message is one frame: four bytes of length (big-endian), then msgpack. Pickle is not used, so
bytes can only become the plain values below. Used by `child` (parent) and `worker`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from yaie.base import errors
from yaie.base.cache_changes import CacheChange
from yaie.base.errors import InvalidRequest, RequestError, StartupError
from yaie.base.queries import Answer, Query
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
    TokenLogprobs,
)
from yaie.process.log_format import LogFormat

LENGTH_BYTES = 4
PART_LENGTH = 256  # prompt logprobs in one frame: some 70 kB with 20 alternatives each


class StartEngine(msgspec.Struct, frozen=True, tag=True):
    """Parent to child, first: the settings of the engine to load."""

    config: EngineConfig
    log_level: int = logging.INFO  # a number: not every level has a name
    log_format: LogFormat = "text"
    warms_up: bool = False
    shows_progress: bool = False  # in the log, which is a terminal


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: one request.

    `request` stays packed so that a fault inside it can be answered under `request_id`.
    """

    request_id: str
    submission: int
    request: msgspec.Raw

    @classmethod
    def pack(cls, request: GenerationRequest) -> Submit:
        """Pack a request.

        Raises `InvalidRequest` for a value that cannot be sent: an integer beyond 64 bits, text
        that is not Unicode, an object of another type.
        """
        if not isinstance(request.request_id, str):
            raise InvalidRequest(
                f"request_id must be a string, got {type(request.request_id).__name__}",
                param="request_id",
            )
        try:
            packed = msgspec.Raw(_encoder.encode(request))
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidRequest(
                f"the request holds a value that the engine cannot take: {error}"
            ) from None
        return cls(request.request_id, request.submission, packed)

    def unpack(self) -> GenerationRequest:
        """Return the request. Raises `InvalidRequest` if a field is malformed."""
        try:
            return _request_decoder.decode(self.request)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"malformed request: {error}") from None


class Abort(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: end a request, or one of its sequences."""

    request_id: str
    index: int | None = None


class Expect(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: compute the beginning of a later prompt in idle moments."""

    prompt: ExpectedPrompt


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Parent to child, after silence: send a sign of life between two steps."""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: a query; the child sends one `QueryReply` of the same number."""

    number: int
    query: Query


class Shutdown(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: free everything and exit with status 0 after the current step."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Child to parent: the model is loaded."""

    info: EngineInfo
    stats: EngineStats


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Child to parent, last: the error that ends the process, which exits with `exit_code`."""

    kind: str  # name of a class in yaie.base.errors
    message: str
    exit_code: int
    param: str | None = None

    def error(self) -> StartupError:
        """Return the error as an exception of this process."""
        kind = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, StartupError)):
            kind = StartupError
        return kind(self.message, param=self.param)


class Deltas(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """Child to parent, after every step and message, also without deltas: a sign of life."""

    deltas: list[TokenDelta]
    stats: EngineStats | None = None  # every 100 ms, and when the engine becomes idle
    cache_changes: tuple[CacheChange, ...] = ()  # in order, since the last message


class QueryReply(msgspec.Struct, frozen=True, tag=True):
    """Child to parent: the answer to a query, or its error."""

    number: int
    answer: Answer | None
    error: RequestError | None = None


class PromptPart(msgspec.Struct, frozen=True, tag=True):
    """Child to parent, before a `Deltas`: the next prompt logprobs for one of its deltas."""

    delta_index: int  # in the list of the `Deltas`
    logprobs: tuple[TokenLogprobs | None, ...]


ToChild = StartEngine | Submit | Abort | Expect | Ask | Ping | Shutdown
ToParent = Ready | Failed | Deltas | PromptPart | QueryReply

_encoder = msgspec.msgpack.Encoder()
_request_decoder = msgspec.msgpack.Decoder(GenerationRequest)


def encode(message: ToChild | ToParent) -> bytes:
    """Return a message as one frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def split_prompt_logprobs(message: Deltas) -> list[Deltas | PromptPart]:
    """Return `message` in the parts to send: the logprobs of long prompts first.

    The parent decodes one frame at a time on its event loop, so every frame must be small.
    """
    parts: list[Deltas | PromptPart] = []
    deltas = message.deltas
    for index, delta in enumerate(message.deltas):
        logprobs = delta.prompt_logprobs
        if logprobs is None or len(logprobs) <= PART_LENGTH:
            continue
        for start in range(0, len(logprobs), PART_LENGTH):
            parts.append(PromptPart(index, logprobs[start : start + PART_LENGTH]))
        if deltas is message.deltas:
            deltas = list(deltas)
        deltas[index] = replace(delta, prompt_logprobs=())
    return [*parts, replace(message, deltas=deltas)] if parts else [message]


class PromptPartJoiner:
    """The reverse of `split_prompt_logprobs`."""

    def __init__(self) -> None:
        self._parts: dict[int, list[TokenLogprobs | None]] = {}

    def add(self, part: PromptPart) -> None:
        """Keep a part for the next `Deltas`."""
        self._parts.setdefault(part.delta_index, []).extend(part.logprobs)

    def join(self, message: Deltas) -> Deltas:
        """Return the message with the parts received before it."""
        if not self._parts:
            return message
        deltas = list(message.deltas)
        for index, logprobs in self._parts.items():
            deltas[index] = replace(deltas[index], prompt_logprobs=tuple(logprobs))
        self._parts = {}
        return replace(message, deltas=deltas)


Message = TypeVar("Message")


class FrameReader(Generic[Message]):
    """Decodes one direction's messages from chunks of any size."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[Message]) -> None:
        self._decoder = decoder
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield every message that `data` completes. Raises `msgspec.DecodeError`."""
        buffer = self._buffer
        buffer += data
        start = 0
        try:
            while len(buffer) - start >= LENGTH_BYTES:
                body = start + LENGTH_BYTES
                end = body + int.from_bytes(buffer[start:body], "big")
                if len(buffer) < end:
                    break
                message = self._decoder.decode(bytes(buffer[body:end]))
                start = end
                yield message
        finally:
            del buffer[:start]


def parent_reader() -> FrameReader[ToParent]:
    """Return a reader for the parent's end of the socket."""
    return FrameReader(msgspec.msgpack.Decoder(ToParent))


def child_reader() -> FrameReader[ToChild]:
    """Return a reader for the child's end of the socket."""
    return FrameReader(msgspec.msgpack.Decoder(ToChild))
