"""`OfferedTools`: the tools of a request as functions of a chat, and the tools that it omits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yaie.server.requests.checks import plain


@dataclass(slots=True)
class OfferedTools:
    """Functions for the model. Tools that run on their vendor's servers are omitted."""

    functions: list[dict[str, Any]] = field(default_factory=list)  # as tools of a chat
    places: list[str] = field(default_factory=list)  # of each function, in the request
    omitted: list[str] = field(default_factory=list)  # types of tools
    ignored: list[str] = field(default_factory=list)  # names of fields without effect

    @property
    def is_empty(self) -> bool:
        """True if all tools of the request are omitted."""
        return bool(self.omitted) and not self.functions

    def add_function(self, function: Mapping[str, Any], where: str) -> None:
        """Add a function from a place in the request."""
        self.functions.append({"type": "function", "function": dict(function)})
        self.places.append(where)

    def omit(self, kind: str) -> None:
        """Note a tool that is not run here."""
        self.omitted.append(kind)
        self.ignored.append(f"tools.{plain(kind)}")

    def warnings(self) -> list[str]:
        """Return one sentence on each type of tools that was omitted."""
        return [
            f"tools of type {kind[:40]!r} run on their vendor's servers, so the model was not "
            "shown them"
            for kind in dict.fromkeys(self.omitted)
        ]
