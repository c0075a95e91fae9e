"""The queue, captured steps and the sampler on a CUDA device, against the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.device.device_model import config_of
from tests.device.padded_backend import PaddedBackend
from tests.device.sampled_tokens import VARIANTS, same
from tests.device.test_decode_graphs import decode_plan
from tests.engine.sampling import VOCAB, state_of, task
from yaie.base.types import SamplingParams
from yaie.device.cuda import CudaQueue
from yaie.device.packed import Download, PackedField, Upload
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.engine.sampling.cpu_sampler import CpuSampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.models.load.loader import load_model

pytestmark = pytest.mark.gpu


@pytest.fixture
def queue(device: torch.device) -> CudaQueue:
    return CudaQueue(device)


def test_packed_copies_arrive_behind_a_busy_device(queue: CudaQueue) -> None:
    fields = {"numbers": PackedField("int64", (3,)), "shares": PackedField("float64", (3,))}
    up, down = Upload(queue, fields), Download(queue, fields)
    for step in range(1, 50):
        torch.cuda._sleep(1_000_000)
        host = up.fill()
        host["numbers"][:], host["shares"][:] = step, 1 / step
        up.send()
        down.device["numbers"].copy_(up.device["numbers"] * 2)
        down.device["shares"].copy_(up.device["shares"])
        down.fetch().wait()
        assert down.read()["numbers"].tolist() == [2 * step] * 3
        assert down.read()["shares"].tolist() == [1 / step] * 3


def test_the_measured_memory_grows_by_an_allocation(queue: CudaQueue) -> None:
    torch.cuda.empty_cache()
    before, nbytes = queue.memory(), 2**28
    held = torch.empty(nbytes, dtype=torch.uint8, device=queue.device)
    after = queue.memory()
    assert after.reserved - before.reserved >= held.nbytes
    assert after.reserved < after.used <= after.total == before.total


@pytest.mark.parametrize("kw", VARIANTS)
def test_tokens_are_those_of_the_cpu_eager_and_captured(queue: CudaQueue, kw: dict) -> None:
    sampler = DeviceSampler(VOCAB, queue, max_tasks=8)
    for step in range(20):
        logits = torch.randn(3, VOCAB)
        tasks = [
            task(i, state_of(SamplingParams(seed=step + i, **kw), vocab_size=VOCAB, output=(1, 2)))
            for i in range(3)
        ]
        found = sampler.sample(logits.cuda(), tasks)
        for mine, other in zip(found, CpuSampler(VOCAB).sample(logits, tasks), strict=True):
            assert same(mine, other)
    assert sampler.num_captured == 1


def test_sampling_waits_for_nothing_but_its_results(queue: CudaQueue) -> None:
    sampler = DeviceSampler(VOCAB, queue, max_tasks=8)
    params = SamplingParams(top_p=0.9, top_k=9, logit_bias={3: 1.0}, logprobs=2)
    tasks = [task(0, state_of(params, vocab_size=VOCAB)) for _ in range(4)]
    logits = torch.randn(1, VOCAB, device="cuda")
    sampler.sample(logits, tasks)
    torch.cuda.set_sync_debug_mode("error")
    try:
        launched = sampler.launch(logits, tasks)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(launched.results()) == 4


def test_a_replayed_step_is_the_eager_one(queue: CudaQueue, tiny_model_dir: Path) -> None:
    config = config_of(tiny_model_dir, device="cuda")
    executors = []
    for _ in range(2):
        loaded = load_model(config)
        memory = PoolMemory(loaded, None, "NHD")
        executors.append(TransformersExecutor(loaded, PaddedBackend(queue, 48), memory))
    captured, eager = executors
    captured.capture_decoding(queue, 4)
    assert captured.graphs is not None and captured.graphs.report.sizes == (1, 2, 4)
    for seed, lengths in enumerate([[5], [3, 9], [7, 1, 4], [2, 8, 30, 6], [40]]):
        plan = decode_plan(seed, lengths)
        torch.testing.assert_close(
            captured.execute(plan), eager.execute(plan), atol=1e-4, rtol=1e-4
        )
