"""Tokenizers small enough to train in a test: byte-level BPE and SentencePiece-like BPE."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TEXT = [
    "The tree is the cache, the batch and the plan.",
    "A quick brown fox jumps over the lazy dog; 0123456789.",
    "Grüße aus Köln, ça va? Привет мир. 你好，世界。 🙂🚀👩‍👩‍👧 naïve café",
    "<p>stop</p> END \n\n end of text ### User: Assistant:",
]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
CHAT_TEMPLATE = (
    "{%- if tools %}{{ '<|im_start|>system\nTools: ' + (tools | tojson) + '<|im_end|>\n' }}"
    "{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'function' %}{{ raise_exception('no function role here') }}{% endif %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    "{%- for call in message.tool_calls or [] %}"
    "{{ call.function.name + ' ' + call.function.arguments.items() | list | string }}"
    "{%- endfor %}"
    "{{ '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    "{%- if shout %}{{ shout | upper }}{% endif %}"
)


def write_byte_level(path: Path, *, chat_template: str | None = CHAT_TEMPLATE) -> Path:
    """A byte-level BPE folder, as GPT-2, Llama 3 and Qwen have."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return _write(path, tokenizer, chat_template)


def write_sentencepiece_like(path: Path) -> Path:
    """A BPE folder with byte fallback and word-start marks, as Llama 2 and Gemma have."""
    vocab = {token: place for place, token in enumerate([*SPECIAL, "<unk>"])}
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    for char in sorted(set("".join(TEXT[:2])) | {"▁"}):
        vocab.setdefault(char, len(vocab))
    merges = []
    for left, right in (("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "i"), ("▁i", "s")):
        vocab.setdefault(left + right, len(vocab))
        merges.append((left, right))
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>")
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return _write(path, tokenizer, CHAT_TEMPLATE)


def _write(path: Path, tokenizer: Tokenizer, chat_template: str | None) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "clean_up_tokenization_spaces": False,
    }
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    if chat_template is not None:
        (path / "chat_template.jinja").write_text(chat_template)
    return path
