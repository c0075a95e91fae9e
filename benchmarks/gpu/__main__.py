"""`python -m benchmarks.gpu --out DIR`: versions, tests, then every shape, within a time limit.

Each stage is a process with a limit of its own, so that a crash or a hang costs only its stage.
Figures are on disk as soon as they are measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.gpu.report import as_table
from benchmarks.gpu.shapes import SHAPES

PRODUCTS = "products"
LIMIT_S = 520.0  # of all stages together: below nine minutes


@dataclass(frozen=True, slots=True)
class Stage:
    """One process of the run."""

    name: str
    command: tuple[str, ...]
    limit_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all stages, or with `measure` one shape in this process; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of results and logs")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--scale", default="full", choices=("full", "tiny"))
    parser.add_argument(
        "--shapes",
        default=f"qwen3-0.6b,llama-3.1-8b,{PRODUCTS},llama-3.1-8b+int4,llama-3.1-8b+int8",
        help=f"{', '.join(SHAPES)}, each also with +int4 or +int8; {PRODUCTS}: quantized layers",
    )
    parser.add_argument("--models", type=Path, help="folder of the models [OUT/models]")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of all stages")
    parser.add_argument("--measure", metavar="SHAPE", help="one shape in this process, no stages")
    options = parser.parse_args(arguments)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    models = options.models or out / "models"
    if options.measure == PRODUCTS:
        from benchmarks.gpu.products import measure_products

        is_tiny = options.scale == "tiny"
        measure_products(options.device, out / "results.ndjson", is_tiny=is_tiny)
        return 0
    if options.measure:
        from benchmarks.gpu.measure import SCALES, measure

        results = out / "results.ndjson"
        measure(options.measure, options.device, SCALES[options.scale], models, results)
        return 0
    stages = _stages(options, models)
    outcomes = run_stages(stages, out, options.limit)
    lines = read_results(out / "results.ndjson")
    report = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _printed("git", "rev-parse", "HEAD"),
        "card": _printed(
            "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"
        ),
        "versions": _versions(),
        "stages": outcomes,
        "results": lines,
    }
    (out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    text = as_table(lines)
    (out / "report.md").write_text(text + "\n", encoding="utf-8")
    print("\n".join(f"{name}: {outcome}" for name, outcome in outcomes.items()))
    print(text)
    return int(any(outcome != "ok" for outcome in outcomes.values()))


def _stages(options: argparse.Namespace, models: Path) -> list[Stage]:
    python = sys.executable
    tests = (python, "-m", "pytest", "-m", "gpu", "-q", "--durations=10")
    stages = [Stage("tests", tests, 150.0)] if options.device == "cuda" else []
    for shape in options.shapes.split(","):
        command = [python, "-m", "benchmarks.gpu", "--measure", shape, "--out", str(options.out)]
        command += ["--device", options.device, "--scale", options.scale, "--models", str(models)]
        stages.append(Stage(shape, tuple(command), 200.0))
    return stages


def run_stages(stages: Sequence[Stage], out: Path, limit_s: float) -> dict[str, str]:
    """Run each stage within its limit and the time left; return "ok" or the failure of each."""
    ends_at = time.monotonic() + limit_s
    outcomes = {}
    for stage in stages:
        limit = min(stage.limit_s, ends_at - time.monotonic())
        if limit <= 0:
            outcomes[stage.name] = "left out: no time was left"
            continue
        log = out / f"{stage.name}.log"
        began = time.monotonic()
        try:
            with log.open("w", encoding="utf-8") as file:
                ran = subprocess.run(
                    stage.command, stdout=file, stderr=file, timeout=limit, check=False
                )
        except subprocess.TimeoutExpired:
            outcomes[stage.name] = f"cut off after {limit:.0f} s; see {log.name}"
        else:
            failed = f"exit code {ran.returncode}; see {log.name}"
            outcomes[stage.name] = "ok" if ran.returncode == 0 else failed
        print(f"{stage.name}: {time.monotonic() - began:.0f} s", flush=True)
    return outcomes


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file; a last line that was cut off is left out."""
    if not path.is_file():
        return []
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines


def _printed(*command: str) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: {error}"
    return ran.stdout.strip()


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in ("yaie", "torch", "triton", "flashinfer-python", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


if __name__ == "__main__":
    sys.exit(main())
