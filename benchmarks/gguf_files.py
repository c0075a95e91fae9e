"""GGUF files: one stream and one prompt, next to llama-bench on the same files.

`python -m benchmarks.gguf_files --llama-cpp FOLDER FILE...` prints JSON. Both take turns, so that
a change of the machine's speed hits both; the medians of the turns' ratios are the result.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.quality.llama_cpp import find_program, read_bench
from yaie.base.errors import RequestFailed
from yaie.bench.machine import describe_machine

if TYPE_CHECKING:
    from yaie.api.llm import LLM

SPEEDS = ("tokens_per_s", "prompt_tokens_per_s")


def measure_llama_cpp(program: str, file: Path, num_prompt: int, num_new: int) -> dict[str, float]:
    """Return the speeds that llama-bench prints. Raises `RequestFailed`."""
    command = [program, "-m", str(file), "-t", str(len(os.sched_getaffinity(0)))]
    command += ["-p", str(num_prompt), "-n", str(num_new), "-r", "1", "-o", "json"]
    # An engine in this process sets a passive wait policy, which would slow its threads.
    environment = {name: value for name, value in os.environ.items() if "OMP" not in name}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if ended.returncode != 0:
        raise RequestFailed(f"llama-bench ended with status {ended.returncode} on {file}")
    found = read_bench(ended.stdout)
    return {name: found[name] for name in SPEEDS}


def measure_yaie(llm: LLM, num_prompt: int, num_new: int, rng: random.Random) -> dict[str, float]:
    """Return the speeds of one new prompt, and of one answer to a prompt of one token."""
    from yaie.base.types import SamplingParams

    def seconds(length: int, max_tokens: int) -> float:
        prompt = [rng.randrange(llm.info.vocab_size) for _ in range(length)]
        sampling = SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True)
        started = time.perf_counter()
        llm.generate([prompt], sampling, progress=False)
        return time.perf_counter() - started

    prompt_s, first_s = seconds(num_prompt, 1), seconds(1, 1)
    whole_s = seconds(1, num_new + 1)
    return dict(zip(SPEEDS, (num_new / (whole_s - first_s), num_prompt / prompt_s), strict=True))


def compare(file: Path, program: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure both in turns; return the median speeds and ratios."""
    from yaie.api.llm import LLM

    rng, ours, theirs = random.Random(0), [], []
    with LLM(str(file), num_slots=4 * args.prompt) as llm:
        measure_yaie(llm, args.prompt, args.new, rng)
        for _ in range(args.repeats):
            theirs.append(measure_llama_cpp(program, file, args.prompt, args.new))
            ours.append(measure_yaie(llm, args.prompt, args.new, rng))
    found: dict[str, Any] = {"file": file.name}
    for name in SPEEDS:
        pairs = [(own[name], other[name]) for own, other in zip(ours, theirs, strict=True)]
        found[name] = {
            "yaie": median(own for own, _ in pairs),
            "llama.cpp": median(other for _, other in pairs),
            "ratio": median(own / other for own, other in pairs),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gguf_files", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--llama-cpp", type=Path, help="folder with llama-bench [the PATH]")
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--new", type=int, default=64, help="tokens of the answer")
    parser.add_argument("--repeats", type=int, default=3, help="turns")
    args = parser.parse_args(arguments)
    program = find_program("llama-bench", args.llama_cpp)
    if program is None:
        parser.error("llama-bench is neither in --llama-cpp nor on the PATH; build llama.cpp")
    measured = [compare(file, program, args) for file in args.files]
    print(json.dumps({"machine": describe_machine(), "files": measured}, indent=2))


if __name__ == "__main__":
    main()
