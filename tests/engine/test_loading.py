"""Starts from packed weights: the same logits, and checks of everything read."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.tiny_model import write_tiny_model
from yaie.base.settings import EngineConfig
from yaie.engine.execution import executor_loading
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_loading import load_executor
from yaie.kernels import library_search
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load import loader as model_loader
from yaie.models.native.native_decoder import NativeDecoder
from yaie.models.native.numerics_check import comparison_plan
from yaie.models.native.packed_cache import PREFIX, SUFFIX, CacheEntry, PackedCache

pytestmark = pytest.mark.skipif(
    library_search.load() is None, reason=library_search.status().reason
)


@pytest.fixture
def config(tmp_path: Path) -> EngineConfig:
    folder = write_tiny_model(tmp_path / "model")
    return EngineConfig(
        model=str(folder), num_slots=256, threads=1, weights_cache=str(tmp_path / "cache")
    )


def start(config: EngineConfig) -> tuple[LoadedModel, Executor, bool]:
    """Return model, executor, and True if it was restored from packed weights."""
    executor, writer = load_executor(config)
    if writer is not None:
        writer.wait()
    return executor.loaded, executor, executor.loaded.model is None


def logits(loaded: LoadedModel, executor: Executor) -> torch.Tensor:
    return executor.execute(comparison_plan(loaded))


CHANGES = [
    {},
    {"dtype": "bfloat16"},
    {"quantization": "int8"},
    {"quantization": "int4"},
    {"kv_dtype": "int8"},
    {"exact": True},
]


@pytest.mark.integration
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_restored_weights_compute_the_same(config: EngineConfig, change: dict[str, Any]) -> None:
    config = dataclasses.replace(config, **change)
    first, first_executor, was_packed = start(config)
    assert not was_packed
    expected = logits(first, first_executor)
    second, second_executor, was_packed = start(config)
    assert was_packed
    assert torch.equal(logits(second, second_executor), expected)
    for field in dataclasses.fields(LoadedModel):
        if field.name != "model":
            assert getattr(second, field.name) == getattr(first, field.name), field.name


def test_a_restore_plans_memory_before_reading(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured later, the weights would count twice; a model too large would be read first."""
    start(config)
    happened: list[str] = []
    plan, load = model_loader.plan_for, CacheEntry.load

    def planned(*args: Any, **sizes: Any) -> Any:
        happened.append("planned")
        return plan(*args, **sizes)

    def loaded(entry: CacheEntry, memory: memoryview) -> None:
        happened.append("read")
        load(entry, memory)

    monkeypatch.setattr(model_loader, "plan_for", planned)
    monkeypatch.setattr(CacheEntry, "load", loaded)
    assert start(config)[2]
    assert happened == ["planned", "read"]


