"""Forms in which popular checkpoints run on a machine of 24 GiB, and from GGUF files.

Parameters are those of a row's smallest checkpoint as its publisher states them. A form's bytes
follow from them, its quality from docs/guides/quantization.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.popular import POPULAR, Popular
from tests.models.gguf_twin_list import TWINS
from yaie.models.architecture.support import check_supported
from yaie.models.files.encoder_classes import find_encoder

GIB = 1024**3
WEIGHTS_IN_24_GIB = 22 * GIB  # the rest is for the KV cache, activations and the system

# Billions of parameters of the smallest checkpoint of each row.
_BILLIONS = {
    "Qwen3-0.6B": 0.6,
    "Qwen3-Embedding-0.6B": 0.6,
    "Qwen3-4B-2507": 4.0,
    "Qwen3-8B": 8.2,
    "Qwen3-30B-A3B-2507": 30.5,
    "Qwen3-Coder-30B-A3B": 30.5,
    "Qwen2.5-1.5B, 7B, Coder": 1.5,
    "Qwen2.5-VL-7B": 7.6,
    "Qwen3-VL-2B, 8B": 1.7,
    "gemma-3-270m, 1b": 0.27,
    "gemma-3-4b, 12b, 27b": 3.9,
    "gemma-3n-E2B, E4B": 4.5,
    "gemma-4-E2B, E4B": 4.6,
    "gemma-4-12B": 12.0,
    "gemma-4-26B-A4B": 25.2,
    "gemma-4-31B": 30.7,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 117.0,
    "Llama-3.1-8B": 8.0,
    "Llama-3.2-1B, 3B": 1.2,
    "Llama-3.3-70B": 70.6,
    "Muse-Glimmer-30B": 30.0,
    "DeepSeek-R1-Distill-Qwen, Llama": 1.5,
    "DeepSeek-V3, R1": 671.0,
    "Mistral-7B-v0.3, Mistral-Nemo": 7.2,
    "Mistral-Small-3.2-24B": 23.6,
    "Ministral-3-3B, 8B, 14B": 3.4,
    "Devstral-Small-2-24B": 23.6,
    "Phi-4, Phi-4-mini": 3.8,
    "GLM-4.5-Air": 106.0,
    "GLM-4.7-Flash": 30.0,
    "Kimi-K2.5, K2.6": 1000.0,
    "MiniMax-M2.5": 229.0,
    "SmolLM3-3B, SmolLM2": 0.135,
    "Olmo-3-7B": 7.3,
    "Hy3": 295.0,
    "Qwen3-Coder-Next, Qwen3-Next-80B-A3B": 80.0,
    "Qwen3.5-0.8B, 4B, 9B": 0.8,
    "Qwen3.5-35B-A3B, Qwen3.6-35B-A3B": 35.0,
    "Qwen3.6-27B, Qwen3.8-27B": 27.0,
    "Granite-4.0-h-micro, tiny": 3.2,
    "LFM2.5-1.2B, LFM2-8B-A1B": 1.2,
    "Nemotron-3-Nano-30B-A3B": 31.6,
    "bge-m3 in safetensors": 0.57,
    "all-MiniLM-L6-v2": 0.023,
    "bge-reranker-v2-m3, Qwen3-Reranker": 0.57,
}


@dataclass(frozen=True)
class Form:
    """A form of the weights: bits for each, and perplexity over the published weights'."""

    name: str
    bits: float
    loss: str

    def nbytes(self, popular: Popular) -> float:
        """Return the bytes of a row's smallest checkpoint."""
        return _BILLIONS[popular.name] * 1e9 * self.bits / 8


PLAIN = Form("as published", 16.0, "none")
_AS_STORED = {
    "fp8": Form("as published", 8.2, "none"),
    "mxfp4": Form("as published", 5.3, "none"),  # attention and embeddings are plain
    "int4": Form("as published", 4.7, "none"),
}
INT8 = Form("`int8`", 8.2, "0.2 %")
INT4 = Form("`int4`", 5.3, "5 %")
Q4_K_M = Form("a Q4_K_M file", 4.9, "not measured")

# Their files stay in blocks. The loss of rounding is not measured with recurrent layers.
_RECURRENT_IN_BLOCKS = {"Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "Lfm2ForCausalLM"}
_READ_FROM_GGUF = {twin.as_case().architecture for twin in TWINS}


def best_form(popular: Popular) -> Form | None:
    """Return the form of least loss that fits 24 GiB; None if none does."""
    if find_encoder(popular.config) is not None:  # published in float32
        return Form("as published", 32.0, "none")
    stored = _AS_STORED.get(popular.form, PLAIN)
    entry = check_supported(popular.config)
    rounded: tuple[Form, ...] = (INT8, INT4)
    if entry.recurrent:
        rounded = (Q4_K_M,) if entry.architecture in _RECURRENT_IN_BLOCKS else ()
    fitting = (f for f in (stored, *rounded) if f.nbytes(popular) <= WEIGHTS_IN_24_GIB)
    return next(fitting, None)


def is_read_from_gguf(popular: Popular) -> bool:
    """Return True if a GGUF file of the class that computes this checkpoint has a tested twin.

    The pooling of an embedding model is read from its folder only.
    """
    if popular.needs:
        return False
    return check_supported(popular.config).architecture in _READ_FROM_GGUF


def cells(popular: Popular) -> str:
    """Return the cells about 24 GiB and about GGUF."""
    if popular.refusal:
        return "| |"
    form = best_form(popular)
    size = "no"
    if form is not None:
        size = f"{form.name}, {form.nbytes(popular) / 1e9:.1f} GB, loss {form.loss}"
    return f"{size} | {'yes' if is_read_from_gguf(popular) else 'no'} |"


def count_forms() -> str:
    """Return the sentence with the other two numbers above the table."""
    served = [each for each in POPULAR if not each.refusal]
    fitting = sum(best_form(each) is not None for each in served)
    read = sum(is_read_from_gguf(each) for each in served)
    return f"**{fitting} run in 24 GiB, and {read} from a GGUF file.**"
