"""Damaged and incomplete model folders are recognised by their headers."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models.folders import edit_json, make_llama
from yaie import LLM, SamplingParams
from yaie.base.errors import ModelNotFound, ModelUnsupported
from yaie.models.files.checkpoint import INDEX, SINGLE, read_checkpoint, read_config


def rewrite_header(path: Path, header: bytes, length: int | None = None) -> None:
    raw = path.read_bytes()
    (old,) = struct.unpack("<Q", raw[:8])
    new = len(header) if length is None else length
    path.write_bytes(struct.pack("<Q", new) + header + raw[8 + old :])


def header_of(path: Path) -> dict[str, dict[str, object]]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_sizes_and_dtype(tmp_path: Path, dtype: torch.dtype) -> None:
    checkpoint = read_checkpoint(make_llama(tmp_path / "m", dtype))
    tensors = load_file(tmp_path / "m" / SINGLE)
    assert checkpoint.num_parameters == sum(t.numel() for t in tensors.values())
    assert checkpoint.nbytes == sum(t.nbytes for t in tensors.values())
    assert getattr(torch, checkpoint.dtype) == dtype


def test_shards(tmp_path: Path) -> None:
    folder = make_llama(tmp_path / "m", max_shard_size="20KB")
    whole = read_checkpoint(make_llama(tmp_path / "whole"))
    checkpoint = read_checkpoint(folder)
    assert len(checkpoint.files) > 1
    assert checkpoint.num_parameters == whole.num_parameters
    checkpoint.files[1].unlink()
    with pytest.raises(ModelNotFound, match="lacks 1 of"):
        read_checkpoint(folder)
    (folder / INDEX).unlink()
    with pytest.raises(ModelNotFound, match=f"no {INDEX}"):
        read_checkpoint(folder)


def test_a_single_file_comes_before_shards_as_in_transformers(tmp_path: Path) -> None:
    """A folder saved twice may hold both; the described one is the one that is loaded."""
    folder = make_llama(tmp_path / "m", max_shard_size="20KB")
    make_llama(tmp_path / "single").joinpath(SINGLE).rename(folder / SINGLE)
    assert read_checkpoint(folder).files == (folder / SINGLE,)
    for shard in folder.glob("model-*.safetensors"):  # as `save_pretrained` leaves it
        shard.unlink()
    assert read_checkpoint(folder).files == (folder / SINGLE,)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weight_map": {"a": "../x.safetensors"}}'])
def test_bad_index(folder: Path, content: str) -> None:
    (folder / SINGLE).unlink()
    (folder / INDEX).write_text(content)
    with pytest.raises(ModelUnsupported, match="is damaged"):
        read_checkpoint(folder)


def test_no_folder_no_config_no_weights(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ModelNotFound, match="is not a folder"):
        read_config(tmp_path / "nowhere")
    (folder / SINGLE).unlink()
    with pytest.raises(ModelNotFound, match=f"no {SINGLE}"):
        read_checkpoint(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelNotFound, match=r"no config\.json"):
        read_config(folder)


def test_an_adapter_is_refused(folder: Path) -> None:
    """With its base model, and alone; transformers would apply it, given another package."""
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelUnsupported, match=r"adapter_config\.json.* merge it"):
        read_config(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelUnsupported, match=r"adapter_config\.json.* merge it"):
        read_config(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "x.pth", "last.ckpt"])
def test_pickled_weights_are_not_opened(folder: Path, name: str) -> None:
    (folder / SINGLE).rename(folder / name)
    with pytest.raises(ModelNotFound, match="can run code"):
        read_checkpoint(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"'])
def test_bad_config(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ModelUnsupported, match=r"config\.json is damaged"):
        read_config(folder)


def test_truncated_anywhere(folder: Path) -> None:
    path = folder / SINGLE
    raw = path.read_bytes()
    draw = random.Random(0)
    for length in [0, 1, 7, 8, len(raw) - 1, *(draw.randrange(len(raw)) for _ in range(200))]:
        path.write_bytes(raw[:length])
        with pytest.raises(ModelUnsupported, match="is damaged"):
            read_checkpoint(folder)
    path.write_bytes(raw + b"\0")
    with pytest.raises(ModelUnsupported, match="is damaged"):
        read_checkpoint(folder)


def test_flipped_header_bytes_never_raise_anything_else(folder: Path) -> None:
    path = folder / SINGLE
    raw = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", raw[:8])
    draw = random.Random(1)
    for _ in range(300):
        at, value = draw.randrange(8 + length), draw.randrange(256)
        damaged = bytearray(raw)
        damaged[at] = value
        path.write_bytes(damaged)
        try:
            read_checkpoint(folder)  # a changed character of a name is found at load
        except ModelUnsupported as error:
            assert "damaged" in error.message or "serves float32" in error.message


def test_an_unreadable_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelUnsupported, match=r"model\.safetensors .* Permission denied"):
        read_checkpoint(folder)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 200_000_000])
def test_absurd_header_length(folder: Path, length: int) -> None:
    rewrite_header(folder / SINGLE, b"{}", length)
    with pytest.raises(ModelUnsupported, match="header claims"):
        read_checkpoint(folder)


def test_overlapping_tensors(folder: Path) -> None:
    path = folder / SINGLE
    header = header_of(path)
    names = sorted(
        (name for name in header if name != "__metadata__"),
        key=lambda name: header[name]["data_offsets"][0],  # type: ignore[index]
    )
    header[names[1]]["data_offsets"] = header[names[0]]["data_offsets"]
    header[names[1]]["shape"] = header[names[0]]["shape"]
    rewrite_header(path, json.dumps(header).encode())
    with pytest.raises(ModelUnsupported, match="overlap or leave a gap"):
        read_checkpoint(folder)


def test_unsupported_types_are_not_reported_as_damage(folder: Path) -> None:
    entry = {"dtype": "F8_E4M3FNUZ", "shape": [8], "data_offsets": [0, 8]}
    rewrite_header(folder / SINGLE, json.dumps({"w": entry}).encode())
    with pytest.raises(ModelUnsupported, match="as F8_E4M3FNUZ, which is not supported"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gptq_model-4bit-128g.safetensors", "rename it"),
        ("model-Q4_K_M.gguf", "to use the GGUF file, name it"),
    ],
)
def test_weights_under_another_name(folder: Path, name: str, said: str) -> None:
    (folder / SINGLE).rename(folder / name)
    with pytest.raises(ModelNotFound, match=f"holds {name}.*{said}"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"dtype": "F32", "shape": [2], "data_offsets": [0]},
        {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": "12", "data_offsets": [0, 8]},
        {"dtype": ["F32"], "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]},
        7,
        None,
    ],
)
def test_nonsense_entries(folder: Path, entry: object) -> None:
    rewrite_header(folder / SINGLE, json.dumps({"w": entry}).encode())
    with pytest.raises(ModelUnsupported, match="its entry for 'w'"):
        read_checkpoint(folder)


def test_weights_of_an_unsupported_type(folder: Path) -> None:
    save_file({"w": torch.zeros(4, dtype=torch.int8)}, folder / SINGLE)
    with pytest.raises(ModelUnsupported, match="of type I8"):
        read_checkpoint(folder)
    save_file({"w": torch.zeros(9).to(torch.float8_e4m3fn)}, folder / SINGLE)
    with pytest.raises(ModelUnsupported, match="F8_E4M3"):
        read_checkpoint(folder)


@pytest.mark.integration
def test_folder_modules_import_no_torch() -> None:
    program = (
        "import sys, yaie.models.load.folder, yaie.models.architecture.support; "
        "import yaie.models.files.checkpoint, yaie.models.files.generation_defaults; "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_edit_json_changes_and_removes_keys(folder: Path) -> None:
    edit_json(folder / "config.json", vocab_size=None, extra=1)
    config = read_config(folder)
    assert "vocab_size" not in config
    assert config["extra"] == 1


def test_shards_in_a_subfolder_give_the_same_answer(tiny_model_dir: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model_dir, tmp_path / "model"))
    prompt, sampling = [3, 9, 27, 17], SamplingParams(max_tokens=8, temperature=0, ignore_eos=True)
    with LLM(folder, num_slots=64, threads=1) as llm:
        expected = llm.generate([prompt], sampling)[0].token_ids
    tensors = read_checkpoint(folder).tensors
    (folder / "weights").mkdir()
    (folder / SINGLE).rename(folder / "weights" / SINGLE)
    index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, f"weights/{SINGLE}")}
    (folder / INDEX).write_text(json.dumps(index))
    assert read_checkpoint(folder).tensors.keys() == tensors.keys()
    with LLM(folder, num_slots=64, threads=1) as llm:
        assert llm.generate([prompt], sampling)[0].token_ids == expected


def test_an_index_of_other_files_is_named_as_the_fault(tmp_path: Path) -> None:
    """A download would bring the same files."""
    folder = make_llama(tmp_path / "m", max_shard_size="20KB")
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"] = {name: f"old-{file}" for name, file in index["weight_map"].items()}
    (folder / INDEX).write_text(json.dumps(index))
    with pytest.raises(ModelNotFound) as error:
        read_checkpoint(folder)
    assert error.value.message.endswith(
        "the index does not name model-00001-of-00005.safetensors: save the model again"
    )
