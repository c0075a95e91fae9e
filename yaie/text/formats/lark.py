"""Lark source for llguidance: literal text, special tokens and JSON schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar

# Written as chat templates write the calls of earlier turns.
_JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Lark:
    """Writer for Lark expressions; `marker_ids` are the markers that are single tokens."""

    def __init__(self, marker_ids: Mapping[str, int]) -> None:
        self._ids = marker_ids
        self._terminals: dict[str, str] = {}  # definitions by name
        found = sorted(marker_ids, key=len, reverse=True)
        self._split = re.compile("(" + "|".join(map(re.escape, found)) + ")") if found else None

    def text(self, text: str) -> str:
        """Return the expression of a text; markers in it become their tokens."""
        pieces = self._split.split(text) if self._split else [text]
        return " ".join(
            f"<[{self._ids[piece]}]>" if piece in self._ids else _literal(piece)
            for piece in pieces
            if piece
        )

    def json(self, schema: Mapping[str, Any]) -> str:
        """Return the expression for JSON text that is valid under a schema."""
        return "%json " + json.dumps({**schema, "x-guidance": _JSON_STYLE})

    def up_to(self, ending: str, patterns: Sequence[str] = (), excluded: Sequence[str] = ()) -> str:
        """Return the expression for any text and the marker after it."""
        found = self._split.search(ending) if self._split else None
        spelled = _escape(ending if found is None else ending[: found.start()])
        definitions = [f"/(?:{_on_one_line(each)}){spelled}/" for each in patterns]
        definitions = definitions or [f"/(?s:.*){spelled}/"]
        if found is None:  # no text matches an added token
            definitions.append(f"~/(?s:.*){_escape(ending.lstrip())}(?s:.+)/")
        if excluded:
            definitions.append(f"~/(?s:.*)({'|'.join(map(_escape, excluded))})(?s:.*)/")
        terminal = self._terminal(" & ".join(definitions), "UP_TO")
        return terminal if found is None else f"{terminal} {self.text(ending[found.start() :])}"

    def _terminal(self, definition: str, prefix: str) -> str:
        """Return the name of a terminal with this definition."""
        for name, known in self._terminals.items():
            if known == f"{name}: {definition}":
                return name
        name = f"{prefix}_{len(self._terminals)}"
        self._terminals[name] = f"{name}: {definition}"
        return name

    def without(self, markers: Sequence[str]) -> str:
        """Return the expression for any text without the markers, which single tokens never match.

        Empty text fits too.
        """
        spelled = "|".join(map(_escape, markers))
        return self._terminal(f"/(?s:.*)/ & ~/(?s:.*)({spelled})(?s:.*)/", "WITHOUT")

    def of(self, grammar: Grammar) -> str:
        """Return the expression for another grammar type.

        Raises `UnsupportedParameter` for Lark source, which is not an expression, and
        `InvalidRequest` for a source that is not JSON where it should be.
        """
        if grammar.kind == "json_object":
            return self.json({"type": "object"})
        if grammar.kind == "json_schema":
            schema = _read(grammar)
            return self.json(schema) if isinstance(schema, dict) else f"%json {grammar.source}"
        if grammar.kind == "regex":
            return f"/{_on_one_line(grammar.source)}/"
        if grammar.kind == "choice":
            return "(" + " | ".join(self.text(str(each)) for each in _read(grammar)) + ")"
        raise UnsupportedParameter(
            f"{grammar.param} as Lark cannot be combined with tools or reasoning; use a schema, a "
            f"regular expression or a choice",
            param=grammar.param,
        )

    @property
    def terminals(self) -> list[str]:
        """Definitions that the expressions use."""
        return list(self._terminals.values())


def _escape(text: str) -> str:
    return _on_one_line(re.escape(text))


def _on_one_line(pattern: str) -> str:
    """Return a regular expression as written between slashes."""
    slashed = re.sub(r"(\\.)|/", lambda found: found[1] or r"\/", pattern, flags=re.DOTALL)
    return slashed.replace("\\\n", "\\n").replace("\n", "\\n")


def _read(grammar: Grammar) -> Any:
    try:
        return json.loads(grammar.source)
    except (ValueError, RecursionError):
        raise InvalidRequest(f"{grammar.param} is not valid JSON", param=grammar.param) from None


def _literal(text: str) -> str:
    return json.dumps(text)
