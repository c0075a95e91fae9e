"""`yaie models`: models on this machine, models to start with, and supported architectures.

Reads file headers only, without torch.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from yaie.cli import terminal
from yaie.models.files.model_index import CONTEXT, STARTERS, Starter


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine. Sizes are in bytes."""

    name: str
    folder: str
    architecture: str
    num_parameters: int
    nbytes: int
    dtype: str
    quantization: str  # stored linear layers, such as "int4 by gptq"; empty: same as dtype
    refused: str  # the reason; empty for a supported model


def models(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """List local models, starter models and supported architectures."""
    from yaie.models.architecture.architectures import SUPPORTED

    local = [inspect_model(name, folder) for name, folder in local_folders()]
    if as_json:
        report = {
            "models": [asdict(model) for model in local],
            "to_start_with": [
                asdict(starter) | {"memory_bytes": starter.memory_bytes} for starter in STARTERS
            ],
            "supported": [asdict(entry) for entry in SUPPORTED],
        }
        print(json.dumps(report))
        return
    print(terminal.bold("On this machine", sys.stdout))
    for model in local:
        print(f"  {model.name:<36} {describe(model)}")
    print(terminal.bold("\nTo start with", sys.stdout), "(downloaded by: yaie pull NAME)")
    for starter in STARTERS:
        print(f"  {starter.repository:<36} {_describe_starter(starter)}")
    print(terminal.bold("\nSupported architectures", sys.stdout))
    for entry in SUPPORTED:
        print(f"  {entry.architecture:<24} {entry.known_as}")
    terminal.note(
        '\ntry one: yaie -m NAME "…"    NAME may be any folder or Hugging Face repository with '
        "safetensors"
    )


def local_folders() -> list[tuple[str, Path]]:
    """Return name and folder for the built-in model and each cached model."""
    from huggingface_hub import constants

    from yaie.base.errors import StartupError
    from yaie.base.settings import BUILTIN_MODEL
    from yaie.models.files.pull import list_pulled_models
    from yaie.models.load.folder import resolve_model_path

    found: list[tuple[str, Path]] = []
    builtin = importlib.util.find_spec("yaie.models.builtin")
    if builtin is not None and builtin.origin is not None:  # skip a namespace package
        package = importlib.import_module("yaie.models.builtin")
        found.append((BUILTIN_MODEL, Path(package.BUILTIN_MODEL_DIR)))
    for name, file in list_pulled_models():
        with contextlib.suppress(StartupError):  # a damaged one: yaie pull says so
            found.append((name, resolve_model_path(str(file))))
    cache = Path(constants.HF_HUB_CACHE)
    for repository in sorted(cache.glob("models--*")):
        snapshots = [path.parent for path in repository.glob("snapshots/*/config.json")]
        if snapshots:
            newest = max(snapshots, key=lambda folder: folder.stat().st_mtime)
            found.append((repository.name.removeprefix("models--").replace("--", "/"), newest))
    return found


def inspect_model(name: str, folder: Path) -> LocalModel:
    """Describe a model folder, with the reason if YAIE refuses it."""
    from yaie.base.errors import StartupError
    from yaie.models.files.checkpoint import read_config
    from yaie.models.load.folder import open_folder
    from yaie.models.quantization.checkpoint_layers import read_stored_layout

    architecture, num_parameters, nbytes, dtype, quantization, refused = "", 0, 0, "", "", ""
    try:
        config = read_config(folder)
        named = config.get("architectures")
        if not isinstance(named, list) or not named:
            named = [config.get("model_type", "?")]
        architecture = str(named[0])
        opened = open_folder(str(folder))
        checkpoint = opened.checkpoint
        num_parameters, nbytes = checkpoint.num_parameters, checkpoint.nbytes
        dtype = checkpoint.dtype
        layout = read_stored_layout(opened.config, checkpoint)
        if checkpoint.gguf is not None:
            kinds = Counter(tensor.kind for tensor in checkpoint.tensors.values())
            quantization = f"{kinds.most_common(1)[0][0]} by gguf"
        if layout is not None:
            num_parameters = layout.num_parameters
            quantization = f"{layout.stored_kind} by {layout.stored.method}"
    except StartupError as error:
        refused = error.message
    except OSError as error:  # an unreadable folder must not hide later models
        refused = f"{folder} cannot be read: {error.strerror}"
    return LocalModel(
        name, str(folder), architecture, num_parameters, nbytes, dtype, quantization, refused
    )


def _describe_starter(starter: Starter) -> str:
    download, memory = starter.weight_bytes / 1e9, starter.memory_bytes / 1e9
    return (
        f"{download:.1f} GB to download, {memory:.1f} GB of memory with {CONTEXT:,} tokens of "
        f"context; {starter.known_for}"
    )


def describe(model: LocalModel) -> str:
    """Return the description of a model in a line."""
    if model.refused:
        return f"not supported: {model.refused}"
    return (
        f"{model.architecture}, {model.num_parameters / 1e6:,.1f} M parameters, "
        f"{model.nbytes / 1e6:,.1f} MB in {model.quantization or model.dtype}"
    )
