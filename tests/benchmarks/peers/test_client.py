"""The client: a real server, both dialects, and faulty servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise

import pytest

from benchmarks.peers.client import LlamaCppDialect, OpenAiDialect, send_workload
from benchmarks.peers.exchange import PeerFailed
from benchmarks.peers.figures import Answer, summarize
from benchmarks.peers.runner import ModelFacts
from benchmarks.peers.running import RunningPeer
from benchmarks.peers.workloads import Shape, build


@pytest.mark.integration
def test_every_token_is_recorded_on_arrival(yaie: RunningPeer, facts: ModelFacts) -> None:
    workload = build("x", Shape("x", 1, 40, 24), 1, facts.vocabulary)
    (answer,) = yaie.run(workload, timeout_s=60)
    assert len(answer.token_ids[0]) == answer.num_arrived == answer.counted_output == 24
    assert answer.counted_prompt == answer.prompt_len == 40
    times = [answer.start_s, *(at_s for at_s, _ in answer.arrivals[0]), answer.end_s]
    assert all(before <= after for before, after in pairwise(times))
    assert len(answer.arrivals[0]) > 1, "the answer was not streamed"


@pytest.mark.integration
def test_turns_carry_the_answers_and_are_cached(yaie: RunningPeer, facts: ModelFacts) -> None:
    shape = Shape("x", 2, 20, 6, num_prefixes=1, prefix_len=50, num_turns=3)
    workload = build("x", shape, 2, facts.vocabulary)
    answers = yaie.run(workload, timeout_s=60)
    assert [a.prompt_len for a in answers] == [70, 96, 122] * 2
    # A later turn computes its own 20 tokens and the last one of the answer before it.
    assert [a.cached for a in answers if a.prompt_len > 70] == [75, 101] * 2
    figures = summarize(workload, answers)
    assert figures.faults == ()
    assert (figures.prompt_tokens, figures.output_tokens) == (576, 36)


@pytest.mark.integration
def test_samples_are_counted_one_by_one(yaie: RunningPeer, facts: ModelFacts) -> None:
    shape = Shape("x", 2, 30, 5, num_samples=3, temperature=0.8)
    workload = build("x", shape, 3, facts.vocabulary)
    answers = yaie.run(workload, timeout_s=60)
    assert [sorted(a.token_ids) for a in answers] == [[0, 1, 2]] * 2
    assert summarize(workload, answers).faults == ()
    assert sum(len(a.gaps_s()) for a in answers) <= 2 * 3 * 4


@pytest.mark.integration
def test_a_rejection_is_a_failure_with_its_reason(yaie: RunningPeer, facts: ModelFacts) -> None:
    workload = build("x", Shape("x", 1, 9000, 4), 1, facts.vocabulary)
    with pytest.raises(PeerFailed, match=r"HTTP 400.*9000"):
        yaie.run(workload, timeout_s=60)


def test_llama_cpps_stream_is_read_sample_by_sample() -> None:
    dialect, answer = LlamaCppDialect(), Answer(4, 0.0)
    last = {"stop": True, "tokens_predicted": 2, "tokens_evaluated": 4, "timings": {"cache_n": 3}}
    for event in (
        {"index": 0, "tokens": [5], "stop": False},
        {"index": 1, "tokens": [6], "stop": False},
        {"index": 0, "tokens": [7], "stop": False},
        {"index": 1, "tokens": [8], "stop": False},
        {"index": 0, "tokens": [], **last},
        {"index": 1, "tokens": [], **last},
    ):
        dialect.read(event, answer, 1.0)
    assert answer.token_ids == {0: [5, 7], 1: [6, 8]}
    assert (answer.counted_prompt, answer.counted_output, answer.cached) == (4, 4, 3)


def test_both_dialects_request_the_same_work() -> None:
    shape = Shape("x", 1, 3, 7, num_samples=2, temperature=0.5)
    openai, llama = OpenAiDialect("m").body([1, 2, 3], shape), LlamaCppDialect().body([1], shape)
    assert openai["max_tokens"] == openai["min_tokens"] == llama["n_predict"] == 7
    assert openai["n"] == llama["n_cmpl"] == 2
    assert openai["temperature"] == llama["temperature"] == 0.5
    assert openai["ignore_eos"] and llama["ignore_eos"] and "seed" not in openai


class _Scripted(BaseHTTPRequestHandler):
    events: tuple[bytes, ...] = ()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"".join(b"data: " + event + b"\n\n" for event in self.events))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _send(url: str, *events: bytes, num_turns: int = 1) -> list[Answer]:
    _Scripted.events = events
    workload = build("x", Shape("x", 1, 4, 2, num_turns=num_turns), 1, range(50))
    return send_workload(url, OpenAiDialect("m"), workload, timeout_s=20)


def test_less_work_than_requested_is_a_fault(scripted: str) -> None:
    answers = _send(
        scripted,
        b'{"choices": [{"index": 0, "text": "a", "token_ids": [1]}]}',
        b'{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}',
        b"[DONE]",
    )
    figures = summarize(build("x", Shape("x", 1, 4, 2), 1, range(50)), answers)
    assert len(figures.faults) == 4
    assert "counted 3 prompt tokens of 4" in " ".join(figures.faults)


def test_an_error_inside_a_stream_is_a_failure(scripted: str) -> None:
    with pytest.raises(PeerFailed, match="out of memory"):
        _send(scripted, b'{"error": {"message": "out of memory"}}')


def test_malformed_json_in_a_stream_is_a_failure(scripted: str) -> None:
    with pytest.raises(PeerFailed, match="half' came in the stream"):
        _send(scripted, b"{half")


def test_a_server_without_token_ids_cannot_do_conversations(scripted: str) -> None:
    with pytest.raises(PeerFailed, match="no token ids"):
        _send(scripted, b'{"choices": [{"index": 0, "text": "a b"}]}', b"[DONE]", num_turns=2)


def test_a_broken_off_answer_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def break_off() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n"
                )

        threading.Thread(target=break_off, daemon=True).start()
        with pytest.raises(PeerFailed, match="broke off"):
            _send(f"http://127.0.0.1:{listening.getsockname()[1]}")


def test_a_refused_connection_is_a_failure() -> None:
    with pytest.raises(PeerFailed, match="x: "):
        _send("http://127.0.0.1:9")
