"""The cache of packed weights: atomic files, a bounded size, and tolerance of bad disks."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import random
import struct
import threading
import time
from pathlib import Path

import pytest

from tests.tiny_model import write_tiny_model
from yaie.base.settings import EngineConfig
from yaie.models.native import packed_cache
from yaie.models.native.packed_cache import (
    PREFIX,
    SUFFIX,
    PackedCache,
    cache_key,
    open_cache,
)

NEVER = threading.Event()
DATA = bytes(range(200)) * 50
PAGE = 4096


def write(cache: PackedCache, key: str, data: bytes = DATA) -> bool:
    half = len(data) // 2
    pieces = [memoryview(data)[:half], memoryview(data)[half:]]
    return cache.write(key, {"name": key}, pieces, len(data), NEVER)


def names(cache: PackedCache) -> list[str]:
    files = (path.name for path in cache.folder.iterdir())
    return sorted(name.removeprefix(PREFIX).removesuffix(SUFFIX) for name in files)


def file_of(cache: PackedCache, key: str) -> Path:
    return cache.folder / f"{PREFIX}{key}{SUFFIX}"


@pytest.fixture
def cache(tmp_path: Path) -> PackedCache:
    return PackedCache(tmp_path / "packed", 5 * len(DATA))


def test_what_is_written_is_read_back(cache: PackedCache) -> None:
    assert cache.read("a") is None
    assert write(cache, "a")
    entry = cache.read("a")
    assert entry is not None
    assert entry.header["name"] == "a"
    memory = bytearray(entry.header["nbytes"])
    entry.load(memoryview(memory))
    assert memory == DATA
    assert names(cache) == ["a"]
    assert cache.usage()[0] == 1


@pytest.mark.parametrize("damage", ["short", "long", "magic", "length", "header", "text"])
def test_a_damaged_file_is_removed_and_never_served(cache: PackedCache, damage: str) -> None:
    write(cache, "a")
    path = file_of(cache, "a")
    content = path.read_bytes()
    harmed = {
        "short": content[:-1],
        "long": content + b"x",
        "magic": b"x" + content[1:],
        "length": content[:14] + b"\xff" + content[15:],
        "header": content[:20] + b"\xff" + content[21:],
        "text": content.replace(b'"name"', b'"nome"', 1),  # still JSON
    }
    path.write_bytes(harmed[damage])
    assert cache.read("a") is None
    assert not path.exists()


@pytest.mark.parametrize(
    "header",
    ["[]", "null", "7", "{}", '{"nbytes": "10"}', '{"nbytes": -1}', '{"nbytes": 1.5}', "[" * 9999],
)
def test_a_foreign_header_is_removed_and_logged(
    cache: PackedCache, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(cache, "a")
    path = file_of(cache, "a")
    text = header.encode()
    start = path.read_bytes()[:8] + struct.pack("<Q", len(text)) + text
    path.write_bytes(start.ljust(4096, b"\0") + bytes(10))
    assert cache.read("a") is None
    assert not path.exists()
    assert "is damaged and was removed" in caplog.text


@pytest.mark.parametrize("kind", ["a bit", "zeros", "exchanged pages"])
@pytest.mark.parametrize("place", [0, 3, 8])
def test_data_that_changed_on_disk_is_never_served(
    cache: PackedCache, kind: str, place: int
) -> None:
    data = random.Random(0).randbytes(10 * PAGE + 80)
    large = PackedCache(cache.folder, 10**9)
    assert write(large, "a", data)
    path = file_of(large, "a")
    content = bytearray(path.read_bytes())
    begin = content.index(data[:100]) + place * PAGE
    if kind == "a bit":
        content[begin + 777] ^= 0x10
    elif kind == "zeros":
        content[begin + 100 : begin + 868] = bytes(768)
    else:
        here, there = slice(begin, begin + PAGE), slice(begin + PAGE, begin + 2 * PAGE)
        content[here], content[there] = content[there], content[here]
    path.write_bytes(content)
    entry = large.read("a")
    assert entry is not None
    with pytest.raises(ValueError, match="fails its checksum"):
        entry.load(memoryview(bytearray(len(data))))


def test_pieces_of_any_length_in_words_are_read_back(
    cache: PackedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tensors begin and end anywhere in the checksummed pages."""
    draw = random.Random(1)
    pieces = [draw.randbytes(8 * draw.choice([0, 1, 7, 511, 512, 513, 2000])) for _ in range(60)]
    data = b"".join(pieces)
    large = PackedCache(cache.folder, 10**9)
    assert large.write("a", {}, map(memoryview, pieces), len(data), NEVER)
    monkeypatch.setattr(packed_cache, "_CHUNK_BYTES", 3 * PAGE)
    entry = large.read("a")
    assert entry is not None
    memory = bytearray(len(data))
    entry.load(memoryview(memory))
    assert memory == data


@pytest.mark.parametrize("change", [-8, 8])
def test_pieces_of_another_total_length_are_refused(cache: PackedCache, change: int) -> None:
    assert not cache.write("a", {}, [memoryview(DATA)], len(DATA) + change, NEVER)
    assert names(cache) == []


