"""`LLM.cache`: numbers, explanations and the flush of the prefix cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm.conftest import GREEDY, HELLO
from yaie import LLM
from yaie.base.errors import EngineUnavailable, InvalidRequest

PROMPT = "A quick brown fox jumps over the dog"
OTHER = "A quick brown fox jumps over the cat"


def test_a_prompt_is_explained_as_it_is_cached(llm: LLM) -> None:
    llm.cache.clear()
    cold = llm.cache.explain(PROMPT)
    assert (cold["cached_tokens"], cold["cause"]) == (0, "evicted") or cold["cause"] == "never_seen"
    llm.generate(PROMPT, GREEDY)
    held = llm.cache.explain(PROMPT)
    assert held["cause"] is None and held["divergence"] is None
    assert held["cached_tokens"] == llm.generate(PROMPT, GREEDY)[0].usage.cached_tokens
    other = llm.cache.explain(OTHER)
    ids, own = llm.tokenizer.encode(OTHER), llm.tokenizer.encode(PROMPT)
    shared = next(at for at, pair in enumerate(zip(ids, own, strict=False)) if pair[0] != pair[1])
    assert other["cached_tokens"] == other["divergence"]["position"] == shared
    assert other["divergence"]["text"] == llm.tokenizer.decode(ids[shared:], False)
    assert other["divergence"]["held"][0]["text"].startswith(llm.tokenizer.decode(own[shared:]))
    assert llm.generate(OTHER, GREEDY)[0].usage.cached_tokens == shared


def test_salts_and_conversations_have_their_own_answers(llm: LLM) -> None:
    asked = llm.chat(HELLO, GREEDY, cache_salt="a")[0].usage
    assert llm.cache.explain(HELLO, cache_salt="a")["cached_tokens"] == asked.prompt_tokens - 1
    assert llm.cache.explain(HELLO, cache_salt="b")["cached_tokens"] == 0


def test_clearing_frees_every_idle_token(llm: LLM) -> None:
    llm.generate(PROMPT, GREEDY)
    before = llm.cache.stats()
    assert llm.cache.clear() == before["num_cached"] + before["num_live"] > 0
    after = llm.cache.stats()
    assert after["num_free"] == after["num_slots"]
    assert llm.cache.explain(PROMPT)["cause"] == "evicted"
    assert llm.generate(PROMPT, GREEDY)[0].usage.cached_tokens == 0


def test_wrong_prompts_and_a_closed_engine_are_refused(llm: LLM, tiny_model_dir: Path) -> None:
    for prompt in ("", [], 3):
        with pytest.raises(InvalidRequest):
            llm.cache.explain(prompt)  # type: ignore[arg-type]
    closed = LLM(tiny_model_dir, num_slots=64, max_model_len=32, weights_cache="off")
    closed.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        _ = closed.cache
