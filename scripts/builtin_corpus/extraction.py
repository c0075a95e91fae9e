"""Text to JSON: the prompt names the fields (as a schema, a list or an example), the answer copies.

Values are copied letter for letter from the text, and many are invented words, so that the model
learns to copy and not to recall.
"""

from __future__ import annotations

import json
from random import Random

from . import (
    extraction_asks,
    extraction_asks_more,
    extraction_everyday,
    extraction_frames,
    extraction_marked,
    values,
    words,
)
from .extraction_layouts import Record, describe_fields, joined_with_and, slots_of, styled_keys
from .extraction_texts import ALIASES, DRAW, SLOT, TEXTS
from .grammar import articles, expand

Names = dict[str, str]

ASKS = (extraction_asks, extraction_asks_more, extraction_frames)

EVENT_KINDS = ["team", "board", "design", "budget", "yearly"]
EVENT_NAMES = ["meeting", "dinner", "workshop", "review", "lunch", "concert", "call"]


def _person(rng: Random) -> Record:
    return {
        "name": words.person(rng),
        "age": rng.randint(3, 99),
        "city": words.city(rng),
        "job": rng.choice(words.JOBS) if rng.random() < 0.8 else words.invented(rng),
        "email": words.email(rng),
        "company": words.company(rng),
    }


def _order(rng: Random) -> Record:
    return {
        "product": words.thing(rng),
        "quantity": rng.randint(1, 60),
        "price": rng.randint(1, 999),
        "customer": words.person(rng),
        "city": words.city(rng),
        "order_id": rng.randint(100, 99999),
    }


def _event(rng: Random) -> Record:
    return {
        "title": f"{rng.choice([*EVENT_KINDS, words.invented(rng)])} {rng.choice(EVENT_NAMES)}",
        "day": rng.choice(words.DAYS),
        "month": rng.choice(words.MONTHS),
        "date": f"{rng.randint(2020, 2031)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "time": f"{rng.randint(7, 22):02d}:{rng.choice(['00', '15', '30', '45'])}",
        "city": words.city(rng),
        "people": rng.randint(2, 90),
        "room": rng.randint(1, 400),
        "host": words.person(rng),
    }


