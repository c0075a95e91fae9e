"""`LLM` over a tiny random model: what callers give, what they get, and what they may do to it."""

from __future__ import annotations

import gc
import json
import os
import pty
import shutil
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

import yaie
from yaie import LLM, RequestOutput, SamplingParams, StreamPiece
from yaie.engine.core import EngineCore
from yaie.errors import (
    ConfigError,
    ContextLengthExceeded,
    EngineUnavailable,
    InvalidRequest,
    ModelNotFound,
    ModelUnsupported,
    RequestFailed,
)
from yaie.prompts import list_prompts
from yaie.text.tokenizer import load_tokenizer

GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
HELLO = [{"role": "user", "content": "A quick brown fox"}]


@pytest.fixture(scope="module")
def llm(tiny_model_dir: Path) -> Iterator[LLM]:
    with LLM(tiny_model_dir, num_slots=4096, max_model_len=1024, threads=1, audit=True) as llm:
        yield llm


def is_idle(llm: LLM) -> bool:
    """Whether nothing of any request is left but its cache."""
    stats = llm.stats
    return (stats.num_running, stats.num_waiting, stats.num_live_slots) == (0, 0, 0)


def test_greedy_answers_are_those_of_transformers(llm: LLM, tiny_model_dir: Path) -> None:
    oracle = AutoModelForCausalLM.from_pretrained(tiny_model_dir, dtype=torch.float32)
    prompts = ["The tree is the cache", "The tree is a plan", "dog", "The tree"]
    outputs = llm.generate(prompts, GREEDY)
    for prompt, output in zip(prompts, outputs, strict=True):
        ids = llm.get_tokenizer().encode(prompt)
        assert (output.prompt, list(output.prompt_token_ids)) == (prompt, ids)
        expected = oracle.generate(
            torch.tensor([ids]), do_sample=False, max_new_tokens=12, min_new_tokens=12
        )
        # min_new_tokens forbids the end token in transformers and ignore_eos does not here:
        # compared up to the first end token, where the model likes one.
        drawn, wanted = list(output.token_ids), expected[0, len(ids) :].tolist()
        end = drawn.index(1) if 1 in drawn else 12
        assert drawn[:end] == wanted[:end]
        assert output.text == llm.get_tokenizer().decode(drawn)


def test_every_form_of_prompt_is_the_same_prompt(llm: LLM) -> None:
    text = "the lazy dog"
    ids = llm.get_tokenizer().encode(text)
    forms: list[Any] = [
        text,
        [text],
        ids,
        tuple(ids),
        [ids],
        torch.tensor(ids).numpy(),
        {"prompt": text},
        [{"prompt_token_ids": ids}],
        {"prompt": text, "prompt_token_ids": None},
        {"prompt": None, "prompt_token_ids": ids},
    ]
    outputs = [llm.generate(form, GREEDY) for form in forms]
    assert all(len(output) == 1 for output in outputs)
    assert len({output[0].token_ids for output in outputs}) == 1
    assert [output[0].prompt for output in outputs] == [
        text,
        text,
        *[None] * 4,
        text,
        None,
        text,
        None,
    ]


def test_a_list_of_arrays_is_a_list_of_prompts() -> None:
    five_six: Any = torch.tensor([5, 6])
    seven: Any = torch.tensor([7])
    several: Any = torch.tensor([[5, 6], [7, 8]])
    assert len(list_prompts([seven, seven])) == 2  # an array of one number has an __index__ too
    assert len(list_prompts([five_six.numpy(), seven.numpy()])) == 2
    assert len(list_prompts(several)) == 2
    for one in (five_six, five_six.numpy(), [five_six[0], 6], list(five_six.numpy()), (5, 6)):
        (prompt,) = list_prompts(one)
        assert [int(token_id) for token_id in prompt] == [5, 6]


def test_many_prompts_keep_their_order_and_their_own_sampling(llm: LLM) -> None:
    prompts = [[10 + i, 20, 30] for i in range(40)]
    samplings = [
        SamplingParams(temperature=0.0, max_tokens=1 + i % 9, ignore_eos=True) for i in range(40)
    ]
    outputs = llm.generate(prompts, samplings)
    assert [output.prompt_token_ids for output in outputs] == [tuple(p) for p in prompts]
    assert [len(output.token_ids) for output in outputs] == [1 + i % 9 for i in range(40)]
    alone = llm.generate(prompts[17], samplings[17])[0]
    assert alone.token_ids == outputs[17].token_ids
    assert llm.generate([]) == []
    assert llm.chat([]) == []


