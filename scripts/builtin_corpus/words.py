"""Word lists that the task modules draw from: names, places, things, invented words."""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import re
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
# Words that say nothing about which project fact is meant: strewn into questions as noise.
FILLERS = (
    "actually already always also anyway around badly basically become becomes before behind "
    "being below between both brand bring brings busy call called carefully clean clear clearly "
    "close come comes completely correct curious currently decide decides deep different "
    "directly easily easy else enough entire entirely especially ever every everything exactly "
    "expect fair fairly far few finally fine first free fresh friend from front fully further "
    "generally given gives glad goes going gone gotten half hand handy happen hard have having "
    "head hear heard here hold holds honest honestly how huge immediately important indeed "
    "inside instead internally into itself just keep keeps kind kindly known large largely last "
    "late later least leave leaves less let like likely little look looks lot made main maybe "
    "mean means meant more most mostly much must nearly needed never new next nice "
    "nobody normal normally nothing notice now odd often old only other otherwise ought out "
    "outside over own part particular pass perhaps plain play please possible present pretty "
    "probably proper properly purely put puzzled quick quickly quite rather read ready real "
    "really reason receive recently regular related respond right roughly same say says seem "
    "seems sense several shall short should side simple simply since single slow slowly small "
    "some somehow someone something sometimes soon sort special specific still stuff such "
    "suddenly suppose sure take takes talk team teach tell than thing things think third though "
    "thought through time tiny today together tomorrow too toward tried true try trying turn "
    "typical under understand unfortunately unless until upon usual usually various very wait "
    "want wanted week well went whatever whenever wherever while whole why will wish within "
    "without wonder word work working works worry worth would write wrong year yesterday yet "
).split()
# Things of the wide world that the model knows nothing of: for requests to decline.
WORLD = (
    "actor airport alphabet angel apartment aquarium artist asthma astronaut athlete aunt "
    "autumn bakery balcony ballet bank barbecue baseball basketball beach beard bedroom bee "
    "birthday boat bone brain breakfast bride bronze brother building bus butter butterfly "
    "cactus calendar calories camel canal candle cancer candy canoe cartoon castle cathedral "
    "cave celebrity cello century champion cheese chef chicken childhood choir christmas church "
    "cinema circus clothes cloud club coast comedy comet composer concert continent cousin "
    "cricket crime crown cruise culture currency curtain dance daughter dentist desert dessert "
    "detective diamond dictionary dinner divorce doctor doll dolphin dress drought drum easter "
    "eclipse election elephant embassy emperor energy engineer evening eyes factory fairy "
    "family fashion father festival fish flag flower flu football forest fountain fridge frog "
    "funeral furniture galaxy gallery garage garden genius ghost giraffe glacier glass glove "
    "god gold golf grammar grandfather grandmother grass guitar gymnast hair hamster harvest "
    "heart helicopter hero hiking hockey holiday honey hospital hotel hurricane husband ice "
    "iceberg illness immigration island jewel jungle jupiter justice kangaroo kid king kitten "
    "knight lake language lawn lawyer lemon library lightning lion lipstick literature "
    "lunch magic mailman makeup market medicine melody metal meteor milk mineral ministry "
    "monkey monster mortgage mosquito mother motorcycle mountain museum mushroom muscle mystery "
    "myth neighbour newspaper nurse nutrition ocean olympics onion opera orchestra oven owl "
    "painter palace pancake panda parent parliament passport peace penguin perfume pet pharaoh "
    "philosopher piano pig pilot pirate planet plastic playground poet poison police pollution "
    "pope potato pregnancy president prince prison prophet pumpkin puppy pyramid queen rain "
    "rainbow refugee restaurant rice river robot rocket romance rose rugby sailor salad salmon "
    "sandwich satellite saturn sauce school scientist sculpture sea season shark ship shoe "
    "shower singer skeleton skiing skin snake snow soldier son soul soup spider spring stadium "
    "star statue storm strawberry sugar summer sun sunset surgeon swan sweater swimming "
    "symphony tailor teenager telescope temperature temple theatre thunder tiger toast tomato "
    "tornado tourist toy treasure treaty tree tribe trumpet turtle uncle unicorn university "
    "valley vampire vegetable violin virus vitamin waiter wallet war wedding weekend whale wife "
    "wind winter witch wizard wolf worm zebra zoo "
).split()
STARTS = "b br c ch d dr f g gr h j k kl l m n p pr r s sh st t tr v w z".split()
VOWELS = "a e i o u ai ea ou".split()
ENDS = ["", "", "n", "r", "l", "s", "m", "x", "t", "nd", "ck"]


_OBSCENE = re.compile(
    "fuck|fuk|shit|cock|cunt|nigg|dick|porn|puss|whor|rape|slut|nazi|^(?:cum|nig|tit|ass|fag|fu[kx])s?$"
)


def obscene(word: str) -> bool:
    """Whether a made-up word is or holds one that should not be written."""
    return bool(_OBSCENE.search(word))


def invented(rng: Random) -> str:
    """A made-up word, so that copying is learnt and not a list of names."""
    while True:
        word = "".join(
            rng.choice(STARTS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 3))
        ) + rng.choice(ENDS)
        if not obscene(word):
            return word


def person(rng: Random) -> str:
    """A first name, sometimes with a surname, sometimes invented."""
    first = rng.choice(NAMES) if rng.random() < 0.85 else invented(rng).capitalize()
    return first if rng.random() < 0.7 else f"{first} {invented(rng).capitalize()}"


def city(rng: Random) -> str:
    """A town, sometimes invented."""
    return rng.choice(CITIES) if rng.random() < 0.85 else invented(rng).capitalize()


def company(rng: Random) -> str:
    """A company name, sometimes invented."""
    return rng.choice(COMPANIES) if rng.random() < 0.85 else invented(rng).capitalize()


def thing(rng: Random) -> str:
    """Something to buy: a thing, a coloured thing or an invented word."""
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(THINGS)
    if roll < 0.92:
        return f"{rng.choice(COLOURS)} {rng.choice(THINGS)}"
    return invented(rng)


def email(rng: Random) -> str:
    """An address at an example domain."""
    user = rng.choice(NAMES).lower() if rng.random() < 0.6 else invented(rng)
    return f"{user}@{rng.choice(['example.com', 'example.org', 'mail.example', 'test.example'])}"
