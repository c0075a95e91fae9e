"""Values of great variety for texts whose words must be copied: names, codes, dates, amounts.

Called by `extraction_texts.py`, `copying.py` and `tools_made_up.py`. Nearly every value is new to
the model, so that it learns to copy letter by letter and not to recall a list.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from random import Random

from . import words

FRONTS = (
    "a e i o u al an ar be bo bra bri ca ce chi co cra da de do dra du el en er fa fe fi flo fra "
    "ga gi glo gre gu ha he hi hol hu il in is ja jo ju ka ke ki klo kra la le li lo lu ma me mi "
    "mo mu na ne ni no nu ol or os pa pe pla po pri qua ra re ri ro ru sa sche se si ska "
    "so sta su ta te thi to tra tu ul ur va ve vi vo wa we wi xa ya ye yo za ze zi zo zu"
).split()
BACKS = (
    "b ba bert bin by c cca ch da den der do dra dy el en er es eth ez fa fer ff ga gan gi ham han "
    "ic in is ja ka kel ki ko la lan ley li ling lla lo ly man mer mi mon n na ne ner ni nka no "
    "ov per r ra rd ri rin ro rt ry s sa sen ser ska sky son ss sta ster ta ten ter th ti tin to "
    "ton tta va vic vin x y ya z za zo"
).split()
SURNAMES = (
    "Abbott Adler Ahmed Alvarez Andersen Bauer Becker Bell Berg Bianchi Blake Bloom Brandt Brooks "
    "Brown Carter Castillo Chandra Chavez Clark Cohen Cole Costa Cruz Davies Diaz Dubois Duarte "
    "Eriksen Evans Farah Fischer Fontaine Foster Garcia Gray Green Gupta Haas Hall Hansen Harris "
    "Hill Hoffmann Hughes Ibrahim Ito Ivanov Jensen Johnson Jones Kaya Keller Khan Kim King Klein "
    "Kovacs Kowalski Kumar Lang Larsen Lee Lehmann Lewis Lind Lopez Marino Martin Mendez Meyer "
    "Miller Moore Moreau Morgan Murphy Nakamura Nguyen Nielsen Novak Oduya Okafor Olsen Ortiz "
    "Owens Park Patel Perez Peters Petrov Quist Ramos Reed Reyes Richter Rivera Rossi Roth Sato "
    "Schmidt Scott Silva Singh Smith Sokolov Stone Suzuki Takeda Tanaka Taylor Thomas Torres "
    "Turner Vargas Vega Wagner Walker Wang Watson Weber White Wilson Wolf Wong Wood Wright Yamada "
    "Yilmaz Young Zhang Ziegler"
).split()
FIRST_NAMES = (
    "Aaron Abel Adam Adele Agnes Aisha Alba Albert Alex Alma Amara Amelia Amy Andre Angela Anton "
    "Arthur Astrid Aya Barbara Bea Bella Bruno Camille Carlos Caroline Cecilia Charlie Chloe Chris "
    "Claire Connor Daisy Daniel Deepa Diana Diego Dmitri Edgar Edith Elsa Emil Esther Ethan Eve "
    "Fiona Frank Fred George Gita Greta Gustav Hannah Harold Heidi Helen Henry Holly Ian Imani "
    "Ingrid Isabel Jacob James Jane Jasmin Jay Jenny Joe Jorge Juan Judith Karen Kate Keiko Kim "
    "Kofi Layla Lea Lena Liam Lily Lisa Lou Luca Lucia Luis Luna Lydia Magnus Malik Marco Margaret "
    "Martin Mary Matt Maya Megan Mehmet Michael Mike Miriam Mohamed Molly Naomi Nate Nils Nour "
    "Oliver Otto Patrick Paula Peter Philip Rachel Rana Ray Rebecca Robert Rosie Ryan Samir "
    "Sandra Sarah Selma Simon Stella Steve Sue Susan Tamar Tania Thea Tim Tina Toby Ursula Vincent "
    "Viola Walter Will Yasmin Yuki"
).split()
ADJECTIVES = (
    "small large new old cheap plain round heavy light wooden steel glass leather cotton plastic "
    "folding electric soft hard thin thick wide narrow square striped waterproof ceramic copper "
    "silk woollen used spare tall short warm portable wireless double single shiny rubber paper"
).split()
GOODS = (
    "apron ashtray axe bag ball basket battery bell belt bench blender book boot bowl box bracelet "
    "brick broom brush bucket button cable cap card chain charger chisel coat comb cushion cup "
    "curtain dish door envelope fan file flag flask folder fork frame fridge glove glue hat hook "
    "hose jar jug key kite lantern latch lid lock magnet mat mattress mixer mop mouse nail napkin "
    "needle oven paddle pan pencil pillow pipe plate plug pot pump puzzle rack rope router rug "
    "ruler saddle saw scale scarf screw shelf shirt shoe shovel sieve skirt soap sock speaker "
    "sponge spoon stamp stapler stool stove strap string suitcase switch tap tape tile towel tray "
    "tripod tube tyre valve vest whistle wheel window wire wrench zip"
).split()
RARE = (
    "abacus acorn adobe agate almanac amber anchor anvil apex arcade aster atlas atoll badger balm "
    "bamboo banjo barley basalt beacon birch bison bobbin bramble brine brook bugle burrow cairn "
    "canyon caper caravan cedar chalk chapel cinder citadel clover cobble comet condor coral cove "
    "crater cricket crocus cypress dagger dahlia dapple delta dewdrop dial dingo dune echo eddy "
    "elm emblem ember fable falcon fern ferry fiddle finch fjord flint flute foxglove garnet "
    "gazelle geyser ginger girder glade glider gorge granite grotto grove gull harp haven hazel "
    "heron hollow hornet ibis iguana inlet iris ivory ivy jackal jade jasper jetty kelp kestrel "
    "kiln knoll lagoon larch lark lattice lichen lilac linen lizard lotus lynx maple marble marsh "
    "meadow mesa mica mint mirage monsoon moss moth myrtle nettle nimbus nutmeg oasis obelisk "
    "onyx opal orbit orchard orchid osprey otter oyster paddock pagoda parsley pebble pelican "
    "pepper petal pewter pillar pine plateau plaza plume pollen poppy prairie prism puffin quarry "
    "quartz quill quiver raft raven reed ridge ripple rowan rudder ruby saffron sage sapphire "
    "satchel sedge shale shoal sierra silo sleet slate sorrel sparrow spire spruce summit talon "
    "tangent teal thicket thimble thistle timber topaz torch tundra turret umber valley vault "
    "velvet vessel violet vista walnut warbler willow wren yarrow yew zephyr zinc zircon"
).split()
DOMAINS = (
    "example.com example.org example.net mail.example post.example test.example acme.example "
    "office.example web.example"
).split()


FIRM_KINDS = "Foods Labs Systems Bank Motors Books Media Tools Partners Works".split()


def made_up(rng: Random) -> str:
    """A word of two to four pieces that exists nowhere."""
    while True:
        middle = "".join(rng.choice(FRONTS) for _ in range(rng.choice([0, 0, 1, 1, 2])))
        word = rng.choice(FRONTS) + middle + rng.choice(BACKS)
        if not words.obscene(word):
            return word


def word(rng: Random) -> str:
    """A made-up or a rare word in lower case."""
    roll = rng.random()
    if roll < 0.15:
        return made_up(rng)
    return rng.choice(RARE) if roll < 0.95 else words.invented(rng)


def first_name(rng: Random) -> str:
    """A first name: listed or made up."""
    if rng.random() < 0.85:
        return rng.choice(FIRST_NAMES + words.NAMES)
    return (made_up(rng) if rng.random() < 0.7 else words.invented(rng)).capitalize()


def surname(rng: Random) -> str:
    """A surname: listed or made up."""
    return rng.choice(SURNAMES) if rng.random() < 0.8 else made_up(rng).capitalize()


def person(rng: Random) -> str:
    """A first name, or a first name with a surname."""
    return first_name(rng) if rng.random() < 0.5 else f"{first_name(rng)} {surname(rng)}"


def titled(rng: Random) -> str:
    """A doctor: "Dr. Weber", or a full name."""
    return f"Dr. {surname(rng)}" if rng.random() < 0.6 else person(rng)


def place(rng: Random) -> str:
    """A town: listed or made up, sometimes of two words."""
    roll = rng.random()
    if roll < 0.75:
        return rng.choice(words.CITIES)
    if roll < 0.9:
        return made_up(rng).capitalize()
    return f"{rng.choice(['New', 'Port', 'San', 'West', 'Old', 'Upper'])} {surname(rng)}"


def firm(rng: Random) -> str:
    """A company name of one or two words."""
    name = (rng.choice(words.COMPANIES) if rng.random() < 0.5 else word(rng)).capitalize()
    if rng.random() < 0.4:
        return name
    return f"{name} {rng.choice(FIRM_KINDS)}"


def number(rng: Random, digits: int = 6) -> int:
    """A number of one to `digits` figures, every length as likely."""
    length = rng.randint(1, digits)
    return rng.randint(10 ** (length - 1), 10**length - 1)


def code(rng: Random) -> str:
    """A code of letters and figures: "KX-482", "b7f3"."""
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    head = "".join(rng.choice(letters) for _ in range(rng.randint(1, 3)))
    return head + rng.choice(["-", "", "-"]) + str(rng.randint(10, 9999))


def phone(rng: Random) -> str:
    """A telephone number."""
    short = f"555-{rng.randint(0, 9999):04d}"
    long = f"0{rng.randint(100000, 9999999)}"
    return rng.choice([short, long, f"+{rng.randint(10, 99)} {short}"])


def email_of(name: str, rng: Random) -> str:
    """An address made from a name, or of a word that has nothing to do with it."""
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
    return f"{user}@{rng.choice(DOMAINS) if rng.random() < 0.7 else word(rng) + '.example'}"


def product(rng: Random) -> str:
    """Something to buy in the singular: "steel bucket", "lamp", "quellin"."""
    roll = rng.random()
    if roll < 0.04:
        return made_up(rng)
    noun = rng.choice(GOODS + words.THINGS)
    if roll < 0.45:
        return noun
    return f"{rng.choice(ADJECTIVES + words.COLOURS)} {noun}"


def products(rng: Random) -> str:
    """Something to buy in the plural."""
    one = product(rng)
    return one + ("es" if one.endswith(("s", "sh", "ch", "x")) else "s")


def date(rng: Random) -> str:
    """A day of the year in one of the usual ways of writing."""
    year, month, day = rng.randint(2019, 2034), rng.randint(1, 12), rng.randint(1, 28)
    name = words.MONTHS[month - 1]
    iso = f"{year}-{month:02d}-{day:02d}"
    return rng.choice([iso, iso, iso, f"{day} {name}", f"{name} {day}", f"{day} {name} {year}"])


def time(rng: Random) -> str:
    """A time of day."""
    minutes = rng.choice(["00", "15", "30", "45", f"{rng.randint(0, 59):02d}"])
    plain = f"{rng.randint(6, 23):02d}:{minutes}"
    return rng.choice([plain, plain, plain, f"{rng.randint(1, 12)}:{minutes} pm"])


def price(rng: Random) -> int | float:
    """An amount of money: mostly whole, sometimes with cents."""
    if rng.random() < 0.75:
        return number(rng, 4)
    return rng.randint(1, 199) + rng.choice([0.5, 0.95, 0.99, 0.25, 0.75, 0.49])


def title(rng: Random) -> str:
    """A title of one to three words, with capitals."""
    return " ".join(word(rng).capitalize() for _ in range(rng.randint(1, 3)))


def file_name(rng: Random) -> str:
    """A file name with its ending."""
    stem = word(rng) if rng.random() < 0.7 else f"{word(rng)}_{rng.randint(1, 2030)}"
    return f"{stem}.{rng.choice('txt csv pdf md docx png json log zip py'.split())}"
