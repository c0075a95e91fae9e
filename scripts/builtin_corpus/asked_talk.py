"""More small talk, names, follow-ups and repeats, one pattern on a line."""

from __future__ import annotations

IDENTITY = """
what are you[, exactly| really| then| called| made of|?]
[are|aren't] you [a chatbot|mistral|deepseek|grok|copilot|siri|alexa|gpt|gpt-5|bard|an llm|\
a program|a machine|a real ai|a language model|alive|yaie|intelligent|based on llama|\
an openai model]
[am i|is this me] [talking|speaking|chatting] [to|with] [chatgpt|gpt|claude|a human|a person|\
a bot|a machine|a robot|a real person|an ai]
is this [chatgpt|gpt|claude|gemini|llama|qwen|a bot|a chatbot|a human|openai|the real thing|\
the demo model|the built-in model|a small model]
[which|what] [model|llm|ai|bot|network] [is this|do you use|do i have here|answers me|runs here|\
did i start|is loaded|are you running|is talking]
[what|which] [version|size|family|type] of [model|llm|ai] [are you|is this|do i talk to]
[tell me|say] [something|a bit|a little|more|a few words] about [you|yourself]
[please |][introduce|present|describe] yourself[ to me| please| briefly| to the audience|]
who is [there|this|that|answering|speaking|behind this|on the other side|writing these answers]
[so |hey |and |ok ][who|what] are you
[who|which person|which team|what people] [is behind|developed|programmed|owns|designed|coded] you
who is your [maker|creator|author|developer|father|boss|owner]
[what|which] [data|text|texts|books|corpus|material] [were you|did they] [trained on|\
train you with|made from|taught with]
[where|when|by whom|how] were you [made|created|born|built|trained|developed]
[how many|number of] [parameters|weights|million parameters] [are you|has this model|\
does this model have|is this model|do you have inside]
[how big|how small|how tiny|how large] is [this model|the model i talk to|your brain|your network]
[what|how] should i call you
[what is|what's|tell me|say|give me] your [name|model name|identity|size|origin|background]
[and |]your name [is|please|?]
[do you have|have you got] [a name|a creator|a maker|parameters|a brain]
[are you|is this] the [demo|demonstration|built-in|builtin|default|tiny|small] [model|bot|one]
[why are you so|how come you are so] [small|tiny|limited|simple]
[can|could|would] you [introduce yourself|tell me who you are|say what you are|tell me your name|\
tell me about yourself]
[i want|i would like|i'd like] to know [who you are|what you are|who i am talking to|\
what model this is|which model you are|your name]
[are you|were you] [made|trained|built|created] by [openai|google|meta|anthropic|microsoft|\
alibaba|the project|us]
[did|does] [openai|google|meta|anthropic|microsoft|mistral] [make|train|own|run] you
[from which company|from what company|from where] are you
[which|what] company [built|owns|trained|runs|is behind] you
[we have not met|we don't know each other|i don't know you|i have never seen you before][,|:]\
 who are you
[model|bot|assistant|machine], [who|what] are you
[state|give|reveal|write] your [name|identity|model name|name and size]
whoami for the model
about you
""".strip().splitlines()  # fmt: skip
HELLO = """
[hi|hello|hey|hello again|hi again|good morning|good evening|greetings] [to you|my friend|\
dear model|little model|robot|computer|assistant|there, model]
[hi|hello|hey][,|!|] [nice to see you|i am back|i'm back|it's me|it is me again|anyone home|\
are you ready|good to be here]
[how are you|how are you doing|how do you feel|how is your day|how is life|how are things|\
all good|you ok|everything ok|everything fine][ today| there| over there|]
[good|nice|happy] [to meet you|to see you|to talk to you|day to you]
[wakey wakey|knock knock|hola|bonjour|guten tag|ciao bella|namaste|aloha|servus|moin|sup|hiii|\
heya|oi|ahoy]
[are you|is the model|is the bot] [online|up|running|ready|working|listening|alive and well]
[just|only] [saying hi|saying hello|checking in|testing|a test|wanted to say hi]
[this is|it's|here comes] [a test|my first message|only a test]
[can you|do you] [read|hear|see|get] [me|this|my message|my messages]
[let's|let us] [start|begin|talk|chat]
""".strip().splitlines()  # fmt: skip
THANKS = """
[thanks|thank you|many thanks|thx][,|!] [that is all i need|that's what i wanted|you are great|\
you are kind|you helped|that was quick|it works|it works now|very clear|got it|understood|perfect|\
nice]
[got it|i see|understood|ok|okay|perfect|great|alright|works now|it works][,|!] [thanks|thank you|\
thx|many thanks|cheers]
[thank you|thanks] [for the help|for the answer|for your time|for explaining|for the quick answer|\
for your patience|for everything|in advance|kindly|ever so much|a million|a bunch]
[i am|i'm|we are] [grateful|thankful|very thankful|so grateful|much obliged]
[you|that answer|your answer] [helped|helped me|was helpful|was very useful|saved me|saved my day|\
was clear|was perfect|did the job]
[you are|you're] [great|helpful|the best|a star|awesome|very kind|so kind|a good bot|nice|clever]
[good|nice|great|clever|brave] [bot|model|robot|work|job|answer|one]
[exactly|precisely|just] what i [needed|wanted|was looking for|was after][, thanks|]
[that's|that is|this is] [all i needed|very kind of you|so helpful|really good|really useful|\
perfect|awesome][, thank you|, thanks|]
[gracias|grazie|obrigado|arigato|tack|dank je|spasibo|ty|tysm|tyvm|thank u|thankyou|\
thank you kindly]
[i|we] [appreciate|value] [that|this|your help|the help|your answer]
[lovely|brilliant|fantastic|excellent|wonderful|superb][,|!] [thanks|thank you|cheers|ta]
""".strip().splitlines()  # fmt: skip
BYE = """
[bye|goodbye|good bye|cya|see ya|adieu|adios|au revoir|tschuess|so long|later|talk to you later|\
catch you later|see you soon|see you tomorrow|have a good one|have a good evening][!|.| model|\
 bot| friend| and thanks|]
[i am|i'm] [off|leaving|done|done here|going home|going to bed|signing off|logging off|out][ now|\
 for today| bye|]
[let's|let us] [stop here|end here|call it a day|finish here]
[time to|i need to|i have to|gotta] [go|leave|sleep|run|go home]
[that's|that is|that was] [it|it for today|all for today|everything|enough for today][, bye|]
[until|till] [next time|later|we meet again|monday]
[end|close|quit|leave] [of the chat|the chat|the conversation|this conversation]
""".strip().splitlines()  # fmt: skip
CAN_DO = """
[what|which] [things|stuff|sort of things|kinds of tasks|kind of questions] [can|could] [you|\
this model] [do|answer|help with|handle]
what [can|could|may] i [ask|use|expect from|do with|try with|get from] you[ for|]
[what|how] [can|could] [this model|the model|the built-in model|this bot|this assistant] [do|\
be used|help|help me]
[show|tell] me what you [can do|know|are able to do|are good at|can't do|offer]
[give me|list|name|show me] [some |a few |][examples|things|tasks|questions] [that |]\
[i can ask you|you can do|you can answer|i may ask|you know]
[what are|tell me] your [strengths|strong points|talents|functions|limits|weaknesses|main functions]
[what are you|what are you here] [for|good for|useful for|made for|there for]
[help|help me|i need help|i need some help|can you help|can you help me|please help]
[can|could] you [help|assist] me[ with something| a bit|]
[what|how much] do you know
[is there|are there] [anything|something|tasks|questions] you [can|cannot|can't] do
[how do i|how can i|how should i] [use|work with|make use of|talk to] you
[what is|what's] your [job|purpose|function|role|task|speciality|area]
[are you|can you be] [useful|helpful|of use|a general chatbot|an expert in everything]
[what should i|what could i|what may i] [try|ask|ask first|test][ with you|]
[do you|can you] [do|know|answer|handle|understand] [everything|anything|all questions|every topic]
[where|what] are your limits
[your|the] [menu|options|commands|skills|features] please
""".strip().splitlines()  # fmt: skip
NAME_TELL = """
[my|the] name [here |]is {n}
[hello|hi|hey|good morning][,|!|] [{n} here|this is {n}|i am called {n}|call me {n}|{n} speaking]
i am called {n}
[they|my friends|my colleagues|all] call me {n}
[i'm|i am] {n}, [nice to meet you|hello|hi|pleased to meet you|good morning|by the way|and you]
[please |][remember|note|keep in mind][:|,| that] [my name is|i am|i'm] {n}
[you are talking|you are speaking|you speak] [to|with] {n}
[my name's|name's|the name is|name:|me:] {n}
[just so you know|by the way|for the record|before we start], [i am|i'm|my name is] {n}
{n} is my name
{n} [speaking|on the line]
[let me introduce myself|allow me to introduce myself][:|,|.] [i am|i'm|my name is|] {n}
[i go by|i answer to] [the name |]{n}
[if you want to know|if you ask], [i am|my name is] {n}
""".strip().splitlines()  # fmt: skip
NAME_ASK = """
[so |and |now |ok, |][what|who] [was|is] my name[ again| then| please|]
[so |and |now |ok, |]who am i[ again| then|]
[do|did] you [still |][know|remember|recall|keep|note|forget] [my name|who i am|what i am called|\
what my name is|how i am called]
[have you|you have not|you haven't] forgotten my name
[can|could] you [say|repeat|recall|tell me|write|spell] my name
[what|how|which name] did i [say|tell you] [my name was|my name is|i am called|i was called|\
at the start]
[what|which] name [did i|have i] [give|tell|told|given][ you|][ before| earlier| at the beginning|]
[i told you|i gave you|i said|you know] my name[, what is it|, what was it|. what is it|, say it]
[how|what] do you call me
[what|how] [do they|do people|do my friends] call me
my name[ is| please| was|]
[who|whom] are you [talking|speaking|writing|chatting] [to|with] [now|here|right now]
[who|what person] is [talking|speaking|writing] to you
[tell|remind] me [who i am|what i am called|what my name is|of my name]
[with|to] whom do you [speak|talk]
[as who|how] did i introduce myself
name of the user
greet me by [name|my name]
[use|write down] my name
under which name do you know me
""".strip().splitlines()  # fmt: skip
REPEAT = """
[please |][repeat|say] [it|that|your answer|the last answer|the last sentence|what you told me|\
what you wrote|everything][ please| for me|]
[can|could|would] you [say|write|tell me|show me|give me] [that|it|the answer] [again|once more|\
one more time|another time]
[i missed|i did not read|i overlooked|i lost|i have forgotten] [that|it|your answer|what you said]\
[, again please| please repeat|. again|]
[sorry|pardon|excuse me|hm|eh|huh][,|?] [what|what was that|what did you say|say that again|\
come again|again please|i did not get it]
[what was|what is|give me|show] [that|your answer|the answer|your last answer|your last message]\
 again
[same|the same] [again|answer again|once more]
[once|one time] [again|more] please
[repeat|again|encore|rewind]
[type|print|write] [it|that] again
[what was|what were] your [answer|words|last words]
[i|we] [doubt|question|can't believe|cannot believe] [that|it|this]
[that|this] [sounds|seems|looks] [wrong|odd|strange|off]
[i think|i believe|i heard] [that is|you are|it is] [wrong|not right|not true]
""".strip().splitlines()  # fmt: skip
SURE = """
[are you|you are|is it|is that] [really |absolutely |quite |totally |completely |100 % |][sure|\
certain|correct|right][ about it| about this| or not|]
[is|was] [that|this|it|your answer] [really |actually |][true|correct|right|the truth|a fact]
[really|truly|honestly|seriously|for real|no kidding|is that for real|you mean it]
[can|could] [i|we] [trust|rely on|believe] [that|this|it|you|your answer]
[do you|would you] [swear|promise|confirm] [it|that|this]
[hm|hmm|wait|oh][,| ] [really|are you sure|is that right|is that so]
[double|please] check [that|it|your answer]
""".strip().splitlines()  # fmt: skip
MORE = """
[and |now |then |ok, |][add|put] {k} [to the result|to it|on top|more please|to this|to the sum]
[and |]{k} [on top|added|more, what is it|more please]
[and |]with {k} [more|added|on top]
[increase|raise] [it|that|the result] by {k}
[take the result|take that|with that result] and add {k}
[the result|that|it|this] [plus|+] {k}
[+|plus] {k}[ now| please|]
[what|how much] is [that|it|this] plus {k}
[another|add another] {k}[ please|]
[how many|how much|what] [if|when] i get {k} more
""".strip().splitlines()  # fmt: skip
LESS = """
[and |now |then |ok, |][take|remove|subtract|deduct] {k} [from the result|from it|from this|\
from the sum|away]
[and |]with {k} [less|fewer|taken away|removed]
[reduce|lower|decrease] [it|that|the result] by {k}
[take the result|take that] and subtract {k}
[the result|that|it|this] [minus|-] {k}
[what|how much] is [that|it|this] [minus|without|less] {k}
[how many|how much|what] [if|when] i [lose|give away|take away] {k}
[-|minus|less] {k}[ now| please|]
""".strip().splitlines()  # fmt: skip

