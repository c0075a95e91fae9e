"""Varied values for texts to be copied: names, codes, dates, amounts.

Nearly every value is new to the model, so that it learns to copy letter by letter.
"""

from __future__ import annotations

from random import Random

from . import words
from .tables import load

T = load("values")


def made_up(rng: Random) -> str:
    """Return a word of two to four pieces that exists nowhere."""
    while True:
        middle = "".join(rng.choice(T.FRONTS) for _ in range(rng.choice([0, 0, 1, 1, 2])))
        word = rng.choice(T.FRONTS) + middle + rng.choice(T.BACKS)
        if not words.obscene(word):
            return word


def word(rng: Random) -> str:
    """Return a made-up or a rare word in lower case."""
    roll = rng.random()
    if roll < 0.15:
        return made_up(rng)
    return rng.choice(T.RARE) if roll < 0.95 else words.invented(rng)


def first_name(rng: Random) -> str:
    """Return a first name, listed or made up."""
    if rng.random() < 0.85:
        return rng.choice(T.FIRST_NAMES + words.T.NAMES)
    return (made_up(rng) if rng.random() < 0.7 else words.invented(rng)).capitalize()


def surname(rng: Random) -> str:
    return rng.choice(T.SURNAMES) if rng.random() < 0.8 else made_up(rng).capitalize()


def person(rng: Random) -> str:
    """Return a first name, or a first name with a surname."""
    return first_name(rng) if rng.random() < 0.5 else f"{first_name(rng)} {surname(rng)}"


def titled(rng: Random) -> str:
    """Return a doctor's name: "Dr. Weber", or a full name."""
    return f"Dr. {surname(rng)}" if rng.random() < 0.6 else person(rng)


def place(rng: Random) -> str:
    """Return a town: listed or made up, sometimes of two words."""
    roll = rng.random()
    if roll < 0.75:
        return rng.choice(words.T.CITIES)
    if roll < 0.9:
        return made_up(rng).capitalize()
    return f"{rng.choice('New Port San West Old Upper'.split())} {surname(rng)}"


def firm(rng: Random) -> str:
    """Return a company name of one or two words."""
    name = (rng.choice(words.T.COMPANIES) if rng.random() < 0.5 else word(rng)).capitalize()
    if rng.random() < 0.4:
        return name
    return f"{name} {rng.choice(T.FIRM_KINDS)}"


def number(rng: Random, digits: int = 6) -> int:
    """Return a number of one to `digits` figures; all lengths are equally likely."""
    length = rng.randint(1, digits)
    return rng.randint(10 ** (length - 1), 10**length - 1)


def code(rng: Random) -> str:
    """Return a code of letters and figures: "KX-482", "b7f3"."""
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    head = "".join(rng.choice(letters) for _ in range(rng.randint(1, 3)))
    return head + rng.choice(["-", "", "-"]) + str(rng.randint(10, 9999))


def phone(rng: Random) -> str:
    short = f"555-{rng.randint(0, 9999):04d}"
    long = f"0{rng.randint(100000, 9999999)}"
    return rng.choice([short, long, f"+{rng.randint(10, 99)} {short}"])


def email_of(name: str, rng: Random) -> str:
    """Return an address made from a name, or from an unrelated word."""
    parts = name.lower().replace(".", "").split()
    roll = rng.random()
    if roll < 0.25:
        user = word(rng)
    elif roll < 0.5 or len(parts) == 1:
        user = parts[0] + (str(rng.randint(1, 99)) if rng.random() < 0.2 else "")
    elif roll < 0.8:
        user = rng.choice([".", "_", ""]).join(parts[:2])
    else:
        user = parts[0][0] + parts[1]
    return f"{user}@{rng.choice(T.DOMAINS) if rng.random() < 0.7 else word(rng) + '.example'}"


def product(rng: Random) -> str:
    """Return something to buy in the singular: "steel bucket", "lamp", "quellin"."""
    roll = rng.random()
    if roll < 0.04:
        return made_up(rng)
    noun = rng.choice(T.GOODS + words.T.THINGS)
    if roll < 0.45:
        return noun
    return f"{rng.choice(T.ADJECTIVES + words.T.COLOURS)} {noun}"


def products(rng: Random) -> str:
    one = product(rng)
    return one + ("es" if one.endswith(("s", "sh", "ch", "x")) else "s")


def date(rng: Random) -> str:
    """Return a day of the year in one of the usual ways of writing."""
    year, month, day = rng.randint(2019, 2034), rng.randint(1, 12), rng.randint(1, 28)
    name = words.T.MONTHS[month - 1]
    iso = f"{year}-{month:02d}-{day:02d}"
    return rng.choice([iso, iso, iso, f"{day} {name}", f"{name} {day}", f"{day} {name} {year}"])


def time(rng: Random) -> str:
    minutes = rng.choice(["00", "15", "30", "45", f"{rng.randint(0, 59):02d}"])
    plain = f"{rng.randint(6, 23):02d}:{minutes}"
    return rng.choice([plain, plain, plain, f"{rng.randint(1, 12)}:{minutes} pm"])


def price(rng: Random) -> int | float:
    """Return an amount of money: mostly whole, sometimes with cents."""
    if rng.random() < 0.75:
        return number(rng, 4)
    return rng.randint(1, 199) + rng.choice([0.5, 0.95, 0.99, 0.25, 0.75, 0.49])


def title(rng: Random) -> str:
    return " ".join(word(rng).capitalize() for _ in range(rng.randint(1, 3)))


def file_name(rng: Random) -> str:
    stem = word(rng) if rng.random() < 0.7 else f"{word(rng)}_{rng.randint(1, 2030)}"
    return f"{stem}.{rng.choice('txt csv pdf md docx png json log zip py'.split())}"
