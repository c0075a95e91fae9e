"""Quantized checkpoints compute what their widened weights compute in transformers."""

from __future__ import annotations

import logging
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from tests.conformance.zoo import CASES, Case
from tests.engine.asking import ask, run
from tests.engine.oracle import Oracle
from tests.models.folders import edit_json
from tests.models.quantized import Integers, Kind, quantize, stored, write_pair
from yaie.cli.models import inspect_model
from yaie.config import EngineConfig
from yaie.engine.choose_executor import choose_executor
from yaie.engine.core import EngineCore
from yaie.kernels.loader import load as load_library
from yaie.models.checkpoint import read_checkpoint, read_config
from yaie.models.loader import LoadedModel, load_model
from yaie.models.native.agreement import comparison_plan
from yaie.models.quantization.layout import read_stored_layout
from yaie.models.quantization.weights import QuantizedLinear

needs_library = pytest.mark.skipif(
    load_library() is None, reason="no kernel library: there is no compiler here, and torch serves"
)
CASE = {case.name: case for case in CASES}

# Of each layout, what is kept as integers ...
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
# ... and what is widened.
WIDENED = [
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
    """By torch: what kernels compute with the integers is theirs to test."""
    return choose_executor(loaded, "reference").execute(comparison_plan(loaded))


@torch.inference_mode()
def logits_of_widened(folder: Path, loaded: LoadedModel) -> torch.Tensor:
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
    quantized, widened = write_pair(case, kind, root, **how)
    loaded = load(quantized)
    expected = logits_of_widened(widened, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    return loaded


def linears(loaded: LoadedModel) -> list[str]:
    return [n for n, m in loaded.model.named_modules() if isinstance(m, QuantizedLinear)]


@pytest.mark.parametrize("kind", KEPT, ids=str)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_integers_that_are_kept(family: str, kind: Kind, tmp_path: Path) -> None:
    loaded = check(CASE[family], kind, tmp_path)
    assert len(linears(loaded)) == 7 * CASE[family].config().num_hidden_layers
    assert loaded.metadata.quantization == f"int{kind.bits}"


@pytest.mark.parametrize(("kind", "reason"), WIDENED, ids=str)
def test_integers_that_no_kernel_holds_are_widened(
    kind: Kind, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        loaded = check(CASE["llama"], kind, tmp_path)
    assert linears(loaded) == []
    assert loaded.metadata.quantization is None
    assert "28 quantized layers are widened to torch.float32" in caplog.text
    assert reason in caplog.text


@pytest.mark.parametrize(
    ("family", "kind", "kept"),
    [
        ("qwen2", Kind("gptq", 4, 32), "int4"),  # biases
        ("llama-tied", Kind("int-quantized", 8), "int8"),
        ("phi3", Kind("awq", 4, 32, symmetric=False), "int4"),  # fused projections
        ("gpt2", Kind("gptq", 4, 32), "int4"),  # transposed linear layers
        ("gpt2", Kind("gptq", 8, 32), None),
        ("qwen3-moe", Kind("gptq", 4, 32), "int4"),  # attention is kept, experts are widened
        ("mixtral", Kind("pack-quantized", 4, 32, symmetric=False), "int4"),
        ("gemma2", Kind("awq", 4, 32, symmetric=False), "int4"),
    ],
    ids=str,
)
def test_other_families(family: str, kind: Kind, kept: str | None, tmp_path: Path) -> None:
    assert check(CASE[family], kind, tmp_path).metadata.quantization == kept


@pytest.mark.parametrize("family", ["qwen3-moe", "mixtral"])
def test_a_quantized_router_is_widened(family: str, tmp_path: Path) -> None:
    """In transformers it is no linear layer; checkpoints made without a rule for it have it so."""
    loaded = check(CASE[family], Kind("pack-quantized", 4, 32), tmp_path, routers=True)
    assert loaded.metadata.quantization == "int4"


@pytest.mark.parametrize("bits", [4, 8])
def test_a_layer_of_one_output(bits: int, tmp_path: Path) -> None:
    """The gate of qwen2-moe's shared expert, with packed zero points."""
    check(CASE["qwen2-moe"], Kind("pack-quantized", bits, 32, symmetric=False), tmp_path)


def test_layers_behind_the_last_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that predict several tokens ahead, as GLM and DeepSeek have them."""
    quantized, widened = write_pair(CASE["llama"], KEPT[5], tmp_path)
    tensors = load_file(quantized / "model.safetensors")
    first, behind = "model.layers.1.", "model.layers.4."
    tensors |= {n.replace(first, behind): t.clone() for n, t in tensors.items() if first in n}
    tensors[f"{behind}mlp.up_proj.weight_scale"] = torch.ones(3)  # and nobody looks at them
    save_file(tensors, quantized / "model.safetensors", metadata={"format": "pt"})
    with caplog.at_level(logging.INFO):
        loaded = load(quantized)
    expected = logits_of_widened(widened, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert "tensors behind the last of 4 layers are not used" in caplog.text
    layout = read_stored_layout(read_config(quantized), read_checkpoint(quantized))
    assert layout is not None
    assert len(layout.layers) == 28
    assert layout.num_parameters == loaded.metadata.num_parameters


@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[8], KEPT[13], WIDENED[7][0]], ids=str)
def test_shards(kind: Kind, tmp_path: Path) -> None:
    check(CASE["llama"], kind, tmp_path, num_files=3)


@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[7], KEPT[13], WIDENED[8][0]], ids=str)
def test_the_engine_says_what_the_widened_model_says(kind: Kind, tmp_path: Path) -> None:
    quantized, widened = write_pair(CASE["qwen3"], kind, tmp_path)
    config = EngineConfig(
        model=str(quantized),
        num_slots=512,
        dtype="float32",
        device="cpu",
        attention_backend="reference",
    )
    core = EngineCore(config)
    oracle = Oracle(widened, max_new=12)
    shared = tuple(range(3, 23))
    prompts = [(*shared, 40 + i, 41 + 3 * i) for i in range(4)]
    requests = [ask(str(i), prompt, max_tokens=12) for i, prompt in enumerate(prompts)]
    answers = run(core, *requests)
    for i, prompt in enumerate(prompts):
        assert tuple(answers.tokens(str(i))) == oracle.says(prompt).tokens
    assert core.info.quantization == (None if kind.ordered else f"int{kind.bits}")


@needs_library
@pytest.mark.parametrize("kind", [KEPT[0], KEPT[4], KEPT[6], KEPT[8], KEPT[14]], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_kernel_library_computes_with_the_integers(
    kind: Kind, dtype: str, tmp_path: Path
) -> None:
    """They round the rows too, which random models show at its worst."""
    quantized, widened = write_pair(CASE["qwen3"], kind, tmp_path)
    loaded = load(quantized, dtype=dtype)
    expected = logits_of_widened(widened, loaded)
    runner = choose_executor(loaded)
    assert runner.name == "native"
    found = runner.execute(comparison_plan(loaded))
    assert (found - expected).norm() < 0.2 * expected.norm()


@pytest.mark.parametrize(("wanted", "expected"), [("auto", "bfloat16"), ("float16", "float16")])
def test_plain_weights_of_a_float16_checkpoint(wanted: str, expected: str, tmp_path: Path) -> None:
    quantized, _ = write_pair(CASE["llama"], KEPT[7], tmp_path, dtype=torch.float16)
    loaded = load(quantized, dtype=wanted)
    assert {p.dtype for p in loaded.model.parameters()} == {getattr(torch, expected)}
    assert len(linears(loaded)) == 28


@pytest.mark.parametrize("packed", [pytest.param(True, marks=needs_library), False])
@pytest.mark.parametrize("kind", [KEPT[0], KEPT[6], KEPT[8]], ids=str)
def test_sizes_are_those_of_the_integers(kind: Kind, packed: bool, tmp_path: Path) -> None:
    quantized, widened = write_pair(CASE["llama"], kind, tmp_path)
    loaded = load(quantized, attention_backend="auto" if packed else "reference")
    plain = load(widened)
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
    assert layout.nbytes(4, packed=packed) == loaded.metadata.weight_bytes  # what the plan counted
    assert layout.num_parameters == loaded.metadata.num_parameters


def test_rules_by_module(tmp_path: Path) -> None:
    """GPTQ's `dynamic`: other bits for some modules, none for others."""
    four, eight = Kind("gptq", 4, 32), Kind("gptq", 8)
    quantized, widened = write_pair(CASE["llama"], four, tmp_path / "4")
    others, others_widened = write_pair(CASE["llama"], eight, tmp_path / "8")
    rules = {r"+:.*\.down_proj": {"bits": 8, "group_size": -1}, r"-:.*\.o_proj": {}}
    edit_json(quantized / "config.json", quantization_config=four.config() | {"dynamic": rules})
    for folder, other in ((quantized, others), (widened, others_widened)):
        tensors, from_other = (load_file(f / "model.safetensors") for f in (folder, other))
        tensors = {n: t for n, t in tensors.items() if "down_proj" not in n}
        tensors |= {n: t for n, t in from_other.items() if "down_proj" in n}
        plain = load_file(tmp_path / "4" / "plain" / "model.safetensors")
        tensors = {n: t for n, t in tensors.items() if "o_proj" not in n}
        tensors |= {n: t for n, t in plain.items() if "o_proj" in n}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_widened(widened, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert loaded.metadata.quantization == "int4+int8"
    assert len(linears(loaded)) == 24


@needs_library
def test_projections_computed_together_that_are_quantized_in_different_ways(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They are held wide, which takes more memory than planned: right, and said."""
    kind = Kind("gptq", 4, 32)
    quantized, widened = write_pair(CASE["llama"], kind, tmp_path)
    rules = {r"-:.*\.v_proj": {}}
    edit_json(quantized / "config.json", quantization_config=kind.config() | {"dynamic": rules})
    plain = load_file(tmp_path / "plain" / "model.safetensors")
    for folder in (quantized, widened):
        tensors = load_file(folder / "model.safetensors")
        tensors = {n: t for n, t in tensors.items() if "v_proj" not in n}
        tensors |= {n: t for n, t in plain.items() if "v_proj" in n}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_widened(widened, loaded)
    runner = choose_executor(loaded)
    assert runner.name == "native"
    assert "quantized weights are held as float32" in caplog.text
    found = runner.execute(comparison_plan(loaded))
    assert (found - expected).norm() < 0.2 * expected.norm()


def test_groups_of_a_config_are_told_apart(tmp_path: Path) -> None:
    """compressed-tensors: a name comes before a pattern, a pattern before all linear layers."""
    kind = Kind("pack-quantized", 4, 32)
    quantized, widened = write_pair(CASE["llama"], kind, tmp_path)
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
    expected = logits_of_widened(widened, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)


def test_a_quantized_head_is_widened(tmp_path: Path) -> None:
    kind = Kind("gptq", 4, 32)
    quantized, widened = write_pair(CASE["llama"], kind, tmp_path)
    tensors, numbers = (load_file(f / "model.safetensors") for f in (quantized, widened))
    integers = quantize(tensors.pop("lm_head.weight"), kind)
    numbers["lm_head.weight"] = integers.widened()
    packed = stored(integers, kind, torch.float32)
    tensors |= {f"lm_head.{name}": tensor for name, tensor in packed.items()}
    save_file(tensors, quantized / "model.safetensors", metadata={"format": "pt"})
    save_file(numbers, widened / "model.safetensors", metadata={"format": "pt"})
    loaded = load(quantized)
    expected = logits_of_widened(widened, loaded)
    torch.testing.assert_close(logits_of(loaded), expected, atol=1e-4, rtol=1e-4)
    assert "lm_head" not in linears(loaded)


def test_rounding_at_load_takes_what_the_checkpoint_left_plain(tmp_path: Path) -> None:
    quantized, _ = write_pair(CASE["llama"], Kind("gptq", 8, 32), tmp_path)
    assert load(quantized, quantization="int8").metadata.quantization == "int8"
    loaded = load(quantized, quantization="int8")
    assert len(linears(loaded)) == 28 + 1  # and the head


def test_scales_of_the_cache_are_named_and_not_used(
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
    quantized, widened = write_pair(CASE["llama"], Kind("awq", 4, 32, symmetric=False), tmp_path)
    found, plain = inspect_model("q", quantized), inspect_model("w", widened)
    assert found.quantization == "int4 by awq"
    assert not found.refused
    assert found.num_parameters == plain.num_parameters
    assert plain.quantization == ""
    edit_json(quantized / "config.json", quantization_config={"quant_method": "hqq"})
    assert "the method hqq" in inspect_model("q", quantized).refused


LOAD = """
import resource, sys
from yaie.config import EngineConfig
from yaie.kernels.loader import load as load_library
from yaie.models.checkpoint import read_checkpoint, read_config
from yaie.models.loader import load_model
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
config = EngineConfig(model=sys.argv[1], dtype="float32", num_slots=64, device="cpu")
before = peak()
loaded = load_model(config)
print(peak() - before, loaded.metadata.num_parameters)
"""


@cache
def sevens(kind: Kind, outputs: int, inputs: int) -> dict[str, torch.Tensor]:
    groups = inputs // (kind.group or inputs)
    integers = Integers(
        np.full((outputs, inputs), 7, np.uint32),
        np.full((outputs, groups), 1 << (kind.bits - 1), np.uint32),
        np.full((outputs, groups), 1e-3, np.float32),
        np.arange(inputs) * groups // inputs,
    )
    return stored(integers, kind, torch.float32)


@pytest.mark.parametrize("kind", [Kind("int-quantized", 8), Kind("gptq", 4, 128)], ids=str)
def test_the_widened_form_is_never_held(kind: Kind, tmp_path: Path) -> None:
    settings = {"hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 8}
    config = LlamaConfig(**settings, num_attention_heads=8, vocab_size=64)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    tensors: dict[str, torch.Tensor] = {}
    for name, parameter in model.named_parameters():
        if "_proj" not in name:
            tensors[name] = torch.ones(parameter.shape)
            continue
        module = name.removesuffix(".weight")
        packed = sevens(kind, *parameter.shape)
        tensors |= {f"{module}.{part}": tensor.clone() for part, tensor in packed.items()}
    config.save_pretrained(tmp_path)
    edit_json(
        tmp_path / "config.json",
        architectures=["LlamaForCausalLM"],
        quantization_config=kind.config(),
    )
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True, text=True, check=True
    )
    grown, parameters = (int(word) for word in done.stdout.split())
    # A byte for each integer, the pages of the file, and a layer in float32 as it is run.
    assert grown < 2.6 * parameters
