"""Command line of `python -m benchmarks.quality`; `yaie bench quality` is the same."""

from __future__ import annotations

from benchmarks.quality.command import app

if __name__ == "__main__":  # the engine processes import this module again
    app()
