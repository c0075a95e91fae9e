"""Settings of the server: names, the path in front, ports and keys of the metrics, TLS."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import requests
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from yaie.base.errors import ConfigError, YaieError
from yaie.base.settings import Settings, load_settings
from yaie.server.app import check_no_tls, create_app

KEY = {"X-API-Key": "k"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ssl_certfile": "c.pem"}, "ssl_certfile is set without ssl_keyfile"),
        ({"ssl_keyfile": "k.pem"}, "ssl_keyfile is set without ssl_certfile"),
        ({"root_path": "llm"}, "it must begin with a slash"),
        ({"root_path": "/llm/"}, "and end without one"),
        ({"metrics_auth": True}, "needs api_key"),
        (
            {"metrics_auth": True, "api_key": "k", "metrics_port": 0},
            "does not apply to a separate metrics_port",
        ),
        ({"metrics_port": -2}, "at least -1"),
        ({"traces": "localhost:4318"}, "give one such as http://localhost:4318"),
        ({"text_threads": 0}, "at least 1"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(**settings)


def test_names_are_in_the_documents(make_app: MakeApp) -> None:
    http, _ = make_app(server_name="Ada's <box>", server_description="For tests.")
    document = http.get("/openapi.json").json()
    assert (document["info"]["title"], document["info"]["description"]) == (
        "Ada's <box>",
        "For tests.",
    )
    page = http.get("/", headers={"Accept": "text/html"}).text
    assert "Ada&#x27;s &lt;box&gt;" in page and "For tests." in page
    assert http.get("/").json()["server"] == "yaie"  # what the command line looks for


def test_the_authorize_button_can_be_left_out(make_app: MakeApp) -> None:
    shown = make_app(api_key="k")[0].get("/openapi.json").json()
    hidden = make_app(api_key="k", auth_ui=False)[0].get("/openapi.json").json()
    assert "securitySchemes" in shown["components"] and shown["security"]
    assert "securitySchemes" not in hidden["components"] and "security" not in hidden
    operations = [each for path in hidden["paths"].values() for each in path.values()]
    assert not any("security" in each for each in operations)
    assert any("401" in each["responses"] for each in operations)


@pytest.mark.parametrize("prefix", ["", "/llm"])  # that the proxy has stripped, or kept
def test_a_path_in_front(make_app: MakeApp, prefix: str) -> None:
    http, _ = make_app(root_path="/llm", api_key="k")
    assert http.get(f"{prefix}/health").status_code == 200
    assert http.get(f"{prefix}/v1/models").status_code == 401
    assert http.get(f"{prefix}/v1/models", headers=KEY).status_code == 200
    assert http.get(f"{prefix}/").json()["links"]["docs"] == "/llm/docs"
    assert '"/llm/openapi.json"' in http.get(f"{prefix}/docs").text.replace("'", '"')


def test_metrics_may_need_a_key(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="k", metrics_auth=True)
    assert http.get("/metrics").status_code == 401
    assert http.get("/health").status_code == 200
    assert "yaie_auth_failures_total 1.0" in http.get("/metrics", headers=KEY).text
    document = http.get("/openapi.json").json()["paths"]["/metrics"]["get"]
    assert "401" in document["responses"] and document.get("security") != []


def test_metrics_are_json_on_request(make_app: MakeApp) -> None:
    http, _ = make_app()
    http.post("/v1/completions", json={"prompt": "x"})
    found = http.get("/metrics", headers={"Accept": "application/json"}).json()
    assert found["yaie_engine_steps_total"] == 3
    assert found['yaie_requests_total{outcome="stop"}'] == 1


def test_metrics_may_be_off(make_app: MakeApp) -> None:
    http, _ = make_app(metrics_port=-1)
    assert http.get("/metrics").status_code == 404


def test_metrics_have_a_port_of_their_own(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="server"):
        http, _ = make_app(metrics_port=0)
    (line,) = [each.message for each in caplog.records if "metrics on" in each.message]
    text = requests.get(line.removeprefix("metrics on "), timeout=10).text
    assert "yaie_engine_steps_total 3.0" in text
    assert http.get("/metrics").status_code == 404


def test_a_taken_port_of_the_metrics_ends_the_service(tiny_model_dir: Path) -> None:
    failures: list[YaieError] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(model=str(tiny_model_dir), metrics_port=taken.getsockname()[1])
        app = create_app(settings, lambda config: ScriptedClient([5]), failures.append)
        with TestClient(app) as http:
            assert http.get("/health").status_code == 503
    assert isinstance(failures[0], ConfigError)
    assert "cannot listen" in failures[0].message


def test_the_number_of_text_threads(make_app: MakeApp) -> None:
    http, _ = make_app(text_threads=3)
    service: Any = http.app.state.service  # type: ignore[attr-defined]
    assert service._text_threads._long._turns._initial_value == 3


def test_uvicorn_alone_refuses_tls_files() -> None:
    with pytest.raises(ConfigError, match="uvicorn would speak plain HTTP"):
        check_no_tls(load_settings(ssl_certfile="c.pem", ssl_keyfile="k.pem"))
