"""Answers of a real model: in this process, and behind a server."""

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

import pytest
import requests
import uvicorn

from tests.cli.conftest import Cli
from tests.server.scripted_client import ScriptedClient
from yaie.base.advised_error import AdvisedError
from yaie.base.settings import Settings
from yaie.base.types import EngineState
from yaie.cli.doctor import _check_port
from yaie.cli.main import run_command_line
from yaie.cli.remote import ServerAnswers
from yaie.cli.sampling_options import SamplingOptions
from yaie.remote import discovery
from yaie.remote.discovery import FoundServer
from yaie.server.app import create_app

pytestmark = pytest.mark.integration


def test_a_server_introduces_itself_and_answers(yaie: Cli, yaie_server: str) -> None:
    done = yaie("hello", "--url", yaie_server, "-n", "6", "-t", "0", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert (answer["model"], answer["place"]) == ("tiny", yaie_server)
    assert answer["usage"]["completion_tokens"] == 6
    assert answer["finish_reason"] == "length"


def test_server_and_process_give_the_same_greedy_text(
    yaie: Cli, yaie_server: str, tiny_model_dir: Path
) -> None:
    asked = ("-s", "be brief", "-n", "8", "-t", "0", "tell", "me")
    over_http = yaie(*asked, YAIE_BASE_URL=f"{yaie_server}/v1", stdin="piped text\n")
    here = yaie(
        *asked, "--local", "-m", str(tiny_model_dir), "--num-slots", "4k", stdin="piped text\n"
    )
    assert (over_http.returncode, here.returncode) == (0, 0), here.stderr
    assert here.stderr == ""
    assert here.stdout == over_http.stdout
    assert here.stdout.endswith("\n")


def test_raw_text_is_continued_without_a_template(
    yaie: Cli, yaie_server: str, tmp_path: Path
) -> None:
    (tmp_path / "first.txt").write_text("from a file\n")
    raw = (
        "--url",
        yaie_server,
        "-n",
        "3",
        "--json",
        "--raw",
        "-f",
        str(tmp_path / "first.txt"),
        "word",
    )
    prompt_tokens = json.loads(yaie(*raw).stdout)["usage"]["prompt_tokens"]
    templated = [word for word in raw if word != "--raw"]
    assert json.loads(yaie(*templated).stdout)["usage"]["prompt_tokens"] > prompt_tokens


def test_a_default_length_shrinks_to_the_rest_of_the_context(yaie: Cli, yaie_server: str) -> None:
    long_prompt = "z" * 1800
    done = yaie("--url", yaie_server, "--json", "-t", "0", stdin=long_prompt)
    assert done.returncode == 0, done.stderr
    usage = json.loads(done.stdout)["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] <= 2048
    for asked in (("-n", "512"), ("-n", "512", "--raw")):  # the server clips a limit too
        clipped = yaie("--url", yaie_server, *asked, "--json", stdin=long_prompt)
        assert clipped.returncode == 0, clipped.stderr
        usage = json.loads(clipped.stdout)["usage"]
        assert usage["prompt_tokens"] + usage["completion_tokens"] <= 2048


@pytest.mark.slow
def test_a_raw_text_gets_the_same_room_from_a_server_as_here(
    yaie: Cli, yaie_server: str, tiny_model_dir: Path
) -> None:
    asked = ("--raw", "--json", "-t", "0")
    long_text = "z" * 1800
    over_http = yaie(*asked, "--url", yaie_server, stdin=long_text)
    here = yaie(*asked, "--local", "-m", str(tiny_model_dir), "--num-slots", "8k", stdin=long_text)
    assert (over_http.returncode, here.returncode) == (0, 0), over_http.stderr + here.stderr
    there, local = json.loads(over_http.stdout), json.loads(here.stdout)
    assert there["text"] == local["text"]
    counts = ("prompt_tokens", "completion_tokens")
    assert [there["usage"][n] for n in counts] == [local["usage"][n] for n in counts]
    assert there["finish_reason"] == local["finish_reason"]
    assert 16 < there["usage"]["completion_tokens"] < 512
    nothing_left = yaie(*asked, "--url", yaie_server, stdin="z" * 9000)
    assert nothing_left.returncode == 2, nothing_left.stdout
    assert nothing_left.stderr.startswith("error[context-length-exceeded]")


def test_a_refusal_shows_the_servers_message(yaie: Cli, yaie_server: str) -> None:
    done = yaie("--url", yaie_server, "-m", "other", "hello")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error[model-not-found]")
    assert "tiny" in done.stderr
    assert "try: omit -m to use the served model" in done.stderr


def test_a_taken_port_is_reported_before_loading(
    yaie: Cli, yaie_server: str, tiny_model_dir: Path
) -> None:
    port = yaie_server.rsplit(":", 1)[1]
    done = yaie("serve", str(tiny_model_dir), "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[port-taken]: port {port} on 127.0.0.1 is taken")
    assert "a YAIE server serving tiny listens on it" in done.stderr


def test_an_address_of_another_machine_cannot_be_listened_on(
    yaie: Cli, tiny_model_dir: Path
) -> None:
    done = yaie("serve", str(tiny_model_dir), "--host", "192.0.2.1", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("error[cannot-listen]: cannot listen on 192.0.2.1:0")
    assert "try: --host" in done.stderr


def test_a_client_that_offers_http_2_is_answered(yaie_server: str) -> None:
    """Java's client always offers it; uvicorn's own parser loses the body after the offer."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEA"}
    asked = {"prompt": "hello", "max_tokens": 2}
    response = requests.post(f"{yaie_server}/v1/completions", json=asked, headers=offer, timeout=60)
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


def test_a_timeout_is_exit_code_124(yaie: Cli, yaie_server: str) -> None:
    done = yaie("hello", "--url", yaie_server, "-n", "1k", "--timeout", "0.001")
    assert done.returncode == 124
    assert "error[timeout]" in done.stderr


def test_only_a_server_that_says_it_is_yaie_is_found(
    yaie_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PROBE_S", 5.0)
    port = int(yaie_server.rsplit(":", 1)[1])
    assert discovery.find_server(port, "secret") == FoundServer(yaie_server, ("tiny",))
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
        assert discovery.find_server(stranger.server_port, "secret") is None
        stranger.shutdown()
    assert keys == [None]
    assert discovery.find_server(stranger.server_port, "secret") is None


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
    monkeypatch.setattr(discovery, "PROBE_S", 30.0)
    url = f"http://127.0.0.1:{starting_server}"
    assert discovery.find_server(starting_server) == FoundServer(url, ("tiny",))
    monkeypatch.setenv("YAIE_PORT", str(starting_server))
    in_use = f"127.0.0.1:{starting_server} is in use by a YAIE server serving tiny"
    assert _check_port() == ("ok", in_use)
    for name in ("YAIE_MODEL", "YAIE_BASE_URL"):
        monkeypatch.setenv(name, "")  # as if it were not set
    found = functools.partial(discovery.find_server, starting_server)
    monkeypatch.setattr(discovery, "find_server", found)
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
            connection, _ = listener.accept()  # asks for the models
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")
            connection.close()
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
        with pytest.raises(AdvisedError) as failure:
            pieces.extend(
                source.stream([{"role": "user", "content": "x"}], SamplingOptions(max_tokens=4))
            )
        source.close()
    assert failure.value.exit_code == 5
