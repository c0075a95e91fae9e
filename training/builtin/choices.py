"""Small choices: yes or no, larger or smaller, what kind of thing, good or bad, odd or even."""

from __future__ import annotations

import re
from random import Random

from .grammar import articles, expand, written
from .tables import load
from .values import values, words

T = load("choices")
everyday = load("choices_everyday")
more_asked = load("choices_more")
wide = load("choices_wide")
# Every kind has its well-known words first: rare ones come up too seldom to be learnt.
KINDS = {kind: found[:16] for kind, found in more_asked.KINDS.items()}

BARE = T.BARE  # without a hint of yes or no
LARGER, SMALLER = T.LARGER, T.SMALLER


def asked_shape(rng: Random) -> str:
    """Return a shape of a question answered by yes or no."""
    if rng.random() < 0.5:
        return rng.choice(everyday.YES_NO)
    return rng.choice(T.PLAIN_YES_NO if rng.random() < 0.4 else T.YES_NO)


def known_shape(rng: Random) -> str:
    """Return a shape of question about common knowledge; "yes or no" may be missing."""
    return BARE if rng.random() < 0.25 else asked_shape(rng)


def article(word: str) -> str:
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


def _options(options: list[str], rng: Random) -> str:
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
    fact, value = rng.choice(T.YES_FACTS)
    return written(asked_shape(rng), rng, {"q": expand(fact, rng)}), "Yes" if value else "No"


def everyday_review(value: bool, rng: Random) -> str:
    """Return one or two everyday sentences that praise or complain."""
    more = everyday.PRAISE if value else everyday.COMPLAINT
    parts = rng.sample(more, rng.choice([1, 1, 2]))
    said = [articles(expand(part, rng, {"t": rng.choice(everyday.GOODS)})) for part in parts]
    if rng.random() < 0.5:
        said = [part[:1].upper() + part[1:] for part in said]
    text = rng.choice([". ", ". ", "! "]).join(said) + rng.choice(["", ".", ".", "!"])
    return rng.choice(["{}", "{}", '"{}"', "'{}'"]).format(text)


def _labels(value: bool, rng: Random, text: str) -> tuple[str, str]:
    """Return a review with two labels to choose from, and the label that fits."""
    group = rng.choices(["tone", "mood", "thumb"], [5, 3, 1])[0]
    good, bad = rng.choice(everyday.PAIRS[group])
    a, b = rng.sample([good, bad], 2) if group != "thumb" else (good, bad)
    slots = {"text": text, "a": a, "b": b}
    ask = articles(written(rng.choice(everyday.SENTIMENT[group]), rng, slots))
    return re.sub(r"([.!?]['\"]?)\.", r"\1", ask), (good if value else bad).capitalize()


def reviewed(value: bool, rng: Random, share: float) -> tuple[str, dict[str, str], list[str]]:
    """Return a review, its slots, and patterns of more of it; `share` of them are plain."""
    pool = T.GOOD if value else T.BAD
    slots = {"word": rng.choice(pool), "word2": rng.choice(pool)}
    slots["thing"] = rng.choice(words.T.THINGS + T.SERVICES)
    more = T.PRAISE if value else T.COMPLAINT
    return expand(rng.choice(T.REVIEW if rng.random() < share else more), rng, slots), slots, more


def _sentiment(rng: Random) -> tuple[str, str]:
    value = rng.random() < 0.5
    if rng.random() < 0.4:
        return _labels(value, rng, everyday_review(value, rng))
    text, slots, more = reviewed(value, rng, 0.6)
    if rng.random() < 0.2:
        text += ". " + expand(rng.choice(more), rng, slots)
    if rng.random() < 0.3:
        text = everyday_review(value, rng)
    elif rng.random() < 0.4:
        text = f'"{text}"'
    text = articles(text)
    if rng.random() < 0.2:
        return _labels(value, rng, text)
    shape = rng.choice(T.PLAIN_SENTIMENT if rng.random() < 0.4 else T.SENTIMENT)
    ask = written(shape, rng, {"text": text})
    if "good or bad" in ask or "bad or good" in ask:
        return ask, "Good" if value else "Bad"
    return ask, "Positive" if value else "Negative"


def _compare(rng: Random) -> tuple[str, str]:
    a, b = rng.sample(range(100), 2)
    word = rng.choice(LARGER + SMALLER)
    best = max(a, b) if word in LARGER else min(a, b)
    text = T.COMPARES[0] if rng.random() < 0.4 else rng.choice(T.COMPARES)
    if rng.random() < 0.5:
        text = rng.choice(everyday.COMPARE)
    if word == "less":  # "the less one" is no English
        text = "[which|what] is {w}[,|:] {a} or {b}"
    slots = {"w": word, "a": str(a), "b": str(b), "o": _options([str(a), str(b)], rng)}
    return written(text, rng, slots), str(best)


