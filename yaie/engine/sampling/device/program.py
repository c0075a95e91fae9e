"""Sampling program: a fixed sequence of torch operations on buffers of one shape.

It never waits for the device and its addresses never change, so it can be captured. Rules that
define only `apply` run eagerly between its two halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from yaie.device.packed import Download, Upload
from yaie.device.queue import DeviceQueue, Graph
from yaie.engine.sampling.device.device_truncation import Limits, RowTruncation
from yaie.engine.sampling.device.launch_shape import LaunchShape
from yaie.engine.sampling.inverse_cdf import inverse_cdf
from yaie.engine.sampling.logit_rules import LogitRule, SparseRule

_LAST_ID = 2**31 - 1

EagerRules = Callable[[Tensor, bool], None]  # logits [tasks, vocab]; True: after the temperature


class Scratch:
    """Logits memory that a sampler's programs share: they run one after the other."""

    def __init__(self, max_tasks: int, vocab_size: int, device: torch.device) -> None:
        self.vocab_size = vocab_size
        # The model's own logits of each task, and a copy that rules change. Unused changes of the
        # program write to a spare row of the copy.
        shape = (max_tasks, vocab_size)
        self.raw = torch.zeros(shape, dtype=torch.float32, device=device)
        self.own = torch.zeros((max_tasks + 1, vocab_size), dtype=torch.float32, device=device)


