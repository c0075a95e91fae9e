"""Chat completions: documents, streams and the engine's requests."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.client.scripted_core import INFO
from tests.server.conftest import MakeApp
from tests.server.scripted_client import ScriptedClient
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.server.requests import translator
from yaie.server.schemas.chat import ChatBody
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import Tokenizer

SAID = "The tree 🙂 plan."
MESSAGES = [{"role": "user", "content": "the plan?"}]


def chat(http: TestClient, **fields: Any) -> Any:
    response = http.post("/v1/chat/completions", json={"messages": MESSAGES, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def stream(http: TestClient, **fields: Any) -> list[Any]:
    body = {"messages": MESSAGES, "stream": True, **fields}
    response = http.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    events = response.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all(event.startswith("data: ") for event in events[:-1])
    return [json.loads(event[6:]) for event in events[:-2]]


def test_an_answer(http: TestClient, tokenizer: Tokenizer) -> None:
    answer = chat(http)
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "tiny")
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": SAID, "refusal": None}
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "stop", None)
    num_prompt = len(ChatTemplate(tokenizer).render(MESSAGES))
    num_said = len(tokenizer.encode(SAID))
    for fresh in ("processing_time", "tokens_per_second"):
        assert answer["usage"].pop(fresh) > 0
    assert answer["usage"] == {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_said,
        "total_tokens": num_prompt + num_said,
        "prompt_tokens_details": {"cached_tokens": num_prompt - 1},
    }


def test_a_stream(http: TestClient) -> None:
    chunks = stream(http, stream_options={"include_usage": True})
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    first, *middle, last, usage = chunks
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in middle) == SAID
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in [first, *middle])
    assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == ({}, "stop")
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_a_stream_has_usage_only_on_request(http: TestClient) -> None:
    assert all("usage" not in chunk for chunk in stream(http))


def test_choices_of_n(http: TestClient) -> None:
    answer = chat(http, n=3)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in answer["choices"]} == {SAID}
    texts = ["", "", ""]
    for chunk in stream(http, n=3):
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["delta"].get("content", "")
    assert texts == [SAID] * 3


def test_a_stop_string_is_never_shown(make_app: MakeApp) -> None:
    http, engine = make_app()
    answer = chat(http, stop=["plan", "zzz"], n=2)
    for choice in answer["choices"]:
        assert choice["message"]["content"] == "The tree 🙂 "
        assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", "plan")
    chunks = stream(http, stop="plan")
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == "The tree 🙂 "
    assert len(engine.ended) == 2  # the rest was aborted


@pytest.mark.parametrize(
    ("fields", "shown", "stop"),
    [
        ({"stop_regex": r"pl\w"}, "The tree 🙂 ", r"pl\w"),
        ({"stop_regex": ["x+", r"\s[^a-z]"], "stop": "plan"}, "The tree", r"\s[^a-z]"),
        ({"stop_regex": r"\W+p", "stop": ["🙂 "]}, "The tree ", "🙂 "),
        ({"stop_regex": r"\W+p", "include_stop_str_in_output": True}, "The tree 🙂 p", r"\W+p"),
        ({"stop_regex": "zzz"}, SAID, None),
        ({"stop_regex": []}, SAID, None),
    ],
)
def test_a_match_of_a_stop_pattern_ends_the_answer(
    http: TestClient, fields: Any, shown: str, stop: str | None
) -> None:
    (choice,) = chat(http, **fields)["choices"]
    assert (choice["message"]["content"], choice["stop_reason"]) == (shown, stop)
    chunks = stream(http, **fields)
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == shown
    assert chunks[-1]["choices"][0]["stop_reason"] == stop


def test_a_stop_pattern_that_times_out_ends_the_request(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yaie.text.stop_patterns.TIMEOUT_S", 0.0)
    body = {"messages": MESSAGES, "stop_regex": r"(.?){60}.{60}\x00"}
    response = http.post("/v1/chat/completions", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "stop_regex")
    assert "stop_regex took more than" in error["message"]


def test_one_of_two_sequences_is_aborted_alone(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    engine.answer = tokenizer.encode("a END b")

    async def differ(request: Any) -> Any:
        async for delta in engine.say(request):
            if delta.index == 0 or b"E" not in tokenizer.token_bytes(delta.token_ids[0]):
                yield delta

    engine.script = differ
    answer = chat(http, n=2, stop="END")
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["stop", "stop"]
    assert answer["choices"][0]["message"]["content"] == "a "
    assert engine.aborted == [(engine.requests[0].request_id, 0)]


def test_log_probabilities(http: TestClient) -> None:
    content = chat(http, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]["content"]
    assert b"".join(bytes(entry["bytes"]) for entry in content).decode() == SAID
    assert all(entry["logprob"] == -0.5 for entry in content)
    assert all(len(entry["top_logprobs"]) == 2 for entry in content)
    assert content[0]["top_logprobs"][1]["logprob"] == -9999.0  # stands for -inf
    streamed = [
        entry
        for chunk in stream(http, logprobs=True, top_logprobs=2)
        for entry in (chunk["choices"][0]["logprobs"] or {"content": []})["content"]
    ]
    assert streamed == content
    assert chat(http, logprobs=True)["choices"][0]["logprobs"]["content"][0]["top_logprobs"] == []


def test_token_ids_beside_the_text(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    answer = chat(http, return_token_ids=True)
    assert answer["prompt_token_ids"] == list(engine.requests[0].prompt_token_ids)
    assert answer["choices"][0]["token_ids"] == tokenizer.encode(SAID)
    chunks = stream(http, return_token_ids=True)
    assert chunks[0]["prompt_token_ids"] == answer["prompt_token_ids"]
    ids = [i for chunk in chunks for i in chunk["choices"][0].get("token_ids", [])]
    assert ids == tokenizer.encode(SAID)


def test_fields_reach_the_engine(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    chat(
        http,
        model="tiny",
        n=2,
        max_completion_tokens=7,
        max_tokens=99,
        temperature=0.5,
        top_p=0.9,
        top_k=5,
        min_p=0.1,
        seed=11,
        presence_penalty=0.5,
        frequency_penalty=-0.5,
        repetition_penalty=1.1,
        logit_bias={"5": 3},
        stop_token_ids=[9],
        min_tokens=2,
        ignore_eos=True,
        stop=["x"],
        skip_special_tokens=False,
        cache_salt="tenant",
        priority=-3,
        queue_timeout_s=2.5,
        user="someone",
        metadata={"a": "b"},
    )
    request = engine.requests[-1]
    sampling = request.sampling
    assert request.prompt_token_ids == tuple(ChatTemplate(tokenizer).render(MESSAGES))
    assert (request.cache_salt, request.priority) == ("tenant", -3)
    assert request.queue_timeout_s == 2.5
    assert (sampling.n, sampling.max_tokens, sampling.min_tokens) == (2, 7, 2)
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 5)
    assert (sampling.min_p, sampling.seed, sampling.repetition_penalty) == (0.1, 11, 1.1)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (0.5, -0.5)
    assert sampling.logit_bias == {5: 3.0}
    assert (sampling.stop_token_ids, sampling.ignore_eos) == ((9,), True)
    assert (sampling.stop, sampling.skip_special_tokens) == (("x",), False)


def test_null_fields_take_the_defaults(make_app: MakeApp) -> None:
    http, engine = make_app()
    chat(http, temperature=None, n=None, stop=None, tools=None)
    sampling = engine.requests[-1].sampling
    assert (sampling.max_tokens, sampling.n, sampling.temperature) == (None, 1, 1.0)


def test_the_models_own_defaults(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    engine = ScriptedClient(tokenizer.encode(SAID))
    assert engine.info is not None
    engine.info = replace(engine.info, default_sampling={"temperature": 0.25, "top_k": 3})
    http, _ = make_app(engine)
    chat(http, top_k=2)
    sampling = engine.requests[-1].sampling
    assert (sampling.temperature, sampling.top_k) == (0.25, 2)


def test_tools_are_shown_to_the_model(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    tool = {"type": "function", "function": {"name": "add_numbers", "parameters": {}}}
    for choice, is_shown in (("auto", True), (None, True), ("none", False)):
        chat(http, tools=[tool], tool_choice=choice, max_tokens=3)
        prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids)
        assert ("add_numbers" in prompt) is is_shown


def test_template_variables(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    chat(http, chat_template_kwargs={"shout": "hey"}, add_generation_prompt=False)
    prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, skip_special_tokens=False)
    assert prompt.endswith("<|im_end|>\nHEY")


@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_effort_none_turns_the_reasoning_off(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, name: str, path: str
) -> None:
    http, engine = make_app()
    tokenizer = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    template = "{{ messages[0].content }}{% if NAME is not defined or NAME %}<think>{% endif %}"
    monkeypatch.setattr(tokenizer.hf, "chat_template", template.replace("NAME", name))
    for effort, is_on in (("none", False), ("low", True), (None, True)):
        given = {"messages": MESSAGES, "reasoning_effort": effort}
        if path == "responses":
            given = {"input": "x", "reasoning": {"effort": effort}}
        response = http.post(f"/v1/{path}", json=given)
        assert response.status_code == 200, response.text
        prompt = tokenizer.decode(list(engine.requests[-1].prompt_token_ids))
        assert ("<think>" in prompt) is is_on
        assert ("X-YAIE-Ignored-Params" in response.headers) is (effort == "low")


def test_reasoning_effort_is_for_the_template(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    body = {"messages": MESSAGES, "reasoning_effort": "high"}
    response = http.post("/v1/chat/completions", json=body)
    assert response.headers["X-YAIE-Ignored-Params"] == "reasoning_effort"  # not in this template
    reads = "{{ messages[0].content }} thinks {{ reasoning_effort or 'little' }}"
    tokenizer = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(tokenizer.hf, "chat_template", reads)
    for fields, effort in (
        ({"reasoning_effort": "high"}, "high"),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low"}}, "low"),
        ({}, "little"),
        ({"reasoning_effort": None}, "little"),
    ):
        response = http.post("/v1/chat/completions", json={"messages": MESSAGES, **fields})
        assert "X-YAIE-Ignored-Params" not in response.headers
        prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids)
        assert prompt.endswith(f"thinks {effort}")


def test_fields_without_effect_are_named(
    make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ScriptedClient(tokenizer.encode(SAID))
    http, _ = make_app(engine, tool_call_parser="none")
    body = {
        "messages": MESSAGES,
        "tools": [{"type": "function", "function": {"name": "add_numbers"}}],
        "chat_template_kwargs": {"shout": "hey", "enable_thinking": False, "a b\n": 1},
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "priority": 3,
    }

    def named(**fields: Any) -> list[str]:
        response = http.post("/v1/chat/completions", json={**body, **fields})
        assert response.status_code == 200, response.text
        return response.headers["X-YAIE-Ignored-Params"].split(", ")

    unread = ["chat_template_kwargs.enable_thinking", "chat_template_kwargs.?"]
    stats = "stream_options.include_obfuscation"
    assert named() == ["priority", stats, *unread]
    assert named(priority=0, stream_options={"include_usage": True}) == unread
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", "{{ messages[0].content }}")
    assert engine.info is not None
    engine.info = replace(engine.info, policy="priority")
    unread = ["chat_template_kwargs.shout", *unread]
    assert named() == [stats, "tools", *unread]
    assert named(tool_choice="none") == [stats, *unread]


def test_top_p_0_and_prediction_are_accepted(make_app: MakeApp) -> None:
    http, engine = make_app()
    chat(http, top_p=0, prediction={"type": "content", "content": "The tree"})
    assert 0 < engine.requests[-1].sampling.top_p < 1e-6


def test_a_prediction_travels_to_the_engine_as_tokens(
    make_app: MakeApp, tokenizer: Tokenizer
) -> None:
    http, engine = make_app()
    assert engine.info is not None
    engine.info = replace(engine.info, max_draft_tokens=8)
    texts = [{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]
    for content, text in (("The tree", "The tree"), (texts, "One\ntwo"), ("", "")):
        chat(http, prediction={"type": "content", "content": content}, speculate=bool(text))
        assert engine.requests[-1].prediction == tuple(tokenizer.encode(text))
        assert engine.requests[-1].speculate is bool(text)
    for wrong, param in (({"type": "other"}, "type"), ({"content": 3}, "content")):
        reply = http.post("/v1/chat/completions", json={"messages": MESSAGES, "prediction": wrong})
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] == f"prediction.{param}"


def test_a_prediction_ends_before_a_token_without_a_logit(
    make_app: MakeApp, tokenizer: Tokenizer
) -> None:
    http, engine = make_app()
    assert engine.info is not None
    ids = tokenizer.encode("The tree grows")
    engine.info = replace(engine.info, vocab_size=max(ids), max_draft_tokens=8)
    chat(http, prediction={"type": "content", "content": "The tree grows"})
    assert engine.requests[-1].prediction == tuple(ids[: ids.index(max(ids))])


def test_only_predictions_that_serve_drafts_are_tokenized_and_only_their_beginning(
    make_app: MakeApp, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, engine = make_app()
    assert engine.info is not None
    engine.info = replace(engine.info, max_draft_tokens=8)
    prediction = {"type": "content", "content": "one, two, " * 20_000}
    encode, tokenized = Tokenizer.encode, 0

    def counted(self: Tokenizer, text: str, *arguments: Any, **fields: Any) -> list[int]:
        nonlocal tokenized
        tokenized += len(text)
        return encode(self, text, *arguments, **fields)

    monkeypatch.setattr(Tokenizer, "encode", counted)
    chat(http, prediction=prediction)
    assert len(engine.requests[-1].prediction) == engine.info.max_model_len
    assert tokenized < 10_000
    unused: list[dict[str, Any]] = [
        {"speculate": False},
        {"response_format": {"type": "json_object"}},
    ]
    for fields in unused:
        chat(http, prediction=prediction, **fields)
        assert engine.requests[-1].prediction == ()
    engine.info = replace(engine.info, max_draft_tokens=0)
    chat(http, prediction=prediction)
    assert engine.requests[-1].prediction == ()
    assert tokenized < 10_000


def test_usage_counts_draft_tokens(make_app: MakeApp) -> None:
    http, engine = make_app()
    say = engine.script

    async def with_drafts(request: GenerationRequest) -> AsyncGenerator[TokenDelta, None]:
        async for delta in say(request):
            yield msgspec.structs.replace(delta, num_accepted=1, num_rejected=2)

    assert "completion_tokens_details" not in chat(http)["usage"]
    engine.script = with_drafts
    usage = chat(http)["usage"]
    number = usage["completion_tokens"]
    assert usage["completion_tokens_details"] == {
        "reasoning_tokens": 0,
        "accepted_prediction_tokens": number,
        "rejected_prediction_tokens": 2 * number,
    }


def test_unknown_fields_are_named(http: TestClient) -> None:
    body = {"messages": MESSAGES, "speling": 1, "user": "u", "bad\nname": 2}
    response = http.post("/v1/chat/completions", json=body)
    assert response.status_code == 200
    assert response.headers["X-YAIE-Ignored-Params"] == "speling, ?"
    nulls = {"reasoning_effort": None, "speling": None, "guided_json": None, "tools": None}
    for fields in ({"user": "u"}, nulls):  # null is the same as left out
        response = http.post("/v1/chat/completions", json={"messages": MESSAGES, **fields})
        assert response.status_code == 200
        assert "X-YAIE-Ignored-Params" not in response.headers


def test_the_last_message_is_continued(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    messages = [*MESSAGES, {"role": "assistant", "content": "The tree"}]
    for fields in ({}, {"add_generation_prompt": False}):
        chat(http, messages=messages, continue_final_message=True, **fields)
        prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, skip_special_tokens=False)
        assert prompt.endswith("<|im_start|>assistant\nThe tree")
    chat(http, messages=messages, continue_final_message=False)
    prompt = tokenizer.decode(engine.requests[-1].prompt_token_ids, skip_special_tokens=False)
    assert prompt.endswith("<|im_start|>assistant\n")


def test_a_template_that_hides_the_last_message_cannot_continue_it(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.hf, "chat_template", "{{ messages[0].content }}")
    messages = [*MESSAGES, {"role": "assistant", "content": "The tree"}]
    body = {"messages": messages, "continue_final_message": True}
    response = http.post("/v1/chat/completions", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "continue_final_message"


@pytest.mark.parametrize("n", [1, 2])
def test_continuous_usage_counts_what_was_sent(
    http: TestClient, tokenizer: Tokenizer, n: int
) -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    *chunks, last = stream(http, n=n, stream_options=options)
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts[0] == 0
    assert counts == sorted(counts)
    assert counts[-1] == last["usage"]["completion_tokens"] == n * len(tokenizer.encode(SAID))
    assert {chunk["usage"]["prompt_tokens"] for chunk in chunks} == {last["usage"]["prompt_tokens"]}
    only = {"continuous_usage_stats": True}
    assert all("usage" not in chunk for chunk in stream(http, stream_options=only))


def test_the_fingerprint_is_that_of_the_model_and_its_settings(
    make_app: MakeApp, tokenizer: Tokenizer
) -> None:
    http, _ = make_app()
    first = chat(http)["system_fingerprint"]
    assert first.startswith("fp_")
    assert {chunk["system_fingerprint"] for chunk in stream(http, seed=5)} == {first}
    assert chat(make_app()[0], temperature=0)["system_fingerprint"] == first
    engine = ScriptedClient(tokenizer.encode(SAID))
    assert engine.info is not None
    engine.info = replace(engine.info, quantization="int8")
    assert chat(make_app(engine)[0])["system_fingerprint"] != first


def test_the_tier_is_named_on_request(http: TestClient) -> None:
    assert "service_tier" not in chat(http)
    assert chat(http, service_tier="auto")["service_tier"] == "default"
    assert {chunk["service_tier"] for chunk in stream(http, service_tier="flex")} == {"default"}


def test_tools_and_template_options_are_checked_once_a_chat(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for name in ("check_tools", "make_conversation"):
        original = getattr(translator, name)

        def noted(*arguments: Any, name: str = name, original: Any = original) -> Any:
            made.append(name)
            return original(*arguments)

        monkeypatch.setattr(translator, name, noted)
    call = translator.Translator(tokenizer, INFO).chat(ChatBody(messages=MESSAGES))
    assert call.digest is not None
    assert call.next_turn is not None
    said = [*MESSAGES, {"role": "assistant", "content": SAID}]
    assert len(call.next_turn.render(said)) > len(call.requests[0].prompt_token_ids)
    assert made == ["check_tools", "make_conversation"]
