"""`AsyncLLM`: the methods of `LLM` on an event loop, in this process and over a child process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.llm.conftest import GREEDY, HELLO, is_idle
from yaie import LLM, AsyncLLM, EngineAdapter, Grammar, InferenceEngineAdapter, ReturnSample
from yaie.base.errors import (
    ContextLengthExceeded,
    EngineDied,
    EngineUnavailable,
    InvalidRequest,
    ModelNotFound,
)
from yaie.base.queries import ExplainPrompt
from yaie.base.types import EngineState

ENDLESS = replace(GREEDY, max_tokens=900)
PROMPTS: list[Any] = ["the lazy dog", [5, 6, 7], "A quick"]


def over(llm: LLM, use: Callable[[AsyncLLM], Awaitable[Any]]) -> Any:
    """Run `use` on an event loop, with an engine that shares `llm`'s."""

    async def run() -> Any:
        async with AsyncLLM.over(llm) as engine:
            return await use(engine)

    result = asyncio.run(run())
    assert is_idle(llm)
    return result


def test_answers_are_those_of_the_llm(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        expected = llm.generate(PROMPTS, GREEDY)
        found = await engine.generate(PROMPTS, GREEDY)
        assert [each.token_ids for each in found] == [each.token_ids for each in expected]
        assert [each.prompt for each in found] == ["the lazy dog", None, "A quick"]
        (chat,) = await engine.chat(HELLO, GREEDY)
        assert chat.text == llm.chat(HELLO, GREEDY)[0].text
        several = replace(GREEDY, n=3, temperature=1.0, seed=3, stop=("e",))
        (mine,) = await engine.generate("the", several)
        (theirs,) = llm.generate("the", several)
        assert [c.text for c in mine.choices] == [c.text for c in theirs.choices]
        assert {choice.finish_reason for choice in mine.choices} <= {"stop", "length"}

    over(llm, use)


def test_a_stream_is_the_answer_in_pieces(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        for prompt in ("the lazy dog", HELLO):
            pieces = [piece async for piece in engine.stream(prompt, GREEDY)]  # type: ignore[arg-type]
            whole = llm.process_prompt(prompt, GREEDY)
            assert "".join(piece.text for piece in pieces) == whole.text
            assert [piece.finish_reason for piece in pieces][-1] == "length"
            assert len(pieces) > 3

    over(llm, use)


def test_tasks_run_in_the_same_batches_beside_threads(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        steps = llm.stats.num_steps
        answers = await asyncio.gather(*(engine.generate([k, 9], GREEDY) for k in range(20)))
        assert llm.stats.num_steps - steps < 20 * 12 / 2
        own = await asyncio.gather(
            *(engine.generate([k, 9], GREEDY) for k in range(8)),
            *(asyncio.to_thread(llm.generate, [k, 9], GREEDY) for k in range(8)),
        )
        for k, each in enumerate(own):
            assert each[0].token_ids == answers[k % 8][0].token_ids

    over(llm, use)


def test_a_cancelled_call_and_a_left_stream_end_their_requests(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        call = asyncio.create_task(engine.generate(["the", "fox"], ENDLESS))
        while is_idle(llm):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        stream = engine.stream("the", ENDLESS)
        async for _ in stream:
            break
        await stream.aclose()
        await until_idle(llm)
        (after,) = await engine.generate("the", GREEDY)
        assert after.token_ids == llm.generate("the", GREEDY)[0].token_ids

    over(llm, use)


async def until_idle(llm: LLM) -> None:
    while not is_idle(llm):
        await asyncio.sleep(0)


def test_faults_are_those_of_the_llm(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        with pytest.raises(InvalidRequest, match="prompt 1"):
            await engine.generate(["the", [1000]], GREEDY)
        with pytest.raises(ContextLengthExceeded):
            await engine.generate("fox " * 2000)
        with pytest.raises(InvalidRequest, match="one conversation"):
            await anext(engine.stream(["the", "fox"]))  # type: ignore[arg-type]
        wrong = Grammar.regex("(")
        (output,) = await engine.generate("the", GREEDY, grammar=wrong)
        assert output.finish_reason == "error"
        assert output.error
        with pytest.raises(InvalidRequest):
            await anext(engine.stream("the", GREEDY, grammar=wrong))

    over(llm, use)


def test_it_describes_itself_once_started(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        assert engine.count_tokens(HELLO) == llm.count_tokens(HELLO)
        assert engine.get_model_info() == llm.get_model_info()
        assert engine.metrics().keys() == llm.metrics().keys()
        assert engine.model_name == llm.model_name
        assert engine.default_sampling == llm.default_sampling

    over(llm, use)
    with pytest.raises(EngineUnavailable, match="has not been started"):
        _ = AsyncLLM("builtin").info


def test_its_engine_answers_queries(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        await engine.generate([5, 6, 7, 8], GREEDY)
        query = ExplainPrompt(token_ids=(5, 6, 7, 8, 9))
        answer = await engine._client.ask(query)
        assert answer == llm._client.ask(query)

    over(llm, use)


def test_closing_ends_calls_and_leaves_the_llm_to_its_owner(llm: LLM) -> None:
    async def run() -> None:
        engine = AsyncLLM.over(llm)
        call = asyncio.create_task(engine.generate(["the", "fox"], ENDLESS))
        while is_idle(llm):
            await asyncio.sleep(0)
        await engine.close()
        outputs = await call
        assert [output.finish_reason for output in outputs] == ["error", "error"]
        assert "stopped" in (outputs[0].error or "")
        with pytest.raises(EngineUnavailable):
            await engine.generate("the")
        await engine.close()

    asyncio.run(run())
    assert llm.generate("the", GREEDY)[0].error is None
    assert is_idle(llm)


def test_an_engine_that_fails_ends_every_call(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with AsyncLLM.over(llm) as engine:
            client = engine._client

            def fail(*_: object) -> None:
                raise EngineDied("the engine broke")

            monkeypatch.setattr(llm._client, "wait_until", fail)
            outputs = await engine.generate(["the", "fox"], GREEDY)
            assert [output.error for output in outputs] == ["the engine broke"] * 2
            assert (client.state, client.state_reason) == (EngineState.FAILED, "the engine broke")
            monkeypatch.undo()

    asyncio.run(run())
    llm.generate("the", GREEDY)
    assert is_idle(llm)


# -- the adapter ---------------------------------------------------------------------------------


def test_the_adapter_answers_prompts_and_lists_with_samples(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        adapter: InferenceEngineAdapter = EngineAdapter(engine)
        samples = await adapter.generate([*PROMPTS, HELLO], {"temperature": 0, "max_tokens": 8})
        assert isinstance(samples, list)
        expected = llm.process_prompt([*PROMPTS, HELLO], {"temperature": 0, "max_tokens": 8})
        for index, (sample, output) in enumerate(zip(samples, expected, strict=True)):
            assert isinstance(sample, ReturnSample)
            assert sample.index == index
            assert sample.text == sample.accumulated_text == output.text
            assert sample.token_ids == output.token_ids
            assert sample.finish_reason == output.finish_reason
            assert sample.generated_tokens == output.generated_tokens
            assert sample.tokens_per_second is not None
            assert sample.ttft is not None
        (one,) = await adapter.generate("the", {"max_tokens": 1})  # type: ignore[misc]
        assert one.generated_tokens == 1
        assert await adapter.count_tokens(HELLO) == llm.count_tokens(HELLO)
        assert adapter.get_model_info() == llm.get_model_info()
        assert (adapter.model_name, adapter.processor) == (llm.model_name, llm.tokenizer)
        for wrong, kind in ((5, TypeError), ([1000], ValueError)):
            with pytest.raises(kind):
                await adapter.generate(wrong)

    over(llm, use)


def test_the_adapter_streams_pieces_of_every_prompt(llm: LLM) -> None:
    async def use(engine: AsyncLLM) -> None:
        stream = await EngineAdapter(engine).generate(PROMPTS, GREEDY, stream=True)
        assert not isinstance(stream, list)
        texts, counts = [""] * 3, [0] * 3
        last: dict[int, ReturnSample] = {}
        async for piece in stream:
            texts[piece.index] += piece.text
            assert piece.accumulated_text == texts[piece.index]
            assert piece.generated_tokens >= counts[piece.index]
            counts[piece.index] = piece.generated_tokens
            last[piece.index] = piece
        assert texts == [output.text for output in llm.process_prompt(PROMPTS, GREEDY)]
        assert [last[index].finish_reason for index in range(3)] == ["length"] * 3
        ended = await EngineAdapter(engine).generate("the", ENDLESS, stream=True)
        assert not isinstance(ended, list)
        await anext(ended)
        await ended.aclose()
        await until_idle(llm)

    over(llm, use)


# -- over a child process ------------------------------------------------------------------------


@asynccontextmanager
async def in_a_child(folder: Path) -> AsyncIterator[AsyncLLM]:
    async with AsyncLLM(folder, num_slots=600, threads=1) as engine:
        yield engine


@pytest.mark.integration
def test_a_child_process_answers_streams_and_is_restarted(tiny_model_dir: Path, llm: LLM) -> None:
    async def run() -> None:
        async with in_a_child(tiny_model_dir) as engine:
            expected = llm.generate(PROMPTS, GREEDY)
            found = await engine.generate(PROMPTS, GREEDY)
            assert [each.token_ids for each in found] == [each.token_ids for each in expected]
            call = asyncio.create_task(engine.generate("the", replace(GREEDY, max_tokens=500)))
            while not engine.stats.num_running:
                await asyncio.sleep(0.001)
            call.cancel()
            while engine.stats.num_running:
                await asyncio.sleep(0.001)
            assert engine.stats.num_aborted == 1
            client: Any = engine._client
            running = asyncio.create_task(engine.generate("the", replace(GREEDY, max_tokens=500)))
            while not engine.stats.num_running:
                await asyncio.sleep(0.001)
            os.kill(client.pid, signal.SIGKILL)
            (lost,) = await running
            assert "send it again" in (lost.error or "")
            (again,) = await engine.generate("the lazy dog", GREEDY)  # waits for the restart
            assert again.token_ids == expected[0].token_ids

    asyncio.run(run())


def test_a_missing_model_is_found_before_a_process_starts(tmp_path: Path) -> None:
    async def run() -> None:
        engine = AsyncLLM(tmp_path / "nowhere")
        with pytest.raises(ModelNotFound):
            await engine.start()
        client: Any = engine._client
        assert client.pid is None
        await engine.close()

    asyncio.run(run())
