"""Names of settings in earlier systems: each is refused with the way to the same end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from yaie import LLM, AsyncLLM
from yaie.api.local_engine import engine_config
from yaie.base.errors import ConfigError
from yaie.base.renamed_settings import OLD_NAMES, advice_on
from yaie.base.settings import SETTINGS, EngineConfig, load_settings
from yaie.base.unknown_variables import unknown_variables
from yaie.cli.main import run_command_line


def test_advice_names_settings_that_exist() -> None:
    for name, advice in OLD_NAMES.items():
        assert name not in SETTINGS
        assert set(re.findall(r"\{(\w+)\}", advice)) <= set(SETTINGS), name


# Flags from the command-line references of vLLM and SGLang.
@pytest.mark.parametrize(
    ("flag", "ours"),
    [
        ("--gpu-memory-utilization", "--memory-bytes"),
        ("--enable-prefix-caching", "--prefix-cache"),
        ("--no-enable-prefix-caching", "--prefix-cache"),
        ("--kv-cache-dtype", "--kv-dtype"),
        ("--enable-lora", "--lora"),
        ("--speculative-model", "--speculate auto"),
        ("--trust-remote-code", "never run"),
        ("--mem-fraction-static", "--memory-bytes"),
        ("--data-parallel-size", "--ray --replicas"),
        ("--tensor-parallel-size", "one device"),
        ("--context-length", "--max-model-len"),
        ("--chunked-prefill-size", "--max-step-rows"),
        ("--max-running-requests", "--max-running"),
        ("--max-total-tokens", "--num-slots"),
        ("--model-path", "--model"),
        ("--reasoning-parser", "chat template"),
        ("--enable-auto-tool-choice", "always on"),
    ],
)
def test_flags_of_peers_are_answered_with_our_flags(
    flag: str, ours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["serve", flag, "2"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert flag in said and advice_on(flag) in said and ours in said


def test_each_name_is_answered_in_its_spelling(tmp_path: Path) -> None:
    (warning,) = unknown_variables({"YAIE_GPU_MEMORY_UTILIZATION": "0.9"})
    assert warning.endswith("; use YAIE_MEMORY_BYTES, or YAIE_NUM_SLOTS")
    for make in (LLM, AsyncLLM):
        with pytest.raises(ConfigError, match="setting; use memory_bytes, or num_slots"):
            make(gpu_memory_utilization=0.9)
    file = tmp_path / "settings.yaml"
    file.write_text("max-num-seqs: 4\n")
    with pytest.raises(ConfigError, match=r"max_num_seqs, .* setting; use max_running"):
        load_settings(file)


def test_keywords_of_vllm_that_change_nothing_are_accepted() -> None:
    given: dict[str, Any] = {"enforce_eager": True, "trust_remote_code": True, "swap_space": 4}
    ones = {"tensor_parallel_size": 1, "kv_cache_dtype": "auto", "enable_lora": False}
    assert engine_config("builtin", None, given | ones) == EngineConfig()
    for name, value in {"tensor_parallel_size": 2, "enable_lora": True}.items():
        with pytest.raises(
            ConfigError, match=f"{name} is not an engine setting; {advice_on(name)}"
        ):
            engine_config("builtin", None, {name: value})


@pytest.mark.parametrize("flag", ["--workers", "--reload", "--max-batch-size", "--num-blocks"])
def test_a_flag_is_answered_with_the_reason(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["serve", flag, "2"]) == 2
    said = capsys.readouterr().err
    assert advice_on(flag) and advice_on(flag) in said.replace("\n  ", " ")


def test_a_keyword_and_a_variable_are_too() -> None:
    with pytest.raises(ConfigError, match="use max_running"):
        load_settings(max_batch_size=3)
    (warning,) = unknown_variables({"YAIE_SCHEDULE_POLICY": "fcfs"})
    assert warning.endswith("was ignored; use YAIE_POLICY")
    (warning,) = unknown_variables({"MAX_BATCH_SIZE": "3", "PATH": "/"})
    assert warning == "MAX_BATCH_SIZE is not read: use YAIE_MAX_RUNNING"
