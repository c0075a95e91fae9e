"""`GET /v1/models` and `GET /v1/models/{id}`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from server.checks import check_model
from server.service import Service

router = APIRouter(tags=["models"])


def _card(service: Service) -> dict[str, Any]:
    card: dict[str, Any] = {
        "id": service.model,
        "object": "model",
        "created": service.started_at,
        "owned_by": "yaie",
        "max_model_len": None,
    }
    if service.info is not None:
        card["max_model_len"] = service.info.max_model_len
        card["architecture"] = service.info.architecture
        card["dtype"] = service.info.dtype
        card["quantization"] = service.info.quantization
    return card


@router.head("/v1/models", include_in_schema=False)
@router.get("/v1/models")
async def list_models(request: Request) -> Response:
    """The one model that is served; its length is null while it loads."""
    service: Service = request.app.state.service
    return JSONResponse({"object": "list", "data": [_card(service)]})


@router.head("/v1/models/{model_id:path}", include_in_schema=False)
@router.get("/v1/models/{model_id:path}")
async def get_model(request: Request, model_id: str) -> Response:
    """One model; names may hold slashes."""
    service: Service = request.app.state.service
    check_model(model_id, service.model)
    return JSONResponse(_card(service))
