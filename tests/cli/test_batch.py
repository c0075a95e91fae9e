"""`yaie batch`: refusals before a model is loaded, a killed process, and a running server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batch.request_files import question, results, write
from tests.cli.conftest import Cli
from yaie.base.advised_error import AdvisedError
from yaie.cli.batch import read_requests
from yaie.cli.main import run_command_line

SYSTEM = {"role": "system", "content": "You are a clerk. " * 8}
_ENGINE = ("--num-slots", "8k", "--threads", "1", "--served-model-name", "tiny")


def chat(custom_id: str, text: str, **fields: Any) -> dict[str, Any]:
    messages = [SYSTEM, {"role": "user", "content": text}]
    return question(custom_id, messages=messages, temperature=0, **fields)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "in.jsonl", tmp_path / "out.jsonl"


@pytest.mark.parametrize(
    ("lines", "options", "fact"),
    [
        ([{"custom_id": "a"}], (), "line 1: url must be"),
        ([question("a", model="gpt-4o")], (), "asks for the model 'gpt-4o'"),
        ([question("a")], ("--url", "http://127.0.0.1:9", "--num-slots", "1k"), "--num-slots"),
        ([question("a")], ("--concurrency", "0"), "--concurrency must be at least 1"),
    ],
)
def test_mistakes_are_told_before_a_model_is_loaded(
    files: tuple[Path, Path],
    lines: list[dict[str, Any]],
    options: tuple[str, ...],
    fact: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, target = files
    write(source, lines)
    assert run_command_line(["batch", str(source), str(target), *options]) == 2
    error = capsys.readouterr().err
    assert fact in error
    assert "loading" not in error


def test_input_and_output_are_two_files_that_exist(files: tuple[Path, Path]) -> None:
    source, target = files
    with pytest.raises(AdvisedError, match="cannot read"):
        read_requests(source, target)
    write(source, [question("a")])
    target.symlink_to(source)
    with pytest.raises(AdvisedError, match="both input and output"):
        read_requests(source, target)
    assert source.read_text()


def command(model: Path, files: tuple[Path, Path], *options: str) -> list[str]:
    names = [str(each) for each in files]
    return [sys.executable, "-m", "yaie.cli", "batch", *names, "-m", str(model), *_ENGINE, *options]


@pytest.fixture
def killed(
    files: tuple[Path, Path], tiny_model_dir: Path, environment: dict[str, str]
) -> Iterator[list[list[str]]]:
    """Run a batch that is killed, then interrupted; yield the results at each end."""
    source, target = files
    count = 24
    write(source, [chat(f"q{at}", f"Count to {at}", max_tokens=40) for at in range(count)])
    at_kill = []
    for kill in (signal.SIGKILL, signal.SIGINT):
        process = subprocess.Popen(
            command(tiny_model_dir, files, "--concurrency", "2", "--max-step-rows", "8"),
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        before = len(at_kill[-1]) if at_kill else 0
        end = time.monotonic() + 100
        while len(lines_of(target)) < before + 3 and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(kill)
        _, said = process.communicate(timeout=60)
        at_kill.append(lines_of(target))
        if kill is signal.SIGINT:
            assert process.returncode == 130, said
            assert f"{len(at_kill[-1])} of {count} results are in" in said
            assert "the same command continues" in said
        else:
            assert process.returncode == -kill
    yield at_kill


def lines_of(target: Path) -> list[str]:
    """Return the whole lines of an output file, which may not exist yet."""
    return target.read_text().split("\n")[:-1] if target.exists() else []


@pytest.mark.integration
def test_a_killed_batch_continues_without_a_lost_or_doubled_result(
    killed: list[list[str]], files: tuple[Path, Path], tiny_model_dir: Path, yaie: Cli
) -> None:
    first, second = killed
    assert 3 <= len(first) < len(second) < 24
    assert second[: len(first)] == first
    done = yaie(*command(tiny_model_dir, files)[3:])
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert f"24 requests ({len(second)} of them earlier) · 0 failed" in done.stderr
    assert "\r" not in done.stderr
    found = results(files[1])
    assert set(found) == {f"q{at}" for at in range(24)}
    assert files[1].read_text().split("\n")[: len(second)] == second


@pytest.mark.integration
def test_a_server_gives_the_answers_of_the_model_here(
    yaie_server: str, files: tuple[Path, Path], tiny_model_dir: Path, yaie: Cli
) -> None:
    source, target = files
    lines = [
        chat("chat", "Hi", max_tokens=8),
        question("text", "The tree", "/v1/completions", max_tokens=8, temperature=0),
        question("item", url="/v1/responses", input="Hi", max_output_tokens=8, temperature=0),
        question("wrong", max_tokens=-1),
    ]
    lines[2]["body"].pop("prompt")
    write(source, lines)
    by_server = yaie("batch", str(source), str(target), "--url", yaie_server)
    assert by_server.returncode == 0, by_server.stderr
    assert "4 requests · 1 failed" in by_server.stderr
    here = (source, target.with_name("here.jsonl"))
    done = yaie(*command(tiny_model_dir, here)[3:])
    assert done.returncode == 0, done.stderr
    found, local = results(target), results(here[1])
    assert found["wrong"]["response"]["status_code"] == 400
    assert found["wrong"]["error"] == local["wrong"]["error"]
    for name in ("chat", "text", "item"):
        assert words(found[name]) == words(local[name])
    again = yaie("batch", str(source), str(target), "--url", yaie_server)
    assert "has all 4 results already; 1 failed, --retry-failed" in again.stderr
    retried = yaie("batch", str(source), str(target), "--url", yaie_server, "--retry-failed")
    assert "4 requests (3 of them earlier) · 1 failed" in retried.stderr


def words(result: dict[str, Any]) -> list[str]:
    """Return the texts in a result's body."""
    body = result["response"]["body"]
    parts = [*body.get("choices", ()), *body.get("output", ())]
    return [
        json.dumps(each.get("message") or each.get("content") or each["text"]) for each in parts
    ]


@pytest.mark.integration
def test_a_server_that_is_not_there_is_exit_code_5(files: tuple[Path, Path], yaie: Cli) -> None:
    write(files[0], [question("a")])
    done = yaie("batch", *map(str, files), "--url", "http://127.0.0.1:9")
    assert done.returncode == 5
    assert "no response from the server at http://127.0.0.1:9" in done.stderr
