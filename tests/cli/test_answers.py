"""Answers of a real model: in this process, and behind a server."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import uvicorn

from server.app import create_app
from tests.cli.conftest import Cli
from tests.server.scripted_client import ScriptedClient
from yaie.cli import connection
from yaie.cli.connection import FoundServer
from yaie.cli.doctor import _check_port
from yaie.cli.failures import CommandFailed
from yaie.cli.main import run_command_line
from yaie.cli.remote import ServerAnswers
from yaie.cli.sampling_options import SamplingOptions
from yaie.config import Settings
from yaie.types import EngineState

pytestmark = pytest.mark.integration

_SERVE = ("--port", "0", "--served-model-name", "tiny", "--num-slots", "8k", "--threads", "1")


@pytest.fixture(scope="module")
def server(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `yaie serve` with the small model."""
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "yaie.cli", "serve", str(tiny_model_dir), *_SERVE],
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    try:
        url = _wait_ready(process, log)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, log.read_text()
    assert out == b"", "standard output is for answers, not for logs"


def _wait_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up and process.poll() is None:
        time.sleep(0.1)
        first = log.read_text().partition("\n")[0]
        if not first:
            continue
        url = first.split()[2]
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{url}/readiness", timeout=5) as reply,
        ):
            if reply.status == 200:
                return url
    raise AssertionError(f"not ready: {log.read_text()}")


def test_a_server_introduces_itself_and_answers(yaie: Cli, server: str) -> None:
    done = yaie("hello", "--url", server, "-n", "6", "-t", "0", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["model"], answer["place"]) == ("tiny", server)
    assert answer["usage"]["completion_tokens"] == 6
    assert answer["finish_reason"] == "length"


def test_server_and_process_give_the_same_greedy_text(
    yaie: Cli, server: str, tiny_model_dir: Path
) -> None:
    asked = ("-s", "be brief", "-n", "8", "-t", "0", "tell", "me")
    over_http = yaie(*asked, YAIE_BASE_URL=f"{server}/v1", stdin="piped text\n")
    here = yaie(
        *asked, "--local", "-m", str(tiny_model_dir), "--num-slots", "4k", stdin="piped text\n"
    )
    assert (over_http.returncode, here.returncode) == (0, 0), here.stderr
    assert here.stderr == ""
    assert here.stdout == over_http.stdout
    assert here.stdout.endswith("\n")


