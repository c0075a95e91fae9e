"""Folders of adapters, as the setting `lora` lists them.

`sql=/adapters/sql, /adapters`: commas separate entries. An entry is name=folder, an adapter's
folder, or a folder of such folders, whose names are then the adapters' names. Torch-free.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Container
from math import prod
from pathlib import Path

from yaie.base.errors import ConfigError, ModelUnsupported
from yaie.models.files.checkpoint import ADAPTER_CONFIG, read_header

log = logging.getLogger(__name__)

WEIGHTS = "adapter_model.safetensors"
_DOWN = ".lora_A"


def find_adapters(text: str) -> dict[str, Path]:
    """Return the adapters' folders by name. Raises `ConfigError` with the wrong entry."""
    found: dict[str, Path] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        for name, folder in _read_entry(entry):
            if name in found and found[name] != folder:
                raise _wrong(entry, f"repeats the name {name!r}; give each adapter its name")
            found[name] = folder
    return found


def estimate_adapters(text: str) -> int:
    """Return the bytes of the adapters that `text` lists, once loaded, as if in float32.

    Raises `ConfigError`. Files that cannot be read count as nothing: the load refuses them.
    """
    total = 0
    for folder in find_adapters(text).values():
        with contextlib.suppress(ModelUnsupported, OSError):
            tensors = read_header(folder / WEIGHTS)
            total += sum(4 * prod(tensor.shape) for tensor in tensors)
    return total


def read_ranks(text: str) -> list[int]:
    """Return the largest rank of each adapter that `text` lists; 1 for files that cannot be read.

    Raises `ConfigError`.
    """
    ranks = []
    for folder in find_adapters(text).values():
        ranks.append(1)
        with contextlib.suppress(ModelUnsupported, OSError):
            shapes = [each.shape for each in read_header(folder / WEIGHTS) if _DOWN in each.name]
            ranks[-1] = max((shape[0] for shape in shapes if len(shape) == 2), default=1)
    return ranks


def read_layers(text: str) -> list[str]:
    """Return the layers that the adapters of `text` change, named as in the files.

    Raises `ConfigError`. Files that cannot be read have none: the load refuses them.
    """
    layers: set[str] = set()
    for folder in find_adapters(text).values():
        with contextlib.suppress(ModelUnsupported, OSError):
            names = [each.name for each in read_header(folder / WEIGHTS)]
            layers |= {name.partition(_DOWN)[0] for name in names if _DOWN in name}
    return sorted(layers)


def keep_adapters(text: str, unloaded: Container[str]) -> str:
    """Return the setting without unloaded adapters, and without adapters that cannot be read.

    A warning names the latter.
    """
    kept = []
    for entry in filter(None, map(str.strip, text.split(","))):
        try:
            found = _read_entry(entry)
        except ConfigError as error:
            log.warning("%s; continuing without it", error.message)
            continue
        own = [(name, path) for name, path in found if name not in unloaded and _is_whole(path)]
        if len(own) == len(found):
            kept.append(entry)
        else:
            kept += [str(path) if "=" in name else f"{name}={path}" for name, path in own]
    return ",".join(kept) or ","  # not empty: the engine still takes adapters


def _is_whole(folder: Path) -> bool:
    try:
        read_header(folder / WEIGHTS)
    except (ModelUnsupported, OSError) as error:
        log.warning("the adapter in %s cannot be read (%s); continuing without it", folder, error)
        return False
    return True


def _read_entry(entry: str) -> list[tuple[str, Path]]:
    try:
        return _list_adapters(entry)
    except OSError as error:
        raise _wrong(entry, f"cannot be read ({error.strerror}); give a readable folder") from None


def _list_adapters(entry: str) -> list[tuple[str, Path]]:
    name, separator, path = (part.strip() for part in entry.partition("="))
    if separator and "/" not in name and not Path(entry).exists():
        if not name or not path:
            raise _wrong(entry, "must be name=folder, such as sql=/adapters/sql")
        folder = Path(path).expanduser()
        if not folder.exists():
            raise _wrong(entry, "names a folder that does not exist; give an adapter's folder")
        if not _is_adapter(folder):
            raise _wrong(entry, f"names a folder without {ADAPTER_CONFIG}; give an adapter's")
        return [(name, folder)]
    folder = Path(entry).expanduser()
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        raise _wrong(entry, f"{state}; give name=folder, or a folder of adapters")
    if _is_adapter(folder):
        return [(folder.resolve().name, folder)]
    found = [(each.name, each) for each in sorted(folder.iterdir()) if _is_adapter(each)]
    if not found:
        raise _wrong(
            entry,
            f"holds no adapter (no {ADAPTER_CONFIG}); give an adapter's folder or a folder of "
            "adapters",
        )
    return found


def _is_adapter(folder: Path) -> bool:
    return (folder / ADAPTER_CONFIG).is_file()


def _wrong(entry: str, problem: str) -> ConfigError:
    return ConfigError(f"lora: {entry[:200]!r} {problem}", param="lora")
