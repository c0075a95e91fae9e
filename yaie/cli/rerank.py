"""`yaie rerank`: prints documents by their relevance to a query, one JSON object per line."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.cli.embed import read_records
from yaie.cli.failures import usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    choose_key,
    parse_count,
    read_base,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.cli.run import ApiKey, Url, refuse_engine_flags

if TYPE_CHECKING:
    from yaie.api.ranking import Ranking
    from yaie.remote.client import Client


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name", "seed"))
def rerank(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="what the documents should answer")],
    document: Annotated[
        list[str] | None, typer.Argument(metavar="DOCUMENT", help="documents, before file lines")
    ] = None,
    *,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            *("--file", "-f"),
            metavar="PATH",
            help="file with a document per line, or .jsonl with objects that have a text; "
            "repeatable",
        ),
    ] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="piped lines are objects that have a text")
    ] = False,
    top_n: Annotated[
        int | None,
        typer.Option("--top-n", parser=parse_count, metavar="N", help="print the N best only"),
    ] = None,
    instruction: Annotated[
        str | None,
        typer.Option(
            "--instruction",
            metavar="TEXT",
            help="what makes a document relevant, for models that read it",
        ),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="cut the end of documents beyond the context")
    ] = False,
    url: Url = None,
    api_key: ApiKey = None,
    settings: dict[str, Any],
) -> None:
    """Print documents by their relevance to a query, best first, as JSON lines.

    Documents are the arguments, then the lines of -f files, else piped lines; empty lines are
    skipped. A line of output is an object with `index`, `score` and `text`; an object of a .jsonl
    file keeps its fields.

    The model of -m runs in this process; --url or YAIE_BASE_URL sends the documents to a server.
    """
    warn_of_unknown_variables()
    if not query.strip():
        raise usage_error("the query is empty", advice=_EXAMPLE)
    records = list(read_records(document or [], file or [], is_jsonl=jsonl))
    if not records:
        raise usage_error("no document", advice=_EXAMPLE)
    texts = [each["text"] for each in records]
    options: dict[str, Any] = {"top_n": top_n, "instruction": instruction, "truncate": truncate}
    named = url or os.environ.get("YAIE_BASE_URL")
    with contextlib.ExitStack() as stack:
        if named:
            refuse_engine_flags(named, settings)
            found = _server(stack, read_base(named), settings.get("model"), api_key).rerank(
                query, texts, **{name: each for name, each in options.items() if each}
            )
        else:
            found = _rank_here(settings, query, texts, options)
    for result in found.results:
        scored = {"index": result.index, "score": result.score}
        print(json.dumps({**records[result.index], **scored}))


_EXAMPLE = 'yaie rerank "What is a radix tree?" -f documents.txt -m MODEL'


def _rank_here(
    settings: dict[str, Any], query: str, texts: list[str], options: dict[str, Any]
) -> Ranking:
    from yaie.cli.local import load_model, only_adapter

    with contextlib.closing(load_model(settings, takes_several_adapters=False)) as llm:
        return llm.rerank(query, texts, lora=only_adapter(llm), **options)


def _server(
    stack: contextlib.ExitStack, url: str, model: str | None, api_key: str | None
) -> Client:
    from yaie.remote.client import Client

    client = Client(url, choose_key(api_key, is_named=True), model)
    return stack.enter_context(contextlib.closing(client))
