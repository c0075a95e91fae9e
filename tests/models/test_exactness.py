"""Models that `exact` is refused for, and the check at load."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.models.test_native_decoder import needs_library
from tests.models.zoo_models import load_case
from yaie.api.llm import LLM
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.native import native_decoder as rewrite
from yaie.models.native.batch_invariance_check import check_exact
from yaie.models.native.numerics_check import comparison_plan

pytestmark = needs_library


@pytest.mark.parametrize("name", ["cohere2", "deepseek-v3", "gpt2"])
def test_a_model_that_transformers_runs_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"exact is set, .* llama, mistral") as caught:
        choose_executor(load_case(name, tmp_path), exact=True)
    assert caught.value.param == "exact"


def test_float16_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no linear layers in torch.float16.*bfloat16"):
        choose_executor(load_case("llama", tmp_path, dtype="float16"), exact=True)


def test_plain_torch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="attention_backend is 'reference'"):
        choose_executor(load_case("llama", tmp_path), "reference", exact=True)


def test_a_decoder_unlike_its_original_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_case("llama", tmp_path)
    wrong = dict.fromkeys(rewrite.GATED, rewrite.GATED["gelu"])
    monkeypatch.setattr(rewrite, "GATED", wrong)
    with pytest.raises(ConfigError, match="off by"):
        EngineCore(EngineConfig(model=str(tmp_path), num_slots=256, exact=True))


def test_the_check_refuses_batch_dependent_kernels(tmp_path: Path) -> None:
    """The check rejects the default kernels and accepts the batch-invariant ones."""
    loaded = load_case("llama", tmp_path)
    plan = comparison_plan(loaded)
    executor = choose_executor(loaded)
    with pytest.raises(ConfigError, match="depend on the batch"):
        check_exact(executor.execute, plan, executor.execute(plan))
    exact = choose_executor(load_case("llama", tmp_path), exact=True)
    check_exact(exact.execute, plan, exact.execute(plan))


def test_a_pool_too_small_for_the_full_check_serves(tmp_path: Path) -> None:
    load_case("llama", tmp_path)
    core = EngineCore(EngineConfig(model=str(tmp_path), num_slots=4, exact=True))
    assert core.info.exact


@pytest.mark.parametrize("name", ["qwen3", "gpt-oss", "glm4-moe"])
def test_exact_is_near_the_default(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path)
    plan = comparison_plan(loaded)
    usual = choose_executor(loaded).execute(plan)
    exact = choose_executor(load_case(name, tmp_path), exact=True).execute(plan)
    torch.testing.assert_close(exact, usual, atol=5e-5, rtol=5e-5)


def test_llm_is_batch_invariant_on_request() -> None:
    with LLM(exact=True, num_slots=512, threads=1) as llm:
        assert llm.info.exact
        assert llm.info.execution == "native"
        first = llm.generate("What is a radix tree?")[0]
        assert first.token_ids
