"""Speculative decoding: tokens a second with and without drafts, in turns, in one engine.

`python -m benchmarks.speculation --model smollm2` prints JSON. Each turn generates the same answer
twice, once without drafts, each with its own prefix cache. Figures are medians over the turns, a
ratio the median of the turns' own ratios; the time to the first token is not in them. Where other
work shares the machine, the ratios of processor time and of steps vary less than those of time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, SamplingParams
from yaie.bench.machine import describe_machine
from yaie.engine.core import EngineCore
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import Tokenizer, load_tokenizer

CODE = """class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance = self.balance + amount
        return self.balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient funds")
        self.balance = self.balance - amount
        return self.balance
"""
TEXT = (
    "The river rises in the northern hills and flows for two hundred miles through farms, towns "
    "and forests before it reaches the sea. In spring the snow melts and the water is high; in "
    "late summer children cross it on foot. Three bridges were built in the last century, the "
    "oldest of them from grey stone. Fishermen say that the best season begins in May."
)
QUESTIONS = (
    "What is the difference between weather and climate?",
    "How do I make a good cup of coffee?",
    "Explain how a bicycle stays upright.",
    "Write a short story about a lighthouse keeper.",
    "Give me five tips for a job interview.",
    "What are the main causes of the French Revolution?",
)
CHATS = {
    "edit": f"Repeat this Python code exactly, but rename the variable balance to total:\n{CODE}",
    "quotes": f"Repeat this text word for word, then say what it is about:\n{TEXT}",
    "json": f"Write the facts of this text as a JSON list of objects (subject, fact):\n{TEXT}",
    "question": QUESTIONS[0],
}
RIGHT = 0.9  # of the tokens of a prediction
RANDOM_TOKENS = 200


@dataclass(frozen=True)
class Load:
    """Requests that are sent together, or one after the other."""

    name: str
    prompts: list[tuple[int, ...]]
    temperature: float = 0.0
    is_predicted: bool = False  # by the answer, with some tokens changed
    is_replayed: bool = False  # after the same request
    is_serial: bool = False


@dataclass
class Run:
    """Time and steps of one run of a load, after the first token of each answer."""

    answers: list[list[int]]
    num_tokens: int = 0
    num_steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.num_tokens / self.seconds


def make_loads(tokenizer: Tokenizer, vocab_size: int, concurrent: int) -> list[Load]:
    """Return the loads of W8."""
    template = ChatTemplate(tokenizer)

    def render(text: str) -> tuple[int, ...]:
        return tuple(template.render([{"role": "user", "content": text}]))

    chats = {name: render(text) for name, text in CHATS.items()}
    question = chats.pop("question")
    rng = random.Random(0)
    noise = [
        tuple(rng.randrange(vocab_size) for _ in range(RANDOM_TOKENS)) for _ in range(concurrent)
    ]
    return [
        *(Load(name, [prompt]) for name, prompt in chats.items()),
        Load("open chat", [*map(render, QUESTIONS)], is_serial=True),
        Load("open chat at temperature 1", [*map(render, QUESTIONS)], 1.0, is_serial=True),
        Load("prediction, 90% right", [question], is_predicted=True),
        Load("replay", [question], is_replayed=True),
        Load("random text", noise[:1], temperature=1.0),
        Load(f"random text, {concurrent} at once", noise, temperature=1.0),
    ]


class Bench:
    """One engine that runs loads with and without drafts."""

    def __init__(self, config: EngineConfig, num_new: int) -> None:
        self.core = EngineCore(config)
        self.core.warm_up()
        self.num_new = num_new
        self._numbers = itertools.count()

    def run(
        self, load: Load, *, speculate: bool, answer: Sequence[int] = (), salt: str = ""
    ) -> Run:
        """Run a load. `answer`: the known answer to a predicted one."""
        found, run = Run([]), next(self._numbers)
        salt = salt or str(run)
        for prompts in [[each] for each in load.prompts] if load.is_serial else [load.prompts]:
            self._send(found, load, prompts, speculate=speculate, answer=answer, salt=salt)
        return found

    def _send(
        self,
        run: Run,
        load: Load,
        prompts: list[tuple[int, ...]],
        *,
        speculate: bool,
        answer: Sequence[int],
        salt: str,
    ) -> None:
        """Send prompts together, and add their answers to a run."""
        core, rng = self.core, random.Random(1)
        vocab_size = core.info.vocab_size
        predicted = [
            token if rng.random() < RIGHT else rng.randrange(vocab_size) for token in answer
        ]
        for place, prompt in enumerate(prompts):
            core.add(
                GenerationRequest(
                    request_id=f"{next(self._numbers)}",
                    prompt_token_ids=prompt,
                    prediction=tuple(predicted) if load.is_predicted else (),
                    speculate=speculate,
                    cache_salt=salt,
                    sampling=SamplingParams(
                        temperature=load.temperature,
                        seed=place,
                        max_tokens=self.num_new,
                        ignore_eos=True,
                    ),
                )
            )
        said: dict[str, list[int]] = {}
        while len(said) < len(prompts):
            for delta in core.step():
                said.setdefault(delta.request_id, []).extend(delta.token_ids)
        num_before, steps_before = sum(map(len, said.values())), core.stats.num_steps
        began, began_cpu = time.perf_counter(), time.process_time()
        while core.has_work:
            for delta in core.step():
                said[delta.request_id].extend(delta.token_ids)
        run.seconds += time.perf_counter() - began
        run.cpu_seconds += time.process_time() - began_cpu
        run.num_steps += core.stats.num_steps - steps_before
        run.num_tokens += sum(map(len, said.values())) - num_before
        run.answers += said.values()

    def measure(self, load: Load, repeats: int) -> dict[str, Any]:
        """Run a load in turns."""
        salt = f"replay {load.name}" if load.is_replayed else ""
        answer = self.run(load, speculate=False, salt=salt).answers[0]
        before = self.core.stats
        turns: list[tuple[Run, Run]] = []  # without drafts, and with
        for turn in range(repeats):
            runs = {}
            for speculate in (False, True) if turn % 2 else (True, False):
                runs[speculate] = self.run(load, speculate=speculate, answer=answer, salt=salt)
            turns.append((runs[False], runs[True]))
        spent = self.core.stats.since(before)
        median = statistics.median
        return {
            "name": load.name,
            "tokens_per_second": round(median(off.rate for off, _ in turns), 1),
            "with_drafts": round(median(on.rate for _, on in turns), 1),
            "ratio": round(median(on.rate / off.rate for off, on in turns), 2),
            "cpu_ratio": round(median(off.cpu_seconds / on.cpu_seconds for off, on in turns), 2),
            "step_ratio": round(median(off.num_steps / on.num_steps for off, on in turns), 2),
            "draft_tokens": spent.draft_tokens // repeats,
            "accepted_tokens": spent.accepted_tokens // repeats,
            "equal_turns": sum(off.answers == on.answers for off, on in turns),
        }


def measure_speculation(
    config: EngineConfig, *, repeats: int, num_new: int, concurrent: int
) -> dict[str, Any]:
    """Measure all loads, each with and without drafts."""
    bench = Bench(config, num_new)
    core = bench.core
    loads = make_loads(load_tokenizer(core.executor.loaded.path), core.info.vocab_size, concurrent)
    learned = core.scheduler.drafting.learned
    return {
        "benchmark": "speculation",
        "machine": describe_machine(),
        "model": config.model,
        "quantization": core.info.quantization,
        "exact": config.exact,
        "speculate": config.speculate,
        "step_ms_by_rows": {
            rows: round(seconds * 1e3, 2)
            for rows, seconds in (learned.costs.measured if learned else ())
        },
        "repeats": repeats,
        "loads": [bench.measure(load, repeats) for load in loads],
    }


def make_parser(description: str, num_new: int) -> argparse.ArgumentParser:
    """Return a parser of the options that benchmarks of drafts share; `num_new` is a default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--quantization")
    parser.add_argument("--speculate", default="auto")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--new", type=int, default=num_new, help="tokens of each answer")
    return parser


def config_of(options: argparse.Namespace, num_slots: int) -> EngineConfig:
    """Return the engine's settings for shared options."""
    return EngineConfig(
        model=options.model,
        quantization=options.quantization,
        speculate=options.speculate,
        exact=options.exact,
        threads=options.threads,
        device="cpu",
        num_slots=num_slots,
    )


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = make_parser("Decoding with and without drafts.", 128)
    parser.add_argument("--concurrent", type=int, default=32)
    options = parser.parse_args()
    config = config_of(options, options.concurrent * (RANDOM_TOKENS + options.new) + 4096)
    report = measure_speculation(
        config, repeats=options.repeats, num_new=options.new, concurrent=options.concurrent
    )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
