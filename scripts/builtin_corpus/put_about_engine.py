"""Indirect and contrasting wordings: what YAIE is, its policies, its own words and its insides.

Most facts have a neighbour that shares their vocabulary; here people say which of the two they
mean, or tell what they see without the usual word. Called by `asked.py`, which merges the tables;
keys and patterns as in `asked_about_use.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "what": [
        "[not|i don't mean] what the letters mean but what the thing [is|does]",
        "not why it is better than others, just what kind of [software|program] yaie [is|would be]",
        "i know the name by now; what is [behind|under] it, a model, a library or a "
        "[server|engine]",
        "suppose you met my [mother|manager] in a lift: what is yaie, in [one|a single] sentence",
        "is yaie itself a language model, or does it only [run|serve] [them|such models]",
        "what am i talking to [at the moment|here], i mean the [software|program] around the model",
        "somebody [posted|sent me] a link to yaie without a comment. [what is it|what's that "
        "thing]",
        "radix tree, cache, block table, batch plan: what [kind of "
        "program|software|engine|project] is that all about",
        "[yaie|yaie project] [meaning as software|in brief|summary|at a glance]",
        "please, this [yaie|engine yaie] is [what for|which sort of] program",
        "i'm writing [a listicle|an overview] of inference engines, [one line|a line] about "
        "yours please",
        "is it [comparable to|in the same category as] vllm and llama.cpp, or [what is|what's] "
        "yaie",
        "the tree is [three|several] things at once, i read. in what [software|sort of project], "
        "and what are they",
        "[open source|proprietary] or not, what is this [engine|thing] called yaie in the first "
        "place",
        "before any details: what does this [project|software] [do|want to be]",
    ],
    "acronym": [
        "[not|i don't mean] what the software does but what its [letters|four letters] mean",
        "[i know|i understand|i've understood] it's an inference engine; what do the [y and the "
        "a|first two letters] stand for",
        "say the name in [full|full words], i only [know|have] the short form yaie",
        "suppose i spell the name out on a [slide|poster], which four words do i [write|put]",
        "[the letters y. a. i. e.|y a i e], which words [are these|is that]",
        "is the i in yaie for [intelligent|internet|inference], and the [rest|others]",
        "yaie [full form|long form|abbreviation of|unabbreviated]",
        "[please|please tell,|hello,] what is the [long|complete] name of yaie",
        "the name sounds like a [shout|cry|typo]. what is it [short for|made of]",
        "did somebody's [initials|pet] give yaie its name, or is it [an abbreviation|made of "
        "words]",
        "my spell checker [hates|underlines] yaie. which words [hide|are hidden] in it",
        "the e is for engine, [i guess|surely]. and the [rest|letters before it]",
        "does the name [poke fun at|joke about] there being so many engines, and what is it in "
        "[full|words]",
        "[how|in what way] is the abbreviation yaie [resolved|written out]",
        "four words with the [first letters|initials] y, a, i, e: [which ones|what are they]",
    ],
    "promise": [
        "[not|i don't mean] how the tree works but what you [guarantee|promise] because of it",
        "i know what yaie is; now why would i [take|want] it rather than [vllm|another engine]",
        "what is [never|not ever] done twice in this engine, as long as [it is held|keys and "
        "values are kept]",
        "suppose a token's keys are held. will the engine [ever|nevertheless] compute [it|the "
        "token] again",
        "convince me in one sentence: [what does|what exactly does] yaie [do better|guarantee]",
        "two callers share a prefix in the same step. are its keys [read|fetched] [twice|once "
        "per caller]",
        "yaie [advantage|guarantee|promise] [over vllm|over others|in one line]",
        "please what is the [advantage|benefit] against the other [engine|engines]",
        "every engine has a cache, so what is the [stronger|special] claim [of yours|you make]",
        "our bill is [high|large] because the same tokens are computed over and over. what do "
        "you [promise|guarantee] there",
        "what could you be [held to|measured by], i mean the one [guarantee|claim] of the project",
        "is work [ever repeated|ever done twice] for something that is still in [memory|the cache]",
        "give me the [headline|slogan] of the [website|readme], the one about doing nothing twice",
        "which [waste|double work] does yaie rule out [in a step and between requests|altogether]",
        "what [sets it apart|makes it stand out], not its structure but its [guarantee|promise]",
    ],
    "why_tree": [
        "[not|i don't mean] the promise but the mechanism: why is [a tree|a radix tree] used",
        "[i know|i understand|i've understood] what a node is; but what is the whole tree good "
        "for [in the end|with prompts]",
        "a hash table of blocks would do, wouldn't it? why [do you have|use] a [tree|radix tree]",
        "suppose two users send the same [instructions|manual] followed by different questions, "
        "what is [stored|computed] once",
        "is prefix sharing limited to [one step|one conversation], or does it work [across "
        "requests|between requests]",
        "all our prompts [start|begin] with the same 2,000 tokens, does that cost us [every "
        "time|again and again]",
        "does it help if my requests [begin|start] alike, and [why|how come]",
        "what do requests with a [common|shared] beginning share, and thanks to what "
        "[structure|data structure]",
        "prefix [caching|sharing|reuse] [supported|yaie|how]",
        "[please|please tell,|hello,] why you have a tree in an engine for [language models|llm]",
        "the follow-up question in a chat repeats [the history|all earlier turns], is that "
        "[reused|stored once]",
        "automatic prefix caching is a flag in vllm; do you [have it|do that], and by what "
        "[means|structure]",
        "what do prompts that start with the same [words|tokens] gain from the [structure|tree] "
        "you keep them in",
        "must i mark the shared [part|beginning] of my prompts, or does a [structure|tree] find "
        "it by itself",
        "is the same beginning held [once|several times], and where does the [sharing|reuse] "
        "come from",
    ],
    "licence": [
        "not how it works but what i'm [allowed|permitted] to do with [the code|it]",
        "the weights have their own terms; [what|but what|and what] about the [code|source code] "
        "of yaie",
        "open source, [fine|good], but under which [licence|terms] exactly",
        "suppose i put yaie into a [closed|commercial] product, does the licence [allow|permit] it",
        "is it copyleft like the gpl or [permissive|liberal], and what's the [licence's "
        "name|licence called]",
        "must i [publish|open] my own changes if i [ship|distribute] a modified yaie",
        "[spdx|licence|license] [identifier|id|name] of yaie",
        "please can my [company|firm] use this free, what the [license|licence] says",
        "our [lawyer|compliance team] asks under what terms the source is [published|available]",
        "may i fork it, [rename it|change it] and [sell it|charge for it]",
        "what stands in the LICENSE file of the [repository|repo], [mit, bsd|gpl, mpl] or "
        "something else",
        "do i pay [anything|a fee] if i use it at work, i mean by its [licence|terms]",
        "[bsd|mit|agpl] or apache, [what did you choose|which is right]",
        "is there a [patent clause|warranty], or simply: which licence is yaie [under|released "
        "under]",
        "can [students|a startup|my employer] legally [reuse|copy] parts of the code, what's the "
        "licence",
    ],
    "python": [
        "[not|i don't mean] the torch version but the [interpreter|python]: what is the minimum",
        "before i pip install it: is my [3.9|3.10|3.11] interpreter [good|recent] enough",
        "the install line i know, but it says [requires a different python|no matching "
        "distribution], what [version|python] is needed",
        "suppose my server has python [3.10|3.9|3.8], must i [upgrade|get a newer one]",
        "which python do i [put|name] in my [dockerfile|conda env|ci matrix]",
        "does it run on [debian's|ubuntu's] old interpreter, or from which python [on|upwards]",
        "[requires-python|the python requirement] of yaie, [what is it|which value]",
        "please which version of [python|the language] must be [there|installed]",
        "is 3.11 the [oldest|lowest] that works, or can i go [lower|down to 3.10]",
        "i get a syntax error on python [3.8|3.9], is that interpreter [too old|the reason]",
        "will python [3.12|3.13] do, or do you [want|insist on] an older one",
        "how [modern|recent] an interpreter do you [expect|ask for]",
        "python [floor|lower bound|minimum] [yaie|for this engine]",
        "we're stuck on [3.9|3.10] at work, is that a [problem|show-stopper]",
        "i can [only|just] choose among 3.9, 3.10 and 3.11 on this [host|cluster], which of "
        "these [works|is right]",
    ],
    "policy_default": [
        "[i know|i understand|i've understood] what fcfs does, but which policy is used if i set "
        "[nothing|no policy]",
        "not the list of policies but the one that's [active|used] when YAIE_POLICY is "
        "[unset|absent]",
        "lpm only looks at the cache; what does the [standard|default] policy [look at|weigh]",
        "suppose i never configured scheduling, who is admitted [first|next], and by what "
        "[rule|policy]",
        "[is it|would it be] fcfs or [lpm|something smarter] out of the box",
        "[what does|what exactly does] prefix-aware [mean|do|weigh]",
        "how is prefix-aware [different|to be told apart] from [lpm|fcfs]",
        "[default|standard|initial] [scheduling policy|queue policy|order of waiting requests]",
        "please which order has the [queue|waiting line] when i do not [choose|set] any",
        "can a request with a cold prompt [starve|wait forever] under the policy that's "
        "[on|active] by default",
        "the value of YAIE_POLICY if i [leave it out|don't export it], and how that policy "
        "[decides|works]",
        "waiting time against tokens still to compute: which policy [weighs|balances] [these|the "
        "two]",
        "lru is for eviction, but [what's|what is] the default for the [queue|order of requests]",
        "fresh install, two requests waiting, one with a [cached|known] prefix: how does the "
        "default [choose|decide]",
        "out of the four scheduling policies, which is the one i [get|have] [for free|without "
        "asking]",
    ],
    "policy_fcfs": [
        "[not|i don't mean] by cached prefix and not by priority, just by [arrival|time of "
        "arrival]: which policy",
        "lpm [is|means] longest prefix match; and [what is|what about] fcfs",
        "prefix-aware may let others overtake; with which policy does [nobody|no one] "
        "[overtake|jump the queue]",
        "[suppose|imagine|let's say] i sent my request first. under which policy am i "
        "[certainly|always] served first",
        "the cache should have no [say|influence] in who goes next, only the [arrival|order of "
        "arrival]",
        "[strict|plain|simple] queue in order of [arrival|coming in], what's that policy's name",
        "[fcfs|first come first served] [policy|scheduling] meaning",
        "[please|please tell,|hello,] what means f c f s in the [policy|scheduling]",
        "[fifo|first in first out] is what i want for [waiting requests|the queue], do you have it",
        "whoever comes first is [admitted|let in] first: which of the [four|scheduling] policies "
        "does [that|so]",
        "does fcfs [care about|look at] the cache or only at [who came first|the arrival]",
        "i set YAIE_POLICY=fcfs, in [which|what] order are requests [admitted|taken] now",
        "like a ticket machine at the [bakery|bank], first come, first [out|helped]: the policy "
        "for that",
        "fcfs [spelled out|unabbreviated|in full], and what it does with the [queue|waiting line]",
        "is fcfs the policy that [ignores|doesn't know] prefixes and [priorities|the cache]",
    ],
    "policy_lpm": [
        "[not|i don't mean] by arrival and not by priority, just by how much is [cached|already "
        "held]: which policy",
        "fcfs [is|means] first come first served; and [what is|what about] lpm",
        "the default also weighs waiting time; which policy looks [only|solely] at the [held "
        "prefix|cached tokens]",
        "[suppose|imagine|let's say] two requests wait, one has 900 tokens held, one has none. "
        "which goes first [under|with] lpm",
        "which scheduling policy [prefers|favours] whoever has the longest [match|match in the "
        "tree]",
        "[greedy for cache hits|best for reuse], never mind fairness: what's that [scheduling "
        "policy|policy for the queue] called",
        "[lpm|longest prefix match] [policy|scheduling] meaning",
        "[please|please tell,|hello,] what means l p m in the [policy|scheduling]",
        "under [which|what] policy could a request with nothing cached [wait long|be overtaken "
        "again and again]",
        "i set YAIE_POLICY=lpm, in [which|what] order are requests [admitted|taken] now",
        "does lpm [care about|look at] who came first or at what is [held|cached]",
        "what does a router's longest prefix match have to do with your [queue|scheduling], i "
        "mean [lpm|the policy lpm]",
        "lpm [spelled out|unabbreviated|in full], and what it does with the [queue|waiting line]",
        "requests that hit the cache [most|best] should go [first|ahead], which policy's that",
        "among waiting requests take the one with the most [tokens|prompt tokens] already held: "
        "[which policy|name of that policy]",
    ],
    "policy_priority": [
        "[not|i don't mean] by arrival and not by the cache, but by a [number|field] in the "
        "request: which policy",
        "fcfs and lpm don't know what's urgent; [which|but which|and which] [scheduling "
        "policy|policy] does",
        "some requests are [vip|urgent], how can they be [admitted|let in] before the rest",
        "suppose my request carries a [priority|priority field], which policy [pays attention "
        "to|uses] it",
        "i set YAIE_POLICY=priority, in [which|what] order are requests [admitted|taken] now",
        "background jobs should [step back|wait] behind live users, [how|which policy]",
        "[priority|urgency] [policy|scheduling] meaning",
        "please how to give one request more [importance|urgency] than the [other|others] in the "
        "queue",
        "does the [arrival|cache] decide under the priority policy, or [what does|something else]",
        "paying customers [first|before the free ones]: is there a [policy|scheduling policy] "
        "for this",
        "what does the [priority|policy named priority] do that fcfs [doesn't|can't]",
        "can my client [influence|say] how soon it is admitted, by a field, and under "
        "[what|which] policy",
        "which policy lets [a later|a newer] request overtake because it [matters more|is marked "
        "as important]",
        "i put a priority into my json, under which [YAIE_POLICY|scheduling policy] does it "
        "[count|matter]",
        "which of the four orders listens to what the [caller|client] says about "
        "[importance|urgency]",
    ],
    "evictions": [
        "[not|i don't mean] the policies for the queue but the ones for throwing leaves out: "
        "[which are there|list them]",
        "fcfs and lpm order the queue; which [names|policies] are there for [eviction|evicting]",
        "i don't ask what lru does but what the [alternatives|others beside it] are [called|named]",
        "[suppose|imagine|let's say] i don't like lru, what else is there for [evicting|throwing "
        "out] leaves",
        "how many [eviction|cache replacement] policies do you have and [what are their "
        "names|which]",
        "[recency, frequency or cost|age, use or cost]: [which|what] names do the eviction "
        "policies have",
        "[cache replacement|eviction] [policies|strategies|algorithms] yaie",
        "[please|please tell,|hello,] the list of policy for [eviction|removing from cache]",
        "what may i choose [between|from] for the way leaves are [evicted|dropped]",
        "is lru the only way to pick a victim [leaf|among the leaves], or are there [more|others]",
        "prefix-aware is not one of them, i know; [which|but which|and which] [three|ones] are "
        "the eviction policies",
        "[name|enumerate] the rules by which the cache may [choose|pick] what to evict",
        "does it offer [arc|fifo|random] eviction, or which policies [are there|exist]",
        "[lru|lfu|cost] and which other two can be [chosen|selected] for eviction",
        "not what is evicted, but by which [selectable|possible] policies [one can evict|the "
        "leaf is picked]",
    ],
    "evict_what": [
        "not which policies exist but what [in fact|actually] is [evicted|removed] when slots "
        "run out",
        "preemption is about sequences; what about the [cached leaves|old prefixes] when "
        "[space|memory] is short",
        "refs above zero protects a node; so what is [free|allowed] to be evicted, and from "
        "which [end|side]",
        "suppose the pool is full and a request comes in, what has to [leave|go] [first|]",
        "can [my running|a live] request lose its prefix because somebody else needs [room|slots]",
        "no more slots. does the engine [crash|refuse], or does it [make room|free some], and how",
        "when a branch is evicted, does it go [root first|from the top] or from its [tail|end]",
        "[out of slots|pool full|cache full] what [gets evicted|is removed]",
        "please what is deleted when the [cache|pool] is [full|finished]",
        "which [nodes|parts of the tree] are [safe|untouchable] while others are thrown out for "
        "space",
        "yesterday's prompts are still in the tree. what [happens to|becomes of] them when "
        "[room|space] is needed",
        "do inner nodes [go|leave] before leaves, or how does [making room|eviction] proceed in "
        "the tree",
        "must i [clear|empty] the cache by hand when it's full, or what does the engine [throw "
        "out|drop]",
        "a shared system prompt with [live users|running sequences] on it: can it be "
        "[evicted|removed] when slots run out",
        "the cache never [grows|gets larger] beyond the pool, so what gives [way|place] to the new",
    ],
    "evict_lru": [
        "[not|i don't mean] how often but how long ago: which eviction policy [is that|goes by "
        "this]",
        "lfu counts uses; [what|but what|and what] does lru [go by|look at]",
        "the queue isn't my topic, i mean lru for the [leaves|cache]: what [goes|leaves] first",
        "suppose one leaf was used a minute ago and another [last week|yesterday], which does "
        "lru [drop|evict]",
        "[which|what] leaf is the [victim|loser] if the policy is lru",
        "by [which|what] policy do leaves untouched for a long time [leave|go|vanish] first",
        "[lru|least recently used] [eviction|leaf|victim]",
        "[please|please tell,|hello,] what does the l r u do with [leaf|leaves] of the tree",
        "does lru care about [the cost of recomputing|how many times], or only about [when|the "
        "last use]",
        "the [oldest|stalest] leaf should go, [old|stale] in the sense of its last use: name the "
        "policy",
        "i'd like recently used prefixes to [stay|survive], which of lru, lfu and cost do i "
        "[want|choose]",
        "lru [spelled out|unabbreviated|in full], and [which|what] leaf it evicts",
        "a popular leaf that nobody touched [lately|for hours]: would lru [evict|drop] it",
        "if eviction goes by [recency|the last access], which is the [policy|policy's name] and "
        "who goes",
        "least recently used, [what does that mean|explain it] for the leaves of the [tree|cache]",
    ],
    "evict_lfu": [
        "[not|i don't mean] how long ago but how often: which eviction policy [is that|goes by "
        "this]",
        "lru looks at the last use; [what|but what|and what] does lfu [go by|look at]",
        "the queue isn't my topic, i mean lfu for the [leaves|cache]: what [goes|leaves] first",
        "suppose one leaf was used fifty times and another [twice|once], which does lfu "
        "[drop|evict]",
        "[which|what] leaf is the [victim|loser] if the policy is lfu",
        "by which policy do leaves with few [hits|uses] [leave|go|vanish] first",
        "[lfu|least frequently used] [eviction|leaf|victim]",
        "[please|please tell,|hello,] what does the l f u do with [leaf|leaves] of the tree",
        "does lfu care about [the cost of recomputing|when], or only about [how many times|the "
        "number of uses]",
        "the [rarest|least popular] leaf should go, [counting its uses|by number of uses]: name "
        "the policy",
        "i'd like often used prefixes to [stay|survive], which of lru, lfu and cost do i "
        "[want|choose]",
        "lfu [spelled out|unabbreviated|in full], and [which|what] leaf it evicts",
        "a leaf used a hundred times, but long ago: would lfu [evict|keep|drop|spare] it",
        "if eviction goes by [frequency|the count of accesses], which is the [policy|policy's "
        "name] and who goes",
        "least frequently used, [what does that mean|explain it] for the leaves of the "
        "[tree|cache]",
    ],
    "evict_cost": [
        "neither last use nor number of uses, but how dear it is to [recompute|compute again]: "
        "[which|what] eviction policy",
        "lru and lfu ignore how long a prefix took to compute; [which|but which|and which] "
        "policy [doesn't|considers it]",
        "preemption takes the cheapest sequence; but how does the eviction policy named cost "
        "[rank|judge|rate|compare] leaves",
        "[suppose|imagine|let's say] one leaf is [small and dear|costly to recompute] and "
        "another is cheap and big, which stays under cost",
        "recompute cost times reuse over size, [which policy|what] [uses|computes] that",
        "is cost [in the eviction policies|as eviction policy] about money, memory or "
        "[time|recomputing]",
        "[cost|recompute cost] [eviction|policy|ranking]",
        "[please|please tell,|hello,] explain the third policy of eviction, the one with "
        "[cost|the name cost]",
        "expensive prefixes should [survive|stay in the cache], cheap ones may go: [name of the "
        "policy|which policy]",
        "what goes into the [rank|score|formula] of a leaf under the [cost policy|policy cost]",
        "does size [matter|count] when leaves are evicted by cost, and what [else|other things]",
        "which of lru, lfu and cost thinks of the [work|computation] that eviction would "
        "[waste|throw away]",
        "why would i [pick|choose] cost instead of [lru|lfu] for eviction",
        "the policy that keeps what was [hard|laborious] to compute, what is it [called|named]",
        "a long prompt took a minute to compute, [which|what] eviction policy [protects|values] "
        "it for that",
    ],
    "preempt": [
        "[not|i don't mean] which leaf is evicted but which running sequence must [pause|give way]",
        "eviction frees leaves nobody uses; [what|but what|and what] if all are in use and "
        "[slots|places] are still missing",
        "the queue policy decides who starts; who is [stopped|interrupted] when memory gets "
        "tight [later|while running]",
        "suppose my sequence is [thrown out|set aside] in mid-answer, is its work [lost|gone]",
        "what does it cost to [resume|continue] after [preemption|being preempted]",
        "too many [long answers|sequences] at once: which of them is [preempted|paused], and "
        "what about its nodes",
        "[preemption|preempted sequence] [which|cost|resume]",
        "please which [sequence|one] is interrupted if there is no more place for the [running "
        "ones|decoding]",
        "does a [paused|preempted] answer start from zero [again|afterwards]",
        "vllm drops the blocks of a preempted request; [what|but what|and what] do you do with "
        "the [nodes|keys and values]",
        "my stream [froze|stalled] and then went on under load, was it [preempted|set aside] and "
        "what was kept",
        "is the [newest|longest|cheapest] sequence preempted, and why does resuming cost [so "
        "little|little]",
        "[what's|what is] the rule by which a live sequence is [sacrificed|suspended]",
        "i worry that [being preempted|preemption] throws away my [half-finished answer|tokens]",
        "when even eviction can't [help|free slots], which sequence must [step aside|go] for a "
        "while",
    ],
    "chunked": [
        "[not|i don't mean] how to set the limit but what happens to a long prompt [in a "
        "step|within the limit]",
        "a prompt [beyond|above] the context is refused; but one that fits and is long, how is "
        "it [computed|processed]",
        "while somebody sends a [huge|giant] document, do the running answers [stall|wait]",
        "[suppose|imagine|let's say] a prompt has 3,000 tokens and a step takes 512, how does it "
        "get [through|computed]",
        "decode or prefill, [which rows go|who goes] first in [a|each] step",
        "is a long prompt computed [in one go|at once] or in [pieces|portions]",
        "[chunked|chunked prefill] [yaie|how|decode first]",
        "please how the engine makes with very [long|big] prompt, all [together|at one time] or "
        "in parts",
        "preemption isn't what i mean; [how|but how|and how] are long prefills kept from "
        "[delaying|blocking] others",
        "will my [short|quick] answer suffer when others send [books|very long prompts]",
        "what is the maximum [chunk|piece] of a prompt that one step [computes|takes], and who "
        "comes before it",
        "do you [split|slice|cut] long prefills, and who has [precedence|priority] in the step",
        "why do streams keep flowing although a [long|endless] prompt is being [read|prefilled]",
        "sarathi-style [chunking|prefill chunks], do you [have that|do so]",
        "in what [portions|chunks] does a long text enter the [engine|model], and what goes "
        "ahead of it",
    ],
    "token": [
        "[not|i don't mean] its place in the pool but the thing itself: what is a [token|token "
        "for you]",
        "a slot is the place and a row is the work; [what|but what|and what] [is|remains] the "
        "token",
        "does text exist [inside|within] the engine, or what [is there|does it handle] instead",
        "[suppose|imagine|let's say] i look at a prompt inside the engine, do i see "
        "[letters|words] or numbers",
        "is a token a string, a piece of a word or [an integer|a number] in your [code|engine]",
        "tokenising happens outside; [what|but what|and what] does the engine [see|get] then",
        "[token|tokens] [definition|meaning|type] in yaie",
        "[please|please tell,|hello,] what is one token for the [engine|inner part]",
        "i grep the engine for strings and find [no text|none], what does it [work|deal] with",
        "[which|what] data type has [a token|the smallest unit] in the engine",
        "when you [say|promise] no token is computed twice, what do you [mean|understand] by a "
        "token",
        "is a [word|syllable] the same as a token [inside|in] the engine",
        "the word [hello|cat], is it a word or a number once it's [in|inside] the engine",
        "[what's|what is] the engine's only notion of [text|language], so to speak",
        "ids, not characters: is that what [the engine|its inside] [works with|knows]",
    ],
    "slot": [
        "[not|i don't mean] the token but the place where its keys and values [sit|lie]: what's "
        "that called",
        "the pool has many of them, an extent is a run of them: [what is|what's] [one|a single "
        "one]",
        "a row is work in a step; [what|but what|and what] is a [slot|slot then]",
        "[suppose|imagine|let's say] YAIE_NUM_SLOTS is 1000, a thousand [of what|what]",
        "how many tokens [fit into|belong to] [one|a single] slot",
        "is the index of a slot the [same|identical] in all layers, and what is a slot [anyway|]",
        "[slot|slots] [definition|meaning] [yaie|kv pool]",
        "[please|please tell,|hello,] what is [one slot|a slot] in the memory for keys and values",
        "where in the pool do one token's K and V [lie|live], i mean the [name|term] for this "
        "place",
        "does each layer number its places [differently|on its own], or is a slot one index for "
        "[all|every layer]",
        "/stats says 300 slots are [used|taken]. what [is such a slot|does one of them hold]",
        "vllm has block slots; [what|but what|and what] does the word slot mean [here|in yaie]",
        "the unit in which the [kv pool|size of the pool] is counted, what [is it|exactly is it]",
        "i confuse slots with tokens: [what is|what's] a slot, [strictly|properly] speaking",
        "[can|could] two tokens [share|sit in] one slot",
    ],
    "extent": [
        "[not|i don't mean] a single slot but a run of them [in a row|side by side]: what's the "
        "term",
        "a segment adds the rows; without rows, [what is|what's] the run of [slots|places] called",
        "slots that lie next to each [other|another] in the pool form [what|which thing]",
        "[suppose|imagine|let's say] the allocator hands out 50 neighbouring slots, what do you "
        "call [them|that]",
        "does the allocator like [long|short] runs of slots, and what are these runs "
        "[called|named]",
        "a node's slots are given as extents. [what is|what's] [one of these|an extent]",
        "[extent|extents] [definition|meaning] [yaie|slots]",
        "[please|please tell,|hello,] what is an extent, is it the same [with|like] segment",
        "file systems have extents too; what [are they|is meant] in your [pool|kv pool]",
        "start index and length, for consecutive [slots|places in the pool]: which word [is "
        "that|do you use]",
        "i confuse extents and [segments|nodes], [what is|what's] an extent alone",
        "why does the allocator prefer [extents that are long|long extents], and what is [such a "
        "thing|an extent]",
        "contiguous [places|slots] in the pool, the [glossary|docs] word for them",
        "is an extent made of [slots|rows|tokens], and how are they [arranged|placed]",
        "are a node's slots always consecutive, and [how do you|how would you] call [each|one] "
        "consecutive run",
    ],
    "pool": [
        "[not|i don't mean] one slot but the whole of them: what is the [pool|kv pool]",
        "the tree only says which slots; [where|but where|and where] are the K and V tensors "
        "[themselves|really]",
        "what [contains|holds] the keys and values of [all|every one of the] layers",
        "suppose i ask where the memory goes, besides the [weights|model], what is that big "
        "[block|thing] called",
        "YAIE_NUM_SLOTS sets its size, but [what is|what's] [it|the thing itself], the pool",
        "a node [points|refers] to slots; slots of [what|which thing]",
        "[pool|kv pool] [definition|meaning|what is in it]",
        "please what is inside the [pool|kv pool], and of what its places [are|consist]",
        "is the pool a pool of [threads|workers|connections], or of what [then|else]",
        "tensors for K and V of each layer: [what is|what's] [the name for|the word for] all "
        "that together",
        "[which|what] part of the engine is the actual [storage|memory] for keys and values",
        "does each layer have [a pool of its own|its own pool], or does one hold all [layers|of "
        "them]",
        "i read kv cache [elsewhere|in other engines]; [what|but what|and what] do you call the "
        "store with the tensors",
        "what are the places of the pool [called|named], and [what does|what exactly does] it hold",
        "the tree is the [index|catalogue]; and the [store|shelf] itself, the thing with the "
        "tensors",
    ],
    "node": [
        "not the way from the root but a single [piece|element] of the tree: what is [it|that]",
        "a path is made of several of them: [what is|what's] [one|a single] node",
        "an extent is about slots; what does a [node|tree node] hold [altogether|]",
        "suppose i print one [element|member] of the tree, what [three things|data] will i find "
        "in it",
        "is a node [one token|a single token] or a whole [run|edge] of tokens",
        "refs counts users of a node, but [what is|what's] the [node|node itself]",
        "[node|tree node] [definition|meaning|contents] yaie",
        "please what is [one node|a node] in your [tree|radix tree]",
        "in a radix tree edges are compressed; [how|but how|and how] does that [look|show] in "
        "your nodes",
        "what does each [vertex|knot] of the tree [remember|store], besides its children",
        "how does the tree know how many tokens of an edge are [already computed|computed], "
        "where is that [kept|noted]",
        "i [thought|believed] each token had its own node, is a node [more|larger] than that",
        "tokens, their slots and a count of what's [computed|done]: which [thing|object] has these",
        "when you [evict|drop] a leaf, that leaf is a node. [and what is that|what is a node "
        "made of]",
        "compressed edge, [what does that mean|explain that] in the [tree of yaie|glossary]",
    ],
    "path": [
        "[not|i don't mean] a single node but the whole way [down|to it]: what is that called",
        "a node is one edge; what are all of them from the [root|top] down to it [together|]",
        "i don't mean a url path, i mean the path in the [tree|radix tree]: [what is|what's] it",
        "suppose i walk from the root to a [leaf|node], what [have i walked|do you call that]",
        "which token sequence does one get by going from the [root|top] to a node, and its "
        "[name|term]",
        "refs speaks of sequences whose path includes a node; [what|but what|and what] is [such "
        "a|this] path",
        "[path|paths] [definition|meaning] in the [tree|cache]",
        "please what means path in the [tree|radix tree], not in the [web|url]",
        "is a path a list of folders, a url or a [token sequence|way through the tree] in "
        "[the|your] glossary",
        "[how do you|how would you] name the route through the tree that [spells|stands for] a "
        "prompt",
        "a whole cached prompt corresponds to a [what|certain what] in the tree, beginning at "
        "the [root|top]",
        "root, node, node, node: put [together|one after another], this is a [what|which term]",
        "i mix up [node and path|path and sequence], what is the path [alone|]",
        "in [what|which] sense is a path the same as a [run|sequence] of tokens",
        "the word path, not [http|file system] but [tree|radix tree], explain",
    ],
    "request": [
        "[not|i don't mean] a branch being generated but what the caller [wanted|asked for]: "
        "what's the word",
        "a sequence is one branch; [what|but what|and what] is the thing that has n of "
        "[them|those]",
        "one [call|http call] with n=3, is that three requests or one with three "
        "[sequences|branches]",
        "[suppose|imagine|let's say] a caller asks for four answers at once, how many "
        "[requests|sequences] are that, and what is a request",
        "in your [glossary|terms], what does request mean as opposed to [sequence|row]",
        "i don't mean how to send one, but what a request [is|means] [in the engine|by definition]",
        "[request|requests] [definition|meaning] [yaie|glossary]",
        "[please|please tell,|hello,] what is the difference of request [and|to] sequence",
        "the queue holds requests; what is [one|such a thing] [made of|]",
        "does a request [contain|have] sequences or the other way [round|around]",
        "how do you call the caller's wish, before it [splits|branches] into [samples|sequences]",
        "what [has|consists of] n sequences, [a step|a node|a request] or something else",
        "for each http call there's a [unit|thing] in the engine, what is it and how many "
        "sequences [has it|does it have]",
        "the policy [admits|orders] requests, not sequences. [what is a request then|so what is "
        "one]",
        "which term names all the samples of one [caller|call] [together|taken together]",
    ],
    "sequence": [
        "[not|i don't mean] what the caller asked for but one live branch [of it|being "
        "generated]: the word",
        "a request has n of them; [what|but what|and what] is [one|a single one]",
        "a path is a dead way through the tree; what is the live thing that [moves|grows] at its "
        "[end|tip]",
        "[suppose|imagine|let's say] n is 4, then four [what|of what] are being generated, and "
        "what does each consist of",
        "what [has|owns] a cursor in the tree and a sampling state [of its own|]",
        "preemption hits a [sequence|single sequence]; what is [that|one]",
        "[sequence|sequences] [definition|meaning] [yaie|glossary]",
        "please what is [one sequence|a sequence], is it the [same as|same like] a request",
        "i confuse [path and sequence|request and sequence], [what is|what's] a sequence alone",
        "which object remembers where in the tree [an answer|a sample] stands and how it "
        "[samples|draws]",
        "[temperature|sampling settings] and random state of one answer, plus its place in the "
        "[tree|radix tree]: in what do they live",
        "one [answer|branch] in the making, how does your [glossary|code] call it",
        "are the refs of a node made by [requests or sequences|live branches], and [what's|what "
        "is] a sequence",
        "a cursor and a sampling state [make up|form] which [notion|thing]",
        "while tokens are [drawn|generated] for an answer, [what is alive|which thing is alive] "
        "in the engine",
    ],
    "refs": [
        "[not|i don't mean] how many tokens are computed but how many live sequences [use|pass "
        "through] the node: which field",
        "eviction spares some nodes; which counter [protects|saves] them and when is it [zero|0]",
        "a node has tokens, slots and a [number|field] called refs. what [does it say|is counted]",
        "[suppose|imagine|let's say] refs is 3, three [what|of what], and may the node be evicted",
        "which number [drops|falls] to zero before a node [can|may] be thrown out",
        "python has refcounts; [what|but what|and what] do [yours|the refs of a node] count",
        "[refs|reference count] [definition|meaning] node",
        "[please|please tell,|hello,] what is counted in [refs|the refs]",
        "is refs about how often a leaf was [hit|used], as in lfu, or about who uses it [now|at "
        "present]",
        "a sequence ends: [which|what] counter [goes down|is lowered] on the nodes of its path",
        "[does|would|will] refs count requests, [tokens|slots] or live sequences",
        "i see refs=0 in a [dump|printout] of the tree, what does that [mean|allow]",
        "how does the tree [know|remember] that somebody is still [standing|working] on a node",
        "the [field|number] that makes a node untouchable as long as it isn't zero, [what "
        "is|what's] it",
        "why is a node with refs [of one|above zero] not evictable, [what's|what is] behind the "
        "number",
    ],
    "row": [
        "[not|i don't mean] a place in the pool but one piece of work in a step: what's a "
        "[row|row then]",
        "a slot stores a token, a row [computes|handles] one: [explain the row|what is a row]",
        "YAIE_MAX_STEP_ROWS limits them, but [what are|what exactly are] [they|rows]",
        "[suppose|imagine|let's say] a step has 300 rows, three hundred [what|of what]",
        "the batch is flattened; [what|but what|and what] is one [line|entry] of it",
        "a decoding sequence adds one row to the [step|batch]: what is [that|a row]",
        "[row|rows] [definition|meaning] [step|batch]",
        "[please|please tell,|hello,] what is a row in a [step|batch] of the engine",
        "is a row a [whole|complete] prompt, a sequence or a [single token|token]",
        "prefill brings many rows and decode just one [each|per sequence]; [what|but what|and "
        "what] is such a row",
        "i confuse rows and [slots|segments], [what is|what's] a row alone",
        "which word means one token that [must be|is] computed [now|in this step]",
        "are rows things of the [database|table|matrix], or of [what|which] kind here",
        "one line of the flattened batch, in your [words|terms]: what is it and what [stands|is] "
        "in it",
        "how many tokens [belong to|are in] [one|a single] row",
    ],
    "segment": [
        "[not|i don't mean] the run of slots alone but together with the rows that [attend|look] "
        "at it: which term",
        "an extent is only slots; a segment has [something more|more]: [what|what is it]",
        "a row is one token; [what|but what|and what] is a segment [then|made of]",
        "[suppose|imagine|let's say] ten rows share a node, what [object|entry] of the plan says "
        "that they all attend to its slots",
        "what does the attention kernel get for each node, [extents|slots] and a range of "
        "[rows|which rows]",
        "i confuse segments and [extents|nodes], [what is|what's] a segment alone",
        "[segment|segments] [definition|meaning] [yaie|attention]",
        "[please|please tell,|hello,] what is segment, is it the same [with|like] extent",
        "the step plan contains segments; [what|but what|and what] is [one of these|a segment]",
        "which thing [connects|links] a contiguous range of rows with the slots of [a|one] node",
        "one node, its extents, and [who reads|the readers of] them in this step: how is that "
        "[called|named]",
        "in the plan, what tells attention which [queries|rows] go with which [stored keys|slots]",
        "memory segments i know from c; [what|but what|and what] is a segment in [this "
        "engine|your attention]",
        "does a segment belong to one node or to [several|many], and what [else|more] is in it",
        "extents plus rows [make|give] a [what|which term]",
    ],
    "step_plan": [
        "[not|i don't mean] the tree but the list made for one step: what is it [called|and what "
        "does it hold]",
        "rows and segments i know; on [what|which thing] are they listed [together|for a step]",
        "the scheduling policy picks requests; what [describes|lists] the rows that are then "
        "[computed|run]",
        "suppose i dump what one step is going to do, what [object|thing] is that and what [is "
        "in it|does it list]",
        "where is it [written|noted] which rows need [logits|an output]",
        "why depth-first: [which|what] list has its rows in [this|such an] order",
        "[step plan|step_plan] [definition|meaning|contents]",
        "please what is the plan of [a step|one step], what [stands|is written] in it",
        "the tree is also the batch plan, they say; how is the plan for [one step|a step] called "
        "and [built|ordered]",
        "what does the engine [prepare|write down] before it runs the [model|forward pass] for "
        "one step",
        "logits aren't needed for [every row|all rows]. who [says|records] which ones do",
        "rows, segments and who gets logits: the [name|term] for these three [together|taken "
        "together]",
        "is the order of rows in a step by [arrival|request] or by the tree, and which "
        "[structure|object] holds it",
        "what is handed to the model [runner|worker] for each [step|iteration]",
        "in [which|what] order does the [plan|step plan] list rows, and what else does it list",
    ],
    "namespace": [
        "[not|i don't mean] the field in the request but the thing in the tree: what is a "
        "[namespace|separate root]",
        "cache_salt puts me into one; [what|but what|and what] [is it|is that], a namespace",
        "a node belongs to a tree with several [roots|tops]; what is each [root|one] called",
        "suppose two adapters run [on|over] the same text, do they share nodes, or what keeps "
        "them [apart|separate]",
        "for what is a separate root [made|created], a model, an adapter or [a salt|what else]",
        "is anything shared across [namespaces|two namespaces], and [what is|what's] one",
        "[namespace|namespaces] [definition|meaning] [tree|cache]",
        "[please|please tell,|hello,] what means namespace in the [tree|cache]",
        "kubernetes and python have namespaces; [what|but what|and what] are [yours|the ones in "
        "the tree]",
        "how is it prevented that model a finds keys of model b in the [tree|cache], what's the "
        "[term|concept]",
        "each [lora|adapter] gets its own [root|part of the tree]: what do you call this",
        "[i know|i understand|i've understood] how to send a salt, but which notion of the "
        "[tree|cache] stands behind it",
        "[can|could] a prefix in one [namespace|root] be used from another",
        "does the tree have one root for [everything|all models], or several, and [why|how are "
        "they called]",
        "[tenant|adapter|model] separation in the tree, i mean the [concept|term], not the "
        "request field",
    ],
    "page_size": [
        "[not|i don't mean] how many slots there are but how many tokens one page [has|holds]",
        "vllm's block size is 16; [what|but what|and what] is [yours|the page size here]",
        "is sharing rounded to [whole blocks|pages of 16], or exact to the [token|last token]",
        "[suppose|imagine|let's say] two prompts agree in 37 tokens, are 37 shared or [only "
        "32|fewer]",
        "[not|i don't mean] the context, the page: how [large|big] is it",
        "[does|would|will] it matter if my shared prefix isn't a multiple of [16|32|64]",
        "[page size|block size] [yaie|tokens|default]",
        "[please|please tell,|hello,] how many token has one [page|block] of the cache",
        "can i [set|change] the block size, or what is its [value|size]",
        "prompts that differ after an odd number of tokens [lose|waste] a partial block in other "
        "engines; [here too|and here]",
        "to what [granularity|precision] are [prefixes|beginnings] shared",
        "paged attention uses pages; what is the [size|length] of yours [in tokens|]",
        "is a half-filled page ever [wasted|recomputed], or are the pages too [small|fine] for "
        "that",
        "[what is|what's] the finest unit in which two prompts can share [a beginning|cache]",
        "the last [common|shared] token before two prompts part: is it [reused|shared] too, or "
        "cut off by a page border",
    ],
    "salt": [
        "[not|i don't mean] the concept of roots but the field i [send|put into the request] to "
        "be separated",
        "namespaces i understand; [which|but which|and which] request field [puts|moves] me into "
        "one of my own",
        "a key keeps strangers out; but how do i keep two [admitted|paying] tenants from sharing "
        "[the cache|prefixes]",
        "suppose someone probes my prompts by [timing|latency], what do i add to the "
        "[request|json] against it",
        "what do i send so that my cached [prefix|prompt] is used by [nobody else|no other user]",
        "two requests with the same prompt but [different salts|another salt each]: do they "
        "[share|reuse] anything",
        "[cache_salt|salt|isolation] [field|request|tenant]",
        "please how one [customer|tenant] is separated from the other in the cache, by which "
        "[field|parameter]",
        "i don't want sharing between [my customers|departments] although their prompts "
        "[begin|start] alike",
        "is there a request [field|parameter] for a [private|separate] cache per user",
        "passwords are salted, i know; [what|but what|and what] does the salt in a [request|chat "
        "request] do",
        "per-user isolation of the prefix cache: [what does|what exactly does] the "
        "[client|request] have to carry",
        "how do i opt out of sharing [keys and values|my prefix] with [others|strangers]",
        "if i give every tenant [a string|a secret] of its own in the request, [which|what] "
        "field is it for the cache",
        "do different [cache_salt|salt] values mean different [namespaces|caches]",
    ],
    "samples": [
        "[not|i don't mean] many requests but one with n=4: what is [shared|common] and what is "
        "not",
        "cached_tokens is [about|for] earlier requests; but within one request with n [above "
        "1|of 5], is the prompt computed once",
        "i ask for three [answers|variants] in one call, do i pay the [prefill|prompt] three times",
        "suppose n is 8, are all eight answers [identical|the same] or drawn "
        "[separately|independently]",
        "do the [samples|answers] of one request share the [prompt's work|prefill]",
        "best-of-ten [sampling|voting]: how [costly|expensive] is the prompt part",
        "[n parameter|n samples|several samples] [prefill|cost|shared]",
        "please if i want [five|more] answers for one question, is the prompt "
        "[calculated|computed] five times",
        "do i send the same request four times or use n, [what does|what exactly does] n "
        "[save|share]",
        "what do the [answers|samples] of an n=2 request have in common, and where do they "
        "[part|differ]",
        "is n [supported|cheap], and does each sample draw its own [tokens|words]",
        "self-consistency needs twenty [drafts|chains] per prompt, what is done [once|just once] "
        "for them",
        "why is n=4 [cheaper|faster] than four separate [calls|computations of the prompt]",
        "when i ask for [alternatives|several samples], is each [prefilled|started] from scratch",
        "a request with n [above one|of three]: who draws the [tokens|words], and what is done "
        "only once",
    ],
    "gpu": [
        "not which device is chosen but what [computes|does] attention [on it|there] if it's a gpu",
        "on the cpu it is your c++ kernel; [what|but what|and what] is it on [a gpu|cuda]",
        "flashinfer, flash attention or [your own cuda kernel|triton], which one do you "
        "[use|run] on nvidia cards",
        "suppose i set YAIE_DEVICE=cuda, which [library|kernels] will attention [run on|use]",
        "how does attention on the [gpu|graphics card] follow the [shape|structure] of the tree",
        "[what is|what's] the cascade, and on which [hardware|device] is it used",
        "[gpu|cuda|nvidia] attention [kernel|library|backend]",
        "[please|please tell,|hello,] which library makes the attention on the [graphic card|gpu]",
        "not the list of backends, just the one for [gpus|nvidia hardware], and how it "
        "[treats|reads] the tree",
        "is attention on a [4090|h100|gpu] done by torch or by [a library|something faster]",
        "shared prefixes on a gpu: by what [trick|method] are they read [once|together]",
        "did you write [cuda|triton] code yourselves for attention [on gpus|on nvidia cards]",
        "the multi-level thing over the tree, with [flashinfer|which library], on [what|which] "
        "hardware does it run",
        "i'd like to know what [runs|happens] in attention when there is [an nvidia card|a gpu]",
        "what do i need [for attention|as attention library] on a [gpu|cuda machine]",
    ],
    "cpu": [
        "[not|i don't mean] whether i can choose it but what [computes|does] attention on the cpu",
        "on a gpu it is flashinfer; [what|but what|and what] is it on [a processor|the cpu]",
        "the reference is plain torch; what is the [fast|proper] code for [cpus|processors]",
        "suppose there's no [nvidia card|gpu] at all, does it still run, and [with|on] what "
        "attention",
        "is yaie usable on a [laptop without a gpu|plain server], and what makes it [quick|fast] "
        "there",
        "[does|would|will] attention on the cpu read a shared prefix [once|for each request]",
        "[cpu|processor] attention [kernel|c++|code]",
        "please can it work without [graphic card|gpu], and what calculates the "
        "[attention|attention then]",
        "what did you write in c++, and for which [hardware|device] is [it|that]",
        "without [cuda|a gpu], is torch's own attention used or [a kernel of yours|something else]",
        "which of your [kernels|attention kernels] is your own work, not a [third "
        "party's|library's]",
        "i have 64 cores and no [accelerator|gpu], [which|what] kernel keeps them busy in "
        "attention",
        "how are keys and values that are [shared|common] read [on processors|when the cpu does "
        "the work]",
        "do i [lose|miss] prefix sharing in attention if there's only a [cpu|processor]",
        "[intel|amd|arm] processor only: what [runs|does] the attention",
    ],
    "reference": [
        "[not|i don't mean] the fast one but the one for [reading|checking]: which attention "
        "backend",
        "cpu is the c++ kernel and flashinfer is for gpus; what is the [third|remaining] backend "
        "[for|about]",
        "against what do you [compare|check] your [fast|optimised] kernels in the tests",
        "suppose i want to learn how attention works from your [code|source], which backend do i "
        "[open|read]",
        "why [have|keep] a slow backend in [plain|ordinary] torch at all",
        "what plays the [oracle|judge] when two attention implementations [differ|disagree]",
        "[reference|reference backend|oracle] [meaning|purpose|use]",
        "[please|please tell,|hello,] what is the backend with name reference, and why it is so "
        "[slow|simple]",
        "[which|what] backend has its softmax in [float32|full precision] and is written in torch",
        "is there an implementation of attention that is [easy to read|simple], without c++ or "
        "[flashinfer|cuda]",
        "i wouldn't run it in production, but the tests [trust|need] it: [which|what] backend",
        "the ground truth of attention in [your tests|the test suite], [what is|what's] it",
        "[not|i don't mean] all three backends, just tell me about the [textbook|readable|plain "
        "torch] one",
        "what makes the reference backend [different|special] [compared with|beside] cpu and "
        "flashinfer",
        "[how do you|how would you] know a kernel is [right|correct], with what do you compare it",
    ],
    "backends": [
        "[not|i don't mean] what runs on the gpu in particular, but all the attention backends "
        "[by name|as a list]",
        "one is called reference; [what|but what|and what] are the other [two|ones] called",
        "how many attention [implementations|backends] [are there|exist], and which",
        "[suppose|imagine|let's say] i may choose the attention backend, what is on the "
        "[menu|list]",
        "scheduling policies aren't what i mean, i mean the [choices|names] for the [attention "
        "backend|backend of attention]",
        "list the [possible|available] implementations of attention without "
        "[explaining|describing] them",
        "attention [backends|implementations] [list|names|available]",
        "[please|please tell,|hello,] which [backend|backends] for attention you have, all of them",
        "besides flashinfer, [what|which] attention backends [exist|are there]",
        "torch, c++ or flashinfer: under [what|which] names can i [find|choose] these attention "
        "backends",
        "is there an xformers or [triton|flash-attention] backend, or which ones [are there|do "
        "you have]",
        "the attention code comes in [three|several] variants, [name them|which]",
        "for a table in my [report|thesis] i need the names of [all|all the] attention backends",
        "reference, cpu, and [what is|what's] the [last|third] of the attention backends",
        "is [cpu|flashinfer|reference] the only attention backend, or [which are there|what else]",
    ],
    "safetensors": [
        "[not|i don't mean] which architectures but which weight [format|files] you load",
        "the code's licence is clear; but is it [safe|dangerous] to load weights from a "
        "[stranger|random repo]",
        "my checkpoint is a [gguf|bin|pickle] file, will it be [loaded|accepted]",
        "[suppose|imagine|let's say] a hub model ships its own python code, will it be "
        "[run|executed]",
        "is trust_remote_code on or off, and which [files|weights] are [loaded|read]",
        "[does|would|will] loading a model ever [execute|run] code that came with it",
        "[pickle|gguf|pth|onnx] weights [supported|possible|yaie]",
        "[please|please tell,|hello,] in which format must be my [weights|model files]",
        "i [converted|saved] my model with torch.save, does the engine [read|take] that",
        "must i convert [.bin|.pt] files first, and to [what|which format]",
        "a model card [demands|asks for] trust_remote_code=True, can i [use|load] this model",
        "why [is|was] my pytorch_model.bin [not found|ignored|refused]",
        "what protects me from [malicious|booby-trapped] [checkpoints|weight files]",
        "[which|what] kind of checkpoint file is [welcome|allowed] and which is turned away",
        "can a model [bring|include] custom code, or only [tensors|weights] in a certain file "
        "format",
    ],
    "zoo": [
        "[not|i don't mean] the weight format but the code of the [models|layers]: whose is it",
        "attention is yours; [where|but where|and where] does the [rest of the model|code of the "
        "layers] come from",
        "do you [maintain|have] your own [llama|qwen|gemma] implementation",
        "[suppose|imagine|let's say] a new architecture lands in transformers, does yaie get it "
        "[too|for free]",
        "how [can|does] yaie run so many architectures without [rewriting|reimplementing] them",
        "what is transformers [for|doing] in your dependencies, if you have your own "
        "[engine|attention]",
        "[transformers|hugging face] [role|integration|model code] yaie",
        "please from where come the [definition|definitions] of the models, are they written "
        "[new|by you]",
        "by [what|which] means does your attention get into a model that [hugging face|somebody "
        "else] wrote",
        "vllm rewrites each model; [what|but what|and what] do you [do|use]",
        "is the model zoo your own or [borrowed|from a library], and what do you "
        "[change|replace] in it",
        "which [library|package] [defines|provides] the layers of the models",
        "to add a model, do i write [code|layers] for yaie or is it taken from [somewhere|a "
        "library]",
        "you [hook|plug] something into [models|the models], i read. what, and into whose",
        "who wrote the forward pass of [the models|qwen] that yaie [runs|loads]",
    ],
    "greedy": [
        "[not|i don't mean] the speed but the words: does the cache [change|alter] them at "
        "temperature 0",
        "sampling is random, but greedy decoding, is it [independent of|untouched by] the "
        "[batch|cache]",
        "alone or in a [crowd|batch], do i get the same [tokens|text] with temperature 0",
        "[suppose|imagine|let's say] i repeat a prompt with a warm cache, is the greedy "
        "[answer|output] the very same",
        "can other people's requests in the batch [change|influence] my [tokens|greedy answer]",
        "how exact is the [output|greedy output], token by token, when prefixes are "
        "[reused|cached]",
        "[deterministic|batch invariant|reproducible] [output|greedy] yaie",
        "please is the answer always [same|equal] if temperature is 0 and cache is "
        "[full|empty|warm]",
        "our regression tests compare [strings|texts]; will a busy server [break|disturb] them "
        "at temperature 0",
        "[does|would|will] reuse of keys and values cost any [accuracy|exactness]",
        "[in|with] float32, what do you guarantee about greedy [tokens|results] in different "
        "batches",
        "[does|would|will] it matter for a greedy answer whether the cache is [cold|warm]",
        "elsewhere the [batch size|load] changes results slightly; is it so [here|with you]",
        "do i trade [correctness|identical output] for speed when the cache is [on|warm]",
        "same prompt, [no randomness|temperature 0], twice: [identical|the same tokens] or not",
    ],
    "process": [
        "[not|i don't mean] what happens in a crash, but how server and engine are "
        "[divided|separated] normally",
        "does the http server [load|import] torch, or is that in another [process|place]",
        "[one process or two|two processes or one], and how do the [halves|two parts] talk",
        "suppose i look at ps, why are there two processes of [yaie|it], and what "
        "[connects|joins] them",
        "between the [api|http server] and the engine, is there [http|grpc|shared memory] or a "
        "socket",
        "where [does|will] the model live, in the api process or in [its own|another one]",
        "[server engine|two processes|process] [architecture|split|communication]",
        "please why the server and the engine are not [together|in the same process], and how "
        "they [speak|talk]",
        "the api process uses [hardly any|little] memory; where are [torch and the weights|the "
        "weights]",
        "is the channel between server and engine [private|local] or reachable [from "
        "outside|over the network]",
        "can a flood of http [connections|traffic] slow the [step loop|engine], or are they apart",
        "does the engine run as a thread of the [web server|api] or [by itself|separately]",
        "[i want|i need|we need] to draw the [architecture|boxes]: what stands between the http "
        "part and the engine",
        "why can the [server|api process] answer before torch is [imported|loaded]",
        "over what does the [http part|server] hand a request to the part with the [model|weights]",
    ],
    "crash": [
        "[not|i don't mean] how they talk but what happens when the engine [dies|hangs]",
        "503 is what [new|later] requests get; but what becomes of the [running ones|dead "
        "engine] after a crash",
        "/liveness [only|just] tells kubernetes; does yaie itself [bring back|restart] a crashed "
        "engine",
        "suppose the engine [segfaults|is killed by the oom killer] at night, who "
        "[restarts|revives] it",
        "do requests hang forever when the engine is [stuck|dead], or do they get [an error|an "
        "answer]",
        "[does|would|will] anybody notice when the engine [freezes|hangs]",
        "engine [crash|hang|died] [recovery|restart|what now]",
        "please what happens if the engine is [broken|falling down], must i start it [again by "
        "hand|newly]",
        "is one [crash|failure] of the engine the end of the whole [service|server]",
        "preempted requests resume; [what|but what|and what] about requests in an engine that "
        "[crashed|died]",
        "my generation ended with an error because the engine [crashed|fell over], and now it "
        "works again. [how come|who fixed it]",
        "do i need [supervisord|systemd|a watchdog] to bring the [engine|crashed engine] back",
        "[self-healing|fault tolerance] after a dead engine, do you have [that|any]",
        "will a client wait [in vain|forever] for an engine that is no longer [there|alive]",
        "cuda throws an illegal access and the engine process [ends|is gone], [what next|what "
        "does the server do]",
    ],
    "schema": [
        "[not|i don't mean] --json on the command line but json in the model's [answer|reply]: how",
        "tool_calls gives me calls; [i want|i need|we need] the answer itself to be [valid "
        "json|in my format]",
        "stream decides when it comes; [what|but what|and what] decides that it's [json|valid "
        "json]",
        "suppose my parser breaks on the model's [chatter|half json], what do i [send|put in the "
        "request]",
        "[which|what] request field takes a json [schema|schema of my own]",
        "how can the [model|output] be forced into [my structure|my format]",
        "[structured output|json schema|guided decoding] [field|request|yaie]",
        "[please|please tell,|hello,] how to get from the model only [valid|correct] json",
        "i have a [pydantic model|dataclass] and the reply must [match|fit] it",
        "[what|which feature] makes it impossible for the model to write [invalid|broken] json",
        "the model wraps json in [prose|markdown], how do i get only the [object|json]",
        "does response_format [work|exist], and what does it [do|enforce]",
        "is there a grammar that [limits|constrains] what the model may write, and how do i "
        "[pass|switch it on]",
        "extraction: name, date and amount as an object that [parses always|never fails to "
        "parse], [which|what] field do i send",
        "asking politely for json doesn't [work|help], is there a [hard|strict] way",
    ],
    "tool_calls": [
        "[not|i don't mean] whether the server runs tools, but how the model's calls [reach|come "
        "back to] my client",
        "/v1/tools/execute is off, fine; [how|but how|and how] do i let the model [ask for|name] "
        "a function that my program runs",
        "response_format is for json answers; [what|but what|and what] is for "
        "[functions|function calling]",
        "suppose the model should look up the [weather|stock price] with my function, what do i "
        "[send|put in the request]",
        "in which field of the response are the [functions|calls] the model [wants|asked for]",
        "where does my list of [functions|tools] go in the [request|json]",
        "[function calling|tools|tool use] [field|request|response] yaie",
        "please how to give my [functions|tools] to the model, and where come the [call|calls] "
        "back",
        "[does|would|will] the openai tools format work [unchanged|as it is]",
        "my agent [framework|library] needs function calling, can the api [do|offer] that",
        "[how do i|how can i|how would i] learn that the model wants to call [something|a "
        "function], and with which arguments",
        "the model should [choose|pick] one of my functions and my [code|client] runs it, how do "
        "i pass them",
        "parallel function calls, in [what|which] part of the answer do they [appear|stand]",
        "[what do i|what should i|what must i] send so that the model may call "
        "[get_weather|search|my function]",
        "i [describe|list] a tool and then [what|what comes back], i mean in the chat api",
    ],
    "snapshot": [
        "[not|i don't mean] the licence but privacy: does anything [leave|go out of] my machine",
        "does yaie [report|send] usage [anywhere|to anyone]",
        "the host setting is about who comes in; [what|but what|and what] about data going "
        "[out|to others]",
        "[suppose|imagine|let's say] i pull the network cable, does the built-in model [still "
        "answer|go on]",
        "are my [prompts|questions] [uploaded|sent somewhere|stored in a cloud]",
        "[who else|which company] can read what i [write|type] to you",
        "[telemetry|privacy|offline use|phone home] yaie",
        "please is my [text|data] staying on my [computer|machine]",
        "do i [need|have to have] an account or a [connection|internet line] for the built-in "
        "model",
        "is there [tracking|analytics] in it that i must [opt out of|switch off]",
        "for [medical|legal|secret] documents, is it certain that nothing goes to [a third "
        "party|the internet]",
        "in an air-gapped [lab|room], does the thing [run|work] with its own model",
        "do you [collect|gather] [statistics|data] about me",
        "[does|would|will] it call home when it [starts|runs]",
        "is some company [watching|logging] what i ask here, or does it stay [local|on this "
        "machine]",
    ],
    "context": [
        "[not|i don't mean] the size of the pool but how many tokens the built-in model can "
        "[see|read] at once",
        "what happens beyond the limit i know; [what|but what|and what] is the limit of the "
        "built-in model, [in tokens|as a number]",
        "page size is one token; and the [window|context length] of the [small|built-in] model",
        "suppose i paste a long [article|email] to the built-in model, how many tokens may "
        "[prompt and answer|it all] have",
        "how [far|many tokens] back can the built-in model [look|remember] in a conversation",
        "[is it|would it be] [2,048|8,192|32k] tokens, the window of the built-in model",
        "[context length|window|max tokens] of the [built-in|bundled] model",
        "please how [long|big] can be the text for the [small|built-in] model, how many token",
        "[when|at how many tokens] does our conversation get too long for the [little|built-in] "
        "model",
        "the model [in|shipped with] the package, how large is its [context|context window]",
        "how many tokens [fit into|are allowed in] the builtin model's [window|context]",
        "can the built-in model [take|read] 10,000 tokens, or where does it [stop|end]",
        "i don't mean YAIE_NUM_SLOTS, i mean the [context|window] of the [built-in|shipped] model",
        "the [number|figure] above which the built-in model [refuses|can't take] a prompt",
        "128k context? not the built-in model, [surely|i suppose]. [how much then|what is it]",
    ],
    "ui_words": [
        "[not|i don't mean] where the models are on my disk but where the [code|source] of each "
        "part is",
        "i cloned it and want to [read|fix] the tree's code, [which|what] folder",
        "suppose i'd like to [change|patch] the http api, in which [directory|folder] do i look",
        "where are attention, the [tree|cache] and the [api|engine] in the source",
        "[give|draw] me a map of the [repository|repo|source tree]",
        "[what is|what's] in yaie/kvcache and the [neighbouring|other main] folders",
        "[source|repo|project] [layout|structure|folders]",
        "please in which [folder|directory] is which [part|code]",
        "as a [new contributor|first-time contributor], which directories [should|must] i know",
        "the step loop, the kernels, the routes: in [which|what] folders do i find [these|them]",
        "is the api [in|under] yaie/ or in [another|a separate] folder",
        "the tree as a notion is clear, but in which [folder|directory] does its code [live|lie]",
        "how is the code [organised|split up], by [folders|directories]",
        "a bug in the [scheduler|kernel|routes], where in the [repo|source] do i start to look",
        "i want to grep only the [relevant|main] directories, which are [they|these]",
    ],
    "chat_template": [
        "not the messages but the template that [renders|formats] them: may i [send|bring] my own",
        "unknown fields are ignored; but a chat_template in [my request|the json] was "
        "[refused|rejected], why",
        "which template turns [messages|roles] into a prompt, [mine|the client's] or the model's",
        "suppose a downloaded model has an evil [jinja|template], can it [harm|reach] the server",
        "can clients override how [messages|roles] are [rendered|written] into the prompt",
        "is the [template|jinja template] from the model [run|rendered] somewhere safe",
        "[chat template|jinja template] [custom|request|sandbox|override]",
        "please can i send my own [template|chat template] together with the [request|messages]",
        "vllm [accepts|takes] chat_template per request; do [you|your endpoints]",
        "i want a different [prompt format|role marker] for one request, is a [template|template "
        "of mine] allowed",
        "on the chat endpoint, who decides the [layout|wording] around the messages, and can i "
        "[change|replace] it",
        "why don't you let a [client|request] bring [jinja code|its own template]",
        "raw prompts have no template; and for chats, whose template is [applied|used], and "
        "[where|how safely]",
        "could jinja from a [checkpoint|model repo] execute [something bad|code] here",
        "what [if|happens if] i put a [template|chat_template] in the json",
    ],
}
