"""More wordings of the small choices, one pattern on a line."""

from __future__ import annotations

PARITY = """
is {a} an [odd number or an even one|even number or an odd one|even or an odd number]
[tell me|say|decide|determine|check|find out] [if|whether] {a} is [odd or even|even or odd]
[what|which] is {a}[,|:|] [odd or even|even or odd]
[what|which] is it[,|:] [odd or even|even or odd]: {a}
[the parity of|parity of|what is the parity of|give me the parity of|what parity has|parity:] {a}
[what|which] parity does {a} have
{a} is [odd or even|even or odd]
{a} - [odd or even|even or odd|which is it, odd or even]
{a}: [an odd or an even number|is it odd or even|even number or odd number|parity]
[i have the number|take the number|here is a number:|my number is|look at] {a}[. |, ]\
[is it odd or even|odd or even|even or odd]
[would you|do you|would you rather] call {a} [odd or even|even or odd]
[classify|label|sort|mark] {a} as [odd or even|even or odd]
[number|value|integer] {a}[:|,] [odd or even|even or odd|is it odd or even]
[is the value|is the integer|is my number|is the figure|would] {a} [odd or even|be odd or even]
does {a} count as [odd or even|even or odd|an odd or an even number]
[please say|just say|answer with one word,|one word:] [odd or even|even or odd][:|,| for] {a}
[do you know|can you tell me|could you tell me|any idea|i wonder|i want to know] [if|whether]\
 {a} is [odd or even|even or odd]
[among the odd or the even numbers|odd numbers or even numbers][,|:] where does {a} belong
does {a} belong to the [odd or the even|even or the odd] numbers
[what sort of|what kind of|which kind of|what type of] number is {a}, [odd or even|even or odd]
[pick one|choose|quiz|quick check|question][:|,] {a} [odd or even|even or odd]
[if i split|when you halve|if i divide] {a} [in two|by two], is it [odd or even|even or odd]
[so |and ]{a}, [odd or even|even or odd]
for [the number |]{a}[,|:] say [odd or even|even or odd]
""".strip().splitlines()  # fmt: skip
COMPARE = """
[which|what] [one |number |value |]is {w}[:|,|?] {a} or {b}
[which|what] of [these|the two|them|those] is {w}[:|,] {a} or {b}
[which|what] [of these numbers|of the two numbers|one of these] is {w}[:|,] {a} or {b}
[compare|look at] {a} and {b}[,|.|:] [which|which one|which number] is {w}
{a}, {b}[:|,|.] [which|which one|which number] is {w}
{a} vs {b}[,|:] [which is|what is|the] {w}[ one|]
{a} or {b}[,|:|?] [the {w} one|{w}|which one is {w}|name the {w} one]
[pick|choose|select|take|say|name|return|give me|print|write] the {w} [of|one of|number of]\
 {a} and {b}
[choose|select|say|name|give me] the {w} [number|one|value][:|,] {a} or {b}
the {w} [of|one of|number of|value of] {a} and {b}[ is| please|]
[what is|what's|which is] the {w} [of|one of|number of|value of] {a} and {b}
[between|from|out of|comparing] {a} and {b}[,|] [which is|what is|which one is|name] [{w}|\
the {w} one|the {w} number]
[i have|i see|here are|we have|take] {a} and {b}[. |, ][which is|which one is|what is|\
tell me which is] {w}
[do you know|can you tell me|could you say|tell me|say] which [one |number |]is {w}[,|:] {a} or {b}
[two numbers|numbers|two values|given][:|,|] {a} and {b}[. |, ][which is|the|name the] {w}[ one|]
is {a} or {b} [{w}|the {w} one|the {w} number]
is it {a} or {b} that is {w}
[what|which] number is the {w} one[,|:] {a} or {b}
[if you compare|when comparing|comparing] {a} with {b}[,|] which [one |]is {w}
[which would be|which do you think is] {w}[,|:|] {a} or {b}
{w}[:|,|?] {a} or {b}
[question|quiz|quick]: [which is |]{w}[,|] {a} or {b}
[one number only|just the number|answer with the number][:|,] which is {w}, {a} or {b}
""".strip().splitlines()  # fmt: skip
EXTREME = """
[what is|which is|name|pick|give me|find] the {s} [of|in|among] {a}, {b} and {c}
[which|what] [is|number is|one is] [the |]{s}[:|,] {a}, {b} or {c}
{a}, {b}, {c}[:|,|.] [which is|what is|name|give me] the {s}[ one| number|]
[the |]{s} [of|number of|among] {a}, {b}, {c}
[among|between|of|out of] {a}, {b} and {c}[,|] which is [the |]{s}
""".strip().splitlines()  # fmt: skip
YES_NO = """
{q}[?|,] y/n
y/n: {q}
{q}? [one word|a single word|only one word][,|:] yes or no
[is it true or not|simple question|quick question|quick one|short question], yes or no[:|,] {q}
[i only need|i just need|i just want|give me] [a |]yes or no[:|,] {q}
{q}? [i only need|i just need|i just want|give me] [a |]yes or no[ answer|]
{q}? [please |][just |only |]say yes or no
{q}? [please |][just |only |]answer yes or no
[tell me|say|decide|state|reply], yes or no[:|,] {q}
[tell me|say|decide][:|,] {q}, yes or no
[a |][yes or no|yes/no] question[:|,|.] {q}
{q}? [a yes or a no|a plain yes or no|a simple yes or no|a clear yes or no] [is enough|please|\
will do]
{q} [- yes or no|(yes or no)|(yes/no)|- yes/no|yes/no]
{q}? [yes/no|yes or no please|yes or no, please|yes? no|is that a yes or a no]
[yes/no|yes or no please|please yes or no][:|,] {q}
[respond|answer] [with one word|in one word|shortly][, yes or no|: yes or no][:|.|,] {q}
[so|now|and|ok][,|] {q}[,|?] yes or no
{q}? [no explanation|without explanation|no details|nothing more][,|:] [just |]yes or no
[can you confirm|do you agree|am i right], yes or no[:|,] {q}
{q}? [your answer must be|the answer should be|answer must be|reply must be] yes or no
[only yes or no|just yes or no|yes or no only][:|,] {q}
[with|using] yes or no[:|,] {q}
[someone asks|a colleague asks|they ask me|my boss asks][:|,] {q}? yes or no
{q}? true or not, say yes or no
""".strip().splitlines()  # fmt: skip
SENTIMENT = """
{text}[.|] [positive or negative|negative or positive|good or bad|positive/negative]
{text}[.|] [does that sound|would you say this is|do you read it as|is the tone]\
 [positive or negative|good or bad]
[sentiment|tone|mood|polarity|opinion][ of this| of the text| of the review|][:|]\
 {text}[. positive or negative| (positive or negative)]
[what is|what's|give me|tell me|detect|find] the [sentiment|tone|mood] [of|in] [this|the] [review|\
text|comment|sentence][, positive or negative|][:|] {text}
[decide|tell me|say|check|determine] [if|whether] [this|the] [review|text|comment|sentence|\
message|feedback] is [positive or negative|good or bad][:|] {text}
[decide|tell me|say|check] [if|whether] [this|the following] is [positive or negative|good or bad]\
[:|] {text}
[a customer|a guest|a user|somebody|someone|a client] [wrote|says|said|writes][:|]\
 {text}. [positive or negative|is it positive or negative|good or bad]
[how does|does] [this|the] [review|comment|guest|customer|text] sound, [positive or negative|\
good or bad][:|] {text}
[positive|negative] or [negative|positive][,|:] [what do you think|your call|which one|\
which is it][:|] {text}
[review|comment|feedback|text|message|tweet|post][:|] {text}. [positive or negative|\
sentiment, positive or negative|is it good or bad]
[rate|judge|classify|label|tag|mark|sort|categorise] [this|it|the following|the feedback|\
this post|this opinion] as [positive or negative|negative or positive|good or bad][:|] {text}
[put|file] [this|it] under positive or negative[:|] {text}
[one word|in one word|answer with one word][,|:] positive or negative[:|] {text}
[is|was] [the customer's|the guest's|the user's|this|the] [opinion|feedback|verdict|remark|answer|\
statement] [positive or negative|good or bad][:|] {text}
[is|was] it [positive or negative|good or bad][,|:|] [when someone says|if someone writes|to say]\
[:|] {text}
{text}. [classify|label|judge|rate] [it|this|that] as [positive or negative|good or bad]
{text}. [how would you classify it|what is the sentiment|which sentiment is it|what tone is it]\
, positive or negative
[i got|we received|we got|i read] this [review|feedback|comment]: {text}. [is it|was it|]\
 [positive or negative|good or bad]
[do|would] you [consider|call|count] [this|the] [review|comment|text] positive or negative[:|]\
 {text}
[good or bad|good or bad review|good or bad news|bad or good][:|?|,] {text}
[sentiment analysis|sentiment check|classify the sentiment][,|:|] positive or negative[:|,] {text}
[choose|pick|select] positive or negative for[:| this:| this review:] {text}
does [this|the] [review|comment|text|sentence] [express|show|carry] a [positive or negative|\
negative or positive] [view|opinion|feeling][:|] {text}
{text} - [positive or negative|is that good or bad|good or bad|negative or positive]
""".strip().splitlines()  # fmt: skip
PRAISE = """
i [love|loved|adore|adored|enjoyed] [it|the {thing}|every minute|every bit of it]
[would|i would|we would] [buy|order|come|book|visit|use it] [it |]again[ any time| at once|]
[best|the best] {thing} [i ever had|ever|in years|of my life|we found]
[five stars|ten out of ten|top marks|thumbs up|full marks][ for the {thing}| from me|, {word}|]
[i can only|i would|we can] recommend [it|the {thing}|them][ to everyone| warmly|]
[it|the {thing}] works [perfectly|like a charm|very well|as promised|without any problem]
[i am|we are|my family is] [very |so |really |][happy|pleased|satisfied|delighted|thrilled]\
 with [it|the {thing}]
[worth|well worth] [every cent|the money|the wait|the price|a visit]
[exceeded|better than] [my|our|all] expectations
[thanks|thank you|well done|great job], the {thing} is {word}
the {thing} made my day[, {word}|]
[what|such] a [pleasure|joy|treat|delight]
""".strip().splitlines()  # fmt: skip
COMPLAINT = """
i [hate|hated|dislike|regret] [it|the {thing}|every minute|buying the {thing}]
[never|i will never|we will never] [again|buy it again|come back|order here again]
[worst|the worst] {thing} [i ever had|ever|in years|of my life|we tried]
[one star|zero stars|one out of ten|thumbs down][ for the {thing}| from me|, {word}|]
[i can|we can|i would] not recommend [it|the {thing}|them][ to anyone|]
[it|the {thing}] [stopped working|fell apart|broke] [after a day|after one week|at once|\
on the first day]
[i am|we are|my family is] [very |so |really |][unhappy|angry|upset|disappointed|unsatisfied]\
 with [it|the {thing}]
[a waste of|wasted] [money|time|my money|my time]
[i want|i demand|we want|give me] [my|our|the] money back
[not worth|far from worth] [the money|the price|a visit|the wait]
[sorry|honestly], the {thing} is {word}
the {thing} [arrived broken|never arrived|does not work|ruined my day][, {word}|]
""".strip().splitlines()  # fmt: skip
