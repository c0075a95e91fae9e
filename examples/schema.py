"""Answers as data: extracts people from sentences into a pydantic model.

python examples/schema.py [MODEL]
"""

from __future__ import annotations

import sys
from typing import Annotated

from pydantic import BaseModel, Field

from yaie import LLM, SamplingParams

MODEL = sys.argv[1] if len(sys.argv) > 1 else "smollm2"
SENTENCES = ["Ada is 36 years old and lives in London.", "Bob, aged 7, comes from Rome."]


class Person(BaseModel):
    """The fields of an answer."""

    name: Annotated[str, Field(max_length=20)]
    age: Annotated[int, Field(ge=0, le=150)]
    city: Annotated[str, Field(max_length=20)]


def main() -> None:
    """Ask about all sentences in one batch; each answer is valid by its grammar."""
    with LLM(MODEL) as llm:
        chats = [
            [{"role": "user", "content": f"Give name, age and city as JSON. {sentence}"}]
            for sentence in SENTENCES
        ]
        params = SamplingParams(max_tokens=96, temperature=0)
        outputs = llm.chat(chats, params, grammar=Person)
        for sentence, output in zip(SENTENCES, outputs, strict=True):
            person = Person.model_validate_json(output.text)
            print(f"{sentence}\n  {person!r}")


if __name__ == "__main__":
    main()
