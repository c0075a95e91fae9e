"""`EmbeddingInfo`: how a model makes one vector of a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# Of the hidden rows of a text's tokens: the last row, the mean, or a reranker's score by the last.
Pooling = Literal["last", "mean", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingInfo:
    """A model's pooling, and the prompts that its authors put before texts."""

    pooling: Pooling
    normalizes: bool  # vectors have length 1
    size: int  # numbers in a vector
    generates: bool  # True for a model that also writes text
    prompts: dict[str, str] = field(default_factory=dict)  # text before each text, by its name
    default_prompt: str | None = None  # name of the prompt for texts without one
