"""`POST /v1/load_lora_adapter` and `POST /v1/unload_lora_adapter`, with vLLM's bodies."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.base.adapter_info import unknown_adapter
from yaie.base.errors import InvalidRequest
from yaie.base.types import EngineState
from yaie.server.http.api_keys import require_admin
from yaie.server.http.body import json_reply, read_body
from yaie.server.models.served_adapters import spellings
from yaie.server.models.service import Service
from yaie.server.routes.endpoint import describe_body
from yaie.server.schemas.adapters import AdapterReply, LoadAdapterBody, UnloadAdapterBody
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["models"])
_NAME = {"lora_name": "sql"}
_ABOUT: dict[int | str, Any] = {200: describe_reply(AdapterReply)}


@router.post(
    "/v1/load_lora_adapter",
    openapi_extra=describe_body(LoadAdapterBody, {"sql": {**_NAME, "lora_path": "/adapters/sql"}}),
    responses=_ABOUT,
)
async def load_adapter(request: Request) -> Response:
    """Load a LoRA adapter and serve it under its name. Needs the admin key."""
    service = _service_of_admin(request)
    body = await read_body(request, LoadAdapterBody)
    name, model = body.lora_name, service.model(body.model)
    known = {each for model in service.models.values() for each in model.all_names}
    taken = known.intersection(spellings(name))
    may_replace = body.load_inplace and taken == {name} and name in model.adapters
    if taken and not may_replace:
        fix = "choose another name"
        if name in model.adapters:
            fix = f'send "load_inplace": true to replace the adapter, unload it, or {fix}'
        raise InvalidRequest(
            f"the name {min(taken)!r} is in use; {fix}",
            param="lora_name",
        )
    model.check_available()
    info = await model.adapters.load(model.client, name, body.lora_path)
    service.response_cache.clear()
    return json_reply(
        AdapterReply(
            id=name,
            parent=model.name,
            root=body.lora_path,
            loaded=True,
            rank=info.rank,
            bytes=info.nbytes,
        )
    )


@router.post(
    "/v1/unload_lora_adapter",
    openapi_extra=describe_body(UnloadAdapterBody, {"sql": _NAME}),
    responses=_ABOUT,
)
async def unload_adapter(request: Request) -> Response:
    """Serve a LoRA adapter no longer; its running requests end as usual. Needs the admin key."""
    service = _service_of_admin(request)
    name = (await read_body(request, UnloadAdapterBody)).lora_name
    model = next((each for each in service.models.values() if name in each.adapters), None)
    if model is None:
        known = [each for model in service.models.values() for each in model.adapters]
        raise unknown_adapter(name, known)
    root = model.adapters.folder_of(name)
    is_ready = model.state is EngineState.READY
    await model.adapters.unload(model.client if is_ready else None, name)
    service.response_cache.clear()
    return json_reply(AdapterReply(id=name, parent=model.name, root=root, loaded=False))


def _service_of_admin(request: Request) -> Service:
    service: Service = request.app.state.service
    require_admin(request.scope, service.settings.admin_key, "the administration of adapters")
    return service
