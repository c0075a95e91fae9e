"""Quantized copies of models: rounds a model as `--quantization` does at load, and saves it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig
from yaie.models.load.folder import open_folder
from yaie.models.load.loader import load_model
from yaie.models.quantization.checkpoint_layers import read_stored_layout
from yaie.models.quantization.checkpoint_writer import make_uniform, write_checkpoint

_NUM_SLOTS = 1024  # no request runs; the memory plan wants a pool


def write_quantized_copy(config: EngineConfig, target: Path, *, is_uniform: bool = False) -> Path:
    """Quantize the model of `config` on the CPU and write it to a new folder; return the folder.

    is_uniform: value projections have 4 bits as well. Raises `ConfigError` for a model that is
    quantized already and a target that exists, and the errors of `load_model`.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{target} exists already; name a new folder", param="out")
    folder = open_folder(config.source)
    if read_stored_layout(folder.config, folder.checkpoint) is not None:
        raise ConfigError(
            f"{config.model} is quantized already; name a checkpoint in bfloat16, float16 or "
            f"float32",
            param="model",
        )
    loaded = load_model(replace(config, device="cpu", num_slots=_NUM_SLOTS), may_pack=False)
    assert loaded.model is not None  # read from its weights
    if is_uniform:
        make_uniform(loaded.model)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
            unfinished = Path(name) / target.name
            unfinished.mkdir()
            write_checkpoint(loaded.model, loaded.path, unfinished)
            unfinished.replace(target)  # appears whole, or not at all
    except OSError as error:
        raise ConfigError(
            f"{target} cannot be written: {error.strerror or error}; name another folder",
            param="out",
        ) from None
    return target
