"""`Generation` over pushed deltas: latency samples, outcomes and lifetime."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.scripted_client import INFO
from yaie.base.stats import EngineStats
from yaie.base.types import EngineState, GenerationRequest, SamplingParams, TokenDelta
from yaie.client.submission import Sink, Submission
from yaie.server.http.http_errors import ClientTooSlow, RequestTimedOut, timeout_error
from yaie.server.metrics.prometheus import Metrics, Snapshot
from yaie.server.replies import unread_tokens
from yaie.server.replies.detokenize_budget import TOKENS_IN_A_ROW, DetokenizeBudget
from yaie.server.replies.generation import Generation
from yaie.server.replies.unread_tokens import UnreadMemory
from yaie.server.requests.call import Call
from yaie.text.detokenize import ByteDetokenizer
from yaie.text.tokenizer import Tokenizer


class PushingClient:
    """Engine client with deltas pushed by the test."""

    def __init__(self) -> None:
        self.submissions: list[Submission] = []

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        submission = Submission(request, sink, lambda submission, index: None)
        self.submissions.append(submission)
        return submission

    def push(self, *token_ids: int, index: int = 0, **fields: Any) -> None:
        self.submissions[0].sink(
            TokenDelta(request_id="r", index=index, token_ids=token_ids, **fields)
        )


class Bench:
    """One generation, its client and its metrics."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        budget: DetokenizeBudget,
        *,
        stream: bool = False,
        n: int = 1,
        memory: UnreadMemory | None = None,
    ) -> None:
        sampling = SamplingParams(max_tokens=1000, n=n)
        request = GenerationRequest(request_id="r", prompt_token_ids=(5,), sampling=sampling)
        self.client = PushingClient()
        self.metrics = Metrics(lambda: {"tiny": Snapshot(EngineState.READY, INFO, EngineStats())})
        self.generation = Generation(
            Call(
                response_id="r",
                created=0,
                model="tiny",
                requests=(request,),
                sampling=sampling,
                stream=stream,
                include_usage=False,
                return_token_ids=False,
                ignored=(),
            ),
            self.client,  # type: ignore[arg-type]
            http_id="h",
            tokenizer=tokenizer,
            metrics=self.metrics,
            budget=budget,
            memory=memory or UnreadMemory(),
            deadline=asyncio.get_running_loop().time() + 3600,
            timeout_s=3600,
        )
        self.generation.start()

    def sample(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.metrics.text().decode())
        return next(
            (
                sample.value
                for family in families
                for sample in family.samples
                if (sample.name, sample.labels) == (name, labels)
            ),
            0.0,
        )


pytestmark = pytest.mark.anyio
MakeBench = Callable[..., Bench]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def make_bench(tokenizer: Tokenizer) -> MakeBench:
    budget = DetokenizeBudget()
    return lambda **options: Bench(tokenizer, budget, **options)


async def test_the_stream_with_the_most_unread_tokens_ends_first(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_tokens, "MAX_UNREAD_BYTES", 64 * 10)
    memory = UnreadMemory()
    most, fewer, whole = (make_bench(stream=each < 2, memory=memory) for each in range(3))
    whole.client.push(*[50] * 100)  # an answer in one piece has a limit of its own
    ends: list[int] = []
    most.generation.at_overflow = lambda: ends.append(1)
    for _ in range(7):
        most.client.push(50)
    for _ in range(3):
        fewer.client.push(50)
    assert most.generation.is_running
    fewer.client.push(50)
    assert fewer.generation.is_running and not most.generation.is_running
    most.generation.overflow()  # again, before the stream has ended
    assert ends == [1]
    with pytest.raises(ClientTooSlow):
        await most.generation.next()
    assert await fewer.generation.next()
    for bench in (most, fewer, whole):
        bench.generation.close()
    later = make_bench(stream=True, memory=memory)
    for _ in range(10):
        later.client.push(50)
    assert later.generation.is_running
    later.generation.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_the_first_token_adds_one_latency_sample(make_bench: MakeBench, stream: bool) -> None:
    bench = make_bench(stream=stream)
    read = bench.generation.next if stream else bench.generation.whole
    bench.client.push(50, finish_reason="length")
    await read()
    assert bench.sample("yaie_time_to_first_token_seconds_count") == 1
    assert bench.sample("yaie_inter_token_seconds_count") == 0
    bench.generation.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("deltas", [[(1,)] * 10, [(1,), (1,) * 4, (1,) * 5], [(1,) * 10]])
