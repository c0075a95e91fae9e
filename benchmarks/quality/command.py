"""The measurement as a command: a table or JSON on standard output, and files with a picture."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.quality import llama_cpp
from benchmarks.quality.chart import draw_chart
from benchmarks.quality.compare import compare
from benchmarks.quality.kinds import CALIBRATED, DEFAULT_KINDS, PARTS, settings_of
from benchmarks.quality.material import Material, read_conversations, read_text
from benchmarks.quality.measure import Figures, measure_apart
from benchmarks.quality.report import as_table
from yaie.bench.machine import describe_machine
from yaie.cli import terminal
from yaie.cli.failures import usage_error

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def quality(
    *,
    model: Annotated[str, typer.Option("--model", "-m", help="a model of real weights")] = (
        "smollm2"
    ),
    kinds: Annotated[
        str,
        typer.Option(
            help=f"of {', '.join((*PARTS, CALIBRATED))}; + joins two; the first is the base"
        ),
    ] = DEFAULT_KINDS,
    text: Annotated[
        Path | None, typer.Option(help="UTF-8 text file [the repository's documents]")
    ] = None,
    calibrate: Annotated[
        Path | None, typer.Option(help=f"text of {CALIBRATED}, another one than --text")
    ] = None,
    chunks: Annotated[int, typer.Option(min=1, help="chunks of the text, at most")] = 32,
    chunk_tokens: Annotated[int, typer.Option(min=4, help="tokens of a chunk")] = 1024,
    chats: Annotated[int, typer.Option(min=1, help="questions")] = 100,
    tokens: Annotated[int, typer.Option(min=2, help="maximum output tokens")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="answers alone; the fastest counts")] = 5,
    llama_cpp_folder: Annotated[
        Path | None, typer.Option("--llama-cpp", help="folder with llama-perplexity [the PATH]")
    ] = None,
    gguf: Annotated[str, typer.Option(help="files of the same model, comma-separated")] = "",
    out: Annotated[
        Path | None, typer.Option(help="folder for quality.json, quality.md and quality.svg")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print JSON [default unless stdout is a terminal]")
    ] = False,
) -> None:
    """Measure perplexity, agreement of greedy answers, size and speed of each kind of weights.

    The kinds run one after the other, each in an engine process of its own.
    """
    settings = {kind: settings_of(kind, calibrate) for kind in kinds.split(",")}
    material = Material(
        text=read_text(text),
        chunks=chunks,
        chunk_tokens=chunk_tokens,
        conversations=read_conversations(chats),
        answer_tokens=tokens,
        repeats=repeats,
    )
    files = [Path(name) for name in gguf.split(",") if name]
    for file in files:
        if not file.is_file():
            raise usage_error(f"--gguf: {file} is not a file", advice="paths of GGUF files")
    found: dict[str, Figures] = {}
    for kind, chosen in settings.items():
        terminal.note(f"{kind} …")
        found[kind] = measure_apart(model, chosen, material)
    rows, notes = _llama_rows(files, llama_cpp_folder, material)
    report = make_report(found, rows, notes, material, str(text or "docs/*/*.md"))
    if out is not None:
        _write(report, out)
    if as_json or not terminal.is_terminal(sys.stdout):
        print(json.dumps(report, indent=2))
    else:
        print(as_table(report))


def _llama_rows(
    files: list[Path], folder: Path | None, material: Material
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the rows of llama.cpp's files, and a note where they are left out."""
    if not files:
        return {}, [llama_cpp.WITHOUT_FILES]
    if llama_cpp.find_program("llama-perplexity", folder) is None:
        return {}, [llama_cpp.MISSING]
    rows = {}
    for file in files:
        terminal.note(f"llama.cpp {file.stem} …")
        rows[file.stem] = llama_cpp.measure_file(file, folder, material)
    return rows, []


def make_report(
    found: dict[str, Figures],
    llama_rows: dict[str, dict[str, Any]],
    notes: list[str],
    material: Material,
    source: str,
) -> dict[str, Any]:
    """Return everything that the table, the JSON and the picture show."""
    compared = compare(found)
    first = next(iter(found))
    base = compared[first]["perplexity_half"]
    losses = found[first].losses
    return {
        "benchmark": "quality",
        "machine": describe_machine(),
        "model": found[first].model,
        "text": {
            "source": source,
            "sha256": hashlib.sha256(material.text.encode()).hexdigest(),
            "chunks": len(losses),
            "chunk_tokens": material.chunk_tokens,
            "scored": sum(map(len, losses)),
        },
        "chats": {"number": len(material.conversations), "tokens": material.answer_tokens},
        "kinds": compared,
        "llama_cpp": {
            name: row | {"ratio_half": row["perplexity_half"] / base}
            for name, row in llama_rows.items()
        },
        "notes": notes,
    }


def _write(report: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("quality.json", json.dumps(report, indent=2) + "\n"),
        ("quality.md", as_table(report) + "\n"),
        ("quality.svg", draw_chart(report)),
    ):
        (folder / name).write_text(content, encoding="utf-8")
