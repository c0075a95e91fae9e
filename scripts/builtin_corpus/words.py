"""Word lists that the task modules draw from: names, places, things, invented words."""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from random import Random

NAMES = (
    "Ada Alan Alice Amir Anna Aria Ben Bilal Bob Boris Carla Carmen Chen Clara Dan Daria David "
    "Dora "
    "Elena Eli Emma Erik Eva Fatima Felix Finn Frida Gina Grace Hana Hans Hugo Ida Igor Ines Iris "
    "Ivan Jack Jana Jin John Jonas Julia Kai Karl Kenji Lara Laura Leo Lina Linus Lucy Maja Maria "
    "Mark Marta Max Mei Mia Milan Mona Nadia Nina Noah Nora Olaf Olga Omar Oscar Pablo Paul Petra "
    "Priya Quinn Ravi Rita Robin Rosa Ruth Sam Sara Sofia Sven Tara Theo Tom Uma Vera Victor Wanda "
    "Xenia Yara Yusuf Zara Zoe"
).split()
CITIES = (
    "Amsterdam Athens Berlin Bern Bogota Boston Cairo Chicago Dakar Delhi Dublin Geneva Hamburg "
    "Hanoi Helsinki Istanbul Jakarta Kyiv Kyoto Lagos Lima Lisbon London Lyon Madrid Manila Milan "
    "Montreal Mumbai Munich Nairobi Naples Osaka Oslo Paris Porto Prague Quito Riga Rome Santiago "
    "Seoul Sofia Sydney Tokyo Toronto Tunis Turin Vienna Warsaw Zagreb Zurich"
).split()
THINGS = (
    "lamp chair table phone laptop bicycle kettle guitar camera jacket backpack watch pen notebook "
    "mug clock mirror carpet printer keyboard monitor tent umbrella scarf hammer drill ladder "
    "piano desk sofa blanket pillow bottle knife toaster heater radio drone helmet wallet ring vase"
).split()
COLOURS = "red blue green yellow black white grey brown orange purple pink silver".split()
ANIMALS = (
    "dog cat horse cow sheep lion tiger wolf fox bear rabbit mouse eagle duck owl shark"
).split()
FRUITS = "apple banana cherry grape lemon mango melon orange peach pear plum strawberry".split()
JOBS = (
    "teacher nurse baker doctor pilot lawyer farmer plumber painter writer cook driver engineer "
    "gardener musician judge tailor carpenter librarian designer"
).split()
COMPANIES = (
    "Acme Globex Initech Umbra Vertex Nimbus Orbit Zenith Solaris Polaris Lumen Quanta Aurora "
    "Cobalt Delta Ember Fjord Granite Harbor Indigo Juniper Kestrel Meridian"
).split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
LANGUAGES = "French German Spanish Italian Polish Greek Dutch Swedish Turkish Hindi".split()
_STARTS = "b br c ch d dr f g gr h j k kl l m n p pr r s sh st t tr v w z".split()
_VOWELS = "a e i o u ai ea ou".split()
_ENDS = ["", "", "n", "r", "l", "s", "m", "x", "t", "nd", "ck"]


def invented(rng: Random) -> str:
    """A made-up word, so that copying is learnt and not a list of names."""
    return "".join(
        rng.choice(_STARTS) + rng.choice(_VOWELS) for _ in range(rng.randint(1, 3))
    ) + rng.choice(_ENDS)


def person(rng: Random) -> str:
    """A first name, sometimes with a surname, sometimes invented."""
    first = rng.choice(NAMES) if rng.random() < 0.6 else invented(rng).capitalize()
    return first if rng.random() < 0.7 else f"{first} {invented(rng).capitalize()}"


def city(rng: Random) -> str:
    """A town, sometimes invented."""
    return rng.choice(CITIES) if rng.random() < 0.65 else invented(rng).capitalize()


def company(rng: Random) -> str:
    """A company name, sometimes invented."""
    return rng.choice(COMPANIES) if rng.random() < 0.6 else invented(rng).capitalize()


def thing(rng: Random) -> str:
    """Something to buy: a thing, a coloured thing or an invented word."""
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(THINGS)
    if roll < 0.75:
        return f"{rng.choice(COLOURS)} {rng.choice(THINGS)}"
    return invented(rng)


def email(rng: Random) -> str:
    """An address at an example domain."""
    user = rng.choice(NAMES).lower() if rng.random() < 0.6 else invented(rng)
    return f"{user}@{rng.choice(['example.com', 'example.org', 'mail.example', 'test.example'])}"
