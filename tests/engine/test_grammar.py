"""Requests with a grammar: every answer follows it, and no other request notices."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.asking import Answers, MakeCore, ask, run, tokens_of
from tests.engine.sampling import state_of, task
from tests.tiny_model import VOCAB_SIZE
from yaie.base.errors import InvalidRequest
from yaie.base.types import GenerationRequest, Grammar, SamplingParams
from yaie.engine.core import EngineCore
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.masked_sampling import sample_masked
from yaie.engine.scheduled_step import SampledToken
from yaie.kernels import library_search as kernels
from yaie.text.tokenizer import Tokenizer, load_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

PROMPT = tokens_of(1, 20)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "kind": {"enum": ["cat", "dog"]},
        "alive": {"type": "boolean"},
    },
    "required": ["name", "kind", "alive"],
    "additionalProperties": False,
}
SCHEMA = Grammar(kind="json_schema", source=json.dumps(PERSON))
CODE = Grammar(kind="regex", source="[0-9]{3}-[a-f]{2,5}")


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


def under(
    grammar: Grammar, request_id: str = "r", *, max_tokens: int = 80, **sampling: object
) -> GenerationRequest:
    plain = ask(request_id, PROMPT, max_tokens=max_tokens, **{"ignore_eos": False, **sampling})
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=PROMPT,
        sampling=plain.sampling,
        grammar=grammar,
    )


def text_of(answers: Answers, tokenizer: Tokenizer, request_id: str = "r", index: int = 0) -> str:
    assert answers.last(request_id, index).error is None
    assert answers.last(request_id, index).finish_reason == "stop"
    return tokenizer.decode(answers.tokens(request_id, index))


@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_an_answer_under_a_schema_has_its_form(
    make_core: MakeCore, tokenizer: Tokenizer, temperature: float
) -> None:
    answers = run(make_core(), under(SCHEMA, n=3, temperature=temperature))
    for index in range(3):
        person = json.loads(text_of(answers, tokenizer, index=index))
        assert list(person) == ["name", "kind", "alive"]
        assert person["kind"] in ("cat", "dog") and isinstance(person["alive"], bool)


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        (CODE, CODE.source),
        (
            Grammar(kind="choice", source='["yes", "no", "a \\"quoted\\" one"]'),
            'yes|no|a "quoted" one',
        ),
        (Grammar(kind="lark", source='start: "<" /[a-z]{1,4}/ ">"'), "<[a-z]{1,4}>"),
        (Grammar(kind="json_object"), r"\{.*\}"),
    ],
)
def test_each_kind_of_grammar_holds(
    make_core: MakeCore, tokenizer: Tokenizer, grammar: Grammar, pattern: str
) -> None:
    bias = dict.fromkeys(tokenizer.encode("}"), 5.0)  # a random model would go on
    for temperature in (0.0, 1.0):
        request = under(grammar, temperature=temperature, logit_bias=bias, max_tokens=900, seed=5)
        text = text_of(run(make_core(), request), tokenizer)
        assert re.fullmatch(pattern, text, re.DOTALL), text


def test_forced_tokens_have_no_step_of_their_own(make_core: MakeCore, tokenizer: Tokenizer) -> None:
    core = make_core()
    answers = run(core, under(SCHEMA))
    stats = core.stats
    num_tokens = len(answers.tokens("r"))
    assert stats.forced_tokens > 15
    assert stats.num_steps == num_tokens - stats.forced_tokens
    assert stats.output_tokens == num_tokens
    assert stats.rows_computed < len(PROMPT) + num_tokens  # each once, and none after the last
    assert text_of(answers, tokenizer).startswith('{"name": "')


def test_forced_tokens_of_several_rows_join_the_steps_of_the_others(
    make_core: MakeCore, tokenizer: Tokenizer
) -> None:
    """Each delta is a step of its sequence; the forced text divides as the tokenizer does it."""
    core = make_core()
    grammars = [SCHEMA, Grammar.regex("(plan|tree): the tree is the cache, the batch"), CODE]
    for grammar in grammars:
        core.check_grammar(grammar)
    requests = [under(grammar, f"r{at}", n=2) for at, grammar in enumerate(grammars)]
    plain = ask("plain", PROMPT, max_tokens=12)
    answers = run(core, *requests, plain)
    num_forced = 0
    for at, grammar in enumerate(grammars):
        assert answers.tokens(f"r{at}") == run(make_core(), under(grammar)).tokens("r")
        for index in range(2):
            for delta in answers.deltas[f"r{at}", index]:
                _, *forced = delta.token_ids
                num_forced += len(forced)
                assert tokenizer.encode(tokenizer.decode(forced)) == forced
    assert answers.tokens("plain") == run(make_core(), plain).tokens("plain")
    assert core.stats.forced_tokens == num_forced > 40
    assert core.stats.num_steps == max(map(len, answers.deltas.values()))


def test_logprobs_are_those_of_samples_without_forced_tokens(make_core: MakeCore) -> None:
    core = make_core()
    answers = run(core, under(SCHEMA, logprobs=2))
    deltas = answers.deltas["r", 0]
    assert core.stats.forced_tokens == 0
    assert all(len(delta.logprobs) == len(delta.token_ids) == 1 for delta in deltas)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_grammar_is_followed_by_allowed_tokens_alone(
    make_core: MakeCore, tokenizer: Tokenizer, temperature: float
) -> None:
    """Also where the grammar forces text, and although no end token is allowed."""
    allowed = tuple({*tokenizer.encode("0"), *tokenizer.encode("-"), *tokenizer.encode("e")})
    request = under(CODE, allowed_token_ids=allowed, temperature=temperature, seed=3)
    core = make_core()
    answers = run(core, request, ask("plain", PROMPT))
    assert re.fullmatch("000-e{2,5}", text_of(answers, tokenizer))
    assert core.stats.forced_tokens == 0
    assert answers.tokens("plain") == run(make_core(), ask("plain", PROMPT)).tokens("plain")


def test_bad_words_hold_inside_a_grammar(make_core: MakeCore, tokenizer: Tokenizer) -> None:
    texts = Grammar.regex("x(plan|tree)")
    free = run(make_core(), under(texts)).tokens("r")
    bad = free[len(tokenizer.encode("x"))]
    answers = run(make_core(), under(texts, bad_words_token_ids=[[bad]]))
    assert re.fullmatch("x(plan|tree)", text_of(answers, tokenizer))
    assert bad not in answers.tokens("r")


def test_bad_words_in_text_that_a_grammar_forces_end_their_own_request(
    make_core: MakeCore,
) -> None:
    forced = Grammar.regex("the plan")
    bad = run(make_core(), under(forced)).tokens("r")[-2:]
    answers = run(
        make_core(), under(forced, bad_words_token_ids=[[each] for each in bad]), ask("p", PROMPT)
    )
    error = answers.last("r").error
    assert error is not None
    assert (error.status, error.param) == (400, "bad_words")
    assert answers.last("p").error is None


def test_allowed_tokens_outside_the_grammar_end_their_own_request(make_core: MakeCore) -> None:
    answers = run(make_core(), under(CODE, allowed_token_ids=(5,)), ask("plain", PROMPT))
    error = answers.last("r").error
    assert error is not None
    assert (error.status, error.param) == (400, "allowed_token_ids")
    assert answers.last("plain").error is None


def test_requests_that_share_a_row_keep_their_own_tokens(make_core: MakeCore) -> None:
    """All sample their first token from one row of logits."""
    plain = ask("plain", PROMPT, max_tokens=20)
    alone = run(make_core(), plain).tokens("plain")
    core = make_core()
    core.check_grammar(SCHEMA)
    core.check_grammar(CODE)
    answers = run(core, plain, under(SCHEMA, "schema"), under(CODE, "code"), ask("p2", PROMPT))
    assert answers.tokens("plain") == alone
    assert answers.tokens("p2") == alone[:6]
    assert answers.tokens("code") == run(make_core(), under(CODE)).tokens("r")
    assert answers.tokens("schema") == run(make_core(), under(SCHEMA)).tokens("r")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        (Grammar(kind="lark", source='start: "a" missing', param="x"), "missing"),
        (Grammar(kind="regex", source="(?=a)b", param="x"), "look-around"),
        (Grammar(kind="json_schema", source='{"type": "strong"}', param="x"), "strong"),
        (Grammar(kind="json_schema", source="{", param="x"), "x is invalid"),
        (
            Grammar(
                kind="json_schema",
                source='{"properties": {"a": {"enum": [1, [9007199254740993]]}}}',
                param="x",
            ),
            "an integer beyond 2^53 in enum",
        ),
        (Grammar(kind="choice", source="[]", param="x"), "at least one"),
        (Grammar(kind="choice", source='["a", 1]', param="x"), "text"),
        (Grammar(kind="regex", source="", param="x"), "empty"),
        (Grammar(kind="json_schema", source=" " * 70_000, param="x"), "65536"),
        (Grammar(kind="regex", source="(" * 65 + "a" + ")" * 65, param="x"), "65 levels"),
    ],
)
def test_an_invalid_grammar_ends_its_own_request_only(
    make_core: MakeCore, grammar: Grammar, reason: str
) -> None:
    core = make_core()
    plain = ask("plain", PROMPT, max_tokens=20)
    answers = run(core, under(grammar, "bad", n=2), plain)
    error = answers.last("bad").error
    assert error is not None
    assert (error.status, error.param) == (400, "x")
    assert reason in error.message
    assert answers.tokens("plain") == run(make_core(), plain).tokens("plain")
    with pytest.raises(InvalidRequest, match=re.escape(reason)):
        core.check_grammar(grammar)


def test_a_request_can_be_aborted_while_its_grammar_is_compiled(make_core: MakeCore) -> None:
    core: EngineCore = make_core()
    for index in (None, 0):
        core.add(under(SCHEMA, "r", n=2))
        assert core.stats.num_waiting == 1
        core.abort("r", index)
        answers = run(core)
        assert answers.last("r", 0).finish_reason == "abort"
        assert answers.last("r", 1).finish_reason == ("abort" if index is None else "stop")
    assert core.stats.num_requests == 2


def test_preempted_sequences_go_on_in_their_grammar(
    make_core: MakeCore, tokenizer: Tokenizer
) -> None:
    long = Grammar(kind="lark", source='start: "<" /[a-z]{110,120}/ " and the end>"')
    core = make_core(num_slots=170)
    requests = [under(long, f"r{i}", max_tokens=145, temperature=1.0, seed=i) for i in range(4)]
    answers = run(core, *requests)
    assert core.stats.num_preemptions > 0
    alone = make_core()
    for i, request in enumerate(requests):
        assert re.fullmatch("<[a-z]{110,120} and the end>", text_of(answers, tokenizer, f"r{i}"))
        assert answers.tokens(f"r{i}") == run(alone, request).tokens(f"r{i}")


def test_a_grammar_ends_an_answer_before_its_minimum_and_despite_ignored_ends(
    make_core: MakeCore, tokenizer: Tokenizer
) -> None:
    once = Grammar(kind="regex", source="[ab]{2}")
    for sampling in ({"min_tokens": 9}, {"ignore_eos": True}):
        assert len(text_of(run(make_core(), under(once, **sampling)), tokenizer)) == 2


def test_a_grammar_that_can_go_on_reaches_the_minimum(
    make_core: MakeCore, tokenizer: Tokenizer
) -> None:
    growing = Grammar(kind="regex", source="[ab]*")
    for sampling in ({"min_tokens": 9}, {"ignore_eos": True, "max_tokens": 9}):
        answers = run(make_core(), under(growing, logit_bias={1: 50.0}, **sampling))
        assert len(answers.tokens("r")) >= 9
        assert set(tokenizer.decode(answers.tokens("r")[:9])) <= {"a", "b"}


def test_a_stop_token_ends_an_answer_inside_its_grammar(
    make_core: MakeCore, tokenizer: Tokenizer
) -> None:
    (colon,) = tokenizer.encode(":")
    answers = run(make_core(), under(SCHEMA, stop_token_ids=(colon,)))
    assert answers.last("r").stop_token_id == colon
    assert tokenizer.decode(answers.tokens("r")) == '{"name":'


@pytest.mark.parametrize("with_kernels", [True, False])
def test_sampling_keeps_the_proportions_of_the_allowed_tokens(
    make_core: MakeCore, tokenizer: Tokenizer, with_kernels: bool
) -> None:
    """Also where the best token, or most of the probability, is excluded."""
    core = make_core()
    core.check_grammar(CODE)
    state = core._grammars._compiler.compile(CODE)  # digits come first
    logits = torch.full((1, VOCAB_SIZE), -20.0)
    weights = {"3": 0.1, "4": 0.3, "7": 0.2, "x": 0.4}
    for text, weight in weights.items():
        logits[0, tokenizer.encode(text)] = math.log(weight)
    sampler = CpuSampler(VOCAB_SIZE, kernels=kernels.load() if with_kernels else None)
    counts: Counter[str] = Counter()
    for seed in range(600):
        sampling = state_of(SamplingParams(temperature=1.0), vocab_size=VOCAB_SIZE, seed=seed)
        sampling.take_grammar(state.copy())
        (sampled,) = sampler.sample(logits, [task(0, sampling)])
        assert isinstance(sampled, SampledToken)
        counts[tokenizer.decode([sampled.token_id])] += 1
    assert logits.max() == logits[0, tokenizer.encode("x")]  # as before
    for text, weight in weights.items():
        expected = 0.0 if text == "x" else weight / 0.6
        assert abs(counts[text] / 600 - expected) < 0.07


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0.3, 1.0, 5.0]))
def test_a_masked_sample_is_allowed_and_the_best_one_greedy(
    seed: int, temperature: float | None
) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.choice([75, 1500, 3000]))
    logits = rng.normal(scale=4, size=size).astype(np.float32)
    logits[rng.random(size) < 0.3] = -math.inf
    allowed = rng.random(size) < rng.choice([0.002, 0.05, 0.5, 0.998, 1.0])
    padded = np.zeros(-(-size // 32) * 32, bool)
    padded[:size] = allowed
    mask = np.packbits(padded, bitorder="little").view(np.uint32)
    usable = np.flatnonzero(allowed & np.isfinite(logits))
    given_logits = logits.copy()
    for uniform in (0.0, rng.random(), 1 - 2**-53):
        token = sample_masked(logits, mask, temperature=temperature, uniform=uniform)
        if not len(usable):
            assert token is None
        elif temperature is None:
            assert token == usable[logits[usable].argmax()]
        else:
            exponents = (logits[usable] - logits[usable].max()) / np.float64(temperature)
            running = np.cumsum(np.exp(exponents)) / np.exp(exponents).sum()
            assert token in usable
            at = int(np.searchsorted(usable, token))
            assert running[at] - np.exp(exponents[at]) / np.exp(exponents).sum() <= uniform + 1e-5
            assert running[at] >= uniform - 1e-5
    assert np.array_equal(logits, given_logits)
