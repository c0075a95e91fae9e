"""The card stage: versions, the card, the computed source tree, and the card's ceilings."""

from __future__ import annotations

import hashlib
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

import yaie
from benchmarks.gpu.clock import seconds_of
from benchmarks.gpu.results import Results, versions

_CALLS = 3  # of a copy or product in one graph
_QUERY = "name,driver_version,memory.total,power.limit,clocks.max.sm"


def measure_card(results: Results) -> None:
    """Append a line that says what runs where, and one of copied bytes and of arithmetic."""
    results.add("card", "", lambda: _card(results.device))
    results.add("ceilings", "", lambda: _ceilings(results.device))


def _card(device: torch.device) -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "yaie_tree": git_tree(Path(yaie.__file__).parent),
        "versions": versions(),
    }
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found |= {
            "name": properties.name,
            "processors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "cache_bytes": properties.L2_cache_size,
            "capability": torch.cuda.get_device_capability(device),
            "driver": _driver(),
        }
    return found


def _driver() -> str:
    command = ("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader")
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown: {error}"
    return ran.stdout.strip()


def _ceilings(device: torch.device) -> dict[str, Any]:
    """Return gigabytes a second of a copy, read and written, and TFLOP/s of a bfloat16 product."""
    is_gpu = device.type == "cuda"
    num_bytes, size = (2**32, 8192) if is_gpu else (2**22, 256)
    source, target = (torch.zeros(num_bytes, dtype=torch.uint8, device=device) for _ in "ab")
    left, right = (torch.randn(size, size, device=device).bfloat16() for _ in "ab")
    output = torch.empty_like(left)

    def copy() -> None:
        for _ in range(_CALLS):
            target.copy_(source)

    def multiply() -> None:
        for _ in range(_CALLS):
            torch.mm(left, right, out=output)

    copied = 2 * num_bytes * _CALLS / seconds_of(copy, device)
    computed = 2 * size**3 * _CALLS / seconds_of(multiply, device)
    return {"copy_gb_per_s": round(copied / 1e9), "tflops": round(computed / 1e12, 1)}


def git_tree(folder: Path) -> str:
    """Return the hash that git gives a folder as it lies there; no repository is needed.

    `git rev-parse COMMIT:yaie` is equal if the folder `yaie` is that commit's. Hidden files and
    the files that Python writes are left out.
    """
    entries = []
    for path in folder.iterdir():
        if path.name == "__pycache__" or path.name.startswith("."):
            continue
        if path.is_dir():
            tree = git_tree(path)
            if tree != _EMPTY_TREE:  # git knows no empty folders
                entries.append((path.name + "/", b"40000", path.name, tree))
        else:
            mode = b"100755" if path.stat().st_mode & 0o100 else b"100644"
            entries.append((path.name, mode, path.name, _git_hash(b"blob", path.read_bytes())))
    return _git_hash(
        b"tree",
        b"".join(
            mode + b" " + name.encode() + b"\0" + bytes.fromhex(digest)
            for _, mode, name, digest in sorted(entries)
        ),
    )


def _git_hash(kind: bytes, content: bytes) -> str:
    head = kind + b" " + str(len(content)).encode() + b"\0"
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


_EMPTY_TREE = _git_hash(b"tree", b"")
