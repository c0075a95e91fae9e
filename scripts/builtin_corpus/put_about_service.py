"""Indirect and contrasting wordings: commands, the http service, its answers and its settings.

Most facts have a neighbour that shares their vocabulary; here people say which of the two they
mean, or tell what they see without the usual word. Called by `asked.py`, which merges the tables;
keys and patterns as in `asked_about_use.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "install": [
        "not how to start it but how to get it [onto my disk|onto my machine] [in the first "
        "place|to begin with]",
        "the server isn't my question yet, [first|before that] i must have the package. [how do "
        "i get that|where from|which command]",
        "i know which python it wants; now [how do i add|what do i type to add] the package "
        "[itself|to my venv]",
        "suppose i have [a fresh laptop|an empty virtualenv|a blank vm] with python 3.12, what "
        "[comes next|do i type] to have yaie on it",
        "[is|would] one pip line [be |]enough, or [must|do] i [also|in addition] fetch [a "
        "model|weights] separately",
        "does the package [bring|include|ship] a model [of its own|already], or do i "
        "[install|add] one [by hand|afterwards]",
        "my shell says [yaie: command not found|no such command yaie|command yaie is unknown], "
        "what have i [missed|forgotten]",
        "[import fails|python stops] with no module named yaie. [how do i fix that|what's "
        "missing|what do i have to install]",
        "please how i can make [installing|installation] of this [software|program|package], i "
        "am [new|beginner]",
        "yaie [pip name|package name|on pypi|pip install line]",
        "do i need [a compiler|docker|conda|cuda] [before i can have|to get] the cpu version [of "
        "yaie|]",
        "i'm [sold|convinced|curious], so how does the thing get onto my "
        "[computer|laptop|workstation]",
        "what are the dependencies that i must [add|set up] myself for the [cpu|processor-only] "
        "version",
        "our [wiki|readme|setup page] lacks the line that [gets people|gives newcomers] yaie, "
        "what [should|does] it say",
        "nothing is on this [box|machine] yet. [what's step one|what is the first command] [for "
        "yaie|with yaie]",
    ],
    "make_serve": [
        "i don't mean yaie serve, i mean the make target: [what does|what exactly does] it "
        "[bring up|start|do]",
        "yaie serve i know, but what is the [shortcut|equivalent] in the [makefile|repository]",
        "besides make test there is [another target|a target for the api]; what [does it "
        "do|comes up when i type it]",
        "suppose i [cloned|checked out] the repo and typed make serve. what [would be "
        "running|runs] [then|afterwards]",
        "[which|what] model answers after make serve, and on [which|what] port",
        "i'm hacking on the source and want the api up with [one word after make|a make target], "
        "[which|what is it]",
        "make serve printed some lines and now [sits there|hangs|waits], what is it [doing|up to]",
        "is there something in the makefile with which a [developer|contributor] gets the "
        "[api|http server] up",
        "in the [readme|contributing guide|docs] it says make serve, is that the "
        "[tests|server|demo] or what",
        "make [target|goal|rule] [server|api|8000]",
        "the [repo|checkout|source folder] way of starting the api, not the [installed "
        "command|yaie command], please",
        "will make serve [download|fetch|ask for] a model, or which one does it [take|use]",
        "me want start server out of [git folder|cloned repository] with make, what is the "
        "[target|word]",
        "[can|could] you explain the make target that [launches|starts] the api [server|] from "
        "the [repository|checkout]",
        "does the [makefile|repo] only have targets for tests, or can it also [start|launch] the "
        "api",
    ],
    "make_test": [
        "i know make serve, but which target [checks|verifies] my [changes|patch]",
        "not a benchmark, i only want to know whether [the code is correct|everything passes] "
        "[after my edit|now]",
        "doctor checks my machine; [what|but what|and what] checks [the code itself|the source "
        "code|your code]",
        "suppose my patch broke something, which [single |]command would [show it|tell me|turn "
        "red]",
        "is there a way to have [the suite|all your tests] run on a laptop that is "
        "[offline|without internet|without a gpu]",
        "before i [push|commit|open a pull request], what do i [run|call] so that ci [stays "
        "green|won't complain]",
        "must i [have a graphics card|download weights|be online] for the [test suite|unit tests]",
        "how do you [developers|people] convince yourselves that [a change|a commit] is "
        "[fine|safe]",
        "[pytest|tests|ci|unit tests] yaie [command|how]",
        "i edited a file in the tree. now i want all [tests|checks] to [run once|run through], how",
        "please how to make run of [all the test|whole tests] in this [project|repository]",
        "i don't want the speed, i want [pass or fail|the tests], [which command|what do i type]",
        "reviewers ask whether the [suite|test suite] [is green|passes], how do i [find out|check]",
        "is everything tested on the [cpu|processor], or would [ci|the suite] need [cuda|a gpu]",
        "a friend [sent|gave] me a fix for your repo, with which command do i [run its tests|see "
        "that all tests pass]",
    ],
    "one_off": [
        "not a conversation, only [one question|one prompt], then [back to my shell|done]. "
        "[how|which command]",
        "chat keeps the session open, but i want the program to [end|exit] after its "
        "[first|only] reply",
        "there is yaie chat and yaie serve; what if i want [neither|none of both], only [a "
        "reply|an answer] to one prompt",
        "suppose i write a prompt in quotes [after|behind] the command yaie, [what happens|what "
        "will it do]",
        "can [cron|a shell script|a git hook] get one answer from the model [without http|with "
        "no server]",
        "i have [no server|nothing] running and one [question|prompt]. what's the "
        "[shortest|quickest] way",
        "is the word run [needed|required] before the prompt or can it be [left out|omitted]",
        "does the command [stay open|wait for more|return at once] when i give it a prompt [as "
        "argument|in quotes]",
        "terminal [single prompt|one prompt] no [server|chat]",
        "please, i only like to ask [one time|one single thing] to model from "
        "[console|terminal], how i do",
        "the docs mention yaie run. is that for [serving|chatting|one answer], and what does it "
        "[print|do]",
        "i typed yaie alone; what must [follow|come after it] to get [one answer|a single reply]",
        "how would you show the model to a [visitor|friend] with [a single command|one line] "
        "that [prints a reply|answers and ends]",
        "without piping anything and without a chat, how do i [put a question to|ask] the model "
        "[once|a single time]",
        "i hate [interactive programs|sessions], let the model answer my [sentence|prompt] and "
        "quit",
    ],
    "pipe": [
        "i know how to give a prompt; how do i add [a file's contents|a document] to it [in the "
        "shell|on the command line]",
        "not just a prompt in quotes but also [a long file|the output of another command], how "
        "do both [reach|get to] the model",
        "suppose a log is [too long|far too big] to paste as an argument, how does [the "
        "command|yaie] get it",
        "does yaie read [stdin|standard input], and what becomes of [the prompt|my question] then",
        "if text comes in through [stdin|a pipe] and i also give a prompt, is one of them "
        "[ignored|lost|dropped]",
        "i'd like [git diff|dmesg|curl|ls] on the left and the model on the right of a "
        "[pipe|pipeline]",
        "[stdin|piped input|cat file] yaie [example|prompt|how]",
        "the model should [summarise|translate|explain] notes.md and i'm in [bash|zsh], what's "
        "the [line|command]",
        "my [csv|report|error log] should be read by the model without [copy and paste|pasting], "
        "from the [shell|terminal]",
        "please how to give content of [file|document] to [yaie|the model] by [pipe|standard "
        "input]",
        "can the tool be [the last link|part] of a chain of [unix|shell] commands, "
        "[reading|taking] what the others print",
        "one-off prompts work [fine|well], but where do i put the [document|text] that they are "
        "about",
        "is there [an option|a flag] for reading a file, or do i [use|take] a pipe for that",
        "i have a prompt [and|plus] a text file, [show|give] me the [line|command] that "
        "[joins|combines] them",
        "whatever [a program|grep|tail] prints should [land|end up] in the prompt, [how do i "
        "write that|how]",
    ],
    "chat": [
        "not one answer and exit, but a [longer|real] talk with the model [in my terminal|in the "
        "console]",
        "i don't mean the http endpoint, i mean chatting [by keyboard|in the terminal], "
        "[how|which command]",
        "yaie run forgets everything after [one answer|the reply]; what do i use for [a "
        "dialogue|many turns]",
        "ctrl-c is for the server; which [key|keys] [leaves|ends] the conversation [in the "
        "terminal|]",
        "suppose i want to ask a follow-up in the [shell|terminal], which command keeps [the "
        "history|my earlier turns]",
        "is there something like [ollama run|a repl|a prompt with a cursor] where i type and the "
        "model [answers|replies]",
        "i'm stuck in the interactive [session|conversation], how do i get [out|back to bash]",
        "does the command line have [a mode|something] for talking [back and forth|turn by turn] "
        "with the model",
        "terminal [chat|conversation|dialogue] [command|exit key|yaie]",
        "no browser, no http, no json: i [just|simply] want to [talk|speak] with the model",
        "please how i can speak with model [many times|more long] in [console|terminal] and how "
        "to [exit|go out]",
        "my grandmother should [sit down|come] and talk to the model; what do i start [for "
        "her|in the terminal]",
        "which subcommand [opens|starts] a session that remembers [the last question|what was "
        "said]",
        "does ctrl-d do [anything|something] in the [talking mode|conversation], and what "
        "[started|opens] that mode",
        "[quit|exit|bye] does nothing in the [interactive conversation|terminal conversation], "
        "how do i leave",
    ],
    "serve": [
        "not from the repository with make, but from the installed package: what "
        "[starts|launches] the [api|http server]",
        "i want the api, not the terminal chat. [which|what] [command|subcommand] [is that|do i "
        "type]",
        "which command must be running before [curl|my client|the sdk] can reach [anything|the "
        "api]",
        "[suppose|imagine|let's say] i've only pip-installed it, what one command gives me an "
        "[openai-like|openai-compatible] api",
        "my app says [connection refused|cannot connect] because i haven't [started|launched] "
        "anything, what do i start",
        "the model doesn't matter to me, the [small|default] one is fine, how do i [get the api "
        "up|start the api]",
        "does the api server need [arguments|flags|a config], or is [there a plain command|one "
        "command enough]",
        "where does the server [listen|answer] after the plain start command, and [what is that "
        "command|which model does it have]",
        "start [http|api|openai] [server|service] command",
        "please how to make the [api|service] running on my [computer|pc], which order to type",
        "i need a [local|private] stand-in for openai's api, how do i [turn it on|bring it up]",
        "in the second terminal i'll run my client; [what|but what|and what] do i run in the "
        "[first|other one]",
        "what's the counterpart of [vllm serve|ollama serve|llama-server] [here|in yaie]",
        "how do i go from [installed|pip install] to a [listening|running] server",
        "[my editor|my bot|a script] should talk to yaie over http, so what has to be "
        "[started|launched] on the [command line|shell]",
    ],
    "serve_model": [
        "the server runs, but with the built-in toy; how do i [start it with|give it] "
        "[qwen|llama|my fine-tune]",
        "not for one prompt but for the whole server: how do i [choose|name] [another|the] model",
        "-m is for one-off prompts; what do i do for the [api|server] if i want [qwen|another "
        "model] there",
        "[i know|i understand|i've understood] how to start the server, but where does the "
        "model's name [go|belong|stand]",
        "suppose the api should answer with a [7b|14b|bigger] model, what would the [start "
        "command|command line] be",
        "can serve take a [hugging face id|model name|repository name] as argument, or [is there "
        "a variable|how is it done]",
        "all [answers|replies] from the api are silly because the tiny model is loaded, how do i "
        "[serve|load] [a real one|a better one]",
        "is the served model fixed, or can i [put|say] [a name|another one] when i start the "
        "server",
        "two ways to [tell|make] the server [which model|what model] to load, please",
        "serve [qwen|llama|mistral|gemma] [instead of builtin|not builtin|command]",
        "please how to put other [model|llm] inside the [server|api], not the small one",
        "we fine-tuned [something|a model] and want it [behind|served by] the openai api of "
        "yaie, what do i [type|start]",
        "i want Qwen/Qwen3-0.6B [served|over http|behind the api], what's the [line|command]",
        "which command makes the api use [a checkpoint from hugging face|a hub model] [rather "
        "than|instead of] the one in the package",
        "builtin is not [enough|clever enough] for our [customers|users], how do i launch the "
        "service with [something better|another model]",
    ],
    "demo": [
        "not a benchmark with tokens per second, just [a show|a demonstration] of what the cache "
        "[saves|brings]",
        "bench measures speed; which command [shows|compares] cache on [and|against] cache off",
        "i'd like to [see|watch] the benefit of a shared system prompt [myself|live], what do i "
        "run",
        "suppose a sceptic [stands|sits] beside me, what do i run to [prove|show] that sharing "
        "prefixes [pays off|saves work]",
        "is there a built-in [example|showcase] that needs [no network|no internet|no download] "
        "and shows the savings",
        "how many requests does the [demonstration|showcase] send, and what do they [share|have "
        "in common]",
        "[which|what] command runs everything twice, [once without and once with|first without, "
        "then with] the cache",
        "i have [installed it|it installed]. what can i [run|try] to see [something "
        "impressive|the point of it] at once",
        "[savings|cache effect] [demo|demonstration|showcase] [command|yaie]",
        "please show how much is [saved|economised] by the cache, is some command [for "
        "this|existing]",
        "the readme talks of sixteen [requests|prompts] with one system prompt, what "
        "[runs|sends] them",
        "does the demonstration [need wifi|go online|download a model], and what does it "
        "[print|show]",
        "i don't want numbers of one request from the usage block, i want a [before and "
        "after|with and without] [comparison|show]",
        "for a [talk|meetup|lecture] i need one command that [shows off|demonstrates] the cache",
        "what would i [see|get] on [the|my] screen when i type yaie and the word demo",
    ],
    "bench_tree": [
        "[not|i don't mean] the whole engine, only the tree: which benchmark [is that|do i run]",
        "bench offline includes the model; which one leaves it [out|aside] and [times|measures] "
        "only the tree",
        "i changed the [eviction|matching|insertion] code, which benchmark shows whether it got "
        "[slower|faster]",
        "suppose i have no weights at all, which [benchmark|speed test] still [runs|makes sense]",
        "how quick is [a prefix lookup|matching|growing a branch] on its own, [what measures "
        "that|which command]",
        "tokens per second don't interest me; [i want|i need|we need] timings of the [radix "
        "tree|data structure]",
        "can the [data structure|cache structure] be [timed|measured] without [a forward "
        "pass|any model]",
        "is there a [microbenchmark|small benchmark] for [match, grow and evict|the tree "
        "operations]",
        "[tree|radix] [benchmark|speed|timing] [only|no model]",
        "please i need to measure only [tree|the radix tree], without network of "
        "[neurons|layers], which command",
        "my profiler points at the tree. which command gives me [clean numbers|figures] for [it "
        "alone|just that]",
        "which of the two bench commands never [touches|loads] [a model|weights]",
        "does yaie bench tree [measure attention|run the model|time the engine], or what "
        "[exactly|does it cover]",
        "for a blog post about radix trees i want to [clock|time] yours, [how|with what]",
        "eviction feels [slow|sluggish]; what would [time|measure] it apart from [attention and "
        "sampling|the model]",
    ],
    "bench_offline": [
        "[not|i don't mean] the tree alone but the whole engine: which benchmark [is that|do i "
        "run]",
        "bench tree has no model in it; which one [measures|times] [real generation|the complete "
        "engine]",
        "the demo only shows savings; i need [throughput|tokens per second] and [latency|time to "
        "first token]",
        "i don't want to scrape metrics from a server, [i want|i need|we need] a [speed "
        "test|benchmark] in one process",
        "suppose i bought [a new cpu|more memory], which command tells me how much "
        "[faster|quicker] generation has become",
        "how many tokens a second does [my machine|this pc] [manage|reach], [what measures "
        "it|which command]",
        "[does|would|will] any command report ttft without [a server|http|a client]",
        "what should i run on [both machines|two laptops] to compare how [fast|quickly] they "
        "generate",
        "engine [throughput|ttft|speed] [benchmark|measure] command",
        "please which command is measuring [the speed|how much token in second] of [all the "
        "engine|complete engine]",
        "the answers come slowly; i want a [number|figure] for the engine's speed without the "
        "[http part|server]",
        "is there a benchmark that [also|at the end] says how many tokens were [reused|taken "
        "from the cache], next to the speed",
        "what does the offline benchmark [measure|report], the tree or the [engine|model too]",
        "i need a baseline of [throughput|generation speed] before i [tune|change] settings, how "
        "do i get it",
        "[vendor|hardware] comparison: [what|which yaie command] do i run to get tokens per second",
    ],
    "doctor": [
        "not the server's health but my [installation's|machine's]: what [checks|examines] it",
        "make test checks the code; [what|but what|and what] checks my "
        "[setup|computer|environment]",
        "yaie won't [start|run] and i have no idea why, what do i run [first|now]",
        "suppose my torch is [broken|too old], which command would [say so|notice]",
        "is the port free, is there enough memory, is python right: [what|which command] [checks "
        "all that|tells me]",
        "some [setting|YAIE_ variable] of mine may be wrong, [which command|what] looks at the "
        "settings and says [so|what is wrong]",
        "a colleague's laptop [behaves oddly|fails], what should he [run|type] to get a diagnosis",
        "can the tool [inspect|diagnose] [itself|its own environment] before i [file a bug|open "
        "an issue]",
        "yaie [diagnose|self check|troubleshooting|sanity check] command",
        "please what to do when [nothing works|it is not working] and i don't know [the "
        "reason|why]",
        "does anything tell me whether my [gpu|device] is seen and my [python|torch] is fine",
        "i [just|freshly] installed it and want to know if my machine is [all right|suitable], "
        "not run the test suite",
        "which command goes through [python, torch and memory|the device, the port and the "
        "settings] and [reports|lists] problems",
        "instead of reading [tracebacks|logs], i'd like a command that says what's [wrong "
        "with|missing on] my machine",
        "is my [environment|computer] [okay|ready], and which command [answers that|can tell]",
    ],
    "models_cmd": [
        "not over http but in the shell: how do i [list|see] the models [i have|on my disk]",
        "GET /v1/models is for the server; what do i type in the [terminal|shell] to see what's "
        "[on this machine|on my disk]",
        "i [forgot|don't remember] which checkpoints i downloaded, which command [shows|lists] "
        "them",
        "is my architecture among the [supported|known] ones, and which [command|subcommand] "
        "[says so|lists them]",
        "[suppose|imagine|let's say] the server isn't running, how do i find out which models "
        "are [here|on this computer]",
        "what [have|did] i got on disk that yaie could [load|run], [any command for that|how do "
        "i see it]",
        "ollama list shows my models there; what's [the same|that] in [yaie|your tool]",
        "[local|installed|available] models [list|overview] command line",
        "please show all [model|models] in my [computer|pc], which order",
        "does the tool know [mamba|phi|gemma|falcon], where is the list of architectures "
        "[printed|shown]",
        "i moved a checkpoint into the [cache folder|hugging face cache]; does yaie [see|find] "
        "it, how do i check in the shell",
        "before picking a name for yaie serve i'd like to see the [candidates|choices] on this "
        "[machine|laptop]",
        "no server and no curl, just [print|tell me] which [llms|checkpoints] are on this machine",
        "which subcommand gives both my local checkpoints and the [families|architectures] you "
        "[support|can run]",
        "i want [an inventory|a list] of [weights|checkpoints] on this box [from|by] the yaie "
        "command",
    ],
    "flag_m": [
        "not the server, only my one prompt should use [qwen|another model]: which [flag|option]",
        "yaie serve takes a name; what do i add when i [just|only] ask one prompt [with another "
        "model|of qwen]",
        "i know how to ask a quick prompt, but how do i [say|tell it] which model should "
        "[answer|reply] to it",
        'suppose yaie "hello" should be answered by [qwen|llama|gemma], what goes [in '
        "between|before the prompt]",
        "is there a [short|one-letter] flag for the model on the command line, and how is it "
        "[written|used]",
        "the one-off command always takes the small model, what do i [add|type] to change that "
        "for one [call|prompt]",
        "without touching any variable, how do i pick [another model|a different llm] for one "
        "[shell|command line] prompt",
        "same prompt, two models, no server: [which|what] option do i [vary|change] between the "
        "calls",
        "[flag|option|switch] model [one prompt|one-off prompt]",
        "please which letter i put for other [model|llm] when i write [prompt|question] in the "
        "shell",
        'does yaie "..." have an option to [take|use] a model from the hub, [what is it '
        "called|which one]",
        "i tried --qwen before my prompt and it was [rejected|wrong], what is the [right|proper] "
        "flag",
        "one quick [question|prompt] to a better model from bash, what must i [insert|put in]",
        "what does -m [do|choose|mean] [when|if] i put it before a prompt",
        "[not|i don't mean] YAIE_MODEL and not serve, i mean the little option [before|in front "
        "of] the prompt that names a model",
    ],
    "help": [
        "not what is wrong with my machine, but which [options|flags] a command [has|takes]",
        "i don't know the commands of [yaie|the tool] by heart, what prints [them|an overview]",
        "where in the terminal do i [read|see] what [serve|bench|chat|demo] accepts as options",
        "[suppose|imagine|let's say] i forgot the name of a flag, how do i look it up [in the "
        "shell|without a browser]",
        "is there [a man page|a usage text|a summary of commands] [in the tool|on the command "
        "line]",
        "i typed a wrong [option|subcommand], how do i [get|see] the right ones",
        "yaie [usage|options|all commands|subcommands list]",
        "please how to see [all the commands|what commands exist] of this [tool|program]",
        "what can the tool do apart from [serve|chat|demo], is there [a list|an overview] i can "
        "print",
        "which [word|flag] do i put after [any command|a subcommand] so that it explains itself",
        "the list of models isn't what i [need|want], i need the list of "
        "[subcommands|commands|options]",
        "i'm new [to the tool|here] and want the tool to tell me [its|what] commands [there "
        "are|exist] in the terminal",
        "how do i learn what a command's flags [mean|do] without reading the [website|docs]",
        "does every [command|subcommand] explain its [flags|options], and how do i [ask for "
        "that|see it]",
        "[rtfm|read the manual], they say, but where is the manual [in the terminal|inside the "
        "program]",
    ],
    "stop_server": [
        "not the chat but the server: how do i [end|stop] it [properly|]",
        "ctrl-d leaves the chat; what [ends|stops] the [server|api]",
        "[i know|i understand|i've understood] how to start it, but how do i make the api [go "
        "away|stop] again",
        "suppose someone is [reading a stream|in the middle of an answer] when i hit ctrl-c, is "
        "it [cut off|lost]",
        "which signal should [systemd|kubernetes|my script] send so that the server "
        "[leaves|ends] [cleanly|gracefully]",
        "can i just kill the [server|api process], or are there [open streams|running answers] "
        "to think of",
        "port 8000 is held by my own yaie server from this morning, [how do i|how can i|how "
        "would i] [end|stop] that server",
        "[shut down|stop|end] [server|api] [gracefully|clean|command]",
        "please how to [close|finish] the server without [break|hurt] the running answers",
        "does the service finish [running|open] streams after [SIGTERM|sigterm|ctrl-c]",
        "i want [to go home|my terminal back], how is the running [server|api] ended",
        "what do i press in the window where the [api|server] is running to [end|stop] it",
        "we redeploy every night; how should the old [server|instance] be told to [leave|quit]",
        "is SIGTERM [handled|respected] or do i need SIGKILL to [stop|end] the [server|service]",
        "the server is no longer [needed|wanted], [bring it down|end it] without hurting "
        "[clients|open streams]",
    ],
    "json_flag": [
        "not json from the model but json from the [command|cli] itself: which [option|flag]",
        "response_format is for answers of the model; what makes the [command's|tool's] result "
        "[machine-readable|json]",
        "i want to feed the [benchmark's|doctor's] result into [jq|python|a database]",
        "suppose a script [reads|parses] what yaie bench prints, how do i make that "
        "[stable|parseable]",
        "[can|could] the output of [doctor|models|bench] be [structured|something other than text]",
        "i'm parsing your tables with [awk|regular expressions|sed], surely there's a better "
        "[way|format]",
        "cli [output|result] [json|structured|machine readable] [flag|option]",
        "please how to take result of [the command|the tool] in json form, for my [program|script]",
        "GET /stats [is|gives] json over http, but what about the [commands|command line]",
        "where does the json go when i ask [a command|the cli] for it, to [a file|standard output]",
        "one word i can add to [any|a] yaie command so that [a program|ci] can read its "
        "[result|output]",
        "human-friendly tables are nice, but my [pipeline|ci job] wants [objects|json] from the "
        "[command|tool]",
        "does the command line tool have a [switch|flag] for [json|structured] results",
        "i'd rather have [keys and values|an object] than a [pretty table|text report] from the "
        "[bench|doctor] command",
        "our [dashboard|nightly job] collects the [bench|demo] command's numbers, in which "
        "[format|way] can the command print them for it",
    ],
    "port": [
        "[not|i don't mean] the address but the number [after the colon|behind localhost]: what "
        "is it by default",
        "[i know|i understand|i've understood] it binds to 127.0.0.1, but [on which number|with "
        "which port]",
        "the host is [fine|good] as it is, i only need to change the [port|number it listens on]",
        "suppose 8000 is [taken|busy] by [django|another app], how do i move yaie",
        "i start two servers and the second says address already in use, [what do i|what should "
        "i|what must i] [change|add]",
        "which number do i [open|allow] in the firewall [for yaie|for the api]",
        "[http|api|server] port [default|change|flag]",
        "please on what [number of port|port] is [listening|waiting] the server, and how to "
        "[change|modify] it",
        "can i have it on [9000|8080|5001] instead, and with [which|what] flag",
        "is it 80, [443|3000|5000] or something else that the server [uses|listens on] by default",
        "localhost without a number doesn't connect, what [number|port] do i [add|append]",
        "--host i know, but [what is|what's] the option for the [port|number]",
        "my reverse proxy needs the upstream [port|port number], what is [it|yours] if nothing "
        "was [set|changed]",
        "how do i make the api [listen|answer] on a different [port|number] than the "
        "[usual|standard] one",
        "8000 is what i need for my own app, can your server [go|listen] [elsewhere|on another "
        "number]",
    ],
    "host": [
        "[not|i don't mean] the port but the interface it binds to: what's the default and how "
        "do i [open it|change it]",
        "i know the port is 8000, but on which [address|interface] does it [listen|bind]",
        "the url works on this machine but not from [my phone|the next room|another laptop], "
        "what do i [change|set]",
        "suppose a colleague in the same [network|office] should use my server, what flag do i "
        "[need|start it with]",
        "is the server reachable from [outside|other machines|the internet] if i [just|simply] "
        "start it",
        "0.0.0.0 or 127.0.0.1, which one is the [default|standard], and [how do i|how can i|how "
        "would i] get the other",
        "[bind address|listen address|expose to lan] [yaie|server|flag]",
        "please how i can let other [computer|computers] to [connect|come] to the server",
        "in docker the port is mapped and still [nothing answers|no connection], i think it only "
        "listens on [localhost|loopback]",
        "--port i know, but [which|what] option makes it listen on all [interfaces|addresses]",
        "am i [exposed|visible] to the whole network by default, or does only [my own "
        "machine|this computer] get in",
        "without any api key, is my [fresh|newly started] server open to [the whole "
        "lan|strangers in my network] by default",
        "my [tablet|phone|nas] gets no connection while the [same machine|server's own browser] "
        "does, how do i open the server",
        "which [interface|network address] is used when i give no [--host|host option]",
        "i'd like to [restrict|open] the server to [this machine|the lan], what [is the "
        "default|flag decides that]",
    ],
    "base_url": [
        "not only the port, the full [url|address] that the openai client wants, [with the "
        "version part|with /v1]",
        "i know how to start the server; what do i [give|hand] the openai [client|sdk] as address",
        "127.0.0.1:8000 alone gives 404 in my sdk, what [belongs|goes] [after it|at the end]",
        "suppose my app has a field called [base_url|api base|OPENAI_BASE_URL], what do i "
        "[enter|put there]",
        "[which|what] path do i append to the server's address for the [openai library|openai sdk]",
        "does the client's address end in /v1 or [not|without it], and what is [the whole|all of "
        "it]",
        "openai [client|sdk] [base_url|address|endpoint setting] yaie",
        "please which [url|address] i write in the [client|library] of openai",
        "my code is written for api.openai.com, i want to [swap|replace] only the [url|address], "
        "[by what|with what]",
        "langchain's [ChatOpenAI|openai class] should talk to yaie, which [url|base address] do "
        "i pass",
        "not one endpoint but the common [beginning|root] of all api urls, [what is it|please]",
        "[continue|cursor|open webui|librechat] asks for an openai-compatible url, what do i "
        "[type|paste] there",
        "where does the sdk have to point so that it [finds|reaches] my [local|own] server",
        "[fill in the blank|complete this]: client = OpenAI(base_url=[what|...])",
        "the server is up on the default port. what's the [address|url] for [openai clients|an "
        "openai-compatible plugin]",
    ],
    "uvicorn": [
        "not with your own command but with [an asgi server|uvicorn]: how is the app "
        "[started|called]",
        "yaie serve and make serve i know; [how|but how|and how] do i do it with [uvicorn|plain "
        "uvicorn]",
        "what is the [module and name|import string] of the asgi app, so that "
        "[uvicorn|hypercorn|gunicorn] finds it",
        "suppose our platform only starts [asgi apps|python web apps], what do i [tell it|give "
        "it] for yaie",
        "if the app is started [by uvicorn|without the yaie command], where do its "
        "[settings|options] come from",
        "uvicorn main:app fails [here|for yaie], what is the [right|correct] [name|target]",
        "[asgi|uvicorn] [target|app name|import path] yaie",
        "[please|please tell,|hello,] how to run with uvicorn, which is the [name of "
        "app|application name]",
        "which [file|module] holds the web app, [server.main|server.app|server.api] or what, for "
        "starting with uvicorn",
        "i'd like [uvicorn's reload|several uvicorn flags] while i develop, so how do i "
        "[start|launch] the app [with it|that way]",
        "can the api be [hosted|run] by my own [uvicorn|asgi server], and how does it then "
        "[get|read] its settings",
        "my procfile [starts|launches] everything with uvicorn, which [line|target] is it for "
        "the api",
        "yaie serve parses flags, but uvicorn has [none of those|no such flags]. [how do i "
        "configure it|where do settings come from] then",
        "is the api a [normal|plain] asgi app that [a third-party server|uvicorn] can [load|start]",
        "[replace|swap] the yaie serve command by uvicorn, what do i [write|type]",
    ],
    "ep_chat": [
        "[not|i don't mean] the raw prompt endpoint, but the one that takes [messages|roles and "
        "contents]: which path",
        "/v1/completions wants a string; [where|but where|and where] do i [post|send] a list of "
        "messages",
        "i don't mean yaie chat in the terminal, i mean [over http|the http path] for a "
        "[conversation|dialogue]",
        "suppose i have system, user and assistant [turns|messages], which [url|path] "
        "[accepts|takes] them",
        "[which|what] endpoint stands behind client.chat.completions.create, and what does it "
        "[want|take]",
        "my bot [posts|sends] role-and-content objects, to which [path|route]",
        "curl a [message|conversation|dialogue] to yaie: [path|method and path]",
        "please where to send the [messages|conversation] with http, which [address|path]",
        "is there an http [route|path] that answers like openai's chat [api|endpoint]",
        "i have no raw text but a [history|list] of who said what, where is that [posted|sent]",
        "the system prompt and the question must stay [separate|two messages]; which endpoint "
        "[keeps|takes] them so",
        "GET on the chat path says method not allowed. which [method|verb] and path are right "
        "for [messages|chat]",
        "my web page has a chat box, where does its [backend|javascript] [post|send] the messages",
        "which route [applies|uses] the chat format [rather than|instead of] continuing bare text",
        "endpoint [messages|roles|system and user] [http|post]",
    ],
    "ep_completions": [
        "[not|i don't mean] the chat endpoint, but the one that [continues|completes] plain "
        "text: which path",
        "/v1/chat/completions wants messages; where do i [post|send] a bare [string|prompt]",
        "i have no roles, no messages, just [text to be continued|a raw prompt] over http, "
        "[where to|which path]",
        "suppose i tokenised the prompt myself, where can i [post|send] the [ids|token ids] over "
        "http",
        "which endpoint takes several prompts [in one call|at once], as a list of [strings|texts]",
        "my base model knows no chat format, which [route|endpoint] just [continues|goes on "
        "with] my text",
        "[raw|plain|bare] prompt [endpoint|path|http]",
        "please where to send [simple text|text without roles] to be [continued|completed] by http",
        "is openai's old [completions|text] api there as well, next to the [chat one|one with "
        "messages]",
        "the evaluation harness [sends|posts] prompt instead of messages, which [path|route] "
        "does it need",
        "i don't want a template around my text, [which|what] http path leaves it [as it "
        "is|untouched]",
        "what may the prompt field [contain|be] in the non-chat [endpoint|route]",
        "fill-in code [completion|continuation] in my editor sends bare text, to which "
        "[path|endpoint]",
        "yaie run is for the shell; which http path [takes|accepts] a [single raw|plain] prompt",
        '"once upon a" should be [continued|carried on] over http, with no [messages|roles] at '
        "all, [where|path]",
    ],
    "ep_models": [
        "not in the shell but over http: how does a client [see|learn] which models [are "
        "served|the server has]",
        "yaie models is a command; what is the [http path|route] for [the same thing|listing "
        "models]",
        "model_not_found came back, so which [request|url] tells me the [names|ids] that would "
        "have worked",
        "suppose i know nothing about the server but its [address|url], how do i ask for its "
        "[models|model ids]",
        "my chat ui fills its model [drop-down|menu] from some [path|endpoint], which one is it "
        "[here|]",
        "does client.models.list [work|return anything], and which [path|url] does it call",
        "[curl|http|rest] list of [models|served models] yaie",
        "please which address gives me the names of the [model|models] in the [server|api]",
        "which id do i put in the model field, and which [GET request|http call] [shows|returns] "
        "it",
        "the operator [changed|swapped] the model, how can my program [notice|check that] over "
        "http",
        "not the names of the settings but the names of the [llms|models] the server offers, "
        "[which path|over http]",
        "is there a [route|url] that names what is [on offer|available] at this server, i mean "
        "llms",
        "[read-only|simple] call that returns the model [ids|names], [which path|what is it]",
        "what do i GET to see what the [api|server] has [loaded|on its menu]",
        "before sending a chat request, my [script|client] wants the right model id from the "
        "server, [how|from where]",
    ],
    "ep_health": [
        "not liveness, not readiness, the [simple|third] one that says whether the "
        "[engine|engine still] answers",
        "i have prometheus for graphs, but what is the [cheap|quick] check that the engine is "
        "[all right|answering]",
        "which url gives 200 as long as the engine [answers|responds] and 503 if [not|it doesn't]",
        "suppose the api process is up but the engine [behind it|itself] is gone, which "
        "[url|check] shows 503",
        "will a probe every second [wake|run|disturb] the model if i call the [health url|health "
        "path]",
        "docker compose has a healthcheck [entry|line], which [path|url] goes in there",
        "yaie doctor is for my machine; which [http path|url] [checks|shows] that the engine "
        "responds",
        "[health|healthcheck] [path|url|endpoint] yaie",
        "please which url for to check if the engine is [good|answering], without "
        "[running|using] the model",
        "does /health [generate a token|call the model], or is it [free|cheap]",
        "our uptime robot [wants|expects] one url that is green while the [engine answers|engine "
        "responds]",
        "what are the two possible [status codes|answers] of /health and [what do they mean|when "
        "does each come]",
        "is the engine behind the api [responding|answering], [which|what] path says that with "
        "200 or 503",
        "i don't want to restart or to route traffic, i just want to know if the engine "
        "[answers|reacts], [which url|path]",
        "haproxy needs an httpchk path for the [engine|engine's health], [which one|what do i "
        "enter]",
    ],
    "ep_liveness": [
        "[not|i don't mean] readiness but the other kubernetes probe, the one that "
        "[restarts|kills] the pod: which path",
        "readiness is 503 while weights load; which [probe|path] is already 200 [then|at that "
        "time]",
        "/health looks at the engine; which [path|probe] looks at the process and its [step "
        "loop|loop]",
        "suppose the step loop [hangs|is stuck], which url stops [saying|answering] 200",
        "my pod is [restarted|killed] in the middle of loading because i probe the wrong path, "
        "which one [stays green|is right]",
        "which path should decide about [killing|restarting] the container, not about sending it "
        "[traffic|requests]",
        "[livenessprobe|liveness] [path|url|httpGet] yaie",
        "please which url says the process is [alive|not dead], also when model is still "
        "[loading|not loaded]",
        "is the process [alive|stuck], [which|what] endpoint knows, even before the weights are "
        "there",
        "loading takes ten minutes and the orchestrator must not lose [patience|its nerve], "
        "which [path|probe] do i give it",
        "which of the probes has nothing to do with [accepting requests|traffic] but with being "
        "[alive|stuck]",
        "a frozen loop should lead to a [restart|new container], which [path|endpoint] do i watch",
        "i want 200 from the [first second|very start], as long as the process [lives|isn't "
        "stuck], from which path",
        "what goes into the failure check that [restarts|replaces] a [stuck|hung] process",
        "traffic is handled by the other probe; this one must only tell [dead from alive|stuck "
        "from running], [which path|name it]",
    ],
    "ep_readiness": [
        "[not|i don't mean] liveness but the other kubernetes probe, the one that decides about "
        "[traffic|requests]: which path",
        "liveness is green while weights load; which [path|probe] is [red|503] until they are in",
        "/health says the engine answers; which path says that the server [accepts|takes] "
        "[requests|traffic] now",
        "[suppose|imagine|let's say] i must wait [until the weights are in|for the model to "
        "load] before the first call, which url do i poll",
        "which url turns 503 when the server [drains|is draining], so that no [new "
        "requests|traffic] come",
        "my ci starts the server and [fires|sends] requests too early, what should it [poll|wait "
        "for]",
        "[readinessprobe|readiness] [path|url|httpGet] yaie",
        "please which url says the server is [ready|able] to take [request|requests] now",
        "can i send requests [already|yet], [which|what] endpoint says yes or no",
        "the load balancer should only send [traffic|users] to instances that have [finished "
        "loading|loaded], by which path",
        "which of the probes must never [restart|kill] the pod but only take it [out of|off] the "
        "traffic",
        "a shell loop with curl should end once the api [can be used|accepts requests], on "
        "[which|what] path",
        "during a rolling update, which [probe|path] says the new instance [takes|accepts] "
        "requests",
        "is 503 on the ready path normal while it [loads|drains], and when [does it become|is "
        "it] 200",
        "[when|from which moment] may clients come, and which url [announces|signals] it",
    ],
    "ep_metrics": [
        "[not|i don't mean] the json counters but the [prometheus format|scrape format]: which "
        "path",
        "/stats gives json; what do i [scrape|collect] with [prometheus|victoriametrics]",
        "i have grafana and want [graphs|charts] of the server, what's the [source|scrape path]",
        "suppose my scrape job needs a metrics_path, which [value|path] do i [enter|write]",
        "how do the names of the [time series|metrics] begin, and which [path|url] has them",
        "health only says yes or no; where are the [numbers|series] for [prometheus|alertmanager]",
        "[prometheus|grafana|scrape] [path|target|endpoint] yaie",
        "please from which path the [prometheus|monitoring] can take the [metrics|measures]",
        "does the server speak [openmetrics|the prometheus text format], and [where|on which path]",
        "our sre team [wants|needs] alert rules; which [names|metrics] does the server export, "
        "and where",
        "is a separate exporter needed for [prometheus|our prometheus], or does the server [have "
        "a path|do it itself]",
        "where do series such as yaie_ something come from, which [url|endpoint] "
        "[exports|publishes] them",
        "i want [history and graphs|alerts and graphs], not a snapshot in json, so which "
        "[path|endpoint] do i use",
        "what do i [point|aim] prometheus at [to watch|in order to monitor] the engine",
        "datadog can read prometheus [pages|endpoints]; which [path|one] is it at yaie",
    ],
    "ep_stats": [
        "[not|i don't mean] for prometheus but as plain json: where are the [engine's|live] "
        "counters",
        "/metrics is in prometheus format; which path has [the queue and the slots|counters] as "
        "[json|a json object]",
        "usage shows one request; which path [adds up|counts] the reused tokens of the whole "
        "[engine|server]",
        "suppose a [bash|python] script wants the length of the queue, which [path|url] does it "
        "read",
        "how many slots are [taken|free] at the moment, [which|what] url tells me in json",
        "i don't run [grafana|prometheus], i just want to [curl|look at] a few numbers of the "
        "engine",
        "[queue length|counters|slots in use] [json|json endpoint] yaie",
        "please where i read how many [request|requests] and how many slots, in [json|simple json]",
        "is anybody waiting in the queue right now, which [endpoint|path] [says|shows] it",
        "--json is for commands; which http path [returns|gives] the engine's [counters|numbers] "
        "in json",
        "what's in the json that the [counter|statistics] endpoint [returns|sends]",
        "my homemade [dashboard|status page] reads json, from which path does it get the "
        "engine's [load|counters]",
        "where can i [watch|follow] requests, queue and reused tokens [live|as numbers] without "
        "a metrics system",
        "the engine [counts|keeps] requests and reused tokens; on which url are these "
        "[counts|totals] in json",
        "how full is the engine, i mean [slots and queue|queue and slots], which [GET|http call] "
        "shows that",
    ],
    "stream": [
        "i don't want to wait for the [whole|full] text, what do i set in the [request|json]",
        "the answer is right but comes [all at once|in one block]; how do i get it [token by "
        "token|piece by piece]",
        "how does my parser know that the stream is [over|finished], what's the last [line|event]",
        "suppose i send stream true, what will the [response|answer] look like [on the wire|]",
        "is it websockets, [long polling|grpc] or server-sent events that you [use|send] for "
        "partial answers",
        "my ui should show words [as they come|while they are written], which [field|parameter] "
        "does that",
        "json format is set by response_format; what sets [piecewise|gradual] [delivery|output]",
        "[sse|token by token|partial output] [field|how|request] yaie",
        "please how to receive the words one [by|after] one from [the api|http]",
        "what does data: DONE in brackets at the [end|close] of the [answer|events] mean",
        "can the [openai library|sdk|client] iterate over chunks of the answer, and what "
        "[turns|switches] that on",
        "the typing effect of chatgpt, [how do i|how can i|how would i] get it [from the "
        "api|over http]",
        "my client [reads|gets] lines that start with data:, [what are they|why is that], and "
        "when do they stop",
        "first words [earlier|sooner], please: what must the [request|call] contain for that",
        "is there a way to see the answer [grow|growing] in my app, and how does it [end|mark "
        "its end]",
    ],
    "err_full": [
        "not 503 but 429: what does [that|it] mean and what should my client do [then|]",
        "the server is up and ready, but some requests [are turned away|bounce] with 429, "
        "[why|what's full]",
        "too many people [send|are sending] at once and the queue is full, what [do they get|is "
        "the reply]",
        "suppose ten thousand requests [arrive|come] at once, how are those that don't fit in "
        "the queue [answered|told]",
        "503 is for starting and draining; what is the [code|status] when the queue has no "
        "[place|room] left",
        "how does a client know how long to [wait|pause] after it was refused for [a full "
        "queue|overload]",
        "[429|too many requests] [yaie|reason|retry-after]",
        "please what is the answer of server when [queue|waiting line] is [full|too long]",
        "is a request silently dropped when [the queue is full|too many wait], or [is there a "
        "code|what does it get]",
        "my load generator [reports|shows] 429s, do they come from [a rate limit|a key problem] "
        "or from the queue",
        "[back-pressure|overload protection]: what do you answer when no more requests can be "
        "[queued|put in the queue]",
        "the waiting line is [packed|crammed|at its limit], what happens to the next "
        "[request|caller]",
        "should my client [retry|try again] after 429, and which header [says|tells] when",
        "is it my prompt or the [queue|load] that's to blame when 429 [comes back|is returned]",
        "which header comes along with the [too-many-requests|429] status and what "
        "[caused|causes] it",
    ],
    "err_starting": [
        "not 429 but 503: what does [that|it] mean and when does it come [from the api|on a chat "
        "request]",
        "the queue is empty and still requests [fail|are refused] with 503, [why|is it still "
        "loading]",
        "i sent a chat request [right after the start|before the model was loaded], what "
        "[answer|status] will i get",
        "suppose the engine process [died|is gone] and i post a request at that moment, which "
        "[status|code] is it",
        "429 is for a full queue; what is the [code|status] while the server [shuts down|starts "
        "up|drains]",
        "what do requests get that [arrive|come in] during [startup|draining|a restart of the "
        "engine]",
        "[503|service unavailable] [reason|retry-after|on a request] yaie",
        "please what answer comes when server is still [starting|loading], or is [closing|going "
        "down]",
        "should a client [retry|come again later] after 503, and does the response [say "
        "when|have a header for it]",
        "my first [call|request] fails and the same one works a minute later, [what status|which "
        "error] was that",
        "is 503 a bug in my request or a [temporary state|phase] of the [server|service]",
        "no engine behind the api for a moment: what [code|status] do completions [give|return] "
        "meanwhile",
        "while it drains, are new completions [accepted|taken], or with which [code|status] are "
        "they sent away",
        "[temporarily|for the moment] unavailable, says the api. [why would that be|when does it "
        "say so]",
        "what do callers see while the [weights are loading|server warms up], [a hang|a "
        "timeout|an error] or a certain status",
    ],
    "err_long": [
        "not an unknown model but too much text: what [status|error] does a [prompt|message] "
        "that doesn't fit get",
        "the request body is fine, but the prompt has more tokens than the [context|window], "
        "what [comes back|happens]",
        "is a prompt that is too long cut off [silently|at the end], or [refused|rejected with "
        "an error]",
        "suppose i send 10,000 tokens to the built-in model, which [error|code] do i [get|see]",
        "the context is 4,096, [i know|that's clear], but what if my prompt [exceeds|is above] it",
        "which error [code|status] means that i must [shorten|trim] my [prompt|conversation]",
        "[prompt|input] [too long|over the limit] error [code|status]",
        "please what error is coming if the [text|prompt] is more long than [context|the window]",
        "my chat history grew and now i get 400, [why|what's the reason], and does it [say|tell] "
        "by how much",
        "does the error say how many tokens i [had|sent] and how many [are allowed|fit]",
        "a novel as prompt: is it [truncated|shortened], chunked or [refused|an error] if it's "
        "beyond the context",
        "chunking is for long prompts that fit; what about one that's [longer|bigger] than the "
        "[context|window]",
        "what does context_length_exceeded [mean|say], and which [status|http code] comes with it",
        "my pdf is [bigger|longer] than what the model can [hold|see], how does the api "
        "[react|answer]",
        "will the server drop my oldest [messages|turns] when they don't fit, or [complain|say no]",
    ],
    "err_model": [
        "[not|i don't mean] a wrong path but a wrong model name: which [error|status] is that",
        "the prompt is [fine|right], the model field is not: what [comes back|does the server "
        "answer]",
        "what if i ask for gpt-4 and the server [only has|serves] [builtin|qwen]",
        "suppose there is a typo in the model [id|name] of my request, what [status|code] will i "
        "see",
        "404 on the chat path, although the [path|url] is right, could it be the [model|model's "
        "name]",
        "context errors are 400; [what|but what|and what] is it for a model the server [doesn't "
        "have|has never heard of]",
        "[wrong|unknown|misspelt] model [error|code|status] api",
        "[please|please tell,|hello,] what is the error if the name of model is [bad|not existing]",
        "does the server fall back to the [default|built-in] model when it doesn't know mine, or "
        "[refuse|give an error]",
        "model_not_found, [what|how come]? i thought every [name|id] is fine",
        "my old code [still says|asks for] gpt-3.5-turbo; will the server [accept|take] it",
        "which code tells my client that it [named|asked for] a model that [isn't there|doesn't "
        "exist here]",
        "the operator replaced qwen by llama; what do clients [see|get] that still ask for "
        "[qwen|the old one]",
        "is a request for a [nonexistent|missing] model answered with 400, 404 or [422|503]",
        "i [invented|made up] a model name in the request, what does the api [say|do]",
    ],
    "err_body": [
        "not the status code but the json that comes with [a failure|it]: what is [inside|in it]",
        "i know about 404 and 429; how is the [body|json] of such [answers|failures] built",
        "which [keys|fields] does my error handler find in the [json|response] when something "
        "fails",
        "suppose any request fails, in what [shape|format] is the reason [given|returned]",
        "is the error [text|message] in plain words, in html or in an object, and [where|what "
        "else is there]",
        "does each error look [different|its own way], or is there one [common|fixed] layout for "
        "all of them",
        "error [body|object|json] [format|fields|structure]",
        "please how looks the [error|failure] message, which [field|fields] are in it",
        "can the openai sdk [parse|understand] your failures, i mean is the [body|object] the same",
        "where does a failed [response|call] say which parameter was [wrong|bad]",
        "i want to log [type and code|the reason] of failures; where are these in the "
        "[body|response]",
        "for all statuses alike: what's the [schema|structure] of the json that "
        "[reports|describes] the failure",
        "error.message, error.type, [and what else|and then], is that how your [failures|errors] "
        "are [made|built]",
        "my client shows [undefined|null] instead of the reason, in which field of a failed "
        "answer is the [message|text]",
        "are failures [compatible with|shaped like] openai's, and what does the object "
        "[contain|hold]",
    ],
    "unknown_field": [
        "[not|i don't mean] an unknown model but an unknown parameter: is the request "
        "[refused|rejected]",
        "i sent a [setting|field] that you don't support and nothing complained, where would i "
        "[see|notice] that",
        "i misspelt [max_tokens|temperature] and got no error, how could i have [seen|known]",
        "suppose my json has a key that [means nothing to you|you have never heard of], [what "
        "then|error or not]",
        "does the server [tell|inform] me when it [ignored|skipped] one of my parameters, and "
        "where",
        "vllm-only options in my request: do i get [400|422], or are they [ignored|passed over]",
        "[extra|unsupported] [parameter|field] [ignored|error] header",
        "please what happen if in the request is a [parameter|field] you not [know|have]",
        "logit_bias seems to have no effect. is there a [header|place] that says it was "
        "[ignored|not used]",
        "the response carries X-YAIE-Ignored-Params, [what does|what exactly does] it "
        "[list|mean|tell]",
        "are you strict or [tolerant|lenient] about [keys|fields] you have never seen",
        "the error body won't help, for there was no error: [how do i|how can i|how would i] "
        "learn that a field had [no effect|been ignored]",
        "can i leave openai's newest [options|parameters] in my request, although you may not "
        "[know|support] them",
        "which response header do i [check|read] for [typos|mistakes] in my parameter names",
        "will [a surplus|an additional] key in the json [break|spoil] my call",
    ],
    "cached_tokens": [
        "not the total in the stats but for this one [request|answer]: how many prompt tokens "
        "were [reused|held already]",
        "how do i see that [my second|the repeated] request profited from the cache, in the "
        "[response|usage]",
        "prompt_tokens is 900 and the detail [below|under] it says 850, [what are|what's counted "
        "by] the 850",
        "suppose nothing was reused, is the field [missing|absent] or [zero|0]",
        "which [number|field] in usage tells me what part of my prompt [needn't be computed|was "
        "a cache hit]",
        "does the response say whether the cache [hit|helped], and [under which name|in which "
        "field]",
        "[cache hit|reused tokens] [in response|per request] [field|usage]",
        "[please|please tell,|hello,] where in the answer i see how much of prompt came from the "
        "[cache|memory]",
        "i'd like to give a discount for [reused|cached] prompt tokens, which [value|field] do i "
        "bill by",
        "the demo shows savings in general; [where|but where|and where] do i see them for my own "
        "[call|request]",
        "in the usage block, [beside|besides] the prompt and completion counts, what is "
        "[prompt_tokens_details|the detail] for",
        "why is that usage detail 0 on the first call and large on the [second|next], what does "
        "it [count|say]",
        "per response, how do i [measure|read] the hit rate of the [prefix cache|cache]",
        "is the count of reused prompt tokens there in [every|each] response or only "
        "[sometimes|if it isn't zero]",
        "does your api have the same cached-token [detail|count] as openai's usage, and what "
        "does it [count|mean]",
    ],
    "auth": [
        "[not|i don't mean] 0.0.0.0 but a secret: how do i make clients [prove who they "
        "are|bring a key]",
        "opening the server to the lan is done; how do i [now|next] keep [strangers|the intern] "
        "from using it",
        "cache_salt separates users, but how do i [lock out|refuse] those without a [key|password]",
        "[suppose|imagine|let's say] i want a key for the api, which variable do i set, and what "
        "do [clients|callers] send",
        "which header must my curl call [contain|carry] when the server wants a [key|secret]",
        "401 [unauthorized|not authorised] comes back, what did my client [forget|leave out]",
        "api [key|password|token|secret] [yaie|setting|header]",
        "please how to protect the api with [password|key], and how client [sends|gives] it",
        "everyone who finds the [port|url] can use my gpu for free, how do i [stop|prevent] that",
        "[what does|what exactly does] the api_key of the openai client have to be, and where "
        "does the server [get|take] its own",
        "is there any [login|access control|authentication], and how is it [turned on|set up]",
        "can i put the server on the internet [as it is|safely], i mean is there a key i can "
        "[require|demand]",
        "the Authorization line, what [goes|stands] in it, and which variable [switches|turns] "
        "the check on",
        "how do i hand out a [secret|key] so that only my [team|customers] can call the api",
        "by default no key is [asked|needed]; how do i [change|alter] that",
    ],
    "tools_exec": [
        "[not|i don't mean] how calls come back to my client, but whether the server "
        "[runs|executes] tools itself",
        "tool_calls go to the client; what about the endpoint that runs [them|functions] on the "
        "[server|server's side]",
        "is /v1/tools/execute [active|on|enabled] if i configured nothing, and what can it "
        "[run|call]",
        "suppose a client posts python code to the [execute|tools] endpoint, would it be "
        "[run|executed]",
        "who [registers|decides] the functions that the server may execute, [the client or the "
        "operator|and is it on]",
        "our auditor asks if the api can [execute|run] [arbitrary|foreign] code through tools",
        "[remote code execution|server-side tools|tool execution] [possible|default|enabled]",
        "please is the server [executing|running] the tools alone, and is it [dangerous|safe]",
        "i want my own callable to be run by the [server|api process], is there [a way|an "
        "endpoint], and is it on",
        "must i switch [off|anything off] for tool execution before going [public|live]",
        "the tools endpoint [says it is|is] disabled. [why|is that normal], and what could it run",
        "what can a [malicious|bad] client make my server run over the [tools|execute] path",
        "does the model get to run [shell commands|programs] on my machine via the "
        "[tools|execution] endpoint",
        "is [execution|running] of functions on the server [opt-in|off] or always on",
        "only what i registered as operator may be executed, [is that so|right], and is it "
        "[on|enabled] from the start",
    ],
    "env_model": [
        "[not|i don't mean] an argument but a variable: what do i [set|export] to choose the "
        "served model",
        "serve qwen on the command line works; [how|but how|and how] do i say the same by "
        "[environment|a variable]",
        "i neither named a model nor set anything: what is served, and [which|what] variable "
        "would [change|set] it",
        "suppose i deploy with [docker|compose|helm] and can only pass env, which one names the "
        "[model|llm]",
        "YAIE_DEVICE says where it runs; [which|but which|and which] one says [what runs|which "
        "model]",
        "what's the [default|initial] value of the variable for the [model|served model]",
        "[env|environment] variable [model name|served model]",
        "please which variable i must [set|export] for the [model|llm] name",
        "under uvicorn there are no arguments; how does the [app|server] know which [model|llm] "
        "to load",
        "is builtin a value of [a variable|a setting], and of [which one|which]",
        "-m is for one prompt; which variable [fixes|names] the model for [every start|the server]",
        "in my .env file, which line [picks|sets] the model, and what if i [leave it out|delete "
        "it]",
        "if the model variable is unset, does the start [fail|stop] or is some model "
        "[taken|served]",
        "[what does|what exactly does] YAIE_MODEL [default to|contain by default|mean]",
        "a unit file with Environment= lines: which [name|variable] for the [llm|model] to be "
        "served",
    ],
    "env_dtype": [
        "[not|i don't mean] where it runs but how many bits the numbers have: which "
        "[variable|setting]",
        "YAIE_DEVICE chooses cpu or cuda; [what|but what|and what] chooses "
        "[bfloat16|float32|half precision]",
        "the model and the device are fine, i [only|just] want another [precision|number format]",
        "suppose 32 bits need [too much|twice the] memory, which variable gives me [16|half]",
        "which values may i [write|use] for the format of the [weights|weights and the kv pool]",
        "does it load in [float16|bfloat16|float32] by default, and what do i [set|export] to "
        "change that",
        "[precision|bfloat16|float32|dtype] [variable|setting] yaie",
        "please how to change the [type|format] of number, for [example|instance] float16",
        "for token-exact comparisons i want float32, [how do i|how can i|how would i] "
        "[force|set] it",
        "is there [an auto value|auto] for the number format, and which [variable|name] takes it",
        "the keys and values in the pool are [too precise|32 bit], can their [format|precision] "
        "be lowered",
        "i need half the memory for the weights, not fewer slots: which [variable|setting] is "
        "[that|it]",
        "can i have [fp16|bf16|fp32], and by which [setting|variable]",
        "my [gpu|card] is bad at bfloat16, how do i [get|set] float16 instead",
        "[what does|what exactly does] YAIE_DTYPE [accept|mean|change]",
    ],
    "env_device": [
        "[not|i don't mean] the number format but the hardware: which variable says [cpu or "
        "cuda|where the model runs]",
        "YAIE_DTYPE sets the precision; [what|but what|and what] sets [gpu or cpu|the device]",
        "which attention kernel is used i don't care, [i want|i need|we need] to force the model "
        "onto the [gpu|processor]",
        "suppose i have a gpu but want the [cpu|processor] to do the work, what do i [set|export]",
        "is the gpu used [on its own|by itself], or must i [say so|set something]",
        "nvidia-smi shows [nothing of yaie|no process]. how do i [send|put] the model on the card",
        "[device|cuda|cpu] [variable|setting|auto] yaie",
        "please how i say to [use|take] the [graphic card|gpu] and not the processor",
        "which values does the [setting|variable] for the device [have|take]",
        "my card is [full|needed for a game], which variable [keeps|holds] the model off it",
        "can i [force|pin] it to cuda by [environment|a variable], and what is auto",
        "where the weights are computed, i mean on which [hardware|chip], is decided by which "
        "[variable|setting]",
        "i want to compare cpu and cuda [runs|speed], what do i [change|set] between them",
        "does YAIE_DEVICE [take|know] auto, and what [else|other values]",
        "it picked the wrong [chip|processor], how do i [override|correct] the automatic choice "
        "of device",
    ],
    "env_slots": [
        "[not|i don't mean] the rows of a step but the size of the [cache|kv pool]: which variable",
        "YAIE_MAX_STEP_ROWS limits a step; [what|but what|and what] limits the [cache|pool], "
        "counted in tokens",
        "what a slot is i know; which variable [sets|says] how many [there are|i get]",
        "[suppose|imagine|let's say] prefixes are evicted too early, what do i [raise|increase] "
        "to give them room",
        "the weights fit, but reserving the [cache|kv memory] fails, which [number|variable] do "
        "i lower",
        "how do i decide how many tokens' keys and values can be [held|kept] in [memory|total]",
        "[cache|kv pool|pool] [size|capacity] [variable|setting]",
        "please how to make the cache more [big|large], which [variable|setting]",
        "is the [pool|pool's size] measured in bytes or in tokens, and what [sets|determines] "
        "its size",
        "not the context of one prompt, but the [room|space] for all cached tokens together: "
        "[which setting|what do i set]",
        "i want space for a million tokens in the [cache|pool], what do i [export|set]",
        "gpu_memory_utilization in vllm, [what|which variable] is the nearest thing for the kv "
        "[cache|pool] here",
        "half my ram is taken by keys and values, [how do i|how can i|how would i] "
        "[shrink|limit] that",
        "not half precision, but fewer places for tokens: which [variable|setting] makes the "
        "pool [smaller|cheaper]",
        "can i [enlarge|grow|shrink] the pool [by a variable|without editing code]",
    ],
    "env_rows": [
        "[not|i don't mean] the size of the pool but the size of a step: which [variable|setting]",
        "YAIE_NUM_SLOTS is for the cache; [what|but what|and what] limits the [work|tokens] of "
        "one step",
        "what a row is i know; how do i [limit|cap] how many are computed [per step|at a time]",
        "suppose each step takes [too long|a second], which number do i [lower|reduce]",
        "chunked prefill is clear to me, but [which|what] variable sets the [chunk size|size of "
        "a chunk]",
        "max_num_batched_tokens is what [vllm calls it|it's called in vllm]; and [here|in yaie]",
        "[step|batch|chunk] size [variable|setting]",
        "please which variable is for the maximum of [row|rows] in one [step|computation]",
        "my gpu is underused, i'd let each step compute [more|larger batches], what do i "
        "[raise|set]",
        "long prompts make the steps heavy. what [caps|bounds] a step, and is it a "
        "[variable|setting]",
        "how much of a prompt is computed [at once|in one go] is decided by [which variable|what]",
        "the [upper limit|ceiling] on rows per step, where do i [set|change] it",
        "i'd like prefill chunks of [64|256|512] tokens, [what do i|what should i|what must i] "
        "export",
        "not how long a prompt may be, but how much of it one step [takes|handles]: which "
        "[variable|setting]",
        "[what does|what exactly does] YAIE_MAX_STEP_ROWS [limit|do|control]",
    ],
    "env_policy": [
        "[not|i don't mean] which policy is the default, but which ones i can [choose from|set], "
        "and how",
        "fcfs and lpm i know by name; [which|but which|and which] variable [selects|activates] "
        "one of them",
        "eviction has lru and lfu; [which|but which|and which] policies are there for the "
        "[waiting line|queue of requests]",
        "[suppose|imagine|let's say] i want another order in the queue, which variable and which "
        "[values|names] are there",
        "i want to replace the default scheduling policy, [what do i|what should i|what must i] "
        "[export|set] and to what",
        "list every [value|name] that the [scheduling|queue] policy can take",
        "[scheduling|queue|admission] policy [variable|choices]",
        "please which [policy|policies] exist for the order of the [waiting|queued] requests and "
        "how to set",
        "[how do i|how can i|how would i] turn on [fcfs|lpm|priority], i mean with which variable",
        "the order in which waiting requests get their turn: can it be [changed|configured], and "
        "by [what|which variable]",
        "is prefix-aware the only one, or what other [orders|policies] can i [set|select] for "
        "waiting requests",
        "vllm has --scheduling-policy, what is [that|it] called here and what does it "
        "[take|accept]",
        "YAIE_POLICY=[what|which], i mean what [may|can] stand there",
        "not the policy for throwing out leaves but the one for [admitting|ordering] requests: "
        "which [names|variable]",
        "four ways to order the queue exist, they say. [name them|which], and how do i "
        "[switch|choose]",
    ],
    "env_prefix": [
        "[not|i don't mean] one particular variable, but how they all [begin|are named]",
        "i don't need the model variable, i need the general [rule|scheme] for the names of "
        "[settings|variables]",
        "[is there|do you read] a [config.yaml|toml file|config file], or do all settings come "
        "from the environment",
        "suppose i want to configure everything without flags, where do [settings|options] "
        "[live|come from]",
        "prefix in the sense of [variable|setting] names, not of prompts: which one do your "
        "[settings|variables] have",
        "i exported MODEL and POLICY and nothing [changed|happened]. what is [missing|wrong] in "
        "the names",
        "[configuration|settings|config] [file|environment] yaie",
        "please where to write the [settings|configuration], is it [file|environment]",
        "[printenv|env] shows dozens of variables, [which|how do i see which] are read by yaie",
        "in my compose file, how must an entry [start|begin] so that yaie [reads|sees] it",
        "what do YAIE_MODEL, [YAIE_DEVICE|YAIE_POLICY] and the [like|others] have in common",
        "by what naming [convention|pattern] does it [find|recognise] its own settings",
        "env or file, from [which|where] does the server take its [options|configuration]",
        "what four letters and an underscore stand before [every|each] [setting|option]",
        "can it be configured the [twelve-factor|container] way, [by variables|through the "
        "environment], and how are they named",
    ],
}
