"""`yaie models` lists every folder: one that is broken is a line that says why."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.models.folders import edit_json
from yaie.cli.models import inspect_model


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
def test_a_config_that_means_nothing(folder: Path, broken: dict[str, Any]) -> None:
    edit_json(folder / "config.json", **broken)
    assert "is damaged" in inspect_model("m", folder).refused


@pytest.mark.parametrize("method", ["is_dir", "is_file", "open"])
def test_what_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    real = getattr(Path, method)

    def refuse(path: Path, *arguments: Any, **settings: Any) -> Any:
        if path == folder or path.name == "model.safetensors":
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **settings)

    monkeypatch.setattr(Path, method, refuse)
    assert "cannot be read: Permission denied" in inspect_model("m", folder).refused
