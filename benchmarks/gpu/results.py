"""Results of a run on a card: one line of JSON a figure or failure, on disk at once."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

_PACKAGES = (
    *("torch", "triton", "flashinfer-python", "apache-tvm-ffi", "transformers", "tokenizers"),
    *("numpy", "msgspec", "llguidance"),
)
_MOST_TEXT = 8000  # characters of a traceback


class DeviceLost(Exception):
    """The CUDA context of this process is lost: each later call of it fails alike."""


class Results:
    """Appends lines to a file of results, failures with their traceback and versions."""

    def __init__(self, path: Path, device: torch.device) -> None:
        self.device = device
        self.num_failed = 0
        self._path = path
        self._logged = _LoggedErrors()
        logging.getLogger().addHandler(self._logged)

    def add(
        self, kind: str, shape: str, measure: Callable[[], dict[str, Any]], **facts: Any
    ) -> bool:
        """Append what `measure` returns, behind the facts; a failure becomes the line instead.

        A figure with the key `error` counts as failed. Returns True if nothing failed. Raises
        `DeviceLost` after a failure that has broken the CUDA context.
        """
        self._logged.texts.clear()
        line: dict[str, Any] = {"kind": kind, "shape": shape, **facts}
        if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
            line["blocking"] = True  # no figure of speed
        began = time.perf_counter()
        try:
            line |= measure()
        except Exception as error:  # the next figure may still be had
            line["error"] = f"{type(error).__name__}: {error}"[:_MOST_TEXT]
            line["traceback"] = traceback.format_exc()[-_MOST_TEXT:]
        line["s"] = round(time.perf_counter() - began, 2)
        is_lost = False
        if "error" in line:
            self.num_failed += 1
            line["versions"] = versions()
            if self._logged.texts:  # an engine logs the error of a step and goes on
                line["logged"] = "\n".join(self._logged.texts)[-_MOST_TEXT:]
            is_lost = self.device.type == "cuda" and _is_context_lost()
        self._append(line)
        if is_lost:
            raise DeviceLost(line["error"])
        return "error" not in line

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        shown = {key: value for key, value in line.items() if key not in ("versions", "steps")}
        for text in ("traceback", "logged"):
            if text in shown:
                print(shown.pop(text), file=sys.stderr)
        print(json.dumps(shown), file=sys.stderr, flush=True)


class _LoggedErrors(logging.Handler):
    """Keeps logged exceptions as text."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        if record.exc_info:
            self.texts.append(logging.Formatter("%(message)s").format(record))


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file; a last line that was cut off is left out."""
    if not path.is_file():
        return []
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that figures depend on."""
    found = {"python": sys.version.split()[0]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def _is_context_lost() -> bool:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    try:
        torch.cuda.synchronize()
    except Exception:
        return True
    return False
