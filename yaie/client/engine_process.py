"""`EngineProcess`: one run of the engine process, with its socket and cause of death.

`ProcessClient` creates a new one with a new socket for every start, so messages from an earlier
process cannot reach the current one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable

import msgspec

from yaie.base.settings import EngineConfig
from yaie.client.wire import (
    Deltas,
    Failed,
    PromptPart,
    PromptPartJoiner,
    StartEngine,
    ToChild,
    ToParent,
    encode,
    parent_reader,
)
from yaie.process.heartbeat import Heartbeat
from yaie.process.log_format import LogFormat
from yaie.process.log_writer import forward_lines
from yaie.process.session_work import SessionWork, measure_session_work
from yaie.process.spawn import module_command, module_environment

logger = logging.getLogger(__name__)

WORKER_MODULE = "yaie.client.worker"
FINAL_MESSAGE_S = 0.5  # between the end of a process and of its socket, in either order


class EngineProcess(asyncio.Protocol):
    """A running engine process. Make it with `spawn`, then `await ended()`."""

    def __init__(self, on_message: Callable[[ToParent], None]) -> None:
        self._on_message = on_message
        self._reader = parent_reader()
        self._joiner = PromptPartJoiner()
        self._hung_up = asyncio.Event()
        self._heartbeat = Heartbeat()
        self._is_over = False
        self._process: asyncio.subprocess.Process
        self._log: threading.Thread
        self._transport: asyncio.Transport
        self.failure: Failed | None = None

    @classmethod
    async def spawn(
        cls,
        config: EngineConfig,
        on_message: Callable[[ToParent], None],
        *,
        module: str = WORKER_MODULE,
        warms_up: bool = False,
        log_format: LogFormat = "text",
    ) -> EngineProcess:
        """Start a process to load `config`; `on_message` receives its messages, on this loop.

        `warms_up`: run a warm-up before it is ready. `log_format`: its log format. Raises `OSError`
        if the process cannot be started, and the errors of `encode` for a setting that cannot be
        encoded.
        """
        level, is_seen = logger.getEffectiveLevel(), os.isatty(2)
        start = encode(StartEngine(config, level, log_format, warms_up, is_seen))
        process = cls(on_message)
        memory, loop = process._heartbeat.descriptor, asyncio.get_running_loop()
        with contextlib.ExitStack() as unless_made, contextlib.ExitStack() as of_child:
            unless_made.callback(process._heartbeat.close)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            unless_made.callback(ours.close)
            of_child.callback(theirs.close)
            log, its_log = os.pipe()
            of_child.callback(os.close, its_log)
            process._log = forward_lines(log)
            process._process = await asyncio.create_subprocess_exec(
                *module_command(module, str(theirs.fileno()), str(memory)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=its_log,  # standard output is the parent's
                stderr=its_log,
                pass_fds=(theirs.fileno(), memory),
                start_new_session=True,  # a Ctrl-C is for the parent
                env=module_environment(),
            )
            of_child.close()
            unless_made.callback(process.kill)
            connected = await loop.create_unix_connection(lambda: process, sock=ours)
            unless_made.pop_all()
        process._transport = connected[0]
        process._transport.write(start)
        return process

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def num_beats(self) -> int:
        """Progress that the process has counted inside its steps."""
        return self._heartbeat.count

    def measure_work(self) -> SessionWork | None:
        """Return the work of the process and its children; None if the system does not tell."""
        return measure_session_work(self._process.pid)  # it leads a session

    def send(self, message: ToChild) -> None:
        """Queue a message; it is lost if the process has ended."""
        if not self._transport.is_closing():
            self._transport.write(encode(message))

    async def ended(self) -> str:
        """Wait for the process or its socket to end, end both; return the cause."""
        exited = asyncio.ensure_future(self._process.wait())
        hung_up = asyncio.ensure_future(self._hung_up.wait())
        try:
            await asyncio.wait({exited, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({exited, hung_up}, timeout=FINAL_MESSAGE_S)
            self.kill()
            await exited
            self.kill()  # children of a process that ended by itself
            await asyncio.to_thread(self._log.join, FINAL_MESSAGE_S)
        finally:
            hung_up.cancel()
            exited.cancel()
            self._is_over = True
            self._transport.abort()
            self._heartbeat.close()
        if self.failure is not None:
            return self.failure.message
        return _exit_in_words(exited.result())

    def dump_stacks(self) -> None:
        """Make the process write the stacks of its threads to standard error."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End the process and its children, such as compilers, at once."""
        if not self._is_over:  # afterwards its id may be another's
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a zombie
                os.killpg(self._process.pid, signal.SIGKILL)  # its session is one group

    async def wait(self) -> None:
        """Wait until the process is gone."""
        await self._process.wait()

    # asyncio.Protocol

    def data_received(self, data: bytes) -> None:
        """Handle the messages that `data` completes."""
        try:
            for message in self._reader.feed(data):
                self._take(message)
        except msgspec.DecodeError:
            logger.exception("the engine process sent an invalid message")
            self.kill()

    def _take(self, message: ToParent) -> None:
        if isinstance(message, PromptPart):
            self._joiner.add(message)
            return
        if isinstance(message, Failed):
            self.failure = message
        elif isinstance(message, Deltas):
            message = self._joiner.join(message)
        self._on_message(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the process closed its end or died."""
        self._hung_up.set()


def _exit_in_words(status: int) -> str:
    if status >= 0:
        return f"the engine process ended with exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    hint = ", perhaps because the machine ran out of memory" if -status == signal.SIGKILL else ""
    return f"the engine process was ended by signal {name}{hint}"
