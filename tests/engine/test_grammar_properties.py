"""Random schemas in random company: every answer is valid, whether or not others are aborted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.asking import Answers
from yaie.base.settings import EngineConfig
from yaie.base.types import GenerationRequest, Grammar, SamplingParams
from yaie.engine.core import EngineCore
from yaie.text.tokenizer import Tokenizer, load_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

NUM_SLOTS = 700  # too few for the longest company: some are preempted
MAX_TOKENS = 600

names = st.text('abAé"\\ 7_', min_size=1, max_size=5)
exact = st.integers(-(2**53), 2**53)  # as float64
leaves = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
              st.integers(-99, 99), st.integers(0, 500)),
    st.builds(lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
              st.integers(0, 4), st.integers(0, 6)),
    st.builds(lambda values: {"enum": values},
              st.lists(names | exact | st.none() | st.booleans(), min_size=1, max_size=4)),
    st.sampled_from(["[ab]{2,4}", "x-[0-9]+-y"]).map(lambda text: {
        "type": "string", "pattern": f"^{text}$", "maxLength": 8}),
    st.sampled_from(["date", "uuid", "ipv4"]).map(lambda name: {"type": "string", "format": name}),
)  # fmt: skip


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(names, values, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def arrays(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda items, least, more: {
            "type": "array",
            "items": items,
            "minItems": least,
            "maxItems": least + more,
        },
        values,
        st.integers(0, 1),
        st.integers(0, 2),
    )


schemas = st.recursive(
    leaves,
    lambda values: st.one_of(
        objects(values),
        arrays(values),
        st.lists(values, min_size=1, max_size=2).map(lambda each: {"anyOf": each}),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def core(tiny_model_dir: Path) -> Iterator[EngineCore]:
    yield EngineCore(
        EngineConfig(
            model=str(tiny_model_dir), device="cpu", num_slots=NUM_SLOTS, audit=True, max_running=6
        )
    )


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            schemas,
            st.sampled_from([0.0, 0.7, 1.5]),
            st.integers(1, 2),
            st.none() | st.integers(0, 12),  # aborted after so many steps
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_answer_parses_and_validates(
    core: EngineCore, tokenizer: Tokenizer, company: list[tuple[Any, float, int, int | None, int]]
) -> None:
    answers = Answers()
    for number, (schema, temperature, n, _, seed) in enumerate(company):
        core.add(
            GenerationRequest(
                request_id=f"r{number}",
                prompt_token_ids=(5, 6, 7, 8 + seed),
                sampling=SamplingParams(
                    n=n, temperature=temperature, seed=seed, max_tokens=MAX_TOKENS
                ),
                grammar=Grammar.json_schema(schema),
            )
        )
    step = 0
    while core.has_work:
        for number, (*_, aborted_at, _) in enumerate(company):
            if aborted_at == step:
                core.abort(f"r{number}", 0)
        answers.take(core.step())
        step += 1
    for number, (schema, _, n, aborted_at, _) in enumerate(company):
        for index in range(n):
            last = answers.last(f"r{number}", index)
            if last.finish_reason == "abort":
                assert aborted_at is not None and index == 0
                continue
            assert last.finish_reason == "stop", (last.finish_reason, last.error)
            text = tokenizer.decode(answers.tokens(f"r{number}", index))
            jsonschema.validate(json.loads(text), schema)
    assert core.stats.num_live_slots == core.stats.num_running == core.stats.num_waiting == 0
