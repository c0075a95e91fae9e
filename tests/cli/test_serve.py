"""Checks of `yaie serve` before the server starts."""

from __future__ import annotations

import http.client
import shutil
import socket
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.models.folders import edit_json
from tests.models.hub import COMMIT
from yaie.base.advised_error import AdvisedError
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.base.served_models import engine_configs
from yaie.base.settings import Settings
from yaie.bench.served import served
from yaie.cli import serve
from yaie.remote.discovery import FoundServer
from yaie.server import serving


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
