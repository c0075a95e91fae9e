"""Body and reply of `POST /v1/embeddings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, Unused, Used
from yaie.server.schemas.generation_replies import CachedTokens
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.server.schemas.scheduled_body import ScheduledBody
from yaie.server.schemas.shared_fields import WholeNumber

_IDS = {"type": "array", "items": {"type": "integer"}}


class EmbeddingBody(ScheduledBody):
    """OpenAI's request for embeddings, with a few extensions."""

    unused: ClassVar[Mapping[str, Unused]] = {each.name: each for each in unused.EMBEDDING}

    # `embedding_call` checks that it is there and names its forms.
    model_config = ConfigDict(json_schema_extra={"required": ["input"]})

    input: Annotated[
        Any,
        Used(
            "A string, a list of token ids, or a list of up to 2,048 of either. Token ids are "
            "embedded as they are.",
            "required",
            example="What is a radix tree?",
            schema={
                "anyOf": [
                    {"type": "string"},
                    _IDS,
                    {"type": "array", "items": {"anyOf": [{"type": "string"}, _IDS]}},
                ]
            },
        ),
    ] = None
    encoding_format: Annotated[
        str | None,
        Used(
            "`float`, or `base64`: the numbers as little-endian float32.",
            "`float`",
            example="base64",
        ),
    ] = None
    dimensions: Annotated[
        WholeNumber | None,
        Used(
            "Keep this many first numbers of each vector, and give it the length 1 again where "
            "the model does. For models trained for it (Matryoshka).",
            "all",
            example=32,
        ),
    ] = None
    user: Annotated[
        str | None,
        Used("On a server without API keys: the tenant, for fair shares.", example="someone"),
    ] = None
    prompt_name: Annotated[
        str | None,
        Extension(
            "The model's prompt to put before each text, such as `query`; its names are in the "
            "model's `config_sentence_transformers.json`.",
            "the model's default",
            example="query",
        ),
    ] = None
    truncate: Annotated[
        bool | None,
        Extension(
            "Cut the end of strings beyond the context.",
            "false",
            example=True,
        ),
    ] = None


class Embedding(ReplyStruct, kw_only=True):
    """Vector of one input."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str
    """Numbers, or their base64."""


class EmbeddingUsage(ReplyStruct, kw_only=True):
    """Numbers of tokens, over all inputs."""

    prompt_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class EmbeddingList(ReplyStruct, kw_only=True):
    """Vectors of the inputs, in their order."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
