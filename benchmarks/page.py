"""Cost of an open page to the engine: the views of the tree that the page's feed asks for.

`python -m benchmarks.page MODEL` prints JSON. A view is answered before every second decode step,
encoded and sent to another process, as an engine's process does. Figures are medians of processor
time, so that other programs count little: of a view, of the steps after one, and of the steps
between. A page asks at most four times a second, and so that the views take at most a
two-hundredth of the time.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from yaie.base.queries import TreeView, ViewTree
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.bench.machine import describe_machine
from yaie.client.core_loading import load_engine_core
from yaie.client.wire import QueryReply, encode
from yaie.engine.loop import EngineLoop
from yaie.server.ui.shown_nodes import NUM_SHOWN
from yaie.server.ui.tree_feed import INTERVAL_S, SHARE

SEQUENCES = 32
HEADS = 8  # beginnings that prompts share
SHARED, OWN = 64, 16  # tokens of each prompt
_FIRST_STEPS = 8  # of every sequence, which are not measured


class Decoding:
    """An engine with sequences that only decode, above a tree of ended prompts."""

    def __init__(self, config: EngineConfig, *, prompts: int, steps: int) -> None:
        """`prompts`: how many have ended. Loads the model."""
        self._random = random.Random(0)
        self.loop = EngineLoop(load_engine_core(config))
        self._vocab_size = min(self.loop.core.info.vocab_size, 4000)
        heads = [self._tokens(SHARED) for _ in range(HEADS)]
        for number in range(prompts):
            self._submit(f"ended {number}", [*heads[number % HEADS], *self._tokens(OWN)], 1)
        while self.loop.has_work:
            self.loop.step()
        for number in range(SEQUENCES):
            prompt = [*heads[number % HEADS], *self._tokens(OWN)]
            self._submit(str(number), prompt, steps + 2 * _FIRST_STEPS)
        while self.loop.core.stats.num_running < SEQUENCES:
            self.loop.step()
        for _ in range(_FIRST_STEPS):
            self.loop.step()

    def _tokens(self, count: int) -> list[int]:
        return [self._random.randrange(3, self._vocab_size) for _ in range(count)]

    def _submit(self, name: str, prompt: list[int], max_tokens: int) -> None:
        sampling = SamplingParams(max_tokens=max_tokens, ignore_eos=True, temperature=0.0)
        self.loop.submit(
            GenerationRequest(request_id=name, prompt_token_ids=tuple(prompt), sampling=sampling)
        )

    def step(self) -> float:
        """Run a step; return its seconds of processor time, over all threads."""
        began = time.process_time()
        self.loop.step()
        self.loop.take_stats(time.monotonic())
        return time.process_time() - began

    def view(self, out: socket.socket) -> tuple[float, TreeView]:
        """Answer a page's question; return the seconds of processor time, and the answer."""
        began = time.process_time()
        answer = self.loop.core.answer(ViewTree(num_shown=NUM_SHOWN))
        out.sendall(encode(QueryReply(1, answer)))
        seconds = time.process_time() - began
        assert isinstance(answer, TreeView)
        return seconds, answer


@contextmanager
def _reader() -> Iterator[socket.socket]:
    """Open a socket that another process reads."""
    here, there = socket.socketpair()
    with here, subprocess.Popen(["cat"], stdin=there.fileno(), stdout=subprocess.DEVNULL):
        there.close()
        yield here
        here.shutdown(socket.SHUT_RDWR)


def measure_page(config: EngineConfig, *, prompts: int, steps: int) -> dict[str, Any]:
    """Return the report: the cost of views to steps of `SEQUENCES` rows."""
    decoding = Decoding(config, prompts=prompts, steps=steps)
    views: list[tuple[float, TreeView]] = []
    after: list[float] = []
    between: list[float] = []
    with _reader() as out:
        for _ in range(steps // 2):
            views.append(decoding.view(out))
            after.append(decoding.step())
            between.append(decoding.step())
    decoding.loop.core.close()
    view_s, after_s, between_s = map(
        statistics.median, ([seconds for seconds, _ in views], after, between)
    )
    interval_s = max(INTERVAL_S, SHARE * statistics.median(view.seconds for _, view in views))
    return {
        **describe_machine(),
        "model": config.model,
        "rows": SEQUENCES,
        "nodes": len(views[-1][1].nodes),
        "steps": 2 * len(after),
        "milliseconds": {
            "view": round(view_s * 1e3, 3),
            "step_after_a_view": round(after_s * 1e3, 3),
            "step": round(between_s * 1e3, 3),
        },
        "seconds_between_views": round(interval_s, 3),
        "percent": {
            "views": round(100 * view_s / interval_s, 3),
            "views_and_slower_steps": round(100 * (view_s + after_s - between_s) / interval_s, 3),
        },
    }


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Cost of an open page to the engine.")
    parser.add_argument("model", nargs="?", default="builtin")
    parser.add_argument("--prompts", type=int, default=600)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    slots = HEADS * SHARED + (OWN + 1) * options.prompts + (OWN + options.steps + 64) * SEQUENCES
    config = EngineConfig(
        model=options.model, num_slots=slots + 4096, max_running=SEQUENCES, threads=1
    )
    report = measure_page(config, prompts=options.prompts, steps=options.steps)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
