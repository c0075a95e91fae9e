"""Tiny random encoders with a tokenizer that marks texts and pairs, and their plain twins."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.text.small_tokenizers import write_byte_level
from tests.tiny_model import VOCAB_SIZE

_WEIGHTS = "model.safetensors"
FAMILIES = (
    *("Bert", "Roberta", "XLMRoberta", "ModernBert"),
    *("MPNet", "NomicBert", "DistilBert", "Albert"),
)
_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "pad_token_id": 2,
}
_OF_FAMILIES: dict[str, dict[str, Any]] = {
    "Bert": {"max_position_embeddings": 64},
    "Roberta": {"max_position_embeddings": 67, "type_vocab_size": 1},
    "XLMRoberta": {"max_position_embeddings": 67, "type_vocab_size": 1},
    "MPNet": {"max_position_embeddings": 66, "pad_token_id": 1},
    "NomicBert": {"max_position_embeddings": 64, "head_dim": 8},
    "DistilBert": {"max_position_embeddings": 64, "hidden_dim": 48},
    "Albert": {"max_position_embeddings": 64, "embedding_size": 24},
    "Gemma3Text": {
        "max_position_embeddings": 64,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "sliding_window": 8,
        "sliding_window_pattern": 2,
        "use_bidirectional_attention": True,
        "query_pre_attn_scalar": 8,
    },
    "ModernBert": {
        "max_position_embeddings": 64,
        "local_attention": 8,
        "bos_token_id": 0,
        "cls_token_id": 0,
        "eos_token_id": 1,
        "sep_token_id": 1,
    },
}


def write_encoder(folder: Path, family: str, kind: str = "Model", **settings: Any) -> Any:
    """Write an encoder into a folder, with its tokenizer; return transformers' model."""
    import torch
    import transformers

    config_class = getattr(transformers, f"{family}Config")
    config = config_class(**{**_SIZES, **_OF_FAMILIES[family], **settings})
    with torch.random.fork_rng():
        torch.manual_seed(11)
        model = getattr(transformers, f"{family}{kind}")(config).float().eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.normal_(0, 0.25)
    model.save_pretrained(folder)
    _mark_texts(write_byte_level(folder) / "tokenizer.json")
    return model


def add_pooling(folder: Path, pooling: str) -> Path:
    """Add the files of sentence-transformers that name a pooling."""
    steps = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{k}"} for path, k in steps]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    return folder


def add_dense(folder: Path, sizes: Sequence[tuple[int, int]]) -> Callable[[Any], Any]:
    """Add a linear layer and tanh after the pooling, for each size; return their function."""
    import torch
    from safetensors.torch import save_file

    modules = json.loads((folder / "modules.json").read_text())
    layers: list[torch.nn.Module] = []
    for number, (inputs, outputs) in enumerate(sizes, 2):
        place = folder / f"{number}_Dense"
        place.mkdir()
        linear = torch.nn.Linear(inputs, outputs, bias=number == 2)
        save_file({f"linear.{n}": p.data for n, p in linear.named_parameters()}, place / _WEIGHTS)
        config = {"in_features": inputs, "out_features": outputs, "bias": number == 2}
        function = "torch.nn.modules.activation.Tanh"
        (place / "config.json").write_text(json.dumps({**config, "activation_function": function}))
        kind = "sentence_transformers.models.Dense"
        modules.append({"path": place.name, "type": kind})
        layers += [linear, torch.nn.Tanh()]
    (folder / "modules.json").write_text(json.dumps(modules))
    return torch.nn.Sequential(*layers)


def plain_rows(model: Any) -> Callable[[Sequence[int]], NDArray[np.float32]]:
    """Return transformers' last hidden rows [tokens, hidden] of one text."""
    import torch

    def rows(ids: Sequence[int]) -> NDArray[np.float32]:
        fields = {}
        if model.config.model_type == "mpnet":  # the tests' [SEP] is its padding token
            fields["position_ids"] = torch.arange(2, 2 + len(ids))[None]
        with torch.no_grad():
            found: NDArray[np.float32] = model(torch.tensor([list(ids)]), **fields)[0][0].numpy()
        return found

    return rows


def _mark_texts(path: Path) -> None:
    """Have the tokenizer write [CLS] text [SEP], and [CLS] text [SEP] other [SEP] for pairs."""
    text = path.read_text().replace("<|im_start|>", "[CLS]").replace("<|im_end|>", "[SEP]")
    tokenizer = json.loads(text)

    def special(token: str, type_id: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    first = [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, special("[SEP]", 1)]
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": first,
        "pair": [*first, *second],
        "special_tokens": {
            name: {"id": name, "ids": [at], "tokens": [name]}
            for at, name in enumerate(("[CLS]", "[SEP]"))
        },
    }
    path.write_text(json.dumps(tokenizer))
