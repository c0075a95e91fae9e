"""Python calls of one streamed chat, in the server's process and in the engine's.

`python -m benchmarks.calls` prints JSON. A warm server with the built-in model answers chats over a
Unix socket, and `sys.setprofile` notes each call of a function of `yaie` in both processes.
Numbers are medians over chats. `--list` prints the calls of one chat's phase in order instead.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvicorn

import yaie
from yaie.base.settings import EngineConfig, Settings
from yaie.base.types import EngineState
from yaie.bench.machine import describe_machine
from yaie.client import worker
from yaie.client.core_loading import load_engine_core
from yaie.client.engine_client import EngineClient
from yaie.client.engine_process import EngineProcess
from yaie.client.process_client import ProcessClient
from yaie.engine.loop import Core
from yaie.server.app import create_app
from yaie.server.http.protocol import HttpProtocol

PACKAGE = str(Path(yaie.__file__).parent)
TOKENS = 4
PHASES = ("server-first", "server-later", "engine-first", "engine-step")
_WARM_UP = 3  # chats
_PAUSE_S = 0.5  # between two chats: the next turn is prepared in it
_STEP_PAUSE_S = 0.025  # before each step: the server writes a token before the next one comes
_FILE = "CALLS_FILE"  # environment variable: the path of the engine's list of calls
_TOKEN = b'"delta":{"content"'
_STEP = "engine/core.py:EngineCore.step"
_QUESTIONS = ("What is a radix tree?", "Name a colour.", "Why is the sky blue?", "Say a number.")


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One call: the time of the monotonic clock in seconds, and the file and function."""

    at_s: float
    name: str

    @property
    def file(self) -> str:
        """Path below the package."""
        return self.name.partition(":")[0]


class Recorder:
    """The calls of this process, in order; each call of `paused` takes a pause."""

    def __init__(self, paused: CodeType | None = None) -> None:
        self._found: list[tuple[float, CodeType]] = []
        self._paused = paused

    def start(self) -> None:
        """Record from now on, also in threads that start later."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            self._found.append((time.perf_counter(), code))
            if code is self._paused:
                time.sleep(_STEP_PAUSE_S)

    def events(self) -> list[CallEvent]:
        """Return every call so far."""
        cut = len(PACKAGE) + 1
        return [
            CallEvent(at_s, f"{code.co_filename[cut:]}:{code.co_qualname}")
            for at_s, code in self._found
        ]


def run_worker(descriptors: list[str]) -> int:
    """Be the engine process, and write its calls to a file at the end."""
    from yaie.engine.core import EngineCore  # imports torch, which the server does without

    recorder = Recorder(EngineCore.step.__code__)

    def load(config: EngineConfig) -> Core:
        core = load_engine_core(config)
        recorder.start()
        return core

    status = worker.main(descriptors, load)
    sys.setprofile(None)
    found = [(each.at_s, each.name) for each in recorder.events()]
    Path(os.environ[_FILE]).write_text(json.dumps(found), encoding="utf-8")
    return status


@dataclass(slots=True)
class Chat:
    """Times of one chat at its client, in seconds of the monotonic clock."""

    sent_s: float
    first_token_s: float = 0.0
    last_token_s: float = 0.0
    num_tokens: int = 0


def ask_chats(path: str, count: int) -> list[Chat]:
    """Ask for streamed chats, one after the other, as a client without profile."""
    sys.setprofile(None)
    chats = []
    for number in range(count):
        chats.append(_ask(path, f"{_QUESTIONS[number % len(_QUESTIONS)]} {number}"))
        time.sleep(_PAUSE_S)
    return chats


def _ask(path: str, question: str) -> Chat:
    body = {
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        "max_tokens": TOKENS,
        "temperature": 0,
        "ignore_eos": True,
    }
    content = json.dumps(body).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        chat = Chat(time.perf_counter())
        connection.sendall(head.encode() + content)
        while received := connection.recv(1 << 16):
            now_s = time.perf_counter()
            if tokens := received.count(_TOKEN):
                chat.first_token_s = chat.first_token_s or now_s
                chat.last_token_s = now_s
                chat.num_tokens += tokens
    if not chat.num_tokens:
        raise RuntimeError("a chat had no token")
    return chat


async def _serve_chats(path: str, count: int) -> list[Chat]:
    """Serve chats at a Unix socket, with a traced engine process; return their times."""
    spawn = functools.partial(EngineProcess.spawn, module="benchmarks.calls", warms_up=True)

    def make_client(config: EngineConfig) -> EngineClient:
        return ProcessClient(config, spawn=spawn)

    app = create_app(Settings(model="builtin", log_level="warning"), make_client, _fail)
    config = uvicorn.Config(
        app, http=HttpProtocol, ws="none", log_level="warning", access_log=False
    )
    server = uvicorn.Server(config)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started or app.state.service.model().state is not EngineState.READY:
            await asyncio.sleep(0.01)
        chats = await asyncio.to_thread(ask_chats, path, count)
        server.should_exit = True
        await serving
    return chats


def _fail(error: Exception) -> None:
    raise error


@dataclass(frozen=True, slots=True)
class Traced:
    """The calls of one chat, in the order of `PHASES`, and in all of both processes."""

    phases: dict[str, list[CallEvent]]
    server: list[CallEvent]
    engine: list[CallEvent]
    num_tokens: int


def trace_chats(count: int) -> list[Traced]:
    """Return the calls of `count` chats of a warm server."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "engine.json"
        os.environ[_FILE] = str(calls)
        recorder.start()
        try:
            chats = asyncio.run(_serve_chats(f"{folder}/socket", _WARM_UP + count))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            del os.environ[_FILE]
        engine = [CallEvent(*each) for each in json.loads(calls.read_text(encoding="utf-8"))]
    server = recorder.events()
    return [_cut(chat, server, engine) for chat in chats[_WARM_UP:]]


