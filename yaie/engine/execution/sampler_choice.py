"""The protocol of samplers, and the choice for a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from yaie.base.errors import YaieError
from yaie.device.queue import make_queue
from yaie.engine.execution.executor import Executor
from yaie.engine.sampling.cpu_sampler import Sampler
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.scheduled_step import SampledToken, SampleTask


class TokenSampler(Protocol):
    """The sampler of one model. A seed gives the same tokens with each of them."""

    @property
    def truncation_kernel(self) -> str | None:
        """Name of the device's truncation, as in `EngineInfo.truncation_kernel`."""

    @property
    def num_late_captures(self) -> int:
        """Number of programs that were captured after `prepare`."""

    def prepare(self) -> None:
        """Capture what most requests need, before any caller waits; elsewhere do nothing."""

    def sample(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[SampledToken | YaieError]:
        """Return one result per task, in order, from `logits` [rows, vocab] on the device.

        States are left as they are: the core lets them `observe` the tokens that it accepts. A
        non-finite row or a faulty state gives an error in place of its own tokens only.

        Raises `InvariantViolated` if `logits` have the wrong shape.
        """


def choose_sampler(executor: Executor, *, max_tasks: int, exact: bool) -> TokenSampler:
    """Return the sampler for the device of an executor; it samples `max_tasks` tokens at once."""
    loaded = executor.loaded
    if loaded.device.type == "cpu":
        return Sampler(loaded.vocab_size, exact=exact, kernels=executor.kernels)
    return DeviceSampler(loaded.vocab_size, make_queue(loaded.device), max_tasks=max_tasks)
