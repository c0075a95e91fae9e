"""Speculative decoding with a real model: tokens and log-probabilities equal those without it."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

import pytest
import torch

from tests.attention.test_cpu import LOADED
from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.engine.watched_executor import Execute
from tests.tiny_model import VOCAB_SIZE
from yaie.attention.plan import StepPlan
from yaie.base.types import GenerationRequest, ReasoningLimit
from yaie.engine.drafts.draft_lengths import rising
from yaie.engine.drafts.drafter import Guess
from yaie.engine.drafts.learned_costs import LearnedCosts
from yaie.engine.request import Sequence
from yaie.kernels import library_search

pytestmark = pytest.mark.usefixtures("one_thread")
NEW = 44
SAMPLINGS: dict[str, dict[str, object]] = {
    "greedy": {},
    "drawn": {"temperature": 1.0, "seed": 3},
    "truncated": {"temperature": 1.3, "seed": 4, "top_p": 0.8, "top_k": 40, "min_p": 0.01},
    "penalties": {
        "temperature": 0.7,
        "seed": 5,
        "repetition_penalty": 1.3,
        "presence_penalty": 0.5,
        "frequency_penalty": 0.4,
    },
    "greedy penalties": {"repetition_penalty": 1.2, "frequency_penalty": 1.0},
    "ends": {"temperature": 1.0, "seed": 6, "ignore_eos": False, "min_tokens": 4},
    "rules": {
        "temperature": 1.0,
        "seed": 7,
        "allowed_token_ids": tuple(range(3, 90)),
        "bad_words_token_ids": ((5,), (6, 7), (8, 9, 10)),
        "logit_bias": {11: 5.0, 12: -5.0},
    },
    "several": {"temperature": 1.0, "seed": 8, "n": 3},
    "logprobs": {"temperature": 1.0, "seed": 9, "logprobs": 4},
    "logprobs of the prompt": {"logprobs": 2, "prompt_logprobs": 2},
}


def requests() -> list[GenerationRequest]:
    """Return requests whose prompts overlap, one for each kind of sampling."""
    shared = tokens_of(1, 20)
    found = [
        ask(name, (*shared[: 5 + number], *tokens_of(number, 9)), max_tokens=NEW, **sampling)
        for number, (name, sampling) in enumerate(SAMPLINGS.items())
    ]
    limit = ReasoningLimit(max_tokens=6, opener_id=20, closer_id=21, is_open=True)
    last = GenerationRequest(
        request_id="reasoning",
        prompt_token_ids=shared,
        sampling=ask("", (), max_tokens=NEW, temperature=1.0, seed=10).sampling,
        reasoning_limit=limit,
    )
    return [*found, last]


class Remembered:
    """A drafter that knows the answers, and errs in one token of five."""

    def __init__(self, known: Answers) -> None:
        self.known = known
        self.random = random.Random(2)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        answer = self.known.tokens(sequence.request.request_id, sequence.index)
        tokens = [
            token if self.random.random() < 0.8 else self.random.randrange(3, VOCAB_SIZE)
            for token in answer[len(sequence.output) :][: self.random.randint(0, limit)]
        ]
        return Guess(tuple(tokens), "remembered")

    def keep_only(self, sequences: Collection[Sequence]) -> None:
        pass


def same_answers(found: Answers, wanted: Answers, tolerance: float) -> None:
    assert found.deltas.keys() == wanted.deltas.keys()
    for (name, index), deltas in wanted.deltas.items():
        assert found.tokens(name, index) == wanted.tokens(name, index), name
        assert found.last(name, index).finish_reason == deltas[-1].finish_reason
        assert found.last(name, index).stop_token_id == deltas[-1].stop_token_id
        logprobs = [entry for delta in deltas for entry in delta.logprobs]
        others = [entry for delta in found.deltas[name, index] for entry in delta.logprobs]
        assert [entry.token_id for entry in others] == [entry.token_id for entry in logprobs]
        assert [entry.logprob for entry in others] == pytest.approx(
            [entry.logprob for entry in logprobs], abs=tolerance
        )


@pytest.mark.parametrize("settings", [{}, {"num_slots": 122, "max_model_len": 120}])
def test_tokens_are_those_without_drafts(make_core: MakeCore, settings: dict[str, int]) -> None:
    wanted = run(make_core(), *requests())
    core = make_core(speculate="6", **settings)
    core.scheduler.drafting.drafters = (Remembered(wanted),)
    same_answers(run(core, *requests()), wanted, tolerance=1e-4)
    stats = core.stats
    assert 0 < stats.accepted_tokens < stats.draft_tokens
    assert stats.accepted_tokens > 100
    if settings:
        assert stats.num_preemptions > 0


@pytest.mark.skipif(LOADED is None, reason=library_search.status().reason)
def test_exact_logits_have_the_same_bits(make_core: MakeCore) -> None:
    """Compare the rows after drafts with the same rows of steps without drafts."""
    rows: list[dict[bytes, torch.Tensor]] = []

    def watch(plan: StepPlan, execute: Execute) -> torch.Tensor:
        logits = execute(plan)
        for line in logits:
            rows[-1][line.numpy().tobytes()] = line
        return logits

    def answers(known: Answers | None) -> Answers:
        rows.append({})
        core = make_core(watch, exact=True, dtype="bfloat16", speculate="6" if known else "off")
        if known is not None:
            core.scheduler.drafting.drafters = (Remembered(known),)
        return run(core, *requests())

    wanted = answers(None)
    same_answers(answers(wanted), wanted, tolerance=0.0)
    assert rows[0].keys() <= rows[1].keys()


def test_a_prediction_makes_fewer_steps(make_core: MakeCore) -> None:
    core = make_core()
    wanted = run(core, ask("r", tokens_of(1, 20), max_tokens=NEW)).tokens("r")
    predicted = ask("r", tokens_of(1, 20), max_tokens=NEW)
    predicted = GenerationRequest(
        request_id="r",
        prompt_token_ids=predicted.prompt_token_ids,
        sampling=predicted.sampling,
        prediction=(*wanted[:10], 5, *wanted[11:]),
    )
    core = make_core(speculate="8")
    assert run(core, predicted).tokens("r") == wanted
    assert core.stats.num_steps < NEW // 2
    assert core.stats.accepted_tokens > NEW // 2


def test_a_draft_is_rejected_where_another_sequence_catches_up(make_core: MakeCore) -> None:
    prompt = tokens_of(1, 20)
    core = make_core(speculate="32", audit=True)
    drawn = {"temperature": 8.0, "seed": 7}
    said = run(core, ask("first", prompt, max_tokens=20, **drawn)).tokens("first")
    last = (said[19],)
    behind = ask("behind", prompt, max_tokens=NEW, stop_token_ids=last, **drawn)
    ahead = ask("ahead", (*prompt, *said[:19]), stop_token_ids=last, allowed_token_ids=last)
    answers = run(core, behind, replace(ahead, prediction=(4, 5, 6, 7)))
    assert answers.tokens("behind") == said
    assert answers.tokens("ahead") == [*last]
    assert core.stats.num_audit_failures == 0


def test_auto_measures_the_costs_of_rows_and_drafts_a_replay(make_core: MakeCore) -> None:
    core = make_core(speculate="auto")
    learned = core.scheduler.drafting.learned
    assert learned is not None
    costs = learned.costs
    assert 0 < costs.cost(1) <= costs.cost(8) <= costs.cost(32) < costs.cost(64)
    assert core.stats.num_live_slots == 0
    core.scheduler.drafting.learned = LearnedCosts(rising([(1, 1.0), (64, 1.5)]))
    request = ask("r", tokens_of(1, 20), max_tokens=NEW)
    wanted = run(core, request).tokens("r")
    before = core.stats
    assert run(core, request).tokens("r") == wanted
    assert core.stats.since(before).num_steps < NEW // 3
