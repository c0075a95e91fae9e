"""Pre-tokenizers of byte-level BPE: how a text is cut before its pieces are merged. Torch-free.

A GGUF file holds the name alone. With a wrong name, numbers and spaces become other tokens than in
training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tokenizers import Regex, normalizers, pre_tokenizers

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_LLAMA3 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}|{_REST}"
_QWEN2 = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}|{_REST}"
_QWEN35 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _by_case(digits: str, *, contracted: str = "", slash: str = "/", but: str = "") -> str:
    """Return a pattern that cuts words where small letters follow capitals, as tiktoken's do."""
    upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]"
    lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{but}]"
    before = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{before}{upper}*{lower}+{contracted}|{before}{upper}+{lower}*{contracted}|{digits}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n{slash}]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


_TEKKEN = _by_case(r"\p{N}")
_GPT4O = _by_case(r"\p{N}{1,3}", contracted=f"{_CONTRACTIONS}?")
_KIMI = r"\p{Han}+|" + _by_case(
    r"\p{N}{1,3}", contracted=f"{_CONTRACTIONS}?", slash="", but=r"&&[^\p{Han}]"
)
_BAILING = (
    rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
_SEED = rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"
# Letters with an upper or lower case, of the Unicode version of that time.
_CASED = (
    r"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-"
    r"ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-"
    r"ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
_DEEPSEEK_LLM = (
    r"[\r\n]",
    rf"\s?[{_CASED}]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
    r"\p{N}+",
)
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}")
_DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreTokenizer:
    """A pre-tokenizer, and the settings that llama.cpp derives from its name."""

    patterns: tuple[str, ...] = ()  # of pieces, one after the other; none: GPT-2's
    splits_digits: bool = False  # each digit is a piece, before GPT-2's pattern is applied
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
        steps += [pre_tokenizers.Split(Regex(each), "isolated") for each in self.patterns]
        bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not self.patterns)
        return pre_tokenizers.Sequence([*steps, bytes_of])


_GPT2_CUT = PreTokenizer()
_DIGITS = PreTokenizer(splits_digits=True)
_LLAMA3_CUT = PreTokenizer(patterns=(_LLAMA3,))
_LLAMA_BPE = replace(_LLAMA3_CUT, ignores_merges=True, adds_bos=True)
_QWEN2_CUT = PreTokenizer(patterns=(_QWEN2,))
_GPT4O_CUT = PreTokenizer(patterns=(_GPT4O,))
_DEEPSEEK_V3_CUT = PreTokenizer(patterns=_DEEPSEEK_V3)
_BAILING_CUT = PreTokenizer(patterns=(_BAILING,))

# By the name in `tokenizer.ggml.pre`.
PRE_TOKENIZERS = {
    **dict.fromkeys(
        ("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "mellum"), _GPT2_CUT
    ),
    **dict.fromkeys(("granite-docling", "gigachat", "a.x-4.0", "modern-bert"), _GPT2_CUT),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"), _DIGITS
    ),
    "command-r": replace(_DIGITS, composes=True),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
        _LLAMA_BPE,
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe", "chatglm-bpe"), _LLAMA3_CUT),
    **dict.fromkeys(("glm4", "glm5"), replace(_LLAMA3_CUT, ignores_merges=True)),
    "qwen2": replace(_QWEN2_CUT, composes=True),
    **dict.fromkeys(
        ("deepseek-r1-qwen", "megrez", "hunyuan", "solar-open", "stablelm2", "grok-2"), _QWEN2_CUT
    ),
    "qwen35": PreTokenizer(patterns=(_QWEN35,), composes=True),
    "tekken": PreTokenizer(patterns=(_TEKKEN,), ignores_merges=True, adds_bos=True),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "minimax-m2"), _GPT4O_CUT),
    "kimi-k2": PreTokenizer(patterns=(_KIMI,)),
    "deepseek-llm": PreTokenizer(patterns=_DEEPSEEK_LLM),
    "deepseek-coder": PreTokenizer(patterns=_DEEPSEEK_CODER),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"), _DEEPSEEK_V3_CUT),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), _BAILING_CUT),
    "seed-coder": PreTokenizer(patterns=(_SEED,)),
}
