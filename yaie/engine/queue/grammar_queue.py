"""Grammar queue: requests that wait for a compiled grammar, outside the scheduler.

Used by the engine core.
"""

from __future__ import annotations

from yaie.base.errors import YaieError
from yaie.base.types import Grammar
from yaie.engine.grammar.compile_pool import Compilation, CompilePool
from yaie.engine.grammar.compiler import GrammarCompiler
from yaie.engine.grammar.matcher import GrammarState
from yaie.engine.request import Request

_POLL_S = 0.005  # sleep of an idle engine: also the delay of a message to it


class PendingGrammar:
    """A waiting request, and the sequences that were aborted meanwhile."""

    __slots__ = ("aborted", "compilation", "error", "param", "request")

    def __init__(self, request: Request, compilation: Compilation, param: str) -> None:
        self.request = request
        self.compilation = compilation
        self.param = param
        self.aborted: set[int] = set()
        self.error: YaieError | None = None  # instead of a grammar or of room


class GrammarQueue:
    """One engine core's requests without a compiled grammar."""

    def __init__(self, compiler: GrammarCompiler, threads: CompilePool | None = None) -> None:
        self._compiler = compiler
        self._threads = threads or CompilePool(compiler.compile, compiler.prepare)
        self._entries: dict[str, PendingGrammar] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._entries

    def requests(self) -> list[Request]:
        """Return the waiting requests."""
        return [entry.request for entry in self._entries.values()]

    def check(self, grammar: Grammar) -> None:
        """Compile a grammar and wait for it, on any thread.

        Raises `InvalidRequest` or `Overloaded`.
        """
        if self._compiler.find_cached(grammar) is not None:
            return
        compilation = self._threads.start(grammar)
        while (outcome := self._threads.outcome(compilation, grammar.param)) is None:
            self._threads.wait(_POLL_S)
        if isinstance(outcome, YaieError):
            raise outcome

    def add(self, request: Request, grammar: Grammar) -> bool:
        """Set a request's grammar; False if it waits here until `ready` returns it.

        Raises `Overloaded` if too many grammars are being compiled.
        """
        state = self._compiler.find_cached(grammar)
        if state is not None:
            _give(request, state)
            return True
        compilation = self._threads.start(grammar)
        self._entries[request.request_id] = PendingGrammar(request, compilation, grammar.param)
        return False

    def wait_for_mask(self) -> None:
        """Wait until a mask arrives that is computed outside the step, or for 5 ms."""
        self._compiler.worker.wait(_POLL_S)

    def close(self) -> None:
        """End the grammar process."""
        self._compiler.worker.close()

    def abort(self, request_id: str, index: int | None) -> Request | None:
        """Return and forget an aborted request; for a single sequence only note the end."""
        entry = self._entries.get(request_id)
        if entry is None:
            return None
        if index is not None:
            entry.aborted.add(index)
            if len(entry.aborted) < len(entry.request.sequences):
                return None
        del self._entries[request_id]
        return entry.request

    def ready(self, *, may_wait: bool) -> list[PendingGrammar]:
        """Return and forget the requests whose grammar is compiled or has failed.

        With `may_wait` it sleeps for 5 ms before an empty result.
        """
        if not self._entries:
            return []
        found = self._find_ended()
        if not found and may_wait:
            self._threads.wait(_POLL_S)
            found = self._find_ended()
        for entry in found:
            del self._entries[entry.request.request_id]
        return found

    def _find_ended(self) -> list[PendingGrammar]:
        ended = []
        for entry in self._entries.values():
            outcome = self._threads.outcome(entry.compilation, entry.param)
            if outcome is None:
                continue
            if isinstance(outcome, YaieError):
                entry.error = outcome
            else:
                _give(entry.request, outcome)
            ended.append(entry)
        return ended


def _give(request: Request, state: GrammarState) -> None:
    """Give each sequence a separate state."""
    for sequence in request.sequences:
        sequence.sampling.take_grammar(state if sequence.index == 0 else state.copy())
