"""Translation of bodies for embeddings into calls: one engine request for each input."""

from __future__ import annotations

from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.model_tasks import embedding_of
from yaie.base.types import EngineInfo
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.checks import check_limits, check_unused
from yaie.server.requests.pooled_call import make_pooled_call
from yaie.server.requests.prompt_tokens import Prompts
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.text.embeddings import Embedder
from yaie.text.tokenizer import Tokenizer, too_long

MAX_INPUTS = 2048  # OpenAI's
FORMATS = ("float", "base64")


def make_embedding_call(
    body: EmbeddingBody, tokenizer: Tokenizer, info: EngineInfo, caller: Caller
) -> Call:
    """Translate a body. Raises `InvalidRequest` or a subclass, with the field's name."""
    how = embedding_of(info)
    check_unused(body)
    check_limits(body)
    embedder = Embedder(tokenizer, info)
    embedder.check_dimensions(body.dimensions)
    if body.encoding_format not in (None, *FORMATS):
        raise InvalidRequest(
            f"encoding_format must be {' or '.join(map(repr, FORMATS))}, "
            f"got {body.encoding_format[:80]!r}",
            param="encoding_format",
        )
    if embedder.has_document_prompt and "input_type" in (body.model_extra or {}):
        raise InvalidRequest(
            "input_type is not supported: this model has a prompt for documents; use prompt_name",
            param="input_type",
        )
    prompt = embedder.prompt(body.prompt_name)
    given_ids = Prompts(tokenizer, info)
    prompts = []
    for name, given in _read_inputs(body).items():
        if isinstance(given, str):
            ids = embedder.encode(given, prompt, truncates=bool(body.truncate), name=name)
        else:
            ids = given_ids.token_ids(given, name)
        if not ids:
            raise InvalidRequest(f"{name} has no tokens; send at least one", param=name)
        if len(ids) > info.max_model_len:
            raise too_long(name, len(ids), info.max_model_len)
        prompts.append(ids)
    return make_pooled_call(body, prompts, info, caller, prefix="embd", embedding=how)


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
