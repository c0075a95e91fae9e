"""Compile pool: threads that compile grammars in parallel with the engine, each with a time limit.

The limit is in processor seconds of the thread: other work on the machine does not count, nor does
reading the model's tokenizer before the first grammar. Requests with the same grammar share one
compilation. A grammar over the limit fails for its callers; its thread finishes, and the result is
cached. Plain grammars and those that the grammar process measures first have separate threads, so
that a plain one never waits for another process.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from yaie.base.errors import InvalidRequest, Overloaded, RequestFailed, YaieError
from yaie.base.types import Grammar
from yaie.engine.grammar.matcher import GrammarState
from yaie.engine.grammar.source_limits import is_plain

LIMIT_S = 2.0
LONGEST_S = 20.0  # by the wall clock, for a machine without time for the thread
MAX_PENDING = 256  # compilations that wait or run
_MAX_THREADS = 2  # of each kind, besides those beyond the limit
_MAX_OVERDUE = 4

Stopwatch = Callable[[], float]  # seconds since its start
Compile = Callable[[Grammar], GrammarState]


class Compilation:
    """One grammar on its way, and its result once there is one."""

    __slots__ = ("grammar", "lane", "result", "stopwatch")

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.lane = is_plain(grammar)  # of its thread
        self.stopwatch: Stopwatch | None = None  # once it runs
        self.result: GrammarState | YaieError | None = None

    @property
    def is_overdue(self) -> bool:
        """True if it runs beyond the limit."""
        return self.result is None and self.stopwatch is not None and self.stopwatch() >= LIMIT_S


class CompilePool:
    """At most a few daemon threads; they end with the last grammar to compile."""

    def __init__(
        self,
        compile_: Compile,
        prepare: Callable[[], None],
        start_stopwatch: Callable[[], Stopwatch] | None = None,
    ) -> None:
        """`prepare` runs before each compilation, outside its limit."""
        self._compile = compile_
        self._prepare = prepare
        self._start_stopwatch = start_stopwatch or _start_stopwatch
        self._changed = threading.Condition()
        self._queues: dict[bool, deque[Compilation]] = {True: deque(), False: deque()}
        self._pending: dict[tuple[str, str], Compilation] = {}
        self._num_threads = {True: 0, False: 0}

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
                raise Overloaded(
                    f"{len(self._pending)} grammars are waiting to compile; retry later"
                )
            made = self._pending[key] = Compilation(grammar)
            self._queues[made.lane].append(made)
            self._add_thread(made.lane)
            return made

    def outcome(self, compilation: Compilation, param: str) -> GrammarState | YaieError | None:
        """Return a new state, or an error for the field `param`; None while it is compiled."""
        with self._changed:
            result = compilation.result
            if isinstance(result, GrammarState):
                return result.copy(param=param)
            if result is not None:
                return _for_field(result, param)
            if not compilation.is_overdue:
                return None
            self._add_thread(compilation.lane)  # for the rest of the queue
        return InvalidRequest(
            f"{param} takes more than {LIMIT_S:g} s to compile; simplify it", param=param
        )

    def wait(self, timeout_s: float) -> None:
        """Wait until a compilation ends, or for `timeout_s`."""
        with self._changed:
            self._changed.wait(timeout_s)

    def _add_thread(self, lane: bool) -> None:
        """Start a thread for a queue, if there is room; the caller holds the lock."""
        num_overdue = sum(each.is_overdue for each in self._pending.values() if each.lane is lane)
        room = _MAX_THREADS + min(num_overdue, _MAX_OVERDUE)
        if self._queues[lane] and self._num_threads[lane] < room:
            self._num_threads[lane] += 1
            name = "yaie-grammar"
            threading.Thread(target=self._run, args=(lane,), name=name, daemon=True).start()

    def _run(self, lane: bool) -> None:
        while True:
            self._prepare()
            with self._changed:
                if not self._queues[lane]:
                    self._num_threads[lane] -= 1
                    return
                compilation = self._queues[lane].popleft()
                compilation.stopwatch = self._start_stopwatch()
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


def _start_stopwatch() -> Stopwatch:
    """Start one for this thread; any thread may read it while this one lives."""
    began_at = time.monotonic()
    if not hasattr(time, "pthread_getcpuclockid"):
        return lambda: time.monotonic() - began_at
    clock = time.pthread_getcpuclockid(threading.get_ident())
    began = time.clock_gettime(clock)

    def read() -> float:
        share = (time.monotonic() - began_at) / LONGEST_S
        return max(time.clock_gettime(clock) - began, share * LIMIT_S)

    return read


def _for_field(error: YaieError, param: str) -> YaieError:
    """Return the error, reworded for another request with the same grammar."""
    if error.param is None or error.param == param:
        return error
    message = error.message.removeprefix(error.param)
    return type(error)(param + message, param=param, code=error.code)
