"""Tokenizers of GGUF files against those that they were made of, as publishers build them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from yaie.models.files.gguf.header import GgufFile
from yaie.models.files.gguf.hf_tokenizer import read_vocabulary

_ENDING = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_ENGLISH = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_ANY_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENGLISH}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENGLISH}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_V3 = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
# Patterns in the `tokenizer.json` of models whose files have the name; "digits" and "gpt2" stand
# for the library's own steps, "nfc" for its normalizer.
PUBLISHED: dict[str, tuple[str, ...]] = {
    "gpt-2": ("gpt2",),
    "exaone4": ("gpt2",),
    "smollm": ("digits", "gpt2"),
    "command-r": ("nfc", "digits", "gpt2"),
    "llama-bpe": (rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}{{1,3}}|{_ENDING}",),
    "chatglm-bpe": (rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}{{1,3}}|{_ENDING}",),
    "glm4": (rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}{{1,3}}|{_ENDING}",),
    "qwen2": ("nfc", rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}|{_ENDING}"),
    "hunyuan": (rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}|{_ENDING}",),
    "gpt-4o": (_O200K,),
    "minimax-m2": (_O200K,),
    "tekken": (_O200K.replace(f"{_ENGLISH}?", "").replace("{1,3}", ""),),
    "kimi-k2": (
        r"\p{Han}+|"
        + _O200K.replace(f"[{_UPPER}]", f"[{_UPPER}&&[^\\p{{Han}}]]")
        .replace(f"[{_LOWER}]", f"[{_LOWER}&&[^\\p{{Han}}]]")
        .replace(r"[\r\n/]*", r"[\r\n]*"),
    ),
    "deepseek-v3": _V3,
    "hunyuan-dense": _V3,
    "deepseek-coder": (
        r"[\r\n]",
        r"\s?\p{L}+",
        r"\s?\p{P}+",
        r"[一-龥ࠀ-一가-퟿]+",
        r"\p{N}",
    ),
    "seed-coder": (
        rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "bailingmoe": (
        rf"{_ENGLISH}|{_ANY_WORD}|\p{{N}}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
}
_MERGES_ARE_SKIPPED = {"llama-bpe", "tekken", "glm4"}
TEXTS = [
    "It's 12345 o'clock, DON'T you'LL see?\n\n\n  Indented\ttabs  and   spaces ",
    "def f(x):\n    return x**2 + 3.14159  # größer als 10%\r\n\r\n",
    "Привет, мир! 你好，世界。こんにちは 안녕하세요 ສະບາຍດີ เมือง ١٢٣ Ⅳ ½ é é",
    "HTTPServer camelCase XMLHttpRequest iPhone15 C++17 ~/path/to/file.txt",
    "<|end|> 🙂🚀👩‍👩‍👧 ﬁ ŉ ß İ \u00a0\u2003\u200b $5.00 €1,234.56 #tag @name",
]


@cache
def original(name: str) -> Tokenizer:
    """Return a tokenizer with the published steps, trained on the texts."""
    options = {"ignore_merges": True} if name in _MERGES_ARE_SKIPPED else {}
    tokenizer = Tokenizer(models.BPE(**options))
    steps: list[Any] = []
    for step in PUBLISHED[name]:
        if step == "nfc":
            tokenizer.normalizer = normalizers.NFC()
        elif step == "digits":
            steps.append(pre_tokenizers.Digits(individual_digits=True))
        elif step != "gpt2":
            steps.append(pre_tokenizers.Split(Regex(step), "isolated"))
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex="gpt2" in PUBLISHED[name])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, plain])
    tokenizer.decoder = decoders.ByteLevel()
    _train(tokenizer, pre_tokenizers.ByteLevel.alphabet(), [])
    return tokenizer


@cache
def gemma4() -> Tokenizer:
    """Return a tokenizer of visible spaces, with bytes for unknown characters."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps)
    letters = sorted(set("".join(TEXTS[:2]).replace(" ", "▁")))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|\n+"), "isolated")
    _train(tokenizer, letters, [f"<0x{byte:02X}>" for byte in range(256)])
    return tokenizer


def _train(tokenizer: Tokenizer, alphabet: list[str], first: list[str]) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + len(first) + 300,
        limit_alphabet=len(alphabet),
        initial_alphabet=alphabet,
        special_tokens=["<unk>", *first],
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)


def from_file(pre: str, tokenizer: Tokenizer, kind: str) -> Tokenizer:
    """Return the tokenizer read from the metadata that a converter writes."""
    model = json.loads(tokenizer.to_str())["model"]
    texts = sorted(model["vocab"], key=model["vocab"].get)
    is_byte = [len(text) == 6 and text.startswith("<0x") for text in texts]
    entries = {
        "model": kind,
        "pre": pre,
        "tokens": texts,
        "token_type": [2, *(6 if each else 1 for each in is_byte[1:])],
        "scores": [0.0] * len(texts),
        "merges": [" ".join(merge) for merge in model["merges"]],
        "unknown_token_id": 0,
        "add_bos_token": False,
        "add_space_prefix": False,
    }
    metadata = {f"tokenizer.ggml.{key}": value for key, value in entries.items()}
    return read_vocabulary(GgufFile(Path("x.gguf"), metadata, {})).tokenizer


@cache
def read(name: str) -> Tokenizer:
    return from_file(name, original(name), "gpt2")


@pytest.mark.parametrize("name", PUBLISHED)
def test_mixed_texts_have_the_tokens_of_the_original(name: str) -> None:
    for text in TEXTS:
        found = read(name).encode(text)
        assert found.tokens == original(name).encode(text).tokens
        assert read(name).decode(found.ids) == original(name).decode(found.ids)


@given(
    name=st.sampled_from(sorted(PUBLISHED)),
    parts=st.lists(
        st.sampled_from(
            ["a", "Zz", "'S", " ", "\n", "\r\n", "1", "42", "中", "か", "é", ".", "/", "İ"]
        )
        | st.characters(exclude_categories=["Cs"]),
        max_size=24,
    ),
)
def test_any_text_has_the_tokens_of_the_original(name: str, parts: list[str]) -> None:
    text = "".join(parts)
    assert read(name).encode(text).ids == original(name).encode(text).ids


def test_gemma4_merges_in_the_stated_order() -> None:
    found = from_file("gemma4", gemma4(), "gemma4")
    for text in TEXTS:
        assert found.encode(text).tokens == gemma4().encode(text).tokens
        assert found.decode(found.encode(text).ids) == text
