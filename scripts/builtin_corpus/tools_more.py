"""Thirty more tools of everyday kinds, and tools that are made up for one sample only.

A made-up tool is a verb and a thing under a random name, with parameters that the request fills:
only the list in the prompt says what it is called. Called by the corpus in place of
`tools.sample`; `wordings.py` reads `TOOLS`.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from random import Random
from typing import Any

from . import tools, tools_everyday, values, words
from .extraction_texts import DRAW
from .grammar import articles, expand
from .tools import Message, Param, Tool

_DRAW = {
    **DRAW,
    "symbol": lambda r: "".join(r.choice("ABCDEFGHKLMNPRSTUVXZ") for _ in range(r.randint(2, 4))),
    "path": lambda r: f"{values.word(r)}.{r.choice(['txt', 'md', 'csv', 'log', 'json', 'pdf'])}",
    "expression": lambda r: f"{r.randint(2, 99)} {r.choice('+-*/')} {r.randint(2, 99)}",
    "topic": lambda r: r.choice([values.word(r), r.choice(words.WORLD)]),
    "pick": lambda r: r.choice([values.word(r), values.title(r)]),
    "percent": lambda r: r.randint(0, 100),
    "lengths": lambda r: r.choice("km miles metres feet inches yards".split()),
    "weights": lambda r: r.choice("kg pounds grams ounces stones tons".split()),
}

_TEXT = """
# send_email|send_mail|email|mail_to|compose_email # [Send|Write] an email # to:email:to|address|\
recipient|email subject:pick:subject|title|topic => The email to {to} is sent.
[send|write] [an email|a mail|mail] to {to} [about|with the subject|with the title] {subject}
[email|mail] {to} [about|on|regarding] {subject}
[please |]let {to} know about {subject} by [mail|email]
i [want|need] to [email|mail|write to] {to} about {subject}
{subject} [as subject|is the subject], [email|mail] to {to}
# create_event|add_event|new_meeting|schedule|calendar_add # [Create|Add] a calendar [event|\
entry] # \
title:meeting:title|event|name|summary day:day:day|date|weekday time:time:time|start|at|hour \
=> The {title} is on {day} at {time}.
[put|add] the {title} [in|into|to] my calendar[,|] on {day} at {time}
[schedule|plan|book|set up|arrange] [a|the|my] {title} [on|for] {day} at {time}
[block|reserve] {day} {time} for [a|the] {title}
[new|add] [event|meeting|entry][:|,] {title}, {day}, {time}
[we have|there is|i have] [a|the] {title} on {day} at {time}, [add it|note it|put it in the \
calendar]
# get_stock|stock_price|quote|share_price|ticker # [Get|Look up] the price of a [stock|share] # \
symbol:symbol:symbol|ticker|stock|share => {symbol} stands at {number}.
[what is|how is|where is] {symbol} [trading|standing|doing][ today| now|]
[stock|share] [price|quote] [of|for] {symbol}
[how much|what] [is|does] [a share of|one share of] {symbol}[ cost| worth|]
[check|look up|get|quote] [the stock|the share|ticker] {symbol}
{symbol} [stock|share price|quote]
# get_news|news|headlines|latest_news|news_search # [Get|Fetch] the [latest |]news on a topic # \
topic:topic:topic|subject|about|query => There are {number} news items about {topic}.
[what is|what's] [new|the news] [about|on] {topic}
[latest|any|give me|show me|get|fetch] [the |]news [about|on|of] {topic}
[headlines|news] [on|about|for] {topic}
[has|did] anything [happened|happen] [with|around|about] {topic}
# get_route|directions|route|navigate|find_way # [Find|Get] the way between two places # \
start:place:start|from|origin goal:place:goal|to|destination => The way to {goal} is {number} km.
[how do i get|how do i drive|what is the way|show me the way|directions|route] from {start} to \
{goal}
[guide|take|bring|navigate] me from {start} to {goal}
[i am|i'm] in {start} and [want|need|have] to [go|get] to {goal}
[fastest|shortest|best] [way|route] from {start} to {goal}
# convert_length|length|units|convert_units|unit_converter # [Convert|Change] a length # \
value:number:value|amount|number unit:lengths:unit|from|from_unit => That is {number}.
[convert|change|turn] {value} {unit} to [the other system|another unit]
[express|give] {value} {unit} in another unit
convert {value} {unit}
# calculate|calculator|evaluate|compute|math # [Evaluate|Compute] an expression # \
expression:expression:expression|formula|input|expr => {expression} is {number}.
[use the calculator|calculator|with the calculator][:|,|] {expression}
[evaluate|run] [the expression|the formula] {expression}
[put|type|feed] {expression} into the calculator
# define_word|dictionary|lookup_word|definition|meaning # [Define|Look up] a word # \
term:word:word|term|entry|text => {term} is explained.
[look up|check] [the word |]{term} in the dictionary
[give me|get|find] the [definition|dictionary entry] of {term}
[define|dictionary][:|] {term}
# track_parcel|parcel_status|track|tracking|where_is_parcel # [Track|Find] a parcel # \
code:code:code|tracking|parcel|number|id => The parcel {code} is in {place}.
[where is|track|find|follow] [my |the |]parcel {code}
[has|did] [my |the |][parcel|package] {code} [arrived|arrive][ yet|]
[status|whereabouts] of [parcel|package] {code}
[when does|when will] [parcel|package] {code} [come|arrive]
# order_item|place_order|buy|order|purchase # [Order|Buy] a product # \
product:product:product|item|article|what quantity:count:quantity|count|amount|qty \
=> I ordered {quantity} of the {product}.
[order|buy|get|purchase] {quantity} [pieces|units|times] of the {product}
[i need|i want|i'd like|we need] {quantity} [pieces|units] of the {product}
[place an order|order][:|,| for] {product}, {quantity} [pieces|units]
# delete_file|remove_file|rm|erase_file|trash # [Delete|Remove] a file # \
path:path:path|file|filename|name => {path} is deleted.
[delete|remove|erase|trash|get rid of|throw away] [the file |]{path}
[i don't need|i no longer need] {path}[ any more|]
{path} [can go|must go|has to go]
# set_alarm|alarm|wake_up|alarm_clock|create_alarm # [Set|Create] an alarm # \
time:time:time|at|when|clock => The alarm rings at {time}.
[wake me|wake me up|get me up|set an alarm|ring the bell|alarm] [at|for] {time}
[i must|i have to|i want to] get up at {time}
[don't let me sleep|let me sleep] [past|until] {time}
# set_temperature|heating|thermostat|set_heating|climate # [Set|Change] the temperature of a \
room # \
room:word:room|zone|area|where degrees:small:degrees|temperature|value|to => It is {degrees} \
degrees \
in the {room} soon.
[set|turn|put|heat|cool] the {room} to {degrees} degrees
[i want|make it|we need] {degrees} degrees in the {room}
[heating|temperature|thermostat] [in|of] the {room}[:| to|] {degrees}
# call_person|phone|call|dial|ring # [Call|Phone] a person # \
name:person:name|person|contact|who => I am calling {name}.
[call|phone|ring|dial] {name}[ now| for me|]
[i want|i need] to [talk|speak] to {name}
[get|put] {name} on the [phone|line]
# flight_status|get_flight|flight|check_flight|flight_info # [Check|Get] the state of a flight # \
flight:code:flight|number|flight_number|code => Flight {flight} leaves at {clock}.
[is|has] flight {flight} [on time|delayed|landed|left]
[when does|when will] [flight |]{flight} [leave|land|arrive|take off]
[status|state|departure] of flight {flight}
# book_flight|reserve_flight|flight_booking|buy_ticket|ticket # [Book|Reserve] a [flight|ticket] # \
start:place:start|from|origin goal:place:goal|to|destination day:day:day|date|on|when \
=> The ticket to {goal} on {day} is booked.
[book|reserve|get|buy] [me |][a flight|a ticket|a seat] from {start} to {goal} on {day}
[i fly|i need to fly|i want to fly] from {start} to {goal} on {day}
on {day} i [travel|must go|go] from {start} to {goal}, [book it|get me a ticket]
# get_balance|balance|account_balance|check_account|money_left # [Get|Check] the balance of an \
account \
# account:number:account|account_id|number|id => Account {account} holds {number}.
[how much|what] is [on|in] account {account}
[balance|state] of account {account}
[check|show|get] [the balance of |]account {account}
# cancel_order|stop_order|order_cancel|revoke_order|withdraw # [Cancel|Stop] an order # \
order:number:order|order_id|id|number => Order {order} is cancelled.
[cancel|stop|call off|revoke|withdraw] [my |the |]order [number |]{order}
[i don't want|i no longer want|i changed my mind about] order {order}
# order_status|get_order|find_order|check_order|order_info # [Get|Check] the state of an order # \
order:number:order|order_id|id|number => Order {order} is ready.
[where is|what about|how is|check|status of|show] [my |the |]order [number |]{order}
[has|is] order {order} [been sent|shipped|ready|on its way]
# create_user|add_user|new_user|register|sign_up # [Create|Add] a user # \
name:person:name|user|username|full_name email:email:email|mail|address => {name} can sign in.
[create|add|register|sign up] [a user|a new user|an account for|the user] {name} [with|at|under] \
{email}
[new user|user|account][:|,] {name}, {email}
# set_volume|volume|sound|loudness|change_volume # [Set|Change] the volume # \
level:percent:level|volume|percent|value => The volume is {level}.
[set|turn|put|change] the [volume|sound] to {level}[ percent|]
[volume|sound|loudness][:| to| at|] {level}
make it {level} percent loud
# find_hotel|hotel_search|search_hotel|hotels|find_stay # [Find|Search] a hotel # \
city:place:city|place|where|town nights:small:nights|stay|duration|days => I found {number} \
hotels in \
{city}.
[find|book|search|get] [me |][a hotel|a room|a place to stay] in {city} for {nights} nights
[hotel|room][:|] {city}, {nights} nights
[i stay|we stay] {nights} nights in {city}, [find a hotel|find us a room]
# weather_on_day|forecast|weather_forecast|get_forecast|day_weather # The [weather|forecast] of \
a day # \
city:place:city|place|location day:day:day|date|when => On {day} it is {sky} in {city}.
[weather|forecast] [for|in] {city} on {day}
[will it rain|is it warm|what is the weather|how is the weather] in {city} on {day}
on {day} i am in {city}, [how is the weather|will it rain]
# get_recipe|recipe|find_recipe|how_to_cook|cookbook # [Get|Find] a recipe # \
dish:dish:dish|food|meal|name => The {dish} takes {number} minutes.
[find|get|show me|give me|look up] [a|the] recipe for {dish}
[recipe|cookbook][:|] {dish}
# list_files|ls|show_folder|dir|folder_content # [List|Show] the files of a folder # \
folder:word:folder|path|directory|dir => There are {number} files in {folder}.
[list|show] [the files|everything|what is] in [the folder |]{folder}
[what|which files] [is|are] in the folder {folder}
[open|look into] the folder {folder}
# lock_door|lock|close_door|secure_door|door_lock # [Lock|Close] a door # \
door:word:door|which|room|name => The {door} door is locked.
[lock|close|shut|secure] the {door} door
[is the {door} door locked? if not|make sure that the {door} door is locked|lock up: {door}]
# save_note|note|write_note|take_note|new_note # [Save|Write] a note # \
text:pick:text|note|content|body => I saved the note.
[take|save|make|write] a note[:| that says|] {text}
[note down|note|jot down|write down][:|] {text}
# get_user_age|age_of|person_age|lookup_age|how_old # [Get|Look up] the age of a person # \
name:person:name|person|who|user => {name} is {number}.
[how old is|what is the age of|age of] {name}
[look up|check] how old {name} is
# random_number|dice|roll|draw_number|random # [Draw|Get] a random number up to a limit # \
limit:count:limit|max|top|sides => I drew {number}.
[draw|pick|give me|roll] a random number [up to|below|until|from 1 to] {limit}
[random|dice|roll][:|] {limit}
"""

INTEGERS = ("age", "small", "count", "number", "hundreds", "year", "percent")


def _tools() -> list[Tool]:
    made: list[tuple[str, list[str]]] = []
    for line in _TEXT.strip().splitlines():
        if line.startswith("# "):
            made.append((line, []))
        else:
            made[-1][1].append(line)
    out = []
    for head, asks in made:
        front, answer = head[2:].split(" => ")
        names, about, listed = (part.strip() for part in front.split(" # "))
        params = {}
        for part in listed.split():
            key, drawer, aliases = part.split(":")
            kind = "integer" if drawer in INTEGERS else "string"
            params[key] = Param(aliases, kind, _DRAW[drawer])
        result = '{"value": {number}}' if "{number}" in answer else '{"status": "done"}'
        for word, given in (("is ready", '{"status": "ready"}'),
                            ("{place}", '{"place": "{place}"}'),
                            ("{clock}", '{"time": "{clock}"}'),
                            ("{sky}", '{"sky": "{sky}"}')):  # fmt: skip
            result = given if word in answer else result
        out.append(Tool(names, about, params, asks, [(result, answer)]))
    return out


TOOLS = _tools()

# Made-up tools: what is done, to what, and the ways to say each parameter.
VERBS = [
    "create|add|make|new|register", "delete|remove|erase|drop", "show|get|display|view|read",
    "update|change|edit|modify", "start|launch|begin|run|activate", "stop|halt|end|quit|pause",
    "send|transmit|forward|deliver|ship", "find|search|locate|seek", "open|unlock|unseal",
    "close|shut|seal", "move|shift|transfer|relocate", "copy|duplicate|clone", "rename|relabel",
    "print|output", "book|reserve|block", "check|verify|inspect|test", "count|tally",
    "paint|colour", "clean|wash|wipe", "repair|fix|mend", "sell|trade", "rent|hire|lease",
    "approve|accept|confirm", "reject|refuse|decline", "archive|store|save|keep", "merge|join",
    "split|divide|cut", "load|import|upload", "export|download", "charge|refill|fill",
    "measure|scan|probe", "assign|give|hand", "rate|score|grade", "publish|post|release",
    "water|sprinkle", "feed|nourish", "rotate|turn|spin", "zorp", "blink", "ping", "calibrate",
]  # fmt: skip
NOUNS = (
    "account album badge basket board boat box camera card case channel chart client column "
    "contract course crate desk device document drone engine field folder form garden gate group "
    "invoice item job kettle lamp letter license list locker machine map member menu message meter "
    "model motor note offer order package page panel parcel patient pipe plan plant playlist pump "
    "record report robot room rule sample sensor server shelf ship signal song stall station "
    "student table tank task team ticket tool topic track train tree truck user valve vault video "
    "wallet window worker zone"
).split()
SAYING: dict[str, tuple[str, str, str]] = {
    "name|title|label": ("pick", "string", "[named|called|with the name] {v}"),
    "id|number|key": ("number", "integer", "[number|no.|with the id|with id] {v}"),
    "code|serial|tag": ("code", "string", "[with the code|coded|with code] {v}"),
    "city|place|location|where": ("place", "string", "in {v}"),
    "day|date|when|on": ("day", "string", "on {v}"),
    "time|hour|at": ("time", "string", "at {v}"),
    "to|recipient|target|person": ("person", "string", "[to|for] {v}"),
    "owner|from|user": ("person", "string", "[of|from|belonging to] {v}"),
    "colour|color": ("colour", "string", "in [the colour |]{v}"),
    "count|quantity|amount|times": ("count", "integer", "{v} times"),
    "level|power|strength": ("percent", "integer", "[at|with] level {v}"),
    "price|cost|euros": ("number", "integer", "for {v} euros"),
    "minutes|duration|delay": ("count", "integer", "for {v} minutes"),
    "email|mail|contact": ("email", "string", "with the [mail|email|address] {v}"),
    "reason|comment|note": ("word", "string", "[because of|with the comment] {v}"),
    "size|length": ("small", "integer", "of size {v}"),
    "file|path|source": ("path", "string", "from the file {v}"),
    "mode|style|type": ("word", "string", "in {v} mode"),
}  # fmt: skip
ORDERS = [
    "[please |can you |could you |i want to |i need to |now |hey, |]{verb} [the|a|my|our] {noun} "
    "{rest}[ please| now| for me|]",
    "{verb} {noun} {rest}", "[the|a] {noun} {rest}[,|:| -] {verb} it[ please|]",
    "[it is time to|i'd like you to|would you|let us] {verb} [the|a] {noun} {rest}",
]  # fmt: skip


def _made_up(rng: Random, taken: set[str]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """A definition, a request for it, and the arguments of the right call."""
    verbs, noun = rng.choice(VERBS).split("|"), rng.choice(NOUNS)
    if rng.random() < 0.05:
        noun = values.word(rng)
    verb, said = rng.choice(verbs), rng.choice(verbs)
    said = rng.choice(verbs[:1] + [v for v in verbs if v != "new"]) if said == "new" else said
    styles = [f"{verb}_{noun}", f"{verb}_{noun}", f"{verb}{noun.capitalize()}", f"{noun}_{verb}",
              f"{verb}-{noun}"]  # fmt: skip
    name = values.word(rng) if rng.random() < 0.05 else rng.choice(styles)
    if name in taken:
        return _made_up(rng, taken)
    taken.add(name)
    properties: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    rest = []
    for names in rng.sample(list(SAYING), rng.choice([1, 1, 1, 2, 2, 3])):
        drawer, kind, phrase = SAYING[names]
        key = rng.choice(names.split("|"))
        if key in properties:
            continue
        value = _DRAW[drawer](rng)
        properties[key] = {"type": kind}
        arguments[key] = value
        rest.append(expand(phrase, rng).replace("{v}", str(value)))
    order = list(range(len(rest)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    text = expand(rng.choice(ORDERS), rng, {"verb": said, "noun": noun})
    text = articles(text.replace("{rest}", " ".join(rest[i] for i in order)))
    about = articles(f"{rng.choice(verbs).capitalize()} {rng.choice(['a', 'the', 'one'])} {noun}")
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if rng.random() < 0.6:
        parameters["required"] = list(properties)
    function: dict[str, Any] = {"name": name}
    if rng.random() < 0.85 or noun not in name or verb not in name:
        function["description"] = about
    function["parameters"] = parameters
    return {"type": "function", "function": function}, text, arguments


def made_up_sample(rng: Random) -> tuple[list[dict[str, Any]], list[Message]]:
    """Made-up tools and one request."""
    taken: set[str] = set()
    made = [_made_up(rng, taken) for _ in range(rng.choice([1, 2, 2, 3]))]
    definition, text, arguments = rng.choice(made)
    text = (text[:1].upper() + text[1:]) if rng.random() < 0.7 else text
    text += rng.choice(["", "", ".", "!", "?"])
    messages: list[Message] = [
        {"role": "user", "content": text},
        tools.call_message(definition["function"]["name"], arguments),
    ]
    return [d for d, _, _ in made], messages


def sample(rng: Random) -> tuple[list[dict[str, Any]], list[Message]]:
    """Tool definitions and a conversation that uses one of them."""
    if rng.random() < 0.55:
        return tools_everyday.sample(rng)
    if rng.random() < 0.3:
        return made_up_sample(rng)
    return tools.sample(rng, tools.TOOLS + TOOLS if rng.random() < 0.8 else tools.TOOLS)


# Tools that none of the requests to decline could mean, and those that can do a sum.
_UNRELATED = {"read_file", "get_room", "delete_file", "list_files", "create_user", "cancel_order",
              "get_user_age", "random_number"}  # fmt: skip
_SUMMING = {"add_numbers", "calculate"}


def _first_names(tools_: list[Tool]) -> dict[str, str]:
    return {name: tool.names.split("|")[0] for tool in tools_ for name in tool.names.split("|")}


# An everyday tool might answer a request to decline; under a known name it counts as the known one.
_FIRST = {name: name for name in tools_everyday.NAMES} | _first_names(tools.TOOLS + TOOLS)


def tempted(definitions: list[dict[str, Any]] | None) -> tuple[str, ...]:
    """The kinds of requests that a listed tool might answer, which must not be answered plainly."""
    found = {_FIRST.get(d["function"]["name"]) for d in definitions or []} - {None}
    kinds = ("sum",) if found & _SUMMING else ()
    return kinds + (("refusal",) if found - _UNRELATED else ())


def listed(rng: Random, kind: str) -> list[dict[str, Any]]:
    """One or two tools, none of which fits a request of that kind."""
    if rng.random() < 0.3:
        return [_made_up(rng, set())[0]]
    while True:
        chosen = rng.sample(tools.TOOLS + TOOLS, rng.randint(1, 2))
        made = [definition for definition, _ in tools.listed(rng, chosen)]
        if kind not in tempted(made):
            return made
