"""The line of `yaie run --stats`."""

from __future__ import annotations

from dataclasses import replace

from yaie.base.types import Usage
from yaie.cli.answers import FinishedAnswer


def test_the_line_counts_tokens_from_drafts() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=41, cached_tokens=5)
    answer = FinishedAnswer(
        text="",
        finish_reason="stop",
        usage=usage,
        first_token_s=0.5,
        total_s=2.5,
        model="m",
        place="cpu",
    )
    assert answer.as_line().endswith("TTFT 500 ms · 41 tok · 20 tok/s")
    usage = replace(usage, accepted_prediction_tokens=30, rejected_prediction_tokens=2)
    answer = replace(answer, usage=usage)
    assert answer.as_line().endswith("41 tok (30 from drafts) · 20 tok/s")
