"""The examples of `docs/guides/clients.md`, run as a reader would, with a server's address."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.document import PAGE

# Sections of libraries in the environment with an older openai.
HELD_BACK = {"openai-agents", "instructor", "llama-index", "llm"}
IS_HELD_BACK = importlib.util.find_spec("llama_index") is not None
JS = Path(__file__).parent / "js"
COMMANDS = {
    "python": [sys.executable, "-c"],
    "js": ["node", "--input-type=module", "--eval"],
    "bash": ["bash", "-euc"],
}


def examples() -> list[tuple[str, str, str]]:
    """Return heading, language and code of each example for this environment."""
    found = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading = section.splitlines()[0]
        blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
        if (heading in HELD_BACK) is IS_HELD_BACK:
            found += [(heading, language, code) for language, code in blocks]
    return found


@pytest.mark.parametrize("example", [pytest.param(each[1:], id=each[0]) for each in examples()])
def test_an_example_prints_an_answer(
    url: str,
    retrieval_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    example: tuple[str, str],
) -> None:
    language, code = example
    # The page itself has to name the address.
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    servers = {"http://127.0.0.1:8000": url, "http://127.0.0.1:8001": retrieval_url}
    assert any(address in code for address in servers)
    for address, real in servers.items():
        code = code.replace(address, real)
    done = subprocess.run(
        [*COMMANDS[language], code],
        capture_output=True,
        text=True,
        cwd=JS,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
