"""`GET /v1/models` and `GET /v1/models/{id}`, and the refusal of `POST /v1/embeddings`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from server.checks import MAX_STOPS
from server.schemas.common import MAX_LISTED
from server.schemas.models import ModelCapabilities, ModelCard, ModelLimits, ModelList
from server.served_model import ServedModel
from server.service import Service
from yaie.errors import InvalidRequest
from yaie.text.chat import MAX_MESSAGES, MAX_TOOLS
from yaie.types import MAX_LOGPROBS, MAX_SEQUENCES_PER_REQUEST

router = APIRouter(tags=["models"])


def _card(service: Service, model: ServedModel, name: str) -> ModelCard:
    card = ModelCard(id=name, created=model.created, root=model.root)
    if (info := model.info) is not None:
        card.max_model_len = info.max_model_len
        card.architecture = info.architecture
        card.dtype = info.dtype
        card.quantization = info.quantization
        card.limits = ModelLimits(
            max_choices=min(MAX_SEQUENCES_PER_REQUEST, info.max_running),
            max_logprobs=MAX_LOGPROBS,
            max_stop_strings=MAX_STOPS,
            max_logit_bias=MAX_LISTED,
            max_messages=MAX_MESSAGES,
            max_tools=MAX_TOOLS,
            max_body_bytes=service.settings.max_body_bytes,
        )
    if (abilities := model.abilities) is not None:
        card.capabilities = ModelCapabilities(
            chat=abilities.chat,
            tools=abilities.tools,
            tool_format=abilities.tool_format,
            reasoning=abilities.reasoning,
            chat_template_kwargs=list(abilities.variables),
        )
    return card


@router.head("/v1/models", include_in_schema=False)
@router.get("/v1/models", responses={200: {"model": ModelList}})
async def list_models(request: Request) -> Response:
    """List the served models; fields of a model are null while it loads."""
    service: Service = request.app.state.service
    models = service.models.values()
    cards = [_card(service, model, name) for model in models for name in model.names]
    return JSONResponse(ModelList(data=cards).model_dump())


@router.head("/v1/models/{model_id:path}", include_in_schema=False)
@router.get("/v1/models/{model_id:path}", responses={200: {"model": ModelCard}})
async def get_model(request: Request, model_id: str) -> Response:
    """Describe one model; its name may contain slashes."""
    service: Service = request.app.state.service
    model = service.model(model_id)
    return JSONResponse(_card(service, model, model_id or model.name).model_dump())


@router.post("/v1/embeddings", include_in_schema=False)
async def refuse_embeddings(request: Request) -> Response:
    """Refuse with 400: models here generate text. Raises `InvalidRequest`."""
    service: Service = request.app.state.service
    raise InvalidRequest(
        f"the model {service.model().name!r} generates text and computes no embeddings; send this "
        "request to a server with an embedding model",
        param="model",
        code="unsupported_endpoint",
    )
