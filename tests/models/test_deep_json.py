"""JSON files of a model that are nested beyond any use, or too long: refused in one line."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yaie.base import json_reader
from yaie.base.errors import ModelUnsupported, YaieError
from yaie.base.json_reader import parse_json
from yaie.models.files.checkpoint import read_checkpoint, read_config, read_weight_map
from yaie.models.files.generation_defaults import read_default_sampling, read_eos_token_ids
from yaie.text.chat_template import ChatTemplate
from yaie.text.tokenizer import load_tokenizer

DEPTH = 20_000
DEEP = {"lists": "[" * DEPTH + "]" * DEPTH, "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH}
FILES = [
    *("config.json", "model.safetensors.index.json", "generation_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template.json", "processor_config.json", "adapter_config.json", "quantize_config.json"),
]
READERS: list[Callable[[Path], Any]] = [
    read_config,
    read_checkpoint,
    read_weight_map,
    read_default_sampling,
    lambda folder: read_eos_token_ids(folder, {}, 10),
    lambda folder: ChatTemplate(load_tokenizer(folder)),
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", DEEP)
def test_a_deep_file_is_refused_in_one_line(
    name: str, kind: str, tiny_model_dir: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_model_dir, tmp_path / "tiny"))
    if name in ("chat_template.json", "processor_config.json"):  # read where this one is missing
        (folder / "chat_template.jinja").unlink()
    (folder / name).write_text(DEEP[kind])
    refused = 0
    for read in READERS:
        try:
            read(folder)
        except YaieError as error:
            assert isinstance(error, ModelUnsupported)
            assert "\n" not in error.message and len(error.message) < 500
            refused += 1
    assert refused or name in ("chat_template.json", "processor_config.json", "added_tokens.json")


def test_a_pipe_or_a_device_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(ValueError, match="not a file"):
            json_reader.read_json_file(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        json_reader.read_json_file(tmp_path / "absent")


def test_a_deep_header_of_weights_is_refused(tiny_model_dir: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model_dir, tmp_path / "tiny"))
    header = DEEP["objects"].encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelUnsupported, match="its header is not JSON"):
        read_checkpoint(folder)


def test_a_long_text_is_not_parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(json_reader, "MAX_BYTES", 100)
    assert parse_json(json.dumps("x" * 98)) == "x" * 98
    for text in ("x" * 99, b"x" * 99):
        with pytest.raises(ValueError, match="it has more than 100 bytes"):
            parse_json(json.dumps(str(text)))
    (tmp_path / "config.json").write_text(json.dumps({"a": "x" * 99}))
    with pytest.raises(ModelUnsupported, match="more than 100 bytes"):
        read_config(tmp_path)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "a": 1}}]'])
def test_a_key_that_is_there_twice(text: str) -> None:
    assert parse_json(text)
    with pytest.raises(ValueError, match="has a twice; remove one"):
        parse_json(text, unique_keys=True)
