"""Ways to ask for JSON around a text: keys as lists, with types, as templates or as schemas.

Slots: `{text}`; the keys as `{keys}` (any style), `{plain}` "a, b", `{prose}` "a and b", `{the}`
"the a and the b", `{quoted}` in quotes, `{typed}` with types in parentheses; `{schema}` a schema
or template. `system` frames are system prompts; the user then sends the text only.
"""

from __future__ import annotations

from typing import NamedTuple

from .tables import load

_MARKS = {
    "@TEXTs": "[texts|messages|notes]",
    "@TEXT": "[text|sentence|message|note|paragraph|line|snippet]",
    "@GET": "[extract|get|pull|take|find|collect|read|pick out|grab|fetch|gather]",
    "@GIVE": "[return|give me|write|output|produce|print|send back|reply with|answer with|"
    "respond with]",
    "@JSON": "[json|a json object|one json object|valid json|plain json|json only]",
}


class Frames(NamedTuple):
    """Frames around keys, around a schema, and in the system prompt."""

    keys: list[str]
    schemas: list[str]
    system: list[str]


def _frames(name: str) -> Frames:
    table = load(name)
    return Frames(_written(table.KEYS), _written(table.SCHEMAS), _written(table.SYSTEM))


def _written(lines: list[str]) -> list[str]:
    text = "\0".join(lines)
    for mark, words in _MARKS.items():
        text = text.replace(mark, words)
    return text.replace("\\n", "\n").split("\0")


PLAIN = _frames("extraction_frames")
ALL = (_frames("extraction_asks"), _frames("extraction_asks_more"), PLAIN)
ASIDE = load("extraction_frames").ASIDE