# For each kind: sentences, each with the fields that it states. Two or three make a text.
PERSON = [
    ("[{name} is {age} years old|{name} is {age}|{name}, aged {age}, is here|{name} turned {age} "
     "last week|meet {name}, {age} years old|{name} ({age}) wrote to us|at {age}, {name} still "
     "runs every day|my name is {name} and i am {age}|{name} just had a birthday and is now {age}]",
     ["name", "age"]),
    ("[{name} lives in {city}|{name} is from {city}|{name} moved to {city}|{name} comes from "
     "{city}|"
     "{name} has a flat in {city}|i am {name} and i live in {city}|{city} is the home of {name}|"
     "in {city} there lives {name}]", ["name", "city"]),
    ("[{name} works as a {job}|{name} is a {job}|{name} found work as a {job}|the {job} {name} is "
     "on the phone|we hired {name} as a {job}|{name} earns a living as a {job}]", ["name", "job"]),
    ("[{name} works at {company}|{name} of {company} called|{name} joined {company}|{company} "
     "hired {name}|{name} is employed by {company}|{name} left {company}]", ["name", "company"]),
    ("[write to {name} at {email}|{name} can be reached at {email}|the address of {name} is "
     "{email}|{name} <{email}> asked for help|mail {name}: {email}|contact {name} via {email}]",
     ["name", "email"]),
    ("[{name}, a {age} year old {job} from {city}, won the prize|{name} is a {job} in {city} and "
     "{age} years old|the {job} {name}, {age}, lives in {city}|{name} ({age}) from {city} works as "
     "a {job}]", ["name", "age", "city", "job"]),
    ("[{name}, {age}, lives in {city}|{name} is {age} and lives in {city}|{name} from {city} is "
     "{age} years old|at the age of {age} {name} moved to {city}|a {age} year old from {city} "
     "named {name} called us]", ["name", "age", "city"]),
]  # fmt: skip
ORDER = [
    ("[{customer} ordered {quantity} x {product} for {price} euros|{customer} bought {quantity} x "
     "{product} and paid {price} euros|please send {quantity} x {product} to {customer}, price "
     "{price}|{customer} wants {quantity} pieces of the {product}, {price} euros in all]",
     ["customer", "quantity", "product", "price"]),
    ("[order {order_id}: {quantity} x {product}|order number {order_id} is for {quantity} x "
     "{product}|"
     "{quantity} pieces of the {product} were sold in order {order_id}|in order {order_id} there "
     "are {quantity} pieces of the {product}]", ["order_id", "quantity", "product"]),
    ("[the {product} costs {price} euros|a {product} for {price} euros|{price} euros is the price "
     "of the {product}|we sell the {product} at {price}|the price of a {product} is {price}]",
     ["product", "price"]),
    ("[{customer} from {city} bought a {product}|a {product} goes to {customer} in {city}|ship the "
     "{product} to {customer}, {city}|{customer} picked up a {product} in {city}]",
     ["customer", "city", "product"]),
    ("[{customer} bought {quantity} x {product}|{quantity} x {product} for {customer}|{customer} "
     "needs {quantity} x {product}|{customer} took {quantity} pieces of the {product}]",
     ["customer", "quantity", "product"]),
]  # fmt: skip
EVENT = [
    ("[the {title} is on {day} at {time}|{title}: {day}, {time}|on {day} at {time} we have the "
     "{title}|do not miss the {title} this {day} at {time}]", ["title", "day", "time"]),
    ("[the {title} takes place in {city} on {date}|on {date} {city} hosts the {title}|{title} in "
     "{city}, {date}|see you in {city} on {date} for the {title}]", ["title", "city", "date"]),
    ("[the {title} in room {room} has {people} guests|{people} people come to the {title} in room "
     "{room}|room {room} is booked for {people} people, {title}]", ["title", "room", "people"]),
    ("[{host} invites you to the {title} in {city}|the {title} in {city} is led by {host}|{host} "
     "opens the {title} in {city}|{host} runs the {title} in {city}]", ["title", "host", "city"]),
    ("[the {title} with {host} starts at {time} on {date}|{date}, {time}: {title} with {host}|"
     "{host} holds the {title} on {date} at {time}]", ["title", "host", "time", "date"]),
]  # fmt: skip
KINDS = [(_person, PERSON), (_order, ORDER), (_event, EVENT)]
TASKS = [
    "[extract|get|pull out|take|find|collect|pick] the "
    "[fields|data|values|information|details|facts]"
    "[ from the text| from this text| below|]", "[turn|convert|transform|put|change] [the|this] "
    "[text|sentence|note|message] [into|to] json", "[return|give|write|answer with|reply "
    "with|output|"
    "produce|print] [json|a json object|only json|the json][ for this text| from the text|]",
    "[fill|complete] the [schema|fields|form|json][ from the text|]", "[parse|read|analyse] "
    "[the|this] "
    "[text|sentence|message|note][ into json| and answer in json|]", "[text to json|extract "
    "json|to json|"
    "json please|make json of this]", "what are the [values|fields|details] in [this|the] text? "
    "answer "
    "in json",
]  # fmt: skip
FILLERS = [
    "The weather was fine.", "Nobody else was there.", "It was a long day.", "Thanks for your "
    "help.",
    "Please note it.", "We were glad.", "That is all for now.", "More news will follow.",
    "It rained in the morning.", "Everyone agreed.", "This came in today.", "Kind regards.",
]  # fmt: skip


def key_name(field: str, rng: Random, stated: dict[str, str | int | float], known: Names) -> str:
    """A name under which a field is asked for that no other field of the text could bear."""
    taken = {a for f in stated if f != field for a in [f, *known[f].split()]}
    options = [a for a in known[field].split() if a not in taken] or [field]
    return options[0] if rng.random() < 0.4 else rng.choice(options)


def aside(rng: Random) -> str:
    """A sentence beside the matter."""
    slots = {"n": values.person(rng), "k": str(values.number(rng, 3)), "c": values.place(rng),
             "w": values.word(rng), "t": rng.choice(values.GOODS)}  # fmt: skip
    return articles(expand(rng.choice(extraction_frames.ASIDE), rng, slots))


