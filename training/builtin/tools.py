"""Tool calls: the tools are listed in the prompt, under changing names, and the model picks one.

A tool has several names, parameter names and descriptions, so the model must read the list. Some
conversations go on with a tool response, which the model puts into a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from . import values, words
from .grammar import articles, expand
from .tables import load

T = load("tools")

Message = dict[str, Any]


@dataclass(frozen=True)
class Param:
    """One parameter: its possible names, its JSON type, and how to draw a value."""

    names: str
    type: str
    draw: Callable[[Random], str | int]


@dataclass(frozen=True)
class Tool:
    """A tool: possible names and descriptions, parameters, requests, results and their answers."""

    names: str
    about: str
    params: dict[str, Param]
    asks: list[str]
    results: list[tuple[str, str]]


def _text(rng: Random) -> str:
    return articles(expand(
        T.TEXT,
        rng,
        {"n": words.person(rng), "a": rng.choice(words.T.ANIMALS), "t": rng.choice(words.T.THINGS),
         "i": words.invented(rng), "k": str(rng.randint(1, 23)), "f": rng.choice(words.T.FRUITS),
         "c": words.city(rng)},
    ))  # fmt: skip


def _query(rng: Random) -> str:
    return articles(expand(
        T.QUERY,
        rng,
        {"t": rng.choice(words.T.THINGS), "f": rng.choice(words.T.FRUITS), "c": words.city(rng),
         "a": rng.choice(words.T.ANIMALS), "i": words.invented(rng), "j": rng.choice(words.T.JOBS),
         "w": rng.choice(words.T.WORLD), "w2": rng.choice(words.T.WORLD), "n": words.person(rng),
         "k": str(rng.randint(2, 900)), "c2": words.city(rng), "i2": words.invented(rng),
         "l": rng.choice(words.T.LANGUAGES)},
    ))  # fmt: skip


CITY = Param("city|location|place|town", "string", values.place)
PERSON = Param("name|to|person|recipient|contact", "string", values.person)
MINUTES = Param("minutes|duration|mins", "integer", lambda r: r.randint(1, 90))

TOOLS = [
    Tool("get_weather|weather|weather_lookup|current_weather|fetch_weather|forecast",
         "[Get|Look up|Return|Fetch] the [current |] weather [of a city|for a place|in a town|]",
         {"city": CITY},
         ["[what is|what's|how is|tell me|check|look up|give me] the [weather|forecast] "
          "[in|for|at] "
          "{city}[| now| today| right now]", "[is it|will it be] [raining|sunny|cold|warm|windy] "
          "in "
          "{city}[| today| now]", "do i need [an umbrella|a coat] in {city}[| today]", "{city} "
          "weather"
          "[| please]", "[how|what is it] like outside in {city}", "how [warm|cold|hot] is it in "
          "{city}[| now| today]", "i am going to {city}, what is the weather"],
         [('{"temperature": {number}, "sky": "{sky}"}',
           "It is {number} degrees and {sky} in {city}.")]),
    Tool("get_time|current_time|clock|time_in_city|local_time|time_lookup",
         "[Get|Tell|Return] the [local |current |] time [in a city|of a place|]", {"city": CITY},
         ["[what time is it|what is the time|tell me the time|what's the time] in {city}[| now| "
          "right "
          "now]", "[local|current] time in {city}", "how late is it in {city}", "[what does the "
          "clock "
          "say|what hour is it] in {city}", "is it already [night|morning|evening] in {city}"],
         [('{"time": "{clock}"}', "It is {clock} in {city}.")]),
    Tool("search|web_search|search_web|find_pages|lookup|search_docs",
         "[Search|Look through|Query] the [web|documents|index][ for a query|]",
         {"query": Param("query|q|text|keywords|terms", "string", _query)},
         ["[search|search the web|look|google|do a search] for {query}", "[find|look up] "
          "{query}[| on "
          "the web| online]", "[can you |please |]search {query}", "web search: {query}"],
         [('{"results": {number}}', "I found {number} results for {query}.")]),
    Tool("set_timer|timer|start_timer|countdown|create_timer",
         "[Set|Start] a [timer|countdown][ in minutes|]", {"minutes": MINUTES},
         ["[set|start|make|create|put on] a [timer|countdown] [of|for] {minutes} minutes", "[wake "
          "me|"
          "call me|beep|ring] in {minutes} minutes", "timer {minutes} minutes", "{minutes} minute "
          "timer"
          "[| please]", "count down {minutes} minutes", "remind me in {minutes} minutes"],
         [('{"status": "started"}', "The timer for {minutes} minutes is started.")]),
    Tool("send_message|send_text|message|text_person|send_note|notify",
         "[Send|Write] a [message|text|note] to a person",
         {"name": PERSON, "text": Param("text|message|body|content", "string", _text)},
         ["[send|write] [{name} a message|a message to {name}|{name} a note|a text to {name}]: "
          "{text}",
          "[tell|text|message|notify] {name}: {text}", "[let {name} know|write to {name}]: {text}"],
         [('{"status": "sent"}', "The message to {name} was sent.")]),
    Tool("play_music|play_song|music|start_song|player",
         "[Play|Start] [a song|music]",
         {"song": Param("song|title|track|name", "string",
                        lambda r: f"{words.invented(r).capitalize()} {r.choice(words.T.COLOURS)}")},
         ["[play|start|put on|i want to hear|let me hear|play the song|start the song] {song}"],
         [('{"status": "playing"}', "{song} is playing.")]),
    Tool("translate|translate_text|translation|to_language",
         "[Translate|Convert] a [text|word] [into|to] [a|another] language",
         {"text": Param("text|word|phrase", "string",
                        lambda r: r.choice(words.T.THINGS + words.T.ANIMALS + words.T.FRUITS)),
          "language": Param("language|target|to|lang", "string",
                            lambda r: r.choice(words.T.LANGUAGES))},
         ["[translate|put|convert] {text} [to|into] {language}", "what is {text} in {language}",
          "how do [you|i] say {text} in {language}", "the {language} word for {text}"],
         [('{"translation": "{word}"}', "{text} in {language} is {word}.")]),
    Tool("convert_currency|exchange|currency|convert_money|fx_rate",
         "[Convert|Exchange] [money|an amount] [between currencies|to another currency|]",
         {"amount": Param("amount|value|sum", "integer", lambda r: r.randint(1, 999)),
          "source": Param("source|from|from_currency", "string",
                          lambda r: r.choice(["euros", "dollars", "pounds", "yen", "francs"])),
          "target": Param("target|to|to_currency", "string",
                          lambda r: r.choice(["rupees", "kronor", "pesos", "lira", "zloty"]))},
         ["[convert|change|exchange] {amount} {source} [to|into] {target}", "how many {target} "
          "[are|do "
          "i get for] {amount} {source}", "how much is {amount} {source} in {target}", "{amount} "
          "{source} in {target}"],
         [('{"result": {number}}', "{amount} {source} are {number} {target}.")]),
    Tool("add_numbers|add|sum_numbers|plus|adder",
         "[Add|Sum] two numbers",
         {"a": Param("a|x|first|left", "integer", lambda r: r.randint(1, 999)),
          "b": Param("b|y|second|right", "integer", lambda r: r.randint(1, 999))},
         ["[add|sum] {a} and {b}", "[use the tool to add|add with the tool] {a} and {b}", "what "
          "is {a} "
          "plus {b}", "{a} + {b}"],
         [('{"result": {number}}', "{a} + {b} = {number}.")]),
    Tool("read_file|open_file|cat_file|load_file|get_file",
         "[Read|Open|Return] [a file|the text of a file]",
         {"path": Param("path|file|filename|file_name", "string",
                        lambda r: f"{words.invented(r)}.{r.choice(['txt', 'md', 'csv', 'log'])}")},
         ["[read|open|show|load|cat|print] [the file |] {path}", "what is in {path}", "show me "
          "[the "
          "contents of|the file|what is inside] {path}"],
         [('{"lines": {number}}', "{path} has {number} lines.")]),
    Tool("add_todo|create_task|remember|add_reminder|new_task|todo",
         "[Add|Create] [a task|a reminder|an entry of the list]",
         {"task": Param("task|text|title|item", "string", _text)},
         ["[add a task|new task|remind me|add to my list|todo|note|remember]: {task}", "put this "
          "on my "
          "list: {task}", "i must not forget: {task}", "[create|make] a [reminder|task]: {task}"],
         [('{"status": "saved"}', "I noted: {task}.")]),
    Tool("get_price|price|price_of|lookup_price|stock_price",
         "[Get|Look up] the price of [a product|an article|]",
         {"product": Param("product|item|article", "string", words.thing)},
         ["[what is|tell me|get|look up|check] the price of [the |a |]{product}", "how much "
          "[is|does] "
          "[the|a] {product}[ cost|]", "what does [the|a] {product} cost", "price of {product}"],
         [('{"price": {number}}', "The price of {product} is {number}.")]),
    Tool("book_table|reserve_table|reservation|table_booking",
         "[Book|Reserve] a table [in a restaurant|]",
         {"people": Param("people|guests|persons|seats", "integer", lambda r: r.randint(1, 20)),
          "time": Param("time|hour|at|when", "string",
                        lambda r: f"{r.randint(11, 22)}:{r.choice(['00', '30'])}")},
         ["[book|reserve|get me|i need] a table for {people} [people |guests |persons |]at {time}",
          "[dinner|lunch|a table] for {people} at {time}", "table at {time} for {people}"],
         [('{"status": "booked"}', "A table for {people} at {time} is booked.")]),
    Tool("find_user|get_user|user_lookup|search_user|fetch_contact",
         "[Find|Look up] a [user|person|contact] by name", {"name": PERSON},
         ["[find|look up|search for|who is] [the user |the contact |]{name}", "[what is|give "
          "me|show] "
          "the [email|contact|record|entry] of {name}", "[open|get|show] the [profile|record] of "
          "{name}"],
         [('{"email": "{mail}"}', "The email of {name} is {mail}.")]),
    Tool("get_room|room_lookup|where_is_meeting|find_room",
         "[Find|Get] the room of a [day|meeting on a day]",
         {"day": Param("day|weekday|on|date", "string", lambda r: r.choice(words.T.DAYS))},
         ["[which|what] room do we have on {day}", "where [do we meet|is the meeting] on {day}",
          "room for {day}", "in which room are we on {day}"],
         [('{"room": {number}}', "On {day} you have room {number}.")]),
    Tool("turn_on|switch_on|light_on|activate|power_on",
         "[Turn|Switch] on [a device|a lamp|the light of a room]",
         {"room": Param("room|device|where|target", "string",
                        lambda r: r.choice(["kitchen", "bedroom", "hall", "garage", "garden",
                                            "bathroom", "office", words.invented(r)]))},
         ["[turn on|switch on|put on] the [light|lamp] in the {room}", "[light|lights] on in the "
          "{room}", "make [it bright in the {room}|light in the {room}]", "it is dark in the "
          "{room}, "
          "turn on the light"],
         [('{"status": "on"}', "The light in the {room} is on.")]),
]  # fmt: skip

TOOLS = [replace(tool, asks=tool.asks + T.ASKS[tool.names.split("|")[0]]) for tool in TOOLS]


def render(tool: Tool, rng: Random) -> tuple[dict[str, Any], dict[str, str]]:
    """A tool's OpenAI definition under drawn names, and the map from our parameter to its name."""
    chosen: dict[str, str] = {}
    for key, param in tool.params.items():
        options = [n for n in param.names.split("|") if n not in chosen.values()]
        chosen[key] = key if rng.random() < 0.5 and key in options else rng.choice(options)
    properties: dict[str, Any] = {}
    for key, name in chosen.items():
        properties[name] = {"type": tool.params[key].type}
        if rng.random() < 0.25:
            properties[name]["description"] = rng.choice(
                [f"The {key}", f"the {key} to use", f"{name} of the call", f"Which {key}"]
            )
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if rng.random() < 0.7:
        parameters["required"] = list(properties)
    function: dict[str, Any] = {"name": rng.choice(tool.names.split("|"))}
    if rng.random() < 0.85:
        function["description"] = expand(tool.about, rng) + rng.choice(["", "", "."])
    function["parameters"] = parameters
    return {"type": "function", "function": function}, chosen


