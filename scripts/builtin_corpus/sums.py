"""Sums, differences and small products, with the carries written out so that a small model can."""

from __future__ import annotations

from random import Random

from .grammar import expand

ADD = [
    "{a} + {b}[| =| = ?| equals| is]", "{a}+{b}[|=|=?]", "[what is|what's|whats|calculate|compute|"
    "work out|solve|evaluate|how much is|how many is|tell me|find] {a} [+|plus|and|added to] {b}",
    "[add|sum] {a} [and|to|with|plus|,] {b}", "[what is|give me|find|compute|i need] the [sum|"
    "total] of {a} and {b}", "{a} plus {b}[| is| equals| makes| gives| is how much]",
    "[what do|how much do] you get [if|when] you add {a} [and|to] {b}", "what does {a} [plus|+] {b}"
    " [make|give|equal|come to]", "[can|could] you add {a} [and|to] {b}", "i have {a} [apples|"
    "coins|books|eggs|euros|points|cards|pens] and [get|buy|find|win|receive|earn] {b} more[. how "
    "many do i have|, how many now|. how many is that|. how many do i have now|. what is the "
    "total]", "there are {a} [boys|cats|red balls|cars|men|cows] and {b} [girls|dogs|blue balls|"
    "bikes|women|sheep][. how many are there|. how many in total|, how many altogether|. how many "
    "is that together]", "[tom|ada|mia|she|he] has {a} [coins|cards|books|sweets] and gets {b} "
    "more. how many [does tom|does she|does he|] have now", "{a} and {b} [together|in total|"
    "summed|make what]",
]  # fmt: skip
SUB = [
    "{a} - {b}[| =| = ?| equals| is]", "{a}-{b}[|=|=?]", "[what is|what's|whats|calculate|compute|"
    "work out|solve|evaluate|how much is|tell me|find] {a} [-|minus|less|take away] {b}",
    "[subtract|take|deduct|take away] {b} from {a}", "[what is|give me|find|compute] the "
    "difference [between|of] {a} and {b}", "{a} minus {b}[| is| equals| makes| gives| is how much]",
    "[what do|how much do] you get [if|when] you [subtract|take] {b} from {a}", "what does {a} "
    "[minus|-] {b} [make|give|equal|come to]", "i have {a} [apples|coins|books|eggs|euros|points|"
    "cards|pens] and [lose|give away|eat|spend|sell|use] {b}[. how many are left|, how many "
    "remain|. how many do i have|. what is left|. how many do i still have]", "there are {a} "
    "[birds|people|cakes|seats|cars|sheep] and {b} [leave|are gone|go away|are taken|disappear][. "
    "how many are left|. how many remain|, how many stay|. what is left]", "{a} take away {b}",
    "[tom|ada|mia|she|he] had {a} [coins|cards|books|sweets] and [lost|gave away|sold|spent] {b}. "
    "how many are left", "how much is left [of|from] {a} [if i take away|after taking|without] {b}",
]  # fmt: skip
MUL = [
    "{a} * {b}[| =| = ?]", "{a} x {b}[| =| = ?]", "[what is|what's|calculate|compute|work out|how "
    "much is|tell me|find] {a} [times|*|x|multiplied by] {b}", "multiply {a} [by|with|and] {b}",
    "[what is|find|give me] the product of {a} and {b}", "{a} times {b}[| is| equals| gives]",
    "there are {a} [boxes|bags|rows] with {b} [eggs|pens|seats] each[. how many in total|. how "
    "many "
    "are there|, how many altogether]",
]  # fmt: skip


def answer_add(a: int, b: int) -> str:
    """Units first, then tens: every step is a sum of single figures."""
    if a < 10 and b < 10:
        return f"{a} + {b} = {a + b}."
    units = a % 10 + b % 10
    carry = units // 10
    tens = a // 10 + b // 10 + carry
    first = f"{a % 10} + {b % 10} = {units}" + (", carry 1" if carry else "")
    second = f"{a // 10} + {b // 10}" + (" + 1" if carry else "") + f" = {tens}"
    return f"Ones: {first}. Tens: {second}. {a} + {b} = {a + b}."


def answer_sub(a: int, b: int) -> str:
    """Like `answer_add`, with a borrow."""
    if a < 20 and b < 10:
        return f"{a} - {b} = {a - b}."
    borrow = a % 10 < b % 10
    units = a % 10 + (10 if borrow else 0)
    first = f"{units} - {b % 10} = {units - b % 10}" + (", borrow 1" if borrow else "")
    tens = a // 10 - b // 10 - (1 if borrow else 0)
    second = f"{a // 10} - {b // 10}" + (" - 1" if borrow else "") + f" = {tens}"
    return f"Ones: {first}. Tens: {second}. {a} - {b} = {a - b}."


def sample(rng: Random) -> tuple[str, str]:
    """A question and its answer."""
    kind = rng.choices(["add", "sub", "mul"], [5, 5, 2])[0]
    if kind == "mul":
        a, b = rng.randint(0, 10), rng.randint(0, 10)
        text, answer = rng.choice(MUL), f"{a} × {b} = {a * b}."
    elif kind == "add":
        a, b = rng.randint(0, 99), rng.randint(0, 99)
        if rng.random() < 0.3:
            a, b = rng.randint(0, 20), rng.randint(0, 20)
        text, answer = rng.choice(ADD), answer_add(a, b)
    else:
        a, b = rng.randint(0, 99), rng.randint(0, 99)
        if rng.random() < 0.3:
            a, b = rng.randint(0, 20), rng.randint(0, 20)
        a, b = max(a, b), min(a, b)
        text, answer = rng.choice(SUB), answer_sub(a, b)
    return expand(text, rng, {"a": str(a), "b": str(b)}), answer
