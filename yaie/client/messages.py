"""What a client and the engine process say to each other, and how it is cut into bytes.

Each message is one frame: four bytes of length (big-endian), then msgpack. Nothing is pickled,
so bytes can only ever become the plain values below. Used by `process` (parent) and `worker`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Generic, TypeVar

import msgspec

from yaie import errors
from yaie.config import EngineConfig
from yaie.errors import InvalidRequest, StartupError
from yaie.stats import EngineStats
from yaie.types import EngineInfo, GenerationRequest, TokenDelta, TokenLogprobs

LENGTH_BYTES = 4
PART_LENGTH = 256  # logprobs of a prompt in one frame: with 20 alternatives each, some 70 kB


class Start(msgspec.Struct, frozen=True, tag=True):
    """Parent to child, first: load this."""

    config: EngineConfig
    log_level: int = logging.INFO  # a number, since not every level has a name


class Add(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: one request.

    `request` stays packed so that a fault inside it can be answered under `request_id`.
    """

    request_id: str
    submission: int
    request: msgspec.Raw


class Abort(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: end a request, or one of its sequences."""

    request_id: str
    index: int | None = None


class Shutdown(msgspec.Struct, frozen=True, tag=True):
    """Parent to child: free everything and exit with status 0 after the current step."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Child to parent: the model is loaded."""

    info: EngineInfo
    stats: EngineStats


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Child to parent, last: it cannot start or go on; it exits with `exit_code`."""

    kind: str  # name of a class of yaie.errors
    message: str
    exit_code: int
    param: str | None = None

    def error(self) -> StartupError:
        """The same fault as an exception of this process."""
        kind = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, StartupError)):
            kind = StartupError
        return kind(self.message, param=self.param)


class Deltas(msgspec.Struct, frozen=True, tag=True):
    """Child to parent, after every step, also with no deltas: it is the sign of progress."""

    deltas: list[TokenDelta]
    stats: EngineStats


class PromptPart(msgspec.Struct, frozen=True, tag=True):
    """Child to parent, before a `Deltas`: the next logprobs of the prompt of its delta `place`."""

    place: int
    logprobs: tuple[TokenLogprobs | None, ...]


ToChild = Start | Add | Abort | Shutdown
ToParent = Ready | Failed | Deltas | PromptPart

_encoder = msgspec.msgpack.Encoder()
_request_decoder = msgspec.msgpack.Decoder(GenerationRequest)


def pack_add(request: GenerationRequest) -> Add:
    """A request as it travels.

    Raises `InvalidRequest` where it holds a value that cannot: an integer beyond 64 bits, text
    that is not Unicode, an object of another kind.
    """
    if not isinstance(request.request_id, str):
        raise InvalidRequest(
            f"request_id must be a string, got {type(request.request_id).__name__}",
            param="request_id",
        )
    try:
        add = Add(request.request_id, request.submission, msgspec.Raw(_encoder.encode(request)))
        _encoder.encode(add.request_id)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidRequest(
            f"the request holds a value that the engine cannot take: {error}"
        ) from None
    return add


def unpack_request(add: Add) -> GenerationRequest:
    """The request inside `add`. Raises `InvalidRequest` where its fields are malformed."""
    try:
        return _request_decoder.decode(add.request)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"malformed request: {error}") from None


def encode(message: ToChild | ToParent) -> bytes:
    """One frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def in_parts(message: Deltas) -> Iterator[Deltas | PromptPart]:
    """`message` as it is sent: the logprobs of a long prompt ahead of it, a part at a time.

    One frame is decoded at a time, and the parent does that on its event loop.
    """
    deltas = list(message.deltas)
    for place, delta in enumerate(deltas):
        logprobs = delta.prompt_logprobs
        if logprobs is None or len(logprobs) <= PART_LENGTH:
            continue
        for start in range(0, len(logprobs), PART_LENGTH):
            yield PromptPart(place, logprobs[start : start + PART_LENGTH])
        deltas[place] = replace(delta, prompt_logprobs=())
    yield Deltas(deltas, message.stats)


class Joiner:
    """Puts together again what `in_parts` took apart."""

    def __init__(self) -> None:
        self._parts: dict[int, list[TokenLogprobs | None]] = {}

    def add(self, part: PromptPart) -> None:
        """Keep a part for the next `Deltas`."""
        self._parts.setdefault(part.place, []).extend(part.logprobs)

    def join(self, message: Deltas) -> Deltas:
        """The message with the parts that came before it."""
        if not self._parts:
            return message
        deltas = list(message.deltas)
        for place, logprobs in self._parts.items():
            deltas[place] = replace(deltas[place], prompt_logprobs=tuple(logprobs))
        self._parts = {}
        return Deltas(deltas, message.stats)


Message = TypeVar("Message")


class FrameReader(Generic[Message]):
    """Cuts a stream of bytes, in pieces of any size, into messages of one direction."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[Message]) -> None:
        self._decoder = decoder
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yields every message that `data` completes. Raises `msgspec.DecodeError`."""
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
    """For the parent's end of the socket."""
    return FrameReader(msgspec.msgpack.Decoder(ToParent))


def child_reader() -> FrameReader[ToChild]:
    """For the child's end of the socket."""
    return FrameReader(msgspec.msgpack.Decoder(ToChild))
