"""Report of a GPU run: failures, then tables in Markdown, beside the targets of an H200."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.schedule.report import table

Line = Mapping[str, Any]
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
_TIMING_HEAD = ("shape", "method", "step", "us a layer", "estimated us", "eager host us")
_FACTS = ("backend", "method", "case", "batch", "weights", "rows", "burst")
_MOST_FAILURE = 300  # characters
_MOST_NAMES = 4  # of figures with one error
_NO_FACTS = ("kind", "shape", "s")


def as_text(lines: Iterable[Line]) -> str:
    """Return what failed, what ran, and the tables of figures."""
    found = list(lines)
    failed = [line for line in found if "error" in line]
    good = [line for line in found if "error" not in line]
    parts = [f"{len(failed)} of {len(found)} figures failed" + failure_list(failed)]
    parts += [_described(line) for line in good if line["kind"] in _DESCRIBED]
    parts += [each for each in (attention_table(good), timing_table(good)) if each]
    return "\n\n".join([*parts, speed_table(good)])


_DESCRIBED = ("card", "ceilings", "traits", "start", "http start")


def _described(line: Line) -> str:
    facts = [f"{key} {value}" for key, value in line.items() if key not in _NO_FACTS]
    return f"{line['kind']} {line['shape']}: {', '.join(facts)}"


def failure_list(failed: Iterable[Line]) -> str:
    """Return one line for each different error, with the figures that it took."""
    names: dict[str, list[str]] = {}
    for line in failed:
        names.setdefault(_short(line["error"]), []).append(_name(line))
    lines = []
    for error, hit in names.items():
        others = f" and {len(hit) - _MOST_NAMES} more" if len(hit) > _MOST_NAMES else ""
        lines.append(f"\n- {error}\n  {', '.join(hit[:_MOST_NAMES])}{others}")
    return "".join(lines)


def _name(line: Line) -> str:
    facts = [str(line[key]) for key in _FACTS if key in line]
    return " ".join(filter(None, [line["kind"], line["shape"], *facts]))


def _short(error: str) -> str:
    return " ".join(error.split())[:_MOST_FAILURE]


def attention_table(lines: Iterable[Line]) -> str:
    """Return the largest error of each method; "" without a compared result."""
    worst: dict[tuple[str, str, str], tuple[int, float]] = {}
    for line in lines:
        if line["kind"] == "attention" and "relative_error" in line:
            key = line["shape"], line["method"], "captured" * (line["case"] == "captured")
            count, error = worst.get(key, (0, 0.0))
            worst[key] = count + 1, max(error, line["relative_error"])
    rows = [
        [shape, method, how or "eager", str(count), f"{error:.2g}"]
        for (shape, method, how), (count, error) in worst.items()
    ]
    return table(("shape", "method", "steps", "cases", "largest error"), rows) if rows else ""


def timing_table(lines: Iterable[Line]) -> str:
    """Return one row for each timed method of attention; "" without any."""
    rows = [
        [
            line["shape"],
            line["method"],
            f"{line['batch']} {line['case']}",
            f"{line['us']:.1f}",
            "" if line["estimate_us"] is None else f"{line['estimate_us']:.1f}",
            f"{line['host_us']:.1f}",
        ]
        for line in lines
        if line["kind"] == "timing" and "us" in line
    ]
    return table(_TIMING_HEAD, rows) if rows else ""


def speed_table(lines: Iterable[Line]) -> str:
    """Return one row for each figure; launches and idle share come from the traced steps."""
    found = list(lines)
    traces = {(line["shape"], line["batch"]): line for line in found if line["kind"] == "trace"}
    rows = [_row(line, traces) for line in found]
    return table(_HEAD, [[*row, *[""] * (len(_HEAD) - len(row))] for row in rows if row])


def _row(line: Line, traces: Mapping[tuple[str, int], Line]) -> Sequence[str]:
    """Return the cells of a figure; none for a line that is no speed."""
    shape, kind = line["shape"], line["kind"]
    if kind == "decode":
        return [shape, *_decode_cells(line, traces)]
    if kind == "product":
        speed = f"{line['us']:.1f} us, {line['gb_per_s']:,.0f} GB/s"
        return [shape, f"{line['weights']}, {line['rows']} rows", speed]
    if kind == "prefill":
        speed = f"{line['tokens_per_s']:,.0f}"
        return [shape, f"prompt of {line['tokens']}", speed, _target(shape, kind, line["tokens"])]
    if kind == "offline":
        speed = f"{line['output_tokens_per_s']:,.0f}"
        return [shape, f"{line['sequences']} requests of mixed lengths", speed]
    if kind == "http":
        what = f"HTTP, {line['burst']} streams, {line['shared']} shared"
        speed = f"{line['tokens_per_s']:,.0f}, first after {line['first_token_ms']:.0f} ms"
        return [shape, what, speed]
    return []


def _decode_cells(line: Line, traces: Mapping[tuple[str, int], Line]) -> list[str]:
    shape, batch, shared = line["shape"], line["batch"], line["shared"]
    traced = {} if shared else traces.get((shape, batch), {})
    return [
        f"decode {batch}" + (f", {shared} shared" if shared else ""),
        f"{line['tokens_per_s']:,.0f}",
        "" if shared else _target(shape, "decode", batch),
        f"{line['step_ms']:.2f}",
        f"{line['scheduler_share']:.1%}",
        f"{traced['launches_per_step']:.0f}" if traced else "",
        _percent(traced.get("idle_share")),
    ]


def _target(shape: str, kind: str, size: int) -> str:
    target = TARGETS.get((shape, kind, size))
    return "" if target is None else f"{target:,.0f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
