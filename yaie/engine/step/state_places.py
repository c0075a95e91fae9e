"""State places: the positions of a prompt and of an answer at which states are left. Pure.

Later prompts resume there, so a place is where they may part: at the tree's branches, at borders of
messages, at the end of a prompt. Regular intervals bound the loss where they part elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yaie.kvcache.node import Node, Tokens
from yaie.kvcache.node_states import STATE_INTERVAL

LEAST_GAIN = 16  # tokens that a state saves a later prompt
_LAST_BORDERS = 3  # before the prompt's end that have states, besides the first one


def find_borders(prompt: Tokens, turn_ends: Sequence[int]) -> tuple[int, ...]:
    """Return the borders of messages that get a state, ascending.

    A border is the position after a token that ends a turn. The first is the system prompt's end; a
    client may replace the messages after the last ones. Of borders that are near each other the
    first has a state, and at the prompt's end the last.
    """
    found = (np.flatnonzero(np.isin(prompt[:-1], turn_ends)) + 1).tolist()
    apart = found[:1]
    for border in found:
        if border - apart[-1] >= LEAST_GAIN:
            apart.append(border)
    if len(apart) > 1:
        apart[-1] = found[-1]
    return tuple(sorted({*apart[:1], *apart[-_LAST_BORDERS:]}))


def find_places(
    path: Sequence[Node],
    first: int,
    end: int,
    *,
    above: int,
    num_prompt: int,
    borders: Sequence[int],
) -> tuple[set[int], set[int]]:
    """Return the positions in (first, end] at which states are left, and those at intervals alone.

    `path` is a sequence's, whose prompt has `num_prompt` tokens. There is a checkpoint at `above`,
    at `first` or before, if it is not 0; it is among the first positions if it serves a branch or a
    border.
    """
    places: set[int] = set()
    before = above
    is_wanted = any(0 <= border - before < LEAST_GAIN for border in borders)
    for node in path:
        if node.end >= end + LEAST_GAIN:
            break
        if node.end >= before and node.children and len(node.children) > 1:
            if node.end - above >= LEAST_GAIN:
                places.add(above := node.end)
            else:
                is_wanted |= above == before
    # The state at a branch serves what follows a border within some tokens, and the state at a
    # border serves a prompt that ends there.
    places |= {
        border
        for border in borders
        if border - before >= LEAST_GAIN
        and not any(0 <= branch - border < LEAST_GAIN for branch in places)
    }
    if not any(0 <= num_prompt - 1 - border < LEAST_GAIN for border in borders):
        places.add(num_prompt - 1)
    spaced = set(range(first // STATE_INTERVAL * STATE_INTERVAL, end + 1, STATE_INTERVAL))
    return (
        {place for place in places if first < place <= end}
        | ({before} if is_wanted and before else set()),
        {place for place in spaced - places if first < place <= end},
    )
