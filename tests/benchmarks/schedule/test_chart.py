"""The picture of simulated runs: well-formed, with the figures of the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from typer.testing import CliRunner

from benchmarks.schedule import chart

SVG = "{http://www.w3.org/2000/svg}"


def record(policy: str, pool: float, *, workload: str = "agents", **values: Any) -> dict[str, Any]:
    base = {
        "workload": workload,
        "load": "burst",
        "pool": pool,
        "policy": policy,
        "eviction": "adaptive",
        "seed": 0,
        "hit": 0.4,
        "mean_s": 2.0,
        "p99_s": 4.0,
        "tokens_per_s": 100.0,
    }
    return base | values


def records() -> list[dict[str, Any]]:
    made = []
    for pool in (0.5, 0.2):
        made += [record("fcfs", pool), record("lpm", pool, p99_s=6.0), record("depth-first", pool)]
        made.append(record("prefix-aware", pool, hit=0.8, mean_s=1.0))
    return made


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_each_pool_has_its_hits_and_ratios() -> None:
    written = texts(chart.draw_chart(records()))
    assert [text for text in written if text.startswith("Pool of")] == [
        "Pool of 20 %: hits (longer is better)",
        "Pool of 50 %: hits (longer is better)",
    ]
    for shown in ("100 %", "50 %", "0.50", "1.50"):
        assert written.count(shown) >= 2, shown


def test_bars_stay_inside_the_picture() -> None:
    root = ElementTree.fromstring(chart.draw_chart(records()))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for bar in root.iter(f"{SVG}rect"):
        assert float(bar.attrib["x"]) + float(bar.attrib["width"]) < width
        assert float(bar.attrib["y"]) + float(bar.attrib["height"]) < height


def test_a_bound_sets_the_best_without_a_bar() -> None:
    made = [record("fcfs", 0.2), record("lpm", 0.2), record("prefix-aware", 0.2)]
    svg = chart.draw_chart([*made, record("depth-first", 0.2, hit=0.8)])
    assert texts(svg).count("50 %") == 3
    assert "depth-first" not in svg


def test_the_command_draws_a_file_of_records(tmp_path: Path) -> None:
    lines, out = tmp_path / "records.ndjson", tmp_path / "picture.svg"
    lines.write_text("".join(json.dumps(each) + "\n" for each in records()))
    result = CliRunner().invoke(chart.app, [str(lines), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text() == chart.draw_chart(records())
