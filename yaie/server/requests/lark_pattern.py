"""Grammars of custom tools as regular expressions, where no rule contains itself.

A regular expression fits into every tool-call form: as the `pattern` of a JSON string, and between
tags.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

MAX_CHARS = 16_384
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|//[^\n]*|\\\r?\n)
    |(?P<line>\n)
    |(?P<string>"(?:[^"\\\n]|\\.)*"i?)
    |(?P<regexp>/(?!/)(?:[^/\\\n]|\\.)+/[imslux]*)
    |(?P<name>[_A-Za-z][A-Za-z0-9_]*)
    |(?P<number>[0-9]+)
    |(?P<directive>%[a-z]+)
    |(?P<sign>->|\.\.|[:|()\[\]+*?~,.!])""",
    re.VERBOSE,
)
_COMMON = {
    "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
    "CR": r"\r",
    "DIGIT": "[0-9]",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\.)*"',
    "FLOAT": r"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?",
    "HEXDIGIT": "[0-9a-fA-F]",
    "INT": "[0-9]+",
    "LCASE_LETTER": "[a-z]",
    "LETTER": "[A-Za-z]",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "NUMBER": r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?",
    "SIGNED_INT": "[+-]?[0-9]+",
    "UCASE_LETTER": "[A-Z]",
    "WORD": "[A-Za-z]+",
    "WS": r"[ \t\f\r\n]+",
    "WS_INLINE": r"[ \t]+",
}
_ENDINGS = {"(": ")", "[": "]"}
Token = tuple[str, str]  # its kind and its text


class NoPattern(ValueError):
    """The grammar cannot be written as one regular expression."""


def pattern_of(definition: str, syntax: str) -> str:
    """Return a regular expression, without anchors. Raises `NoPattern`."""
    found = definition if syntax == "regex" else _Rules(definition).expand("start")
    if len(found) > MAX_CHARS:
        raise NoPattern(f"it has more than {MAX_CHARS} characters as a regular expression")
    return found


