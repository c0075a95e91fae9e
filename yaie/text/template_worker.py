"""The process that renders chat templates under limits: `python -m yaie.text.template_worker`.

A chat template is a program that comes with a model. It runs here in Jinja's sandbox, and a job
that exceeds its limits costs this process alone. `yaie/text/template_renderer.py` starts it, sends
jobs over a socket and starts the next one. Variables and replies are JSON and text, so a template
meets plain data only. Without transformers, which takes seconds to import.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from yaie.process.limits import growth_limiter

MEMORY_BYTES = 64 * 1024**2  # growth by one job
MEMORY_PER_INPUT_BYTE = 8  # more for long conversations: each character may take four bytes, twice
_BUFFER_BYTES = 64 * 1024

# First bytes of replies.
TEXT = b"T"  # a prompt
PARTS = b"P"  # `TemplateParts` as JSON
FAULT = b"F"  # `Fault` as JSON
OUTPUT = b"O"  # the prompt exceeds its characters
MEMORY = b"M"  # the job exceeds its memory

_REASONING = ("reasoning_content", "thinking", "reasoning")  # names of the field


class RenderJob(msgspec.Struct, array_like=True):
    """One template to render or to analyse."""

    template: str
    variables: msgspec.Raw  # `null` asks for the parts of the template
    max_chars: int
    processor_s: float


_JOBS = msgspec.json.Decoder(RenderJob)


class TemplateParts(msgspec.Struct, frozen=True):
    """Names and texts in the source of a template; none of a broken one."""

    variables: frozenset[str] = frozenset()  # read and not set by the template
    literals: frozenset[str] = frozenset()  # texts and string constants


class Fault(msgspec.Struct, frozen=True):
    """The failure of a template: its own refusal, a syntax error or another exception."""

    kind: Literal["refused", "syntax", "failed"]
    error: str  # name of the exception
    message: str


class _OutputTooLong(Exception):
    """A prompt longer than `RenderJob.max_chars`."""


class TemplateNamespace(Namespace):
    """Jinja's namespace without private names, as transformers has it."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            _refuse_private(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_private(name)
        super().__setitem__(name, value)


class _TrainingBlocks(Extension):
    """transformers' tag `generation`, which marks answers for training; its body is rendered."""

    tags = {"generation"}  # noqa: RUF012  Jinja declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the tag's body, in a separate scope."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_show")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _show(self, caller: Macro) -> str:
        return caller()


