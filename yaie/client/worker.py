"""Engine process: `python -m yaie.client.worker FD MEMORY`, started by `EngineProcess.spawn`.

FD is one end of a socket pair, MEMORY holds the heartbeat. One thread receives, steps and sends.
Without work it prepares later steps, and then sleeps in the receive. The process ends with its
parent. It ignores SIGTERM and SIGINT: service managers send them to all processes of a service at
once, while the parent still has answers to finish.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

from yaie.base.errors import StartupError, request_error
from yaie.base.settings import EngineConfig
from yaie.client.core_loading import load_engine_core
from yaie.client.wire import (
    Abort,
    Ask,
    Deltas,
    Expect,
    Failed,
    Ping,
    QueryReply,
    Ready,
    Shutdown,
    StartEngine,
    Submit,
    ToChild,
    ToParent,
    child_reader,
    encode,
    split_prompt_logprobs,
)
from yaie.engine.loop import Core, EngineLoop
from yaie.process.heartbeat import share_counter
from yaie.process.log_format import make_formatter
from yaie.process.progress import log_progress, report
from yaie.process.spawn import gc_paused_then_frozen

logger = logging.getLogger(__name__)

RECEIVE_BYTES = 1 << 18
PR_SET_PDEATHSIG = 1
EXIT_FATAL = 70


class ParentGoneError(Exception):
    """The parent closed its end of the socket."""


class Channel:
    """The child's end of the socket, with blocking sends."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._reader = child_reader()

    def receive(self, *, wait: bool) -> Iterator[ToChild]:
        """Yield the messages received so far; with `wait`, sleep until there is one."""
        flags = 0 if wait else socket.MSG_DONTWAIT
        while True:
            try:
                data = self._socket.recv(RECEIVE_BYTES, flags)
            except BlockingIOError:
                return
            except ConnectionError:
                raise ParentGoneError from None
            if not data:
                raise ParentGoneError
            yield from self._reader.feed(data)
            flags = socket.MSG_DONTWAIT

    def send(self, message: ToParent) -> None:
        """Send one message. Raises `ParentGoneError`."""
        try:
            self._socket.sendall(encode(message))
        except ConnectionError:
            raise ParentGoneError from None


def main(arguments: list[str], load: Callable[[EngineConfig], Core] = load_engine_core) -> int:
    """Serve one parent over the socket of `arguments`; return the exit status."""
    sock = socket.socket(fileno=int(arguments[0]))
    sock.set_inheritable(False)
    share_counter(int(arguments[1]))
    _end_with_parent(sock)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)  # sent by the parent on a stall
    channel = Channel(sock)
    try:
        return _start_and_serve(channel, load)
    except ParentGoneError:
        return 0


def _start_and_serve(channel: Channel, load: Callable[[EngineConfig], Core]) -> int:
    start, *early = _first_messages(channel)
    assert isinstance(start, StartEngine)
    handler = logging.StreamHandler()
    handler.setFormatter(make_formatter(start.log_format))
    logging.basicConfig(level=start.log_level, handlers=[handler])
    try:
        with (
            gc_paused_then_frozen(),
            log_progress(logger, "importing PyTorch", wanted=start.shows_progress),
        ):
            core = load(start.config)
            if start.warms_up:
                report("warming up")
                core.warm_up()
    except StartupError as error:
        channel.send(Failed(type(error).__name__, error.message, error.exit_code, error.param))
        return error.exit_code
    except Exception as error:
        logger.exception("the model could not be loaded")
        channel.send(_fatal(error))
        return EXIT_FATAL
    channel.send(Ready(core.info, core.stats))
    try:
        _serve(channel, EngineLoop(core), early)
    except ParentGoneError:
        raise
    except Exception as error:
        logger.exception("a step failed; the engine process ends")
        channel.send(_fatal(error))
        return EXIT_FATAL
    core.close()
    return 0


def _fatal(error: Exception) -> Failed:
    return Failed(type(error).__name__, f"{type(error).__name__}: {error}", EXIT_FATAL)


def _first_messages(channel: Channel) -> list[ToChild]:
    messages: list[ToChild] = []
    while not messages:
        messages.extend(channel.receive(wait=True))
    return messages


def _serve(channel: Channel, loop: EngineLoop, early: list[ToChild]) -> None:
    incoming: Iterator[ToChild] = iter(early)
    was_preparing, reported = False, loop.core.stats
    while True:
        has_obeyed = False
        for message in incoming:
            if isinstance(message, Shutdown):
                return
            if (reply := _obey(loop, message)) is not None:
                channel.send(reply)
            has_obeyed = has_obeyed or not isinstance(message, Ping)
        if loop.has_work or has_obeyed:  # every message is acknowledged
            deltas, stats = loop.step(), loop.take_stats(time.monotonic())
            reported = stats or reported
            changes = loop.core.take_cache_changes()
            for part in split_prompt_logprobs(Deltas(deltas, stats, changes)):
                channel.send(part)
        is_preparing = not loop.has_work and loop.core.use_idle_moment()
        if was_preparing and not (is_preparing or loop.has_work):
            stats = loop.core.stats
            if stats != reported:
                channel.send(Deltas([], stats))
                reported = stats
        was_preparing = is_preparing
        if changes := loop.core.take_cache_changes():
            channel.send(Deltas([], None, changes))
        incoming = channel.receive(wait=not (loop.has_work or is_preparing))


def _obey(loop: EngineLoop, message: ToChild) -> QueryReply | Deltas | None:
    """Obey a message; return the reply to a query or a ping."""
    if isinstance(message, Ping):
        return Deltas([])
    if isinstance(message, Ask):
        try:
            return QueryReply(message.number, loop.core.answer(message.query))
        except Exception as error:  # any error: other requests continue
            return QueryReply(message.number, None, request_error(error))
    if isinstance(message, Submit):
        try:
            request = message.unpack()
        except Exception as error:  # any error: other requests continue
            loop.refuse(message.request_id, message.submission, error)
        else:
            loop.submit(request)
    elif isinstance(message, Abort):
        loop.abort(message.request_id, message.index)
    elif isinstance(message, Expect):
        loop.core.expect(message.prompt)
    return None


def _end_with_parent(sock: socket.socket) -> None:
    """Make this process end with its parent, also in the middle of a long step."""
    if sys.platform == "linux":
        # Native code may hold the interpreter lock, and the thread below cannot run then.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_exit_on_hangup, args=(sock,), name="parent-watch", daemon=True).start()


def _exit_on_hangup(sock: socket.socket) -> None:
    watch = select.poll()
    watch.register(sock.fileno(), select.POLLHUP)  # readable data does not wake this thread
    watch.poll()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
