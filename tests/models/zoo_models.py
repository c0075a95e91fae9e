"""Models of the zoo as the loader loads them, and their executors, for tests of decoders."""

from __future__ import annotations

from pathlib import Path

from tests.conformance import zoo
from tests.conformance.case import save
from yaie.attention.reference import ReferenceBackend
from yaie.base.settings import EngineConfig
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.fused.fused_decoder import build_fused_decoder
from yaie.models.fused.operations import FusedOperations
from yaie.models.load.loader import load_model

CASES = {case.name: case for case in zoo.CASES}
RECOGNISED = [
    "llama",
    "llama-mha",
    "llama-tied",
    "llama-linear",
    "llama-llama3",
    "llama-yarn",
    "mistral",
    "mistral-window",
    "qwen2",
    "qwen3",
    "smollm3",
    "granite",
    "phi3",
    "seed-oss",
    "gemma",
    *("gemma2", "gemma3", "olmo2", "olmo3", "exaone4"),  # norms after, or four a layer
    *("qwen3-moe", "mixtral", "olmoe", "qwen2-moe", "glm4-moe", "gpt-oss"),  # experts
]
RECOGNISED_FOR_A_GPU = ["glm", "ernie4-5"]  # the kernel library rotates halves only


def load_case(name: str, folder: Path, **settings: object) -> LoadedModel:
    """Write a random model into `folder` and load it."""
    save(CASES[name], CASES[name].build(), folder)
    return load_model(EngineConfig(model=str(folder), num_slots=256, **settings))  # type: ignore[arg-type]


def executor_of(loaded: LoadedModel) -> TransformersExecutor:
    backend = ReferenceBackend()
    memory = PoolMemory(loaded, None, backend.pool_layout(loaded.device))
    return TransformersExecutor(loaded, backend, memory)


def fuse(
    executor: TransformersExecutor, operations: FusedOperations, *, adapter_pages: int = 0
) -> None:
    decoder = build_fused_decoder(executor.loaded, operations, adapter_pages=adapter_pages)
    if decoder is not None:
        executor.fuse(decoder)
