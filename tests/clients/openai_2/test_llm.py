"""Commands of `llm`, with the server in its `extra-openai-models.yaml`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.questions import (
    HELLO,
    KEY,
    PERSON,
    PERSON_QUESTION,
    TOO_LONG,
    UNKNOWN,
    WEATHER,
    WRONG_KEY,
)

MODELS = """
- model_id: yaie
  model_name: builtin
  api_base: {base_url}
  api_key_name: yaie
  supports_tools: true
  supports_schema: true
- model_id: unknown
  model_name: {unknown}
  api_base: {base_url}
  api_key_name: yaie
- model_id: draining
  model_name: builtin
  api_base: {draining_url}/v1
  api_key_name: yaie
"""
TOOL = '''
def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return '{"temperature": 21}'
'''


@pytest.fixture(autouse=True)
def settings(
    tmp_path: Path, base_url: str, draining_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MODELS.format(base_url=base_url, draining_url=draining_url, unknown=UNKNOWN)
    (tmp_path / "extra-openai-models.yaml").write_text(text)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))


def llm(*arguments: str, model: str = "yaie", key: str = KEY, code: int = 0) -> str:
    command = [sys.executable, "-m", "llm", "prompt", "-m", model, "--key", key, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def test_chat() -> None:
    assert llm("--no-stream", HELLO).strip()


def test_stream() -> None:
    assert llm(HELLO).strip()


def test_multi_turn() -> None:
    assert llm(HELLO).strip()
    assert llm("--continue", "And again?").strip()


def test_tools_auto() -> None:
    assert "21" in llm("-o", "temperature", "0", "--functions", TOOL, WEATHER)


def test_schema() -> None:
    person = json.loads(
        llm("--schema", json.dumps(PERSON), "-o", "max_tokens", "256", PERSON_QUESTION)
    )
    assert isinstance(person["name"], str) and isinstance(person["age"], int)


def test_errors() -> None:
    assert UNKNOWN in llm(HELLO, model="unknown", code=1)
    assert "maximum context length" in llm(TOO_LONG, code=1)
    assert "temperature" in llm("-o", "temperature", "-1", HELLO, code=1)
    assert "the API key is wrong" in llm(HELLO, key=WRONG_KEY, code=1)
    assert "shutting down" in llm(HELLO, model="draining", code=1)
