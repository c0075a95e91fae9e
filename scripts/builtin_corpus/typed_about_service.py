"""As typed in a chat: commands, addresses and what the server answers.

Situations, consequences, comparisons with other programs, wrong guesses and keywords, in words that
neighbouring facts do not share. Keys and patterns as in `asked_about_use.py`; merged with the other
tables by `asked.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "models_cmd": [
        "[which|what] models do i already have on this [laptop|computer|disk]",
        "cli list local models",
        "i forgot what i [downloaded|fetched] last month. Is there a terminal command that "
        "[shows|lists] it",
        'Ollama has "ollama list". What is the [counterpart|equivalent] here',
        "Before i [fetch|download] a Llama checkpoint i want to know if that architecture "
        "works. What do i type",
        "does yaie have a command to see which [families|architectures] it can run, like "
        "Qwen or Mistral",
        "We inherited a [workstation|server|PC] from a colleague. How do we find out which "
        "checkpoints are lying around on it",
        "Tell me how to print the supported [architectures|families|kinds of model] in the shell",
        "Is my Gemma finetune's architecture one that yaie understands, and what command "
        "would tell me",
        "no server is running, i only want an [inventory|overview] of the weights on my machine",
        "i was wondering whether i can list everything that's in the local model folder "
        "without starting the [server|API]",
        "what command shows what is installed locally in terms of weights",
        "Do i have to dig through the Hugging Face cache by hand, or can yaie [show|tell] me "
        "what is there",
        "list downloaded checkpoints [command|from the terminal]",
        "supported architectures, where can i [see|look up] them on the command line",
        "My disk is filling up with weights. [Which|What] yaie command tells me what's there",
        "i'd like an overview of what this [machine|computer|box] could load. How",
        'Coming from LM Studio, i miss the "my models" page. What do i run in the shell instead',
        'isn\'t it "yaie list" to see the local models',
        "Suppose someone hands me a [DeepSeek|Gemma|Phi] checkpoint. How can i check from "
        "the terminal that this kind of network is supported",
        "what can i pass as a model name on this box, is there a [subcommand|command] that "
        "enumerates the candidates",
        "Show me the shell command for seeing every model that's stored here",
        "There must be a quick way to find out what's on my hard drive that yaie can use",
        "how to see [available|existing] local models in yaie",
        "The docs talk about architectures that work but i can't find the list. Can the "
        "[tool|program] print it",
        "i'm on a [train|plane] without wifi and need to know which checkpoints i have with "
        "me. What should i type",
        "Did my download of Qwen3 [land|arrive] on this machine? How do i look that up with yaie",
        "what have i got locally to choose from, command please",
        "Can the command line tell me [whether|if] Phi or Falcon are among the supported "
        "kinds of model",
        "For a bug report i need the list of models found on my computer. Which command gives it",
    ],
    "flag_m": [
        "one-shot prompt with another model, how",
        "i want to ask a single question in the [shell|terminal] but not with the built-in "
        "model. What do i add",
        "choose model for one prompt",
        "how do i pick a different [checkpoint|model] for just this one command",
        'yaie "hello" uses the little built-in thing. How do i make that same line use '
        "[Qwen|SmolLM]",
        "Is there a [switch|flag|short option] for the model when i run a single prompt",
        "With llama.cpp i give the file on the command line. How do i name the weights when "
        "i ask yaie one thing",
        "i don't want to set any environment variable, just try a [bigger|better|different] "
        "model on one question. How",
        "The answers to my one-liners are [poor|weak|bad] because it's the tiny default. How "
        "can i get a better model for a quick question",
        "which option selects the model on the command line, is it --model-name",
        "Tell me how to send one prompt to Qwen/Qwen3-0.6B from the terminal without a server",
        "i'm writing a shell script that [compares|evaluates] two models on the same "
        "sentence. How does each call say which [model|one] to use",
        "what [letter|character] is the model option",
        "does the quick prompt command always use the built-in model or can i [override|change] it",
        "try SmolLM for a single question in the shell, what would that [command|line] look like",
        "Suppose i've got three checkpoints and want to ask each of them the same thing "
        "once. How do i tell yaie which to use in each run",
        "Where in the command do i put the Hugging Face id when i just want one answer",
        "i was wondering whether a [one-time|single] question can go to a model other than "
        "the default one",
        'ollama run llama3 "why is the sky blue" - how do i write that with yaie',
        "prompt on the command line, but with my own model",
        "quick test of a new checkpoint with one question, no server [wanted|involved], how "
        "do i select it",
        "How can i [temporarily|briefly] switch the model for one call in the terminal",
        "Please [show|give] an example of a one-off command that names its model",
        "do i write the model before or after the prompt in a single command, and with which flag",
        "My colleague gets a [smarter|better] reply to the same one-liner because he uses "
        "another model. What did he add to the command",
        "command line flag model selection",
        "Can i ask something once using Qwen3 instead of the model that ships with it",
        "i only need one [answer|reply] from a particular model and then be done. What's the "
        "syntax",
        "isn't there a short dash option to say which model should answer my prompt",
        "for a single run in bash, how is a non-default model [specified|given]",
    ],
    "help": [
        "list of all commands and options",
        "i've just [installed it|set it up] and have no idea what i can type. Where do i begin",
        "where can i see [every|all the] flags that a subcommand takes",
        "How do i get [usage information|a short manual] in the terminal",
        "i can't [remember|recall] the options of yaie serve. How can i look them up without "
        "a browser",
        "does it have a man page or some built-in usage text",
        "what [subcommands|commands] exist",
        "Show me how to print the [manual|usage] of the command line tool",
        "i'm offline and the documentation site isn't reachable. Can the program itself "
        "[explain|describe] its switches",
        "For git i'd type \"git commit -h\". What's the way here to learn about one command's "
        "[options|flags]",
        'i keep [guessing|mistyping] flags and getting "unrecognised argument". How do i '
        "find the right ones",
        "is there a command overview in the shell",
        "yaie usage text",
        "Tell me how to find out what [arguments|options] a command accepts",
        "i was wondering what else this tool can do. Can it print a summary of its commands",
        "What do i append to a [command|subcommand] to have its options explained",
        "Suppose i'm new to the [CLI|tool] and there's nobody to ask. What shows me the commands",
        "there are too many options for me to memorise, where do i [look them up|find them "
        "described]",
        "Could i get an explanation of the parameters of the bench command right in my terminal",
        "What does each flag do? i'd like the tool to tell me itself",
        'isn\'t it "yaie man" to read the instructions',
        "i'm writing a cheat sheet for my team and need the complete set of commands. How do "
        "i print it",
        "how do i [discover|find] the available flags",
        "syntax reference on the command line, how",
        "My boss asks what this program's commands are. What can i type to [show|tell] him",
        "If i don't know how a command works, what should i [type|try] first",
        "get the description of a command's arguments",
        "Stuck at the prompt with no clue about the syntax. What now",
        "The readme only covers the basics. How do i see the remaining [flags|switches] of a "
        "given command",
        "which flag prints the usage and then exits",
    ],
    "stop_server": [
        "how do i [shut the server down|switch the server off]",
        "quit the server [cleanly|properly]",
        "It's running in my terminal and i want it gone. Which keys",
        "Is it safe to [kill|end] the process while someone is still receiving a reply",
        "We deploy a new version every Friday. How do we [take the old server down|end the "
        "old server] without cutting off answers in progress",
        "what [signal|kill signal] should systemd send to end yaie",
        "docker stop on the container, will running answers be [cut off|interrupted]",
        "i started it in the foreground and now can't get my prompt back. What do i press",
        "graceful shutdown signal",
        "kill -9 or something gentler to end the server",
        "i was wondering what happens to replies that are half done when i close the server",
        "does the server [wait|hold on] for [open|unfinished] streams when it is told to exit",
        "Tell me the right way to [terminate|end] a running yaie serve",
        "How does one turn it off again after yaie serve",
        "Kubernetes is about to [remove|evict] our pod. How does the server react to the "
        "termination signal",
        'Is there a "yaie stop" command, or how do i end it',
        "i'd like to free the port again, so how do i [exit|end] the server",
        "Suppose ten users are in the middle of an answer and i have to [restart|reboot] the "
        "machine. How do i bring the server down kindly",
        "end the serve process, how",
        "Ollama just stays in the background forever. How do i make the yaie server go away",
        "My script launches the server for a [test|benchmark]. What should it send at the "
        "end to close it",
        "shutting down: abrupt or does it finish what it's doing",
        "i don't need the API any more [today|tonight], how do i switch it off",
        "The server keeps [occupying|blocking] my terminal window. How can i stop it properly",
        "which keyboard shortcut ends the server, Ctrl-D",
        "can i halt the server without [breaking|losing] the answers that are being "
        "generated right now",
        "in a supervisor config, which stop signal fits the yaie server",
        "Please explain how to bring the API process to an end",
        "We want zero dropped replies during a restart. What does the server do with active "
        "streams once it is asked to leave",
        "close the server",
    ],
    "json_flag": [
        "[machine readable|machine-friendly] output from the command line",
        "i'm parsing the [result|output] of yaie doctor with jq. How do i get it in a "
        "suitable format",
        "Which flag makes a command print something a script can [parse|read]",
        "My Python script calls the CLI through subprocess, and scraping the pretty text is "
        "awful. Is there a structured alternative",
        "can the commands [print|emit] JSON instead of tables",
        "how do i [pipe|feed] a command's result into jq",
        "i want the benchmark numbers as an object rather than a [table|chart] in my "
        "terminal. What do i add",
        "structured output for a CLI command, which switch",
        "Is the human-readable text all that i get, or can the [tool|CLI] print for programs too",
        "Our nightly job stores bench [results|figures] in a database. How do we get them "
        "out in a form that's easy to load",
        'kubectl has "-o json". What\'s the option here',
        "Tell me how to make yaie bench write its figures for a [program|script] to read",
        "i was wondering whether the command line output can be consumed by other [programs|tools]",
        "regexes over terminal output keep [breaking|failing], any better way to read what "
        "the commands say",
        "isn't it --format=json",
        "what option turns a command's report into [curly-brace|key-value] data on stdout",
        "For CI i need the doctor's findings as [data|JSON]. Which flag",
        "Suppose i want to feed the list from yaie models to another tool. How do i get it "
        "in a [parseable|machine-friendly] form",
        "print cli results as json",
        "does the terminal command have an output format option",
        "We wrap the command line tool in a [Node|Ruby|Java] app. How should we ask for "
        "output that JSON.parse accepts",
        "where does the JSON go, to a file or to stdout, when i ask a command for it",
        "i need less decoration and more data when running commands in bash scripts. What "
        "should i pass",
        "how can a [shell script|program] read the numbers that a yaie command prints",
        "The coloured table is lovely but my [cron job|script] can't use it. What can i do",
        "get the output of yaie demo in a format for automation",
        "Which flag suits scripting, where i want fields and not [prose|sentences]",
        "Can i have the command's result serialised for my dashboard script",
        "script-friendly output option",
        "i'd rather parse than read. What do i append to the command line",
    ],
    "port": [
        "Something else already uses 8000 on my [machine|computer|server]. What can i do",
        "address already in use when i start the server, how do i fix that",
        "change [the listening|the server's] port",
        "isn't that port 80",
        "which TCP number does the server take unless told otherwise",
        "Ollama uses 11434. And [yaie|this one]",
        "i need a [firewall|router] rule for the API. Which port number should it allow",
        "How do i run two servers [side by side|in parallel] on the same computer without "
        "them colliding",
        "we'd like the API on [9000|8888|7000] instead, which option is that",
        "[default|standard] port number",
        "Tell me the [flag|option] that moves the server to another port",
        "Is 8080 the [standard|usual] port here, as with llama.cpp, or a different one",
        "i'm running Django on the same box and both want 8000. How do i move yaie out of the way",
        "in the Dockerfile, what number goes after EXPOSE",
        "what do i put in the ports section of my compose file",
        "i was wondering whether the server's port is fixed or can be [chosen|picked]",
        "My nginx has to forward to the right port on this machine. Which one is it out of the box",
        "Could the server be told to use [5000|3000|8080]",
        "make it [listen|answer] on 443, how",
        "Suppose 8000 is [blocked|forbidden] by company policy. How do i select another number",
        "what's the number after the colon in the address, and can i alter it",
        "vLLM also sits on 8000 here, so they clash. How do i give yaie a [different|free] one",
        "does it [pick|choose] a random port or always the same",
        "lsof shows nothing on 8080. Where is the server listening then",
        "Port? i forgot which one it was",
        "the server refuses to start because its port is [taken|occupied] by another program",
        "For an SSH tunnel i need to know the remote port of the server. What is it normally",
        "yaie serve on port [8123|9001], what would the command line option be",
        "i'm writing a Kubernetes service and need containerPort. What value is right by default",
        "Can i [configure|choose] which port clients must connect to",
    ],
    "host": [
        "reachable from other computers",
        "My [phone|tablet] on the same wifi can't open the server that runs on my desktop. Why",
        "[connection refused|no connection] from another machine, works fine on localhost",
        "how do i expose the server to the [LAN|local network]",
        "is the API visible on the network by default, or only [locally|on localhost]",
        "We run a small [office|studio|clinic] and want all five laptops to use the one "
        "workstation. What must the server be started with",
        "bind address",
        "inside a Docker container the published port doesn't answer. What address should "
        "the server bind to",
        "which [interface|address] does it listen on",
        "i worry that [strangers|other guests] on the cafe wifi could reach my server. Can "
        "they, with default settings",
        "Ollama wants OLLAMA_HOST for remote access. What does yaie want",
        "listen on all interfaces, which flag",
        "Tell me how to let my colleagues connect to the server on my [PC|machine]",
        "curl from a second box times out although the server is up. Which option am i "
        "[missing|forgetting]",
        "Is the server open to the [outside world|internet] right after installation",
        "i was wondering why nobody else in the [house|office] can use my server",
        "my VM has a public IP, will the API be exposed there if i just start it",
        "Suppose i want to call the server from a [Raspberry Pi|second machine|laptop] next "
        "door. What has to change",
        "doesn't it listen on 0.0.0.0 out of the box",
        "remote access to the server, how do i [allow|enable] it",
        "for safety, i'd like it to be reachable from this computer only. Do i need to "
        "configure anything",
        "can [other people|others] on my network send prompts to my server by default",
        "network interface setting for yaie serve",
        "It answers on localhost but not on 192.168.1.20. What's wrong",
        "The WSL guest runs the server and Windows on another PC can't see it. Which address "
        "do i bind",
        "make the API available to the whole [office|department|lab]",
        "who can [connect to|reach] it when i start it without any options",
        "Our container platform's proxy can't get through to the server in the pod because "
        "it's loopback only. How do we change that",
        "Should i start it with a special option so that a second server can call it over "
        "the network",
        "loopback only or public, what's the default",
    ],
    "base_url": [
        "what do i put as base_url in the OpenAI client",
        "OPENAI_BASE_URL value",
        "i have a [program|script|app] written for the OpenAI SDK. What address do i give it "
        "to talk to yaie",
        "Which URL should i paste into Open WebUI's connection settings",
        "where does my LangChain ChatOpenAI object have to point",
        "Does the address in my SDK [end|finish] with /v1 or not",
        "My Python client still [calls|points to] api.openai.com. Which [address|URL] replaces it",
        "We're moving from OpenAI and only want to swap the endpoint address in the code. "
        "What's the new one",
        "i'm building a [Node|TypeScript] app with the openai package. baseURL is what",
        "[full|complete] address of the API for client libraries",
        "Tell me the [URL|address] that SDKs need",
        'The form in my [editor plugin|chat app] has a field "API base". What [goes|belongs] '
        "in there",
        "Is it http://localhost:11434/v1 as with Ollama",
        "i get 404 from my [client|SDK], and i suspect the root path is wrong. What should it be",
        "client = OpenAI(base_url=...), what comes there",
        "i was wondering which prefix all the API paths have",
        "openai python library, [pointing|directing] it at yaie",
        "Cursor lets me override the OpenAI URL. What do i [enter|fill in] for a local yaie",
        "api root url",
        'Suppose a chatbot front end asks for an "OpenAI compatible endpoint". What do i type',
        "https or http, and what path, for the SDK's root address",
        "what's the endpoint URL for [LlamaIndex|LangChain] or LiteLLM to use my local server",
        "in the environment file of our app there's a line OPENAI_API_BASE. Its value for yaie",
        "How do i [redirect|point] existing OpenAI code to my own machine",
        "Azure gave us a resource URL. What do we use in its place with a [local|self-hosted] yaie",
        "Which address do i hand to the [developers|programmers] whose apps speak OpenAI on "
        "this machine",
        "my Continue.dev [config|configuration] needs apiBase",
        "is there a trailing version part in the address that clients must use",
        'The web UI says "enter provider URL". What is it for yaie',
        "To which URL does an OpenAI-style client on the same computer connect",
    ],
    "uvicorn": [
        "asgi app import path",
        "Our platform [starts|launches] every Python web app with an ASGI runner. Which "
        "module and object do we name",
        "Can i [launch|start] the server without the yaie command, with a standard ASGI server",
        "i'd rather not use yaie serve, since our ops people [know|prefer] uvicorn. What's "
        "the line",
        "what is the application object [called|named] that i hand to hypercorn or uvicorn",
        "is it a FastAPI-style app that i can start myself",
        "gunicorn with uvicorn workers needs a module:variable string. Which one",
        "If i start the web app directly with uvicorn, where do the [settings|options] come "
        "from, since there are no flags",
        "uvicorn main:app doesn't work. What should i [write|type] instead of main",
        "Tell me how to [start|run] the API as a plain ASGI application",
        "i was wondering whether yaie's web layer can run under my own uvicorn",
        "Where does the app [live|sit] in the code so that i can start it with uvicorn",
        "run under uvicorn",
        "how are [options|settings] passed when the API is started through uvicorn and not "
        "through the cli",
        'Suppose my Procfile must begin with "web: uvicorn". What follows',
        "We manage all our services with the same uvicorn command. How does yaie [fit "
        "in|join them]",
        "which ASGI [entry point|module] does it have",
        "i'm mounting it in a process manager that only speaks ASGI. What's the import string",
        "can the FastAPI application be launched on its own, the way other Python services are",
        "Is it uvicorn yaie.main:app",
        "alternative to yaie serve for people who [use|like] ASGI servers",
        "My boss [insists on|prefers] starting everything through uvicorn with TLS options. "
        "Is that possible and how",
        "Error loading ASGI app, could not import module. What's the correct [name|path]",
        "starting the web app by hand with uvicorn, what about --model and so on",
        "For [hot reload|auto reload] during development i want to run the app object with "
        "uvicorn. What do i call",
        "python web server command for deployment, module colon app",
        "Do i need the CLI at all to serve, or will a generic ASGI server do",
        'our hosting panel asks for "ASGI module", what do i [enter|type] there',
        "which Python object represents the HTTP application, so i can pass it to an "
        "external runner",
        "vLLM can be run as python -m with an api_server module. How do i start yaie's app "
        "with an ASGI runner",
    ],
    "ep_chat": [
        "which path takes a list of messages with roles",
        "endpoint for system, user and assistant messages",
        "i'm building a [web chatbot|mobile assistant]. Which URL path do i post the "
        "conversation to",
        "Where do i send the dialogue so far to get the [next|assistant's] reply over HTTP",
        "does yaie [have|offer] OpenAI's chat API",
        "client.chat.completions.create, which route does that hit",
        "Our app [stores|keeps] the history as role and content pairs. Which "
        "[route|endpoint] accepts that",
        "i want to [give|send] a system prompt and a question by HTTP. Where to",
        "chat over HTTP, path",
        "With Ollama i post to /api/chat. What's it called here",
        "Is the chat route the same as OpenAI's or something of its own",
        "Tell me which HTTP call my [front end|mobile app] must make for a multi-turn conversation",
        "Suppose i have a user turn, an assistant turn and another user turn. Which endpoint "
        "understands them",
        "i was wondering whether the server speaks the messages format that GPT-4 clients use",
        "i've got a JSON body with messages [ready|prepared] for curl, only the path is missing",
        "what's the URL to talk with the model as an assistant from my JavaScript code",
        "GET or POST for chatting, and on what path",
        "Which API accepts a [conversation history|list of turns]",
        "isn't it POST /chat for conversations",
        "My [Discord|Telegram] bot should answer users in turns. Which [server "
        "route|endpoint] is meant for that",
        "send role based messages to the server",
        "our support widget [currently|so far] calls GPT with messages. Will the same call "
        "work, and on which route",
        "i don't want to build the prompt text myself, i have turns. Where do i post them",
        "how do i [hold|have] a conversation through the API",
        "The instruct model expects roles. What HTTP endpoint handles [those|them]",
        "where does the array called messages go",
        "We're replacing [GPT-4o|Claude] in a helpdesk tool that sends turns with roles. "
        "What's the matching request",
        "Which request would a [Slack|Teams] assistant make to get an answer like ChatGPT's",
        "Does the chat endpoint reply in the shape of OpenAI's, with choices and message",
        "openai style conversation route",
    ],
    "ep_completions": [
        "raw prompt endpoint",
        "i have plain text without any roles and want the model to [go on|continue] from "
        "there. Which route",
        "Where do i [post|send] token ids rather than text",
        "is the old, legacy OpenAI completion API still there",
        "i use a base model, not a chat one, so no messages. Which [path|endpoint] do i call",
        "Can i send [several|many] prompts as a list in one HTTP request",
        "text continuation over http",
        "My code [autocompletion|suggestion] plugin sends half a function and wants the "
        "rest. Which endpoint suits it",
        "lm-eval sends batches of already tokenised prompts. Where should they go",
        "i was wondering if i may hand over integers in place of a string as the [prompt|input]",
        "no chat template please, just [extend|continue] my text. What do i call",
        "Which route doesn't [wrap|put] my words in a conversation",
        "client.completions.create in the OpenAI SDK, does that work with yaie",
        'Tell me the path that takes a "prompt" field and not "messages"',
        "Suppose i tokenise on the [client side|client]. What API accepts the result",
        "Ollama's /api/generate corresponds to what",
        "unformatted input straight to the model, through which [URL|route]",
        "we wrote our own prompt formatting and want the server to leave it alone. Where do "
        "we post",
        "Does the API let me [finish|complete] an unfinished sentence",
        "davinci-style requests, where do they go",
        "What shapes may the prompt field have: one string, many, ids",
        "For fill-in-the-story experiments i just want the [next words|rest]. What's the call",
        "non-chat endpoint",
        "Our research code needs the model to carry on from an exact sequence of tokens. Is "
        "there an endpoint",
        "isn't everything sent to the chat route, even a bare string",
        "i have [fifty|twenty] short texts to be continued. May i put them in one call as an array",
        "prompt as array of integers over the api",
        "post a bare string and get the continuation, how",
        "The benchmark harness predates chat models and only knows [prompt in|text in], text "
        "out. Does yaie have a [route|path] for it",
        "which HTTP path completes a text",
    ],
    "ep_models": [
        "how can a client ask the server which models it [has|offers]",
        "model list over HTTP",
        "My web UI has a [drop-down|menu] of models. Which [URL|route] does it get them from",
        "client.models.list() in the OpenAI SDK, is that supported",
        "What name must i put in the model field of a request? Can i query the server for it",
        "Open WebUI [shows|finds] no models. Which route should it be reading",
        "i'm on a remote server without shell access. How do i see what it is [serving|running]",
        "Which [GET request|HTTP call] tells me the ids that i may use in requests",
        "curl to find out what model is being served",
        "We lost track of which checkpoint is behind our API. How do we ask over [the "
        "network|HTTP]",
        "endpoint listing the models on offer",
        "Tell me the API path for [discovering|listing] models",
        "Suppose my app must [choose|pick] a model name at run time from a running server. "
        "Where does it look",
        "is there an OpenAI-like models endpoint",
        "i was wondering how front ends find out what the server [offers|has loaded]",
        "Ollama's /api/tags gives the available ones. What's the URL here",
        "clients keep using a wrong model [id|name], which route shows the valid ones",
        "what is my [teammate's|colleague's] server running, can i see that from my browser",
        "Does the API expose the served model's name somewhere",
        "My SDK script wants to fetch the [id|name] automatically and not hard-code it. Which path",
        "isn't it GET /models without a version prefix",
        "get model ids api",
        "As a [customer|caller] of the API, how do i learn which models i can call",
        "LibreChat has an option to fetch models from the server. Which endpoint does it use "
        "with yaie",
        "the HTTP route that returns the served model ids, what is it",
        "After the rollout i want to check by HTTP that the new model is the one being "
        "offered. How",
        "query the [running|live] server for its model names",
        "LiteLLM asks the backend for its catalogue. What does yaie answer on",
        'can a program see remotely what\'s available to be requested as "model"',
        "i need the exact identifier that the server expects in requests. Where can i fetch "
        "it by curl",
    ],
    "ep_health": [
        "health check url",
        "Does the general check use up GPU time by generating something",
        "i want a [cheap|light] ping that tells me the engine is still answering. Which route",
        "My uptime monitor polls every [ten|thirty] seconds. Which path can it hit without "
        "running inference",
        "what status does the health route give when the engine doesn't respond",
        "Which URL tells me that the [engine|backend] behind the web server still responds",
        "docker HEALTHCHECK for yaie, what do i curl",
        "vLLM has /health. Is there the same here",
        "Will [polling|calling] the health endpoint slow down generation",
        "Tell me how UptimeRobot can check whether yaie is [well|healthy]",
        "i was wondering whether the health check sends a [test|trial] prompt through the model",
        "[simple|basic] up or down check of the engine over http",
        "We want an [alarm|alert] when the engine process stops answering although the web "
        "server is alive. Which route shows this",
        "Is there a /health, and does it cost tokens",
        "HAProxy has a line \"option httpchk GET ...\". What's yaie's health path",
        "engine ok? which request tells me",
        "Suppose the engine stops replying to the server. What code does the health check return",
        "our old check sent a one-word prompt each minute, which was [wasteful|expensive]. "
        "Is there a health route that skips the model",
        "isn't it /healthz, with a z",
        "how do i know the engine is [healthy|fine] right now by curl",
        "get health",
        "For a status page, i need one [address|URL] that says the engine is OK or not OK. "
        "What is it",
        "Does the [overall|general] health probe do any computing on the model",
        "Pingdom needs an address that's green when the engine answers and red when it doesn't",
        "what does 503 on the health path mean",
        "The compose file of my project has a healthcheck section. What path goes there for yaie",
        "can i check the engine's health without [spending|using] any compute",
        "which [endpoint|path] reports engine health",
        "Nagios plugin for yaie: what URL gives the basic health state and with which codes",
        "i'd like to see if the engine [responds|answers], without asking it to write "
        "anything. How",
    ],
    "ep_liveness": [
        "livenessProbe path for Kubernetes",
        "Kubernetes restarts my pod again and again while a [large|big] model is still "
        "loading. Which probe path avoids that",
        "how do i [detect|notice] that the step loop hangs",
        "Which route should decide about [restarting|killing] the container",
        "is the process [alive|still running], which URL",
        "It takes [five|ten] minutes to read the weights. What check stays green in that time",
        "deadlock detection endpoint",
        "i need to tell a [hung|frozen] process from a busy one. Which probe [says|shows] that",
        "Our orchestrator kills everything that fails its alive check. What should that "
        "check call during a long model load",
        'Tell me the path for the "am i still alive" probe',
        "what answers 200 even though the model isn't in memory yet",
        "i was wondering which of the probes fails when the engine's loop [freezes|hangs]",
        "Suppose the loop gets stuck forever. By which endpoint would my cluster notice and "
        "[restart|replace] the pod",
        "does the liveness route [fail|go red] during loading",
        "liveness check",
        "in the Helm chart, which URL belongs to the probe that triggers restarts",
        "The pod goes into CrashLoopBackOff because the probe fails before the weights are "
        "read. Which path should the restart probe use",
        "alive but not ready, which endpoint gives 200 then",
        "isn't /livez the alive probe",
        "Which check passes while weights are still being [read|loaded]",
        "we'd like to restart automatically when the server is [frozen|stuck], what do we poll",
        "A watchdog script should only act if the process is dead or its loop has stalled. "
        "What does it ask",
        "Which probe is for noticing a [wedged|blocked] loop and not for routing traffic",
        "process not stuck probe",
        "How can Nomad tell that yaie is still breathing during a slow start",
        "What should i call to see if the thing has [frozen|hung]",
        "My cluster's restart policy needs a signal that isn't fooled by slow loading. Is "
        "there a [route|path] for it",
        "stuck step loop, who reports it over HTTP",
        "Which HTTP path tells a supervisor that no restart is needed, even in the loading phase",
        "Of the Kubernetes checks, i need the one that [restarts|kills] a stuck pod. What's "
        "its path",
    ],
    "ep_readiness": [
        "readinessProbe path",
        "How does my load balancer know when it may [send|route] traffic to the server",
        "i start the server in CI and the first test fails because it's still loading. What "
        "do i poll until it's [ready|open for requests]",
        "which endpoint says that requests are accepted now",
        "wait until model has loaded, which [URL|path]",
        "In a rolling update, new pods get users before their weights are in. Which probe "
        "[prevents|stops] that",
        "what probe [goes red|fails] while the server is draining",
        "Kubernetes should take a pod out of the service while it drains. What path do i give it",
        "traffic routing probe",
        "My script has to [sleep|wait] until the server can take its first prompt. Is there "
        "something to [poll|ask]",
        "Tell me which check fails as long as the weights aren't loaded",
        "i was wondering how to know by HTTP that [start-up|loading] is over",
        "Our Kubernetes service should only route to pods that take requests. Which "
        "[path|check] tells it",
        "ready yet",
        "Suppose [three|four] replicas sit behind a proxy and one is still loading. Which "
        "path tells the proxy to [skip|avoid] it",
        "isn't it /readyz for the ready probe",
        "What turns from 503 to 200 once loading is done",
        "Which check should a load balancer use to [add|admit] or remove a [node|server]",
        "A test fixture [launches|starts] the server and must block until it takes requests. "
        "What should it query",
        "is the server open for business, which [URL|route] tells me",
        "users see [errors|failures] for the first half minute after each deploy because "
        "traffic arrives too soon. Which probe do i need",
        'which route distinguishes "still loading" from "can take work"',
        "AWS target group for several yaie instances: which path decides whether an instance "
        "gets traffic",
        "how can a client see that the server has finished loading and takes requests",
        "readiness check in yaie",
        "i want nobody routed to an instance that's about to leave. Which [endpoint|path] "
        "shows that it's draining",
        "until when should my deploy script wait after starting the server, and what does it curl",
        "The [gateway|proxy] must only pick backends that currently take requests. What does "
        "it poll",
        "accepting requests or not, status route",
        "We do blue-green deployments and flip over once the new server can serve. What do "
        "we [check|look at]",
    ],
    "ep_metrics": [
        "prometheus scrape path",
        "i'd like [graphs|charts] in Grafana. What does yaie offer for that",
        "where do i [point|send] my Prometheus server",
        "Which [prefix|beginning] do the metric names have",
        "We monitor everything with Grafana and Alertmanager. Can they [scrape|collect from] yaie",
        "how can i set up a [dashboard|panel] of latency and throughput over time",
        "vLLM's metrics start with vllm:. How do yaie's begin",
        "does it [export|offer] time series for monitoring",
        "i'm writing a scrape_config. What's the metrics_path",
        "Tell me where VictoriaMetrics can [pull|get] figures from",
        "OpenMetrics text format, available",
        "My SRE team asks for an exporter. Do we need a separate one or is it [built in|included]",
        "grafana dashboard data source",
        "i was wondering whether alerts on the server's behaviour are possible with our "
        "Prometheus stack",
        "Suppose i type a PromQL query. What do the names of yaie's series start with",
        "Is there an endpoint in Prometheus format, or must i [convert|translate] JSON myself",
        "Datadog's agent can read Prometheus endpoints. Which URL do i give it",
        "what do i put in a ServiceMonitor for yaie",
        "time series about the server, which route",
        "For our long-term monitoring we scrape every [15|30] seconds. What's the [address|path]",
        "isn't it /prometheus that has to be scraped",
        "how would i [find|recognise] yaie's series among thousands in Prometheus",
        "The ops people want alerts when things get [slow|bad], using the tools they have: "
        "Prometheus and Grafana. Where do they hook in",
        "metrics endpoint",
        "Can our observability stack scrape it",
        "which path gives histograms and gauges in the text exposition format",
        "i run [node_exporter|cAdvisor] beside it already. What does yaie itself "
        "[expose|offer] to Prometheus",
        "telegraf's prometheus input needs a URL from the LLM server, what's the path",
        "[monitoring|observability] with Prometheus, possible",
        "i want to plot the number of requests over the last [week|month] in Grafana. Where "
        "do the numbers come from",
    ],
    "ep_stats": [
        "engine counters as json",
        "how long is the queue [right now|at this moment]",
        "i want a quick [look|glance] at the numbers in my browser, without Prometheus. "
        "Which route",
        "Which URL shows how many slots are [free|taken]",
        "how many tokens have been reused so far in total, where can i see it",
        "My little [admin page|web page] should show the current load with a fetch and "
        "JSON.parse. What does it call",
        "how many requests are [waiting|queued], is there an endpoint",
        "Is there a JSON version of the engine's [figures|numbers]",
        "We don't have any monitoring system. How do we see what the engine is [doing|busy "
        "with] at the moment",
        "slot usage of the running server",
        "Tell me how to curl the engine's counters",
        "i was wondering how full the KV pool is while it serves",
        "Does the server tell me how well the cache is [working|doing] overall, in tokens saved",
        "Suppose answers are slow this [afternoon|morning]. Where can i look up the queue "
        "length and the occupancy",
        "what gives me the internal numbers of the engine, readable by jq over HTTP",
        "current queue depth",
        "my autoscaler is a Python script that needs the number of queued requests as "
        "[JSON|a JSON field]. Which path",
        "isn't it GET /info that shows requests, queue and slots",
        "Where do i see whether the server is [overloaded|busy], in plain JSON",
        "i'm curious how much reuse we had since this morning across all requests. Which "
        "endpoint sums it up",
        "[statistics|stats] endpoint of yaie",
        "one HTTP call for requests, queue and slots together",
        "a [snapshot|picture] of the engine's state, no Grafana needed, how",
        "Can i query at run time how many [prompts|requests] the engine is handling",
        "The KV memory seems to be full. Which route lets me check the slots in use",
        "redis has INFO. What's similar in yaie for seeing the engine's counters by HTTP",
        "get engine stats",
        "i'm building a [tiny|small] status widget that shows the backlog and the pool "
        "usage. Which [path|URL] returns that",
        "hit rate of the whole server, where do i find the counters",
        "how busy is it? i need numbers from the live server in a simple object",
    ],
    "stream": [
        "word by word output over the API",
        "i want the text to [appear|show up] while it's being written. What do i set in the "
        "request",
        "How do i know that the last [chunk|piece] of an answer has arrived",
        "what [marks|signals] the end of the event stream",
        "Our users stare at a blank page until the whole answer is there. How do we show it "
        "[bit by bit|as it comes]",
        "[typewriter|typing] effect as in ChatGPT, possible",
        "Does it use websockets or SSE for partial answers",
        "My EventSource parser chokes on the final line, which isn't JSON. What is it",
        "tokens as they are generated, how do i request them",
        "Is there a way to get [partial results|bits] instead of one big reply",
        "Tell me which field makes the server send [pieces|chunks] as they are produced",
        "i was wondering whether responses can [come|arrive] incrementally",
        "The full reply takes [twenty|thirty] seconds. Can the client start reading "
        "[earlier|before it is complete]",
        "sse",
        "Suppose i read the response line by line. When may i [stop|close the connection]",
        "in the OpenAI SDK i iterate over chunks. Does that work here, and with what setting",
        "isn't the last event an empty line",
        "we're building a [voice assistant|screen reader] and must begin speaking before the "
        "answer is finished. What option do we send",
        "live output in the browser",
        "how does the server signal that it's done sending deltas",
        "What protocol carries the chunks of an unfinished answer",
        "Ollama sends newline-separated JSON bit by bit. How does yaie deliver partial text",
        "i get the reply all at once although i'd like it [gradually|piece by piece]. What's "
        "missing in my request body",
        "can the api [push|send] text to the client while generation is still going on",
        "chunked replies from the chat endpoint, how do i turn them on",
        "text/event-stream responses, when do i get those",
        "My [React|Vue|Svelte] app should [render|display] each new word immediately. Which "
        "request parameter do i need",
        "What's the [terminator|final line] of an incremental response",
        "receive the answer in increments",
        "Do i have to poll for new words, or will the server send them on its own if i ask",
    ],
    "err_full": [
        "too many requests, what [status|error]",
        "What happens when more people [ask|call] than the server can queue",
        "my [load|stress] test gets 429. What does it mean here",
        "how does a client learn that it should [come back|retry] later because the queue is full",
        "We had a traffic peak and some calls were turned away. Which [code|status] did they get",
        "queue overflow behaviour",
        "does the server [drop|lose] requests silently when it's overloaded",
        "i fire [five|ten] thousand requests at once. What comes back for those that don't "
        "fit in the waiting line",
        "is there a hint how long to wait before retrying when the server is too busy",
        "OpenAI gives a rate limit error under heavy load. What does yaie [return|send] when "
        "it can't queue any more",
        "Tell me how overload is [reported|shown] to clients",
        "i was wondering whether requests pile up without end or get rejected at some point",
        "backpressure",
        "Suppose the waiting list has no room left. How is the next [caller|request] answered",
        "isn't it a 500 when the queue overflows",
        "which header tells my client when to try again after being rejected for overload",
        "Our batch job [hammers|floods] the server with parallel calls and some are "
        "rejected. How should the client interpret that",
        "[no room|no space] in the queue",
        "the server is [swamped|flooded], what do new callers see",
        "what response do i get when there's a crowd waiting already and the limit is reached",
        "A flash crowd hits our site. Will [surplus|excess] prompts wait forever or be refused",
        "How should my [retry logic|client code] recognise that too many prompts are waiting",
        "In Locust, a tenth of my requests fail under heavy load. Which HTTP error is normal then",
        "queue limit reached, http code",
        "when demand is higher than capacity and the backlog is at its maximum, how does the "
        "API refuse",
        "i'm writing an exponential backoff. Which status code signals a full [queue|backlog]",
        "Can the queue get full, and if so what does the client receive",
        "everyone in class pressed enter at the same moment and a few got an error. Which "
        "error would that be",
        "rejected because of too many waiting requests, what do i do and what did i get",
        'does yaie say "too many requests" at some point',
    ],
}
