"""Soak: many mixed requests to one server; memory must not grow.

    python -m tests.faults.soak --requests 200000

Requests of every API go to two models, every tenth client leaves before its answer ends, and the
cache is flushed now and then. The resident memory of server and engine is read every ten seconds.
The second half is free of warm-up: its slope, by least squares, is printed in MiB an hour and for
each 100,000 requests. The exit status is 1 if a request failed, a slot leaked or a process died.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.traffic import LeavingClient, draw_call, send
from tests.server.real_server import Server
from tests.tiny_model import write_tiny_model

NUM_CLIENTS = 16
MODELS = ("tiny", "other")
MAX_TOKENS = 24
LEAVING = 0.1
INTERVAL_S = 10.0


@dataclass
class Sample:
    """Resident memory in MiB, open descriptors and threads of all processes at one moment."""

    seconds: float
    num_requests: int
    resident: float
    descriptors: int
    threads: int


@dataclass
class Soak:
    """The run: requests so far, answers by status, and samples."""

    server: Server
    wanted: int
    began: float = field(default_factory=time.monotonic)
    num_requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    async def run(self) -> None:
        """Keep all clients busy until so many requests were sent."""
        watch = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._ask(random.Random(number)) for number in range(NUM_CLIENTS)))
        watch.cancel()
        self._take_sample()

    async def _ask(self, rng: random.Random) -> None:
        while self.num_requests < self.wanted:
            self.num_requests += 1
            call, name = draw_call(rng, MODELS, MAX_TOKENS), f"{rng.getrandbits(64):x}"
            if rng.random() < LEAVING:
                client = LeavingClient(rng, self.server.port, call, name)
                await client.begin()
                await client.leave()
                self.answers["left"] += 1
                continue
            answer = await send(self.server.port, call, name)
            status = answer[9:12].decode() or "closed"
            if b"event: error" in answer or b'data: {"error"' in answer:
                status = "error event"
            self.answers[status] += 1
            if self.num_requests % 5000 == 0:
                await asyncio.to_thread(self.server.post, "/v1/cache/flush", {})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            self._take_sample()
            if len(self.samples) % 6 == 0:
                print(self.samples[-1], dict(self.answers), flush=True)

    def _take_sample(self) -> None:
        pids = [self.server.process.pid, *self.server.engine_pids()]
        self.samples.append(
            Sample(
                time.monotonic() - self.began,
                self.num_requests,
                sum(resident_mib(pid) for pid in pids),
                sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
                sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids),
            )
        )


def resident_mib(pid: int) -> float:
    """Return a process's resident memory without the pages that it shares with files."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return int(fields["RssAnon"].split()[0]) / 1024


def main() -> int:
    """Run a soak and print its figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=200_000)
    wanted = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = write_tiny_model(folder / "model")
        server = Server(
            model,
            folder / "log",
            YAIE_MODELS=f"other={model}",
            YAIE_NUM_SLOTS="4096",
            YAIE_AUDIT="false",
        )
        server.wait_s = 300.0
        try:
            server.wait_ready()
            pids = server.engine_pids()
            soak = Soak(server, wanted)
            asyncio.run(soak.run())
            server.wait_idle()
            stats = server.stats()["stats"]
            is_whole = server.engine_pids() == pids
        except BaseException:
            print((folder / "log").read_text()[-5000:])
            raise
        finally:
            server.stop()
    half = soak.samples[len(soak.samples) // 2 :]
    seconds, number = soak.samples[-1].seconds, soak.num_requests
    memory = [each.resident for each in half]
    for unit, times in (
        ("hour", [each.seconds / 3600 for each in half]),
        ("100,000 requests", [each.num_requests / 100_000 for each in half]),
    ):
        slope = statistics.linear_regression(times, memory).slope
        print(f"{slope:+.2f} MiB for each {unit}, in the second half")
    print(f"{number} requests in {seconds:.0f} s, {number / seconds:.0f} a second: {soak.answers}")
    for name in ("resident", "descriptors", "threads"):
        values = [getattr(each, name) for each in half]
        print(f"{name}: {values[0]:.0f} at half time, {min(values):.0f} to {max(values):.0f} since")
    print(
        f"live slots {stats['num_live_slots']}, engines {'lived' if is_whole else 'were replaced'}"
    )
    is_good = set(soak.answers) <= {"200", "left"} and not stats["num_live_slots"] and is_whole
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
