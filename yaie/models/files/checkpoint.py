"""Checkpoint: a model folder's config and weight-file headers, read without the weights.

Torch-free and quick: a damaged folder is refused before a model is built.
"""

from __future__ import annotations

import logging
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.base.json_reader import parse_json, read_json_file
from yaie.models.files.gguf.hf_folder import LINK

log = logging.getLogger(__name__)

_LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.(\d+)\.")

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
# Files of early quantization tools; today config.json has their content.
OLDER_CONFIGS = {
    "quantize_config.json": "gptq",
    "quant_config.json": "awq",
    "hf_quant_config.json": "modelopt",
}
ADAPTER_CONFIG = "adapter_config.json"  # transformers would apply it, given the peft library
MAX_HEADER_BYTES = 100_000_000  # the format's own limit
_LENGTH_BYTES = 8

# Name in a safetensors header -> bytes of an element.
ELEMENT_BYTES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "F8_E8M0": 1,
}
# Types of the format that are refused.
_UNREAD = ("F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "F6_E2M3", "F6_E3M2", "C64")
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor's position in its file."""

    file: Path
    name: str
    kind: str  # type name in the header: "F16", "I32", ...; in GGUF "Q8_0", ...
    shape: tuple[int, ...]
    first_byte: int  # in the file
    stored_as: str = ""  # its name in the file, if that is another
    is_transposed: bool = False  # its last two dimensions are swapped when it is read
    num_rows: int | None = None  # so many rows are read; None: all
    first_row: int = 0  # of these rows

    @property
    def name_in_file(self) -> str:
        """Name in the file."""
        return self.stored_as or self.name

    @property
    def is_changed(self) -> bool:
        """True if reading it copies the file's bytes instead of mapping pages."""
        return self.is_transposed or self.num_rows is not None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder's weights, as their headers describe them."""

    files: tuple[Path, ...]
    tensors: dict[str, StoredTensor]
    num_parameters: int  # in floating point; quantized weights do not count
    nbytes: int
    dtype: str  # dtype of most parameters: "float32", "bfloat16" or "float16"
    gguf: Path | None = None  # the file, if the weights are in GGUF

    @property
    def is_renamed(self) -> bool:
        """True if tensors have other names, or other shapes, than in the files."""
        return any(tensor.stored_as for tensor in self.tensors.values())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file. Raises `ModelUnsupported` for other content."""
    try:
        value = read_json_file(path)
    except (OSError, ValueError) as error:
        raise _damage_error(path, f"it is not readable JSON ({error})") from None
    if not isinstance(value, dict):
        raise _damage_error(path, "it is not a JSON object")
    return value


def read_config(folder: Path) -> dict[str, Any]:
    """Read the folder's `config.json`, with older tools' quantization config.

    Raises `ModelNotFound` for a missing folder or file, `ModelUnsupported` for an adapter.
    """
    if not folder.is_dir():
        raise ModelNotFound(f"{folder} is not a folder")
    if (folder / ADAPTER_CONFIG).is_file():
        raise ModelUnsupported(
            f"{folder} is an adapter ({ADAPTER_CONFIG}); serve its base model with "
            f"--lora {folder}, or merge it into its base model"
        )
    path = folder / "config.json"
    if not path.is_file():
        raise ModelNotFound(
            f"{folder} has no config.json; a model folder has config.json, *.safetensors and "
            f"tokenizer.json, as on the Hugging Face hub"
        )
    config = read_json(path)
    for name, method in OLDER_CONFIGS.items():
        if not config.get("quantization_config") and (folder / name).is_file():
            config["quantization_config"] = {"quant_method": method, **read_json(folder / name)}
    return config


def read_checkpoint(folder: Path) -> Checkpoint:
    """Check a folder's weight files against their headers; read headers only.

    Raises `ModelNotFound` for missing files, `ModelUnsupported` for damaged or unreadable files and
    for unsupported weight types.
    """
    if (folder / LINK).exists() and not (folder / SINGLE).exists():
        return _read_gguf_checkpoint(folder)
    files = _weight_files(folder)
    tensors: dict[str, StoredTensor] = {}
    for path in files:
        try:
            stored = read_header(path)
        except OSError as error:
            raise ModelUnsupported(
                f"{path} cannot be read: {error.strerror}", code="model_damaged"
            ) from None
        tensors |= {tensor.name: tensor for tensor in stored}
    return summarize(folder, files, tensors)


def summarize(
    folder: Path, files: tuple[Path, ...], tensors: dict[str, StoredTensor]
) -> Checkpoint:
    """Return a checkpoint with these tensors. Raises `ModelUnsupported` for unread types."""
    elements: Counter[str] = Counter()
    for tensor in tensors.values():
        elements[tensor.kind] += prod(tensor.shape)
    kinds = {kind: count for kind, count in elements.items() if kind in DTYPES}
    if not kinds:
        found = ", ".join(sorted(elements)) or "none"
        raise ModelUnsupported(
            f"{folder} has weights of type {found}; YAIE serves float32, bfloat16 and float16"
        )
    return Checkpoint(
        files=files,
        tensors=tensors,
        num_parameters=sum(kinds.values()),
        nbytes=sum(count * ELEMENT_BYTES[kind] for kind, count in elements.items()),
        dtype=DTYPES[max(kinds, key=lambda kind: kinds[kind])],
    )


def _read_gguf_checkpoint(folder: Path) -> Checkpoint:
    """Describe the weights in a GGUF file, by transformers' names.

    They are computed with in bfloat16, unless all are float32: no kernel computes in float16.
    """
    # These import numpy, which light commands do without.
    from yaie.models.files.gguf.header import read_model
    from yaie.models.files.gguf.hf_names import name_tensors

    link = folder / LINK
    path = link.readlink() if link.is_symlink() else link.resolve()
    file = read_model(path)
    named = name_tensors(file, read_config(folder))
    tensors = {
        name: StoredTensor(each.stored.path, name, each.kind, each.shape, each.stored.first_byte)
        for name, each in named.items()
    }
    kinds = {source.kind for each in named.values() for source in each.sources}
    return Checkpoint(
        files=file.paths,
        tensors=tensors,
        num_parameters=sum(prod(tensor.shape) for tensor in tensors.values()),
        nbytes=sum(each.nbytes for each in named.values()),
        dtype="float32" if kinds == {"F32"} else "bfloat16",
        gguf=path,
    )


def _weight_files(folder: Path) -> tuple[Path, ...]:
    """Return the files that transformers would read.

    A single file wins over an index, which may be left over from an earlier save in shards.
    """
    if (folder / SINGLE).is_file():
        return (folder / SINGLE,)
    shards = sorted(folder.glob("model-*-of-*.safetensors"))
    if names := sorted(set(read_weight_map(folder).values())):
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            advice = "download the missing files"
            if unnamed := [path.name for path in shards if path.name not in names]:
                advice = f"the index does not name {unnamed[0]}: save the model again"
            raise ModelNotFound(
                f"{folder} lacks {len(missing)} of {len(names)} weight files that {INDEX} names, "
                f"the first is {missing[0]}; {advice}"
            )
        return tuple(folder / name for name in names)
    if shards:
        raise ModelNotFound(
            f"{folder} holds {len(shards)} shards such as {shards[0].name} but no {INDEX}; "
            f"download that file"
        )
    pickled = sorted(
        path.name for end in ("bin", "pt", "pth", "ckpt") for path in folder.glob(f"*.{end}")
    )
    if pickled:
        raise ModelNotFound(
            f"{folder} holds {pickled[0]} but no safetensors file; such files can run code when "
            f"they are loaded, so YAIE does not open them. Convert the model to safetensors"
        )
    others = sorted(path.name for path in folder.glob("*.safetensors"))
    if len(others) == 1:
        raise ModelNotFound(
            f"{folder} holds {others[0]} and no {SINGLE}; if that is the model, rename it"
        )
    if gguf := sorted(folder.glob("*.gguf")):
        raise ModelNotFound(
            f"{folder} holds {gguf[0].name} and no {SINGLE}; to use the GGUF file, name it: "
            f"{gguf[0]}"
        )
    raise ModelNotFound(f"{folder} holds no {SINGLE}")


def read_weight_map(folder: Path) -> dict[str, str]:
    """Return the file of each tensor, in the folder or its subfolders; empty without an index."""
    index = folder / INDEX
    if not index.is_file():
        return {}
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise _damage_error(index, "it has no weight_map")
    for name in set(map(str, weight_map.values())):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise _damage_error(
                index,
                f"it names {name[:80]}, which is outside the folder",
                advice="save the model again",
            )
    return {str(tensor): str(name) for tensor, name in weight_map.items()}


def read_header(path: Path) -> list[StoredTensor]:
    """Return a file's tensors, after checking that they fill it exactly."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_LENGTH_BYTES)
        if len(start) < _LENGTH_BYTES:
            raise _damage_error(path, f"it is {size} bytes long")
        (length,) = struct.unpack("<Q", start)
        if length > min(MAX_HEADER_BYTES, size - _LENGTH_BYTES):
            raise _damage_error(path, f"its header claims {length} bytes, the file has {size}")
        try:
            header = parse_json(file.read(length))
        except ValueError:
            raise _damage_error(path, "its header is not JSON") from None
    if not isinstance(header, dict):
        raise _damage_error(path, "its header is not a table of tensors")
    header.pop("__metadata__", None)
    first_byte = _LENGTH_BYTES + length
    tensors = []
    ranges = []
    for name, entry in header.items():
        kind, shape, begin, end = _tensor(path, name, entry)
        tensors.append(StoredTensor(path, name, kind, shape, first_byte + begin))
        ranges.append((begin, end))
    expected = 0
    for begin, end in sorted(ranges):
        if begin != expected:
            raise _damage_error(path, f"its tensors overlap or leave a gap at byte {expected}")
        expected = end
    data = size - _LENGTH_BYTES - length
    if data != expected:
        raise _damage_error(
            path, f"it should hold {expected} bytes of weights and holds {data}: it is truncated"
        )
    return tensors


def _tensor(path: Path, name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Return a tensor's type, shape, first and end byte, counted from the header's end."""
    try:
        kind, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        if not all(isinstance(n, int) and n >= 0 for n in (*shape, begin, end)):
            raise ValueError
        if kind in _UNREAD:
            raise ModelUnsupported(
                f"{path} holds {name[:80]!r} as {kind}, which is not supported; use a "
                f"checkpoint in bfloat16, float16 or float32"
            )
        count = prod(shape)
        width = ELEMENT_BYTES[kind]
    except (KeyError, TypeError, ValueError):
        raise _damage_error(path, f"its entry for {name[:80]!r} is not a tensor") from None
    if end - begin != count * width:
        raise _damage_error(
            path, f"its entry for {name[:80]!r} has a shape that does not fit its size"
        )
    return kind, shape, begin, end


def _damage_error(path: Path, why: str, *, advice: str = "download it again") -> ModelUnsupported:
    return ModelUnsupported(f"{path} is damaged: {why}; {advice}", code="model_damaged")


def without_layers_beyond(config: Mapping[str, Any], checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint and its sizes without layers after the config's last layer."""
    count = config.get("num_hidden_layers")
    if not isinstance(count, int):
        return checkpoint
    own = {name: each for name, each in checkpoint.tensors.items() if _index_of(name) < count}
    behind = [each for name, each in checkpoint.tensors.items() if name not in own]
    if not behind:
        return checkpoint
    log.info("%d tensors after the last of %d layers are unused", len(behind), count)
    sizes = [(each.kind, prod(each.shape)) for each in behind]
    return replace(
        checkpoint,
        tensors=own,
        num_parameters=checkpoint.num_parameters
        - sum(size for kind, size in sizes if kind in DTYPES),
        nbytes=checkpoint.nbytes - sum(size * ELEMENT_BYTES[kind] for kind, size in sizes),
    )


def _index_of(name: str) -> int:
    """Return a tensor's decoder layer index; -1 outside the layers."""
    found = _LAYER.search(name)
    return int(found[1]) if found else -1
