"""Lowest priority numbers of API keys: their form as a setting, and their effect on requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient
from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.base.tenants import parse_priorities, tenant_digest

ADA, BOB = (tenant_digest(key) for key in (b"ada-key", b"bob-key"))
BODIES: dict[str, dict[str, Any]] = {
    "/v1/completions": {"prompt": ["x", "y"], "max_tokens": 1},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1},
    "/v1/messages": {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1},
}


def test_numbers_are_parsed() -> None:
    assert parse_priorities("") == {}
    assert parse_priorities(" *=0, ada=-10 ,") == {"*": 0, "ada": -10}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ada", "entry 1 .* must be name=number"),
        ("*=0,=2", "entry 2 .* must be name=number"),
        ("*=1,*=2", "entry 2 .* has a number already"),
        ("*=high", "entry 1 .* must be whole"),
        ("*=1.5", "must be whole"),
        ("*=" + 19 * "9", "must be whole"),
        ("ada-key=1", "matches no API key"),
    ],
)
def test_wrong_numbers_are_errors(text: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault) as failure:
        Settings(api_key="ada-key", tenant_priorities=text)
    assert failure.value.param == "tenant_priorities"
    assert "ada-key" not in failure.value.message


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "case",
    [
        ("ada-key", -3, -3, False),
        ("ada-key", -50, -10, True),
        ("bob-key", 9, 9, False),
        ("bob-key", 1, 5, True),
        ("bob-key", None, 5, False),
        ("eve-key", -1, 0, True),
        ("eve-key", None, 0, False),
    ],
)
def test_a_key_has_a_lowest_number(
    make_app: MakeApp, path: str, case: tuple[str, int | None, int, bool]
) -> None:
    key, asked, runs_with, is_reported = case
    scripted = ScriptedClient([5])
    scripted.info = replace(INFO, policy="priority")
    http, engine = make_app(
        scripted, api_key="ada-key,bob-key,eve-key", tenant_priorities=f"{ADA}=-10,*=0,{BOB}=5"
    )
    body = BODIES[path] if asked is None else {**BODIES[path], "priority": asked}
    answer = http.post(path, json=body, headers={"X-API-Key": key})
    assert answer.status_code == 200, answer.text
    assert {each.priority for each in engine.requests} == {runs_with}
    reported = answer.headers.get("X-YAIE-Ignored-Params", "")
    assert ("priority" in reported) is is_reported


def test_a_server_without_keys_has_one_limit(make_app: MakeApp) -> None:
    http, engine = make_app(tenant_priorities="*=2")
    # The tenant of a field is the client's own word.
    body = {"prompt": "x", "max_tokens": 1, "priority": -1, "user": "ada"}
    assert http.post("/v1/completions", json=body).status_code == 200
    assert engine.requests[-1].priority == 2
    with pytest.raises(ConfigError, match=r"matches no API key; without API keys give \*"):
        Settings(tenant_priorities="ada=1")
