"""Each agent as shipped finishes a task: it reads a file, edits it, and answers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agents.agent_model import TEMPLATES
from tests.agents.programs import AFTER, AGENTS, ANSWER, BEFORE, BIN, TASK, Agent
from tests.agents.scripted_server import ScriptedServer
from tests.server.real_server import Server

LIMIT_S = 120.0


@contextmanager
def served(model: Path, script: list[tuple[list[str], str]], log: Path) -> Iterator[Server]:
    path = log.with_name("script.json")
    path.write_text(json.dumps(script), encoding="utf-8")
    server = ScriptedServer(model, path, log)
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


def run(agent: Agent, url: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run an agent on the task, in an empty home and with nothing of this process's settings."""
    for name, text in agent.files(url).items():
        (home / name).write_text(text, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    given = {name: each.format(home=home) for name, each in agent.variables(url).items()}
    return subprocess.run(
        [BIN / agent.command[0], *agent.command[1:], TASK],
        cwd=home / "work",
        env={**kept, "HOME": str(home), **given},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_finishes_a_task(
    agent: Agent, template: str, agent_models: dict[str, Path], tmp_path: Path
) -> None:
    file = tmp_path / "work" / "notes.txt"
    file.parent.mkdir()
    file.write_text(BEFORE)
    with served(
        agent_models[template], agent.script(file, template), tmp_path / "server.log"
    ) as server:
        done = run(agent, server.url, tmp_path)
        stats = server.stats()["stats"]
    said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{server.log.read_text()[-4000:]}"
    assert done.returncode == 0, said
    assert file.read_text() == AFTER, said
    assert ANSWER in done.stdout, said
    # Each turn repeats the prompt of the turn before: most of it is cached.
    assert stats["cached_tokens"] > 0.5 * stats["prompt_tokens"], stats
    print(
        f"{agent.name} on {template}: {stats['prompt_tokens']:,} prompt tokens, "
        f"{stats['cached_tokens'] / stats['prompt_tokens']:.0%} cached"
    )
