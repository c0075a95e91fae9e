"""`yaie serve` reads its API keys and its certificate again at SIGHUP."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="needs openssl, which makes the certificates"
    ),
]


def write_certificate(folder: Path, name: str) -> None:
    """Write cert.pem and key.pem of a new certificate with a common name."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *files, *subject], check=True, capture_output=True)


class Served:
    """A server with TLS and a file of keys."""

    def __init__(
        self, folder: Path, model: Path, environment: dict[str, str], **options: Any
    ) -> None:
        self.folder, self.log = folder, folder / "log"
        flags = ["--ssl-certfile", "cert.pem", "--ssl-keyfile", "key.pem", "--port", "0"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "yaie", "serve", str(model), *flags,
                 "--api-key-file", "keys", "--num-slots", "256", "--no-warmup"],
                cwd=folder, env=environment, stderr=log, start_new_session=True, **options,
            )  # fmt: skip
        found = self.wait(lambda: re.search(r"https://127\.0\.0\.1:(\d+)", self.log.read_text()))
        self.port = int(found[1])
        self.wait(lambda: self.status("first") is not None)

    def wait(self, is_so: Callable[[], object]) -> re.Match[str]:
        end = time.monotonic() + 60
        while not (found := is_so()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)
        return found  # type: ignore[return-value]

    def status(self, key: str) -> int | None:
        """Return the status of a request with a key; None while the server does not listen."""
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}/v1/models", headers={"X-API-Key": key}
        )
        unchecked = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(request, timeout=30, context=unchecked) as answer:
                json.load(answer)
                return int(answer.status)
        except HTTPError as error:
            return error.code
        except OSError:
            return None

    def certificate(self) -> str:
        return ssl.get_server_certificate(("127.0.0.1", self.port), timeout=30)

    def hang_up(self, line: str) -> None:
        """Send SIGHUP, and wait for a line of the log."""
        before = self.log.read_text().count(line)
        self.process.send_signal(signal.SIGHUP)
        self.wait(lambda: self.log.read_text().count(line) > before)


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, tiny_model_dir: Path, environment: dict[str, str]) -> Iterator[Serve]:
    write_certificate(tmp_path, "first")
    (tmp_path / "keys").write_text("ada first\n")
    started: list[Served] = []

    def start(**options: Any) -> Served:
        started.append(Served(tmp_path, tiny_model_dir, environment, **options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def test_keys_and_certificate_change_without_a_restart(serve: Serve) -> None:
    served = serve()
    folder, old = served.folder, served.certificate()
    assert old == (folder / "cert.pem").read_text()
    assert (served.status("first"), served.status("second")) == (200, 401)

    (folder / "keys").write_text("ada second\n")
    write_certificate(folder, "second")
    served.hang_up("read the TLS certificate again")
    assert (served.status("first"), served.status("second")) == (401, 200)
    new = served.certificate()
    assert new == (folder / "cert.pem").read_text() != old

    (folder / "keys").write_text("\n")
    certificate = (folder / "cert.pem").read_text()
    write_certificate(folder, "third")
    (folder / "cert.pem").write_text(certificate)  # of a different key
    served.hang_up("the TLS certificate stays as it was")
    text = served.log.read_text()
    assert "the API keys stay as they were: api_key_file: keys contains no key" in text
    assert (served.status("first"), served.status("second")) == (401, 200)
    assert served.certificate() == new
    assert "second" not in text

    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0


def test_a_terminal_that_closes_stops_the_server(serve: Serve) -> None:
    ours, theirs = os.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    served = serve(stdin=theirs, preexec_fn=take_terminal)
    os.close(theirs)
    served.hang_up("read the API keys again")  # the terminal is open
    os.close(ours)
    assert served.process.wait(60) == 0