def test_an_unreadable_file_is_packed_again(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(config)

    def fail(entry: CacheEntry, memory: memoryview) -> None:
        raise OSError("the disk is broken")

    monkeypatch.setattr(CacheEntry, "load", fail)
    loaded, executor, was_packed = start(config)
    assert not was_packed
    assert logits(loaded, executor).isfinite().all()


def test_a_tied_head_is_restored(config: EngineConfig, tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tied", tie_word_embeddings=True)
    config = dataclasses.replace(config, model=str(folder))
    expected = logits(*start(config)[:2])
    loaded, executor, was_packed = start(config)
    assert was_packed
    assert torch.equal(logits(loaded, executor), expected)


def test_other_settings_or_weights_are_packed_again(config: EngineConfig) -> None:
    start(config)
    assert start(dataclasses.replace(config, num_slots=200, policy="fcfs"))[2]
    assert not start(dataclasses.replace(config, dtype="bfloat16"))[2]
    write_tiny_model(Path(config.model), seed=5)
    assert not start(config)[2]


def test_a_longer_context_is_packed_again(config: EngineConfig) -> None:
    """The rotary tables in the file are as long as the first start's context."""
    small, *_ = start(dataclasses.replace(config, num_slots=64))
    large, executor, was_packed = start(dataclasses.replace(config, num_slots=512))
    assert small.max_model_len == 64 < large.max_model_len
    assert not was_packed
    assert bool(torch.isfinite(logits(large, executor)).all())


def test_a_pool_too_small_to_compare_keeps_the_file(
    config: EngineConfig, caplog: pytest.LogCaptureFixture
) -> None:
    tiny = dataclasses.replace(config, num_slots=8)
    assert not start(tiny)[2]
    assert not start(config)[2]  # the tiny one left no unusable file
    assert not start(tiny)[2]
    assert start(config)[2]
    assert "unusable" not in caplog.text


def test_a_damaged_file_is_packed_again(
    config: EngineConfig, caplog: pytest.LogCaptureFixture
) -> None:
    expected = logits(*start(config)[:2])
    (path,) = Path(config.weights_cache).glob(f"*{SUFFIX}")
    content = np.fromfile(path, dtype=np.uint8)
    content[len(content) // 2 :][:768] = 0
    content.tofile(path)
    loaded, executor, was_packed = start(config)
    assert not was_packed
    assert "fails its checksum" in caplog.text
    assert torch.equal(logits(loaded, executor), expected)
    assert start(config)[2]


def test_a_file_with_wrong_weights_is_packed_again(
    config: EngineConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """Its checksums are right, as after a fault in packing."""
    expected = logits(*start(config)[:2])
    (path,) = Path(config.weights_cache).glob(f"*{SUFFIX}")
    key = path.name.removeprefix(PREFIX).removesuffix(SUFFIX)
    cache = PackedCache(path.parent, 10**9)
    entry = cache.read(key)
    assert entry is not None
    numbers = np.zeros(entry.header["nbytes"], dtype=np.uint8)
    entry.load(numbers.data)
    numbers[len(numbers) // 2 :] ^= 0x15
    assert cache.write(key, entry.header, [numbers.data], len(numbers), threading.Event())
    loaded, executor, was_packed = start(config)
    assert not was_packed
    assert "compute other logits than before" in caplog.text
    assert torch.equal(logits(loaded, executor), expected)
    assert start(config)[2]


def test_a_switched_off_cache_stays_empty(config: EngineConfig) -> None:
    for _ in range(2):
        assert not start(dataclasses.replace(config, weights_cache="off"))[2]
    assert not Path(config.weights_cache).exists()


@pytest.mark.integration
def test_a_restore_imports_no_transformers(config: EngineConfig) -> None:
    start(config)
    script = (
        "import sys\n"
        "from yaie.base.settings import EngineConfig\n"
        "from yaie.engine.core import EngineCore\n"
        f"core = EngineCore({config!r})\n"
        "assert core.info.execution == 'native'\n"
        "assert 'transformers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_model_that_changes_while_loading_is_not_cached(
    config: EngineConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the new weights would be served as the old ones, once these are back."""
    weights = Path(config.model) / "model.safetensors"
    other = write_tiny_model(tmp_path / "other", seed=9) / "model.safetensors"
    load_model = executor_loading.load_model

    def replaced(*args: Any, **options: Any) -> LoadedModel:
        other.rename(weights)
        return load_model(*args, **options)

    monkeypatch.setattr(executor_loading, "load_model", replaced)
    _, writer = load_executor(config)
    assert writer is None
    monkeypatch.undo()
    assert not start(config)[2]
    assert start(config)[2]


def test_a_rejected_model_is_freed_before_the_reload(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory plan has room for one of them."""
    forward, load_model = NativeDecoder.execute, executor_loading.load_model
    monkeypatch.setattr(NativeDecoder, "execute", lambda self, plan: -forward(self, plan))
    first: list[weakref.ref[Any]] = []

    def noted(*args: Any, **options: Any) -> LoadedModel:
        assert all(model() is None for model in first)
        loaded = load_model(*args, **options)
        first.append(weakref.ref(loaded.model))
        return loaded

    monkeypatch.setattr(executor_loading, "load_model", noted)
    executor, _ = load_executor(config)
    assert len(first) == 2
    assert executor.name == "transformers"
