"""The limit on the reasoning of an output: the closer is the next token when it is reached."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.asking import MakeCore, ask, run, tokens_of
from tests.engine.sampling import task
from yaie.base.types import Grammar, ReasoningLimit, SamplingParams
from yaie.engine.grammar.compiler import GrammarCompiler
from yaie.engine.reasoning_budget import MAX_BEFORE, ReasoningBudget
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling_state import SamplingState
from yaie.kernels import library_search
from yaie.models.builtin import BUILTIN_MODEL_DIR
from yaie.text.tokenizer import load_tokenizer

OPENER, CLOSER = 1, 2


def limit_of(max_tokens: int, is_open: bool) -> ReasoningLimit:
    return ReasoningLimit(
        max_tokens=max_tokens, opener_id=OPENER, closer_id=CLOSER, is_open=is_open
    )


def plain_twin(output: list[int], max_tokens: int, is_open: bool) -> bool:
    """Return whether the closer must follow an output."""
    thought = output
    if not is_open:
        if OPENER not in output[: MAX_BEFORE + 1]:
            return False
        place = output.index(OPENER)
        if CLOSER in output[:place]:
            return False
        thought = output[place + 1 :]
    return CLOSER not in thought and len(thought) >= max_tokens


@given(
    output=st.lists(st.integers(0, 5), max_size=30),
    max_tokens=st.integers(0, 12),
    is_open=st.booleans(),
)
def test_the_closer_is_due_as_by_the_plain_twin(
    output: list[int], max_tokens: int, is_open: bool
) -> None:
    budget = ReasoningBudget(limit_of(max_tokens, is_open))
    for end in range(len(output) + 1):
        is_due = plain_twin(output[:end], max_tokens, is_open)
        assert budget.forced == (CLOSER if is_due else None)
        if end < len(output):
            budget.add(output[end])
    assert budget.fresh().forced == (CLOSER if is_open and max_tokens == 0 else None)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("with_kernels", [False, True])
@pytest.mark.parametrize("params", [{}, {"top_p": 0.5}, {"logit_bias": {CLOSER: -100.0}}])
def test_every_path_of_the_sampler_obeys(
    temperature: float, with_kernels: bool, params: dict[str, float]
) -> None:
    sampler = CpuSampler(50, kernels=library_search.load() if with_kernels else None)
    state = SamplingState(
        SamplingParams(temperature=temperature, **params),  # type: ignore[arg-type]
        index=0,
        prompt_token_ids=(),
        eos_token_ids=(),
        vocab_size=50,
        fallback_seed=3,
        reasoning_limit=limit_of(4, True),
    )
    generator = torch.Generator().manual_seed(1)
    output = []
    for _ in range(8):
        logits = torch.randn(1, 50, generator=generator)
        logits[0, CLOSER] = -9.0  # the model would go on
        (found,) = sampler.sample(logits, [task(0, state)])
        state.observe(found.token_id)  # type: ignore[union-attr]
        output.append(found.token_id)  # type: ignore[union-attr]
    assert output.index(CLOSER) == 4
    assert output.count(CLOSER) == 1


def test_each_sequence_of_a_request_has_its_own_budget(make_core: MakeCore) -> None:
    core = make_core()
    plain = ask("plain", tokens_of(1, 9), max_tokens=12, n=3, temperature=1.0, seed=5)
    limited = replace(plain, request_id="limited", reasoning_limit=limit_of(5, True))
    answers = run(core, plain, limited)
    for index in range(3):
        output = answers.tokens("limited", index)
        assert output[:5] == answers.tokens("plain", index)[:5]
        assert CLOSER in output[:6] and len(output) == 12


def test_the_closer_waits_for_the_end_of_a_character_under_a_grammar() -> None:
    """A grammar is about text, and its text holds whole characters."""
    tokenizer = load_tokenizer(BUILTIN_MODEL_DIR)
    compiler = GrammarCompiler(lambda: tokenizer, vocab_size=2048, end_token_ids=(0, 2))
    vocabulary = tokenizer.fast.get_vocab()
    closer, first, second = (vocabulary[each] for each in ("x", "Ã", "©"))  # the bytes of é
    state = SamplingState(
        SamplingParams(temperature=0.0),
        index=0,
        prompt_token_ids=(),
        eos_token_ids=(),
        vocab_size=2048,
        fallback_seed=3,
        reasoning_limit=ReasoningLimit(
            max_tokens=1, opener_id=OPENER, closer_id=closer, is_open=True
        ),
    )
    state.grammar = compiler.compile(Grammar.regex("[^x]*x[ab]*"))
    sampler = CpuSampler(2048)
    output = []
    for likely in (first, second, first):
        logits = torch.zeros(1, 2048)
        logits[0, likely] = 9.0
        (found,) = sampler.sample(logits, [task(0, state)])
        state.observe(found.token_id)  # type: ignore[union-attr]
        output.append(found.token_id)  # type: ignore[union-attr]
    assert output == [first, second, closer]
