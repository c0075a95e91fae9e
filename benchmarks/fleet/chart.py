"""Simulated fleets as bars: one SVG for light and dark pages.

`python -m benchmarks.fleet.chart RECORDS --out FILE`; RECORDS are those of `python -m benchmarks
fleet --json`. One column of hits, one of mean first tokens over round robin.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer

from benchmarks.fleet.report import Record, by_router, mean_ratio
from benchmarks.fleet.routers import ROUTERS
from benchmarks.fleet.runs import ONE_TREE
from benchmarks.schedule.chart import STYLE, Rows, bars, rect, text

_WIDTH, _MARGIN, _GUTTER, _TOP, _FOOT = 960, 20, 40, 88, 34
_BASELINE = "round-robin"
_TITLES = {
    "radix": "YAIE's router",
    "cache-aware": "cache-aware, SGLang's rule",
    "prefix-affinity": "prefix affinity, Ray's rule",
    "power-of-two": "power of two",
    "round-robin": "round robin",
}
_COLORS = """\
rect.radix { fill: #0e8f7e } rect.cache-aware { fill: #6c8fc7 }
rect.prefix-affinity { fill: #8fa6cc }
rect.power-of-two { fill: #a8b2bf } rect.round-robin { fill: #c3cad3 }
@media (prefers-color-scheme: dark) {
  rect.radix { fill: #2dc9b2 } rect.cache-aware { fill: #5d7fb5 }
  rect.prefix-affinity { fill: #4d6894 }
  rect.power-of-two { fill: #667486 } rect.round-robin { fill: #4a5563 }
}"""


def draw_chart(records: Sequence[Record], num_replicas: int = 4) -> str:
    """Return the SVG of the runs without a cold replica."""
    chosen = [r for r in records if r["num_replicas"] == num_replicas and not r["change"]]
    shares, ratios = _rows(chosen, ONE_TREE, "hit"), _rows(chosen, _BASELINE, "mean_s")
    width = (_WIDTH - 2 * _MARGIN - _GUTTER) / 2
    parts: list[str] = []
    bottom = 0.0
    columns = (
        ("Hits, of one tree with the pool of all (longer is better)", shares, True),
        ("Mean first token over round robin (shorter is better)", ratios, False),
    )
    for index, (title, rows, as_percent) in enumerate(columns):
        left = _MARGIN + index * (width + _GUTTER)
        parts.append(text("name", left, _TOP, title))
        end = bars(rows, left, _TOP + 14, width, parts, as_percent=as_percent, ours=ROUTERS[0])
        bottom = max(bottom, end)
    height = bottom + _FOOT
    spoken = "; ".join(
        f"{workload} {', '.join(f'{_TITLES[name]} {value:.0%}' for name, value in row.items())}"
        for workload, row in shares.items()
    )
    label = escape(f"Hits of one tree's by workload and router: {spoken}", {'"': "&quot;"})
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
            f'role="img" aria-label="{label}">',
            f"<style>{STYLE}\n{_COLORS}</style>",
            text("title", _MARGIN, 28, f"{num_replicas} replicas behind a router"),
            *_legend(),
            *parts,
            text(
                "note",
                _MARGIN,
                height - 12,
                "Simulated: real placement, schedulers and trees, modelled step times. "
                "python -m benchmarks fleet --json, then python -m benchmarks.fleet.chart",
            ),
            "</svg>\n",
        ]
    )


def _rows(records: Sequence[Record], base: str, key: str) -> Rows:
    rows: Rows = {}
    for workload in dict.fromkeys(r["workload"] for r in records):
        runs = by_router([r for r in records if r["workload"] == workload])
        row = {name: mean_ratio(runs, name, base, key) for name in ROUTERS if name in runs}
        rows[workload] = {name: value for name, value in row.items() if value is not None}
    return rows


def _legend() -> list[str]:
    parts, left = [], float(_MARGIN)
    for router in ROUTERS:
        parts.append(rect(router, left, 44, 12, 12))
        parts.append(text("note", left + 18, 54, _TITLES[router]))
        left += 44 + 6.4 * len(_TITLES[router])
    return parts


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def chart(
    records: Annotated[Path, typer.Argument(help="records of simulated fleets, one a line")],
    out: Annotated[Path, typer.Option(help="SVG file")],
    replicas: Annotated[int, typer.Option(help="number of replicas")] = 4,
) -> None:
    """Draw simulated fleets as bars."""
    lines = records.read_text(encoding="utf-8").splitlines()
    read: list[dict[str, Any]] = [json.loads(line) for line in lines]
    out.write_text(draw_chart(read, replicas), encoding="utf-8")


if __name__ == "__main__":
    app()
