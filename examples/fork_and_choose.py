"""Branches of one prefix: continues a text three ways and ranks answers to a question.

python examples/fork_and_choose.py [MODEL]
"""

from __future__ import annotations

import sys

from yaie import LLM, SamplingParams

MODEL = sys.argv[1] if len(sys.argv) > 1 else "smollm2"
REVIEW = "The room was clean and quiet, but breakfast was cold and the staff was rude."


def main() -> None:
    """Compute the prefix once, then its continuations in one batch."""
    with LLM(MODEL) as llm:
        fork = llm.fork(f"A hotel review: {REVIEW}\n\n")
        endings = ["The guest liked", "The guest disliked", "The hotel should"]
        outputs = fork.generate(endings, SamplingParams(max_tokens=16, temperature=0))
        for ending, output in zip(endings, outputs, strict=True):
            usage = output.usage
            print(f"{ending} ...{output.text!r}")
            print(f"  {usage.cached_tokens} of {usage.prompt_tokens} prompt tokens were cached")

        question = f"{REVIEW} Is this hotel review positive, negative or mixed?"
        choices = ["positive", "negative", "mixed"]
        choice = llm.choose([{"role": "user", "content": question}], choices)
        for text, probability in zip(choices, choice.probabilities, strict=True):
            print(f"{text:10} {probability:6.1%}")
        print(f"chosen: {choice.text}")


if __name__ == "__main__":
    main()
