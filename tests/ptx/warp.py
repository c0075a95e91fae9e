"""A warp: 32 lanes that execute the same instruction, one array element a lane."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ptx import matrix
from tests.ptx.arithmetic import (
    COMPARISONS,
    COUNTS,
    OPERATIONS,
    TYPES,
    Array,
    flushed,
    fused_down,
)
from tests.ptx.conversions import bf16_bits, convert, from_bf16
from tests.ptx.memory import SHARED_BASE, AsyncCopies, Memory
from tests.ptx.program import Instruction, Program, split_operands

LANES = 32
Mask = NDArray[np.bool_]
_REGISTER = re.compile(r"%?([a-z]+)\d+")
_ADDRESS = re.compile(r"\[\s*([%$\w]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class Warp:
    """The state of one warp of a block."""

    def __init__(
        self,
        program: Program,
        parameters: Mapping[str, int | float],
        memory: Memory,
        shared: Memory,
        *,
        warp: int,
        block: tuple[int, int, int],
        grid: tuple[int, int, int],
        num_warps: int,
    ) -> None:
        self._program = program
        self._parameters = parameters
        self._memory = memory
        self._shared = shared
        self._copies = AsyncCopies(shared, memory)
        self._registers: dict[str, Array] = {}
        self._next = 0
        self._special = {
            "%tid.x": np.arange(LANES) + warp * LANES,
            "%ntid.x": np.full(LANES, num_warps * LANES),
            "%laneid": np.arange(LANES),
            **{f"%ctaid.{axis}": np.full(LANES, at) for axis, at in zip("xyz", block, strict=True)},
            **{f"%nctaid.{axis}": np.full(LANES, n) for axis, n in zip("xyz", grid, strict=True)},
        }

    def run(self) -> bool:
        """Execute up to the next barrier of the block; return False at the end of the kernel."""
        with np.errstate(all="ignore"):
            while self._next < len(self._program.code):
                instruction = self._program.code[self._next]
                self._next += 1
                try:
                    stop = self._execute(instruction)
                except Exception as error:
                    error.add_note(f"at {instruction.text}")
                    raise
                if stop is not None:
                    return stop == "barrier"
        return False

    def _execute(self, instruction: Instruction) -> str | None:
        mask: Mask = np.ones(LANES, dtype=bool)
        if instruction.predicate is not None:
            mask = self._read(instruction.predicate, TYPES["pred"])
            mask = ~mask if instruction.is_negated else mask
        name = instruction.parts[0]
        if name in ("ret", "exit", "bra"):
            assert mask.all() or not mask.any(), "lanes of a warp take different branches"
            if not mask.any():
                return None
            if name != "bra":
                return "end"
            self._next = self._program.labels[instruction.operands[-1]]
            return None
        if name in ("bar", "barrier"):
            return None if "warp" in instruction.parts else "barrier"
        if mask.any():
            _HANDLERS.get(name, Warp._compute)(self, instruction, mask)
        return None

    # Operands

    def _read(self, operand: str, kind: np.dtype[Any]) -> Array:
        """Return an operand's lanes as numbers of this type."""
        found = _REGISTER.fullmatch(operand)
        if found is None:
            special = self._special.get(operand)
            return _constant(operand, kind) if special is None else special.astype(kind)
        bits = self._registers.get(operand)
        size = self._program.register_bytes[found.group(1)]
        if bits is None:  # never written: all bits set
            bits = np.full(LANES, -1, dtype=f"i{size}").view(_UNSIGNED[size])
        if kind.kind == "b":
            return bits.astype(bool)
        assert kind.itemsize <= size, "a register is narrower than its type"
        return bits.astype(_UNSIGNED[kind.itemsize]).view(kind)

    def _write(self, register: str, value: Array, mask: Mask) -> None:
        """Write lanes to a register; narrower numbers are extended by their sign, or zeros."""
        if register == "_":
            return
        found = _REGISTER.fullmatch(register)
        assert found is not None, f"{register} is no register"
        size = self._program.register_bytes[found.group(1)]
        if value.dtype != bool and value.dtype.itemsize < size:
            value = (
                value.view(_UNSIGNED[value.dtype.itemsize]) if value.dtype.kind == "f" else value
            )
            value = value.astype(f"{value.dtype.kind}{size}")
        bits = value.astype(np.uint8) if value.dtype == bool else value.view(_UNSIGNED[size])
        if not mask.all():
            bits = np.where(mask, bits, self._read(register, _UNSIGNED[size]))
        self._registers[register] = bits

    def _addresses(self, operand: str) -> Array:
        found = _ADDRESS.fullmatch(operand)
        assert found is not None, f"{operand} is no address"
        base, offset = found.groups()
        register = _REGISTER.fullmatch(base)
        size = self._program.register_bytes[register.group(1)] if register else 8
        start = self._read(base, _UNSIGNED[size]).astype(np.int64)
        return (start + int(offset or "0", 0)).astype(np.uint64)

    # Instructions

    def _compute(self, instruction: Instruction, mask: Mask) -> None:
        name, kind = instruction.parts[0], TYPES[instruction.type]
        target, *sources = instruction.operands
        kinds = [kind] * len(sources)
        for index in COUNTS.get(name, ()):
            kinds[index] = TYPES["u32"]
        is_wide = "wide" in instruction.parts
        if is_wide and len(sources) == 3:
            kinds[2] = np.dtype(f"{kind.kind}{2 * kind.itemsize}")
        numbers = [self._read(*each) for each in zip(sources, kinds, strict=True)]
        if is_wide:
            numbers[:2] = [each.astype(f"{kind.kind}{2 * kind.itemsize}") for each in numbers[:2]]
        flushes = "ftz" in instruction.parts and kind == np.float32
        if flushes:
            numbers = [flushed(each) for each in numbers]
        if instruction.type == "bf16":
            wide = OPERATIONS[name](*(from_bf16(each) for each in numbers))
            self._write(target, bf16_bits(wide.astype(np.float32)), mask)
            return
        operation = fused_down if instruction.parts[:2] == ("fma", "rm") else OPERATIONS[name]
        result = operation(*numbers)
        self._write(target, flushed(result) if flushes else result, mask)

    def _move(self, instruction: Instruction, mask: Mask) -> None:
        target, source = instruction.operands
        kind = TYPES[instruction.type]
        if source.startswith("{"):
            parts = split_operands(source.strip("{} "))
            size = kind.itemsize // len(parts)
            columns = [self._read(part, _UNSIGNED[size]) for part in parts]
            packed = np.stack(columns, axis=1).view(_UNSIGNED[kind.itemsize])[:, 0]
            self._write(target, packed, mask)
        elif target.startswith("{"):
            parts = split_operands(target.strip("{} "))
            bits = self._read(source, kind).view(_UNSIGNED[kind.itemsize // len(parts)])
            for part, column in zip(parts, bits.reshape(LANES, -1).T, strict=True):
                self._write(part, np.ascontiguousarray(column), mask)
        else:
            self._write(target, self._read(source, kind), mask)

    def _compare(self, instruction: Instruction, mask: Mask) -> None:
        target, left, right, *more = instruction.operands
        kind = TYPES[instruction.type]
        comparison, *combination = instruction.parts[1:-1]
        result = COMPARISONS[comparison](self._read(left, kind), self._read(right, kind))
        if more:
            other = self._read(more[0], TYPES["pred"])
            result = OPERATIONS[combination[0]](result, other)
        self._write(target, result, mask)

    def _select(self, instruction: Instruction, mask: Mask) -> None:
        target, first, second, chooser = instruction.operands
        kind = TYPES[instruction.type]
        chosen = self._read(chooser, TYPES["pred"])
        result = np.where(chosen, self._read(first, kind), self._read(second, kind))
        self._write(target, result, mask)

    def _convert(self, instruction: Instruction, mask: Mask) -> None:
        target, *sources = instruction.operands
        kind = TYPES[instruction.type]
        result = convert(instruction.parts, [self._read(source, kind) for source in sources])
        self._write(target, result, mask)

    def _load(self, instruction: Instruction, mask: Mask) -> None:
        targets, address = instruction.operands
        kind = TYPES[instruction.type]
        if "param" in instruction.parts:
            value = self._parameters[address.strip("[] ")]
            bits = (
                np.float32(value).view(np.uint32)
                if isinstance(value, float)
                else int(value) % (1 << 8 * kind.itemsize)
            )
            self._write(targets, np.full(LANES, bits, _UNSIGNED[kind.itemsize]).view(kind), mask)
            return
        names = split_operands(targets.strip("{} "))
        space = self._space(instruction)
        data = np.zeros((LANES, kind.itemsize * len(names)), dtype=np.uint8)
        data[mask] = space.load(self._addresses(address)[mask], kind.itemsize, len(names))
        for name, column in zip(names, data.view(kind).T, strict=True):
            self._write(name, np.ascontiguousarray(column), mask)

    def _store(self, instruction: Instruction, mask: Mask) -> None:
        address, sources = instruction.operands
        kind = _UNSIGNED[TYPES[instruction.type].itemsize]
        names = split_operands(sources.strip("{} "))
        data = np.stack([self._read(name, kind) for name in names], axis=1)
        self._space(instruction).store(self._addresses(address)[mask], data.view(np.uint8)[mask])

    def _space(self, instruction: Instruction) -> Memory:
        is_shared = "shared" in instruction.parts or "shared::cta" in instruction.parts
        return self._shared if is_shared else self._memory

    def _copy(self, instruction: Instruction, mask: Mask) -> None:
        """Execute cp.async and its groups."""
        if "commit_group" in instruction.parts:
            self._copies.commit()
        elif "wait_group" in instruction.parts:
            self._copies.wait(int(instruction.operands[0], 0))
        else:
            target, source, size, *used = instruction.operands
            lanes = self._read(used[0], TYPES["u32"]) if used else np.full(LANES, int(size, 0))
            self._copies.issue(
                self._addresses(target)[mask],
                self._addresses(source)[mask],
                int(size, 0),
                lanes.astype(np.int64)[mask],
            )

    def _shuffle(self, instruction: Instruction, mask: Mask) -> None:
        target, source, lane, clamp, members = instruction.operands
        mode = instruction.parts[2]
        clamps = ("0", "0x0") if mode == "up" else ("31", "0x1f")
        assert mask.all() and clamp in clamps and members in ("-1", "0xffffffff")
        chosen = self._read(lane, TYPES["u32"]).astype(np.int64)
        own = np.arange(LANES)
        below = np.where(own >= chosen, own - chosen, own)  # the first lanes keep their own
        lanes = {"bfly": own ^ chosen, "idx": chosen % LANES, "up": below}[mode]
        register = target.split("|")[0]
        self._write(register, self._read(source, TYPES["u32"])[lanes], mask)

    def _reduce(self, instruction: Instruction, mask: Mask) -> None:
        assert mask.all()
        numbers = self._read(instruction.operands[1], TYPES[instruction.type])
        function = {"min": np.min, "max": np.max, "add": np.sum}[instruction.parts[2]]
        result = np.full(LANES, function(numbers), dtype=numbers.dtype)
        self._write(instruction.operands[0], result, mask)

    def _load_matrices(self, instruction: Instruction, mask: Mask) -> None:
        targets, address = instruction.operands
        names = split_operands(targets.strip("{} "))
        is_transposed = "trans" in instruction.parts
        found = matrix.load_matrices(
            self._shared, self._addresses(address), len(names), trans=is_transposed
        )
        for name, register in zip(names, found, strict=True):
            self._write(name, register, mask)

    def _multiply(self, instruction: Instruction, mask: Mask) -> None:
        assert mask.all() and instruction.parts[3:6] == ("m16n8k16", "row", "col")
        assert instruction.parts[6] == instruction.parts[9] == "f32"
        targets, *operands = (split_operands(each.strip("{} ")) for each in instruction.operands)
        kind = TYPES["u32"]
        a, b, c = ([self._read(name, kind) for name in names] for names in operands)
        for name, register in zip(
            targets, matrix.multiply(instruction.parts[7], a, b, c), strict=True
        ):
            self._write(name, register, mask)


def _constant(operand: str, kind: np.dtype[Any]) -> Array:
    """Return the lanes of a number in the text, or of the address of shared memory."""
    if operand.startswith("0f"):
        return np.full(LANES, int(operand[2:], 16), dtype=np.uint32).view(kind)
    if operand.startswith("0d"):
        return np.full(LANES, int(operand[2:], 16), dtype=np.uint64).view(kind)
    if operand == "global_smem":
        return np.full(LANES, SHARED_BASE, dtype=kind)
    if operand in ("true", "false"):
        return np.full(LANES, operand == "true")
    number = int(operand.rstrip("U"), 0)
    if kind.kind == "b":
        return np.full(LANES, bool(number))
    bits = np.full(LANES, number % (1 << 8 * kind.itemsize), dtype=_UNSIGNED[kind.itemsize])
    return bits.view(kind)


_HANDLERS: dict[str, Callable[[Warp, Instruction, Mask], None]] = {
    "mov": Warp._move,
    "setp": Warp._compare,
    "selp": Warp._select,
    "cvt": Warp._convert,
    "ld": Warp._load,
    "st": Warp._store,
    "cp": Warp._copy,
    "shfl": Warp._shuffle,
    "redux": Warp._reduce,
    "ldmatrix": Warp._load_matrices,
    "mma": Warp._multiply,
}
