"""The entry point: which command is meant, and what becomes of its errors and exit code.

`yaie "PROMPT"` is `yaie run`, and a bare `yaie` on a terminal is `yaie chat`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from yaie.cli import bench, chat, demo, doctor, failures, models, run, serve, terminal, version

_GLOBAL_FLAGS = ("--debug", "--quiet", "-q")
_ROOT_FLAGS = ("--help", "-h", "--version", "--install-completion", "--show-completion")

app = typer.Typer(
    name="yaie",
    help="Serve a language model, or ask it, with a radix tree that shares every common prefix.",
    epilog='Ask at once: yaie "Why is the sky blue?"    or: cat notes.md | yaie "Summarise this"',
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.add_typer(bench.app, name="bench")
app.command("doctor")(doctor.doctor)
app.command("models")(models.models)
app.command("version")(version.version)
COMMANDS = ("run", "chat", "serve", "demo", "bench", "doctor", "models", "version")
# What may follow a command, as a bare word.
_COMMAND_ARGUMENTS = ("builtin", *(each.name for each in bench.app.registered_commands))


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    _quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No remarks, only answers and errors.")
    ] = False,
) -> None:
    if show_version and context.invoked_subcommand is None:
        version.version()


def main() -> None:
    """Run the command line and exit with its code."""
    terminal.prepare_streams()
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors have been shown on stderr."""
    try:
        typed = _take_global_flags(arguments)
        code = app(with_command(typed), prog_name="yaie", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # the last line of defence: one screen for a person, no trace
        return _exit_code_of(error)
    if code == failures.INTERRUPTED:  # typer's word for Ctrl-C
        return _interrupted()
    return code if isinstance(code, int) else 0


def _exit_code_of(error: BaseException) -> int:
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _discard_output()  # the reader has seen enough (`yaie … | head`): that is no failure
        return 0
    if isinstance(error, terminal.CannotWrite):
        _discard_output()
        return failures.show_failure(failures.output_error(error))
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _interrupted()
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else failures.FAILED
    if isinstance(error, typer.TyperException):
        return failures.show_failure(_as_usage_error(error))
    return failures.show_failure(error)


def with_command(arguments: list[str]) -> list[str]:
    """The arguments with the command that is meant in front.

    Raises `CommandFailed` (usage) for a bare word that looks like a misspelt command, unless
    more words follow as in a sentence: `yaie what is a tree` is a prompt, no misspelt `chat`.
    """
    if not arguments:
        on_terminal = terminal.is_terminal(sys.stdin) and terminal.is_terminal(sys.stdout)
        return ["chat"] if on_terminal else ["run"]
    first = arguments[0]
    if first in COMMANDS or first.split("=")[0] in _ROOT_FLAGS:
        return arguments
    if first.isalpha() and not _goes_on(arguments[1:]):
        meant = min(COMMANDS, key=lambda name: edit_distance(first.lower(), name))
        if edit_distance(first.lower(), meant) <= 2:
            rest = " ".join(arguments)
            raise failures.usage_error(
                f"no command {first!r}. Did you mean `yaie {meant}`?",
                why=f"to send it as a prompt: yaie run {rest}",
                advice=f"yaie {' '.join([meant, *arguments[1:]])}",
            )
    return ["run", *arguments]


def _goes_on(rest: list[str]) -> bool:
    """Whether these words go on with a sentence rather than with a command's own arguments."""
    return bool(rest) and rest[0].isalpha() and rest[0] not in _COMMAND_ARGUMENTS


def edit_distance(left: str, right: str) -> int:
    """How many letters must be inserted, removed or replaced to get from one to the other."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def _take_global_flags(arguments: Sequence[str]) -> list[str]:
    """Obey --debug and --quiet wherever they stand before `--`, and take them out."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    before = arguments[:end]
    if "--debug" in before:
        os.environ["YAIE_DEBUG"] = "1"
    if "--quiet" in before or "-q" in before:
        terminal.be_quiet()
    return [word for word in before if word not in _GLOBAL_FLAGS] + list(arguments[end:])


def _as_usage_error(error: typer.TyperException) -> failures.CommandFailed:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "yaie"
    return failures.usage_error(error.format_message(), advice=f"{path} --help")


def _discard_output() -> None:
    """Let Python's last flush of what is still in the buffer find somebody who takes it."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device, not a file
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _interrupted() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C shall not cut the clean-up
    if terminal.is_terminal(sys.stderr):
        print(file=sys.stderr)
    return failures.INTERRUPTED
