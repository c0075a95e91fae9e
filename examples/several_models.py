"""Several models of one server: asks each the same question and compares their speed.

yaie serve --model small=smollm2 --model demo=builtin --memory-bytes 3G
python examples/several_models.py [URL]
"""

from __future__ import annotations

import sys

from yaie import Client

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
QUESTION = "What is a tree?"


def main() -> None:
    """Ask the models one after the other; a model that is not loaded loads now."""
    with Client(URL) as client:
        names = client.models()
        for name in names:
            with Client(URL, model=name) as one:
                output = one.process_prompt(
                    [{"role": "user", "content": QUESTION}], {"max_tokens": 48, "temperature": 0}
                )
                print(f"{name}: {output.generated_tokens} tokens, ", end="")
                print(f"{output.tokens_per_second or 0:.0f} a second\n  {output.text!r}")


if __name__ == "__main__":
    main()
