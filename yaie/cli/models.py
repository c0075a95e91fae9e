"""`yaie models`: what can be served here. Reads headers only, so it is quick and needs no torch."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from yaie.cli import terminal


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine, and the reason if it cannot be served."""

    name: str
    folder: str
    architecture: str
    num_parameters: int
    nbytes: int
    dtype: str
    quantization: str  # how linear layers are stored, such as "int4 by gptq"; empty: as dtype
    refused: str  # empty: it is served


def models(
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """List models on this machine and supported architectures."""
    from yaie.models.support import SUPPORTED

    local = [inspect_model(name, folder) for name, folder in local_folders()]
    if as_json:
        supported = [asdict(entry) for entry in SUPPORTED]
        print(json.dumps({"models": [asdict(m) for m in local], "supported": supported}))
        return
    print(terminal.bold("On this machine", sys.stdout))
    for model in local:
        print(f"  {model.name:<34} {_describe(model)}")
    print(terminal.bold("\nSupported architectures", sys.stdout))
    for entry in SUPPORTED:
        print(f"  {entry.architecture:<24} {entry.known_as}")
    terminal.note('\nask one: yaie -m NAME "…"    any folder in Hugging Face layout works too')


def local_folders() -> list[tuple[str, Path]]:
    """(name, folder) of the built-in model and of every model in the Hugging Face cache."""
    from huggingface_hub import constants

    from yaie.config import BUILTIN_MODEL

    found: list[tuple[str, Path]] = []
    builtin = importlib.util.find_spec("yaie.models.builtin")
    if builtin is not None and builtin.origin is not None:  # a folder alone is no package
        package = importlib.import_module("yaie.models.builtin")
        found.append((BUILTIN_MODEL, Path(package.BUILTIN_MODEL_DIR)))
    cache = Path(constants.HF_HUB_CACHE)
    for repository in sorted(cache.glob("models--*")):
        snapshots = [path.parent for path in repository.glob("snapshots/*/config.json")]
        if snapshots:
            newest = max(snapshots, key=lambda folder: folder.stat().st_mtime)
            found.append((repository.name.removeprefix("models--").replace("--", "/"), newest))
    return found


def inspect_model(name: str, folder: Path) -> LocalModel:
    """What the folder holds, and whether YAIE would serve it."""
    from yaie.errors import StartupError
    from yaie.models.checkpoint import read_config
    from yaie.models.folder import open_folder
    from yaie.models.quantization.layout import read_stored_layout

    architecture, num_parameters, nbytes, dtype, quantization, refused = "", 0, 0, "", "", ""
    try:
        config = read_config(folder)
        named = config.get("architectures")
        if not isinstance(named, list) or not named:
            named = [config.get("model_type", "?")]
        architecture = str(named[0])
        checkpoint = open_folder(str(folder)).checkpoint
        num_parameters, nbytes = checkpoint.num_parameters, checkpoint.nbytes
        dtype = checkpoint.dtype
        layout = read_stored_layout(config, checkpoint)
        if layout is not None:
            num_parameters = layout.num_parameters
            quantization = f"{layout.stored_kind} by {layout.stored.method}"
    except StartupError as error:
        refused = error.message
    except OSError as error:  # one folder that may not be read hides no other
        refused = f"{folder} cannot be read: {error.strerror}"
    return LocalModel(
        name, str(folder), architecture, num_parameters, nbytes, dtype, quantization, refused
    )


def _describe(model: LocalModel) -> str:
    if model.refused:
        return f"not served: {model.refused}"
    return (
        f"{model.architecture}, {model.num_parameters / 1e6:,.1f} M parameters, "
        f"{model.nbytes / 1e6:,.1f} MB in {model.quantization or model.dtype}"
    )
