"""Quantized checkpoints that are not served, or damaged: told before weights are read."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.conformance.zoo import CASES
from tests.models.folders import edit_json
from tests.models.quantized import Kind, write_pair
from tests.models.test_quantized import load
from yaie.errors import ModelUnsupported, NotEnoughMemory
from yaie.models import loader, memory_plan
from yaie.models.checkpoint import read_checkpoint, read_config
from yaie.models.quantization import reading
from yaie.models.quantization.formats import SERVED, stored_quantization
from yaie.models.quantization.layout import read_stored_layout

LLAMA = {case.name: case for case in CASES}["llama"]
MODULE = "model.layers.1.mlp.up_proj"
CT, GPTQ, AWQ = (
    Kind("pack-quantized", 4, 32, symmetric=False),
    Kind("gptq", 4, 32),
    Kind("awq", 4, 32, symmetric=False),
)
INT8 = Kind("int-quantized", 8)
ORDERED = Kind("gptq", 4, 32, ordered=True)
CT_ORDERED = Kind("pack-quantized", 4, 32, ordered=True)


def with_group(kind: Kind, **changes: Any) -> dict[str, Any]:
    """A compressed-tensors config with changed weights, or other keys of its group."""
    config = kind.config()
    group = config["config_groups"]["group_0"]
    for key, value in changes.items():
        if key in group["weights"]:
            group["weights"][key] = value
        else:
            group[key] = value
    return config


STATIC = {"num_bits": 8, "type": "int", "strategy": "tensor", "dynamic": False}
FP8 = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
UNSERVED = [
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "the method bitsandbytes"),
    ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "the method fp8"),
    ({"quant_method": "auto-round", "bits": 4}, "a GPTQ export"),
    ({"quant_method": "intel/auto-round", "bits": 4}, "a GPTQ export"),
    ({"load_in_8bit": True}, "names no quant_method"),
    ({"bits": 4, "group_size": 64}, "MLX names none"),
    (GPTQ.config() | {"bits": 3}, "have 3 bits"),
    (GPTQ.config() | {"bits": 2}, "have 2 bits"),
    (GPTQ.config() | {"checkpoint_format": "marlin"}, "checkpoint format marlin"),
    (GPTQ.config() | {"is_marlin_format": True}, "checkpoint format marlin"),
    (GPTQ.config() | {"pack_dtype": "int64"}, "packed into int64"),
    (GPTQ.config() | {"dynamic": {r"+:.*mlp.*": {"bits": 3}}}, "have 3 bits"),
    (AWQ.config() | {"version": "gemv"}, "AWQ version gemv"),
    (AWQ.config() | {"bits": 8}, "AWQ packs 4 bits"),
    (AWQ.config() | {"backend": "llm-awq"}, "AWQ version llm-awq"),
    (with_group(CT, num_bits=3), "of group_0 have 3 bits"),
    (with_group(CT, type="float"), "of group_0 are float numbers of 4 bits"),
    (with_group(CT, strategy="block"), "scaled by block"),
    (with_group(CT, dynamic=True), "quantized anew"),
    (with_group(CT, format="nvfp4-pack-quantized"), "format nvfp4-pack-quantized"),
    (CT.config() | {"format": "marlin-24"}, "format marlin-24"),
    (CT.config() | {"format": "dense"}, "format dense"),
    (CT.config() | {"sparsity_config": {"format": "sparse-24-bitmask"}}, "stored sparse"),
    (CT.config() | {"transform_config": {"config_groups": {"u": {}}}}, "transform_config"),
    (with_group(INT8, input_activations=STATIC), r"fixed beforehand \(static\)"),
    (with_group(INT8, input_activations=FP8), "float numbers of 8 bits"),
    (with_group(INT8, output_activations=STATIC), "the outputs of layers"),
    (with_group(INT8, weights=None), "activations and no weights"),
    (with_group(INT8, targets=["Embedding"]), "modules of class Embedding"),
]


@pytest.mark.parametrize(("config", "reason"), UNSERVED)
def test_not_served(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        stored_quantization({"quantization_config": config})
    assert SERVED in refused.value.message
    assert "or use a checkpoint in bfloat16" in refused.value.message


@pytest.mark.parametrize(
    "config",
    [
        "int4",
        CT.config() | {"config_groups": {}},
        CT.config() | {"config_groups": {"W4A16": ["Linear"]}},
        with_group(CT, targets=["re:*"]),
        with_group(CT, group_size="many"),
        GPTQ.config() | {"group_size": 0},
        GPTQ.config() | {"dynamic": ["x"]},
        GPTQ.config() | {"dynamic": {"+:(": {}}},
    ],
)
def test_nonsense_in_the_config(config: object) -> None:
    with pytest.raises(ModelUnsupported, match=r"quantization_config of config\.json is damaged"):
        stored_quantization({"quantization_config": config})


@pytest.mark.parametrize("none", [None, {}])
def test_no_quantization(none: object) -> None:
    assert stored_quantization({"quantization_config": none}) is None
    assert stored_quantization({}) is None


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
        (CT, without("weight_packed"), "is there, but the integers"),
        (CT, without("weight_scale"), "weight_scale is missing"),
        (CT, without("weight_shape"), "weight_shape is missing"),
        (CT, without("weight_zero_point"), "weight_zero_point is missing"),
        (CT, cut("weight_packed"), "weight_shape says"),
        (CT, cut("weight_packed", rows=False), "do not hold 64 integers of 4 bits"),
        (CT, cut("weight_scale"), "weight_scale has the shape"),
        (CT, cut("weight_scale", rows=False), "weight_zero_point has the shape"),
        (CT, cut("weight_zero_point"), "weight_zero_point has the shape"),
        (CT, stated_shape(96, 64, 1), "weight_shape says"),
        (CT, stated_shape(96, 0), "do not hold 0 integers"),
        (CT, converted("weight_packed", torch.int64), "weight_packed is of type I64"),
        (CT, converted("weight_scale", torch.int8), "weight_scale is of type I8"),
        (INT8, without("weight_scale"), "weight_scale is missing"),
        (INT8, cut("weight_scale"), "weight_scale has the shape"),
        (INT8, converted("weight", torch.float8_e4m3fn), "weight is of type F8_E4M3"),
        (GPTQ, without("qweight"), "is there, but the integers"),
        (GPTQ, without("qzeros"), "qzeros is missing"),
        (GPTQ, without("scales"), "scales is missing"),
        (GPTQ, cut("qweight"), "g_idx orders 64 inputs, qweight has 56"),
        (GPTQ, cut("qzeros", rows=False), "qzeros has the shape"),
        (GPTQ, cut("scales"), "qzeros has the shape"),
        (GPTQ, lambda t: t[f"{MODULE}.g_idx"].fill_(7), "groups that are not there"),
        (GPTQ, lambda t: t[f"{MODULE}.g_idx"].neg_(), "groups that are not there"),
        (AWQ, cut("qweight", rows=False), "do not belong together"),
        (AWQ, cut("qzeros"), "do not belong together"),
        (AWQ, without("scales"), "scales is missing"),
        (ORDERED, without("g_idx"), r"the order \(g_idx\) is missing"),
    ],
)
def test_damaged_layers(kind: Kind, change: Change, reason: str, tmp_path: Path) -> None:
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
        (CT, with_group(CT, num_bits=8), "do not hold .* integers of 8 bits"),
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
def test_plain_weights_that_are_said_to_be_quantized(tmp_path: Path) -> None:
    _, widened = write_pair(LLAMA, GPTQ, tmp_path)
    edit_json(widened / "config.json", quantization_config=GPTQ.config())
    with pytest.raises(ModelUnsupported, match=r"quantized \(gptq\), but none of them is"):
        load(widened)


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_quantized_weights_whose_config_does_not_say_so(tmp_path: Path, dtype: torch.dtype) -> None:
    """They would be loaded as if each integer were a weight."""
    _, widened = write_pair(LLAMA, GPTQ, tmp_path)
    name = f"{MODULE}.weight"
    rewrite(widened, lambda tensors: tensors.update({name: (100 * tensors[name].abs()).to(dtype)}))
    with pytest.raises(ModelUnsupported, match=rf"{name} \(.*no quantization_config"):
        load(widened)


@pytest.mark.usefixtures("never_built")
@pytest.mark.parametrize("part", ["weight_scale_inv", "weight_scale", "SCB", "scales"])
def test_scales_of_weights_whose_config_names_none(tmp_path: Path, part: str) -> None:
    _, widened = write_pair(LLAMA, GPTQ, tmp_path)
    rewrite(widened, lambda tensors: tensors.update({f"{MODULE}.{part}": torch.ones(3)}))
    with pytest.raises(ModelUnsupported, match=rf"{MODULE}\.{part} \(.*no quantization_config"):
        load(widened)


def test_plain_weights_beside_integers_that_are_none_of_them(tmp_path: Path) -> None:
    """Masks of old checkpoints, and scales of a cache that YAIE holds in its own way."""
    _, widened = write_pair(LLAMA, GPTQ, tmp_path)
    attention = "model.layers.0.self_attn"
    others = {
        f"{attention}.masked_bias": torch.ones(4, 4, dtype=torch.uint8),
        f"{attention}.k_proj.k_scale": torch.ones(1),
        "audio.attention.per_dim_scale": torch.ones(2),
        "audio.router.scale": torch.ones(2),
    }
    rewrite(widened, lambda tensors: tensors.update(others))
    assert load(widened).metadata.quantization is None


@pytest.mark.usefixtures("never_built")
def test_scaled_activations_are_refused_as_such(tmp_path: Path) -> None:
    """Downloading them again would not help."""
    folder, _ = write_pair(LLAMA, AWQ, tmp_path)
    name = "model.layers.0.mlp.act.scales"
    rewrite(folder, lambda tensors: tensors.update({name: torch.ones(96)}))
    with pytest.raises(ModelUnsupported, match="activations of model"):
        load(folder)


@pytest.mark.usefixtures("never_built")
def test_truncated(tmp_path: Path) -> None:
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
            f"{MODULE} .* integers beyond -8 to 7",
        ),
        (
            GPTQ,
            lambda t: t.update({k.replace("up_proj", "in_proj"): t.pop(k) for k in list(t)}),
            r"in_proj, which is no linear layer of LlamaForCausalLM",
        ),
        (
            INT8,
            lambda t: t.update(
                {
                    f"{MODULE}.weight": torch.ones(95, 64, dtype=torch.int8),
                    f"{MODULE}.weight_scale": torch.ones(95, 1),
                }
            ),
            "have 95 outputs and 64 inputs, but the config makes it 96 and 64",
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
def test_damage_that_shows_while_loading(
    kind: Kind, change: Change, reason: str, tmp_path: Path
) -> None:
    folder, _ = write_pair(LLAMA, kind, tmp_path)
    rewrite(folder, change)
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        load(folder)
    assert refused.value.code == "model_damaged"


@pytest.mark.usefixtures("never_built")
def test_memory_that_would_hold_the_integers_only_once_they_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = write_pair(LLAMA, CT, tmp_path)
    layout = read_stored_layout(read_config(folder), read_checkpoint(folder))
    assert layout is not None
    free = layout.loading_nbytes(4) - 1
    monkeypatch.setattr(memory_plan, "activation_bytes", lambda *_, **__: 0)
    monkeypatch.setattr(loader, "free_bytes", lambda _: free)
    with pytest.raises(NotEnoughMemory, match="while its weights are read they take"):
        load(folder, num_slots=2, max_model_len=2)


def test_weights_that_mlx_packed_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported, match="packed by MLX"):
        stored_quantization({"quantization": {"group_size": 64, "bits": 4}})
    assert stored_quantization({"quantization": {}}) is None


def test_plain_weights_that_kept_the_config_of_what_they_were() -> None:
    with pytest.raises(ModelUnsupported, match="if they are plain numbers by now, remove"):
        stored_quantization({"quantization_config": {"quant_method": "bitsandbytes"}})


def test_scales_of_the_cache_alone_quantize_no_weights() -> None:
    settings = {"quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme": {}}
    assert stored_quantization({"quantization_config": settings}) is None


def test_an_order_that_is_not_needed_may_be_missing(tmp_path: Path) -> None:
    """One group has no order, and `static_groups` are runs of inputs."""
    folder, _ = write_pair(LLAMA, GPTQ, tmp_path)
    settings = GPTQ.config() | {"desc_act": True, "static_groups": True}
    edit_json(folder / "config.json", quantization_config=settings)
    rewrite(folder, without("g_idx"))
    assert load(folder).metadata.quantization == "int4"


@pytest.mark.parametrize("change", [without("weight_g_idx"), filled("weight_g_idx", -1)])
def test_compressed_tensors_leave_out_an_order_that_was_never_found(
    change: Change, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a layer that no sample reached: its groups are runs of inputs."""
    folder, _ = write_pair(LLAMA, CT_ORDERED, tmp_path)
    rewrite(folder, change)
    with caplog.at_level(logging.INFO):
        assert load(folder).metadata.quantization == "int4"
    assert "27 quantized layers are widened" in caplog.text


