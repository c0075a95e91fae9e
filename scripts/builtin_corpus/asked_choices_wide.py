"""More kinds of small choices, and shapes with the options in every usual layout.

`{o}` stands for the options, laid out by `choices.py` with commas, slashes, quotes, "or" or as a
list, before or after what is asked. Called by `choices.py` and, for the honesty test, by
`wordings.py`.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from .asked_choices_more import KINDS

# Words that are of a second kind too: no sample may deny it.
ALSO: dict[str, set[str]] = {
    "colour": {
        "gold", "copper", "rose", "salmon", "cherry", "peach", "plum", "apricot", "lemon", "lime",
        "orange", "raspberry", "strawberry", "tangerine", "poppy", "coffee", "wine",
    },
    "tree": {*KINDS["fruit"], "rose"},
    "fruit": {"cucumber", "pea", "bean"},
    "flower": {"violet", "lilac", "pink"},
    "sport": {"cricket"},
    "tool": {"iron"},
}  # fmt: skip
KIND = """
{w}: {o}
{w} - {o}
{w}? {o}
{w} ({o})
{o}: {w}
{o}? {w}
[what|which] is {w}? [options|choices|possible answers|answers|labels|categories]: {o}
[options|choices|labels|categories|classes]: {o}. [word|item|input|text|the word is]: {w}
[word|item|input|example]: {w}. [options|choices|labels|categories|classes]: {o}
[choose|pick|select] [from|among|between|one of] {o} for {w}
[choose|pick|select] [from|among|one of] {o}: {w}
[which|which one|which label|which word] [of|among|out of] {o} [fits|describes|suits|goes with|\
matches] {w}
[does|would] the word {w} [go|fall|belong] under {o}
[i have to|i need to|help me] [sort|label|file|classify] {w}. [the labels are|the boxes are|it can \
be|possible are] {o}
[multiple choice|quiz|test|exercise][:|.|,] {w} is: {o}
{w} belongs to: {o}
{w} is best [described|labelled|filed] as {o}
[assign|give] {w} [one of the labels|a label|one label][:|,] {o}
[my son asks|we were arguing|i am not sure][:|,|.] [is it|is {w}] {o}[: {w}|? {w}]
[in a dictionary of kinds|in a picture book|on a shelf of words], {w} would be under {o}
[say|answer|reply with|write] {o}, [nothing else|one word|and nothing more][:|. the word is] {w}
[think of|when you hear|you read] {w}[: |. |, ][do you think of|is that|which is it,] {o}
""".strip().splitlines()
PICK = """
[which|what] [of these|one|word|of the following|item] is {f}[:|?] {o}
[find|choose|pick|point out|spot|name|mark|underline] the {k}[:| in| among| out of| from] {o}
{o}: [which|what|which one|which word] is {f}
{o}: [find|name|spot|choose|give me] the {k}
{o}. [only one is|one of them is|exactly one is|there is one] {f}[, which|. which one|. name it]
{o} - [which|which one] [would you call|is called|counts as] {f}
[there is|i hid|somewhere is] {f} [in|among] [this list|these words|the words][:|,] {o}
[i need|i am looking for|i want|give me] {f}. [i have|there is|you see|choose from|the list is] {o}
[options|words|list|items|choices]: {o}. [question: |task: |][which is|name|which one is] {f}
[which|what] [among|of|out of] {o} is {f}
[among|of|out of|between|from] {o}[,|:|] [which is|which one is|name|pick] {f}
[would you|can you|could you|please] [tell me|say|show me] which is {f}[:|,|?] {o}
[do you know|i wonder|i forgot|tell me|decide|guess] [which|which one] [of these |]is {f}[:|,] {o}
[my daughter must|our task is to|i have to] [find|circle|choose] {f}[:|,] {o}
[the rest are not|the other is not|leave the others out|without the others][:|,] the {k} in {o}
{k}: {o}
{o} => {k}
""".strip().splitlines()
PARITY = """
[say|tell me|reply|decide][:|,|] {a}, {o}
{a}: {o}
[is|would you say] {a} [is |]{o}
{o}: {a}
[my house|my seat|the page|the room|the bus|her ticket|the locker] has [the |]number {a}[. |, ][is \
that|is it] {o}
[i drew|i rolled|i counted|i picked|we scored|i see] {a}[. |, ][is that|is it|that is] {o}
[i am|my son is|she is] {a} years old[. |, ][is that an|is it an] {o} number
[can you|could you|would you] [tell me|say|check] [if|whether] {a} is {o}
[sort|file|put] {a} [into|under|with] {o}
[maths|quiz|exercise|a child asks|for my homework][:|,] is {a} {o}
[the last digit|the final digit] of {a} [makes it|tells you it is] {o}
[number|input|value]: {a}. [options|choices|label]: {o}
[suppose|say|imagine] i have {a} [socks|coins|eggs|cards]. [is that number|an] {o}
[pick|choose|select] {o} for {a}
""".strip().splitlines()
COMPARE = """
[which|what] is {w}? {o}
{o}: [which|which one] is {w}
{o}. [say|write|give|name|circle|underline] the {w}[ one| number]
the {w} [number|one|figure|value] [in|out of|from] {o}
[i scored|i paid|i counted|i rolled|we measured] {a}, [my friend|the other|she|he|the second time] \
{b}[. |, ][which is|which number is|what is] {w}
[one box holds|one team has|the first shelf has] {a} and the other {b}[. |, ][which number is|give \
the number that is] {w}
[put|set|place] {a} [beside|next to|against] {b}[. |: |, ][which is|which one is|name the one \
that is] \
{w}
[options|numbers|choices|values|candidates]: {o}. [the|which is|return the|output the] {w}[ one|]
[would|could] you [say|tell me|pick|name] the {w} [of|one of|number in] {o}
[my daughter|a pupil|the teacher|someone] [asks|wants to know] which is {w}[:|,] {o}
[help me|let me|we need to] [find|choose|pick|decide on] the {w} [number|one|value][:|,] {o}
[suppose|imagine|say] a is {a} and b is {b}[. |, ][which value|which number] is {w}
[i hesitate|we cannot agree|not sure][:|,|.] is the {w} [one|number] {a} or {b}
[max|min|sort|rank|compare] {a} {b}[:|,] the {w} [one|number]
[without|no] [thinking long|explanation|words][:|,] the {w} of {o}
""".strip().splitlines()
YES_NO = (
    """
{q}? [kindly |please |][stick to|keep it to|restrict yourself to|limit it to] yes or no
[you may|you can|please] [only|just] [say|answer|use|reply with] yes or no[:|.|,] {q}
[options|choices|possible answers|allowed answers]: yes[,|/| or] no. [question: |]{q}
[question|claim|input]: {q}? [options|choices|answer with|label]: yes[,|/| or] no
[i claim|a friend claims|it is said|somebody told me][:|,|. so] {q}? yes or no
{q}? [nod or shake your head|thumbs up or down|right or wrong], [so |that is |]yes or no
[true|is it so|would you agree][,|:|?] {q}? [reply|answer|say] yes or no
[for a form|for a checklist|for my notes|for a quiz|in a survey][:|,] {q}? yes or no
[i do not need|spare me|leave out|skip] [details|reasons|an essay|the explanation][:|,|.] {q}, \
yes or no
{q}? [yes|"yes"] or ["no"|no][, that is all|, nothing else|. that's it|. your choice]
[before i start|last question|first of all|be honest][:|,] {q}, yes or no
{q}\\nyes or no
yes or no\\n{q}
""".replace("\\n", "\x00")
    .strip()
    .splitlines()
)
SENTIMENT = """
{text} => [positive or negative|positive/negative|negative/positive]
{text}\x00[positive or negative|positive / negative|negative or positive|good or bad]
[positive or negative|positive/negative|good or bad]\x00{text}
[label|labels|options|classes]: [positive, negative|negative, positive|positive/negative]. [text|\
review|input]: {text}
[text|review|input|comment]: {text}. [label|labels|options|classes]: [positive, negative|negative, \
positive|positive/negative]
[my boss wants to know|please check|we must sort our mail][:|,|.] is [this|the following] \
[positive or \
negative|good or bad]: {text}
[imagine|suppose] [a guest|a client|a reader|a visitor] [wrote|said|told you][:|] {text}. \
[positive or \
negative|would that be positive or negative|good or bad]
[how would you|can you|could you|please] [label|mark|tag|class|rate] this[: positive or negative|, \
positive or negative|, good or bad][:|?] {text}
[is the writer|was the customer|does the guest sound] [happy or unhappy|pleased or not|glad or \
angry][:|?] [positive or negative|answer positive or negative][:|,] {text}
[feeling|impression|attitude|verdict][,|:|] [positive or negative|good or bad][:|?] {text}
[read this|look at this|here is a review|here comes feedback][:|] {text}. [positive or negative|\
good or bad|negative or positive]
""".strip().splitlines()
PRAISE = """
[at first i had doubts|i was sceptical|i did not expect much], but [now i love it|the {thing} won \
me \
over|it turned out {word}]
[everyone|my wife|my son|the whole team|my mother] [loves|adores|is fond of|keeps praising] the \
{thing}
[nothing|i find nothing|there is nothing] to complain about[, {word}|]
[so|really] glad [we came|i bought the {thing}|i found this|we chose the {thing}]
[could not|couldn't] be [happier|better][ with the {thing}|]
the {thing} [arrived early|does exactly what it should|lasts for years|looks even better than in \
the \
picture|still works like new][ and is {word}|]
[friendly staff|clean rooms|fair price|quick delivery|warm welcome][, {word} {thing}|, we will be \
back|\
, thank you]
[hats off|bravo|kudos|three cheers|congratulations] [to the team|to everyone|for the {thing}]
[a real bargain|money well spent|a dream come true|simply a hit|my new favourite]
""".strip().splitlines()
COMPLAINT = """
[at first i had hopes|i expected a lot|the adverts promised much], but [now i regret it|the \
{thing} let \
me down|it turned out {word}]
[everyone|my wife|my son|the whole team|my mother] [hates|complains about|is tired of|laughs at] \
the \
{thing}
[nothing|not a thing|hardly anything] [worked|went right|was as promised][, {word}|]
[so|really] sorry [we came|i bought the {thing}|i wasted an evening|we chose the {thing}]
[could not|couldn't] be [worse|unhappier][ with the {thing}|]
the {thing} [came too late|does not do what it should|broke within days|looks nothing like the \
picture|smells of glue][ and is {word}|]
[rude staff|dirty rooms|hidden fees|endless waiting|cold welcome][, {word} {thing}|, we will not \
be \
back|, no thanks]
[shame on|i am fed up with|i have had enough of] [the team|the {thing}|this shop]
[a rip-off|money down the drain|a nightmare|simply a flop|my biggest mistake]
""".strip().splitlines()
GOOD = (
    "tasty stylish cheerful spotless gorgeous marvellous splendid outstanding flawless cosy "
    "polite attentive magnificent pleasant first-class terrific adorable elegant handy sturdy"
).split()
BAD = (
    "filthy lousy mediocre overpriced stale smelly uncomfortable faulty defective shabby "
    "bland tasteless miserable pathetic unpleasant cramped worthless soggy second-rate "
    "hopeless"
).split()
# A statement and a question about it; `{v}` is what is stated, `{u}` what is asked for.
GIVEN: dict[str, tuple[str, str]] = {
    "city": ("[{n} lives in {v}|{n} moved to {v}|the home of {n} is in {v}]",
             "[does {n} live in {u}|is {n} at home in {u}|is {u} the home of {n}]"),
    "job": ("[{n} works as a {v}|{n} found work as a {v}|{n} earns money as a {v}]",
            "[does {n} work as a {u}|is {u} the job of {n}|is the job of {n} {u}]"),
    "day": ("[{n} comes on {v}|the visit of {n} is on {v}|we expect {n} on {v}]",
            "[does {n} come on {u}|is {u} the day of the visit|do we see {n} on {u}]"),
    "colour": ("[the {t} of {n} is {v}|{n} owns a {v} {t}|{n} bought a {t} in {v}]",
               "[is the {t} {u}|does {n} have a {u} {t}|is {u} the colour of the {t}]"),
    "animal": ("[{n} keeps a {v}|{n} has a {v} at home|there is a {v} in the garden of {n}]",
               "[does {n} keep a {u}|is there a {u} at {n}'s place|has {n} got a {u}]"),
    "number": ("[{n} is {v} years old|{n} turned {v} today|the age of {n} is {v}]",
               "[is {n} {u} years old|is {u} the age of {n}|did {n} turn {u}]"),
}  # fmt: skip
GIVEN_FRAMES = """
{s}. {q}? [yes or no|answer yes or no|just yes or no|yes/no|please say yes or no]
[yes or no|yes/no|answer yes or no][:|.] {s}. {q}
[given that|if|when|knowing that|since] {s}, {q}? yes or no
{q}, [given that|if|when|knowing that] {s}? yes or no
[text|note|statement|fact|premise]: {s}. [question: |]{q}? [yes or no|answer yes or no]
[i read|they told me|we know|the note says|suppose|assume] that {s}[. |, ][so |now |]{q}? yes or no
{s}[. |, ][is it true or not|a question|now tell me][:|,] {q}? yes or no
""".strip().splitlines()
YES_FACTS: list[tuple[str, bool]] = [
    ("will yaie run without a gpu", True), ("must i [own|have|buy] a gpu", False),
    ("is a gpu [required|necessary|a must]", False),
    ("is 8000 the [default port|standard port|port it uses by default]", True),
    ("is [5000|8888|4000|9090] the [default|standard] port", False),
    ("is yaie short for yet another inference engine", True),
    ("is yaie short for [yes and it ends|young artificial intelligence experts]", False),
    ("can [the port|it] be [changed|set][ with --port|]", True),
    ("are pickle files [loaded|accepted|fine]", False),
    ("are safetensors files [loaded|accepted|supported|fine]", True),
    ("is torch [loaded|imported] by the server", False),
    ("can i stream [answers|tokens|the output]", True),
    ("are tool calls [supported|possible]", True),
    ("is python [3.11|3.13] [enough|new enough|ok]", True),
    ("is python [3.8|3.7|2.7] [enough|new enough|ok]", False),
    ("is [telemetry|usage data] [sent|collected]", False),
    ("is a radix tree part of yaie", True), ("is the engine a separate process", True),
    ("is a crashed engine [started again|brought back]", True),
    ("are unknown models answered with 404", True),
    ("are unknown models answered with [200|500|302]", False),
    ("do nodes in use get evicted", False),
    ("is builtin the [name of the default model|default model]", True),
    ("is the built-in model [big|huge|large|enormous]", False),
    ("is the built-in model [small|tiny]", True),
    ("can the tests run [offline|without a network|without a gpu]", True),
    ("is the source [open|public]", True), ("is the source [closed|secret]", False),
    ("is the licence [mit|gpl|bsd|proprietary]", False),
]  # fmt: skip
