"""`yaie rerank`: documents of arguments, files and pipes, here and by a server."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.ranking_model import make_reranker
from tests.server.real_server import Server
from yaie.cli.main import run_command_line

ENGINE = ["--num-slots", "1024", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_reranker(tiny_model_dir, tmp_path_factory.mktemp("rerank") / "tiny-reranker")


@pytest.fixture(autouse=True)
def _no_server_in_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YAIE_BASE_URL", raising=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_documents_are_printed_best_first_with_their_fields(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = tmp_path / "a.jsonl"
    objects.write_text('{"id": 7, "text": "the tree"}\n{"id": 8, "text": "the fox"}\n')
    typed = ["rerank", "which tree", "a slot", "-f", str(objects), "-m", str(folder), *ENGINE]
    assert run_command_line(typed) == 0
    found = printed(capsys)
    assert sorted(each["index"] for each in found) == [0, 1, 2]
    scores = [each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert {each["index"]: each.get("id") for each in found} == {0: None, 1: 7, 2: 8}


@pytest.mark.parametrize(
    ("typed", "said"), [(["", "a"], "the query is empty"), (["which"], "no document")]
)
def test_a_call_without_texts_is_told(
    typed: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["rerank", *typed, "-m", str(tmp_path / "absent")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.integration
def test_a_real_server_reranks_for_the_command(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(folder, tmp_path / "log")
    try:
        server.wait_ready()
        documents = ["the tree", "a slot", "the fox"]
        typed = ["rerank", "which tree", *documents, "--url", server.url, "--top-n", "2"]
        assert run_command_line(typed) == 0
        found = printed(capsys)
        assert len(found) == 2
        assert found[0]["score"] >= found[1]["score"]
        assert all(each["text"] == documents[each["index"]] for each in found)
        assert run_command_line(["embed", "a", "--url", server.url]) == 2
        assert "reranks documents and computes no embeddings" in capsys.readouterr().err
        server.wait_idle()
    finally:
        server.stop()
