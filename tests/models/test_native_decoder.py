"""The packed decoder computes what transformers computes, or is not used."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from benchmarks.attention import Workload
from benchmarks.exact import step_of
from tests.conformance.case import Case, save
from tests.conformance.recurrent import RECURRENT
from tests.kernels.forced_set import forced_set
from tests.models.test_memory import on_linux, resident
from tests.models.zoo_models import CASES, RECOGNISED, load_case
from tests.rounding_sets import ROUNDING_SETS
from yaie.attention.spec import AttentionSpec
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.library_search import load
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model
from yaie.models.native import decoder_recognition, numerics_check
from yaie.models.native import native_decoder as rewrite
from yaie.models.native.decoder_structure import LinearParts, NotRecognised, gated_mlp_of
from yaie.models.native.native_structure import recognise_native, require_plain_attention
from yaie.models.native.numerics_check import DecoderDiffers, comparison_plan, far_plan
from yaie.process.heartbeat import counter_address

OTHERS = [
    *("gpt2", "deepseek-v3", "glm4", "cohere2", "opt"),
    *("hunyuan", "ministral3"),  # norms after the rotation; queries scaled by position
]

needs_library = pytest.mark.skipif(
    load() is None, reason="no kernel library: there is no compiler here, and torch serves"
)


def logits_of(loaded: LoadedModel, **settings: object) -> torch.Tensor:
    executor = choose_executor(loaded, **settings)  # type: ignore[arg-type]
    return executor.execute(comparison_plan(loaded))


@pytest.mark.parametrize("name", ["qwen3", "gpt2"])
def test_each_layer_of_a_step_is_a_sign_of_life(name: str, tmp_path: Path) -> None:
    loaded = load_case(name, tmp_path)
    executor = choose_executor(loaded)
    before = ctypes.c_uint64.from_address(counter_address()).value
    executor.execute(comparison_plan(loaded))
    beats = ctypes.c_uint64.from_address(counter_address()).value - before
    assert beats >= len(loaded.specs)


@pytest.mark.parametrize("name", RECOGNISED)
def test_structure_is_recognised(name: str) -> None:
    assert len(recognise_native(CASES[name].build()).layers) > 0


@pytest.mark.parametrize("name", OTHERS)
def test_other_structures_are_not_recognised(name: str) -> None:
    with pytest.raises(NotRecognised):
        recognise_native(CASES[name].build())


@pytest.mark.parametrize("name", ["input", "post_attention", "q", "k"])
def test_norms_of_several_epsilons_are_not_recognised(name: str) -> None:
    model: Any = CASES["qwen3"].build()
    layer = model.model.layers[-1]
    norms = {
        "input": layer.input_layernorm,
        "post_attention": layer.post_attention_layernorm,
        "q": layer.self_attn.q_norm,
        "k": layer.self_attn.k_norm,
    }
    norms[name].variance_epsilon = 1e-2
    with pytest.raises(NotRecognised, match="several epsilons"):
        recognise_native(model)


def test_a_biased_head_with_scaled_logits_is_not_recognised() -> None:
    model: Any = CASES["granite"].build()
    model.lm_head.bias = torch.nn.Parameter(torch.ones(model.lm_head.out_features))
    with pytest.raises(NotRecognised, match="bias"):
        recognise_native(model)


def test_attention_beyond_the_decoder_is_not_recognised() -> None:
    parts = recognise_native(CASES["qwen3"].build())
    norm = parts.layers[0].query_norm
    assert norm is not None
    width = norm.weight.numel()
    plain = [
        AttentionSpec(
            layer=layer, num_heads=4, num_kv_heads=2, key_width=width, value_width=width, scale=1.0
        )
        for layer in range(len(parts.layers))
    ]
    require_plain_attention(parts, plain)
    for changes, reason in [
        ({"has_sinks": True}, "has sinks"),
        ({"kv_layer": 0}, "reads the keys of layer 0"),
        ({"key_width": 2 * width}, "not as wide as a head"),
    ]:
        odd = replace(plain[-1], **changes)  # type: ignore[arg-type]
        with pytest.raises(NotRecognised, match=reason):
            require_plain_attention(parts, [*plain[:-1], odd])
    with pytest.raises(NotRecognised, match="attentions"):
        require_plain_attention(parts, plain[:-1])


class _Renamed(nn.Module):
    """An MLP with LFM2's names, whose activation is no module."""

    def __init__(self, activation: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.w1, self.w3, self.w2 = nn.Linear(16, 32), nn.Linear(16, 32), nn.Linear(32, 16)
        self.compute = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [..., 16] to [..., 16]."""
        y: torch.Tensor = self.w2(self.compute(self.w1(x)) * self.w3(x))
        return y


class _Joined(nn.Module):
    """An MLP with Granite's names."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.activation = activation
        self.input_linear, self.output_linear = nn.Linear(16, 64), nn.Linear(32, 16)


def test_activations_of_renamed_mlps_are_evaluated() -> None:
    gelu = nn.GELU(approximate="tanh")
    for activation, name in ((nn.SiLU(), "silu"), (gelu, "gelu"), (nn.ReLU(), None)):
        for module in (_Joined(activation), _Renamed(activation.forward)):
            mlp = gated_mlp_of(module)
            assert (None if mlp is None else mlp.activation) == name


@needs_library
@pytest.mark.parametrize("instruction_set", ROUNDING_SETS)
def test_gates_are_scaled_before_their_activation(instruction_set: str, tmp_path: Path) -> None:
    """In bf16 the gated rows go to the next layer as they are rounded."""
    case = next(each for each in RECURRENT if each.name == "falcon-h1")
    settings = {**case.settings, "mlp_multipliers": [4.0, 1.0]}
    save(case := Case("falcon-h1", case.architecture, "", settings), case.build(), tmp_path)
    config = EngineConfig(model=str(tmp_path), num_slots=256, dtype="bfloat16")
    loaded = load_model(config)
    plan = comparison_plan(loaded)
    expected = choose_executor(loaded, may_pack=False).execute(plan)
    with forced_set(instruction_set):
        executor = choose_executor(load_model(config))
        assert executor.name == "native"
        found = executor.execute(plan)
    assert (found - expected).norm() < 0.1 * expected.norm()


def test_wide_gates_go_with_norms_of_each_head_alone() -> None:
    """Norms over all heads expect their queries next to each other; gates are in between."""
    spec = AttentionSpec(
        layer=0, num_heads=4, num_kv_heads=2, key_width=16, value_width=16, scale=1.0
    )
    for name, changes, reason in [
        ("qwen3", {}, ""),
        ("olmo2", {}, "wide gates, and norms over all heads"),
        ("qwen3", {"has_head_gates": True}, "outputs"),  # with another layer of gates
    ]:
        parts = recognise_native(CASES[name].build())
        layer = parts.attention_layers[0]
        wide = LinearParts((nn.Linear(64, 128), *layer.qkv.modules[1:]))
        gated = replace(parts, layers=(replace(layer, qkv=wide, **changes),))
        with pytest.raises(NotRecognised, match=reason) if reason else nullcontext():
            require_plain_attention(gated, [spec])


@needs_library
def test_logits_reuse_memory_unless_it_is_in_use(
    tmp_path: Path,
) -> None:
    loaded = load_case("llama", tmp_path)
    executor, plan = choose_executor(loaded), comparison_plan(loaded)
    held = executor.execute(plan)
    address, expected = held.data_ptr(), held.clone()
    row = held[3]
    del held
    fewer = executor.execute(replace(plan, logit_rows=plan.logit_rows[::-1][:5].copy()))
    assert torch.equal(fewer, expected.flip(0)[:5])
    assert torch.equal(row, expected[3])  # a view of one row keeps the memory
    del row
    again = fewer.data_ptr()
    assert again != address
    del fewer
    assert executor.execute(plan).data_ptr() == again


@needs_library
@pytest.mark.parametrize("name", RECOGNISED)
def test_equals_transformers_in_float32(name: str, tmp_path: Path) -> None:
    expected = logits_of(load_case(name, tmp_path), may_pack=False)
    loaded = load_case(name, tmp_path)
    executor = choose_executor(loaded)
    assert executor.name == "native"
    found = executor.execute(comparison_plan(loaded))
    torch.testing.assert_close(found, expected, atol=5e-5, rtol=5e-5)


@needs_library
def test_a_difference_at_far_positions_alone_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries scaled by their position, in a structure that hides it."""
    loaded = load_case("ministral3", tmp_path)
    monkeypatch.setattr(decoder_recognition, "require_positions_in_tables_only", lambda _: None)
    with pytest.raises(DecoderDiffers, match="logits of the packed weights are off"):
        choose_executor(loaded)
    monkeypatch.setattr(numerics_check, "far_plan", lambda _: None)
    assert choose_executor(load_case("ministral3", tmp_path)).name == "native"


@needs_library
def test_far_positions_are_computed_like_near_ones(tmp_path: Path) -> None:
    case = replace(CASES["llama"], settings={"max_position_embeddings": 40_000})
    save(case, case.build(), tmp_path)
    config = EngineConfig(model=str(tmp_path), num_slots=40_000)
    loaded = load_model(config)
    plan = far_plan(loaded)
    assert plan is not None
    assert plan.positions.max() == 39_999
    expected = choose_executor(loaded, may_pack=False).execute(plan)
    executor = choose_executor(loaded)
    assert executor.name == "native"
    torch.testing.assert_close(executor.execute(plan), expected, atol=5e-5, rtol=5e-5)
    assert (expected - executor.execute(comparison_plan(loaded))).abs().max() > 0.01


def test_a_context_of_the_short_comparison_has_no_far_one(tmp_path: Path) -> None:
    save(CASES["llama"], CASES["llama"].build(), tmp_path)
    for length, found in ((16, False), (17, True)):
        loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256, max_model_len=length))
        assert (far_plan(loaded) is not None) == found


@needs_library
def test_float16_warns_that_it_is_slow(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    executor = choose_executor(load_case("llama", tmp_path, dtype="float16"))
    assert executor.name == "transformers"
    assert "no linear layers in torch.float16" in executor.reason
    told = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert any("--dtype bfloat16" in message for message in told)


@needs_library
@pytest.mark.parametrize("name", ["llama", "llama-tied", "qwen2", "qwen3", "phi3"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_packed_model_is_independent_of_its_files(name: str, dtype: str, tmp_path: Path) -> None:
    """Copying another model over its files must not change a running one."""
    save(CASES[name], CASES[name].build().to(getattr(torch, dtype)), tmp_path)
    loaded = load_model(EngineConfig(model=str(tmp_path), num_slots=256))
    executor = choose_executor(loaded)
    assert executor.name == "native"
    expected = executor.execute(comparison_plan(loaded))
    weights = tmp_path / "model.safetensors"
    with weights.open("r+b") as file:
        file.write(bytes(weights.stat().st_size))
    assert torch.equal(executor.execute(comparison_plan(loaded)), expected)


@needs_library
@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "granite", "phi3"])
def test_bfloat16_is_nearer_to_float32_than_transformers(name: str, tmp_path: Path) -> None:
    """The library rounds weights, keys and values; transformers rounds after each operation too.

    On a processor with bf16 products the library rounds the inputs of linear layers as well. In
    models as small as these the errors are then about equal.
    """
    settings = {"dtype": "bfloat16"}
    rounded = logits_of(load_case(name, tmp_path, **settings), may_pack=False)
    found = logits_of(load_case(name, tmp_path, **settings))
    truth = _float32_of_rounded_weights(name, tmp_path)
    library = load()
    assert library is not None
    limit = 1.1 if library.instruction_set in ROUNDING_SETS else 1.0
    assert (found - truth).norm() < limit * (rounded - truth).norm()


def _float32_of_rounded_weights(name: str, folder: Path) -> torch.Tensor:
    model = CASES[name].build().to(torch.bfloat16).float()
    save(CASES[name], model, folder)
    return logits_of(load_model(EngineConfig(model=str(folder), num_slots=256)))


# Steps with queries of at least 2 MiB in float32: 2,048 wide, from 256 rows.
@pytest.mark.integration
@needs_library
@pytest.mark.parametrize(
    ("quantization", "kv_dtype", "shared"),
    [
        (None, "auto", 0),
        (None, "int8", 70),
        ("int8", "auto", 70),
        ("int8", "int8", 0),
        ("int4", "auto", 70),
        ("int4", "int8", 0),
    ],
)
def test_a_large_step_rounds_little_more(
    wide_model: Path, instruction_set: str, quantization: str | None, kv_dtype: str, shared: int
) -> None:
    """On a processor with bf16 products, a large step keeps bf16 between its linear layers.

    Other instruction sets compute large and small steps alike.
    """
    settings = {"quantization": quantization, "kv_dtype": kv_dtype}
    found = by_steps(wide_model, shared, 9, dtype="bfloat16", **settings)
    in_small_steps = by_steps(wide_model, shared, 3, dtype="bfloat16", **settings)
    truth = by_steps(wide_model, shared, 3, dtype="float32")
    assert (found - truth).norm() < 1.25 * (in_small_steps - truth).norm()
    # Proof that large steps take another path.
    moved = (found - in_small_steps).norm() / truth.norm()
    assert (moved > 2e-4) == (instruction_set in ROUNDING_SETS)


def by_steps(model: Path, shared: int, sequences_in_step: int, **settings: object) -> torch.Tensor:
    """Return the last logits of nine sequences of 41 tokens below a shared prefix."""
    settings |= {"model": str(model), "num_slots": 512}
    executor = choose_executor(load_model(EngineConfig(**settings)))  # type: ignore[arg-type]
    if shared:
        executor.execute(step_of(Workload("", sequences=1, shared=0, own=shared, rows=shared)))
    every = step_of(Workload("", sequences=9, shared=shared, own=41, rows=41))
    found = []
    for first in range(0, 9, sequences_in_step):
        count = 41 * sequences_in_step
        rows = slice(first * 41, first * 41 + count)
        own = every.segments[-9:][first : first + sequences_in_step]
        segments = [replace(s, first_row=i * 41, end_row=i * 41 + 41) for i, s in enumerate(own)]
        if shared:
            segments.insert(0, replace(every.segments[0], end_row=count))
        step = replace(
            every,
            token_ids=every.token_ids[rows],
            positions=every.positions[rows],
            slots=every.slots[rows],
            written_rows=np.arange(count),
            logit_rows=np.arange(40, count, 41),
            segments=tuple(segments),
        )
        found.append(executor.execute(step).clone())
    return torch.cat(found)


@pytest.fixture(scope="module", params=[True, False], ids=["bias", "no bias"])
def wide_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model of mostly attention: 16 heads of 128, with and without QKV bias."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=1024, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
        num_attention_heads=16, num_key_value_heads=8, head_dim=128, attention_bias=request.param,
        initializer_range=0.2,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("wide")
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


@pytest.fixture(params=["amx", "bf16", "vnni"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    with forced_set(request.param):
        yield request.param


@needs_library
def test_originals_are_freed(tmp_path: Path) -> None:
    loaded = load_case("llama-tied", tmp_path)
    before = sum(p.numel() for p in loaded.model.parameters())
    executor = choose_executor(loaded)
    assert executor.name == "native"
    assert sum(p.numel() for p in loaded.model.parameters()) < before / 20


@needs_library
def test_a_decoder_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dict.fromkeys(rewrite.GATED, rewrite.GATED["gelu"])
    monkeypatch.setattr(rewrite, "GATED", wrong)
    with pytest.raises(DecoderDiffers, match="off by"):
        choose_executor(load_case("llama", tmp_path))


@needs_library
def test_the_engine_runs_the_original_of_a_refused_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from yaie.engine.core import EngineCore

    save(CASES["llama"], CASES["llama"].build(), tmp_path)
    wrong = dict.fromkeys(rewrite.GATED, rewrite.GATED["gelu"])
    monkeypatch.setattr(rewrite, "GATED", wrong)
    core = EngineCore(EngineConfig(model=str(tmp_path), num_slots=256))
    assert core.info.execution == "transformers"
    assert "off by" in caplog.text and "off by" in core.info.execution_reason


def test_without_the_library_transformers_runs(tmp_path: Path) -> None:
    executor = choose_executor(load_case("llama", tmp_path), "reference")
    assert executor.name == "transformers"


def test_loading_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from yaie.models.builtin import BUILTIN_MODEL_DIR

    load_model(EngineConfig(model=str(BUILTIN_MODEL_DIR), num_slots=64))
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@on_linux
@needs_library
@pytest.mark.parametrize("bytes_between", [1, 2**40])
def test_originals_are_released_as_they_are_packed(
    bytes_between: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are never held twice."""
    in_memory: list[int] = []
    pack_layer = rewrite._pack_layer

    def seen(*args: Any) -> Any:
        in_memory.append(resident(tmp_path / "model.safetensors"))
        return pack_layer(*args)

    monkeypatch.setattr(rewrite, "_pack_layer", seen)
    monkeypatch.setattr(rewrite, "_PACKED_BETWEEN_RELEASES", bytes_between)
    logits_of(load_case("llama", tmp_path, dtype="float32", device="cpu"))
    assert len(in_memory) > 1
    first, *others = in_memory
    assert first > 0  # read by the comparison
    assert any(others) is (bytes_between > 1)
    assert resident(tmp_path / "model.safetensors") == 0
