"""Mixtures of experts in each instruction set, against plain float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.kernels.test_quantized_linear import random_weight, rounded
from yaie.kernels import library_search as kernels
from yaie.kernels.library import Library
from yaie.models.native.packed_experts import Expert, ExpertsLayout, Gate, PackedExperts
from yaie.models.native.packing import Packer
from yaie.models.quantization.block_weights import BlockWeight, make_q8_0
from yaie.models.quantization.quantized_weights import QuantizedWeight

HIDDEN, INNER, EXPERTS, CHOSEN = 96, 64, 6, 2
GATES = [Gate("silu"), Gate("gelu"), Gate("clamped", 1.702, 7.0)]
KINDS = ["int8", "int4", "mxfp4", "fp8", "Q8_0", "bfloat16", "float32"]
FLOATS = ("fp8", "float32")  # kinds whose rows stay float32 in each set


@pytest.fixture(params=["amx", "bf16", "vnni", "avx512", "avx2", "portable"])
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    loaded = kernels.load()
    if loaded is None:
        pytest.skip(f"no kernel library: {kernels.status().reason}")
    if request.param not in loaded.instruction_sets:
        pytest.skip(f"this processor or this library has no {request.param}")
    before, threads = loaded.instruction_set, loaded.threads
    loaded.use_instruction_set(request.param)
    loaded.threads = 2
    yield loaded
    loaded.use_instruction_set(before)
    loaded.threads = threads


def weight_of(kind: str, outputs: int, inputs: int) -> QuantizedWeight | BlockWeight | torch.Tensor:
    if kind == "Q8_0":
        values = torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8)
        return make_q8_0(values, torch.rand(outputs, inputs // 32) / 500 + 1e-4)
    if kind == "int8":
        return random_weight(outputs, inputs, 8)
    if kind == "int4":
        return random_weight(outputs, inputs, 4, 32, asymmetric=True)
    if kind == "mxfp4":
        codes = torch.randint(0, 16, (outputs, inputs), dtype=torch.uint8)
        scales = torch.exp2(torch.randint(-7, -2, (outputs, inputs // 32)).float())
        return QuantizedWeight(4, codes, scales, None)
    if kind == "fp8":
        values = (torch.randn(outputs, inputs) * 20).to(torch.float8_e4m3fn)
        return QuantizedWeight(8, values, torch.rand(outputs, inputs // 32) / 100 + 1e-3, None)
    return (torch.randn(outputs, inputs) / 8).to(getattr(torch, kind))


def make_experts(
    library: Library, kind: str, gate: Gate, *, count: int = EXPERTS, hidden: int = HIDDEN,
    inner: int = INNER, has_bias: bool = False,
) -> tuple[PackedExperts, list[Expert]]:  # fmt: skip
    layout = ExpertsLayout(count, hidden, inner, gate, False, False, has_bias)
    packed = PackedExperts(layout, library, Packer(library, torch.float32, exact=True))
    experts = []
    for index in range(count):
        experts.append(
            Expert(
                weight_of(kind, 2 * inner, hidden),
                weight_of(kind, hidden, inner),
                torch.randn(2 * inner) if has_bias else None,
                torch.randn(hidden) if has_bias else None,
            )
        )
        packed.pack(index, experts[-1])
    return packed, experts


def product(
    x: torch.Tensor,
    weight: QuantizedWeight | BlockWeight | torch.Tensor,
    bias: torch.Tensor | None,
) -> torch.Tensor:
    """Return the layer's outputs in float64, for rows as the kernels round them."""
    if isinstance(weight, BlockWeight):
        x, wide = rounded(x, 32, keeps_outliers=False), weight.dequantize(torch.float32)
    elif isinstance(weight, QuantizedWeight):
        if weight.kind != "fp8":
            x = rounded(x, weight.group_size, keeps_outliers=weight.kind == "int8")
        wide = weight.dequantize(torch.float32)
    else:
        wide = weight
    y = x.double() @ wide.double().T
    return y if bias is None else y + bias.double()


