"""`TemplateRenderer`: renders chat templates in kept processes, each job under limits.

A template is a program of the model's author: a loop, a product or a power of it may need any time
and memory. A job beyond its limits ends the process that runs it, and the request that wanted it;
jobs in the other processes continue. Any thread may call it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from yaie.base.errors import EngineUnavailable, InvalidRequest, TemplateTooCostly
from yaie.process.spawn import bare_environment, limit_waits, module_command
from yaie.text.template_budget import MAX_INPUT_BYTES, budgeted
from yaie.text.template_worker import (
    FAULT,
    MEMORY,
    MEMORY_BYTES,
    OUTPUT,
    Fault,
    RenderJob,
    TemplateParts,
    receive,
    send,
)
from yaie.text.text_threads import give_up_turn, take_turn

MAX_PROCESSES = 4
PROCESSOR_S = 2.0  # of one job
ANSWER_S = 10.0  # from a job to its reply, on a busy machine
START_S = 60.0
MAX_CHARS = 32 * 1024**2  # of a prompt
MAX_TEMPLATE_CHARS = 1024**2
_PATIENCE_S = 0.05  # most jobs are done by then


class TemplateFault(Exception):
    """A template that failed: it refused the messages, is broken, or met an error."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.kind, self.error, self.message = fault.kind, fault.error, fault.message


class PromptTooLong(TemplateTooCostly):
    """A prompt of more characters than wanted."""


class _Ended(Exception):
    """A process that ended before its reply."""


