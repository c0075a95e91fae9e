"""Keywords and fields as `help()`, editors and type checkers show them."""

from __future__ import annotations

import dataclasses
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from yaie import LLM, SamplingParams
from yaie.base.engine_keywords import EngineKeywords, SettingKeywords
from yaie.base.renamed_settings import HARMLESS
from yaie.base.settings import EngineConfig

ROOT = Path(__file__).resolve().parents[2]


def test_keywords_have_the_types_of_the_settings() -> None:
    settings = get_type_hints(EngineConfig)
    del settings["model"]  # a parameter
    assert get_type_hints(SettingKeywords) == settings
    assert set(get_type_hints(EngineKeywords)) == set(settings) | set(HARMLESS)


def test_help_explains_each_field_and_argument() -> None:
    shown = pydoc.plain(pydoc.render_doc(SamplingParams))
    for field in dataclasses.fields(SamplingParams):
        assert re.search(rf"^ \|\s+{field.name}: [A-Z]", shown, re.MULTILINE), field.name
    assert "class SamplingParams" in shown and "max_tokens: int | None = 16" in shown
    loading = pydoc.plain(pydoc.render_doc(LLM.__init__))
    assert all(f"{name}:" in loading for name in ("model", "tokenizer", "config", "keywords"))


@pytest.mark.integration
@pytest.mark.slow
def test_a_type_checker_finds_wrong_keywords(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    lines = {
        "LLM(num_slots=64, dtype='float32', enforce_eager=True)": "",
        "LLM(num_slotz=1)": "num_slotz",
        "LLM(dtype='float31')": "incompatible type",
        "LLM(tensor_parallel_size=2)": "incompatible type",
        "AsyncLLM(max_runing=1)": "max_runing",
    }
    program.write_text("\n".join(["from yaie import LLM, AsyncLLM", *lines]))
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(program)]
    found = subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=600
    ).stdout
    for number, words in enumerate(lines.values(), 2):
        said = " ".join(re.findall(rf"program.py:{number}: error: (.*)", found))
        assert words in said and bool(words) == bool(said), found
