"""`yaie pull`, `list`, `show` and `rm`: manage local models, without loading torch."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.base.settings import BUILTIN_MODEL
from yaie.cli import terminal
from yaie.cli.models import LocalModel, describe, inspect_model, local_folders
from yaie.cli.options import Revision, complete_model
from yaie.cli.sampling_options import default_sampling, describe_sampling

MODEL_EXIT_CODE = 3
Name = Annotated[
    str, typer.Argument(metavar="MODEL", show_default=False, autocompletion=complete_model)
]


def pull(name: Name, revision: Revision = None) -> None:
    """Download or update a model: a short name, a hub repository, or org/name:Q4_K_M."""
    from yaie.models.load.folder import open_folder

    if revision is not None:
        name = f"{name}@{revision}"
    folder = open_folder(name, update=True)
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
    facts = _facts(inspect_model(name, _find(name)))
    if as_json:
        print(json.dumps(facts))
        return
    for key, value in facts.items():
        print(f"{key.replace('_', ' '):<16} {value}")


def remove(name: Name) -> None:
    """Remove a model that yaie pull downloaded."""
    from yaie.models.files.pull import list_pulled_models, remove_gguf, remove_pulled

    if name in dict(list_pulled_models()):
        freed = remove_pulled(name)
    elif (file := _find_quantization(name)) is not None:
        freed = remove_gguf(file)
    else:
        raise _cannot_remove(name)
    print(f"{name}: {freed / 1e6:,.1f} MB removed")


def _find(name: str) -> Path:
    """Return the folder or GGUF file of a model on this machine, without a download."""
    found = _find_local(_named_repository(name))
    if found is None:
        raise _absent(name, "show")
    return found


def _find_local(name: str) -> Path | None:
    from yaie.models.files.gguf_repository import split_kind
    from yaie.models.files.revisions import split_revision
    from yaie.models.files.snapshots import find_snapshot

    found = dict(local_folders()).get(name)
    if found is not None or Path(name).expanduser().exists():
        return found or Path(name)
    name, revision = split_revision(name)
    repository, kind = split_kind(name)
    return find_snapshot(repository, revision, kind).path


def _find_quantization(name: str) -> Path | None:
    """Return the GGUF file that a name means by its quantization, as `org/name:Q4_K_M`."""
    from yaie.models.files.gguf_repository import split_kind
    from yaie.models.files.revisions import split_revision

    _, kind = split_kind(split_revision(name)[0])
    return None if kind is None else _find_local(name)


def _named_repository(name: str) -> str:
    """Return a short name's repository, unless the package of that name is here."""
    from yaie.models.files.model_index import CATALOGUE
    from yaie.models.files.pull import list_pulled_models

    listed = CATALOGUE.get(name)
    if listed is None:
        return name
    is_pulled = listed.name in dict(list_pulled_models())
    return listed.name if is_pulled else listed.repository


def _absent(name: str, command: str) -> AdvisedError:
    near = difflib.get_close_matches(name, [known for known, _ in local_folders()], n=1)
    advice = f"yaie {command} {near[0]}" if near else "yaie list"
    if not near and command == "show":
        advice = f"yaie pull {name}"
    return AdvisedError(
        f"{name} is not on this machine",
        why="yaie list shows the local models",
        advice=advice,
        code="model_not_found",
        exit_code=MODEL_EXIT_CODE,
    )


def _cannot_remove(name: str) -> AdvisedError:
    from yaie.models.files.gguf_repository import split_kind
    from yaie.models.files.revisions import split_revision

    if _find_local(name) is None:
        return _absent(name, "rm")
    repository, _ = split_kind(split_revision(name)[0])
    why, advice = "other programs share the Hugging Face cache", f"hf cache rm model/{repository}"
    if name == BUILTIN_MODEL:
        why, advice = "it is part of the package", "pip uninstall yaie"
    return AdvisedError(
        f"{name} is not in YAIE's own cache",
        why=why,
        advice=advice,
        code="model_not_removed",
        exit_code=MODEL_EXIT_CODE,
    )


def _sampling_of(recommended: dict[str, float]) -> str:
    chosen = default_sampling(recommended)
    if chosen == recommended:
        return f"{describe_sampling(chosen)} (the model's)"
    return f"{describe_sampling(chosen)} in yaie run and chat; the model recommends none"


def _facts(model: LocalModel) -> dict[str, Any]:
    from yaie.models.architecture.support import longest_context
    from yaie.models.architecture.text_backbones import text_config, wrapper_of
    from yaie.models.files.checkpoint import read_config, read_json
    from yaie.models.files.generation_defaults import read_default_sampling
    from yaie.models.files.gguf_repository import split_kind
    from yaie.models.files.model_index import CATALOGUE
    from yaie.models.files.revisions import list_cached_revisions, split_revision
    from yaie.text.convert import PROCESSOR_FILES

    folder = Path(model.folder)
    facts: dict[str, Any] = {"name": model.name, "folder": model.folder}
    repository, _ = split_kind(split_revision(model.name)[0])
    if revisions := list_cached_revisions(repository):
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
        "sampling": _sampling_of(read_default_sampling(folder)),
    }
    listed = CATALOGUE.get(model.name)
    if listed is not None:
        facts |= {"license": listed.license, "same_as": listed.repository}
    return facts
