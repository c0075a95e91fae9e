"""`ContentMarkers`: markers of a chat template that stand in messages and tools stay text there.

A message with `<|im_end|>` in it would otherwise end its turn and begin another. A sentinel goes
before each marker of a content, the template renders it with the content, and the prompt is cut
inside these markers, so that the tokenizer finds none there. Contents without a marker cost one
scan, and their prompt is encoded as a whole.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Any

import msgspec

from yaie.base.errors import InvalidRequest
from yaie.text.formats.syntax import Thinking
from yaie.text.plain_messages import Message

_SENTINELS = [chr(code) for code in range(0xFDD0, 0xFDF0)]  # noncharacters of Unicode
_NEVER = "(?!)"
SLICE_CHARS = 2**16  # searched at once, a few milliseconds at worst
# Words by which templates read messages and tools. They cannot be part of a marker alone.
_READ_WORDS = frozenset(
    (
        "type", "function", "name", "description", "parameters", "properties", "required", "enum",
        "items", "arguments", "content", "text", "id", "tool_calls", "tool_call_id", "reasoning",
        "reasoning_content", "thinking", "string", "number", "integer", "boolean", "array",
        "object", "null",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarkedChat:
    """A chat with a sentinel before each marker in its contents."""

    messages: list[Message]
    tools: list[Any] | None
    options: dict[str, Any]  # variables of the template
    sentinel: str = ""  # empty if the contents have no marker


class ContentMarkers:
    """Finder of one template's markers in contents, and of the cuts in its prompts.

    `literals` are the strings of the template, which may complete a marker around a content, as
    `'<|' + name + '|>'` does. `thinking` are marks at which the template splits past answers.
    """

    def __init__(
        self, markers: Iterable[str], literals: Iterable[str], thinking: Thinking | None
    ) -> None:
        known = sorted({marker for marker in markers if len(marker.strip()) > 1})
        self._thinking = thinking
        starts, middles = map(sorted, _completed_by(literals, known))
        self._occurrence = _SlicedPattern(f"(?=({_any_of(known)}))", known)
        glued = rf"\A(?:{_any_of(starts)}|(?:{_any_of(middles)})\Z)"
        self._spot = _SlicedPattern(
            rf"(?={_any_of(known, chr(92) + 'Z')}|{glued})", (*known, *starts, *middles)
        )
        in_json = [sorted(map(_write_in_json, words)) for words in (known, starts, middles)]
        pattern = _any_of(in_json[0], '"')
        if starts:
            pattern += f'|"(?:{_any_of(in_json[1])}|(?:{_any_of(in_json[2])})")'
        self._in_json = _SlicedPattern(
            pattern, [f'"{word}"' for words in in_json for word in words]
        )

    def mark(
        self,
        messages: list[Message],
        tools: Sequence[Mapping[str, Any]] | None,
        options: Mapping[str, Any],
    ) -> MarkedChat:
        """Return a chat with its contents marked. Raises `InvalidRequest`."""
        chat = MarkedChat(messages, [dict(each) for each in tools] if tools else None, {**options})
        around = [chat.tools, chat.options]
        if not self._may_have_markers([[self._contents(each) for each in messages], around]):
            return chat
        texts: list[str] = []
        _copy([[self._contents(each) for each in messages], around], texts.append)
        sentinel = _choose_sentinel("\n".join(texts))

        def change(text: str) -> str:
            if text in _READ_WORDS:
                return text
            places = [0, *(found.start() for found in self._spot.matches(text)), len(text)]
            return sentinel.join(text[begin:end] for begin, end in pairwise(places))

        return MarkedChat(
            [self._mark_message(message, change) for message in messages],
            _copy(chat.tools, change),
            _copy(chat.options, change),
            sentinel,
        )

    def cut(self, text: str, sentinel: str) -> tuple[str, ...]:
        """Return a prompt without its sentinels, in pieces that end inside contents' markers."""
        if not sentinel:
            return (text,)
        parts = text.replace(_escape(sentinel), sentinel).split(sentinel)
        clean = "".join(parts)
        spots = list(accumulate(map(len, parts[:-1])))
        cuts = set()
        for found in self._occurrence.matches(clean):
            start, end = found.span(1)
            at = bisect_left(spots, start)
            if at < len(spots) and spots[at] < end:
                cuts.add(max(spots[at], start + 1))
        places = [0, *sorted(cuts), len(clean)]
        return tuple(clean[begin:end] for begin, end in pairwise(places))

    def _may_have_markers(self, contents: object) -> bool:
        try:
            return any(self._in_json.matches(msgspec.json.encode(contents).decode()))
        except (TypeError, ValueError, RecursionError):
            return True  # contents that JSON cannot hold are searched one by one

    def _contents(self, message: Message) -> dict[str, Any]:
        """Return the fields of a message that hold a client's text."""
        content = message["content"]
        texts = self._divide(message)[::2] if isinstance(content, str) else content
        fields = {name: value for name, value in message.items() if name != "role"}
        return {**fields, "content": texts}

    def _mark_message(self, message: Message, change: Callable[[str], str]) -> Message:
        marked = {
            name: value if name in ("role", "content") else _copy(value, change)
            for name, value in message.items()
        }
        if isinstance(message["content"], str):
            pieces = self._divide(message)
            pieces[::2] = map(change, pieces[::2])
            return {**marked, "content": "".join(pieces)}
        return {**marked, "content": [change(text) for text in message["content"]]}

    def _divide(self, message: Message) -> list[str]:
        """Return a content in pieces; at odd places are marks at which the template splits it."""
        content, thinking = message["content"], self._thinking
        if thinking is None or message["role"] != "assistant" or thinking.closer not in content:
            return [content]
        before, _, after = content.partition(thinking.closer)
        blank, opener, reasoning = before.partition(thinking.opener)
        if opener and not blank.strip():
            return [blank, opener, reasoning, thinking.closer, after]
        return [before, thinking.closer, after]


