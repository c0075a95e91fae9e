"""Recurrent layers in each instruction set, against plain loops in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
import torch
from torch.nn.functional import silu, softplus

from tests.kernels.forced_set import forced_set
from tests.kernels.recurrent_calls import PooledChains, convolve, recur
from yaie.attention.state_chains import StateChain
from yaie.kernels.library import Library
from yaie.kernels.library_search import load
from yaie.models.native.recurrent_layers import (
    ConvolutionParts,
    GroupNorm,
    GroupNormParts,
    HeadSizes,
    RecurrenceParts,
)

SLOTS = 6
# A path with a branch, two chains from one state, one of which replaces it, and a swap of states.
CHAINS = [
    StateChain(0, 7),
    StateChain(7, 8, parent=0, target=4),
    StateChain(8, 13, parent=0),
    StateChain(13, 14, parent=2, target=5),
    StateChain(14, 16, source=0, target=0),
    StateChain(16, 21, source=0, target=3),
    StateChain(21, 22, source=1, target=2),
    StateChain(22, 25, source=2, target=1),
]
ROWS = CHAINS[-1].end_row
SIZES = [
    HeadSizes(4, 2, 16, 16),
    HeadSizes(6, 2, 16, 24, has_tiles=True),
    HeadSizes(2, 1, 40, 150),
    HeadSizes(3, 3, 128, 128),
]


@pytest.fixture(params=["amx", "bf16", "vnni", "avx512", "avx2", "portable"])
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    with forced_set(request.param):
        loaded = load()
        assert loaded is not None
        threads, loaded.threads = loaded.threads, 2
        yield loaded
        loaded.threads = threads


def cut_in_two(chains: list[StateChain]) -> list[StateChain]:
    """Return the same rows in shorter chains."""
    cut: list[StateChain] = []
    last: list[int] = []  # of each chain
    for chain in chains:
        parent = last[chain.parent] if chain.parent >= 0 else -1
        if chain.num_rows > 1:
            middle = chain.first_row + 1
            cut.append(StateChain(chain.first_row, middle, parent, chain.source))
            cut.append(StateChain(middle, chain.end_row, len(cut) - 1, target=chain.target))
        else:
            cut.append(chain._replace(parent=parent))
        last.append(len(cut) - 1)
    return cut


class Expected(NamedTuple):
    y: torch.Tensor
    states: torch.Tensor  # [slots, ...]


def walk(chains: list[StateChain], states: torch.Tensor, step: object) -> Expected:
    """Compute the rows one by one; `step(row, state)` returns a row's result and the next state."""
    before, after = states.double(), states.double().clone()
    ends: list[torch.Tensor] = []
    rows: dict[int, torch.Tensor] = {}
    for chain in chains:
        state = torch.zeros_like(before[0])
        if chain.parent >= 0:
            state = ends[chain.parent]
        elif chain.source >= 0:
            state = before[chain.source]
        for row in range(chain.first_row, chain.end_row):
            rows[row], state = step(row, state)  # type: ignore[operator]
        ends.append(state)
        if chain.target >= 0:
            after[chain.target] = state
    return Expected(torch.stack([rows[row] for row in range(ROWS)]), after)


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("channels", "taps"), [(70, 4), (512, 3), (33, 1)])
@pytest.mark.parametrize("has_silu", [True, False])
def test_a_convolution_reads_the_inputs_of_its_path(
    library: Library, channels: int, taps: int, has_silu: bool
) -> None:
    torch.manual_seed(channels)
    weights, bias = torch.randn(channels, taps), torch.randn(channels)
    wide = torch.randn(ROWS, channels + 5)
    x, states = wide[:, 2:-3], torch.randn(SLOTS, taps - 1, channels)

    def step(row: int, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = torch.cat((state, x[row : row + 1].double()))
        y = (inputs * weights.T.double()).sum(0) + bias
        return silu(y) if has_silu else y, inputs[1:]

    expected = walk(CHAINS, states, step)
    parts = ConvolutionParts(weights, bias, has_silu)
    pools = [states.clone(), states.clone()]
    found = [
        convolve(library, parts, x, PooledChains.of(chains, pool))
        for chains, pool in zip((CHAINS, cut_in_two(CHAINS)), pools, strict=True)
    ]
    assert_close(found[0], expected.y)
    assert_close(pools[0], expected.states)
    assert torch.equal(*found)
    assert torch.equal(*pools)


class Inputs(NamedTuple):
    """A recurrence's inputs."""

    sizes: HeadSizes
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    steps: torch.Tensor
    gates: torch.Tensor
    log_rates: torch.Tensor
    step_bias: torch.Tensor
    states: torch.Tensor

    def heads(self, row: int) -> tuple[torch.Tensor, ...]:
        """Return query, key and value of each head in float64."""
        sizes = self.sizes
        ratio = sizes.num_heads // sizes.num_key_heads
        query, key = (
            each[row].double().view(sizes.num_key_heads, -1) for each in (self.queries, self.keys)
        )
        if sizes.has_tiles:
            query, key = (each.repeat(ratio, 1) for each in (query, key))
        else:
            query, key = (each.repeat_interleave(ratio, 0) for each in (query, key))
        return query, key, self.values[row].double().view(sizes.num_heads, -1)

    def run(
        self, library: Library, parts: RecurrenceParts, chains: list[StateChain], gates: bool
    ) -> Expected:
        """Compute by the library, which may change queries and keys."""
        pool = self.states.clone()
        wide = torch.cat((self.queries, self.keys, self.values), 1)
        y = recur(
            library,
            parts,
            torch.split(wide, [each.shape[1] for each in self[1:4]], 1),
            steps=self.steps,
            gates=self.gates if gates else None,
            chained=PooledChains.of(chains, pool),
        )
        return Expected(y, pool)


def make_inputs(sizes: HeadSizes) -> Inputs:
    torch.manual_seed(sizes.key_width)
    width = sizes.num_key_heads * sizes.key_width
    return Inputs(
        sizes,
        torch.randn(ROWS, width),
        torch.randn(ROWS, width),
        torch.randn(ROWS, sizes.num_heads * sizes.value_width),
        torch.randn(ROWS, sizes.num_heads) * 3,
        torch.randn(ROWS, sizes.num_heads),
        torch.randn(sizes.num_heads) - 2,
        torch.randn(sizes.num_heads),
        torch.randn(SLOTS, sizes.num_heads, sizes.key_width, sizes.value_width),
    )


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: str(sizes.value_width))
def test_a_delta_rule_equals_a_loop_wherever_chains_are_cut(
    library: Library, sizes: HeadSizes
) -> None:
    inputs = make_inputs(sizes)

    def step(row: int, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        query, key, value = inputs.heads(row)
        query, key = (
            each / (each.square().sum(-1, keepdim=True) + 1e-6).sqrt() for each in (query, key)
        )
        size = softplus(inputs.steps[row].double() + inputs.step_bias)
        state = state * (-inputs.log_rates.double().exp() * size).exp()[:, None, None]
        known = (state * key[..., None]).sum(1)
        change = (value - known) * (2 * inputs.gates[row].double().sigmoid())[:, None]
        state = state + key[..., None] * change[:, None]
        return (state * query[..., None]).sum(1).flatten() / key.shape[-1] ** 0.5, state

    expected = walk(CHAINS, inputs.states, step)
    parts = RecurrenceParts(
        sizes,
        log_rates=inputs.log_rates,
        step_bias=inputs.step_bias,
        gate_factor=2.0,
    )
    found = inputs.run(library, parts, CHAINS, gates=True)
    assert_close(found.y, expected.y)
    assert_close(found.states, expected.states)
    again = inputs.run(library, parts, cut_in_two(CHAINS), gates=True)
    assert torch.equal(found.y, again.y)
    assert torch.equal(found.states, again.states)


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: str(sizes.value_width))
def test_a_scan_equals_a_loop_wherever_chains_are_cut(library: Library, sizes: HeadSizes) -> None:
    inputs = make_inputs(sizes)
    skip = torch.randn(sizes.num_heads)

    def step(row: int, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        query, key, value = inputs.heads(row)
        size = softplus(inputs.steps[row].double() + inputs.step_bias).clamp(0.1, 2.0)
        state = state * (-inputs.log_rates.double().exp() * size).exp()[:, None, None]
        state = state + key[..., None] * (value * size[:, None])[:, None]
        y = (state * query[..., None]).sum(1) + value * skip[:, None]
        return y.flatten(), state

    expected = walk(CHAINS, inputs.states, step)
    parts = RecurrenceParts(
        sizes,
        log_rates=inputs.log_rates,
        step_bias=inputs.step_bias,
        skip=skip,
        limits=(0.1, 2.0),
    )
    found = inputs.run(library, parts, CHAINS, gates=False)
    assert_close(found.y, expected.y)
    assert_close(found.states, expected.states)
    again = inputs.run(library, parts, cut_in_two(CHAINS), gates=False)
    assert torch.equal(found.y, again.y)
    assert torch.equal(found.states, again.states)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize(("groups", "width"), [(3, 70), (1, 128)])
def test_a_gated_norm_equals_its_formula(
    library: Library, norm_first: bool, groups: int, width: int
) -> None:
    torch.manual_seed(width)
    x, weight = torch.randn(9, groups * width), torch.randn(groups * width)
    gate = torch.randn(9, groups * width + 4)[:, 1:-3]
    grouped, factor = x.double().view(9, groups, width), silu(gate.double()).view(9, groups, width)
    if not norm_first:
        grouped = grouped * factor
    expected = grouped / (grouped.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    expected = expected * weight.double().view(groups, width)
    if norm_first:
        expected = expected * factor
    parts = GroupNormParts(weight, groups, width, epsilon=1e-5, norm_first=norm_first)
    x = GroupNorm(library, parts)(x, gate)
    assert_close(x, expected.flatten(1))


def test_a_gate_without_norm_multiplies(library: Library) -> None:
    x, gate = torch.randn(3, 50), torch.randn(3, 50)
    expected = x.double() * silu(gate.double())
    x = GroupNorm(library, GroupNormParts(None, num_groups=1, width=50))(x, gate)
    assert_close(x, expected)


def test_a_norm_needs_no_gate(library: Library) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(3, 50), torch.randn(50)
    norm = GroupNorm(library, GroupNormParts(weight, 1, 50, epsilon=1e-5, norm_first=True))
    wide = x.double()
    expected = wide / (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
    assert_close(norm(x), expected)
