"""The progress bar of `LLM.generate` and `LLM.chat`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# True for a bar on terminals and in notebooks, or a function that makes a bar like tqdm's.
ShowProgress = bool | Callable[..., Any]

_LONG_LIST = 8  # prompts; shorter lists show a bar only if they take long
_LONG_S = 2.0


@contextlib.contextmanager
def progress_bar(count: int, wanted: ShowProgress) -> Iterator[Callable[[int, bool], None]]:
    """Show a bar for `count` prompts; yield the function that reports progress.

    It takes the number of new tokens, and whether they end a prompt. A function in `wanted` is
    called with tqdm's `total`, `desc`, `dynamic_ncols` and `postfix`, wherever the output goes.
    """
    bar = _make_bar(count, wanted)
    if bar is None:
        yield lambda num_tokens, is_end: None
        return
    began, num_all = time.perf_counter(), 0

    def report(num_tokens: int, is_end: bool) -> None:
        nonlocal num_all
        num_all += num_tokens
        bar.postfix = _postfix(num_all / max(time.perf_counter() - began, 1e-9))
        if is_end or not callable(wanted):
            bar.update(int(is_end))

    with contextlib.closing(bar):
        yield report


def _make_bar(count: int, wanted: ShowProgress) -> Any:
    """Return a bar, or None where none is shown."""
    look = {
        "total": count, "desc": "Processed prompts", "dynamic_ncols": True, "postfix": _postfix(0.0)
    }  # fmt: skip
    if callable(wanted):
        return wanted(**look)
    if not wanted or not (sys.stderr.isatty() or _is_in_notebook()):
        return None
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    delay = 0.0 if count >= _LONG_LIST else _LONG_S
    return tqdm(**look, delay=delay, miniters=0)


def _postfix(rate: float) -> str:
    return f"output: {rate:.2f} toks/s"


def _is_in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config
