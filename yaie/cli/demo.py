"""`yaie demo`: measures what shared prefixes save, on questions with one long system prompt.

The same conversations run on two engines, with the prefix cache off and on, each batch at once and
cold. The answers are compared, since the cache must not change a token. The table shows the run
with the median total time, after a warm-up.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.cli import terminal
from yaie.cli.failures import FAILED
from yaie.cli.options import ENGINE_FLAGS, settings_options

if TYPE_CHECKING:
    from yaie.api.llm import LLM, RequestOutput
    from yaie.bench.shared_prefix import BatchFigures

_SYSTEM_TOKENS = 1024
_SYSTEM_TEXT = (
    "You are the built-in model of YAIE, an inference engine for language models. ",
    "YAIE keeps one radix tree that is the cache, the batch and the attention plan at once. ",
    "A path in the tree is a token sequence, and every token of it has one slot in the pool. ",
    "While its keys and values are cached, no token is computed twice. ",
    "A prefix that many requests share is computed once, in the step in which it is first needed. ",
    "Nodes that no live sequence needs stay until their slots are needed. ",
    "Answer briefly and truthfully; if you do not know something, say so. ",
)
_QUESTIONS = (
    "What is YAIE?",
    "What is a radix tree?",
    "What is the cache for?",
    "What is a slot?",
    "How do I start the server?",
    "What is 7 + 5?",
    "What is 12 - 4?",
    "Who are you?",
    "What does prefix sharing save?",
    "What is a node?",
    "How can I clear the cache?",
    "What is 9 + 8?",
    "What is a sequence?",
    "Can you write poems?",
    "What is a step?",
    "Which license does YAIE have?",
)


@dataclass(frozen=True, slots=True)
class DemoRun:
    """One batch on one engine: its measurements and answers."""

    figures: BatchFigures
    outputs: list[RequestOutput]

    def as_json(self) -> dict[str, Any]:
        """Return the measurements in one table row."""
        figures = self.figures
        return {
            "prompt_tokens": figures.prompt_tokens,
            "prompt_rows_computed": figures.spent.prompt_rows_computed,
            "reused": round(figures.cached_tokens / figures.prompt_tokens, 4),
            "first_token_p50_s": round(figures.first_token_percentile(50), 4),
            "first_token_p95_s": round(figures.first_token_percentile(95), 4),
            "total_s": round(figures.total_s, 4),
        }


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name", "prefix_cache"))
def demo(
    *,
    requests: Annotated[int, typer.Option(min=1, max=1024, help="concurrent questions")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="measured runs, after a warm-up")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    settings: dict[str, Any],
) -> None:
    """Compare answers and latency with the prefix cache off and on."""
    from yaie.cli.local import load_model

    measured: dict[bool, list[DemoRun]] = {}
    for cache in (False, True):
        with load_model(settings | {"prefix_cache": cache}) as llm:
            measured[cache] = measure_runs(llm, requests, repeats)
            model = f"{llm.info.model} ({llm.info.num_parameters / 1e6:.1f} M, {llm.info.device})"
    report(model, requests, repeats, measured, as_json=as_json)


def measure_runs(llm: LLM, requests: int, repeats: int) -> list[DemoRun]:
    """Return the measured runs, after a warm-up."""
    terminal.note("warm-up …")
    ask_all(llm, requests, 0)
    runs = []
    for number in range(1, repeats + 1):
        terminal.note(f"run {number} of {repeats} …")
        runs.append(ask_all(llm, requests, number))
    return runs


def report(
    model: str, requests: int, repeats: int, measured: dict[bool, list[DemoRun]], *, as_json: bool
) -> None:
    """Print the table or the JSON; exit with 1 if the cache changed an answer."""
    answers = requests * repeats
    same = sum(count_same_answers(*pair) for pair in zip(*measured.values(), strict=True))
    shown = {cache: median_run(runs) for cache, runs in measured.items()}
    if as_json:
        found = {
            "model": model,
            "requests": requests,
            "repeats": repeats,
            "off": shown[False].as_json(),
            "on": shown[True].as_json(),
            "answers": answers,
            "same_answers": same,
        }
        print(json.dumps(found))
    else:
        print_table(model, requests, shown)
        print(
            f"the cache changed {answers - same} of {answers} answers, {requests} in each "
            "run; times are of the median run"
        )
        text = shown[True].outputs[0].text.strip()
        print(f"for example: {_QUESTIONS[0]} {terminal.bold(text, sys.stdout)}")
    if same < answers:
        raise typer.Exit(FAILED)


def system_prompt(llm: LLM, length: int) -> str:
    """Return a system prompt of about `length` tokens."""
    tokenizer = llm.get_tokenizer()
    text, at = "", 0
    while len(tokenizer.encode(text)) < length:
        text += _SYSTEM_TEXT[at % len(_SYSTEM_TEXT)]
        at += 1
    return text.strip()


def ask_all(llm: LLM, requests: int, number: int) -> DemoRun:
    """Run all questions at once; each run number has a separate system prompt."""
    from yaie.base.types import SamplingParams
    from yaie.bench.shared_prefix import run_batch

    text = system_prompt(llm, min(_SYSTEM_TOKENS, llm.info.max_model_len // 2))
    sampling = SamplingParams(max_tokens=32, temperature=0.0)
    conversations = [
        [
            {"role": "system", "content": f"Run {number}. {text}"},
            {"role": "user", "content": _QUESTIONS[index % len(_QUESTIONS)]},
        ]
        for index in range(requests)
    ]
    return DemoRun(*run_batch(llm, lambda: llm.chat(conversations, sampling, progress=False)))


def median_run(runs: list[DemoRun]) -> DemoRun:
    """Return the run of (lower) median total time."""
    return sorted(runs, key=lambda run: run.figures.total_s)[(len(runs) - 1) // 2]


def count_same_answers(off: DemoRun, on: DemoRun) -> int:
    """Return the number of questions with the same tokens in both runs."""
    pairs = zip(off.outputs, on.outputs, strict=True)
    return sum(left.token_ids == right.token_ids for left, right in pairs)


def print_table(model: str, requests: int, runs: dict[bool, DemoRun]) -> None:
    """Print the table of both runs."""
    each = runs[True].figures.prompt_tokens // requests
    print(f"{requests} requests at once, about {each:,} prompt tokens each, model {model}")
    print(
        f"{'':12}{'tokens computed':>17}{'reused':>9}{'TTFT p50':>11}{'TTFT p95':>11}{'total':>10}"
    )
    for cache, run in runs.items():
        row = run.as_json()
        print(
            f"  cache {'on ' if cache else 'off'} {row['prompt_rows_computed']:>17,}"
            f"{row['reused']:>9.0%}{_ms(row['first_token_p50_s']):>11}"
            f"{_ms(row['first_token_p95_s']):>11}{_ms(row['total_s']):>10}"
        )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
