"""Engines as they are configured: warm-ups, saved ones, loaded modules, other constructors."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.llm.conftest import GREEDY, is_idle
from yaie import LLM, Engine, GenerationOutput, InferenceEngine, RequestOutput, WarmupConfig
from yaie.base.errors import ConfigError, EngineUnavailable, InvalidRequest


def test_a_warm_up_computes_its_batches_once_and_leaves_no_hits(llm: LLM) -> None:
    config = WarmupConfig(batch_sizes=[1, 3], prefill_lengths=5, max_tokens=2)  # type: ignore[arg-type]
    before = llm.stats
    assert llm.warmup(config)
    done = llm.stats.since(before)
    assert done.num_admitted == 4
    assert done.prompt_rows_computed == 4 * 5  # no two prompts are equal
    assert done.output_tokens == 4 * 2
    assert not llm.warmup(WarmupConfig(batch_sizes=(1, 3), prefill_lengths=(5,), max_tokens=2))
    assert llm.stats.num_steps == before.num_steps + done.num_steps
    (prompt,) = config.batches(llm.info)[0]
    assert llm.process_prompt(prompt, GREEDY).cached_tokens == 0
    assert is_idle(llm)


def test_a_warm_up_fits_the_context_and_the_places(llm: LLM) -> None:
    config = WarmupConfig(batch_sizes=(10_000,), prefill_lengths=(10_000,), max_tokens=4)
    (batch,) = config.batches(llm.info)
    assert len(batch) == llm.info.max_running
    assert {len(prompt) for prompt in batch} == {llm.info.max_model_len - 4}


@pytest.mark.parametrize(
    "wrong", [{"batch_sizes": 0}, {"prefill_lengths": (8, -1)}, {"max_tokens": "2"}]
)
def test_a_warm_up_has_sizes_from_one(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        WarmupConfig(**wrong)


def test_a_saved_engine_is_loaded_with_its_settings_and_warm_ups(
    tiny_model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_model_dir.parent)
    with InferenceEngine(tiny_model_dir.name, 7, num_slots=300, threads=1) as made:
        made.warmup(WarmupConfig(batch_sizes=2, prefill_lengths=4))  # type: ignore[arg-type]
        path = made.save(tmp_path / "engine")
        text = made.process_prompt("the", GREEDY).text
    monkeypatch.chdir(tmp_path)  # the model is found from anywhere
    for kind in (LLM, InferenceEngine):
        with kind.load(tmp_path / "engine", max_model_len=100) as loaded:
            assert type(loaded) is kind
            assert (loaded.info.num_slots, loaded.info.max_running) == (300, 7)
            assert loaded.info.max_model_len == 100
            assert loaded.stats.num_admitted == 2
            assert loaded.process_prompt("the", GREEDY).text == text
    contents = json.loads(path.read_text())
    for change, words in (
        ({"format": 9}, "has format 9"),
        ({"settings": {"num_slot": 3}}, "'num_slot'"),
        ({"settings": {"num_slots": -3}}, "num_slots"),
        ({"warm_ups": 5}, "not a saved engine"),
    ):
        path.write_text(json.dumps(contents | change))
        with pytest.raises(ConfigError, match=words):
            LLM.load(tmp_path / "engine")
    path.write_text("{")
    with pytest.raises(ConfigError, match="not a saved engine"):
        LLM.load(tmp_path / "engine")
    with pytest.raises(ConfigError, match="cannot be read"):
        LLM.load(tmp_path)


def test_a_loaded_module_answers_as_its_folder(tiny_model_dir: Path, llm: LLM) -> None:
    module = AutoModelForCausalLM.from_pretrained(tiny_model_dir, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_dir)
    for given in (tokenizer, llm.tokenizer, tiny_model_dir):
        with LLM(module, tokenizer=given, num_slots=300, threads=1) as made:
            assert made.model_name == str(tiny_model_dir)
            assert not Path(made.info.model_path).exists()  # it was for the load alone
            expected = llm.process_prompt("the", GREEDY)
            assert made.process_prompt("the", GREEDY).token_ids == expected.token_ids
    with LLM(module, tokenizer=tokenizer, inference_name="mine", num_slots=300, threads=1) as named:
        assert named.model_name == named.inference_name == "mine"
    with pytest.raises(ConfigError, match="no tokenizer"):
        LLM(module)


def test_the_engine_has_the_names_of_mini_vllm(tiny_model_dir: Path) -> None:
    assert Engine is LLM
    assert GenerationOutput is RequestOutput
    with InferenceEngine(tiny_model_dir, 5, max_num_tokens=40, num_slots=300, threads=1) as engine:
        assert (engine.info.max_running, engine.info.max_step_rows) == (5, 40)
        assert engine.info.device == "cpu"
        engine.start()
        engine.start()
        (output,) = engine.generate("the", GREEDY)
        assert output.finished
        assert (output.finish_reason, len(output.token_ids)) == ("length", 12)
        pieces = list(engine.generate_stream("the", GREEDY))
        assert [piece.finished for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        assert engine.get_stats().num_finished == 2
        engine.stop()
        engine.stop()
        with pytest.raises(EngineUnavailable, match="closed"):
            engine.start()


def test_asynchronous_generation_leaves_the_loop_free_and_ends_with_its_task(llm: LLM) -> None:
    async def run() -> list[RequestOutput]:
        outputs = await llm.generate_async(["the", [5, 6]], GREEDY)
        with pytest.raises(InvalidRequest, match="sampling_params"):
            await llm.generate_async("the", "greedy")  # type: ignore[arg-type]
        sampling = replace(GREEDY, max_tokens=900)
        endless = asyncio.create_task(llm.generate_async("the", sampling))
        while is_idle(llm):
            await asyncio.sleep(0)
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless
        return outputs

    outputs = asyncio.run(run())
    expected = llm.generate(["the", [5, 6]], GREEDY)
    assert [output.token_ids for output in outputs] == [each.token_ids for each in expected]
    assert is_idle(llm)
