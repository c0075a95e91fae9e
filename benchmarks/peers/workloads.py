"""Requests for every peer, as token ids: W1 to W7.

A workload is a number of simultaneous conversations; the turns of one run in sequence, each with
the whole history, answers included. Tokens are random, so that prompts share what the shape says
only. Used by the client and the in-process peers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yaie.base.errors import InvalidRequest, ModelNotFound

_SHORTEST_WORD, _LONGEST_WORD = 3, 8
_ENOUGH_WORDS = 64
_QUICK_DIVISOR = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """The lengths of a workload, in tokens.

    Conversation `i` begins with prefix `i % num_prefixes` of `prefix_len` tokens; each of its turns
    adds `turn_len` tokens of its own and requests `num_samples` answers of `output_len`. A replay
    repeats the requests of its twin without `is_replay`, on a warm cache.
    """

    title: str
    num_conversations: int
    turn_len: int
    output_len: int
    num_prefixes: int = 0
    prefix_len: int = 0
    num_turns: int = 1
    num_samples: int = 1
    temperature: float = 0.0
    is_replay: bool = False

    @property
    def longest(self) -> int:
        """Final length of the longest sequence, in tokens."""
        return self.prefix_len + self.num_turns * (self.turn_len + self.output_len)

    @property
    def asked(self) -> Shape:
        """A description of the requests, equal for a workload and its replay."""
        return replace(self, title="", is_replay=False)

    def quick(self) -> Shape:
        """Return the same structure, far smaller: a check that it works, not a measurement."""
        return replace(
            self,
            num_conversations=min(self.num_conversations, 4),
            num_prefixes=min(self.num_prefixes, 2),
            prefix_len=self.prefix_len // _QUICK_DIVISOR // 4,
            turn_len=max(8, self.turn_len // _QUICK_DIVISOR),
            output_len=max(4, self.output_len // _QUICK_DIVISOR),
            num_samples=min(self.num_samples, 2),
        )


_SHARED = Shape("shared system prompt", 32, 64, 32, num_prefixes=1, prefix_len=1024)
_LONG = Shape("long shared context", 16, 64, 64, num_prefixes=1, prefix_len=3584)
SHAPES: dict[str, Shape] = {
    "w1": _SHARED,
    "w2": Shape("conversations", 8, 48, 32, num_prefixes=2, prefix_len=512, num_turns=4),
    "w3": Shape("no sharing", 16, 512, 32),
    "w4": Shape("single stream", 1, 128, 128),
    "w5": Shape("parallel samples", 8, 256, 64, num_samples=8, temperature=0.8),
    "w6": _LONG,
    "w6-8k": replace(_LONG, title="longer shared context", prefix_len=8192),
    "w7": replace(_SHARED, title="replay of W1", is_replay=True),
}
# Sent before all measurements, and (the second) at the start of each turn.
WARM_UP = Shape("warm-up", 8, 256, 16)
TOUCH = Shape("a short request", 1, 32, 8)


@dataclass(frozen=True, slots=True)
class Workload:
    """One instance of a shape: the new tokens of each turn of each conversation."""

    name: str
    shape: Shape
    conversations: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def num_prompt_tokens(self) -> int:
        """Number of prompt tokens as sent, histories included."""
        total = 0
        for turns in self.conversations:
            history = 0
            for turn in turns:
                history += len(turn)
                total += history
                history += self.shape.output_len
        return total

    @property
    def num_output_tokens(self) -> int:
        """Number of output tokens."""
        turns = sum(len(turns) for turns in self.conversations)
        return turns * self.shape.num_samples * self.shape.output_len

    @property
    def num_distinct_prompt_tokens(self) -> int:
        """Number of prompt tokens to compute from cold with a cache that shares everything.

        Answers are cached by the next turn, except their last token, which is computed with it.
        """
        distinct = count_distinct([turns[0] for turns in self.conversations])
        later = sum(1 + len(turn) for turns in self.conversations for turn in turns[1:])
        return distinct + later


def count_distinct(prompts: Iterable[Sequence[int]]) -> int:
    """Return the number of nodes in the trie of these prompts."""
    ordered = sorted(tuple(prompt) for prompt in prompts)
    total = 0
    previous: tuple[int, ...] = ()
    for prompt in ordered:
        common = 0
        for ours, theirs in zip(prompt, previous, strict=False):
            if ours != theirs:
                break
            common += 1
        total += len(prompt) - common
        previous = prompt
    return total


def build(name: str, shape: Shape, seed: int, vocabulary: Sequence[int]) -> Workload:
    """Return a workload with random tokens.

    The same shape, seed and vocabulary give the same requests; a replay gives those of its twin.
    """
    draw = random.Random(f"{shape.asked}-{seed}")

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(draw.choices(vocabulary, k=count))

    prefixes = [tokens(shape.prefix_len) for _ in range(shape.num_prefixes)]
    conversations = []
    for index in range(shape.num_conversations):
        turns = [tokens(shape.turn_len) for _ in range(shape.num_turns)]
        if prefixes:
            turns[0] = prefixes[index % len(prefixes)] + turns[0]
        conversations.append(tuple(turns))
    return Workload(name, shape, tuple(conversations))


def choose_shapes(names: Sequence[str], *, quick: bool = False) -> dict[str, Shape]:
    """Return the shapes of these names, in this order; without names all.

    Raises `InvalidRequest` for an unknown name.
    """
    for name in names:
        if name not in SHAPES:
            raise InvalidRequest(
                f"there is no workload {name!r}; there are {', '.join(SHAPES)}", param="workloads"
            )
    chosen = {name: SHAPES[name] for name in (names or SHAPES)}
    return {name: shape.quick() for name, shape in chosen.items()} if quick else chosen


def read_vocabulary(folder: Path) -> list[int]:
    """Return token ids of whole lower-case words of the model's tokenizer.

    Prompts then hold neither special tokens nor half characters. With few words: all but the
    special tokens. Raises `ModelNotFound` if the folder has no tokenizer.json.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelNotFound(f"{folder} has no tokenizer.json; requests are drawn from its words")
    described = json.loads(path.read_text(encoding="utf-8"))
    special = {token["id"] for token in described.get("added_tokens", ())}
    pieces = described["model"]["vocab"]
    if not isinstance(pieces, dict):  # unigram models list pairs of piece and score
        pieces = {piece: index for index, (piece, _) in enumerate(pieces)}
    words = [
        index
        for piece, index in pieces.items()
        if piece[:1] in ("Ġ", "▁") and _is_word(piece[1:]) and index not in special
    ]
    if len(words) < _ENOUGH_WORDS:
        words = [index for index in pieces.values() if index not in special]
    return sorted(words)


def _is_word(text: str) -> bool:
    is_plain = text.isascii() and text.isalpha() and text.islower()
    return is_plain and _SHORTEST_WORD <= len(text) <= _LONGEST_WORD
