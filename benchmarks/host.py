"""Cost of a decode step outside the model: `Scheduler.schedule` and `update`, without an executor.

`python -m benchmarks.host` prints JSON. Two schedulers of the same requests step in turns: one that
extends the plan of the step before, one that makes each plan from scratch. Figures are medians of
processor time, so that other programs do not count.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from typing import Any

import numpy as np

from yaie.base.types import GenerationRequest, SamplingParams
from yaie.bench.machine import describe_machine
from yaie.engine.request import Request
from yaie.engine.sampling_state import SamplingState
from yaie.engine.scheduled_step import SampledToken
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.eviction import make_eviction_policy
from yaie.kvcache.radix_tree import RadixTree

BATCHES = (1, 16, 64, 256)
SHAPES = ((0, 1024), (896, 128))  # shared tokens and own tokens of each prompt
VOCAB_SIZE = 32_000
_SPARE_STEPS = 16  # the prompts' steps, and first decode steps


class Decoding:
    """A scheduler with sequences that only decode; their tokens are random."""

    def __init__(self, sequences: int, shared: int, own: int, *, steps: int, extends: bool) -> None:
        """`extends`: plans may be made of those before."""
        self.sequences = sequences
        self._extends = extends
        self._random = np.random.default_rng(0)
        room = steps + _SPARE_STEPS
        num_slots = 2 * (shared + sequences * (own + room)) + 4096
        self.scheduler = Scheduler(
            RadixTree(num_slots, make_eviction_policy("lru", num_slots)),
            clock=time.monotonic,
            max_step_rows=8192,
            max_running=sequences,
        )
        head = self._tokens(shared)
        for number in range(sequences):
            self._add(str(number), (*head, *self._tokens(own)), room)
        while True:
            _, _, rows = self.step()
            if rows == sequences:
                break

    def _tokens(self, count: int) -> list[int]:
        tokens: list[int] = self._random.integers(3, VOCAB_SIZE, count).tolist()
        return tokens

    def _add(self, name: str, prompt: tuple[int, ...], room: int) -> None:
        sampling = SamplingParams(max_tokens=room, ignore_eos=True, temperature=0.0)
        spec = GenerationRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling)
        state = SamplingState(
            sampling,
            index=0,
            prompt_token_ids=prompt,
            eos_token_ids=(2,),
            vocab_size=VOCAB_SIZE,
            fallback_seed=0,
        )
        self.scheduler.add(Request(spec, namespace="", max_new_tokens=room, samplings=[state]))

    def step(self) -> tuple[float, float, int]:
        """Run a step; return the seconds of `schedule` and of `update`, and the number of rows."""
        if not self._extends:
            self.scheduler.steps.forget()
        began = time.process_time()
        step = self.scheduler.schedule()
        schedule_s = time.process_time() - began
        assert step is not None
        sampled = [SampledToken(token) for token in self._tokens(len(step.sample_tasks))]
        began = time.process_time()
        self.scheduler.update(step, sampled)
        return schedule_s, time.process_time() - began, step.plan.num_rows


def measure_host(steps: int) -> dict[str, Any]:
    """Time decode steps of every batch and shape, extended and from scratch."""
    gc.disable()  # its pauses belong to no step
    return {
        "benchmark": "host",
        "machine": describe_machine(),
        "steps": steps,
        "decode": [
            _compare(sequences, shared, own, steps)
            for shared, own in SHAPES
            for sequences in BATCHES
        ],
    }


def _compare(sequences: int, shared: int, own: int, steps: int) -> dict[str, Any]:
    sides = {
        name: Decoding(sequences, shared, own, steps=steps, extends=extends)
        for name, extends in (("extended", True), ("from scratch", False))
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(steps):
        for name, side in sides.items():
            schedule_s, update_s, _ = side.step()
            times[name].append((schedule_s, update_s))
    return {
        "sequences": sequences,
        "shared": shared,
        "own": own,
        "milliseconds": {
            name: {
                part: round(statistics.median(each[index] for each in found) * 1e3, 3)
                for index, part in enumerate(("schedule", "update"))
            }
            for name, found in times.items()
        },
    }


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Decode steps outside the model.")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    print(json.dumps(measure_host(options.steps), indent=2))


if __name__ == "__main__":
    main()
