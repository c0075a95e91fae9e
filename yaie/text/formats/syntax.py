"""Syntaxes: how a model family writes its tool calls and its reasoning."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from yaie.text.formats.calls import Calls
from yaie.text.formats.lark import Lark
from yaie.text.formats.reader import Reader, Steps
from yaie.text.formats.tool import Tool


@dataclass(frozen=True, slots=True)
class Thinking:
    """Markers around a model's reasoning."""

    opener: str
    closer: str
    hidden: tuple[str, ...] = ()  # markers around the answer itself

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens."""
        return (self.opener, self.closer, *self.hidden)


class CallSyntax(ABC):
    """Tool-call syntax of one model family."""

    name: str  # for `--tool-call-parser`
    openers: tuple[str, ...] = ()  # begin calls; none is the beginning of another
    closers: tuple[str, ...] = ()  # end a call that is not what it should be
    other_markers: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()  # among them: ends of one call, behind which another may begin
    is_bare = False  # a call may stand at the beginning of an answer without a marker

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens."""
        return (*self.openers, *self.closers, *self.other_markers)

    def new_id(self) -> str:
        """Return an id for a call; an empty one leaves the choice to the server."""
        return ""

    @abstractmethod
    def read(self, reader: Reader, calls: Calls, opener: str) -> Steps[None]:
        """Read the calls after an opener; an empty opener for a bare call.

        Raises `Malformed`. If no call is open then, the markup is text.
        """

    @abstractmethod
    def write(self, tool: Tool, lark: Lark) -> str:
        """Return the Lark expression for one call to `tool`."""

    @abstractmethod
    def around(self, call: str, lark: Lark, is_parallel: bool) -> str:
        """Return the Lark expression for all calls, given the expression for one."""

    def grammar(self, tools: Sequence[Tool], lark: Lark, is_parallel: bool) -> str:
        """Return the Lark source of one or, if parallel, more calls: the rule `calls`."""
        rules = [f"call_{at}: {self.write(tool, lark)}" for at, tool in enumerate(tools)]
        call = "call: " + " | ".join(f"call_{at}" for at in range(len(tools)))
        return "\n".join([f"calls: {self.around('call', lark, is_parallel)}", call, *rules])


def name_and(key: str, tool: Tool, name_key: str = "name") -> str:
    """Return the beginning of a JSON call, up to its arguments, which have the name `key`."""
    return f'{{"{name_key}": {json.dumps(tool.name)}, "{key}": '
