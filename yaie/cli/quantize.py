"""`yaie quantize`: writes a quantized checkpoint once, for fast starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli import terminal
from yaie.cli.options import ENGINE_FLAGS, settings_options

_FLAGS = (
    "calibrate",
    "dtype",
    "max_model_len",
    "threads",
    "memory_bytes",
    "revision",
)


@settings_options([flag for flag in ENGINE_FLAGS if flag.name in _FLAGS])
def quantize(
    model: Annotated[
        str, typer.Argument(help="folder, GGUF file or Hugging Face repository", metavar="MODEL")
    ],
    out: Annotated[Path, typer.Argument(help="folder to create", metavar="OUT")],
    *,
    quantization: Annotated[str, typer.Option(help="int8 or int4", metavar="TEXT")] = "int4",
    uniform: Annotated[
        bool,
        typer.Option(
            "--uniform", help="quantize value projections to int4 too, as vLLM and SGLang require"
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    settings: dict[str, Any],
) -> None:
    """Quantize a model once and write it as a compressed-tensors checkpoint.

    The checkpoint has the same weights as --quantization at load; later starts skip the
    calibration.
    """
    from yaie.base.settings import load_settings
    from yaie.models.load.quantized_copy import write_quantized_copy

    given = {**settings, "model": model, "quantization": quantization}
    config = load_settings(**given).engine_config()
    terminal.note(f"quantizing {config.source} to {config.quantization} …")
    folder = write_quantized_copy(config, out, is_uniform=uniform)
    nbytes = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if as_json:
        found = {"folder": str(folder), "quantization": config.quantization, "bytes": nbytes}
        print(json.dumps(found))
    else:
        print(f"{folder}: {config.quantization}, {nbytes / 2**20:,.1f} MiB of weights")
        terminal.note(f'try it: yaie -m {folder} "…"')
