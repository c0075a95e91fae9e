"""`/api/chat` and `/api/generate`: documents, lines of streams, and the fields of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient, error_script
from yaie.base.errors import InvalidRequest, YaieError
from yaie.server.ollama.ollama_models import read_keep_alive
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import Tokenizer

SAID = "The tree 🙂 plan."
TURN = {"role": "user", "content": "the plan?"}
CHAT, GENERATE = "/api/chat", "/api/generate"
BODIES: dict[str, dict[str, Any]] = {CHAT: {"messages": [TURN]}, GENERATE: {"prompt": "the plan?"}}
PATHS = pytest.mark.parametrize("path", BODIES)
TIMES = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


def ask(http: TestClient, path: str, **fields: Any) -> Any:
    response = http.post(path, json={**BODIES[path], "stream": False, **fields})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def stream(http: TestClient, path: str, **fields: Any) -> list[Any]:
    """Return the lines of an answer, which is a stream unless the request says no."""
    response = http.post(path, json={**BODIES[path], **fields})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    *lines, end = response.text.split("\n")
    assert end == "" and all(lines)
    return [json.loads(line) for line in lines]


def text_of(answer: Any) -> str:
    found: str = answer["message"]["content"] if "message" in answer else answer["response"]
    return found


@PATHS
def test_an_answer(http: TestClient, tokenizer: Tokenizer, path: str) -> None:
    answer = ask(http, path, model="tiny")
    num_prompt = len(ChatTemplate(tokenizer).render([TURN]))
    times = {name: answer.pop(name) for name in TIMES}
    assert all(type(time) is int and time >= 0 for time in times.values())
    assert times["total_duration"] >= times["prompt_eval_duration"] + times["eval_duration"]
    assert answer.pop("created_at").endswith("Z")
    said = {"message": {"role": "assistant", "content": SAID}}
    assert answer == {
        "model": "tiny",
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": num_prompt,
        "eval_count": len(tokenizer.encode(SAID)),
        **(said if path == CHAT else {"response": SAID}),
    }


@PATHS
def test_a_stream_is_the_default(http: TestClient, path: str) -> None:
    *lines, last = stream(http, path)
    assert len(lines) > 1 and not any(line["done"] for line in lines)
    assert all(text_of(line) for line in lines) and not text_of(last)
    assert "".join(map(text_of, lines)) == SAID
    whole = ask(http, path)
    fresh = ("created_at", "message", "response", *TIMES)
    for answer in (last, whole):
        for name in fresh:
            answer.pop(name, None)
    assert last == whole and last["done"]


@PATHS
def test_texts_with_line_breaks_of_unicode(
    make_app: MakeApp, tokenizer: Tokenizer, path: str
) -> None:
    said = "a\u2028b\u2029c\x85d\ne\x1cf"
    http, _ = make_app(ScriptedClient(tokenizer.encode(said)))
    lines = http.post(path, json=BODIES[path]).text.splitlines()
    assert "".join(text_of(json.loads(line)) for line in lines) == said


@PATHS
def test_the_prompt_is_that_of_a_chat(make_app: MakeApp, path: str) -> None:
    http, engine = make_app()
    ask(http, path)
    http.post("/v1/chat/completions", json={"messages": [TURN]})
    ours, theirs = engine.requests
    assert ours.prompt_token_ids == theirs.prompt_token_ids
    assert ours.sampling == theirs.sampling


@PATHS
def test_options_are_sampling_parameters(make_app: MakeApp, path: str) -> None:
    http, engine = make_app()
    options = {
        "num_predict": 3,
        "temperature": 0.5,
        "top_k": 4,
        "top_p": 0.9,
        "min_p": 0.1,
        "repeat_penalty": 1.1,
        "presence_penalty": 0.2,
        "frequency_penalty": 0.3,
        "seed": 7,
        "stop": ["zzz"],
    }
    answer = ask(http, path, options=options)
    sampling = engine.requests[0].sampling
    assert sampling.max_tokens == 3 and sampling.repetition_penalty == 1.1
    assert sampling.stop == ("zzz",)
    for name in set(options) - {"num_predict", "repeat_penalty", "stop"}:
        assert getattr(sampling, name) == options[name]
    assert answer["done_reason"] == "length" and answer["eval_count"] == 3


def test_every_sampling_field_is_an_option(make_app: MakeApp) -> None:
    http, engine = make_app()
    ask(http, CHAT, options={"min_tokens": 2, "ignore_eos": True, "logit_bias": {"5": 1.0}})
    sampling = engine.requests[0].sampling
    assert (sampling.min_tokens, sampling.ignore_eos, sampling.logit_bias) == (2, True, {5: 1.0})


@pytest.mark.parametrize("limit", [None, -1, -2, 0])
@pytest.mark.parametrize("raw", [False, True])
def test_no_limit_is_the_context(make_app: MakeApp, limit: int | None, raw: bool) -> None:
    http, engine = make_app()
    response = http.post(
        GENERATE, json={"prompt": "x", "raw": raw, "options": {"num_predict": limit}}
    )
    assert response.status_code == 200
    assert "X-YAIE-Max-Tokens" not in response.headers
    assert engine.requests[0].sampling.max_tokens is None


def test_a_limit_of_the_operator_is_kept(make_app: MakeApp) -> None:
    http, engine = make_app(default_max_tokens=5)
    for raw in (False, True):
        ask(http, GENERATE, raw=raw)
        assert engine.requests[-1].sampling.max_tokens == 5


@PATHS
def test_a_stop_string_ends_the_text(http: TestClient, path: str) -> None:
    answer = ask(http, path, options={"stop": ["plan"]})
    assert text_of(answer) == "The tree 🙂 " and answer["done_reason"] == "stop"
    assert answer["eval_duration"] >= 0


@PATHS
def test_fields_without_effect_are_named(http: TestClient, path: str) -> None:
    options = {"num_ctx": 4096, "num_gpu": 1, "mirostat": None, "seed": -1}
    fields = {"options": options, "keep_alive": "5m", "truncate": True, "shift": False, "x": 1}
    response = http.post(path, json={**BODIES[path], **fields, "think": True})
    named = set(response.headers["X-YAIE-Ignored-Params"].split(", "))
    assert named == {"options.num_ctx", "options.num_gpu", "keep_alive", "truncate", "x", "think"}
    plain = http.post(path, json={**BODIES[path], "options": {}, "think": False, "format": ""})
    assert "X-YAIE-Ignored-Params" not in plain.headers


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"options": {"temperature": -1}}, "options.temperature must be between"),
        ({"options": {"temperature": "hot"}}, "options.temperature must be a number"),
        ({"options": {"repeat_penalty": 0}}, "options.repeat_penalty must be"),
        ({"options": {"num_predict": 1.5}}, "options.num_predict must be an integer"),
        ({"options": {"stop": [""]}}, "options.stop must be"),
        ({"options": []}, "options must be an object"),
        ({"stream": "no"}, "stream must be a boolean"),
        ({"format": "yaml"}, "format must be 'json' or a JSON schema"),
        ({"think": "hard"}, "think must be a boolean or one of"),
        ({"keep_alive": "soon"}, "keep_alive must be a number of seconds"),
        ({"top_logprobs": 2}, "top_logprobs requires logprobs"),
        ({"images": ["aGk="]}, "images is not supported"),
    ],
)
@PATHS
def test_a_wrong_field_is_named(
    shared_http: TestClient, path: str, fields: dict[str, Any], fault: str
) -> None:
    response = shared_http.post(path, json={**BODIES[path], **fields})
    assert response.status_code == 400
    answer = response.json()
    assert set(answer) == {"error"} and fault in answer["error"]


@pytest.mark.parametrize("fields", [{"format": 0.5}, {"think": []}, {"keep_alive": "soon"}])
@PATHS
def test_a_body_without_a_prompt_is_checked_too(
    shared_http: TestClient, path: str, fields: dict[str, Any]
) -> None:
    response = shared_http.post(path, json={"stream": False, **fields})
    assert response.status_code == 400 and next(iter(fields)) in response.json()["error"]
    assert shared_http.post(path, json={"stream": False}).json()["done_reason"] == "load"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"template": "{{ .Prompt }}"}, "template is not supported by this server; send the"),
        ({"suffix": "end"}, "suffix is not supported"),
        ({"context": [1, 2]}, "context is not supported by this server; send the conversation"),
        ({"raw": True, "system": "x"}, "system has no place in a raw prompt"),
    ],
)
def test_fields_of_generate_that_are_refused(
    shared_http: TestClient, fields: dict[str, Any], fault: str
) -> None:
    response = shared_http.post(GENERATE, json={"prompt": "x", **fields})
    assert response.status_code == 400 and fault in response.json()["error"]
    unused = {"template": "", "suffix": "", "context": [], "images": [], "raw": False, "system": ""}
    assert shared_http.post(GENERATE, json={"prompt": "x", **unused}).status_code == 200


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("hello", "messages[0] must be an object"),
        ({"role": "bot", "content": "x"}, "messages[0].role must be 'system', 'user'"),
        ({"content": "x"}, "messages[0].role"),
        ({**TURN, "images": ["aGk="]}, "messages[0].images is not supported"),
        ({"role": "assistant", "tool_calls": {}, "thinking": 3}, "messages[0].thinking must be"),
        ({"role": "assistant", "tool_calls": "x"}, "messages[0].tool_calls must be a list"),
        ({"role": "assistant", "tool_calls": [{}]}, "messages[0].tool_calls[0].function must be"),
        ({"role": "tool", "content": "x", "tool_name": 3}, "messages[0].tool_name must be"),
        ({"role": "user", "content": 3}, "messages[0].content"),
    ],
)
def test_a_wrong_message_is_named(shared_http: TestClient, message: Any, fault: str) -> None:
    response = shared_http.post(CHAT, json={"messages": [message]})
    assert response.status_code == 400 and fault in response.json()["error"], response.text


def test_roles_of_any_case_and_messages_without_content(make_app: MakeApp) -> None:
    http, engine = make_app()
    ask(http, CHAT, messages=[{"role": "User", "content": "the plan?"}])
    ask(http, CHAT)
    assert engine.requests[0].prompt_token_ids == engine.requests[1].prompt_token_ids
    ask(http, CHAT, messages=[TURN, {"role": "assistant"}, TURN])


def test_a_last_message_of_the_assistant_is_continued(make_app: MakeApp) -> None:
    http, engine = make_app()
    turns = [TURN, {"role": "assistant", "content": "The"}]
    ask(http, CHAT, messages=turns)
    http.post("/v1/chat/completions", json={"messages": turns, "continue_final_message": True})
    ours, theirs = engine.requests
    assert ours.prompt_token_ids == theirs.prompt_token_ids


def test_system_and_raw_prompts(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    ask(http, GENERATE, system="the tree")
    ask(http, GENERATE, raw=True)
    with_system, raw = engine.requests
    turns = [{"role": "system", "content": "the tree"}, TURN]
    assert list(with_system.prompt_token_ids) == ChatTemplate(tokenizer).render(turns)
    assert list(raw.prompt_token_ids) == tokenizer.encode("the plan?")


@PATHS
@pytest.mark.parametrize("given", ["json", {"type": "object", "properties": {}}])
def test_a_format_is_a_grammar(make_app: MakeApp, path: str, given: Any) -> None:
    for raw in ({}, {"raw": True}) if path == GENERATE else ({},):
        http, engine = make_app()
        http.post(path, json={**BODIES[path], **raw, "format": given})
        grammar = engine.requests[0].grammar
        assert grammar is not None and grammar.param == "format"
        assert grammar.kind == ("json_object" if given == "json" else "json_schema")


@PATHS
def test_logprobs(http: TestClient, path: str) -> None:
    whole = ask(http, path, logprobs=True, top_logprobs=2)["logprobs"]
    lines = stream(http, path, logprobs=True, top_logprobs=2)
    assert [each for line in lines for each in line.get("logprobs", [])] == whole
    assert {len(each["top_logprobs"]) for each in whole} == {2}
    assert "".join(map(text_of, lines)) == SAID


@PATHS
def test_a_request_without_a_prompt_loads_the_model(make_app: MakeApp, path: str) -> None:
    http, engine = make_app()
    for body in ({}, {"model": "tiny:latest"}, {"keep_alive": "10m", "messages": [], "prompt": ""}):
        answer = http.post(path, json=body).json()
        assert answer["done"] and answer["done_reason"] == "load"
        assert answer["model"] == body.get("model", "tiny")
    assert not engine.requests


@PATHS
def test_names_with_and_without_a_tag(make_app: MakeApp, path: str) -> None:
    http, _ = make_app()
    for name in ("tiny", "tiny:latest"):
        assert ask(http, path, model=name)["model"] == name
    response = http.post(path, json={**BODIES[path], "model": "tiny:7b"})
    assert response.status_code == 404
    assert response.json() == {
        "error": "the model 'tiny:7b' is not served here; this server has 'tiny'"
    }


@PATHS
def test_keys(make_app: MakeApp, path: str) -> None:
    http, _ = make_app(api_key="secret")
    refused = http.post(path, json=BODIES[path])
    assert refused.status_code == 401 and set(refused.json()) == {"error"}
    headers = {"Authorization": "Bearer secret"}
    assert http.post(path, json=BODIES[path], headers=headers).status_code == 200


@PATHS
def test_a_stream_that_fails_ends_with_an_error(make_app: MakeApp, path: str) -> None:
    engine = ScriptedClient([5])
    engine.script = error_script(YaieError("x").to_wire(), after=[5])
    http, _ = make_app(engine)
    *_, last = stream(http, path)
    assert set(last) == {"error"}


@PATHS
def test_bodies_that_are_no_json(shared_http: TestClient, path: str) -> None:
    for content in (b"", b"{", b"[]"):
        response = shared_http.post(path, content=content)
        assert response.status_code == 400 and set(response.json()) == {"error"}


@PATHS
def test_media_types(shared_http: TestClient, path: str) -> None:
    """`curl -d` sends another type; a page of another origin may not."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    content = json.dumps(BODIES[path])
    assert shared_http.post(path, content=content, headers=form).status_code == 200
    foreign = {**form, "Origin": "https://elsewhere.example"}
    refused = shared_http.post(path, content=content, headers=foreign)
    assert refused.status_code == 415 and set(refused.json()) == {"error"}
    zipped = shared_http.post(path, content=content, headers={"Content-Encoding": "gzip"})
    assert zipped.status_code == 415


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5m", 300),
        ("1h30m", 5400),
        ("-1", -1),
        ("0", 0),
        ("1.5s", 1.5),
        ("300ms", 0.3),
        ("-1m", -60),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert read_keep_alive(text) == pytest.approx(seconds)


@given(
    st.text(max_size=12)
    | st.booleans()
    | st.lists(st.integers())
    | st.floats()
    | st.integers()
    | st.just(10**400)  # more than a float holds
)
def test_a_duration_is_read_or_refused(value: Any) -> None:
    try:
        found = read_keep_alive(value)
    except InvalidRequest as error:
        assert error.param == "keep_alive"
    else:
        assert found is None or isinstance(found, int | float)
