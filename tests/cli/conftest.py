"""Runs the command line as a user does: in a process of its own, without a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]

# On other systems what it would show cannot be had without a file system of one's own.
FULL_DEVICE = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)
UNWRITABLE = [
    pytest.param(">/dev/full", "No space left on device", marks=FULL_DEVICE),
    (">&-", "Bad file descriptor"),
]
"""Where the shell may send standard output, and why nothing can be written there."""


def in_a_shell(line: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """One line of bash to its end, with nothing to read."""
    return subprocess.run(
        ["bash", "-c", line],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The test's environment without YAIE's own variables, and with an empty model cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("YAIE_")}
    home = tmp_path_factory.mktemp("hub")
    ours = {"OMP_NUM_THREADS": "1", "YAIE_WEIGHTS_CACHE": "off"}
    return kept | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"} | ours


@pytest.fixture
def yaie(environment: dict[str, str]) -> Cli:
    """`yaie("run", "hi")`: runs to its end and returns what it printed and its exit code."""

    def run(
        *arguments: str, stdin: str | None = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "yaie.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment | variables,
            timeout=120,
            check=False,
        )

    return run
