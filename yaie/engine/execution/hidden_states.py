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
    step: ScheduledStep, hidden: torch.Tensor, errors: dict[Sequence, YaieError]
) -> list[tuple[PooledPass, NDArray[np.float32]]]:
    """Return each pass's next rows [rows, hidden]; add passes with wrong rows to `errors`.

    `hidden` are the step's hidden rows [rows, hidden], in float32.
    """
    if not step.prompt_states:
        return []
    rows: NDArray[np.float32] = hidden.cpu().numpy()
    found = []
    for states in step.prompt_states:
        own = rows[list(states.hidden_rows)]
        if np.isfinite(own).all():
            found.append((states.sequence, own))
        else:
            errors[states.sequence] = non_finite("the embedding of the prompt")
    return found
