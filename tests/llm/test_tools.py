"""Tool calls and reasoning in the outputs of `LLM`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import yaie
from tests.weather import QUESTION, TOOL
from yaie import LLM
from yaie.api.outputs import make_output, take_piece
from yaie.base.types import GenerationRequest, SamplingParams, TokenDelta
from yaie.text.answer import Answer
from yaie.text.formats.output_format import detect_format
from yaie.text.formats.tool import tools_of
from yaie.text.output_parts import ToolCall, ToolCallPart
from yaie.text.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tiny_model_dir: Path) -> Tokenizer:
    return load_tokenizer(tiny_model_dir)


def test_outputs_have_the_parts_of_an_answer(tokenizer: Tokenizer) -> None:
    form = detect_format("<tool_call> </think>")
    said = '<think>Hm.</think>I look.\n<tool_call>{"name": "f"}</tool_call>'
    request = GenerationRequest(
        request_id="r", prompt_token_ids=(1,), sampling=SamplingParams(max_tokens=None)
    )
    tools = tools_of([{"name": "f"}, {"no": "name"}])
    whole, streamed = (
        Answer(request, tokenizer, form.parser(tools, thinking="free")) for _ in range(2)
    )
    token_ids = tokenizer.encode(said)
    pieces = []
    for place, token_id in enumerate(token_ids, start=1):
        delta = TokenDelta(
            request_id="r",
            index=0,
            token_ids=(token_id,),
            finish_reason="stop" if place == len(token_ids) else None,
        )
        whole.push(delta)
        streamed.push(delta)
        pieces.append(take_piece(streamed, 0))
    output = make_output(whole, None)
    assert (output.text, output.reasoning) == ("I look.", "Hm.")
    assert output.tool_calls == (ToolCall("f", "{}"),)
    assert "".join(piece.text for piece in pieces) == "I look."
    assert "".join(piece.reasoning for piece in pieces) == "Hm."
    assert [part for piece in pieces for part in piece.tool_calls] == [
        ToolCallPart(0, name="f"),
        ToolCallPart(0, arguments="{}"),
    ]


@pytest.fixture(scope="module")
def builtin() -> Iterator[LLM]:
    with LLM(num_slots=4096, threads=1, weights_cache="off") as llm:
        yield llm


@pytest.mark.integration
@pytest.mark.skipif(
    not (Path(yaie.__file__).parent / "models/builtin/model.safetensors").exists(),
    reason="the built-in model is not in this checkout",
)
def test_the_built_in_model_calls_a_tool(builtin: LLM) -> None:
    (output,) = builtin.chat([QUESTION], tools=[TOOL])
    (call,) = output.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Paris"})
    assert (output.text, output.choices[0].parse_fault) == ("", "")
    parts = [
        part for piece in builtin.stream([QUESTION], tools=[TOOL]) for part in piece.tool_calls
    ]
    assert "".join(part.arguments for part in parts) == call.arguments
    (plain,) = builtin.chat([QUESTION])
    assert plain.text
    assert not plain.tool_calls
