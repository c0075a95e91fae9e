"""`yaie pull`, `list`, `show` and `rm`: manage local models, without loading torch."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.base.settings import BUILTIN_MODEL
from yaie.cli import terminal
from yaie.cli.completion import complete_model
from yaie.cli.models import LocalModel, describe, inspect_model, local_folders
from yaie.cli.options import Revision

MODEL_EXIT_CODE = 3
Name = Annotated[
    str, typer.Argument(metavar="MODEL", show_default=False, autocompletion=complete_model)
]


def pull(name: Name, revision: Revision = None) -> None:
    """Download a model: a short name such as smollm2, or a Hugging Face repository."""
    from yaie.models.load.folder import open_folder

    if revision is not None:
        name = f"{name}@{revision}"
    folder = open_folder(name)
    size = folder.checkpoint.nbytes / 1e6
    place = folder.checkpoint.files[0].parent
    print(f"{name}: {size:,.1f} MB in {place}")
    terminal.note(f'try: yaie -m {name} "Name the capital of France."')


def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """List local models."""
    found = [inspect_model(name, folder) for name, folder in local_folders()]
    if as_json:
        print(json.dumps({"models": [asdict(model) for model in found]}))
        return
    for model in found:
        print(f"{model.name:<38} {describe(model)}")


def show(
    name: Name,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show the details of a local model."""
    folder = _find(name)
    facts = _facts(inspect_model(name, folder), folder)
    if as_json:
        print(json.dumps(facts))
        return
    for key, value in facts.items():
        print(f"{key.replace('_', ' '):<16} {value}")


def remove(name: Name) -> None:
    """Remove a model that yaie pull downloaded."""
    from yaie.models.files.pull import list_pulled_models, remove_pulled

    if name not in dict(list_pulled_models()):
        raise _cannot_remove(name)
    freed = remove_pulled(name)
    print(f"{name}: {freed / 1e6:,.1f} MB removed")


def _find(name: str) -> Path:
    """Return the folder of a model on this machine, without a download."""
    from yaie.models.files.revisions import find_cached_commit, split_revision
    from yaie.models.load.folder import resolve_model_path

    repository, revision = split_revision(name)
    if revision is not None and find_cached_commit(repository, revision) is not None:
        return resolve_model_path(name)
    found = dict(local_folders()).get(name)
    if found is not None:
        return found
    if Path(name).expanduser().exists():
        return resolve_model_path(name)
    raise _absent(name)


def _absent(name: str) -> AdvisedError:
    return AdvisedError(
        f"{name} is not on this machine",
        why="yaie list shows the local models",
        advice=f"yaie pull {name}",
        code="model_not_found",
        exit_code=MODEL_EXIT_CODE,
    )


def _cannot_remove(name: str) -> AdvisedError:
    if name not in dict(local_folders()):
        return _absent(name)
    why, advice = "other programs share the Hugging Face cache", f"hf cache rm model/{name}"
    if name == BUILTIN_MODEL:
        why, advice = "it is part of the package", "pip uninstall yaie"
    return AdvisedError(
        f"{name} is not in YAIE's own cache",
        why=why,
        advice=advice,
        code="model_not_removed",
        exit_code=MODEL_EXIT_CODE,
    )


def _facts(model: LocalModel, folder: Path) -> dict[str, Any]:
    from yaie.models.architecture.support import longest_context
    from yaie.models.architecture.text_backbones import text_config, wrapper_of
    from yaie.models.files.checkpoint import read_config, read_json
    from yaie.models.files.model_index import CATALOGUE
    from yaie.models.files.revisions import list_cached_revisions, split_revision
    from yaie.text.convert import PROCESSOR_FILES

    facts: dict[str, Any] = {"name": model.name, "folder": model.folder}
    if revisions := list_cached_revisions(split_revision(model.name)[0]):
        facts["revisions"] = ", ".join(revisions)
    if model.refused:
        return facts | {"not_supported": model.refused}
    config = read_config(folder)
    is_wrapper = wrapper_of(config) is not None
    context = longest_context(text_config(config))
    settings = folder / "tokenizer_config.json"
    holders = [settings, *(folder / name for name in PROCESSOR_FILES)]
    has_template = (folder / "chat_template.jinja").is_file() or any(
        file.is_file() and read_json(file).get("chat_template") for file in holders
    )
    facts |= {
        "architecture": model.architecture,
        "reads": "text" + ("; images and audio are refused" if is_wrapper else ""),
        "parameters": f"{model.num_parameters / 1e6:,.1f} M",
        "size": f"{model.nbytes / 1e6:,.1f} MB",
        "weights": model.quantization or model.dtype,
        "context": "unlimited" if context is None else f"{context:,} tokens",
        "chat_template": "yes" if has_template else "no",
    }
    listed = CATALOGUE.get(model.name)
    if listed is not None:
        facts |= {"license": listed.license, "same_as": listed.repository}
    return facts
