"""Lark source for llguidance: literal text, special tokens and JSON schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# Written as chat templates write the calls of earlier turns.
_JSON_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class Lark:
    """Writer of Lark expressions; `marker_ids` are the markers with a token of their own."""

    def __init__(self, marker_ids: Mapping[str, int]) -> None:
        self._ids = marker_ids
        self.terminals: list[str] = []  # definitions that the expressions use
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
        """Return the expression of the JSON text of a schema's instance."""
        return "%json " + json.dumps({**schema, "x-guidance": _JSON_STYLE})

    def up_to(self, marker: str) -> str:
        """Return the expression of any text and the marker behind it."""
        if marker in self._ids:  # no text matches a special token
            return f"/(?s:.*)/ <[{self._ids[marker]}]>"
        name = f"UP_TO_{len(self.terminals)}"
        ending = re.escape(marker).replace("/", "\\/")
        self.terminals.append(f"{name}: /(?s:.*){ending}/ & ~/(?s:.*){ending}(?s:.+)/")
        return name


def _literal(text: str) -> str:
    return json.dumps(text)