def test_an_output_says_everything_about_itself(llm: LLM) -> None:
    prompt = list(range(50, 90))
    sampling = SamplingParams(
        temperature=0.0, max_tokens=5, n=2, logprobs=2, prompt_logprobs=0, ignore_eos=True
    )
    (first,), (again,) = llm.generate(prompt, sampling), llm.generate(prompt, sampling)
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (40, 10)
    assert first.usage.cached_tokens == 0
    assert first.usage.total_tokens == 50
    assert len(first.choices) == 2
    assert [choice.index for choice in first.choices] == [0, 1]
    assert (first.text, first.token_ids) == (first.choices[0].text, first.choices[0].token_ids)
    assert first.finish_reason == "length"
    assert first.stop_reason is None
    assert first.logprobs is not None
    assert [entry.token_id for entry in first.logprobs] == list(first.token_ids)
    assert all(entry.rank == 1 and len(entry.top) == 2 for entry in first.logprobs)
    assert first.prompt_logprobs is not None
    assert len(first.prompt_logprobs) == 40
    assert first.prompt_logprobs[0] is None
    assert 0 <= first.timings.queued_s <= first.timings.first_token_s <= first.timings.total_s
    assert first.error is None
    assert first.request_id != again.request_id
    plain = llm.generate(prompt, GREEDY)[0]
    assert plain.usage.cached_tokens == 39  # all but the row that gives the logits
    assert plain.logprobs is None
    assert plain.prompt_logprobs is None


def test_samples_differ_and_a_seed_repeats_them(llm: LLM) -> None:
    sampling = SamplingParams(temperature=1.0, max_tokens=10, n=4, seed=11, ignore_eos=True)
    first, again = (llm.generate("the", sampling)[0] for _ in range(2))
    assert len({choice.token_ids for choice in first.choices}) == 4
    assert [c.token_ids for c in first.choices] == [c.token_ids for c in again.choices]


def test_a_stop_string_ends_the_text_and_the_work(llm: LLM) -> None:
    whole = llm.generate("A quick brown", GREEDY)[0]
    stop = whole.text[3:5]
    assert "\ufffd" not in stop
    cut = SamplingParams(temperature=0.0, max_tokens=500, ignore_eos=True, stop=(stop,))
    before = llm.stats
    output = llm.generate("A quick brown", cut)[0]
    assert output.text == whole.text[: whole.text.index(stop)]
    assert (output.finish_reason, output.stop_reason) == ("stop", stop)
    assert output.usage.completion_tokens == len(output.token_ids) < 12
    assert is_idle(llm)
    assert llm.stats.num_aborted == before.num_aborted + 1
    # The step in which the stop string is found is the last one computed.
    assert llm.stats.rows_computed - before.rows_computed <= len(output.token_ids) + 1
    kept = SamplingParams(
        temperature=0.0,
        max_tokens=500,
        ignore_eos=True,
        stop=(stop,),
        include_stop_str_in_output=True,
    )
    assert llm.generate("A quick brown", kept)[0].text == output.text + stop


def test_a_stop_token_ends_the_sequence(llm: LLM) -> None:
    whole = llm.generate("A quick brown", GREEDY)[0]
    token = whole.token_ids[2]
    sampling = SamplingParams(temperature=0.0, max_tokens=12, stop_token_ids=(token,))
    output = llm.generate("A quick brown", sampling)[0]
    assert (output.finish_reason, output.stop_reason) == ("stop", token)
    assert output.token_ids == whole.token_ids[: whole.token_ids.index(token) + 1]


def test_a_stream_is_the_same_answer_in_pieces(llm: LLM) -> None:
    sampling = SamplingParams(temperature=0.7, seed=3, max_tokens=30, n=2, ignore_eos=True)
    whole = llm.generate("A quick", sampling)[0]
    pieces = list(llm.stream("A quick", sampling))
    for choice in whole.choices:
        own = [piece for piece in pieces if piece.index == choice.index]
        assert "".join(piece.text for piece in own) == choice.text
        assert tuple(t for piece in own for t in piece.token_ids) == choice.token_ids
        assert [piece.finish_reason for piece in own] == [None] * (len(own) - 1) + ["length"]
    assert all(isinstance(piece, StreamPiece) for piece in pieces)
    assert pieces[-1].usage.completion_tokens == 60
    counts = [piece.usage.completion_tokens for piece in pieces]
    assert counts == sorted(counts)


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


