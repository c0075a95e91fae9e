"""`yaie chat`: a conversation whose turns share the KV cache of all earlier turns.

Ctrl-C stops an answer and keeps its text; Ctrl-D leaves. Each line of piped input is a turn.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated, Any, NamedTuple

import typer

from yaie.base.errors import YaieError
from yaie.cli import chat_history, terminal
from yaie.cli import run as one_off
from yaie.cli.answers import AnswerSource
from yaie.cli.chat_commands import ChatState, Leave, complete, obey
from yaie.cli.failures import show_failure, usage_error
from yaie.cli.options import ENGINE_FLAGS, settings_options
from yaie.cli.sampling_options import SamplingOptions, sampling_flags

_QUOTES = '"""'


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name", "seed"))
@sampling_flags
def chat(
    *,
    system: one_off.System = None,
    options: SamplingOptions,
    stats: Annotated[
        bool | None,
        typer.Option(
            "--stats/--no-stats", help="print token counts and timings after each answer [off]"
        ),
    ] = None,
    continues: Annotated[
        bool, typer.Option("--continue", "-c", help="continue the last conversation")
    ] = False,
    url: one_off.Url = None,
    api_key: one_off.ApiKey = None,
    local: one_off.Local = False,
    settings: dict[str, Any],
) -> None:
    """Chat with a model; /help lists the chat commands.

    The chat goes to the server at --url or YAIE_BASE_URL (-m selects a served model), else to a
    YAIE server on 127.0.0.1:8000, else to a model in this process. --local, -m and engine flags
    load a model in this process.

    On a terminal the typed lines and the last conversation are kept in ~/.local/state/yaie,
    readable by you alone; YAIE_CHAT_HISTORY=off disables it.
    """
    state = ChatState(options=options, system=system, show_stats=bool(stats))
    if continues:
        _load_last(state, system)
    is_interactive = terminal.is_terminal(sys.stdin)
    if is_interactive:
        _prepare_line_editing()
    memory = chat_history.remember_lines() if is_interactive else contextlib.nullcontext()
    with one_off.open_source(url, api_key, settings, local=local) as source, memory:
        terminal.note(f"{source.name}. /help for help, Ctrl-D leaves")
        if continues:
            terminal.note(f"{len(state.turns)} turns of the last conversation; /undo removes one")
        converse(source, state, is_interactive)
        source.settle()


def _load_last(state: ChatState, system: str | None) -> None:
    path = chat_history.conversation_file()
    if path is None or not path.is_file():
        raise usage_error(
            "there is no conversation to continue",
            why=f"{chat_history.VARIABLE} is off" if path is None else f"{path} does not exist",
            advice="yaie chat    (on a terminal it keeps its conversation)",
        )
    state.load(path)
    state.system = system or state.system


def _prepare_line_editing() -> None:
    """Give `input()` history, line editing and the completion of commands with Tab."""
    import readline

    readline.set_completer_delims("")  # complete the whole line
    readline.set_completer(lambda text, number: dict(enumerate(complete(text))).get(number))
    is_libedit = "libedit" in (readline.__doc__ or "")  # macOS
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")


def converse(source: AnswerSource, state: ChatState, is_interactive: bool) -> None:
    """Take turns until the user leaves."""
    while True:
        try:
            typed = read_turn(is_interactive)
        except EOFError:
            if is_interactive:
                print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            if not is_interactive:
                raise
            print(file=sys.stderr)
            terminal.note("Ctrl-D or /exit leaves")
            continue
        try:
            if take_turn(typed.text, state, source, is_quoted=typed.is_quoted):
                answer_turn(source, state)
                if is_interactive:
                    chat_history.save_conversation(state.as_json())
        except Leave:
            return
        except YaieError as error:
            if not is_interactive:
                raise
            show_failure(error)  # only this turn failed


def take_turn(
    text: str, state: ChatState, source: AnswerSource, *, is_quoted: bool = False
) -> bool:
    """Add a turn or run a command; return True if the model has to answer now."""
    if text.startswith("/") and not is_quoted:
        return obey(text, state, source)
    if not text.strip():
        return False
    state.say(text)
    return True


def answer_turn(source: AnswerSource, state: ChatState) -> None:
    """Stream the answer to the last turn and keep it, also if it was stopped."""
    stream = source.stream(state.conversation(), state.options)
    pieces: list[str] = []

    def remembered() -> Any:
        for piece in stream:
            pieces.append(piece)
            yield piece

    try:
        one_off.print_pieces(remembered())
    except KeyboardInterrupt:
        print()
        terminal.note("stopped; /regen repeats the question, /undo removes it")
    except YaieError:
        state.give_up_question()
        raise
    finally:
        stream.close()
    state.remember("".join(pieces), stream.answer)
    if stream.answer and state.show_stats:
        print(terminal.dim(stream.answer.as_line(), sys.stderr), file=sys.stderr)


class Typed(NamedTuple):
    """A turn as typed; quoted text is never a command."""

    text: str
    is_quoted: bool


def read_turn(is_interactive: bool) -> Typed:
    """Read one line, or several between triple quotes. Raises EOFError at the end of the input.

    The end of piped input closes open quotes. On a terminal Ctrl-D leaves the chat there too.
    """
    line = _read_line("> " if is_interactive else "")
    if not line.lstrip().startswith(_QUOTES):
        return Typed(line, is_quoted=False)
    rest = line.lstrip()[len(_QUOTES) :]
    lines = [rest]
    while _QUOTES not in lines[-1]:
        try:
            lines.append(_read_line(". " if is_interactive else ""))
        except EOFError:
            if is_interactive:
                raise
            break
    lines[-1] = lines[-1].partition(_QUOTES)[0]
    return Typed("\n".join(lines).strip("\n"), is_quoted=True)


def _read_line(prompt: str) -> str:
    if not prompt:
        line = sys.stdin.buffer.readline()
        if not line:
            raise EOFError
        return one_off.decode_text(line, "piped text").rstrip("\r\n")
    if not terminal.is_terminal(sys.stdout):  # input() would print the prompt among the answers
        print(prompt, end="", file=sys.stderr, flush=True)
        return input()
    return input(prompt)
