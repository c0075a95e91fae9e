"""Cost of a streamed token in the server: from the engine's frame to the bytes of an event.

`python -m benchmarks.streams` prints JSON. The application runs with a client in place of the
engine, which delivers one token to each of its streams at a time, and without sockets: what the
operating system takes to send is not in the figures. Figures are medians of processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import uvicorn
from starlette.types import Message

from yaie.base.errors import EngineUnavailable
from yaie.base.queries import Answer, Query
from yaie.base.settings import EngineConfig, Settings
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    EngineState,
    ExpectedPrompt,
    GenerationRequest,
    TokenDelta,
)
from yaie.bench.machine import describe_machine
from yaie.client.engine_client import log_sink_error
from yaie.client.submission import Sink, Submission, Submissions
from yaie.client.wire import Deltas, encode, parent_reader
from yaie.server.app import create_app

BATCHES = (1, 64, 256)
PATHS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Tell a story."}]},
    "/v1/completions": {"prompt": "Once upon a time"},
}
TEXT = "Once upon a time a fox lived in a wood. " * 4
_WARM_UP = 5  # steps


class StandInClient:
    """An engine that says one token of a fixed text to every stream at a time.

    Implements `EngineClient`.
    """

    state = EngineState.READY
    state_reason = ""
    num_restarts = 0

    def __init__(self, config: EngineConfig) -> None:
        self.stats = EngineStats()
        self.text: list[int] = []
        self.info: EngineInfo | None = EngineInfo(
            model=config.model_name,
            model_path=config.model,
            architecture="LlamaForCausalLM",
            dtype="bfloat16",
            kv_dtype="bfloat16",
            device="cpu",
            attention_backend="none",
            vocab_size=2**15,
            max_model_len=2**15,
            num_slots=2**20,
            kv_bytes_per_token=1,
            weight_bytes=1,
            num_parameters=1,
            policy="prefix-aware",
            eviction="adaptive",
            max_step_rows=2048,
            max_running=256,
            max_waiting=4096,
        )
        self._submissions = Submissions(log_sink_error)
        self._requests: list[GenerationRequest] = []
        self._reader = parent_reader()
        self._num_said = 0

    async def start(self) -> None:
        """Start; ready at once."""

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        """Return the info."""
        assert self.info is not None
        return self.info

    def expect_request(self) -> AbstractContextManager[None]:
        """Announce a request, without effect."""
        return nullcontext()

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Open a stream."""
        request = self._submissions.number(request)
        submission = Submission(request, sink, lambda submission, index: None)
        self._submissions.add(submission)
        self._requests.append(request)
        return submission

    def expect_prompt(self, prompt: ExpectedPrompt) -> None:
        """Expect a prompt, without effect."""

    async def ask(self, query: Query, timeout_s: float = 0.0) -> Answer:
        """Refuse: this engine is empty."""
        raise EngineUnavailable("this engine has no cache")

    async def close(self) -> None:
        """Close the engine, without effect."""

    @property
    def num_streams(self) -> int:
        """Number of opened streams."""
        return len(self._requests)

    def next_frame(self, *, is_last: bool = False) -> bytes:
        """Return the frame of a step with one token for each stream."""
        token_id = self.text[self._num_said % len(self.text)]
        self._num_said += 1
        deltas = [
            TokenDelta(
                request_id=request.request_id,
                submission=request.submission,
                index=0,
                token_ids=(token_id,),
                finish_reason="length" if is_last else None,
                num_cached_tokens=4,
            )
            for request in self._requests
        ]
        return encode(Deltas(deltas, self.stats))

    def receive(self, frame: bytes) -> None:
        """Deliver the deltas of a frame, as the client of an engine process does."""
        for message in self._reader.feed(frame):
            assert isinstance(message, Deltas)
            self._submissions.deliver(message.deltas)


class Connections:
    """The clients of the streams: each counts its events."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.num_events = 0
        self.tasks: list[asyncio.Task[None]] = []

    def open(self, path: str, body: dict[str, Any]) -> None:
        """Send a request and count the events of its answer."""
        self.tasks.append(asyncio.create_task(self._ask(path, json.dumps(body).encode())))

    async def _ask(self, path: str, body: bytes) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"bench"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        received = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if not received:
                await asyncio.Event().wait()  # the client stays
            return received.pop()

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                self.num_events += message["body"].count(b"data: ")

        await self._app(scope, receive, send)

    async def wait_for(self, num_events: int) -> None:
        """Run the event loop until all clients together have so many events."""
        while self.num_events < num_events:
            await asyncio.sleep(0)


async def _measure(path: str, streams: int, steps: int) -> dict[str, Any]:
    made: list[StandInClient] = []

    def make_client(config: EngineConfig) -> StandInClient:
        made.append(StandInClient(config))
        return made[0]

    app = create_app(Settings(model="builtin", log_level="warning"), make_client, _fail)
    async with app.router.lifespan_context(app):
        model = app.state.service.model()
        while model.state is not EngineState.READY:
            await asyncio.sleep(0.001)
        (client,) = made
        client.text = model.tokenizer.encode(TEXT)
        connections = Connections(app)
        body = {**PATHS[path], "stream": True, "max_tokens": 2**14, "ignore_eos": True}
        for _ in range(streams):
            connections.open(path, body)
        while client.num_streams < streams:
            await asyncio.sleep(0.001)
        times = [await _step(client, connections, streams) for _ in range(steps + _WARM_UP)]
        client.receive(client.next_frame(is_last=True))
        await asyncio.gather(*connections.tasks)
    return {
        "path": path,
        "streams": streams,
        "microseconds_a_token": round(statistics.median(times[_WARM_UP:]) * 1e6 / streams, 2),
    }


async def _step(client: StandInClient, connections: Connections, streams: int) -> float:
    """Return the seconds from the frame of a step to its last event."""
    frame = client.next_frame()
    before = connections.num_events
    began = time.process_time()
    client.receive(frame)
    await connections.wait_for(before + streams)
    return time.process_time() - began


def _fail(error: Exception) -> None:
    raise error


def measure_streams(steps: int) -> dict[str, Any]:
    """Time the tokens of every batch and path, in the event loop that uvicorn would choose."""
    gc.disable()  # its pauses belong to no token
    factory: Callable[[], asyncio.AbstractEventLoop] | None
    factory = uvicorn.Config(app="", loop="auto").get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        found = [
            runner.run(_measure(path, streams, steps)) for path in PATHS for streams in BATCHES
        ]
    return {
        "benchmark": "streams",
        "machine": describe_machine(),
        "steps": steps,
        "streams": found,
    }


def main() -> None:
    """Read the options, measure, print JSON."""
    parser = argparse.ArgumentParser(description="Streamed tokens in the server.")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    print(json.dumps(measure_streams(options.steps), indent=2))


if __name__ == "__main__":
    main()