class _Worker:
    """One process, used by one thread at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection = ours
        self._has_reply = select.poll()  # `select` takes no descriptor above 1023
        self._has_reply.register(ours, select.POLLIN)
        self.has_started = False
        with theirs:
            try:
                self._process = subprocess.Popen(
                    module_command("yaie.text.template_worker", str(theirs.fileno())),
                    stdin=subprocess.PIPE,  # held open: the process ends with us
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,  # a Ctrl-C is for the parent
                    env=bare_environment(),
                )
            except BaseException:
                ours.close()
                raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, job: bytes) -> bytes:
        """Return the reply to a job.

        Raises `_Ended` and `TimeoutError`.
        """
        try:
            if not self.has_started:
                give_up_turn()
                limit_waits(self._connection, START_S)
                receive(self._connection)
                limit_waits(self._connection, ANSWER_S)
                self.has_started = True
            send(self._connection, job)
            if not self._has_reply.poll(_PATIENCE_S * 1000):
                give_up_turn()
            return receive(self._connection)
        except (EOFError, ConnectionError):
            raise _Ended from None
        except BlockingIOError:
            raise TimeoutError from None

    def end(self) -> int:
        """End the process; return its status, negative for the signal that ended it first."""
        self._connection.close()
        self._process.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()


class TemplateRenderer:
    """Kept processes that render; started on demand, at most `MAX_PROCESSES`."""

    def __init__(self, processor_s: float = PROCESSOR_S, *, has_budget: bool = True) -> None:
        """`has_budget`: render short conversations in this process (`template_budget`)."""
        self._processor_s = processor_s
        self._has_budget = has_budget
        self._parsed: set[str] = set()  # templates, by another process
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def _forget(self) -> None:
        self._free = threading.Condition()
        self._idle: list[_Worker] = []
        self._num_workers = 0

    def start(self) -> None:
        """Start a process unless one is idle; the next job does not wait for it then."""
        with self._free, contextlib.suppress(EngineUnavailable):
            if not self._idle and self._num_workers < MAX_PROCESSES:
                self._idle.append(self._start_worker())
                self._free.notify()

    def close(self) -> None:
        """End the idle processes."""
        with self._free:
            while self._idle:
                self._idle.pop().end()
                self._num_workers -= 1

    @property
    def pids(self) -> list[int]:
        """Ids of the idle processes."""
        with self._free:
            return [worker.pid for worker in self._idle]

    def render(self, template: str, variables: Mapping[str, Any], max_chars: int) -> str:
        """Return the prompt of a template's variables, `messages` among them.

        Raises `TemplateFault`, `TemplateTooCostly`, `PromptTooLong` beyond `max_chars`, and
        `InvalidRequest` for variables that JSON cannot hold.
        """
        content = self._run(template, dict(variables), min(max_chars, MAX_CHARS))
        return content.decode("utf-8", "surrogatepass")

    def find_parts(self, template: str) -> TemplateParts:
        """Return the parts of a template. Raises `TemplateTooCostly`."""
        return msgspec.json.decode(self._run(template, None, 0), type=TemplateParts)

    def _run(self, template: str, variables: dict[str, Any] | None, max_chars: int) -> bytes:
        if len(template) > MAX_TEMPLATE_CHARS:
            raise TemplateTooCostly(
                f"the chat template has {len(template)} characters, more than "
                f"{MAX_TEMPLATE_CHARS}; use a shorter one (--chat-template)",
                param="messages",
            )
        given = _encode(variables)
        if variables is not None and (text := self._render_here(template, given, max_chars)):
            return text
        try:
            reply = self._ask(
                _JOBS.encode(RenderJob(template, given, max_chars, self._processor_s))
            )
        finally:
            take_turn()
        kind, content = reply[:1], reply[1:]
        if kind == OUTPUT:
            raise PromptTooLong(
                f"the rendered conversation has more than {max_chars} characters; shorten it",
                param="messages",
            )
        if kind == MEMORY:
            raise _too_costly(f"more than {MEMORY_BYTES // 1024**2} MiB of memory")
        if kind == FAULT:
            raise TemplateFault(msgspec.json.decode(content, type=Fault))
        return content

    def _render_here(self, template: str, given: msgspec.Raw, max_chars: int) -> bytes:
        """Return the prompt of a short conversation if its template's cost is known."""
        if not self._has_budget or len(given) > MAX_INPUT_BYTES:
            return b""
        self._parse_elsewhere(template)
        if (known := budgeted(template)) is None:
            return b""
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError):  # a lone surrogate
            text = known.render(msgspec.json.decode(given))
            if text is not None and len(text) <= max_chars:
                return text.encode()
        return b""

    def _parse_elsewhere(self, template: str) -> None:
        """Have another process parse a new template. Raises `TemplateTooCostly`."""
        if template not in self._parsed:
            self.find_parts(template)
            self._parsed = {*list(self._parsed)[-16:], template}

    def _ask(self, job: bytes) -> bytes:
        for _ in range(2):  # the system may have ended an idle process
            worker = self._take()
            try:
                reply = worker.ask(job)
            except (_Ended, TimeoutError) as ending:
                status = self._replace(worker)
                if worker.has_started and isinstance(ending, TimeoutError):
                    raise _too_costly(f"more than {ANSWER_S:g} s") from None
                if status == -signal.SIGPROF:
                    limit = f"more than {self._processor_s:g} s of processor time"
                    raise _too_costly(limit) from None
                continue
            except BaseException:  # it may be about to answer
                self._replace(worker)
                raise
            if reply == MEMORY:  # its memory is in pieces
                self._replace(worker)
            else:
                self._give_back(worker)
            return reply
        if not worker.has_started:
            raise EngineUnavailable(
                "the process that renders chat templates does not start; run `python -m "
                "yaie.text.template_worker 0` to see why"
            )
        raise TemplateTooCostly(
            f"the process that renders chat templates ended with status {status}; change the "
            "messages, or repair the template",
            param="messages",
        )

    def _take(self) -> _Worker:
        with self._free:
            if not self._idle and self._num_workers:
                self._free.wait_for(lambda: self._idle, _PATIENCE_S)
            if not self._idle:
                give_up_turn()
            self._free.wait_for(lambda: self._idle or self._num_workers < MAX_PROCESSES)
            return self._idle.pop() if self._idle else self._start_worker()

    def _start_worker(self) -> _Worker:
        try:
            worker = _Worker()
        except OSError as error:
            raise EngineUnavailable(
                f"the process that renders chat templates cannot be started ({error.strerror}); "
                "retry in a moment"
            ) from None
        self._num_workers += 1
        return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._free:
            self._idle.append(worker)
            self._free.notify()

    def _replace(self, worker: _Worker) -> int:
        """End a process and start another in advance; return the status of the first."""
        status = worker.end()
        with self._free:
            self._num_workers -= 1
            self._free.notify()
        self.start()
        return status


def _encode(variables: dict[str, Any] | None) -> msgspec.Raw:
    try:
        try:
            return msgspec.Raw(_JOBS.encode(variables))
        except UnicodeEncodeError:  # a lone surrogate; the tokenizer refuses it by name
            return msgspec.Raw(json.dumps(variables, default=_as_plain).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            f"the messages cannot be written as JSON ({error}); send plain values", param="messages"
        ) from None


def _as_plain(value: Any) -> Any:
    """Return a value of a library's type as a plain one; a placeholder for others."""
    if isinstance(value, Mapping):
        return dict(value)
    for method in ("model_dump", "item"):  # of pydantic's models and numpy's numbers
        if callable(convert := getattr(value, method, None)):
            with contextlib.suppress(Exception):
                return convert()
    return f"<{type(value).__name__}>"


_JOBS = msgspec.json.Encoder(enc_hook=_as_plain)


def _too_costly(what: str) -> TemplateTooCostly:
    return TemplateTooCostly(
        f"the model's chat template needs {what}, its limit; shorten the messages, or repair the "
        "template",
        param="messages",
    )


RENDERER = TemplateRenderer()


@lru_cache(maxsize=16)
def template_parts(template: str) -> TemplateParts:
    """Return the parts of a template. Raises `TemplateTooCostly`."""
    return RENDERER.find_parts(template)
