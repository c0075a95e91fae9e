"""`grammar=` of `LLM`: its forms, its checks, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from tests.llm.conftest import HELLO, is_idle
from tests.text.small_tokenizers import write_byte_level
from yaie import LLM, Grammar, SamplingParams
from yaie.base.errors import InvalidRequest

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


THINKS = "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n{% if no %}</think>{% endif %}"


@pytest.fixture(scope="module")
def thinker(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    """A model that thinks first; one token is the end of its thoughts."""
    folder = tmp_path_factory.mktemp("thinker")
    write_byte_level(folder, chat_template=THINKS)
    file = folder / "tokenizer.json"
    file.write_text(file.read_text().replace("<|endoftext|>", "</think>"))
    with LLM(tiny_model_dir, tokenizer=folder, num_slots=4096, threads=1) as llm:
        yield llm


def test_a_grammar_holds_behind_the_reasoning(thinker: LLM) -> None:
    (ends_thought,) = thinker.get_tokenizer().encode("</think>")
    answer = Grammar.choice(["yes", "no"])
    sampling = SamplingParams(temperature=0.0, max_tokens=30)
    (thought,) = thinker.chat(HELLO, sampling, grammar=answer)
    assert thought.reasoning and not thought.text
    decided = replace(sampling, logit_bias={ends_thought: 100.0})
    (whole,) = thinker.chat(HELLO, decided, grammar=answer)
    assert (whole.reasoning, whole.finish_reason) == ("", "stop")
    assert whole.text in ("yes", "no")
    pieces = list(thinker.stream(HELLO, decided, grammar=answer))
    assert "".join(piece.text for piece in pieces) == whole.text
    (raw,) = thinker.generate("a text", sampling, grammar=answer)  # no template, no reasoning
    assert raw.text in ("yes", "no")


def test_source_that_cannot_stand_behind_the_reasoning_is_refused(thinker: LLM) -> None:
    with pytest.raises(InvalidRequest, match="combined with tools or reasoning") as raised:
        thinker.chat(HELLO, LONG, grammar=Grammar.lark('start: "a"'))
    assert raised.value.param == "grammar"