class SamplingProgram:
    """Buffers in one shape and the operations on them. One launch at a time."""

    def __init__(
        self,
        queue: DeviceQueue,
        shape: LaunchShape,
        rules: Sequence[LogitRule],
        scratch: Scratch,
        truncation: RowTruncation,
    ) -> None:
        vocab_size = scratch.vocab_size
        self.shape = shape
        self.inputs = Upload(queue, shape.inputs(vocab_size))
        self.outputs = Download(queue, shape.outputs())
        self._queue = queue
        self._truncation = truncation
        self._vocab_size = vocab_size
        self._sparse = [
            (place, rule)
            for place, rule in enumerate(rules)
            if shape.num_changes[place] and isinstance(rule, SparseRule)
        ]
        self._raw = scratch.raw[: shape.num_tasks]
        self._own = scratch.own[: shape.num_tasks + 1]  # the last row is spare
        self._graph: Graph | None = None
        self.num_launches = 0

    @property
    def is_captured(self) -> bool:
        """True if launches without eager rules replay a graph."""
        return self._graph is not None

    @property
    def spare_place(self) -> int:
        """The index of the spare row in the flattened copy."""
        return self.shape.num_tasks * self._vocab_size

    def launch(self, logits: Tensor, eager: EagerRules | None = None) -> None:
        """Sample from `logits` [rows, vocab] with the sent inputs, and fetch the outputs."""
        self.num_launches += 1
        torch.index_select(logits, 0, self.inputs.device["rows"], out=self._raw)
        if eager is not None:
            self._run(eager)
        elif self._graph is not None:
            self._graph.replay()
        else:
            self._run(None)

    def capture(self) -> Graph:
        """Capture the operations; later launches without eager rules replay them."""
        self._graph = self._queue.capture(lambda: self._run(None))
        return self._graph

    def _run(self, eager: EagerRules | None) -> None:
        shape, inputs, outputs = self.shape, self.inputs.device, self.outputs.device
        raw_best, tokens = self._raw.max(dim=-1)
        outputs["is_finite"].copy_(raw_best.isfinite())
        own, best = self._raw, raw_best
        if shape.changes_logits or eager is not None:
            own = self._apply_rules(eager)
            best, tokens = own.max(dim=-1)
        usable = best.isfinite()
        if shape.is_random:
            tokens = self._draw(own, best, tokens, raw_best, eager)
        if shape.is_forced:
            is_forced = inputs["forced"] >= 0
            tokens = torch.where(is_forced, inputs["forced"], tokens)
            usable = usable | is_forced
        outputs["tokens"].copy_(tokens)
        outputs["is_usable"].copy_(usable)
        if shape.num_logprobs:
            self._add_logprobs(tokens)

    def _apply_rules(self, eager: EagerRules | None) -> Tensor:
        """Return a copy of the logits [tasks, vocab] under the rules before the temperature."""
        shape, inputs = self.shape, self.inputs.device
        own = self._own[: shape.num_tasks]
        own.copy_(self._raw)
        if shape.num_masks:
            own.masked_fill_(~self._unpack_masks(), -math.inf)
        flat = self._own.view(-1)
        for place, rule in self._sparse:
            places = inputs[f"places_{place}"]
            changed = rule.combine(flat[places], inputs[f"numbers_{place}"])
            flat.index_copy_(0, places, changed)
        if eager is not None:
            eager(own, False)
        return own

    def _unpack_masks(self) -> Tensor:
        """Return the masks of all tasks [tasks, vocab]."""
        masks = self.inputs.device["masks"][self.inputs.device["mask_of"]]
        shifts = torch.arange(8, dtype=torch.uint8, device=masks.device)
        bits = (masks[:, :, None] >> shifts) & 1
        return bits.flatten(1)[:, : self._vocab_size].bool()

    def _draw(
        self,
        own: Tensor,
        best: Tensor,
        greedy: Tensor,
        raw_best: Tensor,
        eager: EagerRules | None,
    ) -> Tensor:
        """Return the tokens [tasks]: random ones, and `greedy` for greedy tasks."""
        shape, inputs = self.shape, self.inputs.device
        temperatures = inputs["temperatures"][:, None]
        # Subtract the maximum first: then no temperature overflows, and the largest weight is 1.
        scaled = (own - best[:, None]).div_(temperatures)
        if shape.truncates:
            # The copy that rules changed has served.
            self._truncation.truncate(scaled, self._own[: shape.num_tasks], self._limits())
        if eager is not None:
            eager(scaled, True)
        tokens = inverse_cdf(scaled.exp_(), inputs["uniforms"])
        if shape.draws_twice:
            scaled = (self._raw - raw_best[:, None]).div_(temperatures)
            first = inverse_cdf(scaled.exp_(), inputs["first_uniforms"])
            accepted = inputs["draws_twice"] & self._allows(first)
            tokens = torch.where(accepted, first, tokens)
        return torch.where(inputs["is_greedy"], greedy, tokens)

    def _limits(self) -> Limits:
        shape, inputs = self.shape, self.inputs.device
        return Limits(
            inputs["least"],
            inputs["num_kept"],
            inputs["shares"],
            has_min_p=shape.has_min_p,
            has_top_k=shape.has_top_k,
            has_top_p=shape.has_top_p,
        )

    def _allows(self, tokens: Tensor) -> Tensor:
        """Return True for each task [tasks] if its mask has the bit of its token."""
        masks = self.inputs.device["masks"][self.inputs.device["mask_of"]]
        byte = masks.gather(1, (tokens // 8)[:, None]).squeeze(1)
        bit = (byte >> (tokens % 8).to(torch.uint8)) & 1
        return bit.bool()

    def _add_logprobs(self, tokens: Tensor) -> None:
        """Write log-probabilities of the requested tasks, under the model's own logits."""
        shape, outputs = self.shape, self.outputs.device
        tasks = self.inputs.device["logprob_tasks"]
        logits, chosen = self._raw[tasks], tokens[tasks][:, None]
        normaliser = logits.logsumexp(dim=-1, keepdim=True)
        value = logits.gather(1, chosen)
        ids = torch.arange(self._vocab_size, device=logits.device)
        above = (logits > value) | ((logits == value) & (ids < chosen))
        outputs["ranks"].copy_(above.sum(dim=-1) + 1)
        outputs["logprobs"].copy_((value - normaliser).squeeze(1))
        if shape.num_top:
            top = _top_ids(logits, shape.num_top)
            outputs["top_ids"].copy_(top)
            outputs["top_logprobs"].copy_(logits.gather(1, top) - normaliser)


def _top_ids(logits: Tensor, count: int) -> Tensor:
    """Return the ids of the `count` largest logits of each row, lower ids first among equals.

    topk orders equal values arbitrarily. Keys of both, logit and id, have no equals.
    """
    bits = (logits + 0.0).view(torch.int32)  # without negative zeros
    ordered = bits ^ ((bits >> 31) & _LAST_ID)  # integers in the order of the floats
    ids = torch.arange(logits.shape[1], device=logits.device)
    keys = (ordered.long() << 32) | (_LAST_ID - ids)
    return _LAST_ID - (keys.topk(count, dim=-1).values & _LAST_ID)
