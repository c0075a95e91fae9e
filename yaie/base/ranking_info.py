"""`RankingInfo`: how a model scores a document for a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# The prompt of a query and a document: Qwen3-Reranker's, bge-reranker-v2-gemma's, or the
# tokenizer's own pair.
PairForm = Literal["qwen3", "gemma", "pair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingInfo:
    """A reranker's prompt, and the range of its scores."""

    form: PairForm
    is_probability: bool = True  # a sigmoid puts scores between 0 and 1; False: any number
    generates: bool = False  # True for a model that also writes text
