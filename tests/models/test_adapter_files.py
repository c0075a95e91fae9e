"""Files of LoRA adapters: what is refused, with which words, and how names and scales are read."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.adapters import write_adapter
from yaie.base.errors import ConfigError, ModelUnsupported, NotEnoughMemory
from yaie.base.queries import LoadAdapter, UnloadAdapter
from yaie.base.settings import EngineConfig
from yaie.client.later_starts import LaterStarts
from yaie.models.adapters import adapter_files
from yaie.models.adapters.adapted_modules import AdaptedModules
from yaie.models.adapters.adapter import Adapter, read_adapter
from yaie.models.adapters.adapter_folders import (
    WEIGHTS,
    estimate_adapters,
    find_adapters,
    keep_adapters,
)

CONFIG = "adapter_config.json"
LAYER = "model.layers.0.self_attn.q_proj"


class Tree(torch.nn.Module):
    """Modules by dotted names."""

    def __init__(self, **linears: tuple[int, int]) -> None:
        super().__init__()
        for name, (inputs, outputs) in linears.items():
            parent = self
            *above, last = name.split("_d_")
            for part in above:
                if not hasattr(parent, part):
                    parent.add_module(part, torch.nn.Module())
                parent = getattr(parent, part)
            parent.add_module(last, torch.nn.Linear(inputs, outputs, bias=False))

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.lm_head  # type: ignore[return-value]


@pytest.fixture(scope="module")
def model() -> Tree:
    layer = "model_d_layers_d_0_d_"
    sizes = {f"{layer}self_attn_d_q_proj": (8, 12), f"{layer}mlp_d_down_proj": (6, 8)}
    experts = {f"{layer}mlp_d_experts_d_0_d_up_proj": (8, 6)}
    return Tree(**sizes, **experts, lm_head=(8, 20))


@pytest.fixture
def folder(tmp_path: Path, model: Tree) -> Path:
    return write_adapter(tmp_path / "a", model, seed=0, layers=("q_proj", "down_proj"))


def read(folder: Path, model: Tree) -> Adapter:
    return read_adapter("a", folder, AdaptedModules(model, torch.float32, torch.device("cpu")))


def change(folder: Path, **fields: Any) -> None:
    path = folder / CONFIG
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def rename(folder: Path, old: str, new: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    renamed = {name.replace(old, new): tensor.clone() for name, tensor in tensors.items()}
    save_file(renamed, folder / WEIGHTS)


def test_an_adapter_is_described(folder: Path, model: Tree) -> None:
    found = read(folder, model)
    assert set(found.layers) == {LAYER, "model.layers.0.mlp.down_proj"}
    assert (found.info.rank, found.info.num_layers) == (4, 2)
    assert found.info.nbytes == 4 * 4 * (8 + 12 + 6 + 8) == estimate_adapters(str(folder))
    digests = [sha256((folder / each).read_bytes()).digest() for each in (CONFIG, WEIGHTS)]
    assert found.info.digest == sha256(b"".join(digests)).hexdigest()
    assert 0 < found.number < 2**62
    change(folder, lora_alpha=1)
    assert read(folder, model).number != found.number


@pytest.mark.parametrize(
    ("fields", "scale"),
    [
        ({}, 2.0),
        ({"lora_alpha": 6, "use_rslora": True}, 3.0),
        ({"alpha_pattern": {"q_proj": 4}}, 1.0),
        ({"alpha_pattern": {"self_attn.q_proj": 4, "q_proj": 12}}, 1.0),
        ({"alpha_pattern": {"proj": 4, "k_proj": 4, "(": 1}}, 2.0),
        ({"alpha_pattern": {"layers.[0-3].self_attn.q_proj": 8}}, 2.0),
    ],
)
def test_the_scale_of_a_layer(
    folder: Path, model: Tree, fields: dict[str, Any], scale: float
) -> None:
    change(folder, **fields)
    up = load_file(folder / WEIGHTS)[f"base_model.model.{LAYER}.lora_B.weight"]
    assert torch.allclose(read(folder, model).layers[LAYER].up, scale * up)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"peft_type": "IA3"}, "peft_type 'IA3'; LORA alone"),
        ({"use_dora": True}, "DoRA"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"target_parameters": ["mlp.experts.up"]}, "target_parameters"),
        ({"trainable_token_indices": [1]}, "rows of the embedding"),
        ({"lora_bias": True}, "biases of the low-rank"),
        ({"bias": "all"}, "trains biases"),
        ({"init_lora_weights": "pissa_niter_4"}, "changes the base model's weights too"),
        ({"r": 300}, "rank 300; ranks are 1 to 256"),
        ({"r": 10**400}, "r is 1000"),
        ({"lora_alpha": 10**400}, "lora_alpha is 1000"),
        ({"lora_alpha": 1e308}, "weights that are not finite in float32, scaled by lora_alpha"),
        ({"r": "8"}, "r is '8', which is not a number"),
        ({"lora_alpha": None}, "lora_alpha is None"),
        ({"alpha_pattern": {"q_proj": "4"}}, "q_proj is '4'"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(
    folder: Path, model: Tree, fields: dict[str, Any], words: str
) -> None:
    change(folder, **fields)
    with pytest.raises(ModelUnsupported, match=words):
        read(folder, model)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            f"{LAYER}.",
            "model.layers.7.self_attn.q_proj.",
            r"made for tiny, changes model\.layers\.7",
        ),
        (f"{LAYER}.", "lm_head.", "changes lm_head, which this model does not have as a linear"),
        (f"{LAYER}.", "model.layers.0.mlp.experts.0.up_proj.", r"experts\.0\.up_proj"),
        ("q_proj.lora_A.weight", "q_proj.lora_embedding_A", "changes an embedding"),
        ("q_proj.lora_B.weight", "q_proj.lora_magnitude_vector.weight", "DoRA's magnitudes"),
        ("q_proj.lora_B.weight", "q_proj.lora_B.bias", "no weight of a low-rank layer"),
        ("q_proj.lora_B.weight", "q_proj.base_layer.weight", "no weight of a low-rank layer"),
        ("self_attn.q_proj.lora_B", "mlp.gate.lora_B", "does not have|without lora_B"),
        (f"{LAYER}.", "model.layers.0.mlp.down_proj.x.", "does not have"),
    ],
)
def test_tensors_that_the_model_has_no_place_for(
    folder: Path, model: Tree, old: str, new: str, words: str
) -> None:
    rename(folder, old, new)
    with pytest.raises(ModelUnsupported, match=words):
        read(folder, model)


def test_wrong_shapes_name_both_sizes(folder: Path, model: Tree) -> None:
    tensors = load_file(folder / WEIGHTS)
    name = f"base_model.model.{LAYER}.lora_A.weight"
    for wrong in (torch.zeros(4, 9), torch.zeros(3, 8), torch.zeros(8), torch.zeros(0, 8)):
        save_file(tensors | {name: wrong}, folder / WEIGHTS)
        with pytest.raises(ModelUnsupported, match="has 8 inputs and 12 outputs; serve the adap"):
            read(folder, model)
    save_file(tensors | {name: torch.zeros(4, 8, dtype=torch.int8)}, folder / WEIGHTS)
    with pytest.raises(ModelUnsupported, match="save it in float32 or bfloat16"):
        read(folder, model)


def test_weights_that_are_not_finite_are_refused(folder: Path, model: Tree) -> None:
    tensors = load_file(folder / WEIGHTS)
    for part, value in (("A", math.nan), ("B", math.inf)):
        name = f"base_model.model.{LAYER}.lora_{part}.weight"
        wrong = tensors[name].clone()
        wrong[0, 0] = value
        save_file(tensors | {name: wrong}, folder / WEIGHTS)
        with pytest.raises(ModelUnsupported, match=f"{LAYER} with weights that are not finite"):
            read(folder, model)


def test_loaded_weights_are_no_mapping_of_the_file(folder: Path, model: Tree) -> None:
    up = load_file(folder / WEIGHTS)[f"base_model.model.{LAYER}.lora_B.weight"].clone()
    found = read(folder, model)
    size = (folder / WEIGHTS).stat().st_size
    with (folder / WEIGHTS).open("r+b") as file:
        file.write(b"\xff" * size)
    assert torch.equal(found.layers[LAYER].up, 2 * up)
    assert bool(found.layers[LAYER].down.isfinite().all())


def test_an_adapter_beyond_the_free_memory_is_refused(
    folder: Path, model: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter_files, "free_bytes", lambda device: 1000)
    monkeypatch.setattr(Path, "read_bytes", None)  # it is refused by its header
    with pytest.raises(NotEnoughMemory, match=r"to load, but 0\.0 MiB are free on cpu"):
        read(folder, model)


def test_a_folder_that_cannot_be_read_is_refused(model: Tree, tmp_path: Path) -> None:
    with pytest.raises(ModelUnsupported, match="cannot be read: File name too long"):
        read(tmp_path / ("x" * 5000), model)


@pytest.mark.parametrize(
    "stored",
    [
        "model.language_model.layers",
        "language_model.model.layers",
        "language_model.layers",
        "layers",
    ],
)
def test_names_of_wrappers_and_backbones_are_found(folder: Path, model: Tree, stored: str) -> None:
    rename(folder, "model.layers", stored)
    assert LAYER in read(folder, model).layers


def test_a_layer_under_two_names_is_refused(folder: Path, model: Tree) -> None:
    tensors = load_file(folder / WEIGHTS)
    twins = {name.replace("model.layers", "layers"): each for name, each in tensors.items()}
    save_file(tensors | {name: each.clone() for name, each in twins.items()}, folder / WEIGHTS)
    with pytest.raises(ModelUnsupported, match="twice, once as"):
        read(folder, model)


def test_damaged_and_missing_files(folder: Path, model: Tree) -> None:
    (folder / WEIGHTS).write_bytes(b"x" * 20)
    with pytest.raises(ModelUnsupported, match=f"{WEIGHTS} cannot be read"):
        read(folder, model)
    (folder / WEIGHTS).unlink()
    with pytest.raises(ModelUnsupported, match=f"has no {WEIGHTS}"):
        read(folder, model)
    (folder / CONFIG).write_text("[")
    with pytest.raises(ModelUnsupported, match="not readable JSON"):
        read(folder, model)
    (folder / CONFIG).unlink()
    with pytest.raises(ModelUnsupported, match="give the folder of an adapter"):
        read(folder, model)


def test_adapters_are_found_by_name_and_in_folders(tmp_path: Path, model: Tree) -> None:
    one = write_adapter(tmp_path / "all/one", model, seed=0, layers=("q_proj",))
    two = write_adapter(tmp_path / "all/two=2", model, seed=0, layers=("q_proj",))
    (tmp_path / "all/notes").mkdir()
    assert find_adapters("") == {}
    assert find_adapters(f" sql={one}, {tmp_path}/all ,") == {"sql": one, "one": one, "two=2": two}
    assert find_adapters(str(two)) == {"two=2": two}
    assert find_adapters(",") == {}
    for text, words in (
        ("/nowhere", "'/nowhere' does not exist"),
        ("x=/nowhere", "'x=/nowhere' names a folder that does not exist"),
        (f"{one}/{CONFIG}", "is not a folder"),
        (f"x={tmp_path}", "without adapter_config.json"),
        (f"{tmp_path}/all/notes", "notes' holds no adapter .no adapter_config.json.; give an"),
        (f"={one}", "must be name=folder"),
        (f"one={two},{one}", "repeats the name 'one'"),
    ):
        with pytest.raises(ConfigError, match=words):
            find_adapters(text)


def test_a_later_start_skips_adapters_that_are_unloaded_or_gone(
    tmp_path: Path, model: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    one, two, sql = (
        write_adapter(tmp_path / each, model, seed=0, layers=("q_proj",))
        for each in ("all/one", "all/two", "sql")
    )
    text = f"{tmp_path}/all,sql={sql}"
    assert keep_adapters(text, ()) == text
    assert keep_adapters(text, {"sql"}) == f"{tmp_path}/all"
    assert keep_adapters(text, {"one"}) == f"two={two},sql={sql}"
    assert find_adapters(keep_adapters(text, {"one", "two", "sql"})) == {}
    starts = LaterStarts(EngineConfig(lora=text))
    info: Any = object()  # of an engine that was ready once
    (one / WEIGHTS).write_bytes(b"damaged")
    (sql / CONFIG).unlink()
    assert starts.config(None).lora == text
    assert starts.config(info).lora == f"two={two}"
    assert "sql=" in caplog.text
    assert "all/one cannot be read" in caplog.text
    starts.note(LoadAdapter("two", str(two), replaces=True))
    assert starts.config(info).lora == f"two={two}"
    starts.note(UnloadAdapter("two"))
    assert find_adapters(starts.config(info).lora) == {}
