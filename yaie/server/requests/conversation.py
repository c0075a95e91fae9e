"""`Conversation`: a chat body whose tools and template options were checked, once a chat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.server.requests.checks import THINKING_VARIABLES, check_reasoning_effort
from yaie.server.requests.digests import Digest, digest_of
from yaie.server.requests.tool_use import ToolUse
from yaie.server.schemas.chat import ChatBody


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat in the form of tools. The next turn of the chat has the same options."""

    body: ChatBody
    options: dict[str, Any]  # of the chat template: keyword arguments of `ChatTemplate.render`

    def digest(self, model: str, num_tokens: int = 0) -> Digest:
        """Return the digest; `num_tokens` of the prompt. It costs a hundredth of the rendering."""
        return digest_of(self.body, model, self.options, num_tokens)


def make_conversation(
    body: ChatBody, tool_use: ToolUse, template_reads: Callable[[str], bool]
) -> Conversation:
    """Return the conversation of a body. Raises `InvalidRequest` for wrong template options."""
    check_reasoning_effort(body, template_reads)
    continues = bool(body.continue_final_message)
    if continues and body.add_generation_prompt:
        raise InvalidRequest(
            "continue_final_message and add_generation_prompt exclude each other; set "
            "add_generation_prompt to false, or omit it",
            param="continue_final_message",
        )
    template_kwargs = dict(body.chat_template_kwargs or {})
    if body.reasoning_effort is not None:
        template_kwargs.setdefault("reasoning_effort", body.reasoning_effort)
    if body.reasoning_effort == "none":
        template_kwargs = dict.fromkeys(THINKING_VARIABLES, False) | template_kwargs
    options = {
        "tools": tool_use.shown,
        "add_generation_prompt": body.add_generation_prompt is not False and not continues,
        "continue_final_message": continues,
        "template_kwargs": template_kwargs,
    }
    return Conversation(body, options)
