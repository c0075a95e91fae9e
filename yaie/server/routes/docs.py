"""`/docs`: the API as a page, with Swagger UI from this server: it works without the internet.

The package `fastapi-swagger` has its script and its style.

The page is open. Its Authorize button takes the key of the requests that it sends.
"""

from __future__ import annotations

from pathlib import Path

import fastapi_swagger
from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import FileResponse, Response

from yaie.server.http.http_errors import NotFound
from yaie.server.http.middleware import ASSETS

router = APIRouter(include_in_schema=False)

FOLDER = Path(fastapi_swagger.__file__).parent / "resources"
_CACHE = {"Cache-Control": "public, max-age=86400"}


@router.head("/docs")
@router.get("/docs")
async def docs(request: Request) -> Response:
    """Return the page."""
    root = request.scope.get("root_path", "")
    return get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title=request.app.title,
        swagger_js_url=f"{root}/docs/swagger-ui-bundle.js",
        swagger_css_url=f"{root}/docs/swagger-ui.css",
        swagger_favicon_url="data:,",
        swagger_ui_parameters={"persistAuthorization": True, "displayRequestDuration": True},
    )


@router.head("/docs/{asset}")
@router.get("/docs/{asset}")
async def asset(asset: str) -> Response:
    """Return a script or style of the page. Raises `NotFound`."""
    if asset not in ASSETS:
        raise NotFound(f"the path '/docs/{asset[:80]}' does not exist; see /docs")
    return FileResponse(FOLDER / asset, media_type=ASSETS[asset], headers=_CACHE)
