"""Whole questions about the service, its settings and its scheduling, as many people ask them.

`WORDINGS` maps the key of a fact to patterns in the language of `grammar.py`.
"""

from __future__ import annotations

WORDINGS: dict[str, list[str]] = {
    "ep_liveness": [
        "which [url|path|route] [should|do|can] i [give|hand to|put in] the [k8s|kubernetes] "
        "livenessprobe",
        "[what|which] path goes [in|into] livenessProbe[ httpGet|] [for|in the case of] yaie",
        "how [can|do] i [tell|know|find out] that the [process|server process] is [still |]alive",
        "[is the process|whether the process is] [alive|still alive|dead or alive], "
        "[which|what] url [says so|tells]",
        "i [want|need] [kubernetes|my orchestrator|k8s] to restart [a stuck|a hung|a frozen] "
        "[server|pod]",
        "[something|a url|an endpoint] that [shows|proves] the step loop is not "
        "[stuck|hung|frozen]",
        "[what|which] [probe|endpoint] [notices|detects|catches] a [stuck|hanging|frozen] step "
        "loop",
        "my [pod|container] is [killed|restarted] [while|when] weights load, which [probe|url] "
        "should i use",
        "liveness [url|path|probe path|route|check path|address]",
        "[difference|what differs] liveness [probe|check]: what does it [test|look at|check]",
        "what [does|will] [get /liveness|/liveness|the liveness url] [return|answer|say|give back]",
        "[when|in which case] does [/liveness|the liveness probe|liveness] [answer|return] "
        "[200|ok]",
        "[does|will] liveness [pass|succeed|say ok|answer 200] [while|when] the weights "
        "[load|are loading]",
        "is [/liveness|the liveness endpoint] [green|ok|200] [during|while] [loading|the model "
        "loads]",
        "[tell|teach] me [how the liveness check works|about liveness checks|what liveness checks]",
        "i am [writing|making] a [helm chart|deployment yaml|k8s manifest], what is the "
        "liveness [path|url|route]",
        "[setting up|configuring] [kubernetes|k8s]: liveness [path|url|endpoint]",
        "for [docker|kubernetes|a supervisor] i need [an alive check|a check that it lives|a "
        "liveness check]",
        "[where|at which url] can [kubernetes|a supervisor|monit] see that [the process|it] "
        "[lives|is alive]",
        "alive [check|probe|endpoint|ping] [for the process|]",
        "is there [a ping|some ping|a simple alive] [url|endpoint|route] for the process",
        "[i would like|i wish|i want] to know if the server process [lives|is alive|has died]",
        "how would [a watchdog|kubernetes|an orchestrator] [notice|know] that [it|the process] "
        "is [stuck|dead]",
        "[which|what] get request [checks|tests] that the process is [alive|living|not stuck]",
        "[explain|describe|clarify] [/liveness|liveness|the liveness check] [versus|as opposed "
        "to] readiness",
        "what [exactly|really|precisely] does [the liveness probe|/liveness] "
        "[check|verify|guarantee]",
        "liveness [vs|and not|not] readiness[, what is liveness|, explain liveness]",
        "[can|should] i use [/liveness|liveness] [as|for] [the|my] [restart|alive] [check|probe]",
        "if [i get|there is] 200 from [/liveness|liveness], what [does it mean|do i know]",
        "[say|suppose] the [step loop|loop] [hangs|is stuck], which [endpoint|probe] fails",
        "does yaie [have|offer|come with|ship] [a liveness probe|/liveness|an alive check]",
        "[curl|calling|requesting] [/liveness|the liveness route] [gives what|returns "
        "what|does what]",
        "[endpoint|url|route] [to know|to see|that tells] [the process is alive|the process "
        "lives|it is not hung]",
        "my [devops|ops|platform] [team|colleague] asks [for the|what is the] liveness "
        "[url|path|probe]",
        "[why|how] is liveness [still |][ok|200|green] [while|when] [weights load|the model is "
        "loading]",
        "[heartbeat|alive] [url|endpoint] of the [server|process]",
        "how [do|does] [the|a] liveness [probe|endpoint|check] [work|behave|function]",
        "who [tells|informs] kubernetes that the [process|server process] [is alive|is stuck]",
        "[please |]give [me |]the [http |]path of [the liveness probe|liveness]",
        "what is [polled|called|asked] to [decide|see] [whether|if] the process [needs a "
        "restart|is stuck]",
        "the livenessprobe [section|part] of my [yaml|manifest|chart] [needs which path|needs "
        "what]",
        "[newbie here|i am new to k8s], what is [/liveness|liveness] [good |]for",
    ],
    "ep_readiness": [
        "which [url|path|route] [should|do|can] i [give|hand to|put in] the [k8s|kubernetes] "
        "readinessprobe",
        "[what|which] path goes [in|into] readinessProbe[ httpGet|] [for|in the case of] yaie",
        "how [can|do|could] i [tell|know|detect] [that|when] the [model|server] [has "
        "finished|is done] loading",
        "[when|from when on] [can|may] i [send|start sending] [requests|traffic][ to it|], "
        "what do i [poll|ask]",
        "i [just |]started the server, how do i know [it is ready|it can take requests|it has "
        "loaded]",
        "[my script|my ci job|a test] must wait [until|till] [it|the server] is [up and "
        "ready|ready], what [to poll|do i poll]",
        "[what|which] [url|endpoint] do i [poll|ask|query] [until|till] [the server|it] is ready",
        "[something|a url|an endpoint] that [shows|says] [it is ready|the model is loaded|it "
        "takes requests]",
        "readiness [url|path|probe path|route|check path|address]",
        "what [does|will] [get /readiness|/readiness|the readiness url] "
        "[return|answer|say|give back]",
        "[when|in which case] does [/readiness|the readiness probe|readiness] [answer|return] "
        "[200|503|ok]",
        "why [is|does] [/readiness|the readiness probe] [503|failing|red|not 200|answer 503]",
        "[/readiness|readiness|the readiness probe] [gives|returns|says] 503, what does "
        "[that|it] mean",
        "i am [writing|making] a [helm chart|deployment yaml|k8s manifest], what is the "
        "readiness [path|url|route]",
        "[setting up|configuring] [a load balancer|kubernetes|haproxy]: readiness "
        "[path|url|endpoint]",
        "how does [a load balancer|kubernetes|nginx] [know|see] [that|whether] it "
        "[accepts|takes] requests",
        "[where|at which url] can [kubernetes|a load balancer] see that the server [accepts "
        "requests|is ready]",
        "ready [check|probe|endpoint|url][ of the server|]",
        'is there [a ready|some ready|a "ready yet"] [url|endpoint|route|check]',
        "is it [ready|loaded] yet[, how do i check|, where do i see that|, which url says so]",
        "[i would like|i wish|i want] to know [when|if] the server [is ready|accepts "
        "requests|can serve]",
        "[which|what] get request [checks|tests|tells] that the server [is ready|accepts "
        "requests|has loaded]",
        "[explain|describe|clarify] [/readiness|readiness|the readiness check] [versus|as "
        "opposed to] liveness",
        "what [exactly|really|precisely] does [the readiness probe|/readiness] "
        "[check|verify|guarantee]",
        "readiness [vs|and not|not] liveness[, what is readiness|, explain readiness]",
        "does [readiness|/readiness] [fail|turn red|answer 503] [while|when] it "
        "[drains|loads|is draining]",
        "does yaie [have|offer|come with|ship] [a readiness probe|/readiness|a ready check]",
        "[curl|calling|requesting] [/readiness|the readiness route] [gives what|returns "
        "what|does what]",
        "[endpoint|url|route] [to know|to see|that tells] [the server is ready|loading is "
        "over|it takes traffic]",
        "my [devops|ops|platform] [team|colleague] asks [for the|what is the] readiness "
        "[url|path|probe]",
        "when [should|may] [traffic|requests] be [sent|routed] to [a|the] [new|fresh] [pod|server]",
        "how [do|does] [the|a] readiness [probe|endpoint|check] [work|behave|function]",
        "[please |]give [me |]the [http |]path of [the readiness probe|readiness]",
        "the readinessprobe [section|part] of my [yaml|manifest|chart] [needs which path|needs "
        "what]",
        "take a [draining|loading] server out of [rotation|the load balancer], which "
        "[url|probe|endpoint]",
        "[has|how to see whether] the model [finished loading|been loaded] [on|in] the server[?|]",
        "what [do|should] i [wait for|poll] before [the first request|sending traffic|i send "
        "requests]",
        "[newbie here|i am new to k8s], what is [/readiness|readiness] [good |]for",
        "[tell me|i need to know] [when|as soon as] [the server|it] [accepts|can take] "
        "[requests|work]",
        "[in|inside] my [bash|startup|deploy] script i [want|need] to wait for [the "
        "server|readiness]",
        "[how long|until when] [do|must] i wait [after startup|after starting], what says [it "
        "is ready|ready]",
        "[server|model] ready [check|signal|status|endpoint]",
    ],
    "ep_metrics": [
        "[what|which] [url|path|target] [do|should] i [put|give|enter] in [prometheus.yml|my "
        "prometheus config]",
        "how do i [hook|wire|connect] [it|yaie|the server] up [to|with] [prometheus|grafana]",
        "i [have|run|use] [prometheus|grafana|a prometheus server], [what|where] [do i "
        "scrape|to scrape]",
        "[can|does] [prometheus|grafana] [scrape|read|monitor] [yaie|it|this server]",
        "[is|are] there [any |][prometheus|monitoring] [exporter|export|support|integration]",
        "metrics [url|path|route|address|location]",
        "[scrape|scraping] [target|path|url|config]",
        "[what|which] [prefix|name prefix] do [the |][prometheus |]metrics [have|use]",
        "how are [the |][prometheus |]metrics [named|called]",
        "all [metric names|metrics] [begin|start] with [what|which prefix]",
        "i am building a [grafana|monitoring] dashboard, where [are|do i get] the "
        "[metrics|time series]",
        "[i would like|i want|we need] to [graph|plot|chart|alert on] [server|engine] metrics",
        "what [does|will] [get /metrics|/metrics|the metrics url] [return|answer|give|show]",
        "[curl|calling|opening] [/metrics|the metrics route] [gives what|returns what|shows what]",
        "how [can|do] we [monitor|observe|watch] [this|yaie|the server] in [production|our "
        "cluster]",
        "[in|for] production we [need|want] [monitoring|observability|prometheus], [is it "
        "there|what is there]",
        "[observability|monitoring] [options|support|endpoint|]",
        "[does|will] it [expose|export|publish] [anything|numbers|counters] [for|to] prometheus",
        "[what|which] format [do|have] the metrics [have|use|]",
        "in [what|which] format are [the |]metrics [exposed|given|exported]",
        "is [/metrics|the metrics endpoint] [in |][prometheus|openmetrics] [format|style|text]",
        "where [does|should] [prometheus|my scraper|the scraper] [point|look|connect]",
        "[endpoint|url|route] [for|to] [scraping|scrape|monitoring|prometheus]",
        "[tell|teach] me [about monitoring|how monitoring works|about prometheus metrics|where "
        "metrics are]",
        "what [are|is] the [yaie_ |]metrics[ about|]",
        "where do the [yaie_|yaie_ prefixed] [names|series|metrics] come from",
        "my [sre|ops team|admin|boss] wants [metrics|monitoring|prometheus metrics], where [is "
        "it|are they]",
        "[please |]give [me |]the [http |]path [of|for] [the metrics|prometheus]",
        "[how|where] [do|can] i [look up|read|fetch] [the |][metrics|prometheus metrics]",
        "i [see no|cannot find the|am searching the] [metrics|prometheus endpoint]",
        "[have you got|do you expose|do you ship] [metrics|prometheus metrics|a metrics endpoint]",
        "metrics [for|in] [grafana|prometheus|monitoring]",
        "[what|which] [endpoint|route] does the [monitoring system|prometheus server|scraper] "
        "[read|call|need]",
        "[alerting|dashboards|graphs]: [which|what] [metrics endpoint|metrics url] [is "
        "there|do i use]",
        "is [prometheus|grafana|monitoring] [supported|possible|built in|included]",
        "[difference between|compare] /metrics [and|with] /stats[, what is /metrics|: what are "
        "metrics]",
        "[explain|describe] [the /metrics endpoint|/metrics|the prometheus endpoint] [to "
        "me|please|]",
        "[get|collect|gather|export] [prometheus metrics|metrics] [from|of] [the server|yaie|a "
        "running server]",
        "[how|in what way] [is|are] [latency|throughput|load] [monitored|exported] "
        "[with|to|by] prometheus",
        "prometheus [url|route|scrape path|metrics path|job]",
    ],
    "ep_stats": [
        "[what|which] [url|path|route] [gives|shows|returns] [queue|slot|engine] "
        "[numbers|counts|counters] as json",
        "how [can|do] i [see|know|find out] how many requests are [queued|in the "
        "queue|waiting|running][ now|]",
        "how [long|full|deep] is the [request |]queue [now|at the moment|right now], where do "
        "i see [it|that]",
        "[where|how] [can|do] i [see|read] the [queue length|queue depth|number of waiting "
        "requests]",
        "[i would like|i want|we need] to see [how busy the engine is|the engine's "
        "counters|live numbers]",
        "[how many|see how many] slots are [in use|free|used] [now|at the moment|right now]",
        "[where|how] do i [see|read|look up] [used slots|free slots|slots in use]",
        "stats [url|path|route|address|page]",
        "[json|machine readable] [stats|statistics|counters]",
        "what [does|will] [get /stats|/stats|the stats url] [return|answer|give|show|contain]",
        "[curl|calling|opening] [/stats|the stats route] [gives what|returns what|shows what]",
        "[which|what] [numbers|fields|counters|values] [are in|are part of] [/stats|the stats "
        "json]",
        "[tell|show] me [the engine's counters|the stats of the server|what the engine is doing]",
        "how [can|do] i [see|know] how [many|much] tokens were reused [in total|overall|so "
        "far|since the start]",
        "[total|overall] [reused tokens|number of reused tokens|requests served], where [is "
        "it|do i see that]",
        "[counter|number] of [requests|all requests] [so far|since start|handled], which "
        "[url|endpoint]",
        "is there [a|some] [stats|status|counter|statistics] [page|json|url|overview]",
        "[endpoint|url|route] [with|for] [engine counters|the queue length|queue and slots]",
        "[without|i have no] prometheus[, where are|, how do i read] [the "
        "counters|statistics|plain json numbers]",
        "[explain|describe] [the /stats endpoint|/stats|the statistics endpoint] [to me|please|]",
        "[difference between|compare] /stats [and|with] /metrics[, what is /stats|: what are "
        "stats]",
        "my [boss|admin|colleague] wants [statistics|stats|usage numbers] [of|from] the "
        "[server|engine]",
        "[how|where] [do|can] i [look up|fetch|query] the engine [stats|statistics|counters]",
        "i [wrote|write|am writing] a script that needs the [counters|stats] as json",
        "[give|get] me a [snapshot|summary] of [requests, queue and slots|the queue and slots]",
        "[have you got|do you expose|do you offer] [stats|statistics|counters in json]",
        "what is [going on|happening] inside the [engine|server] [right now|at this moment], "
        "[any stats|which url]",
        "[requests|queue|slots] and [reused tokens|counters] [in|as] json",
        "[please |]give [me |]the [http |]path [of|for] the [stats|statistics|counters]",
        "where [does one|can people|should i] [read|see|find] [engine|server] statistics",
        "[which|what] get request [shows|returns] [statistics|the counters|the engine's state "
        "in numbers]",
        "[engine|server] [stats|statistics|counters|numbers]",
        "is my [server|engine] [busy|overloaded] [now|], where [are the counters|do i see the "
        "queue]",
        "i'd like to [peek|look] at the [queue|counters|slots] of a running [server|engine]",
        "how do i [debug|examine] the [load|queue] [with numbers|with counters|of the engine "
        "in json]",
        "[what|which] endpoint [do|should] i [use|call] to [count|see] [requests|waiting requests]",
        "does the server [count|keep count of] [requests|reused tokens|queue entries], where "
        "[is that|do i read it]",
        "[query|ask|read] [the |][engine statistics|server counters] [over http|by http|with curl]",
        "[cache|reuse] [statistics|stats|counters] of the [whole |][engine|server]",
        "can i [have|see] the [engine's |][counters|statistics] [in|as] json",
    ],
    "stream": [
        "can i [have|get|see] the [text|words|answer] [word by word|as it is written|bit by "
        "bit|live]",
        "i [want|would like] the [answer|text|reply] to [appear|come|show up] [token by "
        "token|gradually|live]",
        "[instead of|without] waiting for the [whole|full|complete] [answer|response] [i "
        "want|give me] [tokens live|pieces]",
        "[how|in what way] [do|can] i [make|have] the [server|api] [stream|stream "
        "tokens|stream the reply]",
        "[which|what] [field|parameter|request field|key] [turns on|enables|activates|switches "
        "on] streaming",
        "[what|which] [value|setting] [must|should|does] stream have [in the request|in the json|]",
        "do i [need|have] to [set|send|pass] stream[: true|=true| true|]",
        "[what|which] [format|protocol] do [streams|streamed answers] [use|have|come in]",
        "[is it|are streams] [sse|server-sent events|websocket|websockets|chunked http]",
        "how [do|will|can] i [know|see|notice] [that|when] the stream [is over|has ended|is "
        "finished|is done]",
        "[what|which] [line|message|event|marker] [comes|is sent] at the end of [a|the] stream",
        "what [is|does] data: [done] [mean|]",
        "stream [parameter|option|field|flag|true|mode]",
        "[sse|streaming|server sent events] [support|format|api]",
        "[streaming|streamed] [answers|responses|output|chat completions|replies]",
        "my [ui|chat app|web page|frontend] should show [tokens|words] [as they "
        "arrive|immediately|while they come]",
        "i am [building|writing] a chat [ui|frontend|app], how do i [stream|show tokens live]",
        "[tell|show] me how [streaming works|to stream|streams end|to get a stream]",
        "the [response|answer] comes [all at once|in one piece], how do i [get it in "
        "pieces|stream it]",
        "how do i [parse|read|consume|handle] [a|the] [stream|sse stream|streamed "
        "answer|streaming response]",
        "[explain|describe] [streaming|the stream field|stream=true|the stream format]",
        "what [happens|changes] [if|when] i [set|send|pass] stream [to true|=true|true]",
        "[get|receive] [partial|incremental|token by token] [results|answers|output]",
        "[does|will] [chat completions|the api|the chat endpoint] [stream|stream answers|do "
        "streaming]",
        "is [there|it possible to have] [a streaming mode|streaming|streamed "
        "output|incremental output]",
        "like [chatgpt|openai|the openai api], can [it|the server] [type|stream] the answer "
        "[live|as it goes]",
        "[please |]explain [how a stream ends|the last event of a stream|what a stream looks like]",
        "[i would like|i wish|i'd like] to know how [to turn streaming on|streaming is "
        "enabled|streaming works]",
        "[curl|request] [example |]with stream[ing|] [true|on|enabled]",
        "how are [streamed|streaming] [tokens|chunks|pieces] [sent|delivered|transmitted|encoded]",
        "[first|early] tokens [at once|immediately|as soon as possible] instead of the full "
        "[answer|response]",
        "[when|where] does [a|the] [sse |]stream [stop|end|finish], what is [sent|the last line]",
        "[token|word] [streaming|by token output|by token answer] [over|through] the api",
        "[real time|realtime|live] [output|tokens|answer] from the [api|server]",
        "[turn|switch] [on streaming|streaming on] [in|for] [a request|the api|the openai client]",
        "[streaming|a stream] [with|through|from] the openai [client|library|sdk]",
        "do [answers|responses] come as [a stream|server-sent events|one json|chunks]",
        "what do [streamed|streaming] [responses|answers] look like",
        "how is streaming [done|implemented|asked for|requested] [here|in yaie|in the api|]",
        "[end|last line|terminator|final event] of [the|a] [stream|sse stream|streamed answer]",
    ],
    "err_full": [
        "what if [the queue|the waiting line] [has no room|has no more room|is at its "
        "limit|overflows]",
        "[what|which] [status|code|http code] [do clients|will clients|does a client] "
        "[see|get] when the queue is full",
        "my client [got|gets|receives|sees] [429|a 429|status 429|429 errors][, why|, what is "
        "wrong|, what now]",
        "[i get|we see|there are] [many |][429|429s|429 errors] [under load|in my load test|at "
        "peak times]",
        "[i sent|i fired|my script sends] [1000|thousands of|too many] requests [at once|], "
        "what [happens|will happen]",
        "[is|are] [requests|extra requests|calls] [rejected|refused|dropped] [when|if] the "
        "queue is full",
        "[how|in what way] does it [behave|react|respond] [under heavy load|when "
        "overloaded|when too busy]",
        "too many requests[ error| status| response| code|]",
        "[overload|overloaded|queue full|full queue] [status|code|error|answer]",
        "does [yaie|the server] [send|set|give|return] [a |]retry-after [header|] [when "
        "full|on overload]",
        "[when|how soon] [should|may|can] my client [retry|try again] after [a 429|overload|a "
        "full queue]",
        "what does the server [answer|say|reply|return] when it [cannot take more|is "
        "overloaded|is full]",
        "[is there|does it have] [backpressure|rate limiting|a limit on waiting requests|load "
        "shedding]",
        "how is [backpressure|load shedding|overload] [done|signalled|shown] to [clients|the "
        "client]",
        "[explain|describe] [the 429 status|429|the answer to a full queue|what 429 is]",
        "what [is|does] [error|status|code|http] 429 [about|mean|tell me|say]",
        "too many [users|clients|people] [at once|at the same time], what [do they get|do they "
        "see]",
        "[where|why] does [the 429|this 429|http 429|status 429] come from",
        "[tell|show] me what [happens when the queue overflows|clients see under overload|429 is]",
        "suppose the [queue|waiting queue] is [full|completely full], what is the "
        "[answer|status|response]",
        "what is [returned|sent back|answered] [to|when] [there are too many requests|too many "
        "calls come]",
        "what [will|would] [a request|the next request] get [when|if] [no more can wait|the "
        "queue is full]",
        "i [hit|ran into|keep hitting|keep getting] [429|too many requests|http 429]",
        "[handle|handling|deal with|dealing with] [429|a full queue|overload] [in my client|]",
        "the server [refuses|rejects] [my |]requests [because|as] [it is overloaded|the queue "
        "is full]",
        "[what|which] [header|http header] [comes with|goes with|accompanies] [429|a 429|the "
        "overload answer]",
        "[how|when] do i [retry|back off] [after 429|on a 429|when the queue is full]",
        "[queue|request queue] [is full|overflow|overflowing|limit reached][, what then|]",
        "can the queue [overflow|get full|fill up], and [what then|then what]",
        "[does|will] it [queue forever|wait forever|drop requests] [when|if] too many "
        "[requests|people] come",
        "[i would like|i want|i need] to know what [code|status] a full queue [gives|returns]",
        "in a [load|stress] test some [requests|calls] [fail|are refused], [is it 429|which "
        "code is normal]",
        "at [peak|high] [load|traffic] what [do clients get|does the api return|will callers see]",
        "[status code|http status|answer|response] [under|on|during] overload",
        "is [429|status 429] [normal|expected|an overload sign|a rate limit]",
        "[the server is|server] too busy[, what does it answer|, which code|, what do i get]",
        "how [are|do] [surplus|excess|too many] requests [answered|treated|handled|rejected]",
        "what should [a client|my client|i] do [on|with|about|after] [429|a 429|http 429]",
        "requests [bounce|are bounced|come back] with [429|retry-after and 429|too many requests]",
        "what [kind of |]error [signals|means|shows] that the [queue|waiting queue] is "
        "[full|at its limit]",
    ],
    "err_starting": [
        "i [just |]started the server and [get|see] [503|a 503|status 503|service unavailable]",
        "[why|what for] is [everything|every request|my request] [503|answered 503|refused "
        "with 503]",
        "service unavailable[ error| status| message|, why|, what does it mean]",
        "[what|which] [status|code|http code] [do clients|will clients|does a client] "
        "[see|get] while the model loads",
        "my client [got|gets|receives|sees] [503|a 503|status 503|503 errors][, why|, what is "
        "wrong|, what now]",
        "[i get|we see|there are] [503|503s|503 errors] [at startup|during a restart|after a "
        "deploy]",
        "[too early|before it is ready|before loading ends] i sent a request, what [comes "
        "back|do i get]",
        "what [do|will] [clients|callers|users] [get|see] [during|while] [a "
        "restart|startup|draining|it drains]",
        "[is|are] requests [refused|rejected|queued|accepted] [while|when] the [model "
        "loads|server starts]",
        "what does the server [answer|say|reply] [while|when] it [starts up|is starting|still "
        "loads|boots]",
        "what does the server [answer|reply] [when|if] [it lost its engine|it has lost the engine]",
        "[answer|response|status] while [loading|starting|draining]",
        "[startup|loading|draining] [status|code|error|answer]",
        "what is [returned|sent back] [during|while] [shutdown|draining|it drains|the drain]",
        "a [new|fresh] request [during|while] [draining|the drain|the server drains] [gets "
        "what|is answered how]",
        "[explain|describe] [the 503 status|503|what 503 is|the answer during startup]",
        "what [is|does] [error|status|code|http] 503 [about|mean|tell me|say]",
        "[where|why] does [the 503|this 503|http 503|status 503] come from",
        "[tell|show] me what [clients see during startup|happens to requests during "
        "startup|503 is]",
        "suppose the [model|server] is [still loading|not loaded yet], what is the "
        "[answer|status|response]",
        "i [hit|ran into|keep hitting|keep getting] [503|service unavailable|http 503]",
        "[handle|handling|deal with|dealing with] [503|a 503|startup errors] [in my client|]",
        "[what|which] [header|http header] [comes with|goes with|accompanies] [503|a 503]",
        "[how|when] do i [retry|try again] [after 503|on a 503|while it is starting]",
        "the weights are [still loading|not loaded yet] and i [send|post] a request, [what "
        "happens|and then]",
        "[i would like|i want|i need] to know what [code|status] a [starting|loading|draining] "
        "server [gives|returns]",
        "is [503|status 503] [normal|expected|ok] [at startup|while loading|in the first minute]",
        "does [it|the server] [send|give|set] retry-after [while|when] [starting|loading|draining]",
        "the [api|server] [is not available|is unavailable] [at the moment|yet|while "
        "starting], which code",
        "what if i [send|post|make] a request [too early|before it is ready|while it is still "
        "starting]",
        "[can|may] [clients|i] [call|use] [the api|it] [while|before] [it loads|it has "
        "loaded|it is starting]",
        "how [are|do] requests [during|at] [startup|shutdown|a restart] [answered|treated|get "
        "answered]",
        "what should [a client|my client|i] do [on|with|about|after] [503|a 503|http 503]",
        "[engine|the engine is] [lost|gone][: which code do requests get|, which status do "
        "clients get]",
        "what [kind of |]error [signals|means|shows] that the server is [starting|draining|not "
        "ready]",
        "which code [says|tells|means] [come back later, it is loading|the server is still "
        "starting]",
        "requests [bounce|are bounced|come back] with [503|service unavailable|503 and "
        "retry-after]",
        "right after [boot|start|launch] [all|my] [calls|requests] [fail|fail with 503], "
        "[why|is that normal]",
        "[during|in] a [rolling update|redeploy|restart] [users|clients] get [503|which code], "
        "[why|explain]",
        "not ready [status|code|error|answer]",
    ],
    "err_long": [
        "my [document|text|prompt|chat] has [too many|more] tokens [than the context|], what "
        "[happens|then]",
        "i [pasted|sent|gave it] a [huge|very long|whole] [book|document|text|file], what "
        "[happens|will happen]",
        "[what|which] [error|code|status] [do i get|comes|is sent] for a [too long|an "
        "oversized|too big] prompt",
        "does it [silently |]cut [off |]my [text|prompt|input|conversation] [when too long|if "
        "it is too long|]",
        "will my [long|huge|oversized] [prompt|input|text] be "
        "[truncated|shortened|rejected|cut|refused]",
        "[is there|does it do] [truncation|automatic truncation|trimming] of [long|oversized] "
        "[prompts|input]",
        "why [do|did] i get context_length_exceeded[ here| from the server|]",
        "[what|how] [is|about] context_length_exceeded",
        "context_length_exceeded [error|meaning|explained|what is it|in the response]",
        "[prompt|input|conversation|text] [exceeds|is over|goes over|is beyond] the "
        "[context|context window]",
        "[more|i send more] tokens than the [model can take|context holds|context allows][, "
        "what then|]",
        "[how|in what way] does it [treat|handle|deal with] [oversized|too long|overlong] "
        "[prompts|input]",
        "my [chat|conversation|history] [grew|has grown|got] too long, [what will the server "
        "say|what now]",
        "[error|answer|status|code] for [too long|oversized|overlong] [prompts|input|text]",
        "[400|a 400|status 400] [because|since|when] the prompt is too long[, why|]",
        "i get [400|a 400|bad request] [for|with] [a long prompt|my long text|a big document]",
        "is [a too long|an overlong] [prompt|request] [an error|rejected|refused|cut]",
        "[explain|describe] [the error for long prompts|what happens to overlong prompts]",
        "[tell|show] me what [happens with a too long prompt|the server says to an overlong "
        "prompt]",
        "suppose [my|the] prompt has [5000|10000|a million] tokens, what [is the answer|does "
        "the server say]",
        "what if i [exceed|go over|go beyond|overflow] the [context|context length|context "
        "window|token limit]",
        "what [will happen|happens] [when|if] i [exceed|go past|overrun] the [context|context "
        "limit]",
        "[context|context window|context length] [exceeded|overflow|overrun|too small]",
        "[exceeding|going over|overrunning] the [context|context window|token limit] [gives "
        "what|does what]",
        "[which|what] [numbers|figures] are [in|part of] the [too long prompt|context length] "
        "error",
        "[does|will] the error [say|tell me] how many tokens [my prompt had|were too many|are "
        "allowed]",
        "how do i [notice|know|see] that my [prompt|input] [was|is] too long",
        "[which|what] code [says|signals|tells] [that |]the [prompt|input] is [too long|over "
        "the context]",
        "[can|may] a prompt be [longer|bigger|larger] than the context",
        "do you [drop|throw away|remove] [old|the first|early] [messages|tokens] [when|if] [it "
        "gets too long|too long]",
        "the [input|text|prompt] does not fit [in|into] the context[, what then|, what do i get]",
        "[prompt|input|text] [too big|too large|overlong|over the limit] [error|]",
        "what [comes back|is answered] [when|if] [the text|my prompt] does not fit [the context|]",
        "[i would like|i want|i need] to know what the server does with [too long|oversized] "
        "prompts",
        "[token|length] limit [reached|hit|exceeded] [by|with] my prompt[, what now|]",
        "[are|will] [messages|prompts] over the [context|context limit] [be "
        "|][cut|refused|dropped]",
        "it [refuses|rejects] my [long|big|huge] [prompt|text|document][, why|, what is the code]",
        "sliding window or [error|refusal] [when|if] the prompt is [too long|over the context]",
        "what is the [server's |][reaction|response|reply] to [an overlong|a too long] prompt",
        "how [are|does one see] [too many|excess] [prompt|input] tokens [reported|refused]",
    ],
    "err_model": [
        "i [asked for|requested|named|typed] a model that [is not served|does not exist|it "
        "does not have]",
        "[what|which] [error|code] [do i get|comes] for [a wrong|a bad|an unknown] model[ name|]",
        "there is a typo in [my|the] model name[, what happens|, what do i get|, what will it say]",
        "why [does|did] [it|the server|the api] [say|return|answer] model_not_found",
        "[what|how] [is|about] model_not_found",
        "model_not_found [error|meaning|explained|what is it|in the response]",
        "my client sends model [gpt-4|gpt-4o|gpt-3.5-turbo], what [happens|does the server "
        "say|comes back]",
        "what if [the request names|i request|a client asks for] [gpt-4|another model|a model "
        "that is not served]",
        "[404|a 404|status 404|not found] [on|from|for] chat completions[, why|]",
        "i [get|see|keep getting] [404|a 404|not found] [on|for] my [request|chat request], is "
        "the model [wrong|unknown]",
        "[how|in what way] does it [treat|handle|deal with] [unknown|wrong|missing] "
        "[models|model names]",
        "[error|answer|status|code] for [unknown|wrong|nonexistent|missing] models",
        "[model|the model is] [not found|missing|not known|not available][ error| on the server|]",
        "is a [wrong|misspelt|mistyped] model name [an error|ignored|accepted]",
        "is the model [field|name] [in a request |][checked|ignored|validated|verified]",
        "can i [send|put|write] [any|an arbitrary|a random] model name [in the request|]",
        "[explain|describe] [the error for unknown models|what happens with unknown models]",
        "[tell|show] me what [happens with an unknown model|the server says to a wrong model]",
        "suppose [i ask|a client asks] for [a nonexistent|an unknown|a made up] model, [what "
        "then|what is the answer]",
        "[which|what] code [says|signals|tells] [that |]the model [is unknown|was not "
        "found|does not exist]",
        "what [comes back|is answered] [when|if] [the model is not there|no such model is served]",
        "[no such|nonexistent|unavailable] model [error|status|code|]",
        "[i would like|i want|i need] to know what the server does with [unknown|wrong] model "
        "names",
        "it [refuses|rejects|does not know] [my|the] model[ name|][, which error|, what is the "
        "code]",
        "[requesting|asking for|naming] [an unknown|a wrong|a nonexistent] model [gives "
        "what|does what]",
        "what [will happen|happens] with [a mistyped|a misspelt|an invalid] model [name|field]",
        "what is the [server's |][reaction|response|reply] to [an unknown|a wrong] model",
        "[wrong|bad|invalid|nonexistent] model [in the request|field|id]",
        "[does|will] it fall back to [the default|another] model [when|if] the [requested "
        "one|name] is unknown",
        "my [app|code|request] [names|uses] a model the server [does not serve|does not "
        "know|has not loaded]",
        "the server [cannot|can't|does not] find [the|my] model [i asked for|i named|in the "
        "request]",
        "[what|which] http [status|code] [stands for|is] [model not found|unknown model|no "
        "such model]",
        "[how|where] do i see that the model [name is wrong|was not found] in a [response|reply]",
        "404 [model|for the model|model error|because of the model]",
        "do i get [404|an error] [when|if] the model [name|] is [wrong|unknown|misspelt]",
        "[i wrote|i put] the model name [wrong|incorrectly][, what happens|, what does the api "
        "answer]",
        "[openai|my openai] client says [the model does not exist|model not found|404 not found]",
        "[which|what] error [belongs to|goes with|stands for] [an unknown|a wrong] model",
        "[unknown|unrecognised|unserved] model [requested|in a call|in the api]",
        "how [are|do] [calls|requests] for [unknown|missing|other] models [answered|end|fail]",
    ],
    "err_body": [
        "what [json|body|object] do i get [when|if] [a request|a call|something] [fails|goes "
        "wrong]",
        "[how|in what way] [should|can|do] i parse [errors|an error|error responses|the error "
        "json]",
        "i [write|am writing] error handling [code|], what [is in the body|does the body look "
        "like]",
        "[which|what] [keys|fields|members|attributes] [are in|belong to|are there in] [an "
        "error|the error object]",
        "[are|is] [errors|the error format] [like openai|openai compatible|the same as "
        "openai|in openai format]",
        "do [errors|failures] [look like|follow|match] [openai|openai's|the openai ones]",
        "will [the openai client|my openai code|the openai sdk] [understand|parse] the errors",
        "error [json|body|object|schema|structure|shape|payload]",
        "[json|shape|layout|schema] of [errors|an error|failures|error answers]",
        "[show|give] me an [error body|example error|error response|error json]",
        "[what|which] [schema|layout|shape|json] do [failures|error responses|errors] have",
        "[explain|describe] [the error body|how errors look|the shape of errors|the error object]",
        "[where|in which field] is the [error message|message of an error|error code|error type]",
        "where do i [read|find|see] the [reason|message|code] of [a failure|an error|a failed "
        "request]",
        "how do i [get|read|extract] the [message|code|type] [from|of|out of] an error "
        "[response|body|answer]",
        "[does|do] [every error|all errors|each failure] [have|share] the same [format|shape|body]",
        "[is|are] there a [common|uniform|standard|single] [error format|shape for errors]",
        "what [does|will] a [failed|failing|bad|refused] [request|call] [return|contain|look like]",
        "[tell|show] me [how errors look|what errors contain|the format of failures]",
        "what is [inside|part of|contained in] [the error object|an error body|an error]",
        "[error|failure] [responses|answers|replies] [look how|have which format|contain what]",
        "do errors [have|carry|contain] [a code|a type|a param|a message][ field|]",
        "what do message, type, param and code [belong to|stand in|form][ in a reply|]",
        "[what|which] object has [message, type, param and code|type, param and code|a param "
        "and a code]",
        "[i would like|i want|i need] to [parse|catch|log|show] errors, what [format|shape] "
        "have they",
        "my client must [show|log|read] the error[, what fields are there|, what is its format]",
        "in what [form|format|shape] are [errors|failures|problems] "
        "[returned|reported|given|delivered]",
        "[http errors|api errors|errors] [come|are returned|are given] in [which|what] "
        "[form|format]",
        "[when|if] [a request|something] goes wrong what does the [json|body|response body] "
        "[contain|look like]",
        "[is|are] the [error bodies|errors] [json|plain text|html]",
        "[api|http|server] error [format|body|object|structure]",
        "[a|the] [general|usual|typical] [error response|error answer|error]",
        "what [comes|is sent|stands] in the [body|json] of [an error|a failure|a 4xx answer|a "
        "5xx answer]",
        "how [uniform|consistent|compatible] are [the errors|error bodies]",
        "what [is|are] the [fields|parts|members] of [an error|the error object|the error body]",
        "[openai style|openai like|openai compatible] [errors|error objects]",
        "[what|which] [information|details] does [an error|a failure] [give|carry|include]",
        "[format|structure|fields] [for|of] [api errors|error replies|every failure]",
        "[failure|error] format[ of the api| of the server| in json|]",
        "does a failure [come as|return|give] [an error object|json|openai's error]",
    ],
    "unknown_field": [
        "i sent a [field|parameter|param] that [yaie|the server|the api] does not [know|support]",
        "what if my [client|app|request] sends [parameters|fields|options] [it does not "
        "know|you don't support]",
        "[does|will] it [crash|fail|complain|return 400] [on|for|with] "
        "[unknown|extra|unsupported] [fields|parameters]",
        "[is|will] [an extra|an unknown|a misspelt] [field|parameter] [be "
        "|][rejected|ignored|accepted|refused]",
        "how do i [see|know|notice|find out] which [parameters|fields|params] were ignored",
        "[which|what] [response |]header [lists|tells|names|shows|says] "
        "[ignored|unknown|skipped] [parameters|fields]",
        "i [misspelled|mistyped|misspelt] a [parameter|field|request field], [how would i "
        "notice|what happens]",
        "there is a typo in [a|my] [parameter|field] [name|][, what happens|, do i get an error]",
        "[my|a] [parameter|field|option] [had no effect|is ignored|seems ignored], how do i "
        "[check|see] that",
        "[was|is] my [parameter|field] ignored[, where do i see that|, how do i know]",
        "x-yaie-ignored-params[ header| meaning|, what is it|, what for]",
        "what [is|does] the [x-yaie-ignored-params|ignored params|ignored-params] header "
        "[for|mean|say|]",
        "[unknown|unsupported|unrecognised|extra|additional] [request "
        "|][fields|parameters|params|keys]",
        "[how|in what way] does it [treat|handle|deal with] [unknown|extra|unsupported] "
        "[fields|parameters|keys]",
        "can i send [logit_bias|top_a|frequency settings|openai fields] [it does not "
        "support|you do not know]",
        "[can|may] i [add|put|include] [my own|extra|custom|arbitrary] [fields|keys] [to|in] "
        "the request",
        "[strict|is it strict] [about|with] [unknown|extra] [fields|parameters|keys]",
        "is [the request|the json] [validation|checking] strict [about|for] [unknown|extra] "
        "[fields|keys]",
        "[explain|describe] [how unknown fields are treated|what becomes of unknown parameters]",
        "[tell|show] me what [happens to unknown fields|it does with extra parameters]",
        "[which|where] are the ignored [parameters|fields|params] [listed|named|reported|shown]",
        "[ignored|skipped|unused] [parameters|params|fields][: where| header|, where are they "
        "listed]",
        "do [unsupported|unknown|extra] [parameters|fields] [cause|give|raise] [an error|a "
        "400|a failure]",
        "[will|does] a request with [an unknown|an extra|a bogus] [field|parameter] "
        "[work|fail|succeed|pass]",
        "suppose i [send|pass] [a bogus|an unknown|a nonsense] [field|parameter], [what "
        "then|what is the answer]",
        "my [library|framework|langchain client] adds [extra|unknown] fields, [is that ok|does "
        "it break]",
        "[openai |]parameters [that you do not support|that are not supported|not supported here]",
        "[i would like|i want|i need] to know what the server does with [unknown|extra] fields",
        "[sending|passing|adding] [unknown|unsupported|extra] [parameters|fields] [does "
        "what|gives what]",
        "what [becomes|is done|will happen] [of|with] [fields|parameters] [you do not know|it "
        "does not know]",
        "[does|will] the [server|response] [tell|warn] me [about|of] [ignored|unknown] "
        "[parameters|fields]",
        "[is there|do i get] a [warning|hint|notice] [for|about] [unknown|ignored] "
        "[parameters|fields]",
        "the [api|server] [quietly|silently] [ignores|drops] [parameters|fields][, where is it "
        "shown|]",
        "[unexpected|surplus|superfluous|foreign] [keys|fields] in the [request|json|body]",
        "[refuse|accept|ignore] [unknown|extra] fields, [which is it|what does it do]",
        "how [tolerant|lenient|forgiving] is [it|the api] [to|with] [unknown|extra] "
        "[fields|parameters]",
        "[header|http header] [with|for|naming] [ignored|unknown] [params|parameters|fields]",
        "[request|json] [fields|keys] [that|which] the engine [does not know|does not understand]",
        "[which|what] of my [parameters|fields|params] [was|were] not "
        "[used|understood|applied][ by the server|]",
        "do i have to [remove|strip] [unsupported|unknown|extra] [fields|parameters] [before "
        "sending|first]",
    ],
    "cached_tokens": [
        "how [many|much] of [my|the] prompt [came from|was found in|was served from|was in] "
        "the cache",
        "[where|how] [do|can] i see [whether|if] the [cache|prefix cache] [was hit|helped|was "
        "used] for my request",
        "did the cache [help|work|hit] [on|for|with] my [request|prompt], [where do i see "
        "it|how do i know]",
        "[what|which] [field|number|value] [in|of] the [response|usage] [says|tells|shows] "
        "[cached|reused] tokens",
        "[i send|when i send] the same prompt twice, [how do i see|where is] the "
        "[reuse|saving|cache hit]",
        "usage [in the response|field|object], [where are|what about] [cached|reused] tokens",
        "prompt_tokens_details[ in usage|, what is it|, what is in it|]",
        "what [is|does] usage.prompt_tokens_details [show|contain|tell me|hold|for]",
        "cached_tokens [0|is 0|is zero|equals 0][, what does it mean|, why|]",
        "is cached_tokens [always|also] [there|present|returned|given] [when it is 0|when zero|]",
        "[cache hit|cached token|reused token] [count|number|counter] [of|for|in] [a|my|one] "
        "[request|response]",
        "[the number|the count|how many] of [prompt tokens|tokens] [already held|taken from "
        "cache|not recomputed]",
        "[explain|describe] [cached_tokens|the cached_tokens number|the cached tokens in usage]",
        "[tell|show] me [what cached_tokens is|how to read cached_tokens|where cache hits are "
        "reported]",
        "how is [cache reuse|a cache hit|reuse] [reported|shown|returned] [per request|in the "
        "response|to me]",
        "[does|will] the [api|response|answer] [report|tell|include] [cache hits|how much was "
        "cached|cached tokens]",
        "i [want|would like|need] to [measure|see|log] the [cache hits|reuse] of [each|a "
        "single] [request|answer]",
        "[verify|check|prove|make sure] that [my|the] prompt [was|is] [cached|reused]",
        "[hit rate|cache hit rate|cache reuse] [per|of a|of one|for a] [request|response|answer]",
        "where in the [json|response|answer] [is|do i find] the number of [cached|reused] "
        "[prompt |]tokens",
        "[openai|the openai api] has cached_tokens, [do you have it too|does yaie give it]",
        "[what|which tokens] [does|do] [cached_tokens|the cached number] count",
        "[i see|there is] cached_tokens in the [response|answer|usage][, what is that|]",
        "[prompt tokens|tokens] [that were|which were] [already held|reused|cached][, where "
        "shown|]",
        "[was|is] [anything|something] [of my prompt |][cached|reused], how [do i tell|can i "
        "see it]",
        "[my|the] second [request|call] was [fast|faster], where do i see [the cache hit|the "
        "reused tokens]",
        "[how|where] does the response [show|tell|report] [reuse|cache hits|cached tokens]",
        "[which|what] [part|share|portion] of [my|the] prompt was [cached|reused|already held]",
        "[name|path] of the [field|json field] [with|for] [cached|reused] tokens",
        "[is there|do you have] a [field|number] [for|with] [cached|reused] [prompt |]tokens",
        "[does|will] cached_tokens [appear|show up|exist] [when nothing was cached|with a cold "
        "cache|if zero]",
        "[meaning|definition|sense] of cached_tokens [in usage|in the response|]",
        "[for billing|for statistics|for my logs] i need [the cached tokens|how many tokens "
        "were cached]",
        "[how|in what way] can a [client|caller|program] see [cache hits|how much was reused]",
        "what [counts|tells] the prompt tokens [already held|found in the cache|reused]",
        "cached [prompt |]tokens [in usage|in the answer|in the reply|field]",
        "my [cached_tokens|cached tokens] [is|are] [always |][zero|0][, what does it count|, "
        "what is it]",
        "[see|read] [the reuse|prefix hits|cache use] [of one request|in the response]",
        "[number|amount] of [cached|reused|already computed] [prompt |]tokens [per request|in "
        "a response]",
        "[how|where] do i [get|read off] the [cached|reused] tokens of [a response|an "
        "answer|my call]",
    ],
    "auth": [
        "how do i [stop|keep|prevent] [strangers|others|people] from using [my|the] [server|api]",
        "i [want|need] [only my team|only some people|nobody else] to [use|call|access] the "
        "[server|api]",
        "[is|are] the [server|api] [unprotected|protected by a key|without password]",
        "[which|what] [key|token|password] [do|must] [clients|i] [send|give|use][ to the server|]",
        "[where|how] does [a client|my client|curl] [send|put|give] the [key|token|api key]",
        "[what|which] [value|thing] do i put in [the api_key field|OPENAI_API_KEY|api_key] [of "
        "the openai client|]",
        "[security|protecting|securing|locking] [of |][the server|the api|my server][, how|]",
        "[authorization|auth] [header|header format|bearer|with bearer]",
        "[bearer token|api key|auth|login] [support|setup|]",
        "[how|in what way] [are|do] [clients|callers|users] [authenticated|identify|prove who "
        "they are]",
        "my [boss|admin|security team] wants [a password|an api key|access control] on the "
        "[server|api]",
        "[before|when] i [open|expose] the server to [the network|others], how do i "
        "[protect|secure] it",
        "[does|can] [it|the server|yaie] [require|demand|check|ask for] [a key|an api key|a "
        "password|a token]",
        "[explain|describe] [authentication|how to protect the api|the api key setting|access "
        "control]",
        "[tell|show] me how to [add a key|set the api key|secure the api|require a password]",
        "i [get|see] 401[ unauthorized|], [which header|what key|how do i authenticate]",
        "[unauthorized|401|401 unauthorized][, what do i send|, how do i log in|, which header "
        "is missing]",
        "[what|which] [variable|setting|env var] [protects|secures|locks] the [server|api]",
        "[what|which] header [must|should] [requests|clients|i] [carry|send] for [auth|the key]",
        "[curl|example] with [api key|authorization|a key|bearer]",
        "can i [put|have|use] [a password|a key|a secret|a token] [on|for] the [server|api]",
        "[is there|do you have] any [security|protection|access protection|authentication] [at "
        "all|]",
        "[without|with no] [key|api key|password], can [anyone|everybody] [use|call] the "
        "[server|api]",
        "[i would like|we need] to [restrict|limit|control] [access|who may call the api]",
        "[who|which people] [can|may] [use|call|access] the [api|server], [how do i restrict "
        "it|is there a key]",
        "[password protect|protect|lock down|secure] [the endpoint|the api|the server|my instance]",
        "[set|define|choose] [a secret|a password|an access key] [for|on] the [server|api]",
        "[requests|clients] [need|should need] a [key|token|password][, how do i do that|]",
        "[does|do] [the api|clients] need [a token|credentials|a login|authentication]",
        "[where|in which variable] [is|do i store|goes] the [secret|server key|api key]",
        "how [is|can|could] the [server|api] [be |][protected|secured|locked][ with a key|]",
        "YAIE_API_KEY[, what is it|, what for| meaning| header|]",
        "[if|when] i set YAIE_API_KEY[,|] what do clients [send|have to send|need]",
        "[how|where] do i [configure|enable|activate|switch on] [auth|authentication|api keys]",
        "[bearer|token|key] [authentication|auth] [in yaie|for the server|how to]",
        "[private|shared|company] server: how do [users|clients] [log in|authenticate|get access]",
        "[credentials|access token|secret key] for the [api|server]",
        "[make|force] [clients|callers|users] [send|give|use] [a key|a password|an api key]",
        "[i forgot|what is] [how clients authenticate|the name of the api key variable|the "
        "auth header]",
        "[keep|lock] [unwanted users|intruders|strangers] [out of the api|out of my server|out]",
    ],
    "tools_exec": [
        "[does|will] a tool [run|get executed] [on the server|inside yaie] [or|or rather] in "
        "my client",
        "[tool|function] execution [off|disabled], [is that normal|why is that so]",
        "[who|what] may [run|be executed] [through|via] /v1/tools/execute",
        "[i am worried|we worry] that the server [runs|executes] [arbitrary code|tools of "
        "strangers]",
        "[does|will] [the server|yaie] [actually|really] [run|execute] [my|the] [function|tools]",
        "[who|what] [executes|runs|calls] [the tool|the function|a tool call] [, me or the "
        "server|after the model asks]",
        "[is it|how] [safe|dangerous] [that the server runs tools|with tools run on the server]",
        "can [a client|someone|an attacker|the model] [make|get] the server [run|execute] "
        "[code|any function|tools]",
        "[remote|arbitrary] code [execution|] [through|via|by] tools[, is it possible|]",
        "[server side|server-side] [tool execution|tool running|function execution|tools]",
        "[tool|function] execution [endpoint|on the server|default|setting|safety]",
        "[which|what] [functions|callables|tools] [may|can|will] [the "
        "server|it|v1/tools/execute] [run|execute]",
        "[what|which] [endpoint|route] [executes|runs] [tools|functions|callables]",
        "[is|why is] /v1/tools/execute [off|disabled|not working|closed|turned off][ by default|]",
        "[i call|calling|posting to] /v1/tools/execute [fails|does nothing|gives an error|is "
        "refused][, why|]",
        "[explain|describe] [/v1/tools/execute|the tool execution endpoint|server-side tool "
        "execution]",
        "[tell|show] me [what /v1/tools/execute runs|if the server executes tools|about tool "
        "execution]",
        "[what|which things] [can|does] /v1/tools/execute [run|execute|do|call]",
        "[how|where] do [operators|i] [register|allow] [callables|functions] for "
        "[execution|the server to run]",
        "[does|will] [it|the engine|yaie] execute [tool calls|the calls of the "
        "model|functions] [automatically|alone]",
        "[are|is] [tools|tool calls|functions] [executed|run] [by the server|on the "
        "server|server side|for me]",
        "do i [have|need] to [run|execute] the tools [myself|on my side|in my own code][, or "
        "does the server|]",
        "[i would like|i want|we want] the server to [run|execute] [our|my|the] "
        "[tools|functions|callables]",
        "can i [let|have] the server [run|execute] [the tools|a registered function|my python "
        "function]",
        "[security|risk|danger] of [running|executing] tools [on the server|]",
        "[is|are] tool [execution|running] [enabled|active|switched on|disabled] [by "
        "default|from the start|]",
        "[what|which] callables [are|can be] [allowed|executed|run][ by the server|]",
        "[who|which person] [decides|registers|controls] [which tools run|what the server may "
        "execute]",
        "[run|execute] [tools|a tool|a function] [on|in|inside] the server",
        "tools/execute[, what is that|, is it on| route| endpoint|]",
        "[when|after] the model [wants|asks for] a tool, [who runs it|does the server execute it]",
        "[can|could] [any|every] [function|python function|shell command] be [executed|run] "
        "[by|through] the server",
        "[turned|switched] [on|off] by default: [tool execution|running tools on the server]",
        "[does|can] [the api|yaie] [execute|run] [python|shell|user] [code|functions]",
        "is there [an endpoint|a route|something] [to|that can] [execute|run] [tools|a "
        "tool|callables]",
        "[operator|admin] [registered|approved] [callables|functions|tools][, what are they for|]",
        "[must|should] tools be [registered|allowed] [by the operator|before the server runs them]",
        "[my|our] security team asks [if the server runs tools|whether tools are "
        "executed|about tool execution]",
        "[executing|running] [tools|functions|tool calls] [server side|on the server|in "
        "yaie][, possible|]",
        "[default|initial] state of [tool execution|/v1/tools/execute|the tool execution endpoint]",
        "[can|may] [users|clients] execute [their own|arbitrary|any] [tools|functions|code] on "
        "[it|the server]",
    ],
    "env_model": [
        "[i only want|how] to [rename|change] the model [in|by] the [env|environment][, which "
        "name|, which key]",
        "[if|when] a [client|user] [chooses|says] nothing, [what|which] is the "
        "[default|standard] model",
        "the [llm|model] that [it|yaie] [uses|loads] [by default|when none is named]",
        "[what|which] model [do|will] i get [when|if] i [set|configure|name|pass] "
        "[nothing|none|no model]",
        "[how|where] do i set the model [through|with|by|in] [the environment|an environment "
        "variable|an env var]",
        "[in|inside] [docker|docker compose|systemd|my .env file] [how|where] do i "
        "[name|set|choose] the model",
        "[which|what] [env var|variable|environment variable] [tells|says to] the server which "
        "model [to serve|to load]",
        "[export|set] [what|which variable] to [choose|change|select] the model",
        "is [builtin|the built-in model|the tiny model] [the default|used by default|what i "
        "get by default]",
        "[without|with no] [settings|a model name|any model given][,|] [which|what] model "
        "[runs|is served|is loaded]",
        "YAIE_MODEL[, what is it|, what for| default| meaning| values| setting|]",
        "[what|which] [values|value|names|name] [can|does|may] YAIE_MODEL [take|have]",
        "what [happens|is served|runs] [if|when] YAIE_MODEL is [not set|empty|unset|missing]",
        "[default|standard|preset] [model name|llm|model of the server|value of YAIE_MODEL]",
        "[model|served model] [env var|environment variable|env variable|variable name]",
        "[explain|describe] [YAIE_MODEL|the model variable|the model setting]",
        "[tell|show] me the [variable|env var|environment variable] [for the model|that picks "
        "the model]",
        "[name|spelling] of the [variable|env var] [for|with] the [model|model to serve]",
        "[i would like|i want] to [put|set|give] the model in [an environment variable|the "
        "environment]",
        "[which|what] model is [preset|the default one|preconfigured|standard|loaded at first]",
        "[is it|is the variable] [MODEL|YAIE_MODEL|MODEL_NAME|YAIE_MODEL_NAME] [for the "
        "model|that names the model]",
        "[how|where] is the [served |]model [configured|set] [by environment|in the "
        "environment|with env vars]",
        "[fresh|new] install: [which|what] model [is served|is the default|does it load]",
        "[after|when] [installing|a fresh install][,|] [which|what] model [is the default|is "
        "served]",
        "[in|with] uvicorn i cannot [pass flags|give -m], which variable [names|sets] the model",
        "[docker|kubernetes|compose] env [for the model|to choose the model|model name]",
        "[what|which] model does [yaie serve|the server|yaie] [load|take|use] [by "
        "default|without options]",
        "does it [come|start|ship] with a [default model|model by default], [which one|what is "
        "it called]",
        "[do i|must i] [have to|need to|] [name|set|choose] a model[, or is there a default|]",
        "if i [do not|don't] [name|set|choose|give] a model [what|which one] [is used|runs|do "
        "i get]",
        "[environment|env] [setting|entry|key] [for|that holds] the [model|model name]",
        "[what|which] is the model [setting|variable|default] called[ in the environment|]",
        "[where|how] does [it|the server] [get|read|take] the [name of the model|model name] "
        "from [the environment|]",
        "[model|the model] to serve[, which variable|, which env var|, what default]",
        "the [built-in|builtin|default] model [is what YAIE_MODEL says|and YAIE_MODEL|is "
        "called how in YAIE_MODEL]",
        "[change|override] the default model [with|through|by] [a variable|an env var|the "
        "environment]",
        "[what|which] [does|is] the default [of|for|value of] YAIE_MODEL[ be|]",
        "[how|what] do i [write|put] in my [.env|env file|compose file] [for|to set] the model",
        "[variable|env var] [that|which] [decides|determines|says] [which|what] model is "
        "[served|loaded]",
        "[which|what] one is the default [model|llm|checkpoint]",
        "[serving|served] model [variable|setting|default]",
    ],
    "env_dtype": [
        "[weights|model] [are|is] too big in float32, how do i [go to|get] [16 bit|bf16|half "
        "precision]",
        "[quick|short] one: [dtype|precision|number format] [variable|options]",
        "[what|which] [precision|dtype] [knob|switch|variable] [is there|do you have]",
        "[accuracy|rounding] [matters|is important], how do i [get|choose] [float32|full "
        "precision]",
        "[how|where] do i [switch|change] [to|it to] [bfloat16|float16|half precision|fp32|bf16]",
        "i [want|need|would like] [half precision|bf16|float16|full precision|fp16] "
        "[weights|to save memory|]",
        "[which|what] [number formats|dtypes|precisions|float types] [may|can] i "
        "[choose|choose from|set|pick]",
        "[env var|variable|setting|environment variable] for [precision|dtype|bf16|half "
        "precision|float type]",
        "YAIE_DTYPE[, what is it|, what for| values| meaning| options| setting|]",
        "[what|which] [values|options|choices] [can|does|may] YAIE_DTYPE [take|have|accept]",
        "[does|can] [it|yaie|the model] [run|work|compute] in [fp16|bf16|float32|half "
        "precision|bfloat16]",
        "[are|is] [the weights|the kv pool|the model] [stored|held|kept] in [float32|16 "
        "bit|half precision|bf16]",
        "[in|with] [which|what] [precision|number format|dtype|float type] [are|is] the "
        "[weights|kv cache] [held|stored]",
        "[16 bit|32 bit|16-bit|32-bit] [weights|floats|precision|numbers][, how|]",
        "[torch dtype|torch_dtype|data type|float type|precision] [setting|option|variable|choice]",
        "[explain|describe] [YAIE_DTYPE|the dtype setting|the precision setting|the number "
        "format setting]",
        "[tell|show] me [the precision options|how to set the dtype|the variable for precision]",
        "[memory is tight|my gpu is small], how do i [use|set] [half precision|float16|bf16]",
        "[save|halve] memory [with|by] [half precision|16 bit weights|bfloat16][, how|]",
        "the [weights|model] in [bf16|fp16|half precision][, please how|, which setting|]",
        "[can|could] i [force|have|ask for] [float32|full precision|fp32|bf16]",
        "[name|spelling] of the [variable|env var] for [the dtype|the number format|precision]",
        "[what|which] [setting|variable] [decides|determines|sets] the [precision|float "
        "type|number format]",
        "[numeric|floating point|float] [format|precision|type] [of the weights|setting|of the "
        "kv pool|]",
        "[default|automatic|auto] [precision|dtype|number format][, can i change it|, what "
        "else is there|]",
        "[bfloat16|bf16] [or|vs|versus] [float16|float32|fp16][, how do i choose|, which setting|]",
        "my [gpu|card|cpu] [does not like|cannot do|has no] [bfloat16|bf16], how do i "
        "[set|use] another [dtype|format]",
        "[model|weights] [dtype|precision|number format] [env|variable|setting|]",
        "is [float64|int8|fp8|bf16|half] [a possible dtype|among the dtypes|a value of YAIE_DTYPE]",
        "[how|where] is the [precision|dtype|number format] [configured|set|chosen]",
        "[i would like|i wish] to [lower|reduce|raise|change] the [precision|numeric precision]",
        "[which|what] [data type|number type|float format] [do|does] [the kv pool|the "
        "weights|the cache] [use|have]",
        "[dtype|precision] [flag|option|choice|list|values]",
        "[supported|possible|allowed|available] [dtypes|precisions|number formats|data types]",
        "[exact|full] float32 [results|computation|weights], [which variable|how do i set that]",
        "[convert|cast] the [weights|model] to [half|bf16|float16][, which setting|]",
        "[what|which] do i [set|export] [for|to get] [float32|bfloat16|half precision]",
        "[keys and values|kv pool|kv cache] in [float16|bf16|half precision][, how|]",
        "[fp16|bf16|fp32|float16|bfloat16|float32] [mode|setting|weights|please how]",
        "[lower|higher|reduced|mixed] precision [possible|setting|how|]",
        "the format of the [numbers|floats] in the [weights|pool][, can i set it|]",
    ],
    "env_device": [
        "[nvidia-smi|my gpu monitor] shows [no use|nothing], how do i [select|choose] "
        "[cuda|the gpu]",
        "[quick|short] one: [device|cpu or gpu] [variable|setting|options]",
        "[what|which] [knob|switch|variable] [moves|puts] the model on the [gpu|cpu]",
        "[laptop|machine] without cuda: how do i [set|choose] the [device|hardware] [cpu|by "
        "variable]",
        "[how|where] do i [tell|make] [it|yaie|the server] [to |][use|run on] [the gpu|my "
        "gpu|the cpu|cuda]",
        "[i have|my machine has] a [gpu|graphics card|nvidia card], how do i [make it use "
        "that|choose it|set it]",
        "[i want|i would like] [everything|the model|it] to [run|stay|be] on [the cpu|cuda|the "
        "gpu]",
        "[is it|it is] [running|computing] on the cpu [although|but] i have a gpu, which "
        "[setting|variable]",
        "[which|what] [values|options|choices] [can|does|may] YAIE_DEVICE [take|have|accept]",
        "YAIE_DEVICE[, what is it|, what for| values| meaning| options| setting|]",
        "[env var|variable|setting|environment variable] for [gpu or cpu|cuda|the device|cpu only]",
        "[cpu|gpu|cuda] [or|vs|versus] [gpu|cpu|cuda], [which setting|how do i choose|where do "
        "i set that]",
        "[explain|describe] [YAIE_DEVICE|the device setting|how the device is chosen]",
        "[tell|show] me [the device options|how to choose the device|the variable for the device]",
        "[name|spelling] of the [variable|env var] for [the device|gpu or cpu]",
        "[what|which] [setting|variable] [decides|determines] [where the model runs|whether "
        "the gpu is used]",
        "[turn|switch] the gpu [off|on][, how|, which variable|]",
        "[disable|enable|avoid|activate] [the gpu|cuda|gpu use]",
        "[without|not] [using|touching] the gpu [although there is one|even if present], how",
        "[cpu|gpu] only [mode|setting|please how]",
        "[move|put|place] the [model|weights] [on|onto|to] [the gpu|cuda|the cpu]",
        "[how|where] is the [device|hardware] [configured|set|chosen|selected]",
        "[select|choose|pick] [between|] [cpu and gpu|cuda and cpu]",
        "does [auto|the device auto|device=auto] [pick|choose|take] the [gpu|cpu][, and how do "
        "i override|]",
        "[force|make] [it|yaie] [onto|stay on|run on] the [cpu|processor|gpu]",
        "[device|hardware] [option|flag|env|variable|choice|list|values]",
        "[possible|allowed|available|supported] [devices|values for the device]",
        "[what|which] do i [set|export] [for|to get] [the gpu|cpu only|cuda]",
        "[where|on what] does the model run[, and how do i change that|, which variable|, what "
        "can i choose]",
        "[run|execute] the model on [cuda|my gpu|the cpu][, which setting|, how|]",
        "[pin|bind|assign] the model to [the cpu|the gpu|cuda|a device]",
        "torch device [setting|option|choice|variable|]",
        "[can|could] i [run|keep|place] the model on [the cpu|the gpu|cuda] [by a "
        "variable|with a setting]",
        "[how|what] do i [write|put] in my [.env|compose file] [for|to use] [the gpu|cuda|the cpu]",
        "[my gpu is|the gpu is] [busy|full|taken], how do i [switch to the cpu|run on cpu instead]",
        "[testing|debugging] on [a gpu machine|a cuda box] but [want|need] cpu, [which "
        "variable|how]",
        "[which|what] [device|hardware] does it [choose|take|use] and how do i "
        "[change|override] it",
        "is there a [setting|variable|switch] [for|to choose] [cpu or gpu|the device]",
        "[model|compute|inference] device[ setting| variable|]",
        "[use|take] [cuda|the graphics card|the gpu] [instead of the cpu|please how|for the model]",
        "[get|bring] [it|yaie] to [use|run on] [cuda|my graphics card|the gpu]",
    ],
    "env_slots": [
        "[quick|short] one: [pool size|cache size|number of slots] [variable|setting]",
        "[what|which] [knob|switch] [sets|changes] the [pool|kv cache|cache] size",
        "[long|many] [conversations|prompts] do not fit the cache, how do i [enlarge|grow] it",
        "[i would like|we want] to [keep|hold] more [prefixes|tokens] in the [pool|cache]",
        "[how|where] do i give [the cache|the kv cache|the pool] more [room|space|memory|tokens]",
        "[my|the] [cache|pool|kv cache] is too [small|big|large], how do i [change|resize] it",
        "[it uses|yaie takes|the pool eats] too much memory for [the cache|keys and "
        "values|kv], how do i [shrink|limit] it",
        "[how|where] [can|do] i [limit|cap|bound] the [memory of the kv cache|kv cache "
        "memory|cache memory]",
        "[which|what] [variable|setting|env var] makes the [cache|pool] [bigger|smaller]",
        "YAIE_NUM_SLOTS[, what is it|, what for| values| meaning| unit| setting|]",
        "[what|which] [unit|value] [has|does|is] YAIE_NUM_SLOTS[ have| in| take|]",
        "[is|are] YAIE_NUM_SLOTS [tokens|counted in tokens|bytes|megabytes or tokens]",
        "[resize|grow|double|halve] [the pool|the kv pool|the cache|the kv cache]",
        "[kv cache|kv pool|pool|cache] [capacity|memory|size setting|limit|room]",
        "[explain|describe] [YAIE_NUM_SLOTS|the pool size setting|how the cache size is set]",
        "[tell|show] me [how to set the cache size|the variable for the pool size|how to "
        "enlarge the pool]",
        "[name|spelling] of the [variable|env var] for [the pool size|the number of slots|the "
        "cache size]",
        "[more|fewer|extra] [slots|kv slots|cache slots|tokens in the pool][, how|, which "
        "setting|]",
        "[too many|lots of] [evictions|things evicted], how do i [enlarge the pool|get a "
        "bigger cache]",
        "[i have|there is] [plenty of|lots of|more] [ram|memory], how do i [enlarge|grow] the "
        "[kv cache|pool]",
        "[capacity|size] of the [kv cache|kv pool|pool] [in tokens|in slots|]",
        "[how|where] is the [size of the pool|number of slots|cache size] [configured|set|chosen]",
        "[like|similar to] gpu_memory_utilization [in vllm|], how do i [set|size] the [cache|pool]",
        "[how|what] do i [write|put] in my [.env|compose file] for [the cache size|a bigger pool]",
        "[number|count] of [kv slots|slots in the pool|cached tokens it can hold][ setting|]",
        "[can|could] i [change|set|raise|lower] the [number of slots|cache capacity|pool size]",
        "[what|which] do i [set|export] for [a bigger cache|more slots|a smaller pool]",
        "the [kv cache|pool] should [hold|keep|fit] [more tokens|100000 tokens|fewer tokens][, "
        "which setting|]",
        "[how many tokens|what] [can|does] the [kv pool|cache] hold[, and how do i change it|, "
        "which setting|]",
        "[maximum|max|total] [number of slots|cache tokens|kv cache size|pool size]",
        "[memory|ram|vram] [for|of] the [kv cache|pool|cache][, which variable|, how do i set it|]",
        "[reserve|allocate|allow] [more|less] memory [for|to] the [kv cache|pool|keys and values]",
        "[is there|do you have] a [setting|variable] for the [cache size|pool size|number of "
        "slots]",
        "[out of memory|oom] [at startup|because of the pool], [make the pool smaller|how do i "
        "shrink the cache]",
        "[pool|cache|slots] [variable|env var|setting]",
        "[set|fix] how many [tokens|slots] the [pool|cache|kv pool] [has|holds|can keep]",
        "[what|which] [limits|determines|decides] [the pool size|the cache size|how much is "
        "cached]",
        "[adjust|tune|tweak] the [kv cache|pool|cache] [size|capacity]",
        "[how large|how big] can i make the [pool|cache|kv cache][, and with what|]",
        "num slots [setting|variable|env|meaning]",
        "[where|how] do i [say|tell it] how [big|large] the [cache|pool] [should be|is to be]",
    ],
    "env_rows": [
        "[quick|short] one: [batch size|step size|rows per step] [variable|setting]",
        "[what|which] [knob|switch] [sets|limits] the [batch|step] size",
        "[i would like|we want] to [limit|cap] [the rows of each step|how much a step computes]",
        "[how|where] is the [work|number of rows] of a [single |]step [limited|capped]",
        "[a step|one step] [computes|has] how many rows [at most|maximally|as a maximum]",
        "[how|where] do i [limit|cap|bound] [the work of a step|how much a step does|the "
        "tokens per step]",
        "[how many|what number of] tokens [are|can be] [computed|processed] in [one|a single] "
        "step[, which setting|]",
        "[which|what] [variable|setting|env var] [caps|limits|sets] the [tokens per step|rows "
        "in a step|batch]",
        "YAIE_MAX_STEP_ROWS[, what is it|, what for| values| meaning| effect| setting|]",
        "what [happens|changes] [when|if] i [raise|lower|change] YAIE_MAX_STEP_ROWS",
        "[max|maximum] [rows|tokens|work] [per step|in one step|of a step]",
        "[like|similar to] max_num_batched_tokens [in vllm|], what is [it called here|the setting]",
        "[chunk|prefill chunk] size[ setting| variable|, where do i set it]",
        "[how|where] do i [set|change] the [chunk size|prefill chunk size|size of prefill chunks]",
        "[explain|describe] [YAIE_MAX_STEP_ROWS|the step size setting|the limit of rows per step]",
        "[tell|show] me [how to set the batch size|the variable for the step size|the rows limit]",
        "[name|spelling] of the [variable|env var] for [the step size|the batch size|rows per "
        "step]",
        "[steps|each step] [take|takes] too long, how do i make [them|the steps] [smaller|shorter]",
        "[bigger|smaller|larger] [steps|batches|step size][, how|, which setting|]",
        "[batch|step] [size|limit|row limit] [setting|variable|env var|]",
        "[how|where] is the [batch size|step size|row limit] [configured|set|limited]",
        "[how|what] do i [write|put] in my [.env|compose file] for [the batch size|the step size]",
        "[can|could] i [change|set|raise|lower] the [batch size|rows per step|step size]",
        "[what|which] do i [set|export] for [a bigger batch|bigger steps|fewer rows per step]",
        "[reduce|lower|raise|increase] the [batch size|step size|rows per step]",
        "[is there|do you have] a [limit|maximum|cap] [on|for] [rows in a step|the batch "
        "size|step size]",
        "how [big|large] [is|can be] [a batch|one batch|the batch]",
        "[row|rows] [limit|maximum|cap] [of a step|per step|]",
        "[what|which] [limits|determines|decides] [the size of a step|the batch size|how many "
        "rows a step has]",
        "[adjust|tune|tweak] the [batch|batch size|step size|rows per step]",
        "[what|which] is the [limit|maximum] [for rows|of rows|on rows] [in each|per] step",
        "[latency|jitter] is bad [because|when] steps are [too big|huge], [which setting|how "
        "do i limit them]",
        "[number|amount|count] of rows [per step|that one step computes|in a step][ setting|]",
        "max step rows [setting|variable|env|meaning]",
        "[where|how] do i [say|tell it] how many rows [a step may have|are computed at once]",
        "[compute|process] [fewer|more] rows [at once|per step][, how|]",
        "[control|restrict] the [size of each step|batch size|rows of one step]",
        "[one step|a step] should [compute|take] at most [512|1000|256] rows[, how do i set that|]",
        "[throughput|speed] tuning: [batch size|step size|rows per step] [setting|variable|]",
        "[upper|hard] [bound|limit] [for|on] [rows per step|the batch|a step]",
        "[how|with what] do i make the [batch|step] [bigger|smaller]",
    ],
    "env_policy": [
        "[quick|short] one: [scheduling policy|queue order] [variable|setting|options]",
        "[what|which] [knob|switch] [sets|changes] the [scheduling policy|queue order|scheduler]",
        "[i would like|we want] to [compare|try] [scheduling policies|schedulers][, which are "
        "there|]",
        "[the server|it] should [order|serve] waiting requests [differently|another way], "
        "[which setting|how]",
        "[do you|does it] [have|offer] [several|different] [schedulers|scheduling policies]",
        "in [which|what] order are [waiting|queued|pending] requests [served|admitted], can i "
        "[choose|change] it",
        "[how|where] do i [change|set|pick] [which request goes first|the order of the "
        "queue|the queue discipline]",
        "[which|what] [values|options|choices] [can|does|may] YAIE_POLICY [take|have|accept]",
        "YAIE_POLICY[, what is it|, what for| values| meaning| options| setting|]",
        "[list|enumerate|give me] [all|all the|the] [scheduling|admission|queue|scheduler] "
        "policies",
        "[scheduling|scheduler|admission|queue] [options|choices|strategies|algorithms|modes]",
        "[how many|what] [kinds|types] of [scheduling|schedulers|scheduling policies] [are "
        "there|do you have]",
        "i [want|need|would like] [another|a different] [scheduling policy|queue order|scheduler]",
        "[switch|change] [to|over to] [another|a different] [scheduler|scheduling policy|queue "
        "order]",
        "[explain|describe] [YAIE_POLICY|the policy setting|the choice of policies]",
        "[tell|show] me [the scheduling policies|the possible policies|how to choose the policy]",
        "[name|spelling] of the [variable|env var] for [the scheduling policy|the queue "
        "order|the scheduler]",
        "[what|which] [setting|variable] [decides|determines] [the queue order|who goes "
        "first|the order of requests]",
        "[who|which request] [is served|goes] first, [and can i configure that|which setting "
        "decides]",
        "[besides|other than|apart from] [fcfs|lpm|prefix-aware] [which|what] [policies|other "
        "policies] are there",
        "[alternatives|options] to [fcfs|first come first served|the default policy]",
        "[can|could] i [choose|configure|change] [how the queue is ordered|the scheduling|the "
        "scheduler]",
        "[which|what] [schedulers|scheduling strategies|queue policies] [do you offer|can i "
        "use|come with it]",
        "[available|supported|possible|allowed] [schedulers|scheduling policies|queue "
        "orders|admission policies]",
        "[how|where] is the [policy|scheduling policy|queue order] [configured|set|chosen]",
        "[how|what] do i [write|put] in my [.env|compose file] for [the policy|the scheduling "
        "policy]",
        "[what|which] do i [set|export] for [fcfs|lpm|priority scheduling|another policy]",
        "[fcfs|lpm] [or|vs|versus] [priority|prefix-aware][, which setting|, how do i choose|]",
        "[is there|do you have] a [setting|variable] for [the queue order|the scheduling "
        "policy|who goes first]",
        "[scheduling|scheduler|queue|policy] [variable|env var|setting]",
        "[valid|legal] [values|names] for the [policy|scheduling policy]",
        "[reorder|sort|order] the [queue|waiting requests] [differently|another way][, how|]",
        "[turn on|enable|activate|use] [fcfs|lpm|the priority policy|priority scheduling][, "
        "which variable|]",
        "[how|by which rule] can the [queue|waiting queue] be [ordered|sorted]",
        "[what|which] are the [four|different|various] [policies|scheduling policies|admission "
        "policies]",
        "[queue|waiting request|request] [ordering|order] [options|policies|setting]",
        "[names|list] of the [schedulers|scheduling policies|admission policies]",
        "[how|which way] do i select [a policy|a scheduling policy|a scheduler]",
        "is the [scheduling|scheduling policy|queue order] [configurable|changeable|selectable]",
        "[select|set] [fcfs|lpm|prefix-aware|priority] [as policy|as the scheduling policy|as "
        "scheduler]",
        "[choice|set|range] of [scheduling |][policies|schedulers]",
    ],
    "env_prefix": [
        "[quick|short] one: [where are settings|how to configure|prefix of the env vars]",
        "[after|with] install, where do [settings|options] [go|live|come from]",
        "[i see|there are] [many|lots of] [variables|env vars], what do [they|all of them] "
        "[begin|start] with",
        "[everything|all options] in the environment: [what prefix|which names|how named]",
        "[how|where] do i [configure|adjust|customise] [the server|yaie|it|things] [without "
        "flags|in general|]",
        "[is there|do you have|does it use] a [config file|configuration file|yaml "
        "config|settings file]",
        "[where|what] is the [config|configuration|settings] [file|location|place]",
        "[what|which] do [all |]the [environment variables|env vars|settings] [begin|start] with",
        "[how|what] are the [env vars|environment variables|settings] [called|named]",
        "does [it|the server] [read|take|support|use] [environment variables|env vars|settings "
        "from the env]",
        "[config|configuration|settings] [through|by|via|from] [env|env vars|the "
        "environment|environment variables]",
        "[explain|describe] [the configuration|how settings work|how configuration is done|the "
        "settings]",
        "[tell|show] me [where settings come from|how configuration works|about the "
        "environment variables]",
        "[from where|where] does [the server|yaie|it] [get|read|take] [its|the] "
        "[settings|configuration]",
        "[in|with] [docker|docker compose|systemd|kubernetes] how do i [configure|pass "
        "settings to] [it|yaie|the server]",
        "i [want|need|would like] to [change|adjust|set] [some|a few|several] settings[, "
        "where|, how|]",
        "[what|which] [prefix|letters] do [the |][settings|env vars|variables] [have|use]",
        "[is it|are settings] [a yaml file|a config file|toml|flags] or environment variables",
        "[all|list of|overview of] [environment variables|env vars|variables|settings]",
        "[common|usual|shared] prefix of [the env vars|the settings|all variables]",
        "[which|what] [env vars|variables|settings] [does it|do you] [know|read|look "
        "at|understand]",
        "[name|give|show] some [environment variables|env vars|settings] [of yaie|it reads|of "
        "the server]",
        "[can|could] i [configure|set up|control] [it|yaie|the server] [with env vars|by "
        "environment|without a file]",
        "[how|where] do i [set|put|define] [options|environment variables|env vars] for the "
        "[server|engine]",
        "[config|settings|configuration] [format|source|style|method]",
        "[no|there is no] config file[?|], [how do i configure it|where do settings come from]",
        "[options|settings|knobs] of the [server|engine], [where do i set them|how are they set]",
        "[env|environment] [prefix|variable names|naming]",
        "[what|which] [way|method] of [configuration|setting options|configuring] [is used|is "
        "there]",
        "[start|begin] with [YAIE_|which prefix]: [environment variables|settings|the variables]",
        "YAIE_ [variables|prefix|settings|environment variables][, what are they|]",
        "[my|the] .env file: [what goes in it|which names|how are variables named]",
        "[how|in what way] do [people|i] [configure|parametrise|set options of] [this|yaie|the "
        "engine]",
        "[where|how] [can|do] i [tweak|tune|adjust] the [settings|configuration|server settings]",
        "[general|basic] [configuration|settings|config][ of the server| of yaie|]",
        "[are|is] [settings|everything|the server] [configured|set] [by|through|with] [env "
        "vars|variables]",
        "[settings|options] [come|are read] from [where|which place]",
        "[set|export|pass] [environment variables|env vars|settings] [to|for] the "
        "[server|container]",
        "[configuration|settings] [system|mechanism|how to|in short]",
        "[which|what] [naming|name] [scheme|rule|pattern] do the [variables|env vars] follow",
        "[customise|configure|parametrise] [yaie|the server|the engine][, how|, where|]",
    ],
    "policy_default": [
        "[if|when] i [do not|don't] set [YAIE_POLICY|a policy|any policy], [which|what] "
        "[one|policy] [is used|do i get]",
        "[out of the box|without settings|by default] how are [requests|waiting requests] "
        "[ordered|scheduled]",
        "[what|which] [scheduler|scheduling] [do|will] i get [out of the box|without "
        "configuration|by default]",
        "[is|would] [lpm|fcfs|priority|prefix-aware] [the default policy|the standard "
        "policy|used by default]",
        "prefix-aware[ policy| scheduling|, what is it|, what does it do|, how does it decide]",
        "[what|how] does [prefix-aware|prefix aware] [weigh|decide things|balance|look at]",
        "[which|what] policy [weighs|balances|trades] waiting time [against|and] [work|tokens "
        "to compute]",
        "[waiting time|how long it waited] [and|against] tokens [still to compute|left to "
        "compute], which policy is that",
        "[explain|describe] [the default policy|prefix-aware|the prefix-aware policy|the "
        "standard scheduler]",
        "[tell|show] me [what the default policy is|how the default scheduler works|about "
        "prefix-aware]",
        "[normal|usual|standard|default|preset] [scheduling policy|scheduler|queue "
        "policy|admission policy]",
        "[value|default value] of YAIE_POLICY [by default|when unset|if nothing is set]",
        "[default|preset|initial] [value of |]YAIE_POLICY",
        "how does [the standard scheduler|the default scheduler] [work|decide|choose the next "
        "request]",
        "[what|which] is the [default|standard|preset] [scheduler|policy for the queue|policy]",
        "[who|which request] goes first [by default|under the default policy|with prefix-aware]",
        "[by which|with what] rule does the default policy [order|choose|admit] requests",
        "[i never set|i have not set|i left out] a [policy|scheduling policy], [which one "
        "runs|what is active]",
        "[does|will] [the default policy|prefix-aware] [look at|consider|respect] [waiting "
        "time|the cache]",
        "prefix-aware [vs|versus|compared with] [fcfs|lpm], [what is|explain] prefix-aware",
        "[meaning|idea|rule] of [prefix-aware|the prefix-aware policy|prefix-aware scheduling]",
        "[scheduling|the scheduler|queue order] [by default|out of the box|with default settings]",
        "[which|what] policy [does yaie|does the server|does it] [start with|use by "
        "default|come with]",
        "[is|does] [prefix-aware|the default policy] [fair|starve anybody|make old requests "
        "wait forever]",
        "[i would like|i want|i need] to know [the default policy|which policy is the default one]",
        "[what|which] [are|is] the [two things|quantities] that prefix-aware [weighs|compares]",
        "how [are|do] requests [ordered|get their turn] [with|under] [prefix-aware|the default "
        "policy]",
        "[i read|the docs say] prefix-aware[, what is that|, what does it do|. explain]",
        "[why|when] [should|would] i [keep|use|choose] [prefix-aware|the default policy]",
        "[the|which] [policy|scheduler] [when|if] [nothing is configured|none is "
        "named|YAIE_POLICY is empty]",
        "[unset|empty|missing] YAIE_POLICY [means what|gives which policy|leads to which policy]",
        "the [name|title] of the default [policy|scheduler|scheduling policy]",
        "[default|standard] policy[: how does it decide|: which one|, name and rule]",
        "does the [default|standard] [policy|scheduler] [know|use|see] [the tree|cached "
        "prefixes|what is cached]",
        "[prefix aware|prefix-aware] [admission|ordering|queueing][ explained|]",
        "how does yaie [decide|choose] [by default|normally] which [request|waiting request] "
        "[to admit|goes] next",
        "[do i|must i] set a policy [or|, or] [is there a default|what is the default]",
        "[policy|scheduler] [default|standard|preset][ value| name|]",
        "[what|which] [policy|scheduling policy] is [active|in force|preselected] [at "
        "first|from the start|by default]",
        "[fresh|new] server: [which policy|what scheduling policy|which scheduler] [is on|is "
        "used|runs]",
    ],
    "policy_fcfs": [
        "[what|which words] [are|do] the letters [fcfs|f c f s] [for|mean|stand for]",
        "[first come|first come,] first served[ policy| scheduling| order|, which policy is that|]",
        "i [want|need|would like] requests [served|admitted|handled] in [arrival order|the "
        "order they arrive]",
        "[serve|admit|handle] [requests|callers|people] in [order of arrival|arrival order][, "
        "which policy|]",
        "[strict|plain|simple] [arrival order|fifo|queue order][, which policy do i take|, is "
        "there a policy]",
        "[oldest|earliest] request first[, which policy|, how is that policy called|]",
        "[does|is] [fcfs|the fcfs policy] [just |]a [fifo|plain queue|first in first out queue]",
        "[explain|describe|define] [fcfs|the fcfs policy|fcfs scheduling|the word fcfs][ to me|]",
        "[tell|show] me [what fcfs means|how fcfs orders requests|about the fcfs policy]",
        "[in|with] [what|which] order does [fcfs|the fcfs policy] [admit|serve|take] requests",
        "fcfs[ policy| scheduling|, what is it|, meaning|, long form|, what do the letters mean]",
        "[who|which request] goes first [with|under] [fcfs|the fcfs policy|YAIE_POLICY fcfs]",
        "[if|when] i set YAIE_POLICY [to|=] fcfs[,|] [what happens|what order do i get]",
        "fcfs [vs|versus|compared with] [lpm|prefix-aware|priority][, what is fcfs|, explain fcfs]",
        "[fair|fairest|the fair] [policy|scheduling] [by arrival|where nobody jumps the queue]",
        "[nobody|no request] [should|may] [jump the queue|overtake], which policy [is that|do "
        "i use]",
        "[is there|do you have] [a fifo|an arrival order|a simple fifo|a first in first out] "
        "policy",
        "[fifo|first in first out|arrival order] [policy|scheduling|scheduler|order]",
        "[long form|full form|expansion|meaning] of fcfs",
        "what [does|will] [the fcfs policy|fcfs|policy=fcfs] do[ with requests|]",
        "[which|what] policy [ignores the cache and|just|simply] [goes by arrival|follows "
        "arrival|keeps arrival order]",
        "[i read|i saw|the docs mention] fcfs[, what is that|, what does it mean|. explain]",
        "[why|when] [should|would] i [use|choose|prefer] [fcfs|the fcfs policy]",
        "[first|the first] request that [comes|arrives] is [served|admitted] first[, which "
        "policy|]",
        "how [are|do] requests [ordered|get their turn] [with|under] [fcfs|the fcfs policy]",
        "[is|does] fcfs [look at|consider|use] [the cache|prefixes|arrival time][ or arrival|]",
        "[the name of the|which is the] policy [that serves by arrival|for arrival order|that "
        "is first come first served]",
        "[admit|take] [by|according to] [arrival|time of arrival|arrival time][, which policy|]",
        "[order|rule] of [fcfs|the fcfs policy|fcfs scheduling]",
        "what is [the rule|the idea|the order] [behind|of|in] fcfs",
        "[acronym|abbreviation|short form] fcfs[, spell it out|, please explain|]",
        "[spell|write] out fcfs[ for me|]",
        "fcfs [scheduling|admission|ordering|queueing][ explained| rule|]",
        "how does [first come first served|fifo scheduling] [work here|work in yaie|get chosen "
        "here]",
        "[queue|line] like [in a shop|at a bakery][, which policy|, first come first served]",
        "[what|how] is fcfs [different|special|doing]",
        "[requests|callers] [one after the other|in the order they came][, which policy does "
        "that|]",
        "[what|which] is the [simplest|classic|plain] [first come first served|arrival order] "
        "policy",
        "[f c f s|FCFS|fcfs] [means|is] what",
        "[understand|learn] [fcfs|the fcfs policy], [please|help]",
    ],
    "policy_lpm": [
        "[what|which words] [are|do] the letters [lpm|l p m] [for|mean|stand for]",
        "[longest prefix match|longest prefix first|longest match first][ policy| scheduling|, "
        "which policy is that|]",
        "i [want|need|would like] requests with [the most cached tokens|the longest cached "
        "prefix] to go first",
        "[most|the most] [cached|held] tokens first[, which policy|, how is that policy called|]",
        "[which|what] policy [serves|takes|admits] [the best cached|the most cached|the "
        "warmest] request first",
        "[explain|describe|define] [lpm|the lpm policy|lpm scheduling|the word lpm][ to me|]",
        "[tell|show] me [what lpm means|how lpm orders requests|about the lpm policy]",
        "[in|with] [what|which] order does [lpm|the lpm policy] [admit|serve|take] requests",
        "lpm[ policy| scheduling|, what is it|, meaning|, long form|, what do the letters mean]",
        "[who|which request] goes first [with|under] [lpm|the lpm policy|YAIE_POLICY lpm]",
        "[if|when] i set YAIE_POLICY [to|=] lpm[,|] [what happens|what order do i get]",
        "lpm [vs|versus|compared with] [fcfs|prefix-aware|priority][, what is lpm|, explain lpm]",
        "[long form|full form|expansion|meaning] of lpm",
        "what [does|will] [the lpm policy|lpm|policy=lpm] do[ with requests|]",
        "[i read|i saw|the docs mention] lpm[, what is that|, what does it mean|. explain]",
        "[why|when] [should|would] i [use|choose|prefer] [lpm|the lpm policy|longest prefix match]",
        "how [are|do] requests [ordered|get their turn] [with|under] [lpm|longest prefix match]",
        "[the name of the|which is the] policy [that goes by cached prefix length|for the "
        "longest match]",
        "[maximise|maximize|favour] cache [hits|reuse] [in|with] the queue[, which policy|]",
        "[order|rule] of [lpm|the lpm policy|longest prefix match]",
        "what is [the rule|the idea|the order] [behind|of|in] [lpm|longest prefix match]",
        "[acronym|abbreviation|short form] lpm[, spell it out|, please explain|]",
        "[spell|write] out lpm[ for me|]",
        "lpm [scheduling|admission|ordering|queueing][ explained| rule|]",
        "[does|is] lpm [look at|consider|about] [the cache|cached tokens|prefixes|the longest "
        "prefix]",
        "[what|how] is lpm [different|special|doing]",
        "[sort|order] the queue by [cached tokens|held tokens|prefix length|cached prefix][, "
        "which policy|]",
        "[longest|biggest] [cached|shared|held] prefix [first|goes first][, which policy|]",
        "how does [longest prefix match|longest prefix matching] [work|order requests] "
        "[here|in yaie|in the queue]",
        "[l p m|LPM|lpm] [means|is] what",
        "[understand|learn] [lpm|the lpm policy], [please|help]",
        "[which|what] policy [uses|is based on|goes by] the [longest prefix|longest match|held "
        "tokens]",
        "requests that [match the tree best|are mostly cached] [should go|go] first[, which "
        "policy|]",
        "[is there|do you have] a [cache first|longest prefix|longest match|most cached first] "
        "policy",
        "sglang has [lpm|longest prefix match], [do you have it|what does it do here]",
        "[name|which is] the [greedy cache|cache greedy|longest match] policy",
        "which request does [lpm|the lpm policy|longest prefix match] [prefer|favour|choose|take]",
        "[prefer|favour] requests [already in the cache|with many held tokens][, which policy|]",
        "[what|which] is the [longest prefix|longest match|most held tokens] policy [called|named]",
        "lpm: [which request|who] [wins|goes first|is first]",
    ],
    "policy_priority": [
        "[how|where] do i make [a request|one request|my call] [jump the queue|go first|more "
        "urgent|overtake others]",
        "[some|certain|vip] [requests|users|customers] should [go first|be served first|come "
        "before others][, how|]",
        "[is there|do you have] a [priority|urgent|vip] [policy|queue|field|option]",
        "[which|what] [field|parameter] [in|of] a request [sets|gives] [the priority|its "
        "importance|urgency]",
        "[important|urgent|vip] requests [first|before others|ahead of the rest][, which policy|]",
        "[explain|describe|define] [the priority policy|priority scheduling|how priorities work]",
        "[tell|show] me [how priorities work|about the priority policy|what the priority "
        "policy does]",
        "[in|with] [what|which] order does the [priority policy|policy named priority] "
        "[admit|serve|take] requests",
        "priority [policy|scheduling|field|queue][, what is it|, how does it work|, meaning]",
        "[who|which request] goes first [with|under] [the priority policy|YAIE_POLICY priority]",
        "[if|when] i set YAIE_POLICY [to|=] priority[,|] [what happens|what order do i get]",
        "priority [vs|versus|compared with] fcfs, [what is|explain] the priority policy",
        "what [does|will] [the priority policy|policy=priority|YAIE_POLICY=priority] do[ with "
        "requests|]",
        "[why|when] [should|would] i [use|choose|prefer] the priority policy",
        "how [are|do] requests [ordered|get their turn] [with|under] the priority policy",
        "[the name of the|which is the] policy [for important requests|that respects "
        "priorities|for urgent calls]",
        "[order|rule] of [the priority policy|priority scheduling]",
        "what is [the rule|the idea|the order] [behind|of|in] [the priority policy|priority "
        "scheduling]",
        "[does|is] [the priority field|a priority] [respected|used|looked at][ by some policy|]",
        "[can|may] [clients|i|users] [give|set|send] [a priority|priorities|a priority value]",
        "[sort|order] the queue by [priority|importance|urgency][, which policy|]",
        "[batch|background] jobs should [wait|yield], [interactive|chat] requests go first[, how|]",
        "[low|high] priority [requests|calls|jobs][, how|, which policy|]",
        "[which|what] policy [lets|makes] [important|urgent|paid] requests go first",
        "i [want|need|would like] [paying users|my urgent calls|some calls] to [go first|have "
        "priority]",
        "[how|what way] to [prioritise|prioritize] [requests|a request|some callers|one call]",
        "[prioritise|prioritize] [requests|some users|a call|urgent work]",
        "[priorities|prioritisation|prioritization] [support|of requests|in the queue]",
        "[is|are] [priorities|request priorities|priority queues] [supported|possible|there]",
        "[what|which] [is|does] the priority field [of a request |][for|do|mean]",
        "[request|per request|per-request] [priority|priorities|importance]",
        "the policy that [reads|looks at|obeys] [the priority field|priorities]",
        "[not all|some] requests are [equally important|more important][, how do i tell the "
        "server|]",
        "[jump|skip] the [queue|line] with [one|an urgent|an important] request",
        "[assign|attach|add] a priority to [a request|my request|a call|each call]",
        "[which|what] [requests|ones] does the priority policy [admit|serve|take] first",
        "[urgent|important] request [goes first|first|how]",
        "[i read|i saw|the docs mention] the priority policy[, what is that|, what does it "
        "do|. explain]",
        '[give|show] [me |]the meaning of policy [priority|"priority"]',
        "[how|where] [is|do i write] the priority of a [request|call]",
    ],
    "evictions": [
        "[what|which] are the [possible|available|different|three|various] [ways of "
        "eviction|eviction policies|eviction modes]",
        "[which|what] [rules|policies|strategies] can [throw out|evict|drop|remove] "
        "[nodes|leaves|cached prefixes]",
        "[how|in which ways] can [the cache|yaie|the tree] [choose|decide] what to "
        "[evict|drop], [list the policies|which policies]",
        "[list|enumerate|give me] [all|all the|the] [eviction|cache eviction|cache "
        "replacement] policies",
        "[cache replacement|replacement|eviction] [policies|strategies|algorithms|options]",
        "[is|are] [lru|lfu|cost|arc|fifo] [among|one of] the eviction policies",
        "besides [lru|lfu|cost] [which|what] [eviction policies|other eviction policies] are there",
        "[alternatives|options] to [lru|lfu|lru eviction]",
        "[lru|lfu] or [what else|which others] [for eviction|can evict]",
        "[can|could] i [change|choose|switch|configure] the [eviction policy|eviction "
        "strategy|cache replacement]",
        "[tell|show] me [the eviction policies|the options for eviction|which eviction "
        "policies exist]",
        "[explain|describe|name] the [choices|options|policies] for eviction",
        "[how many|what] [kinds|types|sorts] of eviction [are there|exist|do you have|do you "
        "support]",
        "[names|list|set|choice] of [eviction policies|eviction strategies|the eviction "
        "algorithms]",
        "[available|supported|possible|allowed|valid] eviction "
        "[policies|strategies|settings|values]",
        "[what|which] [values|names] [can|may] the eviction [policy|setting] [have|take]",
        "[besides|apart from] the default, [which|what] eviction policies [are there|can i pick]",
        "i [want|need|would like] [another|a different] eviction [policy|strategy], [which are "
        "there|what can i pick]",
        "[do you|does yaie|does it] [have|offer|support] [several|different|many] eviction "
        "policies",
        "[do you|does it|does yaie] [have|offer|support] [lru|lfu|lru and lfu] [eviction|cache "
        "eviction]",
        "[eviction|cache eviction] [choices|options|modes|names|settings]",
        "[which|what] [eviction|replacement] [policies|algorithms] [did you implement|come "
        "with yaie|are built in]",
        "[what|which] [policy|strategy] can i [choose|pick|select] for "
        "[eviction|evicting|cache replacement]",
        "[eviction|evicting][: which policies|, which policies exist|, what choices are there]",
        "[all|the three|the different] [eviction policies|eviction strategies][, please|]",
        "[names of|what are] the [three|different] eviction [rules|policies|algorithms]",
        "[policies|strategies|algorithms] [for|of] [eviction|evicting leaves|evicting "
        "nodes|cache replacement]",
        "[is|are] there [more than one|several|other] eviction [policy|policies|strategy]",
        "[i would like|i need] to know [which eviction policies exist|the eviction policies]",
        "how is [the eviction policy|eviction] [selected|chosen], [which ones are there|what "
        "are the names]",
        "[count|number] of eviction [policies|strategies|algorithms]",
        "[i am comparing|we compare] [eviction policies|cache replacement], which ones [does "
        "yaie have|are there]",
        "[quiz|exam]: name [the eviction policies|all eviction strategies]",
        "can [leaves|nodes|prefixes] be evicted by [different|other|several] "
        "[policies|rules][, which|]",
        "[pick|choose|select] an eviction [policy|strategy|algorithm][, from which|, options|]",
        "[supported|built in|built-in] [cache replacement|replacement|eviction] "
        "[policies|algorithms]",
        "[what|which] [kinds of |]eviction [does the tree|does the cache|does yaie] "
        "[know|support|have]",
        "[which|what] eviction [policy names|policies|algorithms] can i [try|test|compare]",
        "lru, lfu [and what else|and|and which third one][ for eviction|]",
        "[my|the] config wants an eviction policy, [which values|what can i write|what are the "
        "options]",
    ],
    "evict_what": [
        "[what|which things] [is|are|gets] [thrown out|dropped|removed|deleted] [first|] when "
        "[memory|the pool] is full",
        "what [happens|is done|is evicted] when there are no [free slots|slots left|more slots]",
        "[the cache|the pool|the kv pool] is [full|filled up|out of space][, what then|, what "
        "happens|, what goes]",
        "[no|not enough] [free slots|room in the pool|space in the cache] [left|any more][, "
        "what then|, what happens]",
        "how does [the tree|the cache|the engine] [free|make|reclaim|win back] "
        "[space|room|slots|memory]",
        "[who|which leaf|which part of the tree] [has to go|is removed|goes] when [slots run "
        "out|the pool is full]",
        "[can|could|will] [a node|a prefix|data] [that is in use|with refs above zero] be "
        "[evicted|dropped|removed]",
        "[is|are] [my running request's tokens|nodes in use|live nodes] safe from eviction",
        "[does|will] eviction [hurt|touch|disturb|break] [running|live|active] "
        "[requests|sequences]",
        "[when|at what moment] [does|will] [eviction|evicting] [happen|start|take place]",
        "[what|which] [triggers|starts|causes] [eviction|an eviction|evictions]",
        "[explain|describe] [eviction|how eviction works|what gets evicted|the rule of eviction]",
        "[tell|show] me [what eviction does|which nodes can be evicted|when things are evicted]",
        "[which|what] [nodes|leaves|entries] [are safe|stay|may stay|cannot be evicted]",
        "[when|which] [is a node|nodes are] [protected|safe] from eviction",
        "eviction[: how|: when and what|, how does it go|, in short|, what is removed]",
        "[head|tail|root|leaf] [first|or tail first] [in|during|at] eviction",
        "[are|is] [whole nodes|the tail of a leaf|tails|parts of leaves] evicted[ first|]",
        "[why|how come] [is|was] my [cached prefix|prefix|prompt] [gone|evicted|no longer cached]",
        "my [prefix|prompt] [was|is] [dropped from|no longer in] the cache[, why|, when does "
        "that happen]",
        "[does|will] the cache [grow forever|ever shrink|drop old things|clean itself]",
        "[how|when] [are|do] [old|unused] [prefixes|leaves|nodes] [leave|removed from|dropped "
        "from] the [tree|cache]",
        "[garbage collection|cleanup|clean up|housekeeping] of the [cache|tree|pool]",
        "[running|run] out of [slots|cache space|kv memory|pool space][, what happens|]",
        "what [will happen|goes on] when [slots|kv memory|the pool] [runs out|run out|is "
        "exhausted|is used up]",
        "[in|by] [which|what] order are [tails|parts of the tree|leaves and nodes] "
        "[freed|given up] [when slots run out|]",
        "[which|what] [condition|rule] must [a node|a leaf] meet to be "
        "[evicted|evictable|thrown out]",
        "[can|may] [inner nodes|a node with children|the root] be evicted[ or only leaves|]",
        "[only|are only] leaves [evicted|thrown out|removed][ or other nodes too|]",
        "[what|which part] is [evictable|allowed to be evicted|up for eviction]",
        "[i would like|i want] to understand [eviction|what is evicted|when nodes are evicted]",
        "[space|room|memory] in the pool is [scarce|short|tight][, what is evicted|, what does "
        "it drop]",
        "[how|in what way] are [slots|cache entries] [freed|released|taken back|recycled]",
        "is a node with refs [kept|evicted|safe] when [slots run out|the pool is full]",
        "[meaning|definition|sense] of eviction[ here| in yaie| in the tree|]",
        "[full|overfull|crowded] [cache|pool|kv cache|tree][, what happens|]",
        "[what|who] makes [room|space] for new tokens[ when the pool is full|, and how|]",
        "[unused|idle] [leaves|nodes|prefixes]: [when are they evicted|what happens to them "
        "when slots run out]",
        "[a new prompt|my prompt] needs slots but [none are free|the pool is full][, what "
        "then|, what happens]",
        "[live|active|running] [sequences|requests] and eviction[, are their nodes safe|]",
    ],
    "evict_lru": [
        "[what|which words] [are|do] the letters [lru|l r u] [for|mean|stand for]",
        "[least recently used|oldest use first|longest unused first][ eviction| policy|, which "
        "eviction policy is that|]",
        "[explain|describe|define] [lru|the lru policy|lru eviction|the word lru][ to me|]",
        "[tell|show] me [what lru means|what lru evicts|about the lru eviction policy]",
        "lru[ policy| eviction|, what is it|, meaning|, long form|, what does it evict]",
        "[which|what] [leaf|node] does [lru|the lru policy|lru eviction] [evict|throw "
        "out|drop|remove|choose]",
        "[who|which leaf] goes first [with|under] [lru|the lru policy|lru eviction]",
        "[if|when] i [choose|set|use] lru[,|] [what is evicted|which leaf goes]",
        "lru [vs|versus|compared with] [lfu|cost][, what is lru|, explain lru]",
        "[long form|full form|expansion|meaning] of lru",
        "what [does|will] [the lru policy|lru|lru eviction] [do|throw out|remove]",
        "[i read|i saw|the docs mention] lru[, what is that|, what does it mean|. explain]",
        "[why|when] [should|would] i [use|choose|prefer] lru[ eviction|]",
        "[evict|drop|throw out] what [was not used for longest|was used longest ago][, which "
        "policy|]",
        "[the name of the|which is the] policy that [drops the longest unused leaf|evicts what "
        "was used longest ago]",
        "[leaf|node] that [nobody used for the longest time|was used longest ago] is evicted[, "
        "which policy|]",
        "what is [the rule|the idea|the criterion] [behind|of|in] lru",
        "[acronym|abbreviation|short form] lru[, spell it out|, please explain|]",
        "[spell|write] out lru[ for me|]",
        "[does|is] lru [look at|consider|about] [time of last use|recency|when a leaf was last "
        "used]",
        "[what|how] is lru [different|special|deciding]",
        "[l r u|LRU|lru] [means|is] what",
        "[understand|learn] [lru|lru eviction], [please|help]",
        "[which|what] eviction policy [uses|is based on|goes by] [recency|the last use|time of "
        "last use]",
        "[recency|last use] based eviction[, which policy|, what is it called|]",
        "[how|by what] does lru [choose|pick|select|decide on] [the leaf|a leaf|its victim]",
        "the [victim|leaf evicted] [with|of|under] [lru|the lru policy]",
        "[evict|eviction] by [recency|last use|age of last use][, which one|]",
        "lru: [which leaf|what] [goes|is evicted|is dropped|goes first]",
        "[classic|ordinary|well known] lru[, what does it evict here|, what does it do here]",
        "[in|with] lru eviction[,|] [what|which leaf] is [removed|dropped|evicted] first",
        "[keep|keeping] recently used [leaves|prefixes] and drop the [stale|oldest used] "
        "ones[, which policy|]",
        "[recently|just] used leaves [stay|are kept|survive][, which eviction policy|]",
        "[stale|oldest used|longest idle] leaf [first|is dropped first][, which policy|]",
        "[what|which] is the least recently used [policy|eviction policy] [called|doing|named]",
        "how does least recently used [eviction |][work|choose|decide][ here| in yaie|]",
        "[a|the] leaf [evicted|removed|chosen] by lru",
        "[rule|criterion|behaviour] of [lru|lru eviction|the lru policy]",
        "[least recently|not recently] used [leaf|node|leaves][ evicted|]",
        "[can you |]sum up [lru|lru eviction|the lru eviction policy]",
    ],
    "evict_lfu": [
        "[what|which words] [are|do] the letters [lfu|l f u] [for|mean|stand for]",
        "[least frequently used|rarest first|least often used][ eviction| policy|, which "
        "eviction policy is that|]",
        "[explain|describe|define] [lfu|the lfu policy|lfu eviction|the word lfu][ to me|]",
        "[tell|show] me [what lfu means|what lfu evicts|about the lfu eviction policy]",
        "lfu[ policy| eviction|, what is it|, meaning|, long form|, what does it evict]",
        "[which|what] [leaf|node] does [lfu|the lfu policy|lfu eviction] [evict|throw "
        "out|drop|remove|choose]",
        "[who|which leaf] goes first [with|under] [lfu|the lfu policy|lfu eviction]",
        "[if|when] i [choose|set|use] lfu[,|] [what is evicted|which leaf goes]",
        "lfu [vs|versus|compared with] [lru|cost][, what is lfu|, explain lfu]",
        "[long form|full form|expansion|meaning] of lfu",
        "what [does|will] [the lfu policy|lfu|lfu eviction] [do|throw out|remove]",
        "[i read|i saw|the docs mention] lfu[, what is that|, what does it mean|. explain]",
        "[why|when] [should|would] i [use|choose|prefer] lfu[ eviction|]",
        "[evict|drop|throw out] what [is seldom used|was used the fewest times][, which policy|]",
        "[the name of the|which is the] policy that [drops the rarely used leaf|evicts by use "
        "count]",
        "[leaf|node] that [was used the fewest times|is seldom used] is evicted[, which policy|]",
        "what is [the rule|the idea|the criterion] [behind|of|in] lfu",
        "[acronym|abbreviation|short form] lfu[, spell it out|, please explain|]",
        "[spell|write] out lfu[ for me|]",
        "[does|is] lfu [look at|consider|about] [use counts|frequency|how often a leaf was used]",
        "[what|how] is lfu [different|special|deciding]",
        "[l f u|LFU|lfu] [means|is] what",
        "[understand|learn] [lfu|lfu eviction], [please|help]",
        "[which|what] eviction policy [uses|is based on|goes by] [frequency|use counts|how "
        "often a leaf is used]",
        "[frequency|use count] based eviction[, which policy|, what is it called|]",
        "[how|by what] does lfu [choose|pick|select|decide on] [the leaf|a leaf|its victim]",
        "the [victim|leaf evicted] [with|of|under] [lfu|the lfu policy]",
        "[evict|eviction] by [frequency|use count|number of uses][, which one|]",
        "lfu: [which leaf|what] [goes|is evicted|is dropped|goes first]",
        "[in|with] lfu eviction[,|] [what|which leaf] is [removed|dropped|evicted] first",
        "[keep|keeping] [popular|often used] [leaves|prefixes] and drop [rare|unpopular] "
        "ones[, which policy|]",
        "[popular|often used|frequent] leaves [stay|are kept|survive][, which eviction policy|]",
        "[unpopular|rarely used|seldom used] leaf [first|is dropped first][, which policy|]",
        "[what|which] is the least frequently used [policy|eviction policy] [called|doing|named]",
        "how does least frequently used [eviction |][work|choose|decide][ here| in yaie|]",
        "[a|the] leaf [evicted|removed|chosen] by lfu",
        "[rule|criterion|behaviour] of [lfu|lfu eviction|the lfu policy]",
        "[least often|not often|infrequently] used [leaf|node|leaves][ evicted|]",
        "[which|what] policy [counts|tracks] how [often|many times] [a leaf|leaves|a node] was "
        "used",
        "[can you |]sum up [lfu|lfu eviction|the lfu eviction policy]",
    ],
    "evict_cost": [
        "[explain|describe|define] [the cost policy|cost eviction|the cost eviction policy][ "
        "to me|]",
        "[tell|show] me [what cost eviction does|how the cost policy ranks|about cost eviction]",
        "[keep|keeping] [expensive|dear|costly] [prefixes|leaves] [in the cache|][, which "
        "eviction policy|]",
        "[which|what] [leaf|node] does [the cost policy|cost eviction|policy cost] "
        "[evict|keep|drop|protect]",
        "[how|by what formula] [does|is] [the cost policy|cost eviction] [rank|compute the "
        "rank of] [leaves|a leaf]",
        "[formula|score|ranking|rule] of [the cost policy|cost eviction|the cost eviction policy]",
        "[recompute cost|recomputation cost] times reuse [over|divided by] size[, which "
        "policy|, what is that]",
        "[what|how] does [cost|the cost policy|cost eviction] [mean|decide|choose|work] [in "
        "eviction|]",
        "[if|when] i [choose|set|use] [cost|the cost policy] for eviction[,|] [what is "
        "evicted|what is kept]",
        "cost [vs|versus|compared with] [lru|lfu][ eviction|], [what is|explain] cost",
        "[which|what] eviction policy [thinks of|takes into account|uses] [recompute cost|the "
        "price of recomputing]",
        "[why|when] [should|would] i [use|choose|prefer] [cost eviction|the cost "
        "policy|eviction by cost]",
        "[evict|drop] what is [cheap|cheapest] to [recompute|compute again][, which eviction "
        "policy|]",
        "[expensive|costly|dear] leaves [stay|are kept|survive][, which eviction policy|]",
        "[eviction|evict|evicting] by [cost|recompute cost|price]",
        "cost[ eviction| eviction policy|-based eviction|-aware eviction][, what is it|, "
        "meaning|, how]",
        "[i read|i saw|the docs mention] [cost eviction|the cost policy][, what is that|. explain]",
        "what is [the rule|the idea|the score|the criterion] [behind|of|in] [cost eviction|the "
        "cost policy]",
        "[which|what] [quantities|factors|numbers] [go into|matter for|are used by] [the cost "
        "policy|cost eviction]",
        "[does|is] the cost policy [look at|consider|about] [size|reuse|recompute cost|money]",
        "[what|which] [cost|price] does the cost [eviction |]policy [mean|look at|use]",
        "[cost aware|cost-aware|cost based] [eviction|eviction policy|cache replacement]",
        "[the name of the|which is the] eviction policy that [keeps expensive prefixes|weighs "
        "recompute cost]",
        "the third eviction policy[ after lru and lfu|, cost][, what does it do|, how does it "
        "rank]",
        "[besides|apart from] lru and lfu there is cost[, what does it do|, how does it work|]",
        "[how|in what way] does [it|cost eviction|the cost policy] [know|decide] what is dear "
        "to recompute",
        "[leaf|node] [score|rank|value] [in|under|with] [the cost policy|cost eviction]",
        "[long|expensive] prefixes should not be [evicted|dropped|lost][, which eviction policy|]",
        "[what|which] [leaves|prefixes] [are|will be] kept [with|under|by] [cost eviction|the "
        "cost policy]",
        "is the cost policy [better|smarter] than [lru|lfu][, what does it do|]",
        "[rank|ranking|order] of leaves [in|under] [cost eviction|the cost policy]",
        "[smart|smartest|clever] eviction [that weighs|by] [recompute cost|cost and reuse][, "
        "which one|]",
        "[in|with] cost eviction[,|] [what|which leaf] is [kept|dropped|evicted] first",
        "[understand|learn] [cost eviction|the cost policy], [please|help]",
        "[can you |]sum up [cost eviction|the cost eviction policy]",
        "[how|what] is [a leaf|each leaf] [scored|ranked|valued] by [cost|the cost policy|cost "
        "eviction]",
        'eviction policy [cost|"cost"][, explain|, what does it do|, meaning|]',
        "[purpose|aim|benefit|effect] of [cost eviction|the cost policy|the cost eviction policy]",
        "[avoid|avoiding] [costly|expensive] recomputation [by|with] [the right eviction|an "
        "eviction policy][, which|]",
        "[reuse|size|recompute cost] [matters|counts|plays a role] in which eviction policy",
    ],
    "preempt": [
        "[which|what|whose] [request|sequence] is [paused|interrupted|suspended|put back] when "
        "[memory|the pool] is [short|exhausted]",
        "[what|who] gets [preempted|interrupted|kicked out] [first|] [while decoding|in the "
        "middle of decoding|]",
        "[can|will|could] [a running|my running|an active] [request|sequence] be "
        "[interrupted|preempted|paused|suspended]",
        "my [request|sequence] was preempted[, is its work lost|, what now|, does it start "
        "over|, what happens]",
        "[does|must|will] a preempted [request|sequence] [start|begin] [over|again|from zero]",
        "[is|are] the [work|tokens|nodes|keys and values] of a preempted [request|sequence] "
        "[lost|kept|thrown away]",
        "[how|in what way] [expensive|costly|cheap] is [preemption|a preemption|resuming]",
        "[explain|describe|define] [preemption|how preemption works|what preemption is][ to me|]",
        "[tell|show] me [what preemption does|which sequence is preempted|how a preempted "
        "request comes back]",
        "preemption[, what is it|, meaning|, how does it work|, which one goes|, is it costly]",
        "[resuming|resume|continuing] [a preempted|an interrupted] [request|sequence][, how|, "
        "what does it cost|]",
        "what [happens to|becomes of] the nodes of [a preempted|an interrupted] sequence",
        "[too many|so many] [running|live] sequences [and|but] no [slots|memory][, who is "
        "preempted|, who is stopped]",
        "[decoding|decode|generation] needs slots but [nothing can be evicted|the pool is "
        "exhausted][, what then|]",
        "[does|do] [yaie|it|you] [swap|recompute|swap or recompute] [preempted|interrupted] "
        "[requests|sequences]",
        "[who|which one] is the [victim|loser] of [preemption|a preemption]",
        "[victim|choice of victim|victim selection] [of|in|for] preemption",
        "[why|when] [is|was] [my request|a request|a sequence] [preempted|interrupted|set back]",
        "[when|in which case] [does|will] preemption [happen|take place|start|be needed]",
        "what is [the rule|the idea|the criterion] [behind|of|for] [preemption|preempting]",
        "[cheapest|cheap] to recompute [sequence|request][, what happens to it|, is it preempted]",
        "[i read|i saw|the log says] [preempted|preemption][, what is that|, what does it "
        "mean|. explain]",
        "[preempted|interrupted|suspended] [requests|sequences][: what about them|, are they "
        "lost|, do they resume]",
        "is [resuming|resumption|coming back] after preemption [free|slow|expensive|costly]",
        "[does|will] [preemption|a preemption] [lose|throw away|destroy] [work|tokens|the "
        "cache|my progress]",
        "[meaning|definition|sense] of [preemption|preempted|preempting]",
        "[if|when] [two|several|many] sequences compete for slots[,|] which [is preempted|has "
        "to yield|must pause]",
        "[which|what] sequence [has to|must] [yield|pause|step back|give way][ when the pool "
        "is exhausted|]",
        "[like|similar to] preemption in vllm[, how is it here|, what does yaie do|, do you "
        "recompute]",
        "[how|when] does [a preempted|an interrupted] [request|sequence] [continue|come "
        "back|resume|go on]",
        "[do|does] [the nodes|its nodes|the tokens] [stay|remain|survive] after [preemption|a "
        "preemption]",
        "[pause|interrupt|preempt] [a sequence|a running sequence|a request][, which is "
        "chosen|, which one]",
        "[price|cost] of [preemption|resuming a preempted sequence|being preempted]",
        "[i would like|i want] to understand [preemption|which sequence is preempted|how "
        "resuming works]",
        "the scheduler [preempts|interrupts|pauses] [which sequence|whom|what][ first|]",
        "[preemption|preempting] [policy|rule|order|strategy][ in short|]",
        "[lost|kept|free] or not: [a preempted request|the work of a preempted sequence]",
        "what [does|will] the engine do with [a preempted sequence|a preempted request]",
        "[which|what] [running|live|active] [request|sequence] [does it|does yaie] preempt[ "
        "first|]",
    ],
}
