"""Digests of the generators' output, which show that a change left the training text as it was.

`data/digests.jsonl` lists the generators, how many samples a digest covers, and a digest for each
seed. `python -m training.builtin.digests` records them again, after an intended change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

from . import (
    conversations,
    extraction_marked,
    facts,
    noise,
    systems,
    tools_more,
    values,
)
from .facts import FACTS
from .tables import FOLDER

RECORDS = FOLDER / "digests.jsonl"
SEEDS = (1, 2, 3)
Generator = Callable[[Random], object]


def _table(rng: Random) -> object:
    system, table = systems.prompt(rng, 120)
    return system, systems.runs(table, 3, rng)


# Generators with further arguments; the others are named `module.function` in the records.
_ADAPTED: dict[str, Generator] = {
    "facts": lambda rng: [(f.key, f.answer, f.np, f.vp, f.name, f.q) for f in FACTS],
    "ask": lambda rng: [facts.ask(fact, rng) for fact in FACTS],
    "wording": lambda rng: [facts.wording(fact.key, rng) for fact in FACTS],
    "keywords": lambda rng: [facts.heap(fact.key, rng) for fact in FACTS],
    "lead_in": lambda rng: conversations.led_in("Which port does the server use?", rng),
    "noise": lambda rng: noise.noisy("how do i start the server with this model", rng),
    "marked": lambda rng: [text.stated(rng) for text in extraction_marked.TEXTS],
    "records": lambda rng: systems.records(rng, 4),
    "long_prompt": lambda rng: systems.long_prompt(rng, 300),
    "task": lambda rng: systems.task(rng, 200),
    "table": _table,
    "tools_listed": lambda rng: tools_more.listed(rng, "fact"),
}


def recorded() -> list[dict[str, Any]]:
    """Read the records."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def digests(name: str, samples: int) -> list[str]:
    """Return for each seed the first 16 digits of the SHA-256 of a generator's samples."""
    generate = _ADAPTED.get(name) or _find(name)
    found = []
    for seed in SEEDS:
        rng, hashed = Random(seed), hashlib.sha256()
        for _ in range(samples):
            hashed.update(json.dumps(generate(rng), ensure_ascii=False).encode() + b"\n")
        found.append(hashed.hexdigest()[:16])
    return found


def _find(name: str) -> Generator:
    module, function = name.split(".")
    if module in ("values", "words"):
        return getattr(values, module)[function]
    generate: Generator = getattr(import_module(f"training.builtin.{module}"), function)
    return generate


def main() -> None:
    """Record the digests of the generators as they are now."""
    lines = [
        json.dumps({**record, "digests": digests(record["generator"], record["samples"])})
        for record in recorded()
    ]
    RECORDS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
