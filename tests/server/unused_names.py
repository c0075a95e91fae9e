"""Check of an endpoint's fields of other servers: refused, or named in a header."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from yaie.server.schemas.base import RequestBody, State

IGNORED = "X-YAIE-Ignored-Params"


def check_unused_names(
    http: TestClient, path: str, body: type[RequestBody], good: dict[str, Any]
) -> None:
    """Send each field that a body's class names as unused: harmless values, and another one.

    `good`: a body that is answered.
    """
    assert body.unused
    for field in body.unused.values():
        for value in (None, *field.harmless):
            answer = http.post(path, json={**good, field.name: value})
            assert answer.status_code == 200, (field.name, answer.text)
            assert IGNORED not in answer.headers
        answer = http.post(path, json={**good, field.name: {"x": 1}})
        is_given = good.get(field.ours) is not None
        if field.state is State.REFUSED or (field.state is State.OTHER_NAME and not is_given):
            assert answer.status_code == 400, (field.name, answer.text)
            error = answer.json()["error"]
            assert error["param"] == field.name
            assert error["message"].startswith(f"{field.name} is not supported by this server")
            assert field.advice in error["message"]
        else:
            assert answer.status_code == 200, (field.name, answer.text)
            named = None if field.state is State.ACCEPTED else field.name
            assert answer.headers.get(IGNORED) == named
