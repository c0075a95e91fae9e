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

from tests.conformance.case import VOCAB_SIZE
from tests.conformance.zoo import CASES
from tests.tiny_model import write_tiny_model
from yaie.attention.reference import ReferenceBackend
from yaie.base.errors import ConfigError, ModelUnsupported, NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.engine.core import EngineCore
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.architecture.attention_hook import (
    IMPLEMENTATION,
    LayerArguments,
    register,
)
from yaie.models.architecture.layer_shapes import spec_of, whole_sequence_plan
from yaie.models.load import loader
from yaie.models.load.loader import load_model
from yaie.models.native.packed_cache import cache_key
from yaie.models.quantization import calibration_plan, calibration_text
from yaie.models.quantization.calibration import _CausalAttention, calibrate_model
from yaie.models.quantization.calibration_plan import CalibrationPlan, Method, plan_calibration
from yaie.models.quantization.calibration_text import (
    LEAST_TOKENS,
    MOST_TOKENS,
    CalibrationText,
    read_calibration,
)
from yaie.models.quantization.quantize import is_calibrated
from yaie.models.quantization.quantized_weights import QuantizedLinear
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "docs" / "internals" / "architecture.md"
ANOTHER = ROOT / "docs" / "internals" / "development.md"


def config(folder: Path, **settings: Any) -> EngineConfig:
    settings = {"num_slots": 512, "device": "cpu", "quantization": "int4", **settings}
    return EngineConfig(model=str(folder), **settings)


def calibration(sequences: list[list[int]], method: Method = "products") -> CalibrationPlan:
    return CalibrationPlan(tuple(map(tuple, sequences)), method, is_default=False, nbytes=0)


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
        for settings in ({"quantization": None}, {"calibrate": "none"}, {"calibrate": str(TEXT)})
    )
    error = float((calibrated - plain).norm() / plain.norm())
    assert 0 < error < 0.8 * float((nearest - plain).norm() / plain.norm())


@pytest.mark.integration
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
    number = calibrate_model(model, calibration(tokens.tolist()))
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
    with pytest.raises(ModelUnsupported, match=r"more than its layers.*omit --calibrate"):
        calibrate_model(Halving(), calibration([list(range(40))]))


def test_a_model_without_decoder_layers_is_refused() -> None:
    model = Halving()
    del model.layers
    with pytest.raises(ModelUnsupported, match="it has no list of decoder layers"):
        calibrate_model(model, calibration([list(range(40))]))


def test_the_default_calibration_leaves_such_a_decoder_to_rounding_to_nearest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = dataclasses.replace(calibration([list(range(40))]), is_default=True)
    model = Halving()
    assert calibrate_model(model, given) == 0
    assert "layers are rounded to nearest: Halving cannot be calibrated" in caplog.text
    del model.layers
    text = CalibrationText(tuple(range(40)), (), is_default=True)
    assert plan_calibration(model, text, 512, 4) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, r"cannot be read \(No such file"),
        (b"", "has 0 tokens"),
        (b"short", "needs at least 2,048; give a longer text"),
        (b"text " * 3000 + b"\xff\xfe", r"is not UTF-8 \(byte 15,000\)"),
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
    assert text is not None
    assert len(text.tokens) == MOST_TOKENS
    sequences = text.sequences(100)
    assert max(map(len, sequences)) == 100
    assert sum(map(len, sequences)) == MOST_TOKENS + len(sequences) * len(text.begin)


