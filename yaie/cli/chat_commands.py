"""Slash commands of a chat, and the chat state that they change."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from yaie.cli import terminal
from yaie.cli.answers import AnswerSource, FinishedAnswer, Message
from yaie.cli.failures import usage_error
from yaie.cli.run import read_text
from yaie.cli.sampling_options import NAMES, SamplingOptions, describe_sampling, parse_option


class Leave(Exception):
    """The user leaves the chat."""


@dataclass(slots=True)
class ChatState:
    """The conversation so far, and the options of the next answers."""

    options: SamplingOptions
    system: str | None = None
    show_stats: bool = False
    turns: list[Message] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # texts to put before the next question
    asked_with: list[str] = field(default_factory=list)  # texts put before the last question
    last: FinishedAnswer | None = None

    def say(self, text: str) -> None:
        """Add the user's turn, after the files read since the last one."""
        if self.turns and self.turns[-1]["role"] == "user":  # its answer was stopped at once
            self.turns.pop()  # chat templates require turns to alternate
        content = "\n\n".join([*self.files, text])
        self.asked_with, self.files = self.files, []
        self.turns.append({"role": "user", "content": content})

    def conversation(self) -> list[Message]:
        """Return the messages for the model."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, *self.turns]

    def remember(self, text: str, answer: FinishedAnswer | None) -> None:
        """Add the model's turn, unless it was stopped before its first word."""
        self.last = answer
        if text:
            self.turns.append({"role": "assistant", "content": text})

    def as_json(self) -> dict[str, Any]:
        """Return what `/save` writes."""
        return {"system": self.system, "turns": self.turns}

    def load(self, path: Path) -> None:
        """Continue a saved conversation. Raises a usage error for another file."""
        try:
            saved = json.loads(read_text(path))
            system = saved["system"]
            turns = [{"role": str(t["role"]), "content": str(t["content"])} for t in saved["turns"]]
        except (ValueError, LookupError, TypeError) as error:
            raise usage_error(
                f"{path} is not a saved chat", why=str(error), advice="a file written by /save"
            ) from None
        self.system, self.turns = system, turns

    def take_back_answer(self) -> bool:
        """Remove the model's last turn; return True if a question remains."""
        if self.turns and self.turns[-1]["role"] == "assistant":
            self.turns.pop()
        return bool(self.turns) and self.turns[-1]["role"] == "user"

    def give_up_question(self) -> None:
        """Remove a failed question; its files go before the next question."""
        self.take_back_question()
        self.files = [*self.asked_with, *self.files]
        self.asked_with = []

    def take_back_question(self) -> str | None:
        """Remove the last question and its answer; return the question, or None."""
        return self.turns.pop()["content"] if self.take_back_answer() else None


def obey(line: str, state: ChatState, source: AnswerSource) -> bool:
    """Run a slash command; return True if the model has to answer now. Raises `Leave`."""
    word, _, rest = line.strip().partition(" ")
    command = _COMMANDS.get(word)
    if command is None:
        raise usage_error(
            f"no command {word}",
            why="a line that begins with / is a command",
            advice='/help, or """ around text that begins with /',
        )
    return bool(command[0](state, rest.strip(), source))


def complete(line: str) -> list[str]:
    """Return the completions of a line: commands, and the names that /set takes."""
    if line.startswith("/set "):
        typed = line.removeprefix("/set ").lstrip()
        return [f"/set {name}=" for name in NAMES if name.startswith(typed)]
    return [word for word in _COMMANDS if line.startswith("/") and word.startswith(line)]


def _help(_state: ChatState, _rest: str, _source: AnswerSource) -> None:
    for word, (_, usage, meaning) in _COMMANDS.items():
        if word != "/bye":
            print(f"  {usage:<17} {meaning}", file=sys.stderr)
    print('  """ … """         a question of several lines', file=sys.stderr)
    print("  Tab               complete a command", file=sys.stderr)
    print("  Ctrl-C            stop the answer        Ctrl-D  leave", file=sys.stderr)


def _clear(state: ChatState, _rest: str, _source: AnswerSource) -> None:
    state.turns.clear()
    state.files.clear()
    terminal.note("the conversation is empty; the system prompt stays")


def _system(state: ChatState, rest: str, _source: AnswerSource) -> None:
    if rest:
        state.system = rest
    terminal.note(f"system prompt: {state.system or '(none)'}")


