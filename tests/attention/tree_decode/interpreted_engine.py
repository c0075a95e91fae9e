"""A whole engine with interpreted kernels; `test_interpreted` runs it in a process of its own."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.engine.asking import ask, run, tokens_of
from yaie.attention.auto_backend import AutoBackend
from yaie.attention.backend import AttentionBackend
from yaie.attention.cost_model import DeviceTraits
from yaie.attention.reference import ReferenceBackend
from yaie.attention.tree_decode.backend import TreeDecodeBackend
from yaie.attention.tree_decode.work_items import Splitting
from yaie.base.settings import EngineConfig
from yaie.device.queue import PlainQueue
from yaie.engine.core import EngineCore
from yaie.engine.execution.memory import PoolMemory
from yaie.engine.execution.transformers_executor import TransformersExecutor
from yaie.kvcache.pool import PoolLayout
from yaie.models.load.loader import load_model

SHARED = tokens_of(1, 40)
PROMPTS = {
    "a": SHARED + tokens_of(2, 5),
    "b": SHARED + tokens_of(3, 3),
    "c": tokens_of(4, 9),
}


def core_with(folder: Path, backend: AttentionBackend) -> EngineCore:
    config = EngineConfig(
        model=str(folder), device="cpu", dtype="float32", num_slots=256, audit=True
    )
    loaded = load_model(config)
    backend.open_layers(loaded.specs, loaded.dtype, loaded.kv_dtype, loaded.device)
    memory = PoolMemory(loaded, None, backend.pool_layout(loaded.device))
    return EngineCore(config, TransformersExecutor(loaded, backend, memory))


def answers_of(core: EngineCore) -> dict[str, list[int]]:
    requests = [ask(name, prompt, max_tokens=4) for name, prompt in PROMPTS.items()]
    found = run(core, *requests)
    again = run(
        core, ask("d", SHARED + tokens_of(2, 5), max_tokens=2, n=2, temperature=1.0, seed=5)
    )
    return {
        **{name: found.tokens(name) for name in PROMPTS},
        "d0": again.tokens("d", 0),
        "d1": again.tokens("d", 1),
    }


def test_an_engine_says_the_tokens_of_the_reference(tiny_model_dir: Path) -> None:
    backend = TreeDecodeBackend(PlainQueue(torch.device("cpu")), splitting=Splitting(32, 16, 16))
    core = core_with(tiny_model_dir, backend)
    assert answers_of(core) == answers_of(core_with(tiny_model_dir, ReferenceBackend()))
    assert core.stats.kv_tokens_read < core.stats.kv_tokens_unshared


class ReferenceByRows(ReferenceBackend):
    """The reference over a pool of the kernels' layout, in FlashInfer's place."""

    def pool_layout(self, device: torch.device) -> PoolLayout:
        return "NHD"


def test_an_engine_that_changes_kernels_between_steps(tiny_model_dir: Path) -> None:
    tree = TreeDecodeBackend(PlainQueue(torch.device("cpu")), splitting=Splitting(32, 16, 16))
    other = ReferenceByRows()
    bytes_only = DeviceTraits(launch_s=1e-12, cache_bytes=0)
    backend = AutoBackend({"cascade": other, "decode": other, "tree": tree}, bytes_only)
    core = core_with(tiny_model_dir, backend)
    assert answers_of(core) == answers_of(core_with(tiny_model_dir, ReferenceBackend()))
    assert core.stats.num_tree_decode_steps > 0 < core.stats.num_flashinfer_decode_steps
