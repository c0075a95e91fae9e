"""A chat over HTTP: streams answers from `yaie serve smollm2` with the `openai` client.

yaie serve smollm2
python examples/openai_client.py [URL]
"""

from __future__ import annotations

import sys

from openai import OpenAI

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
QUESTIONS = ["Name the capital of France.", "And the capital of Italy?"]


def main() -> None:
    """Ask two questions in one conversation; the second prompt continues the first."""
    client = OpenAI(base_url=f"{URL}/v1", api_key="none")
    model = client.models.list().data[0].id
    messages: list = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        stream = client.chat.completions.create(
            model=model,
            messages=messages,
            max_tokens=64,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
        answer = ""
        print(f"> {question}")
        for chunk in stream:
            if chunk.choices:
                text = chunk.choices[0].delta.content or ""
                answer += text
                print(text, end="", flush=True)
            if chunk.usage:
                cached = chunk.usage.prompt_tokens_details.cached_tokens
                print(f"\n  {cached} of {chunk.usage.prompt_tokens} prompt tokens were cached")
        messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main()
