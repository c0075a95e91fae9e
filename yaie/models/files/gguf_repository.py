"""GGUF repositories: names with a quantization, and the file that each name means.

`hf.co/org/name:Q4_K_M` is Ollama's and llama.cpp's spelling. A repository has one model in several
quantizations, and each file name says the quantization.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from yaie.base.errors import ModelNotFound
from yaie.models.files.nearest import GGUF
from yaie.models.files.split_files import missing_parts, whole_models, without_part

DEFAULT_KIND = "Q4_K_M"
_NAME = re.compile(
    r"(?P<host>(?:https?://)?(?:hf\.co|huggingface\.co)/)?"
    r"(?P<repository>\w[\w.-]*/\w[\w.-]*)(?::(?P<kind>\w[\w.-]*))?/?"
)
_KIND = re.compile(
    r"(?<![A-Z0-9_])(?:UD-)?(?:[IT]?Q\d\w*|MXFP\d\w*|NVFP\d\w*|BF16|FP?16|FP?32)(?![A-Z0-9_])", re.I
)
_NO_MODELS = ("mmproj", "imatrix")  # in the names of image encoders and calibration data
_BITS = re.compile(r"\d+")
_UNKNOWN_BITS = 64


def split_kind(name: str) -> tuple[str, str | None]:
    """Return a repository without its host, and its quantization, if the name has one.

    A path that exists, and names of other forms, are returned as they are.
    """
    match = _NAME.fullmatch(name)
    if match is None or Path(name).exists():
        return name, None
    return match["repository"], match["kind"]


def list_gguf(folder: Path) -> list[str]:
    """Return the models among the GGUF files of a snapshot, in subfolders too."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() == GGUF and path.is_file())
    return keep_models(path.relative_to(folder).as_posix() for path in found)


def keep_models(names: Iterable[str]) -> list[str]:
    """Return the GGUF files among a repository's files that are models, sorted."""
    return sorted(
        name
        for name in names
        if name.lower().endswith(GGUF) and not any(word in name.lower() for word in _NO_MODELS)
    )


def kind_in(name: str) -> str:
    """Return the quantization in a file's name; without one, the name without its suffix."""
    stem = PurePosixPath(without_part(name)).stem
    kinds = _KIND.findall(stem)
    return str(kinds[-1]) if kinds else stem


def choose_gguf(repository: str, names: Sequence[str], kind: str | None) -> str:
    """Return the file of a quantization, by default Q4_K_M or the nearest one.

    Of a split model it is the first part. `names`: the repository's GGUF files. Raises
    `ModelNotFound` with the quantizations of the repository, or with a part that is absent.
    """
    matches = [name for name in names if kind is None or _has_kind(name, kind)]
    whole = whole_models(matches)
    if not whole and matches:
        absent = missing_parts(matches)
        raise ModelNotFound(
            f"{repository} lacks {len(absent)} of {len(absent) + len(matches)} files of "
            f"{kind_in(matches[0])}, the first is {absent[0]}"
        )
    if not whole:
        raise ModelNotFound(_describe_absent(repository, names, kind))
    if kind is None:
        return min(whole, key=_distance)
    return min(whole, key=lambda name: (len(name), name))  # Q4_K_M before UD-Q4_K_M


def _has_kind(name: str, kind: str) -> bool:
    path = PurePosixPath(name.lower())
    if kind.lower() in (path.name, path.stem, PurePosixPath(without_part(name.lower())).stem):
        return True
    pattern = rf"(?<![a-z0-9_]){re.escape(kind.lower())}(?![a-z0-9_])"
    return re.search(pattern, path.stem) is not None


def _distance(name: str) -> tuple[int, int, int, int, str]:
    """Return how far a file is from the default: by bits, more before fewer, then by letters."""
    kind = kind_in(name).upper().removeprefix("UD-")
    bits = _bits(kind) if _KIND.fullmatch(kind) else _UNKNOWN_BITS
    alike = [kind.startswith(DEFAULT_KIND[:length]) for length in range(1, len(DEFAULT_KIND))]
    return (
        abs(bits - _bits(DEFAULT_KIND)),
        -bits,
        -sum(alike),
        len(name),
        name,
    )


def _bits(kind: str) -> int:
    number = _BITS.search(kind)
    return int(number[0]) if number else _UNKNOWN_BITS


def describe_kinds(names: Iterable[str]) -> str:
    """Return the quantizations of files, smallest first."""
    kinds = {kind_in(name) for name in names}
    return ", ".join(sorted(kinds, key=lambda kind: (_bits(kind), kind)))


def _describe_absent(repository: str, names: Sequence[str], kind: str | None) -> str:
    if not names:
        advice = f"; omit :{kind}" if kind else ""
        return f"{repository} has no GGUF file of a model{advice}"
    return f"{repository} has no GGUF file of {kind!r}; name one of: {describe_kinds(names)}"
