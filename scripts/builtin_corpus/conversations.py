"""Talk around the tasks: who are you, greetings, thanks, memory of a name, follow-up questions."""

from __future__ import annotations

from random import Random

from . import asked_follow, asked_talk, asked_talk_more, asked_talk_wide, told_things, values, words
from .grammar import expand

IDENTITY = (
    "I am YAIE's built-in demonstration model: small, about 4 million parameters, trained from "
    "scratch on text that the project wrote. I know the project, small sums, JSON and tool calls."
)
HELLO = "Hello! I am YAIE's tiny built-in demonstration model. Ask me about the project."
THANKS = "You are welcome."
BYE = "Goodbye!"
CAN_DO = (
    "I can answer questions about YAIE, do small sums, turn text into JSON, call tools that you "
    "list and make simple choices. I am a demonstration, not a general assistant."
)
SMALL_TALK: list[tuple[str, list[str]]] = [
    (IDENTITY, [
        "[who|what] are you[ exactly| anyway|]", "[what|which] [model|llm|language model|ai|bot|"
        "assistant|thing] [are you|is this|am i talking to|is answering|is running|do i speak "
        "to|is "
        "behind this]", "[who|what] am i [talking|speaking|chatting|writing] [to|with]", "[tell me "
        "about|introduce|describe|explain] yourself", "are you [chatgpt|gpt-4|claude|gemini|llama|"
        "qwen|a human|a person|a robot|an ai|a real person|a big model|openai|a bot|a large model|"
        "human]", "what is your [name|size]", "who [made|trained|built|created|wrote] you", "how "
        "[big|large|small|smart] are you", "how many parameters [do you have|have you got|are in "
        "you]", "[how|where|on what|on which data] were you trained", "what were you trained on",
        "what is the built-in model", "what is [the model called |]builtin", "your name",
        "identify yourself", "what do they call you", "say who you are", "is this [a "
        "real|an actual|a large] [ai|model|language model]", "what kind of [model|ai|assistant|"
        "thing] are you", "do you have a name", "what sort of [model|ai] is this",
        "are you [small|tiny|large|a demo|a toy|a demonstration model]", "which company made you",
        "tell me [who|what] you are", "what's your name", "[name and size|your size and name]",
        "how were you made", "what is this model", "where do you come from"]),
    (HELLO, [
        "[hi|hello|hey|good morning|good evening|good afternoon|greetings|hi there|hello there|hey "
        "there|howdy|hallo|hiya|yo|morning|evening|good day|welcome|salut][!|.| yaie| you| "
        "everyone| model| bot|, how are you| friend|]", "how are you[ today| doing|]", "is "
        "[anybody|anyone|somebody] there", "are you there", "nice to meet you", "[what's|whats] up",
        "how do you do", "ping", "[are you awake|can you hear me][ now|]", "test", "testing "
        "testing",
        "how is it going"]),
    (THANKS, [
        "[thanks|thank you|thx|many thanks|cheers|thanks a lot|thank you very much|ta|much "
        "appreciated|thank you so much|merci|danke][!|.|, that helps| for your help| for that|, "
        "great| again|]", "[that was|very|this is] [helpful|great|good|useful|kind][, thanks| "
        "thanks|]", "[great|perfect|good|nice|cool|super|excellent|wonderful|awesome][,|] [thanks|"
        "thank you|job|work|answer]", "that [helps|helped|did it|works|worked|is what i needed]",
        "i appreciate it", "well done"]),
    (BYE, [
        "[bye|goodbye|see you|good night|bye bye|see you later|farewell|so long|ciao|until "
        "tomorrow|take care|have a nice day|i have to go|i must go|that is all|that was all]"
        "[!|.| now| then|]"]),
    (CAN_DO, [
        "what can you do[ for me|]", "[how|with what] can you help[ me|]", "what [are you able "
        "to|are "
        "you good at|do you know|are your skills|are your abilities|are you for|tasks can you "
        "do|can "
        "i ask|can i ask you|should i ask you|are your limits|can you not do|are you capable of]",
        "[what|which] [questions|things|tasks|jobs] [can|do] you "
        "[answer|do|handle|know|understand]",
        "your [skills|abilities|capabilities|limits|features]", "list your [skills|abilities|"
        "capabilities]", "what is possible with you", "how may i use you", "[what can|what "
        "may|can] "
        "[you be used|i use you] for[ something|]", "are you a general assistant", "can you answer "
        "[any|every] question", "do you know everything"]),
]  # fmt: skip

