"""Calls whose engine requests end after their prompts: embeddings and rankings."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable

from yaie.base.embedding_info import EmbeddingInfo
from yaie.base.ranking_info import RankingInfo
from yaie.base.types import EngineInfo, GenerationRequest, SamplingParams
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.checks import MAX_NAMED_IGNORED, list_without_effect
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.server.schemas.ranking import RankingBody

_SAMPLING = SamplingParams(max_tokens=1)  # without effect: nothing is sampled


def make_pooled_call(
    body: EmbeddingBody | RankingBody,
    prompts: Iterable[list[int]],
    info: EngineInfo,
    caller: Caller,
    *,
    prefix: str,
    embedding: EmbeddingInfo | None = None,
    ranking: RankingInfo | None = None,
) -> Call:
    """Return a call of one engine request for each prompt, in their order.

    `prefix`: begins the response id. `embedding` or `ranking`: what the model's rows become.
    """
    response_id = f"{prefix}-{uuid.uuid4().hex}"
    requests = tuple(
        GenerationRequest(
            request_id=f"{response_id}-{at}" if at else response_id,
            call=response_id,
            prompt_token_ids=tuple(ids),
            sampling=_SAMPLING,
            tenant=caller.tenant,
            owner=caller.owner,
            cache_salt=body.cache_salt or "",
            priority=caller.limit_priority(body.priority or 0),
            queue_timeout_s=body.queue_timeout_s,
            pooling="score" if embedding is None else embedding.pooling,
            adapter=caller.adapter,
            adapter_path=caller.adapter_path,
        )
        for at, ids in enumerate(prompts)
    )
    return Call(
        response_id=response_id,
        created=int(time.time()),
        model=caller.model or info.model,
        requests=requests,
        sampling=_SAMPLING,
        stream=False,
        include_usage=False,
        return_token_ids=False,
        ignored=tuple(list_without_effect(body, info.policy)[:MAX_NAMED_IGNORED]),
        body=body,
        embedding=embedding,
        ranking=ranking,
    )
