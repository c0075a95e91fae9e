"""Converts older tokenizer files to `tokenizer.json`.

`load_tokenizer` runs it as a child process (`python -m yaie.text.convert FROM TO`), because
transformers' converters import torch and the server must not.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

TOKENIZER = "tokenizer.json"
TEKKEN = "tekken.json"  # Mistral's format
OLDER_FORMS = (
    *("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken"),
    TEKKEN,
)
PROCESSOR_FILES = ("chat_template.json", "processor_config.json")  # may hold a chat template


# Packages that read each format, by module and distribution name. YAIE does not require them.
_SENTENCEPIECE = {"sentencepiece": "sentencepiece", "google.protobuf": "protobuf"}
_READERS = {
    "tokenizer.model": _SENTENCEPIECE,
    "spiece.model": _SENTENCEPIECE,
    "*.tiktoken": {"tiktoken": "tiktoken"},
}


def main() -> int:
    """Convert; on failure the last line on stderr is the reason."""
    source, target = sys.argv[1:3]
    try:
        tokenizer = _read(Path(source))
        tokenizer.save_pretrained(target)
    except Exception as error:  # any error of a converter is the reason to report
        # transformers tries several readers and names the last.
        print(_missing_packages_hint(Path(source)) or " ".join(str(error).split()), file=sys.stderr)
        return 1
    if not (Path(target) / "tokenizer.json").is_file():
        print(f"{type(tokenizer).__name__} has no fast tokenizer", file=sys.stderr)
        return 1
    return 0


def _read(folder: Path) -> Any:
    """Return transformers' tokenizer of a folder."""
    from transformers import AutoTokenizer

    if (folder / TEKKEN).is_file():
        return _read_tekken(folder / TEKKEN)
    return AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, use_fast=True
    )


def _read_tekken(path: Path) -> Any:
    """Return the tokenizer of Mistral's own file; a text begins with its first token."""
    from tokenizers.processors import ByteLevel, Sequence, TemplateProcessing
    from transformers.integrations.mistral.tokenizer import convert_tekken_tokenizer

    tokenizer = convert_tekken_tokenizer(str(path))
    begin = [(tokenizer.bos_token, tokenizer.bos_token_id)]
    inner = tokenizer.backend_tokenizer
    inner.post_processor = Sequence(
        [
            ByteLevel(trim_offsets=False),
            TemplateProcessing(single=f"{tokenizer.bos_token} $A", special_tokens=begin),
        ]
    )
    return tokenizer


def _missing_packages_hint(folder: Path) -> str:
    """Return a hint about the packages that this folder's tokenizer needs; empty if installed."""
    for form, readers in _READERS.items():
        found = next(folder.glob(form), None)
        missing = [package for module, package in readers.items() if not _is_installed(module)]
        if found is not None and missing:
            return (
                f"{found.name} is read by {' and '.join(missing)}, not installed here; pip install "
                f"{' '.join(missing)}, or save the model's tokenizer.json into the folder"
            )
    return ""


def _is_installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
