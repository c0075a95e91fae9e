"""`yaie tokenize`: shows a model's tokens for a text, without reading the weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from yaie.base.settings import BUILTIN_MODEL
from yaie.cli.failures import usage_error
from yaie.cli.options import Revision
from yaie.cli.run import System, conversation, read_prompt


def tokenize(
    text: Annotated[
        list[str] | None,
        typer.Argument(help="text; piped text comes first", metavar="TEXT"),
    ] = None,
    *,
    system: System = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file", "-f", help="file to put before the text; repeatable", metavar="PATH"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help=f"model whose tokenizer to use [{BUILTIN_MODEL}]"),
    ] = None,
    revision: Revision = None,
    as_chat: Annotated[
        bool, typer.Option("--chat", help="tokenize a chat prompt, with the model's chat template")
    ] = False,
    count: Annotated[bool, typer.Option("--count", help="print only the token count")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show the tokens of a text, one per line: id and characters.

    --chat shows the chat prompt as a server tokenizes it; -s needs --chat. Only the tokenizer is
    downloaded and read, not the weights.
    """
    if system is not None and not as_chat:
        raise usage_error("--system needs --chat", advice="yaie tokenize --chat -s TEXT ...")
    if count and as_json:
        raise usage_error("--count and --json exclude each other", advice="one of them")
    ids, pieces = _tokens(
        model, revision, read_prompt(text or [], file or []), system, as_chat=as_chat
    )
    if as_json:
        print(json.dumps({"count": len(ids), "tokens": ids, "texts": pieces}))
    elif count:
        print(len(ids))
    else:
        width = max(len(str(token_id)) for token_id in ids)
        for token_id, piece in zip(ids, pieces, strict=True):
            quoted = json.dumps(piece, ensure_ascii=not _is_utf8()).replace(r"\\x", r"\x")
            print(f"{token_id:>{width}}  {quoted}")


def _tokens(
    model: str | None, revision: str | None, text: str, system: str | None, *, as_chat: bool
) -> tuple[list[int], list[str]]:
    """Return token ids and texts; bytes of a split character appear in hexadecimal."""
    from yaie.base.settings import load_settings
    from yaie.models.load.folder import resolve_model_path
    from yaie.text.chat_template import ChatTemplate
    from yaie.text.tokenizer import load_tokenizer

    settings = load_settings(model=model, revision=revision)
    tokenizer = load_tokenizer(resolve_model_path(settings.source, with_weights=False))
    if as_chat:
        template = ChatTemplate(tokenizer, trust_markers=settings.trust_markers)
        ids = template.render(conversation(system, text))
    else:
        ids = tokenizer.encode(text)
    return ids, [tokenizer.bytes_of(each).decode("utf-8", "backslashreplace") for each in ids]


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
