"""The measurement as a command: a table on a terminal, else JSON."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from benchmarks.growing_chats.families import FAMILIES
from benchmarks.growing_chats.measure import ChatWorkload, measure_chats
from yaie.cli import terminal
from yaie.cli.bench import AsJson, show_report
from yaie.cli.failures import usage_error
from yaie.cli.options import ENGINE_FLAGS, parse_count, settings_options

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@settings_options(ENGINE_FLAGS)
def chats(
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
    workload = ChatWorkload(
        turns=turns,
        answer=answer,
        thought=thought,
        temperatures=_parse_numbers(temperatures, "--temperatures"),
        pause_s=pause,
    )
    names = [name.strip() for name in families.split(",") if name.strip()] or list(FAMILIES)
    report = measure_chats(settings, workload, families=names, note=terminal.note)
    show_report(report, as_json, chat_lines)


def _parse_numbers(text: str, flag: str) -> tuple[float, ...]:
    """Return numbers that commas separate. Raises `AdvisedError`."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise usage_error(
            f"{flag} is {text!r}, not a list of numbers", advice=f"{flag} 0,1,2"
        ) from None


def chat_lines(report: dict[str, Any]) -> list[str]:
    """Return the table of `chats`: cached shares, without and with prepared turns."""
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
