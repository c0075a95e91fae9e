"""Figures of one kind, from an engine in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.quality.material import Material, cut_chunks
from yaie.base.errors import EngineDied, RequestFailed

if TYPE_CHECKING:
    from yaie.api.llm import LLM

NUM_SLOTS = 16_384  # sixteen chunks at once; the others wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Measurements of one kind, before any comparison."""

    losses: list[list[float]]  # by chunk: nats of each token behind the first
    answers: list[list[int]]  # token ids, greedy
    tokens_per_s: float  # of one answer alone, the fastest
    prompt_tokens_per_s: float  # of one prompt alone without cached tokens, the fastest
    bits_per_weight: float
    model: dict[str, Any]


def measure_apart(model: str, settings: dict[str, Any], material: Material) -> Figures:
    """Measure one kind in a fresh process, so that memory and caches of another are gone.

    Raises the engine's `YaieError`s, and `EngineDied` if the process ends.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as process:
        try:
            return process.submit(measure, model, settings, material).result()
        except BrokenProcessPool as error:
            raise EngineDied(
                f"the engine process of {settings or 'plain weights'} ended; "
                "the system's log has the reason, often too little memory"
            ) from error


def measure(model: str, settings: dict[str, Any], material: Material) -> Figures:
    """Load a model and return its figures."""
    from yaie.api.llm import LLM

    with LLM(model, **{"num_slots": NUM_SLOTS, **settings}) as llm:
        info = llm.info
        return Figures(
            losses=text_losses(llm, material),
            answers=greedy_answers(llm, material),
            tokens_per_s=max(speed_alone(llm, material) for _ in range(material.repeats)),
            prompt_tokens_per_s=prompt_speed_alone(llm, material),
            bits_per_weight=8 * info.weight_bytes / info.num_parameters,
            model={
                "name": info.model,
                "architecture": info.architecture,
                "parameters": info.num_parameters,
                "dtype": info.dtype,
                "execution": info.execution,
            },
        )


def text_losses(llm: LLM, material: Material) -> list[list[float]]:
    """Return, by chunk, the negative log-probability of each token behind the first, in nats."""
    from yaie.base.types import SamplingParams

    token_ids = llm.get_tokenizer().encode(material.text, add_special_tokens=False)
    chunks = cut_chunks(token_ids, material.chunks, material.chunk_tokens)
    sampling = SamplingParams(max_tokens=1, temperature=0, prompt_logprobs=0)
    losses = []
    for output in llm.generate(chunks, sampling, progress=False):
        if output.error is not None:
            raise RequestFailed(output.error)
        logprobs = output.prompt_logprobs or ()
        losses.append([-each.logprob for each in logprobs if each is not None])
    return losses


def greedy_answers(llm: LLM, material: Material) -> list[list[int]]:
    """Return the token ids of each conversation's answer at temperature 0, all in one batch."""
    from yaie.base.types import SamplingParams

    sampling = SamplingParams(max_tokens=material.answer_tokens, temperature=0)
    outputs = llm.chat(material.conversations, sampling, progress=False)
    return [list(output.token_ids) for output in outputs]


def speed_alone(llm: LLM, material: Material) -> float:
    """Return tokens a second of one answer alone, from its first token to its last."""
    from yaie.base.types import SamplingParams

    sampling = SamplingParams(max_tokens=material.answer_tokens, temperature=0, ignore_eos=True)
    times: list[float] = []
    counts: list[int] = []
    for piece in llm.stream(material.conversations[0], sampling):
        if piece.token_ids:
            times.append(time.perf_counter())
            counts.append(len(piece.token_ids))
    return sum(counts[1:]) / (times[-1] - times[0]) if len(times) > 1 else 0.0


def prompt_speed_alone(llm: LLM, material: Material) -> float:
    """Return tokens a second of one prompt alone up to its first token, the fastest of several.

    The prompts are parts of the text read backwards, so nothing of them is cached.
    """
    from yaie.base.types import SamplingParams

    token_ids = llm.get_tokenizer().encode(material.text, add_special_tokens=False)
    length = min(material.prompt_tokens, len(token_ids))
    found = 0.0
    for repeat in range(material.repeats + 1):  # the first also warms up
        end = len(token_ids) - repeat * length // 2
        prompt = token_ids[max(0, end - length) : end][::-1]
        if not prompt:
            break
        began = time.perf_counter()
        (output,) = llm.generate([prompt], SamplingParams(max_tokens=1), progress=False)
        elapsed = time.perf_counter() - began
        found = max(found, (len(prompt) - output.usage.cached_tokens) / elapsed)
    return found
