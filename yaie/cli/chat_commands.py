"""What can be typed in a chat beside words: the slash commands and the state they change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer

from yaie.cli import terminal
from yaie.cli.answers import Answer, Message, Wishes
from yaie.cli.failures import usage_error
from yaie.cli.options import parse_count
from yaie.cli.run import read_text
from yaie.types import SamplingParams


class Leave(Exception):
    """The person wants to leave the chat."""


@dataclass(slots=True)
class ChatState:
    """The conversation so far, and how answers are wished."""

    wishes: Wishes
    system: str | None = None
    show_stats: bool = False
    turns: list[Message] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # read, to be put before the next question
    asked_with: list[str] = field(default_factory=list)  # the files of the last question
    last: Answer | None = None

    def say(self, text: str) -> None:
        """The person's turn, behind the files that were read since the last one."""
        if self.turns and self.turns[-1]["role"] == "user":  # stopped before its first word
            self.turns.pop()  # templates want turns to alternate
        content = "\n\n".join([*self.files, text])
        self.asked_with, self.files = self.files, []
        self.turns.append({"role": "user", "content": content})

    def conversation(self) -> list[Message]:
        """What the model is shown."""
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, *self.turns]

    def remember(self, text: str, answer: Answer | None) -> None:
        """The model's turn; nothing was said if it was stopped before its first word."""
        self.last = answer
        if text:
            self.turns.append({"role": "assistant", "content": text})

    def take_back_answer(self) -> bool:
        """Forget the model's last turn; whether a question is left to answer."""
        if self.turns and self.turns[-1]["role"] == "assistant":
            self.turns.pop()
        return bool(self.turns) and self.turns[-1]["role"] == "user"

    def give_up_question(self) -> None:
        """Forget a question that failed; its files are put before the next one."""
        self.take_back_question()
        self.files = [*self.asked_with, *self.files]
        self.asked_with = []

    def take_back_question(self) -> str | None:
        """Forget the last question and its answer; the question, if there was one."""
        return self.turns.pop()["content"] if self.take_back_answer() else None


def obey(line: str, state: ChatState) -> bool:
    """Obey a slash command; whether the model is to answer now. Raises `Leave`."""
    word, _, rest = line.strip().partition(" ")
    command = _COMMANDS.get(word)
    if command is None:
        raise usage_error(
            f"no command {word}",
            why="a line that begins with / is a command",
            advice='/help, or """ around text that begins with /',
        )
    return bool(command[0](state, rest.strip()))


def _help(_state: ChatState, _rest: str) -> None:
    for word, (_, usage, what) in _COMMANDS.items():
        if word != "/bye":
            print(f"  {usage:<16} {what}", file=sys.stderr)
    print('  """ … """        a question of several lines', file=sys.stderr)
    print("  Ctrl-C           stop the answer        Ctrl-D  leave", file=sys.stderr)


def _clear(state: ChatState, _rest: str) -> None:
    state.turns.clear()
    state.files.clear()
    terminal.note("the conversation is empty; the system prompt stays")


def _system(state: ChatState, rest: str) -> None:
    if rest:
        state.system = rest
    terminal.note(f"system prompt: {state.system or '(none)'}")


def _regen(state: ChatState, _rest: str) -> bool:
    if not state.take_back_answer():
        raise usage_error("nothing was asked yet", advice="ask something first")
    return True


def _undo(state: ChatState, _rest: str) -> None:
    question = state.take_back_question()
    if question is None:
        raise usage_error("nothing was asked yet", advice="ask something first")
    terminal.note(f"taken back: {question.splitlines()[0][:60]}")


def _set(state: ChatState, rest: str) -> None:
    name, equals, value = (part.strip() for part in rest.partition("="))
    kinds: dict[str, Callable[[str], object]] = {
        "max_tokens": parse_count,
        "temperature": float,
        "top_p": float,
        "top_k": int,
        "seed": int,
        "stop": lambda text: (text,),
    }
    name = name.replace("-", "_")
    if not rest:
        shown = ", ".join(f"{key}={value}" for key, value in state.wishes.given().items())
        terminal.note(shown or "all as the model has it")
        return
    if name not in kinds or not equals:
        raise usage_error(
            f"cannot set {rest!r}", why=f"names: {', '.join(kinds)}", advice="/set temperature=0.7"
        )
    try:
        setting = kinds[name](value) if value else None
    except (ValueError, typer.BadParameter):
        raise usage_error(f"{name} cannot be {value!r}", advice=f"/set {name}=1") from None
    if name == "stop" and setting is None:
        setting = ()
    changes = {name: setting} | ({"may_be_shorter": False} if name == "max_tokens" else {})
    wishes = replace(state.wishes, **changes)  # type: ignore[arg-type]
    SamplingParams(**wishes.given())  # refuses what no model can follow
    state.wishes = wishes
    terminal.note(f"{name}: {value or 'as the model has it'}")


def _file(state: ChatState, rest: str) -> None:
    if not rest:
        raise usage_error("which file?", advice="/file notes.md")
    text = read_text(Path(rest).expanduser())
    state.files.append(text)
    terminal.note(f"{len(text):,} characters go before your next question")


def _save(state: ChatState, rest: str) -> None:
    if not rest:
        raise usage_error("save to which file?", advice="/save chat.json")
    saved = {"system": state.system, "turns": state.turns}
    try:
        Path(rest).expanduser().write_text(
            json.dumps(saved, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise usage_error(f"cannot write {rest}", why=error.strerror or str(error)) from None
    terminal.note(f"{len(state.turns)} turns saved")


def _load(state: ChatState, rest: str) -> None:
    if not rest:
        raise usage_error("load which file?", advice="/load chat.json")
    try:
        saved = json.loads(read_text(Path(rest).expanduser()))
        system = saved["system"]
        turns = [{"role": str(t["role"]), "content": str(t["content"])} for t in saved["turns"]]
    except (ValueError, LookupError, TypeError) as error:
        raise usage_error(f"{rest} is not a saved chat", why=str(error)) from None
    state.system, state.turns = system, turns
    terminal.note(f"{len(turns)} turns loaded")


def _stats(state: ChatState, _rest: str) -> None:
    if state.last is not None:
        print(state.last.as_line(), file=sys.stderr)
    state.show_stats = not state.show_stats
    terminal.note(f"figures after each answer: {'on' if state.show_stats else 'off'}")


def _exit(_state: ChatState, _rest: str) -> None:
    raise Leave


_Command = Callable[[ChatState, str], bool | None]
_COMMANDS: dict[str, tuple[_Command, str, str]] = {
    "/help": (_help, "/help", "this list"),
    "/clear": (_clear, "/clear", "forget the conversation"),
    "/system": (_system, "/system [TEXT]", "show or set the system prompt"),
    "/regen": (_regen, "/regen", "answer the last question again"),
    "/undo": (_undo, "/undo", "take the last question back"),
    "/set": (_set, "/set NAME=VALUE", "max_tokens, temperature, top_p, top_k, seed, stop"),
    "/file": (_file, "/file PATH", "put a file before the next question"),
    "/save": (_save, "/save FILE", "write the conversation to a file"),
    "/load": (_load, "/load FILE", "go on with a saved conversation"),
    "/stats": (_stats, "/stats", "last answer's figures; switches them on or off"),
    "/exit": (_exit, "/exit", "leave"),
    "/bye": (_exit, "/bye", "leave"),
}
