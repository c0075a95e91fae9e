"""`yaie run`, or `yaie "PROMPT"`: prints one answer to stdout.

Never interactive: piped text becomes part of the prompt.
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

from yaie.base.advised_error import AdvisedError
from yaie.cli import terminal
from yaie.cli.answers import AnswerSource, FinishedAnswer, Message, Question
from yaie.cli.failures import TIMED_OUT, usage_error
from yaie.cli.grammar_options import (
    ChoiceList,
    Choices,
    Regex,
    Schema,
    grammar_of,
    listed_choices,
)
from yaie.cli.options import ENGINE_FLAGS, settings_options, warn_of_unknown_variables
from yaie.cli.sampling_options import SamplingOptions, sampling_flags

LONGEST_TIMEOUT_S = 10**9  # about 30 years, within the range of every system's timer

System = Annotated[str | None, typer.Option("--system", "-s", help="system prompt", metavar="TEXT")]
Url = Annotated[
    str | None,
    typer.Option("--url", help="OpenAI-compatible server [YAIE_BASE_URL]", metavar="URL"),
]
Local = Annotated[bool, typer.Option("--local", help="load a model in this process")]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", help="API key [YAIE_API_KEY, OPENAI_API_KEY]", metavar="KEY"),
]
Stats = Annotated[
    bool | None,
    typer.Option(
        "--stats/--no-stats", help="print token counts and timings to stderr [on a terminal]"
    ),
]


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name", "seed"))
@sampling_flags
def run(
    prompt: Annotated[
        list[str] | None,
        typer.Argument(help="prompt text; piped text comes first", metavar="PROMPT"),
    ] = None,
    *,
    system: System = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", "-f", help="file to put before the prompt; repeatable", metavar="PATH"
        ),
    ] = None,
    schema: Schema = None,
    regex: Regex = None,
    choice: Choices = None,
    choices: ChoiceList = None,
    options: SamplingOptions,
    raw: Annotated[
        bool, typer.Option("--raw", help="continue the prompt without a chat template")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object at the end")
    ] = False,
    stats: Stats = None,
    explain_cache: Annotated[
        bool,
        typer.Option("--explain-cache", help="print to stderr how much of the prompt was cached"),
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="stop after this many seconds", metavar="S")
    ] = None,
    url: Url = None,
    api_key: ApiKey = None,
    local: Local = False,
    settings: dict[str, Any],
) -> None:
    """Answer one prompt; yaie "PROMPT" does the same.

    The prompt is the -f files, then piped text, then PROMPT. It goes to the server at --url or
    YAIE_BASE_URL (-m selects a served model), else to a YAIE server on 127.0.0.1:8000, else to a
    model in this process. --local, -m and engine flags load a model in this process.

    --schema, --regex and --choice constrain the answer; --max-tokens may still cut it short.

    Piped text is read to its end even if PROMPT is given. In a loop that reads lines, add
    </dev/null.
    """
    if raw and system:
        raise usage_error(
            "--raw and --system exclude each other",
            why="--raw skips the chat template and so the system prompt",
            advice="put the text at the front of the prompt",
        )
    grammar = grammar_of(schema, regex, listed_choices(choice, choices))
    with contextlib.ExitStack() as stack:
        stack.enter_context(time_limit(timeout))
        text = read_prompt(prompt or [], file or [])  # a slow pipe counts as well
        question: Question = text if raw else conversation(system, text)
        source = stack.enter_context(
            open_source(url, api_key, settings, local=local, takes_several_adapters=False)
        )
        if explain_cache:
            ask_for_explanation(source)
        stream = source.stream(question, options, grammar)
        try:
            if not as_json:
                print_pieces(stream)
            answer = stream.finish() if stream.answer is None else stream.answer
        finally:
            stream.close()
        if as_json:
            # Outside UTF-8, characters become JSON escapes here instead of the stream's escapes.
            plain = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
            print(json.dumps(answer.as_json(), ensure_ascii=plain), flush=True)
        if grammar is not None and answer.finish_reason == "length":
            terminal.warn(
                f"--max-tokens cut the answer before it matched {grammar.param}; raise "
                "--max-tokens, or bound the length in the grammar"
            )
        show_stats(answer, stats)
        if explain_cache:
            show_explanation(answer)
        if timeout is None:
            source.settle()


def ask_for_explanation(source: AnswerSource) -> None:
    """Have a server explain its cache. Raises a usage error for a model of this process."""
    from yaie.cli.remote import ServerAnswers

    if not isinstance(source, ServerAnswers):
        raise usage_error(
            "--explain-cache needs a server, but a model was loaded in this process",
            why="its cache is empty before the first answer",
            advice="yaie serve in another terminal, or --url URL",
        )
    source.explains_cache = True


def show_explanation(answer: FinishedAnswer) -> None:
    """Print on stderr how far the prompt was cached, and why no further."""
    if answer.explanation is None:
        terminal.warn("the server sent no cache explanation; is it YAIE?")
        return
    from yaie.cli.cache import explanation_lines

    print("\n".join(explanation_lines(answer.explanation, sys.stderr)), file=sys.stderr)


def show_stats(answer: FinishedAnswer, wanted: bool | None) -> None:
    """Print the statistics line; without --stats or --no-stats only on a terminal."""
    if wanted:
        print(answer.as_line(), file=sys.stderr)
    elif wanted is None:
        terminal.note(answer.as_line())


def read_prompt(words: list[str], files: list[Path]) -> str:
    """Return the files, the piped text and the words, separated by blank lines."""
    parts = [read_text(path) for path in files]
    if sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty():
        parts.append(decode_text(sys.stdin.buffer.read(), "piped text"))
    parts.append(" ".join(words))
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not text:
        raise usage_error("no prompt", advice='yaie "Why is the sky blue?"')
    return text


def read_text(path: Path) -> str:
    """Return the text of a file; raises a usage error if it is unreadable or not UTF-8."""
    try:
        return decode_text(path.read_bytes(), str(path))
    except OSError as error:
        raise usage_error(
            f"cannot read {path}", why=error.strerror or str(error), advice="a text file"
        ) from None


def decode_text(data: bytes, name: str) -> str:
    """Return the text of bytes; raises a usage error with `name` if they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise usage_error(
            f"{name} is not UTF-8 text",
            why=f"byte {error.start} cannot be decoded",
            advice="iconv -t utf-8",
        ) from None


