"""The results as JSON and as a table.

A file of results gathers several commands; each workload's figures come from one of them, so that
compared figures were measured in turns. Called by `benchmarks.commands`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.runner import ModelFacts, Options, Results, median_of
from benchmarks.peers.targets import first_token_in_steps, judge, price_of_sharing
from benchmarks.peers.workloads import Shape, build
from yaie.base.errors import InvalidRequest
from yaie.bench.machine import describe_machine

FIGURES = (
    "wall_s",
    "first_token_p50_s",
    "first_token_max_s",
    "between_tokens_p50_s",
    "output_tokens_per_s",
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "peak_memory_bytes",
    "own_cpu_s",
    "other_cpu_s",
)


def make_report(
    model: ModelFacts,
    shapes: Mapping[str, Shape],
    options: Options,
    results: Results,
    command: str,
) -> dict[str, Any]:
    """Return the report of one command."""
    workloads = {}
    for name, shape in shapes.items():
        example = build(name, shape, options.seed, model.vocabulary)
        workloads[name] = {
            "command": command,
            "shape": asdict(shape),
            "prompt_tokens": example.num_prompt_tokens,
            "distinct_prompt_tokens": example.num_distinct_prompt_tokens,
            "output_tokens": example.num_output_tokens,
            "peers": results.peers,
            "runs": [run for run in results.runs if run["workload"] == name],
        }
    return {**_about(model, options), "workloads": workloads}


def _about(model: ModelFacts, options: Options) -> dict[str, Any]:
    """Return the common part of all figures of one file."""
    return {
        "benchmark": "peers",
        "machine": describe_machine(),
        "model": {
            "name": model.name,
            "kv_bytes_per_token": model.kv_bytes_per_token,
            "kv_pool_bytes": options.kv_bytes,
        },
    }


def check_file(model: ModelFacts, options: Options, path: Path) -> None:
    """Check before measuring that results can be added to this file.

    Raises `InvalidRequest` if the file is of another model or machine, has another format, or
    cannot be written.
    """
    _workloads_of(path, _about(model, options))
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    place = path if path.exists() else nearest
    if not os.access(place, os.W_OK) or not nearest.is_dir():
        raise InvalidRequest(f"{place} cannot be written; name another folder with --out")


def add_to_file(report: dict[str, Any], path: Path) -> tuple[dict[str, Any], Path]:
    """Write a report; keep the file's other workloads.

    If the file changed since the check and no longer fits, the report goes into a new file next to
    it. Returns the written report and its path.
    """
    try:
        both = {**_workloads_of(path, report), **report["workloads"]}
    except InvalidRequest:
        beside = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in itertools.count(2))
        path = next(other for other in beside if not other.exists())
        both = report["workloads"]
    merged = {**report, "workloads": dict(sorted(both.items()))}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")
    return merged, path


def _workloads_of(path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's workloads. Raises `InvalidRequest` for another model or machine."""
    advice = "name another file with --name, or remove it"
    try:
        older = json.loads(path.read_text(encoding="utf-8"))
        workloads: dict[str, Any] = dict(older["workloads"])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidRequest(f"{path} has no figures that can be read; {advice}") from None
    for what in ("benchmark", "model", "machine"):
        if older.get(what) != about[what]:
            raise InvalidRequest(f"{path} has figures of another {what}; {advice}")
    return workloads


