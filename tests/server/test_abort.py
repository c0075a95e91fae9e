"""`DELETE /v1/requests/{id}`: the end of running requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from tests.server.conftest import MakeApp
from tests.server.real_server import Server

BODY = {
    "messages": [{"role": "user", "content": "the plan?"}],  # up to the end of the context
    "ignore_eos": True,
    "stream": True,
    "return_token_ids": True,
}


def test_an_unknown_request_is_not_found(make_app: MakeApp) -> None:
    http, _ = make_app()
    response = http.delete("/v1/requests/none")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


@pytest.mark.integration
@pytest.mark.parametrize("by", ["response id", "request id"])
def test_a_running_request_ends_with_its_text_so_far(server: Server, by: str) -> None:
    headers = {"X-Request-ID": "to-be-aborted"}
    with requests.post(
        server.url + "/v1/chat/completions", json={**BODY, "n": 2}, headers=headers, stream=True
    ) as response:
        lines = (line[6:] for line in response.iter_lines() if line.startswith(b"data: {"))
        first: Any = json.loads(next(lines))
        name = first["id"] if by == "response id" else "to-be-aborted"
        answer = requests.delete(f"{server.url}/v1/requests/{name}")
        assert (answer.status_code, answer.json()["aborted"]) == (200, True)
        reasons = [json.loads(line)["choices"][0]["finish_reason"] for line in lines]
    assert reasons.count("abort") == 2, reasons
    server.wait_idle()
    assert requests.delete(f"{server.url}/v1/requests/{name}").status_code == 404


@pytest.mark.integration
def test_other_tenants_cannot_end_a_request(start: Any) -> None:
    server = start(YAIE_API_KEY="one,two")
    server.wait_until(lambda: server.get("/health").status_code == 200, "ready")
    own, other = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))
    with requests.post(
        server.url + "/v1/chat/completions", json=BODY, headers=own, stream=True
    ) as response:
        lines = (line[6:] for line in response.iter_lines() if line.startswith(b"data: {"))
        place = f"{server.url}/v1/requests/{json.loads(next(lines))['id']}"
        assert requests.delete(place, headers=other).status_code == 404
        assert requests.delete(place, headers=own).status_code == 200
        assert json.loads(list(lines)[-1])["choices"][0]["finish_reason"] == "abort"
