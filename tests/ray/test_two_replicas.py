"""`yaie serve --ray` with two replicas over real sockets: answers, errors, and lost processes.

One server for the module: Ray takes ten seconds to start. Nothing here needs the order of tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.real_server import Server

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]
pytest.importorskip("ray.serve", reason="needs the extra yaie[ray]: make test-ray")

KEY = {"Authorization": "Bearer alice"}


class RayServer(Server):
    """`yaie serve --ray` with two replicas."""

    wait_s = 170.0

    def command(self) -> list[str]:
        return [*(self.python, "-m", "yaie", "serve", "--ray"), "--port", str(self.port)]

    def ask(self, path: str = "/v1/chat/completions", **body: Any) -> requests.Response:
        body = {"model": "tiny", "max_tokens": 8, "temperature": 0, **body}
        if "messages" not in body and "prompt" not in body:
            body["messages"] = [{"role": "user", "content": "What is a radix tree?"}]
        return self.post(path, body, headers=KEY, stream=bool(body.get("stream")))

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples with these labels."""
        found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", self.get("/metrics").text, re.MULTILINE)
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(value) for shown, value in found if all(w in shown for w in wanted))

    def wait_for_both(self) -> None:
        self.wait_until(lambda: self.metric("yaie_replicas", state="ready") == 2, "two replicas")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayServer]:
    log = tmp_path_factory.mktemp("ray") / "server.log"
    variables = {"NUM_SLOTS": "4000", "REPLICAS": "2", "EXACT": "1", "API_KEY": "alice,bob"}
    settings = {f"YAIE_{name}": value for name, value in variables.items()}
    found = RayServer(Path("builtin"), log, **settings)
    try:
        found.wait_for_both()
        yield found
        engines = found.engine_pids()
        assert found.stop() == 0, log.read_text()
        assert not any("yaie" in _command(pid) for pid in engines)
    finally:
        found.process.kill()


def events(response: requests.Response) -> Iterator[dict[str, Any]]:
    assert response.status_code == 200, response.text
    for line in response.iter_lines():
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def test_engines_have_the_priority_of_the_server(server: RayServer) -> None:
    pids = (server.process.pid, *server.engine_pids())
    assert len({os.getpriority(os.PRIO_PROCESS, pid) for pid in pids}) == 1


def test_a_chat_names_its_replica_and_hits_it_again(server: RayServer) -> None:
    question = [{"role": "user", "content": "Tell a story about " + "a tree and " * 40}]
    first, second = (server.ask(messages=question) for _ in range(2))
    assert first.status_code == 200 and second.status_code == 200
    usages = [each.json()["usage"] for each in (first, second)]
    assert usages[1]["prompt_tokens_details"]["cached_tokens"] == usages[0]["prompt_tokens"] - 1
    assert first.json()["choices"] == second.json()["choices"]
    assert first.headers["X-YAIE-Replica"] == second.headers["X-YAIE-Replica"]


def test_cold_prompts_go_to_both_replicas(server: RayServer) -> None:
    prompts = [f"{number} " * 60 for number in range(16)]
    found = {server.ask("/v1/completions", prompt=p).headers["X-YAIE-Replica"] for p in prompts}
    assert len(found) == 2
    assert server.metric("yaie_router_requests_total", reason="cold") >= 6


def test_a_stream_has_every_token_and_the_usage(server: RayServer) -> None:
    whole = server.ask(max_tokens=20).json()
    options = {"include_usage": True}
    response = server.ask(max_tokens=20, stream=True, stream_options=options)
    assert response.headers["X-YAIE-Replica"]
    found = list(events(response))
    pieces = [each["choices"][0]["delta"].get("content") or "" for each in found if each["choices"]]
    assert "".join(pieces) == whole["choices"][0]["message"]["content"]
    assert found[-1]["usage"]["completion_tokens"] == 20


def test_schemas_stops_and_several_choices(server: RayServer) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = server.ask(response_format=form, max_tokens=40).json()
    assert json.loads(answer["choices"][0]["message"]["content"])["a"] in (1, 2)
    text = server.ask(max_tokens=20).json()["choices"][0]["message"]["content"]
    stop = text.split()[4]
    for n in (1, 2):
        stopped = server.ask(max_tokens=20, stop=[stop], n=n, seed=3).json()
        assert [each["finish_reason"] for each in stopped["choices"]] == ["stop"] * n
        assert all(stop not in each["message"]["content"] for each in stopped["choices"])


@pytest.mark.parametrize(
    ("body", "param"),
    [({"temperature": 9999}, "temperature"), ({"structured_outputs": {"regex": "("}}, None)],
)
def test_errors_of_the_server_and_of_an_engine(
    server: RayServer, body: dict[str, Any], param: str | None
) -> None:
    response = server.ask(**body)
    assert response.status_code == 400, response.text
    assert param is None or response.json()["error"]["param"] == param
    assert server.get("/v1/models").status_code == 401


def test_a_client_that_leaves_ends_its_sequence(server: RayServer) -> None:
    response = server.ask(stream=True, max_tokens=3000, ignore_eos=True)
    next(events(response))
    response.close()
    end = time.monotonic() + 10
    while server.metric("yaie_num_running"):  # as the last poll of the replicas saw it
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("victim", ["yaie.client.worker", "ServeReplica"])
def test_a_killed_replica_costs_no_request(server: RayServer, victim: str) -> None:
    """Greedy and seeded streams in progress go on elsewhere, with the same text."""
    server.wait_for_both()
    bodies: list[dict[str, Any]] = [
        {"temperature": 0, "prompt": "Once upon a time " * 5},
        {"temperature": 1, "seed": 7, "prompt": "In the garden of trees " * 5},
        {"temperature": 1, "seed": 8, "prompt": "The engine has a cache " * 5},
        {"temperature": 1, "seed": 9, "presence_penalty": 1, "prompt": "A third one " * 9},
    ]
    for body in bodies:
        body |= {"max_tokens": 150, "ignore_eos": True, "stream": True}
    expected = ["".join(_texts(server, body)) for body in bodies]
    answers: list[list[str]] = [[] for _ in bodies]
    threads = [
        threading.Thread(target=lambda a=a, b=b: a.extend(_texts(server, b)))  # type: ignore[misc]
        for a, b in zip(answers, bodies, strict=True)
    ]
    for thread in threads:
        thread.start()
    while min(map(len, answers)) < 3:
        time.sleep(0.005)
    for pid in server.processes(victim)[:1]:
        os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    assert ["".join(each) for each in answers] == expected
    assert server.ask().status_code == 200


def _texts(server: RayServer, body: dict[str, Any]) -> Iterator[str]:
    for event in events(server.ask("/v1/completions", **body)):
        assert "error" not in event, event
        for choice in event["choices"]:
            yield choice["text"]
