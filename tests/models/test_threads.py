"""The number of torch threads under the CPU quota of cgroups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from yaie.models.load.placement import set_threads
from yaie.process import limits


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def limit(groups: Path, version: int, path: str, quota: int | None, period: int = 100_000) -> None:
    """Write a cgroup with a quota of CPU time, or without."""
    folder = groups / path if version == 2 else groups / "cpu" / path
    folder.mkdir(parents=True, exist_ok=True)
    if version == 2:
        (folder / "cpu.max").write_text(f"{'max' if quota is None else quota} {period}\n")
        return
    (folder / "cpu.cfs_quota_us").write_text(f"{-1 if quota is None else quota}\n")
    (folder / "cpu.cfs_period_us").write_text(f"{period}\n")


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("version", [1, 2])
def test_the_tightest_cgroup_quota_limits_threads(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CGROUP_ROOT", tmp_path / "groups")
    monkeypatch.setattr(limits, "OWN_CGROUPS", tmp_path / "self")
    own = "0::/a/b\n" if version == 2 else "3:cpu,cpuacct:/a/b\n0::/\n"
    (tmp_path / "self").write_text(f"1:name=systemd:/a/b\n{own}")
    found = []
    for path, quota in [
        ("a/b", None),
        ("other", 100),
        ("a", 6_400_000),  # more than there are
        ("a", 250_000),
        ("a/b", 150_000),
        ("a/b", 1_000),
    ]:
        limit(tmp_path / "groups", version, path, quota)
        set_threads(None)
        found.append(torch.get_num_threads())
    assert found == [4, 4, 4, 3, 2, 1]


@pytest.mark.usefixtures("four_threads")
def test_all_threads_compute_without_cgroup_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for own in (tmp_path / "none", tmp_path / "self"):
        monkeypatch.setattr(limits, "OWN_CGROUPS", own)
        monkeypatch.setattr(limits, "CGROUP_ROOT", tmp_path / "groups")
        set_threads(None)
        assert torch.get_num_threads() == 4
        (tmp_path / "self").write_text("0::/somewhere\n")
