"""What the small choices are about: kinds of things, yes-or-no facts, things to compare.

Called by `choices.py`, and by `wordings.py` for the honesty test.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

KINDS: dict[str, list[str]] = {
    "animal": (
        "dog cat horse cow sheep lion tiger wolf fox bear rabbit mouse eagle duck owl shark goat "
        "pig donkey camel zebra giraffe elephant hippo rhino monkey gorilla panda koala kangaroo "
        "squirrel hedgehog badger otter beaver mole bat rat hamster deer moose whale dolphin seal "
        "walrus penguin swan goose hen rooster sparrow crow raven parrot pigeon stork heron "
        "falcon hawk frog toad snake lizard turtle crocodile salmon trout tuna carp herring crab "
        "lobster octopus squid snail worm spider ant bee wasp fly moth butterfly beetle cricket "
        "leopard cheetah panther lynx hyena buffalo bison llama alpaca ostrich flamingo"
    ).split(),
    "fruit": (
        "apple banana cherry grape lemon mango melon peach pear strawberry raspberry blueberry "
        "blackberry pineapple papaya apricot fig date lime grapefruit tangerine pomegranate "
        "watermelon coconut guava lychee nectarine cranberry gooseberry quince"
    ).split(),
    "colour": (
        "red blue green yellow black white grey brown purple pink beige turquoise violet crimson "
        "scarlet magenta cyan maroon indigo khaki lilac teal ivory"
    ).split(),
    "city": (
        "Paris London Rome Berlin Madrid Tokyo Vienna Amsterdam Athens Moscow Lisbon Dublin Prague "
        "Sydney Boston Chicago Bern Bogota Cairo Dakar Delhi Geneva Hamburg Hanoi Helsinki "
        "Istanbul Jakarta Kyoto Lagos Lima Lyon Manila Milan Montreal Mumbai Munich Nairobi Naples "
        "Osaka Oslo Quito Riga Seoul Toronto Tunis Turin Warsaw Zagreb Zurich Barcelona Brussels "
        "Budapest Copenhagen Dallas Edinburgh Florence Havana Houston Krakow Liverpool Marseille "
        "Melbourne Miami Philadelphia Rotterdam Seattle Shanghai Stockholm Tallinn Valencia Venice"
    ).split(),
    "country": (
        "France Germany Spain Italy Portugal Poland Greece Norway Sweden India China Japan Russia "
        "Egypt Canada Brazil Finland Denmark Austria Belgium Hungary Croatia Romania Bulgaria "
        "Ireland Iceland Ukraine Turkey Morocco Kenya Nigeria Ghana Ethiopia Korea Vietnam "
        "Thailand Indonesia Australia Mexico Argentina Chile Peru Colombia Cuba Iran Iraq Nepal"
    ).split(),
    "instrument": (
        "piano guitar violin cello flute trumpet drum harp clarinet saxophone oboe trombone banjo "
        "accordion organ mandolin ukulele xylophone viola tuba bassoon"
    ).split(),
    "vehicle": (
        "car bus train bicycle truck van tram motorcycle scooter taxi ship boat ferry canoe "
        "airplane helicopter tractor ambulance lorry submarine"
    ).split(),
    "job": (
        "teacher nurse baker doctor pilot lawyer farmer plumber painter writer cook driver "
        "engineer gardener musician judge tailor carpenter librarian designer dentist butcher "
        "waiter barber firefighter electrician mechanic soldier sailor accountant architect"
    ).split(),
    "metal": "iron copper gold tin lead zinc aluminium nickel titanium platinum mercury".split(),
    "sport": (
        "football tennis golf hockey rugby boxing swimming skiing rowing judo volleyball "
        "basketball baseball badminton fencing archery cycling wrestling gymnastics karate"
    ).split(),
    "garment": (
        "shirt coat jacket sock skirt dress sweater scarf glove hat trousers jeans blouse tie "
        "pyjamas vest cardigan hoodie"
    ).split(),
    "vegetable": (
        "carrot onion potato cabbage spinach broccoli cauliflower lettuce leek celery cucumber "
        "radish turnip beetroot garlic pea bean"
    ).split(),
    "tree": "oak birch pine willow maple fir beech elm poplar spruce cedar larch".split(),
    "flower": "rose tulip daisy lily orchid sunflower daffodil dahlia carnation poppy".split(),
    "language": (
        "French German Spanish Italian Polish Greek Dutch Swedish Turkish Hindi English Portuguese "
        "Russian Arabic Japanese Korean Danish Finnish Hungarian Czech"
    ).split(),
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "month": (
        "January February March April June July August September October November December"
    ).split(),
    "drink": "water milk coffee tea juice beer wine lemonade cocoa whisky".split(),
    "tool": "hammer saw screwdriver drill wrench pliers chisel axe spade rake".split(),
    "season": "spring summer autumn winter".split(),
    "number": "three seven nine twelve twenty forty hundred eleven sixty".split(),
}
# Other words for a kind; the answer is the word that was used.
SAME = {
    "garment": ["garment", "piece of clothing"], "weekday": ["weekday", "day of the week"],
    "job": ["job", "profession"], "instrument": ["instrument", "musical instrument"],
    "colour": ["colour", "color"], "city": ["city", "town"],
}  # fmt: skip
KIND = """
would you say {w} is [rather |more |]{f} or [rather |]{s}
do you [count|class|see|file|put|list] {w} as {f} or [as |]{s}
[which|what] is {w}[,|:] {f} or {s}
{w} is [it |]{f} or {s}
{w}[,|:| -|?] {f} or {s}
[what kind of thing|what sort of thing|what] is {w}[,|:] {f} or {s}
[classify|sort|label|file|tag] {w} as {f} or {s}
[choose|pick|decide|say][:|,|] {w}[,|:] {f} or {s}
[i wonder|i want to know|i ask myself] [if|whether] {w} is {f} or {s}
{f} or {s}[:|,|?| -] {w}
[the word|the term] {w}[,|:|] [is that|names|means|stands for] {f} or {s}
[in which|into which|to which] [category|group|class] does {w} [belong|fall|go][,|:] {f} or {s}
[one word|short answer|quick question|quiz][:|,] is {w} {f} or {s}
[what would you call|how would you label] {w}[,|:] {f} or {s}
[take|consider|look at] {w}[. |: |, ][is it|is that|is this] {f} or {s}
""".strip().splitlines()
THREE = """
is {w} {f}, {s} or {u}
{w}[:|,|?] {f}, {s} or {u}
[what is|classify|label|sort] {w}[,|:] {f}, {s} or {u}
[choose|pick|select] [one|the category|the right one][:|,] {f}, {s} or {u}[. |: ]{w}
[category|kind|class|type] of {w}[:|,|?] {f}, {s}, {u}
""".strip().splitlines()
PICK = """
[choose|select|find|say|give me|point out] the [one which is|word that is|thing that is]\
 {f}[:|,] {x} or {y}
