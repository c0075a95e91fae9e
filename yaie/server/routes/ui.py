"""`/ui`: a page that shows the cache, its files, its feed, and the two things it can do.

The page and its files are the same for everyone and need no key; the feed does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from yaie.base.errors import AuthenticationFailed
from yaie.server.http.body import EVENTS, json_reply, read_body
from yaie.server.http.http_errors import NotFound
from yaie.server.http.middleware import PAGE_FOLDER
from yaie.server.models.service import Service
from yaie.server.replies.delivery import ClientGone, unless_gone
from yaie.server.routes.endpoint import CLIENT_CLOSED
from yaie.server.schemas.base import Extension, RequestBody
from yaie.server.ui.pages import Pages
from yaie.server.ui.past_explanation import explain_call
from yaie.server.ui.viewer import check_page, viewer_of

router = APIRouter(include_in_schema=False)

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_SAFE = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class RequestId(RequestBody):
    """The id of a request, as the feed names it."""

    id: Annotated[str, Extension("Id of the response")]


@cache
def _files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in PAGE_FOLDER.iterdir() if path.is_file()}


@router.head("/ui")
@router.get("/ui")
async def page(request: Request) -> Response:
    """Return the page."""
    check_page(request)
    return Response(_files()["index.html"], headers=_SAFE, media_type="text/html")


@router.get("/ui/events")
async def events(request: Request) -> Response:
    """Stream what the page of `?model=` shows, until the browser leaves."""
    viewer = viewer_of(request)
    pages: Pages = request.app.state.pages
    feed = pages.feed(request.query_params.get("model"))
    feed.check_room(viewer)
    return StreamingResponse(feed.events(viewer), headers=_SAFE, media_type=EVENTS)


@router.post("/ui/explain")
async def explain(request: Request) -> Response:
    """Explain a call that has ended: where its prompt left the cache, and why."""
    viewer = viewer_of(request)
    body = await read_body(request, RequestId)
    pages: Pages = request.app.state.pages
    call = pages.recent.find(body.id)
    if call is None or viewer.tenant not in (None, call.tenant):
        raise NotFound("the request is unknown or too old; send it to /v1/cache/explain")
    service: Service = request.app.state.service
    try:
        return json_reply(await unless_gone(request.receive, explain_call(service, viewer, call)))
    except (ClientDisconnect, ClientGone):
        return Response(status_code=CLIENT_CLOSED)


@router.post("/ui/abort")
async def abort(request: Request) -> Response:
    """End a running request: any with the admin key or without API keys, else one's own."""
    viewer = viewer_of(request)
    body = await read_body(request, RequestId)
    service: Service = request.app.state.service
    if service.settings.admin_key and not viewer.is_admin:
        raise AuthenticationFailed("aborting from the page needs the admin key; enter it there")
    if not service.active.abort(body.id, viewer.tenant):
        raise NotFound("no such request is running; it may have ended")
    return json_reply({"id": body.id, "aborted": True})


@router.get("/ui/{asset}")
async def asset(request: Request, asset: str) -> Response:
    """Return a script or the style of the page. Raises `NotFound`."""
    check_page(request)
    media_type = _TYPES.get(Path(asset).suffix)
    if media_type is None or asset not in _files():
        raise NotFound(f"the path '/ui/{asset[:80]}' does not exist; see /ui")
    return Response(_files()[asset], headers=_SAFE, media_type=media_type)
