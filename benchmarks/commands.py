"""Commands of `python -m benchmarks`: YAIE compared with other engines on this machine."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.cli.failures import usage_error
from yaie.cli.options import parse_count

if TYPE_CHECKING:
    from benchmarks.peers.definitions import Peer
    from benchmarks.peers.runner import ModelFacts, Options
    from benchmarks.peers.workloads import Shape

LIST = "python -m benchmarks peers --list"
_PLAIN_WIDTH = 132  # of the table without a terminal
_PRECISIONS = {"none": "bf16", "int8": "int8", "int4": "int4"}


def models(
    folder: Annotated[Path, typer.Argument(help="where the models go")],
    shapes: Annotated[str, typer.Option(help="which, separated by commas [all]")] = "",
) -> None:
    """Write random-weight models in the shapes of real ones, with a tokenizer; no download."""
    from benchmarks.shapes import write_models

    for path in write_models(folder, _names(shapes), tell=_remark):
        print(path)


def peers(
    *,
    models: Annotated[
        str,
        typer.Option(help="folders or ids, separated by commas; see `models`"),
    ] = "builtin",
    workloads: Annotated[str, typer.Option(help="of w1 to w7 and w6-8k [all]")] = "",
    peers: Annotated[str, typer.Option(help="names or prefixes of names [all]; see --list")] = "",
    peers_home: Annotated[
        Path, typer.Option(help="the folder with the peers' environments and builds")
    ] = Path("peers"),
    quantization: Annotated[
        str, typer.Option(help="of none, int8, int4: which precisions to run")
    ] = "none",
    repeats: Annotated[int, typer.Option(min=1, help="rounds; figures are medians")] = 3,
    kv_bytes: Annotated[
        int, typer.Option(parser=parse_count, metavar="N", help="each peer's KV cache in bytes")
    ] = parse_count("3G"),
    restart: Annotated[
        bool, typer.Option("--restart", help="end peers between rounds: needs less memory")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="tiny workloads: a check, not a measurement")
    ] = False,
    out: Annotated[Path, typer.Option(help="folder for the JSON and the SVG")] = Path(),
    name: Annotated[str, typer.Option(help="name of those files [peers-MODEL]")] = "",
    show: Annotated[
        bool, typer.Option("--list", help="list installed peers, and the commands for the others")
    ] = False,
) -> None:
    """Compare YAIE and every installed peer in turns: table, JSON and bars."""
    from benchmarks.peers.definitions import choose_peers
    from benchmarks.peers.runner import Options
    from benchmarks.peers.workloads import choose_shapes

    home = peers_home.expanduser().resolve()
    if show:
        _list_peers(home)
        return
    chosen, absent = choose_peers(_names(peers), _precisions(quantization), home)
    if not chosen:
        raise AdvisedError(
            "no peer to run",
            why=f"none of {', '.join(peer.name for peer in absent)} is in {home}",
            advice=LIST,
            code="no-peer",
        )
    shapes = choose_shapes(_names(workloads), quick=quick)
    options = Options(
        home=home,
        logs=Path(tempfile.mkdtemp(prefix="yaie-peers-")),
        repeats=repeats,
        kv_bytes=kv_bytes,
        restart=restart,
        tell=_remark,
    )
    for peer in absent:
        _remark(f"{peer.title} is not installed in {home}; for the commands: {LIST}")
    ending = "-quick" if quick else ""
    planned = [
        _plan(model, shapes, options, out / f"{name or f'peers-{_model_name(model)}{ending}'}.json")
        for model in _names(models)
    ]
    is_good = True
    with stopping_in_order():
        for facts, fitting, path in planned:
            is_good &= _measure(facts, chosen, fitting, options, path)
    if not is_good:
        raise typer.Exit(1)


def record(
    report: Annotated[Path, typer.Argument(help="JSON file that `peers` wrote")],
    series: Annotated[str, typer.Option(help="name of the figures: model and machine")],
) -> None:
    """Add a report to benchmarks/results.ndjson, in place of the series' same workloads."""
    import subprocess

    from benchmarks import results

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = json.loads(report.read_text(encoding="utf-8"))
    print(f"{results.record(found, series, commit)} records added to {results.PATH}")


