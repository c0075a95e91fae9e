"""Programs as vLLM's guide teaches them, with only the import replaced."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import pydantic
import pytest

from yaie import LLM, RequestOutput, SamplingParams, StructuredOutputsParams

PROMPTS = ["Hello, my name is", "The capital of France is", "The future of AI is"]
CONVERSATION = [
    {"role": "system", "content": "You are a helpful assistant"},
    {"role": "user", "content": "Hello"},
]


@pytest.fixture(scope="module")
def llm() -> Iterator[LLM]:
    with LLM(model="builtin", num_slots=4096, max_model_len=1024, threads=1) as llm:
        yield llm


def texts(outputs: list[RequestOutput]) -> list[str]:
    return [output.outputs[0].text for output in outputs]


def test_offline_generation(llm: LLM) -> None:
    sampling_params = SamplingParams(temperature=0.8, top_p=0.95)
    outputs = llm.generate(PROMPTS, sampling_params)
    for prompt, output in zip(PROMPTS, outputs, strict=True):
        assert output.prompt == prompt
        assert output.outputs[0].text
        assert len(output.outputs[0].token_ids) <= 16
        assert output.outputs is output.choices


def test_defaults_changed_by_arguments(llm: LLM) -> None:
    defaults = llm.get_default_sampling_params()
    sampling_params = llm.get_default_sampling_params()
    sampling_params.max_tokens = 5
    sampling_params.temperature = 0.5
    sampling_params.ignore_eos = True
    (output,) = llm.generate(["Trees are"], sampling_params, use_tqdm=False)
    assert len(output.outputs[0].token_ids) == 5
    assert llm.get_default_sampling_params() == defaults != sampling_params


def test_chats_of_one_and_of_several(llm: LLM) -> None:
    sampling_params = SamplingParams(temperature=0, max_tokens=8)
    (one,) = llm.chat(CONVERSATION, sampling_params, use_tqdm=False)
    conversations = [CONVERSATION for _ in range(3)]
    many = llm.chat(conversations, sampling_params, use_tqdm=False)
    assert texts(many) == [one.outputs[0].text] * 3


def test_a_chat_with_a_template_of_the_caller(llm: LLM) -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    (output,) = llm.chat(
        CONVERSATION, SamplingParams(max_tokens=2), chat_template=template, use_tqdm=False
    )
    assert output.prompt == "<system>You are a helpful assistant<user>Hello"


class CarType(enum.StrEnum):
    SEDAN = "sedan"
    SUV = "SUV"


class CarDescription(pydantic.BaseModel):
    brand: Annotated[str, pydantic.Field(max_length=20)]  # a tiny model would not end it
    car_type: CarType


GRAMMAR = """
root ::= "SELECT " column " from " table
column ::= "col_1 " | "col_2 "
table ::= "table_1 " | "table_2 "
"""


def _is_car(text: str) -> bool:
    return bool(CarDescription.model_validate_json(text))


@pytest.mark.parametrize(
    ("constraint", "fits"),
    [
        (StructuredOutputsParams(choice=["Positive", "Negative"]), {"Positive", "Negative"}),
        (StructuredOutputsParams(regex=r"[a-z]{3}@[a-z]{3}\.com"), r"[a-z]{3}@[a-z]{3}\.com"),
        (StructuredOutputsParams(json=CarDescription.model_json_schema()), _is_car),
        (StructuredOutputsParams(grammar=GRAMMAR), r"SELECT col_[12]  from table_[12] "),
    ],
    ids=["choice", "regex", "json", "grammar"],
)
def test_structured_outputs(llm: LLM, constraint: StructuredOutputsParams, fits: Any) -> None:
    sampling_params = SamplingParams(
        structured_outputs=constraint, max_tokens=300, temperature=0, repetition_penalty=1.2
    )
    (text,) = texts(llm.generate(prompts="Answer: ", sampling_params=sampling_params))
    if isinstance(fits, set):
        assert text in fits
    elif isinstance(fits, str):
        assert re.fullmatch(fits, text)
    else:
        assert fits(text)
    assert sampling_params.structured_outputs == constraint  # as it was


def test_resetting_the_prefix_cache(llm: LLM) -> None:
    prompt = "A shared prefix that is long enough to be found again in the cache"
    llm.generate(prompt, SamplingParams(max_tokens=1))
    assert llm.cache.explain(prompt)["cached_tokens"] > 0
    assert llm.reset_prefix_cache()
    assert llm.cache.explain(prompt)["cached_tokens"] == 0


def test_a_json_schema_as_text(llm: LLM) -> None:
    schema = json.dumps({"type": "boolean"})
    params = SamplingParams(structured_outputs={"json": schema})
    assert texts(llm.generate("Yes?", params))[0] in ("true", "false")
