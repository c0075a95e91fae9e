"""The memory plan with its refusals, free memory under cgroups, and released memory."""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import yaie.kernels
from yaie.base.errors import NotEnoughMemory
from yaie.base.settings import EngineConfig
from yaie.device.available_memory import MappedFiles, free_bytes, trim_heap
from yaie.engine.step.prompt_outputs import room_for_prompt_logits
from yaie.kvcache.state_pool import StateShape
from yaie.models.architecture.loaded_model import ModelSizes
from yaie.models.load.memory_plan import (
    GIB,
    KEYS_IN_SPAN,
    activation_bytes,
    exact_bytes,
    format_size,
    plan_for,
    plan_memory,
)
from yaie.models.load.recurrent_limits import most_state_bytes, spare_state_bytes
from yaie.process import limits

SIZES = ModelSizes(hidden=256, inner=768, head=32, num_heads=8, vocab=4_096)


def plan(**changes: Any) -> Any:
    settings: dict[str, Any] = {
        "free": 10 * GIB,
        "weights": 2 * GIB,
        "activations": GIB // 2,
        "kv_bytes_per_token": 64 * 1024,
        "context_len": 4096,
        "num_slots": None,
        "device": "cpu",
    }
    return plan_memory(**(settings | changes))


def test_free_memory_is_that_of_this_machine() -> None:
    assert 64 * 1024**2 < free_bytes(torch.device("cpu")) < 2**48


class Cgroups:
    """A tree of cgroups of one version, in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
        self.root = folder / "cgroup" if version == 2 else folder / "cgroup" / "memory"
        self._version = version
        self._own = folder / "self"
        monkeypatch.setattr(limits, "CGROUP_ROOT", folder / "cgroup")
        monkeypatch.setattr(limits, "OWN_CGROUPS", self._own)

    def limit(self, path: str, limit: int | None, used: int, cache: int = 0) -> None:
        """Write a group, with its version's way to say unlimited."""
        group = self.root / path
        group.mkdir(parents=True, exist_ok=True)
        if self._version == 2:
            names, none = ("memory.max", "memory.current", "inactive_file"), "max"
        else:
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            none = "9223372036854771712"
        (group / names[0]).write_text(f"{none if limit is None else limit}\n")
        (group / names[1]).write_text(f"{used}\n")
        (group / "memory.stat").write_text(f"anon 7\n{names[2]} {cache}\nactive_file 9\n")

    def free(self, own: str) -> int:
        """Return the free memory of a process in this group."""
        other = "1:name=systemd:/elsewhere\n"
        mine = f"0::{own}\n" if self._version == 2 else f"4:cpu,memory:{own}\n0::/\n"
        self._own.write_text(other + mine)
        return free_bytes(torch.device("cpu"))