def _cut(chat: Chat, server: list[CallEvent], engine: list[CallEvent]) -> Traced:
    end_s = chat.last_token_s + _PAUSE_S / 2
    ours = _between(server, chat.sent_s, end_s)
    theirs = _between(engine, chat.sent_s, end_s)
    steps = [index for index, each in enumerate(theirs) if each.name == _STEP]
    if len(steps) < TOKENS:
        raise RuntimeError(f"{len(steps)} steps for {TOKENS} tokens")
    return Traced(
        {
            "server-first": _between(ours, chat.sent_s, chat.first_token_s),
            "server-later": _between(ours, chat.first_token_s, chat.last_token_s),
            "engine-first": theirs[: steps[1]],
            "engine-step": theirs[steps[TOKENS - 2] : steps[TOKENS - 1]],
        },
        ours,
        theirs,
        chat.num_tokens,
    )


def _between(events: Iterable[CallEvent], first_s: float, last_s: float) -> list[CallEvent]:
    return [each for each in events if first_s <= each.at_s <= last_s]


def _lines(file: str) -> int:
    return len((Path(PACKAGE) / file).read_text(encoding="utf-8").splitlines())


def describe_calls(traced: list[Traced]) -> dict[str, Any]:
    """Return the medians over chats, and the functions and files that any of them entered."""
    server = {each.name for chat in traced for each in chat.server}
    engine = {each.name for chat in traced for each in chat.engine}
    files = {name.partition(":")[0] for name in server | engine}
    later = [
        len(chat.phases["server-later"]) / (chat.num_tokens - 1)
        for chat in traced
        if chat.num_tokens > 1
    ]
    steps = [chat.phases["engine-step"] for chat in traced]
    return {
        "benchmark": "calls",
        "machine": describe_machine(),
        "chats": len(traced),
        "tokens": TOKENS,
        "functions": len(server | engine),
        "files": len(files),
        "lines": sum(map(_lines, files)),
        "server": {
            "functions": len(server),
            "files": len({name.partition(":")[0] for name in server}),
            "calls_before_the_first_token": _median(chat.phases["server-first"] for chat in traced),
            "calls_per_later_token": round(statistics.median(later)) if later else None,
        },
        "engine": {
            "functions": len(engine),
            "files": len({name.partition(":")[0] for name in engine}),
            "calls_before_the_first_token": _median(chat.phases["engine-first"] for chat in traced),
            "calls_per_decode_step": _median(steps),
            "files_per_decode_step": round(
                statistics.median(len({each.file for each in step}) for step in steps)
            ),
        },
    }


def _median(phases: Iterable[list[CallEvent]]) -> int:
    return round(statistics.median(map(len, phases)))


def main() -> int:
    """Read the options, trace, print."""
    parser = argparse.ArgumentParser(description="Python calls of one streamed chat.")
    parser.add_argument("--chats", type=int, default=9)
    parser.add_argument("--list", choices=PHASES, help="print the calls of the last chat's phase")
    parser.add_argument("descriptors", nargs="*", help=argparse.SUPPRESS)  # of the engine process
    options = parser.parse_args()
    if options.descriptors:
        return run_worker(options.descriptors)
    traced = trace_chats(options.chats)
    if options.list:
        print(*(each.name for each in traced[-1].phases[options.list]), sep="\n")
    else:
        print(json.dumps(describe_calls(traced), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
