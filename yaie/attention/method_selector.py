"""Method selector: chooses the attention method for each decode step, by the cost model.

Pure, torch-free.

A captured step saves the launches of all layers. So a captured method serves a step unless an
uncaptured method is estimated to save more than these launches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from yaie.attention.cost_model import (
    METHODS,
    DeviceTraits,
    LayerTraffic,
    Method,
    MethodChoice,
    choose_attention,
    choose_for_prompts,
)
from yaie.attention.plan import StepPlan


class MethodSelector:
    """The choices for one model: `rank` if steps are captured, then `choose` if none served."""

    def __init__(
        self,
        layers: Mapping[LayerTraffic, int],
        device: DeviceTraits | None = None,
        available: Sequence[Method] = METHODS,
    ) -> None:
        """layers: the number of layers per type; available: methods of uncaptured steps."""
        self._layers = layers
        self.device = device or DeviceTraits()
        self._available = available
        self._known: tuple[StepPlan, MethodChoice] | None = None  # the latest plan and its choice
        self.choice: MethodChoice | None = None  # for the running step; None if it has prompt rows

    def choose(self, plan: StepPlan) -> Method | None:
        """Return the cheapest method for a decode step; None for a step with prompt rows."""
        self.choice = self._estimate(plan) if is_decode(plan) else None
        return self.choice.method if self.choice is not None else None

    def choose_for_prompts(self, plan: StepPlan) -> Method:
        """Return the method for a step with prompt rows: a cascade if sharing pays, else decode."""
        if "decode" not in self._available:
            return "cascade"
        return choose_for_prompts(plan, self._layers, self.device)

    def rank(self, plan: StepPlan, captured: Collection[Method]) -> list[Method]:
        """Return captured methods in which a decode step is faster than uncaptured."""
        best = self._estimate(plan)
        saved = self.device.uncaptured_layer_s * sum(self._layers.values())
        bound = best.estimate.seconds + saved
        seconds = {
            method: best.estimates[method].seconds
            for method in captured
            if best.estimates[method].seconds <= bound
        }
        return sorted(seconds, key=lambda method: seconds[method])

    def take(self, plan: StepPlan, method: Method) -> None:
        """Note the captured method that serves a step."""
        self.choice = MethodChoice(method, self._estimate(plan).estimates)

    def _estimate(self, plan: StepPlan) -> MethodChoice:
        if self._known is None or self._known[0] is not plan:
            choice = choose_attention(plan, self._layers, self.device, available=self._available)
            self._known = plan, choice
        return self._known[1]


def is_decode(plan: StepPlan) -> bool:
    """Return True if every row yields logits and nothing else, as in a decode step."""
    return 0 < plan.num_rows == len(plan.logit_rows) and not len(plan.hidden_rows)