def test_chat_goes_through_the_models_template(llm: LLM) -> None:
    (one,) = llm.chat(HELLO, GREEDY)
    assert one.prompt == ("<|im_start|>user\nA quick brown fox<|im_end|>\n<|im_start|>assistant\n")
    assert one.prompt_token_ids.count(0) == 2  # the marks are single tokens
    other = [{"role": "system", "content": "dog"}, *HELLO]
    both = llm.chat([HELLO, other], GREEDY)
    assert both[0].token_ids == one.token_ids
    assert both[1].prompt is not None and both[1].prompt.startswith("<|im_start|>system\ndog")
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    (with_tools,) = llm.chat(HELLO, GREEDY, tools=tools)
    assert with_tools.prompt is not None and '"look"' in with_tools.prompt
    streamed = "".join(piece.text for piece in llm.stream(HELLO, GREEDY))
    assert streamed == one.text


def test_a_chat_without_sampling_is_not_cut_at_sixteen_tokens(llm: LLM) -> None:
    assert llm.generate("dog")[0].usage.completion_tokens <= 16
    (output,) = llm.chat(HELLO, None)
    assert output.finish_reason == "stop" or output.usage.total_tokens == llm.info.max_model_len


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ([], "empty"),
        ("", "empty"),
        ([1, 420], "420"),
        ([-1], "-1"),
        pytest.param([10**5000], "too many digits", id="too many digits"),
        ([1.5], "whole numbers"),
        (torch.tensor([1.5]), "whole numbers"),
        ([torch.tensor([5])], "whole numbers"),
        ({"prompt_token_ids": torch.tensor(5)}, "whole numbers"),
        (None, "NoneType"),
        (7.5, "float"),
        ({"text": "a"}, "NoneType"),
        (b"abc", "bytes"),
        ({"prompt": bytearray(b"abc")}, "bytearray"),
        ("half \ud800", "surrogate"),
        ([5] * 2048, "2048"),
    ],
)
def test_a_wrong_prompt_is_named_before_anything_runs(llm: LLM, prompt: Any, words: str) -> None:
    before = llm.stats
    with pytest.raises(InvalidRequest, match=words) as caught:
        llm.generate(["fine", "fine too", prompt], GREEDY)
    assert str(caught.value).startswith("prompt 2: ")
    assert caught.value.message == str(caught.value)
    with pytest.raises(InvalidRequest, match=words) as caught:
        llm.stream(prompt, GREEDY)  # at once, not at the first piece
    assert not str(caught.value).startswith("prompt 0")
    assert llm.stats == before


def test_wrong_arguments_are_explained(llm: LLM) -> None:
    with pytest.raises(InvalidRequest, match="1 sampling_params for 2 prompts"):
        llm.generate(["a", "b"], [GREEDY])
    with pytest.raises(InvalidRequest, match=r"sampling_params\[0\] must be SamplingParams"):
        llm.generate(["a"], [{"max_tokens": 3}])  # type: ignore[list-item]
    for wrong in ({"max_tokens": 3}, "greedy", 3):
        name = type(wrong).__name__
        with pytest.raises(InvalidRequest, match=f"SamplingParams or a list of them, got {name}"):
            llm.generate("a", wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match=f"SamplingParams or a list of them, got {name}"):
            llm.stream("a", wrong)  # type: ignore[arg-type]
    several: list[Any] = [["a"], ["a", "b"], [[5, 6]], [{"prompt": "a"}], [HELLO, HELLO]]
    for prompts in several:
        with pytest.raises(InvalidRequest, match="stream takes one prompt or one conversation"):
            llm.stream(prompts)
    with pytest.raises(InvalidRequest, match="text, token ids, or a list"):
        llm.generate(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="text, token ids, or a list of these, got bytes"):
        llm.generate(b"abc")
    with pytest.raises(InvalidRequest, match=r"prompt 1: messages\[0\]\.role"):
        llm.chat([HELLO, [{"role": "wizard", "content": "a"}]])
    with pytest.raises(InvalidRequest, match="list of messages"):
        llm.chat(["hello"])  # type: ignore[arg-type]
    with pytest.raises(ContextLengthExceeded, match="ask for at most"):
        llm.generate("a", SamplingParams(max_tokens=5000))


