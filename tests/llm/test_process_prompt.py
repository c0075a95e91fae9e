"""`process_prompt` and `process_prompts_concurrently`: prompts in, records out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tests.llm.conftest import GREEDY, HELLO, is_idle
from yaie import LLM, PromptOutput
from yaie.api.prompt_output import decode_rate
from yaie.base.errors import (
    ContextLengthExceeded,
    EngineUnavailable,
    InvalidRequest,
    YaieError,
)
from yaie.base.types import Timings
from yaie.engine.core import EngineCore

TOO_LONG = "fox " * 2000
PROMPTS: list[Any] = ["A quick brown fox", "", HELLO, TOO_LONG, [5, 6, 7], "A quick red fox"]
REFUSED = {1: "empty", 3: "maximum context length"}


def drained(stream: Generator[str, None, PromptOutput]) -> tuple[list[str], PromptOutput]:
    """Return the texts of a stream, and its return value."""
    texts = []
    while True:
        try:
            texts.append(next(stream))
        except StopIteration as end:
            return texts, end.value


def texts_of(outputs: list[PromptOutput]) -> list[str]:
    return [output.text for output in outputs]


@pytest.fixture
def expected(llm: LLM) -> list[str]:
    """Answers to `PROMPTS`, by the methods that this repository's other tests check."""
    found = [
        llm.generate(PROMPTS[0], GREEDY),
        llm.chat(HELLO, GREEDY),
        llm.generate(PROMPTS[4], GREEDY),
        llm.generate(PROMPTS[5], GREEDY),
    ]
    texts = iter([output.text for (output,) in found])
    return ["" if index in REFUSED else next(texts) for index in range(len(PROMPTS))]


def test_a_prompt_gives_the_answer_of_generate_and_a_conversation_that_of_chat(llm: LLM) -> None:
    whole = llm.process_prompt("the lazy dog", GREEDY)
    (generated,) = llm.generate("the lazy dog", GREEDY)
    assert (whole.text, whole.token_ids) == (generated.text, generated.token_ids)
    assert whole.finish_reason == generated.finish_reason == "length"
    assert whole.error is None
    answered = llm.process_prompt(HELLO, GREEDY)
    (chat,) = llm.chat(HELLO, GREEDY)
    assert (answered.text, answered.prompt_tokens) == (chat.text, chat.usage.prompt_tokens)


def test_an_output_has_counts_rates_and_cached_tokens(llm: LLM) -> None:
    llm.process_prompt("jumps over the lazy dog", GREEDY)
    again = llm.process_prompt("jumps over the lazy dog", GREEDY)
    assert again.generated_tokens == len(again.token_ids) == 12
    assert again.cached_tokens == again.prompt_tokens - 1
    assert again.usage.total_tokens == again.prompt_tokens + 12
    assert again.ttft is not None and again.ttft > 0
    assert again.tokens_per_second is not None and again.tokens_per_second > 0
    one = llm.process_prompt("jumps", {"max_tokens": 1})
    assert one.tokens_per_second is None
    assert again.model_dump()["text"] == again.text  # a pydantic model


def test_the_rate_is_that_of_the_tokens_after_the_first() -> None:
    timings = Timings(first_token_s=2.0, total_s=4.0)
    assert decode_rate(9, timings) == 4.0
    assert decode_rate(1, timings) is None
    assert decode_rate(0, Timings()) is None


def test_an_end_token_counts_in_the_stream_and_in_the_whole(llm: LLM) -> None:
    first = llm.process_prompt("the lazy dog", GREEDY)
    stop = first.token_ids[3]
    sampling = {"temperature": 0, "max_tokens": 12, "stop_token_ids": [stop]}
    whole = llm.process_prompt("the lazy dog", sampling)
    _, streamed = drained(llm.process_prompt("the lazy dog", sampling, stream=True))
    assert whole.finish_reason == streamed.finish_reason == "stop"
    length = first.token_ids.index(stop) + 1
    assert whole.generated_tokens == streamed.generated_tokens == length


def test_a_list_runs_in_one_batch_and_keeps_its_order(llm: LLM, expected: list[str]) -> None:
    steps = llm.stats.num_steps
    outputs = llm.process_prompt(PROMPTS, GREEDY)
    assert texts_of(outputs) == expected
    assert llm.stats.num_steps - steps <= 14  # not four times twelve


