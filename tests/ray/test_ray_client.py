"""`RayClient` over scripted replicas: retries, continued answers, aborts, errors, totals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.ray.scripted_replicas import (
    ActorLost,
    Failure,
    ScriptedReplicas,
    Step,
    Stream,
    Tokens,
)
from yaie.base.errors import (
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    InvalidRequest,
)
from yaie.base.queries import ExplainPrompt, Explanation
from yaie.base.settings import EngineConfig
from yaie.base.types import (
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    SamplingParams,
    TokenDelta,
)
from yaie.ray import relay
from yaie.ray.ray_client import RayClient
from yaie.ray.route import Event, Route
from yaie.ray.router_metrics import RouterLog

PROMPT = tuple(range(40))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "FIRST_PAUSE_S", 0.0)


@asynccontextmanager
async def client_of(replicas: ScriptedReplicas) -> AsyncIterator[RayClient]:
    client = RayClient(EngineConfig(model="m"), replicas, RouterLog())
    await client.start()
    await client.wait_ready(1)
    try:
        yield client
    finally:
        await client.close()


def request(request_id: str = "q", **sampling: object) -> GenerationRequest:
    params = SamplingParams(temperature=0.0, max_tokens=8, **sampling)  # type: ignore[arg-type]
    return GenerationRequest(request_id=request_id, prompt_token_ids=PROMPT, sampling=params)


async def answer(client: RayClient, asked: GenerationRequest) -> list[TokenDelta]:
    """Return the deltas of a request, to its end."""
    deltas: list[TokenDelta] = []
    submission = client.submit(asked, deltas.append)
    async with asyncio.timeout(1):
        while submission.is_open:
            await asyncio.sleep(0)
    return deltas


def run(replicas: ScriptedReplicas, asked: GenerationRequest) -> list[TokenDelta]:
    async def both() -> list[TokenDelta]:
        async with client_of(replicas) as client:
            return await answer(client, asked)

    return asyncio.run(both())


def text(deltas: list[TokenDelta]) -> list[int]:
    return [token for delta in deltas for token in delta.token_ids]


@pytest.mark.parametrize(
    "loss", [ActorLost("dead"), EngineStarting("soon"), Failure("engine_died"), Failure("x", 429)]
)
def test_a_request_without_a_token_goes_to_another_replica(loss: Step) -> None:
    if isinstance(loss, Failure) and loss.status == 429:
        loss = Failure("overloaded", 429)
    replicas = ScriptedReplicas([loss], [Tokens(1), Tokens(2, ends=True)])
    deltas = run(replicas, request())
    assert text(deltas) == [1, 2] and deltas[-1].finish_reason == "length"
    assert replicas.routes[1].tried == {"r0"}
    first, second = (stream.request for stream in replicas.streams)
    assert first.request_id.startswith("q-") and second.request_id != first.request_id
    assert replace(second, submission=0, request_id="") == replace(
        first, submission=0, request_id=""
    )


def test_an_answer_continues_behind_the_tokens_that_came() -> None:
    replicas = ScriptedReplicas(
        [Tokens(1, cached=7), Tokens(2, 3), ActorLost("dead")],
        [Tokens(4, cached=30), Failure("engine_died")],
        [Tokens(5, cached=31, ends=True)],
    )
    deltas = run(replicas, request(prompt_logprobs=1))
    assert text(deltas) == [1, 2, 3, 4, 5]
    assert {delta.num_cached_tokens for delta in deltas if delta.token_ids} >= {7}
    assert deltas[-1].num_cached_tokens == 7  # the first attempt's
    sent = [stream.request for stream in replicas.streams]
    assert [each.num_resumed for each in sent] == [0, 3, 4]
    assert sent[2].prompt_token_ids == (*PROMPT, 1, 2, 3, 4)
    assert sent[0].sampling.prompt_logprobs == 1 and sent[1].sampling.prompt_logprobs is None
    assert sent[2].sampling.max_tokens == 8  # of the whole output


def test_several_begun_sequences_end_with_an_error() -> None:
    replicas = ScriptedReplicas([Tokens(1), ActorLost("dead")])
    deltas = run(replicas, request(n=2))
    assert deltas[-1].error is not None and deltas[-1].error.code == "engine_died"


def test_a_request_that_engines_die_of_ends() -> None:
    replicas = ScriptedReplicas(*([Failure("engine_died")] for _ in range(9)), num_replicas=9)
    deltas = run(replicas, request())
    assert deltas[-1].error is not None and deltas[-1].error.code == "engine_died"
    assert len(replicas.streams) == relay.MAX_DEATHS


def test_a_full_queue_everywhere_is_an_error() -> None:
    replicas = ScriptedReplicas([Failure("overloaded", 429)], [Failure("overloaded", 429)])
    deltas = run(replicas, request())
    assert deltas[-1].error is not None and deltas[-1].error.status == 429
    assert len(replicas.streams) == 2


def test_the_error_of_a_wrong_request_is_final() -> None:
    replicas = ScriptedReplicas([InvalidRequest("no", param="grammar")])
    deltas = run(replicas, request())
    assert deltas[-1].error is not None and deltas[-1].error.param == "grammar"


def test_a_stream_without_an_end_counts_as_lost() -> None:
    replicas = ScriptedReplicas([Tokens(1)], [Tokens(2, ends=True)])
    assert text(run(replicas, request())) == [1, 2]


def test_a_closed_submission_cancels_its_stream() -> None:
    async def leave() -> Stream:
        replicas = ScriptedReplicas([Tokens(1), None])
        async with client_of(replicas) as client:
            deltas: list[TokenDelta] = []
            submission = client.submit(request(), deltas.append)
            while not deltas:
                await asyncio.sleep(0)
            assert submission.replica == "r0"
            submission.close()
            await asyncio.sleep(0.01)
            return replicas.streams[0]

    assert asyncio.run(leave()).is_cancelled


def test_an_aborted_sequence_has_a_last_delta() -> None:
    async def abort(n: int) -> tuple[list[TokenDelta], ScriptedReplicas, bool]:
        replicas = ScriptedReplicas([Tokens(1), None])
        async with client_of(replicas) as client:
            deltas: list[TokenDelta] = []
            submission = client.submit(request(n=n), deltas.append)
            while not deltas:
                await asyncio.sleep(0)
            submission.abort(0)
            await asyncio.sleep(0.01)
            return list(deltas), replicas, replicas.streams[0].is_cancelled

    deltas, _, is_cancelled = asyncio.run(abort(1))
    assert deltas[-1].finish_reason == "abort" and is_cancelled
    _, replicas, is_cancelled = asyncio.run(abort(2))  # its last delta comes from the replica
    assert ("abort", replicas.streams[0].request.request_id, 0) in replicas.calls
    assert not is_cancelled


def test_callers_of_two_ingresses_may_use_one_id() -> None:
    async def both() -> ScriptedReplicas:
        replicas = ScriptedReplicas([None], [None])
        async with client_of(replicas) as first, client_of(replicas) as second:
            for client in (first, second):
                client.submit(request(), print)
            while len(replicas.streams) < 2:
                await asyncio.sleep(0)
        return replicas

    assert len({stream.request.request_id for stream in asyncio.run(both()).streams}) == 2


def test_a_handle_that_fails_counts_as_a_lost_replica() -> None:
    class Closed(ScriptedReplicas):
        def generate(self, packed: bytes, route: Route) -> Stream:
            if not self.routes:
                self.routes.append(route)
                raise ActorLost("the handle is shut down")
            return super().generate(packed, route)

    replicas = Closed([Tokens(1, ends=True)])
    inbox: deque[Event] = deque()
    assert text(run(replicas, request())) == [1]
    replicas.routes[0].open("first", inbox)
    assert list(inbox) == [("ended", "first")]  # the router counts it no longer


def test_the_watch_survives_what_ray_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.ray.ray_client.POLL_S", 0.0)
    failures = [RuntimeError("the controller is busy")] * 3

    class Busy(ScriptedReplicas):
        async def check(self, *, is_starting: bool) -> None:
            if failures:
                raise failures.pop()

    async def watch() -> None:
        replicas = Busy()
        statuses, replicas.statuses = replicas.statuses, []
        client = RayClient(EngineConfig(model="m"), replicas, RouterLog())
        await client.start()
        while failures:
            assert client.state is EngineState.STARTING
            await asyncio.sleep(0)
        replicas.statuses = statuses
        await client.wait_ready(1)
        await client.close()

    asyncio.run(watch())


def test_the_end_of_ray_ends_requests_and_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.ray.ray_client.POLL_S", 0.0)

    class Ending(ScriptedReplicas):
        has_ended = False

        async def check(self, *, is_starting: bool) -> None:
            if self.has_ended:
                raise EngineDied("Ray has ended")

    async def end() -> list[TokenDelta]:
        deltas: list[TokenDelta] = []
        replicas = Ending([None])
        async with client_of(replicas) as client:
            client.submit(request(), deltas.append)
            await asyncio.sleep(0)
            replicas.has_ended = True
            while client.state is not EngineState.FAILED:
                await asyncio.sleep(0)
            with pytest.raises(EngineUnavailable, match="Ray has ended"):
                client.submit(request(), print)
        return deltas

    (last,) = asyncio.run(end())
    assert last.error is not None and last.error.code == "engine_died"


def test_one_id_answers_one_request_at_a_time() -> None:
    async def twice() -> None:
        async with client_of(ScriptedReplicas([None])) as client:
            client.submit(request(), print)
            with pytest.raises(InvalidRequest, match="is still being answered"):
                client.submit(request(), print)

    asyncio.run(twice())


def test_closing_ends_requests_and_the_deployment() -> None:
    async def close() -> tuple[list[TokenDelta], RayClient, ScriptedReplicas]:
        replicas, deltas = ScriptedReplicas([None]), list[TokenDelta]()
        async with client_of(replicas) as client:
            client.submit(request(), deltas.append)
        with pytest.raises(EngineDraining):
            client.submit(request(), print)
        return deltas, client, replicas

    deltas, client, replicas = asyncio.run(close())
    assert deltas[-1].error is not None and deltas[-1].error.code == "engine_draining"
    assert client.state is EngineState.DEAD and replicas.is_closed


def test_prompts_are_routed_by_block_names() -> None:
    async def route() -> list[list[int]]:
        replicas = ScriptedReplicas(*([Tokens(1, ends=True)] for _ in range(3)))
        async with client_of(replicas) as client:
            for salt, tokens in (("", PROMPT), ("s", PROMPT), ("", PROMPT[:33])):
                asked = replace(
                    request(f"{salt}{len(tokens)}"), cache_salt=salt, prompt_token_ids=tokens
                )
                await answer(client, asked)
            client.expect_prompt(ExpectedPrompt(token_ids=PROMPT))
            return [list(each.names) for each in (*replicas.routes, *replicas.expected)]

    plain, salted, shorter, expected = asyncio.run(route())
    assert len(plain) == 2 and plain == shorter == expected  # whole blocks of 16
    assert not set(plain) & set(salted)


def test_the_state_is_ready_while_one_replica_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.ray.ray_client.POLL_S", 0.0)

    async def watch() -> None:
        replicas = ScriptedReplicas()
        replicas.statuses[0] = replicas.status("r0", "dead")
        async with client_of(replicas) as client:
            assert client.state is EngineState.READY
            assert client.info is not None and client.info.num_slots == 100
            replicas.statuses = []
            while client.state is EngineState.READY:
                await asyncio.sleep(0)
            with pytest.raises(EngineDied, match="no replica is ready"):
                client.submit(request(), print)
            replicas.statuses = [replicas.status("new"), replicas.status("r1")]
            await client.wait_ready(1)
            while client.info.num_slots != 200:
                await asyncio.sleep(0)

    asyncio.run(watch())


def test_a_replica_that_hangs_leaves_the_others_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yaie.ray.ray_client.POLL_S", 0.0)

    async def watch() -> list[TokenDelta]:
        replicas = ScriptedReplicas([Tokens(1, ends=True)])
        async with client_of(replicas) as client:
            replicas.hangs = True
            num_calls = len(replicas.calls)
            while len(replicas.calls) < num_calls + 3:
                await asyncio.sleep(0)
            assert len(client.replicas) == 2
            return await answer(client, request())

    assert text(asyncio.run(watch())) == [1]


def test_an_attempt_that_ended_before_the_router_saw_it_is_no_load() -> None:
    route, inbox = Route(), deque[Event]()
    route.note_end()
    route.open("q", inbox)
    assert list(inbox) == [("ended", "q")]


def test_the_answer_of_the_replica_with_most_of_a_prompt_counts() -> None:
    async def ask() -> object:
        replicas = ScriptedReplicas()
        async with client_of(replicas) as client:
            explained = [Explanation(40, held, held, None, 5) for held in (3, 30)]
            replicas.statuses = [*explained, ActorLost("dead")]  # type: ignore[list-item]
            return await client.ask(ExplainPrompt(PROMPT))

    found = asyncio.run(ask())
    assert isinstance(found, Explanation) and found.num_held == 30
