"""Quantized checkpoints compute what their dequantized weights compute in transformers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from tests.conformance.case import Case
from tests.conformance.zoo import CASES
from tests.engine.asking import ask, run
from tests.engine.oracle import Oracle
from tests.models.folders import edit_json
from tests.models.quantized import Kind, quantize, stored, write_pair
from yaie.base.settings import EngineConfig
from yaie.cli.models import inspect_model
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.library_search import load as load_library
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.quantized_weights import QuantizedLinear

needs_library = pytest.mark.skipif(
    load_library() is None, reason="no kernel library: without a compiler torch serves"
)
CASE = {case.name: case for case in CASES}

# Of each layout, the kinds that stay quantized ...
KEPT = [
    Kind("int-quantized", 8),
    Kind("int-quantized", 4, 32),
    Kind("pack-quantized", 8),
    Kind("pack-quantized", 4),
    Kind("pack-quantized", 4, symmetric=False),
    Kind("pack-quantized", 4, 32),
    Kind("pack-quantized", 4, 32, symmetric=False),
    Kind("gptq", 4, 32),
    Kind("gptq", 4, 32, symmetric=False),
    Kind("gptq", 4),
    Kind("gptq", 8),
    Kind("gptq_v2", 4, 32, symmetric=False),
    Kind("gptq_v2", 4, 16, symmetric=False),
    Kind("awq", 4, 32, symmetric=False),
    Kind("awq", 4, symmetric=False),
]
# One of each layout in the default suite; test_unpacking.py covers the packings.
IN_DEFAULT = (KEPT[0], KEPT[6], KEPT[8], KEPT[11], KEPT[13])


def leveled(kind: Kind, *values: Any, default: tuple[Kind, ...] = IN_DEFAULT) -> Any:
    """Mark the kinds outside of `default` as integration tests."""
    marks = () if kind in default else pytest.mark.integration
    return pytest.param(kind, *values, marks=marks)


# ... and those that are dequantized.
DEQUANTIZED = [
    (Kind("int-quantized", 8, symmetric=False), "8 bits with zero points"),
    (Kind("int-quantized", 4, 32, ordered=True), "ordered by activation"),
    (Kind("int-quantized", 8, 16, symmetric=False, ordered=True), "ordered by activation"),
    (Kind("pack-quantized", 8, 32), "8 bits in groups"),
    (Kind("pack-quantized", 8, 16, symmetric=False), "8 bits in groups"),
    (Kind("pack-quantized", 4, 2, symmetric=False), "no multiple of 4"),
    (Kind("pack-quantized", 4, 32, symmetric=False, ordered=True), "ordered by activation"),
    (Kind("gptq", 4, 32, ordered=True), "ordered by activation"),
    (Kind("gptq", 8, 32, symmetric=False, ordered=True), "ordered by activation"),
    (Kind("gptq", 8, 32), "8 bits in groups"),
    (Kind("gptq_v2", 8, symmetric=False), "8 bits with zero points"),
    (Kind("gptq", 4, 40), "groups of uneven size"),
    (Kind("awq", 4, 2, symmetric=False), "no multiple of 4"),
]


def load(folder: Path, **settings: Any) -> LoadedModel:
    settings = {"num_slots": 256, "dtype": "float32", "device": "cpu", **settings}
    return load_model(EngineConfig(model=str(folder), **settings))


@torch.inference_mode()
def logits_of(loaded: LoadedModel) -> torch.Tensor:
    """Run with torch; other tests cover the quantized kernels."""
    return choose_executor(loaded, "reference").execute(comparison_plan(loaded))


@torch.inference_mode()
def logits_of_dequantized(folder: Path, loaded: LoadedModel) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    plan = comparison_plan(loaded)
    shared = int(plan.segments[0].slots.size)
    paths = [segment.slots for segment in plan.segments[1:]]
    ids = torch.from_numpy(plan.token_ids)
    rows = []
    for path in paths:
        sequence = torch.cat([ids[:shared], ids[path]])
        logits = model(sequence[None], use_cache=False).logits[0].float()
        rows.append(logits[shared:] if rows else logits)
    return torch.cat(rows)


def check(case: Case, kind: Kind, root: Path, **how: Any) -> LoadedModel:
    quantized, dequantized = write_pair(case, kind, root, **how)
    # The kernel library packs experts, and rounds their rows.
    loaded = load(quantized, attention_backend="reference" if "experts" in case.note else "auto")
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    return loaded


def linears(loaded: LoadedModel) -> list[str]:
    return [n for n, m in loaded.model.named_modules() if isinstance(m, QuantizedLinear)]


@pytest.mark.parametrize("kind", [leveled(kind) for kind in KEPT], ids=str)
@pytest.mark.parametrize("family", ["llama", pytest.param("qwen3", marks=pytest.mark.integration)])
def test_weights_that_stay_quantized(family: str, kind: Kind, tmp_path: Path) -> None:
    loaded = check(CASE[family], kind, tmp_path)
    assert len(linears(loaded)) == 7 * CASE[family].config().num_hidden_layers
    assert loaded.metadata.quantization == f"int{kind.bits}"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        leveled(kind, reason, default=(DEQUANTIZED[0][0], DEQUANTIZED[5][0], DEQUANTIZED[7][0]))
        for kind, reason in DEQUANTIZED
    ],
    ids=str,
)
def test_weights_without_a_kernel_are_dequantized(
    kind: Kind, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        loaded = check(CASE["llama"], kind, tmp_path)
    assert linears(loaded) == []
    assert loaded.metadata.quantization is None
    assert "28 quantized layers are dequantized to torch.float32" in caplog.text
    assert reason in caplog.text


@pytest.mark.parametrize(
    ("family", "kind", "kept"),
    [
        ("qwen2", Kind("gptq", 4, 32), "int4"),  # biases
        ("llama-tied", Kind("int-quantized", 8), "int8"),
        ("phi3", Kind("awq", 4, 32, symmetric=False), "int4"),  # fused projections
        ("gpt2", Kind("gptq", 4, 32), "int4"),  # transposed linear layers
        ("gpt2", Kind("gptq", 8, 32), None),
        ("qwen3-moe", Kind("gptq", 4, 32), "int4"),  # without the kernel library
        ("mixtral", Kind("pack-quantized", 4, 32, symmetric=False), "int4"),
        ("gemma2", Kind("awq", 4, 32, symmetric=False), "int4"),
    ],
    ids=str,
)
def test_other_families(family: str, kind: Kind, kept: str | None, tmp_path: Path) -> None:
    assert check(CASE[family], kind, tmp_path).metadata.quantization == kept


@pytest.mark.parametrize("family", ["qwen3-moe", "mixtral"])
def test_a_quantized_router_is_dequantized(family: str, tmp_path: Path) -> None:
    """transformers lacks a linear layer for it; checkpoints without a rule quantize it."""
    loaded = check(CASE[family], Kind("pack-quantized", 4, 32), tmp_path, routers=True)
    assert loaded.metadata.quantization == "int4"


@pytest.mark.parametrize("bits", [4, 8])
def test_a_layer_of_one_output(bits: int, tmp_path: Path) -> None:
    """The gate of qwen2-moe's shared expert, with packed zero points."""
    check(CASE["qwen2-moe"], Kind("pack-quantized", bits, 32, symmetric=False), tmp_path)


