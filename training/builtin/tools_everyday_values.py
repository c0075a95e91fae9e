"""Values of the everyday tools: paths, addresses, codes, phrases, dates as people write them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import values, words
from .extraction_texts import ranges
from .grammar import expand, to_regex
from .tables import load

T = load("tools_everyday_values")

_TOWNS = [*words.T.CITIES, *T.TOWNS]
_RESTAURANTS = "Luigi's|The Olive|Bella Roma|Golden Dragon|Chez Paul|Sakura|The Oak|Casa Maria"
_BOOKS = "The {A} {S}|The {S} Keeper|A {A} {S}|{S} and {S2}|The Last {S}|Letters from {c}|{A} {S}s"
_DEVICES = "fan|heater|radio|television|lamp|coffee machine|dishwasher|speaker|oven|air conditioner"


def _n(r: Random) -> str:
    return r.choice(values.T.FIRST_NAMES + words.T.NAMES)


def _write(pattern: str) -> Callable[[Random], str]:
    def draw(r: Random) -> str:
        slots = {
            "n": _n(r), "w": r.choice(values.T.RARE), "k": str(r.randint(1, 20)),
            "a": r.choice(T._KIND), "c": r.choice(_TOWNS), "A": r.choice(T._SONG_A),
            "S": r.choice(T._SONG_S), "S2": r.choice(T._SONG_S), "y": str(r.randint(2015, 2026)),
        }  # fmt: skip
        return expand(pattern, r, slots)

    return draw


def _choice(items: list[str]) -> Callable[[Random], str]:
    return lambda r: r.choice(items)


def _full_name(r: Random) -> str:
    return f"{_n(r)} {values.surname(r)}"


def _email(r: Random) -> str:
    if r.random() < 0.3:
        return values.email_of(_full_name(r), r)
    user = r.choice([_n(r), f"{_n(r)}.{r.choice(values.T.SURNAMES)}", "info", "sales", "support",
                     "hello", "billing", r.choice(values.T.RARE)]).lower()  # fmt: skip
    return f"{user}@{r.choice(T._HOSTS)}"


def _folder(r: Random) -> str:
    slots = {"n": _n(r).lower(), "w": r.choice(values.T.RARE), "y": str(r.randint(2018, 2026))}
    return expand(r.choice(T._FOLDERS), r, slots)


def _file(r: Random) -> str:
    stem = r.choice(T._STEMS) if r.random() < 0.6 else r.choice(values.T.RARE)
    roll = r.random()
    if roll < 0.15:
        stem += r.choice("_-") + str(r.randint(1, 2026))
    elif roll < 0.3:
        stem += r.choice("_-") + r.choice(T._STEMS)
    return f"{stem}.{r.choice(T._EXT)}"


def _path(r: Random) -> str:
    return _file(r) if r.random() < 0.25 else f"{_folder(r)}/{_file(r)}"


def _image(r: Random) -> str:
    stem = r.choice(
        [
            "photo",
            "logo",
            "banner",
            "cat",
            "holiday",
            "avatar",
            "cover",
            "scan",
            "sunset",
            "team",
            "icon",
        ]
    )
    if r.random() < 0.4:
        stem += f"{r.choice(['_', '-', ''])}{r.randint(1, 99)}"
    name = f"{stem}.{r.choice(['png', 'jpg', 'jpeg', 'gif', 'webp'])}"
    return name if r.random() < 0.5 else f"{r.choice(['images', '/tmp', 'img', 'assets'])}/{name}"


def _url(r: Random) -> str:
    host = r.choice(T._HOSTS) if r.random() < 0.5 else r.choice(values.T.RARE) + ".example"
    host = f"https://{r.choice(['', '', 'www.', 'api.', 'docs.'])}{host}"
    more = r.choice(values.T.RARE) + r.choice(["", f"/{r.randint(1, 900)}", ".html"])
    return host + r.choice(["", "/" + r.choice(T._STEMS), "/" + more])


def _time(r: Random) -> str:
    hour, minutes = r.randint(1, 12), r.choice(["00", "15", "30", "45"])
    return r.choice([f"{r.randint(6, 23):02d}:{minutes}", f"{hour}:{minutes}",
                     f"{hour} {r.choice(['am', 'pm'])}", f"{hour}:{minutes} {r.choice(['am', 'pm'])}",  # noqa: E501
                     "noon"] if r.random() < 0.9 else ["midnight"])  # fmt: skip


def _date(r: Random) -> str:
    day, month = r.randint(1, 28), r.choice(words.T.MONTHS)
    iso = f"{r.randint(2024, 2028)}-{r.randint(1, 12):02d}-{day:02d}"
    return r.choice([iso, iso, f"{month} {day}", f"{day} {month}", r.choice(words.T.DAYS),
                     r.choice(words.T.DAYS), "tomorrow", "next " + r.choice(words.T.DAYS),
                     f"the {day}th of {month}" if day > 20 and day < 28 and day not in (21, 22, 23)
                     else "tomorrow"])  # fmt: skip


def _id(r: Random) -> int:
    digits = r.choice([2, 3, 4, 4, 4, 5, 5, 6])
    return r.randint(10 ** (digits - 1), 10**digits - 1)


def _code(r: Random) -> str:
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    head = "".join(r.choice(letters) for _ in range(r.randint(1, 3)))
    return r.choice([f"{head}-{r.randint(10, 9999)}", f"{head}{r.randint(100, 99999)}",
                     f"{head}-{r.randint(2020, 2026)}-{r.randint(1, 99):02d}"])  # fmt: skip


def _price(r: Random) -> float | int:
    return r.randint(1, 900) if r.random() < 0.5 else r.randint(100, 99999) / 100


def _listed(r: Random) -> str:
    return r.choice([_full_name(r), values.product(r), r.choice(_TOWNS)])


_WRITTEN = {
    "phrase": T._PHRASES, "note": T._NOTES, "say": T._SAY, "subject": T._SUBJECT, "event": T._EVENT,
    "ware": T._WARES, "query": T._QUERY, "song": T._SONGS, "book": f"[{_BOOKS}]",
    "trouble": T._TROUBLE, "sql": T._SQL, "folder": "[" + "|".join(T._FOLDERS) + "]",
}  # fmt: skip
_LISTED = {
    "genre": T._GENRE, "service": T._SERVICE, "app": T._APP, "database": T._DATABASE,
    "room": T._ROOMS, "device": _DEVICES.split("|"),
    "restaurant": _RESTAURANTS.split("|"), "dish": T._DISHES,
    "currency": [m.replace("_", " ") for m in T._MONEY] + T._CODES, "curcode": T._CODES,
    "colour": words.T.COLOURS, "day": words.T.DAYS, "word": T._RARE_WORDS + values.T.RARE,
    "topic": T.TOPICS,
    "language": [*words.T.LANGUAGES, "Portuguese", "Japanese", "Korean", "Arabic", "Russian",
                 "Danish", "Finnish", "Czech", "English"],
}  # fmt: skip
DRAW: dict[str, Callable[[Random], str | int | float]] = {
    **{name: _write(pattern) for name, pattern in _WRITTEN.items()},
    **{name: _choice(items) for name, items in _LISTED.items()},
    **ranges(T.RANGES),
    "city": lambda r: r.choice(_TOWNS) if r.random() < 0.93 else values.place(r),
    "name": lambda r: _n(r) if r.random() < 0.5 else _full_name(r),
    "full": _full_name,
    "firm": values.firm,
    "email": _email,
    "phone": values.phone,
    "path": _path,
    "file": _file,
    "folder": _folder,
    "image": _image,
    "url": _url,
    "host": lambda r: r.choice(
        [f"{r.choice(['web', 'db', 'app', 'mail'])}-{r.randint(1, 20)}", r.choice(T._HOSTS),
         f"10.0.{r.randint(0, 9)}.{r.randint(1, 250)}"]),
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "time": _time,
    "date": _date,
    "id": _id,
    "code": _code,
    "flight": lambda r: f"{r.choice('LH BA AF UA KL SK EK'.split())}{r.randint(10, 9999)}",
    "symbol": lambda r: r.choice(T._SYMBOLS) if r.random() < 0.6
    else "".join(r.choice("ABCDEFGHKLMNPRSTUVXZ") for _ in range(r.randint(3, 4))),
    "currency": lambda r: r.choice(T._CODES) if r.random() < 0.65
    else r.choice(T._MONEY).replace("_", " "),
    "amount": lambda r: r.randint(1, 99) * r.choice([1, 1, 5, 10, 100]),
    "price": _price,
    "minutes": lambda r: r.choice([r.randint(1, 90), r.randint(1, 12) * 5]),
    "percent": lambda r: r.choice([r.randint(0, 100), r.randint(1, 10) * 10]),
    "pixels": lambda r: r.choice([64, 128, 256, 320, 480, 512, 640, 800, 1024, r.randint(50, 2000)]),  # noqa: E501
    "book": lambda r: _write(r.choice(_BOOKS.split("|")))(r),
    "language": lambda r: r.choice([*words.T.LANGUAGES, "Portuguese", "Japanese", "Korean",
                                    "Arabic", "Russian", "Danish", "Finnish", "Czech", "English"]),
    "version": lambda r: f"{r.choice(['', 'v'])}{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}",  # noqa: E501
    "branch": lambda r: r.choice(["main", "develop", f"feature/{r.choice(values.T.RARE)}",
                                  f"fix/{r.choice(values.T.RARE)}", "release"]),
    "word": lambda r: r.choice(T._RARE_WORDS + values.T.RARE),
    "state": _choice(T._STATES),
    "sky": _choice("sunny cloudy rainy windy foggy snowy clear stormy".split()),
    "rate": lambda r: r.randint(1, 4000) / 1000,
    "listed": _listed,
    "gate": lambda r: f"{r.choice('ABCDEF')}{r.randint(1, 60)}",
    "translated": lambda r: " ".join(values.made_up(r) for _ in range(r.randint(1, 3))),
    "department": _choice("sales support finance design research legal marketing".split()),
}  # fmt: skip
INTEGERS = {"id", "few", "minutes", "percent", "degrees", "pixels", "amount", "number"}
NUMBERS = {"price", "rate"}
QUOTED = {"phrase", "note", "say", "subject", "song", "book", "trouble", "sql", "query", "event",
          "word"}  # fmt: skip


def regex_of(drawer: str) -> str:
    """Return a regular expression for a drawer's values in normalised text."""
    if drawer in _WRITTEN:
        slots = {**dict.fromkeys("nwayAS", r"\w+"), "S2": r"\w+", "k": r"\d+",
                 "c": r"\w+(?: \w+){0,2}"}  # fmt: skip
        return to_regex(_WRITTEN[drawer], slots)
    if drawer in _LISTED:
        return "(?:" + "|".join(to_regex(one) for one in _LISTED[drawer]) + ")"
    return T._SHAPES.get(drawer, r"\d+(?: \d+)?")
