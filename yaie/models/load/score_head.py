"""Score head: the weights by which a reranker makes a score of a hidden row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from yaie.base.embedding_info import Pooling
from yaie.models.files.checkpoint import StoredTensor, read_checkpoint, read_config
from yaie.models.files.encoder_classes import find_encoder
from yaie.models.files.ranking_files import find_head, read_ranking
from yaie.models.quantization.readers import TensorFiles


def read_score_head(folder: Path, wanted: Pooling | None = None) -> NDArray[np.float32] | None:
    """Return the weights [hidden] of a folder's score; None for a model that is no reranker.

    The logit of a token is the product of the last hidden row and the token's row of the output
    head, and a difference of two logits the product with the difference of their rows.

    Raises `ModelUnsupported` for a head of several labels, and for a quantized head.
    """
    config = read_config(folder)
    ranking = read_ranking(folder, config, wanted)
    if ranking is None or find_encoder(config) is not None:  # an encoder's executor scores
        return None
    checkpoint = read_checkpoint(folder)
    head = find_head(folder, checkpoint, ranking)
    with TensorFiles() as files:
        if ranking.yes is None:
            return _row(files, head, 0)
        yes = _row(files, head, ranking.yes)
        return yes if ranking.no is None else yes - _row(files, head, ranking.no)


def _row(files: TensorFiles, tensor: StoredTensor, index: int) -> NDArray[np.float32]:
    row = files.read(replace(tensor, first_row=index, num_rows=1))
    found: NDArray[np.float32] = row[0].to(torch.float32).numpy()
    return found
