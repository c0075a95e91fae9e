"""`CustomInput`: the text of a custom tool's call, read from JSON arguments while they arrive."""

from __future__ import annotations

import json
import re

from yaie.server.replies.call_arguments import (
    drop_unfinished_escape,
    read_arguments,
    repair_escapes,
)
from yaie.text.past_calls import INPUT

_BEGIN = re.compile(rf'\s*\{{\s*"{INPUT}"\s*:\s*"')
# Characters and escapes that are certain. The first half of a surrogate pair waits for the second,
# and an escape for its digits, or for a character that is no digit.
_HEX = "[0-9a-fA-F]"
_BROKEN = rf"\\u{_HEX}{{0,3}}(?!{_HEX})(?=.)"
_LOW = rf"\\u[dD][c-fC-F]{_HEX}{{2}}"
_OTHER = rf"[^\\]|\\[^u]|\\u(?![dD][c-fC-F]){_HEX}{{4}}|{_BROKEN}"  # than a second half
_CERTAIN = re.compile(
    rf'(?:[^"\\]|\\[^u]|\\u(?![dD][89abAB]){_HEX}{{4}}|{_BROKEN}'
    rf"|\\u[dD][89abAB]{_HEX}{{2}}(?:{_LOW}|(?={_OTHER})))*",
    re.DOTALL,
)


class CustomInput:
    """Reader of `{"input": "..."}`. Arguments in another form are read at their end.

    The whole text does not depend on the cuts between pieces.
    """

    def __init__(self) -> None:
        self._begun = ""  # until the text begins
        self._rest: str | None = None  # of the text, not certain yet
        self._is_over = False

    def push(self, arguments: str) -> str:
        """Add a piece of the arguments; return the text that is certain now."""
        if self._is_over:
            return ""
        if self._rest is None:
            self._begun += arguments
            found = _BEGIN.match(self._begun)
            if found is None:
                return ""
            self._rest = self._begun[found.end() :]
        else:
            self._rest += arguments
        certain = _CERTAIN.match(self._rest)
        assert certain is not None
        text, self._rest = self._rest[: certain.end()], self._rest[certain.end() :]
        self._is_over = self._rest.startswith('"')
        return _decode(text)

    def end(self) -> str:
        """Return the rest of the text, at the end of the arguments."""
        if self._rest is None:
            return _read_other(self._begun)
        return "" if self._is_over else _decode(drop_unfinished_escape(self._rest))


def read_input(arguments: str) -> str:
    """Return the text of whole arguments."""
    reader = CustomInput()
    return reader.push(arguments) + reader.end()


def _decode(text: str) -> str:
    found: str = json.loads(f'"{repair_escapes(text)}"', strict=False)
    return found


def _read_other(arguments: str) -> str:
    """Return the text of arguments in another form: their only text, or all of them."""
    members = read_arguments(arguments)
    if isinstance(members.get(INPUT), str):
        return str(members[INPUT])
    texts = [each for each in members.values() if isinstance(each, str)]
    return texts[0] if len(texts) == len(members) == 1 else arguments