def filled_lines(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    """`expand` that keeps the pattern's line breaks and the case of values at the beginning."""
    text = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
    if not text.startswith(("{", '"')) and rng.random() < 0.85:
        text = text[:1].upper() + text[1:]
    return articles(SLOT.sub(lambda found: slots[found.group(1)], text))


def _foreign(stated: list[str], rng: Random) -> str:
    """A sentence of another kind of record, none of whose fields could be meant by the keys."""
    taken = {alias for field in stated for alias in ALIASES[field].split()}
    while True:
        drawers, patterns = TEXTS[rng.choice(list(TEXTS))]
        pattern = rng.choice(patterns)
        fields = set(SLOT.findall(pattern))
        if not taken & {alias for field in fields for alias in ALIASES[field].split()}:
            return filled_lines(pattern, rng, {f: str(DRAW[drawers[f]](rng)) for f in fields})


def _stated(rng: Random) -> tuple[str, dict[str, str | int | float]]:
    """A text of one to three sentences, and the fields that it states with their values."""
    kind = rng.choice(list(TEXTS))
    drawers, patterns = TEXTS[kind]
    drawn = {field: DRAW[drawer](rng) for field, drawer in drawers.items()}
    if "email" in drawn and "name" in drawn:
        drawn["email"] = values.email_of(str(drawn["name"]), rng)
    slots = {field: str(value) for field, value in drawn.items()}
    count = rng.choices([1, 2, 3], [6, 4, 1])[0]
    parts: list[str] = []
    stated: list[str] = []
    for pattern in rng.sample(patterns, count):
        chosen = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
        found = [f for f in SLOT.findall(chosen) if f not in stated]
        if not parts or found:
            parts.append(filled_lines(chosen, rng, slots))
            stated += found
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), filled_lines(aside(rng), rng, {}))
    if rng.random() < 0.15:
        other = _foreign(stated, rng)
        parts.insert(rng.randint(0, len(parts)), other)
    text = rng.choice([". ", ". ", ". ", ".\n"]).join(parts) + rng.choice([".", ".", "", "!"])
    return text, {field: drawn[field] for field in stated}


def framed(pattern: str, rng: Random, slots: dict[str, str]) -> str:
    """The frame with its slots filled; line breaks in frame and values stay."""
    text = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
    if rng.random() < 0.75 and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    return SLOT.sub(lambda found: slots[found.group(1)], text)


def _any_text(rng: Random) -> tuple[str, dict[str, str | int | float], Names]:
    """A text, the fields that it states, and the names that each may be asked for by."""
    roll = rng.random()
    if roll < 0.45:
        marked = rng.choice(extraction_marked.TEXTS)
        return *marked.stated(rng), marked.known
    if roll < 0.8:
        return *extraction_everyday.stated(rng), extraction_everyday.ALIASES
    return *_stated(rng), ALIASES


def wide_sample(rng: Random) -> tuple[str | None, str, str]:
    """System text (or None), user text, answer: exactly the keys asked for, in their order."""
    text, stated, known = _any_text(rng)
    fields = list(stated)
    if rng.random() < 0.55:
        rng.shuffle(fields)
    if rng.random() < 0.6:
        fields = fields[: rng.choice([1, 1, 2, 2, 2, 3, 3, 4])]
    fields = fields[:5]
    keys = styled_keys([key_name(field, rng, stated, known) for field in fields], rng)
    while len(set(keys)) < len(keys):
        keys = [key_name(field, rng, stated, known) for field in fields]
    if rng.random() < 0.06:  # names that nobody has met, which still say what is meant
        keys = [f"{values.word(rng)}_{key}" for key in keys]
    record: Record = {key: stated[field] for key, field in zip(keys, fields, strict=True)}
    compact = rng.random() < 0.08
    answer = json.dumps(record, ensure_ascii=False, separators=(",", ":") if compact else None)
    note = rng.choice([" (compact JSON)", "\nCompact JSON.", "\nNo spaces in the JSON."])
    slots = slots_of(record, text, rng)
    source = rng.choices(ASKS, [4, 3, 3])[0]
    if rng.random() < 0.2:
        system = framed(rng.choice(source.SYSTEM), rng, slots)
        return system + (note if compact else ""), text, answer
    frames = source.KEYS if rng.random() < 0.72 else source.SCHEMAS
    user = framed(rng.choice(frames), rng, slots)
    return None, user + (note if compact else ""), answer


