"""The agents: how each is installed, told of the server, and asked for a task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BIN = Path(__file__).parent / "js" / "node_modules" / ".bin"
MODEL = "scripted"
TASK = "Replace alpha with gamma in notes.txt."
BEFORE, AFTER = "alpha and beta\n", "gamma and beta\n"
READS, EDITS = "I read the file first.", "Now I edit the file."
ANSWER = "notes.txt says gamma now."


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: dict[str, Any]

    def write(self, form: str) -> str:
        """Return the call as a model of the template writes it."""
        call = json.dumps({"name": self.name, "arguments": self.arguments})
        return (
            f"[TOOL_CALLS][{call}]" if form == "mistral" else f"<tool_call>\n{call}\n</tool_call>"
        )


@dataclass(frozen=True)
class Agent:
    """A coding agent as shipped.

    `read` and `edit` are its calls for the task, on a file; `files` its settings, in its home
    folder or, below `work`, beside the file.
    """

    name: str
    command: tuple[str, ...]
    read: Callable[[Path], Call]
    edit: Callable[[Path], Call]
    variables: Callable[[str], Mapping[str, str]] = field(default=lambda url: {})
    files: Callable[[str], Mapping[str, str]] = field(default=lambda url: {})

    def script(self, file: Path, form: str) -> list[tuple[list[str], str]]:
        """Return the model's answers: the file is read, edited, and the task done.

        Prompts without the tools ask for titles, summaries and memories.
        """
        read, edit = self.read(file), self.edit(file)
        tools = f'"{edit.name}"'
        return [
            ([tools, TASK[:-1], EDITS], ANSWER),
            ([tools, TASK[:-1], READS], f"{EDITS}\n{edit.write(form)}"),
            ([tools, TASK[:-1]], f"{READS}\n{read.write(form)}"),
            (["."], "An edit of notes.txt"),
        ]


def _codex_config(url: str) -> str:
    return f"""\
model = "{MODEL}"
model_provider = "yaie"

[model_providers.yaie]
name = "YAIE"
base_url = "{url}/v1"
wire_api = "responses"
"""


def _opencode_config(url: str) -> str:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "YAIE",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {MODEL: {"name": MODEL}},
    }
    model = f"yaie/{MODEL}"
    return json.dumps({"model": model, "small_model": model, "provider": {"yaie": provider}})


AGENTS = (
    Agent(
        "codex",
        ("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"),
        read=lambda file: Call("exec_command", {"cmd": f"cat {file}"}),
        edit=lambda file: Call("exec_command", {"cmd": f"sed -i s/alpha/gamma/ {file}"}),
        variables=lambda url: {"CODEX_HOME": "{home}"},
        files=lambda url: {"config.toml": _codex_config(url)},
    ),
    Agent(
        "claude",
        ("claude", "--permission-mode", "acceptEdits", "-p"),
        read=lambda file: Call("Read", {"file_path": str(file)}),
        edit=lambda file: Call(
            "Edit", {"file_path": str(file), "old_string": "alpha", "new_string": "gamma"}
        ),
        variables=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_AUTH_TOKEN": "none",
            "ANTHROPIC_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": MODEL,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
    ),
    Agent(
        "opencode",
        ("opencode", "run"),
        read=lambda file: Call("read", {"filePath": str(file)}),
        edit=lambda file: Call(
            "edit", {"filePath": str(file), "oldString": "alpha", "newString": "gamma"}
        ),
        variables=lambda url: {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        files=lambda url: {"work/opencode.json": _opencode_config(url)},
    ),
    Agent(
        "qwen",
        ("qwen", "--approval-mode", "yolo", "-p"),
        read=lambda file: Call("read_file", {"file_path": str(file)}),
        edit=lambda file: Call(
            "edit", {"file_path": str(file), "old_string": "alpha", "new_string": "gamma"}
        ),
        variables=lambda url: {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": MODEL,
        },
    ),
)
