"""`LLM` under faults, threads, interrupts and after its end."""

from __future__ import annotations

import gc
import os
import pty
import signal
import sys
import termios
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.llm.conftest import GREEDY, is_idle
from yaie import LLM, RequestOutput, SamplingParams
from yaie.base.errors import EngineUnavailable, RequestFailed
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.client.core_loading import load_engine_core
from yaie.engine.core import EngineCore
from yaie.engine.loop import Core


def test_a_request_that_fails_does_not_affect_others(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prompts: list[str | list[int]] = ["the", [100], "fox"]
    expected = llm.generate(["the", "fox"], GREEDY)
    add = EngineCore.add

    def fail(core: EngineCore, request: GenerationRequest) -> None:
        if request.prompt_token_ids == (100,):
            raise RuntimeError("a bug")
        add(core, request)

    monkeypatch.setattr(EngineCore, "add", fail)
    outputs = llm.generate(prompts, GREEDY)
    assert outputs[1].finish_reason == "error"
    assert "a bug" in str(outputs[1].error)
    assert "prompt 1 failed" in caplog.text
    assert [outputs[0].token_ids, outputs[2].token_ids] == [out.token_ids for out in expected]
    with pytest.raises(RequestFailed, match="a bug"):
        list(llm.stream([100], GREEDY))


def test_threads_may_call_at_once(llm: LLM) -> None:
    prompts = [[[10 + t, 5 * k, 7] for k in range(8)] for t in range(6)]
    expected = [llm.generate(own, GREEDY) for own in prompts]
    gate = threading.Barrier(6)

    def call(own: list[list[int]]) -> list[RequestOutput]:
        gate.wait()
        return llm.generate(own, GREEDY)

    before = llm.stats.num_steps
    with ThreadPoolExecutor(6) as pool:
        got = list(pool.map(call, prompts))
    for a, b in zip(got, expected, strict=True):
        assert [out.token_ids for out in a] == [out.token_ids for out in b]
    assert llm.stats.num_steps - before < 6 * 12  # in common batches
    assert is_idle(llm)


def test_an_interrupt_ends_only_the_running_requests(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = llm.generate("the fox", GREEDY)[0]
    real_step, steps, cores = EngineCore.step, iter(range(10**6)), set()

    def step(core: EngineCore) -> list[TokenDelta]:
        cores.add(core)
        if next(steps) == 3:
            signal.raise_signal(signal.SIGINT)
        return real_step(core)

    monkeypatch.setattr(EngineCore, "step", step)
    with pytest.raises(KeyboardInterrupt):
        llm.generate(
            [[k, 9] for k in range(20)], SamplingParams(max_tokens=900, ignore_eos=True, n=2)
        )
    assert is_idle(llm)
    cores.pop().check()
    assert llm.generate("the fox", GREEDY)[0].token_ids == expected.token_ids


def test_closing_frees_the_model_and_later_calls_raise(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores = []

    def load(config: EngineConfig) -> Core:
        cores.append(load_engine_core(config))
        return cores[0]

    monkeypatch.setattr("yaie.api.local_engine.load_engine_core", load)
    llm = LLM(tiny_model_dir, num_slots=512, threads=1)
    core = cores.pop()
    weights = weakref.ref(next(core.executor.loaded.model.parameters()))
    pool = weakref.ref(core.executor.pool)
    del core
    stream = llm.stream("the", SamplingParams(max_tokens=100, ignore_eos=True))
    next(stream)
    llm.close()
    llm.close()
    gc.collect()
    assert weights() is None
    assert pool() is None
    for call in (llm.generate, llm.chat, llm.stream):
        with pytest.raises(EngineUnavailable, match="closed"):
            call("the")  # type: ignore[arg-type]
    with pytest.raises(EngineUnavailable, match="closed"):
        list(stream)
    assert llm.info.architecture == "Qwen3ForCausalLM"  # still known
    assert repr(llm).endswith(", closed)")


def test_leaving_a_stream_ends_its_request(llm: LLM) -> None:
    sampling = SamplingParams(max_tokens=900, ignore_eos=True)
    stream = llm.stream("A quick", sampling)
    next(stream)
    assert llm.stats.num_running == 1
    stream.close()
    assert is_idle(llm)
    for piece in llm.stream("A quick", sampling):
        if piece.usage.completion_tokens == 5:
            break
    del piece
    gc.collect()
    assert is_idle(llm)


def test_a_stream_and_a_call_in_its_middle(llm: LLM) -> None:
    expected = llm.generate(["A quick", "the lazy"], GREEDY)
    stream = llm.stream("A quick", GREEDY)
    pieces = [next(stream)]
    assert llm.generate("the lazy", GREEDY)[0].token_ids == expected[1].token_ids
    pieces += stream
    assert "".join(piece.text for piece in pieces) == expected[0].text


def test_a_progress_bar_appears_on_terminals_only(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sampling = SamplingParams(max_tokens=2, ignore_eos=True)

    def shown(count: int, progress: bool) -> bytes:
        terminal, other_end = pty.openpty()
        termios.tcsetwinsize(terminal, (24, 80))
        with monkeypatch.context() as patch, open(other_end, "w") as stderr:  # noqa: PTH123
            patch.setenv("TERM", "xterm")
            patch.setattr(sys, "stderr", stderr)
            llm.generate(["the"] * count, sampling, progress=progress)
            stderr.write("end")
            stderr.flush()
            text = b""
            while not text.endswith(b"end"):
                text += os.read(terminal, 65536)
        os.close(terminal)
        return text

    assert b"8/8" in shown(8, True)
    assert shown(8, False) == b"end"
    assert shown(7, True) == b"end"
    llm.generate(["the"] * 8, sampling)  # not a terminal
    assert capfd.readouterr() == ("", "")
