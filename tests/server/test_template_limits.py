"""Chat templates beyond their limits on real servers: refused in one line, and the server lives."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.real_server import Server

pytestmark = pytest.mark.integration

# Each of these words in a message sets off one bomb.
TRIGGERED = """
{%- for message in messages %}
{%- if message.content == 'loop' %}
{%- for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}
{%- elif message.content == 'product' %}{{ message.content * 10 ** 10 }}
{%- elif message.content == 'power' %}{% set x = 10 ** 9 %}{{ x ** x }}
{%- elif message.content == 'text' %}{% for a in range(99999) %}{{ 'x' * 99 }}{% endfor %}
{%- endif %}{{ message.role }}: {{ message.content }}
{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}
"""
ALWAYS = {
    "loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "product": "{{ 'x' * 10**10 }}",
    "power": "{{ (10**9)**(10**9) }}",
}
ROUTES: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": lambda text: {
        "messages": [{"role": "user", "content": text}], "max_tokens": 2,
    },
    "/v1/chat/completions/render": lambda text: {"messages": [{"role": "user", "content": text}]},
    "/v1/messages": lambda text: {
        "model": "tiny", "messages": [{"role": "user", "content": text}], "max_tokens": 2,
    },
    "/v1/messages/count_tokens": lambda text: {
        "model": "tiny", "messages": [{"role": "user", "content": text}],
    },
    "/v1/responses": lambda text: {"input": text, "max_output_tokens": 2},
    "/tokenize": lambda text: {"messages": [{"role": "user", "content": text}]},
    "/api/chat": lambda text: {
        "model": "tiny", "messages": [{"role": "user", "content": text}], "stream": False,
        "options": {"num_predict": 2},
    },
    "/api/generate": lambda text: {
        "model": "tiny", "prompt": text, "stream": False,
        "options": {"num_predict": 2},
    },
}  # fmt: skip


def with_template(model: Path, folder: Path, template: str) -> Path:
    shutil.copytree(model, folder)
    (folder / "chat_template.jinja").write_text(template)
    return folder


@pytest.fixture(scope="module")
def bombed(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = with_template(model, tmp_path_factory.mktemp("bombed") / "tiny", TRIGGERED)
    server = Server(folder, folder.parent / "log")
    server.wait_ready()
    yield server
    assert server.stop() in (0, -signal.SIGTERM)  # as uvicorn exits


def renderers(pid: int) -> list[int]:
    """Return the processes of a server that render."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in tasks.read_text().split():
            if b"template_worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_refuses_a_bomb_and_goes_on(bombed: Server, path: str) -> None:
    for word, limit in (("loop", "2 s of processor time"), ("product", "64 MiB of memory")):
        refused = bombed.post(path, ROUTES[path](word))
        assert refused.status_code == 400, refused.text
        assert limit in refused.text
        answer = bombed.post(path, ROUTES[path]("hello"))
        assert answer.status_code == 200, answer.text
    assert bombed.process.poll() is None


def test_a_long_text_is_refused_by_the_context(bombed: Server) -> None:
    refused = bombed.post("/v1/chat/completions", ROUTES["/v1/chat/completions"]("text"))
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "context_length_exceeded")
    power = bombed.post("/v1/chat/completions", ROUTES["/v1/chat/completions"]("power"))
    assert power.json()["error"]["code"] == "chat_template_limit"


def test_chats_and_probes_go_on_beside_bombs(bombed: Server) -> None:
    """Three at once, where two threads do the text work."""
    chat = ROUTES["/v1/chat/completions"]
    refused: list[int] = []

    def explode() -> None:
        refused.append(bombed.post("/v1/chat/completions", chat("loop")).status_code)

    threads = [threading.Thread(target=explode) for _ in range(3)]
    for thread in threads:
        thread.start()
    answered = 0
    while len(refused) < 3:
        assert bombed.get("/health").status_code == 200
        answer = bombed.post("/v1/chat/completions", chat("hello"))
        assert answer.status_code == 200
        answered += not refused
    for thread in threads:
        thread.join()
    assert refused == [400] * 3
    assert answered >= 3


@pytest.mark.parametrize("name", ALWAYS)
def test_a_model_whose_template_is_a_bomb_is_refused_at_the_start(
    model: Path, tmp_path: Path, name: str
) -> None:
    folder = with_template(model, tmp_path / "tiny", ALWAYS[name])
    served = subprocess.run(
        [sys.executable, "-m", "yaie", "serve", str(folder), "--port", "0", "--threads", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert served.returncode == 3, served.stderr
    (line,) = [line for line in served.stderr.splitlines() if "error[" in line]
    assert "error[model-unsupported]" in line and "chat template needs more than" in line
    assert "Traceback" not in served.stderr


def test_a_bomb_does_not_outlive_its_server(
    model: Path, tmp_path: Path, start: Callable[..., Server]
) -> None:
    server = start(with_template(model, tmp_path / "tiny", TRIGGERED))
    server.wait_ready()
    (pid,) = renderers(server.process.pid)

    def explode() -> None:
        with pytest.raises(requests.ConnectionError):
            server.post("/v1/chat/completions", ROUTES["/v1/chat/completions"]("loop"))

    thread = threading.Thread(target=explode)
    thread.start()
    stat = Path(f"/proc/{pid}/stat")
    before = int(stat.read_text().split()[13])
    while int(stat.read_text().split()[13]) < before + 10:
        time.sleep(0.01)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    thread.join()
    deadline = time.monotonic() + 30
    while stat.exists() and stat.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_broken_model_leaves_the_others(
    model: Path, tmp_path: Path, start: Callable[..., Server]
) -> None:
    bad = with_template(model, tmp_path / "bad", ALWAYS["loop"])
    server = start(
        YAIE_MODEL="",
        YAIE_SERVED_MODEL_NAME="",
        YAIE_MODELS=f"good={model},bad={bad}",
        YAIE_LAZY_LOAD="true",
    )
    server.wait_until(lambda: server.get("/readiness").status_code == 200, "ready")
    chat = ROUTES["/v1/chat/completions"]("hello")
    for name, status in (("good", 200), ("bad", 503), ("good", 200)):
        answer = server.post("/v1/chat/completions", chat | {"model": name})
        assert answer.status_code == status, answer.text
        assert status == 200 or "2 s of processor time" in answer.text
