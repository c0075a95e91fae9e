"""Ways to ask for JSON around a text: keys as lists, with types, as templates or as schemas.

`{keys}` is where the keys are listed, `{schema}` where a schema or template stands, `{text}` where
the text stands. `SYSTEM` are instructions for a system prompt; the user then sends the text only.
Called by `extraction.py` and, for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

_JSON = "[json|a json object|one json object|valid json|plain json|json only]"
_TEXT = "[text|sentence|message|note|paragraph|line|snippet]"
_GET = "[extract|get|pull|take|find|collect|read|pick out|grab|fetch|gather]"
_GIVE = "[return|give me|write|output|produce|print|send back|reply with|answer with|respond with]"

_KEYS = """
@GET {keys} from [this|the|the following] @TEXT [as|into] json[: |:\\n|.\\n]{text}
@GET {keys} from: {text}
[please |]@GET {keys}[ as json|, json please|. json only|][: |\\n]{text}
@GIVE @JSON with [the keys |keys |the fields |fields |only |]{keys}[: |.\\n|:\\n| for: ]{text}
@GIVE {keys} [of|from|in] this @TEXT as json[: |:\\n|\\n]{text}
json [only|please|output][, |: |. |, with ][keys|fields|the keys] {keys}[: |. |\\n|.\\n]{text}
json with {keys}[: |\\n| from: | of: ]{text}
json [keys|fields][: | ]{keys}[\\n|. Text: |. ]{text}
keys[: | ]{keys}[\\n|. Text: |. |\\nText: ]{text}
fields[: | ]{keys}[\\n|. Text: |. |\\nText: |. Sentence: ]{text}
@TEXT: {text}\\n[keys|fields|json keys|wanted|columns|attributes|properties][: | ]{keys}
@TEXT: {text}\\n@GET {keys}[ as json|. json only|. answer in json|]
{text}\\n@GET {keys}[ as json| from this text as json|, json|. reply in json|]
{text}\\n@GIVE @JSON with [the keys |keys |fields |]{keys}
{text}\\njson [with|of] {keys}[ please| only|]
{text}\\n[what are|give me|i need|i want] {keys}[?|.|] [json please|as json|answer in json|in json]
{text} -> json with {keys}
{text} => {keys} as json
"{text}" [as json with|to json, keys|in json with the fields|to json with] {keys}
[from|in] "{text}" @GET {keys} [as|into|to] json
[turn|convert|transform|change|make|put] [this|the] @TEXT [into|to] @JSON with \
[keys |the keys |fields |]{keys}[: |:\\n|\\n]{text}
[turn|convert|transform|make] "{text}" [into|to] json with [keys |the keys |fields |]{keys}
[parse|read|analyse|process|scan] [this|the following] @TEXT[, | and ]@GIVE json with {keys}\
[: |:\\n]{text}
[parse|structure|encode|format] this[: | as json: ]{text}\\n[keys|fields][: | ]{keys}
[i need|i want|we need|i would like] {keys} [from|of|out of] [this|the] @TEXT[, as json|, in json|]\
[: |\\n]{text}
[i need|we need|i want] @JSON with {keys}[. the text is: |. here is the text: |: ]{text}
[what are|what is] [the |]{keys}[ here| in this text|][?|? answer as json|? json only|? reply in \
json][ |\\n]{text}
[can|could|would] you [please |]@GET {keys} [from this|from the text|here][ as json|][: |? |?\\n]\
{text}
[answer|reply|respond] [in|with|only with|only in] json[, |. ][keys|fields|use the keys|use][: | ]\
{keys}[. |\\n]{text}
[only|just|exactly] [these |the |]keys[: | ]{keys}[. |\\n]{text}
[only|just|nothing but] {keys}[, | ][as json|in json][: |\\n]{text}
[nothing else|no other keys|no extra keys|no explanation][, |: ][only |json with ]{keys}[: |\\n]\
{text}
[create|build|make|generate|form|compose] @JSON from [this|the] @TEXT[, | with ][keys|fields|use] \
{keys}[: |:\\n]{text}
[fill|complete] [in |][the fields |these fields |the keys |]{keys}[ from the text|][: |\\n]{text}
[data|information|entity|record|field] extraction[: |, |. ]{keys}[. |\\n]{text}
[task|job|todo][: ]@GET {keys} [as json|into json][. |.\\n|\\n]{text}
[here is|this is|look at|read|take] [a|the|this] @TEXT[: |:\\n]{text}\\n@GET {keys}[ as json|]
[here is|this is] [a|the|an] [email|chat message|log line|record|order|report|letter|post]\
[: |:\\n]{text}\\n@GIVE [a |]json with {keys}
[the keys are|the fields are|use the keys|use these keys|with the keys|with keys|with the fields]\
[: | ]{keys}[. |\\n|: |. Text: ]{text}
[input|in|source|document|content|data|passage][: ]{text}\\n[output|out|result|json|answer]\
[: | keys: | with ]{keys}
[list|name|state|tell me] {keys} [as json|in json][: |\\n| for ]{text}
[the |]{keys}[ please| as json| in json][: |\\n]{text}
```\\n{text}\\n```\\n@GET {keys}[ as json|]
@GET {keys} [as json|][:\\n|\\n]```\\n{text}\\n```
@GET {keys} [as json|to json][:\\n|\\n]<text>{text}</text>
[summarise|describe|represent|express] [this|the text] as json with {keys}[: |\\n]{text}
[return|give|output] json[. |, ]keys[: | ]{keys}[. |, ]text[: | ]{text}
[use|take] [exactly |only |]the keys {keys}[. | and write json for: |:\\n]{text}
[my|our|the] [form|table|database|sheet|program|script] [has|needs|wants|expects] \
[the columns |the fields |]{keys}[. fill it from|. the row is in|. take them from][: |:\\n]{text}
[i got|i received|we got|there came] [this|a|the following] @TEXT[: |:\\n]{text}\\n[i only need|\
i need|please note|enter|store] {keys}[ as json| in json|, json|]
[i read|someone wrote|a customer wrote|my colleague says][: |, ]"{text}"[\\n| ][what are|give me|\
i want] {keys}[, as json|? json please| in json]
[could you|can you|would you] [put|write|turn] [this|the following] [into|as] json[, | ][with|keys|\
fields|using] {keys}[?|: |?\\n| please: | please?\\n] {text}
[which|what] {keys} [does this @TEXT name|are mentioned|are stated|do you find here|are given]\
[? answer in json|? json please|? json][: |\\n]{text}
[do not explain|without comments|no prose|no markdown|just data][, |: |. ]@GIVE {keys} as json\
[: |:\\n]{text}
json[, please|], {keys}[: |\\n| <- | from ]{text}
{keys} <- {text}
{text}\\n-> {keys}
[text|message|note] = "{text}"\\n[keys|fields|wanted] = {keys}\\njson =
[one|a single] json [line|object][, | with ]{keys}[, | ][for|from|about][: |\\n]{text}
[save|store|log|index|record] [this|it|the following] as json with {keys}[: |\\n]{text}
[before i file it|for our records|for the database|for my script|for the form][, |: ]@GET {keys}\
[ as json|][: |\\n]{text}
[you will get|you see|below is|there is] a @TEXT[. |; ]@GET {keys} as json[. |:\\n|\\n]{text}
[work out|note down|write down|copy|transfer] {keys} [from this|from the text|as json|in json]\
[: |:\\n]{text}
--- \\n{text}\\n---\\n[json|@GIVE json] with {keys}
""".strip().splitlines()

_SCHEMAS = """
{schema}\\n{text}
{schema}\\n[Text|Input|Sentence|Message|Apply it to|Use it on|For|Data|Document|Source]: {text}
[schema|json schema|format|template|shape|structure|form|output format|response format|target]\
[: |:\\n| = ]{schema}\\n[Text: |Input: |Apply it to: |]{text}
[@GIVE|write|build] @JSON [that fits|matching|following|according to|that follows|valid for|for] \
[this|the] schema[: |:\\n| ]{schema}[\\n|\\nText: |\\nApply it to: ]{text}
[use|follow|obey|apply|take|respect] [this|the|the following] [schema|format|template|json schema]\
[: |:\\n| ]{schema}[\\n|\\nText: |\\nApply it to: |\\nThe text: ]{text}
[here is|this is|given|with] [a|the|this|my] [schema|json schema|template|format][: |:\\n| ]\
{schema}\\n[apply it to|use it for|fill it from|read the values from|the text is]\
[: |:\\n]{text}
[fill|fill in|complete|populate] [this|the] [template|form|schema|json|object][: |:\\n| ]{schema}\
[\\n|\\nText: |\\nfrom: |\\nwith: ]{text}
[fill|fill in|complete] {schema} [from|with the values of|using|for][: | ]{text}
@GET [data|values|the fields|everything|it] [like|as|in this form] {schema}[: |\\n]{text}
@TEXT: {text}\\n[schema|json schema|format|template|fill in|output|use|shape][: | ]{schema}
{text}\\n[schema|json schema|format|template|fill in|write it as|put it into|as][: | ]{schema}
{text}\\n[Fill|Complete|Use|Follow|Apply] [this|the] [schema|template|format][: | ]{schema}
"{text}" [as|into|in the form|to] {schema}
[answer|reply|respond] [in|with] json [like|of the form|as in|shaped like][ this|][: | ]{schema}\
[. |\\n]{text}
[parse|convert|turn|transform] [this|the] @TEXT [into|to|as] {schema}[: |\\n]{text}
[the answer must|your answer must|output must|the json must] [match|fit|follow|look like][: | ]\
{schema}\\n{text}
properties[: | ]{schema}\\n{text}
[my|our|the] [parser|program|api|database] [expects|wants|needs|reads] {schema}[. the text: |\
\\nText: |. Fill it from: |\\n]{text}
[make|let|have] [this|the] @TEXT [fit|match|follow] {schema}[: |:\\n]{text}
[I got|We received][: |, ]"{text}"\\n[now fill|please fill|put that into|answer as][: | ]\
{schema}
[convert|bring|get] the [values|data] below into {schema}[: |\\n]{text}
[text|input] = {text}\\n[schema|shape] = {schema}\\n[json|output] =
[no explanation|only json|nothing else|just the object][, |: |. ]{schema}[\\n|\\nText: ]{text}
""".strip().splitlines()

_SYSTEM = """
@GET {keys} from [what the user writes|the user's text|each message|every message|the input]\
[ as json|. json only|. answer in json|. reply only with json]
@GIVE @JSON with [the keys |keys |]{keys}[ for each message| for the user's text|.|]
you [extract|read|find|collect] {keys}[ from texts|][ and answer in json|. answer with json|. json \
only]
you [turn|convert] [texts|messages|sentences|what you are told] into json with [the keys |]{keys}
[always|only] [answer|reply|respond] with json[, |. ][keys|the keys are|fields][: | ]{keys}
[json|output] keys: {keys}
[the user|a person|somebody] sends a @TEXT. @GET {keys} as json
{schema}\\n@GIVE json [that fits|for] this schema
[schema|format|json schema|template|output format][: | ]{schema}
[answer|reply|respond] [with|in] json [of this|in the] [schema|form|format][: | ]{schema}
[fill in|fill|complete] [this|the template|the schema][: | ]{schema}
[you are a|be a] [parser|data extractor|json writer|form filler][. |: ][keys|fields]: {keys}
[you are a|be a] [parser|data extractor|json writer|form filler][. |: ]schema: {schema}
[every|each] [message|text|line] [holds|contains|has] {keys}[. | and you ]@GIVE them as json
[for|from] [every|each] [message|text|note] [note|store|write] {keys} as json
[no talk|no prose|no comments|nothing but json]. [keys|fields|the keys are][: | ]{keys}
[our program reads|the output is parsed as|the output must be] {schema}
""".strip().splitlines()


def ready(lines: list[str]) -> list[str]:
    """The frames with the words that stand for each `@MARK` and with their line breaks."""
    text = "\x00".join(lines)
    for mark, words in (("@TEXT", _TEXT), ("@GET", _GET), ("@GIVE", _GIVE), ("@JSON", _JSON)):
        text = text.replace(mark, words)
    return text.replace("\\n", "\n").split("\x00")


KEYS = ready(_KEYS)
SCHEMAS = ready(_SCHEMAS)
SYSTEM = ready(_SYSTEM)
ASIDE = """
{n} [was not there|sends greetings|knows nothing about it|will not come|took the notes|agrees]
[ask|tell|thank|greet] {n}[ if anything is unclear| about it| too|]
[this is message|see page|it is note|that was call] {k}[ of today|]
[we have|there are|i see] {k} [other|more|new] [mails|people|things|calls] [waiting|here]
[it was|it is] a [long|busy|sunny|rainy|quiet] [day|week|morning]
[thanks for your help|please note it|kind regards|that is all|more news will follow|everyone agreed]
[the office|the shop|our desk] in {c} is closed
[by the way|also], {n} [likes {w}|bought a {t}|is on holiday|moved to {c}]
the {t} is [broken|sold out|not ready|fine] again
[no one|nobody] [else |]was [late|there|hurt]
""".strip().splitlines()
