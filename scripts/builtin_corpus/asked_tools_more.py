"""The ways to ask of `asked_tools.py` for the remaining tools."""

from __future__ import annotations

from . import asked_tools

_TEXT = """
# convert_currency
{amount} {source} [to|into|->|=] {target}
[how much|what] [is|are|would be|makes] {amount} {source} in {target}
[how much|what] is {amount} {source} [worth|changed] in {target}
[can|could] you [convert|change|exchange] {amount} {source} [to|into] {target}
i have {amount} {source}[, how many|. how many|, how much is that in] {target}
[i want|i need|i would like] to [convert|change|exchange|swap] {amount} {source} [to|into|for]\
 {target}
[what|how much] do i get for {amount} {source} in {target}
how many {target} do i get for {amount} {source}
[exchange rate|currency|conversion|convert|exchange][:|,] {amount} {source} [to|into|in] {target}
[please |][swap|trade|turn|switch] {amount} {source} [for|into|to] {target}
[give me|show me|tell me|calculate] {amount} {source} in {target}
[the price is|it costs|they ask] {amount} {source}, [what is that|how much is that] in {target}
in {target}, [how much|what] [is|are] {amount} {source}
[for|with] {amount} {source}[,|] how many {target} [do i get|can i buy|are that]
[value|worth] of {amount} {source} in {target}
[how many|what amount of] {target} [make|equal|are|is] {amount} {source}
{amount} {source}[,|:] [how many|how much in|what in] {target}
[i travel|i go away|we travel] with {amount} {source} and need {target}
[take|pay|put] {amount} {source} [and give me|and make them] {target}
[my salary is|i earn|i got|i owe] {amount} {source}, [say it|express it|and] in {target}
[work out|compute|find|look up] {amount} {source} in {target}
[what would|what do] {amount} {source} [be|make] in {target}
[from|out of] {source} to {target}[:|,] {amount}
[how much|how many] {target} for {amount} {source}
change {amount} {source} into {target}[ please| for me|]
do the exchange of {amount} {source} [to|into] {target}
# add_numbers
{a}+{b}
{a} [plus|and] {b}[ please| is| equals|]
[what is|what's|calculate|compute|work out|tell me] {a} [+|and] {b}
[please |]add [up |]{a} [and|to|with|plus] {b}
[sum|total|addition][:| of] {a} and {b}
[the|what is the|give me the|find the] [sum|total] of {a} and {b}
[can|could|would] you [add|sum up|total] {a} and {b}
[how much|what] [is|makes|are] {a} [and|plus|+] {b}
[use|call|take] [the tool|the adder|your tool] [for|on] {a} [+|and|plus] {b}
[put|bring] {a} and {b} together
i [need|want|would like] [the sum of|to add|to sum] {a} and {b}
[numbers|two numbers|add these][:|] {a}[,| and] {b}
[do|run|try] the [sum|addition] {a} + {b}
{a} added to {b}
[combine|total|sum up] {a} and {b}
[if|when] i add {a} and {b}, what do i get
[what do|what would] {a} and {b} [make|add up to|come to]
[a bill of|i paid] {a} and [one of|then] {b}[, total|, how much in all|. sum]
with the tool, [sum|add] {a} and {b}
[increase|raise] {a} by {b}
result of {a} [plus|+] {b}
[help me|i have] to add {a} and {b}
the numbers are {a} and {b}, add them
{a} + {b} = [?|]
add numbers {a}[,| and] {b}
# read_file
[can|could|would] you [open|read|show|load|print] [the file |]{path}
[please |][open|read|show|print|display|load] [me |][the file |the document |]{path}
[what does {path} [say|contain]|[what is written in|what stands in|what's inside] {path}]
[i want|i need|i would like] to [see|read|view|look at|open] {path}
[content|contents|text|lines] of {path}
[show|give|read|tell] me [what {path} says|what is in {path}|{path}]
[file|path|filename|document][:| is|] {path}
[look|peek|have a look] [into|in|inside|at] {path}
[take|get|fetch|pull up|bring up] [the file |]{path}
[how long is|how many lines has|how big is] {path}
{path}[:|,| -] [open it|read it|show me|show it|print it|what is in it]
[dump|output|list|type|less|head|view] {path}
[let me|i'd like to] see {path}
[use the tool to|with the tool,] read {path}
[the file|there is a file|i have a file] {path}[, read it|, what is in it|. open it]
go through {path}[ for me|]
[is there anything|anything] in {path}
[check|inspect|examine|scan] [the file |]{path}
read out {path}
[open|read] {path} [and tell me what it says|for me|now|please]
[display|present] the [text|contents] of {path}
[return|fetch] [the contents of |the text in |]{path}
which text is in {path}
my notes are in {path}, [open them|read them|show them]
need the contents of {path}
# add_todo
[please |][remember|note|write down|save|keep in mind][:|,| this:] {task}
[to do|todo|task|reminder|note][:|,| -] {task}
[add|put|write|place] [this |]{task} [on|to|onto] [my|the] [list|to-do list|todo list|tasks]
[remind|help] me to [remember |do this: |]{task}
[don't let me forget|do not let me forget|i should not forget|don't forget][:|,| to] {task}
[i have to|i need to|i must|i should|i want to] {task}, [note it|add it to my list|remind me|\
write it down|put it on the list]
[another|one more|next|a new] [task|item|thing to do][:|,] {task}
[create|make|open|start|add] a [new |]task[:|,| to| called] {task}
[create|set|make|add] [me |]a reminder[:|,| to| for] {task}
[can|could|would] you [note|remember|remind me|write down][:|,|] {task}
[new|add] [reminder|todo|entry|item][:|,] {task}
{task} [- add that to my list|- remind me|(task)|- put it on my list]
[my list needs|on my list|for my list][:|,] {task}
[list|log|record|store] [this |the |]task[:|,] {task}
[tomorrow|later|tonight|this week] i [must|have to|want to] {task}, remind me
[make a note|take a note|take note][:|,| that i must| to] {task}
[things to do|jobs to do|still to do][:|,] {task}
[put down|jot down|enter][:|,|] {task}
[what i must do|my next task|my task][:| is|] {task}
add [the item|the task|to do]: {task}
[let me|i want to] remember to {task}
keep this for later: {task}
[please |]put {task} on the list
task for me: {task}
reminder to {task}
# get_price
[price|cost|price tag] [of|for] [the |a |]{product}
[how much] [would|will] [a|the] {product} cost[ me|]
[how much|what] [do i pay|do you want|do you charge|must i pay] for [a|the] {product}
[what's|whats|find|show me|give me] the [price|cost] [of|for] [a |the |]{product}
[can|could] you [check|tell me|look up|find] [the price of|what i pay for|the cost of] [a |the |]\
{product}
[how|is it] expensive [is|to buy] [a|the] {product}
{product}[:|,| -] [price|how much|what does it cost|cost][ please|]
{product} price[ please|]
i [want|need|would like|plan] to buy [a|the] {product}[, how much is it|, what is the price]
[do you know|any idea] [what|how much] [a|the] {product} costs
[is|are] [the|a] {product} [cheap|dear|affordable|under 100], what is the price
[how much money|what sum] [do i need|is needed] for [a|the] {product}
price check[:| on| for|] {product}
[look up|check|query|fetch] [the |]{product} price
[at what price|for how much] [do you sell|can i get|can i buy|is] [the|a] {product}
what am i going to pay for [the|a] {product}
[the |]cost of [a|one] {product}
[i saw|i like|i love] [a|the] {product}, how much is it
[quote|offer|price quote] for [a|one|the] {product}
[what is|what's] [a|the] {product} worth
[tell|ask] me what [the|a] {product} costs
[what|which] price does [the|a] {product} have
get me the price [for|of] [a|one|the] {product}
[how much for|what about the price of] [a|the|one] {product}
can i afford [a|the] {product}, what is its price
# book_table
[can|could|would] you [book|reserve|get] [me |us |]a table for {people} at {time}
[please |][book|reserve] [me |us |]a table at {time} for {people}[ people| persons| guests|]
[we|my friends and i] [are|will be|come with] {people}[ people|], [at|from] {time}[, book a table|\
. a table please|]
table for {people}[,| at| -] {time}
{people} [people|persons|guests|seats][,| at] {time}[, book a table|, table please|. reserve it]
[i want|i would like|i'd like|we want|we need] a table [for {people} at {time}|\
at {time} for {people}]
[i want|i would like|we want] to [book|reserve|have] a table for {people} [people |]at {time}
[do you have|is there|have you got] a table for {people} at {time}
[dinner|lunch|supper|brunch] at {time} for {people}[ people| persons|]
[dinner|lunch|supper] for {people} [people |persons |]at {time}
reservation[:| for|,] {people} [people |persons |guests |]at {time}
[make|place|do] a [reservation|booking] [for {people} at {time}|at {time} for {people}]
[we want to|i want to|let us] eat at {time}, [we are {people}|{people} people]
[seat|place|put] {people} of us at {time}
at {time} [we come|i come|we arrive] with {people}[ people| guests|], [reserve a table|book a table]
{time}, {people} [people|persons|guests], table
[hold|keep] a table [at {time} for {people}|for {people} at {time}]
[restaurant|the restaurant][:|,] {people} people, {time}
[get|find|arrange] [me |us |]a table for {people} [people |]at {time}
book [for |]{people} at {time}
reserve [for |]{people} [people |seats |]at {time}
[a table|one table], {people} [seats|people|persons], {time}
[my family|our group|our team] of {people} wants [dinner|lunch|a table] at {time}
[my party|a party] of {people} at {time}
need table for {people} at {time}
# find_user
[can|could|would] you [find|look up|search|show] [the user |]{name}
[who's|who is] [the user |this |]{name}
[do you know|do we have|is there] [a user|a contact|someone] [called|named] {name}
[what is|what's|give me|i need|tell me] {name}'s [email|mail address|contact|address]
[what is|what's|give me|i need|tell me] the [mail address|contact|address] of {name}
[how do i|how can i|where can i] [reach|contact|mail] {name}
[show|open|load|fetch|get|pull up] [me |][the user |the record of |the entry for |]{name}
[user|contact|person|name][:|] {name}
[look up|find|get|search] [the |][data|details|account|entry|contact] [of|for] {name}
[contact|details|account|record|profile|user data] [of|for] {name}
[i am|i'm|we are] looking for [the user |]{name}
[i want|i need] to [write to|contact|reach|find] {name}
[search|check|query] [the users|the directory|our contacts|the user list] for {name}
{name}[:|,| -] [look up|find the user|contact|email|who is that]
[is {name} in|check if {name} is in] [the list|our contacts|the directory]
find [me |][someone|a person|somebody] [called|named] {name}
[get|give] me {name}'s [record|details|profile|contact]
user [lookup|search][:| for|] {name}
[what do we know|what do you have] [about|on] {name}
[which email|what address] [has|does] {name}[ have| use|]
[find|locate|get hold of] {name}
[can i get|may i have] [the email of {name}|{name}'s email]
i lost the [address|email|contact] of {name}
[see|view] the [user|profile of|entry of] {name}
{name}'s [email|profile|contact|record] please
where is the entry for {name}
# get_room
[what|which] room [is it|are we in|is ours|is booked|is the meeting in] on {day}
[where|in which room|in what room] [are we|do we meet|is the meeting|do i have to go] [on |this |]\
{day}
{day}[:|,| -] [which room|what room|room|where do we meet]
[room|meeting room|the room] [on|for|of] {day}[ please|]
[find|look up|tell me|give me|show me|check] the [room|meeting room] [on|for|of] {day}
[do you know|can you tell me|could you check] [the room for|which room we have on|\
where we meet on] {day}
i [need|want|forgot|lost] the [room|room number] [for|of|on] {day}
[what is|what's] the room [number |][on|for|of] {day}
[the|our|my] [meeting|lesson|class] [on|of] {day}[, which room|, where is it|. what room]
where [should|must|do] i go [on|this] {day}[ for the meeting|]
[we meet|i have a meeting] on {day}, [where|in which room|what room]
[which|what] room number [do we have|is it] on {day}
[where|in which room] will [we|the meeting] be on {day}
[where does|where will] the [meeting|team meeting] [of|on] {day} [happen|take place|be]
[on {day}|this {day}|next {day}], which room [is it|do we have|is ours]
[get|fetch|query] [me |]the room for {day}
room number {day}
[what|which] room for {day}
[in|to] which room do i [come|go|walk] on {day}
where do i find you on {day}
[which|what] place do we [meet|have] on {day}
[location|place] of the {day} meeting
{day} meeting, [room|which room|where]
[see|check] where we are on {day}
the {day} room[ please|]
# turn_on
[can|could|would] you [turn|switch|put] on the [light|lamp|lights] in the {room}
[please |][turn|switch|put] the [light|lights|lamp] [on in the {room}|in the {room} on|\
of the {room} on]
{room} [light|lights|lamp] on[ please|]
[light|lights|lamp] [in|for] the {room}[ on| please|]
[turn|switch|power] on [the |]{room}[ light| lights| lamp|]
[i need|i want|give me|we need] light in the {room}
[it is|it's] [too |so |very |]dark in the {room}
[light up|brighten|illuminate] the {room}
[i can't|i cannot|we can't] see [anything|a thing|much] in the {room}
the {room} is [dark|too dark|unlit], [light please|switch on the lamp|do something]
[someone is|i am|we are] in the {room}, [light please|turn on the light]
[let there be|make some|get some] light in the {room}
[activate|enable|start] the [light|lamp|lights] [in|of] the {room}
[i go|i am going|i walk] [to|into] the {room}, [switch on the light|light please|lamp on]
{room}[:|,| -] [light on|lights on|lamp on|turn it on]
[set|put] the {room} [lamp|light] to on
[the lamp|the light|the lights] [in|of] the {room} should be on
[would you mind turning|mind switching] on the [light|lamp] in the {room}
[make|have] the {room} bright
[lamp|light] on, {room}
[i am|i'm] afraid of the dark {room}
who turned off the light in the {room}, turn it on
[use the switch|flip the switch|hit the switch] in the {room}
get the {room} lit
[do|put] the lights on in the {room}
""".strip()

ASKS = {**asked_tools.ASKS, **asked_tools.parse(_TEXT)}
