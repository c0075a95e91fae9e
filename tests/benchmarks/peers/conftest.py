"""One measurement of YAIE on the built-in model, and scripted peers that answer at once or fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers.definitions import PEERS, Peer, Start
from benchmarks.peers.runner import ModelFacts, Options, Results, measure_peers
from benchmarks.peers.running import RunningPeer, free_port
from benchmarks.peers.workloads import choose_shapes, read_vocabulary
from yaie.models.builtin import BUILTIN_MODEL_DIR

MakePeer = Callable[..., Peer]
QUICK = ("w1", "w2", "w4", "w5", "w7")
# A peer that answers at once, with SHORT tokens missing and invented times.
ECHO = """
import json, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked, now, answers = json.loads(line), time.perf_counter(), []
    n, length = asked["num_samples"], asked["output_len"] - SHORT
    for turns in asked["conversations"]:
        history = 0
        for turn in turns:
            history += len(turn)
            answers.append(
                {"prompt_len": history, "start_s": now, "end_s": now + 1,
                 "arrivals": [[[now + 0.1 * i, 1] for i in range(length)]] * n,
                 "token_ids": [list(range(length))] * n})
            history += length
    print(json.dumps({"answers": answers}), flush=True)
"""


@pytest.fixture(scope="session")
def facts() -> ModelFacts:
    config = json.loads((BUILTIN_MODEL_DIR / "config.json").read_text())
    elements = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
    return ModelFacts(
        name="builtin",
        folder=BUILTIN_MODEL_DIR,
        max_position=config["max_position_embeddings"],
        kv_bytes_per_token=2 * elements,
        vocabulary=read_vocabulary(BUILTIN_MODEL_DIR),
    )


@pytest.fixture(scope="session")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(
        home=tmp_path_factory.mktemp("peers_home"),
        logs=tmp_path_factory.mktemp("peers_logs"),
        repeats=2,
        kv_bytes=32 * 2**20,
        start_limit_s=120.0,
        run_limit_s=100.0,
        idle_wait_s=0.0,
        tell=lambda line: None,
    )


@pytest.fixture(scope="session")
def start(facts: ModelFacts, options: Options) -> Start:
    return Start(
        program=Path(sys.executable),
        model=facts.folder,
        home=options.home,
        port=free_port(),
        longest=1024,
        max_position=facts.max_position,
        kv_tokens=8192,
        kv_bytes=options.kv_bytes,
        cores=(0,),
    )


@pytest.fixture(scope="session")
def yaie(start: Start, options: Options) -> Iterator[RunningPeer]:
    running = RunningPeer(PEERS["yaie"], start, options.logs / "alone.log", start_limit_s=120.0)
    yield running
    running.end()


@pytest.fixture(scope="session")
def results(facts: ModelFacts, options: Options) -> Results:
    """Two rounds of YAIE on small workloads, as the command runs them."""
    chosen = {"yaie": (PEERS["yaie"], Path(sys.executable))}
    return measure_peers(facts, chosen, choose_shapes(QUICK, quick=True), options)


@pytest.fixture(scope="session")
def echo_results(facts: ModelFacts, options: Options, make_peer: MakePeer) -> Results:
    """Two rounds of a scripted peer in YAIE's place."""
    peer = replace(make_peer("yaie", ECHO.replace("SHORT", "0")), title="YAIE")
    chosen = {"yaie": (peer, Path(sys.executable))}
    return measure_peers(facts, chosen, choose_shapes(QUICK, quick=True), options)


@pytest.fixture(scope="session")
def make_peer() -> MakePeer:
    """Return a maker of peers: short Python scripts with pipes."""

    def make(name: str, script: str) -> Peer:
        return Peer(
            name,
            name,
            "bf16",
            "in-process",
            find=lambda home: Path(sys.executable),
            command=lambda start: [str(start.program), "-c", script],
            install="",
        )

    return make
