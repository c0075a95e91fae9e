"""Progress of a start: the stages that its slow parts report."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaie import LLM
from yaie.process import progress


class Recorder:
    """Keeps each report in the order of its first one, with the last share."""

    def __init__(self) -> None:
        self.shares: dict[str, str] = {}

    def take(self, stage: str, share: str) -> None:
        self.shares[stage] = share


@pytest.mark.parametrize("quantization", [None, "int8", "int4"])
def test_a_start_reports_its_slow_parts_in_order(
    monkeypatch: pytest.MonkeyPatch, tiny_model_dir: Path, quantization: str | None
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(progress, "_shown", recorder)
    with LLM(tiny_model_dir, quantization=quantization, weights_cache="off") as llm:
        assert llm.stats.num_steps == 0
    stages = [each.partition(",")[0] for each in recorder.shares]
    parts = {
        None: [],
        "int8": ["quantizing to int8"],
        "int4": ["calibrating int4", "quantizing to int4"],
    }[quantization]
    ends = [
        "computing a test step of the original",
        "packing weights",
        "comparing packed weights with the original",
    ]
    assert [each for each in stages if each != "compiling the kernels"] == [
        *("importing transformers", "reading weights"),
        *parts,
        *ends,
    ]
    assert recorder.shares["packing weights"] == ": 1 of 2 layers"
    assert recorder.shares["reading weights"].endswith(" tensors")
