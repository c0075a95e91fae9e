"""`RequestHook`: the steps that other parts of the server add to each completion request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from starlette.requests import Request

from yaie.server.models.served_model import ServedModel
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.comparison import CacheNotes
from yaie.server.schemas.base import RequestBody

Body = TypeVar("Body", bound=RequestBody)
AtEnd = Callable[[EndedCall | None], None]


@dataclass(frozen=True, slots=True)
class ReadRequest(Generic[Body]):
    """A completion request whose body was read; `deadline`: loop time of its timeout."""

    http: Request
    body: Body
    model: ServedModel
    deadline: float
    timeout_s: float  # from the request to the deadline
    load_s: float = 0.0  # wait for the load of the model

    @property
    def arrived_at(self) -> float:
        """Loop time at which the body was read."""
        return self.deadline - self.timeout_s


class RequestHook:
    """Steps around a completion request, in the order in which they run; each is optional."""

    def admit(self, request: Request) -> AtEnd | None:
        """Admit a request before it is read, or raise `YaieError`.

        Returns a function that is called once, when the request ends, with its outcome if it
        was sent to an engine.
        """
        return None

    def identify(self, request: Request, caller: Caller) -> Caller:
        """Return the caller of a request, for its translation."""
        return caller

    async def before_open(
        self, read: ReadRequest[Any], call: Call, notes: CacheNotes
    ) -> CacheNotes:
        """Return the notes of a request that was translated and is about to start."""
        return notes

    def on_open(self, request: Request, generation: Generation) -> None:
        """Note a request that has started."""
