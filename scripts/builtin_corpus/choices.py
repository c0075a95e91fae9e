"""Small choices: yes or no, larger or smaller, what kind of thing, good or bad, odd or even."""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import re
from random import Random

from . import asked_choices, words
from . import asked_choices_everyday as everyday
from . import asked_choices_more as more_asked
from . import asked_choices_wide as wide
from . import choices_told as told
from .grammar import articles, expand, written

GOOD = (
    "great good excellent wonderful lovely fantastic superb perfect brilliant amazing "
    "delicious charming helpful friendly fast reliable beautiful comfortable enjoyable "
    "impressive"
).split()
BAD = (
    "bad awful terrible horrible poor broken slow rude dirty boring useless disappointing ugly "
    "noisy cold late dreadful annoying painful unreliable"
).split()
SERVICES = "food hotel film book trip room service meal".split()
LARGER = "larger bigger greater higher".split()
SMALLER = "smaller less lower".split()
LARGEST = "largest biggest greatest highest".split()
SMALLEST = "smallest lowest least".split()
REVIEW = [
    "the {thing} [is|was|looks|feels] [really |very |so |quite |simply |] {word}", "[what|such] a "
    "{word} {thing}", "[i|we] [found|thought] the {thing} {word}", "{word} {thing}, [{word2} "
    "too|{word2} "
    "staff|and {word2}|truly {word2}]", "the {thing} was {word} and the service was "
    "{word2}", "[my|our] "
    "stay was {word}[, the staff {word2}|]", "[honestly|all in all], [the {thing}|it] was {word}",
]  # fmt: skip
SENTIMENT = [
    "[is|was] [this|the] [review|comment|text|sentence|message] [positive or negative|good or bad|"
    "positive or negative in tone]: {text}", "[classify|label|rate|judge] [this|the] "
    "[review|comment|text|"
    "sentence] as positive or negative: {text}", "[positive or negative|sentiment, positive or "
    "negative]"
    "[?|:] {text}", "{text}. [is that|was this|is this] positive or negative",
]  # fmt: skip
YES_FACTS = [
    ("is [yaie|it] open source", True), ("does yaie [need|require] a gpu", False),
    ("can yaie run on a cpu", True), ("is the default port 8000", True),
    ("is the default port 9000", False), ("is the default port 80", False),
    ("is the licence apache-2.0", True), ("is the licence gpl", False),
    ("does [it|yaie] load pickle files", False), ("does yaie load safetensors", True),
    ("is the page size one token", True), ("is the page size 16 tokens", False),
    ("is prefix-aware the default policy", True), ("is lpm the default policy", False),
    ("is trust_remote_code on", False), ("does /health run the model", False),
    ("does the server load torch", False), ("does yaie support streaming", True),
    ("does yaie send telemetry", False), ("is cached_tokens always reported", True),
    ("is python 3.9 enough", False), ("is python 3.12 enough", True),
    ("are namespaces shared", False), ("do samples share one prefill", True),
    ("does yaie support tool calls", True), ("is lru an eviction policy", True),
    ("is fifo an eviction policy", False), ("are long prompts truncated", False),
]  # fmt: skip
YES_NO = [
    "{q}? [answer|reply|say|respond] [with |] yes or no[ only|]", "yes or no[:|,] {q}", "{q}, yes "
    "or no",
    "[answer|reply] [with |] yes or no: {q}", "{q}? [yes or no|just yes or no|only yes or no]",
]  # fmt: skip
COMPARE = (
    "[which is {w}[,|:|] {a} or {b}|what is {w}[,|:|] {a} or {b}|which number is {w}[,|:] {a} or "
    "{b}|{a} "
    "or {b}[,|:] which is {w}|of {a} and {b}, which is {w}|tell me the {w} one[,|:] {a} or {b}]"
)
PARITY = (
    "[is {a} [odd or even|even or odd]|[odd or even|even or odd][:|?] {a}|is the number {a} [odd "
    "or "
    "even|even or odd]|{a}[,|:] [odd or even|even or odd]]"
)
KIND = (
    "[is {w} {f} or {s}|{w}[:|,] {f} or {s}|what is {w}[,|:] {f} or {s}|[choose|pick|decide][:|,] "
    "is {w} "
    "{f} or {s}|which is it, {f} or {s}: {w}]"
)
# The words of each kind that everyone knows, which come first: what a rare one is, is not learnt
# from the few times that it would come up.
KINDS = {kind: found[:16] for kind, found in more_asked.KINDS.items()}

