"""`yaie bench replay`: traces read, prompts made of blocks, and figures of a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.hub import LocalHub
from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.bench.trace import TracedRequest, read_trace, reusable_tokens
from yaie.bench.trace_replay import Goal, TimedReply, replay, report_of
from yaie.cli.main import run_command_line
from yaie.cli.replay import replay_lines

LINES: list[dict[str, Any]] = [
    {"timestamp": 1050, "input_length": 40, "output_length": 4, "hash_ids": [1, 2, 3]},
    {"timestamp": 1100, "input_length": 44, "output_length": 4, "hash_ids": [1, 2, 4]},
    {"timestamp": 1000, "input_length": 20, "output_length": 2, "hash_ids": [9, 2]},
]


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def of_blocks(path: Path) -> Path:
    return write(path, *({**line, "block_size": 16} for line in LINES))


def test_requests_are_in_order_of_time_and_share_their_blocks(tmp_path: Path) -> None:
    third, first, second = read_trace(of_blocks(tmp_path / "trace.jsonl"))
    assert [each.at_s for each in (third, first, second)] == pytest.approx([0, 0.05, 0.1])
    prompts = [first.prompt(0), second.prompt(1), third.prompt(2)]
    assert [len(prompt) for prompt in prompts] == [40, 44, 20]
    assert prompts[0][:32] == prompts[1][:32]
    assert prompts[0][32:] != prompts[1][32:40]
    assert prompts[2][16:] == prompts[0][16:20] and prompts[2][:16] != prompts[0][:16]
    assert reusable_tokens([first, third, second]) == 32


def test_another_block_length_scales_every_length(tmp_path: Path) -> None:
    path = write(tmp_path / "public.jsonl", {**LINES[0], "input_length": 1200}, LINES[1])
    (first, _) = read_trace(path, block_len=16)
    assert (first.input_len, first.output_len, first.block_len) == (38, 1, 16)
    assert len(read_trace(path, most=1)) == 1


def test_a_prompt_without_blocks_is_of_its_own() -> None:
    request = TracedRequest(at_s=0, input_len=30, output_len=1)
    assert len(request.prompt(0)) == 30
    assert request.prompt(0) != request.prompt(1)
    assert request.prompt(0) == request.prompt(0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no requests"),
        ("\n{}\n", "line 2 of .* is not a request"),
        ("[1]\n", "line 1 of"),
        ('{"timestamp": "soon", "prompt": "a"}\n', "line 1 of"),
        ('{"timestamp": NaN, "prompt": "a"}\n', "line 1 of"),
        ('{"input_length": 1e999, "output_length": 1}\n', "line 1 of"),
        ('{"input_length": 9, "block_size": 0}\n', "line 1 of"),
        ('{"input_length": 9, "block_size": -16}\n', "line 1 of"),
    ],
)
def test_a_wrong_trace_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidRequest, match=said):
        read_trace(path)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_trace(tmp_path / "nowhere")


def test_the_goodput_has_whole_answers_within_the_goal() -> None:
    replies = [
        TimedReply(
            first_token_s=1, total_s=2, completion_tokens=11, prompt_tokens=10, cached_tokens=5
        ),
        TimedReply(first_token_s=3, total_s=4, completion_tokens=11, prompt_tokens=10),  # late
        TimedReply(first_token_s=1, total_s=4, completion_tokens=11, prompt_tokens=10),  # slow
        TimedReply(first_token_s=1, total_s=1, completion_tokens=1, prompt_tokens=10),
        TimedReply(failure="queue_full"),
    ]
    goal = Goal(first_token_s=2, token_s=0.2)
    trace = [TracedRequest(at_s=0, input_len=10, output_len=11)] * 5
    report = report_of({"requests": 5}, trace, replies, 10.0, goal)
    assert report["goodput"]["share"] == 0.4
    assert report["goodput"]["requests_per_s"] == 0.2
    assert (report["answered"], report["failed"]) == (4, {"queue_full": 1})
    assert (report["hit_rate"], report["first_token_s"]["p50"]) == (0.125, 1)
    assert report["token_s"]["max"] == pytest.approx(0.3)
    lines = replay_lines(report)
    assert "4 of 5 requests answered in 10.0 s; failed: 1 queue_full" in lines[0]
    assert lines[-1].startswith("goodput: 40.0% of the requests, 0.2 a second")


def test_a_server_that_refuses_everything_is_an_error() -> None:
    trace = [TracedRequest(at_s=0, input_len=4, output_len=1)]
    with LocalHub({}) as other, pytest.raises(RequestFailed, match="every request failed"):
        replay(trace, other.endpoint, speed=0, goal=Goal())
    with pytest.raises(InvalidRequest, match="speed is -1"):
        replay(trace, "http://127.0.0.1:1", speed=-1, goal=Goal())


@pytest.mark.integration
def test_a_trace_is_replayed_on_a_server_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own trace of the workload, replayed, has the same lengths and hits."""
    trace, recorded = tmp_path / "trace.jsonl", tmp_path / "recorded.jsonl"
    chat = {"timestamp": 1200, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    first, second, third = LINES
    long = {**second, "input_length": 200, "hash_ids": [1, 2], "block_size": 128}
    longer = {**second, "timestamp": 1500, "input_length": 250, "hash_ids": [1, 5]}
    write(trace, first, long, {**longer, "block_size": 128}, third, chat)
    typed = ["bench", "replay", str(trace), "--num-slots", "4k", "--threads", "1", "--json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YAIE_WORKLOAD_TRACE", str(recorded))
        assert run_command_line([*typed, "--speed", "2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["answered"], report["failed"]) == (5, {})
    assert report["cached_tokens"] >= 127  # block 1, of 128 tokens
    assert report["output_tokens"] == 4 + 4 + 4 + 2 + 3
    assert report["duration_s"] >= 0.25  # half a second of the trace, twice as fast
    assert 0 < report["first_token_s"]["p50"] <= report["total_s"]["p99"]
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    assert sorted(line["input_length"] for line in lines)[1:] == [20, 40, 200, 250]
    assert run_command_line(["bench", "replay", str(recorded), "--speed", "0", *typed[3:]]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["prompt_tokens"], again["output_tokens"]) == (
        report["prompt_tokens"],
        report["output_tokens"],
    )
