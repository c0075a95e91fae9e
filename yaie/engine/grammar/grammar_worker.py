"""Grammar worker: the engine's side of the grammar process, started by the first costly grammar.

Compile threads let it measure a grammar and wait. The engine's thread never waits: a
`RemoteMatcher` queues its tokens, and a thread of the worker brings its next mask.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import signal
import socket
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Callable

import msgspec

from yaie.base.errors import EngineUnavailable, RequestFailed, YaieError, first_line
from yaie.engine.grammar.grammar_cost import Spending
from yaie.engine.grammar.grammar_faults import ADVICE, LONGEST_S, describe_fault
from yaie.engine.grammar.grammar_process import (
    GrammarJob,
    Opening,
    Outcome,
    read_frame,
    write_frame,
)
from yaie.engine.grammar.token_table import PackedTokens
from yaie.process.spawn import bare_environment, limit_waits, module_command

COMPILE_S = 1.5  # processor time to compile a grammar and to compute its first mask
MASK_S = 0.5  # the same for one mask
_MODULE = "yaie.engine.grammar.grammar_process"


class GrammarWorker:
    """One grammar process, started when it is needed and again after its end. Thread-safe."""

    def __init__(self, pack_tokens: Callable[[], PackedTokens], budget_bytes: int) -> None:
        """`budget_bytes` bounds the compiled grammars in the process."""
        self._pack_tokens = pack_tokens
        self.budget_bytes = budget_bytes
        self._lock = threading.Lock()  # guards the process and its channels
        self._process: subprocess.Popen[bytes] | None = None
        self._channels: tuple[_Channel, _Channel] | None = None
        self._numbers = itertools.count(1)
        self._queue: queue.SimpleQueue[RemoteMatcher | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._num_pending = 0
        self.closed: deque[int] = deque()  # states of matchers that no longer exist
        weakref.finalize(self, self._queue.put, None).atexit = False

    def measure(self, source: str) -> Outcome:
        """Compile a grammar for its cost alone, and wait. Raises `EngineUnavailable`."""
        job = GrammarJob(0, COMPILE_S, source=source)
        outcome = self._exchange(0, job)
        if outcome.signal == signal.SIGKILL:
            outcome = self._exchange(0, job)
        return _require_process(outcome)

    def follow(self, matcher: RemoteMatcher) -> None:
        """Compute a matcher's next mask; `wait` returns once there is news."""
        with self._changed:
            self._num_pending += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_follow_all, args=(weakref.ref(self), self._queue), daemon=True
                )
                self._thread.name = "yaie-masks"
                self._thread.start()
        self._queue.put(matcher)

    def wait(self, timeout_s: float) -> None:
        """Wait until a mask arrives, if one is being computed, or for `timeout_s`."""
        with self._changed:
            if self._num_pending:
                self._changed.wait(timeout_s)

    def next_state(self) -> int:
        """Return a number for a new state."""
        return next(self._numbers)

    def close(self) -> None:
        """End the process; a later job starts another."""
        self._queue.put(None)
        with self._lock:
            self._stop()

    def advance(self, matcher: RemoteMatcher) -> None:
        """Compute one mask, and give it to the matcher; called by the thread."""
        outcome: Outcome | YaieError
        try:
            outcome = self._compute(matcher)
        except YaieError as error:
            outcome = error
        except Exception as error:
            outcome = RequestFailed(f"the grammar could not be followed: {first_line(error)}")
        with self._changed:
            self._num_pending -= 1
            matcher.take(outcome)
            self._changed.notify_all()

    def _compute(self, matcher: RemoteMatcher) -> Outcome:
        known = matcher.num_known
        outcome = self._exchange(1, self._job_of(matcher, known))
        ended_by = outcome.signal
        if (
            outcome.is_unknown
            or ended_by == signal.SIGKILL
            or (known and ended_by == signal.SIGABRT)
        ):
            # The child is a new one, or other grammars filled it: send the state whole.
            outcome = self._exchange(1, self._job_of(matcher, 0))
        return _require_process(outcome)

    def _job_of(self, matcher: RemoteMatcher, known: int) -> GrammarJob:
        closed = []
        with contextlib.suppress(IndexError):
            while True:
                closed.append(self.closed.popleft())
        tokens = tuple(matcher.tokens)
        matcher.num_sent = len(tokens)
        is_open = matcher.is_open = known > 0
        return GrammarJob(
            0,
            MASK_S if is_open else COMPILE_S,
            source="" if is_open else matcher.source,
            state=matcher.state,
            tokens=tokens[known:],
            num_known=known,
            closed=tuple(closed),
        )

    def _exchange(self, place: int, job: GrammarJob) -> Outcome:
        """Send a job on a channel and wait for its outcome.

        The outcome's signal is SIGKILL if the process has ended, SIGALRM after `LONGEST_S`. Raises
        `EngineUnavailable` if no process starts.
        """
        with self._lock:
            if self._channels is None:
                self._start()
            assert self._channels is not None
            channel = self._channels[place]
        with channel.lock:
            job = msgspec.structs.replace(job, number=channel.next_number())
            try:
                return channel.exchange(job)
            except BlockingIOError:
                ended_by = signal.SIGALRM if channel.has_answered else signal.SIGKILL
            except (OSError, EOFError):
                ended_by = signal.SIGKILL
        with self._lock:
            if self._channels is not None and channel in self._channels:
                self._stop()
        return Outcome(job.number, signal=ended_by)

    def _start(self) -> None:
        opening = Opening(self._pack_tokens(), self.budget_bytes)
        ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
        environment = bare_environment()
        environment["TOKENIZERS_PARALLELISM"] = "false"  # threads do not survive a fork
        try:
            self._process = subprocess.Popen(
                module_command(_MODULE, *(str(each.fileno()) for each in theirs)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[each.fileno() for each in theirs],
                env=environment,
            )
        except OSError as error:
            for each in ours:
                each.close()
            raise EngineUnavailable(
                f"the grammar process cannot be started ({error.strerror}); retry in a moment"
            ) from None
        finally:
            for each in theirs:
                each.close()
        self._channels = (_Channel(ours[0]), _Channel(ours[1]))
        with contextlib.suppress(OSError):
            write_frame(ours[0].fileno(), msgspec.msgpack.encode(opening))

    def _stop(self) -> None:
        """End the process; the caller holds the lock."""
        if self._channels is not None:
            for each in self._channels:
                each.close()
            self._channels = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class _Channel:
    """One socket to a child of the grammar process."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        limit_waits(sock, LONGEST_S)
        self._numbers = itertools.count(1)
        self.lock = threading.Lock()  # guards the socket
        self.has_answered = False
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Outcome)

    def next_number(self) -> int:
        return next(self._numbers)

    def exchange(self, job: GrammarJob) -> Outcome:
        """Return a job's outcome.

        Raises `BlockingIOError` after `LONGEST_S`, `EOFError` and `OSError` if the process is gone.
        """
        write_frame(self._socket.fileno(), self._encoder.encode(job))
        while (frame := read_frame(self._socket.fileno())) is not None:
            outcome = self._decoder.decode(frame)
            self.has_answered = True
            if outcome.number in (job.number, -1):
                return outcome
        raise EOFError

    def close(self) -> None:
        """Close the socket; a thread that waits for an outcome ends its wait first.

        It uses the descriptor's number, which another file could have after the close.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with self.lock:
            self._socket.close()


def _require_process(outcome: Outcome) -> Outcome:
    """Return an outcome. Raises `EngineUnavailable` if the process has ended once more."""
    if outcome.signal == signal.SIGKILL:
        raise EngineUnavailable(
            "the process that checks grammars does not start, or is being killed; retry in a "
            f"moment, or run `python -m {_MODULE} 0` to see why"
        )
    return outcome


def _follow_all(
    owner: weakref.ref[GrammarWorker], waiting: queue.SimpleQueue[RemoteMatcher | None]
) -> None:
    """Compute masks in the order in which they were asked for, while the worker exists."""
    while True:
        matcher = waiting.get()
        worker = owner()
        if worker is None:
            return
        if matcher is not None:
            worker.advance(matcher)
        del worker, matcher


class RemoteMatcher:
    """A matcher in the grammar process, with those methods of llguidance's that states call.

    Its mask is pending after each token; the scheduler lets the sequence wait for it.
    """

    def __init__(
        self,
        worker: GrammarWorker,
        source: str,
        tokens: list[int],
        spending: Spending,
        *,
        first: Outcome | None = None,
    ) -> None:
        """`tokens` have been consumed; `source` is in llguidance's format.

        `first` has the mask after them if it is known.
        """
        self._worker = worker
        self._outcome = first
        self._fault = ""
        self.failure: YaieError | None = None  # none of the grammar's faults
        self._is_queued = False
        self.source = source
        self.tokens = tokens
        self.spending = spending
        self.state = worker.next_state()
        self.num_known = 0  # tokens that the process has consumed
        self.num_sent = 0
        self.is_open = False  # else the next outcome includes a compilation
        weakref.finalize(self, worker.closed.append, self.state).atexit = False

    def deep_copy(self) -> RemoteMatcher:
        """Return an independent matcher at the same position."""
        twin = RemoteMatcher(
            self._worker, self.source, list(self.tokens), self.spending, first=self._outcome
        )
        twin._fault, twin.failure = self._fault, self.failure
        return twin

    @property
    def is_ready(self) -> bool:
        """True if the mask or an error is known; else it is on its way."""
        if self._outcome is None and not self._fault:
            self._request()
            return False
        return True

    def consume_token(self, token_id: int) -> bool:
        """Advance by one token."""
        self.tokens.append(token_id)
        self._outcome = None
        if not self._fault and self.spending.is_over:
            self._fault = (
                f"its last {self.spending.num_masks} tokens took {self.spending.cpu_s:.1f} s of"
                f" processor time to check; {ADVICE}"
            )
        return not self._fault

    def compute_bitmask(self) -> bytes:
        """Return the mask; empty after an error. Call it once `is_ready`."""
        return b"" if self._outcome is None else self._outcome.mask

    def validate_tokens(self, token_ids: list[int]) -> int:
        """Return 1 if the first token may come next, else 0."""
        mask, place = self.compute_bitmask(), token_ids[0]
        return mask[place // 8] >> place % 8 & 1 if place // 8 < len(mask) else 0

    def compute_ff_tokens(self) -> list[int]:
        """Return no forced tokens: each is sampled under its mask."""
        return []

    def is_accepting(self) -> bool:
        """Return True if the text is complete."""
        return self._outcome is not None and self._outcome.is_accepting

    def is_stopped(self) -> bool:
        """Return True once it is known that nothing can follow."""
        return self._outcome is not None and self._outcome.is_stopped

    def is_error(self) -> bool:
        """Return True once the grammar cannot be followed any further."""
        return bool(self._fault)

    def get_error(self) -> str:
        """Return the reason."""
        return self._fault

    def take(self, outcome: Outcome | YaieError) -> None:
        """Set the outcome of a job; called by the thread of the worker."""
        if self.is_open and isinstance(outcome, Outcome):
            self.spending.charge(outcome.cpu_s)
        if isinstance(outcome, YaieError):
            self.failure, self._fault = outcome, outcome.message
        elif fault := describe_fault(outcome, MASK_S, self._worker.budget_bytes):
            self._fault = fault
        else:
            self.num_known = self.num_sent
            if self.num_known == len(self.tokens):
                self._outcome = outcome
        self._is_queued = False  # last: the engine's thread would ask for the same mask again

    def _request(self) -> None:
        if not self._is_queued:
            self._is_queued = True
            self._worker.follow(self)
