"""Damaged GGUF headers: an error in one line, never a crash, and no memory or time for a claim."""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.gguf_files import vocabulary_metadata, write_gguf
from tests.models.gguf_twin_list import TWINS
from tests.models.gguf_twins import Twin
from yaie.base.errors import ModelUnsupported, StartupError
from yaie.models.files.gguf.header import read_model
from yaie.models.files.gguf.hf_config import read_gguf_config
from yaie.models.files.gguf.hf_folder import _texts
from yaie.models.files.gguf.hf_names import name_tensors

ARCHITECTURES = ("gemma3", "gpt-oss", "deepseek2", "gemma3n", "gemma4", "phi3", "granitemoe")
HYBRIDS = ("qwen35", "qwen3next", "lfm2", "nemotron_h_moe", "granitehybrid", "falcon-h1")
FEW, MANY = 10, 300  # of each; seven make 2,100
LONGEST_S = 5.0
# Numbers that lengths, counts, types and settings can hardly be.
ODD = (0, 1, 2, 3, 7, 8, 9, 31, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


def read_all(path: Path) -> None:
    """Read what a start reads before the weights."""
    _texts(path)
    file = read_model(path)
    name_tensors(file, read_gguf_config(file))


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return a file with a few bytes of its header changed, removed or doubled."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(4, max(5, len(found)))
        what = chance.randrange(6)
        if what == 0:
            found[at : at + 1] = bytes([chance.randrange(256)])
        elif what == 1:
            found[at : at + 4] = struct.pack("<I", chance.choice(ODD) % 2**32)
        elif what == 2:
            found[at : at + 8] = struct.pack("<Q", chance.choice(ODD))
        elif what == 3:
            del found[at : at + chance.choice((1, 4, 8))]
        elif what == 4:
            found[at:at] = found[at : at + chance.choice((1, 4, 8))]
        else:
            del found[at:]
    return bytes(found)


def retyped(metadata: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return metadata in which one entry has another type or an odd value."""
    key = chance.choice(sorted(metadata))
    values = (0, -1, 2**31 - 1, 0.0, 1e30, True, "", "x", ["x"], [1], [0.5], [1, 2, 3], None)
    other = {**metadata, key: chance.choice(values)}
    return {name: value for name, value in other.items() if value is not None}


def check(path: Path) -> bool:
    """Return True if the file is refused; the error is one line."""
    begin = time.process_time()
    try:
        read_all(path)
    except StartupError as error:
        assert error.message and "\n" not in error.message, error.message
        return True
    finally:
        assert time.process_time() - begin < LONGEST_S
    return False


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.integration)])
@pytest.mark.parametrize("architecture", (*ARCHITECTURES, *HYBRIDS))
def test_a_damaged_header_is_refused_in_one_line(
    architecture: str, count: int, tmp_path: Path
) -> None:
    twin = twin_of(architecture)
    model = twin.build()
    path = tmp_path / "model.gguf"
    whole = twin.whole_metadata(model.config)
    tensors = twin.tensors(model)
    write_gguf(path, whole, tensors)
    assert not check(path)
    data = path.read_bytes()
    header = data[: read_model(path).first_byte + 64]
    chance = random.Random(f"{architecture} {count}")
    refused = 0
    for number in range(count):
        if number % 2:
            path.write_bytes(damaged(header, chance) + data[len(header) :])
        else:
            byte_level = chance.random() < 0.5  # the other kind of tokenizer
            base = {**whole, **vocabulary_metadata(120)} if byte_level else whole
            write_gguf(path, retyped(base, chance), tensors)
        refused += check(path)
    assert refused > count // 4


def _with(metadata: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return metadata | {f"{metadata['general.architecture']}.{key}": v for key, v in changes.items()}


def twin_of(architecture: str) -> Twin:
    return next(each for each in TWINS if each.architecture == architecture)


@pytest.mark.parametrize(
    ("architecture", "tensor", "dimensions"),
    [
        ("qwen35", "blk.0.attn_qkv.weight", 3),
        ("qwen35", "blk.0.ssm_conv1d.weight", 3),
        ("qwen3next", "blk.0.attn_qkv.weight", 4),
        ("gemma3n", "altup_proj.weight", 2),
        ("gemma3n", "altup_proj.weight", 4),
    ],
)
def test_a_tensor_with_other_dimensions_is_refused(
    architecture: str, tensor: str, dimensions: int, tmp_path: Path
) -> None:
    twin = twin_of(architecture)
    model = twin.build()
    values = twin.tensors(model)[tensor]
    shape = (len(values), *(2, 1)[: dimensions - 2], -1)
    path = twin.write(tmp_path / "m.gguf", model, **{tensor: values.reshape(shape)})
    with pytest.raises(ModelUnsupported, match=f"is damaged: {tensor} has the shape") as refused:
        read_all(path)
    assert "\n" not in refused.value.message


def test_joined_projections_with_other_dimensions_are_refused(tmp_path: Path) -> None:
    twin = twin_of("llama")
    model = twin.build()
    tensors = twin.tensors(model)
    names = [f"blk.0.attn_{each}.weight" for each in "qkv"]
    joined = np.concatenate([tensors[name] for name in names])
    changes = {**dict.fromkeys(names), "blk.0.attn_qkv.weight": joined[:, None]}
    path = twin.write(tmp_path / "m.gguf", model, **changes)
    with pytest.raises(
        ModelUnsupported, match=r"is damaged: blk\.0\.attn_qkv\.weight has the shape"
    ):
        read_all(path)


@pytest.mark.parametrize("architecture", (*ARCHITECTURES, *HYBRIDS, "llama"))
def test_a_model_without_heads_is_refused(architecture: str, tmp_path: Path) -> None:
    twin = twin_of(architecture)
    model = twin.build()
    changes = {"attention.head_count": 0, "attention.key_length": 16}
    own = {f"{architecture}.{key}": value for key, value in changes.items()}
    whole = twin.whole_metadata(model.config) | own
    path = write_gguf(tmp_path / "model.gguf", whole, twin.tensors(model))
    with pytest.raises(
        ModelUnsupported, match=r"attention\.head_count is '.*', which is not a size"
    ):
        read_all(path)
