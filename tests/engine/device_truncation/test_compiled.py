"""The kernel compiled for each architecture, as the launcher would on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.attention.tree_decode.test_compiled import ARCHITECTURES, addresses_of, resources_of
from tests.engine.device_truncation.test_choice import queue_and_tasks
from tests.triton_process import needs_triton
from yaie.engine.sampling.device.device_sampler import DeviceSampler
from yaie.engine.sampling.device.device_truncation import Limits

if TYPE_CHECKING:
    from tests.attention.tree_decode.compiling_driver import Launch

pytestmark = needs_triton
# Vocabularies that are multiples of 16, as of most models, and others: aligned rows or not.
VOCABULARIES = (2, 512, 50_257, 151_936)
PARTS = ((True, True), (True, False), (False, True), (False, False))


def launch_of(vocab_size: int, has_top_k: bool, has_top_p: bool, architecture: int) -> Launch:
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.engine.sampling.device.truncation_kernel import TritonTruncation

    logits, column = torch.zeros(2, vocab_size), torch.zeros(2)
    limits = Limits(
        column,
        column.long(),
        column.double(),
        has_min_p=True,
        has_top_k=has_top_k,
        has_top_p=has_top_p,
    )
    found: list[Launch] = []
    with launches_to(architecture, found.append):
        TritonTruncation().truncate(logits, logits.clone(), limits)
    (launch,) = found
    return launch


def check(launch: Launch, folder: Path) -> None:
    used = resources_of(launch.kernel.asm["cubin"], folder)
    assert used["STACK"] == used["LOCAL"] == 0, used
    assert used["REG"] * 32 * launch.kernel.metadata.num_warps <= 65536
    assert launch.kernel.metadata.shared <= 48 * 1024
    assert launch.grid == (2, 1, 1)


@pytest.mark.integration
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernel_fits_its_architecture(architecture: int, tmp_path: Path) -> None:
    check(launch_of(151_936, True, True, architecture), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("vocab_size", VOCABULARIES)
def test_all_variants_fit_their_architecture(
    vocab_size: int, architecture: int, tmp_path: Path
) -> None:
    for parts in PARTS:
        check(launch_of(vocab_size, *parts, architecture), tmp_path)


@pytest.mark.integration
def test_a_captured_launch_does_not_depend_on_the_tasks() -> None:
    """Kernels, grids and addresses of one shape are equal for all limits and logits."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.engine.sampling.device.truncation_kernel import TritonTruncation

    queue, tasks = queue_and_tasks()
    sampler = DeviceSampler(50, queue, max_tasks=4, truncation=TritonTruncation())
    found: list[Launch] = []
    with launches_to(80, found.append):
        for step in range(3):
            sampler.sample(torch.randn(4, 50), tasks(step))
    scaled = ("truncate_rows", "scaled")  # a graph's allocator gives it one address
    seen = set()
    for each in found:
        places = [place for place in addresses_of(each) if (each.name, place[0]) != scaled]
        seen.add((each.name, each.kernel.hash, each.grid, *places))
    assert len(found) == 3 and len(seen) == 1
