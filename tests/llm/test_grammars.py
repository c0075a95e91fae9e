"""`grammar=` of `LLM`: its forms, its checks, whole and streamed."""

from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from tests.llm.conftest import HELLO, is_idle
from yaie import LLM, Grammar, SamplingParams
from yaie.errors import InvalidRequest

LONG = SamplingParams(temperature=0.0, max_tokens=200)


class Pet(BaseModel):
    name: str = Field(max_length=6)
    kind: Literal["cat", "dog"]
    weights: list[Literal[1, 2, 3]] = Field(min_length=1, max_length=3)


@pytest.mark.parametrize("grammar", [Pet, Pet.model_json_schema(), Grammar.json_schema({})])
def test_answers_follow_a_schema_whole_and_streamed(llm: LLM, grammar: Any) -> None:
    end = llm.get_tokenizer().encode('}"0')
    sampling = SamplingParams(temperature=0.0, max_tokens=200, logit_bias=dict.fromkeys(end, 2.0))
    (whole,) = llm.chat(HELLO, sampling, grammar=grammar)
    pieces = list(llm.stream(HELLO, sampling, grammar=grammar))
    assert "".join(piece.text for piece in pieces) == whole.text
    assert whole.finish_reason == pieces[-1].finish_reason == "stop"
    if grammar is not None and not isinstance(grammar, Grammar):
        jsonschema.validate(json.loads(whole.text), Pet.model_json_schema())


def test_each_prompt_may_have_its_own_grammar(llm: LLM) -> None:
    grammars = [Grammar.choice(["yes", "no"]), None, Grammar.regex("[0-9]{4}")]
    first, second, third = llm.generate(["a", "b", "c"], LONG, grammar=grammars, progress=False)
    assert first.text in ("yes", "no")
    assert third.text.isdigit()
    assert second.token_ids == llm.generate("b", LONG)[0].token_ids


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ("[0-9]+", "Grammar.regex"),
        (5, "pydantic"),
        ([Grammar.regex("a")], "1 grammars for 2 prompts"),
        ({"type": object()}, "not JSON"),
        ({"type": "nothing"}, "nothing"),
        ([None, Grammar.lark("start: other")], "prompt 1: grammar.*other"),
    ],
)
def test_a_wrong_grammar_raises_before_anything_runs(llm: LLM, grammar: Any, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason) as raised:
        llm.generate(["a", "b"], LONG, grammar=grammar)
    assert raised.value.param == "grammar"
    assert is_idle(llm)