@pytest.mark.parametrize("version", [1, 2])
def test_the_tightest_cgroup_limits_free_memory(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Cgroups(tmp_path, monkeypatch, version)
    groups.limit("a.slice/b.service", None, used=100)
    groups.limit("a.slice", 5000, used=2000, cache=300)
    groups.limit("other.slice", 10, used=10)
    (groups.root / "a.slice/b.service/empty").mkdir()
    for own in ("/a.slice/b.service", "/a.slice/b.service/empty", "/a.slice"):
        assert groups.free(own) == 3300
    groups.limit("a.slice/b.service", 1000, used=400)
    assert groups.free("/a.slice/b.service") == 600
    assert groups.free("/a.slice") == 3300
    assert groups.free("/") > 2**20  # above all of them


@pytest.mark.parametrize("version", [1, 2])
def test_a_container_whose_root_is_its_own_cgroup(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Cgroups(tmp_path, monkeypatch, version)
    groups.limit("", 4000, used=1000)
    # The last two are the host's names of it and of a sibling.
    for own in ("/", "/docker/0123abcd", "/../sibling"):
        assert groups.free(own) == 3000


def test_a_pool_takes_a_share_of_the_rest() -> None:
    left = 10 * GIB - 2 * GIB - GIB // 2
    assert plan().num_slots == left // 2 // (64 * 1024)
    assert plan(device="cuda").num_slots == int(left * 0.9) // (64 * 1024)


def test_an_automatic_pool_is_bounded() -> None:
    assert plan(free=500 * GIB).num_slots == 8 * GIB // (64 * 1024)
    assert plan(free=500 * GIB, kv_bytes_per_token=16, context_len=128).num_slots == 64 * 1024
    small = plan(free=500 * GIB, kv_bytes_per_token=16, context_len=8192)
    assert small.num_slots == 64 * 8192


def test_a_given_number_of_slots_is_kept() -> None:
    assert plan(num_slots=7).num_slots == 7


def test_too_large_a_pool_is_refused_with_the_largest_that_fits() -> None:
    with pytest.raises(NotEnoughMemory, match=r"weights 2\.00 GiB .* of 10\.00 GiB free") as error:
        plan(num_slots=10**6)
    fits = int(re.search(r"--num-slots (\d+)", error.value.message).group(1))  # type: ignore[union-attr]
    assert plan(num_slots=fits).num_slots == fits
    with pytest.raises(NotEnoughMemory):
        plan(num_slots=fits + 1)


@pytest.mark.parametrize("num_slots", [None, 1])
def test_a_model_that_does_not_fit_at_all(num_slots: int | None) -> None:
    with pytest.raises(NotEnoughMemory, match="the model does not fit"):
        plan(weights=11 * GIB, num_slots=num_slots)


def test_the_plan_counts_batch_invariant_attention() -> None:
    """Memory is proportional to the spans of the longest context, counted as in the kernels."""
    kernels = (Path(yaie.kernels.__file__).parent / "csrc" / "batch_invariant_split.h").read_text()
    assert f"kKeysInSpan = {KEYS_IN_SPAN};" in kernels
    sizes = {
        length: exact_bytes(
            replace(SIZES, num_heads=32, head=128), max_step_rows=2_048, max_model_len=length
        )
        for length in (1, KEYS_IN_SPAN, KEYS_IN_SPAN + 1, 8 * KEYS_IN_SPAN)
    }
    one = 2_048 * 32 * 130 * 4
    assert list(sizes.values()) == [one, one, 2 * one, 8 * one]
    usual, exact = (
        plan_for(
            EngineConfig(num_slots=4_096, max_step_rows=256, exact=wanted),
            SIZES,
            free=10 * GIB,
            weights=0,
            kv_bytes_per_token=3072,
            context_len=4_096,
            device="cpu",
        )
        for wanted in (False, True)
    )
    assert exact.activations - usual.activations == 256 * 8 * (32 + 2) * 4


@pytest.mark.parametrize(("max_running", "max_step_rows"), [(1, 512), (256, 512), (256, 100)])
def test_the_plan_counts_the_logits_of_prompts(max_running: int, max_step_rows: int) -> None:
    """A step may compute a few rows of prompt logits on top of those that sequences sample."""
    most = max(
        num_sampling + room_for_prompt_logits(num_sampling, max_running)
        for num_sampling in range(max_running)
    )
    counted = plan_for(
        EngineConfig(num_slots=4_096, max_running=max_running, max_step_rows=max_step_rows),
        SIZES,
        free=10 * GIB,
        weights=0,
        kv_bytes_per_token=3072,
        context_len=4_096,
        device="cpu",
    )
    without = activation_bytes(SIZES, max_step_rows=max_step_rows, max_logit_rows=0)
    rows = min(most, max_step_rows)
    assert counted.activations - without >= 3 * 4 * rows * SIZES.vocab


@pytest.mark.parametrize(("most", "planned"), [(0, 0), (160, 160), (5_000, 1_000)])
def test_the_plan_reserves_no_state_that_cannot_be_used(most: int, planned: int) -> None:
    plan = plan_for(
        EngineConfig(num_slots=4_096, state_bytes=1_000),
        SIZES,
        free=10 * GIB,
        weights=0,
        kv_bytes_per_token=3072,
        context_len=4_096,
        device="cpu",
        most_state_bytes=most,
    )
    assert plan.states == planned


def test_the_plan_counts_spare_states() -> None:
    """One for each sequence that has states, and one more; layers of one shape take turns."""
    layer = (StateShape("conv", 0, (4,), "float32"), StateShape("recurrent", 0, (8, 8), "float32"))
    config = EngineConfig(num_slots=4_096, state_bytes=20 * 3 * 272, max_running=100)
    plan = plan_for(
        config,
        SIZES,
        free=10 * GIB,
        weights=0,
        kv_bytes_per_token=3072,
        context_len=4_096,
        device="cpu",
        most_state_bytes=most_state_bytes(config, [layer] * 3),
        spare_state_bytes=partial(spare_state_bytes, config, [layer] * 3),
    )
    assert (plan.states, plan.spare_states) == (20 * 3 * 272, (10 + 1) * 272)
    assert "states 15.9 KiB + spare states 2.9 KiB" in str(plan)
    assert plan.nbytes == plan.activations + 4_096 * 3_072 + plan.states + plan.spare_states


def test_sizes_are_shown_in_a_unit_that_fits() -> None:
    assert format_size(3 * GIB // 2) == "1.50 GiB"
    assert format_size(5 * 1024**2) == "5.0 MiB"
    assert format_size(9 * 512) == "4.5 KiB"
    assert format_size(1000) == "1000 bytes"


def resident(path: Path) -> int:
    """Return the resident bytes of a file mapped by this process."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1]) * 1024
    return found


on_linux = pytest.mark.skipif(
    not Path("/proc/self/smaps").is_file(), reason="the system does not tell what is in memory"
)


@on_linux
def test_released_pages_of_a_file_come_back(tmp_path: Path) -> None:
    path, other = tmp_path / "weights", tmp_path / "other"
    content = bytes(range(256)) * 4096
    for file in (path, other):
        file.write_bytes(content)
    maps = [
        np.memmap(file, dtype=np.uint8, mode="c").view(np.ndarray)  # copied on write
        for file in (path, other)
    ]
    assert all(bytes(mapped) == content for mapped in maps)
    assert resident(path) == resident(other) == len(content)
    MappedFiles([path]).release()
    assert (resident(path), resident(other)) == (0, len(content))
    assert bytes(maps[0]) == content


@on_linux
def test_written_pages_of_a_mapping_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(65536))
    mapped = np.memmap(path, dtype=np.uint8, mode="c")
    mapped[5000] = 7
    MappedFiles([path]).release()
    assert mapped[5000] == 7
    assert resident(path) > 0


@contextmanager
def memory_at(address: int, length: int) -> Iterator[None]:
    """Map writable memory at a free address."""
    libc, number = ctypes.CDLL(None), ctypes.c_int
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[number] * 3, ctypes.c_ssize_t]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    own, writable = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
    assert libc.mmap(address, length, writable, own, -1, 0) == address
    try:
        yield
    finally:
        libc.munmap(address, length)


@on_linux
def test_memory_at_the_address_of_an_old_mapping_is_kept(tmp_path: Path) -> None:
    """A shard is unmapped with its last tensor; packed weights may take its address."""
    path = tmp_path / "weights"
    path.write_bytes(bytes(65536))
    mapped = np.memmap(path, dtype=np.uint8, mode="c")
    files, address = MappedFiles([path]), mapped.ctypes.data
    del mapped
    with memory_at(address, 65536):
        ctypes.memset(address, 7, 65536)
        files.release()
        assert ctypes.string_at(address, 65536) == bytes([7]) * 65536


def test_trim_heap_runs_on_any_c_library() -> None:
    trim_heap()
