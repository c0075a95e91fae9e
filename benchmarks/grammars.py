"""Cost of grammars: steps of 32 sequences with a schema and without, in turns; large schemas.

`python -m benchmarks.grammars --model FOLDER` prints JSON. Two engines hold the model and step in
turns: one with schemas, one without. A ratio is the median of the ratios of neighbouring steps,
since a slow period slows both. Steps are in processor seconds of the process, all threads included,
so that other programs do not count. Steps with forced tokens have more rows and are left out, so
that both sides compute the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, Grammar, SamplingParams
from yaie.bench.machine import describe_machine
from yaie.engine.core import EngineCore

BATCH = 32
NUM_STEPS = 48
PROMPT_LEN = 64
# Long texts: each step samples one token of each sequence, as without a schema.
SCHEMA = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "minLength": 2000},
        "answer": {"type": "string"},
        "score": {"type": "number"},
    },
    "required": ["thought", "answer", "score"],
    "additionalProperties": False,
}
LARGE_SCHEMA_BYTES = 64 * 1024


def measure_grammars(model: str, *, threads: int | None, repeats: int) -> dict[str, Any]:
    """Time steps with a schema for none, one and all of 32 sequences; then first uses."""
    config = EngineConfig(model=model, device="cpu", threads=threads, num_slots=2**13)
    cores = [EngineCore(config) for _ in range(2)]
    grammar = Grammar.json_schema(SCHEMA)
    for core in cores:
        core.check_grammar(grammar)
    report = {
        "benchmark": "grammars",
        "machine": describe_machine(),
        "model": model,
        "repeats": repeats,
        "steps": [
            _compare(cores, grammar, num_with, temperature, repeats)
            for temperature in (0.0, 1.0)
            for num_with in (1, BATCH)
        ],
        "first_use": [_first_use(cores[0], size) for size in (1024, 8 * 1024, LARGE_SCHEMA_BYTES)],
    }
    for core in cores:
        core.close()
    return report


def _compare(
    cores: Sequence[EngineCore], grammar: Grammar, num_with: int, temperature: float, repeats: int
) -> dict[str, Any]:
    none: list[Grammar | None] = [None] * BATCH
    some = [grammar] * num_with + none[num_with:]
    pairs: list[tuple[float, float]] = []
    for turn in range(repeats + 1):
        for core, grammars in zip(cores, (none, some), strict=True):
            _fill(core, grammars, temperature, seed=turn)
        found = _step_in_turns(cores)
        pairs += found if turn else []  # the first turn warms up
    without, with_schema = zip(*pairs, strict=True)
    return {
        "sequences": BATCH,
        "with_schema": num_with,
        "temperature": temperature,
        "pairs": len(pairs),
        "milliseconds": {
            "without": round(statistics.median(without) * 1e3, 3),
            "with": round(statistics.median(with_schema) * 1e3, 3),
        },
        "ratio": round(statistics.median(two / one for one, two in pairs), 4),
    }


def _fill(
    core: EngineCore, grammars: Sequence[Grammar | None], temperature: float, seed: int
) -> None:
    for index, grammar in enumerate(grammars):
        prompt = [7 + (seed * 31 + index * 17 + place) % 200 for place in range(PROMPT_LEN)]
        core.add(
            GenerationRequest(
                request_id=f"r{index}",
                prompt_token_ids=tuple(prompt),
                sampling=SamplingParams(
                    max_tokens=NUM_STEPS, temperature=temperature, seed=index, ignore_eos=True
                ),
                grammar=grammar,
            )
        )


def _step_in_turns(cores: Sequence[EngineCore]) -> list[tuple[float, float]]:
    """Return the processor seconds of neighbouring steps with one row of each sequence."""
    pairs = []
    turn = 0
    while any(core.has_work for core in cores):
        turn += 1
        times = {}
        for at in (0, 1) if turn % 2 else (1, 0):
            core = cores[at]
            rows = core.stats.rows_computed
            began = time.process_time()
            if core.has_work:
                core.step()
            step_s = time.process_time() - began
            if core.stats.rows_computed - rows == BATCH:
                times[at] = step_s
        if len(times) == len(cores):
            pairs.append((times[0], times[1]))
    return pairs


def _first_use(core: EngineCore, num_bytes: int) -> dict[str, Any]:
    """Return the seconds to the first token of a schema that the engine has not seen."""
    grammar = Grammar.json_schema(large_schema(num_bytes))
    seconds = {}
    for name in ("first", "second"):
        began = time.perf_counter()
        core.add(
            GenerationRequest(
                request_id=name,
                prompt_token_ids=tuple(range(7, 7 + PROMPT_LEN)),
                sampling=SamplingParams(max_tokens=1, temperature=0.0),
                grammar=grammar,
            )
        )
        while core.has_work:
            for delta in core.step():
                if delta.error is not None:
                    raise RuntimeError(delta.error.message)
        seconds[name] = round(time.perf_counter() - began, 4)
    return {"bytes": len(grammar.source), "seconds_to_first_token": seconds}


def large_schema(num_bytes: int) -> dict[str, Any]:
    """Return a schema of records of about `num_bytes`, and never more."""
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    number = 0
    size = len(json.dumps(schema))
    while True:
        record = {
            "type": "object",
            "properties": {
                f"title_{number}": {"type": "string", "maxLength": 40 + number % 7},
                f"amount_{number}": {"type": "number", "minimum": 0, "maximum": 1000 + number},
                f"kind_{number}": {"enum": [f"red {number}", f"green {number}", f"blue {number}"]},
                f"date_{number}": {"type": "string", "format": "date"},
            },
            "required": [f"title_{number}", f"kind_{number}"],
            "additionalProperties": False,
        }
        size += len(json.dumps({f"record_{number}": record}))
        if size > num_bytes:
            return schema
        schema["properties"][f"record_{number}"] = record
        number += 1


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Steps with and without grammars.")
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    report = measure_grammars(options.model, threads=options.threads, repeats=options.repeats)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