def _refuse_private(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold the private name {name!r}")


def _make_dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    return dict(*args, **kwargs)


def raise_exception(message: object) -> None:
    """Refuse the messages, as templates do."""
    raise TemplateError(str(message))


def _write_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return a value as JSON. Jinja's own filter escapes for HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def strftime_now(form: str) -> str:
    """Return the local time in a format."""
    return datetime.now().strftime(form)


def make_environment(
    kind: type[ImmutableSandboxedEnvironment] = ImmutableSandboxedEnvironment,
) -> Environment:
    """Return the environment in which transformers renders chat templates."""
    environment = kind(
        trim_blocks=True, lstrip_blocks=True, extensions=[_TrainingBlocks, loopcontrols]
    )
    environment.filters["tojson"] = _write_json
    environment.globals |= {
        "raise_exception": raise_exception,
        "strftime_now": strftime_now,
        "dict": _make_dict,
        "namespace": TemplateNamespace,
    }
    return environment


_ENVIRONMENT = make_environment()
_compile = lru_cache(maxsize=16)(_ENVIRONMENT.from_string)


def render_compiled(template: Template, variables: dict[str, Any], max_chars: int) -> str:
    """Return the prompt of `variables`. Raises any exception, as a template is a program."""
    variables["messages"] = [_name_reasoning(message) for message in variables["messages"]]
    pieces, size = [], 0
    for piece in template.generate(**variables):
        pieces.append(piece)
        size += len(piece)
        if size > max_chars:
            raise _OutputTooLong
    return "".join(pieces)


def _name_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose reasoning has the names that templates read, as in transformers."""
    known = (message[name] for name in _REASONING if message.get(name) is not None)
    if (reasoning := next(known, None)) is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def find_parts(template: str) -> TemplateParts:
    """Return the parts of a template."""
    try:
        tree = _ENVIRONMENT.parse(template)
        constants = [node.value for node in tree.find_all(nodes.Const)]
        texts = [node.data for node in tree.find_all(nodes.TemplateData)]
        own = _own_variables(tree)
        variables = meta.find_undeclared_variables(tree) - own  # folds constants in the tree
    except MemoryError:
        raise
    except Exception:  # the parser also fails on deep nesting and long numbers
        return TemplateParts()
    literals = (each for each in (*texts, *constants) if isinstance(each, str))
    return TemplateParts(frozenset(variables), frozenset(literals))


def _own_variables(tree: nodes.Template) -> set[str]:
    """Return the variables that a template sets before it reads them, in any branch."""
    seen: dict[str, bool] = {}  # by name: whether it was set first
    waiting: list[nodes.Node] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, nodes.Name):
            seen.setdefault(node.name, node.ctx == "store")
        inner = list(node.iter_child_nodes())
        if isinstance(node, nodes.Assign):
            inner = [node.node, node.target]  # `{% set x = x or 1 %}` reads x first
        waiting.extend(reversed(inner))
    return {name for name, is_own in seen.items() if is_own}


def _answer(raw: bytes, limit_memory: Callable[[int], None]) -> bytes:
    """Return the reply to a job, computed within its limits."""
    job, variables = _read(raw)
    limit_memory(MEMORY_BYTES + MEMORY_PER_INPUT_BYTE * len(raw))
    # Its signal ends the process within any call; a handler would wait for the call's end.
    signal.setitimer(signal.ITIMER_PROF, job.processor_s)
    try:
        if variables is None:
            return PARTS + msgspec.json.encode(find_parts(job.template))
        text = render_compiled(_compile(job.template), variables, job.max_chars)
        return TEXT + text.encode("utf-8", "surrogatepass")
    except MemoryError:
        return MEMORY
    except _OutputTooLong:
        return OUTPUT
    except Exception as error:
        return FAULT + msgspec.json.encode(_fault_of(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _read(raw: bytes) -> tuple[RenderJob, dict[str, Any] | None]:
    """Return a job and its variables."""
    variables: dict[str, Any] | None
    try:
        job = _JOBS.decode(raw)
        variables = msgspec.json.decode(job.variables)
    except msgspec.DecodeError:  # a lone surrogate
        template, variables, max_chars, processor_s = json.loads(raw)
        job = RenderJob(template, msgspec.Raw(), max_chars, processor_s)
    return job, variables


def _fault_of(error: Exception) -> Fault:
    is_syntax, is_refusal = (
        isinstance(error, kind) for kind in (TemplateSyntaxError, TemplateError)
    )
    shown = " ".join(str(error)[:2000].split())[:300].encode("utf-8", "replace").decode()
    return Fault(
        "syntax" if is_syntax else "refused" if is_refusal else "failed",
        type(error).__name__,
        shown,
    )


def send(connection: socket.socket, message: bytes) -> None:
    """Send a message. Raises `OSError`."""
    head = len(message).to_bytes(4, "little")
    if len(message) < _BUFFER_BYTES:
        connection.sendall(head + message)
    else:
        connection.sendall(head)
        connection.sendall(message)


def receive(connection: socket.socket) -> bytes:
    """Return the next message. Raises `EOFError` at the end of the connection, and `OSError`."""
    data = connection.recv(_BUFFER_BYTES)
    if len(data) < 4:
        raise EOFError
    size = 4 + int.from_bytes(data[:4], "little")
    if len(data) == size:
        return data[4:]
    whole = bytearray(size)
    whole[: len(data)] = data
    rest = memoryview(whole)[len(data) :]
    while rest:
        if not (taken := connection.recv_into(rest)):
            raise EOFError
        rest = rest[taken:]
    return bytes(memoryview(whole)[4:])


def _end_with_parent() -> None:
    """Have the kernel end this process once the parent is gone, also in the middle of a job.

    The parent holds the other end of standard input; when it closes, the kernel sends SIGIO.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def main(connection: socket.socket) -> None:
    """Answer jobs until the parent hangs up, or until a job has taken much memory."""
    _end_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory = growth_limiter()
    with contextlib.suppress(EOFError, OSError):
        send(connection, b"")  # ready
        while True:
            reply = _answer(receive(connection), limit_memory)
            resource.setrlimit(resource.RLIMIT_AS, unlimited)  # for the next job's input
            send(connection, reply)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
