"""Auto backend: chooses between FlashInfer and tree decode in each step, by the cost model."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from yaie.attention.backend import AttentionBackend, CapturableBackend, PreparedStep
from yaie.attention.cost_model import METHODS, DeviceTraits, LayerTraffic, Method
from yaie.attention.measure_traits import measure_traits
from yaie.attention.method_selector import MethodSelector
from yaie.attention.plan import StepPlan
from yaie.attention.spec import AttentionSpec
from yaie.base.errors import ConfigError
from yaie.device.queue import DeviceQueue
from yaie.kvcache.pool import PoolLayout

log = logging.getLogger(__name__)


class AutoBackend:
    """Runs each step by the cheapest method's backend. Implements `ChoosingBackend`.

    Steps with prompt rows are never the tree's.
    """

    def __init__(
        self,
        backends: Mapping[Method, AttentionBackend],
        traits: DeviceTraits | None = None,
        *,
        queue: DeviceQueue | None = None,
    ) -> None:
        """`backends` has one for each method; all read one pool layout.

        Without `traits`, `open_layers` measures the queue's device.
        """
        self._backends = dict(backends)
        self._traits = traits
        self._queue = queue
        self.chooser = MethodSelector({})

    @property
    def name(self) -> str:
        """See `AttentionBackend.name`."""
        return "+".join(dict.fromkeys(each.name for each in self._backends.values()))

    @property
    def kernels(self) -> None:
        """See `AttentionBackend.kernels`."""
        return None

    def pool_layout(self, device: torch.device) -> PoolLayout:
        """See `AttentionBackend.pool_layout`."""
        (layout,) = {each.pool_layout(device) for each in self._backends.values()}
        return layout

    def open_layers(
        self,
        specs: Sequence[AttentionSpec],
        dtype: torch.dtype,
        kv_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """See `AttentionBackend.open_layers`.

        Tree decode is skipped if the device cannot run it.
        """
        for backend in dict.fromkeys(self._backends.values()):
            try:
                backend.open_layers(specs, dtype, kv_dtype, device)
            except ConfigError as error:
                if backend is self._backends["cascade"]:
                    raise
                log.warning("%s computes no attention: %s", backend.name, error.message)
                self._backends = {
                    method: each for method, each in self._backends.items() if each is not backend
                }
        if self._traits is None and self._queue is not None:
            self._traits = measure_traits(self._queue)
        layers = Counter(LayerTraffic.of(spec, kv_dtype.itemsize) for spec in specs)
        self.chooser = MethodSelector(
            layers, self._traits, [each for each in METHODS if each in self._backends]
        )

    def prepare(self, plan: StepPlan, device: torch.device) -> PreparedStep:
        """See `AttentionBackend.prepare`."""
        method = self.chooser.choose(plan) or self.chooser.choose_for_prompts(plan)
        return self._backends[method].prepare(plan, device)

    @property
    def capturable(self) -> Mapping[Method, CapturableBackend]:
        """See `ChoosingBackend.capturable`. Captured rows read by themselves, or as a tree."""
        return {
            method: each
            for method, each in self._backends.items()
            if method != "cascade" and isinstance(each, CapturableBackend)
        }
