"""Ollama's API: answers, vectors and the served models; its other paths are refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from yaie.base.errors import AuthenticationFailed, InvalidRequest, UnknownModel, YaieError
from yaie.base.model_tasks import check_generates
from yaie.base.own_package import read_version
from yaie.server.http.api_keys import has_admin_key
from yaie.server.http.body import NDJSON, json_reply, read_body
from yaie.server.http.http_errors import ollama_error_reply, route_path
from yaie.server.models.request_hook import ReadRequest
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.ollama.ollama_models import (
    digest_of,
    list_loaded,
    list_model,
    read_keep_alive,
    show_model,
)
from yaie.server.ollama.ollama_reply import (
    OllamaChatReply,
    OllamaEmbedReply,
    OllamaGenerateReply,
    encode_line,
    timestamp,
)
from yaie.server.ollama.ollama_translation import (
    check_values,
    ollama_chat_call,
    ollama_embed_call,
    ollama_generate_call,
)
from yaie.server.replies.delivery import unless_gone
from yaie.server.routes.endpoint import Command, Endpoint, describe_body
from yaie.server.schemas.ollama_bodies import (
    OllamaBody,
    OllamaChatBody,
    OllamaEmbedBody,
    OllamaGenerateBody,
    OllamaModelBody,
)
from yaie.server.schemas.ollama_replies import (
    OllamaChatAnswer,
    OllamaEmbedAnswer,
    OllamaGenerateAnswer,
    OllamaLoadedModels,
    OllamaMessage,
    OllamaModel,
    OllamaModelList,
    OllamaProgress,
    OllamaVersion,
)
from yaie.server.schemas.reply_struct import describe_reply, reference_to

# The version of Ollama whose API this is; clients compare it with the least one that they need.
API_VERSION = "0.32.15"
router = APIRouter(tags=["ollama"])
embed_router = APIRouter(tags=["embeddings"])
models_router = APIRouter(tags=["models"])
about_router = APIRouter(tags=["about"])
PROGRESS_S = 1.0  # between two lines of a download
_PROGRESS: dict[str, Any] = describe_reply(OllamaProgress)
_PROGRESS["content"][NDJSON] = {"schema": reference_to(OllamaProgress)}
_QUESTION = {"messages": [{"role": "user", "content": "What is a radix tree?"}]}
_TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find a page",
        "parameters": {"type": "object", "properties": {"topic": {"type": "string"}}},
    },
}


async def _load(service: Service, read: ReadRequest[Any]) -> Response:
    """Load the model, for a body without a prompt. Raises `InvalidRequest` if it writes no text."""
    with await service.use(read.model, read.http.receive, read.deadline):
        service.check_available(read.model)
        if read.model.info is not None:
            check_generates(read.model.info)
    return _done(read, "load")


async def _unload(service: Service, read: ReadRequest[Any]) -> Response:
    """Unload the model once its requests have ended. Needs the admin key where keys are set."""
    settings = service.settings
    is_open = not (settings.has_keys or settings.admin_key)
    if not (is_open or has_admin_key(read.http.scope, settings.admin_key)):
        raise AuthenticationFailed(
            "unloading a model needs the admin key; send X-API-Key: <YAIE_ADMIN_KEY>, next to an "
            "API key in Authorization"
        )
    await unless_gone(read.http.receive, service.model_pool.unload(read.model))
    return _done(read, "unload")


def _done(read: ReadRequest[Any], reason: Any) -> Response:
    name = read.body.model or read.model.name
    about: dict[str, Any] = {
        "model": name,
        "created_at": timestamp(time.time()),
        "done": True,
        "done_reason": reason,
    }
    if isinstance(read.body, OllamaChatBody):
        return json_reply(OllamaChatAnswer(**about, message=OllamaMessage()))
    return json_reply(OllamaGenerateAnswer(**about))


def _command_of(body: OllamaBody) -> Command | None:
    """Return the load or unload that a body without a prompt means. Raises `InvalidRequest`."""
    given = body.messages if isinstance(body, OllamaChatBody) else getattr(body, "prompt", None)
    if given:
        return None
    check_values(body)
    return _unload if read_keep_alive(body.keep_alive) == 0 else _load


CHAT = Endpoint(
    OllamaChatBody,
    ollama_chat_call,
    OllamaChatReply,
    command_of=_command_of,
    examples={
        "question": _QUESTION | {"stream": False, "options": {"num_predict": 64}},
        "stream": _QUESTION | {"options": {"num_predict": 64}},
        "tools": _QUESTION | {"stream": False, "tools": [_TOOL]},
    },
)
GENERATE = Endpoint(
    OllamaGenerateBody,
    ollama_generate_call,
    OllamaGenerateReply,
    command_of=_command_of,
    examples={
        "prompt": {"prompt": "What is a slot?", "stream": False, "options": {"num_predict": 64}},
        "raw": {"prompt": "The tree is", "raw": True, "options": {"num_predict": 8}},
    },
)


@router.post("/api/chat", openapi_extra=CHAT.openapi, responses=CHAT.answers)
async def ollama_chat(request: Request) -> Response:
    """Answer a conversation in Ollama's form; without messages, load or unload the model."""
    return await CHAT.answer(request)


