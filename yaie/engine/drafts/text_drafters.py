"""Drafters that read text known with the request: its prediction, its prompt and its output. Pure.

An edit repeats most of the prompt, an answer quotes it, and JSON repeats its keys. The tokens that
followed the same words before are the guess.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as SequenceOf

import numpy as np

from yaie.engine.drafts.token_search import LONGEST_MATCH, GrowingText, find_continuation
from yaie.engine.request import Sequence
from yaie.kvcache.node import Tokens, as_tokens

LEAST_MATCH = 3  # tokens; shorter runs repeat by chance
LEAST_IN_PREDICTION = 2
_START = -1  # no token: the start of an output and of a prediction


class OwnText:
    """Guesses from a sequence's own prompt and output."""

    def __init__(self) -> None:
        self._texts: dict[Sequence, GrowingText] = {}

    def propose(self, sequence: Sequence, limit: int) -> SequenceOf[int]:
        """Return what followed the last tokens before; at most as many as were equal."""
        text = self._text_of(sequence)
        tokens = text.view()
        place, length = find_continuation(tokens, tokens[-LONGEST_MATCH:], LEAST_MATCH)
        if not length:
            return ()
        # A run that reaches the end repeats with its period.
        found: list[int] = np.resize(tokens[place:], min(limit, length)).tolist()
        return found

    def _text_of(self, sequence: Sequence) -> GrowingText:
        text = self._texts.get(sequence)
        if text is None:
            text = self._texts[sequence] = GrowingText(sequence.tokens())
        missing = len(sequence.request.prompt) + len(sequence.output) - len(text)
        if missing:
            text.extend(sequence.output[-missing:])
        return text

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
        self._texts = {each: text for each, text in self._texts.items() if each in sequences}


class Prediction:
    """Guesses from the answer that the caller predicts, as OpenAI's `prediction` has it."""

    def __init__(self) -> None:
        self._texts: dict[Sequence, Tokens] = {}

    def propose(self, sequence: Sequence, limit: int) -> SequenceOf[int]:
        """Return the prediction's tokens after the last ones of the output."""
        predicted = sequence.request.prediction
        if not predicted:
            return ()
        text = self._texts.get(sequence)
        if text is None:
            text = self._texts[sequence] = as_tokens((_START, *predicted))
        end = sequence.output[-LONGEST_MATCH:]
        if len(end) < LONGEST_MATCH:
            end.insert(0, _START)
        place, length = find_continuation(text, np.array(end), min(LEAST_IN_PREDICTION, len(end)))
        found: list[int] = text[place : place + limit].tolist() if length else []
        return found

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Forget what is known about all other sequences."""
        self._texts = {each: text for each, text in self._texts.items() if each in sequences}
