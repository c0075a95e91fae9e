"""The trace of the workload that a server writes on request."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, TextIO, cast

import pytest

from tests.server.conftest import MakeApp
from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.server.ops.workload_trace import BLOCK_LEN, WorkloadTrace


def test_a_trace_has_lengths_and_equal_blocks_and_no_text(
    make_app: MakeApp, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    shared = list(range(3, 3 + BLOCK_LEN))
    prompts = [[*shared, 5, 6], [*shared, 7], [9, *shared]]
    http, _ = make_app(workload_trace=str(path))
    for prompt in prompts:
        answer = http.post("/v1/completions", json={"prompt": prompt}).json()
    both = {"prompt": [[3, 4], [5, 6, 7]], "max_tokens": 2}
    assert http.post("/v1/completions", json=both).status_code == 200
    first, second, third, *pair = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["input_length"] for line in (first, second, third)] == [66, 65, 65]
    assert third["output_length"] == answer["usage"]["completion_tokens"]
    assert first["hash_ids"][0] == second["hash_ids"][0] != third["hash_ids"][0]
    assert first["hash_ids"][1] != second["hash_ids"][1]
    assert [line["input_length"] for line in pair] == [2, 3]
    assert first["timestamp"] <= second["timestamp"] <= third["timestamp"]
    keys = {"timestamp", "input_length", "output_length", "hash_ids", "block_size"}
    assert all(set(line) == keys for line in (first, second, third, *pair))


def test_prompts_of_another_namespace_share_no_hash(make_app: MakeApp, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    http, _ = make_app(workload_trace=str(path), api_key="one,two")
    for key, salt in (("one", None), ("two", None), ("one", "salt"), ("one", None)):
        body = {"prompt": [3, 4, 5], "cache_salt": salt}
        headers = {"Authorization": f"Bearer {key}"}
        assert http.post("/v1/completions", json=body, headers=headers).status_code == 200
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    first, second, salted, again = [line["hash_ids"] for line in lines]
    assert first == again
    assert len({tuple(each) for each in (first, second, salted)}) == 3


def test_a_later_run_of_a_server_has_later_times(make_app: MakeApp, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    before = time.time() * 1000
    for _ in range(2):
        http, _ = make_app(workload_trace=str(path))
        http.post("/v1/completions", json={"prompt": [3, 4, 5]})
    times = [json.loads(line)["timestamp"] for line in path.read_text().splitlines()]
    assert before - 1 <= times[0] <= times[1] <= time.time() * 1000 + 1


def test_hashes_of_another_process_differ(make_app: MakeApp, tmp_path: Path) -> None:
    """A guessed prompt cannot be looked up in a trace."""
    hashes = []
    for name in ("one", "two"):
        http, _ = make_app(workload_trace=str(tmp_path / name))
        http.post("/v1/completions", json={"prompt": [3, 4, 5]})
        hashes.append(json.loads((tmp_path / name).read_text())["hash_ids"])
    assert hashes[0] != hashes[1]


def test_a_file_that_cannot_be_written_is_refused(make_app: MakeApp, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"workload_trace is .*cannot be written"):
        make_app(workload_trace=str(tmp_path / "no" / "folder"))
    assert Settings().workload_trace == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_trace_and_no_request(
    make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    http, _ = make_app(workload_trace="/dev/full")
    for _ in range(3):
        assert http.post("/v1/completions", json={"prompt": [3, 4, 5]}).status_code == 200
    assert caplog.text.count("the workload trace ends here") == 1


def test_a_fault_at_the_end_of_a_request_is_logged_and_harms_no_answer(
    make_app: MakeApp, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    http, _ = make_app(workload_trace=str(tmp_path / "trace"))
    app: Any = http.app
    (trace,) = (hook for hook in app.state.service.hooks if isinstance(hook, WorkloadTrace))
    trace.close()
    trace._file = cast("TextIO", object())
    for stream in (False, True):
        answer = http.post("/v1/completions", json={"prompt": [3, 4, 5], "stream": stream})
        assert answer.status_code == 200
        assert "its end could not be noted" in caplog.text
        caplog.clear()
    trace._file = None
    assert app.state.service.active.is_idle
