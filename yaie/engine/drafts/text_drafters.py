"""Drafters that read text which is known anyway: held paths, predictions, prompts, outputs. Pure.

An edit repeats most of the prompt, an answer quotes it, and JSON repeats its keys. The tokens that
followed the same words before are the guess.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from yaie.engine.drafts.drafter import Guess
from yaie.engine.drafts.token_search import (
    LONGEST_MATCH,
    RUN,
    GrowingText,
    SeenRuns,
    find_continuation,
)
from yaie.engine.request import Sequence
from yaie.kvcache.node import Tokens, as_tokens

LEAST_MATCH = RUN  # shorter runs repeat by chance
LEAST_IN_PREDICTION = 2
MOST_CHANGED = 3  # tokens in a row that differ from a prediction, which then continues
LEAST_BEFORE_CHANGE = 5  # tokens; a renamed word is a change of one or a few
# Shares of right tokens that are assumed at first.
_OF_HELD = 0.8
_OF_PREDICTION = 0.8
_AFTER_CHANGE_OF_PREDICTION = 0.6
_AFTER_CHANGE_OF_TEXT = 0.2
_HALF_RIGHT = 4  # equal tokens before an own text's guess of which half is right
_START = -1  # no token: the start of an output and of a prediction


class HeldEdge:
    """Guesses from the tree: an earlier sequence continued from this very path.

    Keys and values of these tokens are in the pool, so their rows are computed for logits only.
    """

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return the computed tokens after the cursor on its edge."""
        cursor = sequence.cursor
        assert cursor is not None
        assert cursor.node is not None
        node, first = cursor.node, cursor.offset
        tokens = tuple(node.tokens[first : min(first + limit, node.num_computed)])
        return Guess(tokens, "edge", assumed=_OF_HELD) if tokens else None

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Do nothing: the tree knows all."""


class OwnText:
    """Guesses from a sequence's own prompt and output."""

    def __init__(self) -> None:
        self._texts: dict[Sequence, tuple[GrowingText, SeenRuns]] = {}
        self._found: set[Sequence] = set()  # a guess was found for their last token

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return what followed the last tokens before; at most as many as were equal."""
        text, runs = self._text_of(sequence)
        was_found = sequence in self._found
        self._found.discard(sequence)
        if not (was_found or runs.ends_with_known):
            return None
        tokens = text.view()
        place, length = find_continuation(tokens, tokens[-LONGEST_MATCH:], LEAST_MATCH)
        if length:
            self._found.add(sequence)
            # A run that reaches the end repeats with its period.
            found = np.resize(tokens[place:], min(limit, length))
            assumed = length / (length + _HALF_RIGHT)
            return Guess(tuple(found.tolist()), "text", length, assumed)
        if not was_found:
            return None
        end = tokens[-LONGEST_MATCH:]
        found, length = _after_change(tokens[:-1], end, limit, LEAST_BEFORE_CHANGE)
        if not len(found):
            return None
        return Guess(tuple(found.tolist()), "text after change", length, _AFTER_CHANGE_OF_TEXT)

    def _text_of(self, sequence: Sequence) -> tuple[GrowingText, SeenRuns]:
        found = self._texts.get(sequence)
        if found is None:
            text = GrowingText(sequence.tokens())
            found = self._texts[sequence] = text, SeenRuns(text.view())
        text, runs = found
        missing = len(sequence.request.prompt) + len(sequence.output) - len(text)
        if missing:
            added = sequence.output[-missing:]
            text.extend(added)
            runs.extend(added)
        if len(text) > runs.capacity:
            found = self._texts[sequence] = text, SeenRuns(text.view())
        return found

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
        self._texts = {each: text for each, text in self._texts.items() if each in sequences}
        self._found &= set(sequences)


class Prediction:
    """Guesses from the answer that the caller predicts, as OpenAI's `prediction` has it."""

    def __init__(self) -> None:
        self._texts: dict[Sequence, Tokens] = {}

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return the prediction's tokens after the last ones of the output."""
        predicted = sequence.request.prediction
        if not predicted:
            return None
        text = self._texts.get(sequence)
        if text is None:
            text = self._texts[sequence] = as_tokens((_START, *predicted))
        end = sequence.output[-LONGEST_MATCH:]
        if len(end) < LONGEST_MATCH:
            end.insert(0, _START)
        place, length = find_continuation(text, np.array(end), min(LEAST_IN_PREDICTION, len(end)))
        source, assumed, found = "prediction", _OF_PREDICTION, text[place : place + limit]
        for num_changed in range(1, 1 if length else MOST_CHANGED + 1):
            source, assumed = "prediction after change", _AFTER_CHANGE_OF_PREDICTION
            ids = np.array(end)
            found, length = _after_change(text, ids, limit, LEAST_IN_PREDICTION, num_changed)
            if length:
                break
        return Guess(tuple(found.tolist()), source, length, assumed) if len(found) else None

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
        self._texts = {each: text for each, text in self._texts.items() if each in sequences}


def _after_change(
    text: Tokens, end: Tokens, limit: int, least: int, num_changed: int = 1
) -> tuple[Tokens, int]:
    """Return the tokens after those that the last of `end` replace in `text`, if they do.

    With them the number of equal tokens before the change: there are no more than these.
    """
    place, length = find_continuation(text, end[:-num_changed], least)
    place += num_changed
    return text[place : place + min(limit, length)], length
