"""Turns of a chat, and the beginnings of their next prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from yaie.base.types import ExpectedPrompt, GenerationRequest
from yaie.text.next_turn import Message, answer_message, common_length, known_prompts
from yaie.text.output_parts import Part


def as_chat(parts: Sequence[Part]) -> list[Message]:
    """Return an answer as a client of chat completions sends it back."""
    return [answer_message(parts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTurn:
    """Everything that the next turn of a chat will repeat, and the form of the answer in it."""

    messages: list[Message]
    render: Callable[[list[Message]], list[int]]  # token ids of a conversation
    sent_back: Callable[[Sequence[Part]], list[Message]] = as_chat
    names_results: bool = False  # of tools, by their names


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has ended, with the parts and the tokens of its answer."""

    turn: NextTurn
    request: GenerationRequest
    parts: Sequence[Part]
    token_ids: Sequence[int]

    def prompts(self) -> list[ExpectedPrompt]:
        """Return the beginnings of the next prompt. Raises what the rendering raises.

        The last one replaces the generated tokens of which none of them has any use.
        """
        turn, request = self.turn, self.request
        found = known_prompts(
            turn.messages,
            turn.sent_back(self.parts),
            turn.render,
            names_results=turn.names_results,
        )
        prompts = [
            ExpectedPrompt(token_ids=tuple(ids), owner=request.owner, cache_salt=request.cache_salt)
            for ids in found
        ]
        if prompts:
            generated = (*request.prompt_token_ids, *self.token_ids)
            num_kept = max(common_length(generated, ids) for ids in found)
            if num_kept < len(generated):
                prompts[-1] = replace(prompts[-1], replaces=generated, num_kept=num_kept)
        return prompts
