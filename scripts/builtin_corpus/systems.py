"""System prompts: none, short, and long ones built of project text, with records to look up.

Long system prompts exist so that the shared-prefix demonstrations do not derail the model: it must
answer the same after a thousand tokens of rules and notes as after none.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import words
from .facts import FACTS
from .grammar import expand

SHORT = [
    "You are a helpful assistant.", "You are the assistant of the YAIE project.", "Be brief.",
    "Answer in one sentence.", "You answer questions about YAIE.", "Be polite and short.",
    "You are a support bot.", "Answer the user.", "You are helpful, honest and short.",
    "You are a careful assistant. Use the tools when they fit.", "Help the user with the task.",
    "You are an assistant in a terminal.", "Keep your answers short and correct.",
    "You work for a small company. Help its people.", "You are an expert in serving models.",
]  # fmt: skip
RULES = [
    "[always|please|you should|you must|remember to] [be polite|answer briefly|stay on the "
    "topic|use "
    "plain words|keep to the facts|read the question twice|give one answer|use short sentences|be "
    "exact with numbers|name the command|say so when you do not know|write clean json|greet nobody "
    "twice|keep names as they are|avoid guesses]", "[never|do not|you must not|avoid to] "
    "[guess|invent "
    "numbers|repeat the question|apologise twice|mention these rules|use jokes|write long "
    "texts|leave "
    "out a field|change a name|promise anything|translate names|argue with the user]", "[when|if] "
    "[the "
    "user|a caller|somebody] [asks for a number|wants json|needs a tool|says thanks|greets "
    "you|asks "
    "twice|is angry|sends a text|is new|mentions a model], [answer at once|be kind|keep it "
    "short|check "
    "it first|use the right fields|stay calm|follow the format|point to the manual]", "[the "
    "team|our "
    "office|the service|this desk|the company|the project] [is open from 8 to 17|has {k} "
    "people|moved "
    "to {city}|works for {company}|meets on {day}|was founded in {month}|ships {thing} to {city}|"
    "prefers {colour}|trusts {name}|keeps a {animal}]", "[{name} is|{name} works as] our {job}[ in "
    "{city}|]", "[on {day}|in {month}] [we|the team] [meet|rest|review the work|plan|travel to "
    "{city}|"
    "write reports|test everything|talk to {company}]", "[section|part|note|rule] {k}: [keep the "
    "{thing} clean|the {thing} is {colour}|ask {name} first|call {name} in {city}|see the {thing} "
    "in "
    "{city}|the {animal} belongs to {name}]", "[the user|a customer|the reader] "
    "[likes|wants|expects|"
    "deserves] [short answers|exact figures|clear words|a direct reply|good manners|facts]",
]  # fmt: skip
ATTRIBUTES: dict[str, Callable[[Random], str]] = {
    "room": lambda r: str(r.randint(1, 499)), "desk": lambda r: str(r.randint(1, 99)),
    "code": lambda r: str(r.randint(1000, 9999)), "colour": lambda r: r.choice(words.COLOURS),
    "city": words.city, "pet": lambda r: r.choice(words.ANIMALS),
    "fruit": lambda r: r.choice(words.FRUITS), "job": lambda r: r.choice(words.JOBS),
    "badge": words.invented, "day": lambda r: r.choice(words.DAYS),
    "password": words.invented, "phone": lambda r: str(r.randint(100, 999)),
}  # fmt: skip
RECORD = (
    "[the {a} of {n} is {v}|{n} has the {a} {v}|{a} of {n}: {v}|{n}, {a}: {v}|{n}'s {a} is {v}]"
)
LOOKUP = [
    "[what is|what's|tell me|give me|i need|find|look up|which is|do you know] the {a} of {n}",
    "[what is|what's|tell me|which is] {n}'s {a}", "[which|what] {a} [has {n}|does {n} have]",
    "{n}'s {a}", "the {a} of {n}[| please]", "{a} of {n}", "[which|what] {a} belongs to {n}",
    "what does the [text|note|system prompt|list] say about the {a} of {n}",
]  # fmt: skip


def rule(rng: Random) -> str:
    """One sentence of filler."""
    text = expand(rng.choice(RULES), rng, {
        "k": str(rng.randint(2, 60)), "city": words.city(rng), "company": words.company(rng),
        "day": rng.choice(words.DAYS), "month": rng.choice(words.MONTHS), "thing": words.thing(rng),
        "colour": rng.choice(words.COLOURS), "name": words.person(rng),
        "job": rng.choice(words.JOBS),
        "animal": rng.choice(words.ANIMALS),
    })  # fmt: skip
    return text[:1].upper() + text[1:] + "."


def records(rng: Random, n: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Sentences that state attributes of people, and questions with answers about them."""
    lines, pairs = [], []
    people: set[str] = set()
    for _ in range(n):
        name = words.person(rng)
        if name.split()[0] in people:
            continue
        people.add(name.split()[0])
        attribute = rng.choice(sorted(ATTRIBUTES))
        value = ATTRIBUTES[attribute](rng)
        slots = {"a": attribute, "n": name, "v": value}
        line = expand(RECORD, rng, slots)
        lines.append(line[:1].upper() + line[1:] + ".")
        question = expand(rng.choice(LOOKUP), rng, slots)
        pairs.append((question, f"The {attribute} of {name} is {value}."))
    return lines, pairs


def long_prompt(rng: Random, words_wanted: int) -> tuple[str, list[tuple[str, str]]]:
    """A system prompt of about that many words, and lookups that it answers."""
    lines, pairs = records(rng, rng.randint(2, 8))
    total = sum(len(line.split()) for line in lines)
    facts_share = rng.choice([0.0, 0.2, 0.5])
    while total < words_wanted:
        line = rng.choice(FACTS).answer if rng.random() < facts_share else rule(rng)
        lines.append(line)
        total += len(line.split())
    rng.shuffle(lines)
    glue = rng.choice([" ", "\n", "\n- "])
    head = rng.choice([*SHORT, "Notes:", "Handbook of the team.", "Rules and records:"])
    return head + ("\n" if glue != " " else " ") + glue.join(lines).lstrip(), pairs
