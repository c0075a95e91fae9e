"""The encoder executor: whole texts in packed batches, without keys and values of earlier steps."""

from __future__ import annotations

import numpy as np
import torch

from yaie.attention.plan import StepPlan
from yaie.base.errors import RequestFailed
from yaie.device.available_memory import is_out_of_memory
from yaie.kvcache.pool import KVPool
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.architecture.row_outputs import RowOutputs
from yaie.models.load.encoder import Encoder


class EncoderExecutor:
    """An encoder. Implements `Executor`, for plans of whole prompts that share no token.

    The hidden row of every token is the vector, or the score, of its text.
    """

    name = "encoder"
    reason = ""
    attention_backend = "sdpa"
    kernels = None
    graphs = None
    attention_choice = None
    attention_traits = None
    adapted = None

    def __init__(self, encoder: Encoder, loaded: LoadedModel) -> None:
        self.loaded = loaded
        self.pool = KVPool((), loaded.num_slots, loaded.dtype, loaded.device)
        self._encoder = encoder

    def execute(self, plan: StepPlan) -> torch.Tensor:
        """See `Executor.execute`."""
        return self.compute(plan).logits

    def compute(self, plan: StepPlan) -> RowOutputs:
        """See `Executor.compute`; there are no logits."""
        starts = np.flatnonzero(plan.positions == 0)  # the rows of a text are in order
        lengths = np.diff([*starts, plan.num_rows])
        try:
            texts = self._encoder.encode(plan.token_ids, lengths.tolist())
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            # A step of fewer rows would not do: fewer texts may.
            raise RequestFailed(f"a step of {len(starts)} texts ran out of memory") from None
        text_of_row = np.repeat(np.arange(len(starts)), lengths)
        hidden = texts[torch.from_numpy(text_of_row[plan.hidden_rows]).to(texts.device)]
        return RowOutputs(texts.new_empty((0, self.loaded.vocab_size)), hidden)

    def use_idle_moment(self) -> bool:
        """See `Executor.use_idle_moment`."""
        return False