FOLLOW: list[tuple[str, str, list[str]]] = [
    ("port", "host", ["and the [host|address]", "and [which|what] [host|address|interface]", "what "
                      "about the [host|address|bind address]", "on which address"]),
    ("host", "port", ["and the port", "and [which|what] port", "what about the port", "on which "
     "port"]),
    ("env_policy", "policy_default", ["[and |]which [one |]is the default", "what is the default",
                                      "and the default [one|]", "which do i get if i set nothing"]),
    ("env_policy", "policy_fcfs", ["what [is|does] fcfs[ mean|]", "and fcfs", "explain fcfs"]),
    ("env_policy", "policy_lpm", ["what [is|does] lpm[ mean|]", "and lpm", "explain lpm"]),
    ("evictions", "evict_lru", ["what does lru do", "and lru", "explain the first[ one|]"]),
    ("evictions", "evict_lfu", ["what does lfu do", "and lfu", "explain the second[ one|]"]),
    ("evictions", "evict_cost", ["what does cost do", "and cost", "explain the [third|last][ "
     "one|]"]),
    ("serve", "stop_server", ["[and |]how do i [stop|quit|end|halt] it[ again|]", "and "
     "[stop|stopping] "
                              "it", "how do i shut it down"]),
    ("serve", "port", ["[on |]which port[ is it on| does it use|]", "and the port", "what port"]),
    ("serve", "serve_model", ["with another model", "[and|how] with [a bigger|another|a "
     "different] model",
                              "can it [serve|use] another model"]),
    ("make_serve", "make_test", ["and the tests", "and how do i [run the tests|test it]", "and to "
     "test"]),
    ("gpu", "cpu", ["and [on|without] a [cpu|gpu]", "and [on|for] [the|a] cpu", "what about the "
     "cpu",
                    "what about a cpu", "and on cpu"]),
    ("cpu", "gpu", ["and [on|for] [the|a] gpu", "what about [the gpu|gpus|a gpu]", "and on cuda",
                    "and on gpu"]),
    ("ep_liveness", "ep_readiness", ["and readiness", "what about readiness", "and the other "
     "probe"]),
    ("ep_readiness", "ep_liveness", ["and liveness", "what about liveness", "and the other probe"]),
    ("ep_chat", "ep_completions", ["and for raw prompts", "what about raw prompts", "and without "
     "chat"]),
    ("ep_metrics", "ep_stats", ["and as json", "is there [one|something] as json", "what about "
     "json"]),
    ("err_full", "err_starting", ["and while it starts", "and [during|while] loading", "and at "
     "startup"]),
    ("err_starting", "err_full", ["and when the queue is full", "and a full queue", "and under "
     "overload"]),
    ("err_long", "err_model", ["and an unknown model", "and [with|for] a wrong model[ name|]"]),
    ("slot", "extent", ["and an extent", "what about an extent", "and several in a row"]),
    ("extent", "slot", ["and a slot", "what about a slot", "what is a slot then"]),
    ("node", "path", ["and a path", "what about a path", "what is a path then"]),
    ("request", "sequence", ["and a sequence", "what about a sequence", "what is a sequence then"]),
    ("row", "segment", ["and a segment", "what about a segment", "what is a segment then"]),
    ("segment", "step_plan", ["and the step plan", "what about the step plan"]),
    ("namespace", "salt", ["how do i [set|get|make|use] one", "and how do i isolate tenants"]),
    ("chat", "one_off", ["and for one prompt", "and without a conversation", "and a single "
     "prompt"]),
    ("one_off", "chat", ["and [a|for a] conversation", "and interactively", "and to chat"]),
    ("one_off", "pipe", ["and with a file", "can i pipe a file [into it|]", "and from stdin"]),
    ("demo", "bench_offline", ["and a real benchmark", "and to measure it", "and the speed"]),
    ("env_model", "env_device", ["and the device", "what about the device", "and for the device"]),
    ("env_device", "env_dtype", ["and the dtype", "what about the dtype", "and the precision"]),
    ("what", "licence", ["[under |]which licence", "is it free", "and the licence", "what "
     "licence"]),
    ("what", "python", ["which python", "and the python version", "what python does it need"]),
    ("what", "install", ["how do i [install|get] it", "and how is it installed", "where do i get "
     "it"]),
    ("stream", "schema", ["and json", "and structured output", "and with a schema"]),
    ("flag_m", "models_cmd", ["which ones [do i have|are there]", "what models are there"]),
    ("lpm_none", "lpm_none", []),
][:-1]  # fmt: skip

