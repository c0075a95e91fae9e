"""GGUF files whose layers stay in their blocks: the answers of decoded weights, less memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.gguf_files import Stored, llama_metadata, tensors_of, write_gguf
from tests.models.test_gguf_model import VOCABULARY, make_model
from tests.models.test_native_decoder import needs_library
from yaie import LLM, SamplingParams
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.decoder_structures import BLOCKS
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.files.gguf.tensor_kinds import KINDS
from yaie.models.load.loader import load_model
from yaie.models.native.numerics_check import comparison_plan

WIDE = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8}
WIDE |= {"num_key_value_heads": 4, "head_dim": 32}
# Bytes of float16 numbers in a block: the scale, and the minimum; 0.01 keeps the model's size.
HALVES: dict[str, tuple[int, ...]] = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,)}
HALVES["TQ2_0"] = (64,)
HALVES |= dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2))
SCALES = {"Q8_0": 0.002, "Q6_K": 2e-5, "Q4_K": 5e-4, "Q5_K": 3e-4, "Q2_K": 0.01, "Q3_K": 1e-3}
SCALES |= {"IQ4_NL": 0.002, "IQ4_XS": 1e-4}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )


def random_tensor(kind: str, shape: tuple[int, ...]) -> Stored:
    """Return random blocks that decode to numbers of usual sizes."""
    block = KINDS[kind]
    rng = np.random.default_rng(sum(shape))
    count = shape[0] * shape[1] // block.num_values
    raw = rng.integers(0, 256, (count, block.nbytes), np.uint8)
    scale = SCALES.get(kind, 0.01)
    for place in HALVES.get(kind, (0,)):
        size = 8 * scale if place in (2, 82) else scale  # about the middle of the codes
        raw[:, place : place + 2] = np.frombuffer(np.float16(size).tobytes(), np.uint8)
    if kind in ("Q4_1", "Q5_1"):
        middle = -scale * (7.5 if kind == "Q4_1" else 15.5)
        raw[:, 2:4] = np.frombuffer(np.float16(middle).tobytes(), np.uint8)
    if kind == "MXFP4":
        raw[:, 0] = 121
    return Stored(kind, shape, raw.tobytes())


def write(
    path: Path, name: str, kinds: Mapping[str, str], *, tied: bool = True
) -> tuple[Path, int]:
    """Write a file with matrices in the kind of the first name part that fits.

    Returns the path and the bytes of its tensors.
    """
    model = make_model(name, **WIDE, tie_word_embeddings=tied)
    metadata = llama_metadata(
        name,
        **{
            f"{name}.embedding_length": 256,
            f"{name}.feed_forward_length": 512,
            f"{name}.attention.head_count": 8,
            f"{name}.attention.head_count_kv": 4,
        },
    )
    tensors: dict[str, Any] = dict(tensors_of(model, permutes=name == "llama"))
    for key, values in tensors.items():
        kind = next((kind for part, kind in kinds.items() if part in key), None)
        if kind is not None and values.ndim == 2:
            tensors[key] = random_tensor(kind, values.shape)
    sizes = [len(t.data) if isinstance(t, Stored) else t.nbytes for t in tensors.values()]
    return write_gguf(path, metadata | VOCABULARY, tensors), sum(sizes)


def load(path: Path, **settings: object) -> LoadedModel:
    return load_model(EngineConfig(model=str(path), num_slots=256, **settings))  # type: ignore[arg-type]


def logits(loaded: LoadedModel) -> torch.Tensor:
    executor = choose_executor(loaded)
    assert executor.name == "native"
    return executor.execute(comparison_plan(loaded))


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@needs_library
@pytest.mark.parametrize("kind", BLOCKS)
def test_logits_are_those_of_decoded_weights(kind: str, tmp_path: Path) -> None:
    path, nbytes = write(tmp_path / "model.gguf", "llama", {"": kind})
    loaded = load(path)
    assert loaded.metadata.quantization == kind
    assert loaded.metadata.weight_bytes <= 1.05 * nbytes
    assert loaded.metadata.planned_weight_bytes <= 1.06 * nbytes
    twin = load(path, dtype="float32")  # decoded
    assert twin.metadata.quantization is None
    # Bytes of rows and a pool in bfloat16, in two layers.
    assert relative_error(logits(loaded), logits(twin)) < 0.05


MIXED = {
    "Q4_K_M": {"attn_v": "Q6_K", "ffn_down": "Q6_K", "token_embd": "Q6_K", "": "Q4_K"},
    "all apart": {"attn_q": "Q4_K", "attn_k": "Q8_0", "attn_v": "Q6_K", "ffn_gate": "Q5_K"}
    | {"ffn_up": "IQ4_XS", "": "Q4_0"},
    "plain values": {"attn_v": "BF16", "ffn_up": "BF16", "": "Q4_K"},
}


@needs_library
@pytest.mark.parametrize("name", ["llama", "qwen3"])
@pytest.mark.parametrize("mix", MIXED)
@pytest.mark.parametrize("tied", [True, False])
def test_layers_of_several_kinds_stay_as_they_are(
    name: str, mix: str, tied: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, nbytes = write(tmp_path / "model.gguf", name, MIXED[mix], tied=tied)
    loaded = load(path)
    assert loaded.metadata.weight_bytes <= 1.05 * nbytes
    assert relative_error(logits(loaded), logits(load(path, dtype="float32"))) < 0.05
    assert "are held as" not in caplog.text


@needs_library
@pytest.mark.parametrize("kind", ["IQ3_S", "TQ2_0"])
def test_a_kind_without_a_kernel_is_held_in_q8_0(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = write(tmp_path / "model.gguf", "llama", {"ffn": kind, "": "Q8_0"})
    caplog.set_level("INFO")
    loaded = load(path)
    assert f"held in Q8_0: 6 in {kind}" in caplog.text
    assert loaded.metadata.quantization == "Q8_0"
    assert relative_error(logits(loaded), logits(load(path, dtype="float32"))) < 0.05


def test_without_the_library_blocks_are_decoded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = write(tmp_path / "model.gguf", "qwen2", {"": "Q4_K"})
    caplog.set_level("INFO")
    loaded = load_model(EngineConfig(model=str(path), num_slots=256), may_pack=False)
    assert loaded.metadata.quantization is None
    assert loaded.dtype == torch.bfloat16
    assert "blocks are decoded" in caplog.text


@needs_library
def test_quantization_at_load_rounds_decoded_weights(tmp_path: Path) -> None:
    path, _ = write(tmp_path / "model.gguf", "llama", {"": "Q6_K"})
    loaded = load(path, quantization="int8")
    assert loaded.metadata.quantization == "int8"
    assert relative_error(logits(loaded), logits(load(path, dtype="float32"))) < 0.1


@needs_library
def test_a_second_start_reads_packed_blocks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, nbytes = write(tmp_path / "model.gguf", "llama", MIXED["all apart"], tied=False)
    sampling = SamplingParams(max_tokens=8, temperature=0, ignore_eos=True)
    caplog.set_level("INFO")
    answers = []
    for _ in range(2):
        with LLM(path, num_slots=256, weights_cache=str(tmp_path / "cache")) as llm:
            llm.wait_until_saved()
            (answer,) = llm.generate([[5, 9, 200, 31, 7]], sampling)
            answers.append(answer.token_ids)
            assert llm.info.quantization == "IQ4_XS+Q4_0+Q4_K+Q5_K+Q6_K+Q8_0"
    assert "packed before" in caplog.text
    assert answers[0] == answers[1]
    (packed,) = (tmp_path / "cache").glob("*.packed")
    rotary = 2 * 4 * 32 * 2048
    assert packed.stat().st_size <= 1.06 * nbytes + rotary + 2**16
