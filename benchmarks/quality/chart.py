"""Picture of a report: perplexity over bits a weight, tokens a second beside it; one SVG.

`python -m benchmarks.quality.chart REPORT --out FILE`; REPORT is the JSON of
`python -m benchmarks quality`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer

_WIDTH, _HEIGHT, _MARGIN = 960, 400, 20
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 590.0, 84.0, 336.0  # of the points
_BARS, _LABEL, _VALUE, _BAR, _STEP = 640.0, 100.0, 40.0, 14, 24
_NEAR = 110.0  # labels closer than this would overlap
_LINE = 14.0
_MAX_BITS = 17.0
_SOURCE = "python -m benchmarks quality"

# Text that reads on white and on near-black; each is exact where the page's scheme is known.
_STYLE = """\
text { font-family: system-ui, sans-serif; fill: #5b6674; font-size: 12px }
.title { font-size: 17px; font-weight: 600; fill: #3c4754 }
.name { font-size: 14px; font-weight: 600; fill: #3c4754 }
.label { text-anchor: end } .tick { text-anchor: middle }
.ours { fill: #0e8f7e } .theirs { fill: #94a0af }
text.ours, text.theirs { fill: #3c4754 }
line { stroke: #94a0af; stroke-width: 0.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #a9b4c2 } .title, .name, text.ours, text.theirs { fill: #e2e8f0 }
  .ours { fill: #2dc9b2 } .theirs { fill: #64748b }
}"""


@dataclass(frozen=True, slots=True)
class Point:
    """One kind of YAIE or one file of llama.cpp."""

    name: str
    kind: str  # class of the style: "ours" or "theirs"
    bits: float
    ratio: float  # of perplexities over later halves of chunks, which both engines know
    tokens_per_s: float


def draw_chart(report: Mapping[str, Any]) -> str:
    """Return the SVG of a report."""
    points = points_of(report)
    spoken = "; ".join(
        f"{p.name} {p.bits:.1f} bits, {p.ratio:.3f}, {p.tokens_per_s:.0f} tokens a second"
        for p in points
    )
    label = escape(f"Perplexity over bits a weight: {spoken}", {'"': "&quot;"})
    text, chats = report["text"], report["chats"]
    note = f"{text['chunks']} chunks of {text['chunk_tokens']:,} tokens; {_SOURCE}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'role="img" aria-label="{label}">',
            f"<style>{_STYLE}</style>",
            _text("title", _MARGIN, 28, f"{report['model']['name']}: quality of each kind"),
            _text("name", _MARGIN, 58, "Perplexity over the first kind's, lower is better"),
            *_scatter(points),
            _text("name", _BARS, 58, f"Tokens a second, one answer of {chats['tokens']}"),
            *_bars(points),
            _text("note", _MARGIN, _HEIGHT - 12, note),
            "</svg>\n",
        ]
    )


def points_of(report: Mapping[str, Any]) -> list[Point]:
    """Return the points of a report; a file without bits a weight has none."""
    points = []
    for group, kind in (("kinds", "ours"), ("llama_cpp", "theirs")):
        for name, row in report[group].items():
            if "bits_per_weight" in row:
                shown = name if kind == "ours" else f"llama.cpp {name}"
                speed = row.get("tokens_per_s", 0.0)
                points.append(Point(shown, kind, row["bits_per_weight"], row["ratio_half"], speed))
    return points


def _scatter(points: Sequence[Point]) -> list[str]:
    """Return axes with ticks, points, and labels moved down where two would overlap."""
    lowest = min(1.0, *(point.ratio for point in points))
    highest = max(1.01, *(point.ratio for point in points))
    bits = max(_MAX_BITS, *(point.bits for point in points))
    room = (highest - lowest) * 0.1

    def x_of(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * value / bits

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (value - lowest + room) / (highest - lowest + 2 * room)

    parts = []
    for step in range(5):
        value = lowest + (highest - lowest) * step / 4
        y = y_of(value)
        parts.append(f'<line x1="{_LEFT:g}" y1="{y:.1f}" x2="{_RIGHT:g}" y2="{y:.1f}"/>')
        parts.append(_text("label", _LEFT - 8, y + 4, f"{value:.3f}"))
    for value in range(0, int(bits) + 1, 4):
        parts.append(_text("tick", x_of(value), _BOTTOM + 18, f"{value}"))
    parts.append(_text("tick", (_LEFT + _RIGHT) / 2, _BOTTOM + 36, "bits a weight"))
    placed: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda each: -each.ratio):
        x, y = x_of(point.bits), y_of(point.ratio)
        parts.append(f'<circle class="{point.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        at = y - 9
        for other_x, other_y in sorted(placed, key=lambda each: each[1]):
            if abs(other_x - x) < _NEAR and abs(other_y - at) < _LINE:
                at = other_y + _LINE
        placed.append((x, at))
        parts.append(_text(f"tick {point.kind}", x, at, point.name))
    return parts


def _bars(points: Sequence[Point]) -> list[str]:
    longest = max(1.0, *(point.tokens_per_s for point in points))
    start, room = _BARS + _LABEL, _WIDTH - _MARGIN - _BARS - _LABEL - _VALUE
    parts = []
    for index, point in enumerate(each for each in points if each.tokens_per_s):
        y = _TOP + index * _STEP
        length = max(1.0, room * point.tokens_per_s / longest)
        parts.append(_text("label", start - 8, y + _BAR - 3, point.name))
        parts.append(
            f'<rect class="{point.kind}" x="{start:g}" y="{y:g}" width="{length:.1f}" '
            f'height="{_BAR}" rx="2"/>'
        )
        parts.append(_text("value", start + length + 6, y + _BAR - 3, f"{point.tokens_per_s:.0f}"))
    return parts


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def chart(
    report: Annotated[Path, typer.Argument(help="JSON of `python -m benchmarks quality`")],
    out: Annotated[Path, typer.Option(help="SVG file")],
) -> None:
    """Draw a report again."""
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    out.write_text(draw_chart(found), encoding="utf-8")


if __name__ == "__main__":
    app()
