"""`first_run.sh`: its stages cost their limit at most, and all of it runs once on a CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.gpu.results import read_results

ROOT = Path(__file__).parents[3]
SCRIPT = "benchmarks/gpu/first_run.sh"
CARD = ROOT / "build" / "card"  # a card's versions of packages: `make build/card`
MOST_TRAVELLING = 64 * 1024**2
WHEELS = 20 * 1024**2  # of FlashInfer's slim wheel and all others


def run(script: str, out: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OUT": str(out), "PY": sys.executable, **settings}
    first = [settings.get("PYTHONPATH"), str(CARD) if CARD.is_dir() else None]
    paths = list(filter(None, [*first, os.environ.get("PYTHONPATH")]))
    if paths:
        environment["PYTHONPATH"] = ":".join(paths)
    command = ["bash", "-c", script]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )


def stages_of(out: Path) -> dict[str, str]:
    lines = (out / "stages.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def test_a_stage_that_hangs_or_fails_costs_only_its_limit(tmp_path: Path) -> None:
    stages = """
        stage hangs 1 sleep 600
        stage fails 60 bash -c "echo seen; exit 5"
        stage works 60 true
        LIMIT=0
        stage late 60 true
    """
    ran = run(f"source {SCRIPT}; {stages}", tmp_path, LIMIT="120")
    assert not ran.stderr
    found = stages_of(tmp_path)
    assert found["hangs"].startswith("exit 124, ")
    assert int(found["hangs"].split()[2]) < 20
    assert found["fails"].startswith("exit 5, ")
    assert found["works"].startswith("exit 0, ")
    assert found["late"] == "left out"
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "== fails: bash -c echo seen; exit 5\nseen\n== works" in log


def test_a_long_log_keeps_its_ends(tmp_path: Path) -> None:
    stages = 'stage long 60 bash -c "echo first; yes middle | head -n 300000; echo last"'
    run(f"source {SCRIPT}; {stages}", tmp_path)
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "first\nmiddle" in log and log.endswith("middle\nlast\n")
    assert len(log) < 1_500_000


@pytest.mark.parametrize("code", [3, 134])
def test_a_lost_context_is_run_once_more_with_blocking_launches(tmp_path: Path, code: int) -> None:
    python = tmp_path / "python"
    text = f'#!/bin/sh\necho "$CUDA_LAUNCH_BLOCKING $2 $3" >> {tmp_path}/calls\nexit {code}\n'
    python.write_text(text, encoding="utf-8")
    python.chmod(0o755)
    run(f"source {SCRIPT}; measure card 60 card", tmp_path / "out", PY=str(python))
    found = stages_of(tmp_path / "out")
    assert list(found) == ["card", "card-blocking"]
    assert all(text.startswith(f"exit {code}, ") for text in found.values())
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls == [" benchmarks.gpu card", "1 benchmarks.gpu card"]


def test_the_tree_and_its_wheels_fit_into_what_travels() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the files that travel are those that git tracks, and here is no repository")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    tracked = sum((ROOT / name).lstat().st_size for name in names if (ROOT / name).is_file())
    wheels = sum(path.stat().st_size for path in (ROOT / ".whl").glob("*"))
    assert tracked > 1e6
    assert tracked + max(wheels, WHEELS) < MOST_TRAVELLING


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_run_on_a_cpu(tmp_path: Path) -> None:
    out = tmp_path / "out"
    absent = tmp_path / "absent"  # packages that a bare card machine lacks
    absent.mkdir()
    (absent / "gguf.py").write_text("raise ModuleNotFoundError('gguf is not on the card')\n")
    settings = {"DEVICE": "cpu", "SCALE": "tiny", "SMALL": "tiny", "LIMIT": "560"}
    ran = run(
        f"bash {SCRIPT}", out, **settings, SITE=str(tmp_path / "site"), PYTHONPATH=str(absent)
    )
    log = (out / "log.txt").read_text(encoding="utf-8")
    stages = {name: text.split(",")[0] for name, text in stages_of(out).items() if name != "wheels"}
    assert stages == {
        "card": "exit 0",
        "flashinfer": "exit 1",
        "triton": "exit 1",
        "small": "exit 0",
        "timing": "exit 0",
        "large": "exit 0",
        "http": "exit 0",
        "products": "exit 0",
        "quantized": "exit 0",
    }, log[-20_000:]
    assert sorted(path.name for path in out.iterdir()) == [
        "log.txt",
        "results.ndjson",
        "stages.txt",
    ]
    assert ran.returncode == 1  # two stages failed

    lines = read_results(out / "results.ndjson")
    failed = [line for line in lines if "error" in line]
    assert {line["kind"] for line in failed} == {"attention"}
    reasons = {line["backend"]: line["error"] for line in failed}
    assert list(reasons) == ["flashinfer", "triton"]
    for reason in reasons.values():  # of a machine without a card, or without the package
        assert "river" in reason or "CUDA" in reason or "No module named" in reason
    assert all(line["traceback"] and line["versions"]["torch"] for line in failed)

    good = Counter((line["kind"], line["shape"]) for line in lines if "error" not in line)
    engine = {("start", "tiny"): 2, ("decode", "tiny"): 6, ("prefill", "tiny"): 2}
    quantized = {
        **{("start", name): 1 for name in ("tiny+int8", "tiny+int4")},
        **{("decode", name): 2 for name in ("tiny+int8", "tiny+int4")},
        **{("prefill", name): 1 for name in ("tiny+int8", "tiny+int4")},
    }
    other = {("card", ""): 1, ("ceilings", ""): 1, ("traits", ""): 1}
    timed = {("timing", "tiny"): 3, ("offline", "tiny"): 2}
    served = {("http start", "tiny"): 1, ("http", "tiny"): 2, ("product", "48 x 64"): 8}
    del good["attention", ""], good["attention", "tiny"]  # opened; depends on what is installed
    assert good == {**engine, **quantized, **other, **timed, **served}
    (card,) = (line for line in lines if line["kind"] == "card")
    assert len(card["yaie_tree"]) == 40
    shared = next(line for line in lines if line["kind"] == "decode" and line["shared"])
    assert shared["keys_unshared_over_read"] > 1.5  # the shared keys were read once
    assert "HTTP, 4 streams, 48 shared" in ran.stdout
