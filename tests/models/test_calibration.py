"""Calibration of int4 by a text: nearer logits, every decoder, and clear refusals."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from tests.conformance.zoo import CASES, VOCAB_SIZE
from tests.tiny_model import write_tiny_model
from yaie.config import EngineConfig
from yaie.engine.choose_executor import choose_executor
from yaie.engine.core import EngineCore
from yaie.errors import ConfigError, ModelUnsupported, NotEnoughMemory
from yaie.models import loader
from yaie.models.attention_hook import IMPLEMENTATION, register
from yaie.models.geometry import whole_sequence_plan
from yaie.models.loader import load_model
from yaie.models.packed_cache import cache_key
from yaie.models.quantization.calibration import calibrate_model, calibrating_nbytes
from yaie.models.quantization.calibration_text import MOST_TOKENS, read_calibration
from yaie.models.quantization.quantize import is_calibrated
from yaie.models.quantization.weights import QuantizedLinear
from yaie.text.tokenizer import load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "docs" / "architecture.md"
ANOTHER = ROOT / "docs" / "development.md"


def config(folder: Path, **settings: Any) -> EngineConfig:
    settings = {"num_slots": 512, "device": "cpu", "quantization": "int4", **settings}
    return EngineConfig(model=str(folder), **settings)


def logits_on(folder: Path, text: Path, **settings: Any) -> torch.Tensor:
    loaded = load_model(config(folder, **settings))
    executor = choose_executor(loaded, may_pack=False)
    tokens = load_tokenizer(folder).encode(text.read_text())[:300]
    plan = whole_sequence_plan(len(tokens))
    ids = torch.tensor(tokens).numpy()
    return executor.execute(dataclasses.replace(plan, token_ids=ids, logit_rows=plan.positions))


def test_calibrated_logits_are_nearer_to_the_originals(tiny_model_dir: Path) -> None:
    plain, nearest, calibrated = (
        logits_on(tiny_model_dir, ANOTHER, **settings)
        for settings in ({"quantization": None}, {}, {"calibrate": str(TEXT)})
    )
    error = float((calibrated - plain).norm() / plain.norm())
    assert 0 < error < 0.8 * float((nearest - plain).norm() / plain.norm())


def test_the_engine_computes_with_calibrated_weights(tiny_model_dir: Path) -> None:
    core = EngineCore(config(tiny_model_dir, calibrate=str(TEXT), weights_cache="off"))
    assert core.info.quantization == "int4"


@pytest.mark.parametrize(
    "name",
    [
        *("llama", "gemma2", "phi3"),
        *(
            pytest.param(case.name, marks=pytest.mark.integration)
            for case in CASES
            if case.name not in ("llama", "gemma2", "phi3")
        ),
    ],
)
def test_every_supported_decoder_is_calibrated(name: str) -> None:
    """Layers of other kinds than `nn.Linear` stay as they are."""
    register()
    model: Any = next(case for case in CASES if case.name == name).build()
    model.set_attn_implementation(IMPLEMENTATION)
    candidates = {
        each
        for each, module in model.named_modules()
        if re.search(r"\.\d+\.", each) and is_calibrated(each, module)
    }
    tokens = torch.randint(0, VOCAB_SIZE, (3, 60), generator=torch.Generator().manual_seed(0))
    number = calibrate_model(model, tokens.tolist())
    rounded = {n for n, module in model.named_modules() if isinstance(module, QuantizedLinear)}
    assert len(rounded) == number
    assert rounded == candidates


class Halving(nn.Module):
    """A decoder that computes between its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(num_hidden_layers=2)
        self.embedding = nn.Embedding(50, 64)
        self.layers = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64)])

    @property
    def base_model(self) -> nn.Module:
        return self

    def forward(self, input_ids: torch.Tensor, **_: object) -> torch.Tensor:
        hidden = self.embedding(input_ids)
        for layer in self.layers:
            hidden = layer(hidden) / 2
        return hidden  # type: ignore[no-any-return]


def test_a_decoder_that_computes_between_its_layers_is_refused() -> None:
    with pytest.raises(ModelUnsupported, match=r"more than its layers.*leave --calibrate out"):
        calibrate_model(Halving(), [list(range(40))])


def test_a_model_without_decoder_layers_is_refused() -> None:
    model = Halving()
    del model.layers
    with pytest.raises(ModelUnsupported, match="it has no list of decoder layers"):
        calibrate_model(model, [list(range(40))])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, r"cannot be read \(No such file"),
        (b"", "has 0 tokens"),
        (b"short", "at least 2,048 are needed; give a longer text"),
        (b"text " * 3000 + b"\xff\xfe", r"is not in UTF-8 \(byte 15,000\)"),
    ],
)
def test_an_unusable_text_is_refused_before_weights_are_read(
    content: bytes | None,
    reason: str,
    tiny_model_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loader, "build_model", None)
    file = tmp_path / "text"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=reason) as caught:
        load_model(config(tiny_model_dir, calibrate=str(file)))
    assert caught.value.param == "calibrate"
    assert str(file) in str(caught.value)


def test_a_folder_is_no_text(tiny_model_dir: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_model(config(tiny_model_dir, calibrate=str(ROOT)))


@pytest.mark.parametrize("kind", [None, "int8"])
def test_only_int4_is_calibrated(kind: Any) -> None:
    with pytest.raises(ConfigError, match="only int4 is calibrated; add --quantization int4"):
        EngineConfig(quantization=kind, calibrate="text")


def test_long_texts_are_cut_within_characters_too(tiny_model_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(b"x" + "é".encode() * 700_000)
    text = read_calibration(str(file), tiny_model_dir)
    assert len(text.tokens) == MOST_TOKENS
    sequences = text.sequences(100)
    assert max(map(len, sequences)) == 100
    assert sum(map(len, sequences)) == MOST_TOKENS + len(sequences) * len(text.begin)


def test_packed_weights_depend_on_the_text_and_not_on_its_place(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "model")
    one, copy, other = (tmp_path / name for name in ("one", "copy", "other"))
    for file, content in ((one, "a"), (copy, "a"), (other, "b")):
        file.write_text(content)
    keys = [
        cache_key(config(folder, calibrate=file and str(file)), folder, "avx2")
        for file in (one, copy, other, None)
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_the_plan_counts_the_inputs(tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = load_model(config(tiny_model_dir, quantization=None)).model
    assert calibrating_nbytes(model, 4) > 2 * MOST_TOKENS * 64 * 4
    monkeypatch.setattr(loader, "build_model", None)
    monkeypatch.setattr(loader, "calibrating_nbytes", lambda *_: 2**50)
    with pytest.raises(NotEnoughMemory, match="while its weights are read"):
        load_model(config(tiny_model_dir, calibrate=str(TEXT)))
