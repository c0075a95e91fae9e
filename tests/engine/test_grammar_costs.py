"""Budgets of grammars: costs in the step, and answers followed outside it.

A `GrammarFollower` in this process replaces the grammar process; `test_grammar_process` has the
real one.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llguidance import LLMatcher, LLTokenizer

from tests.engine.asking import Answers, MakeCore, ask, run
from tests.engine.test_grammar import PROMPT, SCHEMA, text_of, under
from tests.tiny_model import VOCAB_SIZE
from yaie.base.types import Grammar
from yaie.engine.core import EngineCore
from yaie.engine.grammar import grammar_cost
from yaie.engine.grammar.compiler import JSON_FORM, GrammarCompiler
from yaie.engine.grammar.grammar_cost import (
    CHEAP_S,
    LEAST_TOKEN_S,
    REQUEST_S,
    STEP_S,
    TOKEN_S,
    GrammarCost,
    Spending,
)
from yaie.engine.grammar.grammar_faults import describe_fault
from yaie.engine.grammar.grammar_process import GrammarFollower, GrammarJob, Outcome, bytes_counter
from yaie.engine.grammar.grammar_worker import GrammarWorker
from yaie.engine.grammar.source_limits import is_expansive, is_plain, literal_length, plain_bytes
from yaie.engine.grammar.token_table import make_tokenizer
from yaie.text.tokenizer import Tokenizer, load_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

AMBIGUOUS = Grammar(kind="lark", source='start: s\ns: s s s | s s | "a"', param="guided_grammar")
LIMIT_OF_TEST_S = 60.0


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


def ends_of(tokenizer: Tokenizer) -> list[int]:
    assert tokenizer.eos_token_id is not None
    return [tokenizer.eos_token_id]


@pytest.fixture(scope="module")
def table(tokenizer: Tokenizer) -> LLTokenizer:
    return make_tokenizer(tokenizer, vocab_size=VOCAB_SIZE, end_token_ids=ends_of(tokenizer))


class LocalWorker(GrammarWorker):
    """A worker whose process is a `GrammarFollower` here; it answers while `may_answer` is set."""

    def __init__(self, table: LLTokenizer, budget_bytes: int = 64 << 20) -> None:
        super().__init__(lambda: pytest.fail("no process is needed"), budget_bytes)
        self.follower = GrammarFollower(table, budget_bytes, bytes_counter())
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.num_jobs = 0

    def _exchange(self, place: int, job: GrammarJob) -> Outcome:
        assert self.may_answer.wait(LIMIT_OF_TEST_S)
        self.num_jobs += 1
        return self.follower.answer(job)


@pytest.fixture
def worker(table: LLTokenizer) -> Iterator[LocalWorker]:
    worker = LocalWorker(table)
    yield worker
    worker.may_answer.set()


def with_worker(core: EngineCore, worker: LocalWorker) -> EngineCore:
    core._grammars._compiler.worker = worker
    return core


def make_costly(core: EngineCore, grammar: Grammar) -> None:
    """Compile a grammar, and leave it to the grammar process from its first token on."""
    core.check_grammar(grammar)
    state = core._grammars._compiler.find_cached(grammar)
    assert state is not None
    state.cost.is_costly = True


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_followed_outside_the_step_is_the_same(
    make_core: MakeCore, tokenizer: Tokenizer, worker: LocalWorker, temperature: float
) -> None:
    request = under(SCHEMA, n=3, temperature=temperature, seed=5, logprobs=1)  # nothing is forced
    inside = run(make_core(), request)
    core = with_worker(make_core(), worker)
    make_costly(core, SCHEMA)
    outside = run(core, request)
    assert worker.num_jobs > 60
    for index in range(3):
        assert outside.tokens("r", index) == inside.tokens("r", index)
        assert text_of(outside, tokenizer, index=index)
    assert core.stats.num_preemptions == 0


@pytest.mark.parametrize("missing", [0, 1, -1])
def test_the_reason_of_the_end_is_the_same_outside_the_step(
    make_core: MakeCore, worker: LocalWorker, missing: int
) -> None:
    """A grammar may end with the last token that `max_tokens` allows."""
    choice = Grammar(kind="regex", source="noon", param="guided_choice")
    num_tokens = len(run(make_core(), under(choice, logprobs=1)).tokens("r"))
    request = under(choice, logprobs=1, max_tokens=num_tokens - missing)
    inside = run(make_core(), request)
    core = with_worker(make_core(), worker)
    make_costly(core, choice)
    outside = run(core, request)
    assert outside.tokens("r") == inside.tokens("r")
    assert worker.num_jobs
    expected = "length" if missing > 0 else "stop"
    assert outside.last("r").finish_reason == inside.last("r").finish_reason == expected


@pytest.mark.parametrize("num_inside", [1, 7, 20])
def test_an_answer_moves_out_of_the_step_in_its_middle(
    make_core: MakeCore, worker: LocalWorker, num_inside: int
) -> None:
    request = under(SCHEMA, temperature=1.0, seed=3, logprobs=1)
    core = with_worker(make_core(), worker)
    core.check_grammar(SCHEMA)
    core.add(request)
    answers = Answers()
    while core.has_work:
        answers.take(core.step())
        if len(answers.deltas.get(("r", 0), ())) == num_inside:
            (running,) = core.scheduler.running or core.scheduler.suspended
            assert running.sampling.grammar is not None
            running.sampling.grammar.cost.is_costly = True
    assert answers.tokens("r") == run(make_core(), request).tokens("r")
    assert worker.num_jobs >= len(answers.tokens("r")) - num_inside


def test_other_rows_go_on_while_a_mask_is_late(make_core: MakeCore, worker: LocalWorker) -> None:
    core = with_worker(make_core(), worker)
    make_costly(core, SCHEMA)
    worker.may_answer.clear()
    core.add(under(SCHEMA))
    core.add(ask("plain", PROMPT, max_tokens=30))
    answers = Answers()
    while ("plain", 0) not in answers.deltas or answers.deltas["plain", 0][
        -1
    ].finish_reason is None:
        answers.take(core.step())
    assert ("r", 0) not in answers.deltas
    worker.may_answer.set()
    while core.has_work:
        answers.take(core.step())
    assert answers.last("r").error is None
    assert answers.tokens("plain") == run(make_core(), ask("plain", PROMPT, max_tokens=30)).tokens(
        "plain"
    )


def test_a_request_can_be_aborted_while_its_mask_is_late(
    make_core: MakeCore, worker: LocalWorker
) -> None:
    core = with_worker(make_core(), worker)
    make_costly(core, SCHEMA)
    worker.may_answer.clear()
    core.add(under(SCHEMA, n=2))
    answers = Answers()
    while len(core.scheduler.suspended) < 2:
        answers.take(core.step())
    core.abort("r")
    answers.take(core.step())
    assert [answers.last("r", index).finish_reason for index in range(2)] == ["abort"] * 2
    assert core.stats.num_live_slots == 0
    assert not core.has_work


def test_an_ambiguous_grammar_ends_its_own_request_and_says_why(
    make_core: MakeCore, worker: LocalWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar_cost, "STEP_S", 0.001)
    monkeypatch.setattr(grammar_cost, "REQUEST_S", 0.02)
    monkeypatch.setattr(grammar_cost, "TOKEN_S", 0.0)
    core = with_worker(make_core(), worker)
    plain = ask("plain", PROMPT, max_tokens=20)
    answers = run(core, under(AMBIGUOUS, max_tokens=500, ignore_eos=True), plain)
    error = answers.last("r").error
    assert error is not None
    assert (error.status, error.param) == (400, "guided_grammar")
    assert "too costly at output token" in error.message
    assert "ambiguous" in error.message
    assert answers.tokens("plain") == run(make_core(), plain).tokens("plain")


def test_ordinary_calls_are_free_and_costly_ones_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr(GrammarCost, "now", lambda _: now_s)

    def charge(cost: GrammarCost, cpu_s: float) -> None:
        nonlocal now_s
        began_s = now_s
        now_s += cpu_s
        cost.charge(began_s)

    cheap, slow = GrammarCost("a", 1000), GrammarCost("b", 1000)
    for number in range(100_000):
        charge(cheap, CHEAP_S / 2 if number % 100 else 2 * CHEAP_S)  # noise is forgiven
    assert not cheap.is_costly
    calls = 0
    while not slow.is_costly:
        calls += 1
        charge(slow, 2 * CHEAP_S)
    assert abs(calls - STEP_S / CHEAP_S) <= 2
    assert slow.num_bytes == 0  # elsewhere now


def test_a_request_is_over_by_its_time_above_that_of_ordinary_masks() -> None:
    cheap, growing = Spending(), Spending()
    for _ in range(10_000):
        cheap.charge(TOKEN_S)
    assert not cheap.is_over
    while not growing.is_over:
        growing.charge(TOKEN_S + growing.num_masks * TOKEN_S / 10)
    assert growing.cpu_s == pytest.approx(REQUEST_S, abs=growing.num_masks * TOKEN_S * 2)


def test_eight_answers_have_the_budget_of_one() -> None:
    def spent(num_sequences: int) -> float:
        """Return the time until masks that grow with their position exceed the budget."""
        spending = Spending()
        for _ in range(num_sequences - 1):
            assert spending.share() is spending
        position = 0
        while not spending.is_over:
            position += 1
            for _ in range(num_sequences):
                spending.charge(position * TOKEN_S / 20)
        return spending.cpu_s

    assert spent(8) < 1.5 * spent(1)
    slow = Spending()
    for _ in range(7):
        slow.share()
    for _ in range(10_000):
        slow.charge(LEAST_TOKEN_S)
    assert not slow.is_over


NOT_PLAIN = [
    Grammar.regex("(c{901}){1000}"),
    Grammar.regex("a" * 1100),
    Grammar.lark('start: A\nA: ("c"{901}){1000}'),
    Grammar.lark("start: A\nA: /a/ & ~/b/"),
    Grammar.lark('start: a~200\na: "b"~200'),
    Grammar.json_schema({"multipleOf": 997}),
    Grammar.json_schema({"const": "ab" * 1500}),
    Grammar.json_schema({"type": "string", "pattern": "((ab){99}){99}"}),
    Grammar.json_schema({"title": "x" * 17_000}),
    Grammar.choice(["x" * 5000]),
]
PLAIN = [
    SCHEMA,
    Grammar(kind="json_object"),
    AMBIGUOUS,
    Grammar.regex(r"\w{1,100}@[a-z]{2,63}"),
    Grammar.choice(["yes", "no"]),
    Grammar.regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Grammar.regex(r"([ab.]{901}){1000}[\]){9}]{9999}\d{9999}"),
    Grammar.lark('start: "a"~1..100 "b"{100}'),
    Grammar.json_schema({"type": "string", "maxLength": 100_000, "description": "x" * 5000}),
    Grammar.json_schema({"type": "array", "items": {"$ref": "#"}}),
]


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("abc", 3),
        ("a{7}b", 8),
        ("(ab{3}){1,5}c", 21),
        ("(c{901}){1000}", 901_000),
        (r"((\.[.]\w\{)*x){3}", 9),
        ("(a|bb){10}", 30),
        (r"\p{L}{100}a{2,}", 2),
        ("a{1,1000000000}", 10**9 // 10),
        (")){", 3),
        ("", 0),
    ],
)
def test_literals_are_measured_with_their_repetitions(pattern: str, length: int) -> None:
    assert literal_length(pattern) == length


@pytest.mark.parametrize("grammar", NOT_PLAIN + PLAIN)
def test_a_source_that_may_expand_is_not_plain(grammar: Grammar) -> None:
    assert is_plain(grammar) == (grammar in PLAIN)
    assert not is_expansive(grammar) or grammar in NOT_PLAIN


@pytest.mark.parametrize(
    "source", ['{"patternProperties": 5}', '[{"patternProperties": true}]', "[" * 5000]
)
def test_a_source_of_another_shape_is_left_to_the_compiler(source: str) -> None:
    assert not is_expansive(Grammar(kind="json_schema", source=source))


def test_plain_grammars_stay_below_their_bytes(table: LLTokenizer) -> None:
    count = bytes_counter()
    names = [f"name_{number}" for number in range(40)]
    objects = [
        {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        for name in names
    ]
    schemas: list[dict[str, Any]] = [
        {"type": "object", "properties": {name: {"type": "string"} for name in names}},
        {"anyOf": objects},
        {"type": "array", "items": {"anyOf": objects}},
        {"enum": [f"{name}-{name}" for name in names]},
        {"type": "string", "pattern": r"^[\p{L}\p{N}]{1,64}$"},
        {"type": "string", "pattern": r"^\w\W\d\D\s\S\p{Lu}\p{Greek}$"},
        {"const": "word " * 150},
        {"type": "number", "minimum": -1234.5678, "maximum": 98765.4321},
    ]
    for grammar in [*(Grammar.json_schema(each) for each in schemas), *PLAIN]:
        assert is_plain(grammar), grammar
        before = count()
        compiled = _compile(grammar, table)
        compiled.compute_bitmask()
        assert not compiled.is_error()
        assert count() - before <= plain_bytes(grammar), (grammar, count() - before)
        del compiled


def _compile(grammar: Grammar, table: LLTokenizer) -> LLMatcher:
    if grammar.kind in ("json_schema", "json_object"):
        source = LLMatcher.grammar_from_json_schema(
            grammar.source or '{"type": "object"}', defaults=JSON_FORM
        )
    elif grammar.kind == "regex":
        source = LLMatcher.grammar_from_regex(grammar.source)
    elif grammar.kind == "choice":
        source = "start: " + " | ".join(map(json.dumps, json.loads(grammar.source)))
    else:
        source = grammar.source
    return LLMatcher(table, source, log_level=0)


def test_a_follower_gives_the_masks_of_the_matcher(table: LLTokenizer) -> None:
    """Its twin is llguidance itself; states are closed, forgotten and opened again at random."""
    rng = random.Random(7)
    sources = [LLMatcher.grammar_from_regex(each) for each in ("(ab|cd)*e", "[a-f]{2,40}", "x.*y")]
    follower = GrammarFollower(table, 64 << 20, bytes_counter())
    for state in range(1, 30):
        source = rng.choice(sources)
        twin, known = LLMatcher(table, source, log_level=0), 0
        tokens: list[int] = []
        for _ in range(rng.randrange(1, 12)):
            is_lost = rng.random() < 0.2
            if is_lost:
                follower._close(state)
                if known:
                    job = GrammarJob(
                        1, 1.0, state=state, num_known=known, tokens=tuple(tokens[known:])
                    )
                    assert follower.answer(job).is_unknown
                known = 0
            job = GrammarJob(
                2,
                1.0,
                source="" if known else source,
                state=state,
                tokens=tuple(tokens[known:]),
                num_known=known,
                closed=(state - 3,),
            )
            outcome = follower.answer(job)
            assert outcome.mask == twin.compute_bitmask()
            assert outcome.is_accepting == twin.is_accepting()
            known = len(tokens)
            bits = np.unpackbits(np.frombuffer(outcome.mask, np.uint8), bitorder="little")
            allowed = [each for each in bits.nonzero()[0] if each not in table.eos_tokens]
            if not allowed:
                break
            tokens.append(int(rng.choice(allowed)))
            if known == 0 and rng.random() < 0.5:
                known = len(tokens) - 1
            assert twin.consume_token(tokens[-1])
    follower._close(29)
    assert all(each.num_states <= 3 for each in follower._grammars.values())


def test_a_grammar_that_grows_beyond_the_budget_is_too_large(table: LLTokenizer) -> None:
    follower = GrammarFollower(table, 1 << 19, bytes_counter())
    source = LLMatcher.grammar_from_regex("(.{1,30}a){30}")
    rng, outcome = random.Random(1), Outcome(0)
    tokens: list[int] = []
    for known in range(2000):
        job = GrammarJob(0, 1.0, "" if known else source, 1, tuple(tokens[-1:]), max(0, known - 1))
        outcome = follower.answer(job)
        if outcome.is_too_large or outcome.is_unknown:
            break
        bits = np.unpackbits(np.frombuffer(outcome.mask, np.uint8), bitorder="little")
        tokens.append(int(rng.choice([x for x in bits.nonzero()[0] if x not in table.eos_tokens])))
    assert outcome.is_too_large
    assert "0 MiB of memory" in describe_fault(outcome, 1.0, 1 << 19)
    assert not follower._states and not follower._grammars


def test_compiled_grammars_are_bounded_by_their_bytes(
    tokenizer: Tokenizer, worker: LocalWorker
) -> None:
    compiler = GrammarCompiler(
        lambda: tokenizer,
        vocab_size=VOCAB_SIZE,
        end_token_ids=ends_of(tokenizer),
        cache_bytes=3 << 20,
    )
    compiler.worker = worker
    used = [compiler.compile(Grammar.regex(f"[a-z]{{{n}}}")) for n in range(1, 4)]
    for number in range(10, 30):
        compiler.compile(Grammar.regex(f"[a-z]{{{number}}}"))
        assert compiler.num_bytes <= 3 << 20
    assert compiler.find_cached(Grammar.regex("[a-z]{29}")) is not None
    assert compiler.find_cached(Grammar.regex("[a-z]{10}")) is None
    kept = [compiler.compile(Grammar.regex(f"[0-9]{{{n}}}")) for n in range(1, 20)]
    assert sum(state.cost.is_costly for state in kept) >= 5  # no room: the process follows them
    assert not any(state.cost.is_costly for state in used)
    assert compiler.num_bytes <= 3 << 20