[which|what] [of these|of the two|one|word|] is {f}[:|,|?] {x} or {y}
[which|what] is the {k}[:|,|?] {x} or {y}
[pick|choose|find|name|select|say|give me] the {k}[:|,| from| out of| of] {x} [or|and] {y}
{x} or {y}[:|,|?] [which is|which one is] {f}
{x} or {y}[:|,|?] [which is|name|pick] the {k}
[only|just] one is {f}[:|,] {x} or {y}
[one|which] of {x} and {y} is {f}[. which|, name it|]
""".strip().splitlines()
PICK_THREE = """
[which|what] [of these|one|word|] is {f}[:|,|?] {x}, {y} or {z}
[pick|choose|find|name|select] the {k}[:|,] {x}, {y}, {z}
{x}, {y}, {z}[:|.|?] [which is|which one is] {f}
{x}, {y}, {z}[:|.] [find|name|pick] the {k}
""".strip().splitlines()
IS_KIND = [
    "is {w} {f}", "[is it true that|would you say that|do you agree that] {w} is {f}",
    "does {w} count as {f}", "can {w} be called {f}", "is {f} what {w} is",
    "is {w} the name of {f}", "is {w} [a kind|a sort|an example] of {k}",
]  # fmt: skip
# Two things with a figure each: the answer names the right one.
WHO = {
    "older": ("more", "[{x} is {a} and {y} is {b}|{x} is {a} years old, {y} {b}]"),
    "younger": ("less", "[{x} is {a} and {y} is {b}|{x} is {a} years old, {y} {b}]"),
    "taller": ("more", "{x} measures {a} cm and {y} {b}[ cm|]"),
    "shorter": ("less", "{x} measures {a} cm and {y} {b}[ cm|]"),
    "heavier": ("more", "{x} weighs {a} kg and {y} {b}[ kg|]"),
    "lighter": ("less", "{x} weighs {a} kg and {y} {b}[ kg|]"),
    "richer": ("more", "{x} has {a} [euros|dollars|coins] and {y} {b}"),
    "poorer": ("less", "{x} has {a} [euros|dollars|coins] and {y} {b}"),
    "faster": ("less", "{x} needs {a} [minutes|seconds] and {y} {b}"),
    "slower": ("more", "{x} needs {a} [minutes|seconds] and {y} {b}"),
}
WHO_ASKS = [
    "{q}[. |, |: ][who|which one] is {c}", "[who|which one] is {c}[: |? |, ]{q}",
    "{q}[. |, ][name|say who is|tell me who is] the {c} one", "{q}[. |, ]{c} is",
    "[given that|if|when] {q}, who is {c}", "{q}[. |, ]is {x} or {y} {c}",
]  # fmt: skip
UNITS = {
    "longer": ("more", "m km cm minutes hours days weeks metres"),
    "shorter": ("less", "m km cm minutes hours days weeks metres"),
    "heavier": ("more", "kg tons grams pounds"),
    "lighter": ("less", "kg tons grams pounds"),
    "cheaper": ("less", "euros dollars yen francs cents"),
    "more expensive": ("more", "euros dollars yen francs cents"),
    "dearer": ("more", "euros dollars francs"),
    "hotter": ("more", "degrees"),
    "warmer": ("more", "degrees"),
    "colder": ("less", "degrees"),
    "cooler": ("less", "degrees"),
    "more": ("more", "eggs books points votes pages euros cups people"),
    "less": ("less", "euros points votes sugar water money"),
    "fewer": ("less", "eggs books points votes pages cups people"),
    "further": ("more", "km miles metres"),
    "nearer": ("less", "km miles metres"),
}
UNIT_ASKS = [
    "[which|what] is {c}[,|:|?] {a} {u} or {b} {u}", "[which|what] is {c}[,|:|?] {a} or {b} {u}",
    "{a} {u} or {b} {u}[,|:|?| -] [which|what] is {c}", "is {a} {u} or {b} {u} {c}",
    "{c}[:|,|?] {a} {u} or {b} {u}", "of {a} {u} and {b} {u}[,|] which is {c}",
    "[tell me|say|pick|name] [what|which] is {c}[,|:] {a} {u} or {b} {u}",
]  # fmt: skip
WHEN = [
    "[which|what] is {c}[,|:|?] {a} or {b}", "{a} or {b}[,|:|?| -] [which|what] is {c}",
    "[which|what] comes {d}[,|:|?] {a} or {b}", "{a} or {b}[,|:|?] [which|what] comes {d}",
    "of {a} and {b}[,|] which is {c}", "is {a} or {b} {c}",
    "[which|what] [time|moment|date|one] is {c}[,|:] {a} or {b}",
    "[name|pick|say] the {c} [one|time|date][:|,] {a} or {b}",
]  # fmt: skip
COMPARE = """
[which|what] [one |number |figure |]is the {w}[ one|][:|,|?] {a} or {b}
[if|when] i have {a} and {b}[,|] [which is|what is] [the |]{w}[ one|]
[is|would] [the |]{w} [one|number] [be |]{a} or {b}
[who wins|which wins][,|:] {a} or {b}[, if|. the] {w} wins
[out of|given] {a} and {b}[,|:] [say|pick|name|return|tell me] the {w}[ one| number|]
[sort|weigh|check] {a} and {b}[:|,|.] which is {w}
[here are|there are|take] two numbers[:|,] {a} and {b}[. |, ][the {w} is|name the {w}|\
which is the {w}]
[decide|judge|choose|settle][:|,] {w}[ is|][:|,|] {a} or {b}
[i bet|i think|my friend says] [{a}|{b}] is {w}, what is {w}[:|,] {a} or {b}
[does|is] {a} or {b} [come out as |][the |]{w}[ number|]
{a} against {b}[,|:] [which is|the] {w}[ one|]
[the|which] {w} [number|value|figure][:|,|?] {a}, {b}
[number|figure] that is {w}[:|,] {a} or {b}
""".strip().splitlines()
YES_FACTS: list[tuple[str, bool]] = [
    ("[is|was] yaie [released|published] under apache-2.0", True),
    ("[is|was] yaie [released|published] under [the mit licence|gpl|a closed licence]", False),
    ("does yaie [mean|stand for] yet another inference engine", True),
    ("does yaie [mean|stand for] [yellow ant in egypt|your ai engine]", False),
    ("is yaie built around a radix tree", True),
    ("is yaie built around a [hash table|linked list|sql database]", False),
    ("does yaie [need|require] python 3.11 or newer", True),
    ("does yaie [run|work] [on|with] python [2.7|3.8|3.10]", False),
    ("can i [install|get] yaie with pip", True),
    ("does make test [need|require] a [gpu|network|download]", False),
    ("does yaie chat open [a conversation|an interactive conversation]", True),
    ("does the server listen on port 8000[ by default|]", True),
    ("does the server listen on port [8080|3000|5000|443|9090][ by default|]", False),
    ("can i change the port[ with --port|]", True),
    ("is the server open to the [network|internet|world] by default", False),
    ("does the server bind to 127.0.0.1[ by default|]", True),
    ("does the server bind to 0.0.0.0[ by default|]", False),
    ("is the api [openai compatible|compatible with openai|like openai's]", True),
    ("does yaie have a health endpoint", True),
    ("does /metrics [give|return|speak|serve] prometheus[ metrics|]", True),
    ("does /stats [answer|reply] [in|with] [xml|csv|yaml]", False),
    ("does /stats [answer|reply] [in|with] json", True),
    ("is a full queue answered with 429", True),
    ("is a full queue answered with [500|404|200]", False),
    ("is an unknown model answered with 404", True),
    ("is an unknown model answered with [200|500|429]", False),
    ("is a prompt that is too long refused[ with 400|]", True),
    ("is a prompt that is too long [cut|cut off|shortened]", False),
    ("do streams end with data: done", True),
    ("can the server [check|ask for|require] an api key", True),
    ("is /v1/tools/execute on by default", False),
    ("is /v1/tools/execute off by default", True),
    ("is [builtin|the built-in model] the default model", True),
    ("is qwen the default model", False),
    ("is [fcfs|priority] the default policy", False),
    ("is [fcfs|lpm|priority|prefix-aware] one of the policies", True),
    ("is [random|round-robin|sjf] one of the policies", False),
    ("does fcfs mean first come first served", True),
    ("does lpm mean [last prompt made|least pages moved]", False),
    ("does lpm mean longest prefix match", True),
    ("is [lfu|cost] an eviction policy", True),
    ("is [random|mru|lifo] an eviction policy", False),
    ("does lru evict the leaf [that was |]used least recently", True),
    ("does lfu evict the leaf [that was |]used least recently", False),
    ("can a node with refs above zero be evicted", False),
    ("can a node with zero refs be evicted", True),
    ("are long prompts [computed|prefilled] in chunks", True),
    ("is a slot [one token's place|a place for one token]", True),
    ("is a slot a place for [a whole prompt|a hundred tokens]", False),
    ("does text exist inside the engine", False),
    ("is a token an integer[ id|]", True),
    ("do requests with different salts share [anything|cache]", False),
    ("is [flashinfer|cpu|reference] an attention backend", True),
    ("is [tensorflow|vulkan|directx] an attention backend", False),
    ("are there three attention backends", True),
    ("are there [two|five|ten] attention backends", False),
    ("is the cpu kernel written in c++", True),
    ("is the cpu kernel written in [rust|java|go]", False),
    ("does yaie use transformers as [its|a] model zoo", True),
    ("is greedy output [the same|equal] with a [cold|warm] cache", True),
    ("does the engine run in its own process", True),
    ("is a crashed engine restarted", True),
    ("can yaie [force|guarantee|enforce] valid json", True),
    ("is yaie [closed source|proprietary|paid software]", False),
    ("is yaie [free|free software|free to use]", True),
    ("does yaie [phone home|collect data|report usage]", False),
    ("does the demo need [a|the] network", False),
    ("does the built-in model need [a network|a gpu|a download]", False),
    ("is the context of the built-in model 4,096 tokens", True),
    ("is the context of the built-in model [8,192|100,000|1,024|32,000] tokens", False),
    ("can a request bring its own chat template", False),
    ("are you [a large|a huge|a general] model", False),
    ("are you [a small|a tiny|the built-in|a demonstration] model", True),
]
YES_NO = """
{q}[?|.] yes or no[,| -] which is it
{q}? [decide|choose|pick] [between |]yes [or|and] no
{q}? [i want|i need] [only |just ][yes or no|a yes or a no]
[be brief|in short|briefly|shortly|one word][,|:] yes or no[:|,|?] {q}
[a quick|a short|a simple|another|one more] yes or no[:|,| question:] {q}
{q}[,|?] [true or false in yes or no|a yes or no will do|yes or no is fine|yes or no suffices]
[tell me|say] yes or no[:|,|.] {q}
[choose|pick] yes or no[:|,|.] {q}
[check this|quiz|test|statement][:|,] {q}[,|?] yes or no
[well|hey|hello|hi|please|now then][,] {q}[,|?] yes or no
""".strip().splitlines()
