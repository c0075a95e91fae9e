"""The comparison of GGUF files, with a stand-in for llama-bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gguf_files

PROGRAM = """#!/bin/sh
[ -z "$OMP_WAIT_POLICY" ] || exit 3
echo '[{"n_prompt": 16, "samples_ts": [10.0], "model_size": 1, "model_n_params": 1},
       {"n_prompt": 0, "samples_ts": [5.0], "model_size": 1, "model_n_params": 1}]'
"""


def test_both_take_turns(
    tiny_model_dir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    program = tmp_path / "llama-bench"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    where = ["--llama-cpp", str(tmp_path), "--prompt", "16", "--new", "4", "--repeats", "2"]
    gguf_files.main([*where, str(tiny_model_dir)])
    (found,) = json.loads(capsys.readouterr().out)["files"]
    assert found["tokens_per_s"]["llama.cpp"] == 5.0
    assert found["prompt_tokens_per_s"]["llama.cpp"] == 10.0
    assert all(found[name]["yaie"] > 0 and found[name]["ratio"] > 0 for name in gguf_files.SPEEDS)


def test_a_missing_program_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        gguf_files.main(["model.gguf"])
    assert "llama-bench is neither in --llama-cpp" in capsys.readouterr().err