def test_a_refused_prompt_of_a_list_has_its_reason_and_the_others_answers(
    llm: LLM, expected: list[str]
) -> None:
    outputs = llm.process_prompt(PROMPTS, GREEDY)
    assert texts_of(outputs) == expected
    for index, output in enumerate(outputs):
        assert (output.error is not None) == (index in REFUSED)
        if index in REFUSED:
            assert REFUSED[index] in output.error
            assert output.finish_reason == "error"
    assert is_idle(llm)


def test_a_stream_yields_text_and_returns_the_output(llm: LLM) -> None:
    whole = llm.process_prompt("the lazy dog", GREEDY)
    texts, output = drained(llm.process_prompt("the lazy dog", GREEDY, stream=True))
    assert "".join(texts) == output.text == whole.text
    assert len(texts) > 1
    assert output.token_ids == whole.token_ids
    assert output.finish_reason == "length"


def test_a_list_streams_as_generators_that_may_be_mixed(llm: LLM, expected: list[str]) -> None:
    streams = llm.process_prompt(PROMPTS, GREEDY, stream=True)
    assert isinstance(streams, list)
    firsts = ["" if index in REFUSED else next(each) for index, each in enumerate(streams)]
    ends = [drained(each) for each in reversed(streams)][::-1]
    for index, (first, (rest, output)) in enumerate(zip(firsts, ends, strict=True)):
        assert first + "".join(rest) == output.text == expected[index]
        assert (output.error is not None) == (index in REFUSED)


def test_leaving_a_stream_of_text_ends_its_request(llm: LLM) -> None:
    stream = llm.process_prompt("the", {"max_tokens": 900, "ignore_eos": True}, stream=True)
    with closing(stream):
        next(stream)
        assert not is_idle(llm)
    assert is_idle(llm)


def test_parameters_may_be_a_mapping(llm: LLM) -> None:
    as_mapping = {"temperature": 0.0, "max_tokens": 12, "ignore_eos": True}
    assert llm.process_prompt("fox", as_mapping).text == llm.process_prompt("fox", GREEDY).text
    with pytest.raises(ValueError, match="did you mean temperature") as caught:
        llm.process_prompt("fox", {"temperatur": 0.0})
    assert isinstance(caught.value, InvalidRequest)
    with pytest.raises(ValueError, match="top_p"):
        llm.process_prompt("fox", {"top_p": 2.0})
    with pytest.raises(TypeError, match="mapping, got str"):
        llm.process_prompt("fox", "greedy")  # type: ignore[call-overload]


@pytest.mark.parametrize("prompt", [5, None, b"the", [1.5], ["the", 5], [HELLO, [None]], {1, 2}])
def test_a_prompt_of_the_wrong_type_is_a_type_error(llm: LLM, prompt: Any) -> None:
    with pytest.raises(TypeError, match="a prompt must be text") as caught:
        llm.process_prompt(prompt)
    assert isinstance(caught.value, YaieError)


def test_a_refused_prompt_alone_is_a_value_error(llm: LLM) -> None:
    with pytest.raises(ValueError, match="maximum context length") as caught:
        llm.process_prompt(TOO_LONG)
    assert isinstance(caught.value, InvalidRequest)
    assert caught.value.code == ContextLengthExceeded.code
    assert caught.value.param == "prompt"
    with pytest.raises(ValueError, match="surrogate"):
        llm.process_prompt("\ud800", stream=True)


def test_messages_for_a_model_without_a_template_are_a_type_error(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(llm.tokenizer), "chat_template_fault", "no chat template")
    for ask in (llm.process_prompt, llm.count_tokens):
        with pytest.raises(TypeError, match="no chat template"):
            ask(HELLO)
    assert llm.process_prompt("fox", GREEDY).error is None


# -- concurrently ------------------------------------------------------------------------------


def test_outputs_come_in_the_order_of_the_prompts(llm: LLM, expected: list[str]) -> None:
    for limit in (-1, 0, 1, 3, 100):
        outputs = asyncio.run(llm.process_prompts_concurrently(PROMPTS, limit, GREEDY))
        assert texts_of(outputs) == expected
        assert [output.error is not None for output in outputs] == [i in REFUSED for i in range(6)]
    assert asyncio.run(llm.process_prompts_concurrently([], 4)) == []


