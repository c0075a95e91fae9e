"""The demonstration model that ships with the package, served under the name `builtin`.

The folder is an ordinary Hugging Face model folder (see its README.md), loaded like any other
model; this module has its path. `training/builtin` of the repository makes it.
"""

from pathlib import Path

BUILTIN_MODEL_DIR: Path = Path(__file__).resolve().parent
"""Folder with config.json, tokenizer.json, chat_template.jinja and model.safetensors."""