@pytest.mark.parametrize("n", [1, 3])
async def test_each_token_after_the_first_is_a_latency_sample(
    make_bench: MakeBench, stream: bool, deltas: list[tuple[int, ...]], n: int
) -> None:
    bench = make_bench(stream=stream, n=n)

    async def read() -> None:
        while not bench.generation.is_done:
            await (bench.generation.next() if stream else bench.generation.whole())

    reader = asyncio.create_task(read())
    for at, token_ids in enumerate(deltas):
        reason = "length" if at == len(deltas) - 1 else None
        for index in range(n):
            bench.client.push(*token_ids, index=index, finish_reason=reason)
        await asyncio.sleep(0)
    await reader
    bench.generation.close()
    assert bench.sample("yaie_time_to_first_token_seconds_count") == 1
    assert bench.sample("yaie_inter_token_seconds_count") == 9 * n
    total = bench.sample("yaie_inter_token_seconds_sum")
    assert 0 <= total <= n * bench.sample("yaie_request_seconds_sum")


async def test_a_complete_answer_is_no_timeout(make_bench: MakeBench) -> None:
    """All of it arrived before the deadline; a slow client read the rest after it."""
    bench = make_bench(stream=True)
    bench.client.push(50)
    await bench.generation.next()
    bench.client.push(51, finish_reason="length")
    bench.generation.fail(timeout_error(1))
    await bench.generation.next()
    assert bench.generation.is_done
    bench.generation.close()
    assert bench.sample("yaie_requests_total", outcome="length") == 1
    assert bench.sample("yaie_requests_total", outcome="request_timeout") == 0


async def test_an_incomplete_answer_at_its_deadline_is_a_timeout(make_bench: MakeBench) -> None:
    bench = make_bench(stream=True)
    bench.client.push(50)
    await bench.generation.next()
    bench.generation.fail(timeout_error(1))
    with pytest.raises(RequestTimedOut):
        await bench.generation.next()
    bench.generation.close()
    assert bench.sample("yaie_requests_total", outcome="request_timeout") == 1


@pytest.mark.parametrize("is_failed", [False, True])
async def test_a_closed_generation_is_freed_at_once(make_bench: MakeBench, is_failed: bool) -> None:
    gc.disable()
    try:
        bench = make_bench()
        bench.client.push(50)
        if is_failed:
            bench.generation.fail(timeout_error(1))
            with pytest.raises(RequestTimedOut):
                await bench.generation.whole()
        bench.generation.close()
        gone = weakref.ref(bench.generation)
        del bench.generation
        assert gone() is None
    finally:
        gc.enable()


class DecodedPerRun:
    """Number of tokens decoded in each iteration of the event loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[int] = Counter()
        self._run = 0
        self._ticks = asyncio.create_task(self._tick())
        push = ByteDetokenizer.push

        def counted(detokenizer: ByteDetokenizer, token_ids: Sequence[int]) -> str:
            self.counts[self._run] += len(token_ids)
            return push(detokenizer, token_ids)

        monkeypatch.setattr(ByteDetokenizer, "push", counted)

    async def _tick(self) -> None:
        while True:
            self._run += 1
            await asyncio.sleep(0)

    def stop(self) -> None:
        self._ticks.cancel()


@pytest.mark.parametrize("stream", [False, True])
async def test_sequences_in_lockstep_share_the_event_loop(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """Each has as many tokens as the others, so all of them are ready to decode at once."""
    n, num_tokens = 16, 400
    benches = [make_bench(stream=stream, n=n) for _ in range(8)]
    decoded = DecodedPerRun(monkeypatch)

    async def read(generation: Generation) -> list[str]:
        if not stream:
            return [piece.text for piece in (await generation.whole()).values()]
        texts = [""] * n
        while not generation.is_done:
            for choice, piece in (await generation.next()).items():
                texts[choice] += piece.text
        return texts

    readers = [asyncio.create_task(read(bench.generation)) for bench in benches]
    for number in range(1, num_tokens + 1):
        for bench in benches:
            for index in range(n):
                is_last = number == num_tokens
                bench.client.push(50, index=index, finish_reason="length" if is_last else None)
        if number % 100 == 0:
            await asyncio.sleep(0)
    texts = await asyncio.gather(*readers)
    decoded.stop()
    assert sum(decoded.counts.values()) == 8 * n * num_tokens
    assert max(decoded.counts.values()) <= TOKENS_IN_A_ROW
    assert {text for each in texts for text in each} == {texts[0][0]}
    assert len(texts[0][0]) == num_tokens
    for bench in benches:
        bench.generation.close()


async def test_a_cancelled_reader_gives_its_turn_to_the_others() -> None:
    budget = DetokenizeBudget()
    order: list[int] = []

    async def decode(number: int) -> None:
        await budget.reserve(TOKENS_IN_A_ROW)
        order.append(number)

    tasks = [asyncio.create_task(decode(number)) for number in range(5)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 2, 3, 4]