def _extreme(rng: Random) -> tuple[str, str]:
    a, b, c = rng.sample(range(100), 3)
    word = rng.choice(T.LARGEST + T.SMALLEST)
    best = max(a, b, c) if word in T.LARGEST else min(a, b, c)
    slots = {"s": word, "a": str(a), "b": str(b), "c": str(c)}
    frame = rng.choice(T.EXTREME)
    if word == "least":
        frame = "[which|what] is [the |]{s}[:|,] {a}, {b} or {c}"
    return expand(frame, rng, slots), str(best)


def parity(rng: Random) -> tuple[str, str]:
    a = rng.randint(0, 99)
    text = T.PARITIES[0] if rng.random() < 0.4 else rng.choice(T.PARITIES)
    if rng.random() < 0.5:
        text = rng.choice(everyday.PARITY)
    options = _options(rng.sample(["odd", "even"], 2), rng)
    return written(text, rng, {"a": str(a), "o": options}), "Odd" if a % 2 else "Even"


def is_parity(number: int, word: str) -> str:
    """Return the answer if a number is "odd" or "even"."""
    kind = "odd" if number % 2 else "even"
    return f"{'Yes' if kind == word else 'No'}, {number} is {kind}."


def asked_parity(number: int, word: str, rng: Random) -> tuple[str, str]:
    """Ask if a number is "odd" or "even"."""
    fact = expand(rng.choice(T.IS_PARITY), rng, {"a": str(number), "w": word})
    return written(known_shape(rng), rng, {"q": fact}), is_parity(number, word)


def _is_odd(rng: Random) -> tuple[str, str]:
    return asked_parity(rng.randint(0, 99), rng.choice(["odd", "even"]), rng)


def of_kind(name: str) -> set[str]:
    """Return the words of a kind, and those that many count to it."""
    return {*KINDS[name], *wide.ALSO.get(name, ())}


def of_one_kind(name: str, other: str) -> list[str]:
    """Return words of the first kind only."""
    taken = of_kind(other)
    return [word for word in KINDS[name] if word not in taken]


def two_kinds(rng: Random) -> tuple[str, str, str]:
    """Return two kinds, and a word of the first kind only."""
    while True:
        name, other = rng.sample(sorted(KINDS), 2)
        if left := of_one_kind(name, other):  # all weekdays are days
            return name, other, rng.choice(left)


def called(kind: str, rng: Random, word: str = "") -> str:
    """Return a name of a kind that fits the word: many call a Sunday no weekday."""
    if word in ("Saturday", "Sunday"):
        return "day of the week"
    return rng.choice(more_asked.SAME.get(kind, [kind])) if rng.random() < 0.4 else kind


def shown_word(word: str, rng: Random) -> str:
    return article(word) if word.islower() and rng.random() < 0.25 else word


def _is_kind(rng: Random) -> tuple[str, str]:
    name, other, word = two_kinds(rng)
    value = rng.random() < 0.5
    kind = called(name if value else other, rng, word if value else "")
    slots = {"w": shown_word(word, rng), "f": article(kind), "k": kind}
    fact = expand(rng.choice(T.IS_KIND), rng, slots)
    said = "Yes" if value else "No"
    reason = f"{word} names {article(kind if value else name)}"
    return written(known_shape(rng), rng, {"q": fact}), f"{said}, {reason}."


def _is_larger(rng: Random) -> tuple[str, str]:
    a, b = rng.sample(range(100), 2)
    word = rng.choice(["larger", "bigger", "smaller", "greater", "less"])
    truth = a > b if word in LARGER else a < b
    slots = {"w": word, "a": str(a), "b": str(b)}
    text = written(known_shape(rng), rng, {"q": expand(T.IS_LARGER, rng, slots)})
    reason = f"{a} is {'more' if a > b else 'less'} than {b}"
    return text, f"{'Yes' if truth else 'No'}, {reason}."


def _kind(rng: Random) -> tuple[str, str]:
    name, other, word = two_kinds(rng)
    right, wrong = called(name, rng, word), called(other, rng)
    unlike = [k for k in KINDS if k not in (name, other) and word not in of_kind(k)]
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
    frames = [T.KIND] if old else more_asked.KIND
    shown = word if old else shown_word(word, rng)
    slots = {"w": shown, "f": article(first), "s": article(second)}
    if not old and rng.random() < 0.2:
        slots |= {"f": first, "s": second}
    if rng.random() < 0.15:
        frames, slots = more_asked.THREE, slots | {"u": rng.choice(unlike)}
    return expand(rng.choice(frames), rng, slots), right.capitalize()


def _pick(rng: Random) -> tuple[str, str]:
    candidates: list[str] = []
    while len(candidates) < 3:  # of some pairs of kinds nearly all words are of both
        name, other, word = two_kinds(rng)
        candidates = of_one_kind(other, name)
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


