"""What the command line sends to a server, and what it makes of the replies."""

from __future__ import annotations

import functools
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from server.errors import error_body
from tests.cli.conftest import UNWRITABLE, Cli, in_a_shell
from yaie.cli.answers import Question, Wishes
from yaie.cli.failures import CommandFailed
from yaie.cli.main import run_command_line
from yaie.cli.remote import ServerAnswers, find_server, read_url
from yaie.errors import ContextLengthExceeded, EngineDied, EngineDraining, RequestFailed


class RecordingServer(http.server.ThreadingHTTPServer):
    """An OpenAI server of one model; every request is remembered, and answered with events.

    It also passes for a proxy: those are sent the same requests with the whole URL as the path.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Recorder)
        self.asked: list[tuple[str, str | None]] = []  # path and Authorization
        self.has_room = True  # else whoever asks for a number of tokens is refused
        self.models = b'{"data": [{"id": "m", "owned_by": "yaie"}]}'
        self.refuses_with = 0  # the status for whoever asks for more than the health
        self.refusal = b'{"error": {"message": "no", "code": "not_so"}}'
        self.moved_to = ""  # where requests are sent on to, in front of their path
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


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("YAIE_API_KEY", "YAIE_BASE_URL", "YAIE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("default login bob password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


def ask(url: str, question: Question | None = None, *, may_be_shorter: bool = False) -> str:
    source = ServerAnswers(url)
    question = question or [{"role": "user", "content": "hello"}]
    wishes = Wishes(max_tokens=4, may_be_shorter=may_be_shorter)
    try:
        return source.stream(question, wishes).finish().text
    finally:
        source.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_no_proxy_is_asked_for_a_server_on_this_machine(
    host: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    assert ask(f"http://{host}:{server.server_port}") == "hi"
    assert [path for path, _ in server.asked] == ["/v1/models", "/v1/chat/completions"]


def test_other_machines_are_asked_through_the_proxy_unless_excepted(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    assert ask("http://model.test:8000/v1") == "hi"
    routes = ("/v1/models", "/v1/chat/completions")
    assert [path for path, _ in server.asked] == [f"http://model.test:8000{r}" for r in routes]
    server.asked.clear()
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *rest: look_up("127.0.0.1", *rest))
    monkeypatch.setenv("no_proxy", "model.test")
    assert ask(f"http://model.test:{server.server_port}") == "hi"
    assert [path for path, _ in server.asked] == list(routes)


@pytest.mark.usefixtures("netrc")
@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_the_key_is_sent_whatever_netrc_says_also_where_a_server_sends_on(
    place: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_API_KEY", "sesame")
    monkeypatch.setenv("http_proxy", server.url)
    url = server.url if place == "here" else "http://model.test"
    assert ask(url) == "hi"
    assert {key for _, key in server.asked} == {"Bearer sesame"}
    server.asked.clear()
    server.moved_to = f"{'' if place == 'here' else url}/moved"
    assert ask(url) == "hi"
    assert [key for _, key in server.asked] == ["Bearer sesame"] * 4


@pytest.mark.usefixtures("netrc")
def test_without_a_key_no_password_is_sent(server: RecordingServer) -> None:
    assert ask(server.url) == "hi"
    assert {key for _, key in server.asked} == {None}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_of_this_machine_needs_no_scheme(host: str, server: RecordingServer) -> None:
    assert ask(f"{host}:{server.server_port}") == "hi"
    assert ask(f" {host}:{server.server_port}/v1/ ") == "hi"
    assert {path for path, _ in server.asked} == {"/v1/models", "/v1/chat/completions"}


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("[::1]:8000", "http://[::1]:8000"),
        ("localhost", "http://localhost"),
        ("https://model.test/v1", "https://model.test/v1"),
        ("HTTP://model.test", "HTTP://model.test"),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, url: str) -> None:
    assert read_url(text) == url


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("model.test:8000", "--url https://model.test:8000"),
        ("192.0.2.1:8000", "--url http://192.0.2.1:8000"),
        ("http://", "--url http://127.0.0.1:8000"),
        ("http://:8000", "--url http://127.0.0.1:8000"),
        ("ftp://model.test", "--url http://127.0.0.1:8000"),
        ("http://127.0.0.1:99999", "--url http://127.0.0.1:8000"),
        ("http://[::1", "--url http://127.0.0.1:8000"),
        (" ", "--url http://127.0.0.1:8000"),
    ],
)
def test_what_is_no_address_is_a_usage_error_that_says_what_to_type(text: str, advice: str) -> None:
    with pytest.raises(CommandFailed) as failure:
        ServerAnswers(text)
    assert failure.value.exit_code == 2
    assert advice in failure.value.advice


@pytest.mark.parametrize("question", ["raw text", None])
def test_a_length_that_was_not_typed_is_left_to_a_server_that_hides_its_context(
    question: Question | None, server: RecordingServer
) -> None:
    server.has_room = False
    assert ask(server.url, question, may_be_shorter=True) == "hi"
    with pytest.raises(CommandFailed, match="too long") as failure:
        ask(server.url, question)
    assert failure.value.exit_code == 2


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        *((error_body(kind("gone"))["error"], 5) for kind in (EngineDied, EngineDraining)),
        (error_body(RequestFailed("broken"))["error"], 1),
        (error_body(ContextLengthExceeded("too long"))["error"], 2),
        ({"message": "busy", "type": "ServiceUnavailableError", "code": 503}, 5),
        ({"message": "broken", "type": None, "code": None}, 1),
        ("broken", 1),
    ],
)
def test_an_error_inside_an_answer_has_the_exit_code_it_has_before_one(
    error: Any, exit_code: int, server: RecordingServer
) -> None:
    server.events = [{"choices": [{"delta": {"content": "be"}}]}, {"error": error}]
    with pytest.raises(CommandFailed) as failure:
        ask(server.url)
    assert failure.value.exit_code == exit_code
    assert failure.value.message == (error if isinstance(error, str) else error["message"])


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"delta": None, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": [{"type": "text"}]}, "finish_reason": "stop"}]},
        {"choices": [None, {"delta": {}, "finish_reason": "stop"}], "error": None},
    ],
    ids=json.dumps,
)
def test_answers_of_other_servers_are_read_also_with_nulls_and_gaps(
    last: Any, server: RecordingServer, yaie: Cli
) -> None:
    counts: tuple[Any, ...] = (
        {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None},
        {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}},
        {"prompt_tokens": "3", "completion_tokens": 1.0, "prompt_tokens_details": []},
        [3, 1],
    )
    server.events = [
        {"choices": None, "error": None},
        {"choices": [], "error": None},
        None,
        {"choices": [{"delta": {"content": "hi"}}], "error": None},
        last,
        *({"choices": None, "usage": usage} for usage in counts),
    ]
    done = yaie("run", "hello", "--url", server.url, "--stats")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    assert done.stderr.startswith("m · ")


@pytest.mark.parametrize("last", [{"text": None, "finish_reason": "stop"}, {"finish_reason": "e"}])
def test_a_raw_answer_may_end_without_a_text(last: Any, server: RecordingServer) -> None:
    server.events = [{"choices": [{"text": "hi"}]}, {"choices": [last]}]
    assert ask(server.url, "raw text") == "hi"


@pytest.mark.parametrize("texts", [["hi", " you"], []])
def test_an_answer_that_breaks_off_is_told_as_such(
    texts: list[str], server: RecordingServer
) -> None:
    server.events = [{"choices": [{"text": text}]} for text in texts]
    with pytest.raises(CommandFailed) as failure:
        ask(server.url, "raw text")
    assert str(failure.value).startswith(
        "the answer is not whole" if texts else "no answer from the server"
    )
    assert failure.value.exit_code == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 422, 429, 500, 503])
def test_a_refusal_has_the_exit_code_of_its_status(status: int, server: RecordingServer) -> None:
    source = ServerAnswers(server.url)
    server.refuses_with = status
    with pytest.raises(CommandFailed, match="no") as failure:
        source.stream("hello", Wishes(max_tokens=4)).finish()
    source.close()
    expected = {404: 3, 408: 1, 429: 1, 500: 1, 503: 5}
    assert failure.value.exit_code == expected.get(status, 2)


@pytest.mark.parametrize("refusal", [b'{"error": null}', b'{"error": {}}', b"[]", b"<html>", b""])
def test_a_refusal_without_words_is_told_by_its_status(
    refusal: bytes, server: RecordingServer
) -> None:
    server.refuses_with, server.refusal = 413, refusal
    with pytest.raises(CommandFailed, match="HTTP 413") as failure:
        ask(server.url)
    assert failure.value.exit_code == 2


@pytest.mark.parametrize("refusal", [b'{"error": {"message": "no key"}}', b"<html>"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_yaie_server_that_wants_a_key_is_not_passed_over_for_the_model_here(
    status: int,
    refusal: bytes,
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("yaie.cli.remote.PROBE_S", 30.0)  # a busy machine shall not fail the test
    found = functools.partial(find_server, server.server_port)
    monkeypatch.setattr("yaie.cli.remote.find_server", found)
    monkeypatch.setattr("yaie.cli.local.ModelAnswers", pytest.fail)
    server.refuses_with, server.refusal = status, refusal
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert run_command_line(["what is a tree?"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"127.0.0.1:{server.server_port}" in shown.err
    assert "YAIE_API_KEY" in shown.err and "--local" in shown.err


@pytest.mark.parametrize(
    ("encoding", "text", "stdout"),
    [
        ("ascii", "é €", b"\\xe9 \\u20ac\n"),
        ("latin-1", "é €", b"\xe9 \\u20ac\n"),
        ("ascii:replace", "é €", b"? ?\n"),
        ("utf-8", "é \ud83d", b"\xc3\xa9 \\ud83d\n"),
    ],
)
def test_letters_that_stdout_has_no_bytes_for_are_escaped(
    encoding: str, text: str, stdout: bytes, server: RecordingServer, environment: dict[str, str]
) -> None:
    server.events = [{"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}]
    command = [sys.executable, "-m", "yaie.cli", "hello", "--url", server.url]

    def output(*flags: str) -> bytes:
        done = subprocess.run(
            [*command, *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment | {"PYTHONIOENCODING": encoding},
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert output() == stdout
    assert json.loads(output("--json"))["text"] == text


@pytest.mark.parametrize("command", ["run", "run --json", "chat"])
@pytest.mark.parametrize(("to", "why"), UNWRITABLE)
def test_an_answer_that_cannot_be_written_is_no_fault_of_ours(
    command: str, to: str, why: str, server: RecordingServer, environment: dict[str, str]
) -> None:
    shell = f"echo hello | {sys.executable} -m yaie.cli {command} --url {server.url} {to}"
    done = in_a_shell(shell, environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error[output]: cannot write the answer: {why}\n"


@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_misspelt_variable_is_a_warning_beside_the_answer(
    command: str, server: RecordingServer, yaie: Cli
) -> None:
    typed = ("run", "hello") if command == "run" else ("chat",)
    done = yaie(*typed, "--url", server.url, stdin="hello\n", YAIE_MODLE="x")
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert done.stderr.startswith("warning: YAIE_MODLE is not a setting")
    assert done.stderr.count("\n") == 1
    helped = yaie(command, "--help", YAIE_MODLE="x")
    assert (helped.returncode, helped.stderr) == (0, "")


@pytest.mark.parametrize("models", [b"<html>", b"[]", b"{}", b'{"data": [1]}', b'{"data": []}'])
def test_who_lists_no_models_is_no_server_to_ask(models: bytes, server: RecordingServer) -> None:
    server.models = models
    with pytest.raises(CommandFailed, match="no answer from the server") as failure:
        ask(server.url)
    assert failure.value.exit_code == 5


@pytest.mark.parametrize("key", ["sécond", "ключ"])
def test_a_key_is_sent_in_utf_8_as_the_server_reads_it(
    key: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yaie.cli.remote.PROBE_S", 30.0)  # a busy machine shall not fail the test
    monkeypatch.setenv("YAIE_API_KEY", f" {key} , other")
    assert find_server(server.server_port) == server.url
    assert ask(server.url) == "hi"
    sent = [(value or "").encode("latin-1").decode() for _, value in server.asked]
    assert sent == ["", *[f"Bearer {key}"] * 3]
