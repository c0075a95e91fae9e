"""Questions about what YAIE is and how it is used, worded as many different people ask them.

`WORDINGS` maps a fact's key to patterns of whole questions (see `grammar.py`). They were written
from imagination, person by person, not derived from the frames of `fact_questions.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "what": [
        "[so |]what [exactly |]have i just [cloned|downloaded|installed|checked out]",
        "i [just |]found this [repo|repository|project], what is it [for|about|good for]",
        "[never heard of yaie|first time i see yaie|yaie is new to me], what [is it|does it do]",
        "[could|can] you [explain|describe] [yaie|this project] [to|for] [a beginner|a "
        "newcomer|my manager]",
        "[can|could] someone [explain|tell me] what [yaie|this thing|this engine] [is|does]",
        "what would i [use|need|want] yaie for",
        "what [is|are] yaie [good|meant|intended|designed] for",
        "[give|write] me [a|the] [one line|one sentence|two line|short] [summary|description] "
        "of yaie",
        "[elevator pitch|tl;dr|tldr|short intro|quick intro] [of yaie|for yaie|for this "
        "project|please]",
        "yaie, [what is that|what's that|what is it|what does it do|who needs it]",
        "yaie [in simple terms|in plain english|in a few words|for dummies|explained simply]",
        "i [don't|do not|still don't] [understand|get|see] what yaie [is|does|is for]",
        "i have no [idea|clue] what [yaie|this project|this software] [is|does]",
        "[my teacher|my boss|a colleague|somebody] [mentioned|talks about] yaie, what is [it|that]",
        "[what sort|what type] of [tool|software|program|engine|application] [is|would be] "
        "[yaie|this]",
        "is yaie [a library|a server|a model|a chatbot|a framework] or [what|something "
        "else|what is it]",
        "is [this|yaie] [some kind of|a kind of|like a] [llm|inference|model] "
        "[server|engine|runtime]",
        "what can [i|people|one] do with [yaie|this project|this engine]",
        "what [is|was] yaie [made|built|created|developed|written] for",
        "what is the [big|key|central|basic|underlying] idea [of|behind|in] [yaie|this engine]",
        "what [lies|is|sits] at the [heart|core|centre|center] of [yaie|this engine]",
        "around what is [yaie|the engine|this project] [built|designed|constructed|organised]",
        "what [does|do] [this|the] [repo|repository|codebase|package] "
        "[contain|do|provide|implement]",
        "i would like [to know|to understand|to learn] what [yaie|this project] [is|does]",
        "i [want|need] [an introduction|a summary|an overview] [of|to|for] [yaie|this project]",
        "[please |]introduce [yaie|this project|the engine|the project] [to me|to "
        "us|briefly|shortly]",
        "[please |]give [me|us] an [overview|introduction|idea] of [yaie|the project|this engine]",
        "how would you [describe|explain|summarise|introduce|present] [yaie|this project|this "
        "engine]",
        "how can [yaie|this project|this engine] be [described|summarised|explained] [briefly|]",
        "in one [sentence|line|phrase|breath], [what is yaie|describe yaie|what does yaie do]",
        "what [category|class|family|sort] of software does [yaie|this|this project] belong to",
        "[what's|whats] [yaie|this yaie thing|this yaie|all this] [about|]",
        "what [should|must] i know about [yaie|this project|this engine] [first|before i start|]",
        "who [is yaie for|needs yaie|would use yaie] and what [is it|does it do]",
        "[what is|what's] the [goal|mission|aim|objective|intention] of [yaie|this project|the "
        "project]",
        "[for what|for which purpose|to what end] [was|is] yaie [made|written|developed|created]",
        "[before i install it|before i start|first of all], what [is yaie|does yaie do|is it]",
        "[i am writing a report|i write a blog post], [describe|summarise] yaie [in a sentence|]",
        "does yaie [run|serve|execute] [llms|language models|models] or what [does it do|is it "
        "for]",
        "[tell me|explain] in [plain|simple|easy] [words|language] what yaie [is|does]",
        "[what do|how do] you [call|describe] this [project|engine|program]",
        "[explain|describe] the [yaie|] project [in a few words|in one line|shortly|quickly]",
        "[what makes up|what is the essence of|what defines] [yaie|this engine|the yaie project]",
        "yaie [intro|introduction|overview|summary|description|definition]",
        "the point of [yaie|this project|this whole thing|this repo] is what",
    ],
    "acronym": [
        "yaie [acronym|abbreviation|full name|full form|long form|meaning] [|please]",
        "what [are|were] the [words|four words] behind [yaie|the letters yaie|the name yaie]",
        "[is|does] yaie [an abbreviation|short|an acronym] [of something|for something|for what]",
        "[does|do] the [name|letters] yaie [mean|stand for] [something|anything]",
        "i [wonder|wondered|keep wondering] what [yaie|the name yaie] [stands for|is short for]",
        "y a i e [stands for|means|is] what",
        "y.a.i.e. [what does it stand for|what does that mean|stands for what]",
        "what's the [y|a|i|e] in yaie",
        "what is the [y|a|i|e] [in|of] yaie [for|standing for|]",
        "what does [each|every] letter [of|in] yaie [mean|stand for|represent]",
        "what do [y, a, i and e|the y and the a|these four letters|those letters] [stand for|mean]",
        "[please |][expand|unpack|decode|resolve|decipher] [yaie|the acronym|the name yaie|the "
        "abbreviation]",
        "can you [expand|spell out|decode|write out] [yaie|the name yaie|the acronym]",
        "[why|how come] [is|was] the [project|engine|tool] [called|named] yaie",
        "why [did|do] [you|they] [call|name] [it|the project|the engine] yaie",
        "who came up with the name yaie and what does it [mean|stand for]",
        "what a [strange|funny|weird|odd|silly] name, [what does yaie mean|why yaie|what is "
        "yaie short for]",
        "the name yaie [sounds|looks] [odd|funny|strange], what does it [mean|stand for]",
        "[where|from where] [did|does] the [name|acronym|abbreviation] [yaie|] [originate|come "
        "from]",
        "what is the [origin|story|reason|explanation] [of|behind] the name [yaie|]",
        "what is yaie [spelled out|written out|in full|in long|in full words|when spelled out]",
        "how is yaie [spelled out|written in full|expanded|spelled in full]",
        "how do you [spell out|write out|expand] [yaie|the name yaie|the acronym yaie]",
        "the [full|complete|long|official|unabbreviated|proper] [name|title] [of yaie|of this "
        "engine]",
        "what is the [complete|unabbreviated|official full|real|proper] name of [yaie|this "
        "engine|the engine]",
        "[tell me|give me] the [full name|long name|complete name|words] [of yaie|behind yaie]",
        "[tell me|explain|i need to know] what yaie [stands for|abbreviates|is short for|is an "
        "acronym for]",
        "for what is yaie [short|an abbreviation|an acronym|the acronym]",
        "for what [words|phrase] [do|does] [the letters|the name|the acronym|] yaie stand",
        "yaie [=|means|abbreviates what|is an acronym of what|is the short form of what]",
        "which [phrase|four words|words] [does|do] [yaie|the acronym yaie] "
        "[abbreviate|shorten|stand for]",
        "of which words is yaie [made|the short form|the abbreviation|composed]",
        "[in a quiz|in class|in an interview] i was asked what yaie [stands for|means], "
        "[answer|so what]",
        "i have to [write out|spell out|explain] the [acronym|name|abbreviation] yaie, what is it",
        "i know what it does but [what does the name mean|not what yaie stands for]",
        "what's yaie [stand for|mean as an acronym|short for|an abbreviation of]",
        "do you know what [yaie|the name yaie|your project name] [stands for|is short for]",
        "could you tell me what the [letters|acronym|abbreviation|initials] yaie [mean|stand "
        "for|are]",
        "the initials y a i e, what [do they|could they] [mean|stand for]",
        "[is yaie|yaie is] yet another [what|something]",
        "is there a [meaning|phrase|longer name] behind [yaie|the name yaie|the letters yaie]",
        "the [abbreviation|acronym|letters|initials] yaie [explained|meaning|please]",
    ],
    "promise": [
        "what [sets|distinguishes] yaie [apart|] from [the others|other "
        "engines|vllm|llama.cpp|the rest]",
        "what does yaie [do|offer|have] [that others do not|better than others|that vllm does not]",
        "[why|for what reason] would [i|anyone|someone|we] [pick|choose|use|take] yaie "
        "[over|instead of] vllm",
        "why not [just |][use|take] [vllm|llama.cpp|ollama|another engine] instead of yaie",
        "convince me [to use|to try|to switch to] [yaie|this engine|your engine]",
        "[sell|pitch] me [yaie|this engine|the engine]",
        "[give|name] me [one|a|a good] reason [to use|for using|to try|to choose] yaie",
        "what is [so |][great|good|special|clever|cool] about [yaie|this engine]",
        "what [is|are] the [advantages|benefits|strengths|gains|upsides] of [yaie|this "
        "engine|using yaie]",
        "what [advantage|benefit|gain] [does|would] yaie [give|bring|offer] [me|us|to my team]",
        "[how|in what way|in which way] is yaie [better|faster|more efficient] than "
        "[others|other engines]",
        "what do i [gain|win|get] [when|if|by] [i use yaie|i switch to yaie|using yaie]",
        "[what|which] work does yaie [save|avoid|never repeat|not repeat]",
        "does yaie [ever |][recompute|repeat|redo] [tokens|work|the same tokens|computed tokens]",
        "does [the engine|yaie] [do|compute] the same work [twice|again|two times]",
        "will a token [ever |]be [computed|calculated|processed] [twice|again|two times|a "
        "second time]",
        "is [any|a|the same] token [ever |][computed|processed|calculated] [twice|more than "
        "once|again]",
        "is any key or value [ever |]read twice [in a step|within one step|]",
        "[are|will] shared [keys and values|keys] [be |]read [twice|more than once|only once] "
        "[in a step|]",
        "how often [is|are] [a token|tokens|shared keys] [computed|read] [in a step|while they "
        "are held|]",
        "what [is|are] yaie's [promise|promises|guarantee|guarantees|claim|main claim]",
        "what does [yaie|the engine|this project] [claim|assure|promise its users|guarantee "
        "its users]",
        "[which|what] [guarantee|assurance|promise] [comes with|do i get from|do we get from] yaie",
        "on what [promise|guarantee] is yaie [built|based|founded]",
        "can you [state|explain|repeat|summarise] the [promise|guarantee] of [yaie|the engine]",
        "i [read|heard] that yaie makes a [promise|guarantee], what [is it|does it say]",
        "[the readme|the homepage|someone] [mentions|speaks of] a [promise|guarantee], which one",
        "what is the [unique selling point|usp|killer feature|main selling point] [of yaie|here|]",
        "what is [yaie's|the engine's] [main strength|big advantage|edge|main benefit|big promise]",
        "[where|how] does yaie [save|gain] [time|work|compute] [compared with others|]",
        "[where does|how does] the [speed|efficiency] [of yaie |]come from",
        "[how come|why] [is yaie|is it|is this engine] [so |][fast|efficient|quick|cheap]",
        "i [already |]use [vllm|ollama|another server], why should i [switch|change|move] [to "
        "yaie|]",
        "[our|my] team [compares|is comparing] [engines|servers], what [speaks for|is the plus "
        "of] yaie",
        "what can yaie [guarantee|promise] about [tokens|repeated work|work|computation]",
        "[tell me|i would like to know] [what yaie promises|the promise of yaie|what yaie "
        "guarantees]",
        "[tell me|i want to know] why [i should|one should|people] [use|choose|prefer] yaie",
        "yaie [vs|versus|compared to|against] [vllm|ollama|llama.cpp|other engines]",
        "the [selling point|key benefit|core promise|central guarantee] of [yaie|the engine], "
        "please",
        "[benefits|advantages|pros|strengths] of [yaie|using yaie|this engine]",
        "what [work|computation|calculation] is never [done|repeated|made] twice [in yaie|]",
        "what [never happens|will never happen] twice [in yaie|in this engine]",
        "in what [respect|sense|way] is yaie [special|different|unusual|superior]",
    ],
    "why_tree": [
        "[for what|what] is [a|the] radix tree [needed|used for|doing here|there for] [in yaie|]",
        "why [did|do] you [build|base|design] [it|yaie|the engine] [around|on] a "
        "[radix|prefix] tree",
        "why [exactly |]a radix tree [and not|instead of|rather than] [a hash "
        "table|pages|blocks|a list]",
        "what [does|can] [the|a] radix tree [do|bring|give|buy|gain] [us|me|yaie|]",
        "what [is|gets|will be] stored [in|inside] the [radix tree|prefix tree|tree]",
        "what do we [gain|get|win] [from|with|by] the [radix tree|prefix tree]",
        "i do not [understand|see|get] [why there is a radix tree|the role of the radix tree]",
        "i [read|heard|see] [that|] yaie uses a radix tree, [why|what for|for what purpose]",
        "[explain|describe] [to me |]the [idea|role|benefit|reason] of the [radix|prefix] tree",
        "[explain|describe] how the [radix|prefix] tree [works|helps|shares prefixes|saves work]",
        "how does the [radix|prefix] tree [help|save work|save memory|speed things up|avoid work]",
        "how does a [radix|prefix] tree [help|speed up] [inference|an llm server|serving|caching]",
        "how [is a shared prefix handled|does a common prefix get reused|is a common prefix kept]",
        "how many times is a [shared|common] prefix [stored|kept|held|saved]",
        "is a [shared|common] prefix [stored|kept|held] [once|twice|only once|several times]",
        "do [two|many|several] requests share [the cache|a prefix|keys and values|their common "
        "beginning]",
        "what if [two|many|several] [users|requests|prompts] [have|send|use] the same "
        "[beginning|prefix]",
        "what if all my [prompts|requests] [start|begin] with the same [text|system prompt|words]",
        "my [prompts|requests] all [begin|start] [alike|the same way|the same], does that "
        "[help|save work]",
        "[all|many] my requests [share|have] the same system prompt, is it [reused|stored "
        "once|cached]",
        "is [the same|a common|a long] system prompt [reused|shared|cached|stored once] "
        "[between requests|]",
        "can [prompts|requests] share [their prefix|a common prefix|a prefix|cached keys]",
        "does yaie [cache|reuse|share|remember] [prefixes|shared prefixes|common "
        "prefixes|prompt prefixes]",
        "is there [a |][prefix reuse|prompt cache|prompt caching|automatic prefix caching]",
        "does yaie do [prefix caching|prompt caching|prefix sharing|automatic prefix caching]",
        "what [kind|sort|type] of [cache|data structure|tree] [does yaie use|is inside|is the "
        "cache]",
        "what [data structure|structure|kind of tree] [stores|keeps|holds] the [prefixes|kv "
        "cache|cache]",
        "[where|in what] are [shared prefixes|common prefixes] [stored|kept|saved]",
        "[tell me|i want to know] [why|how] [the tree is used|yaie shares prefixes|the tree "
        "shares]",
        "i would like to [understand|know] [the radix tree|why you use a tree|how prefixes are "
        "shared]",
        "radix tree [why|explanation|purpose|what for|in short|in simple words]",
        "[radix tree|prefix tree|prefix cache|prefix caching|prefix sharing] [|explained|please]",
        "what's the [tree|radix tree|prefix tree] [good for|there for|about|for]",
        "what's the [point|benefit|advantage|use] of [a|the|using a|having a] [radix|prefix] tree",
        "[which|what] [problem|job] does the [radix|prefix] tree [solve|do|take care of]",
        "what [advantage|benefit] does the [radix|prefix] tree [have|bring|give|offer]",
        "how [do prompts that begin alike share work|are prompts that start alike handled]",
        "how is the [kv cache|cache] [shared|reused] [across|between|among] "
        "[requests|prompts|users]",
        "could you [explain|describe] [prefix sharing|prefix caching|the prefix tree|the radix "
        "tree]",
        "for [students|a lecture|my thesis]: [why a radix tree|what does the radix tree do]",
        "[does|will] the second request with the same [prefix|beginning] [be faster|reuse the "
        "first]",
        "what role does the [radix tree|prefix tree|tree] play [in yaie|here|]",
    ],
    "licence": [
        "[is|are] there [any |][licence|license|legal] [restrictions|limits|conditions] [on yaie|]",
        "what [licence|license] [file|text] is in the [repo|repository|package|project]",
        "what are the [legal terms|terms of use|licence conditions|conditions of use] [of yaie|]",
        "under which [terms|conditions] [can|may] i [use|copy|distribute|change] [yaie|the code]",
        "[whats|what's] the [licence|license] [here|of this repo|of this project|for yaie|]",
        "[our|my] [lawyer|legal team|legal department|company] [asks|wants to know] [about|] "
        "the licence",
        "before [we|i] use it [at work|in our product], what [licence|license] [is it|does it "
        "have]",
        "[may|can|could] [we|my company|our team] [ship|sell|use] yaie in [a|our] "
        "[product|service]",
        "[may|can] i [fork|copy|modify|change|redistribute|sell] [yaie|the code|this project|it]",
        "[may|can] i [put|include|embed|bundle] yaie in [a commercial|a paid|a closed source] "
        "[product|app]",
        "is [commercial use|business use|selling it|redistribution] "
        "[allowed|permitted|ok|possible]",
        "is it [allowed|permitted|legal|ok] to use yaie [commercially|at work|in a company|in "
        "a paid app]",
        "is yaie [really |][free software|open source|free|free of charge]",
        "is [the|its|your] source [code |][open|free|public|open source]",
        "do i have to [pay|buy a licence] [for yaie|to use yaie|for using it|]",
        "does yaie cost [anything|money|something]",
        "how much does yaie cost and [what is the licence|how is it licensed]",
        "is yaie [gpl|mit|bsd|apache|agpl|lgpl] [or what|or something else|licensed or what]",
        "[gpl|bsd|agpl|mit] or apache, [which one is yaie|what licence is it|which licence]",
        "is the licence [permissive|copyleft|free|restrictive|gpl compatible]",
        "[licence|license] of [yaie|this project|the code|the engine|this repository] [|please]",
        "[licence|license|licensing|legal|copyright] [info|question|terms|]",
        "[tell me|i need|i want to know] the [licence|license] [of yaie|of the project|type|name]",
        "[tell me|i need to know] how [yaie|this project|the code] is licensed",
        "[which|what] open source licence [does yaie have|is it|did you choose|covers it]",
        "[what|which] [licence|license] did [you|the authors|the project] [choose|pick|select]",
        "[what|which] [licence|license] [governs|covers|protects|applies to] [yaie|the "
        "code|this software]",
        "where [can|do] i [read|find|see] the [licence|license] [of yaie|text|terms|]",
        "who owns yaie and [what is the licence|under which licence is it]",
        "do you know the [licence|license] of [yaie|this project|the engine|this code]",
        "could you tell me [the licence of yaie|how yaie is licensed|which licence yaie has]",
        "i would like to [use yaie at work|sell a product with yaie], what does the "
        "[licence|license] say",
        "i would like to know [the licence|which licence applies|the license of this project]",
        "i want to [fork|reuse|copy|redistribute] the code, [am i allowed to|is that "
        "allowed|which licence]",
        "i'm [a student|a company|a freelancer], [may i use yaie|is yaie free for me|can i use "
        "it for free]",
        "am i [allowed|permitted|free] to [fork|copy|distribute|resell|publish] [yaie|this "
        "code|it]",
        "are there [licence|license|licensing] [fees|costs|issues|terms] [for yaie|]",
        "what does the [licence|license] [say|allow|permit] [about yaie|]",
        "yaie [licence|license|licensing|is licensed how|legal terms]",
        "the [licence|license] name for my [sbom|dependency list|legal report|records] [please|]",
        "[spdx|licence|license] [identifier|name|id] [of yaie|for the package|please|]",
    ],
    "python": [
        "[does|will] yaie [work|run] [on|with] [my|an] [old|older|ancient] python [version|]",
        "i [have|use|am on|only have] python [3.8|3.9|3.10|3.11|3.12], [is that ok|does it "
        "work|is it enough]",
        "my [server|laptop|machine|distro|box] [has|comes with] python [3.8|3.9|3.10|3.12], "
        "[ok|is it enough]",
        "is [my|] python [3.8|3.9|3.10|3.11|3.12|3.13] [recent|new|modern] enough [for yaie|]",
        "[can|could|may] i use [yaie with |]python [3.8|3.9|3.10|3.12|3.13]",
        "do i [have|need] to [upgrade|update] [my python|python] [for yaie|first|to use it|]",
        "do i need a [newer|new|recent|special] python [version|] [for yaie|]",
        "do i need python [3.10|3.11|3.12|3.13] [or is 3.9 ok|or newer|for yaie|]",
        "must i [upgrade|update|install] python [first|before installing yaie|for yaie|]",
        "what is the [oldest|lowest|minimum|earliest] [python|python version] [that "
        "works|supported|allowed]",
        "what's the [minimum|lowest|oldest|required] python [version|] [here|for yaie|]",
        "[oldest|lowest|earliest|minimum|required|supported] python [version|release] [|for "
        "yaie|please]",
        "[python|python version|python requirement|python 3] [|needed|required|for yaie]",
        "[which|what] python [versions|releases|interpreters] [are ok|are fine|will do|can i "
        "use|work]",
        "[which|what] [interpreter|python interpreter] [is needed|do i need|does yaie need|works]",
        "[which|what] python [should|must|do] i [install|have|put on my machine|choose] [for "
        "yaie|]",
        "which version of python [must|should] be [installed|present|there|on the machine]",
        "what [version|minimum version] of python does [yaie|this|the package|the project] "
        "[need|want|expect]",
        "what version of python [do you|does one|do we] [need|require|support|recommend]",
        "with which [python|python version|version of python] [does yaie run|does it work|can "
        "i use it]",
        "[on|with] what python [does it run|does yaie work|is yaie supported]",
        "from which python version [on |][does yaie work|is it supported|does it run]",
        "[since|from] which python [release|version] is yaie [supported|usable|working]",
        "how [old|recent|new|modern] [can|may|should] [the|my] python [be|at least be]",
        "how old a python [can|may] i [use|have|run] [with yaie|]",
        "pip says my python is too old, [which one do i need|what is required|what version]",
        "pip refuses because of my python [version|], which [one|version] is [needed|required|ok]",
        "i [set up|make|create] a [virtual environment|venv|conda env], which python "
        "[version|] [for it|]",
        "creating a [venv|conda environment|docker image], [which|what] python [do i "
        "take|version|do i need]",
        "[which|what] python should [my|the] [docker image|venv|conda env|container|ci] [have|use]",
        "[tell me|i need|i want to know] the [python version|required python|minimum python] "
        "[for yaie|]",
        "[tell me|i would like to know] which python [is needed|i need|yaie needs|is required]",
        "could you tell me [which python|what python version] [yaie needs|is needed|is "
        "required|i need]",
        "is there a [minimum|required|recommended] python [version|release] [for yaie|]",
        "is there a python requirement [for yaie|here|]",
        "are [old|older] python[s| versions] [supported|ok|possible] [or not|]",
        "does [yaie|the package|it] [still |]support python [3.8|3.9|3.10|3.12]",
        "does yaie [need|require|want] [a new python|python 3.12|a recent python|a certain python]",
        "[any|what] requirements [on|for|regarding] [python|the python version|my python]",
        "will [python 3.9|python 3.10|my python 3.8|python 3.12|an old python] [do|work|be enough]",
        "what are the python [requirements|needs|constraints|version limits] [of yaie|]",
        "we are [stuck|still] on python [3.8|3.9|3.10], [can we use yaie|will yaie run|is that "
        "a problem]",
    ],
    "install": [
        "how do i get [yaie|this thing|it] [onto|on] my [computer|laptop|machine|server|mac|pc]",
        "how [can|do] i put yaie on [a new machine|my server|my laptop|a fresh machine]",
        "what do i [type|run|enter] to [install|get|set up] [yaie|it|this] [with pip|]",
        "is [it|yaie] on [pypi|pip|the package index], how do i [get|install] it",
        "is there a [pip package|package on pypi|wheel|package] [for yaie|of yaie|to install]",
        "can i [just |]pip install [it|yaie|this]",
        "can i install [yaie|it] [with pip|from pypi|with one command|without root]",
        "pip install [what|which package|what exactly|]",
        "what is the [pip|install|installation] [line|command|instruction] [for yaie|]",
        "what [package|pip package|name] do i [give to pip|install|need to install] [for yaie|]",
        "which package [do|should] i [install|get|fetch] [from pypi|with pip|] [for yaie|]",
        "i want to [try|use|test] yaie, [how do i install it|how do i get it|what do i install]",
        "i have [a fresh|a clean|an empty] [venv|machine|laptop|server], how do i [install "
        "yaie|get yaie]",
        "i have python, [now what|what next|what else] to [install|get] [yaie|for yaie]",
        "i am [new|a beginner], how do i [install|set up|get] [yaie|it|this]",
        "i would like to [install|set up|try out] yaie [on my laptop|on my server|locally|]",
        "[what|which] [steps|commands] [are needed|do i follow] to [install|set up] [yaie|it]",
        "[what are|tell me|show me] the [steps|commands] to [install|set up] [yaie|it|the package]",
        "[what|which] [dependencies|packages|libraries] [do i need|are needed|must i install] "
        "[for yaie|]",
        "do i need [anything else|extra packages|other packages|more] [to install|after pip "
        "install]",
        "does the cpu version [need|require] [anything else|extra packages|more] [to install|]",
        "does the [installation|install|package] [include|bring|come with] [a|the] "
        "[model|built-in model]",
        "is [the|a] [built-in |]model [part of the package|included in the install|installed "
        "with yaie]",
        "do i have to [download|install|fetch] a model [after installing|separately|too|as well]",
        "does pip install [also |][bring|download|include] [a|the] [model|built-in model]",
        "how [do|can] i [install|set up] [the cpu version|it on a cpu machine|yaie for cpu]",
        "how does the [installation|install|setup] [go|work|look] [for yaie|]",
        "how [hard|difficult|easy|long] is [it to install yaie|the installation|installing yaie]",
        "how do people [usually |][install|get|set up] [yaie|this]",
        "how would i [deploy|roll out|put] the package [on|to] [a machine|a server|ten machines]",
        "[install|installation|installing] [yaie|yaie with pip|guide|instructions|how]",
        "[yaie|pip|package] [install|installation|installer] [command|how|]",
        "[quick|easy|simple] [install|installation|setup] [of yaie|guide|please|]",
        "[where|from where] [can|do] i [download|get|install] [yaie|the package|the software]",
        "[tell me|show me|explain] how [to install yaie|yaie is installed|i install it|to set "
        "it up]",
        "[what|which] command [installs|sets up|gets|downloads] [yaie|it|the package|the engine]",
        "[please |]help me [install|with installing|set up|get] [yaie|it|this engine]",
        "[what is|what's] the [first step|quickest start|easiest way] to [get|install|have] yaie",
        "[what is|what's] needed to [install|set up|get] [yaie|it|this] [on a cpu|on my machine|]",
        "[need|want] to install [yaie|this|it], [how|what do i type|which command]",
        "yaie is not [installed|on this machine] yet, [how do i get it|what do i run]",
        "[the shell says|bash says|i get] yaie [command |]not found, how do i install it",
        "setting up [a new laptop|a server|my pc], [how to get yaie|how do i install yaie]",
    ],
    "make_serve": [
        "[i just cloned|i have cloned|i cloned] the repo, [does make serve|can make] start the "
        "server",
        "[with|using] make, how do i [start|run|launch] the [server|api]",
        "can i [use|take] make to [start|run|launch|bring up] the [server|api server|api]",
        "[does|will] make serve [start|run|launch] [the server|the api|something]",
        "does make serve [use|need|load] [the built-in model|a model|port 8000]",
        "does the makefile [have|offer|contain] a [serve|server] [target|rule|command]",
        "does the makefile [start|run|serve] the [server|api]",
        "does the repo have a make [target|rule|command] [to serve|for the server]",
        "i typed make serve, [what happens|what runs|what did i start|what now]",
        "i [ran|run|executed] make serve, which [port|model|server] [is it on|does it use|do i "
        "get]",
        "if i [type|run|enter] make serve, what [happens|will happen|starts|do i get]",
        "what [happens|will i get|comes up] [when|if] i [run|type|call] make serve",
        "what will make serve [give me|open|bring up|start|run]",
        "what is [the purpose|the point|the meaning] of [make serve|the make serve target]",
        "what's make serve [for|doing|good for]",
        "what's the make [target|command|rule] [for|to start] the [server|api]",
        "[what|which] [make|makefile] [target|rule|command] [serves|starts|runs] [the "
        "api|yaie|the server]",
        "[what|which] make target do i [use|run|need|call] [to serve|for the server|to start "
        "the server]",
        "[which|what] [port|model] does make serve [use|take|start with|run on]",
        "on [which|what] port does make serve [start|run|listen|serve]",
        "with [which|what] model does make serve [start|run|begin|come up]",
        "where does make serve [listen|run|start the server]",
        "how does make serve [work|start the server|run things]",
        "how do i serve from [the repo|the repository|a checkout|my clone] with make",
        "how do i [start|run] the [server|api] from [a checkout|the repository|my clone|the "
        "source tree]",
        "starting [the server|the api|yaie] from [the repository|a checkout|my clone] [with make|]",
        "run the server [from the repository|from a checkout|through make|via make|via the "
        "makefile]",
        "[tell me|explain|describe] what make serve [does|starts|is for|runs]",
        "[tell me|show me] the make target [that starts|for|to start] the [server|api]",
        "i want to [use|know|understand] [make serve|the serve target|the make serve command]",
        "i would like to [start|run|launch] the [server|api] with [make|the makefile]",
        "i [prefer|like|want] make, [how do i serve|which target starts the server]",
        "i work in the repository, [which make target|what make command] [serves|starts the "
        "server]",
        "[make serve|make serve command|make serve target] [|meaning|explained|what for]",
        "make [target|rule] [serve|server|to serve|for serving]",
        "make: how [do i serve|to serve|to start the server|to launch the api]",
        "[can|could] you [explain|describe] [make serve|the serve target|the make serve target]",
        "is make serve [enough|the way|ok] to [start|run|have] the [server|api]",
        "is there a [makefile|make] [shortcut|rule|target] [to serve|for serving|to start the api]",
        "the makefile has a serve [target|rule|entry], what [is it for|does it do|does it start]",
        "[in|looking at] the makefile i [see|found] serve, what does [it|that target] do",
        "for developers: [make serve does what|what does make serve do]",
    ],
    "make_test": [
        "[i just changed|i changed|i edited] [some code|the code|a file], how do i [test "
        "it|run the tests]",
        "[before i commit|before a pull request|before i push], how do i run [the tests|all tests]",
        "i [want|would like|need] to [run|execute|see] [your|the] [tests|test suite|unit tests]",
        "i made a [patch|fix|change], how do i [check it with the tests|test it|run the suite]",
        "[what|which] command [do i use|must i type|should i run] for the [tests|test "
        "suite|unit tests]",
        "what do i [type|run|enter] [to test|for testing|for the tests] [yaie|the project|the "
        "repo|]",
        "how [can|do|should] i [run|start|execute] [pytest|the tests|the unit tests|the test "
        "suite] [here|]",
        "how do [developers|contributors|you] [test|run the tests of] [yaie|this project|the code]",
        "how do you test [yaie|this|the engine|this project]",
        "how does testing work [in this repo|in yaie|here|for contributors]",
        "how [would|could] [i|we] [run|start] the tests in [ci|our pipeline|github actions|a "
        "container]",
        "is there a [test suite|test command|make target for tests|suite of tests]",
        "is there a way to [run|execute] [all|all the|the whole] [tests|test suite]",
        "are there [tests|unit tests|automated tests|any tests] [in this repo|for yaie|i can run]",
        "are [the|your] tests [run|executed|done] on [the cpu|a gpu|cpu or gpu]",
        "do [the|your] tests [need|require|use] [a gpu|cuda|a graphics card|internet|a big "
        "download]",
        "do i need [a gpu|internet|a download|models] [for|to run] the [tests|test suite]",
        "does the test suite [need|download|require] [anything|a gpu|a model|the network]",
        "does [the test suite|testing] [run|work] [offline|on a laptop|on a cpu|without a gpu]",
        "does make test [need|use|require] [a gpu|a download|the network|internet]",
        "what does make test [do|run|cover|need|execute]",
        "what's make test [for|doing|good for]",
        "what [is|happens in] make test",
        "what [happens|runs] [when|if] i [type|run|call] make test",
        "can i [run|execute] the [tests|test suite] [on a laptop|on my cpu|offline|on the train]",
        "can i test [yaie|the project|it] [offline|on a cpu|on my laptop|without a gpu]",
        "[tell me|show me|explain] how to [test|run the tests|run the test suite|start the tests]",
        "[tell me|give me] the [test command|command for testing|command for the tests]",
        "[where|how] do i [start|launch|find] the [tests|test suite|unit tests]",
        "[run|running|execute|executing] [tests|unit tests|the test suite] [how||locally]",
        "[test|testing|tests|unit tests|pytest] [|how|command|locally]",
        "which make target [is for|does|starts] [testing|the tests|all tests|the test suite]",
        "i am a contributor, [how do i test|how are tests run|what is the test command]",
        "i want to contribute, how do i [run the tests|test my work|check that the tests pass]",
        "i want to be sure [my change|my patch|the code] [passes|passes the tests], what do i run",
        "to [see|know|check] whether all tests pass [i run what|what do i run|which command]",
        "do all tests pass, how can i [check|see|find out] [that|this|]",
        "[could|can] you tell me how to [run|start] [the|all] [tests|unit tests]",
        "help me [run|start|execute] the [tests|test suite|unit tests] [please|]",
        "[make target|make rule|make command] for [tests|testing|the test suite]",
        "the [test|testing] [instructions|command|procedure|steps] [please||for this repo]",
    ],
    "one_off": [
        "i [just |][want|need] [a single|one|one quick] answer [in|from] the "
        "[terminal|shell|console]",
        "i [just |]want to ask [one question|something once|a single thing] [without a "
        "server|and exit]",
        "i [don't|do not] want [a server|a chat], [just|only] [one answer|one question|a "
        "single prompt]",
        "without [starting|running] a server, how do i [ask something|send a prompt|get an answer]",
        "[no server|no chat], just [one prompt|a single question|one answer], [how|how do i do "
        "that]",
        "how do i [ask|put] [a single question|one question] [on|from] the [command "
        "line|cli|shell]",
        "how do i [run|execute|try] [one prompt|a single prompt] [and exit|in the shell|from "
        "the terminal]",
        "how can i [fire|shoot|throw] [a quick|one|a single] [prompt|question] [at the "
        "model|at yaie]",
        "how do i [give|pass] [a prompt|my prompt|one prompt] [on the command line|as an argument]",
        "how do i use yaie [in|from] [a shell script|a bash script|a cron job|a script] [for "
        "one prompt|]",
        "how to [call|query|ask] the model [once|one time|just once] [from the shell|]",
        "can i ask [a question|something|one thing] [directly|straight] from the "
        "[shell|terminal|cli]",
        "can i [run|send|ask] [a single|one] [prompt|question] [without the server|without a "
        "server]",
        "can yaie [answer|handle|run] [one|a single|just one] [prompt|question] [and quit|and "
        "exit|]",
        "can i [get|have] an answer [without a server|without starting a server|without chatting]",
        "is it possible to [ask|run|send] [just one|a single] [question|prompt] [from bash|]",
        "is there a [way|command] to [ask|run] [one|a single|a one-off] [question|prompt]",
        "is there a [single shot|one shot|single prompt|non-interactive] [mode|command|way]",
        "does yaie have a [one shot|single prompt|non-interactive|one-off] [mode|command]",
        "[what|which] command [answers|runs|sends|takes] [one|a single] [prompt|question] [and "
        "exits|]",
        "[what|which] command [asks|prompts] the model [once|one time|a single time]",
        "[what|which] command do i use for [a one-off|a single|one] [question|prompt|answer]",
        "what do i type [to ask one question|for a single answer|for one prompt|to ask the "
        "model once]",
        "what does yaie run [do|print|need|take|expect]",
        "what [happens|do i get] [when|if] i [type|use|call] yaie run",
        "what's yaie run [for|doing|good for]",
        "what is [the run command|yaie run] [good for|for|doing|used for]",
        "yaie run [|how|usage|what is it|meaning|explained]",
        "[one-off|one shot|single shot|single] [prompt|question|query|answer] [how||from the "
        "shell]",
        "[non-interactive|one-off|single shot] [use|usage|mode|run] [|of yaie|how]",
        "[tell me|show me] how to [ask|run|send] [one|a single] [question|prompt] [in the shell|]",
        "[tell me|show me] the [one-off|single prompt|one shot] command",
        "[ask|asking|send|sending] [one question|a single prompt] [without a server|from the "
        "terminal]",
        "i would like to [ask|put|send] [a quick|a single|one] [question|prompt] [from bash|to "
        "the model|]",
        "i want yaie to [answer|print the answer] [once |]and [exit|quit|leave|stop]",
        "i need [the model|yaie] to [answer one prompt|print one answer] in [my script|a shell "
        "script]",
        "[quick|fast] [question|prompt] [from the terminal|from the shell], how [do i do that|]",
        "does it exit after [answering|the answer|one answer|one prompt]",
        "after [one answer|the answer] it should [exit|quit], [which command|how]",
        "print [one|a single|the] answer and [exit|quit|leave], [which command|how|what do i type]",
        "testing [one prompt|a single prompt] from the [shell|terminal|command line], how",
        "[could|can] you show me how to [ask a single question|run one prompt] [in a terminal|]",
    ],
    "pipe": [
        "i have a [file|text file|log|document], how do i [pipe|feed|send] it [to|into] "
        "[yaie|the model]",
        "i have a [log|file|markdown file|report] and want yaie to [summarise|read|explain] it",
        "i want to [pipe|feed|push|stream] [a log|a file|some text|output] [into|to] [yaie|the "
        "model]",
        "i would like to [pipe|send] the output of [a command|another program|git diff] "
        "[to|into] yaie",
        "how do i [summarise|explain|translate] a [file|document|log] [from the shell|on the "
        "command line]",
        "how do i [pass|give|hand] [a whole file|a file|a long text|a document] to [yaie|the "
        "model]",
        "how do i [combine|join|mix] [piped text|piped input|stdin|a file] [with|and] [a|my] "
        "prompt",
        "how [can|do] i [use|put] yaie [in|into|at the end of] a [pipe|pipeline|shell "
        "pipeline|unix pipe]",
        "how does [piping|stdin|piped input|a pipe] work [with yaie|]",
        "how is [piped text|piped input|stdin|standard input] [treated|used|handled|joined|read]",
        "can yaie [read|take|accept] [from a pipe|a file on stdin|stdin|input from a pipe]",
        "can i [cat|pipe|redirect] a [file|document|log] [into|to] [yaie|it|the model]",
        "can i [feed|send] [the output of a command|command output|git diff|a log file] "
        "[to|into] yaie",
        "can i [use|chain] yaie [with|behind] [cat|grep|other unix tools|a pipe]",
        "can [the|a] prompt come from [stdin|standard input|a pipe|a file]",
        "does yaie [work|play well] [in|with] [a pipe|pipes|shell pipes|unix pipes|pipelines]",
        "does yaie [read|look at|use] [standard input|stdin|what i pipe into it]",
        "does the cli [read|accept|take] [stdin|pipes|piped input|text from a pipe]",
        "is it possible to [pipe|feed|redirect] [text|a file|input|output] [into|to] yaie",
        "is there a way to [pipe|feed|pass] [a file|text|stdin] [to|into] [yaie|the prompt]",
        "is [piping|piped input|reading stdin|a unix pipe] [supported|possible|allowed]",
        "[what|which] command [pipes|feeds|sends] a [file|text file|document] [into|to] "
        "[yaie|the model]",
        "what do i type to [pipe|feed|send] a [file|document|log] [into|to] yaie",
        "what [does yaie do|happens] with [text|input] [from a pipe|on stdin|that i pipe in]",
        "what if i [pipe|cat|redirect] [something|a file|text] into yaie",
        "what if i [pipe text|use stdin] and [also |]give a prompt",
        "what is the [syntax|way|command] [for|of] [piping|piped input|stdin|feeding a file]",
        "where does [piped text|stdin|piped input] go [in the prompt|]",
        "[pipe|piping|piped input|stdin|standard input] [|how|usage|support]",
        "[cat|pipe] [file|a file|notes.md|text] [to|into] yaie [|how]",
        "[cat|grep|curl|git diff] [output |]into yaie, [how|possible|does that work|can i do that]",
        "[tell me|show me] how to [pipe|feed|send] [a file|text|a document|stdin] [to|into] "
        "[yaie|the model]",
        "[tell me|show me] an example of [piping|a pipe|piped input|feeding a file] [with yaie|]",
        "[give|show] me [a|an] [shell|pipe|pipeline] [example|one-liner] [with a file|with stdin|]",
        "[unix|shell|bash] [pipe|pipes|pipeline] [support|with yaie|into yaie]",
        "[summarise|summarising|process] [a file|notes|my notes|a log] [with a pipe|through a "
        "pipe|via stdin]",
        "use [cat|a pipe|stdin] to [give|send|feed] [text|a file|my notes] to [yaie|the model]",
        "[are|is] [the piped text|stdin] and the prompt [joined|combined|put together|both used]",
        "my text is in a file, how do i [ask about it|get a summary|send it] [on the command "
        "line|]",
        "my prompt is [too long to type|in a file], can i [pipe it|use stdin|feed it in]",
        "in a shell script i [want|need] to [pipe|send] text [to|into] yaie, [how|how is it done]",
        "help me [pipe|feed|send] [a file|my text|the output of a command] [into|to] yaie",
    ],
    "chat": [
        "i [want|would like|need] to [talk|chat] [to|with] [the model|it] in [my|a|the] terminal",
        "i [want|would like] a [back and forth|dialogue|conversation] with the model [in the "
        "shell|]",
        "i [want|would like] [several turns|more than one turn|to ask follow-up questions] in "
        "the terminal",
        "i am in the chat, how do i [get out|leave|exit|quit]",
        "i [opened|started] [the|a] chat, how do i [leave|exit|close|quit] it",
        "i'm stuck in [the chat|yaie chat|the repl], how do i [get out|leave|exit|quit]",
        "how do i [get|come] out of the [chat|repl|conversation|interactive mode]",
        "how do i [open|enter|reach|get into] the [chat|repl|chat mode|interactive mode]",
        "how can i [talk|chat|speak] [to|with] [the model|the built-in model|yaie] [locally|in "
        "a shell|]",
        "how do i have a [conversation|longer talk|dialogue] [with the model|in the shell|in "
        "the console]",
        "how does [yaie chat|the chat|chatting|the interactive mode] work",
        "how to [chat|talk|converse] [in the terminal|on the command line|from the "
        "shell|interactively]",
        "[what|which] key[s|] [ends|leaves|closes|exits|quits] [the|a] [chat|repl|conversation]",
        "[what|which] key do i press to [leave|exit|quit] [the chat|yaie chat|the repl]",
        "[what|which] command [opens|starts|begins|launches] [an interactive|a] "
        "[chat|conversation|session]",
        "[what|which] command [lets me|allows me to] [chat|talk] [with the model|interactively|]",
        "what do i type to [chat|talk to the model|start chatting|have a conversation]",
        "what [does yaie chat do|is yaie chat for|does yaie chat open|is yaie chat]",
        "what's yaie chat [for|doing|]",
        "what [happens|opens] [when|if] i [type|run|start] yaie chat",
        "is there a [chat|conversation|dialogue|interactive] [mode|window|shell|prompt]",
        "is there [something|anything|a command] like [chatgpt|a chat|a repl] in the terminal",
        "is it possible to [chat|talk|converse] [interactively|in the terminal|with the model]",
        "does yaie [have|offer|come with] [a chat|a repl|a chat mode|an interactive mode|a "
        "terminal chat]",
        "does [ctrl-d|ctrl d|control d] [leave|exit|quit|end|close] the [chat|conversation|repl]",
        "can i have [a conversation|a chat|several turns|a dialogue] [in the terminal|on the "
        "command line]",
        "can you [chat|talk] [in the terminal|on the command line|interactively]",
        "can i chat [from the shell|on the console|locally|without a browser]",
        "[chat|chatting|repl|interactive chat|terminal chat] [|how|command|mode]",
        "[interactive|terminal|console|shell] [chat|conversation|session|mode] [|please|how]",
        "[exit|quit|leave|end|close] [chat|the chat|the repl] [|how|key]",
        "[tell me|show me|explain] how to [chat|talk to the model|start a chat|open the chat]",
        "[tell me|show me] how to [leave|exit|quit|end] [the chat|a chat|yaie chat]",
        "[tell me|give me] the [chat|repl|interactive] command",
        "[start|open|begin|launch] [chat|a chat|the chat|the repl|an interactive session] "
        "[how|please|]",
        "[let us|let me|let's] chat in the terminal, [how|which command|what do i run]",
        "instead of one prompt i want [a chat|a conversation|a dialogue], [how|which command]",
        "after installing, how do i [chat|talk] [with the model|with it|] in the terminal",
        "where [is|do i find] the [chat|repl|interactive mode|chat mode]",
        "for a [longer|real|multi-turn] conversation in the terminal [what do i run|which command]",
        "[multi-turn|multi turn] [chat|conversation] [in the terminal|on the command line] [how|]",
        "we want to [chat|talk] with it in a [terminal|shell|console], [what do we run|how]",
    ],
    "serve": [
        "i [just |]installed [yaie|it], how do i [start|run] the [server|api]",
        "i installed it, [what now|what next|and now] to [start|run|get] the [server|api]",
        "i [want|need|would like] [an|the] [api|http api|openai api|server] [running|up|on my "
        "machine]",
        "i [want|need] to [start|run|have|launch] [a|the|your] [server|api server|web api|http "
        "api]",
        "i [want|need] my [app|program|frontend|website] to [call|reach|use] the model over "
        "[http|an api]",
        "i would like to [serve|expose|offer] the model [over http|as an api|through an api]",
        "how do i [get|bring] the [server|api] [up|going|online|started|to run]",
        "how do i [expose|offer|publish] the model [over http|as an api|as a service]",
        "how do i [make|turn] [this|yaie|my machine] [into |][a server|an api server|an api]",
        "how can i [boot|bring up|kick off|fire up] the [server|api|service|backend]",
        "how [is|does one get] the [api|server|http server] [launched|started|switched on]",
        "how would [i|an admin|one] [start|launch|bring up] the [service|server|api] [on a "
        "machine|]",
        "how to [serve|start serving|run an api|get an api|run it as a server]",
        "[what|which] command [gives|gets] [me|us] [a|an|the] [running |][server|api|openai api]",
        "[what|which] [command|line] [serves|exposes|offers] the [api|model|openai api]",
        "[what|which] command do i [run|need|use|type] [for|to get] the [server|api|http server]",
        "what do i [run|type|enter|execute] to [start|launch|get] [the|a] [server|api|service]",
        "what does yaie serve [do|start|open|run|give me]",
        "what's yaie serve [for|doing|good for]",
        "what [happens|starts|comes up] [when|if] i [type|run|enter] yaie serve",
        "what [api|kind of api|service] does yaie serve [offer|provide|start|give]",
        "what is the [start|launch|server start|startup] command [of yaie|for the server|]",
        "what model does the server [start with|use] [by default|when i name none] [and how do "
        "i start it|]",
        "is there a command [that|which] [starts|launches|runs] [a|the] [server|api|http server]",
        "is there [an openai compatible|an http|a web] server [built in|in yaie|i can start]",
        "can yaie [run|work|act] as [a server|an api server|an openai server|a service]",
        "can i [run|start|have] [a|an] [local|openai compatible|http] [server|api] [with yaie|]",
        "can yaie [serve|offer|provide] [an|the] [openai api|http api|openai compatible api|api]",
        "does yaie [have|include|come with] [a server|an http server|an api server|a server "
        "command]",
        "[server|api server|http server|serving|serve] [|how|start|command]",
        "[start|launch|run|boot] [the |][server|api|service] [how||please]",
        "[starting|launching|running|booting] [the|a|an] [server|api|api server] [how|]",
        "[tell me|show me|explain] how to [start|run|launch|boot] the [server|api|api "
        "server|service]",
        "[tell me|give me|show me] the [command|line] [that starts|for|to start] the [server|api]",
        "the server is not [running|up|started] [yet|], how do i [start|launch] it",
        "my [client|browser|app] says connection refused, how do i start the [server|api]",
        "please [start|launch] the server, [how|which command|how do i do it]",
        "[could|can] you [tell|show] me how to [start|run|launch] [the|a] [server|api]",
        "on [a fresh|a new|my] [machine|box|vm], how do i [start|launch] the [api|server]",
        "where do i start the [server|api|service]",
        "[quickest|fastest|easiest|simplest] way to [get|have|start] [an api|the server|a "
        "running server]",
        "we [need|want] [a local|an openai compatible] [endpoint|api|server], [how do we start "
        "it|which command]",
        "help me [start|launch|run|bring up] the [server|api|service] [please|]",
    ],
    "serve_model": [
        "i [want|would like|need] to serve [qwen|llama|mistral|gemma|another model|a real model]",
        "i [want|would like] [the server|the api|yaie serve] to use [another|a different|my "
        "own] model",
        "i [have|own|trained|fine-tuned] [my own|a|another] model, how do i serve it",
        "i have a [checkpoint|hugging face model|qwen checkpoint|llama], how do i [serve|host] it",
        "i [found|like] a model on hugging face, how do i [serve|host] it [with yaie|]",
        "the [built-in|tiny|small|demo] model is [too weak|too small|not enough|too dumb], how "
        "do i serve another",
        "the built-in model is [silly|tiny|weak], how do i [serve|start] a "
        "[better|bigger|real] one",
        "your answers are [bad|too short|too simple], how do i serve a [bigger|better|smarter] "
        "model",
        "how do i [serve|host|deploy] [a|some|any] [hugging face|huggingface|hf|qwen|llama] "
        "[model|checkpoint]",
        "how do i [start|run|launch] the server with [qwen|another model|my own model|a bigger "
        "model]",
        "how do i make [the server|yaie serve] [load|use|take] [qwen|another model|a larger model]",
        "how do i [swap|replace|exchange] the [built-in|default|demo|served] model",
        "how do i [get rid of|avoid] the built-in model [when serving|in the server] [and use "
        "another|]",
        "how do i tell [the server|yaie serve] which model to [load|use|serve|take]",
        "how can i [serve|host|run] [something bigger|something larger|something smarter|a "
        "real llm]",
        "how does the server know which model to [load|serve|use]",
        "how [is|gets] the served model [chosen|picked|set|named|given|determined]",
        "how to serve [a 7b model|an 8b model|qwen3|a large model|a different checkpoint]",
        "[what|which] command [serves|hosts|starts] [qwen|another model|a hugging face "
        "model|my model]",
        "what do i type to [serve|host] [qwen|llama|a hugging face model|my own model]",
        "what [must|should|do] i [pass|give|add] to yaie serve for [another|a different|a "
        "bigger] model",
        "what is the [command|syntax|way] to serve [another|a specific|a bigger|a given] model",
        "what if i [need|want] [better|smarter|real] answers [from the server|] than the "
        "built-in model gives",
        "where do i [tell|say|set|specify] which model [is served|the server loads|to serve]",
        "can i [serve|host] [qwen|llama|mistral|a 7b model|any hugging face model|my own weights]",
        "can i [give|pass|name] [a|another] model [to|after|with] yaie serve",
        "can yaie serve [take|load|use|host] [another|a different|a hugging face|my own] model",
        "can the server [run|load|use] [a real model|a bigger model|something else|a hugging "
        "face model]",
        "is it possible to serve [another|a different|a bigger|my own|a hugging face] model",
        "is there a way to serve [qwen|another model|a real llm|a larger checkpoint]",
        "is the server [limited|bound|restricted] to the built-in model",
        "am i [stuck with|limited to] the built-in model [in the server|when i serve|]",
        "does yaie serve [only |][know|take|have] the built-in model [or others too|]",
        "does yaie serve [accept|take] [a model name|a hugging face id|the name of a model]",
        "do i have to use the built-in model [in the server|for serving|when i serve]",
        "[serve|serving|host|hosting] [qwen|llama|another model|a bigger model|hugging face "
        "models] [|how]",
        "[serve|use] [a model|a checkpoint] from [hugging face|huggingface|the hub|the hf hub] "
        "[how|]",
        "[another|different|bigger|larger|better] model [for the server|when serving|to serve] "
        "[|how]",
        "[tell me|show me|explain] how to serve [another|a bigger|my own|a hugging face] model",
        "[tell me|show me] how to [start|run] the server with [qwen|llama|a different model]",
        "yaie serve with [another|a different|a bigger] model, how",
        "the server should [use|load|run] [qwen|llama|my own model|a larger model], [how|what "
        "do i type]",
        "we want [qwen|llama|a production model|a real model] [behind the api|in the server], "
        "[how|what to do]",
        "help me serve [qwen|another model|a hugging face model|a bigger llm] [please|]",
    ],
    "demo": [
        "i want to [see|show] [something|it|yaie] [in action|working|live], is there a demo",
        "i [want|need] to [show|present|demonstrate] [yaie|the cache] to [my team|my boss|a "
        "friend], [how|a demo]",
        "i would like to [see|watch|try] [a|the] [demo|demonstration] [of the cache|of prefix "
        "sharing|]",
        "how do i [see|watch|prove] [that|how] the cache [helps|saves work|works] [with a demo|]",
        "how do i [run|start|launch|get|try] [the|your|a] [demo|demonstration|showcase]",
        "how can i [demonstrate|show off|showcase] [yaie|the cache|prefix sharing|the savings]",
        "how does the [demo|demonstration|yaie demo] work",
        "how many requests [are sent|are there|are used] in [the demo|yaie demo]",
        "how much [does the cache save|is saved], [show me|can i see it in a demo]",
        "[what|which] command [runs|starts|shows] [the|a] [demo|demonstration|showcase]",
        "[what|which] command [shows|demonstrates] [what the cache saves|the cache at work|the "
        "savings]",
        "what [does|will] yaie demo [do|show|print|send|prove|measure]",
        "what [happens|is shown|is printed|is sent] in [the demo|yaie demo|the demonstration]",
        "what [happens|do i see] [when|if] i [run|type|start] yaie demo",
        "what's yaie demo [for|doing|about|]",
        "what's [in|inside|behind] [the demo|yaie demo]",
        "what is [the demo|yaie demo|the demonstration] [about|for|showing|good for]",
        "what do i type for [the|a] [demo|demonstration|showcase]",
        "what do the [sixteen|16] requests of the demo [share|do|show]",
        "what [do|does] the requests [in|of] the demo [share|have in common]",
        "what is printed at the end of [the demo|yaie demo]",
        "is there [something|anything|a command] that [shows|demonstrates] [the cache|what is "
        "saved]",
        "is there a [quick|small|short|ready-made|nice] [demo|demonstration|showcase] [to "
        "run|i can run|]",
        "is there an easy way to [see|show|demonstrate] [the effect of the cache|what the "
        "cache does]",
        "can i [see|run|watch|try|have] [a|the|your] [demo|demonstration] [offline|of the "
        "cache|first|]",
        "can you [demonstrate|show] [the cache|prefix sharing|the saving|what you save]",
        "can i show [somebody|my team|students] [how the cache helps|what the cache saves] "
        "[with a demo|]",
        "does yaie [have|come with|include|offer] [a|any] [demo|demonstration|showcase]",
        "does [the demo|yaie demo] [need|use|require] [the network|a download|a gpu|internet "
        "access]",
        "does [the demo|yaie demo] [run|work] [offline|without internet|without a network|on a "
        "laptop]",
        "does the demo compare [the cache off and on|with and without cache|cache on and off]",
        "do i need [internet|a network|a gpu|a download] for [the demo|yaie demo]",
        "[demo|demonstration|showcase|yaie demo] [|please|command|how]",
        "[quick|short|little|offline|live] [demo|demonstration] [|please|of yaie|of the cache]",
        "[tell me|explain|describe] [what|how] the demo [does|shows|works|compares]",
        "[tell me|show me] how to [run|start|see] [the|a] [demo|demonstration]",
        "[show|prove] me [what the cache saves|that the cache saves work|the cache at work]",
        "[where|how] can i [see|watch] [the saving|the savings|the effect] of the cache [in a "
        "demo|]",
        "before i read the docs i want [a demo|to see a demo|a quick demonstration]",
        "[i just installed it|after installing], is there a demo [to try|to run|to look at|]",
        "with the cache [off and on|on and off], [which command compares that|is there a demo]",
        "compare [cache on and cache off|with and without the cache] [in a demo|quickly], "
        "[how|which command]",
        "[run|start|launch|try] [the |][demo|yaie demo|demonstration] [|how|please]",
    ],
    "bench_tree": [
        "i [want|need|would like] to [benchmark|measure|time|profile] [just|only] the [radix "
        "|]tree",
        "i [want|need|would like] to know how [fast|quick] the [radix|prefix] tree is",
        "i changed the [radix tree|tree code], how do i [measure|benchmark] [it|its speed]",
        "how do i [benchmark|time|measure|profile] [only|just] the [radix |]tree [without a "
        "model|]",
        "how do i [measure|time|benchmark] [tree|prefix|radix tree] "
        "[matching|lookups|growth|insertion]",
        "how do i [measure|time|benchmark] how [fast|quickly] the tree [matches|grows|evicts]",
        "how do i [run|start|launch] the [tree benchmark|benchmark of the tree|radix tree "
        "benchmark]",
        "how can i [benchmark|measure|test] [eviction|matching|growing] [in the tree|of the tree]",
        "how does [yaie bench tree|the tree benchmark|bench tree] work",
        "how [fast|quick|slow] is [matching|eviction|growing|a lookup] in the [radix |]tree",
        "how long does [matching|eviction|a match|a lookup] [take|last] in the [radix |]tree",
        "how [fast|quickly] does the [radix |]tree [match|grow|evict]",
        "[what|which] command [benchmarks|measures|times] the [radix tree|tree|prefix tree] "
        "[alone|]",
        "[what|which] [benchmark|bench command] [measures|tests|covers|is for] the [radix "
        "tree|tree]",
        "[what|which] benchmark [runs|works|goes] without [a model|any model|weights]",
        "[what|which] benchmark [leaves out|does not load|does not need] [the|a] model",
        "what does [yaie bench tree|bench tree|the tree benchmark] "
        "[do|measure|test|time|print|show]",
        "what's [yaie bench tree|bench tree|the tree benchmark] [for|doing|measuring|about|]",
        "what [is measured|happens] [in|by] [yaie bench tree|the tree benchmark|bench tree]",
        "what do i [type|run|use] to [benchmark|measure|time] the [radix |]tree",
        "what is the command [to benchmark|to measure|for benchmarking|to time] the [radix |]tree",
        "is there a [benchmark|speed test|performance test] [only |]for the [radix "
        "tree|tree|prefix tree]",
        "is there a benchmark [without|that needs no|that loads no] [model|weights]",
        "is there a way to [time|measure|benchmark] [the tree alone|only the tree|tree operations]",
        "can i [benchmark|measure|time|profile] the [radix tree|tree] [alone|by itself|on its "
        "own|separately]",
        "can i [benchmark|measure] [matching|eviction|tree operations] without a model",
        "does yaie have a [benchmark|speed test|micro benchmark] for the [radix |]tree",
        "does [yaie bench tree|bench tree|the tree benchmark] [need|load|use] a model",
        "do i need a model [for|to run] [yaie bench tree|the tree benchmark|bench tree]",
        "[tree|radix tree|prefix tree] [benchmark|bench|speed|performance|speed test] "
        "[|command|how]",
        "[benchmark|bench|time|measure] [the |][radix tree|tree] [only|alone|without a model]",
        "benchmark [without a model|that needs no model|for the tree|of the tree alone] [|please]",
        "[matching|growing|eviction|tree] [speed|benchmark|timing] [of the tree|in the tree] "
        "[|how]",
        "[tell me|show me|explain] how to [benchmark|measure|time] the [radix tree|tree|prefix "
        "tree]",
        "[tell me|explain|describe] what [yaie bench tree|bench tree|the tree benchmark] "
        "[does|measures]",
        "[tell me|give me] the [tree|radix tree] benchmark command",
        "micro [benchmark|benchmarking] [of|for] the [radix tree|tree|prefix tree]",
        "to [test|measure|benchmark] the speed of the [radix |]tree [what do i run|which command]",
        "only the tree, no model: [which benchmark|how do i benchmark that|what do i run]",
        "the benchmark that [measures|times|covers] [only the tree|the tree alone|matching and "
        "evicting]",
        "[could|can] you [explain|describe] [yaie bench tree|the tree benchmark|bench tree]",
        "for [my thesis|a paper|a report] i [need|want] to [measure|time] the radix tree [alone|]",
    ],
    "bench_offline": [
        "i [want|need|would like] to [know|see|measure] how [fast|quick] [yaie|the engine] "
        "[is|runs] [here|]",
        "i [want|need] [numbers|figures] [on|about|for] the [speed|throughput|performance] [of "
        "the engine|]",
        "i [want|need|would like] to [benchmark|measure|time] the [whole|entire|complete] engine",
        "i have a new [gpu|cpu|laptop|server], how [fast is yaie on it|do i benchmark it]",
        "i changed a kernel, how do i [measure|benchmark] the [engine|throughput|whole engine]",
        "how do i [benchmark|measure|test] [yaie|the engine|throughput|performance|tokens per "
        "second]",
        "how do i [measure|find|get] [tokens per second|time to first token|the throughput|ttft]",
        "how do i [benchmark|measure] [without|with no] [server|a server|http]",
        "how do i [run|start|launch] [a|the|your] [benchmark|offline benchmark|speed "
        "test|performance test]",
        "how can i [find out|see|know] how many tokens per second [i get|it makes|my machine does]",
        "how does [yaie bench offline|the offline benchmark|bench offline] work",
        "how [fast|quick|slow] is [yaie|the engine] on my [cpu|gpu|laptop|machine|server]",
        "how fast does [it|yaie|the engine] [generate|produce|write|make] [tokens|text] [here|]",
        "how many tokens [a|per|each] second [does it make|do i get|can i expect|does yaie reach]",
        "[what|which] command [measures|benchmarks|times] [the "
        "engine|throughput|performance|everything]",
        "[what|which] command [gives|shows|prints] [tokens per second|time to first token|the "
        "throughput]",
        "[what|which] benchmark [measures|covers|tests] the [whole engine|entire "
        "engine|throughput]",
        "what does [yaie bench offline|bench offline|the offline benchmark] "
        "[do|measure|print|report|show]",
        "what's [yaie bench offline|bench offline|the offline benchmark] [for|doing|measuring|]",
        "what [is measured|numbers do i get] [by|from] [yaie bench offline|the offline benchmark]",
        "what do i [type|run|use] to [benchmark the engine|measure throughput|measure the speed]",
        "what is my [throughput|token rate|speed|time to first token] [and how do i measure "
        "it|with yaie]",
        "what [throughput|speed|performance|token rate] [do i get|can i expect|does yaie "
        "reach] [here|]",
        "is there a [throughput|performance|speed|engine] [test|benchmark] [in yaie|to run|]",
        "is there a [tool|command|way] to measure [throughput|tokens per second|speed|the engine]",
        "is there a benchmark [in one process|without a server|for the engine|for the whole "
        "engine]",
        "can i [benchmark|measure|time] [the engine|yaie|my machine|my gpu] [offline|in one "
        "process|]",
        "can yaie [measure|report|test] its [own |][speed|throughput|performance]",
        "does yaie [have|include|come with] [a benchmark|benchmarks|a speed test|a performance "
        "test]",
        "does [the benchmark|bench offline] [report|measure|show] [tokens per "
        "second|ttft|reused tokens]",
        "[benchmark|benchmarks|benchmarking|bench|performance test] [|how|yaie|the engine]",
        "[speed|throughput|performance|ttft] [test|measurement|benchmark] [|how|command]",
        "[tokens per second|tokens/s|tok/s|time to first token|ttft] [|how to measure|measure "
        "it how]",
        "[offline|engine|throughput|whole engine] benchmark [|how|command|please]",
        "[tell me|show me|explain] how to [benchmark yaie|measure throughput|measure the "
        "engine's speed]",
        "[tell me|explain|describe] what [yaie bench offline|the offline benchmark] "
        "[does|measures|reports]",
        "[tell me|give me] the [offline|engine|throughput] benchmark command",
        "to compare [two machines|two gpus|two versions] i need [tokens per second|the "
        "throughput], how",
        "for capacity planning i need [the throughput|tokens per second], [how do i measure "
        "it|which command]",
        "[my boss|my team] wants [numbers|tokens per second|performance figures], [which "
        "command|how]",
        "measuring the [speed|performance|throughput] of [yaie|the engine|my setup] [how|]",
        "[could|can] you [tell|show] me how to [measure|benchmark] the [engine|speed|throughput]",
        "how many tokens [are|were] reused in a [benchmark|benchmark run], which command "
        "[tells|measures]",
    ],
    "doctor": [
        "i [have|got] [a problem|problems|trouble|an issue] with [my setup|my "
        "installation|yaie], what now",
        "i get [an error|errors|strange errors] [at startup|when i start it], how do i "
        "[debug|diagnose] it",
        "i think my [installation|setup|environment|install] is [broken|wrong|bad], how do i check",
        "i [want|would like|need] to [check|verify|test] my "
        "[setup|installation|environment|install]",
        "i just installed it, how do i [check|verify] [the installation|my setup|that my setup "
        "is fine]",
        "it [won't|doesn't|does not|will not] [start|work|run|launch], [what now|what can i "
        "do|help]",
        "nothing [works|happens|starts|runs], [what now|what should i do|help|how do i debug]",
        "yaie [won't|doesn't|refuses to] [start|work|run], how do i find [out why|the "
        "cause|the problem]",
        "yaie [crashes|fails|dies] [at startup|on my machine|when i start it], what "
        "[can|should] i do",
        "something [is|seems|must be] [wrong|broken|off|misconfigured] [here|with my setup|on "
        "my machine]",
        "my [setup|installation|environment|config] is [broken|not working|strange], what [do "
        "i run|now]",
        "my torch [seems|is] broken, how do i [check|diagnose] [my setup|it|that]",
        "how do i [debug|troubleshoot|diagnose|fix] [yaie|my setup|a broken "
        "installation|startup problems]",
        "how do i [find|see|learn|figure out] what [is wrong|is broken|goes wrong|is missing] "
        "[here|]",
        "how do i [check|verify|validate] [my installation|my setup|my environment|the "
        "installation]",
        "how do i check [python and torch|torch and the device|that torch works|my settings]",
        "how do i [know|see|check] [if|whether] my [machine|setup|installation|environment] is "
        "[ok|fine|right]",
        "how can i [test|check|verify] [that everything is set up right|my environment|the "
        "install]",
        "how does [yaie doctor|the doctor command|the doctor] work",
        "[what|which] command [checks|verifies|diagnoses|inspects] my "
        "[setup|installation|machine|environment]",
        "[what|which] command [finds|shows|tells me] what [is wrong|is broken|the problem is]",
        "[what|which] command [helps|do i run] when [it does not start|nothing works|something "
        "is wrong]",
        "what does yaie doctor [do|check|test|look at|tell|verify]",
        "what's yaie doctor [for|doing|good for|]",
        "what is [checked|tested|looked at|examined] by [yaie doctor|the doctor]",
        "what [can|should|do] i [do|run|try] [when|if] [it fails|it crashes|nothing works|it "
        "won't start]",
        "what [should|could] i [do|try] [first|] when [i have problems|there is a problem|i "
        "get errors]",
        "what's [wrong|broken|the problem] with my [setup|installation|machine|environment]",
        "why [does yaie not work|does it not start|is yaie not working|won't it run] [on my "
        "machine|]",
        "is there a [diagnostic|diagnosis|troubleshooting|self check|sanity check] [tool|command]",
        "is there a [command|tool|way] to [check|verify|diagnose] my "
        "[setup|installation|environment]",
        "is [everything|my installation|my environment|my setup] [ok|fine|right|healthy|correct]",
        "can yaie [check|diagnose|test] [itself|my machine|my setup|the installation]",
        "can you [check|diagnose|look at|inspect] my [setup|installation|machine|environment]",
        "does yaie have a [self test|sanity check|diagnostic|setup check|diagnosis command]",
        "[diagnose|diagnosis|diagnostics|troubleshoot|debug] [|my setup|the "
        "installation|how|please]",
        "[sanity|setup|installation|environment|self] check [|command|how|of my machine]",
        "[doctor|yaie doctor] [|command|what is that|explained]",
        "[help|please help|help me], [it is broken|nothing works|yaie does not start|it fails]",
        "[tell me|show me|explain] how to [troubleshoot|check my setup|find problems|diagnose "
        "my machine]",
        "[tell me|show me] [what is wrong|why it does not work|what is broken] [on my "
        "machine|with my setup|]",
        "[where|how] do i [start|begin] [when|if] [it does not work|nothing works|i have trouble]",
        "support asked me to [check|diagnose] my [setup|installation|environment], [how|which "
        "command]",
        "before i [file a bug|open an issue|ask for help], what should i [run|check] [on my "
        "machine|]",
        "[could|can] you help me [find the problem|debug my setup|find out what is wrong]",
    ],
    "models_cmd": [
        "i [want|need|would like] to [see|list|know] [all|the] models [i have|on this "
        "machine|on my disk]",
        "i [forgot|do not know|don't know] which models [i have|i downloaded|are on this machine]",
        "i downloaded some models, how do i [list|see|find] them",
        "i [want|need] to know [which|what] [architectures|model families|kinds of models] "
        "[work|are supported]",
        "i have a [llama|gemma|mistral|phi|qwen] model, [is it supported|is that architecture "
        "supported]",
        "how do i [list|see|find|show] the models [on my computer|on my disk|i downloaded|that "
        "i have]",
        "how do i [check|find out|see] [which|what] models [i have|are installed|are here|are "
        "on my disk]",
        "how do i [check|find out|see] whether [a model|my model|llama|gemma|an architecture] "
        "is supported",
        "how can i [list|see] [local|installed|downloaded|cached|supported] models",
        "how many models [do i have|are installed|are on this machine|are on my disk]",
        "how does [yaie models|the models command] work",
        "[what|which] command [lists|shows|prints] [the|my|local|installed|all] models [here|]",
        "[what|which] command [lists|shows|prints] the [supported |][architectures|model families]",
        "[what|which] [model families|architectures|kinds of models|model types] [are "
        "supported|can it run]",
        "[what|which] [model architectures|architectures|families] does [yaie|the engine|it] "
        "[support|know]",
        "[what|which] models [are|do i have] [on this machine|on my disk|locally|installed|on "
        "this box]",
        "[what|which] models [does yaie support|can yaie run|work with yaie|are compatible "
        "with yaie]",
        "[what|which] [llms|language models|checkpoints] [do i have|are here|are supported|can "
        "yaie run]",
        "what does yaie models [do|show|list|print|tell me]",
        "what's yaie models [for|doing|]",
        "what do i [type|run|enter] to [list|see|show] [my|the|all|local|supported] models",
        "what is the command [to list|for listing|to see|to show] [my|local|the|installed] models",
        "what [happens|do i see] [when|if] i [run|type] yaie models",
        "where [can|do] i [see|find|get] [the list of|a list of|all] "
        "[supported|local|installed|my] models",
        "where are my [downloaded|local|installed] models [listed|shown]",
        "is there a [list|listing|table|overview] of [supported|local|installed|available] "
        "[models|llms]",
        "is there a [list|overview] of [supported|the supported] [architectures|model families]",
        "is [phi|gemma|llama|mistral|deepseek|qwen|my model|my architecture] "
        "[supported|compatible]",
        "is there a command [that lists|to list|listing] [my|the|local|all] models",
        "can i [see|list|get] [a list of|all|] [my|local|installed|downloaded] models [on this "
        "machine|]",
        "can yaie [run|load|handle] [llama|gemma|mistral|phi] [models|], where is the list",
        "can yaie [list|show|tell me] the models [on my disk|on this machine|that i have|it "
        "supports]",
        "does yaie support [llama|gemma|mistral|phi|deepseek|qwen] [models|]",
        "[list|show|print|display] [local|installed|downloaded|supported|my] "
        "[models|checkpoints] [|please]",
        "[local|installed|downloaded|supported|available] [models|checkpoints|architectures] "
        "[|list|please]",
        "[supported|compatible] [models|architectures|model families] [of yaie|in yaie|list|]",
        "[tell me|show me] [which|what] [models|architectures] [are supported|yaie supports|work]",
        "[tell me|show me] [which|what] models [i have|are on this machine|are installed|are here]",
        "[tell me|show me] how to [list|see|find] [my|the|local|installed] models",
        "[models|yaie models|models command] [|on disk|on my machine|list]",
        "before i download one, [which models are supported|which architectures work]",
        "[could|can] you list [the supported|my local|the installed|all supported] "
        "[models|architectures]",
    ],
    "flag_m": [
        "i [want|need|would like] to use [another|a different|a bigger] model for [one|a "
        "single] prompt",
        "i [want|need] to [prompt|ask] [qwen|another model|a bigger model] once [from the shell|]",
        "i [want|would like] to chat with [qwen|another model|a bigger model] [in the "
        "terminal|], which flag",
        "i run yaie with a prompt, how do i [choose|name|give] the model",
        "how do i [pass|give|name|specify|set] the model [as a flag|with a flag|with an option]",
        "how do i [pass|give|name|specify] [a|the|another] model [on the command line|to the cli]",
        "how do i [tell|make] [yaie run|yaie chat|the cli|the command] [to use|use] [another "
        "model|qwen]",
        "how do i [ask|prompt] [qwen|another model|a bigger model] [from the command line|in "
        "the shell]",
        "how do i run [a|one] prompt [with|on|through] [another|a different|a bigger|a "
        "specific] model",
        "how can i [switch|change|select] the model [for one run|for one prompt|with a flag|in "
        "yaie run]",
        "how does [-m|the -m flag|the -m option|the model flag] work",
        "how to use [-m|the -m flag|the model flag|the model option]",
        "[what|which] [flag|option|switch|parameter] [names|gives|takes|specifies|sets] the model",
        "[what|which] [flag|option|switch|letter|argument] [is|stands] for the model",
        "[what|which] [cli flag|command line flag|command line option] [is for|selects|picks] "
        "the model",
        "[what|which] [flag|option|switch] do i [use|need|pass|add] [for the model|to choose a "
        "model]",
        "[what|which] [flag|option] lets me [choose|pick|change|select] the model",
        "what does [-m|the -m flag|the -m option|-m on the command line] [do|mean|set|take|choose]",
        "what's [-m|the -m flag|the -m option] [for|doing|in yaie|]",
        "what is [the -m option|the -m flag|-m] [used for|for|about|in the yaie command]",
        "what do i [add|write|pass] [on the command line |]to [choose|name|pick] the model",
        "what [comes|goes] after [-m|the -m flag|the -m option]",
        "is there a [flag|option|switch|command line option|cli flag] [for|to choose|to set] "
        "the model",
        "is there a [short|command line|cli] [flag|option] [for the model|to pick a model|for "
        "model]",
        "is it possible to [choose|name|give] the model [with a flag|on the command line|per "
        "prompt]",
        "is -m the [flag|option|switch] for the model",
        "can i [give|pass|name|choose] [a|the|another] model [on the command line|as a "
        "flag|with an option]",
        "can i [choose|pick|change] the model [per prompt|for one prompt|for a single run|in "
        "yaie chat]",
        "can i [try|use] [another|a different|a hugging face] model for [one prompt|a single "
        "question]",
        "does [yaie run|yaie chat|the cli] [take|accept|have] a [model flag|model option|-m flag]",
        "does [yaie|the cli] have a [flag|option] [for|to choose|to select] the model",
        "[model|-m] [flag|option|switch|argument] [|on the command line|usage|for the cli]",
        "[flag|option|switch] [for|to pick|to choose|to select|to set] [the|a] model [|please]",
        "[tell me|show me|give me] the [flag|option|switch] [for|that picks|that selects|to "
        "choose] the model",
        "[tell me|show me|explain] how to [use -m|pass the model as a flag|choose the model "
        "with a flag]",
        "[tell me|explain] what [-m|the -m flag|the -m option] [does|means|is for]",
        "[i saw|someone typed] yaie -m, what [is that|does the flag do|does -m do]",
        "[i forgot|remind me of] the [flag|option|switch] [for|that chooses|of] the model",
        "one prompt with [another|a different|a bigger] model, [how|which flag|what do i type]",
        "[single|one-off] prompt with [qwen|another model|a bigger model] [how||which flag]",
        "the command line [flag|option|switch] [for|to choose|to name] [the|a] model [|is what]",
        "[could|can] you [give|show] me an example [of|with] [-m|the model flag|the -m option]",
    ],
    "help": [
        "i [forgot|do not remember|can't remember] the commands, [how do i list them|where is "
        "the help]",
        "i [forgot|do not remember] how to use [a command|the cli|the commands], [is there "
        "help|what now]",
        "i [need|want|would like] [a list|an overview|a summary] of [all|the] "
        "[commands|subcommands|options]",
        "i [need|want] [help|usage information|documentation] [for|about|on] [a command|the "
        "cli|a subcommand]",
        "i am lost, [which commands are there|how do i see the commands|where is the help]",
        "i [want|would like] to [know|see] [all|every|the] [command|commands|option|flags] "
        "[there is|there are|]",
        "how do i [list|see|find|show] [all|the available|every] "
        "[commands|subcommands|options|flags]",
        "how do i [get|find|see] [help|the usage|more information] [on|for|about] [a "
        "command|the cli|one command]",
        "how do i [learn|find out|know] [which|what] [commands|options|flags] [there "
        "are|exist|a command has]",
        "how do i [learn|find out|see] [what a command can do|the options of a command|how a "
        "command works]",
        "how can i [see|read] the [usage|help text|help page|manual] [in the terminal|of a "
        "command|]",
        "how do i use the [cli|command line|yaie command]",
        "[what|which] [commands|subcommands|options|flags] [does the cli have|exist|are "
        "available|are offered]",
        "[what|which] [options|flags|arguments] [does a command take|do the commands have|are "
        "there]",
        "[what|which] [flag|option] [shows|prints|gives] [help|the help|usage|the commands]",
        "[what|which] [things|commands] can i [type|run|do] [in|with|on] the [cli|command "
        "line|yaie command]",
        "what do i type [for help|to get help|to see the commands|to list all commands]",
        "what does [--help|yaie --help|the help flag] [do|show|print|list]",
        "what's [--help|yaie --help|the help flag] [for|doing|]",
        "what can i do [with|on] the [yaie command|command line|cli]",
        "what comes after yaie on the command line, [which commands|what commands are there]",
        "where [can|do] i [find|see|get|read] [the help|all commands|the usage|the list of "
        "commands]",
        "where are [the|all] [commands|options|flags|subcommands] "
        "[listed|documented|explained|described]",
        "is there [a|any] [help page|help text|manual|man page|usage text|cheat sheet] [for "
        "the cli|]",
        "is there a [list|overview|summary] of [all|the] [commands|options|subcommands|flags]",
        "is there [built-in|some|any] help [for|on|about] [the commands|a command|the cli|the "
        "flags]",
        "can i [see|get|read] [help|the help|all commands|the usage|a list of commands]",
        "can you [list|show|name|enumerate] [all|the] [commands|subcommands|cli commands|yaie "
        "commands]",
        "does [yaie|the cli|every command|each command] have [a help|help|a help text|a help page]",
        "do you have [a manual|a help page|a list of commands|usage instructions] [for the cli|]",
        "[commands|all commands|list of commands|subcommands|cli commands] [|please|list]",
        "[usage|cli usage|cli help|command help|help text|help page|manual] [|please]",
        "[cli|command line] [help|reference|usage|overview|commands] [|please]",
        "[list|show|print|enumerate] [all|the|available] [commands|subcommands|options] [please|]",
        "[tell me|show me|give me] [all the|all|the] [commands|subcommands|options|flags]",
        "[tell me|show me] how to [get help|see the help|list the commands|see all options]",
        "[tell me|show me] [which|what] [commands|subcommands|options] [there are|exist|yaie has]",
        "help [with|for|on|about] [a command|the commands|the cli|the options|the flags]",
        "usage of [the cli|a command|the commands|the yaie command] [|please]",
        "[open|show|print|read] the [help|usage|help text|help page|manual] [how|]",
        "as a beginner, which commands [can i use|are there|should i know|exist]",
        "[could|can] you [tell|show] me [the commands|the list of commands|how to get help|all "
        "options]",
    ],
    "stop_server": [
        "i [want|need|would like] to [stop|end|kill|shut down] the [server|service|api|running "
        "server]",
        "i started the server, how do i [stop|end|quit|kill|close] it [again|]",
        "i [have|need] to [restart|update|reboot] the machine, how do i stop the server [cleanly|]",
        "i run it under [systemd|docker|kubernetes], [which signal stops it|how do i stop it]",
        "i'm done, how do i [stop|close|shut down|turn off] the [server|api|service]",
        "how do i [stop|end|quit|kill|close] [yaie serve|the api|the service|the running server]",
        "how do i [stop|shut down|end] [the server|it] "
        "[cleanly|gracefully|safely|properly|without errors]",
        "how do i [turn|switch] [the server|the api|yaie serve|it] off",
        "how do i [take|bring] the [service|api|server] [down|offline] [cleanly|]",
        "how can i [terminate|interrupt|abort|halt|exit] the [server|service|api "
        "server|running server]",
        "how does [stopping|shutdown|a shutdown|a graceful stop] work",
        "how [is the server shut down|does the server exit|does it stop cleanly|is the server "
        "ended]",
        "how [clean|graceful|safe] is [the shutdown|stopping the server|a stop]",
        "[what|which] key[s|] [stops|ends|quits|kills] [the server|yaie serve|the api]",
        "[what|which] key do i press to [stop|quit|end|leave] the [server|api|service]",
        "[what|which] signal [stops|ends|terminates|shuts down] the [server|service|api]",
        "[what|which] signal [do i send|should i send|must systemd send|is used] to stop [the "
        "server|it]",
        "[what|which] command [stops|ends|kills|shuts down] the [server|service|api]",
        "what do i [press|type|do|send] to [stop|end|shut down|quit] the [server|api|service]",
        "what does [ctrl-c|ctrl c|sigterm|control c] do [to the server|in the server|here]",
        "what [happens|is done] [at|on|during|after] [a shutdown|ctrl-c|sigterm|shutdown of "
        "the server]",
        "what happens to [open streams|running streams|running answers|open requests] [when it "
        "stops|at shutdown]",
        "what happens to [my|the] [stream|streams|answers] [if|when] the server is "
        "[stopped|shut down|killed]",
        "what is the [clean|right|proper|correct|best] way to [stop|end|shut down] the "
        "[server|service]",
        "is there a [graceful|clean|soft] [shutdown|stop|exit] [of the server|]",
        "is it [safe|ok|fine] to [press ctrl-c|kill the server|send sigterm|just stop the server]",
        "can i [stop|kill|end|interrupt] the server [at any time|safely|with ctrl-c|without "
        "losing streams]",
        "can i [just |]press [ctrl-c|ctrl c|control c] [to stop it|in the server|to end the "
        "server]",
        "can running [streams|answers|requests] finish [when i stop it|before it stops|at "
        "shutdown]",
        "do [running|open|active] [streams|answers|requests] [finish|end|survive] [at "
        "shutdown|when i stop it]",
        "does the server [finish|end|drain|complete] [running streams|open requests] [before "
        "it stops|]",
        "does [the server|it|yaie] [handle|react to|obey|catch] [sigterm|ctrl-c|signals]",
        "[stop|quit|kill|end|shut down|exit] [the server|yaie serve|the api|the service] "
        "[|how|please]",
        "[stopping|ending|killing|shutting down] [the server|yaie serve|the api] [how||cleanly]",
        "[shutdown|clean shutdown|server shutdown|server stop|sigterm|ctrl-c] [|how|behaviour]",
        "[tell me|show me|explain] how to [stop|end|kill|shut down|quit] the [server|service|api]",
        "[tell me|explain] what happens [at shutdown|when i press ctrl-c|on sigterm|when the "
        "server stops]",
        "the server is [still running|blocking my terminal|in my terminal], how do i "
        "[stop|end|quit] it",
        "the server runs in [my terminal|a shell|the foreground], how do i [stop|end|leave] it",
        "yaie serve is running, how do i [stop|end|quit|kill] it",
        "under kubernetes, what happens [on sigterm|when the pod is stopped|when it gets sigterm]",
        "[could|can] you [tell|show] me how to [stop|end|shut down] the [server|api]",
    ],
    "json_flag": [
        "i [want|need|would like] the [output|result|results] of [the cli|a command|yaie "
        "doctor] as json",
        "i [want|need|would like] to [parse|process|read] the [output|result] [in a "
        "script|with jq|by program]",
        "i use jq, can [the commands|the cli|yaie] [print|give|output|write] json",
        "i [write|have] a [script|ci job|tool] that [parses|reads] the output of [yaie|a "
        "command], is there json",
        "how do i get [machine readable|machine-readable|parseable|structured] output [from a "
        "command|of the cli]",
        "how do i get json [from|out of] [the cli|a command|yaie doctor|yaie bench|the command "
        "line]",
        "how do i [print|get|have] the [result|output|results] [of a command |]as json",
        "how do i [make|let] [yaie|the cli|a command|yaie bench] [print|output|write|give] json",
        "how do i [parse|script|process] the output of [yaie commands|the cli|a command|yaie "
        "doctor]",
        "how can i [use|read] the [cli|command] output [in a script|with jq|from another program]",
        "how can [a script|my script|another program] [read|parse] the [output|result] of "
        "[yaie|a command]",
        "how does [--json|the --json flag|the --json option] work",
        "[what|which] [flag|option|switch] [gives|prints|makes|produces|turns on] json [output|]",
        "[what|which] [flag|option|switch] [do i add|do i use|is there|is] for json [output|]",
        "[what|which] [flag|option] makes the [output|result] [machine readable|json|parseable]",
        "what does [--json|the --json flag|the --json option] [do|print|mean|give|change]",
        "what's [--json|the --json flag|the --json option] [for|doing|]",
        "what do i add to [a command|the command] to [get json|see json|have json output]",
        "what [happens|do i get] [when|if] i add [--json|the --json flag]",
        "where does the json [output of the cli|of the --json flag] go",
        "is there a [machine readable|machine-readable|json|scripting|parseable] [output|mode] "
        "[of the cli|]",
        "is there a [flag|option|switch] [for|to get|that prints] json [output|on the command "
        "line|]",
        "is [json output|machine readable output] [of the cli|of the commands|on the command "
        "line] possible",
        "is it possible to [get|print|have] [the result|command output|the cli output] as json",
        "can i [get|have|see] the [output|result|results] [of a command |][as|in] json",
        "can i [parse|script|pipe] the [cli output|output of a command] [as json|with jq|into jq]",
        "can [the cli|yaie doctor|yaie bench|yaie models] [give|return|print|output] json",
        "can i get [json|machine readable output] [from the cli|on stdout|on the command line]",
        "does [the cli|yaie bench|yaie doctor|each command] [have|support|offer] [--json|json "
        "output]",
        "does the command line [print|offer|support|write] json",
        "do [the|all] commands [have|know|support] [--json|json output|a json flag|a json mode]",
        "[json output|cli json|json on stdout|json flag|--json] [|how|please|option]",
        "[machine readable|machine-readable|parseable|scriptable] [output|result] [|of the "
        "cli|how]",
        "[output|result|results] [as|in] json [|how|on the command line|please]",
        "[tell me|show me] how to [get json from the cli|print json|get machine readable output]",
        "[tell me|give me] the [flag|option|switch] for json [output|on the command line|]",
        "[print|write|get|show] [the result|the results|command output] as json [how|]",
        "for [a script|scripting|automation|ci] i need [json|machine readable] output [of a "
        "command|], how",
        "in [ci|a script|a pipeline|automation] i [need|want] json from [the cli|a command], "
        "[how|which flag]",
        "[could|can] you [tell|show] me how to [get|print] [the cli output|the result] as json",
        "the flag that [prints|gives|makes|writes] json [on standard output|on the command line|]",
        "standard output [as|in] json [|how|, which flag|please]",
    ],
    "port": [
        "i [started|launched] the server, [which|what] port [is it on|do i use|does it use]",
        "i [need|want] to [open|allow] [the|a] port in my firewall, which [one|port]",
        "i need the [port|port number|default port] for my [firewall|proxy|client|docker "
        "file|config]",
        "i [want|need|would like] to [change|move|set] the [port|server port|listening port]",
        "i [want|need] [it|the server|yaie] [on|to listen on|to use] [another|a different] port",
        "something else [uses|runs on|sits on] port 8000, how do i [change|move|choose] the port",
        "port 8000 is [already in use|occupied|blocked|not free], [what now|what do i do|how "
        "do i change it]",
        "address already in use, how do i [change|choose|pick] [the|another] port",
        "how do i [run|start] the server on [another port|a different port|port 9000|port "
        "5000|port 80]",
        "how do i [tell|make] the server [to use|use] [another port|a different port|port 9000]",
        "how do i [find|know|see] [the port|which port the server uses|the port number]",
        "how do i [change|set|choose|pick|move] the [port|server's port|listening port|tcp port]",
        "how can i [run|start] two servers [on different ports|with different ports|on two ports]",
        "[what|which] port [number |][does it take|is taken|is it listening on|is used by the "
        "server]",
        "[what|which] port [should|must|do] i [open|forward|map|expose|use|publish] [in docker|]",
        "[what|which] port [should|must] my [client|firewall|proxy|browser] [use|connect "
        "to|open|point to]",
        "[what|which] tcp port [is it|is used|do you use|does yaie open|must be open]",
        "[what|which] [flag|option|switch] [changes|sets|picks|selects|is for] the port",
        "[what|which] number is the [default port|port|server port]",
        "what is the [port number|server port|http port|tcp port] [by default|of the api|if i "
        "do nothing]",
        "what's the [port|default port|server port|api port] [number|] [again|please|here|]",
        "what does [--port|the --port flag|the --port option] [do|change|set]",
        "what's [--port|the --port flag] [for|]",
        "at [which|what] port [is the server|does the server listen|can i reach the api]",
        "on [what|which] port [will the server|does the service|does the backend] "
        "[run|listen|start|come up]",
        "by default, [what|which] port [is used|does yaie listen on|is it]",
        "is [there a|the] default port [8000|8080|known|]",
        "is the port [fixed|configurable|changeable|8000|always 8000]",
        "is it [possible|allowed] to [change|choose|set] the port",
        "is there a [flag|option|switch] [for|to set|to change] the port",
        "can i [change|choose|set|pick|configure] the [port|server port|port number|listening "
        "port]",
        "can i [run|start] [it|the server|yaie] on [another port|a different port|port "
        "9000|port 8080]",
        "can the server [use|run on|listen on] [another port|port 9000|port 80|a different port]",
        "does [the server|yaie|it] [use|listen on|run on] port [8000|8080|5000|80]",
        "[default port|port number|server port|tcp port|listening port|which port] [|please]",
        "[change|set|choose|pick|other|another|different] port [|how|please|for the server]",
        "[tell me|give me|i need] the [port|port number|default port|server port] [please|of "
        "the server|]",
        "[tell me|show me] how to [change|set|choose] the [port|port number|server port]",
        "[tell me|i would like to know] [which|what] port [the server uses|yaie listens on|is "
        "used]",
        "[for docker|for nginx|for my proxy|for the firewall], [which|what] port [does it "
        "use|is it]",
        "[could|can] you tell me the [port|port number|default port] [of the server|yaie uses|]",
        "do you know [which|what] port [the server uses|yaie runs on|is the default]",
    ],
    "host": [
        "i [want|need|would like] [my colleagues|other people|my team|friends] to [reach|use] "
        "my server",
        "i [want|need] to [reach|use|call] the server from [another pc|my phone|a second "
        "machine|the office]",
        "i [can't|cannot|could not] [reach|connect to] the server from [another machine|my "
        "phone|outside]",
        "i [want|need] to [expose|open] the server [to the lan|to my network|to the world|on "
        "all interfaces]",
        "i run it in [docker|a container|a vm] and can't [reach|connect to] it from "
        "[outside|the host]",
        "my [colleague|friend|phone|other laptop] [can't|cannot] [connect to|reach|see] "
        "[my|the] server",
        "from [another machine|my phone|another computer] the connection is refused, [why|what "
        "do i change]",
        "only [localhost|my own machine|this machine] [works|can connect], how do i open "
        "[it|the server]",
        "how do i [let|allow] [others|other machines|my team|my colleagues] [use|reach|connect "
        "to] the server",
        "how do i [make|get] the server [reachable|available|visible|accessible] [from "
        "outside|on my network]",
        "how do i [expose|open|publish] [the server|the api|yaie] to [the lan|the "
        "network|other computers]",
        "how do i [bind|make it bind] [to all interfaces|to 0.0.0.0|to another address|to an ip]",
        "how do i [change|set|choose] the [bind address|ip|listening address|interface] [of "
        "the server|]",
        "how do i [restrict|limit] the server to [localhost|this machine|my own machine]",
        "how can [other computers|my team|another machine|a second pc] [reach|connect to|use] "
        "the server",
        "[what|which] [address|ip|interface] does the [server|api] [bind to|listen on|use] [by "
        "default|]",
        "[what|which] [ip|ip address|network address|interface] is [it|the server] [bound "
        "to|listening on]",
        "[what|which] [flag|option|switch] [sets|changes|is for] the [host|bind "
        "address|interface|ip]",
        "[what|which] [flag|option] [opens|exposes] the server [to the network|to other machines]",
        "what does [--host|the --host flag|the --host option|--host 0.0.0.0] [do|mean|change|set]",
        "what's [--host|the --host flag|--host 0.0.0.0] [for|]",
        "what is the [default host|bind address|default bind address|default interface] [of "
        "the server|]",
        "what must i [change|set|do] so that [others|other machines|my phone] can [reach|use] "
        "the server",
        "on [which|what] [interface|address|ip|host] does [the server|yaie|it] [listen|run|bind]",
        "to [which|what] [address|host|interface|ip] does [the server|yaie|it] bind",
        "who can [reach|connect to|access|see] the server [by default|]",
        "is the server [exposed|visible|open|reachable] [on the network|to others|from "
        "outside|by default]",
        "is the server [only |][on localhost|local|bound to localhost|for this machine]",
        "is it [safe|open|exposed], can [anyone|strangers|others] [reach|connect to] my server "
        "[by default|]",
        "is there a [flag|option] [for|to set|to change] the [host|bind address|interface]",
        "can i [reach|use|access] the server from [my phone|another pc|the lan|a different "
        "machine]",
        "can [someone else|other people|my colleagues|strangers] [reach|connect to|use] "
        "[my|the] server",
        "can i bind [the server |]to [0.0.0.0|all interfaces|another address|my lan address]",
        "does the server [listen|bind] [on|to] [localhost|all interfaces|0.0.0.0|127.0.0.1] "
        "[only|by default|]",
        "does the server accept [connections|requests|clients] from [other "
        "machines|outside|the network]",
        "[host|default host|bind address|bind|interface|listen address] [|default|of the "
        "server|setting]",
        "[expose|open] [the |]server [to the network|to the lan|to others|to other machines] "
        "[|how]",
        "[remote|lan|network|outside|external] access [to the server|] [|how|possible]",
        "[access|reach|connect] from [another machine|another computer|outside|my phone] "
        "[how||possible]",
        "[tell me|show me|explain] how to [expose|open] the server [to the network|to other "
        "machines|]",
        "[tell me|give me] the [host|bind address|default host|interface] [of the server|the "
        "server uses]",
        "[could|can] you tell me [how others can reach the server|the bind address|which host "
        "it binds to]",
        "why [is the server only reachable|does the server only answer] [from this machine|on "
        "localhost]",
    ],
    "base_url": [
        "i have an openai [client|app|script|program], what [url|base url] do i [give|set|use]",
        "i have [code|an app|a program] [written for|that uses] openai, how do i [point|move] "
        "it to yaie",
        "i [want|need|would like] to use [the openai package|the openai python "
        "library|langchain] with yaie",
        "i [want|need] to [point|connect|aim] [my app|langchain|my openai client|a chat ui] "
        "[at|to] yaie",
        "i need the [base url|url|address] for my [client|app|config|openai client|sdk]",
        "my [client|app|tool|library|chat ui] asks for [a base url|the base url|an api base|an "
        "api url]",
        "my [app|code|program] uses the openai [library|sdk|client], [does that work|which url "
        "do i set]",
        "openai client: [which|what] [base url|url|base_url] [do i set|to use|goes in]",
        "how do i [point|connect|aim|direct] [the|an|my] openai [client|sdk|library|app] "
        "[at|to] yaie",
        "how do i [set|configure] the base url [of the openai client|in my client|in the sdk|]",
        "how do i [use|connect] [langchain|the openai sdk|an openai client|my openai code] "
        "[with|to] yaie",
        "how do i [replace|swap] openai [with|by|for] [yaie|the local server|my own server] in "
        "my [code|app]",
        "how can i [use|keep] my [openai code|openai client|openai scripts|existing openai "
        "app] [with yaie|here]",
        "how can my [app|client|program] [find|reach|talk to] the [openai compatible |]api",
        "[what|which] url should [my|the] [client|app|sdk|openai library] [use|call]",
        "[what|which] [url|base url] do i [put|enter|type] into [my|the] [client|app]",
        "[what|which] base [url|address] [is right|is correct|do clients use|does the api "
        "have|should be set]",
        "[what|which] value [goes in|do i give to|belongs in] [base_url|openai_base_url|the "
        "base url field]",
        "what do i [put|set|write|give] as [base_url|the base url|openai_base_url|the api base]",
        "what is the [root|full|local|http] url of the [api|openai api|openai compatible api]",
        "what's the [base url|base_url|api base|api url|url of the api] [again|please|here|]",
        "what is the [openai |]base url [of the server|for clients|i should use|]",
        "at [which|what] url [is the api|do i find the api|can clients reach the api|does the "
        "api live]",
        "under [which|what] url [is the api|can i call the api|do i reach the openai api]",
        "where [do|should] i [point|direct|send] my [openai client|openai sdk|openai "
        "app|openai requests]",
        "where does the [openai api|openai compatible api|v1 api] live",
        "is there an openai [compatible|style|like] [url|api|base url] [for my client|]",
        "is the api [compatible with|the same as|like] [openai|the openai api|the one of openai]",
        "is yaie a [drop-in|drop in] [replacement|substitute] for [openai|the openai api]",
        "can i use [the openai python client|the openai library|an openai client|openai code] "
        "[with yaie|here]",
        "can i [keep|reuse] my openai [client|code|scripts] [and change only the url|with yaie]",
        "can my openai [app|client|code] [talk to|connect to|use] [yaie|your server|this server]",
        "does yaie [speak|understand|follow|implement] [the openai api|openai's api|the openai "
        "protocol]",
        "does [the openai client|langchain|the openai python package] work with [yaie|your server]",
        "do openai [clients|libraries|tools|sdks] work [with yaie|here|with your server]",
        "[base url|base_url|api base|openai base url|api url] [|please|for clients|of yaie]",
        "[openai client|openai sdk|openai library|langchain] [with yaie|and yaie|setup|config] "
        "[|url|how]",
        "[url|address] [for|of] the [openai client|openai sdk|api|openai api] [|please]",
        "[tell me|give me|i need] the [base url|api base|url for my client|openai base url] "
        "[please|]",
        "[tell me|show me] how to [connect an openai client|point my client at yaie|set the "
        "base url]",
        "[what|which] url ends in /v1",
        "[could|can] you [tell|give] me the [base url|api url|url for the openai client|base "
        "address]",
        "[in|for] [open webui|langchain|the openai sdk|my chat app] [what|which] [url|base "
        "url] do i [set|enter]",
    ],
    "uvicorn": [
        "i [want|need|would like] to [run|start|launch] [it|the server|yaie|the app] with uvicorn",
        "i [want|need|prefer] to [use|run] [uvicorn|uvicorn directly|my own uvicorn|an asgi "
        "server]",
        "i [usually|always] start [my|] apps with uvicorn, [does that work here|how do i do it "
        "here]",
        "i have [uvicorn|gunicorn with uvicorn workers|an asgi server], what do i [give|pass] it",
        "i use systemd and uvicorn, [what is the command|what do i start|which app]",
        "how do i [run|start|launch|serve] [yaie|the api|the server|the app] "
        "[under|with|by|through] uvicorn",
        "how do i [deploy|host|run] [the asgi app|yaie as an asgi app|the api as asgi]",
        "how do i [call|invoke] uvicorn [for|with] [yaie|the server|the api]",
        "how do i [set|give|change] [settings|options|the model] [when|if] i use uvicorn",
        "how does [the app|yaie|the server] get its settings [under|with|from] uvicorn",
        "how are settings [read|passed|given] [under|with] uvicorn",
        "how does [uvicorn|the asgi app|running under uvicorn] work [here|with yaie|]",
        "how to [start|run|use] uvicorn [with yaie|for yaie|here|directly]",
        "[what|which] uvicorn [command|line|call|target] [starts|runs|launches] [the "
        "server|yaie|the api]",
        "[what|which] [app|application|object|module] [does|should|must] uvicorn "
        "[load|get|run|import|serve]",
        "[what|which] [import string|import path|app path|module path] [is|do i need] for uvicorn",
        "[what|which] is the asgi [app|application|object|entry point] [of yaie|of the server|]",
        "what do i [type|write|pass|put] [after|for] uvicorn",
        "what is the uvicorn [command|line|target|import string|app] [for yaie|for the server|]",
        "what's the uvicorn [command|line|target|app|import path] [again|please|]",
        "what's server.api:app [for|]",
        "what [comes|goes|belongs] after uvicorn [on the command line|in the command|]",
        "where is the asgi [app|application|entry point|object] [defined|located|in the code|]",
        "where do settings come from [under uvicorn|with uvicorn|when uvicorn runs the app]",
        "is there a uvicorn [command|target|entry point|way] [for yaie|to start it|]",
        "is there an asgi [app|application|entry point|object] [i can use|for uvicorn|for "
        "hypercorn]",
        "is it possible to [run|start|serve] [it|yaie|the server] [with|under] [uvicorn|an "
        "asgi server]",
        "is yaie [an asgi|a fastapi|a uvicorn] [app|application]",
        "can i [start|run|launch] [the server|yaie|the api] [with|under|via|through] "
        "[uvicorn|an asgi server]",
        "can i [skip|avoid] yaie serve and [use|call|run] uvicorn [directly|myself|]",
        "can uvicorn [run|start|serve|host] [yaie|the server|the api|it]",
        "does [yaie|the server|the api] [support|allow|work with|run under] [uvicorn|asgi]",
        "does uvicorn [work|run|go] [with yaie|with this server|here]",
        "[uvicorn|asgi|asgi app|uvicorn command|uvicorn target|uvicorn app] [|how|for yaie|please]",
        "[run|start|launch|deploy|serve] [with|under|via] uvicorn [|how]",
        "[tell me|show me|give me] the [uvicorn|asgi] [command|target|app|import string]",
        "[tell me|show me|explain] how to [run|start|use] [it with uvicorn|yaie under "
        "uvicorn|uvicorn here]",
        "instead of yaie serve i want [uvicorn|to use uvicorn|an asgi server], [how|what do i run]",
        "[without|instead of] yaie serve, how do i start it [with|under] uvicorn",
        "uvicorn [needs|wants|asks for] an [app|import string|application], [which one|what do "
        "i give]",
        "error loading asgi app, what is the [right|correct] [import string|target|app] for "
        "uvicorn",
        "[could|can] you [tell|give|show] me the uvicorn [command|line|target|call]",
    ],
    "ep_chat": [
        "i [want|need|would like] to [send|post] [a list of messages|messages|a conversation] "
        "[over http|with curl]",
        "i [want|need] to [call|use] the [chat api|chat endpoint|chat completions api] [with "
        "curl|from my code|]",
        "i have [a system and a user message|a list of messages|a conversation], where do i "
        "[post|send] it",
        "i have messages with roles, [which endpoint|where] do i [send|post] them [to|]",
        "my app sends [chat messages|messages with roles|a chat history], [which endpoint|what "
        "url] [takes them|]",
        "how do i [call|use|reach|query] the chat [api|endpoint|completions endpoint|route] "
        "[with curl|]",
        "how do i [send|post|submit] [a chat request|messages|a chat history|a conversation] "
        "[over http|by curl]",
        "how do i chat [over http|through the api|with curl|via rest|over the api]",
        "how do i [write|make|form] a chat request [over http|for the api|with curl]",
        "how does [/v1/chat/completions|the chat api|the chat endpoint|the chat completions "
        "api] work",
        "how does the chat [endpoint|api|route] [answer|reply|respond]",
        "how can [a program|my code|my app|javascript] [chat|send messages] [over http|through "
        "the api]",
        "[what|which] [endpoint|route|url|path] [do i use|is there|should i call] [for "
        "chat|for messages]",
        "[what|which] [endpoint|route|path] [takes|accepts|expects|wants] [a list of "
        "messages|chat messages]",
        "[what|which] [url|path|route] [is the chat api|does chat have|do chat requests go to]",
        "[what|which] [endpoint|route] is [like|the same as|compatible with] openai's chat "
        "[api|completions]",
        "[what|which] http [call|request|path|route] [is for chatting|sends a chat|does chat]",
        "what does [/v1/chat/completions|the chat completions route|the chat endpoint] "
        "[take|do|expect|accept]",
        "what's [/v1/chat/completions|the chat completions endpoint] [for|]",
        "what do i [post|send] to [/v1/chat/completions|the chat endpoint|the chat completions "
        "endpoint]",
        "what is the [path|url|route|address] [of|for] [chat|the chat api|chat "
        "completions|chat requests]",
        "what is the chat [completions |][path|url|route|endpoint] [called|named|again|]",
        "where [do|should|can] i [post|send] [a conversation|a chat history|messages with "
        "roles|my chat]",
        "where [do|should] [chat requests|messages|conversations] go [over http|in the api|]",
        "where is the chat [endpoint|api|completions endpoint|route]",
        "is there a chat [endpoint|api|completions endpoint|route] [like openai's|in the "
        "server|over http]",
        "is there an [endpoint|api|route] for [chats|messages|conversations|chat completions]",
        "is [/v1/chat/completions|chat completions|the chat completions api] "
        "[supported|available|there]",
        "can i [post|send] [messages|a list of messages|a conversation|chat messages] [to the "
        "server|over http]",
        "can i [use|call] [chat completions|the chat api|openai's chat api] [here|on this "
        "server|over http]",
        "does the server [have|offer|support|implement] [chat completions|a chat "
        "endpoint|openai's chat api]",
        "does [the api|the server] [take|accept] [messages|a list of messages|messages with roles]",
        "[chat completions|chat api|chat route|chat url|chat path|/v1/chat/completions] "
        "[|please|endpoint]",
        "[endpoint|route|url|path] for [chat|messages|chatting|conversations|chat completions] "
        "[|please]",
        "[post|posting|send|sending] [messages|chat messages|a conversation] [where|to which "
        "endpoint|]",
        "[curl|http|rest] [chat|chat request|chat completion] [|example|how|endpoint]",
        "[tell me|give me|show me] the [chat|chat completions|messages] [endpoint|route|url|path]",
        "[tell me|explain|describe] what [/v1/chat/completions|the chat endpoint|the chat "
        "route] [does|takes]",
        "[tell me|show me] how to [send messages|post a chat|chat] [over http|to the "
        "server|with curl]",
        "the [endpoint|route|path] [that takes|for|which accepts] [messages|a list of "
        "messages|chat messages]",
        "[could|can] you [tell|give] me the [chat endpoint|path for chat|url for chat requests]",
        "[for|with] a list of messages [which endpoint|what route|which url] [do i use|is right]",
    ],
    "ep_completions": [
        "i [want|need|would like] to [send|post|complete] [a raw prompt|raw text|plain text] "
        "[over http|]",
        "i [want|need] to [send|post] [token ids|tokens|a list of strings|a batch of prompts] "
        "[to the api|]",
        "i [want|need] [plain|raw|pure] [text completion|completion|continuation] [without a "
        "chat template|]",
        "i [don't|do not] want [a chat|chat messages|a chat template], [only|just] a raw "
        "prompt over http",
        "i have [a base model|a raw string|a plain prompt|token ids], [which endpoint|where do "
        "i send it]",
        "i have only [one string|a text|token ids], no messages, [which endpoint|where do i "
        "post it]",
        "i already tokenised my prompt, [where do i send the ids|can i send token ids|which "
        "endpoint]",
        "how do i [send|post] [a raw prompt|a plain string|token ids|several prompts] [over "
        "http|to the api]",
        "how do i [complete|continue] [a text|a raw prompt|a string|plain text] [over "
        "http|with the api]",
        "how do i [use|call|reach] the [completions|raw completion|text completion] "
        "[endpoint|api|route]",
        "how do i [skip|avoid|go around] the chat template [over http|in the api|in a request]",
        "how do i [send|prompt] [text|a prompt] without a chat template [over http|to the server|]",
        "how does [/v1/completions|the completions endpoint|the completions api|raw "
        "completion] work",
        "how can i [post|send] a prompt as [token ids|a string|a list of strings]",
        "[what|which] [endpoint|route|url|path] [continues|completes] [raw text|a raw "
        "prompt|plain text]",
        "[what|which] [endpoint|route|path] [takes|accepts] [token ids|a plain string|a list "
        "of strings]",
        "[what|which] [endpoint|route] [is for|do i use for] [raw prompts|base models|plain "
        "completions]",
        "[what|which] [endpoint|route] [does not use|uses no|works without] [a chat "
        "template|messages]",
        "what does [/v1/completions|the completions endpoint|the completions route] "
        "[take|do|accept|expect]",
        "what's [/v1/completions|the completions endpoint] [for|]",
        "what can i send to [/v1/completions|the completions endpoint|the completions route]",
        "what [inputs|kinds of prompt|prompt formats] does [/v1/completions|the completions "
        "endpoint] take",
        "what [do i use|is there] for [legacy completions|text completion|plain completions]",
        "what is the [path|url|route|address] [of|for] [raw completions|the completions "
        "api|raw prompts]",
        "where [do|can|should] i [post|send] [raw text|token ids|a plain string|a raw "
        "prompt|plain text]",
        "where [do|should] [raw prompts|plain prompts|token ids] go [over http|in the api|]",
        "where is the [completions|raw completion|text completion] [endpoint|route|api]",
        "is there a [raw|plain|text|legacy] [completion|completions] [endpoint|api|route]",
        "is there an [endpoint|api|route] for [raw prompts|token ids|plain text|text completion]",
        "is [/v1/completions|the legacy completions api|raw completion] "
        "[supported|available|there]",
        "can i [post|send] [a plain string|a list of strings|several prompts|raw text] [to the "
        "api|over http]",
        "can i [post|send] [ids|token ids|token numbers] [instead of text|instead of a "
        "string|over http]",
        "can the [server|api] [continue|complete] [raw text|a raw prompt|plain text|token ids]",
        "does the server [have|support|offer] [/v1/completions|raw completion|the old "
        "completions api]",
        "does the [api|server] [take|accept] [token ids|raw prompts|plain strings|a list of "
        "strings]",
        "[/v1/completions|completions api|raw completion|text completion|raw prompt] "
        "[|endpoint|route]",
        "[endpoint|route|url|path] for [raw prompts|raw text|token ids|plain prompts|text "
        "completion]",
        "[post|posting|send|sending] [token ids|a raw prompt|raw text] [where|to which endpoint|]",
        "[raw prompt|raw text|token ids|plain string] over http [|how|which endpoint|possible]",
        "[tell me|give me|show me] the [completions|raw completion|raw prompt] "
        "[endpoint|route|path]",
        "[tell me|explain] what [/v1/completions|the completions endpoint] [does|takes|is "
        "for|accepts]",
        "[tell me|show me] how to [send a raw prompt|post token ids|complete raw text] [over "
        "http|]",
        "without [messages|chat messages|a chat template|roles], which endpoint [do i "
        "use|takes my prompt]",
        "[could|can] you [tell|give] me the [endpoint|path|url] for [raw prompts|plain "
        "completions|raw text]",
    ],
    "ep_models": [
        "i [want|need|would like] to [ask|query] the [server|api] [which|what] models it "
        "[has|offers|serves]",
        "i [want|need] the [model id|model name|model list] from the [running "
        "server|api|server] [over http|]",
        "i need [the model name|a model id] for my [request|client], how do i ask the server",
        "my client [needs|asks for|wants] a list of models [from the server|over http|], which "
        "endpoint",
        "my [ui|chat app|client] shows no models, which endpoint [lists|returns] them",
        "how do i [ask|query] the [server|api|running server] [for its models|which model it "
        "serves]",
        "how do i [get|fetch|read|find] the model [name|id|list] [from the server|over "
        "http|from the api]",
        "how do i [list|see|get] models [with curl|over http|through the api|from a running "
        "server|via rest]",
        "how do i [know|find out|check] [which|what] model [a running server|the server|the "
        "api] [has|serves]",
        "how do i [use|call] [/v1/models|the models endpoint|the models route]",
        "how does [/v1/models|the models endpoint|the models route] work",
        "how can [a client|my client|my app|a program] [list|find|see] the models [of the "
        "server|on offer]",
        "[what|which] [endpoint|route|url|path] [lists|returns|has|gives] [the models|the "
        "served models]",
        "[what|which] [endpoint|route|path] [tells|shows] [me |]which [model|models] [is "
        "served|are served]",
        "[what|which] http [call|request|path|route] [lists|returns|shows] [the |]models",
        "[what|which] [model|models] is the [running |]server [serving|offering|running] "
        "[right now|now|]",
        "[what|which] models [does the api|does the server|does the running server] "
        "[offer|have|list|expose]",
        "[what|which] model [id|name] does the [server|api] [use|report|expect|offer]",
        "what does [/v1/models|the models endpoint|the models route|get /v1/models] "
        "[return|list|do|give|show]",
        "what's [/v1/models|the models endpoint] [for|]",
        "what do i get from [/v1/models|the models endpoint|get /v1/models]",
        "what is [/v1/models|the models route|the models endpoint] [good for|used for|for]",
        "what is the [path|url|route|endpoint] [of|for] the [model list|list of served "
        "models|models]",
        "where [can|does] [a client|my app|my client] [see|find|get] the [served models|models "
        "of the server]",
        "where does the [api|server] [list|show|report] its [models|model names]",
        "where is the models [endpoint|route|url|path]",
        "is there an [endpoint|api call|route|http call] [that lists|to list|listing] [the "
        "|]models",
        "is there a models [endpoint|route|api] [like openai's|in the server|]",
        "is [/v1/models|the models endpoint|openai's models endpoint] [supported|available|there]",
        "can i [ask|query] the [server|api] [which|what] [model|models] it [serves|has|offers]",
        "can a client [list|see|get|fetch] the [models|served models] [over http|of the "
        "server|from the api]",
        "does the [server|api] [list|report|tell|return] [its|the served] [models|model names]",
        "does the server [have|offer|support] [/v1/models|a models endpoint|a models route]",
        "[/v1/models|models endpoint|models route|models url|get models] [|please|how|returns "
        "what]",
        "[endpoint|route|url|path] [for|listing|that lists] [the |][models|served models|model "
        "names]",
        "[served models|model list|list of models|models] [over http|from the server|via the "
        "api] [|how]",
        "[curl|http|rest|api call] [to list|for] [the |][models|served models] [|how]",
        "[tell me|give me|show me] the [models endpoint|endpoint that lists models|route for "
        "the models]",
        "[tell me|explain] what [/v1/models|the models endpoint|get /v1/models] "
        "[does|returns|lists]",
        "[tell me|show me] how to [ask the server for its models|list models over http|list "
        "served models]",
        "to [find|see|check] the served model over http, [what do i call|which endpoint]",
        "[could|can] you [tell|give] me the [endpoint|route|path] [for|that lists] [the |]models",
        "models that the [server|api|running server] [offers|serves|has], [which endpoint|how "
        "do i see them]",
    ],
    "ep_health": [
        "i [want|need|would like] to [check|know|see] [if|whether] the [server|engine] is "
        "[healthy|up|fine]",
        "i [want|need|would like] a health [check|probe|url|endpoint] for [my load "
        "balancer|monitoring|docker]",
        "i need [a url|an endpoint|a path] for [the health check|my load balancer|docker "
        "healthcheck]",
        "my load balancer [needs|wants|asks for] a health [check|url|path|endpoint], which "
        "[one|is it]",
        "docker wants a [healthcheck|health check], [what do i call|which url|which endpoint]",
        "how do i [check|see|test|know] [that|if|whether] the [server|engine|api] is "
        "[healthy|ok|fine]",
        "how do i [check|test|probe|query] the [health|server's health|health of the engine] "
        "[over http|]",
        "how do i [do|write|set up|configure] a health [check|probe] [for the server|in docker|]",
        "how do i [ping|probe] the [server|engine|api] [to see if it is healthy|for health]",
        "how do i [know|tell] [if|whether] the engine [answers|is answering|still "
        "answers|responds]",
        "how does [/health|the health check|the health endpoint|the health probe] work",
        "how can [my load balancer|monitoring|nagios|a script] [check|test|see] the health [of "
        "the server|]",
        "how [expensive|cheap|heavy] is [/health|the health check], does it run the model",
        "[what|which] [endpoint|route|url|path] [checks|is for|is|reports] [the health|health "
        "checks|health]",
        "[what|which] [endpoint|url|path] [do i use|should i call|do i give docker] for "
        "[a|the] health check",
        "[what|which] [endpoint|url|path] [tells|shows] [me |][if|whether] the engine "
        "[answers|is healthy]",
        "[what|which] [url|path] should my [load balancer|monitor|docker healthcheck] "
        "[call|poll|use|check]",
        "[what|which] [status|code|answer] does [/health|the health check|the health endpoint] "
        "[give|return]",
        "what does [/health|the health endpoint|the health check|get /health] "
        "[return|answer|do|say|check]",
        "what's [/health|the health endpoint|the health check] [for|]",
        "what [does it mean|is wrong] [when|if] [/health|the health check] "
        "[answers|returns|gives|says] 503",
        "what is [returned|answered] by [/health|the health endpoint|the health check|get /health]",
        "what is the [path|url|route|endpoint] [of|for] the health [check|probe]",
        "when [does|will] [/health|the health check|the health endpoint] [fail|return "
        "503|answer 200|say 503]",
        "when is [/health|the health check|the health endpoint] [200|503|ok|not ok|failing]",
        "where is the health [check|endpoint|probe|route|url]",
        "where can [i|my load balancer|a monitor] [check|see|poll] the health [of the "
        "server|of the engine]",
        "why does [/health|the health check|the health endpoint] [return|answer|give|say] 503",
        "is there a [health url|healthcheck|health route|health path|/health] [in the "
        "server|for docker|]",
        "is there [an endpoint|a url|a route] [for|to check] [the health|server health|health "
        "checks]",
        "is the [server|engine|service] [healthy|answering|alive and well], how do i check "
        "[over http|]",
        "is [/health|the health check] [cheap|expensive|free|fast|light|heavy]",
        "can i [poll|call|ask|probe] [/health|the health endpoint] [often|every second|all the "
        "time]",
        "can i [check|monitor|test] the health of the [server|engine|service] [over http|]",
        "can my [load balancer|monitoring|docker] [check|probe|test] the health [of the server|]",
        "does [/health|the health check|a health probe] [load|use|run|cost|touch] the [model|gpu]",
        "does the server [have|offer|support] a health [check|endpoint|probe|route]",
        "[/health|health|health check|health probe|healthcheck|health url] "
        "[|endpoint|route|please]",
        "[endpoint|route|url|path] for [health|health checks|a health check|the load balancer] "
        "[|please]",
        "[server|engine|service] [health|health check|healthy] [|how|endpoint|over http]",
        "[tell me|give me|show me] the [health endpoint|health url|health check path|health route]",
        "[tell me|explain] what [/health|the health endpoint|the health check] "
        "[does|returns|answers|checks]",
        "[tell me|show me] how to [check the server's health|check health|do a health check]",
        "[could|can] you [tell|give] me the [health endpoint|url for health checks|health "
        "check route]",
    ],
}
