"""`GET /v1/models` and `GET /v1/models/{id}`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from server.served_model import ServedModel
from server.service import Service

router = APIRouter(tags=["models"])


def _card(model: ServedModel) -> dict[str, Any]:
    card: dict[str, Any] = {
        "id": model.name,
        "object": "model",
        "created": model.created,
        "owned_by": "yaie",
        "max_model_len": None,
    }
    if model.info is not None:
        card["max_model_len"] = model.info.max_model_len
        card["architecture"] = model.info.architecture
        card["dtype"] = model.info.dtype
        card["quantization"] = model.info.quantization
    return card


@router.head("/v1/models", include_in_schema=False)
@router.get("/v1/models")
async def list_models(request: Request) -> Response:
    """List the served models; the length of a model is null while it loads."""
    service: Service = request.app.state.service
    cards = [_card(model) for model in service.models.values()]
    return JSONResponse({"object": "list", "data": cards})


@router.head("/v1/models/{model_id:path}", include_in_schema=False)
@router.get("/v1/models/{model_id:path}")
async def get_model(request: Request, model_id: str) -> Response:
    """Describe one model; its name may contain slashes."""
    service: Service = request.app.state.service
    return JSONResponse(_card(service.model(model_id)))
