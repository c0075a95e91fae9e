"""Digests of the generators' output, which show that a change left the training text as it was.

`python -m training.builtin.digests` records them in `data/digests.jsonl`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from training.builtin import (
    asked,
    choices,
    choices_again,
    choices_told,
    conversations,
    copying,
    copying_dialogues,
    copying_drills,
    corpus,
    extraction,
    extraction_everyday,
    extraction_marked,
    fact_questions,
    keywords,
    lead_ins,
    noise,
    refusals,
    sums,
    systems,
    systems_everyday,
    told_things,
    tools,
    tools_everyday,
    tools_more,
    values,
    words,
)
from training.builtin.facts import FACTS
from training.builtin.tables import FOLDER

RECORDS = FOLDER / "digests.jsonl"
SEEDS = (1, 2, 3)
_VALUES = [
    "made_up",
    "word",
    "first_name",
    "surname",
    "person",
    "titled",
    "place",
    "firm",
    "number",
    "code",
    "phone",
    "product",
    "products",
    "date",
    "time",
    "price",
    "title",
    "file_name",
]
_WORDS = "invented person city company thing email".split()


def _each_fact(write: Callable[[Any, Random], object]) -> Callable[[Random], object]:
    return lambda rng: [write(fact, rng) for fact in FACTS]


def _table(rng: Random) -> object:
    system, table = systems_everyday.prompt(rng, 120)
    return system, systems_everyday.runs(table, 3, rng)


# Each generator with the number of samples that one digest covers.
GENERATORS: dict[str, tuple[Callable[[Random], object], int]] = {
    "conversation": (corpus.conversation, 4000),
    "long_conversation": (corpus.long_conversation, 400),
    **{f"turn {kind}": (turn, 500) for kind, turn in corpus.TURNS.items()},
    "facts": (lambda rng: [(f.key, f.answer, f.np, f.vp, f.name, f.q) for f in FACTS], 1),
    "ask": (_each_fact(fact_questions.ask), 10),
    "wording": (_each_fact(lambda fact, rng: asked.wording(fact.key, rng)), 10),
    "keywords": (_each_fact(lambda fact, rng: keywords.heap(fact.key, rng)), 10),
    "lead_in": (lambda rng: lead_ins.led_in("Which port does the server use?", rng), 500),
    "noise": (lambda rng: noise.noisy("how do i start the server with this model", rng), 1000),
    "small_talk": (conversations.small_talk, 1000),
    "name_pair": (conversations.name_pair, 500),
    "told_pair": (conversations.told_pair, 1000),
    "told_thing": (told_things.told_thing, 1000),
    "choice": (choices.sample, 3000),
    "choice again": (choices_again.run, 500),
    **{
        f"choice {make.__name__}": (make, 300)
        for make in (choices_told.who, choices_told.unit, choices_told.when)
    },
    "which_thing": (choices_told.which_thing, 500),
    "given": (choices_told.given, 500),
    "copy": (copying.sample, 2000),
    "drill": (copying_drills.sample, 1000),
    "dialogue": (copying_dialogues.sample, 500),
    "extraction": (extraction.sample, 1000),
    "wide extraction": (extraction.wide_sample, 2000),
    "extraction in turns": (extraction.in_turns, 500),
    "extraction everyday": (extraction_everyday.stated, 1500),
    "marked": (lambda rng: [text.stated(rng) for text in extraction_marked.TEXTS], 1),
    "refusal": (refusals.ask, 1000),
    "refusal again": (refusals.ask_again, 300),
    "sum": (sums.sample, 1000),
    "records": (lambda rng: systems.records(rng, 4), 200),
    "long_prompt": (lambda rng: systems.long_prompt(rng, 300), 100),
    "task": (lambda rng: systems_everyday.task(rng, 200), 200),
    "table": (_table, 300),
    "tools": (tools.sample, 500),
    "tools everyday": (tools_everyday.sample, 1500),
    "tools more": (tools_more.sample, 1000),
    "tools made up": (tools_more.made_up_sample, 300),
    "tools listed": (lambda rng: tools_more.listed(rng, "fact"), 300),
    **{f"values {name}": (getattr(values, name), 200) for name in _VALUES},
    **{f"words {name}": (getattr(words, name), 200) for name in _WORDS},
}


def texts(name: str, seed: int) -> Iterator[str]:
    """The samples of one generator as JSON."""
    make, number = GENERATORS[name]
    rng = Random(seed)
    for _ in range(number):
        yield json.dumps(make(rng), ensure_ascii=False)


def digest(name: str, seed: int) -> str:
    """The first 16 digits of the SHA-256 of a generator's samples under a seed."""
    hashed = hashlib.sha256()
    for text in texts(name, seed):
        hashed.update(text.encode() + b"\n")
    return hashed.hexdigest()[:16]


def recorded() -> dict[str, list[str]]:
    """Read the digests that the generators must have, one for each seed."""
    records = map(json.loads, RECORDS.read_text(encoding="utf-8").splitlines())
    return {record["generator"]: record["digests"] for record in records}


def main() -> None:
    """Write the digests of the generators as they are now: after an intended change only."""
    lines = [
        json.dumps({"generator": name, "digests": [digest(name, seed) for seed in SEEDS]})
        for name in GENERATORS
    ]
    RECORDS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
