"""`yaie run`, which is also `yaie "PROMPT"`: one answer on stdout, then the end.

Never interactive: what is piped in is read, and nothing is asked.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli import terminal
from yaie.cli.answers import Answer, AnswerSource, Message, Question, Wishes
from yaie.cli.failures import TIMED_OUT, CommandFailed, usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    parse_count,
    settings_options,
    warn_of_unknown_variables,
)

DEFAULT_MAX_TOKENS = 512
LONGEST_TIMEOUT_S = 10**9  # about 30 years, which every system's timer can count

System = Annotated[str | None, typer.Option("--system", "-s", help="system prompt", metavar="TEXT")]
Url = Annotated[
    str | None,
    typer.Option("--url", help="ask this OpenAI-compatible server [YAIE_BASE_URL]", metavar="URL"),
]
Local = Annotated[bool, typer.Option("--local", help="answer in this process, ask no server")]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        "-n",
        parser=parse_count,
        metavar="N",
        help="longest answer, in tokens [512]",
    ),
]
Temperature = Annotated[
    float | None, typer.Option("--temperature", "-t", help="0 is greedy [the model's]", metavar="T")
]
TopP = Annotated[float | None, typer.Option("--top-p", help="nucleus [the model's]", metavar="P")]
TopK = Annotated[
    int | None, typer.Option("--top-k", help="the k most likely [the model's]", metavar="K")
]
Seed = Annotated[int | None, typer.Option("--seed", help="repeat the same draws", metavar="N")]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="end before this text; repeatable", metavar="TEXT"),
]
Stats = Annotated[
    bool | None,
    typer.Option("--stats/--no-stats", help="a line of figures on stderr [on a terminal]"),
]


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name",))
def run(
    prompt: Annotated[
        list[str] | None,
        typer.Argument(help="what to ask; joined with piped text", metavar="PROMPT"),
    ] = None,
    *,
    system: System = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="text put before the prompt; repeatable", metavar="PATH"),
    ] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    top_k: TopK = None,
    seed: Seed = None,
    stop: Stop = None,
    raw: Annotated[bool, typer.Option("--raw", help="no chat template: continue the text")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object at the end")] = False,
    stats: Stats = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="give up after so many seconds", metavar="S")
    ] = None,
    url: Url = None,
    local: Local = False,
    settings: dict[str, Any],
) -> None:
    """Answer one prompt; also: yaie "PROMPT".

    The prompt is the text of -f files, then piped text, then PROMPT. It is answered by the server
    of --url or YAIE_BASE_URL (-m is then one of its models), else by a YAIE server on
    127.0.0.1:8000, else here. --local, -m or another flag of the engine load the model here.

    What is piped in is read to its end also beside PROMPT: in a loop that reads lines, add
    </dev/null.
    """
    if raw and system:
        raise usage_error(
            "--raw and --system do not go together",
            why="a system prompt is a part of the chat template, and --raw uses none",
            advice="put the text at the front of the prompt",
        )
    wishes = make_wishes(
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        stop=stop,
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(time_limit(timeout))
        text = read_prompt(prompt or [], file or [])  # what is piped in may be long in coming
        question: Question = text if raw else conversation(system, text)
        source = stack.enter_context(open_source(url, local, settings))
        stream = source.stream(question, wishes)
        try:
            if not as_json:
                print_pieces(stream)
            answer = stream.finish() if stream.answer is None else stream.answer
        finally:
            stream.close()
        if as_json:
            # Where stdout is no UTF-8, letters are escaped here as JSON has it, and not by the
            # stream.
            plain = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
            print(json.dumps(answer.as_json(), ensure_ascii=plain), flush=True)
        show_stats(answer, stats)
        if timeout is None:
            source.settle()


def show_stats(answer: Answer, wanted: bool | None) -> None:
    """The line of figures; None: where a person looks."""
    if wanted:
        print(answer.as_line(), file=sys.stderr)
    elif wanted is None:
        terminal.note(answer.as_line())


def make_wishes(
    *,
    max_tokens: int | None,
    temperature: float | None,
    top_p: float | None,
    top_k: int | None,
    seed: int | None,
    stop: list[str] | None,
) -> Wishes:
    """Wishes from flags. Raises `InvalidRequest` for a value that no model can follow."""
    from yaie.types import SamplingParams

    wishes = Wishes(
        max_tokens=DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        stop=tuple(stop or ()),
        may_be_shorter=max_tokens is None,
    )
    SamplingParams(**wishes.given())  # refused here, before a model is loaded for nothing
    return wishes


def read_prompt(words: list[str], files: list[Path]) -> str:
    """The files, then what is piped in, then the words, parted by blank lines."""
    parts = [read_text(path) for path in files]
    if sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty():
        parts.append(decode_text(sys.stdin.buffer.read(), "what was piped in"))
    parts.append(" ".join(words))
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not text:
        raise usage_error("no prompt", advice='yaie "Why is the sky blue?"')
    return text


def read_text(path: Path) -> str:
    """The text of a file; a clear refusal if it cannot be read or is no text."""
    try:
        return decode_text(path.read_bytes(), str(path))
    except OSError as error:
        raise usage_error(
            f"cannot read {path}", why=error.strerror or str(error), advice="a text file"
        ) from None


def decode_text(data: bytes, name: str) -> str:
    """The text that was given as bytes; a clear refusal if it is none. `name`: what it is."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise usage_error(
            f"{name} is not UTF-8 text",
            why=f"byte {error.start} cannot be read",
            advice="iconv -t utf-8",
        ) from None


