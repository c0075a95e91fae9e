"""Adapters in the kernel library's decoder, against merged weights and transformers' layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from tests.adapters import LAYERS, merge, write_adapter
from tests.conformance.case import save
from tests.conformance.recurrent import RECURRENT
from tests.kernels.forced_set import forced_set
from tests.models.zoo_models import CASES, RECOGNISED, load_case
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.engine.execution.executor_loading import load_executor
from yaie.engine.execution.native_executor import NativeExecutor
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.kernels.library_search import load
from yaie.models.adapters.adapter import Adapted, read_adapter
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.native.native_adapters import NativeAdapters
from yaie.models.native.numerics_check import comparison_plan

pytestmark = pytest.mark.skipif(load() is None, reason="no kernel library")

FEW = (
    "qwen2",
    "olmo2",
    "gemma2",
    "phi3",
    "granite-moe-shared",
)  # biases, norms after, joined layers, factors
SHARED = ("shared_mlp.input_linear", "shared_mlp.output_linear")
LAYERS_AND_JOINED = (*LAYERS, "self_attn.qkv_proj", "mlp.gate_up_proj", *SHARED)
SETS = ("amx", "bf16", "vnni", "avx512", "avx2", "portable")


def native(loaded: LoadedModel) -> NativeExecutor:
    executor = choose_executor(loaded)
    assert isinstance(executor, NativeExecutor)
    return executor


def add(adapted: Adapted | None, folder: Path) -> int:
    assert adapted is not None
    adapter = read_adapter("a", folder, adapted)
    adapted.add(adapter)
    return adapter.number


def off(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(
    "name",
    [
        name if name in FEW else pytest.param(name, marks=pytest.mark.slow)
        for name in (*RECOGNISED, "granite-moe-shared")
    ],
)
def test_a_family_with_an_adapter_equals_merged_weights(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path / "model", dtype="float32")
    model: Any = CASES[name].build()
    folders = [
        write_adapter(tmp_path / str(seed), model, seed=seed, rank=rank, layers=LAYERS_AND_JOINED)
        for seed, rank in ((1, 7), (2, 16))
    ]
    executor = native(loaded)
    plan = comparison_plan(loaded)
    plain = executor.execute(plan).clone()
    numbers = [add(executor.adapted, folder) for folder in folders]
    whole = np.full(plan.num_rows, numbers[0])
    again = load_model(EngineConfig(model=str(tmp_path / "model"), num_slots=256, dtype="float32"))
    others = choose_executor(again, may_pack=False)
    assert isinstance(others, TransformersExecutor)
    for folder in folders:
        add(others.adapted, folder)
    # Rows of both, and of the model alone, one after the other; outputs of some.
    rng = np.random.default_rng(0)
    mixed = replace(
        plan,
        adapters=rng.choice([0, *numbers], plan.num_rows),
        logit_rows=plan.logit_rows[::3],
        hidden_rows=plan.logit_rows[1::2],
    )
    found, wanted = executor.compute(mixed), others.compute(mixed)
    assert off(found.logits, wanted.logits) < 1e-4
    assert off(found.hidden, wanted.hidden) < 1e-4
    assert torch.equal(executor.execute(plan), plain)
    merge(again.model, folders[0], 2.0)  # type: ignore[arg-type]
    adapted = executor.execute(replace(plan, adapters=whole))
    assert off(adapted, others.execute(plan)) < 1e-4
    assert off(adapted, plain) > 0.01


@pytest.mark.parametrize(
    ("name", "layers"),
    [("qwen3.5", LAYERS[:4]), ("lfm3", LAYERS[:3])],  # gates by element and by head
)
def test_adapters_next_to_output_gates(name: str, layers: tuple[str, ...], tmp_path: Path) -> None:
    case = next(each for each in RECURRENT if each.name == name)
    model = case.build()
    save(case, model, tmp_path / "model")
    folder = write_adapter(tmp_path / "adapter", model, seed=3, rank=5, layers=layers)
    merge(model, folder, 2.0)
    save(case, model, tmp_path / "merged")
    executors = []
    for part in ("model", "merged"):
        path = str(tmp_path / part)
        executors.append(native(load_model(EngineConfig(model=path, num_slots=256))))
    decoder, plan = executors[0].decoder, comparison_plan(executors[0].loaded)
    plain = decoder.execute(plan).clone()
    decoder.adapters = NativeAdapters(decoder.structure, torch.float32, decoder.kernels)
    number = add(decoder.adapters, folder)
    found = decoder.execute(replace(plan, adapters=np.full(plan.num_rows, number)))
    assert off(found, executors[1].execute(plan)) < 1e-4
    assert off(found, plain) > 0.01


def test_a_model_whose_adapted_layers_have_no_place_stays_with_transformers(
    tmp_path: Path,
) -> None:
    """An adapter of a shared expert's gate, at a first start and with weights packed before."""
    model: Any = CASES["qwen2-moe"].build()
    model.save_pretrained(tmp_path / "model")
    gate = "mlp.shared_expert_gate"
    odd = write_adapter(tmp_path / "odd", model, seed=1, layers=(*LAYERS, gate))
    usual = write_adapter(tmp_path / "usual", model, seed=1)
    for lora, name in ((odd, "transformers"), (usual, "native"), (odd, "transformers")):
        config = EngineConfig(
            model=str(tmp_path / "model"),
            num_slots=256,
            lora=f"a={lora}",
            weights_cache=str(tmp_path / "cache"),
        )
        executor, writer = load_executor(config)
        assert writer is None or writer.wait(60)
        assert executor.name == name
        add(executor.adapted, lora)
        assert name == "native" or f"{gate}, which the library does not" in executor.reason


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose long steps keep results in bf16, and adapters of it."""
    folder = tmp_path_factory.mktemp("wide")
    config = Qwen3Config(
        vocab_size=96,
        hidden_size=96,
        intermediate_size=176,
        num_hidden_layers=3,
        num_attention_heads=16,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=2048,
        initializer_range=0.2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = Qwen3ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder / "model")
    for seed, rank in ((1, 9), (2, 40)):  # in AMX: a part of a tile, and several tiles
        write_adapter(folder / str(seed), model, seed=seed, rank=rank, size=0.1)
    return folder


def separate_rows(num_rows: int) -> StepPlan:
    rows = np.arange(num_rows)
    return StepPlan(
        token_ids=rows % 90,
        positions=0 * rows,
        slots=rows,
        written_rows=rows,
        logit_rows=rows,
        segments=[Segment(rows[row : row + 1], 0, row, row + 1, level=0) for row in rows],
        kv_tokens_read=num_rows,
        kv_tokens_unshared=num_rows,
    )


@pytest.mark.parametrize(
    ("instruction_set", "dtype", "quantization"),
    [
        ("amx", "bfloat16", None),
        ("bf16", "bfloat16", None),
        ("avx2", "bfloat16", None),
        ("amx", "bfloat16", "int8"),
        *(
            pytest.param(name, dtype, kind, marks=pytest.mark.slow)
            for name in SETS
            for dtype in ("float32", "bfloat16")
            for kind in (None, "int8", "int4")
        ),
    ],
)
@pytest.mark.parametrize("num_rows", [9, 600])
def test_rows_of_the_model_alone_keep_their_bits(
    wide: Path, instruction_set: str, dtype: Any, quantization: Any, num_rows: int
) -> None:
    config = EngineConfig(
        model=str(wide / "model"),
        num_slots=1024,
        dtype=dtype,
        quantization=quantization,
        calibrate="none" if quantization == "int4" else None,
    )
    with forced_set(instruction_set):
        executor = native(load_model(config))
        numbers = [add(executor.adapted, wide / name) for name in ("1", "2")]
        plan = separate_rows(num_rows)
        adapters = np.resize([0, numbers[0], numbers[0], 0, numbers[1]], num_rows)
        alone = executor.execute(plan).clone()
        mixed = executor.execute(replace(plan, adapters=adapters)).clone()
        again = executor.execute(plan)
    assert torch.equal(again, alone)
    assert torch.equal(mixed[adapters == 0], alone[adapters == 0])
    exact = choose_executor(load_model(replace(config, dtype="float32", quantization=None)))
    for name in ("1", "2"):
        add(exact.adapted, wide / name)
    wanted = exact.execute(replace(plan, adapters=adapters))
    base, changed = adapters == 0, adapters != 0
    limit = 1e-4 + 2 * off(mixed[base], wanted[base])
    assert off(mixed[changed], wanted[changed]) < limit
    assert off(mixed[changed], alone[changed]) > 0.05
