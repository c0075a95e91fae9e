"""`Choice`: continuations of one prompt, ranked by model probability.

The prompt and every common prefix of the choices are computed once: the choices are branches in the
radix tree, and each of their tokens is one row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from yaie.base.errors import InvalidRequest
from yaie.base.types import SamplingParams, Usage
from yaie.text.tokenizer import Tokenizer

Edge = tuple[tuple[int, ...], int]  # tokens after the prompt, and the next token


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The most likely of several continuations, and the scores of all, in their order.

    `logprobs` are sums over a choice's tokens in natural logarithms. `probabilities` add up to 1;
    they compare the sums, or the means per token if so requested.
    """

    index: int
    text: str
    choices: tuple[str, ...]
    logprobs: tuple[float, ...]
    num_tokens: tuple[int, ...]
    probabilities: tuple[float, ...]
    usage: Usage  # token counts of the prompt


def encode_choices(choices: Sequence[str], tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Return the tokens of each choice. Raises `InvalidRequest` for an empty list or choice."""
    if isinstance(choices, str) or not choices:
        raise InvalidRequest("choices must be a non-empty list of texts", param="choices")
    found = []
    for index, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise InvalidRequest(
                f"choices[{index}] must be text, got {type(choice).__name__}", param="choices"
            )
        ids = tuple(tokenizer.encode(choice, add_special_tokens=False))
        if not ids:
            raise InvalidRequest(f"choices[{index}] is empty; give it some text", param="choices")
        found.append(ids)
    return found


def edges_of(sequences: Sequence[tuple[int, ...]]) -> list[Edge]:
    """Return the distinct steps from a beginning to its next token, in the order of the choices."""
    return list(
        dict.fromkeys((ids[:place], ids[place]) for ids in sequences for place in range(len(ids)))
    )


def sampling_of_edge(edge: Edge) -> SamplingParams:
    """Return parameters that sample the token of an edge, with its log-probability."""
    return SamplingParams(
        max_tokens=1,
        temperature=0.0,
        allowed_token_ids=(edge[1],),
        logprobs=0,  # under the model's own logits
        ignore_eos=True,
    )


def best_choice(
    choices: Sequence[str],
    sequences: Sequence[tuple[int, ...]],
    logprobs: Mapping[Edge, float],
    usage: Usage,
    *,
    per_token: bool,
) -> Choice:
    """Return the ranking by the log-probabilities of all edges."""
    sums = [
        sum(logprobs[ids[:place], ids[place]] for place in range(len(ids))) for ids in sequences
    ]
    lengths = [len(ids) for ids in sequences]
    scores = [each / length for each, length in zip(sums, lengths, strict=True)]
    scores = scores if per_token else sums
    best = max(range(len(scores)), key=scores.__getitem__)
    weights = [math.exp(score - scores[best]) for score in scores]
    return Choice(
        index=best,
        text=choices[best],
        choices=tuple(choices),
        logprobs=tuple(sums),
        num_tokens=tuple(lengths),
        probabilities=tuple(weight / sum(weights) for weight in weights),
        usage=usage,
    )
