"""`yaie chat`: talk with a model. Each turn shares the KV of all turns before it.

Ctrl-C stops an answer (what was said so far stays), Ctrl-D leaves. With piped input every line is
a turn, and the end of the input is the end of the chat.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, NamedTuple

import typer

from yaie.cli import run as one_off
from yaie.cli import terminal
from yaie.cli.answers import AnswerSource
from yaie.cli.chat_commands import ChatState, Leave, obey
from yaie.cli.failures import show_failure
from yaie.cli.options import ENGINE_FLAGS, settings_options
from yaie.errors import YaieError

_QUOTES = '"""'


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name",))
def chat(
    *,
    system: one_off.System = None,
    max_tokens: one_off.MaxTokens = None,
    temperature: one_off.Temperature = None,
    top_p: one_off.TopP = None,
    top_k: one_off.TopK = None,
    seed: one_off.Seed = None,
    stop: one_off.Stop = None,
    stats: Annotated[
        bool | None, typer.Option("--stats/--no-stats", help="figures after each answer [off]")
    ] = None,
    url: one_off.Url = None,
    local: one_off.Local = False,
    settings: dict[str, Any],
) -> None:
    """Talk with a model. /help shows what else can be typed.

    Answers come from the server of --url or YAIE_BASE_URL (-m is then one of its models), else from
    a YAIE server on 127.0.0.1:8000, else from here. --local, -m or another flag of the engine load
    the model here.
    """
    wishes = one_off.make_wishes(
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        stop=stop,
    )
    state = ChatState(wishes=wishes, system=system, show_stats=bool(stats))
    typed_by_hand = terminal.is_terminal(sys.stdin)
    if typed_by_hand:
        import readline  # noqa: F401 - gives input() its history and line editing
    with one_off.open_source(url, local, settings) as source:
        terminal.note(f"{source.name}. /help for help, Ctrl-D leaves")
        converse(source, state, typed_by_hand)
        source.settle()


def converse(source: AnswerSource, state: ChatState, typed_by_hand: bool) -> None:
    """Take turns until the person leaves."""
    while True:
        try:
            typed = read_turn(typed_by_hand)
        except EOFError:
            if typed_by_hand:
                print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            if not typed_by_hand:
                raise
            print(file=sys.stderr)
            terminal.note("Ctrl-D or /exit leaves")
            continue
        try:
            if take_turn(typed.text, state, is_quoted=typed.is_quoted):
                answer_turn(source, state)
        except Leave:
            return
        except YaieError as error:
            if not typed_by_hand:
                raise
            show_failure(error)  # one turn failed; the chat goes on


def take_turn(text: str, state: ChatState, *, is_quoted: bool = False) -> bool:
    """Put what was typed into the conversation; whether the model is to answer now."""
    if text.startswith("/") and not is_quoted:
        return obey(text, state)
    if not text.strip():
        return False
    state.say(text)
    return True


def answer_turn(source: AnswerSource, state: ChatState) -> None:
    """Stream the model's answer to the last turn, and remember it, also if it was stopped."""
    stream = source.stream(state.conversation(), state.wishes)
    pieces: list[str] = []

    def remembered() -> Any:
        for piece in stream:
            pieces.append(piece)
            yield piece

    try:
        one_off.print_pieces(remembered())
    except KeyboardInterrupt:
        print()
        terminal.note("stopped; /regen asks again, /undo takes the question back")
    except YaieError:
        state.give_up_question()
        raise
    finally:
        stream.close()
    state.remember("".join(pieces), stream.answer)
    if stream.answer and state.show_stats:
        print(terminal.dim(stream.answer.as_line(), sys.stderr), file=sys.stderr)


class Typed(NamedTuple):
    """A turn as it was typed; in quotes it is no command, whatever it begins with."""

    text: str
    is_quoted: bool


def read_turn(typed_by_hand: bool) -> Typed:
    """One line, or several between triple quotes. Raises EOFError at the end of the input.

    The end of piped input closes quotes that are open: nobody is left to close them. A person who
    types Ctrl-D there leaves.
    """
    line = _read_line("> " if typed_by_hand else "")
    if not line.lstrip().startswith(_QUOTES):
        return Typed(line, is_quoted=False)
    rest = line.lstrip()[len(_QUOTES) :]
    lines = [rest]
    while _QUOTES not in lines[-1]:
        try:
            lines.append(_read_line(". " if typed_by_hand else ""))
        except EOFError:
            if typed_by_hand:
                raise
            break
    lines[-1] = lines[-1].partition(_QUOTES)[0]
    return Typed("\n".join(lines).strip("\n"), is_quoted=True)


def _read_line(prompt: str) -> str:
    if not prompt:
        line = sys.stdin.buffer.readline()
        if not line:
            raise EOFError
        return one_off.decode_text(line, "what was piped in").rstrip("\r\n")
    if not terminal.is_terminal(sys.stdout):  # then input() would write its prompt among answers
        print(prompt, end="", file=sys.stderr, flush=True)
        return input()
    return input(prompt)
