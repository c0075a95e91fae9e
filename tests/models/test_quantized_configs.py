"""The quantization that a config describes: unsupported and damaged settings, and old files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.quantized import AWQ, CT, GPTQ, INT8, LLAMA, with_group, write_pair
from tests.models.test_quantized import load
from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.quantization_config import SERVED, read_quantization

STATIC = {"num_bits": 8, "type": "int", "strategy": "tensor", "dynamic": False}
FP8 = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
UNSERVED = [
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "the method bitsandbytes"),
    ({"quant_method": "fp_quant"}, "the method fp-quant"),
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
    (with_group(CT, type="float"), "of group_0 are float with 4 bits"),
    (with_group(CT, strategy="block"), "scaled by block"),
    (with_group(CT, dynamic=True), "quantized again at run time"),
    (with_group(CT, format="mxfp4-pack-quantized"), "format mxfp4-pack-quantized"),
    (CT.config() | {"format": "marlin-24"}, "format marlin-24"),
    (CT.config() | {"format": "dense"}, "format dense"),
    (CT.config() | {"sparsity_config": {"format": "sparse-24-bitmask"}}, "stored sparse"),
    (CT.config() | {"transform_config": {"config_groups": {"u": {}}}}, "transform_config"),
    (with_group(INT8, input_activations=STATIC), r"fixed beforehand \(static\)"),
    (with_group(INT8, input_activations=FP8), "float with 8 bits"),
    (with_group(INT8, output_activations=STATIC), "layer outputs"),
    (with_group(INT8, weights=None), "activations without weights"),
    (with_group(INT8, targets=["Embedding"]), "modules of class Embedding"),
]


@pytest.mark.parametrize(("config", "reason"), UNSERVED)
def test_an_unsupported_setting_is_refused_with_advice(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(ModelUnsupported, match=reason) as refused:
        read_quantization({"quantization_config": config})
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
def test_a_damaged_config_is_refused(config: object) -> None:
    with pytest.raises(ModelUnsupported, match=r"quantization_config of config\.json is damaged"):
        read_quantization({"quantization_config": config})


@pytest.mark.parametrize("none", [None, {}])
def test_an_absent_config_means_plain_weights(none: object) -> None:
    assert read_quantization({"quantization_config": none}) is None
    assert read_quantization({}) is None


def test_mlx_packing_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported, match="packed by MLX"):
        read_quantization({"quantization": {"group_size": 64, "bits": 4}})
    assert read_quantization({"quantization": {}}) is None


def test_a_stale_config_of_plain_weights_is_explained() -> None:
    with pytest.raises(ModelUnsupported, match="if they are plain by now, remove"):
        read_quantization({"quantization_config": {"quant_method": "bitsandbytes"}})


def test_a_quantized_kv_cache_alone_means_plain_weights() -> None:
    settings = {"quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme": {}}
    assert read_quantization({"quantization_config": settings}) is None


def test_the_config_file_of_the_first_awq_tools_is_read(tmp_path: Path) -> None:
    folder, _ = write_pair(LLAMA, AWQ, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    del config["quantization_config"]
    (folder / "config.json").write_text(json.dumps(config))
    settings = {"zero_point": True, "q_group_size": 32, "w_bit": 4, "version": "GEMM"}
    (folder / "quant_config.json").write_text(json.dumps(settings))
    assert load(folder).metadata.quantization == "int4"


def test_the_config_file_of_older_gptq_tools_is_read(tmp_path: Path) -> None:
    """quantize_config.json counts like an entry of config.json."""
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
