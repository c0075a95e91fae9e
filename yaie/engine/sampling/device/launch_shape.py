"""Launch shape: the buffer sizes and program stages for one sampling launch.

Sizes are rounded up to few values, so that programs and captured graphs are reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from yaie.base.types import MAX_LOGPROBS
from yaie.device.buckets import bucket_of
from yaie.device.packed import PackedField
from yaie.engine.sampling.device.demand import TaskDemand

_LEAST_CHANGES = 64


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Sizes and stages of a program; equal shapes share one."""

    num_tasks: int
    num_changes: tuple[int, ...]  # tokens that each rule changes; 0: the rule is absent
    num_masks: int
    num_logprobs: int  # tasks with logprobs
    num_top: int  # most likely tokens per row
    is_random: bool  # some task is
    draws_twice: bool
    is_forced: bool
    has_min_p: bool
    has_top_k: bool
    has_top_p: bool

    @classmethod
    def of(cls, demands: Sequence[TaskDemand], num_rules: int, vocab_size: int) -> LaunchShape:
        """Return the shape for a launch's demands."""
        changes = [0] * num_rules
        for demand in demands:
            for place, parts in demand.sparse:
                changes[place] += sum(len(ids) for ids, _ in parts)
        logprobs = [count for each in demands if (count := each.state.params.logprobs) is not None]
        at_random = [each for each in demands if not each.state.params.is_greedy]
        return cls(
            num_tasks=bucket_of(len(demands)),
            num_changes=tuple(map(_room_for, changes)),
            num_masks=_bucket_or_none(sum(each.mask is not None for each in demands)),
            num_logprobs=_bucket_or_none(len(logprobs)),
            num_top=min(MAX_LOGPROBS, vocab_size) if any(logprobs) else 0,
            is_random=bool(at_random),
            draws_twice=any(each.second_uniform is not None for each in at_random),
            is_forced=any(each.forced >= 0 for each in demands),
            has_min_p=any(each.truncates and each.state.params.min_p > 0 for each in at_random),
            has_top_k=any(each.num_kept(vocab_size) < vocab_size for each in at_random),
            has_top_p=any(each.share < 1 for each in at_random),
        )

    @classmethod
    def common(cls, num_tasks: int, num_rules: int, *, is_random: bool) -> LaunchShape:
        """Return the shape for tasks without rules, log-probabilities and truncation."""
        return cls(
            num_tasks=bucket_of(num_tasks),
            num_changes=(0,) * num_rules,
            num_masks=0,
            num_logprobs=0,
            num_top=0,
            is_random=is_random,
            draws_twice=False,
            is_forced=False,
            has_min_p=False,
            has_top_k=False,
            has_top_p=False,
        )

    def with_every_limit(self) -> LaunchShape:
        """Return the shape that random tasks of any truncation share; of greedy ones, this one."""
        if not self.is_random:
            return self
        return replace(self, has_min_p=True, has_top_k=True, has_top_p=True)

    @property
    def changes_logits(self) -> bool:
        """True if rules change logits before the temperature."""
        return bool(self.num_masks) or any(self.num_changes)

    @property
    def truncates(self) -> bool:
        """True if some task drops unlikely tokens."""
        return self.has_min_p or self.has_top_k or self.has_top_p

    def inputs(self, vocab_size: int) -> dict[str, PackedField]:
        """Return the arrays that the host fills."""
        tasks = (self.num_tasks,)
        fields = {"rows": PackedField("int64", tasks)}
        if self.is_random:
            fields["uniforms"] = PackedField("float64", tasks)
            fields["shares"] = PackedField("float64", tasks)
            fields["num_kept"] = PackedField("int64", tasks)
            fields["temperatures"] = PackedField("float32", tasks)
            fields["least"] = PackedField("float32", tasks)
            fields["is_greedy"] = PackedField("bool", tasks)
        if self.draws_twice:
            fields["first_uniforms"] = PackedField("float64", tasks)
            fields["draws_twice"] = PackedField("bool", tasks)
        if self.is_forced:
            fields["forced"] = PackedField("int64", tasks)
        for place, count in enumerate(self.num_changes):
            if count:
                fields[f"places_{place}"] = PackedField("int64", (count,))
                fields[f"numbers_{place}"] = PackedField("float32", (count,))
        if self.num_logprobs:
            fields["logprob_tasks"] = PackedField("int64", (self.num_logprobs,))
        if self.num_masks:
            fields["mask_of"] = PackedField("int64", tasks)
            # Mask 0 allows all.
            fields["masks"] = PackedField("uint8", (self.num_masks + 1, -(-vocab_size // 32) * 4))
        return fields

    def outputs(self) -> dict[str, PackedField]:
        """Return the arrays that come back."""
        tasks, logprobs = (self.num_tasks,), (self.num_logprobs,)
        fields = {
            "tokens": PackedField("int64", tasks),
            "is_finite": PackedField("bool", tasks),
            "is_usable": PackedField("bool", tasks),
        }
        if self.num_logprobs:
            fields["ranks"] = PackedField("int64", logprobs)
            fields["logprobs"] = PackedField("float32", logprobs)
        if self.num_top:
            fields["top_ids"] = PackedField("int64", (*logprobs, self.num_top))
            fields["top_logprobs"] = PackedField("float32", (*logprobs, self.num_top))
        return fields


def _room_for(count: int) -> int:
    """Return a size for `count` changes: a power of 4, as few shapes as possible."""
    if count == 0:
        return 0
    room = _LEAST_CHANGES
    while room < count:
        room *= 4
    return room


def _bucket_or_none(count: int) -> int:
    return bucket_of(count) if count else 0
