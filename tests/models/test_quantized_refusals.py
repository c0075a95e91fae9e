"""Damaged quantized checkpoints: refused, before weights are read where the headers show it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.models.folders import edit_json
from tests.models.quantized import AWQ, CT, GPTQ, INT8, LLAMA, Kind, with_group, write_pair
from tests.models.test_quantized import load
from yaie.base.errors import ModelUnsupported, NotEnoughMemory
from yaie.models.files.checkpoint import read_checkpoint, read_config
from yaie.models.load import loader, memory_plan
from yaie.models.quantization import readers
from yaie.models.quantization.checkpoint_layers import read_stored_layout

MODULE = "model.layers.1.mlp.up_proj"
ORDERED = Kind("gptq", 4, 32, ordered=True)
CT_ORDERED = Kind("pack-quantized", 4, 32, ordered=True)


@pytest.fixture
def never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, **__: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr(loader, "_build", build)


Change = Callable[[dict[str, torch.Tensor]], object]


def rewrite(folder: Path, change: Change) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({k: t.contiguous() for k, t in tensors.items()}, path, metadata={"format": "pt"})


def without(part: str) -> Change:
    return lambda tensors: tensors.pop(f"{MODULE}.{part}")


def cut(part: str, *, rows: bool = True) -> Change:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        name = f"{MODULE}.{part}"
        tensors[name] = tensors[name][:-1] if rows else tensors[name][..., :-1]

    return change


def filled(part: str, value: int) -> Change:
    return lambda tensors: tensors[f"{MODULE}.{part}"].fill_(value)


def converted(part: str, dtype: torch.dtype) -> Change:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors[f"{MODULE}.{part}"] = tensors[f"{MODULE}.{part}"].to(dtype)

    return change


def stated_shape(*shape: int) -> Change:
    return lambda tensors: tensors.update({f"{MODULE}.weight_shape": torch.tensor(shape)})


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        (CT, without("weight_packed"), "is present, but its quantized weights"),
        (CT, without("weight_scale"), "weight_scale is missing"),
        (CT, without("weight_shape"), "weight_shape is missing"),
        (CT, without("weight_zero_point"), "weight_zero_point is missing"),
        (CT, cut("weight_packed"), "weight_shape says"),
        (CT, cut("weight_packed", rows=False), "do not hold 64 values of 4 bits"),
        (CT, cut("weight_scale"), "weight_scale has the shape"),
        (CT, cut("weight_scale", rows=False), "weight_zero_point has the shape"),
        (CT, cut("weight_zero_point"), "weight_zero_point has the shape"),
        (CT, stated_shape(96, 64, 1), "weight_shape says"),
        (CT, stated_shape(96, 0), "do not hold 0 values"),
        (CT, converted("weight_packed", torch.int64), "weight_packed is of type I64"),
        (CT, converted("weight_scale", torch.int8), "weight_scale is of type I8"),
        (INT8, without("weight_scale"), "weight_scale is missing"),
        (INT8, cut("weight_scale"), "weight_scale has the shape"),
        (INT8, converted("weight", torch.float8_e4m3fn), r"names no quantization for .* \(F8_E4M3"),
        (GPTQ, without("qweight"), "is present, but its quantized weights"),
        (GPTQ, without("qzeros"), "qzeros is missing"),
        (GPTQ, without("scales"), "scales is missing"),
        (GPTQ, cut("qweight"), "g_idx orders 64 inputs, qweight has 56"),
        (GPTQ, cut("qzeros", rows=False), "qzeros has the shape"),
        (GPTQ, cut("scales"), "qzeros has the shape"),
        (GPTQ, lambda t: t[f"{MODULE}.g_idx"].fill_(7), "names unknown groups"),
        (GPTQ, lambda t: t[f"{MODULE}.g_idx"].neg_(), "names unknown groups"),
        (AWQ, cut("qweight", rows=False), "do not fit each other"),
        (AWQ, cut("qzeros"), "do not fit each other"),
        (AWQ, without("scales"), "scales is missing"),
        (ORDERED, without("g_idx"), r"the order \(g_idx\) is missing"),
    ],
)
def test_a_damaged_layer_is_named(kind: Kind, change: Change, reason: str, tmp_path: Path) -> None:
    folder, _ = write_pair(LLAMA, kind, tmp_path)
    rewrite(folder, change)
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        load(folder)
    assert MODULE in refused.value.message
    assert refused.value.code == "model_damaged"


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize(
    ("kind", "config", "reason"),
    [
        (CT, with_group(CT, targets=["re:.*self_attn.*"]), "names no quantization for"),
        (CT, with_group(CT, group_size=48), "inputs into groups of 48"),
        (CT, with_group(CT, num_bits=8), "do not hold .* values of 8 bits"),
        (CT, GPTQ.config(), "names no quantization for"),
        (GPTQ, GPTQ.config() | {"bits": 8}, "outputs with 8 bits"),
        (INT8, AWQ.config(), "names no quantization for"),
    ],
)
def test_a_config_that_does_not_fit_its_tensors(
    kind: Kind, config: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    folder, _ = write_pair(LLAMA, kind, tmp_path)
    edit_json(folder / "config.json", quantization_config=config)
    with pytest.raises(ModelUnsupported, match=reason):
        load(folder)


@pytest.mark.usefixtures("never_built")
def test_plain_weights_with_a_quantization_config_are_refused(tmp_path: Path) -> None:
    _, dequantized = write_pair(LLAMA, GPTQ, tmp_path)
    edit_json(dequantized / "config.json", quantization_config=GPTQ.config())
    with pytest.raises(ModelUnsupported, match=r"config \(gptq\), but the weights are plain"):
        load(dequantized)


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_quantized_weights_without_a_config_are_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    """transformers would load each integer as a weight."""
    _, dequantized = write_pair(LLAMA, GPTQ, tmp_path)
    name = f"{MODULE}.weight"
    rewrite(
        dequantized, lambda tensors: tensors.update({name: (100 * tensors[name].abs()).to(dtype)})
    )
    with pytest.raises(ModelUnsupported, match=rf"{name} \(.*no quantization_config"):
        load(dequantized)


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize("part", ["weight_scale_inv", "weight_scale", "SCB", "scales"])
def test_scales_of_weights_without_a_config_are_refused(tmp_path: Path, part: str) -> None:
    _, dequantized = write_pair(LLAMA, GPTQ, tmp_path)
    rewrite(dequantized, lambda tensors: tensors.update({f"{MODULE}.{part}": torch.ones(3)}))
    with pytest.raises(ModelUnsupported, match=rf"{MODULE}\.{part} \(.*no quantization_config"):
        load(dequantized)


def test_other_integers_and_scales_are_allowed(tmp_path: Path) -> None:
    """Masks of old checkpoints, and scales of a KV cache."""
    _, dequantized = write_pair(LLAMA, GPTQ, tmp_path)
    attention = "model.layers.0.self_attn"
    others = {
        f"{attention}.masked_bias": torch.ones(4, 4, dtype=torch.uint8),
        f"{attention}.k_proj.k_scale": torch.ones(1),
        "audio.attention.per_dim_scale": torch.ones(2),
        "audio.router.scale": torch.ones(2),
    }
    rewrite(dequantized, lambda tensors: tensors.update(others))
    assert load(dequantized).metadata.quantization is None


@pytest.mark.usefixtures("never_built")
def test_scaled_activations_are_refused(tmp_path: Path) -> None:
    """The message does not advise another download."""
    folder, _ = write_pair(LLAMA, AWQ, tmp_path)
    name = "model.layers.0.mlp.act.scales"
    rewrite(folder, lambda tensors: tensors.update({name: torch.ones(96)}))
    with pytest.raises(ModelUnsupported, match="activations of model"):
        load(folder)


@pytest.mark.usefixtures("never_built")
def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    folder, _ = write_pair(LLAMA, AWQ, tmp_path)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ModelUnsupported, match="it is truncated"):
        load(folder)


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        (GPTQ, lambda t: t[f"{MODULE}.scales"].fill_(torch.nan), f"{MODULE} .* not finite"),
        (
            Kind("int-quantized", 4, 32),
            lambda t: t[f"{MODULE}.weight"].fill_(8),
            f"{MODULE} .* exceed the range -8 to 7",
        ),
        (
            GPTQ,
            lambda t: t.update({k.replace("up_proj", "in_proj"): t.pop(k) for k in list(t)}),
            r"in_proj, which is not a linear layer of LlamaForCausalLM",
        ),
        (
            INT8,
            lambda t: t.update(
                {
                    f"{MODULE}.weight": torch.ones(95, 64, dtype=torch.int8),
                    f"{MODULE}.weight_scale": torch.ones(95, 1),
                }
            ),
            "have 95 outputs and 64 inputs, but config.json has 96 and 64",
        ),
        (GPTQ, lambda t: t.pop("model.norm.weight"), "lack 1 tensors .* model.norm.weight"),
        (GPTQ, lambda t: t.update({f"{MODULE}.bias": torch.ones(96)}), f"hold {MODULE}.bias .1 "),
        (
            Kind("gptq", 8, 32),
            lambda t: t[f"{MODULE}.scales"].fill_(torch.inf),
            f"{MODULE} .* not finite",
        ),
    ],
)
def test_damage_found_while_loading_is_refused(
    kind: Kind, change: Change, reason: str, tmp_path: Path
) -> None:
    folder, _ = write_pair(LLAMA, kind, tmp_path)
    rewrite(folder, change)
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        load(folder)
    assert refused.value.code == "model_damaged"


@pytest.mark.usefixtures("never_built")
def test_memory_for_packed_weights_alone_is_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = write_pair(LLAMA, CT, tmp_path)
    layout = read_stored_layout(read_config(folder), read_checkpoint(folder))
    assert layout is not None
    free = layout.loading_nbytes(4) - 1
    monkeypatch.setattr(memory_plan, "activation_bytes", lambda *_, **__: 0)
    monkeypatch.setattr(loader, "free_bytes", lambda _: free)
    with pytest.raises(NotEnoughMemory, match="loading its weights takes"):
        load(folder, num_slots=2, max_model_len=2)


def test_an_unneeded_order_of_inputs_may_be_missing(tmp_path: Path) -> None:
    """With `static_groups`, groups are contiguous."""
    folder, _ = write_pair(LLAMA, GPTQ, tmp_path)
    settings = GPTQ.config() | {"desc_act": True, "static_groups": True}
    edit_json(folder / "config.json", quantization_config=settings)
    rewrite(folder, without("g_idx"))
    assert load(folder).metadata.quantization == "int4"


@pytest.mark.parametrize("change", [without("weight_g_idx"), filled("weight_g_idx", -1)])
def test_a_layer_without_samples_has_contiguous_groups(
    change: Change, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """compressed-tensors stores no order of inputs for it."""
    folder, _ = write_pair(LLAMA, CT_ORDERED, tmp_path)
    rewrite(folder, change)
    with caplog.at_level(logging.INFO):
        assert load(folder).metadata.quantization == "int4"
    assert "27 quantized layers are dequantized" in caplog.text


def test_an_unreadable_layer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers would report a file that it failed to close."""
    folder, _ = write_pair(LLAMA, Kind("gptq", 8, 32), tmp_path)

    def fail(*_: object) -> None:
        raise RuntimeError("no such stride")

    monkeypatch.setattr(readers, "_unpack", fail)
    with pytest.raises(ModelUnsupported, match=r"_proj.*cannot be read: no such stride"):
        load(folder)


def test_a_file_in_use_does_not_hide_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StillRead:
        """A file that fails to close because another thread reads it."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            self.opened = safe_open(*arguments, **settings)
            self.get_tensor, self.get_slice = self.opened.get_tensor, self.opened.get_slice

        def __enter__(self) -> StillRead:
            return self

        def __exit__(self, *_: object) -> None:
            raise RuntimeError("Already borrowed")

    folder, _ = write_pair(LLAMA, GPTQ, tmp_path)
    rewrite(folder, lambda tensors: tensors[f"{MODULE}.scales"].fill_(torch.nan))
    monkeypatch.setattr(readers, "safe_open", StillRead)
    with pytest.raises(ModelUnsupported, match=f"{MODULE} .* not finite"):
        load(folder)
