"""Loading report: checks that transformers loaded all of the checkpoint's weights.

transformers always returns a model. It initializes missing tensors at random, drops unknown ones,
and reports both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from yaie.base.errors import ModelUnsupported
from yaie.models.files.checkpoint import Checkpoint
from yaie.models.files.ranking_files import HEAD
from yaie.models.quantization.quantized_weights import QuantizedLinear
from yaie.models.quantization.readers import TensorFiles

log = logging.getLogger(__name__)


def check_report(
    report: Mapping[str, Any], model: torch.nn.Module, checkpoint: Checkpoint, path: Path
) -> None:
    """Log unused tensors, and refuse a model that is not the checkpoint's.

    Raises `ModelUnsupported` if a tensor is missing, if its shape contradicts the config, or if it
    is a bias that the config rules out: the outputs would be wrong without it.
    """
    architecture = type(model).__name__
    missing = sorted(report["missing_keys"])
    if missing:
        raise _damage_error(
            f"the weights in {path} lack {len(missing)} tensors of {architecture}, such as "
            f"{missing[0]}"
        )
    mismatched = sorted(report["mismatched_keys"])
    if mismatched:
        name, stored, wanted = mismatched[0]
        raise _damage_error(
            f"the weights in {path} do not fit {architecture} with this config.json: {name} is "
            f"{_shape(stored)}, but the config makes it {_shape(wanted)} ({len(mismatched)} such "
            "tensors)"
        )
    unused = sorted(set(report["unexpected_keys"]) - {HEAD})  # `score_head.py` reads it
    if biases := _biases_left_out(unused, model, checkpoint):
        raise _damage_error(
            f"the weights in {path} hold {biases[0]} ({len(biases)} such tensors), which "
            f"{architecture} with this config.json ignores, so its answers would be wrong; "
            "check that config.json belongs to these weights (some architectures name such "
            "tensors in attention_bias or mlp_bias)"
        )
    if unused:
        log.warning("%d tensors of %s are not used, such as %s", len(unused), path, unused[0])


def _biases_left_out(
    unused: Sequence[str], model: torch.nn.Module, checkpoint: Checkpoint
) -> list[str]:
    """Return non-zero biases whose layers have a weight and no bias in the model.

    Quantization tools write zeros for layers without bias. GPT-2's attention masks, named
    `attn.bias`, are in modules without weights.
    """
    modules = dict(model.named_modules())
    prefix = model.base_model_prefix
    found = []
    with TensorFiles() as files:
        for name in unused:
            module_name, _, last = name.rpartition(".")
            module = modules.get(module_name, modules.get(f"{prefix}.{module_name}"))
            stored = checkpoint.tensors.get(name)
            if last != "bias" or stored is None or not _may_have_bias(module):
                continue
            if bool(files.read(stored).any()):
                found.append(name)
    return found


def _may_have_bias(module: torch.nn.Module | None) -> bool:
    if module is None or module._parameters.get("bias") is not None:
        return False
    return isinstance(module, QuantizedLinear) or hasattr(module, "weight")


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _damage_error(why: str) -> ModelUnsupported:
    return ModelUnsupported(why, code="model_damaged")
