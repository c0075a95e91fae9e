"""Experts of GGUF files: they stay in the file's blocks, against the decoded model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.conformance.case import LAYERS
from tests.models.gguf_recurrent_twins import RECURRENT_TWINS
from tests.models.gguf_twin_list import TWINS
from tests.models.gguf_twins import Twin
from tests.models.test_gguf_kept_blocks import load, random_tensor
from tests.models.test_gguf_recurrent_blocks import DELTA_NET
from tests.models.test_native_decoder import needs_library
from tests.models.test_packed_experts import error_of_experts, find_packed
from yaie import LLM, SamplingParams
from yaie.base.errors import ModelUnsupported
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.decoder_structures import BLOCKS
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.moe import experts_of
from yaie.models.load.block_experts import find_block_experts
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.quantization.block_weights import BlockWeight

pytestmark = needs_library

WIDE: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 256}
Q4_K_M = {f"blk.{LAYERS - 1}.ffn_down_exps": "Q6_K", "_exps": "Q4_K", "": "Q4_K"}
ALL_TWINS = {each.name: each for each in reversed((*TWINS, *RECURRENT_TWINS))}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )


def wide(name: str, **settings: Any) -> Twin:
    """Return a twin whose experts' rows are whole blocks."""
    twin = ALL_TWINS[name]
    known = twin.build().config.to_dict()
    widths = {**WIDE, "moe_intermediate_size": 256, "shared_expert_intermediate_size": 256}
    widths |= {"shared_intermediate_size": 256}
    if "mamba" in name:
        widths["mamba_d_head"] = 64
    own = {key: value for key, value in widths.items() if key in known}
    keys = {**twin.keys}
    for key in ("expert_feed_forward_length", "expert_shared_feed_forward_length"):
        if isinstance(keys.get(key), int):
            keys[key] = 256
    return replace(twin, settings={**twin.settings, **own, **settings}, keys=keys)


def write(twin: Twin, path: Path, kinds: Mapping[str, str]) -> tuple[Path, int]:
    """Write a file with random blocks of the kind of the first name part that fits.

    Returns the path and the bytes of the tensors.
    """
    model = twin.build()
    tensors: dict[str, Any] = {}
    nbytes = 0
    for name, values in twin.tensors(model).items():
        kind = next((kind for part, kind in kinds.items() if part in name), None)
        is_blocks = "_exps.weight" in name or (
            values.ndim == 2 and "ssm" not in name and ".bias" not in name
        )
        if kind is None or not is_blocks or values.shape[-1] % 256:
            tensors[name] = values
            nbytes += values.nbytes
            continue
        stored = random_tensor(kind, (int(np.prod(values.shape[:-1])), values.shape[-1]))
        tensors[name] = replace(stored, shape=values.shape)
        nbytes += len(stored.data)
    return twin.write(path, model, **tensors), nbytes


def logits(loaded: LoadedModel) -> torch.Tensor:
    executor = choose_executor(loaded)
    return executor.execute(comparison_plan(loaded))


def median_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the median error of rows: in a few rows, rounding may choose another expert."""
    error = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
    return float(error.median())


def check(path: Path) -> LoadedModel:
    """Compare a file's packed experts with its decoded ones; return the packed model."""
    loaded, decoded = load(path), load(path, dtype="float32")
    assert loaded.model is not None and decoded.model is not None
    experts = experts_of(decoded.model)
    packed = find_packed(loaded)
    assert len(packed) == len(experts) > 0
    sources = find_block_experts(decoded.model, path, rounds=False)
    for source in sources:
        for part, parameter in decoded.model.get_submodule(source.name).named_parameters():
            for index, joined in enumerate(parameter):
                expected = source.layout.matrix(joined, is_gated=part.startswith("gate_up"))
                found = source.read(index, part)
                if isinstance(found, BlockWeight):
                    found = found.dequantize(torch.float32)
                assert isinstance(found, torch.Tensor)
                assert torch.equal(found, expected.to(found.dtype)), (source.name, part)
    for name, module in experts.items():
        assert error_of_experts(loaded.model.get_submodule(name), module) < 0.04  # rows of bytes
    assert loaded.metadata.num_parameters == decoded.metadata.num_parameters
    expected = logits(decoded)
    assert median_error(logits(loaded), expected) < 0.08
    return loaded


def test_experts_stay_in_the_blocks_of_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, nbytes = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", Q4_K_M)
    caplog.set_level("INFO")
    loaded = check(path)
    assert "experts stay in Q4_K+Q6_K, as they are stored" in caplog.text
    assert loaded.metadata.quantization == "Q4_K+Q6_K"
    assert loaded.metadata.planned_weight_bytes <= 1.06 * nbytes
    assert loaded.metadata.weight_bytes <= 1.06 * nbytes


