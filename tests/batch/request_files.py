"""Input files of batches, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from yaie.batch.batch_lines import BatchInput, read_input

CHAT = "/v1/chat/completions"


def question(custom_id: str, text: str = "Hi", url: str = CHAT, **body: Any) -> dict[str, Any]:
    """Return one line: a chat, or a completion of `text`."""
    prompt = {"messages": [{"role": "user", "content": text}]} if url == CHAT else {"prompt": text}
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": prompt | body}


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def given(path: Path, lines: Iterable[dict[str, Any]]) -> BatchInput:
    return read_input(write(path, lines))


def results(path: Path) -> dict[str, Any]:
    """Return the results by custom id; each has one."""
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    found = {line["custom_id"]: line for line in lines}
    assert len(found) == len(lines)
    return found