def test_what_awqs_first_tools_wrote(tmp_path: Path) -> None:
    folder, _ = write_pair(LLAMA, AWQ, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    del config["quantization_config"]
    (folder / "config.json").write_text(json.dumps(config))
    settings = {"zero_point": True, "q_group_size": 32, "w_bit": 4, "version": "GEMM"}
    (folder / "quant_config.json").write_text(json.dumps(settings))
    assert load(folder).metadata.quantization == "int4"


def test_a_layer_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason: transformers would tell of a file that it could not close."""
    folder, _ = write_pair(LLAMA, Kind("gptq", 8, 32), tmp_path)

    def fail(*_: object) -> None:
        raise RuntimeError("no such stride")

    monkeypatch.setattr(reading, "_unpack", fail)
    with pytest.raises(ModelUnsupported, match=r"_proj.*cannot be read: no such stride"):
        load(folder)


def test_the_config_of_a_folder_is_told_by_its_file(tmp_path: Path) -> None:
    """What older GPTQ tools put into a file of its own counts as if it were in config.json."""
    folder, _ = write_pair(LLAMA, GPTQ, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    settings = config.pop("quantization_config")
    (folder / "config.json").write_text(json.dumps(config))
    del settings["quant_method"]
    (folder / "quantize_config.json").write_text(json.dumps(settings))
    assert load(folder).metadata.quantization == "int4"
    (folder / "quantize_config.json").write_text(json.dumps(settings | {"bits": 3}))
    with pytest.raises(ModelUnsupported, match="have 3 bits"):
        load(folder)


def test_a_file_that_is_still_read_does_not_hide_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StillRead:
        """A file that cannot be closed, as another thread reads from it."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            self.opened = safe_open(*arguments, **settings)
            self.get_tensor, self.get_slice = self.opened.get_tensor, self.opened.get_slice

        def __enter__(self) -> StillRead:
            return self

        def __exit__(self, *_: object) -> None:
            raise RuntimeError("Already borrowed")

    folder, _ = write_pair(LLAMA, GPTQ, tmp_path)
    rewrite(folder, lambda tensors: tensors[f"{MODULE}.scales"].fill_(torch.nan))
    monkeypatch.setattr(reading, "safe_open", StillRead)
    with pytest.raises(ModelUnsupported, match=f"{MODULE} .* not finite"):
        load(folder)
