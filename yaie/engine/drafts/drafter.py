"""The drafter protocol: a sequence in, its guessed next tokens out."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as SequenceOf
from typing import Protocol

from yaie.engine.request import Sequence


class Drafter(Protocol):
    """A source of guessed tokens. A wrong guess costs time; it never changes a token."""

    def propose(self, sequence: Sequence, limit: int) -> SequenceOf[int]:
        """Return at most `limit` tokens that may follow a sequence; none without a guess."""

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
