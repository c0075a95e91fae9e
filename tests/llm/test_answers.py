"""Answers of `LLM` over a tiny random model."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.llm.conftest import GREEDY, HELLO, is_idle
from yaie import LLM, SamplingParams, StreamPiece
from yaie.base.errors import InvalidRequest, ModelUnsupported


def test_greedy_answers_equal_those_of_transformers(llm: LLM, tiny_model_dir: Path) -> None:
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
        # compared up to the first end token, if any.
        drawn, wanted = list(output.token_ids), expected[0, len(ids) :].tolist()
        end = drawn.index(1) if 1 in drawn else 12
        assert drawn[:end] == wanted[:end]
        assert output.text == llm.get_tokenizer().decode(drawn)


def test_many_prompts_keep_their_order_and_sampling(llm: LLM) -> None:
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


def test_an_output_has_usage_logprobs_and_timings(llm: LLM) -> None:
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
    # The step of the stop string is the last one computed.
    assert llm.stats.rows_computed - before.rows_computed <= len(output.token_ids) + 1
    kept = SamplingParams(
        temperature=0.0,
        max_tokens=500,
        ignore_eos=True,
        stop=(stop,),
        include_stop_str_in_output=True,
    )
    assert llm.generate("A quick brown", kept)[0].text == output.text + stop


def test_a_stop_pattern_ends_the_text_and_the_work(llm: LLM) -> None:
    whole = llm.generate("A quick brown", GREEDY)[0]
    pattern = re.escape(whole.text[3]) + "."
    cut = SamplingParams(temperature=0.0, max_tokens=500, ignore_eos=True, stop_regex=(pattern,))
    output = llm.generate("A quick brown", cut)[0]
    assert output.text == whole.text[: whole.text.index(whole.text[3])]
    assert (output.finish_reason, output.stop_reason) == ("stop", pattern)
    assert "".join(piece.text for piece in llm.stream("A quick brown", cut)) == output.text
    assert is_idle(llm)
    with pytest.raises(InvalidRequest, match=r"prompt 1.*'\^', a place") as caught:
        llm.generate(["a", "b"], [GREEDY, SamplingParams(stop_regex="^a")])  # type: ignore[arg-type]
    assert caught.value.param == "stop_regex"
    assert is_idle(llm)


def test_a_stop_pattern_that_times_out_ends_its_prompt_alone(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yaie.text.stop_patterns.TIMEOUT_S", 0.1)
    slow = replace(GREEDY, n=2, max_tokens=500, stop_regex=(r"(.?){60}.{60}\x00",))
    failed, other = llm.generate(["A quick brown", "A quick"], [slow, GREEDY])
    assert failed.error is not None
    assert "stop_regex took more than 0.1 s" in failed.error
    assert {choice.finish_reason for choice in failed.choices} == {"error"}
    assert (other.error, other.finish_reason) == (None, "length")
    with pytest.raises(InvalidRequest, match="stop_regex took more than"):
        list(llm.stream("A quick brown", slow))
    assert is_idle(llm)


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


def test_chat_applies_the_models_template(llm: LLM) -> None:
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


def test_salts_keep_caches_apart(llm: LLM) -> None:
    prompt = list(range(200, 240))
    cached = [
        llm.generate(prompt, GREEDY, cache_salt=salt)[0].usage.cached_tokens
        for salt in ("a", "a", "b")
    ]
    assert cached == [0, 39, 0]


def test_a_refused_architecture_is_named_before_its_tokenizer(tmp_path: Path) -> None:
    config = {"architectures": ["DebertaV2Model"], "model_type": "deberta-v2"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnsupported, match="DebertaV2Model cannot be served"):
        LLM(str(tmp_path))
