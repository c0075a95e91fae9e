"""Random-weight models in the full shapes of real ones, vocabulary included; written in seconds.

Every layer holds the same numbers: speed depends on shapes alone, and an 8B model is written as
fast as the disk takes it.
"""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.shapes import train_tokenizer

if TYPE_CHECKING:
    import torch

_TOKENIZER_VOCABULARY = 512  # prompts are token ids, so the tokenizer may be small
_REST = "rest.safetensors"  # what belongs to no layer
_WRITERS = 4
_LAYER = re.compile(r"\.layers\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class FullShape:
    """The class of a model's config, and the settings that differ from its defaults."""

    config: str
    settings: dict[str, Any]


SHAPES: dict[str, FullShape] = {
    "qwen3-0.6b": FullShape(
        "Qwen3Config",
        {
            "vocab_size": 151_936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40_960,
            "tie_word_embeddings": True,
        },
    ),
    "llama-3.1-8b": FullShape(
        "LlamaConfig",
        {
            "vocab_size": 128_256,
            "hidden_size": 4096,
            "intermediate_size": 14_336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131_072,
            "tie_word_embeddings": False,
        },
    ),
    "tiny": FullShape(
        "Qwen3Config",
        {
            "vocab_size": 1024,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 128,  # as the others': FlashInfer computes few widths
            "max_position_embeddings": 4096,
            "tie_word_embeddings": True,
        },
    ),
}


def write_shape(folder: Path, name: str) -> Path:
    """Write one model of `SHAPES` as a Hugging Face folder in bfloat16; keep an existing one."""
    import torch
    import transformers
    from safetensors.torch import save_file

    path = folder / name
    index = path / "model.safetensors.index.json"
    if index.is_file():
        return path
    path.mkdir(parents=True, exist_ok=True)
    shape = SHAPES[name]
    shutil.copytree(_tokenizer_folder(folder), path, dirs_exist_ok=True)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(path)
    config = getattr(transformers, shape.config)(
        **shape.settings, bos_token_id=None, eos_token_id=tokenizer.eos_token_id
    )
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    config.architectures = [type(model).__name__]
    shards: dict[str, dict[str, torch.Tensor]] = {}
    numbers: dict[tuple[int, ...], torch.Tensor] = {}
    for parameter_name, parameter in model.named_parameters():
        layer = _LAYER.search(parameter_name)
        shard = f"layer-{layer[1]}.safetensors" if layer else _REST
        tensor = _numbers(tuple(parameter.shape), numbers)
        shards.setdefault(shard, {})[parameter_name] = tensor
    layers = [shard for shard in shards if shard != _REST]
    for shard in (_REST, layers[0]):
        # One storage may not have two names in a file.
        save_file({key: value.clone() for key, value in shards[shard].items()}, path / shard)
    _copy_layer(path / layers[0], [path / shard for shard in layers[1:]])
    config.save_pretrained(path)
    weight_map = {key: shard for shard, tensors in shards.items() for key in tensors}
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), encoding="utf-8")
    return path


def _copy_layer(first: Path, others: list[Path]) -> None:
    """Write the first layer's file under the names of the other layers.

    A file is the length of its header, the header with the names, and the numbers. Only the header
    differs, so that an 8B model is written as fast as memory is copied.
    """
    content = memoryview(first.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    header = bytes(content[8:begin]).decode()

    def write(path: Path) -> None:
        renamed = header.replace(".layers.0.", f".layers.{path.stem.removeprefix('layer-')}.")
        head = renamed.rstrip().encode()
        head += b" " * (-len(head) % 8)  # numbers are aligned
        with path.open("wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            file.write(content[begin:])

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write, others))


def _tokenizer_folder(folder: Path) -> Path:
    """Train one tokenizer for all shapes."""
    path = folder / "tokenizer"
    if not path.is_dir():
        train_tokenizer(_TOKENIZER_VOCABULARY).save_pretrained(path)
    return path


def _numbers(shape: tuple[int, ...], known: dict[tuple[int, ...], torch.Tensor]) -> torch.Tensor:
    """Return ones for a norm, else random numbers: the same for every tensor of a shape."""
    import torch

    if len(shape) == 1:
        return torch.ones(shape, dtype=torch.bfloat16)
    if shape not in known:
        generator = torch.Generator().manual_seed(len(known))
        known[shape] = torch.empty(shape, dtype=torch.bfloat16).normal_(
            std=0.02, generator=generator
        )
    return known[shape]
