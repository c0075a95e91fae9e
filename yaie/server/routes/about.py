"""`/` and `/version`: the name of this server, and the way to its documentation."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from yaie.base.own_package import read_version
from yaie.server.http.body import json_reply
from yaie.server.schemas.probes import AboutServer, VersionReply
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.ui.viewer import shows_page

router = APIRouter(tags=["about"])

_DESCRIPTION = (
    "YAIE is running: an inference engine for language models, with OpenAI's HTTP API. "
    "Set base_url of a client library to the address of this page, followed by /v1."
)
_UI = ("/ui", "the cache, live, with a chat")
_LINKS = {
    "docs": ("/docs", "every endpoint, with its fields and a form to try it"),
    "openapi": ("/openapi.json", "the same for machines"),
    "models": ("/v1/models", "the served models and their abilities"),
    "health": ("/health", "the state of the engine"),
    "stats": ("/stats", "its statistics"),
    "metrics": ("/metrics", "metrics for Prometheus"),
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<link rel="icon" href="data:,">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 4em auto; padding: 0 1em }}
</style>
</head>
<body>
<h1>{name} {version}</h1>
<p>{description}</p>
<ul>
{links}
</ul>
</body>
</html>
"""


_DESCRIBED = describe_reply(AboutServer)
_DESCRIBED["content"]["text/html"] = {"schema": {"type": "string"}}


@router.head("/", include_in_schema=False)
@router.get(
    "/",
    responses={200: _DESCRIBED},
)
async def about(request: Request) -> Response:
    """Say what this server is; in HTML for browsers, else in JSON."""
    root = request.scope.get("root_path", "")
    described = request.app.description or _DESCRIPTION
    pages = ({"ui": _UI} if shows_page(request) else {}) | _LINKS
    links = {name: root + path for name, (path, _) in pages.items()}
    if "text/html" not in request.headers.get("accept", ""):
        reply = AboutServer(version=read_version(), description=described, links=links)
        return json_reply(reply, headers={"Vary": "Accept"})
    items = "\n".join(
        f'<li><a href="{escape(links[name])}">{path}</a>: {meaning}</li>'
        for name, (path, meaning) in pages.items()
    )
    page = _PAGE.format(
        name=escape(request.app.title),
        version=read_version(),
        description=escape(described),
        links=items,
    )
    return HTMLResponse(page, headers={"Vary": "Accept"})


@router.head("/version", include_in_schema=False)
@router.get("/version", responses={200: describe_reply(VersionReply)})
async def get_version(request: Request) -> Response:
    """Return the version of the server."""
    return json_reply(VersionReply(version=read_version()))
