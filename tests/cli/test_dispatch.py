"""The command that is meant by a command line."""

from __future__ import annotations

import pytest

from yaie.base.advised_error import AdvisedError
from yaie.cli.dispatch import edit_distance, with_command
from yaie.cli.main import _NAMES, COMMANDS, _take_global_flags, app


def dispatched(*typed: str) -> list[str]:
    return with_command(list(typed), COMMANDS, _NAMES)


def refusal(*typed: str) -> AdvisedError:
    with pytest.raises(AdvisedError) as failure:
        dispatched(*typed)
    assert failure.value.exit_code == 2
    return failure.value


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
        ["list the planets"],
        ["list", "the", "planets"],
        ["show", "me", "a", "joke"],
        ["rm", "-rf", "means", "what?"],
        ["how"],
        ["stop that"],
        ["help", "me"],
        ["cache", "invalidation", "is", "hard"],
        ["hello", "there"],
        ["-n", "5", "list"],
    ],
    ids=" ".join,
)
def test_other_words_are_a_prompt(typed: list[str]) -> None:
    assert dispatched(*typed) == ["run", *typed]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_left_alone(command: str) -> None:
    assert dispatched(command, "--help") == [command, "--help"]


def test_the_value_of_a_flag_is_no_word_of_a_prompt() -> None:
    typed = ["pull", "org/name", "--revision", "v1"]
    assert dispatched(*typed) == typed


def test_the_list_of_commands_is_complete() -> None:
    named = {command.name for command in app.registered_commands}
    assert named | {group.name for group in app.registered_groups} == set(COMMANDS)


@pytest.mark.parametrize("flag", ["--help", "-h", "help"])
def test_help_may_come_before_its_command(flag: str) -> None:
    assert dispatched(flag) == ["--help"]
    assert dispatched(flag, "serve") == ["serve", "--help"]
    assert dispatched(flag, "bench", "tree") == ["bench", "tree", "--help"]


def test_the_version_flag_is_not_a_prompt() -> None:
    assert dispatched("--version") == ["--version"]


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        (["download"], "yaie pull"),
        (["install", "Qwen/Qwen3-0.6B"], "yaie pull"),
        (["install", "llama", "--insecure"], "yaie pull"),
        (["ls"], "yaie list"),
        (["status"], "yaie ps"),
        (["remove", "builtin"], "yaie list"),
        (["delete", "smollm2"], "yaie list"),
        (["info"], "yaie doctor"),
        (["keys"], "--api-key KEY"),
        (["login"], "hf auth login"),
        (["upgrade"], "git pull"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_commands_of_other_programs_are_told_apart(typed: list[str], advice: str) -> None:
    error = refusal(*typed)
    assert error.message.startswith(f"no command {typed[0]!r}; ")
    assert advice in error.advice
    assert error.why.endswith(f"yaie run {' '.join(typed)}")


def test_install_says_how_models_are_downloaded() -> None:
    assert "`yaie pull NAME` downloads a model" in refusal("install").message


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serv", "serve"), ("chta", "chat"), ("Serve", "serve"), ("dcotor", "doctor")],
)
def test_a_misspelt_command_is_asked_about(typed: str, meant: str) -> None:
    error = refusal(typed, "--port", "1")
    assert f"did you mean `yaie {meant}`" in error.message
    assert error.advice == f"yaie {meant} --port 1"
    assert error.why.endswith(f"yaie run {typed} --port 1")


@pytest.mark.parametrize(
    "typed", [["serv", "builtin"], ["benhc", "tree"], ["serv", "./model"], ["rn", "hi"]]
)
def test_a_misspelt_command_may_have_an_argument(typed: list[str]) -> None:
    assert "did you mean" in refusal(*typed).message


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["pul", "smollm2"], "yaie pull smollm2"),
        (["shw", "org/name"], "yaie show org/name"),
        (["tokenise", "hi", "--count"], "yaie tokenize hi --count"),
    ],
    ids=lambda words: words[0],
)
def test_a_misspelt_command_has_the_advice_of_the_nearest(typed: list[str], meant: str) -> None:
    assert refusal(*typed).advice == meant


def test_words_near_a_command_and_a_word_that_is_no_model_are_a_prompt() -> None:
    address = ["--url", "http://127.0.0.1:8000"]  # with a slash, as names of models have
    for typed in (["full", "moon"], ["lost", "keys"], ["how", "now"], ["hi", *address]):
        assert dispatched(*typed) == ["run", *typed]


def test_without_a_terminal_a_bare_call_is_a_one_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert dispatched() == ["run"]


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


def test_global_flags_work_anywhere_before_two_dashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("YAIE_DEBUG", raising=False)
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    assert _take_global_flags(["hi", "--quiet", "-t", "0"]) == ["hi", "-t", "0"]
    assert _take_global_flags(["run", "--", "--debug"]) == ["run", "--", "--debug"]
