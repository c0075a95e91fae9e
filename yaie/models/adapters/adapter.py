"""`Adapter`: the low-rank layers of one LoRA adapter, read from PEFT's safetensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from yaie.base.adapter_info import AdapterInfo
from yaie.base.errors import ModelUnsupported
from yaie.models.adapters.adapter_files import read_files
from yaie.models.adapters.adapter_folders import WEIGHTS, read_layers
from yaie.models.adapters.peft_config import MAX_RANK, PeftConfig, make_peft_config
from yaie.models.files.checkpoint import ADAPTER_CONFIG

_PREFIX = "base_model.model."
_PARTS = {"lora_A": 0, "lora_B": 1}
_NOT_LINEAR = {
    "lora_embedding_A": "an embedding",
    "lora_embedding_B": "an embedding",
    "lora_magnitude_vector": "DoRA's magnitudes",
}
# Beginnings of a layer's name in the file and in the model: wrappers, and models without a head.
_RENAMED = (
    ("", ""),
    ("model.language_model.", "model."),
    ("language_model.", ""),
    ("language_model.", "model."),
    ("", "model."),
)
_FORMS = (torch.float32, torch.bfloat16, torch.float16)

Shapes = Mapping[str, tuple[int, int]]  # (inputs, outputs) of the layers that can be adapted


@dataclass(frozen=True, slots=True)
class LowRank:
    """Product that an adapter adds to a linear layer's outputs: (x down^T) up^T."""

    down: torch.Tensor  # [rank, inputs]
    up: torch.Tensor  # [outputs, rank], scaled

    @property
    def rank(self) -> int:
        """Number of rows in between."""
        return len(self.down)

    def product(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [..., inputs] to [..., outputs], in the dtype of the weights."""
        linear = torch.nn.functional.linear
        return linear(linear(x.to(self.down.dtype), self.down), self.up)


@dataclass(frozen=True, slots=True)
class Adapter:
    """A loaded adapter."""

    info: AdapterInfo
    number: int  # above 0, made of the digest; names it in plans and namespaces
    layers: dict[str, LowRank]  # by module name in the model


class Adapted(Protocol):
    """Layers of a model that take adapters. The engine calls it on one thread."""

    @property
    def shapes(self) -> Shapes:
        """Inputs and outputs of each layer that an adapter may change, by its name."""

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the adapters' weights."""

    @property
    def device(self) -> torch.device:
        """The device of the adapters' weights."""

    def add(self, adapter: Adapter) -> None:
        """Compute the rows of plans that have the adapter's number with it from now on."""

    def remove(self, number: int) -> None:
        """Forget an adapter, of which no further plan has rows."""


def read_adapter(name: str, folder: Path, adapted: Adapted) -> Adapter:
    """Read an adapter for the layers that will take it.

    Raises `ModelUnsupported`: for damaged files, for parts that are not computed, and for an
    adapter of another model. Raises `NotEnoughMemory`.
    """
    files = read_files(name, folder, adapted.dtype, adapted.device)
    config = make_peft_config(folder / ADAPTER_CONFIG, files.config)
    layers: dict[str, LowRank] = {}
    shapes = adapted.shapes
    for stored, pair in _pair_up(name, folder / WEIGHTS, files.tensors).items():
        layer = name_in_model(stored, shapes)
        if layer is None:
            raise ModelUnsupported(_no_such_layer(name, stored, config))
        what = f"the adapter {name!r} has {layer}"
        if layer in layers:
            raise ModelUnsupported(f"{what} twice, once as {stored}; copy the adapter again")
        down, up = _check_pair(what, pair, shapes[layer])
        up = up.float() * config.scale_of(layer, len(down))
        layers[layer] = LowRank(
            down.to(adapted.device, adapted.dtype).contiguous(),
            up.to(adapted.device, adapted.dtype).contiguous(),
        )
        if not all(bool(part.isfinite().all()) for part in (layers[layer].down, layers[layer].up)):
            raise ModelUnsupported(
                f"{what} with weights that are not finite in {str(adapted.dtype).split('.')[-1]}, "
                f"scaled by lora_alpha; train or copy the adapter again",
                code="model_damaged",
            )
    info = AdapterInfo(
        name=name,
        path=str(folder),
        digest=files.digest,
        rank=max(each.rank for each in layers.values()),
        num_layers=len(layers),
        nbytes=sum(each.down.nbytes + each.up.nbytes for each in layers.values()),
    )
    return Adapter(info, number_of(files.digest), layers)


def number_of(digest: str) -> int:
    """Return a digest's first 62 bits, above 0."""
    return int(digest[:16], 16) >> 2 | 1


def _pair_up(
    name: str, path: Path, tensors: Mapping[str, torch.Tensor]
) -> dict[str, list[torch.Tensor | None]]:
    """Return the two tensors of each layer, by the layer's name in the file."""
    pairs: dict[str, list[torch.Tensor | None]] = defaultdict(lambda: [None, None])
    for key, tensor in tensors.items():
        parts = key.removeprefix(_PREFIX).split(".")
        kind = next((part for part in parts if part in _PARTS or part in _NOT_LINEAR), None)
        if kind in _NOT_LINEAR:
            raise ModelUnsupported(
                f"the adapter {name!r} changes {_NOT_LINEAR[kind]} ({key}), which is not computed; "
                "merge the adapter into its base model"
            )
        if kind is None or parts[-1] != "weight":
            raise ModelUnsupported(
                f"the adapter {name!r} has {key}, which is no weight of a low-rank layer; merge "
                "the adapter into its base model"
            )
        pairs[".".join(parts[: parts.index(kind)])][_PARTS[kind]] = tensor
    if not pairs:
        raise ModelUnsupported(f"{path} has no tensors; copy the adapter again")
    return pairs


def missing_layers(lora: str, names: Collection[str]) -> list[str]:
    """Return the layers that adapters of the setting `lora` change, and that `names` lack.

    They have their names in the files. Raises `ConfigError`.
    """
    stored = (layer.removeprefix(_PREFIX) for layer in read_layers(lora))
    return [each for each in stored if name_in_model(each, names) is None]


def name_in_model(stored: str, names: Collection[str]) -> str | None:
    """Return the module that a layer of the file means; None if the model has none."""
    for old, new in _RENAMED:
        if stored.startswith(old) and (name := new + stored.removeprefix(old)) in names:
            return name
    return None


def _no_such_layer(name: str, stored: str, config: PeftConfig) -> str:
    whose = f", made for {config.base_model}," if config.base_model else ""
    return (
        f"the adapter {name!r}{whose} changes {stored}, which this model does not have as a linear "
        "layer inside its decoder layers; serve it with its own base model, or merge it"
    )


def _check_pair(
    what: str, pair: list[torch.Tensor | None], shape: tuple[int, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a layer's two tensors. Raises `ModelUnsupported`, beginning with `what`."""
    down, up = pair
    inputs, outputs = shape
    if down is None or up is None:
        missing = "lora_A" if down is None else "lora_B"
        raise ModelUnsupported(f"{what} without {missing}; copy the adapter again")
    if down.dtype not in _FORMS or up.dtype not in _FORMS:
        raise ModelUnsupported(f"{what} in {down.dtype}; save it in float32 or bfloat16")
    rank = len(down) if down.dim() == 2 else 0
    if down.shape != (rank, inputs) or up.shape != (outputs, rank):
        raise ModelUnsupported(
            f"{what} of shapes {list(down.shape)} and {list(up.shape)}, but this model's layer has "
            f"{inputs} inputs and {outputs} outputs; serve the adapter with its own base model"
        )
    if not 1 <= rank <= MAX_RANK:
        raise ModelUnsupported(f"{what} of rank {rank}; ranks are 1 to {MAX_RANK}")
    return down, up
