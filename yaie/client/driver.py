"""`StepDriver`: the engine stepped by the threads that wait for it, without an event loop.

Used by `LLM`. A thread that waits for deltas and finds nobody stepping steps the core itself, for
all; the others sleep until a step is done. So one thread at a time touches the core, no request
advances while nobody waits, and a run with one caller is repeated exactly.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from types import FrameType

from yaie.engine.loop import Core, EngineLoop
from yaie.errors import EngineDied, EngineUnavailable, InvariantViolated
from yaie.stats import EngineStats
from yaie.types import GenerationRequest, TokenDelta


class Inbox:
    """Deltas for one caller that it has not taken yet."""

    def __init__(self) -> None:
        self.deltas: deque[TokenDelta] = deque()
        # Which sequences of which requests the engine still works on.
        self.unfinished: dict[str, set[int]] = {}

    def put(self, delta: TokenDelta) -> None:
        """Keep a delta; a request is forgotten with the end of its last sequence."""
        self.deltas.append(delta)
        indexes = self.unfinished.get(delta.request_id)
        if delta.finish_reason is None or indexes is None:  # None: released in this moment
            return
        indexes.discard(delta.index)
        if not indexes or delta.finish_reason == "error":  # an error ends the whole request
            del self.unfinished[delta.request_id]


class StepDriver:
    """Shares one core between the threads of this process."""

    def __init__(self, core: Core) -> None:
        self._loop: EngineLoop | None = EngineLoop(core)
        self._changed = threading.Condition()
        self._stepper: int | None = None  # the thread that steps
        self._close_after_step: EngineLoop | None = None
        self._inboxes: dict[str, Inbox] = {}
        # What callers ask of the core, in order; done by whoever steps next.
        self._commands: deque[GenerationRequest | tuple[str, int | None]] = deque()
        self._failure = ""
        self._stats = core.stats

    @property
    def stats(self) -> EngineStats:
        """Statistics after the latest step."""
        return self._stats

    def submit(self, inbox: Inbox, requests: Sequence[GenerationRequest]) -> None:
        """Give requests to the core, all of them before its next step.

        Raises `EngineUnavailable` once closed, `EngineDied` once a step has failed.
        """
        with interrupts_held_back(), self._changed:
            self._require_open()
            for request in requests:
                self._inboxes[request.request_id] = inbox
                inbox.unfinished[request.request_id] = set(range(request.sampling.n))
            self._commands.extend(requests)

    def abort(self, request_id: str, index: int | None = None) -> None:
        """End a request or one of its sequences before the next step."""
        self._commands.append((request_id, index))

    def take(self, inbox: Inbox) -> list[TokenDelta]:
        """Wait for deltas of `inbox`; steps the core where nobody else does.

        Empty where all its requests are finished. Raises `EngineUnavailable` once closed,
        `EngineDied` where a step failed, now or earlier.
        """
        with interrupts_held_back() as held:
            while not held.interrupted:
                with self._changed:
                    while self._must_wait(inbox) and not held.interrupted:
                        self._changed.wait()
                    if inbox.deltas or not inbox.unfinished:
                        taken = list(inbox.deltas)
                        inbox.deltas.clear()
                        return taken
                    if held.interrupted:
                        break
                    self._stepper = threading.get_ident()
                self._step()
        return []

    def _must_wait(self, inbox: Inbox) -> bool:
        """Whether another thread's step is to be waited for; not where all has been said."""
        return not inbox.deltas and bool(inbox.unfinished) and self._stepper is not None

    def release(self, inbox: Inbox) -> None:
        """End, within one step, what still runs of the inbox's requests.

        Does nothing where all are finished, and raises nothing of the engine's, so that it can
        clean up after any error.
        """
        with interrupts_held_back():
            with self._changed:
                for request_id in inbox.unfinished:
                    self._inboxes.pop(request_id, None)
                    self._commands.append((request_id, None))
                if not inbox.unfinished:
                    return
                inbox.unfinished = {}
                if self._stepper is not None or self._loop is None or self._failure:
                    return
                if not self._commands:  # somebody's step has seen to it
                    return
                self._stepper = threading.get_ident()
            with contextlib.suppress(EngineUnavailable):  # the next caller is told
                self._step()

    def wait_until_saved(self, timeout_s: float | None) -> bool:
        """See `LLM.wait_until_saved`."""
        loop = self._loop
        return loop is None or loop.core.wait_until_saved(timeout_s)

    def close(self) -> None:
        """Wait for a step in progress, then close the core; callers that wait get an error.

        The thread that steps, which comes here in a signal's handler, cannot wait for itself: the
        core is closed at the end of its step, after this has returned.
        """
        with self._changed:
            loop, self._loop = self._loop, None  # nobody begins another step
            if self._stepper == threading.get_ident():
                self._close_after_step = loop or self._close_after_step
                return
            while self._stepper is not None:
                self._changed.wait()
            self._forget_callers()
        if loop is not None:
            loop.core.close()

    def _forget_callers(self) -> None:
        self._inboxes.clear()
        self._commands.clear()
        self._changed.notify_all()

    def _require_open(self) -> EngineLoop:
        loop = self._loop  # read once: a signal's handler may close the driver at any time
        if loop is None:
            raise EngineUnavailable("this LLM is closed; make a new one to go on")
        if self._failure:
            raise self._died()
        return loop

    def _died(self) -> EngineDied:
        return EngineDied(f"{self._failure}; this LLM cannot go on, make a new one")

    def _step(self) -> None:
        """One step by this thread, which has set `_stepper`, for somebody who waits."""
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
                self._stepper = None
                self._route(deltas)
                closing, self._close_after_step = self._close_after_step, None
                if closing is not None:
                    self._forget_callers()
                self._changed.notify_all()
            if closing is not None:
                closing.core.close()

    def _compute(self, loop: EngineLoop, deltas: list[TokenDelta]) -> None:
        try:
            while self._commands:
                command = self._commands.popleft()
                if isinstance(command, GenerationRequest):
                    loop.submit(command)
                else:
                    loop.abort(*command)
            deltas += loop.step()
            self._stats = loop.core.stats
        except BaseException as error:
            self._failure = f"a step of the engine failed: {type(error).__name__}: {error}"
            if not isinstance(error, Exception):
                raise
            raise self._died() from error

    def _route(self, deltas: list[TokenDelta]) -> None:
        for delta in deltas:
            inbox = self._inboxes.get(delta.request_id)
            if inbox is None:
                continue
            inbox.put(delta)
            if delta.request_id not in inbox.unfinished:
                self._inboxes.pop(delta.request_id, None)


class HeldInterrupts:
    """Whether a Ctrl-C waits to be raised."""

    interrupted = False

    def hold(self, signum: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self.interrupted = True


@contextlib.contextmanager
def interrupts_held_back() -> Iterator[HeldInterrupts]:
    """Let a Ctrl-C inside raise `KeyboardInterrupt` at the end, so that no step is cut in two.

    Does nothing outside the main thread, where none arrives, inside another such block, and
    where the program handles interrupts in its own way.
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
