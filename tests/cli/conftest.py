"""The command line in a process of its own, without a terminal, and a server for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]

FULL_DEVICE = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)
UNWRITABLE = [
    pytest.param(">/dev/full", "No space left on device", marks=FULL_DEVICE),
    (">&-", "Bad file descriptor"),
]
"""Unwritable targets of standard output, with the reason."""


def in_a_shell(line: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run one line of bash to its end, with an empty stdin."""
    return subprocess.run(
        ["bash", "-c", line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment without `YAIE_*` variables and with an empty model cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("YAIE_")}
    home = tmp_path_factory.mktemp("hub")
    ours = {"OMP_NUM_THREADS": "1", "YAIE_WEIGHTS_CACHE": "off", "XDG_STATE_HOME": str(home)}
    return kept | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"} | ours


@pytest.fixture
def yaie(environment: dict[str, str]) -> Cli:
    """A function: `yaie("run", "hi")` runs to its end and returns its output and exit code."""

    def run(
        *arguments: str, stdin: str | None = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "yaie.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment | variables,
            timeout=120,
            check=False,
        )

    return run


_SERVE = ("--port", "0", "--served-model-name", "tiny", "--num-slots", "8k", "--threads", "1")


@pytest.fixture(scope="session")
def yaie_server(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
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
    assert out == b"", "stdout stays empty"


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
