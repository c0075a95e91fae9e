"""A tiny embedding model as sentence-transformers stores it, and its plain twin."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

QUERY = "Instruct: find the tree\nQuery:"
_MODULES = ("Transformer", "Pooling", "Normalize")


def make_embedding_model(source: Path, folder: Path, pooling: str = "lasttoken") -> Path:
    """Copy a decoder and its tokenizer, and add the files of an embedding model.

    Its tokenizer ends each text with its end token, as that of Qwen3-Embedding does.
    """
    shutil.copytree(source, folder)
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(zip(_MODULES, ("", "1_Pooling", "2_N"), strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    names = ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    switches = {f"pooling_mode_{name}": pooling in name for name in names}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(switches))
    prompts = {"prompts": {"query": QUERY, "document": ""}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    end = next(each for each in tokenizer["added_tokens"] if each["id"] == 1)["content"]
    text, other = ({"Sequence": {"id": each, "type_id": 0}} for each in "AB")
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [text, {"SpecialToken": {"id": end, "type_id": 0}}],
        "pair": [text, other],
        "special_tokens": {end: {"id": end, "ids": [1], "tokens": [end]}},
    }
    path.write_text(json.dumps(tokenizer))
    return folder


def plain_states(folder: Path) -> Callable[[Sequence[int]], NDArray[np.float32]]:
    """Return transformers' hidden rows after the last norm for token ids: [tokens, hidden]."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def states(ids: Sequence[int]) -> NDArray[np.float32]:
        with torch.no_grad():
            found = model(torch.tensor([list(ids)])).last_hidden_state[0]
        rows: NDArray[np.float32] = found.numpy()
        return rows

    return states


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a vector with length 1."""
    return vector / np.linalg.norm(vector)
