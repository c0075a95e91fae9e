"""More ways in which strangers ask for JSON: every order of request, keys and text, terse to \
chatty.

`{keys}` is the list of keys in any style, `{plain}` "a, b", `{prose}` "a and b", `{the}` "the a
and the b", `{quoted}` the keys in quotes, `{typed}` the keys with their types in parentheses,
`{schema}` a schema or template, `{text}` the text. `SYSTEM` describe the task in a system prompt;
the user then sends the text only. Called by `extraction.py` and, for the honesty test, by
`wordings.py`.
"""

from __future__ import annotations

from .extraction_frames import ready

_KEYS = """
as json please, {prose}[: |\\n]{text}
as json[ please|], {typed}[: |\\n]{text}
{text}\\n[as|in] json please, {prose}
a json object holding {quoted}[, please|][: |\\n| for: ]{text}
{text}\\n\\n[write|give me|make] a json object holding {quoted}
convert to a record ({plain})[: |:\\n]{text}
[turn into|make it|make this] a record \
with {prose}[: |:\\n]{text}
record ({plain}) [from|for|of][: |:\\n]{text}
what [are|is] {the} here? [output|return|answer with] json with {prose}.[ |\\n]{text}
{text}\\nwhat [are|is] {the} here? [output|return|write] json with {prose}[.|]
[get me|find] {the}[: |. |\\n]{text}\\n[reply|answer] as json with keys {keys}
i need {prose}, json only[: |. |.\\n]{text}
{text}\\n\\ni need {prose}, json only[.|]
hello, can you make json from my note? keys: {keys}[. |\\n]{text}
hi, [could you|would you] make json [of|from] [my|this] @TEXT? [it needs|i need] {typed}\\n{text}
hey, [here is|this is] what i got: {text}\\n[can you|could you] make json with {prose} out of it?
with {typed}[, as json|, in json]: {text}
json with {typed}[: |:\\n]{text}
{text} - json with {typed}
[one object|an object], {typed}[: |:\\n]{text}
[the following @TEXT|this @TEXT] [mentions|gives|tells us] {the}. [write|put] them [as|in] json\
[: |:\\n]{text}
[somewhere|hidden] in this @TEXT [is|are] {the}: {text}\\n[give me|return] that as json
{text}\\n[that is|this is] the whole @TEXT. now {the} as json[, please|]
{text}\\n[please|kindly] [reduce|boil down] to {prose} in json
reduce [this|the next line] to {prose}, in json[: |\\n]{text}
[strip|boil] this down to {prose}[: |\\n]{text}\\njson
[our|my] spreadsheet has [columns|the columns] {keys}. [give me the row|what is the row] as json \
for: {text}
[my|our] form asks for {the}. what goes in? [json|answer in json] [please|][: |\\n]{text}
[i have to|i must] type {the} into a form. [read them out of|take them from] this, as json: {text}
someone left a note: "{text}" [which|what] {prose}? json
[a colleague|a friend|my boss] sent me "{text}". [make|build] a json object with {prose} [from it|]
[the mail says|the message reads|on the paper is]: "{text}". @GIVE json, keys {keys}
[we got|i found] this in the inbox.\\n{text}\\n[store it|file it] as json: {keys}
[look|see]: "{text}" - {prose} as json[, please|]
[given|with|taking] the @TEXT "{text}", [output|write|give] {quoted} as json
[given|from] the @TEXT below, fill {quoted}[ as json|]\\n\\n{text}
[keys wanted|wanted keys|requested keys|needed]: {keys}\\n\\n{text}\\n\\njson:
### [text|input]\\n{text}\\n### [keys|fields]\\n{keys}\\n### [json|output]
[instruction|task]: @GET {keys} as json.\\n[input|text]: {text}\\n[response|output]:
[input|text]: {text}\\n[instruction|task]: [return|write] json with {keys}
q: what [are|is] {the}? (json)\\n[context|text]: {text}
[context|text]: {text}\\nq: {the}, as json?
[context|background]: {text}\\n\\n[request|wish]: json with {quoted}
[return|give back] {quoted} [and nothing else|only] [as json|in json][: |\\n]{text}
{text}\\n\\n[return|give back] {quoted} [and nothing else|only] [as json|in a json object]
[two lines of work|small task|little job]: read this, then write {prose} as json. {text}
[step 1|first]: read "{text}". [step 2|then]: write {prose} as json
read: {text}\\nwrite: json with {keys}
from: {text}\\nto: json ({plain})
{text} :: json {plain}
{plain} :: {text}
{text}\\n{plain}[ json| as json|]
{plain} (json)\\n{text}
({plain}) {text}
[json|to json|jsonify] ({plain}): {text}
[json|jsonify|make json]: {text} ({plain})
to_json("{text}", keys={plain})
[parse|extract]("{text}") -> {plain}
[keys|fields]={plain} [text|input]="{text}"
[the keys should be|keys should be|the json keys must be] {keys}[. |.\\n]{text}
{text}\\n[the keys should be|the json should have|the result must have] {keys}
[make|let] {quoted} be the keys[ of the json|] and take the values from[ this|]: {text}
[the values|all values] [stand|are] in this @TEXT: {text}\\n[the keys|keys] are {quoted}. json \
please
[use|with] {quoted} as keys[, and|;] [copy|take] the values from the @TEXT[: |:\\n]{text}
[your|the] json has {typed}. [your|the] @TEXT is: {text}
[expected|i expect|we expect] [a json object|json] with {typed}[. |: |\\n]{text}
{text}\\n[expected|desired|wanted] output: json with {typed}
{text}\\n\\n[which|what] {prose}? [reply with|send] [one|a] json object
[which|what] {prose} [do you see|can you read|is meant] here? [give|send] json[: |.\\n]{text}
[could i have|may i have|can i get] {the} as json? {text}
{text}\\n[could i have|may i have|can i get] {the} [of that |]as json?
[would you mind|do you mind] [writing|putting] {prose} [from this|of this] into json? {text}
[it would help me|it would be great] to have {the} as json. [here you go|here it is]: {text}
[thanks for helping|thank you in advance]! i need {the} as json from this: {text}
[sorry to bother you|quick one|small favour]: {prose} as json from "{text}"
[i am|we are] [building|filling] a [list|table|database]. from each @TEXT we keep {prose}. \
[next|this one]: {text}\\njson please
[for each|for every] @TEXT i keep {keys}. [now|here comes] this one: {text}
[next one|another one|one more]: {text}\\nsame keys: {keys}
[only|just] json [comes back|is allowed|may be returned], with {prose}: {text}
[no words|no sentences|no chatter], [only|just] json holding {prose}[: |\\n]{text}
{text}\\n[no words|no sentences|no chatter], [only|just] json holding {prose}
[skip everything|ignore everything|leave out all] but {the} and [answer in|write] json[: |\\n]{text}
{text}\\n[keep|leave] only {the}. json
[what|all] i care about [is|here is] {prose}. json[ please|][: |\\n]{text}
[never mind|forget] the rest[, |: ]{the} as json, from: {text}
[the rest does not matter|other things do not matter], [give|send] {prose} in json\\n{text}
[a machine|a script|a robot] will read your answer. [it wants|it needs] json with {prose}[. |\\n]\
{text}
[the answer is read by|i feed the answer to] a program, so [json only|only json]: {prose}\\n{text}
[your output goes|this goes] into an api[: |. ][json|a json object] with {typed}\\n{text}
[describe|represent] "{text}" as an object with {prose}
[object|dict|dictionary|map|hash] with {prose} for[: |\\n]{text}
[write|build|return] a [dictionary|map|hash|struct] in json, keys {plain}: {text}
{text} - [as an object|as a dictionary] with {prose}
[can this be|i want this] as json? {text}\\n[keys|use]: {keys}
[is there|do you find] {prose} in this? [put it|put them] in json[: |. ]{text}
[try|attempt] to find {the} in "{text}" and [write|print] json
[carefully|quickly] read "{text}" and [write|print|return] {prose} in json
[transcribe|copy|carry over] {the} from this @TEXT into a json object: {text}
[pull|lift] {the} out of "{text}" and [hand|give] me json
[pull|lift|take] {the} out of the @TEXT [at the end|below], json [format|form]\\n---\\n{text}
[split|break] [this|the @TEXT] into {prose}[, as json|, json][: |\\n]{text}
{text}\\n[split|break] [that|it] into {prose}, [as|in] json
[separate|sort] the [facts|details] [here|of this @TEXT] into {prose} (json): {text}
[map|assign] the [values|details] to {quoted}: {text}
[map|assign] "{text}" to the keys {plain}
[the object|the json object|my object] [has|gets|carries] {keys}. [the source|the source text]: \
{text}
[two things|some things|these things] i want to know from the @TEXT, {prose}[, in json|]: {text}
[listen|attention|ok]: "{text}". [now|so]: {the}, json
[imagine|suppose] you [fill|keep] a card with {prose}. [the card for|json for]: {text}
[card|slip|label] with {prose} in json for "{text}"
[new|fresh] entry for the database, [columns|fields] {plain}: {text}
[insert|save|add] this as a json row with {prose}: {text}
[row|entry|line]: {text}\\n[columns|as json with]: {plain}
[log entry|incoming]: {text}\\n[parsed|parse to] json ({plain}):
[user said|caller said|visitor wrote]: "{text}"\\n[slots|slots to fill]: {plain}
[slots|entities|attributes] to [fill|find]: {keys}\\n[utterance|sentence|text]: {text}
[find the entities|named entities|entities] {prose} in: {text}\\n[json|as json]
[identify|determine|locate|recognise] {the} in [this @TEXT|the following] and [give|return] json\
[: |:\\n]{text}
{text}\\n[identify|determine|locate|recognise] {the} and [answer|reply] in json
[tell me in json|say in json|in json, tell me] {the}[: |\\n]{text}
in json[, please|]: [what is|what are] {the} [in|of] "{text}"
[in json form|in json format|json format], {the} [of|in][: |\\n]{text}
[format|format as|output format] json, [keys|fields] {keys}, [text|input] follows.\\n{text}
[text follows|the text follows|text comes below]. [keys|fields]: {keys}. [answer in json|json].\\n\
{text}
{text}\\n^ [json|as json], {prose}
{text}\\n[from the above|from that|based on this], [json with|make json with] {prose}
[below|underneath|in quotes] [is|you find] a @TEXT. [i want|send] {the} as json.\\n"{text}"
"{text}"\\n[above|there] you [see|have] a @TEXT. [i want|send] {the} as json.
"{text}" [contains|has|holds] {the}. [json|as json], please
the @TEXT "{text}" [contains|names|holds] {the}; [return|write] a json object
[json for this|this in json][ please|]: "{text}" - keys {keys}
[a @TEXT|one @TEXT] for you: {text} [required|needed] keys: {keys}
[please read|please take] the @TEXT and [answer|respond] with {typed} in json[: |.\\n]{text}
[must have|must contain|has to contain]: {keys}. [must be|format]: json. [source|text]: {text}
[source|original|raw|raw text]: {text}\\n[target|result|goal]: json with {prose}
[raw|messy|unsorted] [note|text]: {text}\\n[clean|tidy|sorted] json with {prose}:
[clean up|tidy up] this [note|text] as json ({plain}): {text}
[please structure|structure] the [note|text] as json, {prose}, [thanks|thank you][: |\\n]{text}
[structured output|structured data|json mode][: |, ]{keys}\\n{text}
[respond|reply|answer] with a json object only. [it has|it contains] {prose}.\\n{text}
[respond|reply|answer] only with an object that has {quoted}[: |.\\n]{text}
{text}\\n[respond|reply|answer] only with an object that has {quoted}[.|]
[fill these|complete these] from the @TEXT: {keys}\\n{text}
[blanks|gaps] to fill: {keys}. [the @TEXT|from]: {text}. [json|json please]
[gimme|pls|plz] {prose} [in|as] json: {text}
{text} [gimme|pls|plz] {prose} [in|as] json
json pls, {plain}: {text}
[yo|hey|hi], json? {prose} [from|of] "{text}"
[good morning|good evening|dear assistant], [please find|please take] {the} in this @TEXT and \
[send|write] json: {text}
[my homework|an exercise|the exercise]: write "{text}" as json with {prose}
[i copied|i pasted] this from [a page|a mail|a chat]:\\n{text}\\n[now i need|i only want] {prose} \
as \
json
[i do not want to type it|i am lazy|my hands hurt], [make|write] the json with {prose} for me: \
{text}
[each key|every key] once: {keys}. [values|the values] from: {text}
[exactly these keys|these keys exactly|keys, in this order]: {keys}\\n{text}
{text}\\n[in this order|exactly so|in the order given]: {keys}, [json|as json]
[object keys|json keys|key names]: {quoted}. [text|sentence]: "{text}"
[what would|how would] the json [look like|be], with {prose}, for: {text}
[how do you write|show me] "{text}" as json with {prose}
[show|display] {the} of this @TEXT as json: {text}
[this @TEXT|the @TEXT] as json. [keys|with]: {keys}. {text}
"{text}" > json > {plain}
[json needed|json wanted|looking for json]: {prose}. [text|from]: {text}
[our clerk|the clerk|a machine] notes {prose} of each @TEXT. what is noted here, in json? {text}
[deliver|supply|provide|submit] {the} as json, [taken from|based on] the @TEXT: {text}
"""

