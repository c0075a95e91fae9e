"""`Submission`: the handle on a request in the engine.

Both clients give one to the caller and push the request's deltas into the caller's sink, once.
`Submissions` routes the deltas of a step to the handles that are still open.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from yaie.base.errors import InvalidRequest, YaieError
from yaie.base.types import GenerationRequest, TokenDelta

Sink = Callable[[TokenDelta], None]


class Submission:
    """One request in flight. Its last delta is the last of `n` finish reasons, or an error."""

    def __init__(
        self,
        request: GenerationRequest,
        sink: Sink,
        send_abort: Callable[[Submission, int | None], None],
    ) -> None:
        self.request = request
        self.sink = sink
        self.is_open = True
        self.replica = ""  # that answers it; set by clients of several engines
        self.unfinished = set(range(request.sampling.n))
        self._send_abort = send_abort

    def abort(self, index: int) -> None:
        """End one sequence within one step; its last delta reports it."""
        if self.is_open:
            self._send_abort(self, index)

    def close(self) -> None:
        """End the whole request within one step, without a further delta for the sink."""
        if self.is_open:
            self.end()
            self._send_abort(self, None)

    def end(self) -> None:
        """Mark the end and drop the sink: its owner usually refers to this handle, a cycle."""
        self.is_open = False
        self.sink = _ignore


def _ignore(delta: TokenDelta) -> None:
    """Serve as the sink of an ended submission."""


class Submitter(Protocol):
    """Anything that answers requests: an engine client, or recorded answers."""

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Answer the request into the sink."""


class Submissions:
    """Open submissions of one client, by request id. `on_sink_error` receives sink errors."""

    def __init__(self, on_sink_error: Callable[[GenerationRequest, Exception], None]) -> None:
        self._on_sink_error = on_sink_error
        self._open: dict[str, Submission] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._open)

    def number(self, request: GenerationRequest) -> GenerationRequest:
        """Tag a request with a submission number.

        Late deltas of an abandoned request with the same id are recognised by it. Raises
        `InvalidRequest` if a request with the same id is open.
        """
        if request.request_id in self._open:
            raise InvalidRequest(
                f"a request with the id {request.request_id!r} is still being answered;"
                " give each request its own id",
                param="request_id",
            )
        return replace(request, submission=next(self._numbers))

    def add(self, submission: Submission) -> None:
        """Route deltas to `submission` from now on."""
        self._open[submission.request.request_id] = submission

    def remove(self, submission: Submission) -> bool:
        """Drop later deltas for `submission`; return False if a newer submission uses its id."""
        request_id = submission.request.request_id
        if self._open.get(request_id) is not submission:
            return False
        del self._open[request_id]
        return True

    def deliver(self, deltas: Iterable[TokenDelta]) -> None:
        """Push each delta into its request's sink, if that request is open.

        A sink that raises ends its request; other requests continue.
        """
        submissions = self._open
        for delta in deltas:
            submission = submissions.get(delta.request_id)
            if submission is None or submission.request.submission != delta.submission:
                continue
            sink = submission.sink
            if delta.finish_reason is not None:
                submission.unfinished.discard(delta.index)
                if delta.error is not None or not submission.unfinished:
                    submission.end()
                    del submissions[delta.request_id]
            try:
                sink(delta)
            except Exception as error:
                submission.close()
                self._on_sink_error(submission.request, error)

    def fail_all(self, error: YaieError) -> int:
        """End every open request with `error`; return the number of requests."""
        failed = list(self._open.values())
        for submission in failed:
            self.deliver([
                TokenDelta(
                    request_id=submission.request.request_id,
                    submission=submission.request.submission,
                    index=0,
                    finish_reason="error",
                    error=error.to_wire(),
                )
            ])  # fmt: skip
        return len(failed)
