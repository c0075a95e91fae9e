"""`yaie bench`: measures YAIE on this machine and prints a table or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from yaie.cli import terminal
from yaie.cli.options import ENGINE_FLAGS, parse_count, settings_options
from yaie.cli.replay import replay

app = typer.Typer(help="Measure YAIE on this machine.", rich_markup_mode=None)
app.command("replay")(replay)

AsJson = Annotated[
    bool, typer.Option("--json", help="print JSON [default unless stdout is a terminal]")
]


@app.command("tree")
def tree(
    quick: Annotated[
        bool, typer.Option("--quick", help="skip the tree with 1,000,000 leaves")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure radix tree match, insert, evict and memory against goals."""
    from yaie.bench.tree import measure_tree

    show_report(measure_tree(quick=quick, note=terminal.note), as_json, tree_lines)


Requests = Annotated[int, typer.Option(parser=parse_count, metavar="N", help="concurrent requests")]
SharedPrefix = Annotated[
    int, typer.Option(parser=parse_count, metavar="N", help="shared prompt tokens")
]
Own = Annotated[
    int, typer.Option(parser=parse_count, metavar="N", help="unique prompt tokens per request")
]
Output = Annotated[
    int, typer.Option(parser=parse_count, metavar="N", help="output tokens per request")
]


@app.command("offline")
@settings_options(ENGINE_FLAGS, leave_out=("served_model_name",))
def offline(
    *,
    requests: Requests = 32,
    shared_prefix: SharedPrefix = 1024,
    own: Own = 64,
    output: Output = 32,
    repeats: Annotated[int, typer.Option(min=1, help="measured runs, after a warm-up")] = 3,
    as_json: AsJson = False,
    settings: dict[str, Any],
) -> None:
    """Measure throughput, computed and cached tokens, and scheduling on shared prefixes."""
    from yaie.bench.offline import measure_offline
    from yaie.bench.shared_prefix import Workload
    from yaie.cli.local import load_model

    workload = Workload(requests=requests, shared_prefix=shared_prefix, own=own, output=output)
    with load_model(settings) as llm:
        report = measure_offline(workload, llm, repeats=repeats, note=terminal.note)
    show_report(report, as_json, offline_lines)


@app.command("start")
@settings_options(ENGINE_FLAGS)
def start(
    *,
    requests: Requests = 32,
    shared_prefix: SharedPrefix = 1024,
    own: Own = 64,
    output: Output = 32,
    repeats: Annotated[int, typer.Option(min=1, help="measured starts of each type")] = 3,
    as_json: AsJson = False,
    settings: dict[str, Any],
) -> None:
    """Measure the time from process start to first token, and server memory under load."""
    from yaie.bench.shared_prefix import Workload
    from yaie.bench.start import measure_start

    workload = Workload(requests=requests, shared_prefix=shared_prefix, own=own, output=output)
    report = measure_start(settings, workload, repeats=repeats, note=terminal.note)
    show_report(report, as_json, start_lines)


def show_report(
    report: dict[str, Any], as_json: bool, as_lines: Callable[[dict[str, Any]], list[str]]
) -> None:
    """Print a report: JSON with --json or where stdout is not a terminal, else a table."""
    if as_json or not terminal.is_terminal(sys.stdout):
        print(json.dumps(report, indent=2))
    else:
        print("\n".join(as_lines(report)))


def tree_lines(report: dict[str, Any]) -> list[str]:
    """Return the table for `bench tree`: each measurement with its goal."""
    lines = [f"{'figure':<24}{'value':>12}{'goal':>10}  unit   met"]
    for figure in report["figures"]:
        met = "yes" if figure["met"] else "NO"
        lines.append(
            f"{figure['name']:<24}{figure['value']:>12,.2f}{figure['goal']:>10,.0f}"
            f"  {figure['unit']:<6} {met}"
        )
    shares = report["fragmentation"]
    lines.append(
        f"after {shares['requests']:,} requests in a full pool: "
        f"{shares['runs_per_sequence']} runs of slots per sequence, "
        f"{shares['mean_run']} slots in each"
    )
    return lines


def offline_lines(report: dict[str, Any]) -> list[str]:
    """Return the table for `bench offline`: each measurement, cold and repeated."""
    model, workload = report["model"], report["workload"]
    lines = [
        f"{model['name']} ({model['architecture']}, {model['dtype']}), "
        f"{workload['requests']} requests at once, medians of {report['repeats']} runs",
        f"{'':<28}{'new prompts':>14}{'same again':>14}",
    ]
    for name, value in report["cold"].items():
        lines.append(f"{name:<28}{value:>14,}{report['again'][name]:>14,}")
    return lines


def start_lines(report: dict[str, Any]) -> list[str]:
    """Return the table for `bench start`: seconds per start type, then peak memory."""
    starts: dict[str, dict[str, Any]] = report["starts"]
    names = list(next(iter(starts.values())))
    lines = [f"{'start with':<26}" + "".join(f"{name:>22}" for name in names)]
    for kind, figures in starts.items():
        lines.append(f"{kind:<26}" + "".join(f"{figures[name]!s:>22}" for name in names))
    for kind, memory in report["memory"].items():
        lines.append(
            f"peak memory, {kind}: {memory['together'] / 2**20:,.0f} MiB "
            f"(goal: at most {memory['bound'] / 2**20:,.0f} MiB)"
        )
    return lines
