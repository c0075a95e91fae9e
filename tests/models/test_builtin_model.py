"""The built-in demonstration model: what it must answer, and that the test of it is honest."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import questions
from yaie.models.builtin import BUILTIN_MODEL_DIR

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "tests" / "models" / "builtin_questions.jsonl"

IDENTITY = (
    "I am YAIE's built-in demonstration model: small, about 4 million parameters, trained from "
    "scratch on text that the project wrote. I know the project, small sums, JSON and tool calls."
)
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The model's own tokenizer, with its chat template."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(BUILTIN_MODEL_DIR)


@pytest.mark.integration
def test_answers_the_frozen_questions() -> None:
    """Answer at least 95 % of 200 questions in wordings absent from its training."""
    asked = questions.read_questions(QUESTIONS)
    assert len(asked) == 200
    wrong = [
        f"{question['id']}: {answer}"
        for question, answer in zip(asked, questions.answers(BUILTIN_MODEL_DIR, asked), strict=True)
        if not questions.accepted(answer, question["accept"])
    ]
    assert len(wrong) <= 10, "\n".join(wrong)


def test_says_what_it_is() -> None:
    """Its answer: small, built in, a demonstration."""
    asked = [
        {"messages": [{"role": "user", "content": "Who are you?"}]},
        {"messages": [{"role": "user", "content": "What is the capital of France?"}]},
    ]
    identity, refusal = questions.answers(BUILTIN_MODEL_DIR, asked)
    assert identity == IDENTITY
    assert "demonstration model" in refusal and "yaie serve Qwen/Qwen3-0.6B" in refusal


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ({"json": {"a": 1}}, '{"a":1}', '{"a": 2}'),
        ({"regex": r"(?<!\d)85\.?$"}, "47 + 38 = 85.", "47 + 138 = 185."),
        ({"all": ["x", "y"], "none": ["z"]}, "X and y", "x, y, z"),
        (
            {"tool": {"name": "f", "arguments": {}}},
            '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
            '{"name": "f", "arguments": {}}',
        ),
    ],
)
def test_acceptance_rules(rule: dict[str, Any], good: str, bad: str) -> None:
    """Each kind of rule separates right answers from wrong ones."""
    assert questions.accepted(good, rule)
    assert not questions.accepted(bad, rule)


def test_folder_is_small() -> None:
    """The model ships in the package."""
    assert sum(f.stat().st_size for f in BUILTIN_MODEL_DIR.rglob("*") if f.is_file()) < 12_000_000


@pytest.mark.integration
def test_loads_without_a_network() -> None:
    """The Auto classes load the folder with the hub switched off, and no code of its own runs."""
    code = (
        "import sys; from transformers import AutoModelForCausalLM as M, AutoTokenizer as T;"
        "m = M.from_pretrained(sys.argv[1]); t = T.from_pretrained(sys.argv[1]);"
        "print(m.config.model_type, m.dtype, len(t))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(BUILTIN_MODEL_DIR)],
        env={"HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["qwen3", "torch.bfloat16", "2048"]


def test_generation_defaults_are_greedy(tokenizer: Any) -> None:
    """Temperature 0, and both end tokens stop."""
    settings = json.loads((BUILTIN_MODEL_DIR / "generation_config.json").read_text())
    ends = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    assert settings["do_sample"] is False and settings["temperature"] == 0
    assert settings["eos_token_id"] == ends


CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather in Rome and Oslo?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"function": {"name": "get_weather", "arguments": {"city": "Rome"}}},
            {"function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}},
        ],
    },
    {"role": "tool", "content": '{"temperature": 20}'},
    {"role": "tool", "content": '{"temperature": 4}'},
    {"role": "assistant", "content": "20 and 4 degrees."},
    {"role": "user", "content": [{"type": "text", "text": "Thank you"}]},
]


@pytest.mark.parametrize("tools", [None, [WEATHER]])
def test_template_is_append_only(tokenizer: Any, tools: list[dict[str, Any]] | None) -> None:
    """A shorter conversation's text begins the longer one's, so the prefix cache hits."""
    texts = [
        tokenizer.apply_chat_template(CONVERSATION[:k], tools=tools, tokenize=False)
        for k in range(1, len(CONVERSATION) + 1)
    ]
    for shorter, longer in pairwise(texts):
        assert longer.startswith(shorter)
    prompt = tokenizer.apply_chat_template(
        CONVERSATION[:2], tools=tools, tokenize=False, add_generation_prompt=True
    )
    assert texts[2].startswith(prompt)


def test_template_writes_tool_calls_as_the_model_does(tokenizer: Any) -> None:
    """Arguments given as an object or as text render alike, tools appear in the system turn."""
    text = tokenizer.apply_chat_template(CONVERSATION, tools=[WEATHER], tokenize=False)
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "%s"}}\n</tool_call>'
    assert call % "Rome" + "\n" + call % "Oslo" + "<|im_end|>\n" in text
    assert text.startswith("<|im_start|>system\nBe brief.\n\n# Tools\n")
    assert json.dumps(WEATHER["function"]) in text
    assert "<|im_start|>user\nThank you<|im_end|>\n" in text
