"""Simulated runs as bars: one SVG for light and dark pages.

`python -m benchmarks.schedule.chart RECORDS --out FILE`; RECORDS are those of `python -m
benchmarks.schedule --json`. One column for each pool: hits of each workload as a share of the
best in that pool, then times and throughput over `fcfs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer

from benchmarks.schedule import report
from benchmarks.schedule.report import Record

VARIANTS = ("prefix-aware", "lpm", "fcfs")
_WIDTH, _MARGIN, _GUTTER, _LABEL, _VALUE = 960, 20, 40, 122, 48
_BAR, _STEP, _GAP, _TOP, _HEAD, _FOOT = 8, 9, 9, 88, 30, 34
_SPEED = "tokens/s"  # of the ratios, the one that is better when longer
_SOURCE = "python -m benchmarks schedule --json, then python -m benchmarks.schedule.chart"

# Text that reads on white and on near-black; each is exact where the page's scheme is known.
STYLE = """\
text { font-family: system-ui, sans-serif; fill: #5b6674; font-size: 12px }
.title { font-size: 17px; font-weight: 600; fill: #3c4754 }
.name { font-size: 14px; font-weight: 600; fill: #3c4754 }
.label { text-anchor: end } .value { font-size: 9px } .value.ours { font-weight: 700 }
rect.prefix-aware { fill: #0e8f7e } rect.lpm { fill: #6c8fc7 } rect.fcfs { fill: #b3bcc8 }
line { stroke: #94a0af; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #a9b4c2 } .title, .name { fill: #e2e8f0 }
  rect.prefix-aware { fill: #2dc9b2 } rect.lpm { fill: #5d7fb5 } rect.fcfs { fill: #566273 }
}"""

Rows = dict[str, dict[str, float]]  # label, variant


def draw_chart(records: Sequence[Record], load: str = "burst") -> str:
    """Return the SVG of the runs of one load."""
    chosen = [record for record in records if record["load"] == load]
    pools = sorted({record["pool"] for record in chosen})
    width = (_WIDTH - 2 * _MARGIN - (len(pools) - 1) * _GUTTER) / len(pools)
    parts: list[str] = []
    spoken: list[str] = []
    bottom = 0.0
    for index, pool in enumerate(pools):
        left = _MARGIN + index * (width + _GUTTER)
        in_pool = [record for record in chosen if record["pool"] == pool]
        hits, times = _rows(report.hit_shares(in_pool)), _rows(report.time_ratios(in_pool))
        top: float = _TOP
        title = f"Pool of {100 * pool:.0f} %: hits (longer is better)"
        parts.append(text("name", left, top, title))
        top = bars(hits, left, top + 14, width, parts, as_percent=True)
        waits = {label: row for label, row in times.items() if label != _SPEED}
        parts.append(text("name", left, top + 18, "First token over fcfs (shorter is better)"))
        top = bars(waits, left, top + 32, width, parts, as_percent=False)
        parts.append(text("name", left, top + 18, "Throughput over fcfs (longer is better)"))
        top = bars({_SPEED: times[_SPEED]}, left, top + 32, width, parts, as_percent=False)
        bottom = max(bottom, top)
        spoken += _spoken(f"pool {100 * pool:.0f} %", times)
    height = bottom + _FOOT
    label = escape(f"Bars by workload and pool; over fcfs: {'; '.join(spoken)}", {'"': "&quot;"})
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
            f'role="img" aria-label="{label}">',
            f"<style>{STYLE}</style>",
            text("title", _MARGIN, 28, "Order of admission in a small pool: eight workloads"),
            *_legend(),
            *parts,
            text(
                "note",
                _MARGIN,
                height - 12,
                f"Simulated, all callers at once; hits as a share of the best order's. {_SOURCE}",
            ),
            "</svg>\n",
        ]
    )


def _rows(by_variant: Mapping[str, Mapping[str, float]]) -> Rows:
    labels = next(iter(by_variant.values()))
    return {label: {name: by_variant[name][label] for name in VARIANTS} for label in labels}


def _legend() -> list[str]:
    parts, left = [], float(_MARGIN)
    for variant in VARIANTS:
        parts.append(rect(variant, left, 44, 12, 12))
        parts.append(text("note", left + 18, 54, variant))
        left += 36 + 7 * len(variant)
    return parts


def bars(
    rows: Rows,
    left: float,
    top: float,
    width: float,
    parts: list[str],
    *,
    as_percent: bool,
    ours: str = VARIANTS[0],
) -> float:
    """Add groups of bars; return the bottom. Ratios have a dashed line at 1.

    The values of `ours` are bold; bars have their variant as a class.
    """
    room = width - _LABEL - _VALUE
    longest = max(1.0, *(value for row in rows.values() for value in row.values()))
    start, begin = left + _LABEL, top
    for label, row in rows.items():
        middle = top + _STEP * len(row) / 2 + 4
        parts.append(text("label", start - 8, middle, label))
        for variant, value in row.items():
            length = max(1.0, room * value / longest)
            shown = f"{100 * value:.0f} %" if as_percent else f"{value:.2f}"
            kind = "value ours" if variant == ours else "value"
            parts.append(rect(variant, start, top, length, _BAR))
            parts.append(text(kind, start + length + 4, top + _BAR, shown))
            top += _STEP
        top += _GAP
    if as_percent:
        return top
    x = start + room / longest
    parts.append(f'<line x1="{x:.1f}" y1="{begin - 3:g}" x2="{x:.1f}" y2="{top - _GAP + 3:g}"/>')
    return top


def _spoken(pool: str, times: Rows) -> list[str]:
    """Return the ratios of a pool for screen readers."""
    return [
        f"{pool} {label} {', '.join(f'{variant} {value:.2f}' for variant, value in row.items())}"
        for label, row in times.items()
    ]


def rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return a bar of a class."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" '
        'rx="1.5"/>'
    )


def text(kind: str, x: float, y: float, words: str) -> str:
    """Return a line of text of a class."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:g}">{escape(words)}</text>'


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def chart(
    records: Annotated[Path, typer.Argument(help="records of simulated runs, one a line")],
    out: Annotated[Path, typer.Option(help="SVG file")],
) -> None:
    """Draw simulated runs of a burst as bars."""
    lines = records.read_text(encoding="utf-8").splitlines()
    read: list[dict[str, Any]] = [json.loads(line) for line in lines]
    out.write_text(draw_chart(read), encoding="utf-8")


if __name__ == "__main__":
    app()
