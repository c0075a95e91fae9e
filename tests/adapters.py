"""LoRA adapters in PEFT's files for tests, and the same merged into a model's weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

LAYERS = (
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
)  # fmt: skip


def write_adapter(
    folder: Path,
    model: torch.nn.Module,
    *,
    seed: int,
    rank: int = 4,
    layers: Sequence[str] = LAYERS,
    size: float = 0.2,
    **config: Any,
) -> Path:
    """Write a random adapter for the linear layers of `model` whose names end with `layers`."""
    random = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, module in model.named_modules():
        if name.endswith(tuple(layers)):
            outputs, inputs = module.out_features, module.in_features
            for part, shape in (("A", (rank, inputs)), ("B", (outputs, rank))):
                tensor = size * torch.randn(shape, generator=random)
                tensors[f"base_model.model.{name}.lora_{part}.weight"] = tensor
    folder.mkdir(parents=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "bias": "none"}
    targets = sorted({name.rpartition(".")[2] for name in layers})
    written = {**settings, "target_modules": targets, "base_model_name_or_path": "tiny", **config}
    (folder / "adapter_config.json").write_text(json.dumps(written))
    return folder


def merge(model: torch.nn.Module, folder: Path, scale: float) -> None:
    """Add an adapter to a model's weights: W + scale * B A."""
    from safetensors.torch import load_file

    tensors = load_file(folder / "adapter_model.safetensors")
    for name, module in model.named_modules():
        down = tensors.get(f"base_model.model.{name}.lora_A.weight")
        if down is not None:
            up = tensors[f"base_model.model.{name}.lora_B.weight"]
            with torch.no_grad():
                module.weight += scale * up @ down


def greedy(model: torch.nn.Module, prompt: Iterable[int], count: int) -> list[int]:
    """Return the most likely continuation, computed without a cache."""
    ids = list(prompt)
    start = len(ids)
    with torch.no_grad():
        for _ in range(count):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[start:]