def test_layers_behind_the_last_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """GLM and DeepSeek predict several tokens ahead with them."""
    quantized, dequantized = write_pair(CASE["llama"], KEPT[5], tmp_path)
    tensors = load_file(quantized / "model.safetensors")
    first, behind = "model.layers.1.", "model.layers.4."
    tensors |= {n.replace(first, behind): t.clone() for n, t in tensors.items() if first in n}
    tensors[f"{behind}mlp.up_proj.weight_scale"] = torch.ones(3)  # damaged, but unused
    save_file(tensors, quantized / "model.safetensors", metadata={"format": "pt"})
    with caplog.at_level(logging.INFO):
        loaded = load(quantized)
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert "tensors after the last of 4 layers are unused" in caplog.text
    layout = read_stored_layout(read_config(quantized), read_checkpoint(quantized))
    assert layout is not None
    assert len(layout.layers) == 28
    assert layout.num_parameters == loaded.metadata.num_parameters


@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[8], KEPT[13], DEQUANTIZED[7][0]], ids=str)
def test_shards(kind: Kind, tmp_path: Path) -> None:
    check(CASE["llama"], kind, tmp_path, num_files=3)


@pytest.mark.integration
@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[7], KEPT[13], DEQUANTIZED[8][0]], ids=str)
def test_the_engine_answers_like_the_dequantized_model(kind: Kind, tmp_path: Path) -> None:
    quantized, dequantized = write_pair(CASE["qwen3"], kind, tmp_path)
    config = EngineConfig(
        model=str(quantized),
        num_slots=512,
        dtype="float32",
        device="cpu",
        attention_backend="reference",
    )
    core = EngineCore(config)
    oracle = Oracle(dequantized, max_new=12)
    shared = tuple(range(3, 23))
    prompts = [(*shared, 40 + i, 41 + 3 * i) for i in range(4)]
    requests = [ask(str(i), prompt, max_tokens=12) for i, prompt in enumerate(prompts)]
    answers = run(core, *requests)
    for i, prompt in enumerate(prompts):
        assert tuple(answers.tokens(str(i))) == oracle.says(prompt).tokens
    assert core.info.quantization == (None if kind.ordered else f"int{kind.bits}")


