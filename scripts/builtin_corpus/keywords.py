"""Heaps of keywords: what is left of a question when its grammar is ignored.

People put the same question in ways that no list of frames foresees, but they can hardly avoid its
keywords. A line names the groups of words that a question about the fact combines (`;` between
groups, `|` between words of which one is taken, `?` before a group that may be missing). The words
are shuffled and filled up with words that mean nothing here, so the model learns what matters.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from random import Random

from . import words

_SMALL = (
    "a the what which how is are do does i my me you it of for to in on with that this can "
    "could would should if when there and or be has have one your we please tell by at from "
    "some any who where why will was so then not just about yaie "
).split()

KEYWORDS: dict[str, list[str]] = {
    "what": [
        "yaie; overview|introduction|introduce|summary|purpose|idea|project|software|sentence|"
        "kind|thing|engine|explain|describe|inference|program|all about"
    ],
    "acronym": [
        "yaie|letters|name|acronym; stand for|stands|abbreviation|acronym|short for|letters|"
        "spelled|expand|meaning of the name|full name|initials"
    ],
    "promise": [
        "promise|guarantee|advantage|selling point|benefit; yaie|engine|tokens|?",
        "token|tokens|work; twice|again|two times; computed|compute|calculated|recomputed",
    ],
    "why_tree": [
        "radix tree|prefix tree|tree; why|use|purpose|good for|benefit|role|works|does",
        "prefix|prefixes|beginning|start|prompts; shared|same|common|alike|reuse|"
        "cached|cache; ?prompts|requests|cache|tree|handled",
    ],
    "licence": [
        "licence|license|licensed|licensing|apache|mit|gpl; ?code|source|released|terms",
        "commercial|commercially|product|company|sell|business|redistribute; use|allowed|may|"
        "put|permit|legal",
        "open source|free software",
    ],
    "python": [
        "python; version|3.8|3.9|3.10|3.11|3.12|newer|older|old|minimum|required|"
        "supported|release|need"
    ],
    "install": [
        "install|installation|pip|setup|set up|installing; ?yaie|laptop|package|machine|command"
    ],
    "make_serve": [
        "make serve; ?do|target|start|means|what",
        "makefile|make target|make; serve|server|serving; ?target|does",
    ],
    "make_test": [
        "tests|test suite|unit tests|testing|make test; run|execute|running|start|check|"
        "command|target|make|code|changes"
    ],
    "one_off": [
        "one|single|quick|once|just one; prompt|question|answer|reply; shell|terminal|command "
        "line|print|bash|without a server|exit",
        "yaie run",
    ],
    "pipe": [
        "pipe|stdin|piping|piped|cat|standard input; ?file|text|contents|document|yaie|shell",
        "file|document|notes; feed|pass|give|hand; prompt|command line|yaie",
    ],
    "chat": [
        "chat|conversation|talk|interactive|dialogue|repl|converse; terminal|command|model|mode|"
        "start|open|session|interactively|shell",
        "yaie chat",
    ],
    "serve": [
        "server|api|api server|http service|http server|backend|service; start|launch|bring up|run|"
        "boot|starting|launching|up and running|command",
        "yaie serve",
        "serve; api|http|openai",
    ],
    "serve_model": [
        "model|llm|checkpoint; other|another|bigger|larger|different|own|replace|switch|better|"
        "instead|smarter|swap; serve|server|use|load|run|yaie"
    ],
    "demo": ["demo|demonstration|yaie demo|showcase; ?show|does|prints|see|run|measure"],
    "bench_tree": [
        "benchmark|bench|measure|speed; tree|radix tree; ?only|alone|model",
        "yaie bench tree",
    ],
    "bench_offline": [
        "benchmark|bench|throughput|performance|speed; engine|offline|tokens per second|"
        "machine|whole|first token",
        "yaie bench offline",
    ],
    "doctor": [
        "broken|wrong|fails|does not work|problem|diagnose|troubleshoot|failing|crashes; "
        "installation|setup|check|command|yaie|find out|machine|why",
        "yaie doctor",
    ],
    "models_cmd": [
        "models; list|local|disk|installed|downloaded|have|available|here|command line|machine|"
        "which",
        "architectures; supported|which",
        "yaie models",
    ],
    "flag_m": ["flag|option|switch|-m|argument; model; ?command line|choose|name|pick|select|run"],
    "help": ["help|--help|usage|commands|options; list|show|all|available|see|text|page|manual"],
    "stop_server": [
        "stop|shut down|quit|terminate|end|kill|halt|stopping|shutdown|ctrl-c|sigterm|close; "
        "server|yaie serve|service|api; ?clean|gracefully|again|properly"
    ],
    "json_flag": ["json; output|print|result|machine readable|command|flag|cli|parse"],
    "port": [
        "port|tcp port|port number; default|listen|listening|server|which|uses|number|standard|api",
        "port|8000; change|other|another|taken|in use|busy|different|set",
    ],
    "host": [
        "host|address|interface|bind|ip; default|listen|server|which|bind|network|uses",
        "other|another|remote|outside; computers|machines|network|phone|hosts; reach|see|access|"
        "connect|open|expose; ?server|api",
    ],
    "base_url": [
        "base url|base_url|url; client|openai|sdk|library|use|api|put|configure",
        "openai client|openai library|openai sdk; point|connect|configure|use|set up",
    ],
    "uvicorn": ["uvicorn|asgi; ?start|run|launch|app|command|module|directly|server"],
    "ep_chat": [
        "endpoint|route|url|path|post; chat|messages|conversation|chat completions; ?send|client",
        "/v1/chat/completions",
    ],
    "ep_completions": [
        "endpoint|route|url|path|send|post; raw prompt|raw text|completions|plain prompt|"
        "without template|token ids|raw",
        "/v1/completions",
    ],
    "ep_models": [
        "endpoint|route|url|path|http|api|over http; models|model names; ?list|served|offered|"
        "server",
        "/v1/models",
    ],
    "ep_health": [
        "health|healthy|health check|/health; endpoint|url|route|path|check|call|probe|server|"
        "monitor|status"
    ],
    "ep_liveness": [
        "liveness|/liveness|alive|liveness probe; ?kubernetes|probe|path|endpoint|check|process"
    ],
    "ep_readiness": [
        "readiness|/readiness|ready|readiness probe; server|probe|wait|endpoint|"
        "when|accepts|loaded|kubernetes|until"
    ],
    "ep_metrics": [
        "prometheus|metrics|/metrics|grafana|monitoring; ?scrape|endpoint|url|where|export|path"
    ],
    "ep_stats": ["stats|statistics|counters|/stats; ?json|endpoint|route|engine|url|queue"],
    "stream": [
        "stream|streaming|token by token|server-sent events|sse|piece by piece|as they come; "
        "?answer|response|tokens|receive|get|output|how"
    ],
    "err_full": [
        "429|too many requests|full queue|queue full|overload|overloaded; ?mean|why|get|client|"
        "server|happens|code",
        "queue; full; happens|status|code|request",
    ],
    "err_starting": [
        "503; ?mean|why|get|server|start|code",
        "starting|startup|loading|starts|draining|"
        "not ready|loads; request|server|code|status|answer|response|503|happens",
    ],
    "err_long": [
        "too long|longer than|overlong|exceeds|too large|too big; prompt|context|input|text|"
        "request|conversation; ?error|happens|get|code",
        "truncate|truncated|cut; prompt|prompts|input|text",
        "context_length_exceeded",
    ],
    "err_model": [
        "model; unknown|does not exist|wrong|missing|not found|misspelt|404|doesn't exist|"
        "nonexistent; error|get|request|ask|name|happens|code",
        "model_not_found",
    ],
    "err_body": [
        "error|errors|failure; body|format|fields|object|shape|look like|structure|contain|json"
    ],
    "unknown_field": [
        "unknown|extra|unsupported|misspelt|not know|unexpected; field|parameter|fields|"
        "parameters|param|option; ?request|send|passed|happens|header|ignored",
        "x-yaie-ignored-params",
    ],
    "cached_tokens": [
        "cached_tokens|cached tokens|cache hit|cache hits|reused tokens; ?usage|mean|count|"
        "where|number|field|many|see|response",
        "how much|how many; prompt|tokens; cached|reused|from the cache; ?see|know|usage",
    ],
    "auth": [
        "api key|key|password|secret|authentication|token for access|login|bearer|YAIE_API_KEY; "
        "set|protect|require|need|clients|configure|server|secure|header|access"
    ],
    "tools_exec": [
        "tools|functions|tool execution|callables; execute|executes|executed|run by the server|"
        "execution; ?server|itself|default|safe|enabled",
        "/v1/tools/execute",
    ],
    "env_model": [
        "variable|environment|setting|env; model; ?names|served|default|which|choose",
        "default model",
        "YAIE_MODEL",
    ],
    "env_dtype": [
        "dtype|precision|bfloat16|float16|float32|half precision|number format|data type|bf16|"
        "fp16|fp32; ?set|weights|use|load|variable|run|change|model",
        "YAIE_DTYPE",
    ],
    "env_device": [
        "device|cpu or gpu|cpu or cuda|hardware|cuda|gpu|cpu; variable|setting|choose|force|"
        "select|environment|set|pick|switch",
        "YAIE_DEVICE",
    ],
    "env_slots": [
        "pool|cache|kv pool|kv cache|slots; size|bigger|larger|enlarge|grow|increase|smaller|"
        "number of|capacity|more memory; ?set|setting|variable|change",
        "YAIE_NUM_SLOTS",
    ],
    "env_rows": [
        "rows|batch size|step size|work; per step|step|limit|maximum|max; ?set|variable|change",
        "YAIE_MAX_STEP_ROWS",
    ],
    "env_policy": [
        "policy|policies|scheduling|scheduler|order of requests|queue order; which|list|all|"
        "available|choose|change|set|variable|names|options|kinds; ?scheduling|waiting",
        "YAIE_POLICY",
    ],
    "env_prefix": [
        "environment variables|settings|configuration|configure|environment; all|which|where|"
        "change|prefix|begin|server|yaie|how"
    ],
    "policy_default": [
        "default|standard|set nothing|set none|no policy|normally|preset; policy|"
        "scheduling policy|scheduler",
        "prefix-aware; ?policy|mean|does|scheduling|explain",
    ],
    "policy_fcfs": [
        "fcfs; ?mean|stand|policy|short for|explain",
        "arrival|first come|first in; order|policy|served|which",
    ],
    "policy_lpm": [
        "lpm; ?mean|stand|policy|short for|explain",
        "longest prefix|longest match|most cached; policy|first|which",
    ],
    "policy_priority": [
        "priority|priorities|urgent|important; request|requests|policy|field|first|give|prefer"
    ],
    "evictions": [
        "eviction; policies|strategies|kinds|options|choose|which|algorithms|methods|list|"
        "available|select"
    ],
    "evict_what": [
        "slots|pool|memory|cache|space; full|run out|used up|exhausted|no room|runs out|gone; "
        "?happens|evicted|nodes|leaves",
        "nodes|leaves; evicted|removed|dropped|thrown out|deleted; which|when|what|first",
        "eviction; works|happens|how|explain",
    ],
    "evict_lru": [
        "lru; ?mean|evict|does|policy|explain|drop",
        "least recently; ?leaf|evict|policy",
    ],
    "evict_lfu": [
        "lfu; ?mean|evict|does|policy|explain|drop",
        "least often|least frequently; ?leaf|evict",
    ],
    "evict_cost": ["cost; eviction|policy|rank|leaf|evict; ?does|mean|explain"],
    "preempt": [
        "preempt|preempted|preemption|preempts; ?sequence|request|which|choose|happens|how"
    ],
    "chunked": [
        "chunked|chunks|chunk|pieces; prefill|prompts|prompt|prefilled|computed; ?long",
        "long prompts; block|others|stall|decode|delay",
    ],
    "token": ["token; mean|define|definition|what|word|term|explain; ?engine|inside"],
    "slot": ["slot; mean|define|definition|what|word|term|explain|hold|describe; ?pool"],
    "extent": [
        "extent; mean|define|definition|what|word|term|explain|describe",
        "consecutive|run of|in a row; slots",
    ],
    "pool": [
        "pool; mean|define|definition|what|word|term|explain|hold|contains|describe; ?kv",
        "keys and values; stored|kept|where|live",
    ],
    "node": ["node; mean|define|definition|what|word|term|explain|hold|contains|describe; ?tree"],
    "path": ["path; mean|define|definition|what|word|term|explain; tree|root|node|?"],
    "request": ["request; mean|define|definition|word|term|sequences|difference; ?engine|caller"],
    "sequence": [
        "sequence; mean|define|definition|what|word|term|explain|describe; ?branch|cursor"
    ],
    "refs": ["refs|reference count; ?mean|count|define|node|what|explain|zero|code"],
    "row": ["row; mean|define|definition|what|word|term|explain|describe; ?batch|step"],
    "segment": ["segment; mean|define|definition|what|word|term|explain|describe; ?node|rows"],
    "step_plan": ["step plan|plan of a step; ?mean|define|contain|what|explain|hold|order"],
    "namespace": ["namespace|namespaces; ?mean|define|what|explain|shared|root|word|across"],
    "page_size": [
        "page|block|page size|block size; tokens|size|how many|how big|large|one; ?cache"
    ],
    "salt": [
        "cache_salt|cache salt|salt",
        "tenants|users|customers|clients; separate|isolate|share|"
        "never|private|apart|see; cache|cached|prefixes|prefix|each other",
    ],
    "samples": [
        "n|samples|several answers|many completions|multiple outputs; prefill|prompt|shared|"
        "computed|cost|times|once|prompts; ?parallel",
        "n=2|n=3|n=8|n = 5; prompt|prefill|samples|computed|cost",
    ],
    "gpu": [
        "gpu|cuda|nvidia|flashinfer|graphics cards; attention|kernel|library|backend|support|runs|"
        "used|computes"
    ],
    "cpu": [
        "without|no|need|lack|missing; gpu|graphics card|cuda|nvidia; ?work|run|problem|laptop|"
        "possible",
        "cpu; kernel|attention|backend|runs|laptop|used|only",
    ],
    "reference": [
        "reference; backend|implementation|attention",
        "oracle|written to be read; tests|backend|kernel",
    ],
    "backends": ["backends; attention|which|all|list|how many|names|available|there"],
    "safetensors": [
        "safetensors|pickle|pickled|gguf|.bin|weight format|trust_remote_code|remote code; "
        "?load|weights|allowed|supported|files|accept|format|safe",
        "weights|checkpoint; file format|format|formats|kind of file; ?load|supported",
    ],
    "zoo": ["transformers|model zoo|model code; ?why|use|where|library|role|come from|depends"],
    "greedy": [
        "cache|caching|batch|batching|warm|cold; output|answer|answers|result|results|greedy; "
        "change|same|different|alter|affect|influence|differ|exact|deterministic"
    ],
    "process": [
        "process|processes; engine|server|how many|which|talk|socket|own|separate",
        "server; torch; ?load|import|need",
    ],
    "crash": [
        "engine; crash|crashes|dies|hangs|crashed|killed|hung|died|restart; ?happens|restarted|what"
    ],
    "schema": [
        "json schema|response_format|structured output|valid json|json mode|constrained; ?force|"
        "supported|model|answer|get|enforce|use"
    ],
    "tool_calls": [
        "tool calling|function calling|tool calls|tools|functions; supported|support|use|model|"
        "call|request|send|come back|how|list"
    ],
    "snapshot": [
        "telemetry|phone home|tracking|private|privacy|send my data|leak; ?yaie|prompts|data|"
        "anyone",
        "offline|without internet|no network|air-gapped; work|run|use|yaie",
    ],
    "context": [
        "context|context length|context window|context size; how long|how many tokens|size|big|"
        "length|maximum|limit; ?your|model"
    ],
    "ui_words": [
        "folder|folders|layout|directory|repository|source code|source; where|main|structure|"
        "organised|code|tree|packages|find|laid out"
    ],
    "chat_template": [
        "chat template|template; request|own|send|custom|refused|sandbox|accepted|rendered"
    ],
}


def heap(key: str, rng: Random) -> str:
    """Keywords of a fact in a heap of other words."""
    chosen: list[str] = []
    for group in rng.choice(KEYWORDS[key]).split(";"):
        optional = group.strip().startswith("?")
        if optional and rng.random() < 0.5:
            continue
        options = [word for word in group.strip().lstrip("?").split("|") if word not in ("", "?")]
        chosen.append(rng.choice(options))
        if rng.random() < 0.15:
            chosen.append(rng.choice(options))
    if rng.random() < 0.6:
        rng.shuffle(chosen)
    out: list[str] = []
    for word in chosen:
        out += [_noise(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
        out.append(word)
    out += [_noise(rng) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
    return " ".join(out)


def _noise(rng: Random) -> str:
    return rng.choice(_SMALL) if rng.random() < 0.75 else rng.choice(words.FILLERS)
