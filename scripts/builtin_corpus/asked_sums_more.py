"""Still more wordings of sums: stories from all of life, and verbs that tell plus from minus.

Slots as in `asked_sums.py`. One pattern on a line.
"""

from __future__ import annotations

ADD = """
{a} [more|further] than {b}[ is| is what number| makes|]
[what|which] [number|figure|value] [is|lies|comes] {b} [above|after|past|higher than] {a}
[go|move|climb|jump|step] [up |]{b} [up |further |]from {a}[. where am i|, what number is it|]
[what is|what's] {b} [on top of|above|past|beyond] {a}
[put|place|pile|stack] {b} on top of {a}[. how much is that|, what is it|]
[tack|stick|slap|bolt] {b} onto {a}[, what comes out|]
{a} [goes|went|go] up by {b}[. what is it now|, new value|. how much|]
{a} [rises|grew|climbs|increases|increased] by {b}[. what is it now|, new value|. now what|]
[begin|start|commence] [with|at] {a}[ and|,|. then|, then] [add|go up by|put on|gain] {b}
[my|the] [starting|first] number is {a}[, | and ]i add {b}[. result|, what now|. what do i get|]
[double check|verify|check][: | for me ]{a} [+|plus] {b}
[one|first] number is {a}[, the other| and the second] is {b}[. sum|, what is the sum|. add them]
[both|the two] [numbers|values] {a} and {b} [added|together|summed][, how much| make|]
{a} on top of {b}[ is| makes| please|]
what [must|should|would] {a} plus {b} [be|come to|equal]
[gimme|hand me|i need|show] {a} [+|plus] {b}
{a} [+|plus] {b}[, quickly|, fast|, thanks|, go|, in figures|, only the number|, step by step]
[so|then|well], {a} [and|plus] {b} [makes|is|gives][ what| how much|]
[how high|how far] do i [count|get] with {a} and {b}
[bring|lift|push] {a} up by {b}
[do you|can you] know the sum of {a} and {b}
[what do we have|what have we got] if {b} [joins|is added to|comes to] {a}
[add|plus] {b} [to|on] {a}[. result| please|, what is it|]
{a} [and a further|and another|and then|plus another] {b}[ is| makes|, total|. total]
{a} ? {b} where ? is plus
[let|say] x be {a} [+|plus] {b}. [what is x|x is|find x]
[sum|total] for {a} [and|&] {b}
{a} & {b} [together|in total|added]
""".strip().splitlines()
GAINS = """
{n} [already |]has {a} {t}. {n2} [gives|brings|sends|hands] {n} {b} [more|extra][. how many now|\
. how many {t} has {n}|, how many is that]
{n} has {a} {t}. {n2} has {b} more than {n}. how many has {n2}
{n2} has {b} more {t} than {n}, who has {a}. how many has {n2}
{n} is {a}[ years old|]. {n2} is {b} years older. how old is {n2}
{n2} is {b} years older than {n}, who is {a}. how old is {n2}
in {b} years, how old [is|will be] {n}[ be|], who is {a} now
the temperature was {a}[ degrees|] and [rose|went up|climbed] by {b}[. what is it now|, how warm|]
it is {a} degrees[. |, ][tomorrow|later|at noon] it [will be|gets] {b} degrees [warmer|hotter]\
[. how many degrees|, how warm]
[a film|the lesson|a call] takes {a} minutes and the [break|next one|second] {b}[ minutes|]\
[. how long in all|, total minutes|. how many minutes]
[i wait|we wait|i walk|i drive] {a} minutes[, then| and then] {b} [more|again][. how long|\
, how many minutes in all]
[yesterday|on {d}] i read {a} pages[ and|,] [today|on {d2}] {b}[. how many pages|, pages in total]
i am on page {a} and read {b} more[ pages|][. on which page am i|, which page now]
my [shopping|meal|order] [is|costs] {a} [euros|dollars] [and|plus] the [tip|delivery|bag] {b}\
[. how much altogether|, what do i pay]
the [price|rent|bill] of {a} [goes|went] up by {b}[. what is it now|, new price|]
[i save|i put aside|she saves] {a} [euros|dollars] in {d} and {b} in {d2}[. how much altogether|]
[my|the] [plant|tree|child|cat] [is|measures] {a} cm and grows {b}[ cm|][. how tall|, new height]
[a|the] [parcel|box|bag] weighs {a} kg and another {b}[ kg|][. how heavy together|, total weight]
the lift is on floor {a} and goes up {b}[ floors|][. which floor|, where is it]
[a|the] [hotel|school|ship] has {a} [guests|people|children] and {b} [more |]\
[arrive|check in|come aboard|move in][. how many now|, how many]
{n} [planted|painted|washed|packed|carried|counted|shot|drew] {a} {t} and {n2} [another |]{b}\
[. how many altogether|, in all]
{a} {t} [arrived|came] on {d}, {b} on {d2}[. how many in total|. altogether]
[together|altogether|in total], how many {t} are {a} and {b}
[we|they] had {a} {t} and [then |]got hold of {b} [more|others|extra][. how many now|]
{n} [earns|earned|won|collected] {a} [points|coins|stars] in the first round and {b} in the second\
[. total|, how many in all]
{a} [red|old|small|big] {t} and {b} [blue|new|large|tiny] ones[. how many {t}|. how many in all|\
, how many together]
there were {a} {t} at first, [then |]{b} [joined|were added|came along|showed up]\
[. how many now|, how many are there]
{n} [runs|swam|rowed|hiked] {a} km in the morning and {b} km in the evening[. total|. how many km]
[a shelf|one bag|my pocket] holds {a} {t} and [another|the other|yours] {b}[. how many together|]
{n} has {a} {t}, finds {b} more[. how many does {n} have|, how many now|]
a [team|club|choir] of {a} [gets|takes in|welcomes] {b} new members[. how large is it|, how many]
""".strip().splitlines()
SUB = """
[knock|take|chop|shave|cut|strike] {b} off[ of|] {a}[. what is left|, what remains|]
[pull|draw|take] {b} [out of|from|away from] {a}[. what is left|, what remains|]
{a} [goes|went|go] down by {b}[. what is it now|, new value|. how much|]
{a} [falls|dropped|sinks|decreases|shrinks|is reduced] by {b}[. what is it now|, new value|]
[begin|start|commence] [with|at] {a}[ and|,|. then|, then] [subtract|go down by|take off|lose] {b}
[go|move|climb|jump|step] {b} down from {a}[. where am i|, what number is it|]
[what is|what's|which number is] {b} [below|under|before|short of|lower than] {a}
[what|which] [number|figure|value] [is|lies|comes] {b} [below|under|before] {a}
[my|the] [starting|first] number is {a}[, | and ]i subtract {b}[. result|, what now|]
[double check|verify|check][: | for me ]{a} [-|minus] {b}
what [is left|remains|stays] [of|from] {a} [when|if|once] {b} [is|are] [gone|taken|spent|removed]
{a} [with|having] {b} [taken off|taken away|removed|gone][ is| leaves|]
how far is it from {b} to {a}
how many steps from {b} [up |]to {a}
[gimme|hand me|i need|show] {a} [-|minus] {b}
{a} [-|minus] {b}[, quickly|, fast|, thanks|, go|, in figures|, only the number|, step by step]
[so|then|well], {a} minus {b} [makes|is|gives|leaves][ what| how much|]
what [must|should|would] {a} minus {b} [be|come to|equal]
[drop|lower|bring down] {a} by {b}[. what is it|, result|]
[do you|can you] know the difference [of|between] {a} and {b}
[minus|less] {b} [from|of] {a}
[let|say] x be {a} [-|minus] {b}. [what is x|x is|find x]
{a} ? {b} where ? is minus
[what|how much] [do i|must i|should i] take [from|off] {a} to [get|reach|have] {b}
{a} minus what [is|makes|gives] {b}
{a} but {b} [less|fewer|lower]
[the|a] difference of {a} and {b}
[throw|give|put] away {b} of {a}[. what is left|, how much stays|]
""".strip().splitlines()
LOSSES = """
{n} has {a} {t} and {n2} has {b} fewer[. how many has {n2}|, how many are that]
{n2} has {b} fewer {t} than {n}, who has {a}. how many has {n2}
{n} is {a}[ years old|]. {n2} is {b} years younger. how old is {n2}
{n2} is {b} years younger than {n}, who is {a}. how old is {n2}
how old was {n} {b} years ago[ if| when] [he is|she is|now] {a}
the temperature was {a}[ degrees|] and [fell|dropped|sank|went down] by {b}[. what is it now|\
, how warm|]
it is {a} degrees[. |, ][tomorrow|later|at night] it [will be|gets] {b} degrees [colder|cooler]\
[. how many degrees|, how warm]
[a film|the lesson|a call|the cake] takes {a} minutes[, | and ]{b} [are over|have passed|are done]\
[. how many are left|, how long still]
a [book|report|novel] of {a} pages[, | and ]{b} [are read|i have read][. how many to go|\
, how many remain]
my [shopping|meal|order] was {a} [euros|dollars] and i got {b} off[. what do i pay|]
the [price|rent|bill] of {a} [goes|went|comes] down by {b}[. what is it now|, new price|]
[i|she|he|{n}] had {a} [euros|dollars|coins] and [spent|paid|lost|gave {n2}] {b}[. what is left|\
, how much remains|. how much is still there]
the lift is on floor {a} and goes down {b}[ floors|][. which floor|, where is it]
[a|the] [hotel|school|ship] has {a} [guests|people|children] and {b} [leave|check out|go ashore|\
move away][. how many stay|, how many remain]
{n} [baked|bought|picked|made|had] {a} {t} and {n2} [ate|took|stole|broke|hid] {b}\
[. how many are left|, how many remain]
there were {a} {t}, [but |]{b} [broke|flew away|ran away|melted|got lost|went missing|were stolen]\
[. how many are left|, how many now]
of {a} [seats|places|tickets|rooms] {b} are [taken|sold|booked|full][. how many are free|\
, how many remain]
{a} [people|children|guests] were invited, {b} [did not come|said no|stayed home]\
[. how many came|, how many came]
{n} [needs|wants] {a} [euros|points|{t}] and [already |]has {b}[. how many more|\
, how much is missing]
{n} has {a} {t}, gives {b} to {n2}[. how many does {n} have|, how many [are left|now]|]
a tank holds {a} litres, {b} [leak out|are used|are gone][. how much is left|, how many litres]
[a|the] [ribbon|plank|wire] is {a} cm[. | and ]i cut off {b}[ cm|][. how long is the rest|\
, what is left]
{a} {t}, {b} [less|fewer][. how many|, how many is that]
[how many|what] [more|fewer] is {a} {t} than {b} {t}
{n} scored {a}, {n2} scored {b}[. what is the difference|, by how many did {n} win]
[two|both] [towns|trees|numbers] [are|measure] {a} and {b}[. what is the difference|, difference]
i [lend|lent|give|gave|sell|sold|throw away] {b} of my {a} {t}[. how many are left|\
, how many do i keep]
[out|] of {a} {t} {n} [takes|eats|sells|uses] {b}[. how many remain|, how many are left]
a [team|club|choir] of {a} loses {b} [members|people][. how large is it|, how many stay]
the [battery|bar|tank] is at {a} percent and drops by {b}[. what is it now|, how many percent]
""".strip().splitlines()
MUL = """
{a}×{b}[|=|=?]
{a} × {b}[| =| = ?| is]
[what is|what's|whats|how much is|say|give me|compute|calculate] {a} [times|x|×|*] {b}
[what does|what do] {a} [times|x|multiplied by] {b} [make|give|equal|come to]
[what is|what's] {a} multiplied [by|with] {b}
[multiply|times|product of][: | ]{a} [and|by|with|x] {b}
[tables|times table|times tables|multiplication table][: |, ]{a} [times|x|*] {b}
{a} [lots|groups|sets|times|packs|piles|rows] of {b}[ is| make| are| makes|]
[in the {a} times table|in the table of {a}][, | ]what is {b} times[ {a}|]
[how many|how much] [is|are|do we get from|make] {a} [times|lots of|groups of] {b}
[the|a] [box|bag|pack|row|shelf|car] has {b} {t}[. how many {t} in {a} [of them|]|, i have {a}\
. how many {t}]
{a} [boxes|bags|packs|rows|shelves|cars|tables|baskets] [of|with|holding] {b}[ {t}|][ each|]\
[. how many [{t} |]in [all|total]|, how many|. total|. how many altogether]
{n} [buys|sells|packs|carries|fills] {a} [bags|boxes|packs] with {b} {t} [each|in each]\
[. how many {t}|, how many in all|. total]
the {t} cost {b} [euros|dollars|coins] each[. what do {a} cost|, how much are {a}|. {a} of them]
{a} [tickets|pens|cups|cakes] at {b} [euros|dollars][ each|][. how much|, total|. what do i pay]
{n} [reads|runs|swims|eats|earns|saves] {b} [pages|km|{t}|euros] a day\
[. how many in {a} days|, how much in {a} days]
{a} [people|children|friends] [each |]get {b} {t}[ each|][. how many {t}|, how many in all]
{a} [teams|cars|spiders] with {b} [players|seats|legs] each[. how many|, how many in all]
[can|could|would] you [tell me|say|work out|do] {a} [times|x|*] {b}
[quick|next|now|ok|and|hey][: |, ]{a} [times|x|*|×] {b}
[fill in|complete|finish]: {a} [x|*|×] {b} = [_|?|...]
{a} [x|*|×|times] {b} = [what|?|...|how much]
[take|use|have] {a} {b} times[. how much|, result|]
{b} added {a} times[ is| makes|]
[result|answer|solution|value|product] of {a} [x|*|×|times|and] {b}
[i need|i want|help me with|show me] {a} [x|*|times|multiplied by] {b}
[tell me|say] what {a} [times|x] {b} [is|makes|gives]
the [rectangle|garden|field|room] is {a} by {b}[. area|, what is the area|. how large is it]
""".strip().splitlines()
