"""What transformers says of a loading: every tensor has to have found its place.

It answers with a model whatever happened, and a report. What it could not read it made up, and
what it has no place for it left out. Called by the loader.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from yaie.errors import ModelUnsupported
from yaie.models.checkpoint import Checkpoint
from yaie.models.quantization.reading import TensorFiles

log = logging.getLogger(__name__)


def check_report(
    report: Mapping[str, Any], model: torch.nn.Module, checkpoint: Checkpoint, path: Path
) -> None:
    """Name tensors that are not used.

    Raises `ModelUnsupported` if a tensor lacks, has another shape than the config says, or is a
    bias of a layer to which the config gives none: without it the model would be another.
    """
    architecture = type(model).__name__
    missing = sorted(report["missing_keys"])
    if missing:
        raise _damaged(
            f"the weights in {path} lack {len(missing)} tensors of {architecture}, such as "
            f"{missing[0]}"
        )
    mismatched = sorted(report["mismatched_keys"])
    if mismatched:
        name, stored, wanted = mismatched[0]
        raise _damaged(
            f"the weights in {path} do not fit {architecture} with this config.json: {name} is "
            f"{_shape(stored)}, but the config makes it {_shape(wanted)} ({len(mismatched)} such "
            "tensors)"
        )
    unused = sorted(report["unexpected_keys"])
    if biases := [name for name in unused if _is_bias_left_out(name, model, checkpoint)]:
        raise _damaged(
            f"the weights in {path} hold {biases[0]} ({len(biases)} such tensors), which "
            f"{architecture} with this config.json would leave out, so that its answers were not "
            "the model's: see whether config.json is the one that belongs to these weights (some "
            "architectures name such tensors in attention_bias or mlp_bias)"
        )
    if unused:
        log.warning("%d tensors of %s are not used, such as %s", len(unused), path, unused[0])


def _is_bias_left_out(name: str, model: torch.nn.Module, checkpoint: Checkpoint) -> bool:
    """Whether it is a bias, not all zeros, of a layer of the model that has none.

    Quantizing tools write zeros for layers without. GPT-2's attention masks, called `attn.bias`,
    are of modules without weights.
    """
    module_name, _, last = name.rpartition(".")
    stored = checkpoint.tensors.get(name)
    if last != "bias" or stored is None:
        return False
    modules = dict(model.named_modules())
    module = modules.get(module_name, modules.get(f"{model.base_model_prefix}.{module_name}"))
    if (
        module is None
        or not hasattr(module, "weight")
        or module._parameters.get("bias") is not None
    ):
        return False
    with TensorFiles() as files:
        return bool(files.read(stored).any())


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _damaged(why: str) -> ModelUnsupported:
    return ModelUnsupported(why, code="model_damaged")
