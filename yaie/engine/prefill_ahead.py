"""Prefill ahead: computes the beginnings of later prompts while the engine is idle.

A chat's next turn sends the conversation as its template renders it. The rendering can differ from
the generated tokens: without the reasoning, with an end marker, in other tokens for the same text.
Used by `EngineCore`, on its thread.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Hashable
from typing import NamedTuple

import torch

from yaie.attention.plan import RowSelection, plan_step
from yaie.base.stats import EngineStats
from yaie.base.types import ExpectedPrompt
from yaie.engine.execution.executor import Executor
from yaie.kvcache.node import Cursor, Tokens, as_tokens
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.slots import OutOfSlots

log = logging.getLogger(__name__)

MAX_WAITING = 64  # prompts; when full, the oldest is dropped
# Longest step to aim at, since a request that arrives meanwhile waits for its end: in seconds, or
# in shortest steps where the model needs longer for a single row.
STEP_S = 0.01
_SHORTEST_STEPS = 3
_EVICTING_SHARE = 16  # a prompt may evict for at most a 16th of the pool


class _Prompt(NamedTuple):
    namespace: Hashable
    tokens: Tokens
    replaces: Tokens
    num_kept: int


class PrefillAhead:
    """Expected prompts, oldest first, and the current prompt's cursor.

    The cursor is closed before anything else is computed; the tokens computed so far stay cached.
    """

    def __init__(
        self, tree: RadixTree, executor: Executor, stats: EngineStats, max_step_rows: int
    ) -> None:
        self._tree = tree
        self._executor = executor
        self._stats = stats
        self._max_step_rows = max_step_rows
        self._waiting: deque[_Prompt] = deque()
        self._cursor: Cursor | None = None  # in the first prompt
        self._rows = 1  # in the next step
        self._shortest_s = math.inf  # the fastest step so far

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, namespace: Hashable, prompt: ExpectedPrompt) -> None:
        """Queue a valid prompt; drop the oldest one if too many wait."""
        if len(self._waiting) == MAX_WAITING:
            self._drop()
        tokens, replaces = as_tokens(prompt.token_ids), as_tokens(prompt.replaces)
        self._waiting.append(_Prompt(namespace, tokens, replaces, prompt.num_kept))

    def namespaces(self) -> list[Hashable]:
        """Return the namespaces of the waiting prompts."""
        return [prompt.namespace for prompt in self._waiting]

    def pause(self) -> None:
        """Release the current prompt's slots for other work."""
        if self._cursor is not None:
            self._tree.close(self._cursor)
            self._cursor = None

    def advance(self) -> bool:
        """Compute some tokens in the first prompt; False without a prompt."""
        if not self._waiting:
            return False
        try:
            if self._cursor is None:
                self._cursor = self._open(self._waiting[0])
            if self._cursor is None or self._step(self._cursor):
                self.pause()
                self._finish(self._waiting.popleft())
        except OutOfSlots:  # or other tokens are worth more than these
            self._drop()
        except Exception:  # a request with the same rows may still succeed
            log.exception("an expected prompt could not be computed")
            self._rows = max(1, self._rows // 2)
            self._drop()
        return True

    def _open(self, prompt: _Prompt) -> Cursor | None:
        """Return a cursor at a prompt's end; None if the whole prompt is cached.

        Raises `OutOfSlots` if the pool has too few for it.
        """
        tree = self._tree
        match = tree.match(prompt.namespace, prompt.tokens)
        if match.num_computed == len(prompt.tokens):
            return None
        missing = len(prompt.tokens) - match.num_known
        if missing > max(tree.num_free, tree.num_slots // _EVICTING_SHARE):
            raise OutOfSlots(missing, tree.num_free)
        return tree.open(prompt.namespace, prompt.tokens, match, is_use=False)

    def _finish(self, prompt: _Prompt) -> None:
        """Release the tokens that a computed prompt replaces."""
        if len(prompt.replaces):
            self._tree.abandon(prompt.namespace, prompt.replaces, prompt.num_kept)

    def _step(self, cursor: Cursor) -> bool:
        """Compute the path's next tokens; True if they were the last."""
        began = time.perf_counter()
        selection = RowSelection(self._rows)
        is_last = selection.add_uncomputed(cursor)
        self._executor.execute(plan_step(selection).plan)
        device = self._executor.loaded.device
        if device.type == "cuda":  # one step at a time: a request waits for the end of one
            torch.cuda.synchronize(device)
        for node, rows in selection.entries.items():
            self._tree.mark_computed(node, rows.computed_to)
        self._tree.advance(selection.num_rows)
        self._stats.num_idle_steps += 1
        self._stats.idle_rows_computed += selection.num_rows
        self._adapt(selection.num_rows, time.perf_counter() - began)
        return is_last

    def _adapt(self, num_rows: int, seconds: float) -> None:
        """Choose the number of rows for the next step by the last step's time."""
        self._shortest_s = min(self._shortest_s, seconds)
        longest_s = max(STEP_S, _SHORTEST_STEPS * self._shortest_s)
        if seconds > longest_s:
            self._rows = max(1, num_rows // 2)
        elif num_rows == self._rows and seconds < longest_s / 2:
            self._rows = min(2 * num_rows, self._max_step_rows)

    def _drop(self) -> None:
        self.pause()
        self._waiting.popleft()
        self._stats.num_dropped_prompts += 1
