"""`LocalClient`: the engine in this process, stepped by the waiting threads.

Used by `LLM`. One waiting thread steps the core for all; the other threads sleep until that step is
done. So one thread at a time touches the core, requests advance only while a caller waits, and a
run with one caller is repeatable.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType

from yaie.base.errors import EngineDied, EngineUnavailable, InvariantViolated
from yaie.base.queries import Answer, Query
from yaie.base.stats import EngineStats
from yaie.base.types import GenerationRequest, Grammar, TokenDelta
from yaie.client.engine_client import log_sink_error
from yaie.client.submission import Sink, Submission, Submissions
from yaie.engine.loop import Core, EngineLoop


class LocalClient:
    """One core, shared by the threads of this process."""

    def __init__(self, core: Core) -> None:
        self._loop: EngineLoop | None = EngineLoop(core)
        self._changed = threading.Condition()
        self._stepper: int | None = None  # the stepping thread
        self._close_after_step: EngineLoop | None = None
        self._submissions = Submissions(log_sink_error)
        # Commands for the loop, in order; obeyed by the next step.
        self._commands: deque[Callable[[EngineLoop], None]] = deque()
        self._failure = ""
        self._stats = core.stats
        self._has_new_stats = False  # the core's, since they were copied

    @property
    def stats(self) -> EngineStats:
        """Statistics after the latest step; during a step at most 100 ms older."""
        with self._changed:
            if self._stepper is None:
                self._copy_stats(self._loop)
            return self._stats

    def _copy_stats(self, loop: EngineLoop | None) -> None:
        if self._has_new_stats and loop is not None and not self._failure:
            self._stats = loop.core.stats
            self._has_new_stats = False

    @property
    def core(self) -> Core:
        """The core, for what it describes. Raises `EngineUnavailable` once closed."""
        return self._require_open().core

    def prepare(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Make the handle for a request, to be sent by `send`.

        `sink` receives its deltas in the stepping thread, under the client's lock.
        """
        return Submission(self._submissions.number(request), sink, self._abort)

    def check_grammar(self, grammar: Grammar) -> None:
        """Compile a grammar in a thread, and wait for it.

        Raises `InvalidRequest` if it cannot be used, `EngineUnavailable` once closed.
        """
        with self._changed:
            core = self._require_open().core
        core.check_grammar(grammar)

    def send(self, submissions: Sequence[Submission]) -> None:
        """Give requests to the engine, all of them before its next step.

        Raises `EngineUnavailable` once closed, `EngineDied` once a step has failed.
        """
        with interrupts_held_back(), self._changed:
            self._require_open()
            for submission in submissions:
                self._submissions.add(submission)
            self._commands.extend(
                partial(EngineLoop.submit, request=submission.request) for submission in submissions
            )

    def ask(self, query: Query) -> Answer:
        """Ask the engine, and wait for the answer, which it gives between two steps.

        Raises `InvalidRequest` for a wrong query, else as `wait_until`.
        """
        answers: list[Answer | Exception] = []

        def put(loop: EngineLoop) -> None:
            try:
                answers.append(loop.core.answer(query))
            except Exception as error:  # fails this query only
                answers.append(error)

        with interrupts_held_back(), self._changed:
            self._require_open()
            self._commands.append(put)
        self.wait_until(lambda: answers)
        (answer,) = answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _abort(self, submission: Submission, index: int | None) -> None:
        if index is None:
            self.close_submissions([submission])
        else:
            self._command_abort(submission, index)

    def _command_abort(self, submission: Submission, index: int | None) -> None:
        request_id = submission.request.request_id
        self._commands.append(partial(EngineLoop.abort, request_id=request_id, index=index))

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds()`; step the engine unless another thread does.

        Raises `EngineUnavailable` once closed, `EngineDied` if a step failed, now or earlier.
        """
        with interrupts_held_back() as held:
            while not held.interrupted:
                with self._changed:
                    while not holds() and self._stepper is not None and not held.interrupted:
                        self._changed.wait()
                    if held.interrupted or holds():
                        return
                    self._stepper = threading.get_ident()
                self._step()

    def close_submissions(self, submissions: Sequence[Submission]) -> None:
        """End the open ones within one step; their sinks receive no further delta.

        Steps only if one is open. Engine errors are left to the next caller, so that this can clean
        up after any error.
        """
        with interrupts_held_back():
            with self._changed:
                running = [each for each in submissions if self._submissions.remove(each)]
                for submission in running:
                    submission.end()
                    self._command_abort(submission, None)
                if not running or self._loop is None or self._failure:
                    return
                if self._stepper is not None:  # its next step obeys the commands
                    return
                self._stepper = threading.get_ident()
            with contextlib.suppress(EngineUnavailable):  # the next caller gets the error
                self._step()

    def abandon(self, submissions: Sequence[Submission]) -> None:
        """End the open ones as `close_submissions` does, but leave the step to another thread."""
        with self._changed:
            for submission in submissions:
                if self._submissions.remove(submission):
                    submission.end()
                    self._command_abort(submission, None)

    @property
    def has_commands(self) -> bool:
        """True if the next step has commands to obey."""
        return bool(self._commands)

    def wait_until_saved(self, timeout_s: float | None) -> bool:
        """Wait for packed weights that are being written to disk; return False on timeout."""
        loop = self._loop
        return loop is None or loop.core.wait_until_saved(timeout_s)

    def close(self) -> None:
        """Wait for a step in progress, then close the core; callers that wait get an error.

        The stepping thread itself can come here, in a signal handler. It cannot wait for itself:
        the core is then closed at the end of its step, after this has returned.
        """
        with self._changed:
            loop, self._loop = self._loop, None  # prevents another step
            if self._stepper == threading.get_ident():
                self._close_after_step = loop or self._close_after_step
                return
            while self._stepper is not None:
                self._changed.wait()
            self._copy_stats(loop)
            self._forget_callers()
        if loop is not None:
            loop.core.close()

    def _forget_callers(self) -> None:
        self._submissions = Submissions(log_sink_error)
        self._commands.clear()
        self._changed.notify_all()

    def _require_open(self) -> EngineLoop:
        loop = self._loop  # read once: a signal handler may close the client at any time
        if loop is None:
            raise EngineUnavailable("this LLM is closed; create a new LLM")
        if self._failure:
            raise self._describe_death()
        return loop

    def _describe_death(self) -> EngineDied:
        return EngineDied(f"{self._failure}; this LLM is unusable, create a new LLM")

    def _step(self) -> None:
        """Compute one step in this thread, after setting `_stepper`."""
        deltas: list[TokenDelta] = []
        try:
            loop = self._require_open()
            if not self._commands and not loop.has_work:
                raise InvariantViolated(
                    "the engine has nothing to do, but requests are not answered"
                )
            self._compute(loop, deltas)
        finally:
            with self._changed:
                try:
                    self._submissions.deliver(deltas)
                finally:  # after the delivery: closing a submission in it must not step
                    self._stepper = None
                closing, self._close_after_step = self._close_after_step, None
                if closing is not None:
                    self._copy_stats(closing)
                    self._forget_callers()
                self._changed.notify_all()
            if closing is not None:
                closing.core.close()

    def _compute(self, loop: EngineLoop, deltas: list[TokenDelta]) -> None:
        try:
            while self._commands:
                self._commands.popleft()(loop)
            deltas += loop.step()
            stats = loop.take_stats(time.monotonic())
            self._has_new_stats = stats is None
            loop.core.take_cache_changes()  # only a server publishes them
            self._stats = stats or self._stats
        except BaseException as error:
            self._failure = f"a step of the engine failed: {type(error).__name__}: {error}"
            if not isinstance(error, Exception):
                raise
            raise self._describe_death() from error


class HeldInterrupts:
    """Record of a Ctrl-C within a block."""

    interrupted = False

    def hold(self, signum: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        self.interrupted = True


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[HeldInterrupts]:
    """Delay the `KeyboardInterrupt` of a Ctrl-C to the end of the block, to keep steps whole.

    Has no effect outside the main thread, which alone receives a Ctrl-C, inside another such block,
    and in a program with a custom interrupt handler.
    """
    held = HeldInterrupts()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield held
        return
    signal.signal(signal.SIGINT, held.hold)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if held.interrupted:
            raise KeyboardInterrupt
