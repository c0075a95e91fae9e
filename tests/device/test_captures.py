"""CUDA captures over a stand-in for torch: their memory, and what a failed one leaves behind."""

from __future__ import annotations

import pytest
import torch

from tests.device.fake_cuda import FakeCuda
from yaie.device.cuda import CudaQueue


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    fake.install(monkeypatch)
    return fake


@pytest.fixture
def queue(cuda: FakeCuda) -> CudaQueue:
    return CudaQueue(torch.device("cuda"))


def test_torch_has_the_private_calls_that_end_a_failed_capture() -> None:
    """Its builds for CPUs have placeholders of them."""
    for name in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        assert hasattr(torch.cuda.memory, name)


def check_state(cuda: FakeCuda, queue: CudaQueue) -> None:
    """Check that eager work and captures are as in a process without a failed capture."""
    cuda.launch("eager")
    assert cuda.eager[-1] == ("default", "eager")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    queue.capture(lambda: cuda.launch("next"))
    assert cuda.graphs[-1].operations == ["next"]
    assert cuda.recording_pools == []
    assert cuda.stream == "default"


def test_the_stand_in_keeps_its_memory_after_an_invalid_capture(cuda: FakeCuda) -> None:
    """As torch does; without that the tests below would show nothing."""
    with cuda.on_stream("capture"):
        graph = cuda.graph()
        graph.capture_begin(cuda.pool_handle())
        with pytest.raises(torch.AcceleratorError):
            torch.cuda.synchronize()
        with pytest.raises(RuntimeError, match="previous error"):
            graph.capture_end()
    with pytest.raises(AssertionError, match="captures_underway"):
        torch.cuda.empty_cache()


def test_a_program_that_waits_leaves_stream_and_memory_as_they_were(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    queue.capture(lambda: cuda.launch("first"))
    first_pool = cuda.graphs[0].pool

    def waits() -> None:
        cuda.launch("before")
        torch.cuda.synchronize()

    with pytest.raises(torch.AcceleratorError, match="not permitted"):
        queue.capture(waits)
    check_state(cuda, queue)
    assert cuda.graphs[1].pool == first_pool != cuda.graphs[2].pool
    assert first_pool is not None and cuda.pool_users[first_pool] == 1  # of the first graph


def test_an_error_of_the_program_alone_reaches_the_caller(cuda: FakeCuda, queue: CudaQueue) -> None:
    def fails() -> None:
        cuda.launch("before")
        raise ValueError("no such layer")

    with pytest.raises(ValueError, match="no such layer"):
        queue.capture(fails)
    check_state(cuda, queue)


def test_a_capture_that_is_invalid_without_an_error_of_the_program_is_an_error(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    def swallows() -> None:
        with pytest.raises(torch.AcceleratorError):
            torch.cuda.synchronize()

    with pytest.raises(RuntimeError, match="previous error"):
        queue.capture(swallows)
    check_state(cuda, queue)


def test_a_capture_that_cannot_begin_is_an_error(
    cuda: FakeCuda, queue: CudaQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(graph: object, pool: tuple[int, int], capture_error_mode: str) -> None:
        cuda.recording_pools.append(pool)
        cuda.pool_users[pool] = 1
        raise torch.AcceleratorError("the driver is too old")

    with monkeypatch.context() as patch:
        patch.setattr("tests.device.fake_cuda.FakeGraph.capture_begin", begin)
        with pytest.raises(torch.AcceleratorError, match="too old"):
            queue.capture(lambda: None)
    check_state(cuda, queue)


def test_captures_share_memory_wait_for_nothing_and_let_other_threads_allocate(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    for _ in range(2):
        queue.capture(lambda: cuda.launch("kernel"))
    assert cuda.num_waits == 0
    assert {graph.pool for graph in cuda.graphs} == {(0, 1)}
    assert {graph.error_mode for graph in cuda.graphs} == {"thread_local"}


def test_the_memory_of_a_capture_is_what_its_program_allocates(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    def program() -> None:
        cuda.reserved_bytes += 40

    assert queue.capture(program).nbytes == 40
