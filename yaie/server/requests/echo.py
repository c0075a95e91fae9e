"""vLLM's `echo` of chats: the last message in front of an answer that has its role."""

from __future__ import annotations

from yaie.server.schemas.chat import ChatBody
from yaie.text.contents import content_text


def echoed(body: ChatBody) -> tuple[str, ...]:
    """Return the text to put before each answer; empty without one.

    The messages have been rendered, so their form is known to be right.
    """
    if not body.echo:
        return ()
    last = body.messages[-1]
    is_continued = body.continue_final_message or body.add_generation_prompt is False
    if not is_continued and last["role"] != "assistant":
        return ()
    content = last.get("content")
    return () if content is None else (content_text(content, "messages"),)
