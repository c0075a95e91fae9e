"""Command line of `python -m benchmarks`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from benchmarks import commands
from benchmarks.fleet.command import fleet
from benchmarks.growing_chats.command import chats
from benchmarks.quality.command import quality
from benchmarks.schedule.command import schedule
from yaie.cli import failures

app = typer.Typer(
    help="Compare YAIE with other engines on this machine, and measure its parts.",
    epilog="Parts: python -m benchmarks.attention, .linear, .exact, .host, .streams, "
    ".socket_streams, .calls; see --help.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("peers")(commands.peers)
app.command("models")(commands.models)
app.command("record")(commands.record)
app.command("chart")(commands.chart)
app.command("chats")(chats)
app.command("quality")(quality)
app.command("schedule")(schedule)
app.command("fleet")(fleet)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors have been printed to stderr."""
    try:
        code = app(list(arguments), prog_name="python -m benchmarks", standalone_mode=False)
    except KeyboardInterrupt:
        return failures.INTERRUPTED
    except typer.TyperException as error:
        return failures.show_failure(failures.usage_error(error.format_message()))
    except Exception as error:  # one screen for the reader instead of a traceback
        return failures.show_failure(error)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(run_command_line(sys.argv[1:]))
