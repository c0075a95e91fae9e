"""Values of the everyday tools: paths, addresses, codes, phrases, dates as people write them.

Called by `tools_everyday.py`. The values are those that strangers use: known towns, currencies by
code or by name, file paths with folders, texts of several words.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import values, words
from .grammar import expand, to_regex

_TOWNS = words.CITIES + (
    "New York,Los Angeles,San Francisco,Hong Kong,Cape Town,Rio de Janeiro,Buenos Aires,Tel Aviv,"
    "Mexico City,New Delhi,Kuala Lumpur,Las Vegas,Barcelona,Brussels,Copenhagen,Stockholm,Budapest,"
    "Bangkok,Singapore,Dubai,Miami,Seattle,Denver,Dallas,Melbourne,Edinburgh,Manchester,Cologne,"
    "Frankfurt,Leipzig,Florence,Venice,Seville,Valencia,Marseille,Nice,Krakow,Bergen,Tampere,"
    "Beijing,Shanghai,Vancouver,Houston,Atlanta,Bristol,Salzburg,Basel,Ghent,Tallinn,Vilnius"
).split(",")
_CODES = "USD EUR GBP JPY CHF SEK NOK DKK CAD AUD INR CNY BRL MXN PLN TRY ZAR KRW CZK HUF".split()
_MONEY = (
    "euros dollars pounds yen francs rupees kronor pesos zloty lira US_dollars Swiss_francs "
    "British_pounds Japanese_yen Canadian_dollars"
).split()
_SYMBOLS = "AAPL MSFT TSLA NVDA AMZN GOOG META IBM INTC SAP ORCL NFLX AMD BMW SONY DIS KO".split()
_FOLDERS = (
    "/home/{n}|/home/{n}/docs|/home/{n}/notes|/Users/{n}/Desktop|/var/log|/etc/{w}|/tmp|/data|"
    "/data/{y}|/srv/{w}|docs|./docs|src|reports/{y}|notes|config|./data|/mnt/{w}|backups|/opt/{w}"
).split("|")
_STEMS = (
    "report notes budget readme todo invoice summary plan letter draft data config settings main "
    "log users sales minutes agenda results access error index photo contract list"
).split()
_EXT = "txt txt md md csv json pdf log yaml py docx xml html".split()
_PHRASES = (
    "[good [evening|night|afternoon|luck|day]|thank you[ very much| so much|]|see you [tomorrow|"
    "later|soon|next week]|where is the [station|bathroom|hotel|airport|beach|museum]|how are you"
    "[ today|]|I am [hungry|tired|lost|happy|late|cold|from here]|the [bill|menu|key] please|"
    "how much does [it|this] cost|my name is {n}|I love [you|music|this city|coffee]|happy "
    "[birthday|new year|holidays]|what time is it|nice to meet you|excuse me|the [train|bus|"
    "plane] is late|a glass of [water|wine|milk]|I do not understand|open the [window|door]|"
    "we are [friends|here|ready]|the weather is [nice|bad]|have a nice [day|trip|weekend]|"
    "[bread|cheese|apple|butterfly|freedom|friend|summer|water|house|dog|winter|love|book|tree]|"
    "[red|green|old|new] [car|house|shoes|bike]|I would like [a coffee|to pay|a room]|"
    "welcome home|no problem|of course|the book is on the table|we need help|call a doctor]"
)
_NOTES = (
    "[buy [milk|bread|eggs|coffee|flowers|milk and eggs]|call [{n}|the bank|the dentist|mum]|"
    "pay the [rent|bill|invoice]|water the plants|{n} likes [tea|tulips|jazz]|the code is {k}|"
    "pick up [the kids|the parcel|{n}]|renew the passport|the wifi password is [{w}|{w}{k}]|"
    "send the [report|contract|slides] to {n}|meeting moved to [room {k}|Friday]|clean the "
    "[garage|oven|car]|book a [hotel|dentist visit|table]|check the [oil|tyres|figures]|"
    "return the [library books|drill|keys]|finish the [slides|report|essay]|lunch with {n}|"
    "[new idea|idea] for the [garden|app|shop]|order [printer ink|more paper|a cake]]"
)
_SAY = (
    "[I will be late|I am on my way|the meeting is at {k}|lunch is ready|see you at {k}|are you "
    "coming tonight|the train is late|call me back|I cannot come|the report is done|happy "
    "birthday|dinner at {k}|the keys are under the mat|thanks for the help|we won|where are you|"
    "the server is down|the build is green|please send the slides|I am at the airport|bring the "
    "documents|the client said yes|we need more time|good job everyone|I am home]"
)
_SUBJECT = (
    "[the {a} [report|meeting|invoice|budget|contract|trip]|{a} [report|plan|meeting|numbers|"
    "budget]|[project|status] update|holiday plans|vacation request|question about the {a} "
    "[plan|invoice]|job application|welcome to the team|{w}|your order|the party|new prices]"
)
_KIND = "monthly yearly weekly quarterly annual sales travel summer team final".split()
_EVENT = (
    "[dentist|team meeting|lunch with {n}|project review|yoga class|{n}'s birthday|budget call|"
    "doctor|job interview|dinner with {n}|planning session|car inspection|book club|parents "
    "evening|design review|gym|haircut|board meeting|call with {n}|workshop|concert]"
)
_WARES = (
    "[[red|black|cheap|used|blue|warm|white|small] [shoes|jacket|sofa|lamp|bike|dress|phone case|"
    "backpack|desk]|wireless [headphones|mouse|keyboard|speaker]|running shoes|coffee [maker|"
    "beans|grinder]|gaming laptop|office chair|water bottle|hiking boots|desk lamp|usb cable|"
    "winter coat|yoga mat|phone charger|garden hose|electric kettle|toaster|tent|sunglasses|"
    "umbrella|monitor|rain jacket|cat food|steel pan|bluetooth speaker|novel|blender]"
)
_QUERY = (
    "[[best|cheap] [laptops|hotels in {c}|pizza in {c}|running shoes]|how to [tie a tie|bake "
    "bread|fix a bike|learn chess|remove a stain]|history of {c}|[climate|energy|travel] news|"
    "electric cars|python tutorials|vegan recipes|flights to {c}|solar panels|jobs in {c}|"
    "the tallest mountain|holiday rules|open source licenses|[cat|dog] training|chess openings|"
    "{c} museums|how vaccines work|used cars|refund policy|parental leave|expense rules]"
)
_SONGS = (
    "[{A} {S}|{S} of {c}|Dancing in the {S}|My {A} {S}|The {S} and the {S2}|Lost {S}|Back to {c}|"
    "{A} {S}|Under a {A} {S}|{S}]"
)
_SONG_A = "Blue Silver Golden Broken Lonely Summer Midnight Silent Wild Electric Purple".split()
_SONG_S = "River Sky Heart Moon Rain Fire Road Morning Dream Train Ocean Shadow Light".split()
_GENRE = "jazz rock techno classical blues folk pop reggae metal soul swing country".split()
_SERVICE = (
    "nginx postgres redis mysql auth-service billing-api web-frontend mail-server scheduler "
    "search-api payment-service user-service worker cron docker gateway api-server cache proxy"
).split()
_APP = "shop blog website backend dashboard storefront portal docs-site billing admin-ui".split()
_DATABASE = "customers orders shop_db analytics users_db warehouse crm inventory main_db".split()
_SQL = (
    "[SELECT [name|email|*|id] FROM [users|orders|products|customers|invoices]|SELECT COUNT(*) "
    "FROM [users|orders|events|sessions]|SELECT * FROM [orders|logs|users] LIMIT [5|10|100]|"
    "SELECT [name|id] FROM [users|products] WHERE [age > {k}|price < {k}|id = {k}]]"
)
_TROUBLE = (
    "[the printer is broken|login fails|printer not working|the screen is black|password reset "
    "fails|the page is slow|checkout shows an error|VPN does not connect|no sound in room {k}|"
    "the app crashes on start|email is not arriving|broken link on the home page|wifi is down|"
    "payment page times out|wrong total on invoice|laptop will not start|export button missing]"
)
_ROOMS = (
    "kitchen|bedroom|living room|bathroom|office|hall|garage|garden|dining room|basement|attic|"
    "nursery|guest room|study|balcony"
).split("|")
_RESTAURANTS = "Luigi's|The Olive|Bella Roma|Golden Dragon|Chez Paul|Sakura|The Oak|Casa Maria"
_DISHES = (
    "lasagna|pancakes|tomato soup|chicken curry|apple pie|ramen|pizza|risotto|goulash|paella|"
    "banana bread|potato salad|sushi|fried rice|lentil soup|tacos|cheesecake|hummus"
).split("|")
_RARE_WORDS = (
    "serendipity ephemeral nostalgia gregarious resilient paradox lucid pragmatic candid zeal "
    "ambiguous frugal eloquent meticulous obsolete tedious whimsical benevolent arid"
).split()
_BOOKS = "The {A} {S}|The {S} Keeper|A {A} {S}|{S} and {S2}|The Last {S}|Letters from {c}|{A} {S}s"
_STATES = (
    "delivered shipped pending cancelled active open closed approved ready paid processing "
    "complete delayed running blocked inactive"
).split()
_DEVICES = "fan|heater|radio|television|lamp|coffee machine|dishwasher|speaker|oven|air conditioner"
_HOSTS = ["example.com", "example.org", "example.net", "acme.io", "shop.example", "mail.example"]


def _n(r: Random) -> str:
    return r.choice(values.FIRST_NAMES + words.NAMES)


def _write(pattern: str) -> Callable[[Random], str]:
    def draw(r: Random) -> str:
        slots = {
            "n": _n(r), "w": r.choice(values.RARE), "k": str(r.randint(1, 20)),
            "a": r.choice(_KIND), "c": r.choice(_TOWNS), "A": r.choice(_SONG_A),
            "S": r.choice(_SONG_S), "S2": r.choice(_SONG_S), "y": str(r.randint(2015, 2026)),
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
    user = r.choice([_n(r), f"{_n(r)}.{r.choice(values.SURNAMES)}", "info", "sales", "support",
                     "hello", "billing", r.choice(values.RARE)]).lower()  # fmt: skip
    return f"{user}@{r.choice(_HOSTS)}"


def _folder(r: Random) -> str:
    slots = {"n": _n(r).lower(), "w": r.choice(values.RARE), "y": str(r.randint(2018, 2026))}
    return expand(r.choice(_FOLDERS), r, slots)


def _file(r: Random) -> str:
    stem = r.choice(_STEMS) if r.random() < 0.6 else r.choice(values.RARE)
    roll = r.random()
    if roll < 0.15:
        stem += r.choice("_-") + str(r.randint(1, 2026))
    elif roll < 0.3:
        stem += r.choice("_-") + r.choice(_STEMS)
    return f"{stem}.{r.choice(_EXT)}"


def _path(r: Random) -> str:
    return _file(r) if r.random() < 0.25 else f"{_folder(r)}/{_file(r)}"


def _image(r: Random) -> str:
    stem = r.choice("photo logo banner cat holiday avatar cover scan sunset team icon".split())
    if r.random() < 0.4:
        stem += f"{r.choice(['_', '-', ''])}{r.randint(1, 99)}"
    name = f"{stem}.{r.choice(['png', 'jpg', 'jpeg', 'gif', 'webp'])}"
    return name if r.random() < 0.5 else f"{r.choice(['images', '/tmp', 'img', 'assets'])}/{name}"


def _url(r: Random) -> str:
    host = r.choice(_HOSTS) if r.random() < 0.5 else r.choice(values.RARE) + ".example"
    host = f"https://{r.choice(['', '', 'www.', 'api.', 'docs.'])}{host}"
    more = r.choice(values.RARE) + r.choice(["", f"/{r.randint(1, 900)}", ".html"])
    return host + r.choice(["", "/" + r.choice(_STEMS), "/" + more])


def _time(r: Random) -> str:
    hour, minutes = r.randint(1, 12), r.choice(["00", "15", "30", "45"])
    return r.choice([f"{r.randint(6, 23):02d}:{minutes}", f"{hour}:{minutes}",
                     f"{hour} {r.choice(['am', 'pm'])}", f"{hour}:{minutes} {r.choice(['am', 'pm'])}",  # noqa: E501
                     "noon"] if r.random() < 0.9 else ["midnight"])  # fmt: skip


def _date(r: Random) -> str:
    day, month = r.randint(1, 28), r.choice(words.MONTHS)
    iso = f"{r.randint(2024, 2028)}-{r.randint(1, 12):02d}-{day:02d}"
    return r.choice([iso, iso, f"{month} {day}", f"{day} {month}", r.choice(words.DAYS),
                     r.choice(words.DAYS), "tomorrow", "next " + r.choice(words.DAYS),
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


DRAW: dict[str, Callable[[Random], str | int | float]] = {
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
        [f"{r.choice(['web', 'db', 'app', 'mail'])}-{r.randint(1, 20)}", r.choice(_HOSTS),
         f"10.0.{r.randint(0, 9)}.{r.randint(1, 250)}"]),
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "time": _time,
    "date": _date,
    "day": _choice(words.DAYS),
    "id": _id,
    "code": _code,
    "flight": lambda r: f"{r.choice(['LH', 'BA', 'AF', 'UA', 'KL', 'SK', 'EK'])}{r.randint(10, 9999)}",  # noqa: E501
    "symbol": lambda r: r.choice(_SYMBOLS) if r.random() < 0.6
    else "".join(r.choice("ABCDEFGHKLMNPRSTUVXZ") for _ in range(r.randint(3, 4))),
    "currency": lambda r: r.choice(_CODES) if r.random() < 0.65
    else r.choice(_MONEY).replace("_", " "),
    "curcode": _choice(_CODES),
    "amount": lambda r: r.randint(1, 99) * r.choice([1, 1, 5, 10, 100]),
    "price": _price,
    "few": lambda r: r.randint(2, 12),
    "minutes": lambda r: r.choice([r.randint(1, 90), r.randint(1, 12) * 5]),
    "percent": lambda r: r.choice([r.randint(0, 100), r.randint(1, 10) * 10]),
    "degrees": lambda r: r.randint(12, 29),
    "pixels": lambda r: r.choice([64, 128, 256, 320, 480, 512, 640, 800, 1024, r.randint(50, 2000)]),  # noqa: E501
    "phrase": _write(_PHRASES),
    "note": _write(_NOTES),
    "say": _write(_SAY),
    "subject": _write(_SUBJECT),
    "event": _write(_EVENT),
    "ware": _write(_WARES),
    "query": _write(_QUERY),
    "song": _write(_SONGS),
    "book": lambda r: _write(r.choice(_BOOKS.split("|")))(r),
    "trouble": _write(_TROUBLE),
    "sql": _write(_SQL),
    "language": lambda r: r.choice([*words.LANGUAGES, "Portuguese", "Japanese", "Korean",
                                    "Arabic", "Russian", "Danish", "Finnish", "Czech", "English"]),
    "genre": _choice(_GENRE),
    "service": _choice(_SERVICE),
    "app": _choice(_APP),
    "database": _choice(_DATABASE),
    "version": lambda r: f"{r.choice(['', 'v'])}{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}",  # noqa: E501
    "branch": lambda r: r.choice(["main", "develop", f"feature/{r.choice(values.RARE)}",
                                  f"fix/{r.choice(values.RARE)}", "release"]),
    "room": _choice(_ROOMS),
    "device": _choice(_DEVICES.split("|")),
    "restaurant": _choice(_RESTAURANTS.split("|")),
    "dish": _choice(_DISHES),
    "word": lambda r: r.choice(_RARE_WORDS + values.RARE),
    "colour": _choice(words.COLOURS),
    "topic": _choice("sports politics economy football space climate science music films health "
                     "travel cars business weather art tennis".split()),
    "state": _choice(_STATES),
    "sky": _choice("sunny cloudy rainy windy foggy snowy clear stormy".split()),
    "temperature": lambda r: r.randint(-9, 38),
    "number": lambda r: r.randint(2, 999),
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
FIELDS = {
    "temperature": "temperature", "sky": "sky", "price": "price", "status": "state", "time": "time",
    "name": "full", "city": "city", "email": "email", "total": "number", "currency": "curcode",
    "date": "date", "room": "room", "language": "language", "owner": "full", "balance": "price",
    "gate": "gate", "file": "file", "version": "version", "department": "department",
    "phone": "phone", "colour": "colour", "weight": "number", "distance": "number",
    "humidity": "percent", "url": "url", "score": "percent", "title": "book", "arrival": "time",
    "delivery_date": "date", "due_date": "date", "room_number": "number", "order_id": "id",
}  # fmt: skip
NUMBERED = "order ticket invoice user job task account booking parcel payment request".split()
PLURALS = "results items matches names entries options".split()
PROBLEMS = (
    "not found|permission denied|the service is offline|no such file|unknown city|timeout|"
    "invalid id|the account is locked|out of stock|no connection|quota exceeded|no such user|"
    "the address is wrong|already exists|no seats left"
).split("|")


_WRITTEN = {
    "phrase": _PHRASES, "note": _NOTES, "say": _SAY, "subject": _SUBJECT, "event": _EVENT,
    "ware": _WARES, "query": _QUERY, "song": _SONGS, "book": f"[{_BOOKS}]", "trouble": _TROUBLE,
    "sql": _SQL, "folder": "[" + "|".join(_FOLDERS) + "]",
}  # fmt: skip
_LISTED = {
    "genre": _GENRE, "service": _SERVICE, "app": _APP, "database": _DATABASE, "room": _ROOMS,
    "device": _DEVICES.split("|"), "restaurant": _RESTAURANTS.split("|"), "dish": _DISHES,
    "currency": [m.replace("_", " ") for m in _MONEY] + _CODES, "curcode": _CODES,
    "colour": words.COLOURS, "day": words.DAYS, "word": _RARE_WORDS + values.RARE,
    "topic": "sports politics economy football space climate science music films health travel "
             "cars business weather art tennis".split(),
    "language": [*words.LANGUAGES, "Portuguese", "Japanese", "Korean", "Arabic", "Russian",
                 "Danish", "Finnish", "Czech", "English"],
}  # fmt: skip
_SHAPES = {
    "symbol": "[a-z]{2,4}", "flight": r"[a-z]{2}\d+", "phone": r"\d+(?: \d+){0,2}",
    "ip": r"\d+ \d+ \d+ \d+", "version": r"v?\d+ \d+ \d+", "full": r"\w+ \w+",
    "name": r"\w+(?: \w+)?", "code": r"[a-z]{1,3} ?\d+(?: \d+)?",
    "email": r"\w+(?: \w+){0,2} (?:example|com|org|net|io)", "url": r"https \w+(?: \w+){1,6}",
    "path": r"(?:\w+ ){1,6}(?:" + "|".join(_EXT) + ")",
    "image": r"(?:\w+ ){1,3}(?:png|jpg|jpeg|gif|webp)", "city": r"\w+(?: \w+){0,2}",
    "time": r"(?:\d+(?: \d\d)?(?: ?[ap]m)?|noon|midnight)",
    "date": r"(?:\d+ \d+ \d+|tomorrow|(?:next )?\w+day|(?:the )?\w+(?: of)? \w+)",
    "branch": r"(?:main|develop|release|(?:feature|fix) \w+)", "host": r"\w+(?: \w+){1,3}",
}  # fmt: skip


def regex_of(drawer: str) -> str:
    """What the values of a drawer look like in normalised text."""
    if drawer in _WRITTEN:
        slots = {**dict.fromkeys("nwayAS", r"\w+"), "S2": r"\w+", "k": r"\d+",
                 "c": r"\w+(?: \w+){0,2}"}  # fmt: skip
        return to_regex(_WRITTEN[drawer], slots)
    if drawer in _LISTED:
        return "(?:" + "|".join(to_regex(one) for one in _LISTED[drawer]) + ")"
    return _SHAPES.get(drawer, r"\d+(?: \d+)?")
