"""Loading of the engine core into a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from yaie.base.settings import EngineConfig
from yaie.client.core_loading import load_engine_core

VARIABLE = "OMP_WAIT_POLICY"


@pytest.mark.parametrize(
    ("has_torch", "before", "after"),
    [
        (False, None, "PASSIVE"),
        (False, "ACTIVE", "ACTIVE"),  # set by the user
        (True, None, None),  # too late to change anything
    ],
)
def test_torch_threads_are_passive_unless_set_or_too_late(
    tiny_model_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_torch: bool,
    before: str | None,
    after: str | None,
) -> None:
    monkeypatch.setenv(VARIABLE, before or "")  # so that it is put back in any case
    if before is None:
        monkeypatch.delenv(VARIABLE)
    found: list[str | None] = []
    core = SimpleNamespace(EngineCore=lambda config: found.append(os.environ.get(VARIABLE)))
    monkeypatch.setitem(sys.modules, "yaie.engine.core", core)  # the real one imports torch
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    if not has_torch:
        monkeypatch.delitem(sys.modules, "torch")
    load_engine_core(EngineConfig(model=str(tiny_model_dir)))
    assert found == [after]


@pytest.mark.integration
def test_an_llm_loads_its_engine_before_torch_is_imported(tiny_model_dir: Path) -> None:
    script = (
        "import sys, types\n"
        "def load(config):\n"
        "    assert 'torch' not in sys.modules\n"
        "    print('loaded')\n"
        "    sys.exit()\n"
        "sys.modules['yaie.engine.core'] = types.SimpleNamespace(EngineCore=load)\n"
        "from yaie import LLM\n"
        f"LLM({str(tiny_model_dir)!r})\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout == "loaded\n"
