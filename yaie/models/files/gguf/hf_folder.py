"""The model folder of a GGUF file: config and tokenizer as files, and a link to the weights.

Everything else in YAIE reads model folders. The folder is in the cache, small, made once for each
state of the file, and appears whole or not at all. The weights stay in the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from yaie.base.errors import ConfigError, ModelNotFound, ModelUnsupported
from yaie.models.files.split_files import find_parts

LINK = "model.gguf"  # in the folder


def folder_of_gguf(path: Path) -> Path:
    """Return the model folder of a file; make it if it is missing.

    Any part of a split model stands for all.

    Raises `ModelUnsupported` for a damaged or unsupported file, `ConfigError` for a cache that
    cannot be written.
    """
    target = path.resolve()  # a blob without a suffix, if the file is in the hub's cache
    path = target if target.suffix == path.suffix else path.absolute()
    try:
        parts = find_parts(path)
        path = parts[0]
        folder = cache_folder("gguf") / _name(parts)
    except FileNotFoundError:
        raise ModelNotFound(f"{path} does not exist") from None
    except OSError as error:
        raise ModelUnsupported(
            f"{path} cannot be read: {error.strerror}", code="model_damaged"
        ) from None
    if not (folder / LINK).is_file():
        texts = _texts(path)
        try:
            _write(folder, texts, path)
        except OSError as error:
            raise ConfigError(
                f"{folder.parent} cannot be written ({error.strerror}), and the config and "
                f"tokenizer of {path.name} are kept there; set XDG_CACHE_HOME to another folder"
            ) from None
    return folder


def cache_folder(name: str) -> Path:
    """Return a folder of the cache: $XDG_CACHE_HOME/yaie/NAME, by default in ~/.cache.

    Raises `ConfigError` for a user without that variable and without a home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "yaie" / name
    except RuntimeError:
        raise ConfigError(
            "this user has no home folder to store models in; set XDG_CACHE_HOME or HOME"
        ) from None


def _name(parts: list[Path]) -> str:
    """Return the name of a model's folder: a new one once a file or this code changes."""
    digest = hashlib.sha256()
    for path in parts:
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    stem = re.sub(r"[^\w.-]+", "-", parts[0].stem)[:80]
    return f"{stem}-{digest.hexdigest()[:16]}"


def _texts(path: Path) -> dict[str, str]:
    """Return the files of the folder by name."""
    # These import numpy, which light commands do without.
    from yaie.models.files.gguf.header import read_model
    from yaie.models.files.gguf.hf_config import read_gguf_config, read_gguf_generation
    from yaie.models.files.gguf.hf_tokenizer import read_vocabulary

    file = read_model(path)
    config = read_gguf_config(file)
    vocabulary = read_vocabulary(file)
    settings = vocabulary.settings | {"model_max_length": config["max_position_embeddings"]}
    return {
        "config.json": _json(config),
        "generation_config.json": _json(read_gguf_generation(file, vocabulary.ends)),
        "tokenizer.json": vocabulary.tokenizer.to_str(),
        "tokenizer_config.json": _json(settings),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _write(folder: Path, texts: dict[str, str], target: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_orphans()
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder.parent))
    try:
        for name, text in texts.items():
            (unfinished / name).write_text(text, encoding="utf-8")
        (unfinished / LINK).symlink_to(target)
        with contextlib.suppress(OSError):  # another process was faster
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def remove_orphans() -> None:
    """Remove the folders of files that are gone."""
    cache = cache_folder("gguf")
    folders = list(cache.iterdir()) if cache.is_dir() else []
    for link in [folder / LINK for folder in folders]:  # a glob omits broken links
        if link.is_symlink() and not link.exists():
            shutil.rmtree(link.parent, ignore_errors=True)
