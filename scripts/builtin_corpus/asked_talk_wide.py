"""Still other ways to ask who answers and what it can, and things told now and asked for later.

Called by `conversations.py` and, for the honesty test, by `wordings.py`.
"""

from __future__ import annotations

IDENTITY = """
[i'd be curious|it would help me|i must write down|the form asks] [to know |]\
[which model answers|what i am using|who wrote you|what you are called]
[do i|did i] [chat|speak|talk|write] [to|with] [a machine|a real human|somebody real|software|a \
neural \
network|an openai product|a small model]
[is there|is] [a person|someone|somebody|a human being|an operator] [typing|sitting|answering|at \
the \
other end][ there| here|]
[prove|admit|confess][:|,|] [that you are|you are] [human|a machine|a bot|chatgpt|gpt-4|not human]
[you sound|you write|you talk] like [a human|a robot|chatgpt|a machine|a person][. are you one|, \
are \
you|. is that so|, who are you]
[what|how much] [sits|is] [inside you|under the hood|in your head|in your box]
[are you|is this] [as big as|the same as|related to|based on|built on|a fork of] [chatgpt|llama|\
gpt-4|\
mistral|gemini|qwen|claude|bert]
[what|which] [species|sort of creature|sort of machine|sort of program|breed] are you
[your|the model's] [parameter count|number of weights|maker|training data|birthplace|author][ \
please| \
is what|, please|]
[i thought|somebody said|my friend claims] [you are|you were|this is] [chatgpt|a human|a huge \
model|\
from google|alive|qwen][, right|. true|. is that true|, correct|]
[for the minutes|for the record|for my log|before i trust you][:|,] [who|what] are you
[who|what] [have i got|do i have] [here|on the line|in front of me|in this terminal]
[give me|write|i need] [a short|a one-line|an honest] [introduction|self portrait|description of \
yourself|bio of yourself]
[how|from what|out of what] [did you come about|did you learn|were you put together|did they make \
you]
[did|has] [a company|a university|someone famous|one person|the project] [make|train|write|made|\
trained] \
you
[could|can|would] you [state|reveal|tell us|spell out] [who you are|your origin|your size|who \
trained \
you|your name and size]
[it is odd to talk to|never met|first time i see] a [bot|model|machine][. who are you|, what are \
you|. \
do you have a name]
[do you|does this model] [have|possess|come with] [a body|a face|feelings and a name|billions of \
weights|an author]
""".strip().splitlines()
CAN_DO = """
[i am new here|first visit|just installed this|my first time][.|,|:] [what can you do|what do you \
offer|\
what are you good for|how do you help]
[before i begin|to begin with|first of all][,|:] [what do you know|what can i ask you|what are \
you able \
to do|what can you help with]
[which|what] [jobs|work|chores] [could|can|may|should] i [give|hand|leave to|pass to] you
[is there|do you have] [a list|a menu|an overview] of [your skills|things you can do|what you know]
[tell|teach|show] me [how to use you|what to ask you|what you are made for|your range|where you \
are \
strong]
[what would|what might] be [a good|a fair|an easy] [question|task|request] for you
[my boss asks|a colleague asks|we wonder|i wonder] what you [can do|are good for|are capable of|\
offer]
[beyond|besides|apart from] [chatting|small talk|greetings][,|] what [can|do] you do
[what|which] [are|is] [in|out of|beyond|within] your [reach|scope|power|range]
[if i need help|when i am stuck], [what can you do|how can you help|what are you able to do]
[do you have|any] [special|hidden|useful] [talents|abilities|features|skills|tricks]
[are you|you are] [good at|able to do|trained for|made for] [what|which things|which tasks]
[what do people|what do others|what do users] [ask|use|want from] you[ for|]
[sum up|describe|outline|explain] [your abilities|your skills|what you do|what you can do|your \
purpose]
""".strip().splitlines()
HELLO = (
    """
[hello|hi|hey][,|!|] [first time here|i just installed you|i was told to say hello|let's get \
started|\
good to see you running]
[good|a lovely] [day|evening|morning] [to all|to the machine|from {city}|from here]
[is it|is this thing] [on|working|running][ now|]
[i am|we are] [here|back|ready|online|new]
[wave|waves|a wave|greetings from me|knock, knock|cheers and hello]
""".replace("|from {city}", "")
    .strip()
    .splitlines()
)
THANKS = """
[that will|this will|that should] [do|help|be enough|work][, thanks|, thank you|]
[you|this] [made|saved|brightened] my [day|morning|evening|work]
[much|deeply|greatly|truly] [obliged|appreciated|thankful]
[i owe you|high five|bravo|kudos|chapeau|nicely done|good bot]
[exactly|that's|this is] [right|the thing|the answer i hoped for|what i was after][, thanks|, \
thank you]
""".strip().splitlines()
BYE = """
[i|we] [am off|are done|have finished|need a break|will be back tomorrow][, bye|. goodbye|. see you]
[closing|leaving|logging off|shutting the laptop][ now| for today|][, bye|. goodbye|]
[sleep well|sweet dreams|stay well|till tomorrow|until then|cheerio|toodle-oo|auf wiedersehen|\
hasta \
la vista|arrivederci]
""".strip().splitlines()
NAME_TELL = """
[i should say|you should know|for your information|first things first][,|:] [my name is|i am|i'm] \
{n}
[write down|note|store|save][:|,] [the user is|i am|my name is] {n}
[this|the one who] [is {n} speaking|is {n} writing|writes is {n}]
[the person|the user] [in front of you|at the keyboard|you talk to] is [called |]{n}
[everybody|my mother|my team|my passport] [calls me|says i am|knows me as] {n}
[you may|you can|feel free to|please] [address me as|refer to me as|greet me as|know me as] {n}
[i was named|i was christened|they named me|i am known as] {n}
[greetings|good day|good evening|hello there], [my name is|i am called|it's] {n}[ speaking|]
[it's|it is] {n}[ here| again|]
[user|username|name]: {n}
""".strip().splitlines()
NAME_ASK = """
[quick test|a test|memory test|let's see][:|,] [what is my name|who am i|how am i called]
[by what|under what|under which] name [do you address me|did i introduce myself|am i known]
[i wonder if|let's see if|i hope] you [still know|remember|kept] [my name|who i am|how i am called]
[what|which name] [would you write|should stand|do you put] on my [badge|mug|letter|ticket]
[and|so|well][,|] [how|as what] do you [address|greet|know] me
[finish|complete] the sentence[:|,] my name is
[somebody asks|they ask|the door bell asks] who [you talk to|is talking to you|i am][. what do \
you say|]
[have you|did you] [kept|keep|memorised|saved|noted] [my name|who i am][. what is it|, what was it|]
[give|tell|read] me [my name|the name i gave][ back|]
[earlier|before|at the start|a moment ago] i [told you my name|said who i am][. what is it|, what \
was it|]
[the name of|who is] [the person|the user|the one] [you talk to|at the keyboard|in this chat]
""".strip().splitlines()
# What else people tell about themselves, as they tell it and as they ask for it later.
TOLD: dict[str, tuple[str, str, str]] = {
    "colour": (
        "[my favourite colour is {v}|i like {v} best of all colours|the colour i love is {v}|"
        "{v} is my favourite colour]",
        "[what is my favourite colour|which colour do i like best|what colour did i say i love|"
        "tell me my favourite colour|do you remember my favourite colour]",
        "Your favourite colour is {v}.",
    ),
    "city": (
        "[i live in {v}|i am from {v}|my home is in {v}|i come from {v}|my home town is {v}|"
        "i have a flat in {v}]",
        "[where do i live|where is my home|which city am i from|what is my home town|where am i "
        "from|do you remember where i live|in which city is my home]",
        "You live in {v}.",
    ),
    "animal": (
        "[i have a {v}|my pet is a {v}|i keep a {v}|there is a {v} in my house|i own a {v}]",
        "[which pet do i have|what animal do i have|what kind of pet do i keep|do you remember my "
        "pet|what is my pet|which animal lives with me]",
        "You have a {v}.",
    ),
    "job": (
        "[i work as a {v}|my job is {v}|i earn my living as a {v}|by profession i am a {v}|"
        "my profession is {v}]",
        "[what is my job|what do i work as|what do i do for a living|which job do i have|do you "
        "remember my profession|what is my profession|how do i earn my living]",
        "Your job is {v}.",
    ),
    "number": (
        "[my lucky number is {v}|{v} is my lucky number|the number i like is {v}|remember the "
        "number {v}|keep the number {v} in mind]",
        "[which number did i tell you|what number did i name|what was my number|which number "
        "should you remember|repeat my number|what is my number]",
        "Your number is {v}.",
    ),
    "fruit": (
        "[my favourite fruit is the {v}|the {v} is my favourite fruit|of all fruits i like the {v} "
        "best|no fruit is better than the {v}, i think]",
        "[what is my favourite fruit|which fruit do i like best|what fruit do i love|do you "
        "remember my favourite fruit|tell me my favourite fruit]",
        "Your favourite fruit is the {v}.",
    ),
    "code": (
        "[the code word is {v}|remember the code word {v}|our secret word is {v}|keep this word: "
        "{v}|the word of the day is {v}]",
        "[what is the code word|which word did i tell you|what was the secret word|what word "
        "should you remember|say the code word|do you remember the word|repeat the code word]",
        "The word is {v}.",
    ),
}  # fmt: skip
TOLD_START = "[remember|by the way|please note|just so you know|note this|fyi|so|well|hello][:|,] "
ASK_START = "[and |so |now |ok, |quick test: |tell me, |one more thing: |back to me: ]"
NOTED = "I will remember that."
