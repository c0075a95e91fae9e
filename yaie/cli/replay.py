"""`yaie bench replay`: sends the requests of a trace to a server at their arrival times."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli import terminal
from yaie.cli.options import ENGINE_FLAGS, parse_count, settings_options


@settings_options(ENGINE_FLAGS, leave_out=("served_model_name",))
def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="trace file: JSON Lines, one request per line")
    ],
    *,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="running server [default: starts one]"),
    ] = None,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", help="API key of the server")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0, help="speed relative to the trace; 0 sends all requests at once")
    ] = 1.0,
    requests: Annotated[
        int | None,
        typer.Option(parser=parse_count, metavar="N", help="maximum requests to read [all]"),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option(
            parser=parse_count,
            metavar="N",
            help="tokens per trace block; prompt lengths scale with it [as traced]",
        ),
    ] = None,
    goal_first: Annotated[
        float, typer.Option(min=0, help="goodput goal: time to first token in seconds")
    ] = 2.0,
    goal_token: Annotated[
        float, typer.Option(min=0, help="goodput goal: inter-token latency in seconds")
    ] = 0.1,
    as_json: Annotated[
        bool, typer.Option("--json", help="print JSON [default unless stdout is a terminal]")
    ] = False,
    settings: dict[str, Any],
) -> None:
    """Replay a request trace; measure cache hits, time to first token and goodput."""
    from yaie.bench.served import served
    from yaie.bench.trace import read_trace
    from yaie.bench.trace_replay import Goal
    from yaie.bench.trace_replay import replay as run
    from yaie.cli.bench import show_report
    from yaie.cli.options import read_base

    trace = read_trace(file, block_len=block, most=requests)
    goal = Goal(first_token_s=goal_first, token_s=goal_token)
    model = settings.get("model") if url else None
    with contextlib.ExitStack() as stack:
        base = read_base(url) if url else stack.enter_context(served(settings))
        report = run(
            trace, base, speed=speed, goal=goal, key=api_key, model=model, note=terminal.note
        )
    report["trace"]["file"] = file.name
    show_report(report, as_json, replay_lines)


def replay_lines(report: dict[str, Any]) -> list[str]:
    """Return the table of `bench replay`: counts, then seconds by percentile."""
    failed = ", ".join(f"{count} {code}" for code, count in report["failed"].items())
    goodput = report["goodput"]
    lines = [
        f"{report['answered']:,} of {report['trace']['requests']:,} requests answered in "
        f"{report['duration_s']:,.1f} s" + (f"; failed: {failed}" if failed else ""),
        f"cached {report['hit_rate']:.1%} of the prompt tokens (repeated in the trace: "
        f"{report['reusable_share_of_trace']:.1%}); {report['output_tokens_per_s']:,.1f} output "
        "tokens per second",
        f"{'seconds':<16}" + "".join(f"{name:>10}" for name in report["total_s"]),
    ]
    for name in ("first_token_s", "token_s", "total_s"):
        values = report[name].values()
        lines.append(f"{name[:-2]:<16}" + "".join(f"{value:>10.3f}" for value in values))
    goal = goodput["goal"]
    lines.append(
        f"goodput: {goodput['share']:.1%} of the requests, {goodput['requests_per_s']:g} a second "
        f"(first token in {goal['first_token_s']:g} s, later ones in {goal['token_s']:g} s each)"
    )
    return lines
