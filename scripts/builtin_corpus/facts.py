"""The project facts that the demonstration model knows, with the wordings that ask for them.

A fact gives one answer and several kinds of wording, which `fact_questions.py` puts into frames:

    np     noun phrases that name what is asked ("the default port")
    vp     verb phrases for how-to questions ("start the server")
    name   things whose meaning or purpose is asked ("yaie serve")
    q      whole questions, for everything that no frame makes

`@Y` stands for the engine, `@S` for starting something, and so on: see MACROS. All text here is
written for the project. Keep answers true to the documentation: the model repeats them by heart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MACROS = {
    "@Y": "[yaie|the engine|this engine|the server|it|this project|this software]",
    "@SRV": "[the server|the api server|yaie|the service|the api|an api server|the backend|"
    "the http server|the engine]",
    "@S": "[start|launch|run|boot|bring up|fire up|spin up|open]",
    "@SEE": "[see|show|list|print|display|look at|view|get|check|find|inspect]",
    "@SET": "[set|change|choose|pick|select|configure|define|control|override|specify|switch]",
    "@USE": "[use|pick|choose|select|take|apply|load|work with|run]",
    "@USES": "[use|uses|used|takes|picks|chosen|needs|need|employ|employs|rely on|run on]",
    "@ENV": "[environment variable|env variable|env var|variable|setting|environment setting]",
    "@EP": "[endpoint|route|url|path|address|api route|http path]",
    "@CODE": "[status|status code|http status|http code|error code|code|response code|response]",
    "@CMD": "[command|cli command|subcommand|call]",
}


@dataclass(frozen=True)
class Fact:
    """One thing the model knows; `key` names it in follow-ups and yes/no questions."""

    key: str
    answer: str
    np: list[str] = field(default_factory=list)
    vp: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    q: list[str] = field(default_factory=list)


FACTS: list[Fact] = [
    # --- what it is -----------------------------------------------------------------------
    Fact(
        "what",
        "YAIE is an open-source LLM inference engine built around a radix tree: the tree is the "
        "cache, the block table and the batch plan at once.",
        np=[
            "yaie",
            "the yaie project",
            "this project",
            "[the idea|the main idea|the core idea|"
            "the concept|the point|the purpose|the goal|the aim] [of|behind] [yaie|this project|"
            "this engine]",
            "this engine",
            "yaie [in one sentence|in short|in a nutshell|briefly]",
        ],
        name=["yaie", "the yaie engine", "this project"],
        q=[
            "what [is|does] yaie [do|about|all about|made for|built around|]",
            "what kind of [software|project|program|tool|system|thing] is [yaie|this]",
            "what is [this|it] [project|engine|software|repository|repo|]all about",
            "describe yaie",
            "summarise [yaie|this project]",
            "[introduce|present] [yaie|this project]",
            "what [problem|job] does yaie [solve|do]",
            "why does yaie exist",
            "what am i [looking at|running] here",
            "what is [unique|special|new] about yaie",
            "tell me [something|] about [yaie|this project]",
            "is yaie an inference engine",
            "[overview|summary] of yaie",
        ],
    ),
    Fact(
        "acronym",
        "YAIE stands for Yet Another Inference Engine.",
        np=[
            "[the meaning of|] the [name|acronym|abbreviation|letters] yaie",
            "the [full|long] [name|form] of yaie",
            "the expansion of yaie",
        ],
        q=[
            "what does [yaie|the name yaie|the acronym yaie|the abbreviation] [stand for|mean|"
            "abbreviate]",
            "what do the [four |]letters [yaie |]stand for",
            "why is it [called|named] yaie",
            "where does the name [yaie |]come from",
            "spell out yaie",
            "what is yaie short for",
            "which words are behind [the letters|] yaie",
            "is yaie an acronym",
            "what is the name short for",
            "explain the name [yaie|]",
            "yaie is short for what",
        ],
    ),
    Fact(
        "promise",
        "No token is computed twice while its keys and values are held, and within a step no key "
        "or value is read twice because two callers share it.",
        np=[
            "the promise of @Y",
            "the [main|big|central|key] promise",
            "the guarantee of yaie",
            "the [main|big] [benefit|advantage|strength|selling point] of yaie",
        ],
        q=[
            "what does yaie [promise|guarantee]",
            "what [promise|guarantee] does [yaie|the engine] [make|give]",
            "why should i [use|choose|pick|prefer] yaie",
            "what makes [yaie|it] "
            "[different|faster|fast|better|special][ than others| from other servers|]",
            "how is yaie different from [other|] [engines|servers]",
            "what is the [benefit|advantage|gain] of yaie",
            "are tokens [ever |]computed twice",
            "does @Y compute [a token|tokens|anything] twice",
            "why is yaie [fast|quick|efficient]",
        ],
    ),
    Fact(
        "why_tree",
        "The radix tree stores shared prefixes once, so prompts that begin alike share their keys "
        "and values, across requests and within a step.",
        np=[
            "the radix tree",
            "the [use|purpose|role|job|point|function] of the [radix |]tree",
            "the [prefix|radix] tree",
        ],
        name=["the radix tree", "the tree", "a radix tree"],
        q=[
            "why [is there|use|does @Y use|a|do you use] a [radix|prefix] tree",
            "what is the [radix |]tree [for|good for|used for]",
            "how does [the radix tree|the tree|prefix "
            "sharing|prefix caching|the cache|caching] work",
            "how are [shared |common |]prefixes [stored|shared|kept|reused|handled|cached]",
            "how does @Y [share|reuse] [prefixes|prompts|the cache|common prompts|earlier work]",
            "which data structure [is used|does @Y use|holds the cache]",
            "what happens when [two |]prompts [share|have] [a|the same] [prefix|beginning|start]",
            "is there [a |]prefix [cache|caching|sharing]",
        ],
    ),
    Fact(
        "licence",
        "YAIE is licensed under Apache-2.0.",
        np=[
            "the [licence|license|licensing|copyright licence|legal terms|software licence]",
            "[licence|license] [terms|information|type|text]",
        ],
        q=[
            "[under |]which [licence|license] [is yaie under|does @Y have|does @Y use|is it|is "
            "used|applies|is @Y released under|covers the code]",
            "how is @Y licensed",
            "is [yaie|it|this|the code] [open source|free software|free|open|free to use]",
            "[may|can] i "
            "use [yaie|it|the code] [commercially|in a product|at work|in my company|in closed "
            "source]",
            "what are the licence terms",
            "licence",
            "license",
            "is it mit or apache",
            "is [yaie|it] [mit|apache|gpl] [licensed|]",
            "am i allowed to [sell|use|change|modify|redistribute] [it|this|yaie]",
        ],
    ),
    Fact(
        "python",
        "YAIE needs Python 3.11 or newer.",
        np=[
            "the [python version|minimum python version|required python version|python "
            "requirement|oldest python|supported python version|lowest python version]"
        ],
        q=[
            "[which|what] [version of python|python version|python|python release] [do i need|is "
            "needed|is required|does @Y need|does @Y require|works|should i [use|have|install]|"
            "is supported|must i have]",
            "does it [work|run] [on|with] python [3.8|3.9|3.10|3.11|3.12|3.13]",
            "is python [3.8|3.9|3.10|3.11|3.12|3.13] [ok|enough|supported|fine|new enough|too old]",
            "how [new|old|recent] must [my|the] python be",
            "what python [is it|is this] for",
            "python version",
            "minimum python",
            "which pythons are supported",
        ],
    ),
    Fact(
        "install",
        "Run pip install yaie; the CPU version needs nothing else, and the built-in model comes "
        "with it.",
        np=[
            "the install command",
            "the [installation|install|setup] [command|steps|procedure|instructions]",
            "[installation|setup]",
        ],
        vp=[
            "[install|set up|get|download|obtain] [yaie|it|the engine|the package|this|the "
            "software|this project][ with pip| on my machine| on my laptop|]",
            "do the installation",
            "get started[ with yaie|]",
        ],
        q=[
            "how is yaie installed",
            "what do i need to install",
            "where do i [get|find|download] yaie",
            "pip [command|install|package]",
            "how does one install it",
            "what is the pip package called",
            "[first steps|getting started][ with yaie|]",
        ],
    ),
    # --- commands -------------------------------------------------------------------------
    Fact(
        "make_serve",
        "make serve starts the API server from the repository, on port 8000 with the built-in "
        "model.",
        name=["make serve", "the serve target", "the serve target of the makefile", "`make serve`"],
        q=[
            "what [does|will] make serve [do|start|launch|run]",
            "which make target [starts|runs|launches] the server",
            "how do i start the server [with|using|from] [make|the makefile]",
            "make target for [serving|the server]",
            "start the server with make",
            "is there a make target [for|to start|that starts] the server",
        ],
    ),
    Fact(
        "make_test",
        "Run make test; it runs the whole test suite on the CPU, without any download.",
        np=["the test command", "the command for the tests", "the test [target|runner]"],
        vp=[
            "[run|execute|start|launch|do|try] [the|all|all the|your|the unit|the whole] [tests|"
            "test suite|unit tests|testsuite|checks|test cases]",
            "test [the project|yaie|my changes|everything|the code|it|my patch]",
            "[check|verify|make sure] that [everything|it|the code] [works|passes]",
        ],
        name=["make test", "`make test`"],
        q=[
            "how are the tests [run|started|executed]",
            "which make target runs the tests",
            "testing",
            "where do tests [run|start]",
            "how does one [run tests|test it]",
            "do the tests need [a gpu|a download|the network|internet]",
            "can i run the tests [offline|without a gpu|without internet]",
        ],
    ),
    Fact(
        "one_off",
        'Type yaie "PROMPT" or yaie run "PROMPT"; it prints the answer and exits.',
        np=["the one-off command", "the command for [a single|one] [prompt|question]"],
        vp=[
            "[ask|send|give|put|answer|run|try] [a single|one|a|a quick|just one|a one-off] "
            "[prompt|question|query][ from the shell| from the terminal| in the shell| on the "
            "command line|]",
            "[get|print] [one|a single] answer[ from the shell| on the command line|]",
            "[use|call] yaie without a server",
            "prompt the model from [the terminal|the shell|bash|the command line]",
        ],
        name=["yaie run", "`yaie run`", "the run command"],
        q=[
            "is there a one-off mode",
            "can i use it [without|with no] [a |]server",
            "how does yaie run work",
            "one-off prompt",
            "one shot prompt",
            "single question on the command line",
        ],
    ),
    Fact(
        "pipe",
        'Pipe it: cat notes.md | yaie "Summarise this". Piped text and the prompt are joined.',
        vp=[
            "[pipe|feed|send|give|pass] [a file|text|a document|stdin|my file|a text file|input] "
            "[to|into] [yaie|it|the model|the prompt]",
            "use [stdin|a pipe|pipes|standard input]",
            "read [from |the prompt from |]stdin",
            "combine [a file|stdin] and a prompt",
        ],
        q=[
            "does @Y [read|accept|support|take] [stdin|pipes|piped input|piped text|standard "
            "input]",
            "can i [use|pipe into] it [in|with] a [shell |]pipe",
            "what happens with piped text",
            "is stdin supported",
        ],
    ),
    Fact(
        "chat",
        "Run yaie chat; it opens an interactive conversation in the terminal, and Ctrl-D leaves.",
        np=["the [chat|interactive|repl] command", "the interactive mode", "the repl"],
        vp=[
            "[@S|have|hold|begin] [a chat|an interactive chat|a conversation|an interactive "
            "session|the repl|a dialogue|an interactive conversation][ in the terminal| with the "
            "model|]",
            "[chat|talk|converse|speak] with [the model|it|yaie][ in the terminal|]",
            "[leave|exit|quit|end] [the chat|the repl|a chat|the conversation]",
            "chat interactively",
        ],
        name=["yaie chat", "`yaie chat`", "the chat command"],
        q=[
            "is there [a chat mode|an interactive mode|a repl|a prompt loop]",
            "can i [chat|talk] [with it|in the terminal|interactively]",
            "interactive mode",
            "[which|what] command [opens|gives me] a [chat|repl|conversation]",
        ],
    ),
    Fact(
        "serve",
        "Run yaie serve; it serves the OpenAI-compatible API on http://127.0.0.1:8000 with the "
        "built-in model.",
        np=[
            "the [command|way] [to start|for starting|that starts] @SRV",
            "the [serve|server] command",
        ],
        vp=[
            "@S @SRV",
            "[serve|host] [the api|a model|an api|models|the built-in model|it over http|an llm]",
            "[get|have] [the|an] [api|server|openai compatible server|openai api] "
            "[running|up|going|started]",
            "turn on the server",
            "make the model available over http",
        ],
        name=["yaie serve", "`yaie serve`", "the serve command"],
        q=[
            "[which|what] command [starts|runs|launches|boots|opens|brings up] @SRV",
            "how is the server started",
            "start server",
            "server start command",
            "how do you serve",
            "how does one @S @SRV",
        ],
    ),
    Fact(
        "serve_model",
        "Name it: yaie serve Qwen/Qwen3-0.6B, or set YAIE_MODEL.",
        vp=[
            "[serve|host|run|use|load|start] [another|a different|a bigger|a larger|my own|a real|"
            "some other|a specific|a hugging face|a better|an other] [model|llm|checkpoint]",
            "[change|switch|swap|replace] [the|to another] model",
            "choose [which|the|a] model[ to serve| that is served|]",
            "serve [qwen|llama|qwen3|mistral|gemma|my model]",
            "@SET the model [that is served|of the server|for the server]",
        ],
        q=[
            "can [i|it|yaie|the server] [use|load|serve|run] [other|different|bigger|larger|real|"
            "hugging face|my own|better] [models|llms|checkpoints|ones]",
            "how is the model [chosen|selected|picked]",
            "where do i [name|put|give|write] the model[ name|]",
            "can i serve qwen",
            "what if i want a [bigger|better|larger|smarter] model",
            "use another model",
        ],
    ),
    Fact(
        "demo",
        "yaie demo sends sixteen requests that share a system prompt, with the cache off and on, "
        "and prints what was saved. It needs no network.",
        np=["the [demo|demonstration]", "the demo command"],
        vp=[
            "[see|run|watch|start|try|show|have] [a|the|your] [demo|demonstration]",
            "[see|watch|"
            "show] [the cache at work|what the cache saves|what it can do|how much the cache "
            "saves|the benefit of the cache|the saving]",
        ],
        name=["yaie demo", "`yaie demo`", "the demo command", "make demo"],
        q=[
            "is there a [demo|demonstration|showcase]",
            "what does the demo [show|do|print|measure|prove|run]",
            "how many requests does the demo [send|make]",
            "demo",
            "does the demo need [a network|internet|a gpu|a download]",
        ],
    ),
    Fact(
        "bench_tree",
        "yaie bench tree measures the radix tree alone: matching, growing and evicting, without a "
        "model.",
        np=[
            "the tree benchmark",
            "the benchmark of the [radix |]tree",
            "the speed of the [radix |]tree",
        ],
        vp=[
            "[benchmark|measure|time|profile|test the speed of] the [radix |]tree",
            "measure [matching|eviction speed|tree operations]",
        ],
        name=["yaie bench tree", "`yaie bench tree`", "bench tree"],
        q=[
            "which benchmark [needs|uses|has] no model",
            "how fast is the [radix |]tree",
            "is there a [tree benchmark|benchmark for the tree]",
            "tree benchmark",
        ],
    ),
    Fact(
        "bench_offline",
        "yaie bench offline measures the whole engine in one process: tokens per second, time to "
        "first token and tokens reused.",
        np=[
            "the offline benchmark",
            "the [throughput|engine] benchmark",
            "the benchmark of the [whole |]engine",
        ],
        vp=[
            "[benchmark|measure|time] [the engine|the whole engine|yaie|throughput|tokens per "
            "second|the speed|performance|my machine|time to first token]",
            "[run|start] [a|the] [benchmark|benchmarks|performance test|speed test]",
        ],
        name=["yaie bench offline", "`yaie bench offline`", "bench offline", "yaie bench"],
        q=[
            "is there a [benchmark|speed test|performance test|benchmark command]",
            "how [fast|quick] is [yaie|the engine|it][ on my machine|]",
            "benchmark",
            "how many tokens per second [do i get|can it do|does it make]",
            "throughput test",
        ],
    ),
    Fact(
        "doctor",
        "Run yaie doctor; it checks Python, torch, the device, memory, the port and the settings, "
        "and says what is wrong.",
        np=["the doctor command", "the [diagnostic|diagnosis|self-check|health check] command"],
        vp=[
            "[find|see|check|diagnose|debug|find out|learn|know] [what is wrong|problems|why it "
            "does not work|my installation|my setup|an installation problem|what is broken|a "
            "problem|why nothing works]",
            "[check|verify|diagnose|inspect] [my|the] [machine|"
            "installation|setup|environment|install|config]",
            "troubleshoot",
        ],
        name=["yaie doctor", "`yaie doctor`", "the doctor command"],
        q=[
            "it does not work",
            "something is [wrong|broken|not working]",
            "[yaie|it] [fails|crashes|is broken|does not start]",
            "help it is broken",
            "is there a [self test|diagnostic|health check for my setup]",
            "what can i do when it does not work",
            "what does the doctor [check|do|look at]",
            "troubleshooting",
            "nothing works",
            "is my setup ok",
        ],
    ),
    Fact(
        "models_cmd",
        "Run yaie models; it lists the models on this machine and the architectures that are "
        "supported.",
        np=["the [list|listing] of [models|local models|my models]", "the models command"],
        vp=[
            "@SEE [the|my|all|local|downloaded|installed|available|which|the available] models[ i "
            "have| on my machine| on this machine|]",
            "find out which models [i have|are installed|are here|are on disk|are supported]",
        ],
        name=["yaie models", "`yaie models`", "the models command"],
        q=[
            "[which|what] models [do i have|are installed|are available|are here|are supported|are "
            "on my disk|can i use|are there|work]",
            "where is the list of models",
            "list models",
            "[which|what] architectures [are supported|work|does it support]",
            "is [llama|qwen3|gemma|mistral] supported",
        ],
    ),
    Fact(
        "flag_m",
        "Use -m, for example yaie -m Qwen/Qwen3-0.6B followed by the prompt.",
        np=["the [flag|option|switch] for the model", "the model [flag|option]"],
        vp=[
            "[choose|name|pick|select|use|give] [a|another|a different] model [on the command "
            "line|for one prompt|for a single prompt|with a flag|in yaie run|in yaie chat]"
        ],
        name=["-m", "the -m flag", "the -m option"],
        q=[
            "which [flag|option|switch] [picks|selects|sets|chooses|changes|names] the model",
            "what is the [flag|option] to [choose|pick|set|change] the model",
            "model flag",
        ],
    ),
    Fact(
        "help",
        "Run yaie --help, or add --help to any command.",
        np=[
            "the help[ text| page|]",
            "the list of [commands|all commands|subcommands|options]",
            "the usage text",
        ],
        vp=[
            "[get|see|find|read|show|open] [help|the help|all commands|the commands|usage|the "
            "options|all options|more help]",
            "list [the|all|all the] [commands|subcommands]",
        ],
        q=[
            "[which|what] commands [are there|exist|does yaie have|can i run|do you have]",
            "where is the [help|manual]",
            "help",
            "is there [a help|help]",
            "how many commands are there",
            "show commands",
        ],
    ),
    Fact(
        "stop_server",
        "Press Ctrl-C or send SIGTERM; running streams may finish first, then the server leaves.",
        vp=[
            "[stop|quit|halt|kill|end|shut down|exit|terminate|turn off|close] [the server|@SRV|"
            "it|a running server|yaie serve]",
            "shut [the server|it|everything] down",
            "[take|bring] the server down",
        ],
        np=["the [way|command] to stop the server"],
        q=[
            "how is the server stopped",
            "what happens [on|at|when i press] [ctrl-c|sigterm|shutdown]",
            "how does the server shut down",
            "stop server",
            "what happens to running requests [at shutdown|when i stop the server]",
            "graceful shutdown",
            "does it drain",
        ],
    ),
    Fact(
        "json_flag",
        "Add --json; the result is then printed as JSON on standard output.",
        vp=[
            "[get|print|have|see] [json|json output|machine readable output|the output as json|"
            "the result as json|structured output from the cli]",
            "make the [cli|command] print json",
        ],
        np=["the [flag|option] for json[ output|]"],
        name=["--json", "the --json flag"],
        q=[
            "can [the cli|the command line|commands|yaie] [print|write|output] json",
            "which flag [gives|prints|makes] json",
            "is there a json [mode|flag|output]",
        ],
    ),
    # --- server ---------------------------------------------------------------------------
    Fact(
        "port",
        "The server listens on port 8000 by default; change it with --port.",
        np=[
            "[the|your] [default |standard |usual |] [port|port number|tcp port|server port|"
            "listening port|http port]",
            "the port [of the server|the server listens on|that is used|of the api]",
        ],
        vp=[
            "@SET the [port|port number]",
            "[use|listen on|serve on|run on] [another|a different|"
            "port 9000|port 8080|another free] port",
        ],
        name=["--port", "the --port flag"],
        q=[
            "[which|what|on which|on what] port [is used|is it|does @Y [use|listen on|run on|open|"
            "serve on]|is the default|is the server on|do i connect to|should i connect to|is "
            "open]",
            "where does [the server|it] listen",
            "port",
            "is [8000|8080] the default port",
            "port 8000 is [taken|in use|busy|already used]",
        ],
    ),
    Fact(
        "host",
        "The server binds to 127.0.0.1 by default, so only this machine reaches it; use --host "
        "0.0.0.0 to open it.",
        np=[
            "[the|your] [default |] [host|bind address|ip address|interface|listening address|"
            "network address|hostname|address]",
            "the host of the server",
        ],
        vp=[
            "@SET the [host|bind address|address|interface]",
            "[reach|open|access|expose|connect "
            "to|see] [the server|it|@SRV] [from another machine|to the network|on the network|"
            "from other machines|from outside|remotely|to others|from the internet|from my phone]",
            "listen on all [interfaces|addresses]",
        ],
        name=["--host", "the --host flag"],
        q=[
            "[which|what] [host|address|ip|interface] [is used|does @Y [use|bind to|listen on|"
            "bind]|is the default]",
            "can other [machines|computers|people] [reach|see|use|access] the server",
            "is the server [public|reachable from outside|open to the network|only local]",
            "host",
            "why can't i reach the server from another [machine|computer]",
        ],
    ),
    Fact(
        "base_url",
        "The base URL is http://127.0.0.1:8000/v1.",
        np=[
            "the [base url|api url|base address|api base|openai base url|url of the api|server "
            "url]",
            "the [url|address] for [the openai client|clients|my client]",
        ],
        vp=[
            "[point|connect|set up|configure] [the openai client|the openai library|an openai "
            "client|my client|a client|the openai sdk] [to yaie|at yaie|to the server|to it|here|]",
            "use the openai [client|library|python package|sdk][ with yaie| with it|]",
        ],
        q=[
            "[which|what] [url|base url|base_url] [do i [use|give|set|enter]|should i use|is it]",
            "does the openai [client|library|sdk] work",
            "is [it|the api|yaie] openai compatible",
            "is it compatible with openai",
            "base url",
            "where is the api",
        ],
    ),
    Fact(
        "uvicorn",
        "Run uvicorn server.api:app; it reads its settings from YAIE_ environment variables.",
        np=[
            "the [uvicorn|asgi] [command|app|application|target|path|import string]",
            "the asgi application",
        ],
        vp=[
            "[start|run|launch|serve|use|deploy] [it|yaie|the server|the app|the api] [with|under|"
            "using|through|by] [uvicorn|an asgi server|asgi]",
            "use uvicorn",
        ],
        name=["server.api:app", "uvicorn server.api:app", "`uvicorn server.api:app`"],
        q=[
            "[which|what] [module|app|application|import path] [do i give|does uvicorn need|goes "
            "to uvicorn|do i pass to uvicorn]",
            "can i use uvicorn[ directly|]",
            "is there an asgi app",
            "does it [work|run] with uvicorn",
            "uvicorn",
            "where is the asgi app",
        ],
    ),
    Fact(
        "ep_chat",
        "POST /v1/chat/completions takes a list of messages and answers like OpenAI's chat API.",
        np=[
            "the [chat|chat completions|chat completion|conversation] @EP",
            "the @EP for [chat|chats|messages|conversations|chat requests]",
        ],
        name=["/v1/chat/completions", "v1/chat/completions", "the chat completions endpoint"],
        vp=[
            "[send|post] [messages|a chat|a chat request|a conversation|chat messages] [to the "
            "server|over http|with curl|]"
        ],
        q=[
            "which @EP [is for|handles|takes|answers|accepts] [chat|messages|conversations|chats|"
            "chat requests]",
            "where do i [send|post] [messages|chat messages|a chat|my messages|a conversation]",
            "chat endpoint",
        ],
    ),
    Fact(
        "ep_completions",
        "POST /v1/completions continues a raw prompt: a string, a list of strings or token ids.",
        np=[
            "the [completions|completion|raw prompt|text completion|raw completion] @EP",
            "the @EP for [raw prompts|a plain prompt|completions|plain text|raw text|token ids]",
        ],
        name=["/v1/completions", "v1/completions", "the completions endpoint"],
        vp=[
            "[send|post|complete|continue] [a raw prompt|raw text|a prompt without a template|"
            "plain text|token ids|a raw string]"
        ],
        q=[
            "which @EP [takes|is for|handles|accepts|continues] [raw prompts|a raw prompt|plain "
            "prompts|plain text|token ids|raw text]",
            "where do i send a raw prompt",
            "can i send token ids",
            "completions endpoint",
            "is there an endpoint without [chat |a ]template",
        ],
    ),
    Fact(
        "ep_models",
        "GET /v1/models lists the models that the server offers.",
        np=["the models @EP", "the @EP [for|that lists] [the |]models"],
        name=["/v1/models", "v1/models", "the models endpoint"],
        vp=[
            "[list|see|ask for|get|query] the [models|served models|model names] [over http|from "
            "the server|of the server|with curl|through the api|of a running server]"
        ],
        q=[
            "which @EP [lists|shows|returns|gives|names] [the |] [models|model names|served models|"
            "available models]",
            "which model does the server [serve|offer|run]",
            "models endpoint",
            "how do i see which model is served",
        ],
    ),
    Fact(
        "ep_health",
        "GET /health answers 200 while the engine answers and 503 otherwise; it never runs the "
        "model.",
        np=[
            "the health @EP",
            "the health [check|probe]",
            "the @EP [for|of] [health|health checks|the health check]",
        ],
        name=["/health", "the health endpoint"],
        vp=[
            "[check|see|know|test|ask|find out|tell] [if|whether|that] [the server|it|the engine|"
            "the service] is [healthy|up|alive and well|ok|fine|working|running]",
            "check the health[ of the server|]",
        ],
        q=[
            "which @EP [tells|says|shows|reports|returns] [the |] [health|server health|whether it "
            "is healthy]",
            "does [/health|the health check] run the model",
            "is there a health [check|endpoint|probe|route]",
            "health endpoint",
            "when is health 503",
            "what does health return",
        ],
    ),
    Fact(
        "ep_liveness",
        "GET /liveness answers 200 while the process lives and its step loop is not stuck, even "
        "while weights load.",
        np=[
            "the liveness @EP",
            "the liveness [probe|check]",
            "the [kubernetes |k8s |]liveness probe",
        ],
        name=["/liveness", "the liveness endpoint", "the liveness probe"],
        q=[
            "which @EP [is for|tells|says|is] [liveness|the liveness probe|if the process lives|"
            "whether it is alive]",
            "how do i [probe|check|test] [liveness|whether the process "
            "lives|that the process is alive]",
            "is there a liveness [probe|endpoint|check]",
            "what should kubernetes use to restart it",
            "liveness",
            "when does liveness fail",
        ],
    ),
    Fact(
        "ep_readiness",
        "GET /readiness answers 200 when the server accepts requests, and 503 while it loads or "
        "drains.",
        np=[
            "the readiness @EP",
            "the readiness [probe|check]",
            "the [kubernetes |k8s |]readiness probe",
        ],
        name=["/readiness", "the readiness endpoint", "the readiness probe"],
        vp=[
            "[know|see|tell|check|find out|learn] [when|whether|if] [the server|it|the model|the "
            "engine] is [ready|loaded|accepting requests|ready for requests]",
            "wait [until|till] [the server|it] is ready",
            "wait for the server",
        ],
        q=[
            "which @EP [is for|tells|says] [readiness|whether it is ready|when the server is "
            "ready|if it accepts requests]",
            "when is the server ready",
            "is there a readiness [probe|endpoint|check]",
            "readiness",
            "is the server ready",
        ],
    ),
    Fact(
        "ep_metrics",
        "GET /metrics gives Prometheus metrics; their names begin with yaie_.",
        np=[
            "the metrics @EP",
            "the [prometheus|metrics] [endpoint|metrics|page|url]",
            "the @EP [for|of] [prometheus|metrics|monitoring]",
        ],
        name=["/metrics", "the metrics endpoint"],
        vp=[
            "[monitor|scrape|watch|observe] [the server|it|yaie|metrics|the engine][ with "
            "prometheus| in grafana|]",
            "[connect|use|attach] [prometheus|grafana]",
            "get metrics",
        ],
        q=[
            "which @EP [is for|gives|has|exports|exposes] [metrics|prometheus|prometheus metrics]",
            "[are there|is there|do you have|does @Y export|does it have] [metrics|prometheus "
            "metrics|prometheus support|monitoring]",
            "where [are|do i find|can i scrape] [the |] metrics",
            "what do metric names [begin|start] with",
            "prometheus",
            "metrics",
        ],
    ),
    Fact(
        "ep_stats",
        "GET /stats gives the engine's counters as JSON: requests, queue, slots and reused tokens.",
        np=[
            "the stats @EP",
            "the [statistics|stats|counters|statistics page]",
            "the @EP [for|of] [stats|statistics|counters]",
        ],
        name=["/stats", "the stats endpoint"],
        vp=[
            "[see|get|read|show|fetch] [the |] [statistics|stats|counters|engine statistics|"
            "numbers of the engine|queue length|stats as json]"
        ],
        q=[
            "which @EP [gives|has|returns|shows] [stats|statistics|counters|the counters as json]",
            "where [are|do i find|do i see] the [stats|statistics|counters]",
            "are there statistics",
            "stats",
            "statistics as json",
        ],
    ),
    Fact(
        "stream",
        "Set stream to true; the answer comes as server-sent events and ends with data: [DONE].",
        vp=[
            "[stream|get] [the answer|answers|tokens|the output|output|the response|a response]"
            "[ token by token| as a stream| piece by piece|]",
            "[use|turn on|enable|switch on] [streaming|server-sent events|sse]",
            "see tokens as they come",
        ],
        np=["[the |] streaming[ format|]", "the end of a stream"],
        q=[
            "[is|are] [streaming|server-sent events|sse] [supported|possible|available]",
            "does @Y [support|do|have|offer] [streaming|sse|server-sent events]",
            "how does [a stream|streaming] [end|work|finish]",
            "what [ends|is the last line of] a stream",
            "streaming",
            "can i stream",
        ],
    ),
    Fact(
        "err_full",
        "A full queue is answered with 429 and a Retry-After header.",
        np=[
            "the @CODE [for|of|when there is|on] [a full queue|too many requests|overload|an "
            "overloaded server|a busy server]"
        ],
        name=["429", "status 429", "error 429", "http 429", "code 429"],
        q=[
            "what [happens|does @Y do|is returned|do i get|is sent|comes back] [when|if] the "
            "[queue|waiting queue|server|request queue] is [full|overloaded|too busy|"
            "overfull]",
            "[which|what] @CODE [means|is sent for|do i get for|comes with|is "
            "returned on] [a full queue|too many requests|overload]",
            "why do i get [a |] 429",
            "what if there are too many requests",
            "what does 429 mean",
            "full queue",
            "how is overload handled",
            "what happens under overload",
            "429",
        ],
    ),
    Fact(
        "err_starting",
        "While the server starts, drains or has lost its engine it answers 503 with Retry-After.",
        np=[
            "the @CODE [while|when] [the server|it|the model] [starts|is starting|is loading|is "
            "not ready|loads|drains]"
        ],
        name=["503", "status 503", "error 503", "http 503", "code 503"],
        q=[
            "what [happens|does @Y do|is returned|do i get|comes back] [while|when|if] [the server|"
            "the model|it] [starts|is starting|is loading|still loads|is not ready|drains|is "
            "draining|is down]",
            "[which|what] @CODE [means|do i get|is sent|is returned] [that |] "
            "[while|when|during] [starting|startup|loading|the server starts|draining]",
            "why do i get [a |] 503",
            "what does 503 mean",
            "can i send requests while it [loads|starts]",
            "503",
        ],
    ),
    Fact(
        "err_long",
        "A prompt longer than the context is refused with 400 and the code "
        "context_length_exceeded, with both numbers.",
        np=[
            "the [error|@CODE] for [a prompt that is too long|too long a prompt|a too long prompt|"
            "long prompts|an overlong prompt]"
        ],
        name=["context_length_exceeded", "the code context_length_exceeded"],
        q=[
            "what [happens|does @Y do|is returned|do i get|comes back] [when|if] [a|the|my] [prompt"
            "|input|request|conversation|text] is [too long|longer than the context|too big|over "
            "the limit|larger than the context]",
            "what if my [prompt|input|text] is too [long|big|large]",
            "[are|is] long [prompts|input] [truncated|cut|refused|rejected]",
            "does it [truncate|cut|shorten] [prompts|my prompt|long prompts]",
            "what happens with [very long|overlong|too long] prompts",
            "prompt too long",
            "which error means that the prompt is too long",
        ],
    ),
    Fact(
        "err_model",
        "An unknown model is answered with 404 and the code model_not_found.",
        np=[
            "the [error|@CODE] for [an unknown model|a wrong model name|a model that does not "
            "exist|a missing model|unknown models]"
        ],
        name=["model_not_found", "the code model_not_found"],
        q=[
            "what [happens|does @Y do|is returned|do i get|comes back] [when|if] [the|a|i ask for "
            "a|i name a] model [is unknown|does not exist|is not there|is not known|is not found|"
            "name is wrong|is misspelt|that does not exist]",
            "[which|what] @CODE [means|is sent "
            "for|do i get for|comes for] [an unknown model|a wrong model|a missing model]",
            "why do i get [a |] 404 [for my model|]",
            "what if i [misspell|mistype] the model name",
            "unknown model",
            "wrong model name",
        ],
    ),
    Fact(
        "err_body",
        "Every failure has OpenAI's error body: an error object with message, type, param and "
        "code.",
        np=[
            "the [error body|error format|format of errors|shape of an error|error envelope|"
            "structure of errors|error object|error response]"
        ],
        q=[
            "how do errors look",
            "[what|which] [format|fields|shape|structure] [do errors have|"
            "does an error have|is used for errors|has an error]",
            "what does an error [look like|contain|have]",
            "what is in an error [body|response|message]",
            "how are errors [returned|reported|formatted|sent]",
            "which fields are in the error",
            "error format",
            "what do i get when something fails",
        ],
    ),
    Fact(
        "unknown_field",
        "Unknown request fields are accepted and named in the X-YAIE-Ignored-Params header.",
        np=[
            "the X-YAIE-Ignored-Params header",
            "the handling of unknown [request |] [fields|parameters]",
        ],
        name=["X-YAIE-Ignored-Params", "the X-YAIE-Ignored-Params header"],
        q=[
            "what [happens|does @Y do] [with|to|about|when i send] [unknown|unsupported|extra|"
            "misspelt|unexpected] [fields|parameters|request fields|params|keys|options]",
            "are "
            "[unknown|extra] [fields|parameters|params] [refused|accepted|ignored|an error|"
            "allowed]",
            "what if i send [an unknown|an extra|a misspelt] [field|parameter]",
            "which header names ignored [fields|parameters|params]",
            "unknown fields",
        ],
    ),
    Fact(
        "cached_tokens",
        "cached_tokens, in usage.prompt_tokens_details, counts the prompt tokens whose keys and "
        "values were already held; it is always there, also when 0.",
        np=[
            "cached_tokens",
            "the number of [cached|reused|held] [tokens|prompt tokens]",
            "the cached_tokens [field|number|figure]",
        ],
        name=["cached_tokens", "the cached_tokens field", "usage.prompt_tokens_details"],
        vp=[
            "[see|know|find out|read|tell|learn|check] how [many tokens|much|much of my prompt|"
            "many prompt tokens] [were|was] [cached|reused|in the cache|held|taken from the "
            "cache]",
            "see [cache hits|whether the cache was used|if the cache was hit|the cache hit]",
        ],
        q=[
            "where [is|do i find|do i see] cached_tokens",
            "what does cached_tokens [count|mean|show|tell]",
            "does the [answer|response|usage] [show|say|tell] [cache hits|cached "
            "tokens|what was cached]",
            "which field [tells|shows|counts] [cached|reused] tokens",
            "cached tokens",
            "was my prompt cached",
        ],
    ),
    Fact(
        "auth",
        "Set YAIE_API_KEY; clients then send Authorization: Bearer KEY.",
        np=[
            "YAIE_API_KEY",
            "[the |] [authentication|api key|authorization|access control|password]",
        ],
        name=["YAIE_API_KEY", "the variable YAIE_API_KEY"],
        vp=[
            "[protect|secure|lock|guard|restrict] [the server|the api|it|access|my server][ with "
            "a key| with a password|]",
            "[set|use|require|add|need|give] [an|the|a] [api key|key|"
            "password|token for access|bearer token]",
            "turn on authentication",
        ],
        q=[
            "[is there|does @Y have|do you support] [authentication|an api key|api keys|access "
            "control|login]",
            "where do i [put|set|give] [the|my|an] [api |] key",
            "do i need an api key",
            "which header carries the [api |] key",
            "which @ENV [sets|holds|has] the [api |] key",
            "api key",
            "how does a client [authenticate|log in|identify itself]",
        ],
    ),
    Fact(
        "tools_exec",
        "/v1/tools/execute is off by default and runs only callables that the operator registered.",
        np=["the tool execution @EP", "/v1/tools/execute"],
        name=["/v1/tools/execute", "v1/tools/execute"],
        q=[
            "does [the server|yaie|it|the engine] [run|execute|call] [tools|my tools|functions]"
            "[ by itself|]",
            "can the server [run|execute] [tools|functions|code]",
            "is tool execution [on|off|enabled|allowed|on by default|safe]",
            "who runs the tools",
            "which tools can the server [run|execute]",
        ],
    ),
    # --- settings -------------------------------------------------------------------------
    Fact(
        "env_model",
        "YAIE_MODEL names the model to serve; the default is builtin.",
        np=[
            "YAIE_MODEL",
            "the @ENV [for|that sets|that names] the model",
            "the default model",
            "the model that is served by default",
        ],
        name=["YAIE_MODEL", "the variable YAIE_MODEL", "the environment variable YAIE_MODEL"],
        q=[
            "which @ENV [sets|names|chooses|selects|holds|picks|is for] the model",
            "[which|what] "
            "model [is|runs|is used|is loaded|is served|do i get] [by default|when i name none|if "
            "i give none|without a name|out of the box]",
            "model variable",
            "default model",
        ],
    ),
    Fact(
        "env_dtype",
        "YAIE_DTYPE sets the number format of the weights and the KV pool: auto, float32, bfloat16 "
        "or float16.",
        np=[
            "YAIE_DTYPE",
            "the @ENV for the [dtype|precision|number format|data type]",
            "the [dtype|precision|data type|number format][ of the weights|]",
        ],
        name=["YAIE_DTYPE", "the variable YAIE_DTYPE", "the environment variable YAIE_DTYPE"],
        vp=[
            "@SET the [dtype|precision|number format|data type|weight format]",
            "[run|load|use|"
            "compute] [the model |it |weights |] in [bfloat16|float16|float32|fp32|fp16|bf16|half "
            "precision|full precision]",
        ],
        q=[
            "which @ENV [sets|controls|is for|changes] the [dtype|precision|number format|data "
            "type]",
            "[which|what] [dtypes|precisions|number formats|data types] [are there|are "
            "supported|can i use]",
            "is [bfloat16|float16|fp16|bf16] supported",
            "dtype",
        ],
    ),
    Fact(
        "env_device",
        "YAIE_DEVICE chooses where the model runs: auto, cpu or cuda.",
        np=["YAIE_DEVICE", "the @ENV for the [device|gpu|hardware]", "the device[ setting|]"],
        name=["YAIE_DEVICE", "the variable YAIE_DEVICE", "the environment variable YAIE_DEVICE"],
        vp=[
            "@SET the [device|hardware|processor]",
            "[force|run on|run it on|use|make it use|stay "
            "on] [the gpu|the cpu|cuda|a gpu|my graphics card|the processor only]",
            "put the model on the [gpu|cpu]",
        ],
        q=[
            "which @ENV [sets|chooses|picks|controls|selects] the [device|gpu|hardware]",
            "[which|what] devices [are there|can i choose|are supported]",
            "how do i run on [gpu|cpu|cuda]",
            "device",
            "can i force cpu",
        ],
    ),
    Fact(
        "env_slots",
        "YAIE_NUM_SLOTS sets the size of the KV pool in slots, that is in tokens.",
        np=[
            "YAIE_NUM_SLOTS",
            "the @ENV for the [pool size|cache size|number of slots|size of the pool|kv memory]",
            "the [pool|cache] size",
            "the size of the [kv |] [pool|cache]",
            "the number of slots",
        ],
        name=[
            "YAIE_NUM_SLOTS",
            "the variable YAIE_NUM_SLOTS",
            "the environment variable YAIE_NUM_SLOTS",
        ],
        vp=[
            "@SET the [size of the pool|pool size|cache size|size of the cache|number of slots|kv "
            "cache size|capacity of the cache]",
            "[make|get] [the pool|the cache|the kv cache] [bigger|larger|smaller]",
            "[enlarge|grow|increase|reduce|shrink] the [pool|cache|kv cache]",
            "give the cache more memory",
        ],
        q=[
            "which @ENV [sets|controls|limits|changes] the [pool size|size of the pool|number of "
            "slots|cache size|kv cache size]",
            "how [big|large] is the [pool|cache]",
            "how many slots are there",
            "how many tokens fit [in the pool|in the cache]",
            "cache size",
        ],
    ),
    Fact(
        "env_rows",
        "YAIE_MAX_STEP_ROWS limits how many rows one step computes; longer prompts are prefilled "
        "in chunks.",
        np=[
            "YAIE_MAX_STEP_ROWS",
            "the @ENV for [rows per step|the step size|the batch size|the size of a step]",
            "the [limit|maximum] of rows [per|in a] step",
            "the [maximum |] [batch size|step size]",
        ],
        name=[
            "YAIE_MAX_STEP_ROWS",
            "the variable YAIE_MAX_STEP_ROWS",
            "the environment variable YAIE_MAX_STEP_ROWS",
        ],
        vp=[
            "@SET the [rows per step|step size|batch size|size of a step|number of rows]",
            "limit "
            "[the rows of a step|the batch size|how much one step computes|the work per step]",
        ],
        q=[
            "which @ENV [limits|sets|controls] [the rows|the step|rows per step|the batch size|the "
            "size of a step]",
            "how many rows [has|are in|does] a step[ have| compute|]",
            "how [big|large] is a step",
            "batch size",
        ],
    ),
    Fact(
        "env_policy",
        "YAIE_POLICY chooses the order of waiting requests: prefix-aware, fcfs, lpm or priority.",
        np=[
            "YAIE_POLICY",
            "the @ENV for the [policy|scheduling policy|queue order|order of requests]",
            "the [list of|] [scheduling |admission |] policies",
            "the available policies",
        ],
        name=["YAIE_POLICY", "the variable YAIE_POLICY", "the environment variable YAIE_POLICY"],
        vp=[
            "@SET the [policy|scheduling policy|scheduler|order of requests|queue order|admission "
            "policy]",
            "use another [policy|scheduling policy|scheduler]",
        ],
        q=[
            "which @ENV [sets|chooses|picks|controls] the [policy|scheduling policy|queue order]",
            "[which|what] [policies|scheduling policies|admission policies|schedulers|orders] [are "
            "there|exist|can i choose|are available|does @Y have|are supported]",
            "how many policies are there",
            "name the policies",
            "policies",
            "list the [scheduling |] policies",
            "how are waiting requests ordered",
        ],
    ),
    Fact(
        "env_prefix",
        "Settings come from environment variables that begin with YAIE_, such as YAIE_MODEL and "
        "YAIE_POLICY.",
        np=[
            "the [prefix|name] of [the |] environment variables",
            "the environment variables",
            "the [configuration|settings|environment] [prefix|variables]",
        ],
        vp=[
            "[configure|set up|change the settings of] [the server|yaie|it|the engine][ with "
            "environment variables| through the environment|]",
            "change [settings|the settings|the configuration]",
        ],
        q=[
            "[which|what] environment variables [are there|exist|does @Y read|can i set|does yaie "
            "use]",
            "how is [it|the server|yaie] configured",
            "where [are|do i put|do i change] [the |] [settings|configuration]",
            "how do [env variables|environment variables] [begin|start]",
            "environment variables",
            "configuration",
            "settings",
        ],
    ),
    # --- scheduling -----------------------------------------------------------------------
    Fact(
        "policy_default",
        "The default policy is prefix-aware: it weighs waiting time against the tokens that must "
        "still be computed.",
        np=[
            "the default [policy|scheduling policy|scheduler|admission policy|queue policy|order "
            "of requests]",
            "the prefix-aware policy",
        ],
        name=["prefix-aware", "the prefix-aware policy", "prefix-aware scheduling"],
        q=[
            "[which|what] [policy|scheduling policy|scheduler] is [the default|used by default|"
            "standard|default|active when i set none]",
            "how does [prefix-aware|the default policy|"
            "the prefix-aware policy] [work|order requests|decide]",
            "default policy",
            "which policy do i get if i set nothing",
            "is fcfs the default",
        ],
    ),
    Fact(
        "policy_fcfs",
        "fcfs means first come, first served: requests are admitted in the order of arrival.",
        np=["fcfs", "the fcfs policy", "the first come first served policy"],
        name=["fcfs", "the fcfs policy", "policy fcfs"],
        q=[
            "what does fcfs [mean|stand for]",
            "which policy [keeps|uses|follows] the order of arrival",
            "which policy is [first come first served|first in first out|by arrival]",
            "how does fcfs [work|order requests]",
            "is there a [fifo|first come first served] policy",
        ],
    ),
    Fact(
        "policy_lpm",
        "lpm means longest prefix match: the request with the most tokens already held goes first.",
        np=["lpm", "the lpm policy", "the longest prefix match policy"],
        name=["lpm", "the lpm policy", "policy lpm", "longest prefix match"],
        q=[
            "what does lpm [mean|stand for]",
            "which policy [prefers|favours|picks|admits] the "
            "[longest prefix|longest match|most cached request|request with the most cached "
            "tokens]",
            "how does lpm [work|order requests]",
            "is there a longest prefix policy",
        ],
    ),
    Fact(
        "policy_priority",
        "The priority policy admits requests by their priority field first.",
        np=["the priority policy", "the priority field"],
        name=["the priority policy", "policy priority", "the priority field"],
        vp=[
            "[give|set|raise] [a request|the|some requests|my request] [a |] priority",
            "make a request [more important|urgent|go first]",
            "prefer [some|important] requests",
        ],
        q=[
            "which policy [uses|looks at|follows] [priorities|priority|the priority field]",
            "does @Y [have|support] priorities",
            "how does the priority policy [work|order requests]",
            "can requests have priorities",
        ],
    ),
    Fact(
        "evictions",
        "The eviction policies are lru, lfu and cost.",
        np=[
            "the eviction [policies|policy names|strategies|options|algorithms|methods|choices]",
            "the [list|names] of eviction policies",
        ],
        q=[
            "[which|what] [eviction|cache eviction] [policies|strategies|algorithms|methods] [are "
            "there|exist|can i choose|are available|are supported|do you have]",
            "how many eviction policies are there",
            "name the eviction policies",
            "is lru supported",
            "eviction policies",
            "can i choose how nodes are evicted",
        ],
    ),
    Fact(
        "evict_what",
        "When slots run out, leaves that no live sequence uses are evicted, tails first; a node "
        "with refs above zero stays.",
        np=["eviction", "the eviction rule", "what is evicted"],
        name=["eviction", "an eviction"],
        q=[
            "what [happens|does @Y do] when [the pool|the cache|memory|the kv cache|slots] "
            "[is full|runs out|fills up|run out|are used up|gets full]",
            "[which|what] nodes [are|can be|get] evicted",
            "what gets evicted[ first|]",
            "when is a node evicted",
            "how does eviction work",
            "[can|are] nodes in use [be |] evicted",
            "how is space [freed|made]",
        ],
    ),
    Fact(
        "evict_lru",
        "lru evicts the leaf that was used least recently.",
        np=["lru", "lru eviction", "the lru policy"],
        name=["lru", "lru eviction", "the lru eviction policy"],
        q=[
            "what does lru [mean|stand for|evict|do]",
            "which eviction policy [drops|removes|"
            "evicts] the [oldest|least recently used|longest unused] [leaf|node|one]",
            "how does lru work",
        ],
    ),
    Fact(
        "evict_lfu",
        "lfu evicts the leaf that was used least often.",
        np=["lfu", "lfu eviction", "the lfu policy"],
        name=["lfu", "lfu eviction", "the lfu eviction policy"],
        q=[
            "what does lfu [mean|stand for|evict|do]",
            "which eviction policy [drops|removes|"
            "evicts] the [least often used|rarest|least frequently used|rarely used] [leaf|node|"
            "one]",
            "how does lfu work",
        ],
    ),
    Fact(
        "evict_cost",
        "cost keeps what is dear to recompute: it ranks a leaf by recompute cost times reuse over "
        "size.",
        np=["the cost eviction policy", "cost eviction", "the cost policy", "cost-based eviction"],
        name=["cost eviction", "the cost eviction policy", "the cost policy"],
        q=[
            "which eviction policy [keeps|looks at|weighs|considers] [what is expensive|what is "
            "dear to recompute|recompute cost|the cost]",
            "how does [the cost policy|cost eviction] [work|rank]",
            "what does the cost policy [do|mean]",
        ],
    ),
    Fact(
        "preempt",
        "The sequence that is cheapest to recompute is preempted; its nodes stay, so resuming is "
        "often free.",
        np=["preemption", "the preemption rule", "a preempted sequence"],
        name=["preemption", "a preemption"],
        q=[
            "[which|what] [sequence|request] is preempted[ first|]",
            "what happens when the pool is exhausted while decoding",
            "how does preemption work",
            "what happens to a preempted [sequence|request]",
            "does @Y preempt",
            "is a preempted request lost",
            "how does a preempted [request|sequence] resume",
        ],
    ),
    Fact(
        "chunked",
        "Long prompts are computed in chunks of at most YAIE_MAX_STEP_ROWS rows, and decode rows "
        "go first.",
        np=["chunked prefill", "the prefill chunks", "chunked prefilling"],
        name=["chunked prefill", "chunked prefilling"],
        q=[
            "how are long prompts [computed|prefilled|handled|processed]",
            "does @Y [have|support|do] chunked prefill",
            "do long prompts [block|delay|stall] [others|other requests|decoding]",
            "is prefill chunked",
            "which rows go first in a step",
            "what comes first prefill or decode",
        ],
    ),
    # --- words ----------------------------------------------------------------------------
    Fact(
        "token",
        "A token is an integer id; inside the engine text does not exist.",
        np=["a token", "the word token", "the term token"],
        name=["a token", "token"],
        q=[
            "what does token mean",
            "how is text represented in the engine",
            "does the engine [know|see|handle] text",
        ],
    ),
    Fact(
        "slot",
        "A slot is one token's place in the KV pool, the same index in every layer.",
        np=["a slot", "the word slot", "the term slot", "slots"],
        name=["a slot", "slot", "slots"],
        q=[
            "what does slot mean",
            "what [fits in|is in|is stored in|does] a slot[ hold|]",
            "how many tokens [fit in|are in|does] a slot[ hold|]",
        ],
    ),
    Fact(
        "extent",
        "An extent is a run of consecutive slots; the allocator prefers long ones.",
        np=["an extent", "the word extent", "the term extent", "extents"],
        name=["an extent", "extent", "extents"],
        q=[
            "what does extent mean",
            "what do you call [consecutive slots|a run of slots|slots in a row]",
            "what does the allocator prefer",
        ],
    ),
    Fact(
        "pool",
        "The pool holds the K and V tensors of all layers; its places are the slots.",
        np=["the pool", "the kv pool", "the word pool", "the term pool"],
        name=["the pool", "pool", "the kv pool", "a pool"],
        q=[
            "what does pool mean",
            "where are keys and values [kept|stored|held]",
            "what [is in|does] the [kv |] pool[ hold| contain|]",
            "where does the kv cache live",
        ],
    ),
    Fact(
        "node",
        "A node is a compressed edge of the tree: its tokens, their slots, and how many "
        "of them are computed.",
        np=["a node", "a tree node", "the word node", "the term node", "nodes"],
        name=["a node", "node", "nodes", "a node of the tree"],
        q=["what does node mean", "what [is in|does|is stored in] a node[ hold| contain|]"],
    ),
    Fact(
        "path",
        "A path is the way from the root to a node: a token sequence.",
        np=["a path", "the word path", "the term path", "a path in the tree"],
        name=["a path", "path", "a path in the tree"],
        q=["what does path mean", "what do you call the way from the root to a node"],
    ),
    Fact(
        "request",
        "A request is what a caller asked for; it has n sequences.",
        np=["a request", "the word request", "the term request"],
        name=["a request", "request"],
        q=[
            "what does request mean[ in the engine| in yaie|]",
            "what is the difference between a request and a sequence",
            "how many sequences [has|are in|does] a request[ have|]",
        ],
    ),
    Fact(
        "sequence",
        "A sequence is one live branch being generated: a cursor in the tree plus its "
        "sampling state.",
        np=["a sequence", "the word sequence", "the term sequence"],
        name=["a sequence", "sequence", "sequences"],
        q=[
            "what does sequence mean",
            "what [is in|belongs to|does] a sequence[ hold| have|]",
            "what do you call a branch that is being generated",
        ],
    ),
    Fact(
        "refs",
        "refs counts the live sequences whose path includes a node; only a node with zero "
        "refs can be evicted.",
        np=[
            "refs",
            "the refs of a node",
            "the word refs",
            "the term refs",
            "the reference count of a node",
        ],
        name=["refs", "the refs of a node", "node refs"],
        q=[
            "what [does|do] refs [mean|count]",
            "what counts the live sequences of a node",
            "why does a node have refs",
            "what does refs equal to zero mean",
        ],
    ),
    Fact(
        "row",
        "A row is one token to be computed in this step: one line of the flattened batch.",
        np=["a row", "the word row", "the term row", "rows"],
        name=["a row", "row", "rows"],
        q=[
            "what does row mean",
            "what do you call a token that is computed in this step",
            "what is a line of the batch called",
        ],
    ),
    Fact(
        "segment",
        "A segment is one node's extents and the contiguous range of rows that attend to them.",
        np=["a segment", "the word segment", "the term segment", "segments"],
        name=["a segment", "segment", "segments"],
        q=["what does segment mean", "what [is in|belongs to|does] a segment[ hold| contain|]"],
    ),
    Fact(
        "step_plan",
        "The step plan lists the rows of a step in depth-first order, their "
        "segments, and which rows need logits.",
        np=["the step plan", "a step plan", "the plan of a step", "the term step plan"],
        name=["the step plan", "a step plan", "step plan"],
        q=[
            "what does step plan mean",
            "what [is in|does] [the|a] step plan[ hold| contain| list|]",
            "in which order are rows computed",
            "how are rows ordered",
        ],
    ),
    Fact(
        "namespace",
        "A namespace is a separate root of the tree, for a model, adapter or tenant "
        "salt; nothing is shared across namespaces.",
        np=["a namespace", "the word namespace", "the term namespace", "namespaces"],
        name=["a namespace", "namespace", "namespaces"],
        q=[
            "what does namespace mean",
            "are namespaces shared",
            "is anything shared [across|between] namespaces",
            "what [separates|keeps apart] [models|adapters|tenants]",
        ],
    ),
    Fact(
        "page_size",
        "The page size is one token, so prefixes are shared to the exact token.",
        np=["the page size", "the [block|page] size", "the size of a page"],
        name=["the page size", "page size"],
        q=[
            "how [big|large] is a [page|block]",
            "how many tokens [fit in|are in|has|does] a [page|block][ hold|]",
            "[which|what] page size [is used|does @Y use]",
            "is the cache paged",
            "how exactly are prefixes shared",
            "page size",
        ],
    ),
    Fact(
        "salt",
        "Set cache_salt in the request: requests with different salts use separate "
        "namespaces and share nothing.",
        np=["cache_salt", "the cache_salt field", "a cache salt", "the cache salt"],
        name=["cache_salt", "the cache_salt field", "a cache salt"],
        vp=[
            "[isolate|separate|keep apart] [tenants|users|customers|callers|requests|caches|two "
            "users]",
            "[keep|make] [my|a|the] cache [private|separate]",
            "stop tenants from sharing [the cache|prefixes]",
            "prevent [cache sharing|sharing between users]",
        ],
        q=[
            "can tenants share [the cache|prefixes]",
            "can [one user|users|others] see [the cache "
            "of|what is cached for] [another|others|other users|me]",
            "how are [tenants|users] [isolated|separated|kept apart]",
            "which field isolates [tenants|namespaces|users]",
        ],
    ),
    Fact(
        "samples",
        "With n above 1 all samples share one prefill; each draws its own tokens.",
        np=["the n parameter", "n > 1", "several samples", "parallel sampling"],
        name=["n", "the n parameter", "the parameter n", "n greater than 1"],
        vp=[
            "[get|ask for|have|draw|request] [several|many|more than one|multiple|four|a few] "
            "[answers|samples|completions|choices|outputs][ at once| for one prompt|]"
        ],
        q=[
            "what [happens|is shared] [with|when] n [is above|above|greater than|larger than|is "
            "more than] 1",
            "[do|does] [n|several|parallel|many] [samples|completions|answers] "
            "[share|cost|need] [one prefill|the prefill|several prefills|more|a prefill each]",
            "is the prompt computed [n times|once per sample|for every sample]",
            "how many times is the prompt computed for n samples",
        ],
    ),
    # --- how it computes ------------------------------------------------------------------
    Fact(
        "gpu",
        "On a GPU attention runs on FlashInfer, as a multi-level cascade over the tree.",
        np=[
            "the gpu [kernel|backend|attention backend|attention]",
            "the attention [kernel|backend] [on|for] [gpu|a gpu|cuda|gpus]",
        ],
        name=["flashinfer", "the flashinfer backend"],
        q=[
            "[which|what] [kernel|attention kernel|attention backend|library|backend] [is used|runs"
            "|does @Y use|is there] on [the gpu|a gpu|gpus|cuda|nvidia]",
            "does @Y [use|support] [flashinfer|gpus|a gpu|cuda|nvidia gpus]",
            "how is attention computed on [a gpu|the gpu|cuda]",
            "is there gpu support",
            "flashinfer",
            "does it run on a gpu",
        ],
    ),
    Fact(
        "cpu",
        "On a CPU attention runs on YAIE's own C++ kernel, which reads shared keys and "
        "values once.",
        np=[
            "the cpu [kernel|backend|attention backend|attention]",
            "the attention [kernel|backend] [on|for] [cpu|a cpu|the processor|cpus]",
        ],
        name=["the cpu kernel", "the cpu backend"],
        q=[
            "[which|what] [kernel|attention kernel|attention backend|backend] [is used|runs|does "
            "@Y use|is there] on [the cpu|a cpu|cpus]",
            "do i need a gpu",
            "does it [run|work] [on a cpu|without a gpu|on my laptop|without cuda|on a laptop]",
            "is a gpu [required|needed|necessary]",
            "how is attention computed on [a cpu|the cpu]",
            "can i [use|run] [it|yaie] without a [gpu|graphics card]",
        ],
    ),
    Fact(
        "reference",
        "The reference backend is plain torch with a float32 softmax, written to be "
        "read; it is the oracle of the tests.",
        np=[
            "the reference backend",
            "the reference [attention|implementation]",
            "the oracle of the tests",
        ],
        name=["the reference backend", "the reference implementation", "reference attention"],
        q=[
            "which backend is [for reading|the oracle|written to be read|the simplest|the plain "
            "one]",
            "what are fast kernels [compared with|tested against|checked against]",
        ],
    ),
    Fact(
        "backends",
        "There are three attention backends: reference, cpu and flashinfer.",
        np=[
            "the attention backends",
            "the list of [attention |] backends",
            "the available backends",
        ],
        q=[
            "[which|what] [attention |] backends [are there|exist|can i choose|are available]",
            "how many [attention |] backends are there",
            "name the [attention |] backends",
            "backends",
        ],
    ),
    Fact(
        "safetensors",
        "Only safetensors weights are loaded, and trust_remote_code is off.",
        np=[
            "the weight format",
            "the [file |] format of [the |] weights",
            "the supported weight [files|formats]",
            "trust_remote_code",
        ],
        name=["trust_remote_code", "safetensors"],
        q=[
            "[which|what] [weights|weight files|weight formats|file formats|checkpoint formats] "
            "[are supported|can it load|does @Y load|are loaded|are allowed]",
            "[can|does] [it|yaie] load [pickle|.bin|pytorch bin|gguf|pt] files",
            "is [trust_remote_code|remote code] [on|off|allowed|supported]",
            "does it run remote code",
            "are pickle files [allowed|loaded|supported]",
            "is loading a model safe",
        ],
    ),
    Fact(
        "zoo",
        "YAIE uses transformers as its model zoo and hooks its own attention into the models.",
        np=["the model zoo", "the source of the model code", "the role of transformers"],
        name=["transformers", "the transformers library"],
        q=[
            "where does the model code come from",
            "does @Y [use|need|depend on] transformers",
            "[which|what] library [has|gives|provides] the [models|model code|architectures]",
            "why does @Y use transformers",
            "are the models written [by hand|by you|from scratch]",
        ],
    ),
    Fact(
        "greedy",
        "Greedy output is the same with a cold cache, a warm one, alone or in any "
        "batch: token-exact in float32.",
        np=[
            "the effect of the cache on [the output|answers|results]",
            "reproducibility",
            "determinism",
        ],
        q=[
            "does [the cache|caching|batching|prefix caching] [change|affect|alter|influence] "
            "[the |] [output|answers|results|answer|tokens]",
            "is [the output|greedy output|"
            "greedy decoding|it] [the same|deterministic|reproducible|exact][ with a warm cache|]",
            "do i get the same [answer|output|tokens] [twice|with and without the cache|in every "
            "batch|each time]",
            "are cached answers [exact|the same|different]",
        ],
    ),
    Fact(
        "process",
        "The engine runs in its own process; the server talks to it over a private "
        "local socket and loads no torch.",
        np=[
            "the process layout",
            "the [processes|process structure|process model]",
            "the engine process",
        ],
        name=["the engine process", "the server process"],
        q=[
            "[which|how many|what] processes [are there|run|does @Y have|does it start]",
            "does the server [load|import|need] torch",
            "how [do|does] [the server and the engine|the "
            "server|the processes] [talk|communicate][ to the engine|]",
            "where does the engine run",
            "is the engine in the same process",
        ],
    ),
    Fact(
        "crash",
        "A crashed or hung engine is noticed, its requests are answered with an error, "
        "and it is restarted.",
        np=["the handling of [an engine crash|crashes|a crashed engine]", "engine crashes"],
        q=[
            "what happens [when|if] the engine [crashes|dies|hangs|is killed|fails|stops "
            "answering]",
            "is [a crashed engine|the engine|it] restarted[ after a crash|]",
            "does @Y [recover|restart] [from a crash|after a crash|by itself]",
            "who restarts the engine",
            "what if the engine process dies",
        ],
    ),
    Fact(
        "schema",
        "Send response_format with a JSON schema; the grammar then allows only valid JSON.",
        np=["response_format", "structured output", "the json schema support"],
        name=["response_format", "structured output", "the response_format field"],
        vp=[
            "[get|force|enforce|make sure of|guarantee] [valid json|json answers|json that fits "
            "a schema|structured output|a json answer from the model]",
            "[use|give|send] a json schema",
        ],
        q=[
            "[does|can] @Y [support|do|offer|have] [structured output|json schemas|constrained "
            "decoding|json mode]",
            "is [structured output|a json schema|json mode] supported",
            "which field [forces|asks for|gives] [json|a schema|valid json]",
            "json mode",
        ],
    ),
    Fact(
        "tool_calls",
        "Send a tools list; the model's calls come back as tool_calls, as in OpenAI's API.",
        np=["tool calling", "function calling", "the tools list", "tool_calls"],
        name=["tool_calls", "tool calling", "function calling"],
        vp=[
            "[use|call|give|send|add|offer] [tools|functions|a tool|my own tools|tool calls|a "
            "function][ to the model|]",
            "do [tool|function] calling",
            "let the model call [a function|tools|my functions]",
        ],
        q=[
            "[does|can] @Y [support|do|offer|have] [tools|tool calling|function calling|tool "
            "calls|functions]",
            "[is|are] [tool calling|function calling|tools] supported",
            "how do tool calls come back",
            "tools",
            "can the model call functions",
        ],
    ),
    Fact(
        "snapshot",
        "Nothing leaves this machine: YAIE sends no telemetry, and the built-in model "
        "needs no network.",
        np=["the telemetry", "the privacy of my prompts", "the network use"],
        q=[
            "does @Y [send|collect|phone|report] [telemetry|data|my data|my prompts|home|usage "
            "data|statistics to anyone]",
            "is my data [private|safe|sent anywhere|sent somewhere]",
            "is there [any |] [telemetry|tracking]",
            "does it [work|run] [offline|without internet|"
            "without a network|on an air-gapped machine]",
            "do i need [the internet|a network|an internet connection|to be online]",
            "where do my prompts go",
            "can i use it offline",
        ],
    ),
    Fact(
        "context",
        "The built-in model's context is 4,096 tokens.",
        np=[
            "[the|your] [context length|context window|context size|maximum context|context "
            "limit|context]",
            "the [longest prompt|maximum prompt length]",
        ],
        q=[
            "how [long|big|large] is [your|the] [context|context window]",
            "how many tokens [can "
            "you [read|take|handle|see]|fit in the context|fit into your context]",
            "how long [may|can|must] a prompt be",
            "what is the longest prompt you can take",
            "context length",
        ],
    ),
    Fact(
        "ui_words",
        "The main folders are yaie/kvcache for the tree, yaie/attention, "
        "yaie/models, yaie/engine and server for the API.",
        np=[
            "the [folder|source|code|directory|repository|repo] [layout|structure|tree|"
            "organisation]",
            "the main folders",
            "the [folders|packages|modules]",
        ],
        vp=[
            "find [my way in the code|the code of the radix tree|the source of the scheduler|the "
            "engine code|the server code]"
        ],
        q=[
            "where is [the radix tree|the code|the scheduler|the tree code|the attention code|the "
            "server code][ in the repository| in the source| in the repo|]",
            "how is the [code|repository|source] [organised|laid out|structured]",
            "[which|what] [folder|package] "
            "[has|holds|contains] the [tree|radix tree|server|engine|models]",
            "where do i start reading[ the code|]",
        ],
    ),
    Fact(
        "chat_template",
        "A chat template in a request is refused; the model's own template is "
        "rendered in a sandbox.",
        np=["a chat template in a request", "the chat template"],
        name=["the chat template", "a chat template"],
        q=[
            "can i send [my own|a|another] chat template",
            "is a chat template in a request [accepted|allowed|refused]",
            "which chat template is used",
            "can a request change the [chat |] template",
        ],
    ),
]
