"""Still more ways to ask who answers, to greet, to thank, to part and to ask for abilities."""

from __future__ import annotations

IDENTITY = """
[hold on|wait|hmm|one moment|before we start][,|:] [who|what] [are you|is this|am i chatting with]
[am i|are we] [chatting|talking|speaking|dealing] with [gpt-4|llama|gemini|mistral|qwen|a big \
model|\
a person|a computer|a language model|some bot|a chatbot][ here| now|]
[is|was] this [answered|written|typed] by a [human|person|machine|bot|model]
[are you|you are|aren't you] [a real person|a human being|software|a computer program|an assistant|\
a neural network|a transformer|the demo|one of those big models|an artificial intelligence|\
a copy of llama|a version of gpt|a fine-tuned qwen|from openai|from google|from meta][ or not| \
really|]
[tell|show] me [who|what] [is answering|is behind the answers|writes these answers|runs here|\
i am dealing with]
[which|what] [neural network|llm|weights|brain|model|engine] [gives|writes|produces|makes] \
[these|the|your] [answers|replies]
[which|what] [model|llm] [have i got|do i have|did you load|is on the line|is this answering|\
am i using] [here|now|right now|at the moment]
[what|how much] [do you weigh|is your size|is your parameter count] in parameters
[how many|number of] [parameters|weights|millions of parameters] [make you up|were trained|\
does your network have|do you consist of|have you]
[were you|are you] [trained|fine-tuned|distilled|taught] [from scratch|on the internet|on books|\
on wikipedia|from another model|by the project]
[who|which people] [trained|taught|programmed|wrote|released|is responsible for] you[ then| \
exactly|]
[what|which] [is your origin|is your background|are your origins|is your story|is your maker called]
[your|state your|say your] [name please|name and purpose|identity please|name and origin|full name]
[do you have|what is|have you got] [a name|a nickname|a title] [or not|of your own|that i can use]
[you|hey you|bot|model][,|] [got a name|who made you|how big are you|what are you called]
[let me know|i'd love to know|i am curious] [who you are|what you are|who built you|\
what kind of model you are|how large you are|where you come from]
[describe|sum up|present] yourself in [one line|one sentence|a few words|short|two sentences]
[so |and |ok ][you're|you are] [chatgpt|a human|a robot|an ai|the small model|claude|a toy][, \
right|\
, correct|, yes|]
[what do i call you|what shall i call you|how do i address you|what are you named]
[where|in which place|on which data] [were you|did you get] [born|trained|educated|your training|\
your knowledge]
[is there|sits] a [human|person|large model|real model] behind [this|the screen|you|these answers]
[what makes you|why are you] [different from chatgpt|so fast|a demonstration model|a demo model|\
called built-in]
""".strip().splitlines()
HELLO = """
[hello|hi|hey|good morning|good evening][,|] [how are you today|how is it going|how are you doing|\
what's new|nice to meet you|lovely to see you|i just arrived|i am new here|good to meet you]
[a very |][good|happy] [morning|afternoon|evening|monday|friday|new year][ to you|, model| \
everyone|]
[hello|hi|hey] [yaie|little one|buddy|mate|pal|sir|stranger|demo|helper|computer|machine|out there]
[is the model|are you] [up|alive|online|working|responding|listening][ today| now|]
[just|only] [saying hello|saying hi|checking in|testing|wanted to say hi]
[hope you are well|how have you been|long time no see|here i am|i'm here|let's start|ready]
[can you read this|do you read me|do you copy|hello world|1 2 3 test|mic check|anyone here]
""".strip().splitlines()
THANKS = """
[thanks|thank you|cheers|many thanks|thx] [for the help|for the answer|for your time|for \
explaining|\
for your patience|a bunch|a million|a ton|so very much|kindly|mate|buddy|once again]
[ok|okay|alright|great|good|right|cool][,|] [thanks|thank you|thx|cheers][ a lot| so much| again|]
[that|this|it] [was|is] [really |very |so |][helpful|clear|useful|kind|nice|good to know|easy to \
follow|well explained|what i wanted]
[you are|you're] [great|the best|very kind|so helpful|a star|awesome|helpful|amazing]
[nice|good|great|excellent] [answer|explanation|one|stuff|reply]
[i am|i'm] [grateful|very grateful|so thankful|happy with that|satisfied]
[got it|understood|all clear|makes sense|i see][,|] [thanks|thank you|cheers]
""".strip().splitlines()
BYE = """
[goodbye|bye|see you|farewell|good night|so long][,|] [model|friend|yaie|little one|and take care|\
have a nice day|until tomorrow|talk soon|see you next week|it was nice]
[i have to|i must|i need to|i should|i will] [go now|leave now|stop here|log off|get going|sleep \
now]
[that would be|this was] [all|everything|it][, bye|, goodbye| for now|]
[have a|enjoy your|enjoy the] [nice evening|good day|lovely day|great weekend|good night|evening]
[over and out|peace out|i'm out|end of chat|closing now|see you around|ttyl|gtg]
""".strip().splitlines()
CAN_DO = """
[what|which] [tasks|topics|questions|jobs|requests|skills] [do you|can you] [cover|manage|master|\
support|solve|take][ on|]
[what|how] [would|could|can] you [help|assist|support|be of use to] me[ with| today|]
[what|tell me what] [is|are] [your abilities|your strong suits|you capable of|you able to do|\
you trained to do|you made to do|possible here]
[give|show] me [an overview|a list|a summary|an example|some examples] of [what you can do|\
your abilities|your skills|your tasks]
[what can i|what could i|what may i] [try|do here|do with you|expect|request|have you do]
[which|what] [kind|kinds|sort|sorts] of [questions|tasks|things|requests] [do you|can you] \
[answer|do|handle|understand]
[i don't know|i do not know|i have no idea|no idea] what to ask[ you| here|]
[are you|would you be] [able to help|any good|of any use|good for something|a general assistant]
[how|in what way] [can|could] [you|this model|this demo] be [useful|helpful|of help][ to me|]
[what|name something] [can't you|can you not|are you unable to] do
[your|list the] [skills please|abilities please|functions|tasks you know|things you know]
""".strip().splitlines()
