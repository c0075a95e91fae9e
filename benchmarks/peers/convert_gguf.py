"""Runs llama.cpp's converter on a model with a tokenizer hash that it does not know.

    python convert_gguf.py LLAMA_CPP_SOURCE MODEL_FOLDER --outfile X.gguf --outtype bf16

Run by the Python of llama.cpp's environment, so it imports no part of YAIE. The converter looks up
the pre-tokenizer of a hash and rejects unknown ones; models made by these benchmarks split text as
GPT-2 does, and the benchmark sends token ids anyway.
"""

import importlib
import runpy
import sys


def answer_gpt2(*_: object) -> str:
    """Return the pre-tokenizer's name for any hash."""
    return "gpt-2"


def main() -> None:
    """Patch the look-up, then run the converter."""
    source, *arguments = sys.argv[1:]
    sys.path[:0] = [source, f"{source}/gguf-py"]
    question = "get_vocab_base_pre"
    base = importlib.import_module("conversion.base")
    askers = [c for c in vars(base).values() if isinstance(c, type) and question in vars(c)]
    if not askers:
        raise SystemExit(f"this version of llama.cpp's converter has no {question}")
    for asker in askers:
        setattr(asker, question, answer_gpt2)
    sys.argv = [f"{source}/convert_hf_to_gguf.py", *arguments]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
