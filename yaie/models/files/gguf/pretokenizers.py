"""Pre-tokenizers of byte-level BPE: how a text is cut before its pieces are merged. Torch-free.

A GGUF file holds the name alone. With a wrong name, numbers and spaces become other tokens than in
training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokenizers import Regex, normalizers, pre_tokenizers

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_LLAMA3 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}|{_REST}"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}|{_REST}"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*"
    rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreTokenizer:
    """A pre-tokenizer, and the settings that llama.cpp derives from its name."""

    pattern: str = ""  # of pieces; empty: GPT-2's
    splits_digits: bool = False  # each digit is a piece, before the pattern is applied
    composes: bool = False  # characters are composed first (NFC)
    ignores_merges: bool = False  # a piece that is a token is not merged
    adds_bos: bool = False  # if the file does not say

    def normalizer(self) -> Any:
        """Return the normalizer of `tokenizers`, if there is one."""
        return normalizers.NFC() if self.composes else None

    def splitter(self) -> Any:
        """Return the pre-tokenizer of `tokenizers`."""
        steps: list[Any] = []
        if self.splits_digits:
            steps.append(pre_tokenizers.Digits(individual_digits=True))
        if self.pattern:
            steps.append(pre_tokenizers.Split(Regex(self.pattern), "isolated"))
        bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not self.pattern)
        return pre_tokenizers.Sequence([*steps, bytes_of])


_GPT2 = PreTokenizer()
_DIGITS = PreTokenizer(splits_digits=True)
_LLAMA_BPE = PreTokenizer(pattern=_LLAMA3, ignores_merges=True, adds_bos=True)

# By the name in `tokenizer.ggml.pre`.
PRE_TOKENIZERS = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "codeshell": _DIGITS,
    "llama-bpe": _LLAMA_BPE,
    "llama3": _LLAMA_BPE,
    "llama-v3": _LLAMA_BPE,
    "falcon3": _LLAMA_BPE,
    "qwen2": PreTokenizer(pattern=_QWEN2, composes=True),
    "deepseek-r1-qwen": PreTokenizer(pattern=_QWEN2),
    "tekken": PreTokenizer(pattern=_TEKKEN, ignores_merges=True, adds_bos=True),
}
