"""Commands on a model that takes images: figures of its text part, and an answer."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.conformance.wrapped import WRAPPED
from tests.text.small_tokenizers import write_byte_level
from yaie.cli.main import run_command_line
from yaie.models.files.checkpoint import SINGLE


@pytest.fixture(scope="module")
def wrapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Qwen2.5-VL with weights for images that outweigh its text part."""
    folder = write_byte_level(tmp_path_factory.mktemp("wrapped"))
    model = next(case for case in WRAPPED if case.name == "qwen2.5-vl").build()
    model.resize_token_embeddings(420)  # type: ignore[operator]
    model.save_pretrained(folder)  # type: ignore[operator]
    weights = load_file(folder / SINGLE)
    weights["visual.blocks.0.mlp.up_proj.weight"] = torch.full((1000, 1000), torch.nan)
    save_file(weights, folder / SINGLE, metadata={"format": "pt"})
    return folder


def test_figures_are_those_of_the_text(wrapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = [each for name, each in load_file(wrapped / SINGLE).items() if "visual" not in name]
    count = sum(weight.numel() for weight in text)
    assert run_command_line(["show", str(wrapped), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["architecture"] == "Qwen2_5_VLForConditionalGeneration"
    assert facts["reads"] == "text; images and audio are refused"
    assert facts["parameters"] == f"{count / 1e6:,.1f} M"
    assert facts["size"] == f"{4 * count / 1e6:,.1f} MB"


@pytest.mark.integration
def test_run_answers(
    wrapped: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    how = ["--local", "-m", str(wrapped), "--num-slots", "256", "-n", "4", "-t", "0", "--json"]
    assert run_command_line(["run", *how, "hello"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["usage"]["completion_tokens"] <= 4
