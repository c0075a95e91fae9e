"""Tests of a device: few, in one folder, and collected with a bare machine's packages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "gpu"
MOST_TESTS = 150  # a device is at hand for minutes


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_tests_marked_gpu_are_in_their_folder() -> None:
    marked = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"\bmark\.gpu\b", path.read_text(encoding="utf-8")) and path != Path(__file__)
    ]
    assert marked
    assert [path for path in marked if FOLDER not in path.parents] == []


@pytest.mark.integration
def test_a_bare_machine_collects_few_tests_all_of_them_marked() -> None:
    command = ["-m", "pytest", "-p", "tests.gpu.bare_packages", "--collect-only", "-q"]
    command += ["-p", "no:cacheprovider"]
    done = run(*command, "-m", "", "tests/gpu")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    counts = [int(count) for count in re.findall(r"^tests/gpu/\S+: (\d+)$", done.stdout, re.M)]
    assert 100 < sum(counts) <= MOST_TESTS
    marked = run(*command, "-m", "gpu", "tests/gpu")
    assert re.findall(r": (\d+)$", marked.stdout, re.M) == list(map(str, counts))


@pytest.mark.integration
@pytest.mark.slow
def test_tests_of_a_device_are_collected_without_triton() -> None:
    """As on a fresh clone: only CUDA builds of torch bring Triton."""
    lines = "import sys, pytest; sys.modules['triton'] = None; "
    lines += (
        "sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider', 'tests/gpu']))"
    )
    done = run("-c", lines)
    assert done.returncode in (0, 5), done.stdout[-4000:]  # 5: all of them deselected


@pytest.mark.parametrize("importer", ["tests.case", "yaie.case", "server.case", "benchmarks.case"])
def test_an_import_beyond_a_bare_machine_is_refused(importer: str) -> None:
    lines = f"exec('import jsonschema', {{'__name__': {importer!r}}})"
    done = run("-c", f"import tests.gpu.bare_packages\n{lines}")
    assert f"ImportError: {importer} imports jsonschema, which a bare machine" in done.stderr


def test_packages_import_what_they_like() -> None:
    lines = "exec('import jsonschema', {'__name__': 'openapi.case'})"
    done = run("-c", f"import tests.gpu.bare_packages\n{lines}")
    assert done.returncode == 0, done.stderr
