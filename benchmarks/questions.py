"""Accepted answers of the built-in model to frozen questions.

    python -m benchmarks.questions [MODEL_FOLDER] [--show] [--quantization int8|int4]
        [--questions FILE]

The shipped bfloat16 weights are computed in float32 by transformers, with greedy decoding. With
`--quantization` the engine answers instead, with rounded weights (`none` rounds none). Used by the
model's tests and at the end of its training.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

CALL = re.compile(r"\s*<tool_call>\s*(\{.*\})\s*</tool_call>\s*", re.DOTALL)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def accepted(answer: str, rule: dict[str, Any]) -> bool:
    """Return True if an answer meets every key of a question's rule.

    all: each of these texts occurs; none: none of them occurs (both ignore case); regex: is found;
    json: the answer is equal JSON; tool: one call with this name and these arguments.
    """
    low = answer.lower()
    for kind, wanted in rule.items():
        if kind == "all":
            good = all(text.lower() in low for text in wanted)
        elif kind == "none":
            good = not any(text.lower() in low for text in wanted)
        elif kind == "regex":
            good = re.search(wanted, answer.strip()) is not None
        elif kind == "json":
            good = _json(answer) == wanted
        elif kind == "tool":
            call = CALL.fullmatch(answer)
            good = call is not None and _json(call.group(1)) == wanted
        else:
            raise ValueError(f"unknown rule {kind!r}")
        if not good:
            return False
    return True


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Read questions, one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@torch.inference_mode()
def answers(folder: Path, questions: list[dict[str, Any]], batch: int = 16) -> list[str]:
    """Return greedy answers in order; prompts of similar length share a batch."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompts = [
        tokenizer.apply_chat_template(
            q["messages"], tools=q.get("tools"), add_generation_prompt=True, tokenize=False
        )
        for q in questions
    ]
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    out = [""] * len(prompts)
    for at in range(0, len(order), batch):
        part = order[at : at + batch]
        inputs = tokenizer([prompts[i] for i in part], return_tensors="pt", padding=True)
        inputs.pop("token_type_ids", None)
        made = model.generate(
            **inputs, max_new_tokens=96, do_sample=False, temperature=None, top_p=None, top_k=None
        )
        for i, row in zip(part, made[:, inputs["input_ids"].shape[1] :], strict=True):
            text = tokenizer.decode(row, skip_special_tokens=True)
            out[i] = text.strip()
    return out


def engine_answers(
    folder: Path, questions: list[dict[str, Any]], quantization: str | None
) -> list[str]:
    """Return the engine's answers, all questions at once."""
    from yaie import LLM, SamplingParams

    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompts = [
        tokenizer.apply_chat_template(
            q["messages"], tools=q.get("tools"), add_generation_prompt=True, tokenize=False
        )
        for q in questions
    ]
    settings: dict[str, Any] = {"quantization": quantization}
    with LLM(str(folder), **settings) as llm:
        outputs = llm.generate(
            prompts, SamplingParams(max_tokens=96, temperature=0), progress=False
        )
    return [output.text.strip() for output in outputs]


def evaluate(
    folder: Path, path: Path, show: bool = False, quantization: str | None = None
) -> dict[str, Any]:
    """Return accepted answers in all and by category; with `quantization` the engine answers."""
    questions = read_questions(path)
    if quantization is None:
        found = answers(folder, questions)
    else:
        found = engine_answers(folder, questions, None if quantization == "none" else quantization)
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for question, answer in zip(questions, found, strict=True):
        asked[question["category"]] += 1
        if accepted(answer, question["accept"]):
            right[question["category"]] += 1
        elif show:
            print(question["id"], "|", question["messages"][-1]["content"][-160:], "=>", answer)
    return {
        "all": f"{sum(right.values())}/{len(questions)}",
        **{category: f"{right[category]}/{asked[category]}" for category in asked},
    }


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=root / "yaie/models/builtin")
    parser.add_argument("--show", action="store_true", help="print rejected answers")
    parser.add_argument("--quantization", choices=["none", "int8", "int4"])
    frozen = root / "tests/models/builtin_questions.jsonl"
    parser.add_argument(
        "--questions", type=Path, default=frozen, help="JSON lines [the frozen 200]"
    )
    args = parser.parse_args()
    print(json.dumps(evaluate(args.folder, args.questions, args.show, args.quantization)))
