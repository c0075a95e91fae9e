"""Picture of growing chats: known tokens that a turn computes again, by template; one SVG.

`python -m benchmarks.growing_chats.chart REPORT --out FILE`; REPORT is the JSON of
`python -m benchmarks chats`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer

_WIDTH, _MARGIN, _TOP = 960, 20, 66
_START, _VALUE, _BAR, _STEP, _GAP = 250.0, 60.0, 9, 26, 12
_LEAST = 4.0  # width of a bar of zero, so that its color shows

# Text that reads on white and on near-black; each is exact where the page's scheme is known.
_STYLE = """\
text { font-family: system-ui, sans-serif; fill: #5b6674; font-size: 12px }
.title { font-size: 17px; font-weight: 600; fill: #3c4754 }
.name { font-size: 14px; font-weight: 600; fill: #3c4754 }
.label { text-anchor: end }
.ours { fill: #0e8f7e } .theirs { fill: #94a0af }
text.ours, text.theirs { fill: #3c4754 }
@media (prefers-color-scheme: dark) {
  text { fill: #a9b4c2 } .title, .name, text.ours, text.theirs { fill: #e2e8f0 }
  .ours { fill: #2dc9b2 } .theirs { fill: #64748b }
}"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One family and kind of conversations, over all temperatures."""

    family: str
    kind: str
    off: float  # known tokens that a request computes, as generated
    on: float  # and with prepared turns


def bars_of(report: Mapping[str, Any]) -> list[Bar]:
    """Return the bars of a report, in its order."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in report["conversations"]:
        groups.setdefault((row["family"], _kind(row)), []).append(row)
    return [
        Bar(family, kind, _computed(rows, "off"), _computed(rows, "on"))
        for (family, kind), rows in groups.items()
    ]


def draw_chart(report: Mapping[str, Any]) -> str:
    """Return the SVG of a report."""
    bars = bars_of(report)
    longest = max(1.0, *(bar.off for bar in bars), *(bar.on for bar in bars))
    room = _WIDTH - _MARGIN - _START - _VALUE
    parts, y, last = [], float(_TOP), ""
    for bar in bars:
        if bar.family != last:
            y += _GAP if last else 0
            parts.append(_text("name", _MARGIN, y + _BAR + 4, bar.family))
            last = bar.family
        parts.append(_text("label", _START - 8, y + _BAR + 4, bar.kind))
        for place, (kind, value) in enumerate((("theirs", bar.off), ("ours", bar.on))):
            top, length = y + place * (_BAR + 1), max(_LEAST, room * value / longest)
            parts.append(
                f'<rect class="{kind}" x="{_START:g}" y="{top:g}" width="{length:.1f}" '
                f'height="{_BAR}" rx="2"/>'
            )
            parts.append(_text("value", _START + length + 6, top + _BAR, f"{value:.1f}"))
        y += _STEP
    height = y + 44
    spoken = "; ".join(f"{b.family} {b.kind} {b.off:.1f}, {b.on:.1f}" for b in bars)
    label = escape(f"Known tokens computed again: {spoken}", {'"': "&quot;"})
    turns = report["workload"]["turns"]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
            f'role="img" aria-label="{label}">',
            f"<style>{_STYLE}</style>",
            _text(
                "title",
                _MARGIN,
                28,
                "Known tokens that a turn computes again, in tokens a turn (shorter is better)",
            ),
            *_legend(),
            *parts,
            _text(
                "note",
                _MARGIN,
                height - 14,
                f"means over {turns} turns; python -m benchmarks chats",
            ),
            "</svg>\n",
        ]
    )


def _legend() -> Iterable[str]:
    for at, (kind, text) in enumerate((("theirs", "as generated"), ("ours", "prepared turns"))):
        x = _START + 140 * at
        yield f'<rect class="{kind}" x="{x:g}" y="42" width="10" height="10" rx="2"/>'
        yield _text("value", x + 16, 51, text)


def _kind(row: Mapping[str, Any]) -> str:
    named = [name for name in ("tools", "thinking") if row[name]]
    return " and ".join(named) or "plain"


def _computed(rows: Iterable[Mapping[str, Any]], side: str) -> float:
    figures = [row[side] for row in rows]
    missing = sum(each["tokens_before_new_message"] - each["cached"] for each in figures)
    return float(missing / sum(each["requests"] for each in figures))


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def main(
    report: Annotated[Path, typer.Argument(help="JSON of `python -m benchmarks chats`")],
    out: Annotated[Path, typer.Option(help="SVG file")],
) -> None:
    """Draw a report."""
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    out.write_text(draw_chart(found), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
