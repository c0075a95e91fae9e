"""Body of `POST /v1/completions`."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ConfigDict

from server.schemas.common import GenerationBody, WholeNumber


class CompletionBody(GenerationBody):
    """OpenAI's text completion request with the extensions of `docs/api.md`."""

    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        **GenerationBody.unsupported,
        "suffix": ("",),
    }

    # `translate` checks that it is there and names its forms.
    model_config = ConfigDict(json_schema_extra={"required": ["prompt"]})

    prompt: Any = None  # a string, token ids, or a list of either
    max_tokens: WholeNumber | None = None
    echo: bool | None = None
    best_of: WholeNumber | None = None
    logprobs: WholeNumber | None = None
    add_special_tokens: bool | None = None
    response_format: Any = None
