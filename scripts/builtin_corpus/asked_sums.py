"""More wordings of sums, one pattern on a line: terse, spelled out, spoken and as small stories.

`{a}` and `{b}` are the figures (for differences `{a}` is not the smaller one), `{n}` and `{n2}`
are two people, `{p}` is somebody, `{t}` are things, `{r}` is a place and `{d}`, `{d2}` are days.
"""

from __future__ import annotations

ADD = """
{a} and {b} is [what|how much|how many]
{a} and {b} [make|makes|gives|give|are|equals] [what|how much|how many]
{a}, {b}[:|,| -] [sum|total|add them|the sum please|what do they add up to]
[sum|total|addition|plus|adding][:|] {a}[, | and | + ]{b}
sum up {a} [and|with] {b}[ for me| please| quickly|]
[what is|what's|give me|compute|find|show me|i want|i'd like] the sum [of|from] {a} [and|plus] {b}
[what is|what's|find|get|give me|work out] the total of {a} [and|plus] {b}
total of {a} and {b}[| please]
[the|] sum of {a} and {b}[ is what|, please| is| =|]
[how much|how many|what] [does|do|will|would] {a} and {b} [make|come to|total|add up to|give]
[how much|how many] are {a} and {b}[ together| combined| in total| all together|]
[how much|what] is {a} [together with|combined with|in addition to|on top of] {b}
[what|how much] is {b} more than {a}
[which number|what number|what] is {b} [more|greater|bigger|higher|larger] than {a}
[increase|raise|bump] {a} by {b}[, what is it| and tell me the result| please|]
[what is|what's] {a} [increased|raised] by {b}
[what happens if|what if|suppose] i add {b} to {a}
[what|which number] [do i get|comes out|is the result] [if|when] {a} and {b} are added[ up|]
if i [add|sum|put together] {a} and {b}[,|] what [is it|comes out|is the answer|do i have]
[starting at|start at|starting from|start with] {a}[,|] [add|count up|go up] {b}[ more|]
count {b} [up|on|further|more] from {a}[, where do i end| and tell me where you land|]
[put|bring] {a} and {b} together[. what is it|, how much is that|]
[can you |could you |]add up {a} and {b}[ quickly|]
[i need|help me] to add {a} [and|to|plus] {b}
[my homework says|the exercise is|the task is|the question is|question][:|] {a} [+|plus] {b}
[do you know|can you tell me|could you tell me|any idea|who knows] [what|how much] {a} [+|plus]\
 {b} is
[do the|make the|a quick|simple|easy] [sum|addition|maths|math|one]: {a} [+|plus|and] {b}
[math|maths|arithmetic|calculator|calc|calculation][:|] {a} [+|plus|and] {b}
[quick|fast|hey|now|ok|next one|another one|and]: {a} [+|plus] {b}[ =|]
{a} [+|plus] {b} = [what|how much|x, what is x|x. x|...|__]
[result|answer|solution|value] of {a} [+|plus] {b}
[what is|what's|give me|say|tell me] the [result|answer|value|outcome] of {a} [+|plus|added to] {b}
[adding|summing] {a} [and|to|with|plus] {b} [gives|makes|results in|yields|equals] [what|]
[when|if] you [sum|total|add|combine] {a} and {b}[,|] [what do you get|what is the total|result]
{a} [with|and] {b} more [is|makes|gives][ what| how much|]
{b} more than {a}[ is what| is|]
[can|could] you [calculate|compute|do|solve|work out|figure out] {a} [+|plus] {b}[ for me| please|]
[i want|i would like|i'd like|i have] to [know|calculate|compute] {a} [+|plus] {b}
[fill in|complete|finish]: {a} + {b} = [_|?|...]
[combine|join|merge] {a} and {b} [into one number|into a sum|and give the total]
""".strip().splitlines()  # fmt: skip
GAINS = """
{n} has {a} {t} and {n2} has {b}[. how many together|. how many do they have|, how many in all]
{n} has {a} {t}, {n2} has {b} {t}[. how many do they have [together|in total|altogether]|. total]
{n} [picked|found|sold|baked|made|read|won] {a} {t} and {n2} {b}[. how many in all|, total|]
{n} gives me {a} {t} and {n2} gives me {b}[ more|][. how many do i have|, how many is that]
i [had|got|own|hold] {a} {t} and [got|was given|bought|found] another {b}[, how many now|. total]
[we|they] [need|want|order] {a} {t} for the {r} and {b} for {n}[. how many [in all|in total]|]
a {r} costs {a} [euros|dollars] and a {t} {b}[. what do i pay|. how much for both|, together]
[i pay|i paid|we spent] {a} [euros|dollars] for a {r} and {b} for [food|a ticket|{t}][. total|\
, how much in total]
[the bus|a bus|the train|a train] has {a} [people|passengers] and {b} [more |]\
get on[. how many now|, how many are on it]
{n} is {a} years old. how old [is|will] [he|she|{n}] [be |]in {b} years
i am {a} now, how old [will i be|am i] in {b} years
{n} [walks|runs|drives|cycles] {a} km on {d} and {b} km on {d2}[. how far in all|, how many km]
[first|yesterday|last week|this morning] {a} {t}, [then|today|this week|later] {b}[ more|]\
[. how many in total|, total]
[a class|one class] has {a} [pupils|students] and the other {b}[. how many [in all|together]|]
on one [shelf|table|plate] are {a} {t}, on the other {b}[. how many are there|, how many in all]
{a} {t} plus {b} {t}[ is how many| makes| equals|, how many|]
{a} {t} and {b} {t} [are|make] how many[ {t}|]
[how many|what number of] {t} are {a} {t} and {b} {t}[ together|]
[how many|how much] {t} [do i|does {n}] have [with|after getting|after buying] {b} more than {a}
it was {a} degrees and got {b} degrees warmer[. how warm is it|, how many degrees now|]
{n} scored {a} points[, then| and then| and] {b} [more|points more][. what is the score|, total]
[add|put] {b} {t} to the {a} [{t} |]in the {r}[. how many are there|, how many is that|]
""".strip().splitlines()  # fmt: skip
SUB = """
{a} take {b}[| is| is what| away]
{a} without {b}[ is| is how much|]
{a} less {b}[ is| is what| equals|]
[what|how much|how many] is {a} [without|take away|less|reduced by|lowered by|decreased by] {b}
[difference|subtraction|subtract|minus][:|] {a}[, | and ]{b}
[the |]difference between {a} and {b}[ please| is| is what| =|]
[what is|what's|tell me|give me|work out|find out|calculate] the difference between {a} and {b}
[how big|how large|how great|how much] is the [difference|gap|distance] between {a} and {b}
[what is|what's|give me|find] the [gap|distance] [between|from] {b} [and|to] {a}
by how much [do|does] {a} and {b} differ
how much [more|bigger|larger|greater|higher] is {a} than {b}
[by how much|how much] is {b} [smaller|less|lower] than {a}
{a} is how much [more|bigger|larger|greater] than {b}
how [many|much] more [than {b} is {a}|is {a} than {b}|do i need to get from {b} to {a}]
[how many|how much] [is missing|do i lack|is needed|are missing] from {b} to {a}
[what must i|what do i|how much must i|how much do i have to] add to {b} to [get|reach|make] {a}
{b} plus what [is|makes|gives|equals] {a}
{b} + [?|_|x] = {a}[. what is missing|, find the missing number|, what is x|]
[what|which number] is {b} [less|smaller|lower|fewer] than {a}
{b} less than {a}[ is| is what|]
[reduce|lower|decrease|cut|shrink] {a} by {b}[, what is it| please| and tell me the result|]
[what is|what's] {a} [reduced|lowered|decreased|cut] by {b}
[take|knock|count] {b} off {a}[, what is left| please|]
[taking|subtracting|removing|deducting] {b} from {a} [gives|leaves|results in|makes][ what|]
[what happens if|what if|suppose] i [take|subtract|remove] {b} from {a}
if i [take|subtract|deduct|remove] {b} from {a}[,|] what [is left|remains|do i have|do i get]
if you have {a} and [take|give] away {b}[,|] what [is left|remains]
[starting at|start at|starting from|start from] {a}[,|] [go down|count down|go back|count back] {b}
count {b} [back|down|backwards] from {a}[, where do i end|]
[what|how much] [remains|is left|stays] of {a} after [taking away|subtracting|losing|removing] {b}
[what is|give me|tell me] the [result|answer|value|outcome|remainder] of {a} [-|minus] {b}
[result|answer|solution|value] of {a} [-|minus] {b}
[math|maths|arithmetic|calculator|calc|calculation][:|] {a} [-|minus|take away] {b}
[do you know|can you tell me|could you tell me|any idea|who knows] [what|how much] {a} [-|minus]\
 {b} is
[my homework says|the exercise is|the task is|the question is|question][:|] {a} [-|minus] {b}
[can|could] you [calculate|compute|do|solve|work out|figure out|subtract] {a} [-|minus]\
 {b}[ for me| please|]
[can|could|would] you [please |][subtract|take|deduct] {b} from {a}[ for me| please|]
[i need|i want|i would like|help me] to [subtract|take] {b} from {a}
[quick|fast|hey|now|ok|next one|another one|and]: {a} [-|minus] {b}[ =|]
[fill in|complete|finish]: {a} - {b} = [_|?|...]
{a} [-|minus] {b} = [what|how much|x, what is x|...|__]
[what do|how much do|what would] i have left [of|from] {a} [without|after spending|minus] {b}
""".strip().splitlines()  # fmt: skip
LOSSES = """
{n} has {a} {t} and {n2} has {b}. how many more [{t} |]does {n} have[ than {n2}|]
{n} has {a} {t}, {n2} [only |]{b}. [how many more has {n}|what is the difference|by how many]
{n} had {a} {t} and gave {b} [of them |]to {n2}[. how many [does {n} keep|are left|remain]|\
, how many left]
i [had|own|bought|got] {a} {t} and [gave|sold|lent] {n} {b}[. how many do i have left|\
, how many remain|. what is left]
of {a} {t} {b} are [broken|gone|red|sold|taken][. how many are not|. how many are left|\
, how many remain]
{a} {t} in the {r}, {b} [are taken|get lost|break|are eaten][. how many are left|, how many remain]
[the bus|a bus|the train|a train] has {a} [people|passengers] and {b} get off[. how many [stay|\
remain|are left]|, how many now]
{n} is {a} and {n2} is {b}[. how many years older is {n}|, how much older is {n}|. age difference]
{n} is {a} years old. how old was [he|she|{n}] {b} years ago
i have {a} [euros|dollars|coins] and [spend|pay|lose] {b}[, how much is left|. how much do i keep|\
. what remains]
i pay with {a} [euros|dollars] for something that costs {b}[. how much change do i get|, change]
a [book|trip|film] has {a} [pages|hours|parts] and i [read|did|finished] {b}[. how many are left|\
, how many remain]
{n} wants {a} {t} and has {b}[. how many are missing|. how many more are needed|, how many to go]
[we|they|i] need {a} {t} and have {b}[. how many more do [we|they|i] need|, how many are missing]
it was {a} degrees and got {b} degrees colder[. how warm is it|, how many degrees now|]
a [rope|road|stick] of {a} [metres|cm|km] is cut by {b}[. how long is it|, how much is left]
{a} {t} minus {b} {t}[ is how many| makes| equals|, how many|]
{a} {t} take away {b}[ {t}|][ leaves how many| is|, how many are left|]
[how many|what number of] {t} [are left|remain] when {b} of {a} [{t} |][leave|are gone|break|\
are sold]
{n} scored {a} points and {n2} {b}[. by how many did {n} win|. what is the lead of {n}]
[take|remove] {b} {t} [from|out of] the {a} in the {r}[. how many stay|, how many are left|]
[yesterday|on {d}] there were {a} {t}, [today|on {d2}] {b} [fewer|less][. how many are there|\
, how many now]
""".strip().splitlines()  # fmt: skip
MUL = """
{a}*{b}[|=|=?]
{a}x{b}[|=|=?]
{a} [times|x|*] {b}[, what is it|, how much| please|: result]
{b} [groups|lots|sets] of {a}[ is| are how many| make|]
[what|how much] [do i|do you] get [if|when] [i|you] multiply {a} [by|and|with] {b}
[product|multiplication|multiply][:|] {a}[, | and ]{b}
[can|could] you multiply {a} [by|with] {b}[ for me| please|]
[math|maths|calculator|calc|homework|question][:|] {a} [x|*|times|multiplied by] {b}
[how many|how much] [is|are|makes] {a} times {b}
{n} buys {a} {t} for {b} [euros|dollars] each[. what is the price|. how much in all|, total]
{a} {t} [cost|weigh] {b} each[. how much for all|, how much in total|. total]
each of {a} people [has|gets|brings] {b} {t}[. how many {t} are there|, how many in all|. total]
{a} [weeks|days|teams|tables|shelves] with {b} {t} each[, how many| make how many|. total]
[i know my tables, |]what is {a} times {b}
{a} multiplied by {b}[ is| equals| gives| is what|]
[the |]product of {a} and {b}[ please| is|]
[result|answer|value] of {a} [x|*|times] {b}
[do you know|can you tell me|who knows] [what|how much] {a} [x|times|*] {b} is
""".strip().splitlines()  # fmt: skip
