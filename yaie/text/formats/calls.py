"""Tool calls in one answer, as parsers find them, and the JSON objects that contain most calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from yaie.text.formats.json_values import (
    Malformed,
    characters,
    read_text,
    read_value,
    refuse_constant,
)
from yaie.text.formats.parameter_schema import TYPES
from yaie.text.formats.reader import Reader, Steps
from yaie.text.formats.schema_check import find_violation
from yaie.text.formats.tool import NO_PARAMETERS, Tool
from yaie.text.output_parts import Part, ToolCallPart

_ARGUMENT_KEYS = ("arguments", "parameters")
_CALL_KEYS = frozenset(("name", "tool_name", "type", "id", "function", *_ARGUMENT_KEYS))
_MAX_NAME_CHARS = 256


class Calls:
    """Writer of one answer's tool calls. Invariant: at most the last call is open."""

    def __init__(
        self,
        parts: list[Part],
        tools: Mapping[str, Tool],
        max_calls: int | None = None,
        new_id: Callable[[], str] = str,
    ) -> None:
        self.tools = tools  # the request's tools, by name
        self.max_calls = max_calls  # the answer ends with this one
        self._new_id = new_id
        self._name = ""  # name of the open call
        self.only_known = False  # calls of other tools are text
        self.num_begun = 0
        self.is_open = False
        self.fault = ""
        self._parts = parts
        self._arguments: list[str] = []

    def begin(self, name: str, call_id: str = "") -> None:
        """Begin a call: its name is certain. Raises `Malformed` for a name that does not count."""
        if self.only_known and name not in self.tools:
            raise Malformed("a call names no tool")
        call_id = call_id or self._new_id()
        self._parts.append(ToolCallPart(index=self.num_begun, name=name, call_id=call_id))
        self._name = name
        self.num_begun += 1
        self.is_open = True
        self._arguments = []

    def add(self, arguments: str) -> None:
        """Add to the arguments of the open call."""
        if arguments:
            self._arguments.append(arguments)
            self._parts.append(ToolCallPart(index=self.num_begun - 1, arguments=arguments))

    @property
    def is_full(self) -> bool:
        """True once the last call that counts has ended."""
        return self.num_begun == self.max_calls and not self.is_open

    @property
    def has_arguments(self) -> bool:
        """True if the open call has the beginning of its arguments."""
        return bool(self._arguments)

    def end(self) -> None:
        """End the open call, without arguments as an empty object; check that they are one."""
        if not self._arguments:
            self.add("{}")
        self.is_open = False
        try:
            value = json.loads("".join(self._arguments), parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            self.note(f"the arguments of call {self.num_begun - 1} are not JSON")
            return
        if not isinstance(value, dict):
            self.note(f"the arguments of call {self.num_begun - 1} are not an object")
            return
        tool = self.tools.get(self._name)
        if tool is None or tool.parameters is NO_PARAMETERS:
            return
        if violation := find_violation(tool.parameters, value):
            self.note(f"the arguments of call {self.num_begun - 1} are invalid: {violation}")

    def types_of(self, key: str) -> frozenset[str]:
        """Return the JSON types that a parameter of the open call may have."""
        tool = self.tools.get(self._name)
        return TYPES if tool is None else tool.schema.types_of(key)

    def note(self, fault: str) -> None:
        """Keep the first fault of the answer."""
        self.fault = self.fault or fault


class JsonCall:
    """Reader for one call written as `{"name": ..., "arguments": {...}}`, keys in any order.

    A bare call has no marker in the text: only names of the request's tools count.
    """

    def __init__(self, reader: Reader, calls: Calls, *, is_bare: bool = False) -> None:
        self._reader = reader
        self._calls = calls
        self._is_bare = is_bare
        self._call_id = ""
        self._held: list[str] = []  # arguments before the name

    def read(self) -> Steps[None]:
        """Read the call. Raises `Malformed`; the call is open then if its name was certain."""
        yield from self._read_object(is_inner=False)
        if not self._calls.is_open:
            raise Malformed("a call has no name")
        self._calls.end()

    def _read_object(self, is_inner: bool) -> Steps[None]:
        if not (yield from self._reader.accept("{")):
            raise Malformed("a tool call is not a JSON object")
        while True:
            yield from self._reader.skip()
            if (yield from self._reader.accept("}")):
                return
            key = yield from read_text(self._reader)
            yield from self._reader.skip()
            if not (yield from self._reader.accept(":")):
                raise Malformed("a call is not JSON")
            yield from self._reader.skip()
            yield from self._read_member(key, is_inner)
            yield from self._reader.skip()
            if (yield from self._reader.accept(",")) or (yield from self._reader.peek()) == "}":
                continue
            if self._calls.is_open and self._calls.has_arguments:
                return  # only the closing bracket is missing
            raise Malformed("a call is not JSON")

    def _read_member(self, key: str, is_inner: bool) -> Steps[None]:
        first = yield from self._reader.peek()
        if key in ("name", "tool_name") or (key == "function" and first == '"'):
            self._begin((yield from read_text(self._reader)))
        elif key == "function" and first == "{" and not is_inner:
            yield from self._read_object(is_inner=True)
        elif key in _ARGUMENT_KEYS:
            yield from self._read_arguments(first)
        elif self._is_bare and not self._calls.is_open and key not in _CALL_KEYS:
            raise Malformed("a JSON object is not a tool call")
        else:
            parts: list[str] = []
            yield from read_value(self._reader, parts.append)
            if key == "id" and first == '"':
                self._call_id = characters("".join(parts))

    def _begin(self, name: str) -> None:
        if self._calls.is_open:
            return  # a second name
        if not name or (self._is_bare and name not in self._calls.tools):
            raise Malformed("a tool call names no tool")
        self._calls.begin(name, self._call_id)
        for arguments in self._held:
            self._calls.add(arguments)

    def _read_arguments(self, first: str) -> Steps[None]:
        show = self._calls.add if self._calls.is_open else self._held.append
        if first == "{":
            yield from read_value(self._reader, show)
        elif first == '"':  # an object in a string
            show((yield from read_text(self._reader)).strip())
        else:
            parts: list[str] = []
            yield from read_value(self._reader, parts.append)
            if (text := "".join(parts)) != "null":
                show(text)


def read_name(reader: Reader) -> Steps[str]:
    """Read a name or an id. Raises `Malformed` if there is none, or the text was cut in it."""
    name = ""
    while _is_of_name((yield from reader.peek())) and len(name) < _MAX_NAME_CHARS:
        name += yield from reader.take()
    is_cut = reader.is_cut and not (yield from reader.peek())
    if not name or is_cut:
        raise Malformed("a call has no name")
    return name


def _is_of_name(character: str) -> bool:
    return character.isalnum() or (character != "" and character in "_-.:/")


def read_arguments(reader: Reader, calls: Calls) -> Steps[None]:
    """Read the JSON object of the open call's arguments, as it arrives. Raises `Malformed`."""
    yield from reader.skip()
    if (yield from reader.peek()) != "{":
        raise Malformed("the arguments are not an object")
    yield from read_value(reader, calls.add)