def expected_sum(
    gate: Gate, experts: list[Expert], x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    total = torch.zeros(x.shape, dtype=torch.float64)
    for index, expert in enumerate(experts):
        rows, slots = torch.where(ids == index)
        if not len(rows):
            continue
        both = product(x[rows], expert.gate_up, expert.gate_up_bias)
        inner = gate.apply(*both.chunk(2, -1)).float()
        outputs = product(inner, expert.down, expert.down_bias)
        total.index_add_(0, rows, outputs * weights[rows, slots, None].double())
    return total


def choose(rows: int, count: int, chosen: int = CHOSEN) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each row's experts, all different, and their weights."""
    ids = torch.rand(rows, count).topk(chosen, -1).indices
    return ids, torch.rand(rows, chosen)


def assert_close(found: torch.Tensor, expected: torch.Tensor, kind: str, library: Library) -> None:
    is_bf16 = kind == "bfloat16" and library.instruction_set in ("amx", "bf16")
    # A byte of the second layer's rows may round the other way: one step in 127.
    bound = 0.03 if is_bf16 or kind not in (*FLOATS, "bfloat16") else 1e-5
    error = (found.double() - expected).norm(dim=-1)
    assert bool((error <= bound * expected.norm(dim=-1).clamp(min=1e-6)).all())
    tight = 1e-2 if is_bf16 else 2e-3 if bound > 1e-4 else 1e-5
    assert float(error.median()) <= tight * float(expected.norm(dim=-1).median())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
@pytest.mark.parametrize("rows", [1, 3, 40, 300])
def test_sums_equal_those_of_dequantized_experts(
    library: Library, kind: str, gate: Gate, rows: int
) -> None:
    torch.manual_seed(rows)
    packed, experts = make_experts(library, kind, gate, has_bias=gate.name == "clamped")
    x = torch.randn(rows, HIDDEN) * 2
    ids, weights = choose(rows, EXPERTS)
    assert_close(
        packed(x, ids, weights), expected_sum(gate, experts, x, ids, weights), kind, library
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("hidden", "inner"), [(64, 160), (352, 96), (2880, 32)])
def test_widths_need_not_fill_panels_and_tiles(
    library: Library, kind: str, hidden: int, inner: int
) -> None:
    torch.manual_seed(0)
    gate = Gate("silu")
    packed, experts = make_experts(library, kind, gate, count=3, hidden=hidden, inner=inner)
    x = torch.randn(21, hidden)
    ids, weights = choose(21, 3)
    assert_close(
        packed(x, ids, weights), expected_sum(gate, experts, x, ids, weights), kind, library
    )


@pytest.mark.parametrize("kind", KINDS)
def test_all_rows_may_choose_one_expert(library: Library, kind: str) -> None:
    torch.manual_seed(1)
    gate = Gate("silu")
    packed, experts = make_experts(library, kind, gate)
    x = torch.randn(300, HIDDEN)
    ids, weights = torch.full((300, 1), 4), torch.rand(300, 1)
    assert_close(
        packed(x, ids, weights), expected_sum(gate, experts, x, ids, weights), kind, library
    )


@pytest.mark.parametrize("kind", ["int8", "mxfp4"])
def test_ids_of_no_expert_add_nothing(library: Library, kind: str) -> None:
    packed, _ = make_experts(library, kind, Gate("silu"))
    x = torch.randn(5, HIDDEN)
    ids, weights = choose(5, EXPERTS)
    ids[2], ids[3, 0], ids[4, 1] = EXPERTS, -1, EXPERTS + 7
    found = packed(x, ids, weights)
    assert not bool(found[2].any())
    assert torch.equal(found[3:4], packed(x[3:4], ids[3:4, 1:], weights[3:4, 1:]))
    assert torch.equal(found[4:5], packed(x[4:5], ids[4:5, :1], weights[4:5, :1]))
    assert not bool(packed(x, torch.full((5, 2), EXPERTS), weights).any())


@pytest.mark.parametrize("kind", ["int8", "int4", "mxfp4", "fp8", "Q8_0"])
def test_a_row_is_independent_of_other_rows_and_threads(library: Library, kind: str) -> None:
    packed, _ = make_experts(library, kind, Gate("silu"))
    x = torch.randn(200, HIDDEN)
    ids, weights = choose(200, EXPERTS)
    together = packed(x, ids, weights)
    library.threads = 1
    alone = torch.cat([
        packed(x[r : r + 1], ids[r : r + 1], weights[r : r + 1]) for r in range(200)
    ])  # fmt: skip
    assert torch.equal(together, alone)


def test_more_pairs_than_are_sorted_at_once(library: Library) -> None:
    packed, _ = make_experts(library, "int8", Gate("silu"))
    x = torch.randn(5000, HIDDEN)
    ids, weights = choose(5000, EXPERTS)
    found = packed(x, ids, weights)
    for rows in (slice(0, 7), slice(2040, 2060), slice(4990, 5000)):
        assert torch.equal(found[rows], packed(x[rows], ids[rows], weights[rows]))


def test_non_finite_rows_stay_non_finite(library: Library) -> None:
    for gate in GATES:
        packed, _ = make_experts(library, "int4", gate)
        x = torch.randn(20, HIDDEN)
        ids, weights = choose(20, EXPERTS)
        expected = packed(x, ids, weights)
        x[7, 3] = torch.nan
        found = packed(x, ids, weights)
        assert not bool(found[7].isfinite().any())
        kept = torch.arange(20) != 7
        assert torch.equal(found[kept], expected[kept])


def test_numbers_of_mxfp4_are_exact(library: Library) -> None:
    """Each code with each power of two, among them subnormal and very large ones."""
    codes = torch.arange(16, dtype=torch.uint8).repeat(32, 2)
    exponents = torch.tensor([0, 1, 2, 100, 126, 127, 128, 150] * 4)
    weight = QuantizedWeight(4, codes, torch.exp2(exponents.double() - 127).float()[:, None], None)
    packer = Packer(library, torch.float32)
    linear = packer.pack_weight(weight)
    for index in range(32):
        x, y = torch.zeros(1, 32), torch.empty(1, 32)
        x[0, index] = 127.0  # a byte at its limit: no rounding
        library.linear(linear, x.data_ptr(), 1, y.data_ptr(), 0, 0.0)
        wide = weight.dequantize(torch.float32)
        assert torch.equal(y[0], wide[:, index] * 127.0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_expert_is_compared_with_its_weights(library: Library, kind: str) -> None:
    packed, experts = make_experts(library, kind, Gate("clamped", 1.702, 7.0), has_bias=True)
    for index, expert in enumerate(experts):
        packed.check(index, expert)
    with pytest.raises(Exception, match="something else"):
        packed.check(0, experts[1])
