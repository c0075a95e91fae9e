"""LongRoPE by one table for an engine, against transformers' choice by the longest row."""

from __future__ import annotations

import copy
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conformance.case import Case, rope, save
from tests.conformance.naive import NaiveCache
from tests.conformance.subject import close
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.load.loader import load_model

SWITCH, WHOLE = 24, 96
ORIGINAL = {"original_max_position_embeddings": SWITCH}
TABLE: dict[str, Any] = {
    "long_factor": [1.0 + 0.9 * i for i in range(8)],
    "short_factor": [1.0 + 0.1 * i for i in range(8)],
    **ORIGINAL,
}
PHI = Case(
    "phi3-long",
    "Phi3ForCausalLM",
    "",
    {
        "num_hidden_layers": 2,
        "max_position_embeddings": WHOLE,
        **ORIGINAL,
        **rope("longrope", factor=4.0, **TABLE),
    },
)
PHI_MOE = Case(
    "phimoe-long",
    "PhimoeForCausalLM",
    "",
    {
        "num_hidden_layers": 2,
        "max_position_embeddings": WHOLE,
        **ORIGINAL,
        **rope("longrope", factor=4.0, long_mscale=1.3, short_mscale=1.1, **TABLE),
        "num_local_experts": 4,
        "sliding_window": None,
    },
)


def with_second_table_only(case: Case) -> Case:
    """Return a model that computes by its second table at every length."""
    settings = copy.deepcopy(case.settings)
    table = settings["rope_parameters"]
    if "long_mscale" in table:
        table["short_mscale"] = table["long_mscale"]
    else:
        table["short_factor"] = table["long_factor"]
    return replace(case, settings=settings)


def tokens(count: int, seed: int) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, 128, (count,), generator=generator).tolist()


@torch.inference_mode()
def logits(model: torch.nn.Module, sequence: list[int]) -> torch.Tensor:
    found: torch.Tensor = model(torch.tensor([sequence]), use_cache=False).logits[0].float()
    return found


@pytest.mark.parametrize(
    "backend", ["auto", pytest.param("reference", marks=pytest.mark.integration)]
)
@pytest.mark.parametrize("case", [PHI, PHI_MOE], ids=lambda case: case.name)
def test_the_published_context_uses_the_second_table(
    case: Case, backend: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of long prompts as transformers does; of short ones too, unlike it."""
    model = case.build()
    save(case, model, tmp_path)
    with caplog.at_level(logging.INFO):
        loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256))
    assert loaded.max_model_len == WHOLE
    assert f"--max-model-len {SWITCH} uses the first table" in caplog.text
    executor = choose_executor(loaded, backend)
    long, short = tokens(SWITCH + 40, 1), tokens(SWITCH - 8, 2)
    close(executor.execute(NaiveCache(256).plan([long], all_logits=True)), logits(model, long))
    always = with_second_table_only(case).build()
    always.load_state_dict(model.state_dict())
    expected = logits(always, short)
    close(executor.execute(NaiveCache(256).plan([short], all_logits=True)), expected)
    assert (expected - logits(model, short)).abs().max() > 0.01  # the tables differ


def test_a_context_up_to_the_switch_uses_the_first_table(tmp_path: Path) -> None:
    model = PHI.build()
    save(PHI, model, tmp_path)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256, max_model_len=SWITCH))
    assert loaded.max_model_len == SWITCH
    whole = tokens(SWITCH, 3)
    found = choose_executor(loaded).execute(NaiveCache(256).plan([whole], all_logits=True))
    close(found, logits(model, whole))


@pytest.mark.parametrize("num_slots", [64, SWITCH - 4])
def test_a_smaller_pool_shortens_the_context_and_keeps_the_table(
    num_slots: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Free memory sizes the pool, and the same prompt gets the same answer in any pool."""
    save(PHI, PHI.build(), tmp_path)
    short = tokens(SWITCH - 8, 2)
    found = []
    for slots in (256, num_slots):
        with caplog.at_level(logging.INFO):
            loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=slots))
        assert loaded.max_model_len == min(slots, WHOLE)
        plan = NaiveCache(slots).plan([short], all_logits=True)
        found.append(choose_executor(loaded).execute(plan))
    assert f"max_model_len is {num_slots}, the KV cache size" in caplog.text
    torch.testing.assert_close(*found)


def test_a_context_beyond_the_models_is_refused(tmp_path: Path) -> None:
    save(PHI, PHI.build(), tmp_path)
    with pytest.raises(ConfigError, match=f"context length is {WHOLE} tokens"):
        load_model(EngineConfig(model=str(tmp_path), max_model_len=WHOLE + 1))