@pytest.mark.parametrize(("limit", "most"), [(0, 1), (1, 1), (3, 3), (8, 6)])
def test_at_most_the_given_number_of_requests_is_in_the_engine(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, limit: int, most: int
) -> None:
    found = set()
    real_step = EngineCore.step

    def step(core: EngineCore) -> Any:
        found.add(core.stats.num_waiting + core.stats.num_running)
        return real_step(core)

    monkeypatch.setattr(EngineCore, "step", step)
    prompts = [[k, 9] for k in range(6)]
    outputs = asyncio.run(llm.process_prompts_concurrently(prompts, limit, GREEDY))
    assert all(output.generated_tokens == 12 for output in outputs)
    assert max(found) == most


def test_progress_counts_every_prompt_once_and_its_error_loses_nothing(
    llm: LLM, expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[tuple[int, int, str]] = []

    def progress(completed: int, total: int) -> None:
        calls.append((completed, total, threading.current_thread().name))
        raise KeyError("the caller's own")

    outputs = asyncio.run(
        llm.process_prompts_concurrently(PROMPTS, 2, GREEDY, progress_callback=progress)
    )
    assert texts_of(outputs) == expected
    assert calls == [(count, 6, "MainThread") for count in range(1, 7)]
    assert "progress_callback failed" in caplog.text


def test_a_concurrent_stream_yields_texts_and_one_last_event_per_prompt(
    llm: LLM, expected: list[str]
) -> None:
    done: list[tuple[int, int]] = []

    async def collect() -> list[tuple[int, str, Any]]:
        stream = await llm.process_prompts_concurrently(
            PROMPTS, 2, GREEDY, stream=True, progress_callback=lambda *each: done.append(each)
        )
        return [event async for event in stream]

    events = asyncio.run(collect())
    for index in range(len(PROMPTS)):
        own = [(kind, data) for place, kind, data in events if place == index]
        kinds = [kind for kind, _ in own]
        if index in REFUSED:
            assert kinds == ["error"]
            assert REFUSED[index] in own[0][1]
        else:
            assert kinds == ["text"] * (len(own) - 1) + ["final"]
            assert "".join(text for _, text in own[:-1]) == own[-1][1].text == expected[index]
    assert done == [(count, 6) for count in range(1, 7)]
    order = [place for place, kind, _ in events if kind == "text"]
    assert order != sorted(order)  # two prompts grow at the same time


def test_the_event_loop_goes_on_meanwhile_and_a_cancelled_call_ends(llm: LLM) -> None:
    endless = replace(GREEDY, max_tokens=900)

    async def run() -> int:
        call = asyncio.create_task(
            llm.process_prompts_concurrently([[k, 7] for k in range(4)], 2, endless)  # type: ignore[arg-type]
        )
        ticks = 0
        while is_idle(llm):
            await asyncio.sleep(0)
            ticks += 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return ticks

    assert asyncio.run(run()) > 0
    assert is_idle(llm)


def test_leaving_a_concurrent_stream_ends_its_requests(llm: LLM) -> None:
    async def run() -> None:
        stream = await llm.process_prompts_concurrently(
            [[k, 7] for k in range(4)], 4, replace(GREEDY, max_tokens=900), stream=True
        )
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(run())
    assert is_idle(llm)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("the fox", 2), "prompts must be a list"),
        ((None, 2), "prompts must be a list"),
        ((["the"], "2"), "max_concurrent_requests"),
        ((["the"], 2, {"top_p": 7}), "top_p"),
        ((["the"], 2, None, False, 5), "progress_callback"),
    ],
)
def test_wrong_arguments_are_value_errors(llm: LLM, arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        asyncio.run(llm.process_prompts_concurrently(*arguments))


def test_a_failed_engine_is_a_runtime_error(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise EngineUnavailable("the engine is gone")

    monkeypatch.setattr(llm._client, "wait_until", fail)
    with pytest.raises(RuntimeError, match="the engine is gone") as caught:
        asyncio.run(llm.process_prompts_concurrently(["the"], 2, GREEDY))
    assert isinstance(caught.value, YaieError)
    monkeypatch.undo()
    assert llm.process_prompt("the", GREEDY).error is None


@pytest.fixture(autouse=True)
def _leaves_nothing_behind(llm: LLM) -> Iterator[None]:
    yield
    assert is_idle(llm)
