"""YAIE started in a folder whose own modules are named `server`, `utils` and `app`."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

CONSOLE_SCRIPT = Path(sysconfig.get_path("scripts")) / "yaie"
PYTHON_API = """
from yaie import ApiServer, AsyncLLM, Client, LLM
from yaie.server import run
from yaie.server.app import create_app
print(ApiServer.__module__, create_app.__module__)
"""


@pytest.fixture(params=["module", pytest.param("package", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with files that would answer if YAIE imported the names of its user."""
    shout = "raise SystemExit('a file of the user ran')\n"
    (tmp_path / "utils.py").write_text(shout)
    (tmp_path / "app.py").write_text(shout)
    if request.param == "module":
        (tmp_path / "server.py").write_text(shout)
    else:
        (tmp_path / "server").mkdir()
        (tmp_path / "server" / "__init__.py").write_text(shout)
    return tmp_path


COMMANDS = {
    "console script": [str(CONSOLE_SCRIPT)],
    "module": [sys.executable, "-m", "yaie"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_serve_answers_in_a_hostile_folder(
    name: str, folder: Path, environment: dict[str, str], tiny_model_dir: Path
) -> None:
    serve = ["serve", str(tiny_model_dir), "--port", "0", "--num-slots", "8k", "--threads", "1"]
    log = folder / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*COMMANDS[name], *serve], cwd=folder, env=environment, stderr=errors
        )
    try:
        assert read_health(process, log) == 200
    finally:
        process.terminate()
        process.wait(60)


def read_health(process: subprocess.Popen[bytes], log: Path) -> int:
    """Return the status of `/health` once the server is ready."""
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up and process.poll() is None:
        time.sleep(0.1)
        words = log.read_text().split()
        if len(words) < 3:
            continue
        try:
            with urllib.request.urlopen(f"{words[2]}/health", timeout=5) as reply:
                return int(reply.status)
        except OSError:
            continue
    raise AssertionError(f"not ready: {log.read_text()}")


def test_the_python_api_loads_in_a_hostile_folder(
    folder: Path, environment: dict[str, str]
) -> None:
    (folder / "program.py").write_text(PYTHON_API)
    ran = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "yaie.server.api_server yaie.server.app\n"), (
        ran.stderr
    )


def test_uvicorn_serves_the_inner_application_in_a_hostile_folder(
    folder: Path, environment: dict[str, str], tiny_model_dir: Path
) -> None:
    """The inner name loads where a user's `server` shadows the outer one."""
    program = "import uvicorn; uvicorn.Config('yaie.server.api:app').load(); print('loaded')"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment | {"YAIE_MODEL": str(tiny_model_dir)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout == "loaded\n", ran.stderr
