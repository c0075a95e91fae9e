"""`InferenceEngine`: `LLM` with the constructor of mini-vLLM."""

from __future__ import annotations

from os import PathLike
from typing import Any

from yaie.api.llm import LLM
from yaie.base.settings import BUILTIN_MODEL


class InferenceEngine(LLM):
    """An `LLM` whose limits have the names `max_num_seqs` and `max_num_tokens`."""

    def __init__(
        self,
        model_path: str | PathLike[str] = BUILTIN_MODEL,
        max_num_seqs: int = 256,
        max_num_tokens: int = 8192,
        device: str = "auto",
        **settings: Any,
    ) -> None:
        """Load a model; see `LLM`.

        `max_num_seqs`: live sequences at a time. `max_num_tokens`: rows of one step.
        """
        super().__init__(
            model_path,
            max_running=max_num_seqs,
            max_step_rows=max_num_tokens,
            device=device,
            **settings,
        )
