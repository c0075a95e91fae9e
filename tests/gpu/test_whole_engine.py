"""Whole engines on a CUDA device: fused layers, captured steps and each attention backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import test_conformance as conformance
from tests.conformance.subject import Subject as Model
from tests.engine.chaotic_model import write_chaotic_model
from tests.engine.test_schedules import Subject, make_subject, run_schedules
from tests.engine.twin_executors import Twins, make_twins, run_overlapping_prompts
from tests.flashinfer.models import write_model
from tests.models.zoo_models import CASES
from yaie.base.settings import AttentionBackendName

pytestmark = pytest.mark.gpu
BACKENDS = {"auto": "flashinfer+triton", "flashinfer": "flashinfer", "triton": "triton"}
GROUPS = {2: (4, 2), 4: (8, 2)}  # FlashInfer decodes the first on CUDA cores, not the second
MODELS = ["llama", "gemma2", "gpt-oss", "deepseek-v3", "gpt2"]


def run_seeds(twins: Twins) -> None:
    for seed in range(3):
        run_overlapping_prompts(twins.core, seed)
    print(twins.seen)
    assert twins.seen.num_tokens > twins.seen.num_near_ties


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_logits_and_tokens_are_those_of_the_reference(
    backend: AttentionBackendName, group: int, tmp_path: Path
) -> None:
    heads, kv_heads = GROUPS[group]
    folder = write_model(tmp_path, "llama", num_heads=heads, num_kv_heads=kv_heads, head_dim=128)
    twins = make_twins(folder, backend, "cuda")
    assert twins.subject.attention_backend == BACKENDS[backend]
    assert twins.subject.name == "fused"
    graphs = twins.subject.graphs
    assert graphs is not None and graphs.report.sizes == (1, 2, 4, 8)
    run_seeds(twins)
    assert graphs.num_replayed > 0
    stats = twins.core.stats
    by_method = stats.num_flashinfer_decode_steps + stats.num_tree_decode_steps
    assert (by_method > 0) == (backend == "auto")


@pytest.mark.parametrize("backend", ["reference", "triton"])
@pytest.mark.parametrize("name", MODELS)
def test_models_equal_transformers_in_float32(
    name: str, backend: AttentionBackendName, tmp_path: Path
) -> None:
    model = Model(CASES[name], tmp_path, "cuda", backend)
    assert model.executor.attention_backend == backend
    conformance.test_decode(model)
    conformance.test_tree_of_branches(model)


@pytest.fixture(scope="module")
def chaotic(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return make_subject(write_chaotic_model(tmp_path_factory.mktemp("chaotic_model")))


@pytest.mark.parametrize("backend", ["reference", "triton"])
def test_schedules_equal_the_answers_of_single_prompts(
    backend: AttentionBackendName, chaotic: Subject
) -> None:
    chaotic.device, chaotic.backend = "cuda", backend
    stats = run_schedules(chaotic, range(30_000, 30_006))
    assert sum(stat.cached_tokens for stat in stats) > 0
