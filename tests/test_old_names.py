"""Names of settings in earlier systems: each is refused with the way to the same end."""

from __future__ import annotations

import re

import pytest

from yaie.base.errors import ConfigError
from yaie.base.renamed_settings import OLD_NAMES, advice_on
from yaie.base.settings import SETTINGS, load_settings, unknown_variables
from yaie.cli.main import run_command_line


def test_advice_names_settings_that_exist() -> None:
    for name, advice in OLD_NAMES.items():
        assert name not in SETTINGS
        named = re.findall(r"use (\w+)", advice)
        assert set(named) <= set(SETTINGS), name


@pytest.mark.parametrize("flag", ["--workers", "--reload", "--max-batch-size", "--num-blocks"])
def test_a_flag_is_answered_with_the_reason(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["serve", flag, "2"]) == 2
    said = capsys.readouterr().err
    assert advice_on(flag) and advice_on(flag) in said.replace("\n  ", " ")


def test_a_keyword_and_a_variable_are_too() -> None:
    with pytest.raises(ConfigError, match="use max_running"):
        load_settings(max_batch_size=3)
    (warning,) = unknown_variables({"YAIE_SCHEDULE_POLICY": "fcfs"})
    assert warning.endswith("was ignored; use policy")
    (warning,) = unknown_variables({"MAX_BATCH_SIZE": "3", "PATH": "/"})
    assert warning == "MAX_BATCH_SIZE is not read: use max_running"