def test_what_fails_in_the_engine_is_told_and_harms_nobody(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prompts: list[str | list[int]] = ["the", [100], "fox"]
    expected = llm.generate(["the", "fox"], GREEDY)
    core = llm._client._loop.core
    assert isinstance(core, EngineCore)
    make = core._make_request

    def fail(request: Any) -> Any:
        if request.prompt_token_ids == (100,):
            raise RuntimeError("a bug")
        return make(request)

    monkeypatch.setattr(core, "_make_request", fail)
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


def test_an_interrupt_ends_what_runs_and_no_more(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = llm.generate("the fox", GREEDY)[0]
    core = llm._client._loop.core
    assert isinstance(core, EngineCore)
    real_step, steps = core.step, iter(range(10**6))

    def step() -> Any:
        if next(steps) == 3:
            signal.raise_signal(signal.SIGINT)
        return real_step()

    monkeypatch.setattr(core, "step", step)
    with pytest.raises(KeyboardInterrupt):
        llm.generate(
            [[k, 9] for k in range(20)], SamplingParams(max_tokens=900, ignore_eos=True, n=2)
        )
    assert is_idle(llm)
    core.check()
    assert llm.generate("the fox", GREEDY)[0].token_ids == expected.token_ids


def test_salts_keep_caches_apart(llm: LLM) -> None:
    prompt = list(range(200, 240))
    cached = [
        llm.generate(prompt, GREEDY, cache_salt=salt)[0].usage.cached_tokens
        for salt in ("a", "a", "b")
    ]
    assert cached == [0, 39, 0]


def test_closing_frees_the_model_and_later_calls_say_so(tiny_model_dir: Path) -> None:
    llm = LLM(tiny_model_dir, num_slots=512, threads=1)
    core = llm._client._loop.core
    assert isinstance(core, EngineCore)
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
    assert llm.info.architecture == "Qwen3ForCausalLM"  # what it was is still known


def test_settings_are_checked_and_a_misspelt_one_is_named(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="did you mean num_slots"):
        LLM(tiny_model_dir, num_slot=5)
    with pytest.raises(ConfigError, match=r"^num_slots is .* whole number"):
        LLM(tiny_model_dir, num_slots="many")
    with pytest.raises(ConfigError, match="one of auto, float32"):
        LLM(tiny_model_dir, dtype="float8")
    with pytest.raises(ModelNotFound):
        LLM(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no model is named"):
        LLM("")
    with pytest.raises(ConfigError, match="not NoneType"):
        LLM(None)  # type: ignore[arg-type]
    bare = tmp_path / "bare"
    shutil.copytree(tiny_model_dir, bare)
    (bare / "tokenizer.json").unlink()
    with pytest.raises(ModelUnsupported, match="tokenizer"):
        LLM(bare)
    with LLM(bare, tokenizer=tiny_model_dir, num_slots=512) as llm:
        assert llm.generate("the", GREEDY)[0].usage.completion_tokens == 12
    with LLM(bare, tokenizer=load_tokenizer(tiny_model_dir), num_slots=512) as llm:
        assert llm.generate("the", GREEDY)[0].usage.completion_tokens == 12


def test_a_refused_architecture_is_named_before_its_tokenizer(tmp_path: Path) -> None:
    config = {"architectures": ["BertModel"], "model_type": "bert"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnsupported, match="reads in both directions"):
        LLM(str(tmp_path))


def test_the_models_own_advice_on_sampling_is_the_default(
    tiny_model_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "advised"
    shutil.copytree(tiny_model_dir, folder)
    advice = folder / "generation_config.json"
    advice.write_text(json.dumps({"temperature": 0.6, "top_k": 20, "top_p": 0.95}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling == SamplingParams(temperature=0.6, top_k=20, top_p=0.95)
    advice.write_text(json.dumps({"do_sample": False}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling.is_greedy
        assert llm.generate("the")[0].token_ids == llm.generate("the")[0].token_ids
    advice.write_text(json.dumps({"temperature": -3.0}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling == SamplingParams()
        assert "temperature" in caplog.text


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sampling = SamplingParams(max_tokens=2, ignore_eos=True)

    def shown(count: int, progress: bool) -> bytes:
        terminal, other_end = pty.openpty()
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


@pytest.mark.skipif(
    not (Path(yaie.__file__).parent / "models/builtin/model.safetensors").exists(),
    reason="this copy has no built-in model yet",
)
def test_the_builtin_model_is_what_one_gets_by_saying_nothing() -> None:
    with LLM(num_slots=2048) as llm:
        assert llm.info.model == "builtin"
        (output,) = llm.chat([{"role": "user", "content": "Who are you?"}])
        assert output.text.strip()
        assert output.finish_reason == "stop"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache_salt", [1]),
        ("priority", "high"),
        ("priority", 2**70),
        pytest.param("priority", 10**5000, id="too many digits"),
    ],
)
def test_a_salt_or_priority_of_a_wrong_kind_is_refused_and_nothing_is_harmed(
    llm: LLM, name: str, value: Any
) -> None:
    with pytest.raises(InvalidRequest, match=name) as refusal:
        llm.generate("a", **{name: value})
    assert refusal.value.param == name
    assert llm.generate("a", SamplingParams(max_tokens=1))[0].finish_reason == "length"