GOOD += wide.GOOD
BAD += wide.BAD
PRAISE = asked_choices.PRAISE + wide.PRAISE
COMPLAINT = asked_choices.COMPLAINT + wide.COMPLAINT
# A shape is learnt in its plain forms first, so these come up more often than their number says.
PLAIN_YES_NO, PLAIN_SENTIMENT = list(YES_NO), list(SENTIMENT)
SENTIMENT += asked_choices.SENTIMENT + wide.SENTIMENT
YES_NO += asked_choices.YES_NO + more_asked.YES_NO + wide.YES_NO
YES_FACTS += more_asked.YES_FACTS + wide.YES_FACTS
COMPARES = [COMPARE, *asked_choices.COMPARE, *more_asked.COMPARE, *wide.COMPARE]
PARITIES = [PARITY, *asked_choices.PARITY, *wide.PARITY]
IS_PARITY = ["is {a} [an {w} number|{w}]", "is the number {a} {w}", "does {a} count as {w}"]
IS_LARGER = "is [the number |]{a} {w} than {b}"
IS_KIND = ["[is|would you call] {w} {f}", *more_asked.IS_KIND]
BARE = "[|so, |well, |tell me, |quick one: |i wonder, ]{q}?"  # nothing says that it is yes or no


def asked_shape(rng: Random) -> str:
    """A shape of a question with yes or no for an answer."""
    if rng.random() < 0.5:
        return rng.choice(everyday.YES_NO)
    return rng.choice(PLAIN_YES_NO if rng.random() < 0.4 else YES_NO)


def known_shape(rng: Random) -> str:
    """A shape of a question about what everyone knows, which needs no word of yes or no."""
    return BARE if rng.random() < 0.25 else asked_shape(rng)


def article(word: str) -> str:
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def _options(options: list[str], rng: Random) -> str:
    """The options in one of the usual layouts."""
    quote = rng.choice(["", "", "", '"', "'", "`"])
    shown = [f"{quote}{option}{quote}" for option in options]
    last = ", ".join(shown[:-1]) + rng.choice([" or ", " or ", ", or ", " and "]) + shown[-1]
    mark = rng.choice(["- ", "* ", ""])
    styles = [
        ", ".join(shown),
        rng.choice([" / ", "/", " | ", "; ", " - "]).join(shown),
        " or ".join(shown),
        "\n" + "\n".join(mark + option for option in shown) + "\n",
        " ".join(f"{letter}) {option}" for letter, option in zip("abcd", shown, strict=False)),
        rng.choice(["[{}]", "({})", "{{{}}}"]).format(", ".join(shown)),
        "either " + " or ".join(shown),
    ]
    return rng.choice([*styles, last, last, last])


def _yes_no(rng: Random) -> tuple[str, str]:
    fact, value = rng.choice(YES_FACTS)
    return written(asked_shape(rng), rng, {"q": expand(fact, rng)}), "Yes" if value else "No"


def everyday_review(value: bool, rng: Random) -> str:
    """One or two everyday sentences that praise or complain."""
    more = everyday.PRAISE if value else everyday.COMPLAINT
    parts = rng.sample(more, rng.choice([1, 1, 2]))
    said = [articles(expand(part, rng, {"t": rng.choice(everyday.GOODS)})) for part in parts]
    if rng.random() < 0.5:
        said = [part[:1].upper() + part[1:] for part in said]
    text = rng.choice([". ", ". ", "! "]).join(said) + rng.choice(["", ".", ".", "!"])
    return rng.choice(["{}", "{}", '"{}"', "'{}'"]).format(text)


def _labels(value: bool, rng: Random, text: str) -> tuple[str, str]:
    """A review with two labels to choose from; the answer is the label that fits."""
    group = rng.choices(["tone", "mood", "thumb"], [5, 3, 1])[0]
    good, bad = rng.choice(everyday.PAIRS[group])
    a, b = rng.sample([good, bad], 2) if group != "thumb" else (good, bad)
    slots = {"text": text, "a": a, "b": b}
    ask = articles(written(rng.choice(everyday.SENTIMENT[group]), rng, slots))
    return re.sub(r"([.!?]['\"]?)\.", r"\1", ask), (good if value else bad).capitalize()