def conversation(system: str | None, text: str) -> list[Message]:
    """A conversation of one question."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]


def print_pieces(pieces: Iterable[str]) -> None:
    """Write pieces to stdout as they come, and end the last line."""
    last = ""
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
        last = piece
    if not last.endswith("\n"):
        sys.stdout.write("\n")
        sys.stdout.flush()


@contextlib.contextmanager
def open_source(url: str | None, local: bool, settings: dict[str, Any]) -> Iterator[AnswerSource]:
    """Where the answer comes from: the named server, one found on this machine, or this process."""
    named = url or os.environ.get("YAIE_BASE_URL")
    if url and local:
        raise usage_error("--url and --local do not go together", advice="one of them")
    warn_of_unknown_variables()
    source: AnswerSource | None = None
    if named and not local:
        from yaie.cli.remote import ServerAnswers

        _refuse_engine_flags(named, settings)
        source = ServerAnswers(named, settings.get("model"))
    elif not local and not settings and not os.environ.get("YAIE_MODEL"):
        from yaie.cli.remote import ServerAnswers, find_server

        found = find_server()
        source = ServerAnswers(found) if found else None
    if source is None:
        from yaie.cli.local import ModelAnswers

        source = ModelAnswers(settings)
    try:
        yield source
    finally:
        source.close()


def _refuse_engine_flags(url: str, settings: dict[str, Any]) -> None:
    flags = [f"--{name.replace('_', '-')}" for name in settings if name != "model"]
    if flags:
        raise usage_error(
            f"{', '.join(flags)} cannot be set for the server at {url}",
            why="these are settings of a model in this process; a server has its own",
            advice="--local, or the same command without them",
        )


class _TimeIsUp(BaseException):
    """The alarm rang. No `Exception`: whatever is cut off must not take it for a fault of its own
    and go on, as the engine does when a step fails."""


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Leave the block with exit code 124 when it takes longer than so many seconds."""
    if seconds is None:
        yield
        return
    if not 0 < seconds <= LONGEST_TIMEOUT_S:  # also refuses NaN
        raise usage_error(
            f"--timeout must be greater than 0 and at most {LONGEST_TIMEOUT_S:,}, got {seconds:g}",
            why="it is in seconds; without it there is no limit",
            advice="--timeout 60",
        )

    def ring(_signal: int, _frame: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TimeIsUp:
        raise CommandFailed(
            f"no complete answer within {seconds:g} s",
            advice="a longer --timeout, or a smaller --max-tokens",
            code="timeout",
            exit_code=TIMED_OUT,
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
