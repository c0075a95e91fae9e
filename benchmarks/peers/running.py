"""A peer as a running process: started, queried, suspended between its turns, ended.

A server is queried over HTTP, an in-process peer through its pipes. Both lead process groups of
their own, so that suspending one suspends all of its threads and children. Used by the runner.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.peers import processes
from benchmarks.peers.client import (
    Dialect,
    LlamaCppDialect,
    OpenAiDialect,
    send_workload,
)
from benchmarks.peers.definitions import SERVED_NAME, Peer, Start, plain_environment
from benchmarks.peers.exchange import PeerFailed
from benchmarks.peers.figures import Answer
from benchmarks.peers.workloads import Workload

_POLL_S = 0.2
_LAST_LINES = 12


class RunningPeer:
    """One process of a peer. `end` ends it with all of its children."""

    def __init__(self, peer: Peer, start: Start, log: Path, *, start_limit_s: float) -> None:
        """Start the peer and wait until it accepts requests. Raises `PeerFailed` with the end of
        its log.
        """
        self.peer = peer
        self.command = peer.command(start)
        self.log = log
        pipe = subprocess.PIPE if peer.transport == "in-process" else subprocess.DEVNULL
        environment = {**plain_environment(), **peer.environment(start)}
        begun_s = time.monotonic()
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=pipe,
                stdout=pipe if pipe == subprocess.PIPE else output,
                stderr=output,
                env={name: value for name, value in environment.items() if value},
                start_new_session=True,
            )
        self.url = f"http://127.0.0.1:{start.port}"
        self._unread = b""
        try:
            self._wait_until_ready(begun_s + start_limit_s)
        except BaseException:
            self.end()
            raise
        self.start_s = time.monotonic() - begun_s

    def run(self, workload: Workload, *, timeout_s: float) -> list[Answer]:
        """Return every answer to a workload. Raises `PeerFailed`."""
        if self.peer.transport == "in-process":
            return self._run_in_process(workload, timeout_s)
        openai = self.peer.transport == "openai"
        dialect: Dialect = OpenAiDialect(SERVED_NAME) if openai else LlamaCppDialect()
        try:
            return send_workload(self.url, dialect, workload, timeout_s=timeout_s)
        except PeerFailed as error:
            if self.process.poll() is not None:
                raise self._ended(error.message) from None
            raise

    @property
    def has_ended(self) -> bool:
        """True if the process has ended."""
        return self.process.poll() is not None

    def suspend(self) -> None:
        """Stop it until `resume`."""
        processes.suspend(self.process)

    def resume(self) -> None:
        """Continue it."""
        processes.resume(self.process)

    def end(self) -> None:
        """End it."""
        processes.end(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # unread input
                    pipe.close()

    def _wait_until_ready(self, deadline_s: float) -> None:
        if self.peer.transport == "in-process":
            self._read_line(deadline_s - time.monotonic())
            return
        with httpx.Client(timeout=2.0, trust_env=False, verify=False) as client:
            while time.monotonic() < deadline_s:
                if self.has_ended:
                    raise self._ended("it ended while starting")
                try:
                    answer = client.get(self.url + self.peer.health)
                    if answer.status_code == httpx.codes.OK:
                        return
                except httpx.HTTPError:
                    pass  # not listening yet
                time.sleep(_POLL_S)
        raise self._ended("it did not become ready in time")

    def _run_in_process(self, workload: Workload, timeout_s: float) -> list[Answer]:
        shape = workload.shape
        asked = {
            "conversations": workload.conversations,
            "output_len": shape.output_len,
            "num_samples": shape.num_samples,
            "temperature": shape.temperature,
        }
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended("it ended before it was asked") from None
        said = self._read_line(timeout_s)
        try:
            return [_answer_of(record) for record in said["answers"]]
        except (LookupError, TypeError, ValueError):
            raise self._ended(f"{str(said)[:300]!r} is no answer") from None

    def _read_line(self, timeout_s: float) -> dict[str, Any]:
        """Return the next line of an in-process peer."""
        assert self.process.stdout is not None
        deadline_s = time.monotonic() + timeout_s
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self._unread:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
                raise self._ended(f"it did not answer within {timeout_s:g} s")
            part = os.read(descriptor, 1 << 16)
            if not part:
                raise self._ended("it ended")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            read: dict[str, Any] = json.loads(line)
        except ValueError:
            said = line[:300].decode(errors="replace")
            raise self._ended(f"{said!r} is no answer") from None
        return read

    def _ended(self, what: str) -> PeerFailed:
        return PeerFailed(f"{self.peer.title}: {what}; the end of {last_words(self.log)}")


def last_words(log: Path) -> str:
    """Return the name of a log and its last lines."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n".join([f"{log}:", *lines[-_LAST_LINES:]])


def _answer_of(record: dict[str, Any]) -> Answer:
    return Answer(
        prompt_len=record["prompt_len"],
        start_s=record["start_s"],
        end_s=record["end_s"],
        arrivals={
            sample: [(at_s, count) for at_s, count in arrived]
            for sample, arrived in enumerate(record["arrivals"])
        },
        token_ids=dict(enumerate(record["token_ids"])),
    )


def free_port() -> int:
    """Return a free TCP port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