def _model(_state: ChatState, rest: str, source: AnswerSource) -> None:
    if rest:
        source.use_model(rest)
    terminal.note(f"{source.name}; to choose from: {', '.join(source.models())}")


def _regen(state: ChatState, _rest: str, _source: AnswerSource) -> bool:
    if not state.take_back_answer():
        raise usage_error("the chat has no question yet", advice="type a question first")
    return True


def _undo(state: ChatState, _rest: str, _source: AnswerSource) -> None:
    question = state.take_back_question()
    if question is None:
        raise usage_error("the chat has no question yet", advice="type a question first")
    terminal.note(f"removed: {question.splitlines()[0][:60]}")


def _set(state: ChatState, rest: str, source: AnswerSource) -> None:
    if not rest:
        given = state.options.given()
        shown = [f"{key}={value}" for key, value in given.items()]
        others = [f"{k}={v} (default)" for k, v in source.sampling.items() if k not in given]
        terminal.note(", ".join([*shown, *others]) or "the server's defaults")
        return
    # NAME=VALUE, or NAME VALUE as in Ollama; NAME= restores the default.
    form = re.fullmatch(r"([\w-]+)(?:\s*=\s*|\s+)(.*)", rest)
    name = form[1].replace("-", "_") if form else ""
    if form is None or name not in NAMES:
        raise usage_error(
            f"cannot set {rest!r}", why=f"names: {', '.join(NAMES)}", advice="/set temperature=0.7"
        )
    value = form[2]
    try:
        parsed = parse_option(name, value) if value else None
    except (ValueError, typer.BadParameter):
        raise usage_error(f"{name} cannot be {value!r}", advice=f"/set {name}=1") from None
    state.options = state.options.changed(name, parsed)
    terminal.note(f"{name}: {value or source.sampling.get(name, 'default')}")


def _file(state: ChatState, rest: str, _source: AnswerSource) -> None:
    if not rest:
        raise usage_error("/file needs a file", advice="/file notes.md")
    text = read_text(Path(rest).expanduser())
    state.files.append(text)
    terminal.note(f"{len(text):,} characters go before your next question")


def _save(state: ChatState, rest: str, _source: AnswerSource) -> None:
    if not rest:
        raise usage_error("/save needs a file", advice="/save chat.json")
    try:
        Path(rest).expanduser().write_text(
            json.dumps(state.as_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise usage_error(
            f"cannot write {rest}", why=error.strerror or str(error), advice="another path"
        ) from None
    terminal.note(f"{len(state.turns)} turns saved")


def _load(state: ChatState, rest: str, _source: AnswerSource) -> None:
    if not rest:
        raise usage_error("/load needs a file", advice="/load chat.json")
    state.load(Path(rest).expanduser())
    terminal.note(f"{len(state.turns)} turns loaded")


def _stats(state: ChatState, _rest: str, source: AnswerSource) -> None:
    if state.last is not None:
        print(state.last.as_line(), file=sys.stderr)
    sampling = describe_sampling({**source.sampling, **state.options.given()})
    print(f"sampling: {sampling}", file=sys.stderr)
    state.show_stats = not state.show_stats
    terminal.note(
        f"token counts and timings after each answer: {'on' if state.show_stats else 'off'}"
    )


def _exit(_state: ChatState, _rest: str, _source: AnswerSource) -> None:
    raise Leave


_Command = Callable[[ChatState, str, AnswerSource], bool | None]
_COMMANDS: dict[str, tuple[_Command, str, str]] = {
    "/help": (_help, "/help", "this list"),
    "/clear": (_clear, "/clear", "forget the conversation"),
    "/system": (_system, "/system [TEXT]", "show or set the system prompt"),
    "/model": (_model, "/model [NAME]", "show the model, or switch to another served model"),
    "/regen": (_regen, "/regen", "answer the last question again"),
    "/undo": (_undo, "/undo", "remove the last question"),
    "/set": (_set, "/set NAME=VALUE", ", ".join(NAMES)),
    "/file": (_file, "/file PATH", "put a file before the next question"),
    "/save": (_save, "/save FILE", "write the conversation to a file"),
    "/load": (_load, "/load FILE", "continue a saved conversation"),
    "/stats": (_stats, "/stats", "show token counts and timings; toggle them for later answers"),
    "/exit": (_exit, "/exit", "leave"),
    "/bye": (_exit, "/bye", "leave"),
}
