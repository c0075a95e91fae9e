"""Requests that a tiny model must decline, and the polite sentence with which it does."""

from __future__ import annotations

from random import Random

from . import asked_refusals, asked_refusals_more, asked_refusals_wide, words
from .grammar import expand

REFUSAL = (
    "I am only YAIE's tiny built-in demonstration model, so I cannot help with that. For real "
    "answers start a larger model: yaie serve Qwen/Qwen3-0.6B"
)
TOPICS = (
    "love|war|the sea|winter|space|black holes|democracy|football|tennis|cooking|music|jazz|opera|"
    "painting|history|ancient rome|egypt|the middle ages|evolution|genetics|vaccines|headaches|"
    "back pain|sleep|diets|vitamins|yoga|gardening|roses|cats|dogs|horses|dinosaurs|volcanoes|"
    "earthquakes|the moon|mars|the stars|philosophy|plato|religion|economics|inflation|taxes|"
    "bitcoin|stocks|real estate|marketing|law|contracts|travel|camping|sailing|chess|poker|video "
    "games|movies|novels|poetry|photography|fashion|wine|beer|coffee|tea|chocolate|bread|pizza|"
    "physics|chemistry|mathematics|geometry|quantum computers|javascript|rust|kubernetes|linux|sql|"
    "excel|photoshop|postgres|nginx|docker|react|git|wordpress|climate change|electric cars|trains|"
    "airplanes|bridges|architecture|psychology|stress|friendship|marriage|children|schools|exams|"
    "job interviews|salaries|retirement|politics|elections|kings|pirates|dragons|ghosts|dreams"
)
OFF_TOPIC = [
    "[what|which|who|where|why|when|how] [is|are|was|were|did|does|can|should|will] [the |a |my |"
    "our |]{w} [of|and|in|for|with|like|without|near] [the |a |my |]{w2}",
    "[tell me|explain|describe|write|find|show me|i need|give me|i want|i love|help me with|"
    "recommend|do you like|what about] [the |a |my |some |]{w} [of|and|in|for|with|from] [the |a "
    "|my |]{w2}",
    "[my|the|our|her|his] {w} [is|was|has|had|needs|wants|likes|lost|makes] [a |the |my |"
    "]{w2}[, what should i do|, what now|. what can i do|, why|. any advice|]",
    "[which|what] {w} [is|was] the [best|biggest|oldest|fastest|first|most famous|largest|"
    "nicest][ in the world| of all| ever| in {city}|]",
    "how [many|much|old|big|long|far|deep|tall|expensive|good] [is|are|was|were] [the |a |my |"
    "]{w}[ in {city}| of {name}|]",

    "what is the capital of [france|spain|peru|japan|australia|{name}]", "who [invented|discovered|"
    "built|wrote|painted|directed|composed] [the telephone|penicillin|the eiffel tower|hamlet|the "
    "mona lisa|electricity|radio|star wars|the bible|{thing}]", "who is the [president|king|prime "
    "minister|mayor|boss|leader] of [germany|france|the united states|{city}|{company}]", "write "
    "[me |][a|an] [poem|story|essay|song|novel|letter|joke|haiku|speech|blog post|summary|report|"
    "email|tweet|limerick|fairy tale|review] [about|on|for] [{topic}|{thing}|{name}|{city}]",
    "tell me [a joke|a story|something funny|a fairy tale|a secret|the news|the time|the date|my "
    "fortune|a riddle|something about {topic}]", "[translate|put] [this|good morning|the text|my "
    "letter|the sentence|{thing}] [to|into] [french|german|spanish|chinese|latin|japanese]",
    "what is the [weather|temperature] [like |][in {city}|today|tomorrow|outside|on {day}]",
    "will it [rain|snow|be sunny] [tomorrow|in {city}|on {day}|this weekend]", "[give me|i need|"
    "find|write|suggest] [a|some] [recipe|recipes] for "
    "[pasta|cake|soup|bread|curry|{thing}|dinner]",
    "how do i [cook|bake|make|prepare|grill] [pasta|rice|bread|a cake|eggs|soup|a steak|dinner]",
    "[write|show me|give me|make] [a|some] [python|javascript|rust|c|java|sql|bash|html] [code|"
    "function|script|program|class|query|page] [that sorts a list|to read a file|for a web "
    "page|for "
    "{topic}|that adds numbers|to download a page]", "[explain|describe|teach me|tell me "
    "about|what "
    "is|what are|what do you know about|what do you think about|summarise|define|what's the story "
    "of|give me facts about|i have a question about] {topic}", "how does [{topic}|a car engine|the "
    "heart|a rocket|the stock market|photosynthesis|gravity|a battery|the internet] work",
    "how [far|big|old|tall|heavy|fast|deep|hot|long] is [the moon|the sun|mount everest|the "
    "earth|{city}|{name}|a whale|the nile|a marathon]", "how many [people live in {city}|planets "
    "are "
    "there|bones has a human|countries are there|days has a year|legs has a spider|people are on "
    "earth]", "when [was|did] [the second world war|rome founded|{name} born|{city} founded|the "
    "titanic sink|the berlin wall fall|the moon landing happen|columbus sail]", "where is [{city}|"
    "the nile|mount everest|my phone|{name}|the nearest shop|atlantis]", "why is the [sky blue|sea "
    "salty|grass green|moon round|sun hot]", "[should i|is it wise to|is it good to] [buy {thing}|"
    "marry {name}|quit my job|move to {city}|learn {topic}|invest in stocks|buy bitcoin]",
    "what should i [eat|wear|cook|read|watch|buy|study|do] [today|tonight|tomorrow|this "
    "weekend|for "
    "dinner|next]", "[recommend|suggest] [me |][a|some] "
    "[book|film|movie|restaurant|hotel|song|game|"
    "podcast|holiday|present|name for my cat]", "[i have|i've got|my son has|why do i have] [a "
    "headache|a cold|fever|back pain|a cough|a rash|trouble sleeping][, what should i do|. what "
    "helps|]", "[play|sing|draw|paint|generate|make|record|show me] [a song|a picture|an image of "
    "{topic}|music|a video|a logo|a cat|me]", "who [won|will win] the [world "
    "cup|election|race|game|"
    "match|oscar|league][ in 2018| last year| yesterday|]", "[book|order|buy|reserve|find] [me "
    "|][a|"
    "the] [flight|table|hotel|taxi|pizza|ticket|train] [to {city}|for tonight|for two|now|in "
    "{city}]",
    "what is the [meaning|purpose] of life", "do you [love me|like music|believe in god|have "
    "feelings|"
    "dream|sleep|eat|have friends|know {name}]", "what happened in [1492|1789|1914|1945|1969|2001|"
    "{city}][ and why|]", "[solve|integrate|differentiate|prove] [the equation|x squared|this "
    "integral|the theorem|fermat's last theorem|my homework|the riddle]", "what is the [default "
    "port|"
    "latest version|licence|config file|best feature] of [postgres|nginx|redis|mysql|linux|docker|"
    "{company}]", "how do i [install|start|stop|use|configure|uninstall] [postgres|nginx|docker|"
    "linux|windows|photoshop|wordpress|redis|kubernetes|{company}]", "[review|fix|debug|check|"
    "improve|correct|rewrite] my [code|essay|cv|letter|homework|thesis|grammar|poem]", "how much "
    "[is|does|costs] [a {thing}|gold|a house in {city}|an iphone|a ticket|a car][ "
    "cost|]", "[compare|"
    "which is better,] [python and java|cats and dogs|{city} and {city2}|iphone or android|tea or "
    "coffee]", "what does [{name}|love|the word serendipity|carpe diem|my dream] mean", "[plan|"
    "organise] [my holiday|a trip to {city}|a party|my week|a wedding|a birthday for {name}]",
    "[how can i|how do i|help me] [lose weight|get rich|sleep better|find a job|learn {topic}|make "
    "friends|fix my car|repair my {thing}|write a book|get fit|stop smoking|learn french|impress "
    "{name}]", "{topic}[?| please| explained]", "what colour is [the sky|a {thing}|grass|mars|your "
    "hair]", "can you [drive a car|see me|hear me|speak french|sing|cook|order pizza|call {name}|"
    "browse the web|write code|draw|remember last week|send an email]", "are you [better than|as "
    "good "
    "as|smarter than] [chatgpt|gpt-4|claude|gemini|a human|other models]",
]  # fmt: skip

