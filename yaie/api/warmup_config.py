"""`WarmupConfig`: sizes of the first batches, to be computed before the first caller waits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from random import Random

from yaie.base.errors import ConfigError
from yaie.base.types import EngineInfo

WARM_UP_SALT = "yaie-warm-up"  # the cache of the callers stays as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupConfig:
    """Sizes to warm up: each number of prompts with each length in tokens.

    One number counts as a list of one. `max_tokens` is the length of each answer. Raises
    `ConfigError` for a number below 1.
    """

    batch_sizes: tuple[int, ...] = (1, 8)
    prefill_lengths: tuple[int, ...] = (16, 256)
    max_tokens: int = 2

    def __post_init__(self) -> None:
        for name in ("batch_sizes", "prefill_lengths"):
            given = getattr(self, name)
            sizes = tuple(given) if isinstance(given, Iterable) else (given,)
            object.__setattr__(self, name, sizes)
            for size in sizes:
                _check(name, size)
        _check("max_tokens", self.max_tokens)

    def batches(self, info: EngineInfo) -> list[list[list[int]]]:
        """Return warm-up batches as token ids, cut to the context length and `max_running`."""
        longest = max(1, info.max_model_len - self.max_tokens)
        random = Random(0)
        return [
            [
                [random.randrange(info.vocab_size) for _ in range(min(length, longest))]
                for _ in range(min(size, info.max_running))
            ]
            for size, length in product(self.batch_sizes, self.prefill_lengths)
        ]


def _check(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(
            f"{name} must be whole numbers of at least 1, got {value!r:.40}", param=name
        )
