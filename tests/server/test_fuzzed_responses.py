"""Random bodies of `/v1/responses` never make a server error, and errors name a field sent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.bad_bodies import check_error
from tests.server.test_fuzzed_bodies import json_values, shared_http
from tests.sizes import large, size
from yaie.server.schemas.responses import ResponsesBody

__all__ = ["shared_http"]
URL = "/v1/responses"
DOCS = Path(__file__).resolve().parents[2] / "docs/reference/responses.md"
PARTS = st.dictionaries(
    st.sampled_from(["type", "text", "refusal"]),
    st.sampled_from(["input_text", "output_text", "refusal", "input_image", ""]) | json_values,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["message", "function_call", "function_call_output", "reasoning", "item_reference", 5]
        ),
        "role": st.sampled_from(["user", "assistant", "system", "tool", None, []]),
        "content": st.text(max_size=5) | st.lists(PARTS, max_size=2) | json_values,
        "summary": st.lists(PARTS, max_size=2) | json_values,
        "id": st.text(max_size=3) | json_values,
        "call_id": st.just("c") | json_values,
        "name": st.just("add") | json_values,
        "arguments": st.sampled_from(["{}", "[", "5"]) | json_values,
        "output": st.text(max_size=3) | st.lists(PARTS, max_size=2),
    },
)
FUNCTIONS = st.fixed_dictionaries(
    {"type": st.sampled_from(["function", "custom", None])},
    optional={
        "name": st.just("add") | json_values,
        "parameters": json_values,
        "strict": json_values,
    },
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    name: json_values for name in ResponsesBody.model_fields if name not in ("input", "model")
}
FIELDS |= {
    "tools": st.lists(FUNCTIONS, max_size=2) | json_values,
    "tool_choice": FUNCTIONS | json_values,
    "text": st.fixed_dictionaries({"format": FUNCTIONS | json_values}) | json_values,
    "reasoning": st.fixed_dictionaries({"effort": json_values}) | json_values,
    "include": st.just(["message.output_text.logprobs"]) | json_values,
    "max_output_tokens": st.integers(-1, 300) | json_values,
    "top_k": json_values,
    "cache_salt": json_values,
}


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True))
    body = {name: draw(FIELDS[name]) for name in names}
    body["input"] = draw(st.text(max_size=5) | st.lists(ITEMS, max_size=3) | json_values)
    return body


@large
@settings(max_examples=size(500), suppress_health_check=[HealthCheck.too_slow])
@given(bodies())
def test_no_body_makes_a_server_error(shared_http: TestClient, body: dict[str, Any]) -> None:
    response = shared_http.post(
        URL, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert response.status_code < 500, (body, response.text)
    if response.status_code == 200:
        return
    check_error(response)
    param = response.json()["error"]["param"]
    assert param is not None, (body, response.text)
    assert re.split(r"[.\[]", param)[0] in {*body, "input"}, (body, response.text)


@given(st.dictionaries(st.sampled_from(["limit", "after", "order"]), st.text(max_size=8)))
def test_no_query_makes_a_server_error(shared_http: TestClient, query: dict[str, str]) -> None:
    stored = shared_http.post(URL, json={"input": "x"}).json()["id"]
    listed = shared_http.get(f"{URL}/{stored}/input_items", params=query)
    assert listed.status_code in (200, 400)


def test_every_field_of_the_body_is_documented() -> None:
    page = DOCS.read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)", row[1] + row[3])}
    assert set(ResponsesBody.model_fields) - {"model", "stream"} <= named
