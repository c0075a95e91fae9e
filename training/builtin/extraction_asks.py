"""More ways in which strangers ask for JSON: every order of request, keys and text, terse to \
chatty.

`{keys}` is the list of keys in any style, `{plain}` "a, b", `{prose}` "a and b", `{the}` "the a
and the b", `{quoted}` the keys in quotes, `{typed}` the keys with their types in parentheses,
`{schema}` a schema or template, `{text}` the text. `SYSTEM` describe the task in a system prompt;
the user then sends the text only. Called by `extraction.py` and, for the honesty test, by
`wordings.py`.
"""

from __future__ import annotations

from .extraction_frames import ready
from .tables import load

T = load("extraction_asks")


def _frames(block: str) -> list[str]:
    block = block.replace("@TEXTs", "[texts|messages|notes]")
    return ready(block.strip().splitlines())


KEYS = _frames(T._KEYS)
SCHEMAS = _frames(T._SCHEMAS)
SYSTEM = _frames(T._SYSTEM)
