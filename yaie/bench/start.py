"""Time from server start to first token, and peak memory, for `yaie bench start`.

Each start is a fresh `yaie serve` with one request for one token. Three start types run in turns,
and the results are medians: without any cache (kernels are compiled, unless the package has them),
with compiled kernels only, and with all caches from earlier starts. A server is stopped only after
its packed weights are on disk. The weight files are in the system's page cache. The last round
measures memory under load.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

from yaie.base.errors import RequestFailed
from yaie.bench.machine import describe_machine
from yaie.bench.memory import MemoryWatch, can_measure
from yaie.bench.served import environment_of, free_port, serve_command, stop, wait_ready
from yaie.bench.shared_prefix import Workload
from yaie.models.native.packed_cache import AUTO, SUFFIX, UNFINISHED

ALLOWANCE = 600 * 1024**2  # bytes beyond weights and pool, server and engine together
KINDS = ("nothing_cached", "kernels_cached", "all_cached")
_WRITE_S = 600.0  # limit for packed weights to be on disk
_BEGIN_S = 10.0  # limit for an engine to begin writing them
_POLL_S = 0.01
_FIRST_PROMPT = list(range(16))


@dataclasses.dataclass(frozen=True, slots=True)
class TimedStart:
    """One start. Times are in seconds since the process was created."""

    ready_s: float
    first_token_s: float
    found_packed_weights: bool  # from an earlier start
    watch: MemoryWatch
    server_pid: int
    info: dict[str, Any]  # the engine's info


def measure_start(
    settings: dict[str, Any],
    workload: Workload,
    *,
    repeats: int,
    kinds: tuple[str, ...] = KINDS,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Start servers with these settings (names of `Settings`) and return the report.

    `note` is called with a line before each start. Raises `RequestFailed` if a server does not
    start or answer.
    """
    # Slightly more than the load needs, so that the whole pool is touched and counted.
    room = workload.shared_prefix + workload.requests * (workload.own + workload.output)
    settings = {"num_slots": room + room // 16 + 64, "max_model_len": workload.longest} | settings
    starts: dict[str, list[TimedStart]] = {kind: [] for kind in kinds}
    loads: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="yaie-start-") as folder:
        caches = Path(folder)
        note("warm-up …")
        _start_once(settings, caches, None)  # loads programs and weights into the page cache
        for index in range(repeats):
            for kind in kinds:
                note(f"start {index + 1} of {repeats}, {kind} …")
                _forget(kind, caches)
                load = workload if index == repeats - 1 and kind != KINDS[0] else None
                start = _start_once(settings, caches, load)
                starts[kind].append(start)
                if load is not None and can_measure():
                    loads[kind] = _memory(start)
    return {
        "benchmark": "start",
        "machine": describe_machine(),
        "model": starts[kinds[-1]][-1].info,
        "repeats": repeats,
        "starts": {kind: _medians(found) for kind, found in starts.items()},
        "workload": dataclasses.asdict(workload),
        "memory": loads,
    }


def _forget(kind: str, caches: Path) -> None:
    """Remove the caches that this start type must not find."""
    if kind == "nothing_cached":
        shutil.rmtree(caches / "yaie", ignore_errors=True)
    elif kind == "kernels_cached":
        for path in (caches / "yaie").glob("*"):  # empty if the folder is missing
            if path.name != "kernels":
                shutil.rmtree(path)


def packed_folder(caches: Path) -> Path:
    """Return the folder of packed weights below these caches."""
    return caches / "yaie" / "packed"


