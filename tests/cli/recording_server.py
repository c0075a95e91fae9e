"""An OpenAI server that records its requests. Used by the tests of remote answers."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from yaie.cli.answers import Question
from yaie.cli.options import choose_key
from yaie.cli.remote import ServerAnswers
from yaie.cli.sampling_options import SamplingOptions


class RecordingServer(http.server.ThreadingHTTPServer):
    """An OpenAI server of one model that records requests and replies with `events`.

    It also serves as a proxy, which gets the same requests with the whole URL as the path.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Recorder)
        self.asked: list[tuple[str, str | None]] = []  # path and Authorization
        self.bodies: list[Any] = []  # of POST requests
        self.has_room = True  # else requests with max_tokens are refused
        self.models = b'{"data": [{"id": "m", "owned_by": "yaie"}]}'
        self.refuses_with = 0  # the status of every reply but that of /health
        self.refusal = b'{"error": {"message": "no", "code": "not_so"}}'
        self.moved_to = ""  # the prefix that requests are redirected to
        self.events: list[Any] = [
            {"choices": [{"text": "hi", "delta": {"content": "hi"}, "finish_reason": "stop"}]}
        ]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Recorder(http.server.BaseHTTPRequestHandler):
    server: RecordingServer

    def do_GET(self) -> None:
        self._answer(b'{"server": "yaie"}' if self.path == "/health" else self.server.models)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        if "max_tokens" in body and not self.server.has_room:
            refusal = {"message": "too long", "code": "context_length_exceeded"}
            self._answer(json.dumps({"error": refusal}).encode(), status=400)
            return
        events = [*(json.dumps(event) for event in self.server.events), "[DONE]"]
        self._answer("".join(f"data: {event}\n\n" for event in events).encode())

    def _answer(self, body: bytes, status: int = 200) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        if self.server.refuses_with and self.path != "/health":
            status, body = self.server.refuses_with, self.server.refusal
        moves = self.server.moved_to and not self.path.startswith(self.server.moved_to)
        self.send_response(307 if moves else status)
        if moves:
            self.send_header("Location", self.server.moved_to + urlsplit(self.path).path)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def recording_server() -> Iterator[RecordingServer]:
    """Run a server in a thread."""
    with RecordingServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(url: str, question: Question | None = None, *, shrinks_to_fit: bool = False) -> str:
    source = ServerAnswers(url, key=choose_key(None, is_named=True))
    question = question or [{"role": "user", "content": "hello"}]
    options = SamplingOptions(max_tokens=4, shrinks_to_fit=shrinks_to_fit)
    try:
        return source.stream(question, options).finish().text
    finally:
        source.close()
