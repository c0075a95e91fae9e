"""`Route`: what a client tells the router about one request, and what the router answers.

Both are in one process and share the object: a keyword argument of the call. To the replica it
travels empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

from yaie.ray.radix_placement import Placement

Event = tuple[Literal["first_token", "ended"], str]


class Route:
    """One attempt to have a request answered by a replica."""

    __slots__ = (
        "_has_ended",
        "_id",
        "_inbox",
        "is_counted",
        "names",
        "num_tokens",
        "placement",
        "tried",
    )

    def __init__(
        self,
        names: Sequence[int] = (),
        num_tokens: int = 0,
        tried: set[str] | None = None,
    ) -> None:
        """`names`: the prompt's block names. `tried`: replicas that failed the request."""
        self.names = names
        self.num_tokens = num_tokens
        self.tried = set() if tried is None else tried
        self.placement: Placement | None = None  # once a replica has accepted the request
        self.is_counted = False  # its first token has arrived
        self._has_ended = False
        self._id = ""
        self._inbox: deque[Event] | None = None  # events that the router reads; thread-safe

    def __reduce__(self) -> tuple[Callable[[], Route], tuple[()]]:
        return Route, ()

    def open(self, request_id: str, inbox: deque[Event]) -> None:
        """Have later events go to the router's `inbox` under its name of the request."""
        self._id, self._inbox = request_id, inbox
        if self._has_ended:  # the client left meanwhile: the router's thread is late
            self.note_end()

    def note_first_token(self) -> None:
        """Tell the router that the prompt has been computed."""
        if self._inbox is not None:
            self._inbox.append(("first_token", self._id))

    def note_end(self) -> None:
        """Tell the router that the attempt has ended, also if it was never sent."""
        self._has_ended = True
        if self._inbox is not None:
            self._inbox.append(("ended", self._id))
