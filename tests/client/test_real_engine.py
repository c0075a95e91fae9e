"""The engine process around the real core, over a tiny random model."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM

from tests.adapters import write_adapter
from tests.client.asking import collect, drawn, generate, until
from tests.client.test_engine_process import alive, num_switches, state_of
from tests.kvcache.block_consumer import BlockConsumer
from yaie.base.cache_changes import CacheChange, unpack_names
from yaie.base.errors import (
    EngineDied,
    ModelNotFound,
    ModelUnsupported,
    StartupError,
    UnknownModel,
)
from yaie.base.queries import Blocks, ListBlocks, LoadAdapter, UnloadAdapter
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineState, GenerationRequest, SamplingParams, TokenDelta
from yaie.client.process_client import ProcessClient

pytestmark = pytest.mark.integration

PROMPT = tuple(range(10, 74))
LONG = 1500


@asynccontextmanager
async def running(
    model: Path,
    changes: Callable[[tuple[CacheChange, ...]], object] | None = None,
    **settings: object,
) -> AsyncIterator[ProcessClient]:
    config = EngineConfig(model=str(model), num_slots=4096, threads=1, **settings)  # type: ignore[arg-type]
    client = ProcessClient(config, stall_s=60, on_cache_changes=changes)
    try:
        await client.start()
        yield client
    finally:
        await client.close()


def ask(
    request_id: str, prompt: tuple[int, ...] = PROMPT, max_tokens: int = 8, n: int = 1
) -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        prompt_token_ids=prompt,
        sampling=SamplingParams(temperature=0.0, max_tokens=max_tokens, n=n, ignore_eos=True),
    )


async def test_a_restarted_engine_gives_the_same_answers(
    tiny_model_dir: Path,
) -> None:
    blocks = BlockConsumer()
    async with running(tiny_model_dir, blocks.take, cache_events="unsalted") as client:
        info = await client.wait_ready(120)
        assert info.architecture == "Qwen3ForCausalLM"
        first = await drawn(client, ask("a"))
        assert len(first) == 8

        # The same prompt again costs one row, and reports it.
        deltas = await collect(client, ask("b"))
        assert [t for d in deltas for t in d.token_ids] == first
        assert deltas[-1].num_cached_tokens == len(PROMPT) - 1
        assert deltas[-1].timings is not None

        # Prompts at once: each as it is alone.
        prompts = [(*PROMPT[:k], k) for k in range(1, 40)]
        together = await asyncio.gather(
            *(drawn(client, ask(f"t{k}", prompt)) for k, prompt in enumerate(prompts))
        )
        alone = [await drawn(client, ask(f"s{k}", p)) for k, p in enumerate(prompts[::13])]
        assert together[::13] == alone

        listed = await client.ask(ListBlocks(10_000))
        assert isinstance(listed, Blocks)
        assert set(unpack_names(listed.names)) == blocks.parents.keys()
        assert len(blocks.parents) > 10

        # Killed in the middle of 16 streams.
        streams = [generate(client, ask(f"k{i}", (*PROMPT, i), max_tokens=LONG)) for i in range(16)]
        await asyncio.gather(*(anext(stream) for stream in streams))
        pid = client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        async def drain(stream: AsyncIterator[TokenDelta]) -> None:
            async for _ in stream:
                pass

        ends = await asyncio.gather(*map(drain, streams), return_exceptions=True)
        assert all(isinstance(end, EngineDied) for end in ends)
        assert client.state is not EngineState.READY
        assert not blocks.parents
        await client.wait_ready(120)
        assert client.num_restarts == 1
        assert await drawn(client, ask("a")) == first


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_closed_requests_free_their_slots_and_compute_nothing(
    tiny_model_dir: Path,
) -> None:
    async with running(tiny_model_dir) as client:
        await client.wait_ready(120)
        streams = [
            generate(client, ask(f"{i}", (*PROMPT, i), max_tokens=LONG, n=3)) for i in range(8)
        ]
        await asyncio.gather(*(anext(stream) for stream in streams))
        await until(lambda: client.stats.num_running == 24)
        await asyncio.gather(*(stream.aclose() for stream in streams))
        await until(lambda: client.stats.num_running == 0 and client.stats.num_waiting == 0)
        stats = client.stats
        assert stats.num_aborted == 24
        assert stats.num_live_slots == 0
        assert stats.num_free_slots + stats.num_cached_slots == 4096
        assert client.pid is not None
        await until(lambda: state_of(client.pid) == "S")
        before = num_switches(client.pid)
        await asyncio.sleep(0.5)
        assert num_switches(client.pid) - before <= 1
        assert client.stats.num_steps == stats.num_steps


async def test_a_restarted_engine_has_the_adapters_that_are_served(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny_model_dir)
    for seed, name in enumerate(("all/sql", "all/old", "new")):
        write_adapter(tmp_path / name, model, seed=seed)
    async with running(tiny_model_dir, lora=str(tmp_path / "all")) as client:
        await client.wait_ready(120)
        await client.ask(LoadAdapter("sql", str(tmp_path / "new"), replaces=True))
        await client.ask(UnloadAdapter("old"))
        served = replace(ask("a"), adapter="sql", adapter_path=str(tmp_path / "new"))
        answer = await drawn(client, served)
        shutil.rmtree(tmp_path / "all/old")
        pid = client.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: client.state is not EngineState.READY)
        await client.wait_ready(120)
        assert await drawn(client, served) == answer
        with pytest.raises(UnknownModel, match="'old' is not loaded; this engine has 'sql'"):
            await client.ask(UnloadAdapter("old"))


async def test_a_refusal_is_the_requests_error(tiny_model_dir: Path) -> None:
    async with running(tiny_model_dir, max_waiting=2, max_running=1) as client:
        await client.wait_ready(120)
        for name, prompt, code in (
            ("long", (5,) * 3000, "context_length_exceeded"),
            ("foreign", (420,), None),
            ("negative", (-1,), None),
            ("empty", (), None),
            ("huge", (2**62,), None),
        ):
            deltas = await collect(client, ask(name, prompt))
            assert [d.finish_reason for d in deltas] == ["error"], name
            assert (deltas[0].error.status, deltas[0].error.code) == (400, code), name
        # More than max_waiting: some are refused with 429, the others are answered.
        answers = await asyncio.gather(*(collect(client, ask(f"q{i}")) for i in range(12)))
        refused = [deltas[-1] for deltas in answers if deltas[-1].finish_reason == "error"]
        assert refused
        assert all(delta.error.status == 429 for delta in refused)
        assert sum(d[-1].finish_reason == "length" for d in answers) == 12 - len(refused)
        assert client.num_restarts == 0


@pytest.mark.parametrize("damage", ["no folder", "no weights", "truncated", "other architecture"])
async def test_a_model_that_cannot_be_loaded_fails(
    tiny_model_dir: Path, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "model"
    if damage != "no folder":
        shutil.copytree(tiny_model_dir, folder)
    weights = folder / "model.safetensors"
    kind: type[StartupError] = ModelUnsupported
    if damage == "no folder":
        kind = ModelNotFound
    elif damage == "no weights":
        weights.unlink()
        kind = StartupError
    elif damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:1000])
        kind = StartupError
    else:
        config = folder / "config.json"
        config.write_text(config.read_text().replace("Qwen3ForCausalLM", "MambaForCausalLM"))

    async with running(folder) as client:
        with pytest.raises(kind) as caught:
            await client.wait_ready(10)
        assert client.state is EngineState.FAILED
        assert client.state_reason == caught.value.message
        pid = client.pid
        assert pid is None or not alive(pid)
