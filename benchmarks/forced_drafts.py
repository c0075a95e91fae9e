"""Forced drafts: what verifying drafts gains where their tokens are right with a known probability.

`python -m benchmarks.forced_drafts --model FOLDER` prints JSON. A first run finds the answer, and
then each guess is the answer's next tokens, each of them wrong with the other probability. So the
machinery alone is measured, on weights of any kind, random ones too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from typing import Any

from benchmarks.speculation import Bench, Load, config_of, make_parser
from yaie.base.settings import EngineConfig
from yaie.bench.machine import describe_machine
from yaie.engine.drafts.drafter import Guess
from yaie.engine.request import Sequence

SHARES = (0.0, 0.5, 0.9, 1.0)
PROMPT_TOKENS = 200


class KnownAnswer:
    """A drafter that knows the answer and errs at random."""

    def __init__(self, answer: list[int], share_right: float) -> None:
        self._answer = answer
        self._share = share_right
        self._random = random.Random(3)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        """Return the next tokens, some of them wrong."""
        start = len(sequence.output)
        tokens = [
            token if self._random.random() < self._share else token ^ 1
            for token in self._answer[start : start + limit]
        ]
        return Guess(tuple(tokens), "known") if tokens else None

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        """Do nothing: all is known."""


def measure_forced_drafts(config: EngineConfig, *, repeats: int, num_new: int) -> dict[str, Any]:
    """Measure each share, with and without drafts in turns."""
    bench = Bench(config, num_new)
    drafting, rng = bench.core.scheduler.drafting, random.Random(0)
    vocab_size = bench.core.info.vocab_size
    load = Load("forced", [tuple(rng.randrange(vocab_size) for _ in range(PROMPT_TOKENS))])
    (answer,) = bench.run(load, speculate=False).answers
    found = []
    for share in SHARES:
        drafting.drafters = (KnownAnswer(answer, share),)
        measured = bench.measure(load, repeats)
        found.append({"share_right": share} | measured)
    cost_by_rows = {}
    if drafting.learned is not None:
        costs = drafting.learned.costs
        cost_by_rows = {rows: round(cost / costs.cost(1), 2) for rows, cost in costs.measured}
    return {
        "benchmark": "forced drafts",
        "machine": describe_machine(),
        "model": config.model,
        "quantization": bench.core.info.quantization,
        "exact": config.exact,
        "speculate": config.speculate,
        "cost_by_rows": cost_by_rows,
        "shares": found,
    }


def main() -> None:
    """Read the options, measure, print JSON."""
    options = make_parser("Decoding with drafts of known acceptance.", 64).parse_args()
    config = config_of(options, 8192)
    report = measure_forced_drafts(config, repeats=options.repeats, num_new=options.new)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
