"""The text of a PTX kernel as instructions, labels, parameters and widths of registers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.ptx.arithmetic import TYPES

_COMMENT = re.compile(r"//[^\n]*")
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)(.*)", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s+\.(\w+).*?(\w+)$", re.DOTALL)
_LABEL = re.compile(r"([$\w]+):")
# Registers of blocks inside a kernel have names without "%".
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+%?([a-z]+)<\d+>")


@dataclass(frozen=True)
class Instruction:
    """One instruction, for example `@!%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8]`."""

    text: str
    predicate: str | None
    is_negated: bool
    parts: tuple[str, ...]  # of the opcode: ("ld", "global", "v2", "b32")
    operands: tuple[str, ...]

    @property
    def type(self) -> str:
        """The last part: the type of the operands, or of the source of a conversion."""
        return self.parts[-1]


@dataclass(frozen=True)
class Program:
    """One kernel."""

    name: str
    parameters: dict[str, str]  # type by name, in order
    register_bytes: dict[str, int]  # by the letters of the registers' names
    code: tuple[Instruction, ...]
    labels: dict[str, int]  # the index of the instruction after the label


def parse(text: str) -> Program:
    """Parse the only kernel of a PTX text."""
    found = _ENTRY.search(_COMMENT.sub("", text))
    assert found is not None, "the text has no .entry"
    name, parameters, rest = found.groups()
    kinds = {}
    for parameter in split_operands(parameters):
        matched = _PARAMETER.match(parameter)
        assert matched is not None, parameter
        kinds[matched.group(2)] = matched.group(1)
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    registers: dict[str, int] = {}
    pending = ""
    for line in _body(rest):
        label = _LABEL.fullmatch(line)
        if label is not None:
            labels[label.group(1)] = len(code)
            continue
        declared = _REGISTERS.match(line)
        if declared is not None:
            registers[declared.group(2)] = TYPES[declared.group(1)].itemsize
            continue
        if line.startswith("."):  # .loc, .pragma
            continue
        pending += " " + line
        while ";" in pending:
            statement, pending = pending.split(";", 1)
            if statement.strip():
                code.append(_instruction(statement.strip()))
    return Program(name, kinds, registers, tuple(code), labels)


def _body(text: str) -> list[str]:
    """Return the lines between the kernel's braces. Braces stand alone in their lines."""
    found, depth = [], 0
    for line in map(str.strip, text.splitlines()):
        if line == "}" and depth == 1:
            return found
        if line in ("{", "}"):
            depth += 1 if line == "{" else -1
        elif line and depth:
            found.append(line)
    raise AssertionError("the kernel has no end")


def _instruction(statement: str) -> Instruction:
    rest, predicate, is_negated = statement, None, False
    if statement.startswith("@"):
        guard, rest = statement[1:].split(None, 1)
        predicate, is_negated = guard.lstrip("!"), guard.startswith("!")
    opcode, _, operands = rest.partition(" " if " " in rest else "\t")
    opcode, _, more = opcode.partition("\t")
    operands = f"{more} {operands}".strip()
    return Instruction(
        statement, predicate, is_negated, tuple(opcode.split(".")), tuple(split_operands(operands))
    )


def split_operands(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return parts
