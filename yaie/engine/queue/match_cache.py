"""Match cache: prefix look-ups of waiting prompts, valid until the tree changes.

Pure; used by the scheduler.
"""

from __future__ import annotations

from yaie.engine.request import Request
from yaie.kvcache.match import Match
from yaie.kvcache.radix_tree import RadixTree


class MatchCache:
    """Each waiting request's match, for one tree version."""

    def __init__(self, tree: RadixTree) -> None:
        self._tree = tree
        self._version = tree.version
        self._matches: dict[Request, Match] = {}

    def find(self, request: Request) -> Match:
        """Return the prompt's longest cached prefix."""
        if self._version != self._tree.version:
            self._matches.clear()
            self._version = self._tree.version
        match = self._matches.get(request)
        if match is None:
            match = self._tree.match(request.namespace, request.prompt)
            self._matches[request] = match
        return match

    def count_uncached(self, request: Request) -> int:
        """Count the prompt tokens that need a row."""
        if _needs_every_row(request):
            return len(request.prompt)
        return len(request.prompt) - self.find(request).num_resumable

    @staticmethod
    def count_new(request: Request, match: Match) -> int:
        """Count the rows that a prompt adds: known tokens have theirs already."""
        if _needs_every_row(request):
            return len(request.prompt)
        return len(request.prompt) - match.num_known

    def forget(self, request: Request) -> None:
        """Drop the look-up for a request that left the queue."""
        self._matches.pop(request, None)


def _needs_every_row(request: Request) -> bool:
    """Return True if cached tokens need a row too: for log-probabilities, or in a mean."""
    return bool(request.num_missing_prompt_logprobs) or request.pooling == "mean"
