"""More requests that are out of reach, one pattern on a line."""

from __future__ import annotations

OFF_TOPIC = """
[who|which person|which king|which queen] [ruled|led|conquered|founded] [rome|egypt|france|{city}|\
the ottoman empire|india|russia] [in 1500|in the middle ages|first|after the war|\
for the longest time]
[which|what] year [did|was] [world war one|the french revolution|the moon landing|the cold war|\
{city}|the first car|the internet] [start|end|happen|over|invented|founded]
[give me|write|i need] a [short |brief |]history of [{city}|rome|china|the {w}|{topic}|\
the roman empire]
[what caused|why did|how did] [the first world war|the fall of rome|the great depression|\
the {w} crisis|the black death] [happen|begin|end|spread|]
who was [napoleon|cleopatra|julius caesar|mozart|einstein|shakespeare|{name}|\
the first man on the moon|the first president]
[which|what] [dose|amount] of [aspirin|ibuprofen|paracetamol|vitamin c|insulin] [is safe|\
may i take|can a child have|is too much]
[what are|name|list] the [symptoms|signs|causes|side effects] of [the flu|diabetes|asthma|measles|\
stress|a stroke|{topic}]
[my|the|her|his] [knee|back|tooth|stomach|ear|throat|eye|baby|dog|cat] [hurts|is swollen|is sick|\
aches|itches][, what can i do|. help|. what is it|, should i see a doctor]
[is|can] [coffee|sugar|alcohol|{thing}|sunlight|milk] [bad|good|harmful|make me ill]\
 [for my heart|for children|when pregnant|]
[should i|when should i] [see a doctor|call an ambulance|take antibiotics|get vaccinated|\
take a pill]
[write|make|create|code|build] [me |][a|an] [website|app|game|web scraper|chatbot|\
sorting function|todo app|regex|calculator|discord bot|landing page][ in python| in rust|\
 in javascript| for me| with react|]
[how do i|how can i|how to] [sort a list|reverse a string|read a csv|parse html|make a loop|\
write a class|connect to mysql|center a div] in [python|java|javascript|c++|go|rust|html|sql]
[why does|what is wrong with|explain] [my|this|the] [python|java|javascript|css|sql|excel] [code|\
error|function|query|loop|formula][ fail| crash| not work|]
[what is|explain|define] [recursion|a pointer|a hash map|object oriented programming|big o|\
a linked list|inheritance|a monad|a closure|a virtual machine]
[write|give me] [a|the] [sql query|regex|bash script|excel formula|unit test|dockerfile|css rule]\
 [for|that finds|to get|to delete] [{thing}s|all users|old files|phone numbers|{topic}]
[how is|what about|tell me|check] the weather [tomorrow|this weekend|on {day}|next week|outside|\
right now|for my holiday]
[do i need|should i take|shall i bring] [an umbrella|a coat|sunscreen|boots] [today|tomorrow|\
on {day}|this weekend]
[is|will] it [be |][going to rain|sunny|snowing|hot|freezing|storming] [today|tomorrow|on {day}|\
tonight|next week]
[tell|make|crack|give] me [a|another|one more|some] [joke|pun|riddle|funny story|dad joke|\
tongue twister][ about {thing}s| about {topic}| about cats| please|]
[make me|can you make me] [laugh|smile|happy|cry]
[say|tell me] something [funny|nice|romantic|deep|interesting|wise|rude|in french]
[knock knock joke|dad joke|pun|riddle|limerick|haiku][ please| about {topic}|]
[compose|write|create|invent] [a|some|me a] [sonnet|haiku|love poem|rap|song text|lullaby|\
limerick|ballad|rhyme|verse] [about|for|on] [{topic}|{name}|spring|my {thing}|{city}|the {w}]
[write|tell|begin] [me |][a|the] [bedtime story|horror story|novel|fairy tale|love story|\
short story|chapter] [about|with|for] [{name}|a {w}|my daughter|{topic}|a dragon]
[how do you say|what is|what's] [hello|good morning|thank you|i love you|cheese|{thing}|goodbye|\
water] in [french|german|spanish|italian|japanese|russian|arabic|latin|chinese|korean|{topic}]
[translate|say|put] ["i love you"|good night|how are you|this email|my cv|this page|\
the following text] [to|into|in] [french|german|spanish|italian|japanese|russian|arabic|latin|\
chinese]
[correct|check|proofread|improve|rewrite] [my|this] [english|sentence|grammar|text|spelling|\
paragraph|cover letter|email][ please|]
[what's|what is|tell me|any|give me] [the |today's |the latest |][news|headlines|stock prices|\
breaking news][ today| from {city}| about {topic}| in the world|]
[what|anything] [happened|new|going on] [in the world|in {city}|in politics|yesterday|today|\
last night|this week]
[who|which team|which player] [won|wins|lost|scored|leads] [the game|the final|the match|the cup|\
the super bowl|the champions league|the tour de france|wimbledon|the race][ last night| yesterday|\
 this year| in 2010|]
[what was|what is|tell me] the [score|result] of [the game|the match|{city} against {city2}|\
last night's game|the final]
[how many|how much] [goals|medals|points|titles] [has|have|did] [{name}|brazil|{city}|germany|\
the lakers] [won|scored|win|have|]
[explain|what are|tell me] the rules of [chess|baseball|cricket|poker|rugby|golf|offside|bridge|\
tennis|go]
[can|may] [my|the] [landlord|boss|neighbour|employer|bank|police|teacher] [do that|fire me|\
raise the rent|enter my flat|search my car|keep my money]
[is it|would it be] [legal|illegal|allowed|a crime] to [park here|fly a drone|record a call|\
copy a film|sell {thing}s|own a {animal}|work on sunday][ in {city}|]
[i need|write|draft|give me] [a lawyer|legal advice|a contract|a will|a rental agreement|\
a complaint letter|a power of attorney]
[how do i|how can i] [sue|divorce|adopt|patent|inherit|get a visa|file my taxes|write a will|\
start a company][ my boss| a child| in {city}|]
[how do i|how do you|how long do i|what is the best way to] [cook|bake|boil|fry|roast|grill]\
 [an egg|rice|a chicken|potatoes|lasagne|pancakes|salmon|a {fruit} cake|spaghetti|beans]
[recipe|a recipe|your best recipe|an easy recipe] [for|with|using] [{fruit}s|pancakes|tomatoes|\
chicken|rice and eggs|dinner|bread|leftovers|two people]
[what can i|what should i] [cook|bake|make|prepare] [with|from|using] [eggs and milk|{fruit}s|\
potatoes|rice|what is in my fridge|leftovers]
[what wine|which wine|what drink|what sauce] goes with [fish|steak|pasta|cheese|{fruit} cake|\
chicken]
[what do you think|what is your opinion|what's your view|how do you feel] [about|of|on] [{topic}|\
{name}|the government|the new {w}|my {thing}|abortion|the war|ai|your competitors]
[do you|would you] [like|prefer|love|hate|enjoy|recommend] [{topic}|{city}|{fruit}s|dogs or cats|\
summer or winter|{thing}s|my {w}]
[who|whom] [should i|will you|would you] [vote for|marry|support|trust|invite]
[what is|what's|which is] [the best|your favourite|the worst|the nicest] [film|book|colour|song|\
city|food|country|phone|car|{w}|season|animal]
[which|what] [phone|car|laptop|bike|{thing}|dog|camera|tv] should i [buy|get|choose|take]
[find|book|get|order] me [a|the] [cheap |cheapest |good |][flight|hotel|train|taxi|room|\
restaurant|ticket] [to|in|near|for] [{city}|the airport|tonight|the concert]
[what should i|what can i|where can i] [see|do|visit|eat|stay|go] in {city}[ in {month}| for free|\
 with kids| at night|]
[how do i get|how far is it|how long does it take|which train goes] from {city} to {city2}
[plan|suggest|make] [a|me a] [trip|weekend|week|itinerary|route|honeymoon] [to|in|through] {city}
[how much|what] does [a flight|a beer|a house|a taxi|living|a {thing}] cost in {city}
[should i|is now a good time to] [buy|sell|invest in] [gold|bitcoin|tesla|stocks|a house|\
shares of {company}|dollars]
[how can i|how do i|what is the best way to] [save money|make money|pay off debt|get a loan|\
become rich|ask for a raise|retire early]
[what is|what's] the [stock price|share price|revenue|ceo|address|phone number] of {company}
[who is|who's|tell me about] [the ceo of {company}|the richest man|the prime minister|the pope|\
the owner of {company}|taylor swift|the mayor of {city}]
[what is|what's] the [population|area|currency|language|flag|time zone|highest mountain|\
longest river] of [{city}|france|brazil|japan|africa|china|canada]
[how|why] do [birds fly|cats purr|planes fly|volcanoes erupt|we dream|leaves fall|magnets work|\
tides happen|{animal}s sleep|bees make honey]
[explain|describe|what is] [photosynthesis|relativity|dna|gravity|entropy|a black hole|\
the big bang|evolution|an atom|electricity|inflation] [to a child|simply|in detail|for beginners|\
please|]
[what is|calculate|find|solve] the [square root of {k}|derivative of x squared|integral of x|\
area of a circle|value of pi|volume of a sphere|cube of {k}|logarithm of {k}]
[help me with|do|solve|check] my [homework|maths homework|physics exercise|chemistry test|exam|\
thesis|history essay|biology report]
[write|draft|compose] [an|a|my] [email|cover letter|resume|cv|application|speech|wedding speech|\
resignation letter|invitation|press release] [to|for|about] [my boss|{company}|{name}|\
the landlord|a job|{topic}]
[give me|i need|suggest|find] [a|some] [name|names|idea|ideas|slogan|title|gift|present]\
 for [my dog|my baby|my company|a birthday|{name}|my band|a {w}]
[my|our] [wife|husband|son|daughter|boss|friend|neighbour|girlfriend|boyfriend] [left me|is angry|\
never listens|cheats on me|hates {topic}|wants a {animal}|lost a job][, what now|. help|\
. what should i do|]
[i am|i feel|i'm] [sad|lonely|bored|tired|depressed|in love|angry|afraid|stressed|unhappy|hungry|\
drunk][, what should i do|. help me|, cheer me up|]
[how can i|how do i|help me] [fall asleep|calm down|stop worrying|meet people|\
tell {name} i love her|say sorry|be happy|quit smoking|lose ten kilos|build muscle]
[is there|do you believe in] [a god|life after death|life on mars|love|heaven|ghosts|aliens|fate|\
santa claus]
[what is|tell me] [my|the] [horoscope|fortune|lucky number|future|star sign] [for today|\
for {name}|this week|]
[draw|paint|generate|show|send|sketch] [me |][a|an] [picture|image|photo|map|logo|cartoon|\
portrait] of [a {animal}|{city}|{name}|a {w}|yourself|the moon]
[recommend|suggest|name] [me |][a|some|three] [good |][films|books|songs|series|podcasts|games|\
restaurants|museums][ about {topic}| in {city}| for children| for tonight|]
[sing|hum|whistle|play|rap] [me |][a song|something|happy birthday|the national anthem|a lullaby|\
jazz|the blues]
[call|text|email|phone|wake|remind] [my mother|{name}|the police|me at seven|a taxi|my boss]\
[ please| now| for me|]
[open|close|turn on|turn off|switch off] [the door|the window|the light|the tv|the radio|\
my camera|the heating|youtube]
[how do i|how can i|help me to] [fix|repair|clean|replace|paint|change] [my|a|the] [car|bike|sink|\
{thing}|tyre|wall|washing machine|toilet|roof]
[how do i|when should i|how often do i] [water|plant|cut|feed|grow] [roses|tomatoes|my cactus|\
a tree|the grass|{fruit}s|my {animal}]
[what does|how long does|how fast does|where does] a {animal} [eat|live|run|sleep|weigh|cost]
[tell me about|describe|what do you know about|i want to learn about|teach me] [{city}|{company}|\
{name}|the {w}|{animal}s|{topic}]
[summarise|review|explain|quote] [hamlet|the bible|harry potter|the odyssey|star wars|\
this article|today's newspaper|moby dick|the matrix]
[let's|can we|do you want to] [play a game|play chess|talk about {topic}|go out|be friends|\
have dinner|dance|discuss politics]
[act as|pretend to be|you are now|imagine you are|play] [a pirate|a doctor|my girlfriend|a lawyer|\
shakespeare|a {animal}|{name}|a teacher|my therapist]
[what day|what date|which day|what year] is [it|it today|tomorrow|christmas|easter|my birthday]
[how old|how tall|how rich] is [the president|the queen|{name}|the earth|{city}|taylor swift|\
the universe]
[when is|when was|what day is] [easter|ramadan|mother's day|the next eclipse|the next election|\
{name}'s birthday|thanksgiving]
[how many] [calories|grams of sugar|eggs|people|words|kilometres] [are in|has|are there in|\
does it take for] [a {fruit}|a pizza|{city}|a marathon|a novel|an omelette]
[prove|derive|state|explain] [the theorem of pythagoras|fermat's theorem|the riemann hypothesis|\
newton's laws|ohm's law]
[what|which] [language|alphabet|religion|money] do [they|people] [speak|use|have] in [{city}|\
brazil|switzerland|egypt|china]
[spell|define|what is the meaning of|what's another word for|give me a synonym of] [{w}|happiness|\
serendipity|beautiful|{thing}|onomatopoeia]
""".strip().splitlines()  # fmt: skip
