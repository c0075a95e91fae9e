"""Replay of simulated sessions against servers: the same sharing, the server's own answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.peers.definitions import Start
from benchmarks.peers.figures import Answer
from benchmarks.schedule import real, report
from benchmarks.schedule.replay import Replayed, Words, figures
from benchmarks.schedule.runs import slots_in_the_end
from benchmarks.schedule.sessions import Call, Segments
from benchmarks.schedule.workloads import make_workload
from yaie.models.builtin import BUILTIN_MODEL_DIR

VOCABULARY = range(1000, 31_000)


def answer(prompt_len: int, *, first_s: float, cached: int | None, num_tokens: int = 2) -> Answer:
    made = Answer(prompt_len, start_s=1.0, end_s=9.0, counted_prompt=prompt_len, cached=cached)
    made.add(0, list(range(num_tokens)), num_tokens, 1.0 + first_s)
    return made


def test_prompts_share_exactly_their_common_segments() -> None:
    words, make = Words(VOCABULARY, 0), Segments()
    shared, one, other, out = (make.make(length) for length in (50, 30, 20, 4))
    first = words.prompt(Call((shared, one), (out,)))
    second = words.prompt(Call((shared, other), (out,)))
    assert first[:50] == second[:50]
    assert first[50] != second[50]
    assert [len(first), len(second)] == [80, 70]
    assert set(first) <= set(VOCABULARY)


def test_a_seed_gives_its_own_tokens_again() -> None:
    segment = Segments().make(40)
    assert Words(VOCABULARY, 3).of(segment) == Words(VOCABULARY, 3).of(segment)
    assert Words(VOCABULARY, 3).of(segment) != Words(VOCABULARY, 4).of(segment)


def test_the_next_turn_holds_the_answer_of_the_server() -> None:
    words, make = Words(VOCABULARY, 0), Segments()
    user, scripted = make.make(6), make.make(3)
    words.write(scripted, [7, 8, 9, 10])
    assert words.prompt(Call((user, scripted), ()))[6:] == [7, 8, 9]


def test_scaled_lengths_keep_the_sharing() -> None:
    full, scaled = (
        make_workload("agents", scale=0.1, lengths=lengths, thinks=False) for lengths in (1.0, 0.25)
    )
    assert len(full.sessions) == len(scaled.sessions)
    ratio = slots_in_the_end(scaled) / slots_in_the_end(full)
    assert ratio == pytest.approx(0.25, rel=0.02)


def test_figures_count_hits_and_name_missing_work() -> None:
    call = Call((Segments().make(100),), (Segments().make(2),))
    good = [Replayed(call, answer(100, first_s=s, cached=c)) for s, c in ((1.0, 0), (3.0, 60))]
    found = figures(good)
    assert (found["hit"], found["computed_tokens"], found["mean_s"]) == (0.3, 140, 2.0)
    assert found["faults"] == []
    short = figures([Replayed(call, answer(100, first_s=1.0, cached=None, num_tokens=1))])
    assert len(short["faults"]) == 2


def test_a_pool_holds_the_longest_sequence_in_whole_blocks() -> None:
    pool = real.pool_of(real.Case("mixed", 0.0, 0.05, 0.05, 256))
    assert pool.num_slots >= max(pool.longest, 1000)
    assert pool.num_slots % real.VLLM_BLOCK_LEN == 0


def test_vllm_gets_the_same_pool_and_steps(tmp_path: Path) -> None:
    start = Start(tmp_path, tmp_path, tmp_path, 1, 500, 500, 6400, 2**30, (0, 1))
    ours = real.peer_of("fcfs", 128, 500).command(start)
    assert ours[ours.index("--num-slots") + 1] == "6400"
    assert ours[-4:] == ["--policy", "fcfs", "--max-step-rows", "128"]
    theirs = real.peer_of("vllm", 128, 500).command(start)
    blocks = int(theirs[theirs.index("--num-gpu-blocks-override") + 1])
    assert blocks * int(theirs[theirs.index("--block-size") + 1]) == 6400
    assert theirs[theirs.index("--max-num-batched-tokens") + 1] == "128"


def record(variant: str, number: int, **values: Any) -> dict[str, Any]:
    base = {
        "step_rows": 256,
        "workload": "agents",
        "pool": 0.2,
        "variant": variant,
        "round": number,
        "hit": 0.5,
        "computed_tokens": 1000,
        "mean_s": 2.0,
        "p99_s": 4.0,
        "total_s": 10.0,
        "own_cpu_s": 9.0,
        "simulated": None if variant == "vllm" else {"hit": 0.6, "mean_s": 3.0},
    }
    return base | values


def test_the_table_takes_medians_over_rounds() -> None:
    records = [record("fcfs", number) for number in range(3)]
    records += [record("prefix-aware", n, mean_s=m) for n, m in enumerate((0.2, 1.0, 20.0))]
    records += [record("vllm", 0, mean_s=4.0)]
    assert report.real_table(records).splitlines()[3:] == [
        "| 256 | agents | 20 % | prefix-aware | 50 % | 1,000 "
        "| 1.0 | 4.0 | 10.0 | 9.0 | 0.50 | 60 % | 1.00 |",
        "| 256 | agents | 20 % | vllm | 50 % | 1,000 | 4.0 | 4.0 | 10.0 | 9.0 | 2.00 |  |  |",
    ]


def test_an_unknown_variant_is_named_with_the_choices() -> None:
    result = CliRunner().invoke(real.app, ["--model", "m", "--out", "o", "--variants", "random"])
    assert "unknown 'random'; choose from" in str(result.exception) + result.output


@pytest.mark.slow
def test_a_real_server_serves_the_sessions_in_turns(tmp_path: Path) -> None:
    out = tmp_path / "real.ndjson"
    arguments = ["--model", str(BUILTIN_MODEL_DIR), "--out", str(out), "--workloads", "agents"]
    arguments += ["--pools", "0.5", "--counts", "0.05", "--lengths", "0.02", "--repeats", "2"]
    arguments += ["--idle-wait", "0"]
    result = CliRunner().invoke(real.app, [*arguments, "--variants", "prefix-aware,fcfs"])
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    turns = [(r["round"], r["variant"]) for r in records]
    assert turns == [(0, "prefix-aware"), (0, "fcfs"), (1, "fcfs"), (1, "prefix-aware")]
    for each in records:
        assert each["faults"] == []
        assert 0 < each["hit"] < 1
        assert each["requests"] == 24
    assert "| agents | 50 % | fcfs |" in result.output