def conversation(system: str | None, text: str) -> list[Message]:
    """Return a conversation of one question."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": text}]


def print_pieces(pieces: Iterable[str]) -> None:
    """Write pieces to stdout as they arrive, and end the last line."""
    last = ""
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
        last = piece
    if not last.endswith("\n"):
        sys.stdout.write("\n")
        sys.stdout.flush()


@contextlib.contextmanager
def open_source(
    url: str | None,
    api_key: str | None,
    settings: dict[str, Any],
    *,
    local: bool,
    takes_several_adapters: bool = True,
) -> Iterator[AnswerSource]:
    """Open the named server, a YAIE server found on this machine, or a model in this process."""
    named = url or os.environ.get("YAIE_BASE_URL")
    if url and local:
        raise usage_error("--url and --local exclude each other", advice="one of them")
    warn_of_unknown_variables()
    source: AnswerSource | None = None
    if named and not local:
        refuse_engine_flags(named, settings)
        source = _server(named, settings.get("model"), api_key, is_named=True)
    elif not local and not settings and not os.environ.get("YAIE_MODEL"):
        source = _find_server(api_key)
    if source is None:
        from yaie.cli.local import ModelAnswers

        source = ModelAnswers(settings, takes_several_adapters=takes_several_adapters)
    try:
        yield source
    finally:
        source.close()


def _server(url: str, model: str | None, api_key: str | None, *, is_named: bool) -> AnswerSource:
    from yaie.cli.options import choose_key
    from yaie.cli.remote import ServerAnswers

    return ServerAnswers(url, model, key=choose_key(api_key, is_named=is_named))


def _find_server(api_key: str | None) -> AnswerSource | None:
    from yaie.cli.options import choose_key
    from yaie.remote import discovery

    found = discovery.find_server(key=choose_key(api_key, is_named=False))
    return _server(found.url, None, api_key, is_named=False) if found else None


def refuse_engine_flags(url: str, settings: dict[str, Any]) -> None:
    """Raise a usage error for flags of an engine in addition to a server's address."""
    flags = [f"--{name.replace('_', '-')}" for name in settings if name != "model"]
    if flags:
        raise usage_error(
            f"{', '.join(flags)} cannot be set for the server at {url}",
            why="these flags configure a model in this process; a server has its own settings",
            advice="--local, or the same command without them",
        )


class _TimeIsUp(BaseException):
    """The alarm of `time_limit`.

    Derived from BaseException, so that the engine does not handle it as the failure of a step.
    """


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Leave the block with exit code 124 after this many seconds (None: unlimited)."""
    if seconds is None:
        yield
        return
    if not 0 < seconds <= LONGEST_TIMEOUT_S:  # also refuses NaN
        raise usage_error(
            f"--timeout must be greater than 0 and at most {LONGEST_TIMEOUT_S:,}, got {seconds:g}",
            why="it is in seconds; without it the time is unlimited",
            advice="--timeout 60",
        )

    def ring(_signal: int, _frame: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TimeIsUp:
        raise AdvisedError(
            f"no complete answer within {seconds:g} s",
            advice="a longer --timeout, or a smaller --max-tokens",
            code="timeout",
            exit_code=TIMED_OUT,
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
