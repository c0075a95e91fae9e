"""`yaie models`: models on this machine, models to start with, and supported architectures.

Reads file headers only, without torch.
"""

from __future__ import annotations

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
from yaie.models.files.model_index import CONTEXT, MODELS, ListedModel
from yaie.process.limits import available_bytes


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

    memory = available_bytes()
    local = [inspect_model(name, folder) for name, folder in local_folders()]
    if as_json:
        report = {
            "models": [asdict(model) for model in local],
            "catalogue": [
                asdict(model)
                | {
                    "weight_bytes": model.weight_bytes,
                    "memory_bytes": model.memory_bytes,
                    "fits": _fit(model, memory),
                }
                for model in MODELS
            ],
            "available_bytes": memory,
            "supported": [asdict(entry) for entry in SUPPORTED],
        }
        print(json.dumps(report))
        return
    print(terminal.bold("On this machine", sys.stdout))
    for model in local:
        print(f"  {model.name:<36} {describe(model)}")
    print(
        terminal.bold("\nBy short name", sys.stdout),
        f"(downloaded by: yaie pull NAME; sizes are approximate; memory with {CONTEXT:,} tokens "
        f"of context, {memory / 1e9:.1f} GB are available)",
    )
    for listed in MODELS:
        print(f"  {listed.name:<18} {_describe_listed(listed, memory)}")
    print(terminal.bold("\nSupported architectures", sys.stdout))
    for entry in SUPPORTED:
        print(f"  {entry.architecture:<24} {entry.known_as}")
    terminal.note(
        '\ntry one: yaie -m NAME "…"    NAME may be any folder or Hugging Face repository with '
        "safetensors"
    )


def local_folders() -> list[tuple[str, Path]]:
    """Return name and folder, or GGUF file, of the built-in model and each cached model."""
    from huggingface_hub import constants

    from yaie.base.settings import BUILTIN_MODEL
    from yaie.models.files.gguf_repository import kind_in, list_gguf
    from yaie.models.files.pull import list_pulled_models
    from yaie.models.files.split_files import whole_models

    found: list[tuple[str, Path]] = []
    builtin = importlib.util.find_spec("yaie.models.builtin")
    if builtin is not None and builtin.origin is not None:  # skip a namespace package
        package = importlib.import_module("yaie.models.builtin")
        found.append((BUILTIN_MODEL, Path(package.BUILTIN_MODEL_DIR)))
    found += list_pulled_models()
    cache = Path(constants.HF_HUB_CACHE)
    for repository in sorted(cache.glob("models--*")):
        name = repository.name.removeprefix("models--").replace("--", "/")
        snapshots = sorted(repository.glob("snapshots/*"), key=lambda path: -path.stat().st_mtime)
        files = {
            f"{name}:{kind_in(file)}": snapshot / file
            for snapshot in reversed(snapshots)  # the newest one last
            for file in whole_models(list_gguf(snapshot))
        }
        found += sorted(files.items())
        if not files or any(snapshot.glob("*.safetensors*") for snapshot in snapshots):
            found += [(name, path) for path in snapshots if (path / "config.json").exists()][:1]
    return found


def inspect_model(name: str, folder: Path) -> LocalModel:
    """Describe a model folder, with the reason if YAIE refuses it."""
    from yaie.base.errors import StartupError
    from yaie.models.files.checkpoint import read_config
    from yaie.models.load.folder import open_folder, resolve_model_path
    from yaie.models.quantization.checkpoint_layers import read_stored_layout

    architecture, num_parameters, nbytes, dtype, quantization, refused = "", 0, 0, "", "", ""
    try:
        folder = resolve_model_path(str(folder))
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


def _describe_listed(model: ListedModel, available: int) -> str:
    gated = "; gated, needs HF_TOKEN" if model.is_gated else ""
    return (
        f"{model.num_parameters / 1e9:>5.2f} B  {model.weight_bytes / 1e9:>5.1f} GB download  "
        f"{model.memory_bytes / 1e9:>5.1f} GB memory  {_fit(model, available):<20}  "
        f"{model.repository}{gated}"
    )


def _fit(model: ListedModel, available: int) -> str:
    """Return the widest form of the weights that the available memory holds."""
    rest = model.memory_bytes - model.weight_bytes
    forms = {"fits": 1.0, "--quantization int8": 0.55, "--quantization int4": 0.35}
    fitting = (
        name for name, share in forms.items() if share * model.weight_bytes + rest <= available
    )
    return next(fitting, "too large")


def describe(model: LocalModel) -> str:
    """Return the description of a model in a line."""
    if model.refused:
        return f"not supported: {model.refused}"
    return (
        f"{model.architecture}, {model.num_parameters / 1e6:,.1f} M parameters, "
        f"{model.nbytes / 1e6:,.1f} MB in {model.quantization or model.dtype}"
    )
