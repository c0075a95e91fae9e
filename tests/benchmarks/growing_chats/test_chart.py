"""Picture of growing chats."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from benchmarks.growing_chats.chart import bars_of, draw_chart


def row(family: str, tools: bool, off: int, on: int) -> dict[str, Any]:
    def side(cached: int) -> dict[str, int]:
        return {"tokens_before_new_message": 100, "cached": cached, "requests": 4}

    about = {"family": family, "tools": tools, "thinking": False, "temperature": 0.0}
    return about | {"off": side(off), "on": side(on)}


def test_bars_are_means_over_the_temperatures() -> None:
    rows = [row("qwen3", False, 60, 100), row("qwen3", False, 80, 100), row("qwen3", True, 0, 96)]
    report = {"conversations": rows, "workload": {"turns": 10}}
    plain, tools = bars_of(report)
    assert (plain.kind, plain.off, plain.on) == ("plain", 60 / 8, 0.0)
    assert (tools.kind, tools.off, tools.on) == ("tools", 25.0, 1.0)
    picture = ElementTree.fromstring(draw_chart(report))
    assert "qwen3 tools 25.0, 1.0" in picture.get("aria-label", "")
    assert len(picture.findall("{http://www.w3.org/2000/svg}rect")) == 2 + 2 * 2
