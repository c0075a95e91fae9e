"""Text completions: all forms of prompt, echo, and OpenAI's older logprobs."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient
from tokenizers.processors import TemplateProcessing

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO
from yaie.base.types import TokenLogprobs
from yaie.server.replies import delivery
from yaie.server.replies.logprob_formats import CompletionLogprobs, EchoedLogprobs
from yaie.text.tokenizer import Tokenizer

SAID = "The tree 🙂 plan."


def complete(http: TestClient, **fields: Any) -> Any:
    response = http.post("/v1/completions", json={"max_tokens": 100, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def stream(http: TestClient, **fields: Any) -> list[Any]:
    response = http.post("/v1/completions", json={"max_tokens": 100, "stream": True, **fields})
    assert response.status_code == 200, response.text
    events = response.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event[6:]) for event in events[:-2]]


def test_an_answer(http: TestClient, tokenizer: Tokenizer) -> None:
    answer = complete(http, prompt="the is")
    assert answer["id"].startswith("cmpl-")
    assert answer["object"] == "text_completion"
    (choice,) = answer["choices"]
    assert (choice["text"], choice["finish_reason"], choice["logprobs"]) == (SAID, "stop", None)
    num_prompt = len(tokenizer.encode("the is"))
    assert answer["usage"]["prompt_tokens"] == num_prompt
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": num_prompt - 1}


def test_sixteen_tokens_by_default(make_app: MakeApp) -> None:
    http, engine = make_app()
    http.post("/v1/completions", json={"prompt": "x"})
    assert engine.requests[-1].sampling.max_tokens == 16
    # The default shrinks to the rest of the context.
    assert http.post("/v1/completions", json={"prompt": [5] * 250}).status_code == 200
    assert engine.requests[-1].sampling.max_tokens == 6


@pytest.mark.parametrize(
    ("prompt", "num_prompts"),
    [("a", 1), (["a", "b"], 2), ([5, 6], 1), ([[5, 6], [7]], 2), (["a", [5, 6]], 2)],
)
def test_forms_of_prompts(make_app: MakeApp, prompt: Any, num_prompts: int) -> None:
    http, engine = make_app()
    answer = complete(http, prompt=prompt, n=2, return_token_ids=True)
    assert len(engine.requests) == num_prompts
    assert [choice["index"] for choice in answer["choices"]] == list(range(2 * num_prompts))
    assert {choice["text"] for choice in answer["choices"]} == {SAID}
    prompts = [list(request.prompt_token_ids) for request in engine.requests]
    shown = [choice["prompt_token_ids"] for choice in answer["choices"]]
    assert shown == [ids for ids in prompts for _ in range(2)]
    assert len({request.request_id for request in engine.requests}) == num_prompts


@pytest.mark.parametrize("n", [1, 2])
def test_a_stream_has_the_ids_of_every_prompt(http: TestClient, n: int) -> None:
    chunks = stream(http, prompt=[[5, 6], [7]], n=n, return_token_ids=True)
    of_choices: dict[int, list[Any]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            shown = of_choices.setdefault(choice["index"], [])
            shown += [choice["prompt_token_ids"]] if "prompt_token_ids" in choice else []
    assert of_choices == {i: [[[5, 6], [7]][i // n]] for i in range(2 * n)}


def test_calls_beyond_the_capacity_are_refused(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_running=4, max_waiting=2)
    fitting = complete(http, prompt=["a"] * 6)
    assert len(fitting["choices"]) == 6
    assert len(complete(http, prompt=["a"] * 3, n=4)["choices"]) == 12
    for prompts, n in ((7, 1), (4, 4), (5, 2)):
        response = http.post("/v1/completions", json={"prompt": ["a"] * prompts, "n": n})
        error = response.json()["error"]
        assert (response.status_code, error["param"]) == (400, "prompt")
        assert f"{prompts} prompts with n={n}" in error["message"]
    assert len(engine.requests) == 9  # without those of the refused calls


def test_prompts_beyond_the_waiting_tokens_are_refused(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.info = replace(INFO, max_waiting_tokens=6, max_step_rows=4)
    assert len(complete(http, prompt=[[5, 6, 7, 8, 9], [5, 6, 7, 8, 9]])["choices"]) == 2
    assert len(complete(http, prompt=[[5] * 11])["choices"]) == 1  # alone: an empty queue takes it
    error = http.post("/v1/completions", json={"prompt": [[5] * 5, [6] * 6]}).json()["error"]
    assert error["param"] == "prompt" and "2 prompts of 11 tokens" in error["message"]
    assert len(engine.requests) == 3


def test_a_stream_of_several(http: TestClient) -> None:
    chunks = stream(http, prompt=["a", "b"], n=2, stream_options={"include_usage": True})
    texts = [""] * 4
    reasons: list[Any] = [None] * 4
    for chunk in chunks[:-1]:
        (choice,) = chunk["choices"]
        texts[choice["index"]] += choice["text"]
        reasons[choice["index"]] = choice["finish_reason"] or reasons[choice["index"]]
    assert texts == [SAID] * 4
    assert reasons == ["stop"] * 4
    assert chunks[-1]["usage"]["completion_tokens"] > 0


def test_echo(http: TestClient, tokenizer: Tokenizer) -> None:
    assert complete(http, prompt="the ", echo=True)["choices"][0]["text"] == "the " + SAID
    ids = tokenizer.encode("the is")
    assert complete(http, prompt=ids, echo=True)["choices"][0]["text"] == "the is" + SAID
    text = "".join(c["choices"][0]["text"] for c in stream(http, prompt="the ", echo=True))
    assert text == "the " + SAID


def test_log_probabilities(http: TestClient, tokenizer: Tokenizer) -> None:
    logprobs = complete(http, prompt="x", logprobs=1)["choices"][0]["logprobs"]
    num_said = len(tokenizer.encode(SAID))
    assert all(len(each) == num_said for each in logprobs.values())
    assert logprobs["token_logprobs"] == [-0.5] * num_said
    assert logprobs["text_offset"][0] == 0
    assert "bytes:\\x99" in logprobs["tokens"]  # the emoji is in several tokens
    assert SAID[logprobs["text_offset"][-1] :] == logprobs["tokens"][-1]
    assert logprobs["top_logprobs"][0] == {logprobs["tokens"][0]: -0.5}
    streamed: dict[str, list[Any]] = {}
    for chunk in stream(http, prompt="x", logprobs=1):
        for name, values in (chunk["choices"][0]["logprobs"] or {}).items():
            streamed.setdefault(name, []).extend(values)
    assert streamed == logprobs


def test_prompt_logprobs_without_a_completion(http: TestClient, tokenizer: Tokenizer) -> None:
    answer = complete(http, prompt="the is", echo=True, logprobs=1, max_tokens=0)
    (choice,) = answer["choices"]
    assert choice["text"] == "the is"
    assert choice["logprobs"]["token_logprobs"] == [None, *[-0.5] * (
        len(tokenizer.encode("the is")) - 1
    )]  # fmt: skip
    assert "".join(choice["logprobs"]["tokens"]) == "the is"
    assert answer["usage"]["completion_tokens"] == 0


def test_stop_fields_do_not_end_an_empty_completion(make_app: MakeApp) -> None:
    http, engine = make_app()
    body = {"prompt": "the is", "echo": True, "max_tokens": 0}
    (choice,) = complete(http, **body, stop=["T", "The"], stop_token_ids=[5])["choices"]
    assert (choice["text"], choice["finish_reason"]) == ("the is", "length")
    assert choice["stop_reason"] is None
    sampling = engine.requests[-1].sampling
    assert (sampling.stop, sampling.stop_token_ids, sampling.ignore_eos) == ((), (), True)
    response = http.post("/v1/completions", json={**body, "min_tokens": 2})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"] == "min_tokens must be at most max_tokens (0)"
    assert error["param"] == "min_tokens"


def test_logprobs_of_prompt_and_completion(http: TestClient, tokenizer: Tokenizer) -> None:
    choice = complete(http, prompt="the ", echo=True, logprobs=1)["choices"][0]
    num_tokens = len(tokenizer.encode("the ")) + len(tokenizer.encode(SAID))
    assert all(len(each) == num_tokens for each in choice["logprobs"].values())
    assert choice["logprobs"]["token_logprobs"][0] is None


def test_echoed_logprobs_are_encoded_once_in_a_thread(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "MAX_LOGPROBS_ON_THE_LOOP", 8)
    written_in: list[str] = []
    write = CompletionLogprobs.write_echo

    def watched(self: CompletionLogprobs, *arguments: Any) -> EchoedLogprobs:
        written_in.append(threading.current_thread().name)
        return write(self, *arguments)

    monkeypatch.setattr(CompletionLogprobs, "write_echo", watched)
    prompts = ["the tree is the plan", "the 🙂"]
    body = {"prompt": prompts, "n": 3, "echo": True, "logprobs": 1}
    choices = complete(http, **body)["choices"]
    for choice in choices:
        text = prompts[choice["index"] // 3] + SAID
        assert choice["text"] == text
        logprobs = choice["logprobs"]
        assert text[logprobs["text_offset"][-1] :] == logprobs["tokens"][-1]
        assert logprobs["token_logprobs"][:2] == [None, -0.5]
    streamed: list[dict[str, list[Any]]] = [{} for _ in choices]
    for chunk in stream(http, **body):
        (choice,) = chunk["choices"]
        for name, values in (choice["logprobs"] or {}).items():
            streamed[choice["index"]].setdefault(name, []).extend(values)
    assert streamed == [choice["logprobs"] for choice in choices]
    assert len(written_in) == 2 * len(prompts)
    assert all(name.startswith("yaie-write") for name in written_in)


def test_of_tokens_with_the_same_text_the_most_likely_is_shown() -> None:
    tokenizer: Any = SimpleNamespace(token_bytes=lambda token_id: b"ab"[token_id % 2 :][:1])
    tokenizer.special_ids = frozenset()
    top = ((0, -0.1), (1, -2.0), (2, -3.0))  # the first and the last are both "a"
    one = TokenLogprobs(token_id=1, logprob=-2.0, rank=2, top=top)
    written = CompletionLogprobs(tokenizer, skip_special_tokens=True).write([1], [one])
    assert written.top_logprobs == [{"a": -0.1, "b": -2.0}]


def test_offsets_skip_hidden_special_tokens(http: TestClient, tokenizer: Tokenizer) -> None:
    end = tokenizer.eos_token_id
    ids = [end, *tokenizer.encode("the is")]
    literal = len("<|im_end|>")
    for prompt, skips, offset in (
        (ids, True, 0),
        (ids, False, literal),
        ("<|im_end|>the is", True, literal),  # special tokens written by a client are echoed
    ):
        answer = complete(http, prompt=prompt, echo=True, logprobs=1, skip_special_tokens=skips)
        (choice,) = answer["choices"]
        assert choice["text"][offset:] == "the is" + SAID
        offsets = choice["logprobs"]["text_offset"]
        assert offsets[:2] == [0, offset]
        assert choice["text"][offsets[-1] :] == choice["logprobs"]["tokens"][-1]


def test_best_of_must_equal_n(http: TestClient) -> None:
    assert len(complete(http, prompt="x", n=2, best_of=2)["choices"]) == 2
    response = http.post("/v1/completions", json={"prompt": "x", "best_of": 3})
    assert (response.status_code, response.json()["error"]["param"]) == (400, "best_of")


def test_token_ids_in_chunks(http: TestClient, tokenizer: Tokenizer) -> None:
    chunks = stream(http, prompt=[5, 6], return_token_ids=True)
    assert chunks[0]["prompt_token_ids"] == [5, 6]
    ids = [i for chunk in chunks for i in chunk["choices"][0]["token_ids"]]
    assert ids == tokenizer.encode(SAID)


def test_special_tokens_of_the_tokenizer(make_app: MakeApp) -> None:
    http, engine = make_app()
    loaded = http.app.state.service.model().tokenizer  # type: ignore[attr-defined]
    begin = "<|im_start|>"
    loaded.fast.post_processor = TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, loaded.fast.token_to_id(begin))]
    )
    for adds in (None, True, False):
        complete(http, prompt="the", add_special_tokens=adds)
    default, added, plain = (request.prompt_token_ids for request in engine.requests)
    assert default == added == (loaded.fast.token_to_id(begin), *plain)


def test_truncated_prompts_keep_their_last_tokens(make_app: MakeApp, tokenizer: Tokenizer) -> None:
    http, engine = make_app()
    ids = list(range(5, 205))
    answer = complete(http, prompt=ids, truncate_prompt_tokens=3, echo=True)
    assert engine.requests[-1].prompt_token_ids == tuple(ids[-3:])
    assert answer["choices"][0]["text"] == tokenizer.decode(ids[-3:]) + SAID
    text = "the plan " * 400
    for fields, kept in (({"max_tokens": 100}, 156), ({"max_tokens": None}, 255)):
        complete(http, prompt=text, truncate_prompt_tokens=-1, **fields)
        assert engine.requests[-1].prompt_token_ids == tuple(tokenizer.encode(text)[-kept:])
    complete(http, prompt=[5, 6], truncate_prompt_tokens=3)
    assert engine.requests[-1].prompt_token_ids == (5, 6)


@pytest.mark.parametrize("kept", [1, 3, 254, -1])
def test_the_truncation_side_chooses_the_end_that_is_cut(make_app: MakeApp, kept: int) -> None:
    http, engine = make_app()
    ids = tuple(range(5, 305))
    number = 255 if kept == -1 else kept  # of a context of 256, one token is the answer's
    for side, wanted in (("left", ids[-number:]), ("right", ids[:number])):
        fields = {"truncate_prompt_tokens": kept, "truncation_side": side, "max_tokens": 1}
        complete(http, prompt=list(ids), **fields)
        assert engine.requests[-1].prompt_token_ids == wanted
    chat = {"messages": [{"role": "user", "content": "the plan " * 20}]}
    whole = http.post("/tokenize", json=chat).json()["tokens"]
    fields = {"truncate_prompt_tokens": 5, "truncation_side": "right"}
    assert http.post("/tokenize", json=chat | fields).json()["tokens"] == whole[:5]
    assert http.post("/v1/chat/completions", json=chat | fields).status_code == 200
    assert engine.requests[-1].prompt_token_ids == tuple(whole[:5])
