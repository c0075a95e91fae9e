"""`GET /v1/models` and `GET /v1/models/{id}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from yaie.base.errors import InvalidRequest
from yaie.base.types import MAX_LOGPROBS, MAX_SEQUENCES_PER_REQUEST
from yaie.server.http.body import json_reply
from yaie.server.http.http_errors import is_of_messages
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.requests.checks import MAX_STOPS
from yaie.server.schemas.models import (
    AgentModel,
    MessagesModelCard,
    MessagesModelList,
    ModelCapabilities,
    ModelCard,
    ModelLimits,
    ModelList,
    ReasoningLevel,
)
from yaie.server.schemas.reply_struct import describe_reply
from yaie.server.schemas.shared_fields import MAX_LISTED
from yaie.text.plain_messages import MAX_MESSAGES, MAX_TOOLS

router = APIRouter(tags=["models"])
MAX_PAGE = 1000
AGENT_INSTRUCTIONS = (
    "You are a coding agent in the user's terminal. Use the tools to read, change and run files in "
    "the workspace until the task is done. Then answer in a few sentences."
)


def _card(service: Service, model: ServedModel, name: str) -> ModelCard:
    card = ModelCard(id=name, created=model.created, root=model.root)
    if adapter := model.adapters.named(name):
        card.root, card.parent = model.adapters.folder_of(adapter), model.name
    if (info := model.info) is not None:
        card.max_model_len = info.max_model_len
        card.architecture = info.architecture
        card.dtype = info.dtype
        card.quantization = info.quantization
        card.execution = info.execution
        card.execution_reason = info.execution_reason or None
        card.default_max_tokens = model.defaults.max_tokens
        card.default_sampling = model.defaults.sampling_of(info.default_sampling)
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
        info = model.info
        how, ranking = (None, None) if info is None else (info.embedding, info.ranking)
        generates = all(each is None or each.generates for each in (how, ranking))
        card.capabilities = ModelCapabilities(
            completion=generates,
            embeddings=how is not None,
            rerank=ranking is not None,
            chat=generates and abilities.chat,
            tools=generates and abilities.tools and model.defaults.tools,
            tool_format=abilities.tool_format,
            reasoning=abilities.reasoning,
            chat_template_kwargs=list(abilities.variables),
        )
    return card


def _agent_model(model: ServedModel, name: str) -> AgentModel:
    reads_effort = model.abilities is not None and "reasoning_effort" in model.abilities.variables
    return AgentModel(
        slug=name,
        display_name=name,
        base_instructions=AGENT_INSTRUCTIONS,
        context_window=None if model.info is None else model.info.max_model_len,
        max_context_window=None if model.info is None else model.info.max_model_len,
        default_reasoning_level="medium" if reads_effort else None,
        supported_reasoning_levels=[
            ReasoningLevel(effort=effort, description=f"{effort} effort")
            for effort in (("low", "medium", "high") if reads_effort else ())
        ],
    )


def _messages_card(model: ServedModel, name: str) -> MessagesModelCard:
    created = datetime.fromtimestamp(model.created, UTC).isoformat()
    card = MessagesModelCard(id=name, display_name=name, created_at=created)
    if (info := model.info) is not None:
        card.max_input_tokens = card.max_tokens = info.max_model_len - 1
    return card


def _messages_page(cards: list[MessagesModelCard], query: Mapping[str, str]) -> MessagesModelList:
    """Return the page that `after_id`, `before_id` and `limit` ask for."""
    limit = query.get("limit", "20")
    if not re.fullmatch(r"[0-9]{1,4}", limit, re.ASCII) or not 1 <= int(limit) <= MAX_PAGE:
        raise InvalidRequest(f"limit must be between 1 and {MAX_PAGE}", param="limit")
    ids = [card.id for card in cards]
    for name in ("after_id", "before_id"):
        if query.get(name) and query[name] not in ids:
            raise InvalidRequest(f"{name} must be the id of a served model", param=name)
    first = ids.index(query["after_id"]) + 1 if query.get("after_id") else 0
    last = ids.index(query["before_id"]) if query.get("before_id") else len(ids)
    if query.get("before_id"):
        first = max(first, last - int(limit))
    shown = cards[first:last][: int(limit)]
    is_more = first > 0 if query.get("before_id") else first + len(shown) < last
    return MessagesModelList(
        data=shown,
        has_more=is_more,
        first_id=shown[0].id if shown else None,
        last_id=shown[-1].id if shown else None,
    )


@router.head("/v1/models", include_in_schema=False)
@router.get("/v1/models", responses={200: describe_reply(ModelList, MessagesModelList)})
async def list_models(request: Request) -> Response:
    """List the served models; fields of a model are null while it loads.

    With the header `anthropic-version` the list has the form of Anthropic's API. Else `models` has
    the catalogue that Codex reads.
    """
    service: Service = request.app.state.service
    named = [(model, name) for model in service.models.values() for name in model.all_names]
    if is_of_messages(request.scope):
        page = _messages_page(
            [_messages_card(model, name) for model, name in named], request.query_params
        )
        return json_reply(page)
    cards = [_card(service, model, name) for model, name in named]
    catalogue = [_agent_model(model, name) for model, name in named]
    return json_reply(ModelList(data=cards, models=catalogue))


@router.head("/v1/models/{model_id:path}", include_in_schema=False)
@router.get(
    "/v1/models/{model_id:path}", responses={200: describe_reply(ModelCard, MessagesModelCard)}
)
async def get_model(request: Request, model_id: str) -> Response:
    """Describe one model; its name may contain slashes."""
    service: Service = request.app.state.service
    model = service.model(model_id)
    if is_of_messages(request.scope):
        return json_reply(_messages_card(model, model_id or model.name))
    return json_reply(_card(service, model, model_id or model.name))
