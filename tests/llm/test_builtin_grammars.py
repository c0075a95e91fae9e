"""The built-in model under schemas: whole and streamed, greedy and at random, in one batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from yaie import LLM, Grammar, SamplingParams
from yaie.base.errors import InvalidRequest

SCHEMAS: dict[str, Any] = {
    "Is a tree a graph?": {
        "type": "object",
        "properties": {"answer": {"type": "boolean"}, "sure": {"enum": ["yes", "no"]}},
        "required": ["answer", "sure"],
        "additionalProperties": False,
    },
    "What is 7 plus 5?": {
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": {"type": "integer", "maximum": 99}, "maxItems": 3},
            "result": {"type": "integer", "minimum": 0, "maximum": 99},
        },
        "required": ["steps", "result"],
        "additionalProperties": False,
    },
    "Name a tree and its height.": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "height": {"type": "number", "minimum": 0, "maximum": 150},
            "planted": {"type": "string", "format": "date"},
        },
        "required": ["name", "height"],
        "additionalProperties": False,
    },
}


@pytest.fixture(scope="module")
def builtin() -> Iterator[LLM]:
    with LLM(num_slots=4096, threads=1, audit=True) as llm:
        yield llm


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_answer_parses_and_validates_streamed_or_not(
    builtin: LLM, temperature: float
) -> None:
    sampling = SamplingParams(temperature=temperature, seed=3, max_tokens=200, n=4)
    chats = [[{"role": "user", "content": question}] for question in SCHEMAS]
    outputs = builtin.chat(chats, sampling, grammar=list(SCHEMAS.values()), progress=False)
    for chat, output, schema in zip(chats, outputs, SCHEMAS.values(), strict=True):
        texts = [""] * 4
        for piece in builtin.stream(chat, sampling, grammar=schema):
            texts[piece.index] += piece.text
        for choice, streamed in zip(output.choices, texts, strict=True):
            assert choice.finish_reason == "stop"
            assert streamed == choice.text
            jsonschema.validate(json.loads(choice.text), schema)
            assert choice.text.startswith("{") and choice.text.endswith("}")


def test_a_wrong_grammar_leaves_the_model_usable(builtin: LLM) -> None:
    with pytest.raises(InvalidRequest, match="look-around"):
        builtin.generate("Hello", grammar=Grammar.regex("(?!a)b"))
    (output,) = builtin.generate("Hello", grammar=Grammar.choice(["yes", "no"]))
    assert output.text in ("yes", "no")