def _wait_until_written(
    caches: Path,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the packed weights of a running server are on disk.

    Returns early if the engine does not begin to write. Raises `RequestFailed` after a time limit.
    """
    began = now()
    while True:
        endings = {path.suffix for path in packed_folder(caches).glob("*")}
        spent_s = now() - began
        if UNFINISHED not in endings and (SUFFIX in endings or spent_s >= _BEGIN_S):
            return
        if spent_s >= _WRITE_S:
            raise RequestFailed(f"packed weights were not written within {_WRITE_S:g} s")
        sleep(_POLL_S)


def _medians(starts: list[TimedStart]) -> dict[str, float | bool]:
    figures = {
        name: round(statistics.median(getattr(start, name) for start in starts), 3)
        for name in ("ready_s", "first_token_s")
    }
    return {**figures, "found_packed_weights": all(start.found_packed_weights for start in starts)}


def _memory(start: TimedStart) -> dict[str, Any]:
    """Return the peaks and the bound: weights, pool, and an allowance for the rest."""
    server = start.watch.peaks[start.server_pid].resident
    others = (p.resident for pid, p in start.watch.peaks.items() if pid != start.server_pid)
    engine = max(others, default=0)  # the engine; compilers ran before it
    weights = start.info["weight_bytes"]
    pool = start.info["num_slots"] * start.info["kv_bytes_per_token"]
    bound = weights + pool + ALLOWANCE
    return {
        "weights": weights,
        "kv_pool": pool,
        "allowance": ALLOWANCE,
        "bound": bound,
        "server_peak": server,
        "engine_peak": engine,
        "together": server + engine,
        "beside_weights_and_pool": server + engine - weights - pool,
        "together_proportional": start.watch.together,
        "within_bound": server + engine <= bound,
    }


def _start_once(settings: dict[str, Any], caches: Path, load: Workload | None) -> TimedStart:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    found_packed_weights = any(packed_folder(caches).glob(f"*{SUFFIX}"))
    with tempfile.TemporaryFile() as log, requests.Session() as http:
        began = time.perf_counter()
        process = subprocess.Popen(
            serve_command(port), env=_environment(settings, caches), stdout=log, stderr=log
        )
        try:
            with (
                MemoryWatch(process.pid) if can_measure() else _skip_measuring(process.pid) as watch
            ):
                try:
                    wait_ready(http, url, process)
                    ready_s = time.perf_counter() - began
                    model = http.get(f"{url}/v1/models", timeout=60).json()["data"][0]["id"]
                    _complete(http, url, model, _FIRST_PROMPT, 1)
                    first_token_s = time.perf_counter() - began
                    info = http.get(f"{url}/stats", timeout=60).json()["info"]
                    if load is not None:
                        _run_load(url, model, load, info["vocab_size"])
                except (RequestFailed, requests.RequestException) as error:
                    log.seek(0)
                    said = log.read().decode(errors="replace").strip().splitlines()[-5:]
                    raise RequestFailed("\n".join([str(error), *said])) from None
            if info["execution"] == "native":  # other executions keep no packed weights
                _wait_until_written(caches)
        finally:
            stop(process)
    return TimedStart(ready_s, first_token_s, found_packed_weights, watch, process.pid, info)


@contextlib.contextmanager
def _skip_measuring(pid: int) -> Iterator[MemoryWatch]:
    """Stand in for a watch on systems that report no memory."""
    yield MemoryWatch(pid)


def _environment(settings: dict[str, Any], caches: Path) -> dict[str, str]:
    """Return our environment with separate caches, except the model caches.

    `weights_cache` is always `auto`, so packed weights are among these caches.
    """
    from huggingface_hub import constants

    places = {"XDG_CACHE_HOME": str(caches), "HF_HOME": constants.HF_HOME}
    return {**environment_of({**settings, "weights_cache": AUTO}), **places}


def _complete(
    http: requests.Session, url: str, model: str, prompt: list[int], max_tokens: int
) -> None:
    body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    answer = http.post(f"{url}/v1/completions", json=body | {"ignore_eos": True}, timeout=600)
    if answer.status_code != 200:
        raise RequestFailed(f"the server answered {answer.status_code}: {answer.text[:200]}")


def _run_load(url: str, model: str, load: Workload, vocab_size: int) -> None:
    def ask(prompt: list[int]) -> None:
        with requests.Session() as http:
            _complete(http, url, model, prompt, load.output)

    with ThreadPoolExecutor(load.requests) as threads:
        list(threads.map(ask, load.prompts(vocab_size, seed=1)))