@needs_library
@pytest.mark.parametrize("kind", [KEPT[0], KEPT[4], KEPT[6], KEPT[8], KEPT[14]], ids=str)
@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.integration), "bfloat16"]
)
def test_the_kernel_library_computes_quantized(kind: Kind, dtype: str, tmp_path: Path) -> None:
    """The kernels quantize rows too; random models are the worst case."""
    quantized, dequantized = write_pair(CASE["qwen3"], kind, tmp_path)
    loaded = load(quantized, dtype=dtype)
    expected = logits_of_dequantized(dequantized, loaded)
    executor = choose_executor(loaded)
    assert executor.name == "native"
    found = executor.execute(comparison_plan(loaded))
    assert (found - expected).norm() < 0.2 * expected.norm()


@pytest.mark.parametrize(("wanted", "expected"), [("auto", "bfloat16"), ("float16", "float16")])
def test_plain_weights_of_a_float16_checkpoint(wanted: str, expected: str, tmp_path: Path) -> None:
    quantized, _ = write_pair(CASE["llama"], KEPT[7], tmp_path, dtype=torch.float16)
    loaded = load(quantized, dtype=wanted)
    assert {p.dtype for p in loaded.model.parameters()} == {getattr(torch, expected)}
    assert len(linears(loaded)) == 28


