"""As typed in a chat: errors, settings and policies.

Situations, consequences, comparisons with other programs, wrong guesses and keywords, in words that
neighbouring facts do not share. Keys and patterns as in `asked_about_use.py`; merged with the other
tables by `asked.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "err_starting": [
        "What status code do i get if i send a chat request while the server is still "
        "[booting|starting up|coming up]",
        "503 during startup normal",
        "Our first few calls right after a restart all bounce. What does yaie answer while "
        "it is not up yet",
        "We do rolling deploys on Kubernetes. When a pod is draining and a client still "
        "posts a completion, what [does it get back|response does it see]",
        "i got a 503 on a completion request, what does that tell me about the server",
        "[Suppose|Say|Imagine] the engine process has just died and a request comes in "
        "before it is back. Which HTTP code does the caller see",
        "Will a request sent during shutdown be told when to [try again|retry], or is the "
        "connection just dropped",
        "Isn't a request during loading answered with 500",
        "My [client|app] sends a prompt two seconds after launch and gets refused with "
        "service unavailable. Why",
        "What happens to [callers|clients] whose requests arrive before the weights have "
        "finished loading",
        "status for requests while draining",
        "tell me which error my SDK should retry on when the server is going down for "
        "[maintenance|an update]",
        "With vLLM the socket is simply closed until the model is loaded. What does yaie "
        "reply to early completion requests",
        "Service unavailable, that's all my app shows when i post a chat message. What are "
        "the possible reasons",
        "does the server queue my request while it is starting, or does it turn it away with "
        "an error",
        "[i'm|i am] writing retry logic. Which code means the server isn't up yet or is on "
        "its way out",
        "If the engine is lost, what do new requests get in the meantime",
        "We stop the service at night, and jobs that come in during the stop get some error. "
        "Which one is it",
        "i was wondering whether a not yet started server gives 429 or something else to a "
        "[chat|completion] call",
        "When a chat call comes too early, while the thing is still warming up, how is it "
        "turned down",
        "Temporarily unavailable: how does yaie say that to a client that [posts|sends] a prompt",
        "Under which circumstances does a completion call return 503 and not an answer",
        "My users see an error for about twenty seconds after each deploy, then all is fine. "
        "Which HTTP error is that",
        "what does a [client|caller] hear when it knocks on a server that is shutting down",
        "Which response do prompts get from a yaie that lost contact with its engine",
        "Do i have to handle a special status when i send work too soon after [launch|boot]",
        "engine gone, api still up, and i post a message: what is the reply",
        "A service that's about to exit still gets new prompts from [our|my] load balancer. "
        "How does it refuse them",
        "hey, i always get 5xx for my prompts just after [starting|launching] it, which 5xx "
        "should it be and is there a hint when to retry",
        "Requests that reach a half-started server: hang, fail with a code, or get lost",
    ],
    "err_long": [
        "What [happens|will happen] when my prompt doesn't fit into the context",
        "prompt too long error",
        "We feed whole contracts to the model and some are bigger than its window. What does "
        "the API [answer|return] then",
        "Does yaie silently cut off an over-long prompt, or does it [reject|refuse] it",
        "i'm pasting a 200-page book into one message. Which error will i see",
        "[My|Our] call came back with context_length_exceeded, what did i do wrong",
        "Ollama just truncates when the input is too big. Is it the same here",
        "Which HTTP status is used for an input that has more tokens than the model can take",
        "Isn't an oversized prompt answered with 413",
        "If i send 10,000 tokens to a model that only takes 4,096, what [comes back|do i get]",
        "[Suppose|Say|Imagine] a chat history keeps growing until it no longer fits. What "
        "will the server say",
        "i was wondering whether too much input gets trimmed from the [left|front] or gives "
        "an error",
        "which error code tells my app that the conversation has become too long",
        "Does the error for too much text say how many tokens i sent and how many are allowed",
        "Our bot died after [a very|an extremely] long dialogue with a bad request. What's "
        "the likely reason",
        "[tell me|please tell me] how the server reacts to input beyond the model's maximum length",
        "Input over the limit: [truncation|trimming] or failure",
        "A customer uploads a huge log file as one prompt. How does the server turn it down "
        "when it exceeds the window",
        "when there are more tokens in the prompt than the window has room for, what do i get",
        "i need to shorten the history automatically. Which code in the reply should i [look "
        "for|check for]",
        "Why did my enormous prompt get a 400",
        "What exactly is reported when my text is larger than the maximum the model accepts",
        "exceeding context window status code",
        "We moved from OpenAI, where we catch the error for too many tokens by its code. Is "
        "there one [here|in yaie] as well",
        "[Can|Could] i send more than the context holds and hope for the best",
        "My RAG pipeline sometimes stuffs in too many documents for the model to take. How "
        "will i notice",
        "does an input that overflows the window crash the engine or just give me a clean refusal",
        "Sending a novel to a model with a small window, what will the API tell me",
        "how [do|can] i find out by how many tokens my prompt overshot the limit",
        "What is the [reply|answer] to a message that is too big for the model to read",
    ],
    "err_model": [
        "What do i get if i ask for a model that the server doesn't have",
        "model not found error",
        "i mistyped the model name in my request. Which status [comes back|do i get]",
        'Our old code still sends "gpt-4" as the model. How does yaie [answer|respond]',
        "Does a wrong model name fall back to the loaded one, or is it an error",
        "Why do i get a 404 on chat completions although the path is right",
        "[Suppose|Say|Imagine] a client requests llama-70b but only the built-in one is "
        "being served. What happens",
        "which HTTP code means that the model in my request [does not exist|isn't there]",
        "Isn't a bad model name a 400",
        "[We're|We are] moving from OpenAI and forgot to change the model field. What error "
        "do we see",
        "With Ollama an unknown name would trigger a pull. What does yaie do with one",
        "i was wondering whether the model field is checked at all, or can i put in "
        "[anything|nonsense]",
        'my request says model "foo", and no such thing is loaded: what\'s the reply',
        "[tell me|please tell me] the error code for a model name nobody has heard of",
        "model_not_found, when do i see that",
        "LangChain passes its own default model name, and the server refuses it. With what status",
        "A request names a checkpoint that isn't on offer. How is it [rejected|refused]",
        "[Can|Could] i catch a misspelt model name by its error code",
        'if the name in "model" matches nothing, is that a 404 or a 422',
        "Our intern renamed the model in the client config, now every call fails. Which code "
        "should be in the error",
        "What answer does somebody get who requests a nonexistent model",
        "404 in my logs for POST requests, could the model field be to blame",
        "Asking for something the server doesn't serve, say mixtral, gives which error",
        "[i'm|i am] building a dropdown of models, and a user may pick one that is no longer "
        "served. What status do i handle",
        "how does the api complain about a typo in the model id",
        "Will yaie go and download a model it doesn't know when a [client|caller] asks for "
        "it, or say no",
        "My script names the wrong LLM in the JSON. What [code|error] will it run into",
        "invalid model name response",
        "does the server care if i request claude instead of what is actually loaded",
        "When the requested model cannot be matched to a served one, which status and code "
        "are sent",
    ],
    "err_body": [
        "What does an error response look like in JSON",
        "error json format",
        "[i'm|i am] writing an exception class for my client. Which fields are in an error "
        "that the server sends",
        "Do errors have the same shape as OpenAI's, so that the official SDK can parse them",
        "Our frontend wants to show the reason when a call fails. Where in the "
        "[reply|response] is it",
        "Is a failed call answered in plain text or with a [structured|JSON] object",
        "which keys does the error object contain",
        "[i was wondering|i'm wondering|i wonder] whether all failures come in one common "
        "format or each in its own",
        'Some servers answer with FastAPI\'s "detail" field when something goes wrong. Does '
        "yaie do that too",
        "Suppose anything at all fails. What structure can my parser [rely on|count on]",
        "how [do|can] i read the human-readable message out of a failed response",
        "[We're|We are] moving from OpenAI and our error handling looks at error.code and "
        "error.type. Will it keep working",
        "Does an error say which parameter was the [bad|wrong] one",
        "[My|Our] logger should store the kind of error and its text. How are they named in "
        "the body",
        "Isn't the error just an HTML page",
        "[tell me|please tell me] the schema of failures, i need to generate types for them",
        "Whatever goes wrong, is there one [layout|format] for all the error replies",
        "type, message, param: where do these three occur in yaie's replies",
        "What will i find in the body when the status [isn't|is not] 200",
        "i have a Go client with a struct for [failures|errors]. What members does it need",
        "can the openai python package understand the exceptions that come from yaie",
        "Errors from vLLM looked different in every version. Is there a fixed form for them here",
        "When a request fails, what's in the payload besides the status code",
        "body of a non-2xx response",
        "Where do i find the param that caused the failure in the response",
        "For our dashboard we group failed calls by code. Is there a code inside "
        "[every|each] error reply",
        "how are [failures|errors] described to the client, in general",
        "How does the JSON of a failure look, no matter which failure it is",
        "my app only understands errors in OpenAI's style, is that what it gets",
        'Do all problems arrive wrapped in an "error" key or at the top level',
    ],
    "unknown_field": [
        "What [happens|will happen] to request fields that yaie doesn't know",
        "X-yaie-Ignored-Params meaning",
        "i send a parameter that the server doesn't support. Will my [request|call] fail",
        "Our client library adds its own extra keys to every call. Does the server choke on them",
        "How can i tell which of my parameters were not used",
        "i misspelt temperature as temprature and got no error. Where would i have seen it",
        "Does yaie reject extra JSON keys with a 400 or just [skip|ignore] them",
        "[Suppose|Say|Imagine] i pass some vLLM-only option in the body. What does yaie do with it",
        "which response header lists the parameters that had no effect",
        "[i was wondering|i'm wondering|i wonder] whether unsupported options are dropped silently",
        'We come from OpenAI and still send "store" and "metadata". Is that a problem',
        "Isn't a field the API has never heard of a validation error",
        "tell me how the server treats [surplus|additional] keys in the JSON that mean "
        "nothing to it",
        "[My|Our] setting seems to do nothing at all. Is there a way to see that the server "
        "didn't recognise it",
        "unsupported parameter ignored or error",
        "Will a [typo|spelling mistake] in the name of a sampling parameter be reported anywhere",
        "A colleague adds made-up options to his requests and they still work. Why, and "
        "where is that reported",
        "how strict is the parser about keys that are not part of the API",
        'If i add "foo": 1 to the body, what comes of it',
        "There's a header in the [reply|response] that names some of my options. What is it for",
        "[i'm|i am] building a gateway that forwards options for several engines. What does "
        "yaie do with those it can't use",
        "does the server let unfamiliar parameters through",
        "Options that belong to other products, are they refused",
        "Where does the server own up to having [disregarded|skipped] part of my request",
        'My old code passes a "best_of_both" flag that surely doesn\'t exist. [Do i have '
        "to|Must i] remove it",
        "[can|could] i keep vendor-specific extras in the body without breaking the call",
        "Complaint: i set an option, nothing changed, and no error appeared. How [do|can] i "
        "find out that it was ignored",
        "When a parameter is not recognised, is the client told about it in some way",
        "yaie and extra attributes in the request body",
        "Do strange keys in my POST data [break|stop] the request, or does it go on without them",
    ],
    "cached_tokens": [
        "What does cached_tokens in the usage mean",
        "cached tokens usage field",
        "How can i see for a single response how much of my prompt was [reused|taken from "
        "the cache]",
        "We bill [customers|clients] less for the part of the prompt that was a cache hit. "
        "Which number in the reply do we use",
        "Is there something like OpenAI's prompt_tokens_details in the [reply|response]",
        "[i'm|i am] testing whether my system prompt really gets reused. Where in the "
        "completion's JSON is that shown",
        "Does the usage object still have the cache field if nothing was [hit|found]",
        "Isn't the cache count left out when it is zero",
        "My second call was much faster. Which part of its usage tells me how many tokens "
        "did not have to be recomputed",
        "[tell me|please tell me] where a response reports its own cache hits",
        "[Suppose|Say|Imagine] a prompt has 900 tokens and 800 of them were there already. "
        "Where does the answer say so",
        "[i was wondering|i'm wondering|i wonder] whether a reply states how many of its "
        "input tokens were served from the cache",
        "prompt_tokens_details, what's in there",
        "usage says prompt 500, but how many of those 500 were already known to the server",
        "OpenAI shows discounted input tokens in its usage block. What is the "
        "[counterpart|equivalent] here",
        "which usage entry counts prompt tokens that cost nothing since they were held",
        "Why is there a 0 under prompt_tokens_details in my first reply",
        "i want to log the hit rate per request. What do i read from each [reply|response]",
        "Does the number of cached tokens include generated ones or only those of the prompt",
        "how [do|can] i know that this one call profited from the cache",
        "In the usage part of the answer, what shows the saving for my prompt",
        "[We want|We'd like] to prove to our boss that prefix reuse works, request by "
        "request. Which field of the response do we plot",
        "per-request cache hit count in response",
        "can my parser expect the cache number in every usage block, even for a cold prompt",
        "A reply came with 1024 in some cache field of usage. 1024 of what",
        "The completion object: does it tell how much of the input was already there from "
        "earlier [calls|requests]",
        "What is counted, exactly, by the cache entry of the usage details",
        "my usage always has a zero in the cached part, what does that zero stand for",
        "Which figure in a chat reply says how much prefill i was spared",
        "With vLLM i needed a flag to get cache details in usage. Is the field "
        "[missing|absent] here too unless i ask for it",
    ],
    "auth": [
        "How [do|can] i protect the server with an API key",
        "api key setup",
        "Our server is reachable from the whole office, and i don't want everybody to use "
        "it. How do i add a [password|secret]",
        "What header must my client send if a key is required",
        "[i was wondering|i'm wondering|i wonder] whether yaie has any authentication",
        "Which [environment variable|env variable|env var] turns on the check for a bearer token",
        "[Suppose|Say|Imagine] i want only my own apps to get in. What do i configure",
        "Do i pass the key as x-api-key or in [some|an] other header",
        "where do i put the secret that clients have to present",
        "Anyone on our network can query the model right now, which is bad. How [do|can] i lock it",
        "The OpenAI SDK insists on an api_key. Which value does yaie expect there, and who sets it",
        "Can i require a token from [callers|clients]",
        "[tell me|please tell me] how to keep strangers from calling my endpoint",
        "Isn't the key given with basic auth, as user and password",
        "We're exposing this to the internet tomorrow. How do we make people log in with a key",
        "what goes into the Authorization header",
        "Is access open to everyone by default, and how do i [change that|restrict it]",
        "i get 401 for every call since my admin did something. What do i have to send",
        "curl with bearer token against yaie",
        "How do users prove who they are to the server",
        "YAIE_API_KEY, what is it for",
        "[i'm|i am] building an internal service with five teams and need credentials for "
        "the API. What does yaie offer",
        "With vLLM i'd pass --api-key at launch. What's the way to do that here",
        "does the api support secret tokens or do i need a proxy like nginx for that",
        "Only people who know a shared secret should be [served|let in]. Possible",
        "how [do|can] i sign in to a yaie server from a script",
        "My security team asks about access control for the endpoints. What can i tell them",
        "A client without credentials should be turned away. Which setting does that",
        "How is the token handed over in each request when the server demands one",
        "unauthorized error, where do i put my key",
    ],
    "tools_exec": [
        "What is /v1/tools/execute",
        "tools execute endpoint safe",
        "Can the server itself run a [function|tool], or must my client do it",
        "Our security officer worries that the server could execute arbitrary code through "
        "its tools endpoint. Is that so",
        "How come i can't call the execute route, is it disabled",
        "Does the endpoint that runs tools work out of the box",
        "[i was wondering|i'm wondering|i wonder] whether a stranger could make yaie run "
        "shell commands via the tool route",
        "which functions can be executed on the server side",
        "Suppose an attacker posts a made-up function name to the execution endpoint. Could "
        "it [run|be run]",
        "Isn't server-side tool execution on by default",
        "[tell me|please tell me] what the server is willing to execute on behalf of a client",
        "We have a Python function that the server, not the client, should run for the "
        "model. What are the rules for that",
        "Can anybody trigger code on my [machine|host] through the API",
        "who decides which callables the execute endpoint may run",
        "[My|Our] request to run a tool on the server is refused. What did the admin forget",
        "Is remote code execution possible with yaie's tool feature",
        "The model wants to call get_weather. Will yaie ever run that by itself, on the server",
        "server side function execution",
        "i'm building an agent and would like the server to carry out the calls for me. Is "
        "there a route, and is it [enabled|active]",
        "[Do i have to|Must i] register my functions before the server will run them",
        "Other engines let you run any tool from the client's JSON. How careful is yaie "
        "about executing them",
        "what's behind the execute url, and why is it switched off",
        "For an audit: under what conditions does the API execute [functions|code]",
        "Can clients upload their own function and have it run there",
        "Running tools on the host, is that allowed from the start or must the operator permit it",
        "i don't like servers that run things for users. Is that part of yaie turned off "
        "unless i want it",
        "if i want tools to be run by the server, what does the operator need to do first",
        "does the execute path take any callable or just those on a list",
        "How is the route for executing tools kept from being abused",
        "Which callables can be invoked over HTTP on a fresh [installation|setup]",
    ],
    "env_model": [
        "What is YAIE_MODEL for",
        "YAIE_MODEL default value",
        "Which [environment variable|env variable|env var] says what model gets served",
        "i deploy with docker compose and want to pick the LLM in the env section. Which "
        "[variable|setting] is it",
        "If i never set a model variable, which one is [used|loaded]",
        "[tell me|please tell me] the variable for the model name and its default",
        "Isn't the model variable called MODEL_NAME",
        "[Suppose|Say|Imagine] YAIE_MODEL is empty or unset. What does the server run with",
        "Our Helm chart should switch checkpoints through an environment entry. What's the "
        "[entry|variable] called",
        "[i was wondering|i'm wondering|i wonder] whether the model can be given as an "
        "environment variable",
        "what does the variable YAIE_MODEL do",
        "In a systemd unit, what line do i write under Environment to choose the [LLM|checkpoint]",
        "builtin, where does that value come from when i configured nothing",
        "Which env var replaces the model argument",
        "With TGI it is MODEL_ID in the environment. What is its equal here",
        "i'd export a variable to select the checkpoint. How is it named",
        "what can i put into YAIE_MODEL, and what [holds|applies] if i put nothing",
        "We start the container without naming any LLM. Which one does the environment "
        "setting fall back to",
        "environment variable to select model",
        "My .env file should name the network that the API offers. What key do i use",
        "Does YAIE_MODEL need a value or does it have a default",
        "the variable that picks the llm, please",
        "i forgot to export YAIE_MODEL and it still runs. Which [model|LLM] is it running",
        "How [do|can] i tell the server through the environment what to load",
        "export YAIE_MODEL=something: what effect does it have",
        "Two containers from one image, each with another LLM. Which [variable|setting] has "
        "to differ between them",
        "Is there a default for the model setting, or must i always [name|give] one",
        "Which of the YAIE_ variables holds the name of the LLM",
        "In Kubernetes i can only pass env entries, no arguments. Which entry decides on the "
        "checkpoint",
        "my colleague says the default model setting is qwen, is he right",
    ],
    "env_dtype": [
        "How [do|can] i run the model in bfloat16",
        "YAIE_DTYPE options",
        "Which setting controls the precision of the weights",
        "My card is short of memory and [i'd like|i want] half precision. What do i set",
        "Can i [force|choose] float32 for exact results",
        "[i was wondering|i'm wondering|i wonder] whether the KV pool can be kept in 16 bits",
        "With vLLM i pass --dtype half. What's the same thing here",
        "Does yaie always compute in full precision, or [can|could] i change that",
        "which number formats [can|could] i choose from",
        "[Suppose|Say|Imagine] my old GPU has no bf16. How do i switch to fp16",
        "Isn't the precision fixed by the checkpoint",
        "[tell me|please tell me] the variable for fp32 versus bf16",
        "i'm comparing two runs and need both in single precision. What is the "
        "[knob|setting] for that",
        "Our weights take up twice the space they should. How [do|can] i tell yaie to hold "
        "them in 16-bit",
        "what does YAIE_DTYPE do",
        "Is int8 among the allowed values for the number format",
        "fp16 or bf16, how [do|can] i pick one",
        "In what format are keys and values stored, and can i [alter|change] it",
        "[We're|We are] short on VRAM. Is there an environment variable that halves the "
        "bytes per number",
        "set precision",
        "By default the data type is chosen automatically, i guess. How [do|can] i override it",
        "Rounding noise bothers me. Which variable gives me 32-bit floats throughout",
        "Which dtypes does yaie accept for weights and cache",
        "i'd like to have the parameters loaded as brain floats. How",
        "where do i say that i want 16 bit floats",
        "Is there one setting for the format of both the weights and the [KV pool|KV cache]",
        "auto, float32 and so on are values of which variable",
        "The results differ slightly between my two machines, perhaps one uses half "
        "precision. Which [setting|variable] should i compare",
        "can i lower the floating point width to save memory",
        "Does the engine offer 32-bit as well as 16-bit floats, and how are they selected",
    ],
    "env_device": [
        "How [do|can] i make it run on the GPU",
        "YAIE_DEVICE values",
        "i have a [graphics card|GPU], but yaie seems to use the processor. Which setting do "
        "i change",
        "Our box has a GPU that another team needs. How do i keep yaie [off|away from] it",
        "[i was wondering|i'm wondering|i wonder] whether i can force it to stay on the processor",
        "Does it pick up my NVIDIA card on its own or must i say so",
        "Suppose there's both a CPU and a CUDA card. How do i tell yaie where to [run|go]",
        "force cpu mode",
        "In PyTorch i'd write .to(\"cuda\"). What's the setting for that here",
        "Isn't there a --gpu switch? If not, how [do|can] i choose the hardware",
        "[tell me|please tell me] how to select the hardware the model is placed on",
        "what does YAIE_DEVICE do",
        "i'm on a laptop without CUDA and want to be sure it doesn't look for it. What "
        "[do|should] i export",
        "Where does the model run by default, and how can i [change|override] that",
        "My model landed on the wrong hardware. Which [environment variable|env variable|env "
        "var] moves it",
        "[can|could] i choose the device by hand",
        "[We're|We are] testing in CI with no GPU but develop on one that has it. Which "
        "setting switches between the two",
        "device selection auto cpu cuda",
        'Is "cuda" a valid value for some setting, and for which one',
        "How [do|can] i get the whole thing onto my RTX card",
        "Ollama finds the GPU by itself. Does yaie, and which variable would "
        "[overrule|override] it",
        "the model should go to the card, not to the processor: what do i set",
        "Which environment entry says what hardware computes the model",
        "For a fair comparison i need one run on the processor and one on the graphics card. "
        "How do i switch",
        "Are there other choices than auto for the place the model runs in",
        "someone set the device to cpu on this machine, where would that be configured",
        "How can i pin the model to the [GPU|graphics card] in a container",
        "nvidia-smi shows nothing while yaie works. What do i set so that the card is used",
        "Can the choice between processor and graphics card be left to yaie",
    ],
    "env_slots": [
        "How [do|can] i make the KV cache bigger",
        "YAIE_NUM_SLOTS meaning",
        "Which setting limits how many tokens fit into the cache",
        "We have plenty of RAM left and would like to hold more prefixes. What do i "
        "[raise|increase]",
        "How [can|could] i reduce the memory that the KV pool takes",
        "With vLLM i tune gpu_memory_utilization to size the cache. What's the knob for that here",
        "[i was wondering|i'm wondering|i wonder] whether i can fix the size of the pool myself",
        "Is the capacity of the KV pool given in gigabytes or in [tokens|slots], and where",
        "what does the variable for the number of slots do",
        "[Suppose|Say|Imagine] i want room for 100,000 tokens in the cache. What do i export",
        "Isn't the pool sized in blocks of 16",
        "My pool is too small and things get evicted all the time. Which [variable|setting] "
        "enlarges it",
        "[tell me|please tell me] how to set the cache capacity",
        "kv pool size env variable",
        "i'm on a tiny VM with 2 GB. How do i [shrink|cut down] the pool for keys and values",
        "how many tokens can the engine hold at once, and where do i change that",
        "In which unit is YAIE_NUM_SLOTS counted",
        "Our hit rate is low since the cache overflows. What should we turn up",
        "[Can|Could] i cap the number of tokens whose K and V are kept",
        "i need a larger store for past conversations to stay warm. Which [variable|setting] "
        "gives me that",
        "out of slots all the time, what do i set",
        "The engine grabs too much memory for its cache at startup. How [do|can] i give it a "
        "smaller one",
        "Which number do i change to double the tokens that the pool can take",
        "Other engines have a cache size option. How do i dimension the [KV store|KV cache] "
        "in yaie",
        "If i write 50000 into YAIE_NUM_SLOTS, 50000 of what do i get",
        "does the kv cache have a configurable size",
        "How is the amount of space for keys and values configured",
        "For capacity planning, which setting fixes the total of tokens that can be held",
        "Where do i say that the pool should have a million places",
        "i'd like the cache to be half as [large|big], which environment variable is that",
    ],
    "env_rows": [
        "Which setting limits how much is computed in one step",
        "YAIE_MAX_STEP_ROWS purpose",
        "With vLLM there's max_num_batched_tokens. What is it called in yaie",
        "My steps get so big that other users wait. Which knob makes each step [smaller|shorter]",
        "How [do|can] i cap the number of rows per step",
        "[i was wondering|i'm wondering|i wonder] whether the batch in a single step has a "
        "configurable upper limit",
        "which [variable|setting] sets the chunk size for prefill",
        "A long prompt makes the streams of other users stutter. What do i [lower|turn down] "
        "so that it's prefilled in smaller pieces",
        "[Suppose|Say|Imagine] i want at most 512 tokens processed per step. What do i export",
        "Isn't the step size limited by YAIE_NUM_SLOTS",
        "[tell me|please tell me] the environment variable for the largest step",
        "max batch tokens per step",
        "How [can|could] i raise the amount of work that one forward pass takes on",
        "We run out of memory in the forward pass, since too many tokens are computed "
        "together. Which limit do i set",
        "what is the upper bound on rows in a step called",
        "i'd like bigger prefill chunks for more throughput. Which [variable|setting] do i change",
        "Does YAIE_MAX_STEP_ROWS limit the requests or the rows",
        "[Can|Could] i tune how many tokens go through the model at once",
        "Activations eat too much memory at each forward pass. Is there a cap i can [lower|set]",
        "how do i limit the work per iteration of the engine loop",
        "In SGLang i set chunked-prefill-size. Which [variable|setting] does that job here",
        "The latency between tokens jumps whenever somebody sends a big document. What limit "
        "should i turn down",
        "Where is the maximum size of one computed batch configured",
        "If i set YAIE_MAX_STEP_ROWS to 256, what exactly is [limited|capped] at 256",
        "Each iteration should stay below a certain number of tokens. Which setting "
        "[ensures|guarantees] that",
        "variable for the step budget",
        "[i'm|i am] tuning for small latency and need to bound every step. What's the parameter",
        "does yaie have a token budget for each step, and how is it named",
        "Which [environment variable|env variable|env var] decides how large a slice of a "
        "prompt is prefilled at a time",
        "one step should compute less, how do i tell the engine",
    ],
    "env_policy": [
        "How [do|can] i change the order in which waiting requests are served",
        "YAIE_POLICY values",
        "Which scheduling policies [can|could] i choose from",
        "i'd rather have another queue order than the one that comes out of the box. Which "
        "[variable|setting] is that",
        "what does YAIE_POLICY do",
        "[i was wondering|i'm wondering|i wonder] whether the scheduler can be configured, and how",
        "In SGLang there's --schedule-policy. What [do|should] i use here",
        "Where do i switch the queue to [fcfs|lpm]",
        "[Suppose|Say|Imagine] i'd like to compare several orders for the waiting queue. "
        "Which choices are there",
        "[tell me|please tell me] all the ways in which the queue can be ordered",
        "Isn't the queue order hard-wired",
        "We want to try out different schedulers under load. What variable do we [set|vary]",
        "list of scheduler policies",
        "How many orders are there for requests that wait, and what are they called",
        "Which [environment variable|env variable|env var] selects who gets admitted next",
        "[My boss|Our manager] wants another admission order for our service. Where is it "
        "configured",
        "[Can|Could] i pick a scheduling algorithm at start, and what are the names",
        "how [do|can] i set the scheduling policy",
        "The queue is ordered in a way that doesn't suit our load. What's the knob, and what "
        "can i set it to",
        "i'm writing a config file for the scheduler: which names does it [accept|know]",
        "fcfs, lpm and what else, and where are they set",
        "For the admission order, is there an env entry with several options",
        "change queue order environment variable",
        "Does yaie let me decide by which rule the backlog is worked off",
        "If i don't like how jobs in the queue are sorted, what setting should i [look at|touch]",
        "Which variable do i export to use the scheduler named priority",
        "What can i write after YAIE_POLICY=",
        "the thing that sorts the waiting line, what options does it have",
        "With vLLM i can only switch between two scheduling rules. What does yaie let me choose",
        "Who waits and who goes next, can an operator select the [rule|scheme] for that from "
        "a list",
    ],
    "env_prefix": [
        "How is yaie configured, is there a config file",
        "yaie configuration env vars",
        "What do the names of all the environment variables start with",
        "We deploy with containers and like to configure everything through the environment. "
        "Is that [possible|supported]",
        "[i was wondering|i'm wondering|i wonder] whether there is a YAML file for the "
        "settings or something else",
        "Where does yaie read its [settings|options] from",
        "Do the [settings|options] share a common prefix",
        "i'm writing a Helm chart. How are options in general passed to the [server|service]",
        "[tell me|please tell me] how configuration works here",
        "Isn't everything set in a config.toml",
        "which naming scheme do yaie's variables follow",
        "i list my shell's environment to see what is configured. What string do i "
        "[search|grep] for",
        "Our ops people want to know how to change settings in general without touching the "
        "code. What do i [say|tell them]",
        "[Can|Could] i put settings in a .env file, and how do their names begin",
        "How [do|can] i recognise which of my shell variables belong to yaie",
        "vLLM has variables with VLLM_ in front. What's the pattern in yaie",
        "no settings.yaml anywhere, so how [do|can] i configure it",
        "Coming from Ollama, i know names like OLLAMA_HOST. How do the [settings|variables] "
        "look here in general",
        "Is there a settings dialog, a file, or are variables used",
        "prefix of the [settings|options]",
        "How does one pass configuration to this thing, generally speaking",
        "i searched the repo for an ini file and found none. Where do the options come from",
        "by what letters can i tell a yaie variable from the others",
        "For a systemd unit i need to know how configuration is handed over. Is it through "
        "the [environment|process environment]",
        "Does it follow the twelve-factor idea, with the config in the environment",
        "All the knobs at once: how are they named and where do they live",
        "Do i export variables or edit a file to adjust the engine",
        "which mechanism is used for settings",
        "What's the usual way to set options for the engine when it runs in Docker",
        "My variables seem to be ignored. Maybe the names are wrong, how must they [begin|start]",
    ],
    "policy_default": [
        "Which scheduling policy is used if i don't set one",
        "default policy name",
        "We never touched the scheduler settings. By what rule are our requests ordered",
        "Isn't fcfs the default",
        "What does prefix-aware [weigh|balance] against each other",
        "[i was wondering|i'm wondering|i wonder] how the scheduler decides out of the box",
        "what is prefix-aware scheduling",
        "Suppose one request has waited for long and another one is nearly free to compute. "
        "How does the standard policy [decide|choose] between them",
        "Can a cold request starve under the default scheduler when cached ones keep coming",
        "[tell me|please tell me] which queue order yaie has when nothing is configured",
        "With YAIE_POLICY unset, how is the queue ordered",
        "vLLM takes requests in the order they come unless told otherwise. What is yaie's "
        "normal way",
        "Does the default order look only at cache hits, or at how long somebody has waited too",
        "how does the standard scheduler trade time in the queue for work still to do",
        "i installed it yesterday and changed nothing. Which policy is [active|in force]",
        "Which of the four orders does yaie start with",
        "the scheduler that considers both age and remaining cost, what is it called",
        "[i'd like|i want] fairness as well as cache reuse. Which policy balances the two",
        "prefix-aware explained",
        "On what does the untouched scheduler base its [choice|decision]",
        "Is the policy at start lpm, or something smarter",
        "How is it avoided that a newcomer with a short remainder always overtakes old "
        "requests in the standard setup",
        "what's the normal scheduling mode",
        "My request with an uncached prompt did get its turn after a while, though cheaper "
        "ones arrived. Which rule is behind that",
        "A friend runs yaie with stock settings and asks which [policy|scheduler] he has. "
        "What do i answer",
        "Which [policy|scheduler] takes uncomputed tokens and queueing time into account together",
        "How does the out-of-the-box order treat requests that need little "
        "[computation|computing] but came late",
        "If both patience and cost should count, which [policy|scheduler] do i want, and do "
        "i have to set it",
        "what do i get as scheduler without doing anything",
        "What is the factory setting for the order of admission",
    ],
    "policy_fcfs": [
        "What [does fcfs mean|is fcfs|is the meaning of fcfs]",
        "fcfs policy",
        "i want plain fairness: whoever came earlier is served earlier. Which "
        "[policy|scheduler] is that",
        "Which policy works like a [simple|plain] queue at the bakery",
        "Our [customers|clients] complain when somebody who came later overtakes them. Which "
        "scheduler never lets that happen",
        "[i was wondering|i'm wondering|i wonder] what those four letters f c f s stand for",
        "Is there a FIFO mode for the requests",
        "Does fcfs look at the cache at all, or only at who [came|arrived] earlier",
        "[Suppose|Say|Imagine] i need a strict queue with no reordering. What's the name of "
        "that order",
        "[tell me|please tell me] how requests are admitted under fcfs",
        "Isn't fcfs something with cache prefixes",
        "vLLM's classic scheduler just goes by arrival. Which of yaie's policies is the same",
        "no overtaking in the queue, which [policy|scheduler]",
        "For a benchmark i must have requests handled strictly by their time of arrival. "
        "What [do|should] i pick",
        "With fcfs, can a late request with a cached prompt [jump the queue|go ahead of the "
        "others]",
        "how does the oldest-goes-first scheduler call itself",
        "[We're|We are] running an exam platform where order must be by submission time. "
        "Which scheduling rule fits",
        "By what does fcfs sort the waiting requests",
        "strict arrival order",
        "i like my queues boring, like a ticket machine at the town hall. What policy do i choose",
        "What would change for my users if i switched to fcfs",
        "the abbreviation fcfs, spelled out please",
        "Which scheduler is the simplest, going by nothing but the [time|moment] a request came in",
        "Somebody set YAIE_POLICY=fcfs on our box. In [what|which] order are the requests "
        "now taken",
        "[Can|Could] i have it work through the backlog from oldest to newest",
        "Which order ignores prefixes and importance and simply takes the next in line",
        "first in first out, does yaie have it and under what name",
        "Does the fcfs scheduler favour short prompts or [old|early] requests",
        'i see "fcfs" in a config i inherited. Explain it in one sentence',
        "Two requests, one from nine o'clock and one from five past nine: which policy is "
        "sure to start the earlier one before the other",
    ],
    "policy_lpm": [
        "What [does lpm mean|is lpm|is the meaning of lpm]",
        "lpm scheduling",
        "Which [policy|scheduler] prefers requests that have most of their prompt in the cache",
        "i want the best cache hit rate and don't care who waits. Which [policy|scheduler] "
        "is right",
        "[i was wondering|i'm wondering|i wonder] what longest prefix match does in the queue",
        "Who goes first under lpm",
        "[Suppose|Say|Imagine] two requests wait, one with 900 cached tokens and one with "
        "10. Which policy takes the 900 one just for that",
        "[tell me|please tell me] what the letters l p m stand for",
        "Isn't lpm about the shortest prompt",
        "SGLang has a policy that sorts by the length of the matched prefix. Does yaie have "
        "[that|it] too",
        "We have thousands of jobs over a few system prompts, and the warmest ones should "
        "run first. What order do i choose",
        "which [policy|scheduler] sorts the queue by cached tokens only",
        "Does lpm look at waiting time or just at how much is [cached|in the cache]",
        "For an offline batch i only care about reuse. Which queue rule goes purely by the "
        "tokens already in the pool",
        "How does lpm choose the next request",
        "someone set YAIE_POLICY=lpm, what changes in the queue",
        "My uncached request waits forever while cached ones pass it. Which scheduling rule "
        "would do such a thing",
        "By what is the queue ranked in lpm mode",
        "most cached first",
        "Is there an order that greedily takes the biggest cache hit",
        "the policy with three letters that [isn't|is not] fcfs, what does it do",
        "i'd like requests that share a lot with what is already in the tree to be "
        "[preferred|taken first], regardless of age. What's it called",
        "Under which [policy|scheduler] is a warm prompt always ahead of a cold one",
        "Can the longest match in the radix tree decide who runs next",
        "What is the idea behind the lpm order, in a few words",
        "Which order simply puts the request with the largest cached part at the "
        "[front|head] of the line",
        "abbreviation lpm in yaie",
        'i read "lpm" in the docs and thought of network routing. What does it stand for '
        "with requests",
        "Our nightly run should squeeze everything out of the cache, with no regard to "
        "fairness. Which [policy|scheduler] suits that",
        "does lpm put hot prompts before cold ones",
    ],
    "policy_priority": [
        "How [can|could] i let important requests go first",
        "priority policy yaie",
        "Paying customers should be served before free users. Which policy [does|allows] that",
        "What does the priority policy go by",
        "[i was wondering|i'm wondering|i wonder] whether a single request can be marked as urgent",
        "Which field in the request matters under the priority scheduler",
        "We have background jobs and live chats on one server. How do i make the chats "
        "[overtake|pass] the jobs",
        "[Suppose|Say|Imagine] my boss's request must jump the queue. Which scheduler lets "
        "me do this",
        "[tell me|please tell me] how VIP users can be preferred",
        "Isn't the priority worked out from the cache hits",
        "how does yaie treat the priority number that a [client|caller] sends",
        "vLLM has priority scheduling by a number per request. Is there [something "
        "similar|the same] here",
        "Which queue order lets callers say how urgent they are",
        "urgent requests first",
        "[i'm|i am] building a service with gold and silver plans. What order lets gold "
        "plans go ahead in the queue",
        "Does the priority policy order by importance or by arrival",
        "Can clients influence their place in the queue with a field in the JSON",
        "my emergency calls get stuck behind bulk work, which [policy|scheduler] helps",
        "What [do|should] i switch to so that requests tagged as more important are admitted "
        "sooner",
        "With YAIE_POLICY=priority, by what are requests [sorted|ranked]",
        "Low-value batch work shall wait until the important stuff is through. Which "
        "scheduling rule is made for this",
        "is there a fast lane for some requests",
        "Premium customers ahead of everybody else, how [do|can] i get that order",
        "The hospital's questions must come before the cafeteria's on our shared server. "
        "What policy do we need",
        "Who is admitted first when the scheduler is set to priority",
        "Under which scheduler does the importance given in the request count, and not the "
        "cache or the [clock|arrival time]",
        "What is the priority field in a request used for",
        "i'd like to rank each call with a number and have the server respect it. Which "
        "policy [honours|respects] that number",
        "can some users cut the line",
        "Do requests with a higher rank really get in before the others in priority mode",
    ],
}
