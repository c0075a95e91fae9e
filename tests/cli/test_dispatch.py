"""Which command is meant by what was typed."""

from __future__ import annotations

import pytest

from yaie.cli.failures import CommandFailed
from yaie.cli.main import COMMANDS, _take_global_flags, app, edit_distance, with_command


@pytest.mark.parametrize(
    "typed",
    [
        ["Why is the sky blue?"],
        ["hello"],
        ["-m", "builtin", "hello"],
        ["--max-tokens", "5", "hello"],
        ["tell", "me", "a", "joke"],
        ["what", "is", "a", "tree?"],
        ["can", "you", "count"],
    ],
)
def test_what_is_no_command_is_a_prompt(typed: list[str]) -> None:
    assert with_command(typed) == ["run", *typed]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_left_alone(command: str) -> None:
    assert with_command([command, "--help"]) == [command, "--help"]


def test_the_list_of_commands_is_complete() -> None:
    named = {command.name for command in app.registered_commands}
    assert named | {group.name for group in app.registered_groups} == set(COMMANDS)


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_flags_of_the_whole_program_are_not_a_prompt(flag: str) -> None:
    assert with_command([flag]) == [flag]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serv", "serve"), ("chta", "chat"), ("Serve", "serve"), ("dcotor", "doctor")],
)
def test_a_misspelt_command_is_asked_about(typed: str, meant: str) -> None:
    with pytest.raises(CommandFailed, match=f"Did you mean `yaie {meant}`") as failure:
        with_command([typed, "--port", "1"])
    assert failure.value.exit_code == 2
    assert failure.value.advice == f"yaie {meant} --port 1"
    assert failure.value.why.endswith(f"yaie run {typed} --port 1")


@pytest.mark.parametrize("typed", [["serv", "builtin"], ["benhc", "tree"], ["serv", "./model"]])
def test_a_misspelt_command_with_its_arguments_is_asked_about(typed: list[str]) -> None:
    with pytest.raises(CommandFailed, match="Did you mean"):
        with_command(typed)


def test_without_a_terminal_a_bare_call_is_a_one_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert with_command([]) == ["run"]


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("run", "", 3),
        ("serve", "serve", 0),
        ("serv", "serve", 1),
        ("kitten", "sitting", 3),
    ],
)
def test_edit_distance(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right) == edit_distance(right, left) == distance


def test_flags_of_the_whole_program_are_taken_anywhere_but_behind_two_dashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("YAIE_DEBUG", raising=False)
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    assert _take_global_flags(["hi", "--quiet", "-t", "0"]) == ["hi", "-t", "0"]
    assert _take_global_flags(["run", "--", "--debug"]) == ["run", "--", "--debug"]