def test_the_least_recently_used_files_are_evicted(cache: PackedCache) -> None:
    for index, key in enumerate("abc"):
        write(cache, key)
        os.utime(file_of(cache, key), (index, index))
    cache.read("a")  # now the most recently used
    write(cache, "d")
    assert names(cache) == ["a", "c", "d"]
    assert cache.usage()[1] <= 5 * len(DATA)


def test_a_file_above_the_limit_evicts_no_other(
    cache: PackedCache,
) -> None:
    write(cache, "a")
    assert not write(cache, "b", DATA * 6)
    assert names(cache) == ["a"]


def test_a_full_disk_is_logged(
    cache: PackedCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packed_cache.os, "write", full)
    with caplog.at_level(logging.WARNING):
        assert not write(cache, "a")
    assert "No space left on device" in caplog.text
    assert names(cache) == []


def test_a_folder_that_cannot_be_created_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = PackedCache(tmp_path / "file" / "packed", 10**9)
    with caplog.at_level(logging.WARNING):
        assert not write(cache, "a")
    assert "are not cached in" in caplog.text
    assert cache.read("a") is None
    assert cache.usage() == (0, 0)


def test_a_stopped_write_leaves_no_file(cache: PackedCache) -> None:
    stop = threading.Event()
    stop.set()
    assert not cache.write("a", {}, [memoryview(DATA)], len(DATA), stop)
    assert names(cache) == []


def test_stopping_waits_for_a_few_chunks_at_most(
    cache: PackedCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a stop could wait until the whole model is flushed."""
    stop, flushed = threading.Event(), [0]
    real = os.fsync

    def flush(handle: int) -> None:
        flushed.append(os.lseek(handle, 0, os.SEEK_CUR))
        if len(flushed) == 4:
            stop.set()
        real(handle)

    monkeypatch.setattr(packed_cache, "_CHUNK_BYTES", 500)
    monkeypatch.setattr(packed_cache, "_FLUSH_BYTES", 2000)
    monkeypatch.setattr(os, "fsync", flush)
    assert not cache.write("a", {}, [memoryview(DATA)], len(DATA), stop)
    assert names(cache) == [] and len(flushed) == 4
    stop.clear()
    assert cache.write("a", {}, [memoryview(DATA)], len(DATA), stop)
    lengths = [after - before for before, after in itertools.pairwise([0, *flushed[4:]])]
    assert max(lengths) < 2000 + 500
    assert sum(lengths) == file_of(cache, "a").stat().st_size


def test_abandoned_unfinished_files_are_removed(cache: PackedCache) -> None:
    cache.folder.mkdir()
    old, new = (cache.folder / f"{PREFIX}{name}.unfinished" for name in "xy")
    for path in (old, new):
        path.write_bytes(b"half")
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    write(cache, "a")
    assert (old.exists(), new.exists()) == (False, True)


def test_foreign_files_are_neither_counted_nor_removed(tmp_path: Path) -> None:
    cache = PackedCache(tmp_path, 2 * len(DATA))
    others = [tmp_path / name for name in ("holiday.packed", "download.unfinished", "a.packed")]
    for path in others:
        path.write_bytes(DATA)
        os.utime(path, (1, 1))
    for key in "abc":  # one fits
        assert write(cache, key)
    assert cache.usage()[0] == 1
    assert sorted(tmp_path.iterdir()) == sorted([*others, file_of(cache, "c")])


def test_an_empty_setting_means_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for where in ("", " "):
        monkeypatch.setenv("YAIE_WEIGHTS_CACHE", where)
        for config in (EngineConfig(), EngineConfig(weights_cache=where)):
            found = open_cache(config)
            assert found is not None and found.folder == tmp_path / "yaie" / "packed"


def test_the_settings_choose_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_cache(EngineConfig()) is None  # disabled by the environment of the tests
    monkeypatch.delenv("YAIE_WEIGHTS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = open_cache(EngineConfig())
    assert found is not None
    assert found.folder == tmp_path / "yaie" / "packed"
    assert open_cache(EngineConfig(weights_cache="off")) is None
    named = open_cache(EngineConfig(weights_cache=str(tmp_path / "own")))
    assert named is not None
    assert named.folder == tmp_path / "own"


def test_a_user_without_a_home_has_no_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("YAIE_WEIGHTS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert open_cache(EngineConfig()) is None
    assert "XDG_CACHE_HOME" in caplog.text


def test_a_key_covers_all_inputs_of_packed_weights(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "model")
    config = EngineConfig(model=str(folder))
    key = cache_key(config, folder, "avx2")
    assert key == cache_key(config, folder, "avx2")
    others = {
        "instruction set": cache_key(config, folder, "avx512"),
        "dtype": cache_key(dataclasses.replace(config, dtype="float32"), folder, "avx2"),
        "context": cache_key(dataclasses.replace(config, max_model_len=64), folder, "avx2"),
    }
    unrelated = dataclasses.replace(config, num_slots=77, threads=1, policy="fcfs", audit=True)
    unrelated = dataclasses.replace(unrelated, max_loras=9, queue_timeout_s=5.0, kv_block_size=8)
    assert cache_key(unrelated, folder, "avx2") == key
    weights = folder / "model.safetensors"
    status = weights.stat()
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    others["weights of the same size and time"] = cache_key(config, folder, "avx2")
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    others["config"] = cache_key(config, folder, "avx2")
    assert len({key, *others.values()}) == len(others) + 1
