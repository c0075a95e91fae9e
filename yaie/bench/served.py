"""A server of one's own for a measurement: `yaie serve` in a child process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import requests

from yaie.base.errors import RequestFailed

_READY_S = 600.0
_POLL_S = 0.01


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def serve_command(port: int) -> list[str]:
    """Return the command of a server on this port."""
    return [sys.executable, "-m", "yaie.cli", "serve", "--port", str(port)]


def environment_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return our environment with these settings; it leads to this package if not installed."""
    variables = {f"YAIE_{name.upper()}": str(value) for name, value in settings.items()}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, **variables, "PYTHONPATH": path}


@contextlib.contextmanager
def served(settings: Mapping[str, Any]) -> Iterator[str]:
    """Run a server with these settings; yield its URL. Raises `RequestFailed` with its log.

    Request errors inside the block count as errors of the server too.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log, requests.Session() as http:
        process = subprocess.Popen(
            serve_command(port), env=environment_of(settings), stdout=log, stderr=log
        )
        try:
            wait_ready(http, url, process)
            yield url
        except (RequestFailed, requests.RequestException) as error:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()[-5:]
            raise RequestFailed("\n".join([str(error), *said])) from None
        finally:
            stop(process)


def wait_ready(http: requests.Session, url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server accepts requests. Raises `RequestFailed`."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RequestFailed(f"the server ended with exit status {process.returncode}")
        with contextlib.suppress(requests.ConnectionError):
            if http.get(f"{url}/readiness", timeout=60).status_code == 200:
                return
        time.sleep(_POLL_S)
    raise RequestFailed(f"the server was not ready within {_READY_S:g} s")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
