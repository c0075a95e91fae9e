"""A core with answers that are known beforehand, for tests of the transport around it.

`python -m tests.client.scripted_core FD` is an engine process that runs it. The model's name
decides about faults at load, the first token of a prompt about faults in `add` and in a step.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from yaie.base.cache_changes import CacheChange
from yaie.base.errors import (
    ContextLengthExceeded,
    InvalidRequest,
    ModelNotFound,
    StartupError,
)
from yaie.base.queries import Answer, DescribeCache, Explanation, FlushCache, Query
from yaie.base.settings import EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, ExpectedPrompt, GenerationRequest, TokenDelta
from yaie.client.worker import main

CRASH, HANG, KILL, REFUSE, RAISE_IN_ADD, NOISY_HANG = 901, 902, 903, 904, 905, 906
STEP_S = 0.002
HANGING = "the scripted engine hangs"

INFO = EngineInfo(
    model="scripted",
    model_path="/none",
    architecture="ScriptedForCausalLM",
    dtype="float32",
    kv_dtype="float32",
    device="cpu",
    attention_backend="none",
    vocab_size=1000,
    max_model_len=1000,
    num_slots=1000,
    kv_bytes_per_token=0,
    weight_bytes=0,
    num_parameters=0,
    policy="fcfs",
    eviction="lru",
    max_step_rows=100,
    max_running=256,
    max_waiting=4096,
    eos_token_ids=(2,),
)


class ScriptedCore:
    """Sequence i of a request with prompt p samples p[0] + i, p[0] + i + 1, ... one a step."""

    def __init__(self, config: EngineConfig) -> None:
        _act_at_load(config)
        self.info = INFO
        self.model = config.model
        self.closed = False
        self.expected: list[ExpectedPrompt] = []
        self.cache_changes: tuple[CacheChange, ...] = ()  # of the next step
        self._running: dict[str, GenerationRequest] = {}
        self._drawn: dict[tuple[str, int], int] = {}
        self._outcomes: list[TokenDelta] = []
        self.step_s = STEP_S
        self._num_steps = 0
        self._num_aborted = 0

    @property
    def has_work(self) -> bool:
        return bool(self._drawn or self._outcomes)

    @property
    def stats(self) -> EngineStats:
        return EngineStats(
            num_steps=self._num_steps,
            num_aborted=self._num_aborted,
            num_running=len(self._drawn),
        )

    def add(self, request: GenerationRequest) -> None:
        kind = request.prompt_token_ids[0]
        if kind == RAISE_IN_ADD:
            raise KeyError("a bug in add")
        if kind == REFUSE:
            raise ContextLengthExceeded("refused as asked", param="messages")
        self._running[request.request_id] = request
        for index in range(request.sampling.n):
            self._drawn[request.request_id, index] = 0

    def abort(self, request_id: str, index: int | None = None) -> None:
        for key in [key for key in self._drawn if key[0] == request_id]:
            if index is None or key[1] == index:
                del self._drawn[key]
                self._num_aborted += 1
                self._outcomes.append(
                    TokenDelta(
                        request_id=request_id,
                        submission=self._running[request_id].submission,
                        index=key[1],
                        finish_reason="abort",
                    )
                )

    def warm_up(self) -> None:
        if self.model == "cold":
            raise StartupError("the warm-up failed: as asked")
        self.info = replace(self.info, warm_up_s=0.5)

    def expect(self, prompt: ExpectedPrompt) -> None:
        self.expected.append(prompt)

    def take_cache_changes(self) -> tuple[CacheChange, ...]:
        changes, self.cache_changes = self.cache_changes, ()
        return changes

    def answer(self, query: Query) -> Answer:
        if isinstance(query, FlushCache):
            raise InvalidRequest("nothing to flush, as asked", param="query")
        if isinstance(query, DescribeCache):
            raise KeyError("a bug in answer")
        return Explanation(
            num_tokens=len(query.token_ids),
            num_held=self._num_steps,
            num_known=0,
            cause="never_seen",
            clock=0,
        )

    def use_idle_moment(self) -> bool:
        return False

    def step(self) -> list[TokenDelta]:
        time.sleep(self.step_s)
        self._num_steps += 1
        deltas, self._outcomes = self._outcomes, []
        for (request_id, index), before in list(self._drawn.items()):
            request = self._running[request_id]
            _act_in_step(request.prompt_token_ids[0])
            drawn = before + 1
            self._drawn[request_id, index] = drawn
            done = drawn == request.sampling.max_tokens
            if done:
                del self._drawn[request_id, index]
            deltas.append(
                TokenDelta(
                    request_id=request_id,
                    submission=request.submission,
                    index=index,
                    token_ids=(request.prompt_token_ids[0] + index + drawn - 1,),
                    finish_reason="length" if done else None,
                )
            )
        return deltas

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def _act_at_load(config: EngineConfig) -> None:
    if config.model == "missing":
        raise ModelNotFound("there is no model 'missing'", param="model")
    if config.model == "broken":
        raise RuntimeError("the loader has a bug")
    if config.model == "killed":
        os.kill(os.getpid(), 9)
    if config.model == "slow":
        time.sleep(60)
    how, _, path = config.model.partition(":")
    if how == "compiling":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        Path(path).write_text(str(child.pid))
    if how in ("once", "slowly-again"):  # later loads fail, or take an hour
        loads = Path(path)
        with loads.open("a") as log:  # the file's size counts the loads
            log.write("x")
        if loads.stat().st_size > 1:
            if how == "once":
                os._exit(9)
            time.sleep(3600)


def _act_in_step(kind: int) -> None:
    if kind == CRASH:
        raise RuntimeError("a kernel failed")
    if kind in (HANG, NOISY_HANG):
        if kind == NOISY_HANG:
            print(HANGING, file=sys.stderr, flush=True)
        time.sleep(3600)
    if kind == KILL:
        os.kill(os.getpid(), 9)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ScriptedCore))
