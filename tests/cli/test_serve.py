"""Checks of `yaie serve` before the server starts."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from huggingface_hub import constants

from tests.cli.conftest import Cli
from tests.embedding_model import make_embedding_model
from tests.models.folders import edit_json
from tests.models.hub import COMMIT
from tests.ranking_model import make_reranker
from yaie.base.advised_error import AdvisedError
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.base.served_models import engine_configs
from yaie.base.settings import Settings
from yaie.bench.served import served
from yaie.cli import serve
from yaie.remote.discovery import FoundServer
from yaie.server import serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cached(tiny_model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of `someone/model` in an otherwise empty cache, offline."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    base = tmp_path / "models--someone--model"
    (base / "refs").mkdir(parents=True)
    (base / "refs" / "main").write_text(COMMIT)
    return Path(shutil.copytree(tiny_model_dir, base / "snapshots" / COMMIT))


def test_a_cached_model_passes(cached: Path) -> None:
    serve.check_model("someone/model")
    serve.check_model(str(cached))
    serve.check_model("builtin")


@pytest.mark.parametrize("as_folder", [True, False])
def test_an_unsupported_model_is_refused_before_the_start(cached: Path, as_folder: bool) -> None:
    edit_json(cached / "config.json", architectures=["MambaForCausalLM"], model_type="mamba")
    with pytest.raises(ModelUnsupported, match="no attention layers"):
        serve.check_model(str(cached) if as_folder else "someone/model")


@pytest.mark.usefixtures("cached")
def test_a_missing_model_is_refused_before_the_start() -> None:
    with pytest.raises(ModelNotFound, match="no model 'gpt-4'"):
        serve.check_model("gpt-4")


@pytest.mark.parametrize(
    ("found", "holder"),
    [
        (FoundServer("http://127.0.0.1:1", ("tiny",)), "a YAIE server serving tiny"),
        (FoundServer("http://127.0.0.1:1"), "a YAIE server"),
        (None, "another program"),
    ],
)
def test_a_taken_port_names_its_holder(
    found: FoundServer | None, holder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_server", lambda *_: found)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AdvisedError, match=f"port {port} .* is taken") as failure:
            serving.bind("127.0.0.1", port)
    assert failure.value.why == f"{holder} listens on it"


def test_the_banner_promises_the_model_and_warns_of_raw_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving.bind("127.0.0.1", 0) as listener:
        serving.introduce(Settings(), engine_configs(Settings()), listener)
        builtin = capsys.readouterr().err
        named = Settings(model="someone/model")
        serving.introduce(named, engine_configs(named), listener)
        other = capsys.readouterr().err
    assert "will serve builtin when it is loaded (see /readiness)" in builtin
    assert "/v1/completions (plain continuation) returns poor text" in builtin
    assert "will serve someone/model" in other and "poor text" not in other


def test_the_banner_has_a_request_that_the_model_answers(
    tiny_model_dir: Path, cached: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    embeds = make_embedding_model(tiny_model_dir, tmp_path / "embed")
    ranks = make_reranker(tiny_model_dir, tmp_path / "tiny-reranker")
    with serving.bind("127.0.0.1", 0) as listener:
        for model, route, field in (
            (str(embeds), "/v1/embeddings", '"input": "What is'),
            (str(ranks), "/v1/rerank", '"documents": ["A tree'),
            (str(cached), "/v1/chat/completions", '"messages": [{"role": "user"'),
            ("someone/model", "/v1/chat/completions", '"messages"'),
            ("someone/other", "/v1/chat/completions", '"messages"'),
        ):
            settings = Settings(model=model)
            serving.introduce(settings, engine_configs(settings), listener)
            (line,) = (x for x in capsys.readouterr().err.splitlines() if "try: curl" in x)
            assert f"{route} -H" in line and field in line, model
        shutil.copy(embeds / "modules.json", cached)
        shutil.copytree(embeds / "1_Pooling", cached / "1_Pooling")
        settings = Settings(model="someone/model")
        serving.introduce(settings, engine_configs(settings), listener)
        assert "/v1/embeddings" in capsys.readouterr().err


def test_a_quiet_log_level_leaves_out_the_banner(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(log_level="warning", host="0.0.0.0")
    with serving.bind("127.0.0.1", 0) as listener:
        serving.introduce(settings, engine_configs(settings), listener)
        assert capsys.readouterr().err == ""
    with serving.bind("0.0.0.0", 0) as listener:
        serving.introduce(settings, engine_configs(settings), listener)
        assert capsys.readouterr().err.startswith("warning: any client that reaches this port")


@pytest.mark.integration
def test_a_json_log_has_records_only_and_tools_come_from_the_current_folder(
    environment: dict[str, str], tiny_model_dir: Path, tmp_path: Path
) -> None:
    """The whole stderr of a server: from an ignored variable to the end."""
    (tmp_path / "my_tools.py").write_text(
        'def now(zone: str) -> str:\n    """Time."""\n    return zone'
    )
    command = [sys.executable, "-P", "-m", "yaie", "serve", str(tiny_model_dir), "--port", "0"]
    log = tmp_path / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            stderr=errors,
            env=environment
            | {"YAIE_LOG_FORMAT": "json", "YAIE_NUM_SLOOTS": "4", "YAIE_NUM_SLOTS": "8K"}
            | {"YAIE_TOOL_FUNCTIONS": "my_tools:now", "PYTHONPATH": str(ROOT)},
        )
    try:
        wait_for(process, lambda: "starting -> ready" in log.read_text())
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        assert found is not None
        (tool,) = requests.get(f"{found[0]}/v1/tools", timeout=10).json()["data"]
        assert tool["function"]["name"] == "now"
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert records[0]["level"] == "WARNING" and "YAIE_NUM_SLOOTS" in records[0]["message"]
    assert records[1]["message"].startswith("YAIE on http://127.0.0.1:")
    assert "uvicorn" in {each["logger"] for each in records}
    assert not {"uvicorn.error"} & {each["logger"] for each in records}


@pytest.mark.integration
def test_a_failed_start_is_a_json_record_too(yaie: Cli) -> None:
    for variables in ({"YAIE_NUM_SLOTS": "1"}, {"YAIE_TOOL_FUNCTIONS": "absent:f"}):
        done = yaie("serve", "--log-format", "json", "--port", "0", **variables)
        (line,) = done.stderr.splitlines()
        found = json.loads(line)
        assert (found["level"], found["code"], done.returncode) == ("ERROR", "bad_config", 2)


def wait_for(process: subprocess.Popen[bytes], is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_done():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        (None, [], {}),
        ("x", [], {"model": "x"}),
        ("x", ["x"], {"model": "x"}),
        (None, ["a=x", "b=y"], {"models": "a=x,b=y"}),
        ("x", ["b=y"], {"model": "x", "models": "b=y"}),
        (None, ["./odd=path"], {"model": "./odd=path"}),
    ],
)
def test_models_are_named_by_the_argument_and_by_flags(
    name: str | None, given: list[str], expected: dict[str, str]
) -> None:
    assert serve.name_models(name, {"model": given} if given else {}) == expected


def test_models_without_names_are_refused() -> None:
    with pytest.raises(AdvisedError, match="several models need names: x, y") as failure:
        serve.name_models("x", {"model": ["y"]})
    assert failure.value.advice == "--model NAME=x --model NAME=y"


@pytest.mark.integration
def test_an_idle_connection_is_closed_after_the_time_of_the_setting() -> None:
    with served({"num_slots": 256, "threads": 1, "keep_alive_s": 1}) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        for _ in range(2):  # open for the next request
            connection.request("GET", "/liveness")
            assert connection.getresponse().read()
        assert connection.sock.recv(1) == b""


OPERATOR = """
import atexit, sys, threading, time
from yaie.server.serving import end_at_once
threading.Thread(target=time.sleep, args=(600,)).start()
atexit.register(print, "closed")
print("served")
end_at_once()
"""


def test_the_end_waits_for_no_thread_and_loses_no_output() -> None:
    command = [sys.executable, "-c", OPERATOR]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "served\nclosed\n", "")
