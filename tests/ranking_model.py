"""Tiny rerankers, as they are published, and their plain twins."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

YES, NO = "yes", "no"
BEGIN = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
END = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
TASK = "Given a web search query, retrieve relevant passages that answer the query"

Score = Callable[[Sequence[int]], float]


def make_reranker(source: Path, folder: Path) -> Path:
    """Copy a Qwen3 whose tokenizer gets the tokens `yes` and `no`; the name makes it a reranker."""
    assert "reranker" in folder.name.lower()
    shutil.copytree(source, folder)
    add_words(folder, YES, NO)
    return folder


def add_words(folder: Path, *words: str) -> None:
    """Give a byte-level tokenizer one or two words as tokens, for bytes that UTF-8 lacks."""
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    for byte, word in zip("þÿ", words, strict=False):
        vocabulary[word] = vocabulary.pop(byte)
    path.write_text(json.dumps(tokenizer))


def make_classifier(source: Path, folder: Path, *, labels: int = 1) -> Path:
    """Write a decoder with a classification head, and its tokenizer."""
    import torch
    from transformers import AutoConfig, Qwen3ForSequenceClassification

    config = AutoConfig.from_pretrained(source)
    config.num_labels = labels
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = Qwen3ForSequenceClassification.from_pretrained(source, config=config)
        model.score.weight.data.normal_(0, 0.3)
    model.float().save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / name, folder / name)
    return folder


def plain_difference(folder: Path) -> Score:
    """Return transformers' probability of yes against no, after token ids."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    pair = [vocabulary[NO], vocabulary[YES]]

    def score(ids: Sequence[int]) -> float:
        with torch.no_grad():
            logits = model(torch.tensor([list(ids)])).logits[0, -1]
        return float(torch.softmax(logits[pair], dim=0)[1])

    return score


def plain_classifier(folder: Path) -> Score:
    """Return the sigmoid of transformers' one label for token ids."""
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()

    def score(ids: Sequence[int]) -> float:
        with torch.no_grad():
            return float(torch.sigmoid(model(torch.tensor([list(ids)])).logits[0, 0]))

    return score
