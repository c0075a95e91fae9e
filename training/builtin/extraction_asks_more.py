"""Still more ways in which strangers ask for JSON: prompts of developers, the text in \
mid-sentence, the request after the text.

The slots are those of `extraction_asks.py`: `{keys}`, `{plain}`, `{prose}`, `{the}`, `{quoted}`,
`{typed}`, `{schema}` and `{text}`. `SYSTEM` describe the task in a system prompt; the user then
sends the text only. Called by `extraction.py` and, for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

from .extraction_frames import ready
from .tables import load

T = load("extraction_asks_more")


KEYS = ready(T._KEYS.strip().splitlines())
SCHEMAS = ready(T._SCHEMAS.strip().splitlines())
SYSTEM = ready(T._SYSTEM.strip().splitlines())
