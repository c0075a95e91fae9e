"""Small GGUF files for tests, written byte by byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tests.models.folders import SMALL
from yaie.models.files.gguf.tensor_kinds import KIND_NAMES

NUMBER_OF = {name: number for number, name in KIND_NAMES.items()}
BUILTIN = Path(__file__).resolve().parents[2] / "yaie" / "models" / "builtin"


@dataclass(frozen=True)
class U64:
    """A number stored in 64 bits instead of 32."""

    value: int


@dataclass(frozen=True)
class Stored:
    """A tensor as bytes of a kind."""

    kind: str
    shape: Sequence[int]  # rows first
    data: bytes


def packed_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def packed_value(value: Any) -> bytes:  # noqa: PLR0911
    """Return the type of a value, and its bytes."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, U64):
        return struct.pack("<IQ", 10, value.value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value) if value >= 0 else struct.pack("<Ii", 5, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + packed_text(value)
    if value and isinstance(value[0], str):
        start = struct.pack("<IIQ", 9, 8, len(value))
        return start + b"".join(map(packed_text, value))
    if all(isinstance(each, bool) for each in value):
        kind, form = 7, "?"
    else:
        kind, form = (5, "<i4") if all(isinstance(each, int) for each in value) else (6, "<f4")
    return struct.pack("<IIQ", 9, kind, len(value)) + np.array(value, form).tobytes()


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Stored | NDArray[np.float32]]
) -> Path:
    """Write a file; arrays become tensors of the kind F32."""
    alignment = metadata.get("general.alignment", 32)
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        header += packed_text(key) + packed_value(value)
    data = b""
    for name, given in tensors.items():
        stored = given
        if not isinstance(stored, Stored):
            stored = Stored("F32", given.shape, given.astype("<f4").tobytes())  # type: ignore[union-attr]
        header += packed_text(name) + struct.pack("<I", len(stored.shape))
        header += b"".join(struct.pack("<Q", size) for size in reversed(stored.shape))
        header += struct.pack("<IQ", NUMBER_OF[stored.kind], len(data))
        data += stored.data + bytes(-len(stored.data) % alignment)
    path.write_bytes(header + bytes(-len(header) % alignment) + data)
    return path


def vocabulary_metadata(size: int | None = None) -> dict[str, Any]:
    """Return the metadata of the built-in model's tokenizer, cut to its first tokens."""
    stored = json.loads((BUILTIN / "tokenizer.json").read_text())
    model = stored["model"]
    texts = sorted(model["vocab"], key=model["vocab"].get)
    added = {token["id"]: token for token in stored["added_tokens"]}
    for token_id, token in sorted(added.items()):
        if token_id >= len(texts):
            texts.append(token["content"])
    texts = texts[:size]
    types = [1] * len(texts)
    for token_id, token in added.items():
        if token_id < len(texts):
            types[token_id] = 3 if token["special"] else 4
    known = set(texts)
    pairs = [tuple(merge) for merge in model["merges"]]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [
            f"{left} {right}" for left, right in pairs if known >= {left, right, left + right}
        ],
        "tokenizer.ggml.eos_token_id": 2,
    }


def llama_metadata(name: str = "llama", **changes: Any) -> dict[str, Any]:
    """Return the metadata of the llama that `make_llama` writes; None removes an entry."""
    found = {
        "general.architecture": name,
        f"{name}.block_count": SMALL["num_hidden_layers"],
        f"{name}.context_length": SMALL["max_position_embeddings"],
        f"{name}.embedding_length": SMALL["hidden_size"],
        f"{name}.feed_forward_length": SMALL["intermediate_size"],
        f"{name}.attention.head_count": SMALL["num_attention_heads"],
        f"{name}.attention.head_count_kv": SMALL["num_key_value_heads"],
        f"{name}.attention.layer_norm_rms_epsilon": 1e-6,
        **changes,
    }
    return {key: value for key, value in found.items() if value is not None}


_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def tensors_of(model: Any, *, permutes: bool) -> dict[str, NDArray[np.float32]]:
    """Return a model's tensors by their names in GGUF, with q and k in llama.cpp's order."""
    config = model.config
    found: dict[str, NDArray[np.float32]] = {}
    for name, tensor in model.state_dict().items():
        values: NDArray[np.float32] = tensor.detach().to(torch.float32).numpy()
        heads = {
            "self_attn.q_proj": config.num_attention_heads,
            "self_attn.k_proj": config.num_key_value_heads,
        }
        if name.startswith("model.layers."):
            _, _, layer, rest = name.split(".", 3)
            module, _, part = rest.rpartition(".")
            if permutes and module in heads:
                shape = values.shape
                halves = values.reshape(heads[module], 2, -1, *shape[1:])
                values = halves.swapaxes(1, 2).reshape(shape)
            found[f"blk.{layer}.{_NAMES[module]}.{part}"] = values
        elif name == "model.embed_tokens.weight":
            found["token_embd.weight"] = values
        elif name == "model.norm.weight":
            found["output_norm.weight"] = values
        elif not config.tie_word_embeddings:
            found["output.weight"] = values
    return found
