"""`yaie ps` and `yaie stop` against a server process, over a socket."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.server.real_server import Server
from yaie.cli.main import run_command_line

pytestmark = pytest.mark.integration
KEYS = {"YAIE_API_KEY": "user", "YAIE_ADMIN_KEY": "admin"}


def test_a_model_is_listed_and_unloaded(
    start: Callable[..., Server],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (*KEYS, "YAIE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    server = start(**KEYS)
    server.wait_ready()
    at = ["--url", server.url, "--api-key", "user"]

    def run(*arguments: str, code: int = 0) -> str:
        assert run_command_line([*arguments, *at]) == code
        shown = capsys.readouterr()
        return shown.err if code else shown.out

    head, model = run("ps").splitlines()
    assert head.split() == ["model", "state", "memory", "idle"]
    assert model.split()[:2] == ["tiny", "ready"] and model.endswith(" s")
    assert "admin key" in run("stop", "tiny", code=2)
    (loaded,) = json.loads(run("ps", "--json"))["models"]
    assert loaded["memory_bytes"] > 0 and loaded["idle_s"] >= 0
    run("stop", "tiny", "--admin-key", "admin")
    (unloaded,) = json.loads(run("ps", "--json"))["models"]
    assert (unloaded["state"], unloaded["memory_bytes"]) == ("unloaded", 0)
    assert unloaded["idle_s"] is None
    assert "not served here" in run("stop", "other", "--admin-key", "admin", code=3)
    body = {"prompt": "the plan", "stream": False}
    headers = {"Authorization": "Bearer user"}
    assert server.post("/api/generate", body, headers=headers).json()["load_duration"] > 0
