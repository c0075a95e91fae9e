"""Hidden states of prompts, from a step's outputs to the passes that pool them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.base.errors import YaieError
from yaie.engine.request import PooledPass, Sequence
from yaie.engine.sampling.sampling_errors import non_finite
from yaie.engine.scheduled_step import ScheduledStep


def hidden_states(
    step: ScheduledStep,
    hidden: torch.Tensor,
    errors: dict[Sequence, YaieError],
    score_head: NDArray[np.float32] | None = None,
) -> list[tuple[PooledPass, NDArray[np.float32]]]:
    """Return each pass's next rows [rows, hidden]; add passes with wrong rows to `errors`.

    `hidden` are the step's hidden rows [rows, hidden], in float32. A row whose request wants a
    score is multiplied by the `score_head` [hidden] of a reranker: [rows, 1].
    """
    if not step.prompt_states:
        return []
    rows: NDArray[np.float32] = hidden.cpu().numpy()
    found = []
    for states in step.prompt_states:
        own = rows[list(states.hidden_rows)]
        if score_head is not None and states.sequence.request.pooling == "score":
            own = own @ score_head[:, None]
        if np.isfinite(own).all():
            found.append((states.sequence, own))
        else:
            errors[states.sequence] = non_finite("the pooled row of the prompt")
    return found
