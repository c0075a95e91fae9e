"""Progress bar of `LLM` on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

MIN_PROMPTS = 8  # shorter lists are done before a bar has been read


@contextlib.contextmanager
def progress_bar(count: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error; yield the function that sets the number of prompts done."""
    if not wanted or count < MIN_PROMPTS or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        "prompts",
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=count)
        yield lambda done: bar.update(task, completed=done)
