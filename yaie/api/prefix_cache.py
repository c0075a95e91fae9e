"""`PrefixCache`: the cache of an `LLM`, in numbers and prompt by prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from yaie.api.prompt_kinds import Message, Prompt
from yaie.api.request_maker import RequestMaker
from yaie.base.errors import InvalidRequest
from yaie.base.queries import (
    Answer,
    CacheDescription,
    DescribeCache,
    ExplainPrompt,
    Explanation,
    FlushCache,
    Flushed,
    Query,
)

_NUM_SHOWN = 24  # tokens of a text


class PrefixCache:
    """Keys and values that later requests find again. Answers come between two steps."""

    def __init__(self, ask: Callable[[Query], Answer], maker: RequestMaker) -> None:
        self._ask = ask
        self._maker = maker

    def stats(self) -> dict[str, Any]:
        """Return counts of tokens, nodes and namespaces, with the keys of `/v1/cache/stats`."""
        found = self._ask(DescribeCache())
        assert isinstance(found, CacheDescription)
        return msgspec.structs.asdict(found)

    def explain(
        self, prompt: Prompt | Sequence[Message], *, cache_salt: str = ""
    ) -> dict[str, Any]:
        """Return how much of a prompt or conversation is cached, and why the rest is not.

        The keys are the ones of `/v1/cache/explain`: `prompt_tokens`, `cached_tokens`, the `cause`,
        and the `divergence` with the position and text where the prompt leaves the cache and the
        texts `held` there; null for a fully cached prompt. Raises `InvalidRequest`.
        """
        tokens = self._maker.read_either(prompt)[0].token_ids
        if not tokens:
            raise InvalidRequest("the prompt is empty; it needs at least one token", param="prompt")
        query = ExplainPrompt(token_ids=tokens, cache_salt=cache_salt, num_shown=_NUM_SHOWN)
        found = self._ask(query)
        assert isinstance(found, Explanation)
        decode, at = self._maker.tokenizer.decode, min(found.num_held, len(tokens) - 1)
        divergence = {
            "position": at,
            "text": decode(tokens[at : at + _NUM_SHOWN], False),
            "held": [
                {"text": decode(each.token_ids, False), "tokens": each.num_tokens}
                for each in found.held
                if found.num_known == at
            ],
        }
        return {
            "prompt_tokens": found.num_tokens,
            "cached_tokens": at,
            "cause": found.cause,
            "divergence": None if found.cause is None else divergence,
        }

    def clear(self) -> int:
        """Evict every token that no running request needs; return their number."""
        found = self._ask(FlushCache())
        assert isinstance(found, Flushed)
        return found.num_evicted_tokens
