"""Operator tools: lists registered functions and runs them for clients with the tool key.

A request names a function and gives its arguments; it can run or import nothing else.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from yaie.base.errors import ConfigError, InvalidRequest, Overloaded
from yaie.server.http.body import refusal
from yaie.server.http.http_errors import NotFound, RequestTimedOut
from yaie.server.schemas.operator_tools import RegisteredTool, ToolFunction

logger = logging.getLogger(__name__)

MAX_RUNNING = 4  # functions at a time
NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ToolError(Exception):
    """Failure that a function raises; the client receives its text."""


@dataclass(frozen=True, slots=True)
class OperatorTool:
    """A function with annotated parameters. `enabled`: it may be run."""

    function: Callable[..., Any]
    name: str = ""
    description: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Content of a result: text as it is, other values as JSON."""

    content: str
    is_error: bool = False


class _Registered:
    """A tool with the model of its arguments."""

    def __init__(self, tool: OperatorTool) -> None:
        self.tool = tool
        self.name = tool.name or getattr(tool.function, "__name__", "")
        self.description = tool.description or inspect.getdoc(tool.function) or ""
        if not NAME.fullmatch(self.name):
            raise _wrong(f"{self.name!r} is not a tool name; use letters, digits, _ . and -")
        self.arguments = _model_of(self.name, tool.function)

    def describe(self) -> RegisteredTool:
        """Return the tool as a chat request lists it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        return RegisteredTool(
            function=ToolFunction(name=self.name, description=self.description, parameters=schema),
            enabled=self.tool.enabled,
        )


class OperatorTools:
    """The operator's functions by name.

    Each may run for `timeout_s` seconds, `MAX_RUNNING` of them at a time. Raises `ConfigError` for
    a function whose parameters cannot be described.
    """

    def __init__(
        self, tools: Iterable[OperatorTool | Callable[..., Any]], timeout_s: float
    ) -> None:
        self._timeout_s = timeout_s
        self._tools: dict[str, _Registered] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._num_running = 0
        for each in tools:
            found = _Registered(each if isinstance(each, OperatorTool) else OperatorTool(each))
            if found.name in self._tools:
                raise _wrong(f"two functions are named {found.name!r}; name each by its own")
            self._tools[found.name] = found

    def describe(self) -> list[RegisteredTool]:
        """Return every tool as a chat request lists it, in the order of registration."""
        return [each.describe() for each in self._tools.values()]

    async def execute(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a function with checked arguments.

        Raises `NotFound` for an unknown or disabled one, `InvalidRequest` for wrong arguments,
        `Overloaded` and `RequestTimedOut`. A failure of the function is a result.
        """
        found = self._tools.get(name)
        if found is None or not found.tool.enabled:
            names = ", ".join(repr(each.name) for each in self._tools.values() if each.tool.enabled)
            raise NotFound(
                f"the tool {name[:64]!r} is not registered here; this server runs {names or 'none'}"
            )
        try:
            checked = found.arguments.model_validate_json(msgspec.json.encode(arguments))
        except ValidationError as error:
            raise _name_argument(error, found) from None
        values = {key: getattr(checked, key) for key in type(checked).model_fields}
        if self._num_running == MAX_RUNNING:
            raise Overloaded(f"{MAX_RUNNING} tools run already; retry in a moment")
        return await self._run(found, values)

    async def _run(self, found: _Registered, values: dict[str, Any]) -> ToolResult:
        self._num_running += 1
        task = asyncio.ensure_future(self._call(found, values))
        task.add_done_callback(self._release)
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                result = await asyncio.shield(task)
            content = result if isinstance(result, str) else msgspec.json.encode(result).decode()
            return ToolResult(content)
        except ToolError as error:
            return ToolResult(str(error), is_error=True)
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():  # not one of the function's
                task.cancel()  # a thread continues, and keeps its place until it ends
                raise RequestTimedOut(
                    f"the tool {found.name!r} took longer than {self._timeout_s:g} s"
                ) from None
            logger.exception("the tool %s failed", found.name)
            return ToolResult("the tool failed; the server's log has the reason", is_error=True)

    async def _call(self, found: _Registered, values: dict[str, Any]) -> Any:
        function = found.tool.function
        if inspect.iscoroutinefunction(function):
            try:
                return await function(**values)
            except BaseException as error:
                task = asyncio.current_task()
                if _is_failure(error) or (task is not None and task.cancelling()):  # time limit
                    raise
                raise RuntimeError(f"the function raised {error!r}") from error
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MAX_RUNNING, thread_name_prefix="yaie-tool")
        future = self._threads.submit(_run_function, partial(function, **values))
        return await _until_ended(future)

    def _release(self, task: asyncio.Future[Any]) -> None:
        self._num_running -= 1
        if not task.cancelled():
            task.exception()  # retrieved, also after the time limit

    def close(self) -> None:
        """Drop the threads; a function that runs is left to its end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _run_function(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except BaseException as error:
        if _is_failure(error):
            raise
        raise RuntimeError(f"the function raised {error!r}") from error


def _is_failure(error: BaseException) -> bool:
    """Return whether an error ends one call alone.

    An event loop would end the server by an exit, the request by either `CancelledError`, and wait
    forever for a thread that raised `StopIteration`.
    """
    return isinstance(error, Exception) and not isinstance(error, StopIteration | CancelledError)


async def _until_ended(future: Any) -> Any:
    """Wait for a thread's result, also when cancelled: its place is free afterwards only."""
    waiting = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        await asyncio.wait([waiting])
        raise


def load_tools(source: str) -> list[OperatorTool | Callable[..., Any]]:
    """Return the tools of the setting `tool_functions`, a `module:name`. Raises `ConfigError`.

    The name is a function, an `OperatorTool`, or a list of both. The module may lie in the current
    folder.
    """
    module, separator, name = source.partition(":")
    if not separator or not module or not name:
        raise _wrong(f"{source!r} must be module:name")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that no file there replaces an installed module
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # the operator's module may raise anything
        raise _wrong(
            f"{source!r} cannot be imported ({type(error).__name__}: {error}); modules are looked "
            "for in the current folder and on the Python path"
        ) from error
    return list(found) if isinstance(found, list | tuple) else [found]


def _model_of(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    """Return a model of a function's arguments, from its annotations."""
    if not callable(function):
        raise _wrong(f"{name!r} is not a function")
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _KINDS:
            raise _wrong(f"{name} has *arguments; give each parameter a name")
        if parameter.name not in hints:
            raise _wrong(f"{name} has no type for its parameter {parameter.name!r}; annotate it")
        is_required = parameter.default is inspect.Parameter.empty
        default = Field(...) if is_required else Field(parameter.default)
        fields[parameter.name] = (hints[parameter.name], default)
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **fields)
        model.model_json_schema()
    except Exception as error:
        raise _wrong(f"the parameters of {name} have no JSON schema: {error}") from None
    return model


def _name_argument(error: ValidationError, found: _Registered) -> InvalidRequest:
    problem = error.errors(include_url=False)[0]
    if problem["type"] == "extra_forbidden":
        name = f"arguments.{problem['loc'][-1]}"
        return InvalidRequest(f"{name} is not a parameter of the tool {found.name!r}", param=name)
    inner = refusal(error)
    return InvalidRequest(f"arguments.{inner.message}", param=f"arguments.{inner.param}")


def _wrong(reason: str) -> ConfigError:
    return ConfigError(f"tool_functions: {reason}", param="tool_functions")
