"""The interpreter of PTX on small kernels: values, memory checks, barriers, asynchronous copies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from tests.ptx.arithmetic import OPERATIONS, fused_down, permute_bytes
from tests.ptx.conversions import bf16_bits, convert, from_bf16
from tests.ptx.grid import run
from tests.ptx.matrix import load_matrices, multiply
from tests.ptx.memory import SHARED_BASE, Memory, MemoryFault, Region, shared_memory
from tests.ptx.program import parse

HEAD = """
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0,
	.param .u64 .ptr .global .align 1 kernel_param_1
)
.reqntid 64
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<99>;
	.reg .b64 	%rd<9>;
	ld.param.b64 	%rd1, [kernel_param_0];
	ld.param.b64 	%rd2, [kernel_param_1];
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd1, %rd3;
	add.s64 	%rd5, %rd2, %rd3;
	ld.global.b32 	%r2, [%rd4];
"""
TAIL = """
	st.global.b32 	[%rd5], %r3;
	ret;
}
"""


def outputs_of(body: str, inputs: np.ndarray, *, warps: int = 1, tail: str = TAIL) -> np.ndarray:
    """Run a body that makes %r3 of %r2, the input of its thread."""
    source = torch.from_numpy(np.ascontiguousarray(inputs).view(np.int32).copy())
    target = torch.full((32 * warps,), -1, dtype=torch.int32)
    memory = Memory([Region.of("source", source, is_writable=False)])
    memory.add(Region.of("target", target, is_writable=True))
    run(
        parse(HEAD + body + tail),
        (1, 1, 1),
        [source.data_ptr(), target.data_ptr()],
        memory,
        num_warps=warps,
        shared_bytes=1024,
    )
    return target.numpy().view(inputs.dtype)


NUMBERS = np.random.default_rng(3).integers(-(2**31), 2**31, 32, dtype=np.int64).astype(np.int32)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("add.s32 %r3, %r2, -7;", NUMBERS - 7),
        ("shr.s32 %r3, %r2, 40;", NUMBERS >> 31),
        ("shr.u32 %r3, %r2, 4;", (NUMBERS.view(np.uint32) >> 4).view(np.int32)),
        ("shl.b32 %r3, %r2, 32;", np.zeros(32, np.int32)),
        ("bfe.s32 %r3, %r2, 8, 4;", (NUMBERS << 20) >> 28),
        ("bfe.u32 %r3, %r2, 8, 4;", (NUMBERS >> 8) & 15),
        ("cvt.s8.s32 %r3, %r2;", NUMBERS.astype(np.int8).astype(np.int32)),
        ("{ setp.lt.s32 %p1, %r2, 0; selp.b32 %r3, 1, 2, %p1; }", np.where(NUMBERS < 0, 1, 2)),
        (
            "mov.b32 %r3, 5;\nsetp.lt.s32 %p1, %r2, 0;\n@%p1 mov.b32 %r3, 9;",
            np.where(NUMBERS < 0, 9, 5),
        ),
        ("mov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r3, {%rs2, %rs1};", None),
        ("shfl.sync.bfly.b32 %r3, %r2, 5, 31, -1;", NUMBERS[np.arange(32) ^ 5]),
        ("shfl.sync.idx.b32 %r3, %r2, 3, 31, -1;", np.full(32, NUMBERS[3])),
        ("redux.sync.min.s32 %r3, %r2, -1;", np.full(32, NUMBERS.min())),
    ],
)  # fmt: skip
def test_integers(body: str, expected: np.ndarray | None) -> None:
    if expected is None:
        expected = NUMBERS.view(np.uint16).reshape(32, 2)[:, ::-1].copy().view(np.int32)[:, 0]
    body = body.strip("{} ").replace("; ", ";\n\t")
    assert outputs_of("\t" + body, NUMBERS).tolist() == expected.tolist()


def test_floats() -> None:
    numbers = np.linspace(-3, 3, 32, dtype=np.float32)
    once = (numbers.astype(np.float64) ** 2 + 1).astype(np.float32)  # rounded once
    assert (outputs_of("\tfma.rn.f32 %r3, %r2, %r2, 0f3F800000;", numbers) == once).all()
    assert (outputs_of("\tex2.approx.ftz.f32 %r3, %r2;", numbers) == np.exp2(numbers)).all()
    tiny = np.full(32, 1e-40, np.float32)
    assert (outputs_of("\tadd.ftz.f32 %r3, %r2, %r2;", tiny) == 0).all()
    assert (outputs_of("\tadd.f32 %r3, %r2, %r2;", tiny) > 0).all()
    nan = np.full(32, np.nan, np.float32)
    assert (outputs_of("\tmax.f32 %r3, %r2, 0f3F800000;", nan) == 1).all()


def test_bf16_rounds_as_torch() -> None:
    numbers = torch.randn(4096) * torch.logspace(-30, 30, 4096)
    expected = numbers.to(torch.bfloat16).view(torch.uint16).numpy()
    assert (bf16_bits(numbers.numpy()) == expected).all()
    assert (from_bf16(expected) == numbers.to(torch.bfloat16).float().numpy()).all()
    pair = convert(("cvt", "rn", "bf16x2", "f32"), [numbers[:9].numpy(), numbers[9:18].numpy()])
    assert (pair >> 16 == expected[:9]).all() and (pair & 0xFFFF == expected[9:18]).all()


def test_bf16_is_computed_as_a_number() -> None:
    numbers = torch.randn(32).to(torch.bfloat16)
    bits = numbers.view(torch.uint16).numpy().astype(np.int32)
    body = (
        "\tcvt.u16.u32 %rs1, %r2;\n\tfma.rn.bf16 %rs2, %rs1, %rs1, %rs1;\n\tcvt.u32.u16 %r3, %rs2;"
    )
    expected = (numbers.double() * numbers.double() + numbers.double()).to(torch.bfloat16)
    assert (outputs_of(body, bits) == expected.view(torch.uint16).numpy()).all()


def test_bytes_are_chosen_with_their_sign() -> None:
    low, high = np.array([0x80FF1122], np.uint32), np.array([0x44556677], np.uint32)
    assert permute_bytes(low, high, np.array([0x7160], np.uint32)) == 0x44115522
    assert permute_bytes(low, high, np.array([0xBBA0], np.uint32)) == 0xFFFFFF22


def test_division_of_integers_truncates() -> None:
    x, y = np.array([-7, 7, -7], np.int32), np.array([2, -2, -2], np.int32)
    assert OPERATIONS["div"](x, y).tolist() == [-3, -3, 3]
    assert OPERATIONS["rem"](x, y).tolist() == [-1, 1, -1]


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_a_product_by_loaded_matrices(kind: str) -> None:
    """Load A and B by ldmatrix as a compiler would, and compare C with NumPy's product."""
    dtype = torch.bfloat16 if kind == "bf16" else torch.float16
    a, b = torch.randn(16, 16).to(dtype), torch.randn(16, 8).to(dtype)
    c = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    shared = shared_memory(1024)
    shared.regions[0].data[:512] = a.view(torch.uint8).flatten().numpy()
    shared.regions[0].data[512:768] = b.view(torch.uint8).flatten().numpy()
    lane = np.arange(32)
    # Matrix i of four begins at row 8 * (i % 2) and column 8 * (i // 2).
    row, column = lane % 8 + 8 * (lane // 8 % 2), 8 * (lane // 16)
    left = load_matrices(
        shared, (SHARED_BASE + 32 * row + 2 * column).astype(np.uint64), 4, trans=False
    )
    right = load_matrices(
        shared, (SHARED_BASE + 512 + 16 * (lane % 16)).astype(np.uint64), 2, trans=True
    )
    group, pair = lane // 4, 2 * (lane % 4)
    added = [c[group + 8 * (i // 2), pair + i % 2].view(np.uint32) for i in range(4)]
    found = np.empty((16, 8), np.float32)
    for i, register in enumerate(multiply(kind, left, right, added)):
        found[group + 8 * (i // 2), pair + i % 2] = register.view(np.float32)
    np.testing.assert_allclose(
        found, a.float().numpy() @ b.float().numpy() + c, rtol=1e-5, atol=1e-5
    )


OUTSIDE = "\tst.global.b32 	[%rd5+4], %r2;\n\tret;\n}\n"
UNALIGNED = "\tst.global.b32 	[%rd5+2], %r2;\n\tret;\n}\n"
READ_ONLY = "\tst.global.b32 	[%rd4], %r2;\n\tret;\n}\n"
WRONG_SHARED = "\tmov.b32 %r4, 0;\n\tst.shared.b32 	[%r4], %r2;\n\tret;\n}\n"


@pytest.mark.parametrize("tail", [OUTSIDE, UNALIGNED, READ_ONLY, WRONG_SHARED])
def test_invalid_accesses_are_refused(tail: str) -> None:
    with pytest.raises(MemoryFault):
        outputs_of("", NUMBERS, tail=tail)


def test_a_region_ends_with_its_tensor() -> None:
    whole = torch.arange(12, dtype=torch.int32).view(3, 4)
    region = Region.of("column", whole[:2, 1], is_writable=False)
    assert (region.begin, len(region.data)) == (whole.data_ptr() + 4, 20)


EXCHANGE = """
	mov.b32 	%r4, global_smem;
	shl.b32 	%r5, %r1, 2;
	add.s32 	%r6, %r4, %r5;
	st.shared.b32 	[%r6], %r2;
	{barrier}
	xor.b32 	%r7, %r1, 63;
	shl.b32 	%r8, %r7, 2;
	add.s32 	%r9, %r4, %r8;
	ld.shared.b32 	%r3, [%r9];
"""


def test_warps_exchange_data_at_a_barrier_only() -> None:
    numbers = np.arange(64, dtype=np.int32)
    found = outputs_of(EXCHANGE.replace("{barrier}", "bar.sync 	0;"), numbers, warps=2)
    assert (found == numbers[::-1]).all()
    without = outputs_of(EXCHANGE.replace("{barrier}", ""), numbers, warps=2)
    assert (without[:32] == -1).all()  # poison: the second warp had not written yet


def test_a_barrier_that_one_warp_skips_is_refused() -> None:
    skip = "\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 bra $L1;"
    with pytest.raises(AssertionError, match="barrier"):
        outputs_of(
            f"{skip}\n\tbar.sync 0;\n$L1:\n\tmov.b32 %r3, 1;",
            np.arange(64, dtype=np.int32),
            warps=2,
        )


def test_lanes_that_take_different_branches_are_refused() -> None:
    body = "\tsetp.lt.u32 	%p1, %r1, 9;\n\t@%p1 bra 	$L1;\n\tmov.b32 	%r3, 2;\n$L1:\n"
    with pytest.raises(AssertionError, match="branches"):
        outputs_of(body, NUMBERS)


COPY = """
	mov.b32 	%r4, global_smem;
	shl.b32 	%r5, %r1, 2;
	add.s32 	%r6, %r4, %r5;
	cp.async.ca.shared.global [ %r6 + 0 ], [ %rd4 + 0 ], 0x4, {used};
	cp.async.commit_group;
	cp.async.wait_group 	{pending};
	ld.shared.b32 	%r3, [%r6];
"""


@pytest.mark.parametrize(("used", "pending", "expected"), [(4, 0, NUMBERS), (4, 1, -1), (0, 0, 0)])
def test_asynchronous_copies_take_effect_at_their_wait(
    used: int, pending: int, expected: np.ndarray | int
) -> None:
    found = outputs_of(COPY.format(used=used, pending=pending), NUMBERS)
    assert (found == expected).all()


def test_a_block_has_registers_of_its_own() -> None:
    """Triton widens four bytes at once by such a block of inline assembly."""
    body = """
	{
	.reg .s8 s<4>;
	.reg .f32 f<2>;
	mov.b32 	{s0, s1, s2, s3}, %r2;
	cvt.rn.f32.s8 	f0, s2;
	mov.b32 	%r3, f0;
	}
"""
    found = outputs_of(body, NUMBERS).view(np.float32)
    assert (found == NUMBERS.view(np.int8).reshape(32, 4)[:, 2]).all()


def test_a_shuffle_upwards_leaves_the_first_lanes_their_own() -> None:
    found = outputs_of("shfl.sync.up.b32 %r3, %r2, 3, 0, -1;", NUMBERS)
    assert found.tolist() == [*NUMBERS[:3], *NUMBERS[:-3]]


def test_a_product_and_sum_is_rounded_down() -> None:
    x, y = np.float32([3.1, -3.1, 1.0, 2.0**-20]), np.float32([1.7, 1.7, 1.0, 2.0**-20])
    z = np.float32([12582912.0, 12582912.0, 0.5, -1.0])
    for found, *numbers in zip(fused_down(x, y, z), x, y, z, strict=True):
        exact = Fraction(float(numbers[0])) * Fraction(float(numbers[1])) + Fraction(
            float(numbers[2])
        )
        assert Fraction(float(found)) <= exact
        assert Fraction(float(np.nextafter(found, np.float32(np.inf)))) > exact


def test_conversions_round_to_whole_numbers_and_saturate() -> None:
    x = np.float64([1.2, -1.2, 3.0])
    assert convert(("cvt", "rpi", "f64", "f64"), [x]).tolist() == [2.0, -1.0, 3.0]
    y = np.float32([-1.0, 0.25, 7.0, np.nan])
    assert convert(("cvt", "sat", "f32", "f32"), [y]).tolist() == [0.0, 0.25, 1.0, 0.0]