OFF_TOPIC += asked_refusals.OFF_TOPIC + asked_refusals_more.OFF_TOPIC


def _topic(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.45:
        return rng.choice(TOPICS.split("|"))
    if roll < 0.9:
        return rng.choice(["", "", "the ", "my ", "our "]) + rng.choice(words.WORLD)
    return words.invented(rng)


def _slots(rng: Random) -> dict[str, str]:
    return {
        "topic": _topic(rng),
        "w": rng.choice(words.WORLD),
        "w2": rng.choice(words.WORLD),
        "name": words.person(rng),
        "city": words.city(rng),
        "city2": words.city(rng),
        "company": words.company(rng),
        "thing": words.thing(rng),
        "day": rng.choice(words.DAYS),
        "month": rng.choice(words.MONTHS),
        "fruit": rng.choice(words.FRUITS),
        "animal": rng.choice(words.ANIMALS),
        "k": str(rng.randint(2, 999)),
    }


def _fill(text: str, rng: Random) -> str:
    for name, value in _slots(rng).items():
        text = text.replace("{" + name + "}", value)
    return text


def ask(rng: Random) -> str:
    """A request that is out of reach."""
    if rng.random() < 0.5:
        return _fill(asked_refusals_wide.ask(rng), rng)
    return expand(rng.choice(OFF_TOPIC), rng, _slots(rng))


def ask_again(rng: Random) -> str:
    """Another request after a first one was declined."""
    return _fill(asked_refusals_wide.ask_again(rng), rng)
