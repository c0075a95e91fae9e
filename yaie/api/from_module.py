"""A loaded transformers module, written as a model folder for the loader.

The loader checks a model by its config and weight files, and packs weights, so a module is loaded
like any other model. Costs a copy on disk while it loads.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from yaie.base.errors import ConfigError
from yaie.text.tokenizer import Tokenizer


def is_module(model: object) -> bool:
    """Return True for a model of transformers."""
    return callable(getattr(model, "save_pretrained", None)) and hasattr(model, "config")


@contextlib.contextmanager
def written(module: Any, tokenizer: object) -> Iterator[tuple[str, object]]:
    """Write a module for the duration of a load; yield its folder and tokenizer folder.

    `tokenizer` is a folder, or a loaded tokenizer from YAIE or transformers. Raises `ConfigError`
    without a tokenizer.
    """
    if tokenizer is None:
        raise ConfigError(
            "a module has no tokenizer; pass tokenizer=, a folder or a loaded tokenizer",
            param="tokenizer",
        )
    with tempfile.TemporaryDirectory(prefix="yaie-module-") as folder:
        module.save_pretrained(folder)
        if not isinstance(tokenizer, Tokenizer) and hasattr(tokenizer, "save_pretrained"):
            tokenizer.save_pretrained(folder)
            tokenizer = Path(folder)
        yield folder, tokenizer