class _Rules:
    """Rules and terminals of a grammar in Lark's syntax, by name."""

    def __init__(self, source: str) -> None:
        self._bodies: dict[str, list[Token]] = {}
        self._patterns: dict[str, str] = {}
        self._open: list[str] = []  # rules being expanded
        for line in _statements(list(_tokens(source))):
            self._add(line)

    def expand(self, name: str) -> str:
        """Return the regular expression of a rule or a terminal."""
        if name in self._patterns:
            return self._patterns[name]
        if name in self._open:
            raise NoPattern(f"the rule {name[:40]!r} contains itself")
        if name not in self._bodies:
            raise NoPattern(f"the rule {name[:40]!r} is missing")
        self._open.append(name)
        waiting = list(reversed(self._bodies[name]))
        pattern = self._read_choice(waiting)
        if waiting:
            raise NoPattern(f"the rule {name[:40]!r} has {waiting[-1][1][:40]!r} at a wrong place")
        self._open.pop()
        self._patterns[name] = pattern
        return pattern

    def _add(self, line: list[Token]) -> None:
        if line[0] == ("directive", "%import"):
            names = [text for kind, text in line if kind == "name"]
            if names[:1] != ["common"] or ("sign", "->") in line:
                raise NoPattern("it imports a name from another module than common")
            for name in names[1:]:
                if name not in _COMMON:
                    raise NoPattern(f"common.{name[:40]} is unknown")
                self._patterns[name] = _COMMON[name]
            return
        if line[0][0] == "directive":
            raise NoPattern(f"it uses {line[0][1][:40]}")
        if not _begins(line[:5]):
            raise NoPattern(f"it has {line[0][1][:40]!r} at a wrong place")
        at = line.index(("sign", ":"))
        name = next(text for kind, text in line if kind == "name")
        self._bodies[name] = line[at + 1 :]

    def _read_choice(self, waiting: list[Token]) -> str:
        """Read alternatives; `waiting` has the tokens in reverse."""
        found = [self._read_sequence(waiting)]
        while waiting and waiting[-1] == ("sign", "|"):
            waiting.pop()
            found.append(self._read_sequence(waiting))
        return "(?:" + "|".join(found) + ")" if len(found) > 1 else found[0]

    def _read_sequence(self, waiting: list[Token]) -> str:
        found, num_chars = [], 0
        while waiting and waiting[-1][1] not in ("|", ")", "]", "->"):
            found.append(self._read_item(waiting))
            num_chars += len(found[-1])
            if num_chars > MAX_CHARS:
                raise NoPattern(f"it has more than {MAX_CHARS} characters as a regular expression")
        if waiting and waiting[-1] == ("sign", "->"):
            del waiting[-2:]  # the name of an alternative
        return "".join(found)

    def _read_item(self, waiting: list[Token]) -> str:
        kind, text = waiting.pop()
        if kind == "name":
            item = self.expand(text)
        elif kind == "string":
            item = self._read_string(text, waiting)
        elif kind == "regexp":
            body, _, flags = text[1:].rpartition("/")
            flags = re.sub("[lux]", "", flags)
            item = f"(?{flags}:{body})" if flags else f"(?:{body})"
            item = item.replace(r"\/", "/")
        elif text in _ENDINGS:
            item = self._read_choice(waiting)
            if not waiting or waiting.pop()[1] != _ENDINGS[text]:
                raise NoPattern(f"a {text!r} is not closed")
            item = f"(?:{item})" + ("?" if text == "[" else "")
        else:
            raise NoPattern(f"it has {text[:40]!r} at a wrong place")
        return _quantify(item, waiting)

    def _read_string(self, text: str, waiting: list[Token]) -> str:
        value = _value_of(text)
        if waiting and waiting[-1] == ("sign", ".."):
            waiting.pop()
            last = _value_of(waiting.pop()[1]) if waiting else ""
            if len(value) != 1 or len(last) != 1:
                raise NoPattern("a range has other ends than single characters")
            return f"[{_escape(value)}-{_escape(last)}]"
        return f"(?i:{_escape(value)})" if text.endswith("i") else _escape(value)


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None or found.lastgroup is None:
            raise NoPattern(f"{source[at : at + 20]!r} is not Lark's syntax")
        at = found.end()
        if found.lastgroup != "blank":
            yield found.lastgroup, found[0]


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement; a rule ends where the next statement begins."""
    statement: list[Token] = []
    is_new_line = True
    for at, token in enumerate(tokens):
        if token[0] == "line":
            is_new_line = True
            continue
        if is_new_line and statement and _begins(tokens[at : at + 5]):
            yield statement
            statement = []
        statement.append(token)
        is_new_line = False
    if statement:
        yield statement


def _begins(tokens: list[Token]) -> bool:
    """Return whether a statement begins with these tokens."""
    written = "".join(text if kind == "sign" else kind for kind, text in tokens)
    return re.match(r"directive|[?!]*name(\.number)?:", written) is not None


def _quantify(item: str, waiting: list[Token]) -> str:
    if waiting and waiting[-1][1] in ("?", "*", "+"):
        return f"(?:{item}){waiting.pop()[1]}"
    if waiting and waiting[-1] == ("sign", "~"):
        waiting.pop()
        least = most = _number(waiting)
        if waiting and waiting[-1] == ("sign", ".."):
            waiting.pop()
            most = _number(waiting)
        return f"(?:{item}){{{least},{most}}}"
    return item


def _number(waiting: list[Token]) -> int:
    kind, text = waiting.pop() if waiting else ("", "")
    if kind != "number" or len(text) > 4:
        raise NoPattern("a repetition has no number, or one over 9,999")
    return int(text)


def _value_of(text: str) -> str:
    try:
        return str(ast.literal_eval(text.removesuffix("i")))
    except (ValueError, SyntaxError):
        raise NoPattern(f"{text[:40]} is not a string") from None


def _escape(text: str) -> str:
    return re.escape(text).replace("\\\n", r"\n").replace("\\\r", r"\r").replace("\\\t", r"\t")
