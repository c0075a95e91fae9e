"""Index arrays of plans on a device that copies late: none is overwritten too early."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.device.delayed_queue import DelayedQueue
from tests.device.strict import device, on_host
from yaie.attention.flashinfer.staging import Staging


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_each_array_arrives_whatever_the_device_does_meanwhile(data: st.DataObject) -> None:
    device.reset()
    queue = DelayedQueue(hesitate=lambda: data.draw(st.integers(0, 3)))
    staging = Staging(queue)
    kept: list[tuple[np.ndarray, torch.Tensor]] = []
    for step in range(4):
        sizes = data.draw(st.lists(st.integers(0, 3000), min_size=1, max_size=4))
        arrays = [np.full(size, 10 * step + i, dtype=np.int32) for i, size in enumerate(sizes)]
        arrays.append(np.arange(sizes[0], dtype=np.int64))
        for array, staged in zip(arrays, staging.send(arrays), strict=True):
            assert np.array_equal(staged.host.numpy(), array)
            # Work that is launched behind the copy reads it later.
            kept.append((array, staged.device + 0))
    for array, copy in kept:
        assert np.array_equal(on_host(copy).numpy(), array)


def test_a_copy_of_another_buffer_is_waited_for_as_well() -> None:
    """FlashInfer copies a pinned buffer of its own in each plan, and `mark` covers it."""
    queue = DelayedQueue()
    staging = Staging(queue)
    others = queue.host_buffer(4)
    target = torch.empty(4, dtype=torch.uint8, device=queue.device)
    staging.send([np.arange(3, dtype=np.int32)])
    others.fill_(1)
    queue.upload(target, others)
    staging.mark()
    staging.wait()
    others.fill_(2)  # as the next plan does
    assert on_host(target).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("waits", [True, False])
def test_without_the_wait_the_double_shows_the_overwritten_copy(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not waits:
        monkeypatch.setattr(Staging, "wait", lambda self: None)
    staging = Staging(DelayedQueue())
    first = staging.send([np.array([1, 1], dtype=np.int32)])[0].device + 0
    staging.send([np.array([2, 2], dtype=np.int32)])
    assert on_host(first).tolist() == ([1, 1] if waits else [2, 2])
