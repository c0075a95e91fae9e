"""Outlier channels in whole models: int8 and int4 keep the quality of a model without them.

Each linear layer's inputs get a channel that is 50 times the others. Its weights for that channel
are smaller, so that the channel gives a fifth of the results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tests.kernels.forced_set import forced_set
from tests.text.small_tokenizers import write_byte_level
from tests.tiny_model import VOCAB_SIZE
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels.instruction_sets import PORTABLE, X86_64
from yaie.kernels.library_search import load
from yaie.models.architecture.layer_shapes import whole_sequence_plan
from yaie.models.load.loader import load_model
from yaie.text.tokenizer import load_tokenizer

TIMES = 50.0
SHARE = 8.0  # of the channel in the results, over that of another
CHANNEL = 37
TEXT = Path(__file__).resolve().parents[2] / "docs" / "internals" / "architecture.md"
TOKENS = 200
needs_library = pytest.mark.skipif(
    load() is None, reason="needs the kernel library: a compiler, or a wheel with kernels"
)


@pytest.fixture(params=[*X86_64, PORTABLE])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    with forced_set(request.param):
        yield request.param


def write_model(folder: Path, times: float, share: float) -> Path:
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=2,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model: Any = LlamaForCausalLM(config).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.normal_(0, 0.06)
    weights = share / times
    for layer in model.model.layers:
        attention, mlp = layer.self_attn, layer.mlp
        layer.input_layernorm.weight.data[CHANNEL] *= times
        layer.post_attention_layernorm.weight.data[CHANNEL] *= times
        attention.v_proj.weight.data[CHANNEL] *= times
        mlp.up_proj.weight.data[CHANNEL] *= times
        inner = [CHANNEL, CHANNEL + 64]  # two query heads read the value
        for linear in (attention.q_proj, attention.k_proj, attention.v_proj):
            linear.weight.data[:, CHANNEL] *= weights
        for linear in (mlp.gate_proj, mlp.up_proj, mlp.down_proj):
            linear.weight.data[:, CHANNEL] *= weights
        attention.o_proj.weight.data[:, inner] *= weights
    model.save_pretrained(folder)
    return write_byte_level(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("plain"), 1.0, 1.0)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("planted"), TIMES, SHARE)


def logits_of(folder: Path, kind: str | None, **settings: Any) -> torch.Tensor:
    config = EngineConfig(
        model=str(folder), quantization=kind, num_slots=256, device="cpu", dtype="float32",
        **settings,
    )  # fmt: skip
    executor = choose_executor(load_model(config))
    assert executor.name == "native"
    tokens = np.array(load_tokenizer(folder).encode(TEXT.read_text())[:TOKENS])
    plan = whole_sequence_plan(TOKENS)
    return executor.execute(
        dataclasses.replace(plan, token_ids=tokens, logit_rows=plan.positions)
    ).clone()


def error_of(folder: Path, kind: str, **settings: Any) -> float:
    expected = logits_of(folder, None)
    return float((logits_of(folder, kind, **settings) - expected).norm() / expected.norm())


# Plain rows of int8 would give 10 times the error; the weights of the channel are smaller than
# their neighbours, which costs the rest.
@pytest.mark.integration
@needs_library
@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_an_outlier_channel_costs_little_quality(
    kind: str, plain: Path, planted: Path, instruction_set: str
) -> None:
    errors = [error_of(folder, kind, calibrate="none") for folder in (planted, plain)]
    assert errors[0] < 3.5 * errors[1]


@needs_library
@pytest.mark.integration
def test_calibration_keeps_the_weights_of_an_outlier_channel(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearest = error_of(planted, "int4", calibrate="none")
    assert error_of(planted, "int4") < 0.75 * nearest
    monkeypatch.setattr("yaie.models.quantization.calibration_plan._MOST_OPERATIONS", 0)
    assert error_of(planted, "int4") < 0.95 * nearest