def test_raw_text_is_continued_without_a_template(yaie: Cli, server: str, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("from a file\n")
    raw = ("--url", server, "-n", "3", "--json", "--raw", "-f", str(tmp_path / "first.txt"), "word")
    prompt_tokens = json.loads(yaie(*raw).stdout)["usage"]["prompt_tokens"]
    templated = [word for word in raw if word != "--raw"]
    assert json.loads(yaie(*templated).stdout)["usage"]["prompt_tokens"] > prompt_tokens


def test_a_default_length_shrinks_to_the_rest_of_the_context(yaie: Cli, server: str) -> None:
    long_prompt = "z" * 1800
    done = yaie("--url", server, "--json", "-t", "0", stdin=long_prompt)
    assert done.returncode == 0, done.stderr
    usage = json.loads(done.stdout)["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] <= 2048
    for asked in (("-n", "512"), ("-n", "512", "--raw")):
        refused = yaie("--url", server, *asked, stdin=long_prompt)
        assert refused.returncode == 2
        assert refused.stderr.startswith("error[context-length-exceeded]")


def test_a_raw_text_gets_the_same_room_from_a_server_as_here(
    yaie: Cli, server: str, tiny_model_dir: Path
) -> None:
    asked = ("--raw", "--json", "-t", "0")
    long_text = "z" * 1800
    over_http = yaie(*asked, "--url", server, stdin=long_text)
    here = yaie(*asked, "--local", "-m", str(tiny_model_dir), "--num-slots", "8k", stdin=long_text)
    assert (over_http.returncode, here.returncode) == (0, 0), over_http.stderr + here.stderr
    there, local = json.loads(over_http.stdout), json.loads(here.stdout)
    assert there["text"] == local["text"]
    counts = ("prompt_tokens", "completion_tokens")
    assert [there["usage"][n] for n in counts] == [local["usage"][n] for n in counts]
    assert there["finish_reason"] == local["finish_reason"]
    assert 16 < there["usage"]["completion_tokens"] < 512
    nothing_left = yaie(*asked, "--url", server, stdin="z" * 9000)
    assert nothing_left.returncode == 2, nothing_left.stdout
    assert nothing_left.stderr.startswith("error[context-length-exceeded]")


def test_a_refusal_shows_the_servers_message(yaie: Cli, server: str) -> None:
    done = yaie("--url", server, "-m", "other", "hello")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error[model-not-found]")
    assert "tiny" in done.stderr
    assert "try: leave out -m to use the model it serves" in done.stderr


def test_a_taken_port_is_reported_before_loading(
    yaie: Cli, server: str, tiny_model_dir: Path
) -> None:
    port = server.rsplit(":", 1)[1]
    done = yaie("serve", str(tiny_model_dir), "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[port-taken]: port {port} on 127.0.0.1 is taken")
    assert "a YAIE server serving tiny listens there" in done.stderr


def test_an_address_of_another_machine_cannot_be_listened_on(
    yaie: Cli, tiny_model_dir: Path
) -> None:
    done = yaie("serve", str(tiny_model_dir), "--host", "192.0.2.1", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("error[cannot-listen]: cannot listen on 192.0.2.1:0")
    assert "try: --host" in done.stderr


def test_a_client_that_offers_http_2_is_answered(server: str) -> None:
    """Java's client always offers it; uvicorn's own parser loses the body after the offer."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEA"}
    asked = {"prompt": "hello", "max_tokens": 2}
    response = requests.post(f"{server}/v1/completions", json=asked, headers=offer, timeout=60)
    assert response.status_code == 200, response.text


def test_an_empty_model_name_is_a_usage_error(yaie: Cli) -> None:
    done = yaie("serve", "")
    assert done.returncode == 2
    assert done.stderr.startswith("error[usage]: MODEL is empty")


def test_a_timeout_covers_piped_text() -> None:
    """The pipe stays open and empty."""
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "yaie.cli",
                "--timeout",
                "1",
                "--url",
                "http://127.0.0.1:9",
                "hi",
            ],
            stdin=reader,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 124
    assert "error[timeout]" in done.stderr


def test_a_timeout_is_exit_code_124(yaie: Cli, server: str) -> None:
    done = yaie("hello", "--url", server, "-n", "1k", "--timeout", "0.001")
    assert done.returncode == 124
    assert "error[timeout]" in done.stderr


def test_only_a_server_that_says_it_is_yaie_is_found(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PROBE_S", 5.0)
    port = int(server.rsplit(":", 1)[1])
    assert connection.find_server(port, "secret") == FoundServer(server, ("tiny",))
    keys = []

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers["Authorization"])
            body = b'{"object": "list", "data": [{"id": "m", "owned_by": "another"}]}'
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        assert connection.find_server(stranger.server_port, "secret") is None
        stranger.shutdown()
    assert keys == [None]
    assert connection.find_server(stranger.server_port, "secret") is None


@pytest.fixture
def starting_server(tiny_model_dir: Path) -> Iterator[int]:
    """The port of a server whose engine keeps loading."""
    engine = ScriptedClient([5])
    engine.state, engine.info = EngineState.STARTING, None
    settings = Settings(model=str(tiny_model_dir), served_model_name="tiny")
    app = create_app(settings, make_client=lambda config: engine, on_fatal=pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = threading.Thread(target=served.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            served.should_exit = True
            thread.join(30)


def test_a_server_that_is_still_loading_is_found_and_says_so(
    starting_server: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(connection, "PROBE_S", 30.0)
    url = f"http://127.0.0.1:{starting_server}"
    assert connection.find_server(starting_server) == FoundServer(url, ("tiny",))
    monkeypatch.setenv("YAIE_PORT", str(starting_server))
    in_use = f"127.0.0.1:{starting_server} is in use by a YAIE server serving tiny"
    assert _check_port() == ("ok", in_use)
    for name in ("YAIE_MODEL", "YAIE_BASE_URL"):
        monkeypatch.setenv(name, "")  # as if it were not set
    found = functools.partial(connection.find_server, starting_server)
    monkeypatch.setattr(connection, "find_server", found)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert run_command_line(["what is a tree?"]) == 5
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "error[engine-starting]" in shown.err and "loading" in shown.err
    assert "--local" in shown.err


def test_a_server_that_hangs_up_in_an_answer_is_exit_code_5() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Connection: close\r\n\r\n"
                b'data: {"choices": [{"delta": {"content": "be"}}]}\n\n'
            )
            connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        source = ServerAnswers(url, "m")
        pieces = []
        with pytest.raises(CommandFailed) as failure:
            pieces.extend(
                source.stream([{"role": "user", "content": "x"}], SamplingOptions(max_tokens=4))
            )
        source.close()
    assert failure.value.exit_code == 5


def test_a_chat_on_a_terminal(server: str, environment: dict[str, str]) -> None:
    """The user types, stops an answer with Ctrl-C, continues, and leaves with Ctrl-D."""
    typed = ["chat", "--url", server, "-n", "8", "-t", "0", "--stats"]
    with _terminal(typed, environment) as screen:
        screen.wait_for(b"/help for help")
        screen.wait_for(b"> ")
        screen.type(b"hello\n")
        screen.wait_for(b"TTFT")
        screen.wait_for(b"> ")
        screen.type(b"/set max_tokens=1800\n")
        screen.wait_for(b"max_tokens: 1800")
        screen.wait_for(b"> ")
        screen.type(b"go on for long\n")
        screen.wait_for(b"long\r\n")
        screen.wait_for_more()
        screen.type(CTRL_C)
        screen.wait_for(b"stopped")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0


def test_a_bare_call_on_a_terminal_is_a_chat(server: str, environment: dict[str, str]) -> None:
    with _terminal([], environment | {"YAIE_BASE_URL": server}) as screen:
        screen.wait_for(b"/help for help")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0


def test_ctrl_c_in_a_one_off_is_exit_code_130_without_a_trace(
    server: str, environment: dict[str, str]
) -> None:
    typed = ["run", "--url", server, "-n", "1900", "-t", "0", "hello"]
    with _terminal(typed, environment, stdin=subprocess.DEVNULL) as screen:
        screen.wait_for_more()
        screen.type(CTRL_C)
        assert screen.process.wait(30) == 130
        assert b"Traceback" not in screen.rest()


CTRL_C, CTRL_D = b"\x03", b"\x04"


class _Screen:
    """A program's terminal: its output, read step by step, and its keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self._unread = b""

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def wait_for(self, wanted: bytes) -> None:
        give_up = time.monotonic() + 60
        while wanted not in self._unread:
            self._read(give_up - time.monotonic(), wanted)
        self._unread = self._unread.partition(wanted)[2]

    def wait_for_more(self) -> None:
        while not self._unread:
            self._read(60, b"anything")

    def rest(self) -> bytes:
        with contextlib.suppress(OSError, TimeoutError):  # EIO: the other side has ended
            while True:
                self._read(0.2, b"more")
        return self._unread

    def _read(self, limit_s: float, wanted: bytes) -> None:
        if limit_s <= 0 or not select.select([self._terminal], [], [], limit_s)[0]:
            raise TimeoutError(f"no {wanted!r} in {self._unread!r}")
        self._unread += os.read(self._terminal, 4096)


@contextlib.contextmanager
def _terminal(
    typed: list[str], environment: dict[str, str], stdin: int | None = None
) -> Iterator[_Screen]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL, *typed],
        stdin=theirs if stdin is None else stdin,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield _Screen(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


# Makes the terminal the process's own, so that Ctrl-C and Ctrl-D mean what they mean.
_ON_A_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); "
    "from yaie.cli.main import main; main()"
)