NAME_TELL = [
    "my name is {n}", "i am {n}", "i'm {n}", "call me {n}", "hello, my name is {n}", "hi, i am {n}",
    "hi, i'm {n}", "this is {n}", "you can call me {n}", "hey, {n} here", "people call me {n}",
]  # fmt: skip
NAME_ASK = [
    "what is my name", "what's my name", "who am i", "do you [remember|know] my name", "tell me my "
    "name", "say my name", "what did i say my name [was|is]", "do you know who i am", "how am i "
    "called", "what am i called", "remember my name", "can you tell me my name", "which name did i "
    "give you", "what name did i tell you",
]  # fmt: skip
REPEAT = [
    "[repeat|say] that[ again|][ please|]", "again[ please|]", "[can|could] you repeat[ that| "
    "it|][ "
    "please|]", "[pardon|sorry|what|come again]", "say it [again|once more]", "once more[ please|]",
    "repeat your [last |]answer", "i did not [get|hear|catch|understand] that", "what did you say",
    "tell me [that |]again", "i don't believe [you|it|that]",
    "[one more time|another time][ please|]",
]  # fmt: skip
SURE = [
    "are you sure[ about that|]", "really", "is that [true|right|correct|certain]", "sure", "are "
    "you "
    "certain", "is this really so", "is that so", "you sure",
]  # fmt: skip
MORE = [
    "[now |and now |and |then |]add {k}[ to that| to it| more|]", "[and|now] plus {k}", "plus {k}",
    "[and|what about] {k} more", "what if i add {k}[ more|]", "and add another {k}",
]  # fmt: skip
LESS = [
    "[now |and |then |]subtract {k}[ from that| from it|]", "[and|now] minus {k}", "minus "
    "{k}", "[and |]"
    "take away {k}", "what if i [take away|subtract] {k}", "and {k} less",
]  # fmt: skip

_ASKED = {
    IDENTITY: asked_talk.IDENTITY + asked_talk_more.IDENTITY + asked_talk_wide.IDENTITY,
    HELLO: asked_talk.HELLO + asked_talk_more.HELLO + asked_talk_wide.HELLO,
    THANKS: asked_talk.THANKS + asked_talk_more.THANKS + asked_talk_wide.THANKS,
    BYE: asked_talk.BYE + asked_talk_more.BYE + asked_talk_wide.BYE,
    CAN_DO: asked_talk.CAN_DO + asked_talk_more.CAN_DO + asked_talk_wide.CAN_DO,
}
SMALL_TALK = [(answer, asks + _ASKED[answer]) for answer, asks in SMALL_TALK]
FOLLOW += asked_talk.FOLLOW + asked_follow.FOLLOW
NAME_TELL += asked_talk.NAME_TELL + asked_talk_wide.NAME_TELL
NAME_ASK += asked_talk.NAME_ASK + asked_talk_wide.NAME_ASK
REPEAT += asked_talk.REPEAT
SURE += asked_talk.SURE
MORE += asked_talk.MORE
LESS += asked_talk.LESS


def small_talk(rng: Random) -> tuple[str, str]:
    """A remark and the reply."""
    answer, asks = rng.choices(SMALL_TALK, [8, 3, 3, 1, 3])[0]
    return expand(rng.choice(asks), rng), answer


def name_pair(rng: Random) -> tuple[str, str, str, str]:
    """Telling a name, the reply, asking for it, the reply."""
    name = words.person(rng)
    return (
        expand(rng.choice(NAME_TELL), rng, {"n": name}),
        f"Hello, {name}!",
        expand(rng.choice(NAME_ASK), rng),
        f"Your name is {name}.",
    )


def told_pair(rng: Random) -> tuple[str, str, str, str]:
    """Telling something about oneself, the reply, asking for it, the reply."""
    if rng.random() < 0.7:
        told, asked, known = told_things.told_thing(rng)
        return told, asked_talk_wide.NOTED, asked, known
    drawn = {
        "colour": rng.choice(words.COLOURS),
        "city": values.place(rng),
        "animal": rng.choice([w for w in words.ANIMALS if w[0] not in "aeiou"]),
        "job": rng.choice([w for w in words.JOBS if w[0] not in "aeiou"]),
        "number": str(values.number(rng, 3)),
        "fruit": rng.choice(words.FRUITS),
        "code": values.word(rng),
    }
    kind = rng.choice(sorted(drawn))
    value = drawn[kind]
    tell, ask, answer = asked_talk_wide.TOLD[kind]
    before = asked_talk_wide.TOLD_START if rng.random() < 0.3 else ""
    again = asked_talk_wide.ASK_START if rng.random() < 0.3 else ""
    return (
        expand(before + tell, rng, {"v": value}),
        asked_talk_wide.NOTED,
        expand(again + ask, rng),
        answer.replace("{v}", value),
    )
