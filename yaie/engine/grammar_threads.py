"""Threads that compile grammars beside the engine thread, with a time limit for each grammar.

Requests with the same grammar share one compilation. A grammar beyond the limit fails for its
callers while its thread finishes; its result is then cached all the same.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from yaie.engine.grammar import GrammarState
from yaie.errors import InvalidRequest, Overloaded, RequestFailed, YaieError
from yaie.types import Grammar

LIMIT_S = 2.0
MAX_PENDING = 256  # compilations that wait or run
_MAX_THREADS = 2  # besides those beyond the limit
_MAX_OVERDUE = 4

Compile = Callable[[Grammar], GrammarState]


class Compilation:
    """One grammar on its way, and its result once there is one."""

    __slots__ = ("grammar", "result", "started_at")

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.started_at: float | None = None
        self.result: GrammarState | YaieError | None = None


class GrammarThreads:
    """At most a few daemon threads; they end when there is nothing to compile."""

    def __init__(self, compile_: Compile, clock: Callable[[], float] = time.monotonic) -> None:
        self._compile = compile_
        self._clock = clock
        self._changed = threading.Condition()
        self._queue: deque[Compilation] = deque()
        self._pending: dict[tuple[str, str], Compilation] = {}
        self._num_threads = 0

    def start(self, grammar: Grammar) -> Compilation:
        """Begin to compile a grammar, unless its like is being compiled.

        Raises `Overloaded` if too many are pending.
        """
        key = (grammar.kind, grammar.source)
        with self._changed:
            found = self._pending.get(key)
            if found is not None:
                return found
            if len(self._pending) >= MAX_PENDING:
                raise Overloaded(f"{len(self._pending)} grammars are being compiled; retry later")
            made = self._pending[key] = Compilation(grammar)
            self._queue.append(made)
            self._add_thread()
            return made

    def outcome(self, compilation: Compilation, param: str) -> GrammarState | YaieError | None:
        """Return a new state, or an error for the field `param`; None while it is compiled."""
        with self._changed:
            result = compilation.result
            if isinstance(result, GrammarState):
                return result.copy(param=param)
            if result is not None:
                return _for_field(result, param)
            started_at = compilation.started_at
            if started_at is None or self._clock() - started_at < LIMIT_S:
                return None
            self._add_thread()  # another one goes on with the others
        return InvalidRequest(
            f"{param} takes more than {LIMIT_S:g} s to compile; simplify it", param=param
        )

    def wait(self, timeout_s: float) -> None:
        """Wait until a compilation ends, or for `timeout_s`."""
        with self._changed:
            self._changed.wait(timeout_s)

    def _add_thread(self) -> None:
        """Start a thread for the queue, if there is room; the lock is held."""
        now = self._clock()
        num_overdue = sum(
            each.started_at is not None and now - each.started_at >= LIMIT_S
            for each in self._pending.values()
        )
        room = _MAX_THREADS + min(num_overdue, _MAX_OVERDUE)
        if self._queue and self._num_threads < room:
            self._num_threads += 1
            threading.Thread(target=self._run, name="yaie-grammar", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._queue:
                    self._num_threads -= 1
                    return
                compilation = self._queue.popleft()
                compilation.started_at = self._clock()
            result: GrammarState | YaieError
            try:
                result = self._compile(compilation.grammar)
            except YaieError as error:
                result = error
            except BaseException as error:  # a panic of the library is no Exception
                result = RequestFailed(
                    f"compiling the grammar failed: {type(error).__name__}: {error}"
                )
            with self._changed:
                compilation.result = result
                del self._pending[compilation.grammar.kind, compilation.grammar.source]
                self._changed.notify_all()


def _for_field(error: YaieError, param: str) -> YaieError:
    """Return the error in the words of another request with the same grammar."""
    if error.param is None or error.param == param:
        return error
    message = error.message.removeprefix(error.param)
    return type(error)(param + message, param=param, code=error.code)