def who(rng: Random) -> tuple[str, str]:
    """Ask for the older, taller or richer of two people."""
    word = rng.choice(list(more_asked.WHO))
    wanted, statement = more_asked.WHO[word]
    a, b = rng.sample(range(2, 100), 2)
    x, y = values.first_name(rng), values.first_name(rng)
    while x == y:
        y = values.first_name(rng)
    slots = {"x": x, "y": y, "a": str(a), "b": str(b), "c": word}
    text = expand(rng.choice(more_asked.WHO_ASKS), rng, {"q": expand(statement, rng)})
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text, x if (a > b) == (wanted == "more") else y


def unit(rng: Random) -> tuple[str, str]:
    """Ask for the larger of two lengths, weights or prices."""
    word = rng.choice(list(more_asked.UNITS))
    wanted, units = more_asked.UNITS[word]
    a, b = rng.sample(range(1, 100), 2)
    unit = rng.choice(units.split())
    best = max(a, b) if wanted == "more" else min(a, b)
    slots = {"a": str(a), "b": str(b), "c": word, "u": unit}
    return expand(rng.choice(more_asked.UNIT_ASKS), rng, slots), f"{best} {unit}"


def when(rng: Random) -> tuple[str, str]:
    """Ask for the earlier of two times, years or months."""
    kind = rng.randrange(4)
    scale = [range(24), range(1800, 2040), range(12), range(7)][kind]
    first, second = sorted(rng.sample(scale, 2))
    texts = [str(first), str(second)]
    if kind == 0:
        texts = [f"{hour:02d}:{rng.randrange(60):02d}" for hour in (first, second)]
    elif kind >= 2:
        names = words.T.MONTHS if kind == 2 else words.T.DAYS
        texts = [names[first], names[second]]
    early = rng.random() < 0.5
    x, y = rng.sample(texts, 2)
    order = rng.choice(["first", "before"] if early else ["last", "later", "after"])
    slots = {"a": x, "b": y, "c": "earlier" if early else "later", "d": order}
    return expand(rng.choice(more_asked.WHEN), rng, slots), texts[0 if early else 1]


def which_thing(rng: Random) -> tuple[str, str]:
    """Ask for the larger or smaller of two things."""
    verb, unit, more, less = rng.choice(T.MEASURES)
    same = rng.random() < 0.3  # the red pen, the blue pen
    if same:
        noun = rng.choice(values.T.GOODS)
        x, y = (f"{colour} {noun}" for colour in rng.sample(words.T.COLOURS, 2))
    else:
        x, y = rng.sample([word for word in values.T.GOODS if word[0] not in "aeiou"], 2)
    a, b = rng.sample(range(2, 100), 2)
    wants_more = rng.random() < 0.5
    word = rng.choice((more if wants_more else less).split(", "))
    verb, unit = expand(verb, rng), expand(unit, rng)
    slots = {"x": x, "y": y, "a": str(a), "b": str(b), "u": unit, "v": verb, "c": word}
    told = expand(rng.choice(T.MEASURED), rng, slots)
    text = expand(rng.choice(T.MEASURED_ASKS), rng, {**slots, "s": told})
    return articles(text), x if (a > b) == wants_more else y


_GIVEN_VALUES = {
    "city": words.T.CITIES, "job": words.T.JOBS, "day": words.T.DAYS, "colour": words.T.COLOURS,
    "animal": [w for w in words.T.ANIMALS if w[0] not in "aeiou"],
    "number": [str(age) for age in range(2, 99)],
}  # fmt: skip


def given(rng: Random) -> tuple[str, str]:
    """Ask yes or no about a statement in the question."""
    kind = rng.choice(sorted(wide.GIVEN))
    stated, asked = rng.sample(_GIVEN_VALUES[kind], 2)
    value = rng.random() < 0.5
    slots = {"n": values.first_name(rng), "t": rng.choice(words.T.THINGS)}
    slots |= {"v": stated, "u": stated if value else asked}
    statement, question = (articles(expand(text, rng, slots)) for text in wide.GIVEN[kind])
    parts = {"s": statement, "q": question}
    return written(rng.choice(wide.GIVEN_FRAMES), rng, parts), "Yes" if value else "No"


MAKERS = (
    [_yes_no] * 5 + [_sentiment] * 4 + [_compare] * 3 + [parity] * 2 + [_is_larger] * 3
    + [_kind] * 5 + [_pick] * 3 + [_is_odd] * 2 + [_is_kind] * 5
    + [who, unit, given, which_thing] * 2 + [when, _extreme]
)  # fmt: skip


def sample(rng: Random) -> tuple[str, str]:
    """Return a question and its one-word answer."""
    return rng.choice(MAKERS)(rng)
