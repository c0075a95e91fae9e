"""Body of `POST /v1/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict

from yaie.server.schemas import unused
from yaie.server.schemas.base import Extension, Unused, Used
from yaie.server.schemas.shared_fields import GenerationBody, WholeNumber

_IDS = {"type": "array", "items": {"type": "integer"}}


class CompletionBody(GenerationBody):
    """OpenAI's text completion request with the extensions of `docs/reference/http-api.md`."""

    unused: ClassVar[Mapping[str, Unused]] = {
        **GenerationBody.unused,
        **{each.name: each for each in unused.COMPLETION},
    }

    default_max_tokens: ClassVar[int | None] = 16  # OpenAI's

    # `translate` checks that it is there and names its forms.
    model_config = ConfigDict(json_schema_extra={"required": ["prompt"]})

    prompt: Annotated[
        Any,
        Used(
            "A string, a list of token ids, or a list of either.",
            "required",
            example="The tree is",
            schema={
                "anyOf": [
                    {"type": "string"},
                    _IDS,
                    {"type": "array", "items": {"anyOf": [{"type": "string"}, _IDS]}},
                ]
            },
        ),
    ] = None
    max_tokens: Annotated[
        WholeNumber | None,
        Used(
            "0 with `echo`: only the logprobs of the prompt; `finish_reason` is then `length`.",
            "16, or the rest of the context",
            8,
        ),
    ] = None
    echo: Annotated[
        bool | None,
        Used(
            "The prompt before the completion; with `logprobs` the prompt's logprobs too.",
            "false",
            example=True,
        ),
    ] = None
    logprobs: Annotated[
        WholeNumber | None,
        Used("0 to 20: of the sampled token and of this many most likely ones.", "off", 2),
    ] = None
    best_of: Annotated[
        WholeNumber | None, Used("Must equal `n`; other values are refused.", "`n`", example=1)
    ] = None
    add_special_tokens: Annotated[
        bool | None,
        Extension("The tokenizer adds its begin-of-text token.", "true", example=False),
    ] = None
