"""Text weights: a wrapper's text weights, renamed for the text-only class. Torch-free."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.text_backbones import CROSS_LAYERS
from yaie.models.files.checkpoint import Checkpoint, StoredTensor, summarize

# Names of text tensors, as wrappers were saved over the years:
#   model.language_model.layers.0...   language_model.model.layers.0...   model.layers.0...
_TEXT = re.compile(
    r"(?:thinker\.)?"
    r"(?:(?:model\.)?(?:language_model|text_model)\.(?:model\.)?(?P<inner>.+)"
    r"|(?P<own>lm_head\..+|model\.(?:embed_tokens|layers|norm)\..+))"
)
HEAD = "lm_head."
_BLOCKS = "blocks."
_EMBEDDING = "model.embed_tokens.weight"
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)")
_SCALES = ("_scale_inv", "_scale")  # scales of fp8 experts
_JOINED_EXPERTS = re.compile(r"model\.layers\.\d+\.mlp\.experts\.(gate_up_proj|down_proj)")


# Published names of models whose class is another family's, and the names in that class.
_RENAMINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "exaone": (
        (r"^transformer\.wte\.", "model.embed_tokens."),
        (r"^transformer\.h\.", "model.layers."),
        (r"^transformer\.ln_f\.", "model.norm."),
        (r"\.attn\.attention\.out_proj\.", ".self_attn.o_proj."),
        (r"\.attn\.attention\.", ".self_attn."),
        (r"\.ln_1\.", ".input_layernorm."),
        (r"\.ln_2\.", ".post_attention_layernorm."),
        (r"\.mlp\.c_fc_0\.", ".mlp.gate_proj."),
        (r"\.mlp\.c_fc_1\.", ".mlp.up_proj."),
        (r"\.mlp\.c_proj\.", ".mlp.down_proj."),
    ),
    "sarvam_moe": (
        (r"^model\.word_embeddings\.", "model.embed_tokens."),
        (r"\.attention\.dense\.", ".self_attn.o_proj."),
        (r"\.attention\.query_layernorm\.", ".self_attn.q_norm."),
        (r"\.attention\.key_layernorm\.", ".self_attn.k_norm."),
        (r"\.attention\.", ".self_attn."),
        (r"\.mlp\.gate\.expert_bias$", ".mlp.gate.e_score_correction_bias"),
    ),
}
_JOINED_QKV = ".query_key_value."


def renamed_checkpoint(
    folder: Path, checkpoint: Checkpoint, config: Mapping[str, Any]
) -> Checkpoint:
    """Return a renamed model's weights under the names of its class; others' as they are.

    Raises `ModelUnsupported` for joined projections that cannot be parted.
    """
    renamings = _RENAMINGS.get(config.get("model_type") or "")
    if renamings is None:
        return checkpoint
    tensors: dict[str, StoredTensor] = {}
    for stored, tensor in checkpoint.tensors.items():
        name = stored
        for pattern, new in renamings:
            name = re.sub(pattern, new, name)
        renamed = replace(tensor, name=name, stored_as=stored)
        if _JOINED_QKV in name:
            tensors |= {part.name: part for part in _part_projections(folder, renamed, config)}
        else:
            tensors[name] = renamed
    return summarize(folder, checkpoint.files, tensors)


def _part_projections(
    folder: Path, tensor: StoredTensor, config: Mapping[str, Any]
) -> Iterator[StoredTensor]:
    """Yield the projections of queries, keys and values, whose rows are one tensor."""
    heads = [config.get(f"num_{name}_heads") for name in ("attention", "key_value", "key_value")]
    numbers = [each for each in heads if isinstance(each, int)]
    rows = tensor.shape[0] if tensor.shape else 0
    is_known = tensor.name.endswith((".weight", ".bias")) and len(numbers) == len(heads)
    if not is_known or rows % sum(numbers):
        raise ModelUnsupported(
            f"{folder} has joined projections in a form that is not supported: "
            f"{tensor.name_in_file} of {rows} rows; use a checkpoint in bfloat16"
        )
    width, first = rows // sum(numbers), 0
    for letter, number in zip("qkv", numbers, strict=True):
        name = tensor.name.replace(_JOINED_QKV, f".{letter}_proj.")
        size = number * width
        shape = (size, *tensor.shape[1:])
        yield replace(tensor, name=name, shape=shape, first_row=first, num_rows=size)
        first += size


def text_checkpoint(folder: Path, checkpoint: Checkpoint, config: Mapping[str, Any]) -> Checkpoint:
    """Return a wrapper checkpoint's text weights, with only their files and sizes.

    `config` is the text config. Raises `ModelUnsupported` if there is none.
    """
    tensors: dict[str, StoredTensor] = {}
    cross = config.get(CROSS_LAYERS) or ()
    for stored, tensor in checkpoint.tensors.items():
        name = text_name(stored)
        if name is not None and cross:
            name = _renumber(name, cross)
        if name is not None:
            tensors[name] = replace(tensor, name=name, stored_as=stored)
    if not tensors:
        raise ModelUnsupported(
            f"{folder} has no text model: its {len(checkpoint.tensors)} tensors lack a name such "
            f"as model.language_model.norm.weight; download it again",
            code="model_damaged",
        )
    used = {tensor.file for tensor in tensors.values()}
    files = tuple(file for file in checkpoint.files if file in used)
    return summarize(folder, files, _in_shape(tensors, config))


def text_name(stored: str) -> str | None:
    """Return a text tensor's name in the text-only class; None for other tensors."""
    found = _TEXT.fullmatch(stored)
    if found is None:
        return None
    inner = found["inner"]
    if inner is None:
        return found["own"]
    if inner.startswith(_BLOCKS):  # Kimi K2.5, saved by transformers
        inner = f"layers.{inner.removeprefix(_BLOCKS)}"
    return inner if inner.startswith(HEAD) else f"model.{inner}"


