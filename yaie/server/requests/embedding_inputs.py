"""Translation of bodies for embeddings into calls: one engine request for each input."""

from __future__ import annotations

import time
import uuid
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.model_tasks import embedding_of
from yaie.base.types import EngineInfo, GenerationRequest, SamplingParams
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.checks import MAX_NAMED_IGNORED, check_limits, list_without_effect
from yaie.server.requests.prompt_tokens import Prompts
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.text.embeddings import Embedder
from yaie.text.tokenizer import Tokenizer, too_long

MAX_INPUTS = 2048  # OpenAI's
FORMATS = ("float", "base64")
_SAMPLING = SamplingParams(max_tokens=1)  # without effect: nothing is sampled


def make_embedding_call(
    body: EmbeddingBody, tokenizer: Tokenizer, info: EngineInfo, caller: Caller
) -> Call:
    """Translate a body. Raises `InvalidRequest` or a subclass, with the field's name."""
    how = embedding_of(info)
    check_limits(body)
    embedder = Embedder(tokenizer, info)
    embedder.check_dimensions(body.dimensions)
    if body.encoding_format not in (None, *FORMATS):
        raise InvalidRequest(
            f"encoding_format must be {' or '.join(map(repr, FORMATS))}, "
            f"got {body.encoding_format[:80]!r}",
            param="encoding_format",
        )
    prompt = embedder.prompt(body.prompt_name)
    prompts = Prompts(tokenizer, info)
    response_id = f"embd-{uuid.uuid4().hex}"
    requests = []
    for at, (name, given) in enumerate(_read_inputs(body).items()):
        if isinstance(given, str):
            ids = embedder.encode(given, prompt, truncates=bool(body.truncate), name=name)
        else:
            ids = prompts.token_ids(given, name)
        if not ids:
            raise InvalidRequest(f"{name} has no tokens; send at least one", param=name)
        if len(ids) > info.max_model_len:
            raise too_long(name, len(ids), info.max_model_len)
        requests.append(
            GenerationRequest(
                request_id=f"{response_id}-{at}" if at else response_id,
                prompt_token_ids=tuple(ids),
                sampling=_SAMPLING,
                tenant=caller.tenant,
                owner=caller.owner,
                cache_salt=body.cache_salt or "",
                priority=caller.limit_priority(body.priority or 0),
                queue_timeout_s=body.queue_timeout_s,
                pooling=how.pooling,
                adapter=caller.adapter,
                adapter_path=caller.adapter_path,
            )
        )
    return Call(
        response_id=response_id,
        created=int(time.time()),
        model=caller.model or info.model,
        requests=tuple(requests),
        sampling=_SAMPLING,
        stream=False,
        include_usage=False,
        return_token_ids=False,
        ignored=tuple(list_without_effect(body, info.policy)[:MAX_NAMED_IGNORED]),
        body=body,
        embedding=how,
    )


def _read_inputs(body: EmbeddingBody) -> dict[str, Any]:
    """Return the inputs by the names that errors give them."""
    given = body.input
    if isinstance(given, str) or (isinstance(given, list) and given[:1] and type(given[0]) is int):
        return {"input": given}
    if given is None:
        raise InvalidRequest("input is required", param="input")
    if not isinstance(given, list) or not given:
        raise InvalidRequest(
            "input must be a string, a list of strings, a list of token ids or a list of lists of "
            "token ids",
            param="input",
        )
    if len(given) > MAX_INPUTS:
        raise InvalidRequest(
            f"input has {len(given)} entries; at most {MAX_INPUTS} are allowed", param="input"
        )
    return {f"input[{at}]": each for at, each in enumerate(given)}