def medians_of(report: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the median of every figure by workload and peer; peers without a good run are left
    out.
    """
    medians: dict[str, dict[str, dict[str, Any]]] = {}
    for name, workload in report["workloads"].items():
        medians[name] = {}
        for peer in workload["peers"]:
            runs = [r for r in workload["runs"] if r["peer"] == peer and is_good(r)]
            if runs:
                medians[name][peer] = {figure: median_of(runs, figure) for figure in FIGURES}
    return medians


def is_good(run: Mapping[str, Any]) -> bool:
    """Return True if a run completed and did the requested work."""
    return "error" not in run and not run["faults"]


def precisions_of(report: Mapping[str, Any]) -> dict[str, str]:
    """Return each peer's precision."""
    return {
        name: peer["precision"]
        for workload in report["workloads"].values()
        for name, peer in workload["peers"].items()
    }


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """Print the table, the verdicts and the failures."""
    medians = medians_of(report)
    table = Table(title=f"{report['model']['name']} on {report['machine']['cpu']}")
    for heading in ("", "peer", "wall s", "against YAIE", "first token s", "at most", "between ms"):
        table.add_column(heading, justify="left" if heading in ("", "peer") else "right")
    for heading in ("tokens/s", "cached", "memory GiB", "others' CPU", "same work"):
        table.add_column(heading, justify="right")
    for name, workload in report["workloads"].items():
        rows = list(_rows(workload, medians[name]))
        for index, row in enumerate(rows):
            table.add_row(name.upper() if index == 0 else "", *row)
        table.add_section()
    console.print(table)
    for name, workload in report["workloads"].items():
        shape = Shape(**workload["shape"])
        console.print(f"{name.upper()}: {describe_shape(shape)}", highlight=False)
    for line in standing(report):
        console.print(line, highlight=False)
    for name, workload in report["workloads"].items():
        for run in workload["runs"]:
            if not is_good(run):
                fault = run.get("error") or "; ".join(run["faults"])
                console.print(
                    f"{name.upper()} {run['peer']}: {fault}", highlight=False, markup=False
                )


def _rows(
    workload: Mapping[str, Any], medians: Mapping[str, Mapping[str, Any]]
) -> Iterable[list[str]]:
    ours = medians.get("yaie", {}).get("wall_s")
    for peer, about in workload["peers"].items():
        runs = [run for run in workload["runs"] if run["peer"] == peer]
        if not runs:
            continue
        good = sum(is_good(run) for run in runs)
        same = f"{good}/{len(runs)}"
        m = medians.get(peer)
        if m is None:
            yield [about["title"], *["-"] * 9, same]
            continue
        ratio = f"{m['wall_s'] / ours:.2f}x" if ours else "-"
        yield [
            about["title"],
            f"{m['wall_s']:.2f}",
            ratio,
            _number(m["first_token_p50_s"], 2),
            _number(m["first_token_max_s"], 2),
            _number(m["between_tokens_p50_s"], 1, 1e3),
            f"{m['output_tokens_per_s']:.1f}",
            _number(m["cached_tokens"], 0),
            _number(m["peak_memory_bytes"], 2, 2.0**-30),
            f"{m['other_cpu_s'] / m['wall_s']:.0%}",
            same,
        ]


def _number(value: float | None, digits: int, scale: float = 1.0) -> str:
    return "-" if value is None else f"{value * scale:,.{digits}f}"


def describe_shape(shape: Shape) -> str:
    """Return a workload in words."""
    turns = f" x {shape.num_turns} turns" if shape.num_turns > 1 else ""
    who = f"{shape.num_conversations} at once{turns}"
    if shape.num_prefixes:
        prefixes = "one prefix" if shape.num_prefixes == 1 else f"{shape.num_prefixes} prefixes"
        prompt = f"{prefixes} of {shape.prefix_len:,} tokens and {shape.turn_len} own"
    else:
        prompt = f"{shape.turn_len} tokens"
    samples = f", {shape.num_samples} samples each" if shape.num_samples > 1 else ""
    return f"{shape.title}: {who}, {prompt}, {shape.output_len} out{samples}"


def standing(report: Mapping[str, Any]) -> list[str]:
    """Return lines that compare YAIE with the best peer on every workload, with targets."""
    medians = medians_of(report)
    verdicts = judge(report["model"]["name"], medians, precisions_of(report))
    lines = [f"{v.workload.upper()} {v.yaie}: {v.describe()}" for v in verdicts]
    for name, steps, is_met in first_token_in_steps(medians):
        outcome = "met" if is_met else "MISSED"
        lines.append(f"W7 {name}: first token after {steps:.2f} steps, target 1.5: {outcome}")
    price = price_of_sharing(medians)
    if price is not None:
        outcome = "met" if price[1] else "MISSED"
        lines.append(
            f"W3 yaie: {price[0]:.3f} of the time with the cache off, target 1.01: {outcome}"
        )
    return lines