def listed(rng: Random, tools: list[Tool]) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Definitions of several tools with different names."""
    out: list[tuple[dict[str, Any], dict[str, str]]] = []
    seen: set[str] = set()
    for tool in tools:
        made, chosen = render(tool, rng)
        while made["function"]["name"] in seen:
            made, chosen = render(tool, rng)
        seen.add(made["function"]["name"])
        out.append((made, chosen))
    return out


def call_message(name: str, arguments: dict[str, Any]) -> Message:
    """An assistant message with one tool call."""
    function = {"name": name, "arguments": arguments}
    call = {"type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _number(drawn: dict[str, str | int], answer: str, rng: Random) -> str:
    """The number of a result, which must be right where the request decides it."""
    if "expression" in drawn:
        left, sign, right = str(drawn["expression"]).split()
        a, b = int(left), int(right)
        exact = {"+": a + b, "-": a - b, "*": a * b}
        return str(exact[sign] if sign in exact else round(a / b, 2))
    if "b" in drawn:
        return str(int(drawn["a"]) + int(drawn["b"]))
    if "degrees" in answer:
        return str(rng.randint(-9, 40))
    return str(rng.randint(1, int(drawn.get("limit", 999))))


def sample(rng: Random, pool: list[Tool] = TOOLS) -> tuple[list[dict[str, Any]], list[Message]]:
    """Tool definitions, drawn from the pool, and a conversation that uses one of them."""
    chosen_tools = rng.sample(pool, rng.choice([1, 2, 2, 3, 4]))
    made = listed(rng, chosen_tools)
    pick = rng.randrange(len(made))
    tool, (definition, names) = chosen_tools[pick], made[pick]
    drawn = {key: param.draw(rng) for key, param in tool.params.items()}
    slots = {key: str(value) for key, value in drawn.items()}
    text = expand(rng.choice(tool.asks), rng)
    if rng.random() < 0.75 and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    for key, value in slots.items():
        text = text.replace("{" + key + "}", value)
    text = articles(text)
    if rng.random() < 0.15:
        text = rng.choice(["please ", "Please ", "hey, ", "Hello, ", "Can you help? "]) + text
    text += rng.choice(["", "", ".", "?", "?", "!", " please"])
    arguments = {names[key]: value for key, value in drawn.items()}
    messages: list[Message] = [
        {"role": "user", "content": text},
        call_message(definition["function"]["name"], arguments),
    ]
    if rng.random() < 0.45:
        result, answer = rng.choice(tool.results)
        extra = {
            "sky": rng.choice("sunny cloudy rainy windy foggy snowy".split()),
            "clock": f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}",
            "word": words.invented(rng),
            "place": values.place(rng),
            "mail": words.email(rng),
            "number": _number(drawn, answer, rng),
        }
        for name, value in {**slots, **extra}.items():
            result = result.replace("{" + name + "}", value)
            answer = answer.replace("{" + name + "}", value)
        messages.append({"role": "tool", "content": result})
        messages.append({"role": "assistant", "content": answer})
    return [d for d, _ in made], messages
