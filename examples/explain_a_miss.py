"""The reason for a cache miss: a date at the beginning of a system prompt spoils the cache.

python examples/explain_a_miss.py [MODEL]
"""

from __future__ import annotations

import sys

from yaie import LLM, SamplingParams

MODEL = sys.argv[1] if len(sys.argv) > 1 else "smollm2"
RULES = "Answer briefly. Name your sources. Say so when you are not sure. " * 8


def chat(system: str, question: str) -> list[dict[str, str]]:
    """Return a conversation of a system prompt and a question."""
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def main() -> None:
    """Compare a date before the rules with a date after them."""
    layouts = {
        "date first": "Today is {day}. " + RULES,
        "date last": RULES + "Today is {day}.",
    }
    with LLM(MODEL) as llm:
        for name, layout in layouts.items():
            llm.cache.clear()
            llm.chat(chat(layout.format(day="Monday"), "Hello"), SamplingParams(max_tokens=1))
            found = llm.cache.explain(chat(layout.format(day="Tuesday"), "Hello"))
            print(f"{name}: {found['cached_tokens']} of {found['prompt_tokens']} tokens are cached")
            where = found["divergence"]
            print(f"  token {where['position']} is new: {where['text'][:30]!r}")
            for held in where["held"][:1]:
                print(f"  cached in its place: {held['text'][:30]!r}")


if __name__ == "__main__":
    main()
