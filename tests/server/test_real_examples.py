"""Examples of the documents and requests of a plain HTTP client, against a real server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import requests

from tests.server.real_server import WAIT_S, Server

pytestmark = pytest.mark.integration
PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "reference").glob("*.md"))
COMMANDS = [
    command
    for page in PAGES
    for command in re.findall(
        r"^```\n(curl .+?)^```", page.read_text(encoding="utf-8"), re.M | re.S
    )
]
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "the plan?"}], "max_tokens": 8}


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="needs the program curl, whose commands the pages show"
)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_work(server: Server, command: str) -> None:
    command = command.replace("http://127.0.0.1:8000", server.url).replace("smollm2", "tiny")
    done = subprocess.run(
        f"set -f; {command} --silent --fail-with-body".replace("\n --silent", " --silent"),
        shell=True,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done
    assert done.stdout.startswith(("{", "data: {", "event: "))


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 4


def test_a_plain_http_client(server: Server) -> None:
    url = server.url
    whole = requests.post(f"{url}/v1/chat/completions", json=CHAT, timeout=WAIT_S).json()
    text = whole["choices"][0]["message"]["content"]
    body = {**CHAT, "stream": True}
    streamed = ""
    with requests.post(
        f"{url}/v1/chat/completions", json=body, stream=True, timeout=WAIT_S
    ) as reply:
        for line in reply.iter_lines():
            if line.startswith(b"data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                streamed += delta.get("content") or ""
    assert streamed == text
    models = requests.get(f"{url}/v1/models", timeout=WAIT_S).json()
    assert [card["id"] for card in models["data"]] == ["tiny"]
    count = requests.post(f"{url}/v1/count_tokens", json=CHAT, timeout=WAIT_S).json()["count"]
    assert count == whole["usage"]["prompt_tokens"]
