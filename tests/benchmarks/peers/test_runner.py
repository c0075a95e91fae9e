"""The runner: turns, suspension, failing and missing peers."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import processes, runner
from benchmarks.peers.definitions import PEERS, Conversion, Start, choose_peers
from benchmarks.peers.exchange import PeerFailed
from benchmarks.peers.figures import summarize
from benchmarks.peers.runner import (
    Interrupted,
    ModelFacts,
    Options,
    Results,
    measure_peers,
    order_turns,
)
from benchmarks.peers.running import RunningPeer
from benchmarks.peers.workloads import Shape, build, choose_shapes
from tests.benchmarks.peers.conftest import ECHO, MakePeer
from yaie.base.errors import InvalidRequest

CPU_SECONDS = 0.05


def test_turns_go_round_the_peers() -> None:
    kept = [
        (t.round, t.workload, t.peer) for t in order_turns("AB", ["w1", "w3"], 2, restart=False)
    ]
    first = [(0, "w1", "A"), (0, "w1", "B"), (0, "w3", "A"), (0, "w3", "B")]
    assert kept == first + [(1, *rest) for _, *rest in first]
    again = [(t.workload, t.peer) for t in order_turns("AB", ["w1", "w3"], 1, restart=True)]
    assert again == [("w1", "A"), ("w3", "A"), ("w1", "B"), ("w3", "B")]


@pytest.mark.slow
def test_yaie_does_the_requested_work(results: Results) -> None:
    assert [run["faults"] for run in results.runs] == [()] * 10
    assert [run["round"] for run in results.runs] == [0] * 5 + [1] * 5
    for run in results.runs:
        assert run["peak_memory_bytes"] > 2**26
        assert run["wall_s"] >= run["first_token_max_s"] >= run["first_token_p50_s"] > 0


@pytest.mark.slow
def test_sharing_shows_in_the_cached_tokens(results: Results) -> None:
    shape = choose_shapes(["w1"], quick=True)["w1"]
    by_name = {run["workload"]: run for run in results.runs}
    whole = shape.num_conversations * (shape.prefix_len + shape.turn_len)
    assert by_name["w1"]["prompt_tokens"] == by_name["w7"]["prompt_tokens"] == whole
    # The replay computes the last token of each prompt, whatever ran in between.
    assert by_name["w7"]["cached_tokens"] == whole - shape.num_conversations
    shared = (shape.num_conversations - 1) * shape.prefix_len
    assert shared <= by_name["w1"]["cached_tokens"] <= shared + 4
    assert by_name["w4"]["cached_tokens"] <= 1


@pytest.mark.slow
def test_a_peer_is_described_with_its_command_and_version(results: Results) -> None:
    yaie = results.peers["yaie"]
    assert re.fullmatch(r"\d+\.\d+.*", yaie["version"])
    assert yaie["command"][:5] == ["python", "-m", "yaie.cli", "serve", "MODEL"]
    assert yaie["start_s"] > 0


def test_a_suspended_peer_computes_nothing(
    make_peer: MakePeer, start: Start, options: Options
) -> None:
    spin = "print('{}', flush=True)\nwhile True: pass"
    peer = RunningPeer(make_peer("spin", spin), start, options.logs / "spin", start_limit_s=30)
    pid = peer.process.pid
    try:
        peer.suspend()
        _wait_until(lambda: _state(pid) == "T")
        held = processes.cpu_seconds(pid)
        time.sleep(0.2)
        assert processes.cpu_seconds(pid) == held
        peer.resume()
        _wait_until(lambda: processes.cpu_seconds(pid) > held + CPU_SECONDS)
        with processes.Usage(pid) as usage:
            time.sleep(0.3)
        assert usage.own_cpu_s > 0 and usage.peak_bytes > 2**20
    finally:
        peer.end()
    assert not Path(f"/proc/{pid}").exists()


def test_nothing_outlives_a_peer(make_peer: MakePeer, start: Start, options: Options) -> None:
    parent = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('{}', flush=True)\ntime.sleep(600)"
    )
    peer = RunningPeer(make_peer("two", parent), start, options.logs / "two", start_limit_s=30)
    tree = processes.tree_of(peer.process.pid)
    assert len(tree) == 2
    peer.suspend()
    peer.end()
    _wait_until(lambda: all(_state(pid) in ("", "Z") for pid in tree))


def test_a_peer_that_cannot_start_is_recorded_and_left_out(
    make_peer: MakePeer, facts: ModelFacts, options: Options
) -> None:
    broken = make_peer("broken", "import sys; print('no weights here', file=sys.stderr)")
    works = make_peer("works", ECHO.replace("SHORT", "0"))
    python = Path(sys.executable)
    shapes = choose_shapes(["w4"], quick=True)
    chosen = {"broken": (broken, python), "works": (works, python)}
    found = measure_peers(facts, chosen, shapes, options)
    assert [run["peer"] for run in found.runs] == ["broken", "works", "works"]
    assert "no weights here" in found.runs[0]["error"]
    assert found.runs[1]["faults"] == ()
    assert found.runs[1]["wall_s"] == pytest.approx(1.0)


def test_a_stopped_measurement_keeps_its_results(
    make_peer: MakePeer, facts: ModelFacts, options: Options
) -> None:
    def stop_after_one_run(line: str) -> None:
        if line.startswith("round 1"):
            raise Interrupted("SIGTERM")

    works = make_peer("works", ECHO.replace("SHORT", "0"))
    impatient = replace(options, tell=stop_after_one_run)
    chosen = {"works": (works, Path(sys.executable))}
    found = measure_peers(facts, chosen, choose_shapes(["w4"], quick=True), impatient)
    assert len(found.runs) == 1 and not found.is_complete


def test_a_peer_with_short_answers_is_caught(
    make_peer: MakePeer, facts: ModelFacts, start: Start, options: Options
) -> None:
    short = make_peer("short", ECHO.replace("SHORT", "1"))
    peer = RunningPeer(short, start, options.logs / "short", start_limit_s=30)
    try:
        workload = build("x", Shape("x", 2, 8, 6), 1, facts.vocabulary)
        faults = summarize(workload, peer.run(workload, timeout_s=30)).faults
    finally:
        peer.end()
    assert "10 output tokens came of 12" in faults


def test_a_silent_peer_is_given_up(make_peer: MakePeer, start: Start, options: Options) -> None:
    silent = make_peer("silent", "import time; time.sleep(600)")
    with pytest.raises(PeerFailed, match="did not answer within"):
        RunningPeer(silent, start, options.logs / "silent", start_limit_s=0.5)


@pytest.mark.slow
def test_transformers_runs_in_a_process_of_its_own(
    facts: ModelFacts, start: Start, options: Options
) -> None:
    log = options.logs / "transformers"
    peer = RunningPeer(PEERS["transformers"], start, log, start_limit_s=120)
    try:
        for name in ("w2", "w5"):
            shape = choose_shapes([name], quick=True)[name]
            workload = build(name, shape, 1, facts.vocabulary)
            figures = summarize(workload, peer.run(workload, timeout_s=100))
            assert figures.faults == ()
            assert figures.first_token_p50_s is not None and figures.first_token_p50_s > 0
            assert figures.cached_tokens is None
    finally:
        peer.end()


def test_half_a_converted_model_is_not_left_behind(
    make_peer: MakePeer, facts: ModelFacts, options: Options
) -> None:
    def fails(home: Path, model: Path, result: Path) -> list[Conversion]:
        script = f"open({str(result)!r}, 'w').write('half'); raise SystemExit('disk full')"
        return [Conversion([sys.executable, "-c", script], result)]

    peer = replace(make_peer("converted", ECHO), converted_suffix=".half", convert=fails)
    chosen = {"converted": (peer, Path(sys.executable))}
    found = measure_peers(facts, chosen, choose_shapes(["w4"], quick=True), options)
    assert "disk full" in found.runs[0]["error"] and len(found.runs) == 1
    assert not list(options.home.rglob("*.half"))


def test_any_failing_peer_leaves_the_others_measured(
    make_peer: MakePeer, facts: ModelFacts, options: Options
) -> None:
    def lacks_a_tool(home: Path, model: Path, result: Path) -> list[Conversion]:
        raise InvalidRequest("this needs a converter")

    def has_none(home: Path, model: Path, result: Path) -> list[Conversion]:
        return [Conversion([str(home / "none")], result)]

    def is_no_program(start: Start) -> list[str]:
        return [str(start.home / "none")]

    echo = ECHO.replace("SHORT", "0")
    ready, read = "print('{}', flush=True)", "import sys; sys.stdin.readline()"
    peers = {
        "tool": (replace(make_peer("tool", echo), convert=lacks_a_tool), "needs a converter"),
        "converter": (replace(make_peer("converter", echo), convert=has_none), "No such file"),
        "program": (replace(make_peer("program", echo), command=is_no_program), "No such file"),
        "babbles": (make_peer("babbles", f"{ready}\n{read}\nprint('hm', flush=True)"), "'hm' is"),
        "other": (make_peer("other", f"{ready}\n{read}\n{ready}"), "'{}' is"),
        "works": (make_peer("works", echo), None),
    }
    chosen = {name: (peer, Path(sys.executable)) for name, (peer, _) in peers.items()}
    found = measure_peers(facts, chosen, choose_shapes(["w4"], quick=True), options)
    assert [run["peer"] for run in found.runs] == [*peers, "works"]
    for run in found.runs:
        expected = peers[run["peer"]][1]
        assert expected is None or expected in run["error"]
        assert expected is not None or run["faults"] == ()


def test_a_peer_killed_between_its_turns_is_recorded(
    make_peer: MakePeer, facts: ModelFacts, options: Options
) -> None:
    echo = ECHO.replace("SHORT", "0")
    script = f"import os\nopen({str(options.home / 'pid')!r}, 'w').write(str(os.getpid()))\n{echo}"

    def kill_after_its_turn(line: str) -> None:
        if line.startswith("round 1") and "killed" in line:
            pid = int((options.home / "pid").read_text())
            os.kill(pid, signal.SIGKILL)
            _wait_until(lambda: _state(pid) == "Z")

    peers = {"killed": make_peer("killed", script), "works": make_peer("works", echo)}
    chosen = {name: (peer, Path(sys.executable)) for name, peer in peers.items()}
    shapes = choose_shapes(["w4"], quick=True)
    found = measure_peers(facts, chosen, shapes, replace(options, tell=kill_after_its_turn))
    assert [(run["peer"], "error" in run) for run in found.runs] == [
        ("killed", False), ("works", False), ("killed", True), ("works", False),
    ]  # fmt: skip
    assert "it ended" in found.runs[2]["error"]


def test_a_slow_conversion_fails_and_a_slow_version_is_none(
    make_peer: MakePeer,
    facts: ModelFacts,
    options: Options,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(home: Path, model: Path, result: Path) -> list[Conversion]:
        return [Conversion([sys.executable, "-c", "import time; time.sleep(60)"], result)]

    monkeypatch.setattr(runner, "_CONVERT_LIMIT_S", 0.1)
    monkeypatch.setattr(runner, "_VERSION_LIMIT_S", 0.1)
    echo = ECHO.replace("SHORT", "0")
    program = tmp_path / "program"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then exec sleep 60; fi\nexec {sys.executable} "$@"\n'
    )
    program.chmod(0o700)
    peers = {"slow": replace(make_peer("slow", echo), convert=slow), "x": make_peer("x", echo)}
    chosen = {name: (peer, program) for name, peer in peers.items()}
    shapes = choose_shapes(["w4"], quick=True)
    found = measure_peers(facts, chosen, shapes, replace(options, repeats=1))
    assert "longer than 0.1 s" in found.runs[0]["error"]
    assert found.runs[1]["faults"] == () and found.peers["x"]["version"] is None


def test_missing_peers_are_named(tmp_path: Path) -> None:
    chosen, absent = choose_peers(["yaie", "vllm", "openvino"], ["bf16"], tmp_path)
    assert list(chosen) == ["yaie"]
    assert [peer.name for peer in absent] == ["vllm", "openvino-fp16"]
    assert all(peer.install for peer in PEERS.values())


def test_installed_peers_are_found_where_the_recipes_put_them(tmp_path: Path) -> None:
    (tmp_path / "venv/vllm/lib/python3.12/site-packages/vllm").mkdir(parents=True)
    (tmp_path / "llamacpp-build/bin").mkdir(parents=True)
    (tmp_path / "llamacpp-build/bin/llama-server").touch()
    chosen, _ = choose_peers(["vllm", "llama.cpp"], ["bf16", "int8"], tmp_path)
    assert list(chosen) == ["vllm", "llama.cpp-bf16", "llama.cpp-q8_0"]
    assert chosen["vllm"][1] == tmp_path / "venv/vllm/bin/python"


def test_the_precision_chooses_the_peers(tmp_path: Path) -> None:
    def names(*precisions: str) -> list[str]:
        chosen, absent = choose_peers([], precisions, tmp_path)
        return sorted([*chosen, *(peer.name for peer in absent)])

    assert "llama.cpp-q8_0" not in names("bf16") and "yaie-int8" not in names("bf16")
    assert {"yaie-int8", "llama.cpp-q8_0"} <= set(names("int8"))
    usual = sorted(name for name, peer in PEERS.items() if not peer.only_by_name)
    assert names("bf16", "int8", "int4") == usual
    exact, absent = choose_peers(["llama.cpp-q4_0"], ["bf16"], tmp_path)
    assert [*exact, *(peer.name for peer in absent)] == ["llama.cpp-q4_0"]


def test_variants_of_yaie_run_only_by_name(tmp_path: Path, start: Start) -> None:
    chosen, _ = choose_peers(["yaie", "yaie-unshared"], ["bf16"], tmp_path)
    assert list(chosen) == ["yaie", "yaie-unshared"]
    peer, _ = chosen["yaie-unshared"]
    assert "--no-prefix-cache" in peer.command(start) and peer.is_yaie


def test_an_unknown_peer_is_refused_with_the_known_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"'ollama'; there are yaie, .*transformers"):
        choose_peers(["ollama"], ["bf16"], tmp_path)


def _state(pid: int) -> str:
    """Return the state as one letter of ps; empty without such a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, os.times()
        time.sleep(0.01)


def test_signal_handlers_are_restored_after_the_command() -> None:
    from benchmarks import commands

    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(Interrupted, match="SIGINT"), commands.stopping_in_order():
        signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