_FOLLOW = """
port host = [and |]the [host|ip|address] [then|too|as well]
port host = [to which|what] [ip|interface] does it bind
port host = [and |]from [which|what] address is it reachable
host port = [and |]the port [then|too|as well|number]
host port = [and |][at|over] what port number
env_policy policy_default = [and |]if i leave it unset
env_policy policy_default = [which|what] of [them|these] is [used normally|active|the normal one|\
preset]
env_policy policy_fcfs = [what about|and the|tell me about] fcfs
env_policy policy_lpm = [what about|and the|tell me about] lpm
env_policy policy_priority = [and|what about|what is|explain] priority
evictions evict_lru = [what about|tell me about|explain] lru
evictions evict_lfu = [what about|tell me about|explain] lfu
evictions evict_cost = [what about|tell me about] cost
serve stop_server = [and |]how [can i|does one|to] [end|stop|quit|leave] it
serve stop_server = [and |]when i am done[, how do i stop it|]
serve port = [and |]where does it listen
serve serve_model = [and |]if i want [another|a larger|my own] model
serve base_url = [and |][what is|which is|the] base url[ then|]
make_serve make_test = [and |]for the tests
gpu cpu = [and |][if i have|with] no gpu
cpu gpu = [and |][if i have|with] a gpu
ep_chat ep_completions = [and |]for [plain|raw] [text|prompts]
ep_health ep_readiness = [and |]to know if it is ready
ep_metrics ep_stats = [and |]the same [in|as] json
err_full err_starting = [and |]while [the model loads|it is loading|it boots]
err_long err_model = [and |]if the model [name is wrong|does not exist|is unknown]
slot extent = [and |]what is an extent
node path = [and |]what is a path
request sequence = [and |]what is a sequence
row segment = [and |]what is a segment
chat one_off = [and |]for just one [question|answer]
one_off chat = [and |]for a longer [talk|chat|conversation]
one_off pipe = [and |]with [the text of a file|piped text|standard input]
what licence = [and |]is it [open source|free to use]
what acronym = [and |]what does the name [mean|stand for]
install python = [and |][which|what] python do i need
install serve = [and |][then|next|after that], how do i start the server
serve ep_health = [and |]how do i see [if it is alive|if it is healthy]
stream schema = [and |]can it [return|guarantee|force] json
what install = [and |]how do i get it on my machine
doctor models_cmd = [and |]how do i see [my|the] models
tool_calls tools_exec = [and |]does the server run [them|the tools] itself
env_model env_prefix = [and |]the other variables
""".strip().splitlines()


def _follow(line: str) -> tuple[str, str, list[str]]:
    keys, wording = line.split(" = ", 1)
    first, second = keys.split()
    return first, second, [wording]


FOLLOW = [_follow(line) for line in _FOLLOW]
