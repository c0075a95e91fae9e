"""The time to the first token tells one API key nothing about the prompts of another."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np
import pytest
import requests

from tests.server.real_server import Server
from tests.tiny_model import VOCAB_SIZE

PROMPT_TOKENS = 1900
# The area under the curve of two equal distributions of so many times is 0.5 +- 0.02.
PAIRS = 400
# Two random prompts of one key may begin with the same token or two.
OWN_TOKENS = 2


def area_under_curve(known: list[float], new: list[float]) -> float:
    """Return the probability that a new prompt takes longer than a known one."""
    less = np.less.outer(known, new).mean()
    equal = np.equal.outer(known, new).mean()
    return float(less + equal / 2)


class Guesser:
    """A key that times prompts, some of which another key has sent before."""

    def __init__(self, server: Server) -> None:
        self._url = f"{server.url}/v1/completions"
        self._rng = random.Random(5)
        self._http = requests.Session()
        self.cached: set[int] = set()

    def prompt(self) -> list[int]:
        return [self._rng.randrange(3, VOCAB_SIZE) for _ in range(PROMPT_TOKENS)]

    def send(self, prompt: list[int], key: str) -> tuple[float, int]:
        """Return the seconds to the only token, and the number of cached tokens."""
        body = {"prompt": prompt, "max_tokens": 1}
        began = time.perf_counter()
        answer = self._http.post(self._url, json=body, headers={"X-API-Key": key})
        taken = time.perf_counter() - began
        assert answer.status_code == 200, answer.text
        return taken, answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"]

    def guess(self, pairs: int) -> float:
        """Return the area under the curve of known and new prompts, in random order."""
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(pairs):
            known, new = self.prompt(), self.prompt()
            self.send(known, "one")
            order = [(known, True), (new, False)]
            self._rng.shuffle(order)
            for prompt, is_known in order:
                taken, cached = self.send(prompt, "two")
                times[is_known].append(taken)
                if is_known:
                    self.cached.add(cached)
        return area_under_curve(times[True], times[False])


def guesser_of(start: Callable[..., Server], **variables: str) -> Guesser:
    server = start(YAIE_API_KEY="one,two", YAIE_AUDIT="false", **variables)
    server.wait_ready()
    guesser = Guesser(server)
    guesser.guess(5)  # warm-up
    guesser.cached.clear()
    return guesser


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_times_of_another_key_tell_nothing(start: Callable[..., Server]) -> None:
    guesser = guesser_of(start)
    area = guesser.guess(PAIRS)
    print(f"area under the curve of {PAIRS} pairs: {area:.3f}")
    assert max(guesser.cached) <= OWN_TOKENS
    assert 0.45 <= area <= 0.55


@pytest.mark.integration
def test_keys_get_no_cached_token_of_each_other(start: Callable[..., Server]) -> None:
    guesser = guesser_of(start)
    guesser.guess(10)
    assert max(guesser.cached) <= OWN_TOKENS


@pytest.mark.slow
def test_times_tell_keys_that_share_the_cache(start: Callable[..., Server]) -> None:
    guesser = guesser_of(start, YAIE_SHARE_CACHE="true")
    area = guesser.guess(60)
    assert guesser.cached == {PROMPT_TOKENS - 1}
    assert area > 0.9, "the test above could not fail"
