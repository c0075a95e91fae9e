"""`yaie run --explain-cache`: the server's explanation on standard error."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli
from yaie.cli.main import run_command_line

EXPLAIN = ("run", "--explain-cache", "-n", "2", "--url")


@pytest.mark.integration
def test_a_server_explains_its_cache(yaie: Cli, yaie_server: str) -> None:
    yaie(*EXPLAIN, yaie_server, "one two three")
    second = yaie(*EXPLAIN, yaie_server, "one two four")
    assert second.returncode == 0
    assert "tokens are cached" in second.stderr
    assert "never seen" in second.stderr
    assert "cached    three" in second.stderr
    assert "tokens are cached" not in second.stdout
    report = json.loads(yaie(*EXPLAIN, yaie_server, "--json", "one two four").stdout)
    explained = report["cache_explanation"]
    assert explained["cached_tokens"] == report["usage"]["cached_tokens"]


def test_a_model_of_this_process_has_no_cache_to_explain(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert run_command_line(["run", "--local", "--explain-cache", "hello"]) == 2
    assert "yaie serve in another terminal" in capsys.readouterr().err
