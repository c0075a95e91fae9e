"""Fixtures of all tests: a small model in a folder, seeds, and patience on busy machines."""

from __future__ import annotations

import logging
import os
import signal
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.kernels import shared_loader
from tests.tiny_model import write_tiny_model
from yaie.kernels import instruction_sets, library_search

# They need programs of their own: `make test-clients`, `make test-agents`.
collect_ignore = ["agents", "clients"]

# Tests run the best instruction set of this machine (the only one that users compile) and those
# whose loops differ from it. `make test-slow` runs all.
_HAS = instruction_sets.of_this_machine()
_TESTED = [name for name in _HAS if name != "avx512" or name == _HAS[0]]
os.environ.setdefault("YAIE_KERNELS", ",".join(_TESTED))
shared_loader.install()  # before test modules load the library

os.environ.setdefault("YAIE_WEIGHTS_CACHE", "off")
# Workers already share the processors; two threads each would only wait for each other on layers
# this small. Tests that need threads set them. Works in workers, before they import torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Examples have no time limit, so that a busy machine fails no test.
settings.register_profile("yaie", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("yaie")


def pytest_configure(config: pytest.Config) -> None:
    # A shell lets background programs ignore SIGINT, which some tests send to themselves or to
    # their child processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep one line of each message for the summary, where CI would print whole server logs."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = crash.message.partition("\n")[0]
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compile the kernels, unless a worker has, before tests whose processes would do it."""
    if session.config.option.collectonly:
        return
    marks = shared_loader.STARTS_PROCESSES
    if any(item.get_closest_marker(mark) for item in session.items for mark in marks):
        library_search.load()


@pytest.fixture(autouse=True)
def _numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Seed the random numbers by the name of the test."""
    torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _log_levels_of_its_own() -> Iterator[None]:
    """Restore the loggers that a server in this process has set, for tests of log lines."""
    loggers = [logging.getLogger(name) for name in ("yaie", "server")]
    before = [(each.level, each.propagate, each.disabled) for each in loggers]
    yield
    for each, (level, propagate, disabled) in zip(loggers, before, strict=True):
        each.setLevel(level)
        each.propagate, each.disabled = propagate, disabled


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3 with tokenizer and chat template, made once and read-only by convention."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny_model"))
