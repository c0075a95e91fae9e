"""The benchmark of an open page's cost to the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import page
from yaie.base.settings import EngineConfig


def test_views_and_the_steps_around_them_are_reported(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "SEQUENCES", 3)
    config = EngineConfig(model=str(tiny_model_dir), num_slots=2048, weights_cache="off")
    report = page.measure_page(config, prompts=page.HEADS, steps=4)
    # One node for an ended prompt; three with a running one that shares its beginning.
    assert report["nodes"] == page.HEADS + 2 * 3
    assert (report["rows"], report["steps"]) == (3, 4)
    assert report["milliseconds"]["view"] > 0
    assert report["seconds_between_views"] >= page.INTERVAL_S
