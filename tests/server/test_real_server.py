"""Answers of a server process with a real engine, over a real socket.

Driven by the `openai` client, `requests` and `httpx`, as users do.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import requests

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration
CHAT = [{"role": "user", "content": "the plan?"}]


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
        yield client


def test_openai_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="tiny", messages=CHAT, max_tokens=12)
    assert answer.choices[0].finish_reason in ("length", "stop")
    assert answer.usage is not None and answer.usage.prompt_tokens_details is not None
    assert answer.usage.completion_tokens <= 12
    stream = client.chat.completions.create(
        model="tiny",
        messages=CHAT,
        max_tokens=12,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == answer.choices[0].message.content  # greedy: the same, warm or cold
    assert chunks[-1].usage is not None
    details = chunks[-1].usage.prompt_tokens_details
    assert details is not None
    assert details.cached_tokens == answer.usage.prompt_tokens - 1


def test_openai_choices_and_logprobs(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="tiny",
        messages=CHAT,
        n=4,
        max_tokens=6,
        temperature=1.5,
        seed=5,
        logprobs=True,
        top_logprobs=3,
        extra_body={"ignore_eos": True, "return_token_ids": True},
    )
    assert len(answer.choices) == 4
    assert len({tuple(choice.model_extra["token_ids"]) for choice in answer.choices}) > 1  # type: ignore[index]
    for choice in answer.choices:
        assert choice.logprobs is not None and choice.logprobs.content is not None
        assert len(choice.logprobs.content) == 6
        for entry in choice.logprobs.content:
            assert len(entry.top_logprobs) == 3
            assert entry.logprob <= 0
    again = client.chat.completions.create(
        model="tiny", messages=CHAT, n=4, max_tokens=6, temperature=1.5, seed=5,
        extra_body={"ignore_eos": True},
    )  # fmt: skip
    texts = [choice.message.content for choice in answer.choices]
    assert [choice.message.content for choice in again.choices] == texts


def test_openai_completions(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="tiny", prompt=["the is", "the is"], max_tokens=8)
    assert answer.choices[0].text == answer.choices[1].text
    scored = client.completions.create(
        model="tiny", prompt="the tree is", max_tokens=1, echo=True, logprobs=2
    )
    logprobs = scored.choices[0].logprobs
    assert logprobs is not None and logprobs.token_logprobs is not None
    assert logprobs.token_logprobs[0] is None
    assert all(value <= 0 for value in logprobs.token_logprobs[1:] if value is not None)
    text = "".join(
        chunk.choices[0].text
        for chunk in client.completions.create(
            model="tiny", prompt="the is", max_tokens=8, stream=True
        )
    )
    assert text == answer.choices[0].text


def test_prompt_logprobs_do_not_depend_on_the_next_token(server: Server) -> None:
    body = {"prompt": "the is", "echo": True, "max_tokens": 0, "logprobs": 1}
    answers = [
        server.post("/v1/completions", {**body, **fields}).json()["choices"]
        for fields in ({}, {"logit_bias": {"1": 100}}, {"logit_bias": {"1": 100}, "n": 3})
    ]
    for choice in [choice for answer in answers for choice in answer]:
        assert (choice["text"], choice["finish_reason"]) == ("the is", "length")
        assert choice["logprobs"] == answers[0][0]["logprobs"]


def test_openai_models_and_errors(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert client.models.retrieve("tiny") == model
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="other", messages=CHAT)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model="tiny", messages=CHAT, temperature=-1)
    assert wrong.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model="tiny", prompt=[5] * 3000, stream=True)
    assert long.value.code == "context_length_exceeded"


def test_stops_agree_between_document_and_stream(server: Server) -> None:
    body = {"prompt": "the is tree", "max_tokens": 40, "return_token_ids": True}
    whole = server.post("/v1/completions", body).json()["choices"][0]
    text = whole["text"]
    stop = text[len(text) // 2 : len(text) // 2 + 2]
    cut = server.post("/v1/completions", {**body, "stop": stop}).json()["choices"][0]
    assert (cut["finish_reason"], cut["stop_reason"]) == ("stop", stop)
    assert cut["text"] == text[: text.index(stop)]
    streamed, ids = "", []
    response = server.post("/v1/completions", {**body, "stop": stop, "stream": True}, stream=True)
    for line in response.iter_lines():
        if line.startswith(b"data: {"):
            choice = json.loads(line[6:])["choices"][0]
            streamed += choice["text"]
            ids += choice["token_ids"]
    assert (streamed, ids) == (cut["text"], cut["token_ids"])
    server.wait_idle()


def test_different_salts_share_no_prefix(server: Server) -> None:
    body = {"prompt": [412] * 64, "max_tokens": 1}  # no other test's prompt begins so

    def cached(**fields: Any) -> int:
        usage = server.post("/v1/completions", {**body, **fields}).json()["usage"]
        return int(usage["prompt_tokens_details"]["cached_tokens"])

    assert [cached(cache_salt="a"), cached(cache_salt="a")] == [0, 63]
    assert [cached(cache_salt="b"), cached(), cached()] == [0, 0, 63]


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_ends_its_sequences(server: Server, stream: bool) -> None:
    server.wait_idle()
    before = server.stats()["stats"]["num_aborted"]
    body = {"prompt": "the is", "max_tokens": 2000, "n": 4, "ignore_eos": True, "stream": stream}

    async def leave() -> None:
        async with httpx.AsyncClient() as http:
            request = http.build_request("POST", server.url + "/v1/completions", json=body)
            task = asyncio.create_task(http.send(request, stream=True))
            while not server.stats()["stats"]["num_running"]:
                await asyncio.sleep(0.01)
            if stream:
                await (await task).aclose()
            else:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    server.wait_idle()
    assert server.stats()["stats"]["num_aborted"] > before
    outcome = re.search(
        r'requests_total\{outcome="disconnect"\} (\S+)', server.get("/metrics").text
    )
    assert outcome is not None and float(outcome[1]) >= 1


def test_a_batch_gives_the_tokens_of_single_requests(server: Server) -> None:
    prompts = [[5 + i % 7, 9, 11 + i % 3, 13] for i in range(24)]

    async def ask(http: httpx.AsyncClient, prompt: list[int]) -> str:
        body = {"prompt": prompt, "max_tokens": 12, "ignore_eos": True}
        response = await http.post(server.url + "/v1/completions", json=body)
        return str(response.json()["choices"][0]["text"])

    async def ask_all() -> list[str]:
        async with httpx.AsyncClient(timeout=WAIT_S) as http:
            return list(await asyncio.gather(*(ask(http, prompt) for prompt in prompts)))

    together = asyncio.run(ask_all())
    body = {"max_tokens": 12, "ignore_eos": True, "cache_salt": "cold"}
    for prompt, text in list(zip(prompts, together, strict=True))[::5]:
        alone = server.post("/v1/completions", {"prompt": prompt, **body}).json()
        assert alone["choices"][0]["text"] == text


def random_body(draws: random.Random) -> dict[str, Any]:
    """Return an allowed body with settings at the edges of their ranges."""
    edges: dict[str, list[Any]] = {
        "temperature": [0, 1e-300, 1, 100],
        "top_p": [1e-300, 0.5, 1.0],
        "top_k": [-1, 0, 1, 420, 2**62],
        "min_p": [0, 1e-300, 1],
        "repetition_penalty": [0.01, 1.2, 100],
        "presence_penalty": [-2, 2],
        "frequency_penalty": [-2, 2],
        "seed": [0, -(2**63), 2**63 - 1],
        "n": [1, 2, 8],
        "max_tokens": [1, 7, 40],
        "stop_token_ids": [[1], list(range(420))],
        "logit_bias": [{"5": 100}, {str(i): -100 for i in range(420)}],
        "stop": ["e", ["the", "a"], "\x00"],
        "stream": [True],
        "logprobs": [0, 20],
        "echo": [True],
        "priority": [-(2**63), 2**63 - 1],
        "cache_salt": ["a", "b"],
    }
    body = {name: draws.choice(edge) for name, edge in edges.items() if draws.random() < 0.35}
    prompts: list[Any] = ["the", [5] * 400, [[5, 6], [5, 7]], [0], ["a", "b", "c"]]
    return {**body, "prompt": draws.choice(prompts)}


def test_random_settings_and_disconnects_cause_no_error(server: Server) -> None:
    server.wait_idle()
    before = server.stats()
    draws = random.Random(8)

    async def ask(http: httpx.AsyncClient, body: dict[str, Any], patience_s: float) -> None:
        try:
            response = await http.post("/v1/completions", json=body, timeout=patience_s)
        except httpx.TimeoutException:
            assert patience_s < WAIT_S, ("no answer", body)  # else it left on purpose
            return
        assert response.status_code == 200, (body, response.text)
        assert '"error"' not in response.text

    async def ask_all() -> None:
        async with httpx.AsyncClient(base_url=server.url) as http:
            patience = [0.02, 0.2, WAIT_S, WAIT_S]
            asking = [ask(http, random_body(draws), draws.choice(patience)) for _ in range(48)]
            await asyncio.gather(*asking)

    asyncio.run(ask_all())
    server.wait_idle()
    after = server.stats()
    assert after["restarts"] == before["restarts"]
    assert after["stats"]["num_audit_failures"] == 0
    assert after["stats"]["num_live_slots"] == 0


def test_bad_bodies_over_the_socket(server: Server) -> None:
    for raw in (b"{", b"[" * 100_000, b'{"prompt": "\xff"}', b'{"prompt": NaN}'):
        response = requests.post(
            server.url + "/v1/completions",
            data=raw,
            headers={"Content-Type": "application/json"},
            timeout=WAIT_S,
        )
        assert response.status_code == 400
        assert response.json()["error"]["message"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as raw_socket:
        raw_socket.sendall(b"\x00\x01 GET nonsense\r\n\r\n")
        assert b" 400 " in raw_socket.recv(1000)
    assert server.get("/health").status_code == 200


def test_only_the_engine_process_loads_torch(server: Server) -> None:
    server.post("/v1/chat/completions", {"messages": CHAT, "max_tokens": 2})
    ours = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "libtorch" not in ours
    assert "tokenizers" in ours
    assert "libtorch" in Path(f"/proc/{server.engine_pid()}/maps").read_text()


def test_an_import_starts_no_thread() -> None:
    code = (
        "import sys, threading, server.api\n"
        "print('torch' in sys.modules, threading.active_count(), type(server.api.app).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "1", "Application"]
