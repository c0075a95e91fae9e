"""`yaie tokenize`: the tokens that a model reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yaie.cli.main import run_command_line
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import load_tokenizer


@pytest.fixture(autouse=True)
def no_piped_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


def tokenize(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command_line(["tokenize", *arguments]) == 0
    return capsys.readouterr().out


def test_each_line_has_an_id_and_its_text(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = load_tokenizer(tiny_model_dir).encode("a é\n")
    lines = tokenize(capsys, "-m", str(tiny_model_dir), "a é\n").splitlines()
    assert [int(line.split()[0]) for line in lines] == load_tokenizer(tiny_model_dir).encode("a é")
    assert len(ids) > len(lines)  # the end of a piped line is no part of the prompt
    assert lines[0].endswith('"a"')


def test_the_parts_of_a_character_are_shown_by_their_bytes(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = json.loads(tokenize(capsys, "-m", str(tiny_model_dir), "--json", "🌳"))
    tokenizer = load_tokenizer(tiny_model_dir)
    assert report["tokens"] == tokenizer.encode("🌳")
    assert report["count"] == len(report["texts"])
    assert "".join(report["texts"]) in ("🌳", "\\xf0\\x9f\\x8c\\xb3")


def test_the_prompt_of_a_chat(tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("-m", str(tiny_model_dir), "--chat", "-s", "Be brief.", "Hello", "there")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello there"},
    ]
    rendered = ChatTemplate(load_tokenizer(tiny_model_dir)).render(messages)
    assert json.loads(tokenize(capsys, *arguments, "--json"))["tokens"] == rendered
    assert int(tokenize(capsys, *arguments, "--count")) == len(rendered)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "x", "hello"], "--system needs --chat"),
        (["--count", "--json", "hello"], "--count and --json exclude each other"),
        ([], "no prompt"),
    ],
)
def test_wrong_flags_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["tokenize", *arguments]) == 2
    assert message in capsys.readouterr().err
