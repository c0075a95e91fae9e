"""Submissions: sinks are dropped at the end, and a sink that raises harms no other."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from tests.client.asking import ask
from yaie.base.errors import EngineDied
from yaie.base.types import TokenDelta
from yaie.client.engine_client import log_sink_error
from yaie.client.submission import Sink, Submission, Submissions


class Reader:
    """Owner of a sink, and of its submission."""

    submission: Submission

    def take(self, delta: TokenDelta) -> None:
        pass


class Routes:
    """Open submissions, and the aborts that they send."""

    def __init__(self) -> None:
        self.open = Submissions(log_sink_error)
        self.aborted: list[tuple[str, int | None]] = []

    def submit(self, request_id: str, sink: Sink, n: int = 1) -> Submission:
        request = self.open.number(ask(request_id, n=n))
        submission = Submission(request, sink, self._abort)
        self.open.add(submission)
        return submission

    def _abort(self, submission: Submission, index: int | None) -> None:
        self.aborted.append((submission.request.request_id, index))
        self.open.remove(submission)


@pytest.fixture
def routes() -> Routes:
    return Routes()


@pytest.fixture
def _no_gc() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def delta_of(submission: Submission, **fields: object) -> TokenDelta:
    request = submission.request
    return TokenDelta(
        request_id=request.request_id,
        submission=request.submission,
        index=0,
        token_ids=(7,),
        **fields,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("end", ["close", "last delta", "failure"])
@pytest.mark.usefixtures("_no_gc")
def test_an_ended_submission_keeps_no_sink_alive(routes: Routes, end: str) -> None:
    reader = Reader()
    submission = reader.submission = routes.submit("a", reader.take)
    if end == "close":
        submission.close()
    elif end == "last delta":
        routes.open.deliver([delta_of(submission, finish_reason="length")])
    else:
        routes.open.fail_all(EngineDied("died"))
    gone = weakref.ref(reader)
    del reader
    assert gone() is None


def fail(delta: TokenDelta) -> None:
    raise KeyError("a bug in a sink")


def test_a_sink_that_raises_ends_only_its_own_request(
    routes: Routes, caplog: pytest.LogCaptureFixture
) -> None:
    arrived: list[TokenDelta] = []
    bad, good = routes.submit("bad", fail, n=2), routes.submit("good", arrived.append)
    routes.open.deliver([delta_of(bad), delta_of(bad), delta_of(good)])
    assert [delta.request_id for delta in arrived] == ["good"]
    assert (bad.is_open, good.is_open) == (False, True)
    assert routes.aborted == [("bad", None)]
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_sink_that_raises_at_a_failure_harms_no_other(routes: Routes) -> None:
    arrived: list[TokenDelta] = []
    routes.submit("bad", fail)
    routes.submit("good", arrived.append)
    assert routes.open.fail_all(EngineDied("died")) == 2
    assert [delta.finish_reason for delta in arrived] == ["error"]
    assert routes.aborted == []