def test_packed_weights_depend_on_the_text_and_not_on_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_model(tmp_path / "model")
    one, copy, other = (tmp_path / name for name in ("one", "copy", "other"))
    for file, content in ((one, "a"), (copy, "a"), (other, "b")):
        file.write_text(content)
    keys = [
        cache_key(config(folder, calibrate=file and str(file)), folder, "avx2")
        for file in (one, copy, other, None, "none")
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    monkeypatch.setattr(calibration_text, "DEFAULT", other)
    assert cache_key(config(folder), folder, "avx2") == keys[2]


def test_int4_is_calibrated_by_the_text_of_the_package(tiny_model_dir: Path) -> None:
    plain, nearest, calibrated = (
        logits_on(tiny_model_dir, ANOTHER, **settings)
        for settings in ({"quantization": None}, {"calibrate": "none"}, {})
    )
    error = float((calibrated - plain).norm() / plain.norm())
    assert 0 < error < 0.85 * float((nearest - plain).norm() / plain.norm())


def test_the_default_text_has_chats_in_the_form_of_the_model(tiny_model_dir: Path) -> None:
    text = read_calibration(None, tiny_model_dir)
    assert text is not None and text.is_default
    tokenizer = load_tokenizer(tiny_model_dir)
    assert LEAST_TOKENS < len(text.tokens) <= MOST_TOKENS
    question = "Why does bread rise, and why does it stop rising in the oven?"
    prompt = ChatTemplate(tokenizer).render([{"role": "user", "content": question}])
    shared = 0
    while shared < len(prompt) and text.tokens[shared] == prompt[shared]:
        shared += 1
    assert question in tokenizer.decode(text.tokens[:shared])


@pytest.mark.parametrize(
    ("most", "tokens", "method"),
    [
        *((1e30, 6000, "products"), (1e9, 3000, "products"), (7e8, 2048, "products")),
        (0, 1024, "squares"),
    ],
)
def test_the_default_calibration_is_bounded_by_its_operations(
    most: float, tokens: int, method: str, tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Any = load_model(config(tiny_model_dir, quantization=None)).model
    monkeypatch.setattr(calibration_plan, "_MOST_OPERATIONS", most)
    text = CalibrationText(tuple(range(6000)), (), is_default=True)
    plan = plan_calibration(model, text, 512, 4)
    assert plan is not None
    assert (plan.num_tokens, plan.method) == (tokens, method)
    given = plan_calibration(model, dataclasses.replace(text, is_default=False), 512, 4)
    assert given is not None
    assert (given.num_tokens, given.method) == (6000, "products")


def test_the_plan_counts_the_inputs(tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = load_model(config(tiny_model_dir, quantization=None)).model
    text = read_calibration(None, tiny_model_dir)
    assert text is not None
    plan = plan_calibration(model, text, 512, 4)
    assert plan is not None
    assert plan.nbytes > 2 * MOST_TOKENS * 64 * 4
    huge = dataclasses.replace(plan, nbytes=2**50, is_default=False)
    monkeypatch.setattr(loader, "plan_calibration", lambda *_: huge)
    with monkeypatch.context() as patch:
        patch.setattr(loader, "build_model", None)
        with pytest.raises(NotEnoughMemory, match="loading its weights takes"):
            load_model(config(tiny_model_dir, calibrate=str(TEXT)))


def test_the_default_calibration_is_left_out_where_memory_lacks(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    huge = CalibrationPlan(((1, 2, 3),), "products", is_default=True, nbytes=2**50)
    monkeypatch.setattr(loader, "plan_calibration", lambda *_: huge)
    monkeypatch.setattr(loader, "calibrate_model", None)
    assert load_model(config(tiny_model_dir)).metadata.quantization == "int4"
    assert "int4 is not calibrated: that would take" in caplog.text


@pytest.mark.parametrize("window", [None, 40, 39])
@pytest.mark.parametrize("softcap", [None, 5.0])
def test_a_whole_sequence_attends_like_the_reference(
    window: int | None, softcap: float | None
) -> None:
    generator = torch.Generator().manual_seed(1)
    queries, keys, values = (
        torch.randn(1, heads, 40, width, generator=generator)
        for heads, width in ((6, 16), (2, 16), (2, 8))
    )
    arguments = LayerArguments(0.3, window, softcap, None)
    attention = _CausalAttention(40)
    found = attention.attend(nn.Identity(), queries, keys, values, arguments)
    step = ReferenceBackend().prepare(whole_sequence_plan(40), torch.device("cpu"))
    rows = (each[0].transpose(0, 1) for each in (queries, keys, values))
    expected = step.attend(spec_of(0, queries, keys, values, arguments), *rows, None)[None]
    torch.testing.assert_close(found, expected)
