"""Random-weight models in the shapes of real ones (`python -m benchmarks models`).

Speed depends on shapes and not on learned values, so no download is needed: the tokenizer is
trained on Python's own sources and the weights are random. The vocabulary is smaller than the
originals', so that a model fits small machines; a model's name tells its shape.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaie.base.errors import InvalidRequest

VOCABULARY = 32_768
_CONTEXT = 16_384
_CORPUS_BYTES = 30_000_000
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder's dimensions, in transformers' words, and the class of its config."""

    config: str
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float


MODEL_SHAPES: dict[str, ModelShape] = {
    "qwen3-0.6b-shape": ModelShape("Qwen3Config", 1024, 3072, 28, 16, 8, 128, 1e-6),
    "smollm2-135m-shape": ModelShape("LlamaConfig", 576, 1536, 30, 9, 3, 64, 1e-5),
}


def write_models(
    folder: Path,
    names: list[str] | None = None,
    *,
    vocabulary: int = VOCABULARY,
    tell: Callable[[str], None] = print,
) -> list[Path]:
    """Write models with one tokenizer, each as a Hugging Face folder in bfloat16.

    Existing models stay as they are. Raises `InvalidRequest` for an unknown name.
    """
    wanted = names or list(MODEL_SHAPES)
    for name in wanted:
        if name not in MODEL_SHAPES:
            raise InvalidRequest(f"there is no shape {name!r}; there are {', '.join(MODEL_SHAPES)}")
    tokenizer: Any = None
    written = []
    for name in wanted:
        path = folder / name
        written.append(path)
        if (path / "model.safetensors").is_file():
            tell(f"{path} is there already")
            continue
        if tokenizer is None:
            tell(f"training a tokenizer of {vocabulary:,} tokens")
            tokenizer = train_tokenizer(vocabulary)
        num_parameters = write_model(path, MODEL_SHAPES[name], tokenizer)
        tell(f"{path}: {num_parameters / 1e6:.0f} M parameters")
    return written


def write_model(path: Path, shape: ModelShape, tokenizer: Any) -> int:
    """Write one model with random, reproducible weights; return the number of parameters."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    config = getattr(transformers, shape.config)(
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        rms_norm_eps=shape.rms_norm_eps,
        vocab_size=len(tokenizer),
        max_position_embeddings=_CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return sum(parameter.numel() for parameter in model.parameters())


def train_tokenizer(vocabulary: int) -> Any:
    """Train a byte-level BPE with GPT-2's splitting; return it with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_sources(vocabulary), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|endoftext|>", "<|im_start|>"],
        clean_up_tokenization_spaces=False,
        model_max_length=_CONTEXT,
    )
    fast.chat_template = _TEMPLATE
    return fast


def _sources(vocabulary: int) -> Iterator[str]:
    """Yield Python's library and then installed packages, as far as the vocabulary needs."""
    left = min(_CORPUS_BYTES, vocabulary * 1_000)
    paths = sysconfig.get_paths()
    for root in (paths["stdlib"], paths["purelib"]):
        for path in sorted(Path(root).rglob("*.py")):
            if "site-packages" in path.parts and root == paths["stdlib"]:
                continue
            text = path.read_text(encoding="utf-8", errors="ignore")[:200_000]
            left -= len(text)
            yield text
            if left <= 0:
                return
