"""`Client` against the application: outputs, errors, retries and the end of requests."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.remote.conftest import ANSWER, Serve, Served, wait_until
from tests.server.conftest import model as model  # noqa: PLC0414
from tests.server.conftest import server as server  # noqa: PLC0414  (fixtures)
from tests.server.real_server import Server
from tests.server.scripted_client import error_script, silent_script
from yaie import LLM, Client, Grammar, RequestOutput, SamplingParams
from yaie.base.errors import (
    AuthenticationFailed,
    ConfigError,
    ContextLengthExceeded,
    EngineDied,
    EngineUnavailable,
    InvalidRequest,
    Overloaded,
    QueueTimedOut,
    RequestFailed,
    UnknownModel,
    YaieError,
)
from yaie.remote.transport import Exchange
from yaie.text.tokenizer import Tokenizer

CHAT = [{"role": "user", "content": "What is a tree?"}]


def whole(client: Client, *args: Any, **fields: Any) -> tuple[list[Any], RequestOutput]:
    """Return the pieces of a stream and its output."""
    pieces, stream = [], client.stream(*args, **fields)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_prompts_of_all_forms_are_continued_in_order(served: Served, tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("A plan")
    prompts = ["The tree is", ids, {"prompt": "A slot"}]
    outputs = served.client.generate(prompts, SamplingParams(max_tokens=64), return_token_ids=True)
    assert [output.text for output in outputs] == [ANSWER] * 3
    assert [output.prompt for output in outputs] == ["The tree is", None, "A slot"]
    assert outputs[1].prompt_token_ids == tuple(ids)
    assert outputs[1].token_ids == tuple(tokenizer.encode(ANSWER))
    assert outputs[1].usage.prompt_tokens == len(ids)
    assert outputs[1].usage.cached_tokens == len(ids) - 1
    assert outputs[1].finish_reason == "stop" and outputs[1].finished
    sent = {request.prompt_token_ids: request for request in served.engine.requests}
    assert sent[tuple(ids)].sampling.max_tokens == 64
    assert served.client.generate([]) == []


def test_a_conversation_and_text_are_chats(served: Served) -> None:
    outputs = served.client.chat([CHAT, "What is a tree?"], [None, {"max_tokens": 2}])
    assert outputs[0].text == ANSWER
    assert outputs[1].finish_reason == "length"
    first, second = served.engine.requests
    assert first.prompt_token_ids == second.prompt_token_ids


def test_a_whole_answer_and_a_stream_are_equal(served: Served) -> None:
    sampling = SamplingParams(n=2, max_tokens=5, logprobs=1)
    for question in (CHAT, "The tree is"):
        ask = served.client.chat if question is CHAT else served.client.generate
        [answer] = ask(question, sampling, return_token_ids=True)
        pieces, output = whole(served.client, question, sampling, return_token_ids=True)
        for index, choice in enumerate(output.choices):
            own = [piece for piece in pieces if piece.index == index]
            assert "".join(piece.text for piece in own) == choice.text
            assert [piece.finished for piece in own].count(True) == 1
            assert 0 < choice.timings.first_token_s <= choice.timings.total_s
            assert choice.logprobs is not None and len(choice.logprobs) == 5
            assert choice.logprobs[0].rank == 1 and choice.logprobs[0].logprob == -0.5
        plain = [
            replace(
                each,
                request_id="",
                choices=tuple(replace(one, timings=None) for one in each.choices),  # type: ignore[arg-type]
            )
            for each in (answer, output)
        ]
        assert plain[0] == plain[1]


def test_leaving_a_stream_ends_the_request(served: Served) -> None:
    served.engine.script = error_script(RequestFailed("x").to_wire(), after=[5] * 500)
    stream = served.client.stream("The tree is")
    next(stream)
    stream.close()
    wait_until(lambda: len(served.engine.ended) == 1)


def test_a_list_is_refused_with_the_index_of_a_prompt(served: Served) -> None:
    with pytest.raises(ContextLengthExceeded, match=r"^prompt 1: "):
        served.client.generate(["short", "tree " * 400])
    with pytest.raises(InvalidRequest, match=r"^prompt 1: "):
        served.client.generate(["short", 3])  # type: ignore[list-item]
    with pytest.raises(InvalidRequest, match="for a list of them call generate"):
        served.client.stream(["short", "other"])


def test_refusals_have_their_own_classes(serve: Serve) -> None:
    served = serve(api_key="key")
    with pytest.raises(UnknownModel):
        Client(served.url, "key", "other").generate("A")
    with pytest.raises(AuthenticationFailed):
        Client(served.url, "wrong").models()
    with pytest.raises(InvalidRequest) as refusal:
        served.client.generate("A", temperature=-1)
    assert refusal.value.param == "temperature"


@pytest.mark.parametrize("kind", [EngineDied, QueueTimedOut, Overloaded])
def test_busy_servers_are_asked_again(
    kind: type[YaieError], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    served.engine.refusal = kind("busy", retry_after_s=7)

    def wait(self: Exchange, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            served.engine.refusal = None

    monkeypatch.setattr(Exchange, "wait", wait)
    assert served.client.generate("A")[0].text
    assert len(waits) == 2 and all(7 <= seconds <= 8.4 for seconds in waits)
    served.engine.refusal = kind("busy", retry_after_s=7)
    with pytest.raises(kind) as refusal:
        served.client.generate("A")
    assert len(waits) == 5 and refusal.value.retry_after_s == 7
    served.engine.refusal = kind("busy", retry_after_s=31)
    with pytest.raises(kind):
        served.client.generate("A")
    assert len(waits) == 5


def test_a_failure_of_the_engine_is_in_the_output_or_raised_by_the_stream(served: Served) -> None:
    served.engine.script = error_script(RequestFailed("broken").to_wire(), after=[5])
    [output] = served.client.chat(CHAT)
    assert output.error is not None and output.finish_reason == "error"
    stream = served.client.stream(CHAT)
    with pytest.raises(RequestFailed, match="failed inside the engine"):
        list(stream)
    assert "failed inside the engine" in served.client.process_prompt("A").error
    served.engine.script = error_script(EngineDied("gone").to_wire(), after=[5])
    with pytest.raises(EngineDied, match="gone"):
        list(served.client.stream(CHAT))


def test_no_server_is_an_error_with_the_fix() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EngineUnavailable, match=r"refused.*yaie serve"):
        Client(url).models()
    with pytest.raises(ConfigError, match="could be http or https"):
        Client("model.test")


def test_a_silent_server_is_given_up(served: Served) -> None:
    served.engine.script = silent_script
    with pytest.raises(EngineUnavailable, match="raise timeout_s"):
        Client(served.url, timeout_s=0.05).generate("A")


def test_the_url_may_come_from_the_environment(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_BASE_URL", served.url + "/v1")
    assert Client().models() == ["tiny"]
    monkeypatch.delenv("YAIE_BASE_URL")
    assert Client().url == "http://127.0.0.1:8000"


def test_records_have_times_and_rates(served: Served) -> None:
    one = served.client.process_prompt(CHAT)
    assert one.text == ANSWER and one.generated_tokens > 5
    assert one.ttft > 0 and one.tokens_per_second > 0
    good, bad = served.client.process_prompt(["A", "tree " * 400], {"max_tokens": 3})
    assert good.finish_reason == "length" and good.generated_tokens == 3
    assert bad.finish_reason == "error" and "context" in bad.error
    with pytest.raises(ValueError, match="context"):
        served.client.process_prompt("tree " * 400)


def test_prompts_are_counted_and_explained(served: Served) -> None:
    client = served.client
    counted = client.count_tokens(CHAT)
    assert counted == client.chat(CHAT)[0].usage.prompt_tokens
    assert client.count_tokens("The tree") < counted
    wait_until(lambda: client.explain(CHAT)["cached_tokens"] > 0)
    other = client.explain("The tree", compare_with="The plan")
    assert other["cached_tokens"] == 0
    assert other["comparison"]["shared_tokens"] == 1
    assert client.health()["server"] == "yaie"


def test_a_grammar_travels(served: Served) -> None:
    served.client.generate("A", grammar=Grammar.choice(["yes", "no"]))
    served.client.chat("A", grammar={"type": "object"})
    kinds = [request.grammar and request.grammar.kind for request in served.engine.requests]
    assert kinds == ["choice", "json_schema"]


@pytest.mark.integration
def test_a_server_answers_as_the_model_in_this_process(server: Server, model: Path) -> None:
    sampling = SamplingParams(max_tokens=12, temperature=0, n=2)
    prompts = ["The tree is", "A plan of the tree"]
    with LLM(str(model), num_slots=4096, weights_cache="off") as llm, Client(server.url) as client:
        for asked, told in zip(
            llm.generate(prompts, sampling) + llm.chat(CHAT, sampling),
            client.generate(prompts, sampling, return_token_ids=True)
            + client.chat(CHAT, sampling, return_token_ids=True),
            strict=True,
        ):
            assert [each.token_ids for each in asked.choices] == [
                each.token_ids for each in told.choices
            ]
            assert [each.text for each in asked.choices] == [each.text for each in told.choices]
            assert asked.prompt_token_ids == told.prompt_token_ids
            assert asked.usage.prompt_tokens == told.usage.prompt_tokens
        assert llm.count_tokens(CHAT) == client.count_tokens(CHAT)
