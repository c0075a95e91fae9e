"""Layers behind a model's last one, which predict several tokens ahead. Torch-free.

GLM-4.5, DeepSeek V3 and others publish them for speculative decoding; transformers leaves them out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from yaie.models.files.checkpoint import DTYPES, ELEMENT_BYTES, Checkpoint

log = logging.getLogger(__name__)

_LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.(\d+)\.")


def without_layers_beyond(config: Mapping[str, Any], checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint without layers behind the last one of the config, in its sizes too."""
    count = config.get("num_hidden_layers")
    if not isinstance(count, int):
        return checkpoint
    own = {name: each for name, each in checkpoint.tensors.items() if _index_of(name) < count}
    behind = [each for name, each in checkpoint.tensors.items() if name not in own]
    if not behind:
        return checkpoint
    log.info("%d tensors behind the last of %d layers are unused", len(behind), count)
    sizes = [(each.kind, prod(each.shape)) for each in behind]
    return replace(
        checkpoint,
        tensors=own,
        num_parameters=checkpoint.num_parameters
        - sum(size for kind, size in sizes if kind in DTYPES),
        nbytes=checkpoint.nbytes - sum(size * ELEMENT_BYTES[kind] for kind, size in sizes),
    )


def _index_of(name: str) -> int:
    """Return the index of a tensor's decoder layer; -1 outside of them."""
    found = _LAYER.search(name)
    return int(found[1]) if found else -1