@router.post("/api/generate", openapi_extra=GENERATE.openapi, responses=GENERATE.answers)
async def ollama_generate(request: Request) -> Response:
    """Answer a prompt in Ollama's form; without a prompt, load or unload the model."""
    return await GENERATE.answer(request)


@models_router.head("/api/tags", include_in_schema=False)
@models_router.get("/api/tags", responses={200: describe_reply(OllamaModelList)})
async def ollama_tags(request: Request) -> Response:
    """List the served models, loaded or not."""
    service: Service = request.app.state.service
    found = [entry for model in service.models.values() for entry in list_model(model)]
    return json_reply(OllamaModelList(models=found))


@models_router.head("/api/ps", include_in_schema=False)
@models_router.get("/api/ps", responses={200: describe_reply(OllamaLoadedModels)})
async def ollama_ps(request: Request) -> Response:
    """List the models in memory."""
    service: Service = request.app.state.service
    idle_s = service.settings.unload_idle_s
    found = [
        list_loaded(model, idle_s)
        for model in service.models.values()
        if model.is_resident and model.info is not None
    ]
    return json_reply(OllamaLoadedModels(models=found))


@models_router.post(
    "/api/show",
    openapi_extra=describe_body(OllamaModelBody, {"first": {}}),
    responses={200: describe_reply(OllamaModel)},
)
async def ollama_show(request: Request) -> Response:
    """Describe one served model."""
    service: Service = request.app.state.service
    body = await read_body(request, OllamaModelBody)
    return json_reply(show_model(service.model(body.wanted)))


@models_router.post(
    "/api/pull",
    openapi_extra=describe_body(OllamaModelBody, {"whole": {"stream": False}}),
    responses={200: _PROGRESS},
)
async def ollama_pull(request: Request) -> Response:
    """Download a served model that is loaded at its first request; other models are refused."""
    service: Service = request.app.state.service
    body = await read_body(request, OllamaModelBody)
    try:
        model = service.model(body.wanted)
    except UnknownModel as error:
        raise UnknownModel(
            f"{error.message}; start another with `yaie serve --models`", param="model"
        ) from None
    if body.stream is False:
        await unless_gone(request.receive, model.find_folder())
        return json_reply(OllamaProgress(status="success"))
    return StreamingResponse(_pull(model), media_type=NDJSON)


async def _pull(model: ServedModel) -> AsyncIterator[bytes]:
    """Yield the lines of a pull."""
    yield encode_line(OllamaProgress(status="pulling manifest"))
    task = asyncio.create_task(model.find_folder())
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=PROGRESS_S)
            if not task.done():
                yield encode_line(OllamaProgress(status=f"pulling {model.root}"))
        size = await asyncio.to_thread(_size_of, await task)
    except YaieError as error:
        yield encode_line(ollama_error_reply(error))
        return
    finally:
        task.cancel()
    digest = f"sha256:{digest_of(model)}"
    status = f"pulling {digest_of(model)[:12]}"
    yield encode_line(OllamaProgress(status=status, digest=digest, total=size, completed=size))
    yield encode_line(OllamaProgress(status="success"))


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@about_router.head("/api/version", include_in_schema=False)
@about_router.get("/api/version", responses={200: describe_reply(OllamaVersion)})
async def ollama_version(request: Request) -> Response:
    """Return the version of Ollama whose API is answered, and YAIE's."""
    return json_reply(OllamaVersion(version=API_VERSION, yaie_version=read_version()))


EMBED = Endpoint(
    OllamaEmbedBody,
    ollama_embed_call,
    OllamaEmbedReply,
    examples={"texts": {"input": ["What is a slot?", "What is a node?"]}},
)


@embed_router.post(
    "/api/embed",
    openapi_extra=EMBED.openapi,
    responses={200: describe_reply(OllamaEmbedAnswer)},
)
async def ollama_embed(request: Request) -> Response:
    """Return the vectors of texts in Ollama's form."""
    return await EMBED.answer(request)


async def refuse_old_embeddings(request: Request) -> Response:
    """Refuse the path that Ollama has replaced. Raises `InvalidRequest`."""
    raise InvalidRequest(
        "/api/embeddings is not supported; send the prompt as input to /api/embed",
        code="unsupported_endpoint",
    )


async def refuse_ollama_changes(request: Request) -> Response:
    """Refuse changes of the models, which the server's settings name. Raises `InvalidRequest`."""
    raise InvalidRequest(
        f"{route_path(request.scope)[:100]} is not supported: the settings of this server name its "
        "models; serve another model or name with `yaie serve`",
        code="unsupported_endpoint",
    )


models_router.post("/api/embeddings", include_in_schema=False)(refuse_old_embeddings)
for _path in ("/api/create", "/api/copy", "/api/push", "/api/blobs/{digest}"):
    models_router.post(_path, include_in_schema=False)(refuse_ollama_changes)
models_router.head("/api/blobs/{digest}", include_in_schema=False)(refuse_ollama_changes)
models_router.delete("/api/delete", include_in_schema=False)(refuse_ollama_changes)