class _SlicedPattern:
    r"""Pattern of words, at which a search holds the interpreter lock for a slice at a time.

    A match begins in its slice, and the search sees as many characters after the slice as the
    longest word has. So `\Z` holds at the end of a text alone.
    """

    def __init__(self, pattern: str, words: Iterable[str]) -> None:
        self._pattern = re.compile(pattern)
        self._longest = max(map(len, words), default=0)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text, in their order."""
        for first in range(0, len(text), SLICE_CHARS):
            behind = first + SLICE_CHARS
            for found in self._pattern.finditer(text, first, behind + self._longest):
                if found.start() >= behind:
                    break
                yield found


class TextMarkers:
    """Finder of markers in plain texts, which are cut there, so that a tokenizer finds none."""

    def __init__(self, markers: Iterable[str]) -> None:
        known = sorted({marker for marker in markers if len(marker.strip()) > 1})
        self._occurrence = _SlicedPattern(f"(?={_any_of(known)})", known)

    def cut(self, text: str) -> tuple[str, ...]:
        """Return a text in pieces, the first character of each marker at the end of one."""
        cuts = [found.start() + 1 for found in self._occurrence.matches(text)]
        places = [0, *cuts, len(text)]
        return tuple(text[begin:end] for begin, end in pairwise(places))


def find_markers(
    marker_ids: Mapping[str, int], special_ids: Collection[int], source: str
) -> list[str]:
    """Return the markers among the added tokens: special ones, and signs in the template."""
    return [
        text
        for text, token_id in marker_ids.items()
        if token_id in special_ids or (text in source and not text[:1].isalnum())
    ]


def _completed_by(literals: Iterable[str], markers: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the beginnings of contents, and the whole contents, that literals make markers."""
    longest = max(map(len, markers), default=0)
    known = set(literals)
    ends = {text[-size:] for text in known for size in range(1, min(len(text), longest) + 1)}
    begins = {text[:size] for text in known for size in range(1, min(len(text), longest) + 1)}
    starts, middles = set(), set()
    for marker in markers:
        for at in range(1, len(marker)):
            if marker[:at] in ends:
                starts.add(marker[at:])
                middles |= {
                    marker[at:end] for end in range(at + 1, len(marker)) if marker[end:] in begins
                }
    return starts, middles


def _any_of(words: Sequence[str], end: str = "") -> str:
    """Return a pattern of the longest of sorted words; with `end` also of a beginning before it."""
    if not words:
        return _NEVER
    branches = []
    for first, group in groupby(words, key=lambda word: word[0]):
        rests = [word[1:] for word in group]
        inner = [rest for rest in rests if rest]
        branch = re.escape(first)
        if inner:
            tail = _any_of(inner, end) + (f"|{end}" if end else "")
            branch += f"(?:{tail})" + ("?" if len(inner) < len(rests) else "")
        branches.append(branch)
    return "|".join(branches)


def _copy(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a copy of nested lists and mappings, with their strings and keys changed."""
    found: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any]] = [(found, 0, value)]  # clients nest deep
    while waiting:
        target, key, given = waiting.pop()
        if isinstance(given, str):
            target[key] = change(given)
        elif isinstance(given, Mapping):
            inner: dict[Any, Any] = {}
            target[key] = inner
            for name, each in given.items():
                new = change(name) if isinstance(name, str) else name
                inner[new] = None  # keeps the order
                waiting.append((inner, new, each))
        elif isinstance(given, list | tuple):
            target[key] = [None] * len(given)
            waiting += [(target[key], at, each) for at, each in enumerate(given)]
        else:
            target[key] = given
    return found[0]


def _choose_sentinel(text: str) -> str:
    """Return a character that no content has, nor its escape in JSON."""
    for sentinel in _SENTINELS:
        if sentinel not in text and _escape(sentinel) not in text:
            return sentinel
    raise InvalidRequest(
        "the messages have all 32 noncharacters from U+FDD0 to U+FDEF; remove one", param="messages"
    )


def _write_in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _escape(sentinel: str) -> str:
    return json.dumps(sentinel)[1:-1]