def _renumber(name: str, cross: list[int]) -> str | None:
    """Return a tensor's name without the layers for images; None for a tensor in these layers."""
    found = _LAYER.fullmatch(name)
    if found is None:
        return name
    layer = int(found[1])
    if layer in cross:
        return None
    return f"model.layers.{layer - sum(other < layer for other in cross)}.{found[2]}"


def _in_shape(
    tensors: dict[str, StoredTensor], config: Mapping[str, Any]
) -> dict[str, StoredTensor]:
    """Return the tensors in the text-only class's shapes.

    Llama 3.2 Vision has rows in its embedding for images; Qwen3-VL stores joined experts
    with the inputs first.
    """
    embedding, vocab_size = tensors.get(_EMBEDDING), config.get("vocab_size")
    if embedding is None or len(embedding.shape) != 2:
        return tensors
    rows, hidden = embedding.shape
    shaped = dict(tensors)
    if CROSS_LAYERS in config and isinstance(vocab_size, int) and vocab_size < rows:
        shaped[_EMBEDDING] = replace(embedding, shape=(vocab_size, hidden), num_rows=vocab_size)
    for name, tensor in tensors.items():
        found = _JOINED_EXPERTS.fullmatch(name)
        if found is None or len(tensor.shape) != 3:
            continue
        _, first, second = tensor.shape  # [E, 2I, H] and [E, H, I] in the text-only class
        wanted, other = (first, second) if found[1] == "down_proj" else (second, first)
        if wanted != hidden and other == hidden:
            for part in (name, *(f"{name}{suffix}" for suffix in _SCALES)):
                if part in tensors and len(tensors[part].shape) == 3:
                    shaped[part] = _transpose(tensors[part])
    return shaped


def _transpose(tensor: StoredTensor) -> StoredTensor:
    experts, first, second = tensor.shape
    return replace(tensor, shape=(experts, second, first), is_transposed=True)