@pytest.mark.parametrize("packed", [pytest.param(True, marks=needs_library), False])
@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[8]], ids=str)
def test_sizes_are_those_of_the_quantized_weights(kind: Kind, packed: bool, tmp_path: Path) -> None:
    quantized, dequantized = write_pair(CASE["llama"], kind, tmp_path)
    loaded = load(quantized, attention_backend="auto" if packed else "reference")
    plain = load(dequantized)
    assert loaded.metadata.num_parameters == plain.metadata.num_parameters
    modules = [m for m in loaded.model.modules() if isinstance(m, QuantizedLinear)]
    weights = sum(m.in_features * m.out_features for m in modules)
    groups = sum(m.out_features * (m.in_features // (kind.group or m.in_features)) for m in modules)
    scale = 2 if packed and kind.bits == 4 else 4
    each = scale if kind.symmetric else scale + 1
    integers = weights * (kind.bits if packed else 8) // 8 + groups * each
    assert loaded.metadata.weight_bytes == plain.metadata.weight_bytes - 4 * weights + integers
    layout = read_stored_layout(read_config(quantized), read_checkpoint(quantized))
    assert layout is not None
    assert layout.nbytes(4, packed=packed) == loaded.metadata.weight_bytes  # as planned
    assert layout.num_parameters == loaded.metadata.num_parameters


def test_rules_by_module(tmp_path: Path) -> None:
    """GPTQ's `dynamic`: other bits for some modules, plain weights for others."""
    four, eight = Kind("gptq", 4, 32), Kind("gptq", 8)
    quantized, dequantized = write_pair(CASE["llama"], four, tmp_path / "4")
    others, others_dequantized = write_pair(CASE["llama"], eight, tmp_path / "8")
    rules = {r"+:.*\.down_proj": {"bits": 8, "group_size": -1}, r"-:.*\.o_proj": {}}
    edit_json(quantized / "config.json", quantization_config=four.config() | {"dynamic": rules})
    for folder, other in ((quantized, others), (dequantized, others_dequantized)):
        tensors, from_other = (load_file(f / "model.safetensors") for f in (folder, other))
        tensors = {n: t for n, t in tensors.items() if "down_proj" not in n}
        tensors |= {n: t for n, t in from_other.items() if "down_proj" in n}
        plain = load_file(tmp_path / "4" / "plain" / "model.safetensors")
        tensors = {n: t for n, t in tensors.items() if "o_proj" not in n}
        tensors |= {n: t for n, t in plain.items() if "o_proj" in n}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert loaded.metadata.quantization == "int4+int8"
    assert len(linears(loaded)) == 24


@needs_library
def test_joint_projections_of_different_formats_are_computed_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each stays in its format, as the memory plan counts it."""
    kind = Kind("gptq", 4, 32)
    quantized, dequantized = write_pair(CASE["llama"], kind, tmp_path)
    rules = {r"-:.*\.v_proj": {}}
    edit_json(quantized / "config.json", quantization_config=kind.config() | {"dynamic": rules})
    plain = load_file(tmp_path / "plain" / "model.safetensors")
    for folder in (quantized, dequantized):
        tensors = load_file(folder / "model.safetensors")
        tensors = {n: t for n, t in tensors.items() if "v_proj" not in n}
        tensors |= {n: t for n, t in plain.items() if "v_proj" in n}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_dequantized(dequantized, loaded)
    executor = choose_executor(loaded)
    assert executor.name == "native"
    assert "quantized weights are held as" not in caplog.text
    found = executor.execute(comparison_plan(loaded))
    assert (found - expected).norm() < 0.2 * expected.norm()


def test_a_name_precedes_a_pattern_and_a_pattern_a_class(tmp_path: Path) -> None:
    """In the targets of compressed-tensors."""
    kind = Kind("pack-quantized", 4, 32)
    quantized, dequantized = write_pair(CASE["llama"], kind, tmp_path)
    config = kind.config()
    group = config["config_groups"].pop("group_0")
    unlike = {**group, "weights": {**group["weights"], "num_bits": 8}}
    config["config_groups"] = {
        "all": unlike,
        "pattern": {**group, "targets": [r"re:.*\.(mlp|self_attn)\..*_proj$"]},
        "names": {**group, "targets": ["model.layers.0.mlp.up_proj"]},
    }
    edit_json(quantized / "config.json", quantization_config=config)
    loaded = load(quantized)
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)


def test_a_quantized_head_is_dequantized(tmp_path: Path) -> None:
    kind = Kind("gptq", 4, 32)
    quantized, dequantized = write_pair(CASE["llama"], kind, tmp_path)
    tensors, numbers = (load_file(f / "model.safetensors") for f in (quantized, dequantized))
    integers = quantize(tensors.pop("lm_head.weight"), kind)
    numbers["lm_head.weight"] = integers.dequantize()
    packed = stored(integers, kind, torch.float32)
    tensors |= {f"lm_head.{name}": tensor for name, tensor in packed.items()}
    save_file(tensors, quantized / "model.safetensors", metadata={"format": "pt"})
    save_file(numbers, dequantized / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_dequantized(dequantized, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert "lm_head" not in linears(loaded)


def test_quantization_at_load_takes_the_plain_layers(tmp_path: Path) -> None:
    quantized, _ = write_pair(CASE["llama"], Kind("gptq", 8, 32), tmp_path)
    assert load(quantized, quantization="int8").metadata.quantization == "int8"
    loaded = load(quantized, quantization="int8")
    assert len(linears(loaded)) == 28 + 1  # and the head


def test_scales_of_the_kv_cache_are_logged_and_unused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    quantized, _ = write_pair(CASE["llama"], KEPT[0], tmp_path)
    scheme = {"num_bits": 8, "type": "float", "dynamic": False}
    settings = KEPT[0].config() | {"kv_cache_scheme": scheme}
    edit_json(quantized / "config.json", quantization_config=settings)
    with caplog.at_level(logging.INFO):
        load(quantized)
    assert "scales for quantized keys and values are not used" in caplog.text


def test_the_command_line_names_the_quantization(tmp_path: Path) -> None:
    quantized, dequantized = write_pair(
        CASE["llama"], Kind("awq", 4, 32, symmetric=False), tmp_path
    )
    found, plain = inspect_model("q", quantized), inspect_model("w", dequantized)
    assert found.quantization == "int4 by awq"
    assert not found.refused
    assert found.num_parameters == plain.num_parameters
    assert plain.quantization == ""
    edit_json(quantized / "config.json", quantization_config={"quant_method": "hqq"})
    assert "the method hqq" in inspect_model("q", quantized).refused
