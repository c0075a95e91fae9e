"""One measurement of YAIE itself on the built-in model, over a real socket; and peers that fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.peers.definitions import PEERS, Peer, Start
from benchmarks.peers.runner import ModelFacts, Options, Results, measure_peers
from benchmarks.peers.running import RunningPeer, free_port
from benchmarks.peers.workloads import choose_shapes, read_vocabulary
from yaie.models.builtin import BUILTIN_MODEL_DIR

MakePeer = Callable[..., Peer]


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
    """Two rounds of YAIE on small workloads, exactly as the command runs them."""
    chosen = {"yaie": (PEERS["yaie"], Path(sys.executable))}
    shapes = choose_shapes(["w1", "w2", "w4", "w5", "w7"], quick=True)
    return measure_peers(facts, chosen, shapes, options)


@pytest.fixture
def make_peer() -> MakePeer:
    """A peer that is a Python script of a few lines, spoken to through its pipes."""

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
