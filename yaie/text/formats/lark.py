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
        self._terminals: dict[str, str] = {}  # by marker
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
        token = next((each for each in self._ids if marker.endswith(each)), None)
        if token is not None:  # no text matches an added token
            return f"/(?s:.*)/ <[{self._ids[token]}]>"
        return self._terminals.setdefault(marker, f"UP_TO_{len(self._terminals)}")

    @property
    def terminals(self) -> list[str]:
        """Definitions that the expressions use."""
        return [f"{name}: {_up_to(marker)}" for marker, name in self._terminals.items()]


def _up_to(marker: str) -> str:
    ending = re.escape(marker).replace("/", "\\/").replace("\n", "n")
    return f"/(?s:.*){ending}/ & ~/(?s:.*){ending}(?s:.+)/"


def _literal(text: str) -> str:
    return json.dumps(text)
