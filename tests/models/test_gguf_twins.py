"""GGUF files of every architecture: config, weights and logits of the model inside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conformance.case import VOCAB_SIZE
from tests.conformance.naive import NaiveCache
from tests.conformance.subject import NUM_SLOTS, close
from tests.models.gguf_twin_list import TWINS
from tests.models.gguf_twins import Twin
from yaie.base.settings import EngineConfig
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.files.gguf.families import FAMILIES
from yaie.models.files.gguf.pretokenizers import PRE_TOKENIZERS
from yaie.models.load.folder import open_folder
from yaie.models.load.hf_model import read_hf_config
from yaie.models.load.loader import load_model

PAGE = Path(__file__).resolve().parents[2] / "docs/guides/models.md"
_BY_DEFAULT = {"gemma3", "phi3", "gpt-oss", "deepseek2"}
# Of training, of the file, or of generation.
_WITHOUT_EFFECT = {
    *("transformers_version", "_name_or_path", "dtype", "architectures", "use_cache"),
    *("pad_token_id", "bos_token_id", "eos_token_id", "initializer_range", "attention_dropout"),
    *("output_router_logits", "router_aux_loss_coef", "router_jitter_noise"),
}


def twins() -> list[Any]:
    return [
        pytest.param(
            twin,
            id=twin.name,
            marks=() if twin.architecture in _BY_DEFAULT else pytest.mark.integration,
        )
        for twin in TWINS
    ]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "yaie.models.files.gguf.hf_folder.cache_folder", lambda name: tmp_path / name
    )


def settings_of(config: Any, like: Any, *without: str) -> dict[str, Any]:
    """Return the settings that the class of the config `like` knows."""
    known = type(like)().to_dict().keys() - {*_WITHOUT_EFFECT, *without}
    found = {name: value for name, value in config.to_dict().items() if name in known}
    table = found.get("rope_parameters")
    if table is not None and table.get("partial_rotary_factor") == 1.0:  # as if it were not there
        found["rope_parameters"] = {k: v for k, v in table.items() if k != "partial_rotary_factor"}
    return found


@pytest.mark.parametrize("twin", twins())
def test_a_file_is_the_model_that_it_was_made_of(twin: Twin, tmp_path: Path) -> None:
    model = twin.build()
    path = twin.write(tmp_path / "model.gguf", model)
    folder = open_folder(str(path))
    found = settings_of(read_hf_config(folder.path), model.config, *twin.unlike)
    assert found == settings_of(model.config, model.config, *twin.unlike)
    loaded = load_model(EngineConfig(model=str(path), num_slots=NUM_SLOTS))
    assert loaded.model is not None
    weights = loaded.model.state_dict()
    for name, value in model.state_dict().items():
        assert twin.multiplied or torch.equal(weights[name], value), name
    tokens = torch.randint(3, VOCAB_SIZE, (29,), generator=torch.Generator().manual_seed(2))
    plan = NaiveCache(NUM_SLOTS).plan([tokens.tolist()], all_logits=True)
    with torch.inference_mode():
        logits = model(tokens[None], use_cache=False).logits[0].float()
    close(choose_executor(loaded, "auto").execute(plan), logits)


def test_each_architecture_has_a_twin_and_a_place_in_the_docs() -> None:
    assert {twin.architecture for twin in TWINS} == set(FAMILIES)
    assert names_in("architectures") == sorted(FAMILIES)


def test_each_pre_tokenizer_has_a_place_in_the_docs() -> None:
    assert set(names_in("tokenizers")) == {*PRE_TOKENIZERS, "gemma4", "gpt2", "llama"}


def names_in(row: str) -> list[str]:
    found = next(line for line in PAGE.read_text().splitlines() if f"| {row} |" in line)
    return sorted(re.findall(r"`([^`]+)`", found))
