"""`yaie bench`: measures YAIE on this machine and prints a table or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.cli import terminal
from yaie.cli.failures import usage_error
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


_PASSED_ON = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


@app.command("schedule", context_settings=_PASSED_ON)
def schedule(context: typer.Context) -> None:
    """Simulate the scheduler and the tree under load (in a source tree; --help has its options)."""
    try:
        from benchmarks.schedule.command import app as simulation
    except ModuleNotFoundError as error:
        raise _outside_a_source_tree("schedule", "the simulation") from error
    simulation(context.args, prog_name="yaie bench schedule", standalone_mode=False)


@app.command("quality", context_settings=_PASSED_ON)
def quality(context: typer.Context) -> None:
    """Measure perplexity and answers by kind (in a source tree; --help has its options)."""
    try:
        from benchmarks.quality.command import app as measurement
    except ModuleNotFoundError as error:
        raise _outside_a_source_tree("quality", "the measurement") from error
    measurement(context.args, prog_name="yaie bench quality", standalone_mode=False)


def _outside_a_source_tree(command: str, subject: str) -> AdvisedError:
    return usage_error(
        f"{subject} is not in the installed package",
        why="it is part of the source tree",
        advice=f"yaie bench {command} in a checkout, after `make setup`",
    )


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


@app.command("chat")
@settings_options(ENGINE_FLAGS)
def chat(
    *,
    turns: Annotated[
        int, typer.Option(parser=parse_count, metavar="N", help="turns per conversation")
    ] = 10,
    answer: Annotated[
        int, typer.Option(parser=parse_count, metavar="N", help="tokens per answer")
    ] = 48,
    thought: Annotated[
        int, typer.Option(parser=parse_count, metavar="N", help="reasoning tokens per answer")
    ] = 24,
    families: Annotated[
        str, typer.Option(metavar="NAMES", help="chat templates [default: all]")
    ] = "",
    temperatures: Annotated[
        str, typer.Option(metavar="NUMBERS", help="sampling temperatures")
    ] = "0,1,2",
    pause: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="pause before the next message [default: until the engine is idle]",
        ),
    ] = None,
    as_json: AsJson = False,
    settings: dict[str, Any],
) -> None:
    """Measure the cached share of growing chats by chat template, with tools and reasoning."""
    from yaie.bench.chat import ChatWorkload, measure_chats
    from yaie.bench.chat_families import FAMILIES

    workload = ChatWorkload(
        turns=turns,
        answer=answer,
        thought=thought,
        temperatures=parse_numbers(temperatures, "--temperatures"),
        pause_s=pause,
    )
    names = [name.strip() for name in families.split(",") if name.strip()] or list(FAMILIES)
    report = measure_chats(settings, workload, families=names, note=terminal.note)
    show_report(report, as_json, chat_lines)


def parse_numbers(text: str, flag: str) -> tuple[float, ...]:
    """Return comma-separated numbers. Raises `AdvisedError`."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise usage_error(
            f"{flag} is {text!r}, not a list of numbers", advice=f"{flag} 0,1,2"
        ) from None


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


def chat_lines(report: dict[str, Any]) -> list[str]:
    """Return the table for `bench chat`: cached shares with prepared turns off and on."""
    lines = [
        f"{'template':<12}{'tools':>7}{'thinks':>8}{'temp.':>7}{'before':>10}{'after':>10}"
        f"{'least':>10}{'idle rows':>11}{'longest s':>11}"
    ]
    for row in report["conversations"]:
        off, on = row["off"], row["on"]
        lines.append(
            f"{row['family'][-12:]:<12}{_yes(row['tools']):>7}{_yes(row['thinking']):>8}"
            f"{row['temperature']:>7g}{off['share']:>10.2%}{on['share']:>10.2%}"
            f"{on['least_share']:>10.2%}{on['idle_rows']:>11,}{on['longest_idle_s']:>11}"
        )
    summary = report["summary"]
    lines.append(
        f"cached of the tokens before the new message, from turn 2 on: {summary['share_off']:.2%} "
        f"as generated, {summary['share_on']:.2%} with prepared turns "
        f"(goal: {report['goal']:.0%} in each conversation, {_met(summary['is_met'])})"
    )
    return lines


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _met(value: bool) -> str:
    return "met" if value else "NOT met"
