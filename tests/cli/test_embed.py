"""`yaie embed`: texts of arguments, files and pipes, here and by a server."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from transformers import AutoModel

from tests.adapters import write_adapter
from tests.embedding_model import make_embedding_model, plain_states, unit
from tests.server.real_server import Server
from yaie.cli.embed import read_records
from yaie.cli.main import run_command_line
from yaie.text.tokenizer import load_tokenizer

ENGINE = ["--num-slots", "512", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_embedding_model(tiny_model_dir, tmp_path_factory.mktemp("embed") / "model")


@pytest.fixture(autouse=True)
def _no_server_in_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YAIE_BASE_URL", raising=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_arguments_and_files_keep_their_order_and_fields(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, objects = tmp_path / "a.txt", tmp_path / "b.jsonl"
    lines.write_text("the tree\n\nthe plan\n")
    objects.write_text('{"id": 7, "text": "the tree"}\n')
    typed = ["embed", "the", "-f", str(lines), "-f", str(objects), "-m", str(folder), *ENGINE]
    assert run_command_line(typed) == 0
    found = printed(capsys)
    assert [each["text"] for each in found] == ["the", "the tree", "the plan", "the tree"]
    assert found[3]["id"] == 7
    np.testing.assert_allclose(found[1]["embedding"], found[3]["embedding"], atol=1e-5)
    states = plain_states(folder)(load_tokenizer(folder).encode("the plan"))
    np.testing.assert_allclose(found[2]["embedding"], unit(states[-1]), atol=1e-4)


def test_the_adapter_computes_and_several_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model: Any = AutoModel.from_pretrained(folder)
    for name in ("a", "b"):
        write_adapter(tmp_path / name, model, seed=1)
    typed = ["embed", "the tree", "-m", str(folder), *ENGINE]
    vectors = []
    for more in ([], ["--lora", f"a={tmp_path}/a"]):
        assert run_command_line([*typed, *more]) == 0
        vectors += [each["embedding"] for each in printed(capsys)]
    assert vectors[0] != vectors[1]
    several = ["--lora", f"a={tmp_path}/a", "--lora", f"b={tmp_path}/b"]
    for command in (typed, ["rerank", "q", "d", *typed[2:]], ["run", "hi", *typed[2:]]):
        assert run_command_line([*command, *several]) == 2
        assert "--lora names 2 adapters (a, b)" in capsys.readouterr().err


def test_a_long_text_is_named_by_its_number_in_the_whole_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("yaie.cli.embed._AT_ONCE", 2)
    for num_before in (2, 5):
        lines = b"the tree\n" * num_before + b"tree " * 600
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
        assert run_command_line(["embed", "-m", str(folder), *ENGINE]) == 2
        said = capsys.readouterr().err
        assert f"input[{num_before}] has" in said and "so the text is too long" in said
        assert said.endswith("try: a shorter text, or --truncate\n")


def test_a_pipe_is_read_where_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    piped(b"one\r\n\ntwo")
    assert list(read_records([], [], is_jsonl=False)) == [{"text": "one"}, {"text": "two"}]
    assert list(read_records(["x"], [], is_jsonl=False)) == [{"text": "x"}]
    piped(b'{"text": "one", "n": 1}\n')
    assert list(read_records([], [], is_jsonl=True)) == [{"text": "one", "n": 1}]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"id": 3}\n', "line 2 is no JSON object with a text"),
        ("a.jsonl", b"[" * 100_000, "line 1 is no JSON object with a text"),
        ("a.txt", b"x\n\xff\n", "line 2 is not UTF-8 text"),
        ("a.txt", b"\n\n", "no text"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(
    name: str, data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    # An embedding of the first line would need this folder.
    typed = ["embed", "-f", str(path), "-m", str(tmp_path / "absent"), *ENGINE]
    assert run_command_line(typed) == 2
    assert said in capsys.readouterr().err


@pytest.mark.integration
def test_a_real_server_embeds_for_the_command_and_for_openai(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(folder, tmp_path / "log", YAIE_MAX_RUNNING="8", YAIE_MAX_WAITING="20")
    try:
        server.wait_ready()
        options = ["--dimensions", "8", "--prompt-name", "query"]
        assert run_command_line(["embed", "the tree", "--url", server.url, *options]) == 0
        (found,) = printed(capsys)
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        asked = client.embeddings.create(
            model="tiny",
            input=["the tree"],
            dimensions=8,
            extra_body={"prompt_name": "query"},
        )
        np.testing.assert_allclose(asked.data[0].embedding, found["embedding"], atol=1e-6)
        assert asked.usage.prompt_tokens > 4
        with pytest.raises(openai.BadRequestError, match="generates no text"):
            client.completions.create(model="tiny", prompt="the")
        with pytest.raises(openai.BadRequestError, match=r"40 prompts .* exceed") as refused:
            client.embeddings.create(model="tiny", input=["the"] * 40)
        assert refused.value.param == "input"
        card = client.models.retrieve("tiny").model_dump()["capabilities"]
        assert card["embeddings"] and not card["chat"] and not card["tools"]
        server.wait_idle()
    finally:
        server.stop()
