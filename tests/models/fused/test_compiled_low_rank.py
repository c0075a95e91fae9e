"""The kernels of adapters' products compiled for each architecture, as the launcher would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.attention.tree_decode.test_compiled import ARCHITECTURES, resources_of
from tests.triton_process import needs_triton
from yaie.models.fused.operations import PAGE_RANKS, AdaptedRows, LowRankPool, PageTables

if TYPE_CHECKING:
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton


@dataclass(frozen=True)
class Site:
    """Modules that read the same rows."""

    inputs: int
    sizes: tuple[int, ...]
    dtype: torch.dtype = torch.bfloat16
    block_rows: int = 16
    num_blocks: int = 1
    is_even: bool = True  # widths are whole blocks


SITES = {
    "qkv of 8B": Site(4096, (4096, 1024, 1024)),
    "qkv of 8B, prompts": Site(4096, (4096, 1024, 1024), block_rows=64, num_blocks=40),
    "gate and up of 0.6B": Site(1024, (3072, 3072), num_blocks=12),
    "down of 0.6B": Site(3072, (1024,)),
    "odd": Site(1000, (70,), block_rows=64, is_even=False),
    "float32": Site(1024, (2048, 1024, 1024), dtype=torch.float32),
    "float32, prompts": Site(1024, (2048,), dtype=torch.float32, block_rows=64),
}


def launches_of(site: Site, architecture: int) -> list[Launch]:
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.fused.low_rank_launch import add_low_rank

    def zeros(*sizes: int) -> torch.Tensor:
        return torch.zeros(sizes, dtype=site.dtype)

    def integers(*sizes: int) -> torch.Tensor:
        return torch.zeros(sizes, dtype=torch.int32)

    count, pages = site.block_rows * site.num_blocks, 8
    pool = LowRankPool(
        zeros(pages, len(site.sizes), PAGE_RANKS, site.inputs),
        zeros(pages, PAGE_RANKS, sum(site.sizes)),
        integers(pages, len(site.sizes)),
        site.sizes,
        PageTables(integers(pages, pages), integers(pages)),
    )
    adapted = AdaptedRows(integers(count), integers(site.num_blocks, 3), site.block_rows)
    found: list[Launch] = []
    with launches_to(architecture, found.append):
        add_low_rank(zeros(count, site.inputs), zeros(count, sum(site.sizes)), pool, adapted)
    return found


def check(site: Site, architecture: int, folder: Path) -> None:
    shrink, expand = launches_of(site, architecture)
    assert [shrink.name, expand.name] == ["shrink_rows", "expand_rows"]
    for launch in (shrink, expand):
        used = resources_of(launch.kernel.asm["cubin"], folder)
        assert used["STACK"] == used["LOCAL"] == 0, (launch.name, used)
        code = launch.kernel.asm["ptx"]
        if site.dtype is not torch.float32:
            assert "mma.sync" in code or "wgmma" in code or "tcgen05" in code, launch.name
            if site.is_even:
                assert "cp.async.cg.shared.global" in code or "ld.global.v4.b32" in code


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_fit_their_architecture(architecture: int, tmp_path: Path) -> None:
    check(SITES["qkv of 8B"], architecture, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("site", SITES)
def test_more_kernels_fit_their_architecture(site: str, architecture: int, tmp_path: Path) -> None:
    check(SITES[site], architecture, tmp_path)
