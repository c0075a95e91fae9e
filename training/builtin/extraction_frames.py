"""Ways to ask for JSON around a text: keys as lists, with types, as templates or as schemas.

`{keys}` is where the keys are listed, `{schema}` where a schema or template stands, `{text}` where
the text stands. `SYSTEM` are instructions for a system prompt; the user then sends the text only.
Called by `extraction.py` and, for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

from .tables import load

T = load("extraction_frames")

_JSON = "[json|a json object|one json object|valid json|plain json|json only]"
_TEXT = "[text|sentence|message|note|paragraph|line|snippet]"
_GET = "[extract|get|pull|take|find|collect|read|pick out|grab|fetch|gather]"
_GIVE = "[return|give me|write|output|produce|print|send back|reply with|answer with|respond with]"


def ready(lines: list[str]) -> list[str]:
    """The frames with the words that stand for each `@MARK` and with their line breaks."""
    text = "\x00".join(lines)
    for mark, words in (("@TEXT", _TEXT), ("@GET", _GET), ("@GIVE", _GIVE), ("@JSON", _JSON)):
        text = text.replace(mark, words)
    return text.replace("\\n", "\n").split("\x00")


KEYS = ready(T._KEYS)
SCHEMAS = ready(T._SCHEMAS)
SYSTEM = ready(T._SYSTEM)