def _sentiment(rng: Random) -> tuple[str, str]:
    value = rng.random() < 0.5
    if rng.random() < 0.4:
        return _labels(value, rng, everyday_review(value, rng))
    pool = GOOD if value else BAD
    slots = {
        "word": rng.choice(pool),
        "word2": rng.choice(pool),
        "thing": rng.choice(words.THINGS + SERVICES),
    }
    more = PRAISE if value else COMPLAINT
    text = expand(rng.choice(REVIEW if rng.random() < 0.6 else more), rng, slots)
    if rng.random() < 0.2:
        text += ". " + expand(rng.choice(more), rng, slots)
    if rng.random() < 0.3:
        text = everyday_review(value, rng)
    elif rng.random() < 0.4:
        text = f'"{text}"'
    text = articles(text)
    if rng.random() < 0.2:
        return _labels(value, rng, text)
    shape = rng.choice(PLAIN_SENTIMENT if rng.random() < 0.4 else SENTIMENT)
    ask = written(shape, rng, {"text": text})
    if "good or bad" in ask or "bad or good" in ask:
        return ask, "Good" if value else "Bad"
    return ask, "Positive" if value else "Negative"


def _compare(rng: Random) -> tuple[str, str]:
    a, b = rng.sample(range(100), 2)
    word = rng.choice(LARGER + SMALLER)
    best = max(a, b) if word in LARGER else min(a, b)
    text = COMPARE if rng.random() < 0.4 else rng.choice(COMPARES)
    if rng.random() < 0.5:
        text = rng.choice(everyday.COMPARE)
    if word == "less":  # "the less one" is no English
        text = "[which|what] is {w}[,|:] {a} or {b}"
    slots = {"w": word, "a": str(a), "b": str(b), "o": _options([str(a), str(b)], rng)}
    return written(text, rng, slots), str(best)


def _extreme(rng: Random) -> tuple[str, str]:
    a, b, c = rng.sample(range(100), 3)
    word = rng.choice(LARGEST + SMALLEST)
    best = max(a, b, c) if word in LARGEST else min(a, b, c)
    slots = {"s": word, "a": str(a), "b": str(b), "c": str(c)}
    frame = rng.choice(asked_choices.EXTREME)
    if word == "least":
        frame = "[which|what] is [the |]{s}[:|,] {a}, {b} or {c}"
    return expand(frame, rng, slots), str(best)


def parity(rng: Random) -> tuple[str, str]:
    a = rng.randint(0, 99)
    text = PARITY if rng.random() < 0.4 else rng.choice(PARITIES)
    if rng.random() < 0.5:
        text = rng.choice(everyday.PARITY)
    options = _options(rng.sample(["odd", "even"], 2), rng)
    return written(text, rng, {"a": str(a), "o": options}), "Odd" if a % 2 else "Even"


def _is_odd(rng: Random) -> tuple[str, str]:
    a, word = rng.randint(0, 99), rng.choice(["odd", "even"])
    fact = expand(rng.choice(IS_PARITY), rng, {"a": str(a), "w": word})
    text = written(known_shape(rng), rng, {"q": fact})
    said = "Yes" if (a % 2 == 1) == (word == "odd") else "No"
    return text, f"{said}, {a} is {'odd' if a % 2 else 'even'}."


def two_kinds(rng: Random) -> tuple[str, str, str]:
    """Two kinds and a word that is of the first kind only."""
    while True:
        name, other = rng.sample(sorted(KINDS), 2)
        taken = {*KINDS[other], *wide.ALSO.get(other, ())}
        left = [w for w in KINDS[name] if w not in taken]
        if left:  # all weekdays are days
            return name, other, rng.choice(left)


def called(kind: str, rng: Random, word: str = "") -> str:
    """A kind under one of its names that fits the word: a Sunday is no weekday to many."""
    if word in ("Saturday", "Sunday"):
        return "day of the week"
    return rng.choice(more_asked.SAME.get(kind, [kind])) if rng.random() < 0.4 else kind


def shown_word(word: str, rng: Random) -> str:
    """A word of a kind, sometimes with its article."""
    return article(word) if word.islower() and rng.random() < 0.25 else word


def _is_kind(rng: Random) -> tuple[str, str]:
    name, other, word = two_kinds(rng)
    value = rng.random() < 0.5
    kind = called(name if value else other, rng, word if value else "")
    slots = {"w": shown_word(word, rng), "f": article(kind), "k": kind}
    fact = expand(rng.choice(IS_KIND), rng, slots)
    said = "Yes" if value else "No"
    reason = f"{word} names {article(kind if value else name)}"
    return written(known_shape(rng), rng, {"q": fact}), f"{said}, {reason}."


