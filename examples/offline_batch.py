"""A batch without a server: answers a file of questions, one JSON object a line on stdout.

    python examples/offline_batch.py [MODEL] [QUESTIONS] > answers.jsonl

QUESTIONS is a text file with one question a line.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from yaie import LLM, SamplingParams

MODEL = sys.argv[1] if len(sys.argv) > 1 else "smollm2"
COUNTRIES = ["France", "Italy", "Spain", "Germany", "Austria", "Poland", "Norway", "Greece"]
SYSTEM = "You answer questions about geography in one short sentence."


def main() -> None:
    """Answer all questions in one batch; their common beginning is computed once."""
    questions = [f"What is the capital of {country}?" for country in COUNTRIES]
    if len(sys.argv) > 2:
        questions = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    system = {"role": "system", "content": SYSTEM}
    chats = [[system, {"role": "user", "content": question}] for question in questions]
    with LLM(MODEL) as llm:
        start = time.monotonic()
        outputs = llm.chat(chats, SamplingParams(max_tokens=48, temperature=0))
        seconds = time.monotonic() - start
    for question, output in zip(questions, outputs, strict=True):
        print(json.dumps({"question": question, "answer": output.text}))
    usages = [output.usage for output in outputs]
    prompt, cached = sum(u.prompt_tokens for u in usages), sum(u.cached_tokens for u in usages)
    written = sum(usage.completion_tokens for usage in usages)
    print(f"{written / seconds:.0f} tokens/s; {cached} of {prompt} shared", file=sys.stderr)


if __name__ == "__main__":
    main()
