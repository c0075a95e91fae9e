"""Help, usage errors and suggestions of the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from yaie.cli.main import run_command_line

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Typed]:
    """Run a command line in this process; return its exit code, stdout and stderr."""
    for name in ("YAIE_DEBUG", "YAIE_BASE_URL", "YAIE_MODEL"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_command_line(arguments)
        return code, *capsys.readouterr()

    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("serv",), "did you mean `yaie serve`"),
        (("run", "--no-such-flag"), "--no-such-flag"),
        (("run",), "no prompt"),
        (("models", "extra"), "extra"),
        (("serve", "--dtype", "int3"), "--dtype"),
        (("serve", "--port", "99999"), "--port"),
        (("serve", "--max-model-len", "8q"), "8q"),
        (("run", "--raw", "-s", "x", "hi"), "--raw and --system"),
        (("run", "-f", "/no/such/file", "hi"), "/no/such/file"),
        (("run", "--timeout", "-1", "--local", "hi"), "--timeout"),
        (("run", "--timeout", "nan", "--local", "hi"), "--timeout must be greater than 0"),
        (("serve", "--request-timeout-s", "nan"), "--request-timeout-s"),
        (("run", "--local", "--url", "http://x", "hi"), "--url and --local"),
        (("install", "Qwen/Qwen3-0.6B"), "no command 'install'"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_one_error(
    typed: Typed, arguments: tuple[str, ...], what: str
) -> None:
    code, out, err = typed(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error[")
    assert what in err
    assert "Traceback" not in err
    assert "try: " in err


def test_a_damaged_gguf_file_is_exit_code_3(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "real.gguf").write_bytes(b"GGUF")
    code, _, err = typed("serve", str(tmp_path / "real.gguf"), "--port", "0")
    assert code == 3
    assert "its header ends early: it is truncated" in err
    assert "download it again" in err


def test_a_wrong_variable_is_named(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAIE_MAX_STEP_ROWS", "many")
    code, _, err = typed("serve")
    assert code == 2
    assert "YAIE_MAX_STEP_ROWS is 'many'" in err


def test_a_traceback_is_shown_on_request(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in typed("serv")[2]
    assert "Traceback" in typed("serv", "--debug")[2]
    monkeypatch.setenv("YAIE_DEBUG", "1")
    assert "Traceback" in typed("serv")[2]


def test_help_may_come_before_the_command(typed: Typed) -> None:
    assert typed("-h", "serve") == typed("serve", "-h")
    assert "--port" in typed("-h", "serve")[1]


def test_help_tells_of_the_chat_and_of_prompts(typed: Typed) -> None:
    _, out, _ = typed("--help")
    words = " ".join(out.split())
    assert 'yaie "PROMPT" answers a prompt' in words
    assert "starts a chat" in words


def test_help_of_run_mentions_loops_that_read_lines(typed: Typed) -> None:
    assert "</dev/null" in typed("run", "--help")[1]


@pytest.mark.parametrize(
    ("flag", "suggested"),
    [("--temprature", "--temperature"), ("--reload", None), ("--tensor-parallel-size", None)],
)
def test_only_near_flags_are_suggested(flag: str, suggested: str | None, typed: Typed) -> None:
    code, _, err = typed("run", flag, "1", "hi")
    assert code == 2
    assert f"No such option: {flag}" in err
    assert (f"(Possible options: {suggested})" in err) if suggested else ("Possible" not in err)


def test_models_as_json(typed: Typed) -> None:
    listed = json.loads(typed("models", "--json")[1])
    assert any(entry["architecture"] == "LlamaForCausalLM" for entry in listed["supported"])
    assert "builtin" in {model["name"] for model in listed["models"]}
