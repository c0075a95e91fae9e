"""Body of `POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from server.schemas.common import GenerationBody, Short, WholeNumber


class ChatBody(GenerationBody):
    """OpenAI's chat completion request with the extensions of `docs/api.md`."""

    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        **GenerationBody.unsupported,
        "audio": (),
        "best_of": (1,),
        "chat_template": ("",),
        "continue_final_message": (False,),
        "documents": ([],),
        "echo": (False,),
        "function_call": ("none", "auto"),  # selects from functions, refused too
        "functions": ([],),
        "modalities": (["text"],),
        "web_search_options": (),
    }
    accepted: ClassVar[frozenset[str]] = GenerationBody.accepted | {
        "parallel_tool_calls",
        "prediction",  # speeds up an answer without changing it
    }

    messages: Annotated[list[Any], Field(json_schema_extra={"minItems": 1})]
    max_tokens: WholeNumber | None = None
    max_completion_tokens: WholeNumber | None = None
    logprobs: bool | None = None
    top_logprobs: WholeNumber | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    response_format: Any = None
    add_generation_prompt: bool | None = None
    chat_template_kwargs: Annotated[dict[str, Any] | None, Short] = None
    reasoning_effort: Annotated[str, Field(max_length=32)] | None = None
