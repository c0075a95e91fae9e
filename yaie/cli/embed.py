"""`yaie embed`: prints the vectors of texts, one JSON object per line."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.base.errors import YaieError
from yaie.cli import terminal
from yaie.cli.failures import usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    choose_key,
    parse_count,
    read_base,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.cli.run import ApiKey, Url, decode_text, refuse_engine_flags

if TYPE_CHECKING:
    from yaie.api.embedding import Embeddings

_AT_ONCE = 1024  # texts; their lines are printed before further texts are read

Record = dict[str, Any]
Embed = Callable[[list[str]], "Embeddings"]


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name", "seed"))
def embed(
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="texts, before file lines")
    ] = None,
    *,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            *("--file", "-f"),
            metavar="PATH",
            help="file with a text per line, or .jsonl with objects that have a text; repeatable",
        ),
    ] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="piped lines are objects that have a text")
    ] = False,
    prompt_name: Annotated[
        str | None,
        typer.Option(
            "--prompt-name", metavar="NAME", help="the model's prompt before each text: query"
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            "--dimensions", parser=parse_count, metavar="N", help="numbers kept of each vector"
        ),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="cut the end of texts beyond the context")
    ] = False,
    url: Url = None,
    api_key: ApiKey = None,
    settings: dict[str, Any],
) -> None:
    """Print a vector for each text, as JSON lines.

    Texts are the arguments, then the lines of -f files, else piped lines; empty lines are skipped.
    A line of output is an object with `text` and `embedding`; an object of a .jsonl file keeps its
    fields.

    The model of -m runs in this process; --url or YAIE_BASE_URL sends the texts to a server.
    """
    warn_of_unknown_variables()
    records = read_records(text or [], file or [], is_jsonl=jsonl)
    part = list(itertools.islice(records, _AT_ONCE))  # its faults are told before a model loads
    if not part:
        raise usage_error("no text", advice='yaie embed "What is a radix tree?" -m MODEL')
    options = {"prompt_name": prompt_name, "dimensions": dimensions, "truncate": truncate}
    named = url or os.environ.get("YAIE_BASE_URL")
    with contextlib.ExitStack() as stack:
        if named:
            refuse_engine_flags(named, settings)
            work = _by_server(stack, read_base(named), settings.get("model"), api_key, options)
        else:
            work = _here(stack, settings, options)
        num_done = 0
        while part:
            num_done += _print_part(work, part, num_done)
            if len(part) == _AT_ONCE:
                terminal.note(f"{num_done:,} texts embedded")
            part = list(itertools.islice(records, _AT_ONCE))


def _print_part(work: Embed, part: list[Record], num_before: int) -> int:
    """Print the lines of a part; return their number. Raises the model's or server's error."""
    from yaie.api.prompt_kinds import shifting_index

    try:
        with shifting_index(num_before):
            found = work([record["text"] for record in part])
    except YaieError:
        if num_before:
            terminal.warn(f"the vectors of {num_before:,} texts are printed; a later text failed")
        raise
    for record, vector in zip(part, found.vectors, strict=True):
        numbers = [float(str(number)) for number in vector]  # as few digits as float32 needs
        print(json.dumps({**record, "embedding": numbers}))
    sys.stdout.flush()
    return len(part)


def _here(stack: contextlib.ExitStack, settings: dict[str, Any], options: dict[str, Any]) -> Embed:
    from yaie.cli.local import load_model, only_adapter

    loaded = load_model(settings, takes_several_adapters=False)
    llm = stack.enter_context(contextlib.closing(loaded))
    return lambda texts: llm.embed(texts, progress=False, lora=only_adapter(llm), **options)


def _by_server(
    stack: contextlib.ExitStack,
    url: str,
    model: str | None,
    api_key: str | None,
    options: dict[str, Any],
) -> Embed:
    from yaie.remote.client import Client

    client = Client(url, choose_key(api_key, is_named=True), model)
    stack.enter_context(contextlib.closing(client))
    given = {name: value for name, value in options.items() if value not in (None, False)}
    return lambda texts: client.embed(texts, **given)


def read_records(texts: list[str], files: list[Path], *, is_jsonl: bool) -> Iterator[Record]:
    """Yield objects with a `text`: of arguments, files, or piped lines if there is neither.

    Raises a usage error that names the line, for one that is not UTF-8 or has no text.
    """
    yield from ({"text": text} for text in texts)
    for path in files:
        try:
            with path.open("rb") as lines:
                yield from _of_lines(lines, str(path), is_jsonl=path.suffix == ".jsonl")
        except OSError as error:
            raise usage_error(
                f"cannot read {path}", why=error.strerror or str(error), advice="a text file"
            ) from None
    is_piped = sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()
    if not texts and not files and is_piped:
        yield from _of_lines(sys.stdin.buffer, "piped text", is_jsonl=is_jsonl)


def _of_lines(lines: Any, name: str, *, is_jsonl: bool) -> Iterator[Record]:
    for number, data in enumerate(lines, 1):
        line = decode_text(data, f"{name}, line {number:,}").strip()
        if not line:
            continue
        record = _record_of(line) if is_jsonl else {"text": line}
        if record is None:
            raise usage_error(
                f"{name}, line {number:,} is no JSON object with a text",
                advice='{"id": 7, "text": "What is a radix tree?"}',
            )
        yield record


def _record_of(line: str) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    has_text = isinstance(record, dict) and isinstance(record.get("text"), str) and record["text"]
    return record if has_text else None
