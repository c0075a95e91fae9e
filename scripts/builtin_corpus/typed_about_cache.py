"""As typed in a chat: eviction and the words of the cache.

Situations, consequences, comparisons with other programs, wrong guesses and keywords, in words that
neighbouring facts do not share. Keys and patterns as in `asked_about_use.py`; merged with the other
tables by `asked.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "evictions": [
        "list of eviction policies",
        "cache replacement strategies available",
        "Which [policies|strategies] can i choose from for throwing out cached prefixes",
        "How many ways of choosing a [victim|leaf to remove] for the cache does yaie know, "
        "and what are they called",
        "Coming from vLLM i only know LRU. What [other|further] eviction policies does yaie "
        "offer besides it",
        "Besides lru, which cache replacement rules are there",
        "i'd like to try every eviction setting in a benchmark. Give me their names",
        "[isn't|wait, isn't] lru the only eviction policy you have",
        "Is there a choice of [eviction|cleanup] policies for the tree, or just one that is "
        "hard-wired",
        "Name all the [rules|strategies] for making room in the prefix cache",
        "Redis gives me allkeys-lru, allkeys-lfu and so on. What are the "
        "[corresponding|equivalent] options in yaie",
        "[i was wondering|i would like to know] what values the eviction policy setting accepts",
        "My config was rejected because the eviction policy was unknown, what are the valid ones",
        "[Suppose|Imagine|Say] i want a different eviction rule for the KV cache. What's on "
        "the menu",
        "Tell me the options for how old cache entries get [dropped|removed]",
        "what eviction algorithms did you implement",
        "Does it support several eviction strategies, and if so which ones",
        "A colleague asked which replacement policies our inference cache can be switched "
        "between, what do i tell him",
        "When the KV memory is full, which selectable policies decide who gets dropped",
        "The docs mention choosing an eviction policy but i can't find the "
        "[possible|allowed] values anywhere",
        "Which three policies can govern eviction",
        "Could i pick fifo as the eviction policy? What is there to pick from",
        "SGLang has a couple of radix eviction strategies. Which ones do you have",
        "eviction policy choices please",
        "[We are|We're|i'm] writing a comparison table of cache engines and there's a column "
        "for eviction strategies, what goes in for yaie",
        "For the cache, not the queue: what policies exist for deciding what is thrown away",
        "random, fifo, arc... which of the usual cache eviction schemes does yaie actually ship",
        "what can the eviction policy be set to",
        "An overview of all the eviction modes would help me, [which ones exist|what are they]",
        "Can i change how the cache picks its victims, and to what",
        "i need to fill in the eviction option in a dropdown of our admin page. What entries "
        "should it have",
    ],
    "evict_what": [
        "cache full, what gets dropped",
        "What happens when the KV pool has no free slots left",
        "We have a small GPU and the cache fills within minutes. Which [entries|parts of the "
        "tree] does yaie then throw out",
        "Can eviction ever pull a prefix out from under a running generation",
        "Is the whole branch removed at once or does eviction start from the end",
        "i'm afraid that somebody else's traffic will [evict|throw out] the keys my running "
        "answer needs. Can that happen",
        "Which nodes may be removed to make room, and in what order",
        "what is safe from eviction and what is not",
        "Does yaie free inner nodes or only the ends of the tree when memory gets tight",
        "Out of cache space: what goes first",
        "Suppose the pool is exhausted and a new prompt arrives. What does the engine "
        "[discard|remove] to make room",
        "Does the root system prompt get evicted before its continuations, or the other way round",
        "[i was wondering|i was trying to find out|Do you know] what part of a cached prompt "
        "is lost first under memory pressure, the beginning or the end",
        "In vLLM blocks without references are freed. Which parts of the tree become "
        "[candidates|victims] here once slots are gone",
        "[Tell me|Let me know|Remind me] what is removed from the tree as soon as space runs out",
        "no free slots, now what is thrown away",
        "My long conversation lost the end of its cached prefix but kept the start. Is that "
        "how eviction works",
        "Will it simply crash with out of memory when all the places in the cache are taken, "
        "or does it clear something",
        "What can be reclaimed when the cache is [full|exhausted]",
        "A node still in use by a live generation, is it ever evicted when memory is short",
        "We filled the cache with thousands of different prompts. What does the engine give "
        "up to take in the next one",
        "under memory pressure which cached stuff is let go and which is kept",
        "How does the tree shrink once it has eaten up all the KV memory",
        "Regardless of policy, which [pieces|parts] of the tree are even eligible to be "
        "dropped for space",
        "Surely eviction deletes whole prompts in one go",
        "Ollama just forgets the whole context when it's out of room. What "
        "[exactly|precisely] does yaie forget",
        "explain what eviction removes and what it leaves [alone|untouched]",
        "Does a lack of slots mean that cached prompts nobody is using get cleared",
        "Where does eviction begin, at the trunk or at the tips of the tree",
        "i'm worried about losing the shared prefix that ten streams are reading right now "
        "when the pool [fills up|is full]",
        "when space is needed what part of the cache is sacrificed",
    ],
    "evict_lru": [
        "what does lru do",
        "lru [meaning|definition]",
        "Under the lru policy, which leaf has to go",
        "i set eviction to lru. Whose cached prefix is [dropped|removed] first now",
        "Which policy [throws out|removes|drops] whatever has been idle the longest",
        "[Our|My] users come back within minutes or never, so i want the stalest entries "
        "gone. What does the lru setting evict",
        "Does lru go by time of last use or by number of uses",
        "[Explain|Please explain] lru eviction in yaie",
        "With lru on, is it the oldest access that [counts|decides]",
        "i always mix up lru and lfu, what was lru again",
        "A prompt that nobody has touched since yesterday should be the first to leave. Is "
        "that what lru does",
        "In yaie, what is the criterion of the lru eviction policy",
        "[Tell me|Please tell me|Can you tell me] how lru picks its victim",
        "[isn't|wait, isn't] lru the one that counts how many times something was hit",
        "[Suppose|Let us say|Assume] one leaf was hit a thousand times last week but not "
        "today. Would lru evict it",
        "Redis has allkeys-lru. Does the lru here work [the same way|likewise], by last access",
        "What goes first when the eviction policy says lru",
        "[i was wondering|i was trying to find out|Do you know] what the letters lru stand "
        "for in the eviction setting",
        "Which leaf is the [victim|leaf to remove] if recency is all that matters",
        "the policy that evicts by recency, how does it decide",
        "For a chat app where only fresh conversations matter i'm considering lru. What "
        "would it remove",
        "[Is there|Do you have] an eviction mode based on how long ago a leaf was last touched",
        "My cached document vanished after an idle hour although it had been read very often "
        "before. Is lru the [reason|culprit]",
        "how does eviction by last access time work here",
        "Say three leaves were touched at 9:00, 9:05 and 9:10. Which one does lru [kick "
        "out|throw away]",
        "lru, what leaf is chosen",
        "Does lru look at size or cost at all, or just at when something was last used",
        "What's the [behaviour|effect] of choosing lru as replacement policy",
        "[Please describe|Describe|Can you describe] the lru option for the cache",
        "lru sounds like the classic one that every operating system has for its pages, what "
        "does it discard",
        "How does yaie treat a leaf that nobody has asked for in a long while under lru",
    ],
    "evict_lfu": [
        "what does lfu do",
        "lfu [meaning|definition]",
        "With lfu, which leaf is [thrown out|removed|dropped]",
        "Which eviction policy looks at how many times a leaf was hit",
        "We've a handful of prompts that everyone uses and lots of one-offs. What would lfu "
        "[drop|remove] first",
        "Does lfu count hits or look at the clock",
        "[Explain|Please explain] lfu eviction in yaie",
        "Popular prompts should survive even when idle for an hour, and rare ones should go. "
        "Does lfu do that",
        "lru i know, but what's lfu",
        "How does the lfu policy pick its [victim|leaf to remove]",
        "A leaf touched just a second ago but only once: would lfu throw it away before an "
        "old [favourite|popular one]",
        "[Tell me|Please tell me|Can you tell me] the rule behind lfu",
        "[isn't|wait, isn't] lfu about the last time something was accessed",
        "what leaf leaves first if popularity decides",
        "[i was wondering|i keep asking myself] what lfu abbreviates among the eviction policies",
        "[Is there|Do you have] a frequency based eviction mode, and what does it remove",
        "My brand new prefix keeps getting evicted although i only just used it. i run with "
        "lfu, is that [expected|normal]",
        "[Suppose|Let us say|Assume] leaf A was hit 50 times and leaf B twice. Which of them "
        "does lfu evict",
        "eviction by hit count how does it work",
        "The setting lfu, what is it good for when the cache has to make room",
        "Redis has an lfu mode too. What does the one in yaie [evict|discard]",
        "For a help desk bot with the same twenty questions over and over, lfu looks right. "
        "What does it throw away",
        "which leaf counts as the worst under lfu",
        "Frequency or recency, what does lfu go by",
        "[Please describe|Describe|Can you describe] how lfu chooses among the leaves",
        "What's the [effect|consequence] of setting eviction to lfu",
        "If i want rarely requested prefixes cleared first, is lfu the one and how does it work",
        "lfu instead of lru, what changes about the [victim|leaf to remove]",
        "How would a leaf with very few hits fare under lfu",
        "Does lfu keep [popular|hot] leaves and discard the ones with the fewest accesses",
        "[i'm|We're] switching the cache to lfu tonight, what gets evicted from then on",
    ],
    "evict_cost": [
        "what does the cost policy do",
        "cost eviction formula",
        "How does the cost policy rank the leaves",
        "Which eviction policy protects the prefixes that took the most work to compute",
        "Our contracts are 3,000 tokens long and slow to prefill, so losing them hurts. "
        "Which eviction mode [spares|keeps] them",
        "lru and lfu are clear to me, but what on earth is cost",
        "Is cost about money, or what does that eviction policy mean",
        "By what formula does yaie score a leaf when eviction is set to cost",
        "i was wondering how expensive prefixes can be [kept|held] longer than cheap ones",
        "Does the cost eviction mode take size and reuse into account",
        "[Tell me|Tell us] what cost weighs before it evicts something",
        "[isn't|wait, isn't] cost the same as lru with another name",
        "A leaf that is small but very expensive to prefill again, would the cost policy keep it",
        "which eviction mode considers how much work a prefix would be to rebuild",
        "[Suppose|Let us say|Assume] two leaves are equally popular, but one takes far "
        "longer to compute again. How does the cost policy decide",
        "GreedyDual style caches weigh price against size. Is there [anything like "
        "that|something similar] among your eviction policies",
        "What goes into the ranking when cached leaves are judged by value for their space",
        "eviction set to cost, what is kept",
        "[Explain|Please explain] cost aware eviction in yaie",
        "Recompute time, reuse, size: how are they combined when a leaf is [scored|rated] "
        "for eviction",
        "My cheap short prompts get evicted but the slow [long ones|big ones] survive with "
        "policy cost. Why",
        "Which policy for the cache minimises the work lost by an eviction",
        "the cost option for eviction, when would i want it and what does it measure",
        "How do i make the cache hang on to things that would be painful to calculate again",
        "Does cost favour big leaves or [small|little] ones, all else equal",
        "[Please explain|Could you explain] the eviction rule called cost",
        "We measured that re-prefilling deep prefixes dominates our latency. Which eviction "
        "policy was made for that, and how does it rank",
        "what does cost protect from being evicted",
        "What is the third eviction policy, next to lru and lfu, based on",
        "i saw eviction set to cost in someone's config. What is [multiplied|divided] there "
        "to get the rank",
        "Weighing price, popularity and space of a leaf: which eviction policy does that",
    ],
    "preempt": [
        "preemption victim",
        "Which sequence is preempted when memory gets tight",
        "If all generations are live and there's still not enough memory, which one is "
        "[paused|suspended]",
        "Does a paused generation have to start over when it's resumed",
        "Is the youngest sequence preempted, or how is the victim chosen",
        "vLLM preempts the latest request and recomputes it. What does yaie do "
        "[instead|differently]",
        "My [stream|generation] froze for a moment under load and then went on. Was it "
        "preempted, and what did that cost",
        "[What becomes of|What happens to] the cached work of a sequence that was kicked out "
        "mid-answer",
        "how expensive is resuming after preemption",
        "Under overload, whose answer is put on hold first",
        "Suppose twenty streams need more room than there is. Which of them has to "
        "[wait|step aside]",
        "When a running answer must give way to others, how does the engine choose it",
        "[i was wondering|i would like to know] whether preempted generations lose their "
        "keys and values",
        "[Tell me|Tell us] how yaie picks the running sequence to interrupt",
        "Everything is in use and nothing can be evicted. What happens to the running "
        "[generations|answers]",
        "Do you swap a preempted sequence out to CPU memory like other engines do",
        "who gets preempted",
        "Is a sequence that was [interrupted|stopped] for lack of memory continued later, "
        "and is that costly",
        "preempted sequences: recompute or swap",
        "Our long answers must not be thrown back to zero halfway. What does preemption [do "
        "to them|mean for them]",
        "[isn't|wait, isn't] the longest generation always the one to be preempted",
        "By what measure is a live sequence chosen for preemption",
        "What's left in the tree after a sequence was preempted",
        "A customer complained that his answer paused in the middle. Which answers get "
        "paused, and do they lose anything",
        "Can coming back after a preemption be free",
        "the engine ran out of memory with only live sequences, which one does it suspend",
        "Preemption in yaie, what's the rule and what's the price",
        "What happens to the nodes of a sequence that had to be [preempted|suspended]",
        "If a generation in progress has to be bumped, is it a random one",
        "[i'm|We're] curious how a running generation gets sacrificed when there is no room "
        "for the next token of everyone",
        "Does interrupting a live sequence throw away what it already computed",
    ],
    "chunked": [
        "chunked prefill",
        "How are very long prompts processed",
        "Does one [huge|giant|very long] prompt stall everybody else's streaming",
        "We paste whole manuals into the prompt while others are chatting. Will the chats "
        "[freeze|stutter]",
        "Is a long prompt computed in one go or in [pieces|parts]",
        "Does yaie do chunked prefill like vLLM",
        "What comes first in a step, the decode rows or the prefill of new prompts",
        "i was wondering how a prompt with thousands of tokens is fed [through the "
        "model|into the engine]",
        "Who has precedence in a step: people already receiving tokens, or someone's long "
        "new prompt",
        "[Tell me|Tell us] how prefill is split up",
        "My tokens per second drop badly in Ollama when somebody submits a long document. "
        "How does yaie [avoid|prevent] that",
        "is prefill done in [pieces|parts]",
        "[Suppose|Imagine|Say] a 4,000 token prompt arrives while ten answers are streaming. "
        "How is it worked in",
        "Why doesn't a giant prompt block the running [generations|answers]",
        "Does prefill ever push ahead of decoding",
        "long prompt handling and fairness to running streams",
        "What do you do with a prompt that's longer than the rows of one step",
        "How does the engine [mix|combine] prefill work with ongoing decoding",
        "Does a big prefill hog the whole step",
        "[isn't|wait, isn't] the entire prompt always run through in a single forward pass",
        "[i'm|We're] seeing that a prompt needs several steps before its first token "
        "appears. Is it being cut up",
        "Are running answers given preference over fresh prompts within a step",
        "[Explain|Please explain] how the engine digests big inputs bit by bit",
        "[Our|My] latency between tokens has to stay smooth even if someone dumps a book in. "
        "What's the mechanism for that",
        "how is a large input split for computing",
        "Do streaming users have to wait until another user's long input is [done|finished]",
        "Prefill in slices: how big can they be and what runs ahead of them",
        "The prompt is longer than a step can hold but fits the context. What happens",
        "[Is there|Do you have] something like Sarathi's stall-free batching in here, with "
        "prompts split up and decodes in front",
        "In which portions is a long document prompt computed",
        "does a lengthy prefill get interleaved with decoding, and who goes first",
    ],
    "token": [
        "what is a token",
        "[define|give me a definition of|definition of] token in yaie",
        "Does the engine itself work with strings or with [numbers|ids]",
        "What is the smallest unit of text that the engine handles",
        "[i'm|We're] new to language models. What does the word token mean here",
        "Is a token a word, a character or something else in yaie",
        "Where in the engine do i find the prompt's text? i only see [lists of integers|ints "
        "everywhere]",
        "[isn't|hm, isn't] a token just a word",
        "In the [glossary|docs], what's the definition of token",
        "Does the tree store text or integers",
        "[Tell me|Please tell me|Can you tell me] what a token is to the engine",
        "[i was wondering|i wonder|i am curious] whether the engine ever sees the actual "
        "words of a prompt",
        "what data type is a token",
        "[Suppose|Let us say|Assume] i type Hello. In what form does the engine core get to see it",
        "We log everything for debugging and want to print the prompt string inside the "
        "engine. Is there any [text|string] in there at all",
        "Are strings passed around inside the engine core",
        "token vs word, what's [the difference|the distinction] here",
        "How is a piece of text represented once it's past the tokenizer",
        "The scheduler has no strings anywhere. Why is that, what does it [work on|deal "
        "with] instead",
        "[What does|And what does] yaie mean by token",
        "Does the inner engine know about characters and letters",
        "My [boss|manager|customer] asks what those tokens are that we keep counting",
        "Once inside the engine, is a prompt still human readable",
        "is a token a string or an int",
        "OpenAI bills me by tokens, but what is one token inside yaie technically",
        "What kind of object is one token in the code",
        "[Explain|Please explain] the term token as the engine's authors use it",
        "Does prefix matching [compare|look at] text or ids",
        "Would i be able to search for a phrase inside the engine's data, or are there only "
        "numbers",
        "Writing a plugin for the engine core: what type do i use for a single token",
        "A token is what [exactly|precisely], and does text still exist beyond the API layer",
    ],
    "slot": [
        "what is a slot",
        "[define|give me a definition of|definition of] slot",
        "[What does|And what does] one slot hold",
        "How many tokens fit into a single slot",
        "In vLLM a block has 16 tokens. What's a slot in yaie by [comparison|contrast]",
        "Is a slot a whole request, like the parallel slots of llama.cpp",
        "[i was wondering|i keep asking myself] whether slot 17 in layer 0 and slot 17 in "
        "layer 5 belong to the same token",
        "Does a token get a different slot index in [each|every] layer",
        "[isn't|wait, isn't] a slot the same thing as a server connection",
        "Where do the key and value of one single token live",
        "[Tell me|Please tell me|Can you tell me] what the word slot means in the cache",
        "The stats show slots used and i have no idea what one of them is",
        "How is the place of one token in the KV memory called",
        "[Suppose|Imagine|Say] a token is given index 1234 in the KV memory. Does that "
        "number change from layer to layer",
        "single slot [meaning|definition]",
        "What's the unit that KV memory is handed out in, and is it numbered alike across layers",
        "[We're|i'm] reading the kvcache code and stumble over slot. What is it",
        "Is a slot per layer or shared by all layers",
        "slot vs extent, what is the single one",
        "In one sentence, what's a [slot|slot in the engine]",
        "When you say a token occupies a slot, what do you mean",
        "Do all layers use one and the same position for a token's key and value",
        "i'm writing a kernel and must know how a slot index maps [onto the layers|to each layer]",
        "What is stored per token in the cache and under what index",
        "[Explain|Please explain] slots to somebody who knows paged attention",
        "One seat in the cache for one token: [what do you call|what is your word for] that",
        "Can two different tokens sit in one slot",
        "llama.cpp has slots too but they seem to be something else. What are they [here|in yaie]",
        "Is the slot number the same for layer 3 and layer 20",
        "what does a slot [stand for|mean]",
        "My allocator returned the slot 88. What does this number [tell me|refer to]",
    ],
    "extent": [
        "what is an extent",
        "[define|please define|how do you define] extent",
        "[What do you call|What is your name for|What is your word for] several slots in a row",
        "Does the allocator care whether a prompt's slots lie next to each other",
        "Filesystems like ext4 have extents. Is it the same [idea|concept] in yaie",
        "[i was wondering|i was trying to find out|Do you know] why the allocator tries to "
        "hand out long contiguous stretches",
        "Are a node's slots scattered all over memory or contiguous",
        "[Tell me|Please tell me|Can you tell me] what an extent of slots is",
        "[isn't|wait, isn't] an extent the same as a fixed-size page",
        "Slots 100 to 163 are given out as one block. What is such a [run|stretch] called",
        "How is a [contiguous range|contiguous stretch] of KV memory named here",
        "[Suppose|Imagine|Say] i allocate 500 tokens. Do i get one long stretch or 500 "
        "scattered places, and what's the name of it",
        "extent meaning in the allocator",
        "Does yaie prefer long runs of memory or does it just take any free place",
        "We profiled gather-heavy attention on another engine because of fragmentation. How "
        "does your allocator keep slots [together|adjacent]",
        "In the [glossary|docs] there's slot and then extent. What's the latter",
        "[What does|And what does] the allocator favour when it gives out slots",
        "Neighbouring slots that follow one another without a gap, what's the term",
        "slot vs extent difference",
        "[Is there|Do you have] a name for consecutive places in the KV memory",
        "How long is an extent, fixed or [variable|as long as possible]",
        "i [keep reading|always read] about extents in the kvcache folder, please explain",
        "Does fragmentation get considered when slots are handed out",
        "An unbroken series of slots is a what",
        "Which allocation does the slot allocator like best, many small [pieces|parts] or "
        "few long ones",
        "the code stores start and length pairs for slots, what are these",
        "Coming from paged attention with fixed blocks, what takes their place when slots "
        "are handed out in [runs|ranges]",
        "Do the slots of an extent have to be adjacent",
        "What's meant by extent when talking about KV memory",
        "[Explain|Please explain] to me why sequential slots are preferred and what they're called",
        "A debugger shows extent(start=40, length=12). What [am i looking at|is that]",
    ],
    "pool": [
        "what is the pool",
        "[define|give me a definition of|definition of] KV pool",
        "[What does|And what does] the KV pool contain",
        "Where do the keys and values physically sit",
        "[Is there|Do you have] one big tensor store for the cache, and what's it called",
        "i was wondering which memory holds the cached keys and values of [all|the various] layers",
        "[isn't|wait, isn't] the pool a pool of worker threads",
        "[Tell me|Tell us] what the pool is for",
        "When yaie starts, it reserves a big chunk of memory. What's in it",
        "Does every layer have a cache of its own, or are they all kept in one place",
        "We have database connection pools. Is the pool in yaie [anything like "
        "that|something similar]",
        "pool vs slot, which is the container",
        "[What do you call|What is your name for|What is your word for] the thing that all "
        "the slots belong to",
        "The slots are places in what",
        "[Suppose|Let us say|Assume] i want to dump the raw attention cache tensors. Which "
        "object has them",
        "KV pool [meaning|definition]",
        "Which data structure keeps the K and V tensors",
        "The tree has only token ids and slot numbers, so where is the actual key and value "
        "data [stored|kept]",
        "[Explain|Please explain] the term pool from the glossary",
        "Is the pool made of requests, threads or tensors",
        "What sort of tensors are in the pool",
        "My GPU memory is mostly taken by something named pool, what is it",
        "In vLLM there are the GPU block tensors. What's the [counterpart|equivalent] here "
        "that stores K and V",
        "Are the keys and values of different layers held in a common structure",
        "what lives inside the pool",
        "A [teammate|colleague|friend] asked what we mean by the pool when we talk about "
        "cache memory. Short answer",
        "Which component holds the attention tensors that slots point into",
        "Does the pool hold model weights or the cache",
        "What are the places of the pool, and what tensors does it hold",
        "i'm reading attention code that takes a pool argument, what's that [object|thing]",
        "Name the storage behind the cache where K and V of every layer are",
    ],
    "node": [
        "what is a node",
        "[define|give me a definition of|definition of] node in the radix tree",
        "[What does|And what does] a tree node store",
        "Is there one node per token, or can a node hold many tokens",
        "Is a node a machine in a cluster",
        "In Kubernetes a node is a computer. What is it in [yaie|yaie's tree]",
        "[i was wondering|i was trying to find out|Do you know] what fields a node of the tree has",
        "Which [pieces of information|details] are kept in each edge of the radix tree",
        "Does a node know which of its tokens have been computed already",
        "[Suppose|Imagine|Say] a prompt of 300 tokens is added to an empty tree. Do i get "
        "300 nodes or one",
        "tree node contents",
        "[Tell me|Tell us] what is inside a node",
        "[isn't|wait, isn't] a node just a single token like in a plain trie",
        "We want to export the radix tree to a graph viewer. What data does each "
        "[node|vertex] carry",
        "What is compressed about the edges of the tree",
        "Where does the tree remember the slots that belong to a stretch of tokens",
        "Half of a prefix was computed, the other half was not. Where is that [recorded|noted]",
        "SGLang has a TreeNode class. What does yours hold",
        "How is a stretch of tokens without branching represented in the tree",
        "[Explain|Please explain] nodes for someone reading the kvcache source",
        "Do nodes hold text, tensors or something else",
        "What's a single element of the radix tree made of",
        "node meaning please",
        "A node consists of which three things",
        "Why do i see a computed count on the elements of the tree",
        "How does the tree [link|tie] tokens to their slots",
        "i printed one item of the tree and it shows tokens, slots and a [number|value]. "
        "What is this",
        "[What do you call|What is your name for|What is your word for] a compressed edge of "
        "the radix tree",
        "Are a run of tokens and their slots kept together in the tree, and as what",
        "building block of the tree, what's in it",
        "Does the tree squeeze chains of tokens into one element, and what does that element "
        "remember",
    ],
    "path": [
        "what is a path",
        "[define|please define|how do you define] path in the tree",
        "Is a path a file location on disk in yaie's [glossary|docs]",
        "[What does|And what does] path mean when you talk about the radix tree",
        "How do i get from the root down to a node, and what's that [route|way] called",
        "[isn't|hm, isn't] a path just a URL of the API",
        "[i was wondering|i was trying to find out|Do you know] what a path spells out in "
        "token terms",
        "Following the tree from the top to some node gives me what",
        "[Tell me|Please tell me|Can you tell me] what the term path stands for",
        "If i walk from the root to a leaf and write down all the tokens, what have i got",
        "path vs node, what's [the difference|the distinction]",
        "The sentence says a sequence's path includes the node. What is meant by path "
        "[there|in that sentence]",
        "How is a whole prompt represented in the tree, given that a node is only one edge",
        "What's the name of the chain of nodes beginning at the root",
        "Suppose a prompt runs across four nodes. What do you call [the four together|all of "
        "them from the root on]",
        "path meaning [glossary|docs]",
        "Where does a path start and where does it end",
        "In a trie every node stands for a string. What is the equivalent in your tree",
        "Does a path correspond to a list of tokens",
        "[We're|i'm] drawing the radix tree on a whiteboard and someone asked what the line "
        "from top to bottom is called",
        "[What does|And what does] the route from the top of the tree to a given node amount to",
        "The docs keep saying path without meaning a folder. What do they mean",
        "Explain path in one [line|sentence] please",
        "root to node, what is that called",
        "Concatenate the tokens of every edge from the root on. What's the name for the result",
        "[i'm|We're] reading tree code with a variable called path and it holds no filename, "
        "so what is it",
        "[Which term|What word] describes the descent from the root through the tree",
        "Is a path a token sequence or a list of slots",
        "What identifies a prefix in the tree, seen from the root",
        "Can you describe what a [path|path through the tree] is",
        "Two leaves with the same parent share most of their what, going down from the root",
    ],
    "request": [
        "what is a request",
        "[define|please define|how do you define] request",
        "[What does|And what does] yaie understand by a request",
        "How does a request relate to its sequences",
        "Is a request the same as a sequence",
        "[i was wondering|i wonder|i am curious] how many sequences belong to one request",
        "One API call came in asking for three answers. Is that one request or [three|three "
        "requests]",
        "[isn't|hm, isn't] every sequence a request of its own",
        "[Tell me|Tell us] what counts as a request inside the engine",
        "request vs sequence, which one is the [caller|client]'s",
        "[What do you call|What is your name for|What is your word for] the thing a caller "
        "asked for",
        "Does a request contain sequences or the other way round",
        "In vLLM there's the SequenceGroup. What plays that [role|part] here",
        "We count load by requests in our dashboard. What precisely is one request in yaie's terms",
        "A client wants n answers to one prompt. What's the object that groups them",
        "Glossary entry for request please",
        "What stands above the sequences and groups them together",
        "request meaning in the engine",
        "Suppose i post one prompt with n set to 4. How many requests does the engine see, "
        "and how many [branches|sequences]",
        "Is it a request that the [caller|client] sends, or does the engine create it per answer",
        "From the engine's viewpoint, what's a single order from a client called and what "
        "does it consist of",
        "[How would you explain|How do i explain] the term request to a new team member",
        "[Which object|Which thing in the engine] represents the demand of a caller",
        "Do sequences have a parent, and what is it",
        "i confuse requests with sequences all the time, what's a request again",
        "What does a [caller|client]'s job break down into inside the engine",
        "the word request, is that an HTTP thing only or an engine term too",
        "Who owns the n sequences",
        "When somebody submits work to the engine, what do you name that unit of work",
        "The class Request has a list of sequences. What does it [stand for|represent]",
        "Could you spell out what a request is and what it has n of",
    ],
    "sequence": [
        "what is a sequence",
        "[define|give me a definition of|definition of] sequence in yaie",
        "What is a single live generation called",
        "What state does a running generation carry",
        "Is a sequence just a list of tokens, or something that is [alive|being generated]",
        "[i was wondering|i was trying to find out|Do you know] where the sampling state of "
        "an answer in progress is kept",
        "How does the engine keep track of where an answer has got to in the tree",
        "[isn't|hm, isn't] a sequence the same as a request",
        "[Tell me|Please tell me|Can you tell me] what makes up a sequence",
        "sequence meaning [glossary|docs]",
        "[Which object|Which thing in the engine] has the cursor into the tree",
        "Every answer in the making needs a position and a random generator. What holds "
        "[those|them]",
        "What's a branch that is still growing called",
        "[Suppose|Let us say|Assume] an answer is half written. What does the engine hold on "
        "to in order to go on with it",
        "In llama.cpp a sequence has a seq_id. What is a sequence [here|in yaie]",
        "When four samples are drawn, there are four of what running",
        "request vs sequence, which one is the live branch",
        "We want to show the active generations in our UI. What does the engine call them, "
        "and what do they [consist of|contain]",
        "[What does|And what does] the cursor in the tree belong to",
        "Where is the position of an ongoing answer stored",
        "Does each generation own a copy of its tokens or only a pointer into the tree",
        "[Explain|Please explain] the difference between a stored prefix and a live "
        "sequence: what's the latter",
        "A generation in flight, what is that in yaie's vocabulary",
        "What are the two [parts|ingredients] of a sequence",
        "Which thing grows the tree by one token each time it is sampled",
        "i need the engine's definition of sequence for our docs",
        "live generation object in the engine, what's it called",
        "Does temperature and seed state stick to the request or to the individual branch "
        "being generated",
        "The debugger shows objects with a cursor and a sampler. What [are they|do these "
        "represent]",
        "[How do you|How would one] name one of the answers while it is still being written",
        "What [exactly|precisely] ends when an answer is finished, in engine terms",
    ],
    "refs": [
        "what is refs",
        "refs [meaning|definition]",
        "What does the refs [number|value] on a node count",
        "Is refs the number of children of a node",
        "Why does this node show refs 3",
        "i printed the tree and every node has a field called refs. What does it [tell me|say]",
        "How does a node know that somebody is still using it",
        "[isn't|wait, isn't] refs how often a prefix was hit in total",
        "What goes up by one when another live generation passes through a node",
        "[i was wondering|i keep asking myself] what makes refs drop to zero",
        "[Tell me|Tell us] about the reference counter of the tree",
        "Three people are getting answers on the same system prompt right now. What's the "
        "refs of its node, and why",
        "Does the reference count include finished requests",
        "refs equals zero means what",
        "Like Python's garbage collector, do nodes have a reference count? What [is "
        "counted|does it count]",
        "vLLM keeps a ref_cnt per block. What's the similar [counter|count] here and what is "
        "it for",
        "What do i learn from the usage [counter|count] of a node",
        "[Suppose|Let us say|Assume] a stream finishes. What happens to the counter on the "
        "nodes along its path",
        "reference counting of nodes",
        "Which [counter|count] tells how many running sequences lean on a node",
        "When is a node's [counter|count] zero and what does that allow",
        "Is a node with refs 1 evictable",
        "What does refs [stand for|mean] in the source code",
        "How many live users has a node: where can i [see|read] that",
        "Is there a lock on nodes that are in use, or a counter",
        "[Explain|Please explain] refs to me like i'm reading kvcache for the first time",
        "My nodes never get evicted and their refs stay at 2. What does the 2 mean",
        "The count on the shared prefix is higher than on the branches below it. What's "
        "being [counted|tallied]",
        "What is tracked per node to know whether it's pinned",
        "Do idle cached prefixes have refs of zero",
        "who increments refs, cached prompts or sequences that are live",
    ],
    "row": [
        "what is a row",
        "[define|give me a definition of|definition of] row",
        "What does one row in a step [stand for|mean]",
        "Is a row a request or a token",
        "What is one line of the batch called",
        "i read YAIE_MAX_STEP_ROWS but what is [a row|one row] in the first place",
        "[isn't|hm, isn't] a row one whole prompt, like in a padded batch",
        "[i was wondering|i was trying to find out|Do you know] what the rows in a step are "
        "made of",
        "[Tell me|Please tell me|Can you tell me] what you mean by row",
        "In a classical batch each row is a sequence. Is that so in yaie as well",
        "How is a single token that's up for computing now called",
        "row meaning, batch",
        "A decode of one sequence adds how much to the batch, and what's the unit called",
        "[Suppose|Imagine|Say] ten sequences decode and one prompt of 50 tokens is "
        "prefilled. The batch has 60 of what",
        "What's the unit in which the work of a step is [counted|measured]",
        "Does the batch have padding, or is it flattened with a line per token",
        "We come from HF generate where the batch is prompts by length. What's a row "
        "[here|in yaie]",
        "[Which term|What word] is used for a token whose keys and values are about to be computed",
        "The hidden states tensor in a step has N lines. What's each of [them|the lines]",
        "row vs token, what's [the difference|the distinction]",
        "Is a row a database thing? i see it all over the scheduler",
        "The first dimension of the flattened batch, what does it index",
        "[Explain|Please explain] the word row for the glossary of our blog post",
        "How does the engine call a token that must be worked on in the current step",
        "My profiler says 512 rows in this step. 512 what",
        "Does one sequence being decoded take up one row",
        "what does a single row represent in the [forward pass|pass through the model]",
        "Already cached tokens aren't in the batch, only new ones are. What are those "
        "entries [named|called]",
        "What is an entry of the flattened batch",
        "Is a cached token also a row, or only one that is computed now",
        "i'd like to know what a row is before i touch the scheduler code",
    ],
    "segment": [
        "what is a segment",
        "[define|please define|how do you define] segment",
        "[What does|And what does] a segment tell the attention kernel",
        "Which rows attend to which node: how is that written down",
        "[i was wondering|i wonder|i am curious] how the engine knows that a range of rows "
        "reads the same stored keys",
        "[isn't|hm, isn't] a segment the same as an extent",
        "extent vs segment, what's the second one",
        "[Tell me|Tell us] what a segment consists of",
        "segment meaning in attention",
        "Is a segment a piece of text",
        "How do you describe a shared prefix together with everyone who [reads|attends to] "
        "it in this step",
        "What links a node's slots to the rows that read them",
        "[Suppose|Let us say|Assume] eight rows all look back at one system prompt. What's "
        "the record that pairs them with its slots",
        "In FlashInfer's cascade there are levels with index pointers. What do you feed it, "
        "what's one [unit|piece] called",
        "The kernel gets pairs of memory ranges and row ranges. What are these pairs",
        "Why are the rows of a segment always next to each other, and what else is in it",
        "What are the two parts that make up a segment",
        "In the attention code i keep meeting Segment objects. What do they [hold|contain]",
        "[Glossary|Glossary question]: segment",
        "How is it expressed that rows 4 to 11 attend to one particular node",
        "[Which structure|What kind of record] lets the kernel read a shared node once for a "
        "bunch of rows",
        "We'd like to write our own attention backend. What's a segment that we'd be handed",
        "Does a segment belong to one node or to several",
        "A [contiguous range|contiguous stretch] of rows plus one node's memory, what is "
        "that called",
        "[Explain|Please explain] segments, the thing between nodes and rows",
        "[What does|And what does] the attention backend loop over, node by node, with the "
        "readers of each",
        "Are segments about memory alone, or about who reads it too",
        "The word segment makes me think of memory segmentation. What's it mean [here|in yaie]",
        "who reads what in a step, per node, what's the term",
        "Could you tell a newcomer what a segment is in the engine's attention",
        "Each node in use this step gives rise to one of which objects, naming its memory "
        "and its readers",
    ],
    "step_plan": [
        "what is the step plan",
        "step plan contents",
        "What's written in the plan of a step",
        "In which order do the rows of a step come",
        "[What does|And what does] the scheduler hand to the model for one step",
        "i was wondering why the batch is sorted depth first and where that's [laid down|recorded]",
        "Is the batch in order of arrival or in tree order",
        "[Tell me|Let me know|Remind me] what a step plan lists",
        "[isn't|hm, isn't] a step plan a kind of to-do list for the user",
        "Not every row needs logits. Where is it noted which ones [do|need them]",
        "[Which structure|What kind of record] describes a whole forward pass: its rows, "
        "segments and outputs",
        "[define|give me a definition of|definition of] step plan",
        "Does the engine compute logits for all rows, or does something say which",
        "Before each [forward pass|pass through the model] something is drawn up from the "
        "tree. What is it and what's in it",
        "Suppose i want to log what exactly the engine will compute next. Which object do i "
        "print, and what does it [show|list]",
        "How are the rows arranged so that those sharing a node sit side by side",
        "vLLM has a SchedulerOutput. What's the thing called here and what does it list",
        "[We are|We're|i'm] debugging one iteration of the engine. Where do we see all its "
        "rows and segments at once",
        "What are the three things in the plan for a step",
        "rows, segments and logits flags together make up what",
        "Why are the rows in depth-first order, and of what document of the step is that a "
        "property",
        "[Explain|Please explain] the plan that the engine makes for every iteration",
        "[Is there|Do you have] a batch description that the attention backends receive, and "
        "what does it hold",
        "The tree is traversed to build the batch. What comes out of that [walk|traversal]",
        "What tells the model runner for which tokens to compute next-token scores",
        "tree order of the batch, which object",
        "i'm porting a backend and my run function gets a plan argument. What should i "
        "expect [inside|in it]",
        "How is the work of a single engine [iteration|cycle] written down",
        "Depth-first or breadth-first, how does a step sort its rows",
        "Can you sum up what the plan of one step says",
        "Which rows are sampled from at the end of a [forward pass|pass through the model], "
        "and where does the engine list this",
    ],
}
