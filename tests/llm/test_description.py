"""Description of an `LLM` by itself: names, counts, limits and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from safetensors.torch import load_file

from tests.llm.conftest import GREEDY, HELLO
from yaie import LLM, SamplingParams
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState
from yaie.server.metrics.prometheus import Metrics, Snapshot

PARTS = [{"role": "user", "content": [{"type": "text", "text": "A quick brown fox"}]}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def test_counted_tokens_are_the_prompt_tokens_of_a_request(llm: LLM) -> None:
    for text in ("the lazy dog", "", "🙂 tree"):
        if text:
            assert llm.count_tokens(text) == llm.process_prompt(text, GREEDY).prompt_tokens
    for messages in (HELLO, PARTS, [*HELLO, {"role": "assistant", "content": "Hi"}, *HELLO]):
        assert llm.count_tokens(messages) == llm.process_prompt(messages, GREEDY).prompt_tokens
        assert llm.count_tokens(messages, oai_like=True) == llm.count_tokens(messages)
    assert llm.count_tokens("") == 0
    (output,) = llm.chat(HELLO, GREEDY, tools=[TOOL])
    assert llm.count_tokens(HELLO, tools=[TOOL]) == output.usage.prompt_tokens
    for wrong in (5, [5], [{"content": "no role"}]):
        with pytest.raises(TypeError, match="list of messages"):
            llm.count_tokens(wrong)  # type: ignore[arg-type]


def test_the_model_has_its_names_and_facts(llm: LLM, tiny_model_dir: Path) -> None:
    assert llm.model_name == llm.inference_name == llm.info.model == str(tiny_model_dir)
    assert llm.tokenizer is llm.processor is llm.get_tokenizer()
    assert type(llm.model).__name__ == "Qwen3ForCausalLM"
    info = llm.get_model_info()
    assert info == info | {
        "name": str(tiny_model_dir),
        "architecture": "Qwen3ForCausalLM",
        "num_parameters": sum(
            each.numel() for each in load_file(tiny_model_dir / "model.safetensors").values()
        ),
        "max_model_len": 1024,
        "vocab_size": 420,
        "cache_capacity": 4096,
        "has_chat_template": True,
    }
    assert info["kv_bytes_per_token"] == 2 * 2 * 2 * 16 * 4  # k and v, layers, heads, size, float32
    assert {"dtype", "device", "tool_parser"} <= info.keys()


def test_the_longest_prompt_leaves_room_for_the_answer(llm: LLM) -> None:
    assert llm.model_prefill_length == 1024 - SamplingParams().max_tokens  # type: ignore[operator]
    longest = llm.max_prompt_len(8)
    for length, room in ((longest, 8), (longest + 1, 7)):
        output = llm.process_prompt([5] * length, {"max_tokens": 8, "ignore_eos": True})
        assert len(output.token_ids) == room
    with pytest.raises(ValueError, match="maximum context length"):
        llm.process_prompt([5] * 1024, {"max_tokens": 8})
    assert llm.max_prompt_len(5000) == 0


def test_metrics_are_the_numbers_of_prometheus(llm: LLM) -> None:
    llm.process_prompt("the", GREEDY)
    exposed = (
        Metrics(lambda: {"m": Snapshot(EngineState.READY, llm.info, llm.stats)}).text().decode()
    )
    samples = {
        sample.name + "".join(f'{{{name}="{value}"}}' for name, value in sample.labels.items()): (
            sample.value
        )
        for family in text_string_to_metric_families(exposed)
        for sample in family.samples
    }
    found = llm.metrics()
    assert found.items() <= samples.items()
    assert found["yaie_engine_output_tokens_total"] == llm.stats.output_tokens > 0
    assert llm.get_stats() == llm.stats


def test_a_whole_config_makes_an_engine_and_arguments_replace_its_values(
    tiny_model_dir: Path,
) -> None:
    config = EngineConfig(model=str(tiny_model_dir), num_slots=256, served_model_name="small")
    with LLM(config=config, num_slots=128, threads=1) as llm:
        assert (llm.model_name, llm.info.num_slots) == ("small", 128)
        assert llm.config.max_waiting > config.max_waiting  # the caller holds its prompts
    with pytest.raises(ConfigError, match="must be an EngineConfig"):
        LLM(config={"num_slots": 5})  # type: ignore[arg-type]


def test_an_engine_with_a_seed_repeats_its_samples(tiny_model_dir: Path) -> None:
    def said(seed: int | None, sampling: SamplingParams) -> list[tuple[int, ...]]:
        with LLM(tiny_model_dir, num_slots=512, threads=1, seed=seed) as llm:
            return [output.token_ids for output in llm.generate(["the", "the", "fox"], sampling)]

    wild = SamplingParams(temperature=1.5, max_tokens=12, ignore_eos=True)
    first = said(3, wild)
    assert first == said(3, wild)
    assert first[0] != first[1]  # requests differ
    assert first != said(4, wild)
    assert said(None, wild) != said(None, wild)
    own = SamplingParams(temperature=1.5, max_tokens=12, ignore_eos=True, seed=9)
    assert said(3, own) == said(4, own)
