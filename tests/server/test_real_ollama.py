"""`/api/chat` and `/api/generate` of a server process with a real engine, over a socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.real_server import Server

pytestmark = pytest.mark.integration
TURN = {"role": "user", "content": "the plan?"}
OPTIONS = {"num_predict": 12}


def post(server: Server, path: str, **fields: Any) -> Any:
    response = server.post(path, {"model": "tiny", "options": OPTIONS, "stream": False, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_stream_is_the_whole_answer(server: Server) -> None:
    whole = post(server, "/api/chat", messages=[TURN])
    body = {"messages": [TURN], "options": OPTIONS}
    lines = [json.loads(line) for line in server.post("/api/chat", body).iter_lines()]
    assert "".join(line["message"]["content"] for line in lines) == whole["message"]["content"]
    last = lines[-1]
    for name in ("done_reason", "eval_count", "prompt_eval_count"):
        assert last[name] == whole[name]
    parts = ("load_duration", "prompt_eval_duration", "eval_duration")
    for answer in (last, whole):
        assert answer["prompt_eval_duration"] > 0 and answer["eval_duration"] > 0
        assert answer["total_duration"] >= sum(answer[name] for name in parts)


@pytest.mark.parametrize("first", ["/v1/chat/completions", "/api/chat", "/v1/messages"])
def test_apis_share_prefixes(server: Server, first: str) -> None:
    """A conversation that one API has computed is cached for the others."""
    system = f"A prefix of this test alone, for {first}. " * 4
    turns = [{"role": "system", "content": system}, TURN]
    fields = {"messages": turns, "stream": False, "max_tokens": 1, "options": {"num_predict": 1}}
    if first == "/api/chat":
        del fields["max_tokens"]
    assert server.post(first, fields).status_code == 200
    server.wait_idle()
    before = server.stats()["stats"]
    post(server, "/api/chat", messages=turns, options={"num_predict": 1})
    usage = server.post("/v1/chat/completions", {"messages": turns, "max_tokens": 1}).json()[
        "usage"
    ]
    num_prompt = usage["prompt_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == num_prompt - 1

    def cached() -> bool:
        stats = server.stats()["stats"]
        return bool(stats["cached_tokens"] - before["cached_tokens"] == 2 * (num_prompt - 1))

    server.wait_until(cached, "both requests were cached up to their last tokens")


def test_a_schema_is_followed(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    for path, fields in (
        ("/api/chat", {"messages": [TURN]}),
        ("/api/generate", {"prompt": "x"}),
        ("/api/generate", {"prompt": "x", "raw": True}),
    ):
        answer = post(server, path, format=schema, options={"num_predict": 100}, **fields)
        text = answer.get("response") or answer["message"]["content"]
        assert json.loads(text)["a"] in (1, 2)


def test_a_wrong_schema_is_named(server: Server) -> None:
    body = {"messages": [TURN], "format": {"type": 5}}
    response = server.post("/api/chat", body)
    assert response.status_code == 400 and "format" in response.json()["error"]


def test_a_model_is_loaded_by_its_first_request(start: Callable[..., Server]) -> None:
    server = start(YAIE_LAZY_LOAD="true")
    server.wait_ready()
    assert server.get("/api/ps").json() == {"models": []}
    answer = post(server, "/api/generate", prompt="the plan")
    assert 0 < answer["load_duration"] < answer["total_duration"]
    (model,) = server.get("/api/ps").json()["models"]
    assert model["size"] > 0
    assert post(server, "/api/generate", keep_alive=0)["done_reason"] == "unload"
    assert server.get("/api/ps").json() == {"models": []}
    assert post(server, "/api/chat")["done_reason"] == "load"
    assert len(server.get("/api/ps").json()["models"]) == 1
