"""Every wrong body gets a 4xx with an OpenAI error that names the parameter, and harms nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.testclient import TestClient

from server import bodies
from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient
from yaie.errors import InvalidRequest

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
MESSAGES = [{"role": "user", "content": "x"}]
BIG = 2**70
IDS = [str(token_id) for token_id in range(5000)]
A_TOOL = {"type": "function", "function": {"name": "f"}}

# (fields beside a good body, the parameter that the error names)
COMMON: list[tuple[dict[str, Any], str | None]] = [
    ({"model": 5}, "model"),
    ({"stream": "yes"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": 3}, "stream_options"),
    ({"stream": True, "stream_options": {"include_usage": "x"}}, "stream_options.include_usage"),
    ({"n": 0}, "n"),
    ({"n": -1}, "n"),
    ({"n": 129}, "n"),
    ({"n": BIG}, "n"),
    ({"n": 1.5}, "n"),
    ({"n": "2"}, "n"),
    ({"n": True}, "n"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "all"}, "max_tokens"),
    ({"max_tokens": 2.5}, "max_tokens"),
    ({"max_tokens": BIG}, "max_tokens"),
    ({"max_tokens": 5000}, "max_tokens"),
    ({"temperature": -0.1}, "temperature"),
    ({"temperature": 101}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"temperature": [1]}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"top_p": -0.1}, "top_p"),
    ({"max_tokens": 10**4299}, "max_tokens"),
    ({"max_tokens": 10**4300 - 1}, "max_tokens"),
    ({"top_p": 1.01}, "top_p"),
    ({"top_p": "1"}, "top_p"),
    ({"top_k": -2}, "top_k"),
    ({"top_k": 1.5}, "top_k"),
    ({"min_p": -0.1}, "min_p"),
    ({"min_p": 2}, "min_p"),
    ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"repetition_penalty": 1e-30}, "repetition_penalty"),
    ({"repetition_penalty": -1}, "repetition_penalty"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"frequency_penalty": -2.1}, "frequency_penalty"),
    ({"seed": 1.5}, "seed"),
    ({"seed": BIG}, "seed"),
    ({"stop": 5}, "stop"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", ""]}, "stop"),
    ({"stop": ["a", 5]}, "stop"),
    ({"stop": {"a": 1}}, "stop"),
    ({"stop": ["a"] * 17}, "stop"),
    ({"stop": "a" * 1025}, "stop"),
    ({"stop_token_ids": 5}, "stop_token_ids"),
    ({"stop_token_ids": ["5"]}, "stop_token_ids[0]"),
    ({"stop_token_ids": [5, 420]}, "stop_token_ids[1]"),
    ({"stop_token_ids": [-1]}, "stop_token_ids[0]"),
    ({"stop_token_ids": [1] * 1025}, "stop_token_ids"),
    ({"logit_bias": [1]}, "logit_bias"),
    ({"logit_bias": {"a": 1}}, "logit_bias"),
    ({"logit_bias": {"٣": 1}}, "logit_bias"),
    ({"logit_bias": {"420": 1}}, "logit_bias"),
    ({"logit_bias": {"-1": 1}}, "logit_bias"),
    ({"logit_bias": {"5": 101}}, "logit_bias"),
    ({"logit_bias": {"5": "1"}}, "logit_bias.5"),
    ({"logit_bias": {str(i): 1 for i in range(1025)}}, "logit_bias"),
    ({"min_tokens": -1}, "min_tokens"),
    ({"min_tokens": 9, "max_tokens": 5}, "min_tokens"),
    ({"min_tokens": BIG}, "min_tokens"),
    ({"ignore_eos": "no"}, "ignore_eos"),
    ({"return_token_ids": 1}, "return_token_ids"),
    ({"cache_salt": ""}, "cache_salt"),
    ({"cache_salt": 5}, "cache_salt"),
    ({"cache_salt": "s" * 257}, "cache_salt"),
    ({"priority": 1.5}, "priority"),
    ({"priority": BIG}, "priority"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"response_format": "json"}, "response_format"),
    ({"guided_json": {}}, "guided_json"),
    ({"structured_outputs": {"json": {}}}, "structured_outputs"),
    ({"use_beam_search": True}, "use_beam_search"),
    ({"bad_words": ["x"]}, "bad_words"),
    ({"prompt_logprobs": 1}, "prompt_logprobs"),
    ({"truncate_prompt_tokens": 5}, "truncate_prompt_tokens"),
    ({"regex": "[0-9]+"}, "regex"),
    ({"grammar": "root ::= x"}, "grammar"),
    ({"stop_sequences": ["x"]}, "stop_sequences"),
    ({"repeat_penalty": 1.1}, "repeat_penalty"),
    ({"max_new_tokens": 5}, "max_new_tokens"),
    ({"mirostat_mode": 2}, "mirostat_mode"),
    ({"response_format": {}}, "response_format"),
    ({"min_tokens": 256}, "min_tokens"),
    ({"stop_token_ids": ["a"] * 1025}, "stop_token_ids"),
    ({"logit_bias": {str(i): "a" for i in range(1025)}}, "logit_bias"),
    ({"n": 2.0**60}, "n"),
]
CHAT_ONLY: list[tuple[dict[str, Any], str | None]] = [
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": {"role": "user"}}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [None]}, "messages[0]"),
    ({"messages": [{"content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": {"a": 1}}]}, "messages[0].content"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "messages[0].content[0].type",
    ),
    ({"messages": [{"role": "function", "content": "x"}]}, "messages"),
    ({"messages": [{"role": "user", "content": "the " * 600}]}, "messages"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"max_completion_tokens": 5000}, "max_completion_tokens"),
    ({"logprobs": 2}, "logprobs"),
    ({"top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
    ({"tools": "x"}, "tools"),
    ({"tools": [5]}, "tools[0]"),
    ({"tools": [{"type": "function"}]}, "tools[0]"),
    ({"tools": [{"type": "code", "function": {"name": "f"}}]}, "tools[0].type"),
    ({"tool_choice": "required", "tools": [A_TOOL]}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"function_call": {"name": "f"}}, "function_call"),
    ({"modalities": ["audio"]}, "modalities"),
    ({"chat_template": "{{ 1 }}"}, "chat_template"),
    ({"chat_template_kwargs": {"chat_template": "x"}}, "chat_template_kwargs.chat_template"),
    ({"chat_template_kwargs": {"tokenize": True}}, "chat_template_kwargs.tokenize"),
    ({"chat_template_kwargs": {"shout": 5}}, None),  # the template cannot: it takes any value
    ({"chat_template_kwargs": "x"}, "chat_template_kwargs"),
    ({"best_of": 2}, "best_of"),
]
TEXT_ONLY: list[tuple[dict[str, Any], str | None]] = [
    ({"prompt": None}, "prompt"),
    ({"prompt": ""}, "prompt"),
    ({"prompt": []}, "prompt"),
    ({"prompt": 5}, "prompt"),
    ({"prompt": {"a": 1}}, "prompt"),
    ({"prompt": ["a", ""]}, "prompt[1]"),
    ({"prompt": [[]]}, "prompt[0]"),
    ({"prompt": ["a", 5]}, "prompt[1]"),
    ({"prompt": [1, "a"]}, "prompt[1]"),
    ({"prompt": [1, 2.5]}, "prompt[1]"),
    ({"prompt": [1, True]}, "prompt[1]"),
    ({"prompt": [True]}, "prompt[0]"),
    ({"prompt": [1, None]}, "prompt[1]"),
    ({"prompt": [5, 420]}, "prompt[1]"),
    ({"prompt": [[5], [5, -1]]}, "prompt[1][1]"),
    ({"prompt": [BIG]}, "prompt[0]"),
    ({"prompt": [5] * 256}, "prompt"),
    ({"prompt": ["the", "the " * 600]}, "prompt[1]"),
    ({"prompt": ["a"] * 129}, "prompt"),
    ({"prompt": ["a"] * 3, "n": 50}, "prompt"),
    ({"prompt": [5] * 250, "max_tokens": 7}, "max_tokens"),
    ({"suffix": "x"}, "suffix"),
    ({"best_of": 2}, "best_of"),
    ({"best_of": BIG}, "best_of"),
    ({"logprobs": 21}, "logprobs"),
    ({"logprobs": -1}, "logprobs"),
    ({"logprobs": True}, "logprobs"),
    ({"echo": "x"}, "echo"),
    ({"logprobs": 21, "echo": True}, "logprobs"),
]
CASES = (
    [(CHAT, *case) for case in COMMON + CHAT_ONLY] + [(TEXT, *case) for case in COMMON + TEXT_ONLY]
)  # fmt: skip


def good(path: str) -> dict[str, Any]:
    return {"messages": MESSAGES} if path == CHAT else {"prompt": "x"}


def check_error(response: Any) -> dict[str, Any]:
    """The error of a response, whose form is checked."""
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["X-Request-ID"]
    assert len(response.content) < 8192
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["message"], str) and error["message"]
    for leak in ("Traceback", ".py", "0x", "site-packages"):
        assert leak not in response.text
    return dict(error)


@pytest.mark.parametrize(("path", "fields", "param"), CASES)
def test_a_wrong_field_is_named(
    http: TestClient, path: str, fields: dict[str, Any], param: str | None
) -> None:
    response = http.post(path, json={**good(path), **fields})
    if param is None:
        assert response.status_code < 500
        return
    error = check_error(response)
    assert response.status_code == 400
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"


def test_nothing_wrong_reaches_the_engine(make_app: MakeApp) -> None:
    http, engine = make_app()
    for path, fields, param in CASES:
        if param is not None:
            http.post(path, json={**good(path), **fields})
    assert engine.requests == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b"true",
        b'{"prompt": "x"} more',
        b"{'prompt': 'x'}",
        b'{"prompt": "x", "temperature": NaN}',
        b'{"prompt": "x", "temperature": Infinity}',
        b'{"prompt": "x", "temperature": -Infinity}',
        b'{"prompt": "x", "temperature": 1e999}',
        b'{"prompt": "\xff\xfe"}',
        b'{"prompt": "\xc3"}',
        b"\xef\xbb\xbf{}",
        '{"prompt": "x"}'.encode("utf-16"),
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "x", "stop": "\\udc00"}',
        b'{"prompt": "x", "user": "\\ud83d"}',
        b"[" * 100_000,
        b'{"prompt": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"prompt": "x", "seed": ' + b"9" * 10_000 + b"}",
        b'{"prompt": "a\nb"}',
        b"\x00",
        b"prompt=x",
    ],
)
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_what_is_no_good_json(http: TestClient, path: str, raw: bytes) -> None:
    response = http.post(path, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    check_error(response)


def test_deep_nesting_that_json_can_read(http: TestClient) -> None:
    for inner in ('"x"', '"\\ud83d\\ude42"'):
        deep = '{"a":[' * 450 + inner + "]}" * 450
        function = f'{{"name": "f", "parameters": {deep}}}'
        for fields in (
            f'"tools": [{deep}]',
            f'"messages": [{deep}]',
            f'"messages": [{{"role": "user", "content": "x", "extra": {deep}}}]',
            f'"metadata": {deep}',
            f'"chat_template_kwargs": {{"shout": {deep}}}',
            f'"tools": [{{"type": "function", "function": {function}}}]',
        ):
            messages = '"messages": [{"role": "user", "content": "x"}]'
            body = f"{{{messages}, {fields}}}"
            response = http.post(
                CHAT, content=body.encode(), headers={"Content-Type": "application/json"}
            )
            assert response.status_code < 500, fields[:40]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_wrong_media_types(http: TestClient, headers: dict[str, str]) -> None:
    response = http.post(TEXT, content=b'{"prompt": "x"}', headers=headers)
    assert response.status_code == 415
    assert check_error(response)["code"] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (b"", {}, "the body is empty; send"),
        (b" \n", {}, "the body is empty; send"),
        (b"", {"Upgrade": "h2c"}, "the body is empty; send"),  # which is no offer by itself
        (b"", {"Upgrade": "h2c", "Connection": "Upgrade, HTTP2-Settings"}, "Upgrade header"),
    ],
)
def test_an_empty_body_is_called_so(
    http: TestClient, body: bytes, headers: dict[str, str], said: str
) -> None:
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"} | headers)
    assert response.status_code == 400
    assert said in check_error(response)["message"]


def test_a_byte_order_mark_is_passed_over(http: TestClient) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(good(CHAT)).encode()
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 8.0, "n": 1.0, "seed": 7.0, "top_k": -1.0, "stop_token_ids": [5.0]},
        {"repeat_penalty": 1.0, "typical_p": 1, "mirostat": 0, "grammar": "", "regex": None},
        {"guided_grammar": "", "guided_choice": [], "tfs": 1, "n_predict": -1, "top_a": 0},
        {"model": ""},
    ],
)
def test_what_says_nothing_else_is_taken(http: TestClient, fields: dict[str, Any]) -> None:
    for path in (CHAT, TEXT):
        response = http.post(path, json={**good(path), **fields})
        assert response.status_code == 200, response.text
        assert "X-YAIE-Ignored-Params" not in response.headers


def test_other_servers_names_are_let_pass_beside_ours(http: TestClient) -> None:
    for path in (CHAT, TEXT):
        both = {**good(path), "max_tokens": 3, "max_new_tokens": 3}
        response = http.post(path, json=both)
        assert response.status_code == 200, response.text
        assert response.headers["X-YAIE-Ignored-Params"] == "max_new_tokens"


def test_a_tool_need_not_be_called_where_there_is_none(http: TestClient) -> None:
    for fields in ({"tool_choice": "required"}, {"tool_choice": "required", "tools": []}):
        response = http.post(CHAT, json={**good(CHAT), **fields})
        assert response.status_code == 200, response.text


def test_of_many_wrong_entries_one_is_looked_at(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_errors = []
    refusal = bodies._refusal

    def counted(error: ValidationError) -> InvalidRequest:
        num_errors.append(error.error_count())
        return refusal(error)

    monkeypatch.setattr(bodies, "_refusal", counted)
    for field in ({"stop_token_ids": ["a"] * 5000}, {"logit_bias": dict.fromkeys(IDS, "a")}):
        response = http.post(TEXT, json={**good(TEXT), **field})
        assert "5000 entries" in check_error(response)["message"]
    assert num_errors == [1, 1]


def test_unknown_models(http: TestClient) -> None:
    for path in (CHAT, TEXT):
        response = http.post(path, json={**good(path), "model": "gpt-5\r\n"})
        assert response.status_code == 404
        error = check_error(response)
        assert (error["param"], error["code"]) == ("model", "model_not_found")
    assert http.get("/v1/models/other/model").status_code == 404


def test_the_context_error_holds_the_numbers(http: TestClient) -> None:
    response = http.post(TEXT, json={"prompt": [5] * 300})
    error = check_error(response)
    assert error["code"] == "context_length_exceeded"
    assert "300" in error["message"] and "256" in error["message"]
    error = check_error(http.post(TEXT, json={"prompt": [5] * 200, "max_tokens": 100}))
    assert error["code"] == "context_length_exceeded"
    for number in ("200", "100", "300", "256", "56"):
        assert number in error["message"]
    # With no max_tokens in a chat there is no such error: it gets what is left.
    assert http.post(TEXT, json={"prompt": [5] * 255, "max_tokens": 1}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/v1", 404, "not_found"),
        ("GET", "/v1/completions/", 405, "method_not_allowed"),
        ("GET", "//", 404, "not_found"),
        ("GET", "/v1/completions", 405, "method_not_allowed"),
        ("DELETE", "/v1/chat/completions", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("BREW", "/health", 405, "method_not_allowed"),
    ],
)
def test_wrong_paths_and_methods(
    http: TestClient, method: str, path: str, status: int, code: str
) -> None:
    response = http.request(method, path)
    assert response.status_code == status
    assert check_error(response)["code"] == code


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
    from server.app import create_app
    from yaie.config import Settings

    folder = request.getfixturevalue("tiny_model_dir")
    app = create_app(
        Settings(model=str(folder), served_model_name="tiny"),
        make_client=lambda config: ScriptedClient([5, 6, 7]),
    )
    with TestClient(app, raise_server_exceptions=False) as http:
        while http.get("/readiness").status_code != 200:
            pass
        yield http


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


@settings(max_examples=200, deadline=None)
@given(raw=st.binary(max_size=200))
def test_no_bytes_make_a_server_error(shared_http: TestClient, raw: bytes) -> None:
    response = shared_http.post(TEXT, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 400


def test_the_table_fits_the_engine() -> None:
    assert (INFO.vocab_size, INFO.max_model_len) == (420, 256)
    assert len(CASES) >= 80
