"""A YAIE server whose engine is made to write an agent's next answer.

Everything is real, tokens included: a grammar holds the engine to the text of a script, since no
model that is small enough for a test calls tools dependably. Run as
`python -m tests.agents.scripted_server FOLDER SCRIPT PORT`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from tokenizers import Tokenizer

from tests.agents.agent_model import CONTEXT
from tests.server.real_server import Server
from yaie.base.settings import EngineConfig, load_settings
from yaie.base.types import GenerationRequest, Grammar
from yaie.client.engine_client import EngineClient
from yaie.client.submission import Sink, Submission
from yaie.server.app import create_app, process_client


@dataclass(frozen=True, slots=True)
class Line:
    """An answer to each prompt in which every `pattern` is found."""

    patterns: tuple[re.Pattern[str], ...]
    answer: str

    def answers(self, prompt: str) -> bool:
        """Return True if this is the answer to a prompt."""
        return all(pattern.search(prompt) for pattern in self.patterns)


def read_script(path: Path) -> list[Line]:
    """Read `[[[pattern, ...], answer], ...]`; the first line that fits is taken."""
    lines = json.loads(path.read_text(encoding="utf-8"))
    return [
        Line(tuple(re.compile(each, re.DOTALL) for each in patterns), answer)
        for patterns, answer in lines
    ]


class ScriptedEngine:
    """An engine client that holds the engine behind it to a script."""

    def __init__(self, client: EngineClient, tokenizer: Tokenizer, lines: Sequence[Line]) -> None:
        self._client = client
        self._tokenizer = tokenizer
        self._lines = lines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send a request with the grammar of its answer; see `EngineClient.submit`."""
        prompt = self._tokenizer.decode(request.prompt_token_ids, skip_special_tokens=False)
        answer = next(line.answer for line in self._lines if line.answers(prompt))
        print(json.dumps({"prompt": prompt, "answer": answer}), flush=True)
        sampling = replace(request.sampling, temperature=0.0)
        return self._client.submit(
            replace(request, grammar=Grammar.choice([answer]), sampling=sampling), sink
        )


def scripted_client(
    make: Callable[[EngineConfig], EngineClient], folder: Path, lines: Sequence[Line]
) -> Callable[[EngineConfig], Any]:
    """Return the maker of clients that follow a script."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return lambda config: ScriptedEngine(make(config), tokenizer, lines)


def main(folder: Path, script: Path, port: int) -> None:
    """Serve until a signal."""
    settings = load_settings(model=str(folder), served_model_name="scripted", threads=1)
    make = scripted_client(process_client(settings), folder, read_script(script))
    uvicorn.run(create_app(settings, make), port=port, log_level="warning")


class ScriptedServer(Server):
    """A scripted server in a process of its own."""

    def __init__(self, folder: Path, script: Path, log: Path) -> None:
        self.script = script
        super().__init__(folder, log, YAIE_NUM_SLOTS=str(2 * CONTEXT))

    def command(self) -> list[str]:
        """See `Server.command`."""
        arguments = (str(self.folder), str(self.script), str(self.port))
        return [sys.executable, "-m", "tests.agents.scripted_server", *arguments]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
