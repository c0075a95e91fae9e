"""`yaie serve` and `server.run` with TLS: a certificate and its key, or a refusal."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from yaie.base.advised_error import AdvisedError
from yaie.base.settings import Settings
from yaie.server.serving import check_tls

NEEDS_OPENSSL = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the program openssl, which makes the certificate"
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Files of a certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return certificate, key


@NEEDS_OPENSSL
def test_wrong_files_are_a_usage_error(pair: tuple[str, str]) -> None:
    certificate, key = pair
    check_tls(Settings(ssl_certfile=certificate, ssl_keyfile=key))
    for wrong in ("/nowhere.pem", certificate):
        with pytest.raises(AdvisedError, match="for TLS") as refused:
            check_tls(Settings(ssl_certfile=certificate, ssl_keyfile=wrong))
        assert refused.value.exit_code == 2
        is_missing = wrong != certificate
        assert ("/nowhere.pem: No such file" in refused.value.why) is is_missing


def of_command_line(model: str, certificate: str, key: str) -> list[str]:
    flags = ["--port", "0", "--ssl-certfile", certificate, "--ssl-keyfile", key]
    return ["-m", "yaie.cli", "serve", model, *flags]


def of_python(model: str, certificate: str, key: str) -> list[str]:
    files = f"ssl_certfile={certificate!r}, ssl_keyfile={key!r}"
    return ["-c", f"import server; server.run({model!r}, '127.0.0.1', 0, {files})"]


@NEEDS_OPENSSL
@pytest.mark.integration
@pytest.mark.parametrize(
    "arguments", [of_command_line, pytest.param(of_python, marks=pytest.mark.slow)]
)
def test_a_server_speaks_tls(
    arguments: Callable[[str, str, str], list[str]],
    pair: tuple[str, str],
    environment: dict[str, str],
    tiny_model_dir: Path,
) -> None:
    certificate, key = pair
    process = subprocess.Popen(
        [sys.executable, *arguments(str(tiny_model_dir), certificate, key)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"YAIE_NUM_SLOTS": "256", "YAIE_METRICS_PORT": "-1"},
    )
    try:
        assert process.stderr is not None
        found = re.search(r"https://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found is not None
        answer = ask(found[0], certificate)
        assert answer.json()["server"] == "yaie"
        assert "server" not in answer.headers and "date" in answer.headers
        probed = probe(found[0], environment, YAIE_SSL_CERTFILE=certificate, YAIE_SSL_KEYFILE=key)
        assert probed.returncode in (0, 1) and "SSL" not in probed.stderr, probed.stderr
        while probed.returncode:  # /health answers 503 until the model is loaded
            assert "/health answers 503" in probed.stderr
            probed = probe(
                found[0], environment, YAIE_SSL_CERTFILE=certificate, YAIE_SSL_KEYFILE=key
            )
        plain = probe(found[0], environment)
        assert plain.returncode == 1 and "no answer from 127.0.0.1" in plain.stderr
        with pytest.raises(requests.ConnectionError):
            requests.get(found[0].replace("https", "http") + "/health", timeout=10)
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def probe(
    url: str, environment: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the image's health check against a server."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "yaie.remote.health_probe"],
        env=environment | {"YAIE_HOST": "0.0.0.0", "YAIE_PORT": url.rpartition(":")[2]} | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def ask(url: str, certificate: str) -> requests.Response:
    """Return the answer of a probe, once the server listens."""
    end = time.monotonic() + 60
    while True:
        try:
            return requests.get(f"{url}/liveness", verify=certificate, timeout=10)
        except requests.ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
