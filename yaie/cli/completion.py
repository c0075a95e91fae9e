"""Shell completion for model names and setting choices."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from yaie.base.setting_field import Setting
from yaie.cli.dispatch import ROOT_FLAGS

# Variables in which the shells hand over the command line: bash, then zsh and fish.
_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def complete_model(typed: str) -> list[str]:
    """Return the local models that begin with the typed text."""
    from yaie.cli.models import local_folders

    return [name for name, _ in local_folders() if name.startswith(typed)]


def completer(setting: Setting) -> Callable[[str], list[str]] | None:
    """Return the completion of a setting's values, or None for free text and numbers."""
    if setting.name == "model":
        return complete_model
    if not setting.choices:
        return None

    def complete(typed: str) -> list[str]:
        return [choice for choice in setting.choices if choice.startswith(typed.lower())]

    return complete


def name_the_command(environment: MutableMapping[str, str]) -> None:
    """Insert `run` into a command line to complete that begins with a flag: `yaie -m <Tab>`."""
    for variable in _LINES:
        program, _, rest = environment.get(variable, "").partition(" ")
        first, space, _ = rest.partition(" ")
        if first.startswith("-") and space and first not in ROOT_FLAGS:
            environment[variable] = f"{program} run {rest}"
            if variable == "COMP_WORDS":
                environment["COMP_CWORD"] = str(int(environment["COMP_CWORD"]) + 1)