_ARCHITECTURES = (
    *("mixtral-as-llama", "qwen2-moe-as-qwen2moe", "gpt-oss-as-gpt-oss", "glm4-moe-as-glm4moe"),
    *("deepseek-v3-as-deepseek2", "minimax-m2-as-minimax-m2", "granite-moe-as-granitemoe"),
    *("ernie4-5-moe-as-ernie4_5-moe", "qwen3.5-moe-as-qwen35moe", "qwen3-next-as-qwen3next"),
    *("lfm2-moe-as-lfm2moe", "granite-hybrid-mamba-as-granitehybrid"),
)


@pytest.mark.integration
@pytest.mark.parametrize("name", _ARCHITECTURES)
def test_experts_of_each_architecture_stay(name: str, tmp_path: Path) -> None:
    kinds = {**Q4_K_M, "_exps": "MXFP4"} if name.startswith("gpt-oss") else Q4_K_M
    settings = DELTA_NET if "qwen3.5" in name or "qwen3-next" in name else {}
    twin = wide(name, **settings)
    path, nbytes = write(twin, tmp_path / "model.gguf", {**kinds, "token_embd": "Q8_0"})
    metadata = check(path).metadata
    assert {"Q6_K", kinds["_exps"]} <= {*str(metadata.quantization).split("+")}
    assert metadata.planned_weight_bytes <= 1.1 * nbytes


@pytest.mark.integration
@pytest.mark.parametrize("kind", BLOCKS)
def test_experts_of_each_kind_stay(kind: str, tmp_path: Path) -> None:
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", {"_exps": kind})
    assert check(path).metadata.quantization == kind  # all other tensors are plain


@pytest.mark.integration
def test_experts_that_no_kind_holds_as_they_are_are_held_in_q8_0(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = {"blk.0.ffn_gate_exps": "Q6_K", "blk.1.ffn_down_exps": "IQ3_S", "_exps": "Q4_K"}
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", kinds)
    caplog.set_level("INFO")
    loaded, decoded = load(path), load(path, dtype="float32")
    for kind in ("Q6_K", "Q4_K", "IQ3_S"):
        assert f"1 tensors of experts in {kind} are held in Q8_0" in caplog.text
    assert median_error(logits(loaded), logits(decoded)) < 0.08


@pytest.mark.integration
def test_plain_experts_next_to_blocks_stay_plain(tmp_path: Path) -> None:
    kinds = {"ffn_down_exps": "BF16", "blk.0": "BF16", "_exps": "Q4_K"}
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", kinds)
    loaded, decoded = load(path), load(path, dtype="float32")
    assert {each.kind for each in find_packed(loaded)} == {"Q4_K"}
    assert median_error(logits(loaded), logits(decoded)) < 0.08


@pytest.mark.integration
def test_quantization_at_load_rounds_experts(tmp_path: Path) -> None:
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", Q4_K_M)
    loaded = load(path, quantization="int8", calibrate="none")
    assert {each.kind for each in find_packed(loaded)} == {"int8"}
    assert median_error(logits(loaded), logits(load(path, dtype="float32"))) < 0.1


@pytest.mark.integration
@pytest.mark.parametrize("name", ["qwen3-moe-as-qwen3moe", "deepseek-v3-as-deepseek2"])
def test_a_second_start_reads_packed_experts(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = write(wide(name), tmp_path / "model.gguf", Q4_K_M)
    sampling = SamplingParams(max_tokens=8, temperature=0, ignore_eos=True)
    answers = []
    for _ in range(2):
        caplog.clear()
        caplog.set_level("INFO")
        with LLM(path, num_slots=256, weights_cache=str(tmp_path / "cache")) as llm:
            llm.wait_until_saved()
            (answer,) = llm.generate([[5, 9, 20, 31, 7]], sampling)
            answers.append(answer.token_ids)
    assert "experts stay in" not in caplog.text  # none was packed
    assert answers[0] == answers[1]


@pytest.mark.integration
def test_without_the_library_experts_are_decoded(tmp_path: Path) -> None:
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", Q4_K_M)
    config = EngineConfig(model=str(path), num_slots=256)
    loaded = load_model(config, may_pack=False)
    assert not find_packed(loaded)
    assert loaded.metadata.quantization is None


@pytest.mark.integration
def test_a_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    path, _ = write(wide("qwen3-moe-as-qwen3moe"), tmp_path / "model.gguf", {"_exps": "Q4_K"})
    model = load(path, dtype="float32").model
    (source, *_) = find_block_experts(model, path, rounds=False)  # type: ignore[arg-type]
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(ModelUnsupported, match="truncated"):
        for index in range(source.layout.num_experts):
            source.read(index, "down_proj")
            source.read(index, "gate_up_proj")
