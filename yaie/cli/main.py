"""Entry point of the command line: runs a command and turns errors into exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from yaie.base.advised_error import AdvisedError
from yaie.base.own_package import read_version
from yaie.base.renamed_settings import advice_on
from yaie.cli import (
    batch,
    bench,
    cache,
    chat,
    config,
    demo,
    doctor,
    embed,
    failures,
    models,
    quantize,
    rerank,
    run,
    running,
    serve,
    storage,
    terminal,
    tokenize,
    top,
)
from yaie.cli.dispatch import STORAGE_COMMANDS, edit_distance, with_command
from yaie.cli.options import name_the_command
from yaie.process.hidden_keys import hide_keys_of_arguments

_GLOBAL_FLAGS = ("--debug", "--quiet", "-q")
_NEAR = 2  # edits between an unknown flag and one that is suggested

app = typer.Typer(
    name="yaie",
    help=(
        'Run language models with a shared prefix cache. yaie "PROMPT" answers a prompt; yaie '
        "alone starts a chat on a terminal."
    ),
    epilog='Examples: yaie "Why is the sky blue?"    cat notes.md | yaie "Summarise this"',
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("serve")(serve.serve)
app.command("batch")(batch.batch)
app.command("embed")(embed.embed)
app.command("rerank")(rerank.rerank)
app.command("demo")(demo.demo)
app.add_typer(bench.app, name="bench")
app.add_typer(cache.app, name="cache")
app.command("doctor")(doctor.doctor)
app.command("models")(models.models)
app.command("pull")(storage.pull)
app.command("list")(storage.list_models)
app.command("show")(storage.show)
app.command("rm")(storage.remove)
app.command("ps")(running.ps)
app.command("stop")(running.stop)
app.command("top")(top.top)
app.add_typer(config.app, name="config")
app.command("quantize")(quantize.quantize)
app.command("tokenize")(tokenize.tokenize)


@app.command("version")
def print_version() -> None:
    """Show the YAIE version."""
    print(f"yaie {read_version()}")


COMMANDS = (
    *("run", "chat", "serve", "batch", "embed", "rerank", "demo", "bench", "cache", "config"),
    *("doctor", "models", "quantize", "tokenize", "top", "version"),
    *STORAGE_COMMANDS,
)
# Bare words allowed after a command.
_GROUPS = (bench.app, cache.app, config.app)
_NAMES = ("builtin", *(each.name for group in _GROUPS for each in group.registered_commands))


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show error tracebacks.")] = False,
    _quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print answers and errors only.")
    ] = False,
) -> None:
    if show_version and context.invoked_subcommand is None:
        print_version()


def main() -> None:
    """Run the command line and exit with its code."""
    hide_keys_of_arguments()
    terminal.prepare_streams()
    if "_YAIE_COMPLETE" in os.environ:
        name_the_command(os.environ)
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command line, print its errors to stderr and return its exit code."""
    try:
        typed = _take_global_flags(arguments)
        code = app(with_command(typed, COMMANDS, _NAMES), prog_name="yaie", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # one screen for the user instead of a traceback
        return _exit_code_of(error)
    if code == failures.INTERRUPTED:  # typer's code for Ctrl-C
        return _end_interrupted()
    return code if isinstance(code, int) else 0


def _exit_code_of(error: BaseException) -> int:
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _discard_output()  # the reader has closed the pipe (`yaie … | head`): a success
        return 0
    if isinstance(error, terminal.CannotWrite):
        _discard_output()
        return failures.show_failure(failures.output_error(error))
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _end_interrupted()
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else failures.FAILED
    if isinstance(error, typer.TyperException):
        return failures.show_failure(_as_usage_error(error))
    return failures.show_failure(error)


def _take_global_flags(arguments: Sequence[str]) -> list[str]:
    """Apply --debug and --quiet anywhere before `--`, and return the remaining arguments."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    before = arguments[:end]
    if "--debug" in before:
        os.environ["YAIE_DEBUG"] = "1"
    if "--quiet" in before or "-q" in before:
        terminal.be_quiet()
    return [word for word in before if word not in _GLOBAL_FLAGS] + list(arguments[end:])


def _as_usage_error(error: typer.TyperException) -> AdvisedError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "yaie"
    possible = getattr(error, "possibilities", None)
    if possible:  # typer suggests distant flags as well
        typed = getattr(error, "option_name", "")
        near = [flag for flag in possible if edit_distance(typed, flag) <= _NEAR]
        error.possibilities = near  # type: ignore[attr-defined]
    why = advice_on(getattr(error, "option_name", None) or "")
    return failures.usage_error(error.format_message(), why=why, advice=f"{path} --help")


def _discard_output() -> None:
    """Send the rest of the output buffer to the null device, so that Python's last flush works."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device, not a file
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _end_interrupted() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the clean-up
    if terminal.is_terminal(sys.stderr):
        print(file=sys.stderr)
    return failures.INTERRUPTED