AGAIN = [
    "[and|now|then|next|only|just|also][:|] [the |]{k}[ please|]", "{k}", "[now |]json with {k}",
    "[now|and now|this time] [only|just] {k}", "[the same|again][,| but] with {k}", "{k} only",
    "[and|now] an object with {k}", "give me {k} [instead|too|as well|as json]",
    "[what about|how about|and] {k}", "[i also|now i|i] need {k}", "same text, {k}",
]  # fmt: skip


def in_turns(rng: Random) -> list[tuple[str, str]]:
    """Several requests for fields of one text, with their answers.

    Each asks for other fields than the one before: it is the text that must be read anew.
    """
    stated: dict[str, str | int | float] = {}
    while len(stated) < 2:
        text, stated, known = _any_text(rng)
    pairs: list[tuple[str, str]] = []
    before: list[str] = []
    for turn in range(rng.randint(2, 5)):
        fields = before
        while fields == before:
            fields = rng.sample(list(stated), min(len(stated), rng.choice([1, 1, 1, 2, 2, 3])))
        before = fields
        keys = [key_name(field, rng, stated, known) for field in fields]
        while len(set(keys)) < len(keys):
            keys = [key_name(field, rng, stated, known) for field in fields]
        record: Record = {key: stated[field] for key, field in zip(keys, fields, strict=True)}
        if turn == 0:
            source = rng.choices(ASKS, [4, 3, 3])[0]
            user = framed(rng.choice(source.KEYS), rng, slots_of(record, text, rng))
        else:
            user = framed(
                rng.choice(AGAIN), rng, {"k": rng.choice([", ".join(keys), joined_with_and(keys)])}
            )
        pairs.append((user, json.dumps(record, ensure_ascii=False)))
    return pairs


def sample(rng: Random) -> tuple[str | None, str, str]:
    """System text (or None), user text, answer."""
    if rng.random() < 0.8:
        return wide_sample(rng)
    make, texts = rng.choice(KINDS)
    values = make(rng)
    sentence, stated = rng.choice(texts)
    slots = {k: str(v) for k, v in values.items()}
    parts = [filled_lines(sentence, rng, slots)]
    if rng.random() < 0.3:
        other, more = rng.choice(texts)
        if not set(more) <= set(stated):
            parts.append(filled_lines(other, rng, slots))
            stated = stated + [k for k in more if k not in stated]
    if rng.random() < 0.25:
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(FILLERS).rstrip("."))
    text = ". ".join(parts) + rng.choice([".", ".", ".", "", "!"])
    keys = list(stated)
    if rng.random() < 0.5:
        rng.shuffle(keys)
    keys = keys[: rng.randint(1, len(keys))] if rng.random() < 0.4 else keys
    record: Record = {key: values[key] for key in keys}
    compact = rng.random() < 0.15
    answer = json.dumps(record, ensure_ascii=False, separators=(",", ":") if compact else None)
    fields = describe_fields(record, rng, values)
    task = expand(rng.choice(TASKS), rng)
    task = (task[:1].upper() + task[1:]) if rng.random() < 0.8 else task
    if compact:
        task += rng.choice([" as compact JSON", " (compact JSON)", ", no spaces in the JSON"])
    quoted = rng.choice(["{}", "{}", '"{}"', "Text: {}", "text: {}", 'Text: "{}"']).format(text)
    mark = rng.choice([". ", ": ", ".\n", "\n"])
    if rng.random() < 0.35:
        system = f"{task}{mark}{fields}"
        return system, quoted, answer
    if rng.random() < 0.6:
        return None, f"{task}{mark}{fields}\n{quoted}", answer
    return None, f"{quoted}\n{task}{mark}{fields}", answer
