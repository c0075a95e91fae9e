"""Command line of `python -m benchmarks.schedule`; `yaie bench schedule` is the same."""

from __future__ import annotations

from benchmarks.schedule.command import app

app()
