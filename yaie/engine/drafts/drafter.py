"""The drafter protocol: a sequence in, its guessed next tokens out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from yaie.engine.request import Sequence

_TOLD_APART = 4  # tokens of a match; each of these lengths is a kind


@dataclass(frozen=True, slots=True)
class Guess:
    """Guessed next tokens, and the kind of guess: how often its tokens are right is learned."""

    token_ids: tuple[int, ...]
    source: str
    match_length: int = 0  # equal tokens before the guess; 0 where it has no meaning
    assumed: float = 0.5  # share of right tokens, until guesses of the kind have been seen

    @property
    def kind(self) -> tuple[str, int]:
        """Source and match length, long ones in powers of two: guesses of a kind are alike."""
        length = self.match_length
        return self.source, length if length <= _TOLD_APART else _TOLD_APART + length.bit_length()


class Drafter(Protocol):
    """A source of guessed tokens. A wrong guess costs time; it never changes a token."""

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return at most `limit` tokens that may follow a sequence; None without a guess."""

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
