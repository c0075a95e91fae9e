"""The benchmark of Python calls: both processes of a real server are traced, chat by chat."""

from __future__ import annotations

import pytest

from benchmarks import calls

pytestmark = pytest.mark.integration


def test_calls_of_both_processes_are_counted_by_phase() -> None:
    (chat,) = traced = calls.trace_chats(1)
    names = {phase: {each.name for each in found} for phase, found in chat.phases.items()}
    assert "server/routes/completions.py:create_chat_completion" in names["server-first"]
    assert "client/engine_process.py:EngineProcess.data_received" in {e.name for e in chat.server}
    assert "engine/core.py:EngineCore.add" in names["engine-first"]
    assert "engine/core.py:EngineCore.step" in names["engine-step"]
    assert "engine/core.py:EngineCore.add" not in names["engine-step"]

    found = calls.describe_calls(traced)
    assert found["engine"]["calls_per_decode_step"] == len(chat.phases["engine-step"])
    assert found["functions"] <= found["server"]["functions"] + found["engine"]["functions"]
    assert found["files"] <= found["server"]["files"] + found["engine"]["files"]
