"""Picture of a report: perplexity over bits a weight, tokens a second beside it; one SVG.

`python -m benchmarks.quality.chart REPORT --out FILE`; REPORT is the JSON of
`python -m benchmarks quality`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import typer

_WIDTH, _HEIGHT, _MARGIN = 960, 400, 20
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 590.0, 84.0, 336.0  # of the points
_BARS, _LABEL, _VALUE, _BAR, _STEP = 640.0, 100.0, 40.0, 14, 24
_CHARACTER = 7.0  # upper bound for the width of a label's character
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
    note = (
        f"{text['chunks']} chunks of {text['chunk_tokens']:,} tokens, one answer of "
        f"{chats['tokens']} tokens; {_SOURCE}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'role="img" aria-label="{label}">',
            f"<style>{_STYLE}</style>",
            _text("title", _MARGIN, 28, f"{report['model']['name']}: quality of each kind"),
            _text("name", _MARGIN, 58, "Perplexity over the first kind's (lower is better)"),
            *_scatter(points),
            _text("name", _BARS, 58, "Tokens a second (longer is better)"),
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
    """Return axes with round ticks, points, and labels that do not overlap."""
    step, low, high = _round_axis([1.0, *(point.ratio for point in points)])
    bits = max(_MAX_BITS, *(point.bits for point in points))

    def x_of(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * value / bits

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low)

    parts = []
    for index in range(round((high - low) / step) + 1):
        value = low + index * step
        y = y_of(value)
        parts.append(f'<line x1="{_LEFT:g}" y1="{y:.1f}" x2="{_RIGHT:g}" y2="{y:.1f}"/>')
        parts.append(_text("label", _LEFT - 8, y + 4, f"{value:.{2 if step >= 0.01 else 3}f}"))
    for value in range(0, int(bits) + 1, 4):
        parts.append(_text("tick", x_of(value), _BOTTOM + 18, f"{value}"))
    parts.append(_text("tick", (_LEFT + _RIGHT) / 2, _BOTTOM + 36, "bits a weight"))
    boxes = [(x_of(p.bits) - 6, y_of(p.ratio) - 6, x_of(p.bits) + 6) for p in points]
    for point in sorted(points, key=lambda each: -each.ratio):
        x, y = x_of(point.bits), y_of(point.ratio)
        parts.append(f'<circle class="{point.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        width, is_left = _CHARACTER * len(point.name), point.kind == "ours" or x > _RIGHT - 120
        left, top = (x - 10 - width if is_left else x + 10), y - 6
        while any(
            left < other_right and other_left < left + width and abs(top - other_top) < _LINE
            for other_left, other_top, other_right in boxes
        ):
            top += 1
        boxes.append((left, top, left + width))
        side = "label" if is_left else "value"
        at = x - 10 if is_left else x + 10
        parts.append(_text(f"{side} {point.kind}", at, top + 10, point.name))
        if top - y > _LINE / 2:
            end = x - 8 if is_left else x + 8
            parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{top + 6:.1f}"/>')
    return parts


def _round_axis(values: Sequence[float]) -> tuple[float, float, float]:
    """Return step and ends of an axis with four to nine round ticks around the values."""
    spread = max(max(values) - min(values), 1e-3)
    power = 10 ** math.floor(math.log10(spread / 4))
    step = next(power * each for each in (1, 2, 5, 10) if spread / (power * each) <= 6)
    low, high = math.floor(min(values) / step) * step, math.ceil(max(values) / step) * step
    return step, low, max(high, low + step)


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
