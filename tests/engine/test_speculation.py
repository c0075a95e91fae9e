"""Speculative decoding with a real model: tokens and log-probabilities equal those without it."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention.test_cpu import LOADED
from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.engine.watched_executor import Execute
from tests.sizes import IS_WHOLE, large
from tests.tiny_model import VOCAB_SIZE
from yaie.attention.plan import StepPlan
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, Grammar, ReasoningLimit
from yaie.engine.core import EngineCore
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


PERSON = Grammar.json_schema(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["cat", "dog"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name", "kind", "tags"],
        "additionalProperties": False,
    }
)
CONSTRAINED: dict[str, tuple[Grammar, dict[str, object]]] = {
    "schema": (PERSON, {"ignore_eos": False}),
    "schema, drawn": (PERSON, {"temperature": 1.2, "seed": 11, "n": 2}),
    "schema, penalties": (PERSON, {"frequency_penalty": 0.7, "min_tokens": 9}),
    "pattern": (Grammar.regex("([a-f]{1,4} [0-9]{2}; )*the end"), {"temperature": 1.0, "seed": 12}),
    "any JSON": (Grammar(kind="json_object"), {"logprobs": 2, "temperature": 0.8, "seed": 13}),
}


def requests() -> list[GenerationRequest]:
    """Return requests whose prompts overlap, one for each kind of sampling."""
    shared = tokens_of(1, 20)
    found = [
        ask(name, (*shared[: 5 + number], *tokens_of(number, 9)), max_tokens=NEW, **sampling)
        for number, (name, sampling) in enumerate(SAMPLINGS.items())
    ]
    limit = ReasoningLimit(max_tokens=6, opener_id=20, closer_id=21, is_open=True)
    reasoning = GenerationRequest(
        request_id="reasoning",
        prompt_token_ids=shared,
        sampling=ask("", (), max_tokens=NEW, temperature=1.0, seed=10).sampling,
        reasoning_limit=limit,
    )
    grammars = [
        GenerationRequest(
            request_id=name,
            prompt_token_ids=shared[: 8 + number],
            sampling=ask(name, (), max_tokens=NEW, **sampling).sampling,
            grammar=grammar,
        )
        for number, (name, (grammar, sampling)) in enumerate(CONSTRAINED.items())
    ]
    return [*found, reasoning, *grammars]


class Remembered:
    """A drafter that knows the answers, and errs in one token of five, or another share."""

    def __init__(
        self, known: Answers, share_right: float = 0.8, rng: random.Random | None = None
    ) -> None:
        self.known = known
        self.share_right = share_right
        self.random = rng or random.Random(2)

    def propose(self, sequence: Sequence, limit: int) -> Guess | None:
        answer = self.known.tokens(sequence.request.request_id, sequence.index)
        tokens = [
            token
            if self.random.random() < self.share_right
            else self.random.randrange(3, VOCAB_SIZE)
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


def test_answers_under_a_grammar_take_fewer_steps(make_core: MakeCore) -> None:
    asked = [each for each in requests() if each.request_id in CONSTRAINED]
    known = run(make_core(), *asked)
    num_free = num_steps = 0
    for request in asked:
        core = make_core(speculate="8")
        core.scheduler.drafting.drafters = (Remembered(known),)
        run(core, request)
        assert core.stats.accepted_tokens > 0, request.request_id
        num_steps += core.stats.num_steps
        num_free += max(len(known.tokens(request.request_id, index)) for index in (0,))
        num_free -= core.stats.forced_tokens
    assert num_steps < 0.7 * num_free


@pytest.fixture(scope="module")
def known(tiny_model_dir: Path) -> Answers:
    return run(tiny_core(tiny_model_dir), *requests())


def tiny_core(folder: Path, **settings: int | str) -> EngineCore:
    settings = {"num_slots": 8192, **settings}
    return EngineCore(EngineConfig(model=str(folder), device="cpu", audit=True, **settings))  # type: ignore[arg-type]


@pytest.mark.integration
@large
@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=2000 if IS_WHOLE else 12)
def test_any_schedule_gives_the_tokens_without_drafts(
    tiny_model_dir: Path, known: Answers, seed: int
) -> None:
    """Requests come at any step, share prefixes, are preempted, and are drafted well or badly."""
    rng = random.Random(seed)
    core = tiny_core(
        tiny_model_dir,
        speculate=rng.choice(["1", "4", "16", "auto"]),
        num_slots=rng.choice([122, 160, 2000]),
        max_model_len=120,
        max_step_rows=rng.choice([8, 32, 512]),
        max_running=rng.choice([3, 16]),
    )
    core.scheduler.drafting.drafters = (Remembered(known, rng.choice([0.0, 0.5, 0.9, 1.0]), rng),)
    asked = rng.sample(requests(), rng.randint(1, 6))
    answers = Answers()
    for request in asked:
        core.add(request)
        for _ in range(rng.choice([0, 0, 3, 20])):
            answers.take(core.step())
    while core.has_work:
        answers.take(core.step())
    for request in asked:
        for index in range(request.sampling.n):
            name = request.request_id
            assert answers.last(name, index).error is None
            assert answers.tokens(name, index) == known.tokens(name, index), name
    core.check()


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
