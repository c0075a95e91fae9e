"""Requests of browsers from other origins."""

from __future__ import annotations

import re
from pathlib import Path

from tests.server.conftest import MakeApp
from yaie.base.types import EngineState

BODY = {"prompt": "x"}


def test_cors_is_off_unless_configured(make_app: MakeApp) -> None:
    ask = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    http, _ = make_app()
    assert http.options("/v1/completions", headers=ask).status_code == 405
    http, _ = make_app(cors_origins="https://a.example, https://b.example", api_key="k")
    response = http.options("/v1/completions", headers=ask)
    assert response.status_code == 200
    assert response.headers["Access-Control-Allow-Origin"] == "https://a.example"
    response = http.options("/v1/completions", headers={**ask, "Origin": "https://c.example"})
    assert "Access-Control-Allow-Origin" not in response.headers


def test_localhost_means_every_port_of_this_computer(make_app: MakeApp) -> None:
    http, _ = make_app(cors_origins="localhost,https://a.example")

    def allowed(origin: str) -> bool:
        ask = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        reply = http.options("/v1/completions", headers=ask)
        return reply.headers.get("Access-Control-Allow-Origin") == origin

    local = ["http://localhost", "https://localhost:3000", "http://127.0.0.1:8", "http://[::1]:80"]
    others = ["http://localhost.example", "http://localhost:3000.example", "http://127.0.0.11"]
    assert [allowed(origin) for origin in [*local, "https://a.example"]] == [True] * 5
    assert [allowed(origin) for origin in [*others, "https://b.example", "null"]] == [False] * 5


def test_options_need_no_key(make_app: MakeApp) -> None:
    """Browsers send none with the request in front of the real one."""
    http, _ = make_app(api_key="k")
    response = http.options("/v1/completions")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
    http, _ = make_app(api_key="k", cors_origins="*")
    for method in ("POST", "DELETE"):
        ask = {"Origin": "https://a.example", "Access-Control-Request-Method": method}
        response = http.options("/v1/responses/x", headers=ask)
        assert response.status_code == 200
        assert method in response.headers["Access-Control-Allow-Methods"]


def test_other_origins_may_read_the_documented_headers(make_app: MakeApp) -> None:
    http, engine = make_app(cors_origins="https://a.example")
    engine.state = EngineState.DEAD
    response = http.post("/v1/completions", json=BODY, headers={"Origin": "https://a.example"})
    exposed = {h.strip() for h in response.headers["Access-Control-Expose-Headers"].split(",")}
    assert "Retry-After" in response.headers
    pages = (Path(__file__).parents[2] / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`((?:X-[A-Z][\w-]+|Retry-After))`", text))
    assert exposed == named - {"X-API-Key"}  # a request header