_SCHEMAS = """
answer according to the schema {schema}[: |\\n| - ]{text}
{text}\\nanswer according to the schema {schema}
[respond|reply] [as the schema says|by the schema|per schema] {schema}\\n[message|note]: {text}
[this is how|here is how] the json [looks|should look]: {schema}. [now do it for|do the same for]: \
{text}
[this is what|here is what] i [want|expect] back: {schema}\\n[this is what|here is what] i have: \
{text}
[i have|we have] "{text}" and [want|need] {schema}
[from|out of] "{text}" [make|build|produce] {schema}
[schema first, text second|first the schema, then the text]:\\n{schema}\\n{text}
[text first, schema second|first the text, then the schema]:\\n{text}\\n{schema}
hello, [can you|could you] fill {schema} from my note? {text}
hi! [my note|my message]: {text}\\n[the form|my form]: {schema}\\n[can you fill it|please fill it]?
[the api|the endpoint|the service] [takes|accepts] {schema}. [what do i send for|body for]: {text}
[request body|body|payload] [looks like|is] {schema}. [write it for|fill with]: {text}
[only valid json|nothing but json|json only] that [passes|satisfies|meets] {schema}\\n{text}
{text}\\n[validate against|must pass|must satisfy]: {schema}
[type|interface|struct|class] [Record|Item|Entry] = {schema}\\n{text}
[objects|records] look like {schema}. [the record for|one for][: |\\n]{text}
[shape of the answer|answer shape|answer form]: {schema}. [question|text]: {text}
[text|input]: "{text}"\\n[answer shape|expected shape|reply shape]: {schema}
### schema\\n{schema}\\n### [text|input]\\n{text}\\n### [json|answer]
### [text|input]\\n{text}\\n### schema\\n{schema}\\n### [json|answer]
<schema>{schema}</schema>\\n<text>{text}</text>
<text>{text}</text>\\n<schema>{schema}</schema>
```json\\n{schema}\\n```\\n{text}
{text}\\n```json\\n{schema}\\n```
```\\n{schema}\\n```\\n[fill it with|values from|fill from]: {text}
{schema} <- {text}
{text} -> {schema}
{text} => {schema}
{schema} [for|from|of]: {text}
[copy|put|place] the [values|details] of this @TEXT [where they belong in|into] {schema}: {text}
[the blanks in|the gaps in|what is missing in] {schema} [can be filled|are] from this @TEXT: {text}
[replace|swap] the [dots|blanks|types] in {schema} by what the @TEXT says: {text}
{text}\\n[replace|swap] the [blanks|types] by the values: {schema}
[a json object|one object|an object] of this [shape|schema|form], please: {schema} [text|source]: \
{text}
[you know|take] this [schema|form]? {schema} [then|so] do: {text}
[structured output|json mode|strict json]: {schema}\\n[prompt|user|message]: {text}
[user|customer|caller]: "{text}"\\n[json|record|data] [schema|shape]: {schema}
[every|each] @TEXT becomes {schema}. [this one|the next one]: {text}
[what does|how does] {schema} look for "{text}"
[given|having] the schema {schema} and the @TEXT "{text}", [write|output] the json
[given|having] the @TEXT "{text}" and the schema {schema}, [write|output] the json
[match|fit] "{text}" to {schema}
[i want|we want|please] json like {schema}, [made from|built from|for] "{text}"
"{text}"\\n[json like this|like this|in this shape], please: {schema}
[keep|stick] to the schema {schema}[. |.\\n][text|now]: {text}
[fields and types|keys and types|the types are]: {schema}\\n{text}
{text}\\n[fields and types|keys and types|with these types]: {schema}
[our table|the table|my list] stores {schema}. [new entry|next entry|add]: {text}
[no extra keys|nothing added|no other keys]: {schema}\\n{text}
[do not change the keys|leave the keys as they are], [fill in|add] the values: {schema}\\n{text}
[an empty record|empty form|blank record]: {schema}\\n[fill it|complete it] [with this|from]: {text}
[dear assistant|good morning], [please complete|complete] {schema} [using|with] this @TEXT: {text}
[program|script] [input|reads]: {schema}. [human|person] [wrote|typed]: {text}
"""

