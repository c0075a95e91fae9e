"""No request gets a token of another one, with aborts, several choices, preemption and grammars."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.canary import fly

# Fewer slots than the lanes need, so that sequences are preempted.
SETTINGS = {
    "num_slots": 800,
    "max_model_len": 256,
    "max_running": 96,
    "threads": 1,
    "policy": "priority",
}


@pytest.mark.parametrize(
    ("num_tokens", "audit"),
    [
        (2_500, True),
        pytest.param(110_000, False, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_no_request_gets_a_foreign_token(
    tiny_model_dir: Path, num_tokens: int, audit: bool
) -> None:
    canary, stats = fly(tiny_model_dir, num_tokens, audit=audit, **SETTINGS)
    assert canary.errors == []
    assert canary.foreign == []
    assert canary.num_tokens >= num_tokens
    assert canary.num_aborts > 0
    assert stats.num_preemptions > 0
    assert stats.num_live_slots == 0
