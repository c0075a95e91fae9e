"""llama.cpp's files of the same model: perplexity, bits a weight and speed by its own programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.quality.material import Material
from yaie.base.errors import RequestFailed

MISSING = (
    "llama.cpp was left out: llama-perplexity is neither in --llama-cpp nor on the PATH; "
    "build llama.cpp and name its folder of programs"
)
WITHOUT_FILES = "llama.cpp was left out: --gguf names no files"

_PERPLEXITY = re.compile(r"Final estimate: PPL = ([\d.]+)")


def find_program(name: str, folder: Path | None) -> str | None:
    """Return the path of a program in a folder, else on the PATH, else None."""
    return shutil.which(name, path=None if folder is None else str(folder))


def measure_file(file: Path, folder: Path | None, material: Material) -> dict[str, Any]:
    """Return the figures of one GGUF file, those that its programs print.

    Raises `RequestFailed` if llama-perplexity ends without a result.
    """
    program = find_program("llama-perplexity", folder)
    assert program is not None
    threads = str(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="yaie-quality-") as temporary:
        text = Path(temporary) / "text.txt"
        text.write_text(material.text, encoding="utf-8")
        command = [program, "-m", str(file), "-f", str(text), "-t", threads]
        command += ["-c", str(material.chunk_tokens), "--chunks", str(material.chunks)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    figures = read_perplexity(ended.stdout + ended.stderr)
    if "perplexity_half" not in figures:
        lines = ended.stderr.strip().splitlines() or ["no output"]
        raise RequestFailed(f"llama-perplexity failed on {file}: {lines[-1]}")
    bench = find_program("llama-bench", folder)
    if bench is not None:
        tokens = str(material.answer_tokens)
        prompt = str(material.prompt_tokens)
        command = [bench, "-m", str(file), "-t", threads, "-p", prompt, "-n", tokens]
        command += ["-r", str(material.repeats), "-o", "json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            figures |= read_bench(ended.stdout)
    return figures


def read_perplexity(printed: str) -> dict[str, Any]:
    """Return the perplexity out of llama-perplexity's output, if it is there."""
    match = _PERPLEXITY.search(printed)
    return {} if match is None else {"perplexity_half": float(match[1])}


def read_bench(printed: str) -> dict[str, Any]:
    """Return bits a weight and speeds, the fastest of all repeats, out of llama-bench's JSON."""
    figures: dict[str, Any] = {}
    for run in json.loads(printed):
        figures["bits_per_weight"] = 8 * run["model_size"] / run["model_n_params"]
        name = "prompt_tokens_per_s" if run["n_prompt"] else "tokens_per_s"
        figures[name] = float(max(run["samples_ts"]))
    return figures