_SYSTEM = """
the user [sends|pastes|writes] a @TEXT. find {the} in it. [answer with|reply with] one json \
object and \
nothing else.
you [receive|get] short @TEXTs. [for each of them|each time], write {prose} as json. copy the \
values \
as they stand.
you are [a clerk|an assistant|a helper] who files notes. every note [mentions|names] {the}. reply \
with \
json that has {quoted}.
[rules|the rules|your rules]: 1. read the message. 2. find {the}. 3. [answer|reply] with json only.
read the message. take {the} from it. [write|output] json with the keys {plain}.
your [task|job|only task] is to [turn|convert] what the user writes into a json object with \
{typed}. \
[do not add|never add] [anything else|comments].
messages from [customers|people|users] arrive one by one. [note|register] {prose} of each. \
[the output is|output] json.
[whatever|everything] the user [types|sends] is data, not a question. [answer|respond] with a json \
object of {prose}.
do not [talk|chat] to the user. [return|output] {quoted} from [the|each] message as json.
[you fill|fill] a form with {prose}. the user [tells|gives] you the facts in plain words. [reply|\
answer] with the form as json.
[we keep|our office keeps] a list of {prose}. the user [sends|dictates] an entry. [you write it|\
write it] as json.
[keys|the keys]: {keys}. [values|the values]: as in the user's message. [format|form]: json, no \
other \
words.
[extract|collect] {typed} from the [user's message|user message|message]. [respond|reply] with \
json \
only.
the [program|software|system] behind you [reads|needs] json with {typed}. [the user|people] write \
ordinary sentences. [translate|convert] them.
you are [connected|wired] to a database. for each message, [send|emit] a json row with the columns \
{plain}.
[one message in|message in], [one json object out|json out]. [the object has|it has] {prose}.
input: a @TEXT. output: json with {quoted}.
input: [text|free text|plain words]. output: a json object ({plain}). nothing more.
[be silent|say nothing] except for json. [it must have|it has] the keys {keys}.
[treat|see|take] every message as a note to be filed. [the file needs|we file] {the}, as json.
when a message comes, [look for|find] {the}. then [print|write|send] them as a json object.
whenever the user writes, [give back|return] {prose} as json. do not [explain|comment].
[you see|you will see] a sentence about [someone|something]. [reply with|write] json that states \
{the}.
[parser|text parser|data parser]. input sentences, output {typed} as json.
you [work|serve] as a parser. [the user|a person] gives a sentence and you give {prose}, [as|in] \
json.
[act|behave] like a [function|parser] that takes a text and returns json with {prose}.
[function|def] parse(text): returns json with {plain}.
[return type|the return type]: json object ({plain}). [argument|the argument]: the user's message.
[the assistant|this assistant] [converts|turns] messages into records. a record has {typed}. \
records \
are json.
[each record|a record|every record] has {prose}. [write|make] the record for the user's message, \
in \
json.
[our customers|people|clients] [write|send] us notes, and we need {the} of each in json. that is \
all \
you do.
you help [a shop|an office|a library|a club] to keep its books. [from every|from each] message \
take \
{prose} and [answer|reply] in json.
[please|always] [answer|respond] in json with exactly these keys: {keys}. the user's message has \
the \
values.
the answer is [always|strictly] a json object with {quoted}. [no text|no words] before or after it.
json object, keys {plain}, values from the message. [no markdown|no code fence|no talk].
[never|do not] [answer|reply] in sentences. [fill|give] {keys} in json.
the [next|following] message holds {the}. [write|return] them in json.
[data entry|form filling|note taking]: [for every|for each] message [enter|store] {prose} as json.
[data entry|record keeping] assistant. fields: {typed}. answer: json.
[take|pick] {the} out of the text that you get, [leave|drop] the rest, and [answer|reply] in json.
ignore [small talk|everything else|other details]. [only|just] {the} [matter|count]. json.
what the user says contains {prose}. [say|put] it in json, [word for word|letter for letter].
[copy|take] {prose} letter for letter from the message into json.
[slots|slot names]: {keys}. fill the slots from what the user says and [reply|answer] with json.
you are a slot filler. slots: {plain}. [reply|answer] as a json object.
{typed}: [that is|this is] what we need from each message, in json.
[give|send] json. [the keys are|keys are] {quoted}. [the user|the person] gives you the text.
[look at|read] the user's text and [fill in|complete] {schema}. [send|return] the json only.
every reply [is|must be] an object like {schema}. the values come from the user's message.
the user writes [freely|plain sentences]. [you answer|answer] according to the schema {schema}.
[answer|respond] according to this schema, whatever the user sends: {schema}
our [api|service|importer] [takes|accepts] {schema}. [write|make] that from the user's words.
you [write|make] records of this [shape|kind]: {schema}. one for each message. no [talk|comments].
[the schema|the json schema] of your answers is {schema}. [take|copy] the values from the message.
{schema}\\nthis is the schema. the user's text has the values. [output|return] json.
[template|blank form]: {schema}\\n[fill it in|complete it] for each message. [answer|reply] with \
it \
alone.
read what comes. [write|return] it as {schema}. [that is all|nothing else].
[valid|correct] answers [match|fit] {schema}. anything else [breaks|crashes] our program.
you [convert|translate] plain language to {schema}. [keep|leave] the values as they are.
for [every|each] message: 1. find {the}. 2. write {plain} as json.
[structured output|json mode] is on. keys: {typed}.
"""


def _frames(block: str) -> list[str]:
    block = block.replace("@TEXTs", "[texts|messages|notes]")
    return ready(block.strip().splitlines())


KEYS = _frames(_KEYS)
SCHEMAS = _frames(_SCHEMAS)
SYSTEM = _frames(_SYSTEM)
