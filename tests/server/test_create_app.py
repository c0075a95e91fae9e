"""Arguments of `create_app`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig, Settings
from yaie.server.app import create_app
from yaie.text.tokenizer import Tokenizer


def unexpected(error: Exception) -> None:
    raise AssertionError(error)


@pytest.mark.parametrize(
    "form",
    [
        str,
        lambda folder: folder,
        lambda folder: EngineConfig(model=str(folder)),
        lambda folder: Settings(model=str(folder)),
    ],
    ids=["name", "path", "engine config", "settings"],
)
def test_a_model_may_be_given_in_every_form(
    tiny_model_dir: Path, tokenizer: Tokenizer, form: Callable[[Path], Any]
) -> None:
    configs: list[EngineConfig] = []

    def make_client(config: EngineConfig) -> ScriptedClient:
        configs.append(config)
        return ScriptedClient(tokenizer.encode("The tree"))

    app = create_app(form(tiny_model_dir), make_client, unexpected)
    with TestClient(app) as http:
        while http.get("/readiness").status_code != 200:
            time.sleep(0.005)
        assert http.get("/v1/models").json()["data"][0]["id"] == str(tiny_model_dir)
        answer = http.post("/v1/completions", json={"prompt": "The", "max_tokens": 9}).json()
    assert answer["choices"][0]["text"] == "The tree"
    assert configs[0].model == str(tiny_model_dir)


def test_the_built_in_model_is_named_as_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("YAIE_NUM_SLOTS", "777")  # other settings come from the environment
    app = create_app("builtin")
    settings = app.state.service.settings
    assert (settings.model, settings.num_slots) == ("builtin", 777)
    assert app.title == "YAIE"


def test_another_type_is_refused_with_the_forms() -> None:
    with pytest.raises(ConfigError, match="an EngineConfig or Settings, not int"):
        create_app(5)  # type: ignore[arg-type]
