"""The device double itself: what it computes, what it refuses, and the mistakes that it catches."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from tests.device.delayed_queue import DelayedQueue
from tests.device.strict import NAME, DeviceTensor, Refused, device, on_host, to_device
from yaie.device.packed import Download, PackedField, Upload


def test_torchs_private_interface_is_as_the_double_expects() -> None:
    """Everything that the double uses of it, in a few lines: a new torch breaks here first."""
    x = to_device(torch.ones(2, 3))
    assert x.device == torch.device(NAME)
    for made in (torch.empty(3, device=NAME), torch.zeros(3, device=NAME), x.new_ones(2), x + 1):
        assert isinstance(made, DeviceTensor)
    assert on_host(torch.arange(2, 8, 2, device=NAME)).tolist() == [2, 4, 6]
    with torch.inference_mode():
        assert isinstance(x[1:], DeviceTensor)
        assert x[1:].data_ptr() == x.data_ptr() + 12
        assert on_host(x.view(torch.int32)).dtype is torch.int32


def test_other_tests_of_the_process_see_no_accelerator() -> None:
    assert not torch.accelerator.is_available()
    with torch.random.fork_rng():
        torch.manual_seed(1)


COMPUTED = {
    "matmul": lambda x, i: x @ x.T,
    "gather": lambda x, i: x[i] + x.gather(1, i[:, None]),
    "scatter": lambda x, i: x.clone().index_put_((i,), -x[i.flip(0)]),
    "views": lambda x, i: x[1:3, ::2].T.chunk(2, -1)[1].contiguous(),
    "sdpa": lambda x, i: F.scaled_dot_product_attention(*[x.view(1, 1, 4, 8)] * 3),
    "embedding": lambda x, i: F.embedding(i, x),
    "norm": lambda x, i: F.rms_norm(x, (8,)),
    "order": lambda x, i: x.topk(3).values + x.sort(-1).values[:, :3],
    "maximum": lambda x, i: x.max(-1).indices,
    "masks": lambda x, i: torch.where(x > 0, x, -1.0).masked_fill_(x > 1, 2.0),
    "sums": lambda x, i: x.cumsum(-1, dtype=torch.float64) + x.logsumexp(-1)[:, None],
    "made": lambda x, i: (
        x + torch.full((8,), 2.0, device=x.device) + torch.arange(8, device=x.device)
    ),
    "assigned": lambda x, i: x.clone().__setitem__((1, 2), 0.0) or x,
}


@pytest.mark.parametrize("name", COMPUTED)
def test_it_computes_as_a_cpu_does_without_a_wait(name: str) -> None:
    x, i = torch.randn(4, 8), torch.tensor([2, 0, 3, 1])
    with torch.inference_mode(), device.forbid_waits():
        launched = COMPUTED[name](to_device(x), to_device(i))
    torch.testing.assert_close(on_host(launched), COMPUTED[name](x, i))


REFUSED = {
    "item": lambda x, i: x.sum().item(),
    "float": lambda x, i: float(x[0, 0]),
    "bool": lambda x, i: bool(i.sum() == 0),
    "if": lambda x, i: 1 if (i > 0).any() else 0,
    "tolist": lambda x, i: x.tolist(),
    "cpu": lambda x, i: x.cpu(),
    "to cpu": lambda x, i: x.to("cpu", torch.float64),
    "nonzero": lambda x, i: i.nonzero(),
    "boolean index": lambda x, i: x[i > 0],
    "boolean assignment": lambda x, i: x.__setitem__(i > 0, 0.0),
    "masked_select": lambda x, i: x.masked_select(x > 0),
    "unique": lambda x, i: i.unique(),
    "repeats": lambda x, i: x.repeat_interleave(i, 0),
    "equal": lambda x, i: torch.equal(x, x),
    "mixed": lambda x, i: x + torch.ones(4, 8),
    "host index": lambda x, i: x[torch.zeros(3, dtype=torch.int64)],
    "list index": lambda x, i: x[[0, 2]],
    "new tensor": lambda x, i: torch.tensor([1, 2], device=NAME),
    "upload": lambda x, i: torch.ones(3).to(NAME),
    "copy from host": lambda x, i: x.copy_(torch.ones(4, 8)),
    "copy to host": lambda x, i: torch.ones(4, 8).copy_(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_waits_for_the_device(name: str) -> None:
    x, i = to_device(torch.randn(4, 8)), to_device(torch.tensor([2, 0, 3, 1]))
    with torch.inference_mode():
        with device.forbid_waits(), pytest.raises(Refused):
            REFUSED[name](x, i)
        with device.capture(), pytest.raises(Refused):
            REFUSED[name](x, i)


def test_waits_elsewhere_see_everything_launched_before() -> None:
    x = to_device(torch.ones(3))
    assert (x + 1).sum().item() == 6
    assert (x * 2).cpu().tolist() == (x * 2).tolist() == [2, 2, 2]
    assert x[x > 0].shape == (3,)


def program(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_((x @ y + x.new_ones(1)).relu())


def test_a_capture_runs_nothing_and_its_replay_reads_the_inputs_of_the_moment() -> None:
    x, y, out = (to_device(torch.randn(3, 3)) for _ in range(3))
    queue = DelayedQueue()
    before = on_host(out)
    graph = queue.capture(lambda: program(x, y, out))
    assert torch.equal(on_host(out), before)
    for seed in range(3):
        values = torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))
        x.copy_(values)
        graph.replay()
        expected = torch.empty(3, 3)
        program(values, on_host(y), expected)
        assert torch.equal(on_host(out), expected)


def test_a_python_value_baked_into_a_graph_shows_twice() -> None:
    """In the results of a replay, and in the signatures of two captures."""
    length = 1

    def wrong() -> None:
        out.copy_(torch.where(torch.arange(3, device=NAME) < length, x, 0.0))

    x, out = to_device(torch.ones(3)), to_device(torch.zeros(3))
    queue = DelayedQueue()
    first = queue.capture(wrong)
    length = 2
    first.replay()
    replayed = on_host(out)
    wrong()
    assert not torch.equal(on_host(out), replayed)
    assert queue.capture(wrong).recording.signature() != first.recording.signature()
    length = 1
    assert queue.capture(wrong).recording.signature() == first.recording.signature()


def test_a_graph_over_freed_memory_is_refused() -> None:
    x, y, out = (to_device(torch.randn(3, 3)) for _ in range(3))
    first = DelayedQueue().capture(lambda: program(x, y, out))
    first.replay()
    y = to_device(torch.randn(3, 3))  # a new tensor in place of the captured one
    with pytest.raises(Refused, match="freed"):
        first.replay()
    assert DelayedQueue().capture(lambda: program(x, y, out)).recording.signature() != (
        first.recording.signature()
    )


def test_copies_inside_a_capture_are_refused() -> None:
    x, queue = to_device(torch.zeros(4, dtype=torch.uint8)), DelayedQueue()
    buffer = queue.host_buffer(4)
    for copy in (lambda: queue.upload(x, buffer), lambda: queue.download(buffer, x)):
        with pytest.raises(Refused, match="capture"):
            queue.capture(copy)


FIELDS = {"numbers": PackedField("int64", (3,)), "shares": PackedField("float64", (3,))}


def test_host_memory_read_before_its_mark_is_garbage() -> None:
    queue = DelayedQueue()
    down = Download(queue, FIELDS)
    down.device["numbers"].fill_(7)
    done = down.fetch()
    assert down.read()["numbers"].tolist() != [7, 7, 7]
    done.wait()
    assert down.read()["numbers"].tolist() == [7, 7, 7]


def test_host_memory_written_before_its_copy_ran_changes_the_copy() -> None:
    queue = DelayedQueue()
    up = Upload(queue, FIELDS)
    host = up.fill()
    host["numbers"][:] = 1
    up.send()
    doubled = up.device["numbers"] * 2
    host["numbers"][:] = 5  # not through `fill`, which waits
    assert on_host(doubled).tolist() == [10, 10, 10]


@given(st.data())
def test_packed_copies_are_right_under_every_interleaving(data: st.DataObject) -> None:
    queue = DelayedQueue(hesitate=lambda: data.draw(st.integers(0, 3)))
    up, down = Upload(queue, FIELDS), Download(queue, FIELDS)
    for step in range(1, 5):
        host = up.fill()
        host["numbers"][:] = (0, step, 2 * step)
        host["shares"][:] = 1 / step
        with device.forbid_waits():
            up.send()
            down.device["numbers"].copy_(up.device["numbers"] + step)
            down.device["shares"].copy_(up.device["shares"] * 2)
            done = down.fetch()
        if data.draw(st.booleans()):
            up.fill()["numbers"][:] = -1  # the next step is prepared early
        done.wait()
        assert down.read()["numbers"].tolist() == [step, 2 * step, 3 * step]
        assert down.read()["shares"].tolist() == [2 / step] * 3
