"""The command line in a process of its own: streams, exit codes, signals and imports."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.cli.conftest import FULL_DEVICE, UNWRITABLE, Cli, in_a_shell
from yaie.kernels.library_search import load

pytestmark = pytest.mark.integration

LIGHT = [
    ("--help",),
    ("run", "--help"),
    ("serve", "--help"),
    ("batch", "--help"),
    ("bench", "--help"),
    ("models",),
    ("version",),
    ("run", "--no-such-flag"),
    ("serv",),
]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_light_commands_import_no_heavy_library(
    arguments: tuple[str, ...], environment: dict[str, str], tmp_path: Path
) -> None:
    environment["XDG_CACHE_HOME"] = str(tmp_path)  # headers of downloaded models need numpy
    code = (
        "import sys; from yaie.cli.main import run_command_line; "
        f"run_command_line({list(arguments)!r}); "
        "heavy = {'torch', 'transformers', 'uvicorn', 'fastapi', 'requests', 'numpy'}; "
        "print('imported:', sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert "imported: []" in done.stderr


@pytest.mark.parametrize("module", ["yaie", "yaie.cli"])
def test_help_is_an_answer(module: str, environment: dict[str, str]) -> None:
    done = in_a_shell(f"{sys.executable} -m {module} --help", environment)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "serve" in done.stdout


@pytest.mark.parametrize("model", ["/no/such/folder", "someone/nothing", "gpt-4"])
@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_missing_model_is_one_error_and_exit_code_3(yaie: Cli, model: str, offline: str) -> None:
    unreachable = "http://127.0.0.1:9"  # a closed port
    hub = {"HF_HUB_OFFLINE": offline, "HF_ENDPOINT": unreachable}
    done = yaie("serve", model, "--port", "0", **hub)
    assert done.returncode == 3
    assert done.stderr.startswith("error[model-not-found]: no model")
    assert done.stderr.count("no model") == 1
    assert "looked in: " in done.stderr
    assert "serve" not in done.stderr


def test_an_unreachable_server_is_exit_code_5(yaie: Cli) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    done = yaie("hi", "--url", url)
    assert done.returncode == 5
    assert url in done.stderr
    assert yaie("hi", YAIE_BASE_URL=url).returncode == 5


def test_a_pipe_closed_by_its_reader_is_a_success(environment: dict[str, str]) -> None:
    shell = f"{sys.executable} -m yaie.cli models | true; echo ${{PIPESTATUS[0]}}"
    done = in_a_shell(shell, environment)
    assert done.stdout.strip() == "0"
    assert done.stderr == ""


@pytest.mark.parametrize("typed", ["models", "--version", "--help", "run --help"])
@pytest.mark.parametrize(("to", "why"), UNWRITABLE)
def test_unwritable_output_is_exit_code_1_and_one_line(
    typed: str, to: str, why: str, environment: dict[str, str]
) -> None:
    done = in_a_shell(f"{sys.executable} -m yaie.cli {typed} {to}", environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error[output]: cannot write the answer: {why}\n"


@pytest.mark.parametrize("to", ["2>&-", pytest.param("2>/dev/full", marks=FULL_DEVICE)])
def test_without_stderr_stdout_stays_free_of_messages(to: str, environment: dict[str, str]) -> None:
    done = in_a_shell(f"{sys.executable} -m yaie.cli serv {to}", environment)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(("command", "exit_code"), [("run", 2), ("chat", 5)])
def test_a_closed_stdin_is_an_empty_one(
    command: str, exit_code: int, environment: dict[str, str]
) -> None:
    server = "--url http://127.0.0.1:9"  # a closed port
    done = in_a_shell(f"{sys.executable} -m yaie.cli {command} {server} <&-", environment)
    assert done.returncode == exit_code, done.stderr
    assert "internal" not in done.stderr


def test_no_colour_reaches_a_pipe(yaie: Cli) -> None:
    for done in (yaie("models"), yaie("serv")):
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(load() is None, reason="without the kernel library nothing is packed")
@pytest.mark.parametrize(
    "command",
    [["run", "x"], pytest.param(["chat"], marks=pytest.mark.slow)],
    ids=lambda command: command[0],
)
def test_a_one_off_saves_packed_weights_for_the_next(
    yaie: Cli, command: list[str], tiny_model_dir: Path, tmp_path: Path
) -> None:
    settings = ["--local", "-m", str(tiny_model_dir), "--num-slots", "256", "--max-tokens", "1"]
    done = yaie(*command, *settings, stdin="hi\n", YAIE_WEIGHTS_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.packed"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux obeys RLIMIT_AS")
def test_too_little_memory_is_exit_code_4(environment: dict[str, str]) -> None:
    command = f"ulimit -v 1000000; {sys.executable} -m yaie.cli run --local x </dev/null"
    done = in_a_shell(command, environment)
    assert done.returncode == 4, done.stderr
    assert "error[not-enough-memory]" in done.stderr


# Restores the default action of SIGHUP, which is ignored under nohup.
_WITH_SIGHUP = (
    "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from yaie.cli.main import main; main()"
)

StartServer = Callable[[str], tuple[subprocess.Popen[str], int]]


@pytest.fixture
def start_server(environment: dict[str, str], tiny_model_dir: Path) -> Iterator[StartServer]:
    """Start a server with this drain time in seconds; return it and its port."""
    started: list[subprocess.Popen[str]] = []

    def start(drain_s: str) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, "-c", _WITH_SIGHUP, "serve", str(tiny_model_dir), "--port", "0"]
        options = ["--num-slots", "4096", "--threads", "1", "--drain-s", drain_s]
        process = subprocess.Popen(
            [*command, *options], stderr=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        assert found is not None, said
        return process, int(found[1])

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_an_unfinished_request_does_not_delay_the_shutdown(
    start_server: StartServer,
) -> None:
    process, port = start_server("0.1")
    with connected(port) as client:
        client.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"
        )
        url = f"http://127.0.0.1:{port}/metrics"
        wait_until(lambda: in_progress(url) > 0)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        received = client.makefile("rb").read()
    assert process.returncode == 0
    assert "Traceback" not in said
    assert received.startswith(b"HTTP/1.1 503 ") and b"engine_draining" in received


@pytest.mark.parametrize(
    ("drain_s", "signals", "last", "status"),
    [
        ("60", [signal.SIGTERM], b"[DONE]", 0),
        pytest.param("0", [signal.SIGTERM], b"engine_draining", 0, marks=pytest.mark.slow),
        ("60", [signal.SIGTERM, signal.SIGTERM], b"engine_draining", -signal.SIGTERM),
        pytest.param(
            *("60", [signal.SIGTERM, signal.SIGINT], b"engine_draining", -signal.SIGTERM),
            marks=pytest.mark.slow,
        ),
        ("60", [signal.SIGINT, signal.SIGINT], b"engine_draining", 130),
    ],
    ids=["drained", "drain timed out", "second SIGTERM", "Ctrl-C after SIGTERM", "second Ctrl-C"],
)
def test_a_drained_server_ends_with_0_and_a_cut_one_by_its_signal(
    start_server: StartServer, drain_s: str, signals: list[int], last: bytes, status: int
) -> None:
    process, port = start_server(drain_s)
    connected(port).close()
    url = f"http://127.0.0.1:{port}"
    wait_until(lambda: requests.get(f"{url}/readiness", timeout=30).status_code == 200)
    body = {"prompt": [5], "max_tokens": 20, "ignore_eos": True, "stream": True}
    if last != b"[DONE]":
        body |= {"max_tokens": 2000, "n": 16}  # outlast the signals
    with requests.post(f"{url}/v1/completions", json=body, stream=True, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        process.send_signal(signals[0])
        for number in signals[1:]:
            assert process.stderr is not None
            assert any("draining: 1 request" in line for line in process.stderr)
            process.send_signal(number)
        said = [line for line in lines if line]
    process.communicate(timeout=60)
    assert last in said[-1]
    assert process.returncode == status


def test_a_terminal_that_closes_drains_the_server(start_server: StartServer) -> None:
    """SIGHUP then arrives several times, which must not count as a second stop."""
    process, port = start_server("60")
    connected(port).close()
    url = f"http://127.0.0.1:{port}"
    wait_until(lambda: requests.get(f"{url}/readiness", timeout=30).status_code == 200)
    body = {"prompt": [5], "max_tokens": 250, "ignore_eos": True, "stream": True}
    with requests.post(f"{url}/v1/completions", json=body, stream=True, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            next(lines)
        said = [line for line in lines if line]
    assert said[-1] == b"data: [DONE]"
    process.communicate(timeout=60)
    assert process.returncode == 0


def wait_until(is_true: Callable[[], bool]) -> None:
    """Poll until the condition holds; fail after a minute."""
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def in_progress(url: str) -> float:
    """Return the number of HTTP requests in progress, by a server's metrics."""
    text = requests.get(url, timeout=30).text
    found = re.search(r"^yaie_http_active_requests(?:{.*})? (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def connected(port: int) -> socket.socket:
    """Return a connection to a server that has bound its port and may not listen yet."""
    connections: list[socket.socket] = []

    def connect() -> bool:
        with contextlib.suppress(ConnectionRefusedError):
            connections.append(socket.create_connection(("127.0.0.1", port)))
        return bool(connections)

    wait_until(connect)
    return connections[0]
