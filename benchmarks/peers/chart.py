"""Results as bars: one SVG for light and dark pages.

One panel for each workload, one labelled bar for each peer; colour marks YAIE's bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.peers.report import describe_shape, medians_of
from benchmarks.peers.workloads import Shape

_WIDTH, _MARGIN, _GUTTER, _COLUMNS = 960, 20, 40, 2
_BAR, _STEP, _HEAD, _PANEL_GAP, _TOP, _FOOT = 14, 22, 46, 26, 66, 34
_LABEL, _VALUE = 130, 116  # room left of the bars and right of them
_LONGEST_CAPTION = 66
_SOURCE = "python -m benchmarks peers; commands, versions and runs: benchmarks/results.ndjson"

# Text that reads on white and on near-black; each is exact where the page's scheme is known.
_STYLE = """\
text { font-family: system-ui, sans-serif; fill: #5b6674 }
.title { font-size: 17px; font-weight: 600; fill: #3c4754 }
.name { font-size: 14px; font-weight: 600; fill: #3c4754 }
.note, .value, .label { font-size: 12px }
.label { text-anchor: end }
.ours { fill: #0e8f7e } .theirs { fill: #94a0af }
.value.best { font-weight: 700 }
@media (prefers-color-scheme: dark) {
  text { fill: #a9b4c2 } .title, .name { fill: #e2e8f0 }
  .ours { fill: #2dc9b2 } .theirs { fill: #64748b }
}"""


def draw_chart(report: Mapping[str, Any]) -> str:
    """Return the SVG of a report: median wall time by workload and peer, shorter is better."""
    medians = {name: peers for name, peers in medians_of(report).items() if peers}
    columns = [list(medians)[index::_COLUMNS] for index in range(_COLUMNS)]
    width = (_WIDTH - 2 * _MARGIN - (_COLUMNS - 1) * _GUTTER) / _COLUMNS
    parts, bottom = [], _TOP
    for index, names in enumerate(columns):
        left, top = _MARGIN + index * (width + _GUTTER), _TOP
        for name in names:
            parts += _panel((name, report["workloads"][name]), medians[name], left, top, width)
            top += _HEAD + _STEP * len(medians[name]) + _PANEL_GAP
        bottom = max(bottom, top)
    machine, model = report["machine"], report["model"]["name"]
    instructions = f"{machine['instruction_set']} instructions"
    where = f"{machine['cores']} cores of {machine['cpu']} ({instructions})"
    height = bottom + _FOOT
    label = f"Bars of wall time for {model}: " + "; ".join(_spoken(report, medians))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
            f'role="img" aria-label="{escape(label, {chr(34): "&quot;"})}">',
            f"<style>{_STYLE}</style>",
            _text(
                "title",
                _MARGIN,
                28,
                f"{model}: seconds for the whole workload · milliseconds between tokens",
            ),
            _text(
                "note",
                _MARGIN,
                47,
                f"{where}; the same requests to each, in turns; medians; shorter is better",
            ),
            *parts,
            _text("note", _MARGIN, height - 14, _SOURCE),
            "</svg>\n",
        ]
    )


def _panel(
    heading: tuple[str, Mapping[str, Any]],
    medians: Mapping[str, Mapping[str, Any]],
    left: float,
    top: float,
    width: float,
) -> list[str]:
    """Return the panel of one workload: its description, and a bar for each peer."""
    name, workload = heading
    title, _, caption = describe_shape(Shape(**workload["shape"])).partition(": ")
    if len(caption) > _LONGEST_CAPTION:
        caption = caption[: _LONGEST_CAPTION - 1] + "…"
    parts = [
        _text("name", left, top + 14, f"{name.upper()} {title}"),
        _text("note", left, top + 32, caption),
    ]
    longest = max(figures["wall_s"] for figures in medians.values())
    shortest = min(figures["wall_s"] for figures in medians.values())
    room = width - _LABEL - _VALUE
    for index, (peer, figures) in enumerate(medians.items()):
        y, wall_s = top + _HEAD + index * _STEP, figures["wall_s"]
        length = max(1.0, room * wall_s / longest)
        start, line = left + _LABEL, y + _BAR - 3
        kind = "ours" if peer.startswith("yaie") else "theirs"
        best = " best" if wall_s == shortest else ""
        parts += [
            _text("label", start - 8, line, workload["peers"][peer]["title"]),
            f'<rect class="{kind}" x="{start:g}" y="{y:g}" width="{length:.1f}" '
            f'height="{_BAR}" rx="2"/>',
            _text(f"value{best}", start + length + 6, line, _value(figures)),
        ]
    return parts


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:g}">{escape(text)}</text>'


def _value(figures: Mapping[str, Any]) -> str:
    gap_s = figures["between_tokens_p50_s"]
    wall = _seconds(figures["wall_s"])
    return wall if gap_s is None else f"{wall} · {gap_s * 1e3:.0f} ms"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def _spoken(
    report: Mapping[str, Any], medians: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> list[str]:
    """Return the same for screen readers."""
    lines = []
    for name, peers in medians.items():
        titles = report["workloads"][name]["peers"]
        times = [f"{titles[p]['title']} {_seconds(f['wall_s'])}" for p, f in peers.items()]
        lines.append(f"{name.upper()} {', '.join(times)}")
    return lines
