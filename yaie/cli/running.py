"""`yaie ps` and `yaie stop`: the models of a running server, and unloading one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from yaie.base.advised_error import AdvisedError
from yaie.cli import terminal
from yaie.cli.failures import SERVER_UNREACHABLE

if TYPE_CHECKING:
    from yaie.cli.remote import ServerAnswers

Url = Annotated[
    str | None,
    typer.Option("--url", help="server address [YAIE_BASE_URL, else port 8000]", metavar="URL"),
]
ApiKey = Annotated[
    str | None, typer.Option("--api-key", help="API key [YAIE_API_KEY]", metavar="KEY")
]
AsJson = Annotated[bool, typer.Option("--json", help="print the server's JSON")]


def ps(url: Url = None, api_key: ApiKey = None, as_json: AsJson = False) -> None:
    """List the models of a running server: state, memory, idle time."""
    server = open_server(url, api_key, why="yaie ps lists the models of a running server")
    found = server.get("/stats")
    models = found["models"]
    if as_json:
        print(json.dumps({"models": models}))
        return
    print(f"{'model':<38} {'state':<10} {'memory':>10} {'idle':>8}")
    for each in models:
        memory = f"{each['memory_bytes'] / 1e6:,.1f} MB" if each["memory_bytes"] else "-"
        idle_s = each.get("idle_s")
        idle = "-" if idle_s is None else f"{idle_s:,.0f} s"
        print(f"{each['model']:<38} {each['state']:<10} {memory:>10} {idle:>8}")


def stop(
    model: Annotated[str, typer.Argument(help="served model name", metavar="MODEL")],
    *,
    admin_key: Annotated[
        str | None, typer.Option("--admin-key", help="admin key [YAIE_ADMIN_KEY]", metavar="KEY")
    ] = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Unload a model of a running server; its next request loads it again."""
    server = open_server(url, api_key, why="yaie stop unloads a model of a running server")
    server.key_advice = "--admin-key (or YAIE_ADMIN_KEY) with the admin key of that server"
    admin_key = admin_key or os.environ.get("YAIE_ADMIN_KEY")
    headers = {"X-API-Key": admin_key} if admin_key else {}
    server.post("/api/generate", {"model": model, "keep_alive": 0}, headers=headers)
    terminal.note(f"{model} is unloaded; its next request loads it again")


def open_server(url: str | None, key: str | None, *, why: str, model: str = "") -> ServerAnswers:
    """Return the named server, or a YAIE server on this machine; raise `AdvisedError` for none."""
    from yaie.cli.options import choose_key
    from yaie.cli.remote import ServerAnswers
    from yaie.remote.discovery import find_server

    named = url or os.environ.get("YAIE_BASE_URL")
    chosen = choose_key(key, is_named=named is not None)
    if named is None:
        found = find_server(key=chosen)
        if found is None:
            raise AdvisedError(
                "no YAIE server runs on 127.0.0.1:8000",
                why=why,
                advice="yaie serve    (to start one), or --url URL",
                code="server-unreachable",
                exit_code=SERVER_UNREACHABLE,
            )
        named = found.url
    server = ServerAnswers(named, model or "any", key=chosen)
    server.key_advice = "--api-key (or YAIE_API_KEY) with a key of that server"
    return server
