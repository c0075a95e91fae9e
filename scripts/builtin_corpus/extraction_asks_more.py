"""Still more ways in which strangers ask for JSON: prompts of developers, the text in \
mid-sentence, the request after the text.

The slots are those of `extraction_asks.py`: `{keys}`, `{plain}`, `{prose}`, `{the}`, `{quoted}`,
`{typed}`, `{schema}` and `{text}`. `SYSTEM` describe the task in a system prompt; the user then
sends the text only. Called by `extraction.py` and, for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

from .extraction_frames import ready

_KEYS = """
{text}\\n\\nreturn a json object with [these|the following] fields: {keys}
{text}\\n\\n[please |]reply with a json object that has {typed}[, nothing more|, and no other \
fields|.]
{text}\\n\\n[your answer|the reply|the result]: json, fields {keys}
{text}\\n\\n[how would you|can you] store this? [i keep|i need] {prose}, so json with those.
{text}\\n---\\n[fields|columns] [to extract|i want]: {keys}\\n[format|output]: json
{text}\\n===\\n[json please|json], {prose}
{text}\\n\\n[of all this|from all that|out of this] i [just|only] [want|need] {the}. json.
{text}\\n\\n{typed} - [as json|json please]
{text}\\n\\n[could you please|would you please|kindly] [turn|make] that into json? {prose} \
[is|are] [enough|all i need].
{text}\\n([json only|as json]: {plain})
{text}\\n// todo: json with {plain}
{text}\\n# [json|expected json] keys: {plain}
{text}\\n\\ntl;dr as json: {plain}
{text}\\n\\n[so|ok|right], [what|which] {prose}? json[, no talk|.]
[when i read|when somebody writes|if i get] "{text}", [what|which] json [should i|do i] \
[save|store], given [the keys|the fields] {keys}?
[suppose|say|assume] the [mail|entry|line] "{text}" [comes in|arrives]. [write|return] the json \
object with {quoted}.
[i was handed|they gave me] "{text}" and [have to|must] [report|note] {prose}; [do it|help me] in \
json
the [words|lines] "{text}" [should become|must turn into|are to become] a json object with {prose}
[take|consider] "{text}" and [return|give back|produce] a json object whose keys are {prose}
[with|using] "{text}" [as the source|as input], [build|create] a json object: {typed}
in "{text}" [you can find|one finds|there is] {prose}; [return|answer with] that as json
[my boss|the customer|a neighbour] wrote "{text}" - [put|write] {the} into json for me
[is it possible|would it be possible] to get {the} as json out of "{text}"?
[the api should|our api must|my tool should] answer "{text}" with a json object of {typed}
[convert|rewrite] "{text}" [as|to] an object ({keys})
[return|output|respond with] a json object containing {quoted}.\\n\\n[text|input|context]:\\n{text}
[return|output] a json object. [it must contain|it needs] the fields {keys}. [text|input]: {text}
return a json object, {typed}, [for|from] this: {text}
[return|give back] exactly one json object with {prose}. [no markdown|no code fences].\\n{text}
[extract|read] the following fields from the text: {keys}.\\n\\n[text|document]: {text}\\n\\njson:
[extract|find] the following information: {typed}.\\n\\n[source|document]: {text}
[extract|parse] and return only json.\\nfields: {keys}\\ninput: {text}
[extract the entities|extract these entities|entity extraction]: {keys}\\n\\n{text}
[your task|the task] is to [extract|read] {the} from the [document|input] and [return|output] \
json.\\n[document|input]: {text}
[below is|here comes] the [document|input]. [return|print] json with \
{quoted}.\\n<document>\\n{text}\\n</document>
<input>{text}</input>\\n<fields>{plain}</fields>\\n<output>
<doc>{text}</doc> [return|give] json: {plain}
[wanted|desired fields|field list]:\\n{typed}\\n\\n[raw input|raw text]:\\n{text}
[role|you are]: data extractor. [fields|keys]: {keys}. [input|text]: {text}
[you are a|act as a] [parser|json api|data entry clerk]. [write|return] {prose} for: {text}
[act like|pretend to be|be] a json endpoint that returns {prose}. [request|request body]: {text}
[prompt|instruction]: [extract|return] {plain} as json. [text|data]: "{text}"
extract_fields(text="{text}", fields={plain})
llm.extract("{text}", keys=({plain}))
data = parse("{text}")  # {plain}
> {text}\\n\\njson with {prose}, [please|thanks]
> {text}\\n[reply in json|answer in json]: {plain}
curl -d "{text}" /extract?fields={plain}
[select|get] {plain} from "{text}" [as json|format json]
SELECT {plain} FROM text; [output json|as json]\\n{text}
[can u|could u|can ya] [json|jsonify] this [for me|real quick]? just {prose}: {text}
[lol ok|ok so|alright], {prose} as json [pls|please]: {text}
[need this|i need this] [as json|in json] [asap|quickly|today]: {prose}\\n{text}
[got a sec|one moment|quick favour]? {text}\\njson with {prose} [would be great|would be lovely]
[hey there|hi again|hello again], {text} <- [get me|pull out] {prose} as json
[just toss|just throw|simply put] {prose} into json: {text}
[no need for more than|nothing beyond] {prose}. json. {text}
[i'd love|i'd like|i would love] [to see|to get] {prose} in json, [the text being|from]: {text}
[do me a favour|be so kind]: {text} -> json ({plain})
[i can't read this|my eyes are tired], so [make|write] json with {prose} out of "{text}"
[for a csv import|for an import|for my app] i need {typed} [as json|in json]:\\n{text}
[we log|we record|we track] {prose}. what does the json [look like for|say about]: "{text}"
[populate|prefill] the [form|record] ({keys}) [from|using]: {text}\\n[output|return] json
[make|create] a record [out of|from] the next line, [with fields|with] {typed}.\\n{text}
[map this to json|text in, json out]. keys: {keys}. text:\\n{text}
[fields|attributes] of interest: {prose}. [text|line]: {text}. [answer|reply]: json
[i am interested in|what matters is|relevant here:] {prose}.\\n{text}\\n[give|send] me the json
{keys}\\n\\n{text}\\n\\n[fill in|complete] as json
{keys} = ?\\n{text}\\n[answer in json|json answer]
{quoted}: [what are their values|which values do they have] in "{text}"? json
[find values for|give the values of] {quoted} in the [following|next] [line|message]. json. {text}
[exact|verbatim|unchanged] values please: {prose}, in json.\\n{text}
[do not|don't] [change|translate|round] anything, [just copy|copy] {prose} into json: {text}
[copy the spelling|keep the spelling], [make|write] json with {prose}:\\n{text}
[one-line json|json on one line|single-line json] with {prose}:\\n{text}
[types matter|mind the types]: {typed}. json. {text}
[fields with types|typed fields|field (type)]: {typed}\\n{text}
{typed}\\n^ [fields|keys] of the json, the text is:\\n{text}
[step by step is not needed|no reasoning]: {prose} as json.\\n{text}
[test case|example|sample] input: {text}\\n[test case|example|sample] output must be json with \
{keys}
[ticket|request|job] 17: make json ({plain}) of the text "{text}"
[the scanner read|the ocr says|the scan shows]:\\n{text}\\n[return|write] json with {prose}
[transcript|voice memo|dictation]: {text}\\n[structured|as json]: {plain}
[screenshot text|text in the picture|copied text]: {text}\\n[pull|get] {the} as json
[forwarded message|fwd]: {text}\\n\\n[extract to json|json]: {keys}
[from this row|from this line|from this entry], json with {prose}: {text}
[ignore the rest|other values may stay out]. {text}\\n[fields|keys]: {typed}
[there are|you may see] other [numbers|names] too, i only want {prose} [in json|as json]: {text}
[don't get confused by|never mind] the other [values|details]: {the}, json.\\n{text}
"""

_SCHEMAS = """
{text}\\n\\nreturn a json object [that matches|matching|conforming to] this schema:\\n{schema}
{text}\\n\\n[fill this|fill out this|please fill]: {schema}
{text}\\n---\\n{schema}
{text}\\n\\n[the json for that|my json for that] should have the form {schema}
return a json object that [conforms to|validates against|obeys] \
{schema}.\\n\\n[input|context]:\\n{text}
[you must respond with|respond with|reply with] json [conforming to|validating against] this json \
schema:\\n{schema}\\n\\n{text}
response_format: {schema}\\n[user|prompt]: {text}
[tool|function] parameters: {schema}\\n[user|message]: {text}
[pydantic|zod|json schema] model: {schema}\\n[parse|load] this: {text}
<format>{schema}</format>\\n<input>{text}</input>
<input>{text}</input>\\n<format>{schema}</format>\\n<output>
[the mail|the entry|the line] "{text}" [should be stored|is to be saved] as {schema}
[when|if] the input is "{text}", [what is|return] the object for {schema}
[take|read] "{text}" and [give me|return] {schema} [filled|completed]
[our backend|my backend|the frontend] [expects|wants] exactly {schema}. [source|user input]: {text}
[given this|with this] [interface|type definition|data \
model]:\\n{schema}\\n[convert|parse]:\\n{text}
parse("{text}", schema={schema})
output = {schema}\\ninput = "{text}"
[can u|can you] fill this in [for me|quickly]? {schema}\\n{text}
[hi|hey], i need this form filled: {schema}. [it's all in here|the facts]: {text}
> {text}\\n\\n[as json like|json in the form] {schema}
[read|scan] the [document|input], then [emit|print] one object for {schema}\\n[document|input]: \
{text}
[properties and types|each property with its type]: {schema}\\n[source text|raw text]: {text}
[the blank card is|the empty card is] {schema}. [what stands on it|how is it filled] for: {text}
[do not invent anything|do not guess], [fill|complete] {schema} from what is written: {text}
[two inputs|two parts]. schema: {schema} text: {text} [answer|result]: json
[ocr result|scanned text|transcript]: {text}\\n[target schema|target format]: {schema}
[strictly|exactly] this shape: {schema}\\n[content|contents] from: {text}
[write the object|the object please]. [it looks like|the shape is] {schema}, [the data is|data]: \
{text}
"""

_SYSTEM = """
you are [a json api|an extraction service|a backend]. [input|the request]: free text. \
[response|reply]: a json object with {keys}.
[return|output|reply with] a json object [containing|holding] {quoted}, [taken|read] from the \
user's [text|input].
[extract the following fields|extract these fields|fields to extract] from the user input: \
{keys}. [respond|answer] in json [only|with no extra text].
[the user pastes|people paste] [a mail|a log line|a receipt|a form|a note]; [return|write] {the} \
as json.
[turn|convert] [any text|every input|whatever text comes] into a json object with {typed}.
[required fields|the required fields are]: {keys}. [output format|format]: a json object.
## [task|role]\\n[extract|return] {prose} as json from the user's text.\\n## [rules|notes]\\ncopy \
the values, [add nothing|no comments].
<instructions>[read|parse] the text and return json with {plain}</instructions>
[context|setting]: [an import script|a data pipeline|a mail robot]. [it expects|expected] json \
with {typed} [for|from] each text.
[behave as|work as|you are] the function extract(text) and [return|print] an object with {plain}.
[there may be|texts may have] other [numbers|names|details] in the text. [you return|return] only \
{prose}, as json.
[all|every one] of your replies [are|is] json with the fields {keys}, [filled|taken] from the \
text you are given.
[be brief|no chit-chat|stay silent]: {prose} in json, from [whatever|any text] the user \
[sends|pastes].
[the texts|inputs] are [mails|rows|notes|ads]. [report|hand back] {the} as a json object.
[response schema|response_format|answer schema]: {schema}
[respond|reply] with [an instance of|an object for] this json schema: {schema}\\n[copy|take] the \
values [from the user's text|from the text].
[you are given|you get] a text and return json [that validates against|conforming to] {schema}
[every output|each output] [validates against|conforms to] {schema}. [inputs|the inputs] are texts.
[parse|read] the user's text into {schema}. [print|emit] the object, nothing around it.
[data model|record type|table]: {schema}\\n[one object|one record] per [text|input], as json.
[keep|leave] [numbers|values] as written and [return|output] {prose} as [one|a] json object.
"""

KEYS = ready(_KEYS.strip().splitlines())
SCHEMAS = ready(_SCHEMAS.strip().splitlines())
SYSTEM = ready(_SYSTEM.strip().splitlines())