def chart(
    series: Annotated[str, typer.Argument(help="name of recorded figures")],
    out: Annotated[Path, typer.Option(help="SVG file")],
) -> None:
    """Draw the recorded figures of a series as bars."""
    from benchmarks import results
    from benchmarks.peers.chart import draw_chart

    reports = results.to_reports(results.read())
    if series not in reports:
        raise usage_error(f"there is no series {series!r}", advice=f"one of {', '.join(reports)}")
    out.write_text(draw_chart(reports[series]), encoding="utf-8")


def _plan(
    model: str, shapes: dict[str, Shape], options: Options, path: Path
) -> tuple[ModelFacts, dict[str, Shape], Path]:
    """Return the facts, workloads and output file of one model.

    Raises every predictable error before hours of measuring.
    """
    from benchmarks.peers.report import check_file

    facts = _facts_of(model)
    fitting = {n: shape for n, shape in shapes.items() if shape.longest <= facts.max_position}
    for left_out in shapes.keys() - fitting.keys():
        _remark(
            f"{left_out} is left out: {shapes[left_out].longest} tokens do not fit into the "
            f"context of {facts.max_position} of {facts.name}"
        )
    if not fitting:
        raise usage_error("no workload fits into the model's context", advice="other --workloads")
    check_file(facts, options, path)
    return facts, fitting, path


def _measure(
    facts: ModelFacts,
    chosen: dict[str, tuple[Peer, Path]],
    shapes: dict[str, Shape],
    options: Options,
    path: Path,
) -> bool:
    """Measure one model, print and write the report; return True if YAIE did all of the work."""
    from rich.console import Console

    from benchmarks.peers import chart, report, runner

    results = runner.measure_peers(facts, chosen, shapes, options)
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    shapes = {n: s for n, s in shapes.items() if any(r["workload"] == n for r in results.runs)}
    made = report.make_report(facts, shapes, options, results, command)
    report.print_report(made, Console(width=None if sys.stdout.isatty() else _PLAIN_WIDTH))
    merged, written = report.add_to_file(made, path)
    picture = written.with_suffix(".svg")
    picture.write_text(chart.draw_chart(merged), encoding="utf-8")
    _remark(f"wrote {written} and {picture}; logs are in {options.logs}")
    ours = [run for run in results.runs if chosen[run["peer"]][0].is_yaie]
    return results.is_complete and all(report.is_good(run) for run in ours)


def _facts_of(model: str) -> ModelFacts:
    import torch
    from transformers import AutoConfig

    from benchmarks.peers.runner import ModelFacts
    from benchmarks.peers.workloads import read_vocabulary
    from yaie.kvcache.pool import bytes_per_token
    from yaie.models.architecture.layer_shapes import estimate_pool_shapes
    from yaie.models.load.folder import resolve_model_path

    folder = resolve_model_path(model)
    config = AutoConfig.from_pretrained(folder)
    return ModelFacts(
        name=_model_name(model),
        folder=folder,
        max_position=config.max_position_embeddings,
        kv_bytes_per_token=bytes_per_token(estimate_pool_shapes(config), torch.bfloat16),
        vocabulary=read_vocabulary(folder),
    )


def _model_name(model: str) -> str:
    return Path(model).expanduser().resolve().name


def _list_peers(home: Path) -> None:
    from benchmarks.peers.definitions import PEERS

    for peer in PEERS.values():
        found = peer.find(home)
        print(f"{peer.name:18} {f'found: {found}' if found else f'not in {home}'}")
    for install in dict.fromkeys(p.install for p in PEERS.values() if p.find(home) is None):
        names = ", ".join(p.title for p in PEERS.values() if p.install == install)
        print(f"\nTo install {names}, in {home}:\n{install}")


def _precisions(text: str) -> list[str]:
    for given in _names(text):
        if given not in _PRECISIONS:
            raise usage_error(
                f"there is no quantization {given!r}",
                advice=f"--quantization {','.join(_PRECISIONS)}",
            )
    return [_PRECISIONS[given] for given in _names(text)]


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _remark(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def stopping_in_order() -> Iterator[None]:
    """End the measurement on a signal: every server ends, and every figure is kept."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, _stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> None:
    from benchmarks.peers.runner import Interrupted

    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise Interrupted(signal.Signals(number).name)
