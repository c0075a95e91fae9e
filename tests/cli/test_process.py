"""What a shell sees: streams, exit codes, and what a start imports."""

from __future__ import annotations

import json
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
from yaie.kernels.loader import load

LIGHT = [
    ("--help",),
    ("run", "--help"),
    ("serve", "--help"),
    ("bench", "--help"),
    ("models",),
    ("version",),
    ("run", "--no-such-flag"),
    ("serv",),
]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_no_heavy_library_is_imported_where_none_is_needed(
    arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
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


def test_help_is_an_answer(yaie: Cli) -> None:
    done = yaie("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "serve" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("serv",), "Did you mean `yaie serve`"),
        (("run", "--no-such-flag"), "--no-such-flag"),
        (("run",), "no prompt"),
        (("models", "extra"), "extra"),
        (("serve", "--dtype", "int3"), "--dtype"),
        (("serve", "--port", "99999"), "--port"),
        (("serve", "--max-model-len", "8q"), "8q"),
        (("run", "--raw", "-s", "x", "hi"), "--raw and --system"),
        (("run", "-f", "/no/such/file", "hi"), "/no/such/file"),
        (("run", "--timeout", "-1", "--local", "hi"), "--timeout"),
        (("run", "--timeout", "nan", "--local", "hi"), "--timeout must be greater than 0"),
        (("serve", "--request-timeout-s", "nan"), "--request-timeout-s"),
        (("run", "--local", "--url", "http://x", "hi"), "--url and --local"),
    ],
)
def test_what_is_typed_wrongly_is_exit_code_2_and_one_message(
    yaie: Cli, arguments: tuple[str, ...], what: str
) -> None:
    done = yaie(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error[")
    assert what in done.stderr
    assert "Traceback" not in done.stderr
    assert "try: " in done.stderr


def test_a_wrong_variable_is_named(yaie: Cli) -> None:
    done = yaie("serve", YAIE_MAX_STEP_ROWS="many")
    assert done.returncode == 2
    assert "YAIE_MAX_STEP_ROWS is 'many'" in done.stderr


def test_a_traceback_is_shown_to_who_asks(yaie: Cli) -> None:
    assert "Traceback" in yaie("serv", "--debug").stderr
    assert "Traceback" in yaie("serv", YAIE_DEBUG="1").stderr


@pytest.mark.parametrize("model", ["/no/such/folder", "nobody/nothing"])
def test_a_model_that_is_not_there_is_exit_code_3(yaie: Cli, model: str) -> None:
    done = yaie("serve", model, "--port", "0")
    assert done.returncode == 3
    assert done.stderr.startswith("error[model-not-found]: no model")
    assert "looked in: " in done.stderr


def test_a_server_that_is_not_there_is_exit_code_5(yaie: Cli) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    done = yaie("hi", "--url", url)
    assert done.returncode == 5
    assert url in done.stderr
    assert yaie("hi", YAIE_BASE_URL=url).returncode == 5


def test_models_as_json(yaie: Cli) -> None:
    listed = json.loads(yaie("models", "--json").stdout)
    assert any(entry["architecture"] == "LlamaForCausalLM" for entry in listed["supported"])
    assert [model["name"] for model in listed["models"]] in ([], ["builtin"])


def test_a_reader_that_leaves_early_is_no_failure(environment: dict[str, str]) -> None:
    shell = f"{sys.executable} -m yaie.cli models | true; echo ${{PIPESTATUS[0]}}"
    done = in_a_shell(shell, environment)
    assert done.stdout.strip() == "0"
    assert done.stderr == ""


@pytest.mark.parametrize("typed", ["models", "--version", "--help", "run --help"])
@pytest.mark.parametrize(("to", "why"), UNWRITABLE)
def test_output_that_cannot_be_written_is_exit_code_1_and_one_line(
    typed: str, to: str, why: str, environment: dict[str, str]
) -> None:
    done = in_a_shell(f"{sys.executable} -m yaie.cli {typed} {to}", environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error[output]: cannot write the answer: {why}\n"


@pytest.mark.parametrize("to", ["2>&-", pytest.param("2>/dev/full", marks=FULL_DEVICE)])
def test_without_stderr_no_message_gets_among_the_answers(
    to: str, environment: dict[str, str]
) -> None:
    done = in_a_shell(f"{sys.executable} -m yaie.cli serv {to}", environment)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(("command", "exit_code"), [("run", 2), ("chat", 5)])
def test_without_stdin_nothing_is_piped_in(
    command: str, exit_code: int, environment: dict[str, str]
) -> None:
    server = "--url http://127.0.0.1:9"  # nobody listens there
    done = in_a_shell(f"{sys.executable} -m yaie.cli {command} {server} <&-", environment)
    assert done.returncode == exit_code, done.stderr
    assert "internal" not in done.stderr


def test_help_says_how_to_ask_in_a_loop_that_reads_lines(yaie: Cli) -> None:
    assert "</dev/null" in yaie("run", "--help").stdout


def test_no_colour_reaches_a_pipe(yaie: Cli) -> None:
    for done in (yaie("models"), yaie("serv")):
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(load() is None, reason="without the kernel library nothing is packed")
@pytest.mark.parametrize("command", [["run", "x"], ["chat"]], ids=lambda command: command[0])
def test_a_one_off_leaves_packed_weights_for_the_next(
    yaie: Cli, command: list[str], tiny_model_dir: Path, tmp_path: Path
) -> None:
    """It has answered before they are written."""
    settings = ["--local", "-m", str(tiny_model_dir), "--num-slots", "256", "--max-tokens", "1"]
    done = yaie(*command, *settings, stdin="hi\n", YAIE_WEIGHTS_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.packed"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux heeds RLIMIT_AS")
def test_too_little_memory_is_no_fault_of_yaie(environment: dict[str, str]) -> None:
    command = f"ulimit -v 1000000; {sys.executable} -m yaie.cli run --local x </dev/null"
    done = in_a_shell(command, environment)
    assert done.returncode == 4, done.stderr
    assert "error[not-enough-memory]" in done.stderr


StartServer = Callable[[str], tuple[subprocess.Popen[str], int]]


@pytest.fixture
def start_server(environment: dict[str, str], tiny_model_dir: Path) -> Iterator[StartServer]:
    """Starts a server that drains for so many seconds; gives it and its port."""
    started: list[subprocess.Popen[str]] = []

    def start(drain_s: str) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, "-m", "yaie.cli", "serve", str(tiny_model_dir), "--port", "0"]
        options = ["--num-slots", "256", "--threads", "1", "--drain-s", drain_s]
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


def test_a_client_that_never_finishes_its_request_does_not_hold_the_shutdown(
    start_server: StartServer,
) -> None:
    process, port = start_server("0.1")
    with connected(port) as client:
        client.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"
        )
        time.sleep(0.5)  # for the request to reach its route
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        received = client.makefile("rb").read()
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in said
    assert received.startswith(b"HTTP/1.1 503 ") and b"engine_draining" in received


def test_a_terminal_that_closes_drains_the_server(start_server: StartServer) -> None:
    """Its shell passes the signal on, and the system sends it again: that is no second signal."""
    process, port = start_server("60")
    connected(port).close()
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 60
    while requests.get(f"{url}/readiness", timeout=30).status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.1)
    body = {"prompt": [5], "max_tokens": 250, "ignore_eos": True, "stream": True}
    with requests.post(f"{url}/v1/completions", json=body, stream=True, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.02)
        said = [line for line in lines if line]
    assert said[-1] == b"data: [DONE]"
    process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)


def connected(port: int) -> socket.socket:
    """A connection to a server that has its port and begins to listen."""
    end = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.05)
