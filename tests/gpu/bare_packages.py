"""Imports of a bare machine with a card: a plugin of pytest that refuses all others.

`python -m pytest -p tests.gpu.bare_packages --collect-only tests/gpu` fails if the tests of a
device, or the code that they import, need a package beyond these. Packages may import what they
like, as their own requirements bring it along.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from yaie.kernels import library_search

OURS = frozenset({"benchmarks", "server", "tests", "yaie"})
# An image for inference, and test tools.
PROVIDED = frozenset(
    {
        *("torch", "triton", "numpy", "transformers", "tokenizers", "huggingface_hub"),
        *("safetensors", "pytest", "_pytest", "hypothesis", "packaging", "yaml", "jinja2"),
    }
)
# Wheels that travel with the tree.
CARRIED = frozenset(
    {
        *("flashinfer", "tvm_ffi", "msgspec", "llguidance"),
        *("fastapi", "pydantic", "starlette", "uvicorn", "opentelemetry"),
    }
)
ALLOWED = OURS | PROVIDED | CARRIED | sys.stdlib_module_names

_import = builtins.__import__


def _checked_import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    importer = str((globals or {}).get("__name__", ""))
    top = name.partition(".")[0]
    if level == 0 and importer.partition(".")[0] in OURS and top not in ALLOWED:
        raise ImportError(f"{importer} imports {top}, which a bare machine with a card lacks")
    return _import(name, globals, locals, fromlist, level)


def _refuse_to_load(self: library_search.LibraryLoader) -> None:
    raise ImportError("the kernel library of the CPU is loaded, which compiles it")


builtins.__import__ = _checked_import
library_search.LibraryLoader.load = _refuse_to_load  # type: ignore[assignment]
