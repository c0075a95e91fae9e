"""Command selection: the typed command, `run` for a prompt, or `chat`.

A prompt is best quoted: one argument with a space in it is always a prompt. Unquoted, the first
word decides. It counts as a mistyped command, and is refused with advice, if
- it is a command in similar programs (`ls`, `install`, ...) and at most one more word follows;
- it nearly spells a YAIE command, alone or before flags, a path or a name;
- it is one edit away from a YAIE command and one more word follows;
- it is one edit away from a storage command (`pull`, `list`, ...), and a model name follows.
Storage commands are commands if at most one more word follows, and `cache` also before its
subcommands. All other lines are prompts, in particular sentences with three words or more.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from itertools import pairwise, takewhile

from yaie.base.advised_error import AdvisedError
from yaie.base.own_package import UPGRADE
from yaie.cli import terminal
from yaie.cli.failures import usage_error

ROOT_FLAGS = ("--help", "-h", "--version", "--install-completion", "--show-completion")
_HELP = ("help", "--help", "-h")

# Flags of the commands below whose next word is a value.
_WITH_VALUE = ("--revision", "--url", "--api-key", "--admin-key")
STORAGE_COMMANDS = ("pull", "list", "show", "rm", "ps", "stop")  # words that also begin prompts

_START = "`yaie pull NAME` downloads a model, as its first use does"
_LIST = "`yaie list` lists local models"
_REMOVE = "`yaie rm NAME` removes a model"
_RUNNING = "`yaie ps` lists the models of a running server"
_UPDATE = "git updates a clone of YAIE"

# Commands of Ollama, llm, vLLM and git-like programs, with YAIE's way to the same end.
_FOREIGN = {
    "download": (_START, "yaie pull smollm2"),
    "install": (_START, "yaie pull smollm2"),
    "start": ("`yaie serve` starts the server", "yaie serve"),
    "ls": (_LIST, "yaie list"),
    "status": (_RUNNING, "yaie ps"),
    "remove": (_REMOVE, "yaie list"),
    "delete": (_REMOVE, "yaie list"),
    "uninstall": (_REMOVE, "yaie list"),
    "generate": ("`yaie run` answers a prompt", 'yaie run "PROMPT"'),
    "complete": ("`yaie run` answers a prompt", 'yaie run "PROMPT"'),
    "info": ("`yaie doctor` describes this machine", "yaie doctor"),
    "stats": ("`yaie top` shows a running server", "yaie top"),
    "keys": ("the setting `api_key` lists a server's keys", "yaie serve --api-key KEY"),
    "login": ("the variable HF_TOKEN is the Hugging Face token", "hf auth login"),
    "convert": ("models are folders or GGUF files, used as they are", "yaie serve ./FOLDER"),
    "update": (_UPDATE, UPGRADE),
    "upgrade": (_UPDATE, UPGRADE),
    "create": ("models are folders or GGUF files, used as they are", "yaie serve ./FOLDER"),
    "push": ("YAIE does not publish models", "yaie --help"),
    "logs": ("the server logs to standard error", "yaie serve 2> yaie.log"),
}


def with_command(
    arguments: list[str], commands: Collection[str], names: Collection[str | None] = ()
) -> list[str]:
    """Return the arguments with their command in front.

    `commands` are YAIE's commands; `names` are words that may follow a command. Raises a usage
    error for a first word that is taken for a mistyped command.
    """
    if not arguments:
        on_terminal = terminal.is_terminal(sys.stdin) and terminal.is_terminal(sys.stdout)
        return ["chat"] if on_terminal else ["run"]
    first, *rest = arguments
    if first in _HELP and (not rest or rest[0] in commands):
        return [*rest, "--help"]
    words = [
        word
        for before, word in pairwise(arguments)
        if not word.startswith("-") and before not in _WITH_VALUE
    ]
    is_prompt = first in STORAGE_COMMANDS and len(words) > 1
    is_prompt |= first == "cache" and len(words) > 1 and words[0] not in names
    if (first in commands and not is_prompt) or first.split("=")[0] in ROOT_FLAGS:
        return arguments
    if first in _FOREIGN and len(words) <= 1:
        why, advice = _FOREIGN[first]
        raise _no_command(arguments, why, advice)
    if is_prompt:
        return ["run", *arguments]
    near = [name for name in commands if name not in STORAGE_COMMANDS]  # `yaie how` is a prompt
    if len(words) == 1 and _names_model(words[0]):
        near += STORAGE_COMMANDS
    meant = min(near, key=lambda name: edit_distance(first.lower(), name))
    tolerance = min(_tolerance(rest, names), len(first) // 2)
    if first.isalpha() and edit_distance(first.lower(), meant) <= tolerance:
        what = f"did you mean `yaie {meant}`?"
        raise _no_command(arguments, what, " ".join(["yaie", meant, *rest]))
    return ["run", *arguments]


def _tolerance(rest: list[str], names: Collection[str | None]) -> int:
    """Return the edits by which a first word may differ from the command that is meant."""
    words = list(takewhile(lambda word: not word.startswith("-"), rest))
    if words and _names_model(words[0]):
        return 1
    if not words or not words[0].isalpha() or words[0] in names:
        return 2
    return 1 if len(words) == 1 else 0


def _names_model(word: str) -> bool:
    """Return True for a word that can only be the name of a model."""
    from yaie.models.files.model_index import CATALOGUE

    is_path = "://" in word or word.startswith(("./", "/", "~"))
    return word in CATALOGUE or ("/" in word.strip("./") and not is_path)


def _no_command(arguments: list[str], why: str, advice: str) -> AdvisedError:
    return usage_error(
        f"no command {arguments[0]!r}; {why}",
        why=f"to send it as a prompt: yaie run {' '.join(arguments)}",
        advice=advice,
    )


def edit_distance(left: str, right: str) -> int:
    """Return the number of characters to insert, remove or replace between two words."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]
