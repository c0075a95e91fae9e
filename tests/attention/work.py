"""Work counts instead of times: equal on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import yaie

_PACKAGE = str(Path(yaie.__file__).parent)


def count_lines(operation: Callable[[], object]) -> int:
    """Count the executed lines of the package's Python, each pass of a loop included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        operation()
    finally:
        sys.settrace(before)
    return count
