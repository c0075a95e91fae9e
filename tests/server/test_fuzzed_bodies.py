"""Random bodies and bytes never make a server error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.bad_bodies import CASES, CHAT, TEXT, check_error, good
from tests.server.scripted_client import ScriptedClient
from tests.sizes import large, size
from yaie.base.settings import Settings
from yaie.server.app import create_app

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["user", "system", "text", "the tree", "auto", "none"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "name", "function", "5"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
FIELDS = sorted({name for _, fields, _ in CASES for name in fields})


@pytest.fixture(scope="module")
def shared_http(request: pytest.FixtureRequest) -> Iterator[TestClient]:
    """One application for all fuzzed bodies."""
    folder = request.getfixturevalue("tiny_model_dir")
    app = create_app(
        Settings(model=str(folder), served_model_name="tiny"),
        make_client=lambda config: ScriptedClient([5, 6, 7]),
    )
    with TestClient(app, raise_server_exceptions=False) as http:
        while http.get("/readiness").status_code != 200:
            pass
        yield http


@large
@settings(max_examples=size(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.sampled_from([CHAT, TEXT]),
    fields=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4),
)
def test_no_body_makes_a_server_error(
    shared_http: TestClient, path: str, fields: dict[str, Any]
) -> None:
    body = {**good(path), **fields}
    response = shared_http.post(
        path, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert response.status_code < 500, (body, response.text)
    if response.status_code != 200:
        check_error(response)


@large
@settings(max_examples=size(200), deadline=None)
@given(raw=st.binary(max_size=200))
def test_no_bytes_make_a_server_error(shared_http: TestClient, raw: bytes) -> None:
    response = shared_http.post(TEXT, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