def _is_larger(rng: Random) -> tuple[str, str]:
    a, b = rng.sample(range(100), 2)
    word = rng.choice(["larger", "bigger", "smaller", "greater", "less"])
    truth = a > b if word in LARGER else a < b
    slots = {"w": word, "a": str(a), "b": str(b)}
    text = written(known_shape(rng), rng, {"q": expand(IS_LARGER, rng, slots)})
    reason = f"{a} is {'more' if a > b else 'less'} than {b}"
    return text, f"{'Yes' if truth else 'No'}, {reason}."


def _kind(rng: Random) -> tuple[str, str]:
    name, other, word = two_kinds(rng)
    right, wrong = called(name, rng, word), called(other, rng)
    unlike = [
        kind
        for kind in KINDS
        if kind not in (name, other) and word not in {*KINDS[kind], *wide.ALSO.get(kind, ())}
    ]
    if rng.random() < 0.4:
        options = [right, wrong, *rng.sample(unlike, rng.choice([0, 0, 1, 2]))]
        rng.shuffle(options)
        given = [article(o) for o in options] if rng.random() < 0.2 else options
        many = {"w": shown_word(word, rng), "o": _options(given, rng)}
        return written(rng.choice(wide.KIND), rng, many), right.capitalize()
    first, second = rng.sample([right, wrong], 2)
    if rng.random() < 0.65:  # of the 60 % that get here: 39 % of all
        new = {"w": shown_word(word, rng), "f": article(first), "s": article(second)}
        if rng.random() < 0.15:
            new |= {"f": first, "s": second}
        return written(rng.choice(everyday.KIND), rng, new), right.capitalize()
    old = rng.random() < 0.4
    frames = [KIND] if old else more_asked.KIND
    shown = word if old else shown_word(word, rng)
    slots = {"w": shown, "f": article(first), "s": article(second)}
    if not old and rng.random() < 0.2:
        slots |= {"f": first, "s": second}
    if rng.random() < 0.15:
        frames, slots = more_asked.THREE, slots | {"u": rng.choice(unlike)}
    return expand(rng.choice(frames), rng, slots), right.capitalize()


def _pick(rng: Random) -> tuple[str, str]:
    """Which of two or three words is of a kind."""
    candidates: list[str] = []
    while len(candidates) < 3:  # of some pairs of kinds nearly all words are of both
        name, other, word = two_kinds(rng)
        also = {*KINDS[name], *wide.ALSO.get(name, ())}
        candidates = [w for w in KINDS[other] if w not in also]
    if rng.random() < 0.3:  # common objects, of no kind that is asked for
        known = {*more_asked.KINDS[name], *everyday.NOT_BESIDE.get(name, ())}
        candidates = [w for w in everyday.THINGS if w not in known]
    others = rng.sample(candidates, 3)
    kind = called(name, rng, word)
    if rng.random() < 0.5:
        x, y = rng.sample([word, others[0]], 2)
        slots = {"x": x, "y": y, "f": article(kind), "k": kind}
        counted = name in everyday.COUNTED and {*others} <= {*everyday.THINGS} - {"soap"}
        if counted and rng.random() < 0.4:
            slots |= {"x": article(x), "y": article(y)}
        return written(rng.choice(everyday.PICK), rng, slots), word
    if rng.random() < 0.4:
        options = [word, *others[: rng.choice([1, 1, 2, 3])]]
        rng.shuffle(options)
        many = {"o": _options(options, rng), "f": article(kind), "k": kind}
        return written(rng.choice(wide.PICK), rng, many), word
    if rng.random() < 0.25:
        x, y, z = rng.sample([word, *others[:2]], 3)
        slots = {"x": x, "y": y, "z": z, "f": article(kind), "k": kind}
        return expand(rng.choice(more_asked.PICK_THREE), rng, slots), word
    x, y = rng.sample([word, others[0]], 2)
    slots = {"x": x, "y": y, "f": article(kind), "k": kind}
    return expand(rng.choice(more_asked.PICK), rng, slots), word


MAKERS = (
    [_yes_no] * 5 + [_sentiment] * 4 + [_compare] * 3 + [parity] * 2 + [_is_larger] * 3
    + [_kind] * 5 + [_pick] * 3 + [_is_odd] * 2 + [_is_kind] * 5
    + [told.who, told.unit, told.given, told.which_thing] * 2 + [told.when, _extreme]
)  # fmt: skip


def sample(rng: Random) -> tuple[str, str]:
    """A question and its one-word answer."""
    return rng.choice(MAKERS)(rng)
