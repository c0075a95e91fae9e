"""Device sampler: chooses the same tokens as the CPU sampler, by one launch and one copy back.

`launch` returns while the device works; `Launched.results` waits for the tokens. In between the
host reads no device value: random numbers come from the host, errors come back as flags.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from yaie.base.errors import InvariantViolated, YaieError
from yaie.base.types import TokenLogprobs
from yaie.device.available_memory import is_out_of_memory, release_unused
from yaie.device.buckets import bucket_of, buckets_up_to
from yaie.device.queue import DeviceQueue, Mark
from yaie.engine.sampling.device.demand import DemandReader, TaskDemand
from yaie.engine.sampling.device.device_truncation import RowTruncation
from yaie.engine.sampling.device.launch_shape import LaunchShape
from yaie.engine.sampling.device.program import EagerRules, SamplingProgram, Scratch
from yaie.engine.sampling.device.truncation_choice import choose_truncation
from yaie.engine.sampling.logit_rules import RULES, LogitRule
from yaie.engine.sampling.logprobs import CHUNK_ELEMENTS
from yaie.engine.sampling.sampling_errors import no_token, non_finite
from yaie.engine.scheduled_step import SampledToken, SampleTask

log = logging.getLogger(__name__)

_MOST_PROGRAMS = 32  # cached, in addition to the programs of `prepare`
_CAPTURED_AFTER = 8  # launches
# Bytes a logit.
_SCRATCH_BYTES = 8  # two copies of the logits, which stay
_EAGER_BYTES = 32  # temporary, for truncation and log-probabilities
_CAPTURED_BYTES = 8  # the scaled logits, and a copy padded to whole blocks


def sampling_bytes(max_tasks: int, vocab_size: int) -> int:
    """Return sampling's peak memory: scratch, and the operations' temporary results.

    An estimate. The programs that `DeviceSampler.prepare` captures share the largest one's memory.
    Those captured later take theirs from what the pool leaves.
    """
    every = _SCRATCH_BYTES + _EAGER_BYTES + _CAPTURED_BYTES
    return every * bucket_of(max_tasks) * vocab_size


class DeviceSampler:
    """One model's sampler on one device. Implements `TokenSampler`."""

    def __init__(
        self,
        vocab_size: int,
        queue: DeviceQueue,
        *,
        max_tasks: int,
        rules: Sequence[LogitRule] = RULES,
        truncation: RowTruncation | None = None,
    ) -> None:
        """Allocate memory for the logits of `max_tasks` tasks at once; larger steps run in chunks.

        `truncation` defaults to the fastest that works on the device.
        """
        self._max_tasks = min(bucket_of(max_tasks), max(1, CHUNK_ELEMENTS // vocab_size))
        self._scratch = Scratch(bucket_of(self._max_tasks), vocab_size, queue.device)
        self._vocab_size = vocab_size
        self._queue = queue
        self._rules = tuple(rules)
        self._truncation = truncation or choose_truncation(queue.device, vocab_size)
        self._reader = DemandReader(self._rules, vocab_size)
        self._idle: dict[LaunchShape, list[SamplingProgram]] = {}  # the shape used last is the last
        self._prepared: set[LaunchShape] = set()
        self.num_captured = 0
        self.num_late_captures = 0

    @property
    def truncation_kernel(self) -> str:
        """See `TokenSampler.truncation_kernel`."""
        return self._truncation.name

    @torch.inference_mode()
    def prepare(self) -> None:
        """See `TokenSampler.prepare`. Captures a greedy and a random program for each size.

        The random one truncates too, if the truncation costs nothing where it is off.
        """
        if not self._queue.can_capture:
            return
        began = time.perf_counter()
        release_unused(self._queue.device)  # captures allocate from a separate pool
        logits = torch.zeros((1, self._vocab_size), device=self._queue.device)
        for num_tasks in reversed(buckets_up_to(self._max_tasks)):
            for is_random in (True, False):
                shape = LaunchShape.common(num_tasks, len(self._rules), is_random=is_random)
                if not self._prepare(self._generalize(shape), logits):
                    return  # smaller ones are captured when they are in frequent use
        log.info(
            "captured %d programs of sampling in %.1f s",
            len(self._prepared),
            time.perf_counter() - began,
        )

    def _prepare(self, shape: LaunchShape, logits: Tensor) -> bool:
        """Run a program once, for its allocations and compilations, and capture it."""
        program = self._take(shape)
        _fill(program, [], self._vocab_size)
        program.inputs.send()
        try:
            program.launch(logits)
            self._queue.mark().wait()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            log.warning("sampling of %d tokens is not captured: %s", shape.num_tasks, error)
            return False
        if not self._capture(program):
            return False
        self._prepared.add(shape)
        self._idle[shape] = [program]
        return True

    @torch.inference_mode()
    def sample(self, logits: Tensor, tasks: Sequence[SampleTask]) -> list[SampledToken | YaieError]:
        """See `TokenSampler.sample`."""
        results: list[SampledToken | YaieError] = []
        for start in range(0, len(tasks), self._max_tasks):
            results += self.launch(logits, tasks[start : start + self._max_tasks]).results()
        return results

    @torch.inference_mode()
    def launch(self, logits: Tensor, tasks: Sequence[SampleTask]) -> Launched:
        """Start to sample from `logits` [rows, vocab] on the device, one token a task.

        Raises `InvariantViolated` if `logits` have the wrong shape.
        """
        if logits.ndim != 2 or logits.shape[1] != self._vocab_size:
            raise InvariantViolated(
                f"logits have shape {tuple(logits.shape)}, expected [rows, {self._vocab_size}]"
            )
        demands, errors = self._reader.read(tasks, len(logits))
        if not demands:
            return Launched(self, len(tasks), errors, [])
        shape = LaunchShape.of(demands, len(self._rules), self._vocab_size)
        program = self._take(self._generalize(shape))
        _fill(program, demands, self._vocab_size)
        program.inputs.send()
        program.launch(logits.float(), self._eager(demands))
        on_way = (program, program.outputs.fetch())
        return Launched(self, len(tasks), errors, demands, on_way=on_way)

    def error_of(self, demand: TaskDemand, *, is_finite: bool) -> YaieError:
        """Return the error for a task without a token."""
        if is_finite:
            return no_token(self._rules, demand.state)
        return non_finite(f"output token {demand.state.num_output}")

    def give_back(self, program: SamplingProgram) -> None:
        """Take back a program for later launches; the longest unused shapes are dropped.

        A program in frequent use is captured: its hundreds of launches become one. That is a late
        capture, for rules or log-probabilities that `prepare` omits. The host records the launches
        and makes a graph of them, a few milliseconds in which the device has no work. It neither
        waits for the device nor frees memory.
        """
        is_due = program.num_launches == _CAPTURED_AFTER and not program.is_captured
        if is_due and self._queue.can_capture:
            self.num_late_captures += self._capture(program)
        programs = self._idle.pop(program.shape, [])
        self._idle[program.shape] = [*programs, program]
        others = [shape for shape in self._idle if shape not in self._prepared]
        if sum(len(self._idle[shape]) for shape in others) > _MOST_PROGRAMS:
            oldest = self._idle[others[0]]
            oldest.pop()
            if not oldest:
                del self._idle[others[0]]

    @torch.inference_mode()
    def _capture(self, program: SamplingProgram) -> bool:
        """Capture a program, if it can be; True if it is captured."""
        try:
            program.capture()
        except Exception as error:
            log.warning("sampling could not be captured and is launched step by step: %s", error)
            return False
        self.num_captured += 1
        return True

    def _generalize(self, shape: LaunchShape) -> LaunchShape:
        """Return the program shape that serves a launch; fewer programs serve more steps."""
        return shape.with_every_limit() if self._truncation.skips_rows else shape

    def _take(self, shape: LaunchShape) -> SamplingProgram:
        programs = self._idle.get(shape)
        if programs:
            return programs.pop()
        return SamplingProgram(self._queue, shape, self._rules, self._scratch, self._truncation)

    def _eager(self, demands: Sequence[TaskDemand]) -> EagerRules | None:
        """Return a function that applies the rules unknown to the program; None without any."""
        rows: dict[int, list[tuple[int, Any]]] = {}
        for i, demand in enumerate(demands):
            for place in demand.others:
                rows.setdefault(place, []).append((i, demand.state))
        if not rows:
            return None

        def apply(own: Tensor, after_temperature: bool) -> None:
            for place in sorted(rows):
                rule = self._rules[place]
                if rule.after_temperature is after_temperature:
                    rule.apply(own, rows[place])

        return apply


class Launched:
    """One launch's tokens, not yet on the host."""

    def __init__(
        self,
        sampler: DeviceSampler,
        num_tasks: int,
        errors: dict[int, YaieError],
        demands: Sequence[TaskDemand],
        *,
        on_way: tuple[SamplingProgram, Mark] | None = None,
    ) -> None:
        self._sampler = sampler
        self._num_tasks = num_tasks
        self._errors = errors
        self._demands = demands
        self._on_way = on_way

    def results(self) -> list[SampledToken | YaieError]:
        """Wait for the tokens; return one result per task, in order. Call it once."""
        results: list[SampledToken | YaieError | None] = [None] * self._num_tasks
        for index, error in self._errors.items():
            results[index] = error
        if self._on_way is not None:
            program, done = self._on_way
            done.wait()
            self._read(program.outputs.read(), results)
            self._sampler.give_back(program)
        return [each for each in results if each is not None]

    def _read(
        self, outputs: dict[str, NDArray[Any]], results: list[SampledToken | YaieError | None]
    ) -> None:
        tokens, is_finite = outputs["tokens"].tolist(), outputs["is_finite"].tolist()
        is_good = (outputs["is_finite"] & outputs["is_usable"]).tolist()
        line = 0
        for i, demand in enumerate(self._demands):
            num_top = demand.state.params.logprobs
            line += num_top is not None
            if not is_good[i]:
                results[demand.index] = self._sampler.error_of(demand, is_finite=is_finite[i])
            elif num_top is None:
                results[demand.index] = SampledToken(tokens[i])
            else:
                logprobs = _logprobs(outputs, line - 1, tokens[i], num_top)
                results[demand.index] = SampledToken(tokens[i], logprobs)


def _logprobs(
    outputs: dict[str, NDArray[Any]], line: int, token_id: int, num_top: int
) -> TokenLogprobs:
    top: tuple[tuple[int, float], ...] = ()
    if num_top:
        ids = outputs["top_ids"][line, :num_top].tolist()
        top = tuple(zip(ids, outputs["top_logprobs"][line, :num_top].tolist(), strict=True))
    return TokenLogprobs(
        token_id=token_id,
        logprob=float(outputs["logprobs"][line]),
        rank=int(outputs["ranks"][line]),
        top=top,
    )


def _fill(program: SamplingProgram, demands: Sequence[TaskDemand], vocab_size: int) -> None:
    """Write the demands into a program's inputs. Unused tasks are greedy, on row 0."""
    shape, inputs = program.shape, program.inputs.fill()
    count = len(demands)
    _put(inputs["rows"], [each.row for each in demands], 0)
    if shape.is_random:
        _put(inputs["uniforms"], [_main_uniform(each) for each in demands], 0.0)
        _put(inputs["temperatures"], [each.temperature for each in demands], 1.0)
        _put(inputs["is_greedy"], [each.state.params.is_greedy for each in demands], True)
        _put(inputs["least"], [each.least_logit for each in demands], -np.inf)
        _put(inputs["num_kept"], [each.num_kept(vocab_size) for each in demands], vocab_size)
        _put(inputs["shares"], [each.share for each in demands], np.inf)
    if shape.draws_twice:
        _put(inputs["first_uniforms"], [each.uniform for each in demands], 0.0)
        _put(inputs["draws_twice"], [each.second_uniform is not None for each in demands], False)
    if shape.is_forced:
        _put(inputs["forced"], [each.forced for each in demands], -1)
    if shape.num_logprobs:
        asking = [i for i in range(count) if demands[i].state.params.logprobs is not None]
        _put(inputs["logprob_tasks"], asking, 0)
    if shape.num_masks:
        _fill_masks(inputs, demands)
    _fill_changes(inputs, demands, shape, program.spare_place, vocab_size)


def _main_uniform(demand: TaskDemand) -> float:
    return demand.uniform if demand.second_uniform is None else demand.second_uniform


def _put(target: NDArray[Any], values: Sequence[Any], filler: Any) -> None:
    target[: len(values)] = values
    target[len(values) :] = filler


def _fill_masks(inputs: dict[str, NDArray[Any]], demands: Sequence[TaskDemand]) -> None:
    masks, mask_of = inputs["masks"], inputs["mask_of"]
    masks[0] = 255
    mask_of[:] = 0
    count = 0
    for i, demand in enumerate(demands):
        if demand.mask is not None:
            count += 1
            masks[count] = demand.mask.view(np.uint8)
            mask_of[i] = count


def _fill_changes(
    inputs: dict[str, NDArray[Any]],
    demands: Sequence[TaskDemand],
    shape: LaunchShape,
    spare_place: int,
    vocab_size: int,
) -> None:
    ends = [0] * len(shape.num_changes)
    for i, demand in enumerate(demands):
        for place, changes in demand.sparse:
            for ids, numbers in changes:
                begin, ends[place] = ends[place], ends[place] + len(ids)
                np.add(ids, i * vocab_size, out=inputs[f"places_{place}"][begin : ends[place]])
                inputs[f"numbers_{place}"][begin : ends[place]] = numbers
    for place, end in enumerate(ends):
        if shape.num_changes[place]:
            inputs[f"places_{place}"][end:] = spare_place
            inputs[f"numbers_{place}"][end:] = 1.0
