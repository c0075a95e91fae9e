"""Table of a GPU run in Markdown, beside the targets of an H200."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.schedule.report import table

# Tokens a second that 60 to 90 % of an H200's memory bandwidth or arithmetic allow.
TARGETS: Mapping[tuple[str, str, int], float] = {
    ("qwen3-0.6b", "decode", 1): 1_300,
    ("qwen3-0.6b", "decode", 64): 24_000,
    ("qwen3-0.6b", "decode", 256): 29_000,
    ("llama-3.1-8b", "decode", 1): 235,
    ("llama-3.1-8b", "decode", 64): 9_500,
    ("llama-3.1-8b", "decode", 256): 17_000,
    ("llama-3.1-8b", "prefill", 2048): 35_000,
}
_HEAD = ("shape", "what", "tokens/s", "target", "step ms", "scheduler", "launches", "idle")


def as_table(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return one row for each figure; launches and idle share come from the traced steps."""
    found = list(lines)
    traces = {
        (line["shape"], line["batch"]): line
        for line in found
        if line["kind"] == "trace" and "batch" in line
    }
    rows = []
    for line in found:
        if "error" in line:
            rows.append([line["shape"], line["kind"], line["error"], *[""] * 5])
        elif line["kind"] == "decode":
            shape, batch, shared = line["shape"], line["batch"], line["shared"]
            target = TARGETS.get((shape, "decode", batch)) if not shared else None
            traced = {} if shared else traces.get((shape, batch), {})
            rows.append(
                [
                    shape,
                    f"decode {batch}" + (f", {shared} shared" if shared else ""),
                    f"{line['tokens_per_s']:,.0f}",
                    "" if target is None else f"{target:,.0f}",
                    f"{line['step_ms']:.2f}",
                    f"{line['scheduler_share']:.1%}",
                    f"{traced['launches_per_step']:.0f}" if traced else "",
                    _percent(traced.get("idle_share")),
                ]
            )
        elif line["kind"] == "product":
            what = f"{line['weights']}, {line['rows']} rows"
            speed = f"{line['us']:.1f} us, {line['gb_per_s']:,.0f} GB/s"
            rows.append([line["shape"], what, speed, *[""] * 5])
        elif line["kind"] == "prefill":
            target = TARGETS.get((line["shape"], "prefill", line["tokens"]))
            goal = "" if target is None else f"{target:,.0f}"
            what = f"prompt of {line['tokens']}"
            rows.append([line["shape"], what, f"{line['tokens_per_s']:,.0f}", goal, *[""] * 4])
        elif line["kind"] == "offline":
            what = f"{line['sequences']} requests of mixed lengths"
            speed = f"{line['output_tokens_per_s']:,.0f}"
            rows.append([line["shape"], what, speed, *[""] * 5])
    return table(_HEAD, rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
