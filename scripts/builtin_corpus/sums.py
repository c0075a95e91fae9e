"""Sums, differences and small products, with the carries written out so that a small model can."""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from random import Random

from . import asked_sums, asked_sums_more, words
from .grammar import expand

PEOPLE = ["i", "he", "she", "my friend", "a man", "the teacher", "my sister", "our team"]

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
GAINS = [
    "{p} [has|had|owns|owned|keeps|counted|collected|bought] {a} {t}[ and|. then {p}|. later {p}|"
    ", then] [gets|got|buys|bought|finds|found|receives|received|wins|earns|is given|adds] {b} "
    "[more|more of them|others|new ones][. how many {t} [does {p} have|are there|is that|has {p} "
    "got]|. how many [in all|altogether|in total|now]|, how many is that|. what is the total]",
    "[a|the|our] [box|bag|room|shop|garden|school|farm|boat|basket] [has|had|holds|contains] {a} "
    "{t}[. |, | and ]{b} more [come|came|arrive|arrived|are added|were added|are put in|join][. "
    "how many {t} are there[ now| in total|]|. how many now|. how many are in it| - how many are "
    "there]",
    "there [are|were] {a} {t} [in the {r}|on the table|outside|here][. |, | and ]{b} [more |"
    "other |new |][{t} |][come|came|arrive|arrived|are added|appear][. how many [are there|{t} "
    "are there|now|is that]]",
    "{p} [ate|sold|read|made|baked|picked|saw|found] {a} {t} on {d} and {b} on {d2}[. how many "
    "[in all|in total|altogether|is that|{t} is that]|, what is the total]",
    "[if |when |]you [have|take|start with|put down] {a} and [add|get|put in|count] {b}[ more|"
    "][, what do you [get|have]|, how many is it|, what is the [sum|total|result]| what comes "
    "out]",
    "[what|how much] [comes out|results|do i get|is it|will it be] [when|if] [i|you|we] [add|sum|"
    "put] {a} [and|to|with] {b}[ together|]",
    "[work out|give|say|show|figure out|determine|count up] {a} [+|plus|and] "
    "{b}[ for me| please| now|]",
    "{a} [+|plus] {b}[, what is it|, how much|? result| comes to what| please|: result]",
]
LOSSES = [
    "{p} [has|had|owns|owned|keeps|collected|bought] {a} {t}[ and|. then {p}|. later {p}|, then|"
    ", but] [loses|lost|sells|sold|eats|ate|gives away|gave away|breaks|broke|drops|used|uses|"
    "spends] {b}[ of them|][. how many {t} [does {p} have|are left|has {p} got]|. how many [are "
    "left|remain|are still there|stay]|, how many are left|. what is left]",
    "[a|the|our] [box|bag|room|garden|school|farm|boat|basket] [has|had|holds|contains] {a} "
    "{t}[. |, | and ]{b} [leave|left|are gone|are taken|were taken|are sold|disappear|fall out|"
    "break][. how many {t} are [there now|left|still there]|. how many [are left|remain|stay]| - "
    "how many remain]",
    "there [are|were] {a} {t} [in the {r}|on the table|outside|here][. |, | and ]{b} [of them |"
    "][leave|left|are gone|are taken away|were eaten|were sold|go home][. how many [are left|"
    "remain|stay|are still here]]",
    "[if |when |]you [have|take|start with|start from] {a} and [take away|remove|lose|subtract] "
    "{b}[, what do you [get|have]|, how many [is it|are left]|, what is the result| what remains]",
    "[what|how much] [remains|is left|results|do i get|will it be] [when|if] [i|you|we] [take|"
    "subtract|remove|deduct] {b} from {a}",
    "[work out|give|say|show|figure out|determine] {a} [-|minus|less] {b}[ for me| please| now|]",
    "{a} [-|minus] {b}[, what is it|, how much|? result| comes to what| please|: result]",
    "[take|remove|subtract|deduct] {b} from {a}[, what [is left|remains|do you get]| and tell me "
    "the result|. result|]",
    "from {a} [subtract|remove|deduct|you lose] {b}[, how much|. how many are left|]",
]
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


ADD += asked_sums.ADD + asked_sums_more.ADD
GAINS += asked_sums.GAINS + asked_sums_more.GAINS
SUB += asked_sums.SUB + asked_sums_more.SUB
LOSSES += asked_sums.LOSSES + asked_sums_more.LOSSES
MUL += asked_sums.MUL + asked_sums_more.MUL
SPELLED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()


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


def _figures(rng: Random) -> tuple[int, int]:
    """Two figures: of two digits in most sums, up to twenty or single in the others."""
    top = rng.choices([99, 20, 9], [55, 25, 20])[0]
    return rng.randint(0, top), rng.randint(0, top)


def _spell(number: int, spelled: bool) -> str:
    return SPELLED[number] if spelled else str(number)


def sample(rng: Random) -> tuple[str, str]:
    """A question and its answer."""
    kind = rng.choices(["add", "sub", "mul"], [5, 5, 4])[0]
    if kind == "mul":
        a, b = rng.randint(0, 12), rng.randint(0, 12)
        text, answer = rng.choice(MUL), f"{a} × {b} = {a * b}."
    elif kind == "add":
        a, b = _figures(rng)
        text, answer = rng.choice(ADD + GAINS), answer_add(a, b)
    else:
        a, b = _figures(rng)
        a, b = max(a, b), min(a, b)
        text, answer = rng.choice(SUB + LOSSES), answer_sub(a, b)
    spelled = max(a, b) < len(SPELLED) and rng.random() < 0.2
    slots = {
        "a": _spell(a, spelled),
        "b": _spell(b, spelled),
        "p": rng.choice(PEOPLE) if rng.random() < 0.5 else words.person(rng),
        "n": words.person(rng),
        "n2": words.person(rng),
        "t": rng.choice(words.THINGS + words.FRUITS + words.ANIMALS + words.WORLD) + "s",
        "r": rng.choice(words.WORLD),
        "d": rng.choice(words.DAYS),
        "d2": rng.choice(words.DAYS),
    }
    return expand(text, rng, slots), answer
