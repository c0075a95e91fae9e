"""Sums, differences and small products, with carries written out for a small model."""

from __future__ import annotations

from random import Random

from .grammar import expand
from .recipes import Recipes
from .values import words

_DRAW = Recipes("sums", words)
T = _DRAW.T


def answer_add(a: int, b: int) -> str:
    """Write out a sum, units first: every step adds single figures."""
    if a < 10 and b < 10:
        return f"{a} + {b} = {a + b}."
    units = a % 10 + b % 10
    carry = units // 10
    tens = a // 10 + b // 10 + carry
    first = f"{a % 10} + {b % 10} = {units}" + (", carry 1" if carry else "")
    second = f"{a // 10} + {b // 10}" + (" + 1" if carry else "") + f" = {tens}"
    return f"Ones: {first}. Tens: {second}. {a} + {b} = {a + b}."


def answer_sub(a: int, b: int) -> str:
    """Write out a difference, with borrows."""
    if a < 20 and b < 10:
        return f"{a} - {b} = {a - b}."
    borrow = a % 10 < b % 10
    units = a % 10 + (10 if borrow else 0)
    first = f"{units} - {b % 10} = {units - b % 10}" + (", borrow 1" if borrow else "")
    tens = a // 10 - b // 10 - (1 if borrow else 0)
    second = f"{a // 10} - {b // 10}" + (" - 1" if borrow else "") + f" = {tens}"
    return f"Ones: {first}. Tens: {second}. {a} - {b} = {a - b}."


def _figures(rng: Random) -> tuple[int, int]:
    """Return two figures: of two digits in most sums, up to twenty or single in the others."""
    top = rng.choices([99, 20, 9], [55, 25, 20])[0]
    return rng.randint(0, top), rng.randint(0, top)


def _spell(number: int, spelled: bool) -> str:
    return T.SPELLED[number] if spelled else str(number)


def sample(rng: Random) -> tuple[str, str]:
    """Return a question and its answer."""
    kind = rng.choices(["add", "sub", "mul"], [5, 5, 4])[0]
    if kind == "mul":
        a, b = rng.randint(0, 12), rng.randint(0, 12)
        text, answer = rng.choice(T.MUL), f"{a} × {b} = {a * b}."
    elif kind == "add":
        a, b = _figures(rng)
        text, answer = rng.choice(T.ADD + T.GAINS), answer_add(a, b)
    else:
        a, b = _figures(rng)
        a, b = max(a, b), min(a, b)
        text, answer = rng.choice(T.SUB + T.LOSSES), answer_sub(a, b)
    spelled = max(a, b) < len(T.SPELLED) and rng.random() < 0.2
    known = {"a": _spell(a, spelled), "b": _spell(b, spelled)}
    slots = _DRAW.slots("slots", rng, **known)
    return expand(text, rng, slots), answer
