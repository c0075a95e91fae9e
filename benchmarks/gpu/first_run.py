"""Command line of one stage (`python -m benchmarks.gpu STAGE`), which `first_run.sh` runs.

Exit codes: 0, 1 if a figure failed, and 3 once the CUDA context is lost, which ends the stage.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.gpu.results import Results

CONTEXT_LOST = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a stage in this process, or print the report; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.stage == "report":
        from benchmarks.gpu.report import as_text
        from benchmarks.gpu.results import read_results

        print(as_text(read_results(options.what)))
        return 0
    # The reasons of fallbacks, the plan of the memory and captured steps are log lines.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # A stage that is cut off says where it was.
    faulthandler.register(signal.SIGTERM, all_threads=True, chain=True)
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    common.add_argument("--scale", default="full", choices=("full", "tiny"))
    common.add_argument("--out", type=Path, required=True, help="file that results are added to")
    common.add_argument("--models", type=Path, required=True, help="folder of written models")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    stages = parser.add_subparsers(dest="stage", required=True)
    stages.add_parser("card", parents=[common], help="versions, card, ceilings")
    attention = stages.add_parser("attention", parents=[common], help="backends against float64")
    attention.add_argument("what", choices=("flashinfer", "triton", "reference"))
    stages.add_parser("timing", parents=[common], help="attention beside the cost model")
    model = stages.add_parser("model", parents=[common], help="figures of engines")
    model.add_argument("what", nargs="+", help="names of shapes; +int4 and +int8 quantize them")
    http = stages.add_parser("http", parents=[common], help="bursts of completions over HTTP")
    http.add_argument("what", help="name of a shape")
    stages.add_parser("products", parents=[common], help="quantized products beside bfloat16")
    report = stages.add_parser("report", help="print failures and tables")
    report.add_argument("what", type=Path, help="file of results")
    return parser


def _run(options: argparse.Namespace) -> int:
    import torch

    from benchmarks.gpu.results import DeviceLost, Results

    results = Results(options.out, torch.device(options.device))
    try:
        _measure(results, options)
    except DeviceLost as error:
        print(f"the CUDA context is lost: {error}", file=sys.stderr, flush=True)
        os._exit(CONTEXT_LOST)  # the end of the interpreter would call CUDA and abort
    return int(results.num_failed > 0)


def _measure(results: Results, options: argparse.Namespace) -> None:
    from benchmarks.gpu.measure import SCALES

    scale = SCALES[options.scale]
    if options.stage == "card":
        from benchmarks.gpu.card import measure_card

        measure_card(results)
    elif options.stage == "attention":
        from benchmarks.gpu.attention_check import check_attention

        check_attention(results, options.what, scale.attention)
    elif options.stage == "timing":
        from benchmarks.gpu.attention_timing import time_attention

        time_attention(results, scale.attention, scale.timed)
    elif options.stage == "model":
        from benchmarks.gpu.measure import measure

        for shape in options.what:
            measure(results, shape, scale, options.models)
    elif options.stage == "http":
        from benchmarks.gpu.http_load import measure_http
        from benchmarks.gpu.shapes import write_shape

        measure_http(results, write_shape(options.models, options.what), scale.bursts)
    elif options.stage == "products":
        from benchmarks.gpu.products import measure_products

        measure_products(results, is_tiny=options.scale == "tiny")
