"""`yaie models`: every folder is a line, a broken one with the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.models.folders import edit_json
from yaie.cli import models as command
from yaie.cli.models import inspect_model, models


@pytest.fixture
def folder(tiny_model_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model_dir, tmp_path / "model"))


def test_a_good_folder(folder: Path) -> None:
    found = inspect_model("m", folder)
    assert (found.architecture, found.refused) == ("Qwen3ForCausalLM", "")
    assert found.num_parameters > 0


@pytest.mark.parametrize(
    "broken",
    [
        {"architectures": 7},
        {"architectures": "Qwen3ForCausalLM"},
        {"architectures": {}, "model_type": 3},
        {"layer_types": 5},
        {"num_hidden_layers": 0},
        {"rope_scaling": {"type": "yarn", "factor": "x"}},
        {"quantization_config": 5},
    ],
    ids=str,
)
def test_a_damaged_config_is_named(folder: Path, broken: dict[str, Any]) -> None:
    edit_json(folder / "config.json", **broken)
    assert "is damaged" in inspect_model("m", folder).refused


@pytest.mark.parametrize("method", ["is_dir", "is_file", "open"])
def test_an_unreadable_folder_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    real = getattr(Path, method)

    def refuse(path: Path, *arguments: Any, **settings: Any) -> Any:
        if path == folder or path.name == "model.safetensors":
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **settings)

    monkeypatch.setattr(Path, method, refuse)
    assert "cannot be read: Permission denied" in inspect_model("m", folder).refused


def test_models_by_short_name_have_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    models(as_json=False)
    shown = capsys.readouterr().out
    assert "downloaded by: yaie pull NAME" in shown
    (line,) = [line for line in shown.splitlines() if "Qwen/Qwen3-0.6B" in line]
    assert "qwen3:0.6b" in line and "0.60 B    1.2 GB download    2.8 GB memory" in line
    models(as_json=True)
    listed = json.loads(capsys.readouterr().out)["catalogue"]
    assert len(listed) >= 25
    assert all(entry["weight_bytes"] < entry["memory_bytes"] for entry in listed)


def test_what_fits_this_machine_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "available_bytes", lambda: 12 * 10**9)
    models(as_json=True)
    fits = {
        entry["name"]: entry["fits"] for entry in json.loads(capsys.readouterr().out)["catalogue"]
    }
    assert fits["qwen3:4b"] == "fits"
    assert fits["qwen3:8b"] == "--quantization int8"
    assert fits["phi4:14b"] == "too large"
    assert fits["mistral-nemo:12b"] == "--quantization int4"
