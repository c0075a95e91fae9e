"""Time of one decision of the router: `python -m benchmarks.fleet.decision`.

A prompt of 32,768 tokens, 64 replicas with 4,096 names each. Three shapes: every replica holds the
same beginning, one holds all of the prompt, each holds a beginning of another length.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable
from functools import partial
from time import thread_time_ns
from typing import Annotated

import numpy as np
import typer

from benchmarks.schedule.report import table
from yaie.kvcache.block_names import BLOCK_SIZE, root_name, routing_names
from yaie.ray.radix_placement import RadixPlacement, ReplicaReport

_NAMES = 4096  # of each replica
_ROUNDS = 200
_FORGOTTEN_S = 60.0

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def decision(
    *,
    replicas: Annotated[int, typer.Option(min=1)] = 64,
    tokens: Annotated[int, typer.Option(min=BLOCK_SIZE, help="of the prompt")] = 32_768,
) -> None:
    """Measure naming, ranking and bookkeeping; processor time in microseconds."""
    rng = random.Random(0)
    prompt = np.array([rng.randrange(100_000) for _ in range(tokens)], np.int32)
    root = root_name("measured")
    names = routing_names(prompt, root)
    shapes: dict[str, Callable[[int], int]] = {
        "the same beginning": lambda _: len(names) // 4,
        "one holds all": lambda index: len(names) * (index == replicas // 2),
        "64 different beginnings": lambda _: rng.randrange(len(names) + 1),
    }
    rows = [["names of the prompt, once", *_time(lambda: routing_names(prompt, root))]]
    for title, depth in shapes.items():
        times_s = itertools.count(step=_FORGOTTEN_S)  # what was noted before is old
        placement = RadixPlacement(clock=partial(next, times_s))
        every = [f"r{index}" for index in range(replicas)]
        for index, replica in enumerate(every):
            held = names[: depth(index)]
            held += [rng.getrandbits(64) for _ in range(_NAMES - len(held))]
            placement.report(replica, ReplicaReport(held, _NAMES * BLOCK_SIZE))
        rows.append([f"rank, {title}", *_time(partial(placement.rank, names, tokens, every))])
        best = placement.rank(names, tokens, every)[0]
        note = partial(placement.routed, "q", best, names, tokens)
        rows.append([f"note it, {title}", *_time(note)])
    print(table(["part of a decision", "median us", "p90 us"], rows))


def _time(work: Callable[[], object]) -> tuple[str, str]:
    times = []
    for _ in range(_ROUNDS):
        began = thread_time_ns()
        work()
        times.append((thread_time_ns() - began) / 1e3)
    return f"{statistics.median(times):,.0f}", f"{statistics.quantiles(times, n=10)[-1]:,.0f}"


if __name__ == "__main__":
    app()
