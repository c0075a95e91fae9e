"""One of 16 requests fails, at every place of a step: the other 15 are equal to the bit."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from tests.engine.asking import Answers, MakeCore, ask, tokens_of
from tests.faults.places import BAD, BAD_SEED, BAD_TOKEN, PLACES, Place
from tests.sizes import IS_WHOLE, large
from yaie.base.types import GenerationRequest, Grammar, SamplingParams, TokenDelta
from yaie.engine.core import EngineCore
from yaie.engine.loop import EngineLoop

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.integration, large]

NUM_REQUESTS = 16
NUM_ROUNDS = 50 if IS_WHOLE else 1
LETTERS = Grammar(kind="regex", source="[a-e]{4,9}", param="guided_regex")
RECORD = Grammar(
    kind="json_schema",
    source=json.dumps(
        {
            "type": "object",
            "properties": {"kind": {"enum": ["cat", "dog"]}, "alive": {"type": "boolean"}},
            "required": ["kind", "alive"],
            "additionalProperties": False,
        }
    ),
    param="guided_json",
)
BAD_GRAMMAR = Grammar(kind="regex", source="(yes|no|perhaps), [a-z]{3,9}", param=BAD)


def draw_request(rng: random.Random, name: str) -> GenerationRequest:
    """Return a request of a random kind, which never says the bad token."""
    prompt = tokens_of(rng.randrange(3), rng.randint(5, 60)) + tokens_of(rng.randrange(99), 3)
    request = ask(
        name,
        tuple(token for token in prompt if token != BAD_TOKEN),
        max_tokens=rng.randint(3, 20),
        n=rng.choice((1, 1, 1, 3)),
        temperature=rng.choice((0.0, 0.8)),
        seed=rng.randrange(50),
        logprobs=rng.choice((None, None, 2)),
        prompt_logprobs=rng.choice((None, None, None, 1)),
        repetition_penalty=rng.choice((1.0, 1.0, 1.3)),
        logit_bias={BAD_TOKEN: -100.0},
    )
    grammar = rng.choice((None, None, None, LETTERS, RECORD))
    return request if grammar is None else replace(request, grammar=grammar)


def draw_bad_request(rng: random.Random, place: Place) -> GenerationRequest:
    prompt = tokens_of(rng.randrange(3), rng.randint(5, 60))
    prompt = tuple(token for token in prompt if token != BAD_TOKEN)
    if place.in_prompt:
        at = rng.randint(1, len(prompt))
        prompt = (*prompt[:at], BAD_TOKEN, *prompt[at:])
    sampling = SamplingParams(
        max_tokens=12,
        temperature=0.8,
        seed=BAD_SEED,
        ignore_eos=True,
        logprobs=None if place.grammar else 1,
        prompt_logprobs=1 if place.in_prompt else None,
        logit_bias={BAD_TOKEN: 100.0} if place.in_output else None,
    )
    return GenerationRequest(
        request_id=BAD,
        prompt_token_ids=prompt,
        sampling=sampling,
        grammar=BAD_GRAMMAR if place.grammar else None,
    )


def run_staggered(core: EngineCore, requests: list[GenerationRequest], seed: int) -> Answers:
    """Submit some requests before each of the first steps, in the same order for a seed."""
    loop, answers, rng, left = EngineLoop(core), Answers(), random.Random(seed), list(requests)
    while left or loop.has_work:
        for request in left[: rng.choice((0, 1, 1, 3, 8))]:
            loop.submit(request)
            left.remove(request)
        answers.take(loop.step())
    return answers


def contents(deltas: list[TokenDelta]) -> list[object]:
    """Return an answer's tokens and numbers; their division into deltas may differ."""
    return [
        [token for delta in deltas for token in delta.token_ids],
        [each for delta in deltas for each in delta.logprobs],
        [each for delta in deltas for each in delta.prompt_logprobs or ()],
        [delta.finish_reason for delta in deltas if delta.finish_reason],
    ]


@pytest.mark.parametrize("name", PLACES)
def test_a_fault_ends_its_own_request_only(
    make_core: MakeCore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place = PLACES[name]
    settings = {"exact": True, "num_slots": 700, "max_model_len": 128, "max_step_rows": 96}
    expecting, num_failed_steps = make_core(**settings), 0
    for seed in range(NUM_ROUNDS):
        rng = random.Random(seed)
        bad = draw_bad_request(rng, place)
        requests = [draw_request(rng, f"r{number}") for number in range(NUM_REQUESTS - 1)]
        requests.insert(rng.randrange(NUM_REQUESTS), bad)
        expected = run_staggered(expecting, requests, seed)
        with monkeypatch.context() as patched:
            if place.spoil is not None:
                place.spoil(patched)
            core = make_core(place.step, **settings)
            found = run_staggered(core, requests, seed)
            num_failed_steps += core.stats.num_failed_steps
        for key, deltas in expected.deltas.items():
            if key[0] != BAD or place.harmless:
                assert contents(found.deltas[key]) == contents(deltas), (seed, key)
        last = found.last(BAD)
        assert (last.error is None) is place.harmless, seed
        if last.error is not None:
            assert last.error.code in ("request_failed", "logits_not_finite")
        core.check()
        assert core.stats.num_live_slots == 0
        assert core.stats.num_failed == (not place.harmless)
        if place.spoil is None or name == "grammar compiler":
            continue  # these stay spoiled
        for key, deltas in run_staggered(core, requests, seed).deltas.items():
            assert contents(deltas) == contents(expected.deltas[key]), (seed, key)
    raises = "forward raises" in name or "then raises" in name or name in ("sampler", "logprobs")
    assert bool(num_failed_steps) is raises
