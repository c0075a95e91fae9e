"""Split GGUF files: a model in several files, of which the first has the metadata.

Each part's name ends in its number and their count, as in `-00001-of-00003.gguf`. Torch-free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from yaie.base.errors import ModelNotFound

_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)", re.IGNORECASE)


def is_part(name: str) -> bool:
    """Return True for a file of a split model."""
    return _PART.search(name) is not None


def without_part(name: str) -> str:
    """Return a file's name without the number of its part."""
    return _PART.sub("", name)


def parts_of(name: str) -> list[str]:
    """Return the names of all files of a file's model, in order; of a whole one its own."""
    found = _PART.search(name)
    if found is None:
        return [name]
    begin, end = found.span()
    numbers = range(1, int(found[2]) + 1)
    return [f"{name[:begin]}-{number:05d}-of-{found[2]}{name[end:]}" for number in numbers]


def whole_models(names: Iterable[str]) -> list[str]:
    """Return the files that are models, and of each split model with all its parts the first."""
    present = set(names)
    return sorted(
        name for name in present if name == parts_of(name)[0] and present.issuperset(parts_of(name))
    )


def missing_parts(names: Sequence[str]) -> list[str]:
    """Return the parts that these files lack."""
    wanted = {part for name in names for part in parts_of(name)}
    return sorted(wanted - set(names))


def find_parts(path: Path) -> list[Path]:
    """Return the files of a model, of which any part is named.

    Raises `ModelNotFound` with the first part that is absent.
    """
    found = [path.with_name(name) for name in parts_of(path.name)]
    absent = [part for part in found if not part.is_file()]
    if absent and len(found) > 1:
        raise ModelNotFound(
            f"{path.parent / without_part(path.name)} is a model in {len(found)} parts, and "
            f"{len(absent)} of them are absent, the first is {absent[0].name}; download it into "
            f"that folder"
        )
    return found
