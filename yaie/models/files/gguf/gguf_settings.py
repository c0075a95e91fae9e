"""Settings: the metadata of a file's architecture, with checks of their types. Torch-free."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.header import GgufFile

HOW_TO_HELP = "use the model's safetensors folder instead"


class GgufSettings:
    """The settings of an architecture; those that were read are remembered."""

    def __init__(self, file: GgufFile) -> None:
        self.file = file
        self.path: Path = file.path
        self.tensors = file.tensors
        self.metadata = file.metadata
        self.name = str(file.metadata.get("general.architecture"))
        self.used: set[str] = set()

    def raw(self, key: str) -> Any:
        """Return a setting as it is stored, or None."""
        self.used.add(key)
        return self.metadata.get(f"{self.name}.{key}")

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting; equal values of all layers as one."""
        value = self.raw(key)
        if isinstance(value, np.ndarray):
            unique = set(value.tolist())
            if len(unique) != 1:
                self.refuse(key, "a value for each layer")
            return unique.pop()
        if isinstance(value, list):
            self.refuse(key, "a list of names")
        return default if value is None else value

    def value(self, key: str) -> Any:
        """Return a setting that has to be there: a count, a number or a flag."""
        found = self.get(key)
        if type(found) is int:
            return self.count(key)
        return found if type(found) is bool else self._number(key, found)

    def per_layer(self, key: str) -> Any:
        """Return a list with a value for each layer, one value of all, or None."""
        found = self.raw(key)
        if not isinstance(found, np.ndarray):
            if found is not None and type(found) is not int:
                raise self.damaged(key, "not a list of numbers")
            return found
        if len(found) < self.num_layers():
            raise self.damaged(key, f"{len(found)} values for {self.num_layers()} layers")
        return found.tolist()[: self.num_layers()]

    def list_of(self, key: str) -> list[Any]:
        """Return the values of all layers, if the file has one for each or one for all."""
        found = self.per_layer(key)
        each = found if isinstance(found, list) else [found] * self.num_layers()
        if not all(type(one) is int and 0 <= one < 2**31 for one in each):
            raise self.damaged(key, "not a count for each layer")
        return each

    def size(self, key: str, default: int | None = None) -> int:
        """Return a positive integer."""
        value = self.get(key, default)
        if type(value) is not int or not 0 < value < 2**31:
            raise self.damaged(key, "not a size")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a positive float, in the fewest digits of float32: 1e-05, not 9.99e-06."""
        found = self._number(key, self.get(key, default))
        if found <= 0:
            raise self.damaged(key, "not a positive number")
        return found

    def num_layers(self) -> int:
        """Return the number of layers, without those that predict further tokens."""
        blocks, further = self.size("block_count"), self.count("nextn_predict_layers")
        if blocks > len(self.tensors):
            raise self.damaged("block_count", f"more than the {len(self.tensors)} tensors")
        if further >= blocks:
            raise self.damaged("nextn_predict_layers", "not fewer than the blocks")
        return blocks - further

    def count(self, key: str, default: int = 0) -> int:
        """Return a number of things, which may be none."""
        value = self.get(key, default)
        if type(value) is not int or not 0 <= value < 2**31:
            raise self.damaged(key, "not a count")
        return value

    def rows(self, tensor: str) -> int:
        """Return the rows of a tensor that has to be there."""
        if tensor not in self.tensors:
            raise ModelUnsupported(
                f"{self.path} is damaged: it lacks {tensor}; download it again",
                code="model_damaged",
            )
        return self.tensors[tensor].shape[0]

    def head_dim(self) -> int:
        """Return the width of a head, which keys and values share."""
        width = self.size("attention.key_length", self._default_head_dim())
        if self.size("attention.value_length", width) != width:
            what = f"{self.get('attention.value_length')} with keys of {width}"
            self.refuse("attention.value_length", what)
        return width

    def _default_head_dim(self) -> int | None:
        if self.get("attention.key_length") is not None:
            return None  # the number of heads may depend on the layer
        return max(1, self.size("embedding_length") // self.size("attention.head_count"))

    def _number(self, key: str, value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.damaged(key, "not a number")
        return float(str(np.float32(value)))

    def damaged(self, key: str, why: str) -> ModelUnsupported:
        """Return the error for a damaged setting."""
        value = self.metadata.get(f"{self.name}.{key}")
        what = f"{self.name}.{key} is {str(value)[:80]!r}, which is {why}"
        if value is None:
            what = f"it lacks {self.name}.{key}"
        return ModelUnsupported(
            f"{self.path} is damaged: {what}; download it again",
            code="model_damaged",
        )

    def refuse(self, key: str, what: str) -> NoReturn:
        """Raise `ModelUnsupported` for a setting."""
        raise ModelUnsupported(
            f"{self.path} has {what[:80]} in {self.name}.{key}, which is not supported; "
            f"{HOW_TO_HELP}"
        )
