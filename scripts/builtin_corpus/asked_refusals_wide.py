"""Requests out of reach, put together from what is wanted and how people ask: both vary freely.

What is wanted is kept by grammatical form (something to do for the user, something the user wants
to do, something to know about, an indirect question, a direct question, a trouble), because a
shape of request fits every phrase of one form. Called by `refusals.py` and, for the honesty test,
by `wordings.py`.
"""

from __future__ import annotations

from random import Random

from .grammar import expand, inflect

# What somebody wants to have done by the assistant, as a verb phrase.
DO = """
translate [this paragraph|a contract|the label|my grandmother's letter|a wedding invitation] into \
[danish|polish|portuguese|thai|hebrew|farsi|welsh|norwegian|vietnamese]
render [this proverb|my slogan|the chorus|a menu] in [latin|gaelic|klingon|mandarin|old english]
write a [villanelle|ballad|free verse poem|couplet|birthday rhyme|nursery rhyme|sea shanty] about \
[my bicycle|an old oak|the harbour at night|losing a friend|{city} in the rain|homesick sailors]
[compose|improvise] a [lullaby|jingle|waltz|hymn|love song] for [my niece|our club|{name}|the choir]
[come up with|think up|invent] a [pun|riddle|prank|joke|limerick|one-liner] about [dentists|\
accountants|penguins|mondays|my brother-in-law|{city}]
[tell|narrate] a [spooky|short|funny|sad|bedtime] [tale|story] [with a talking fox|set in {city}|\
for a four-year-old|about a lost mitten|with a happy ending]
[draft|phrase|polish] [a condolence note|my wedding vows|a complaint to the airline|a toast for \
{name}|a dating profile|a covering letter|a farewell card|a eulogy|a petition]
[outline|plot|ghostwrite] [a detective novel|my memoirs|a school play|an opera|a fantasy trilogy]
[summarise|condense|give the plot of] [macbeth|the aeneid|a clockwork orange|dune|the trial|\
jane eyre|the last season of that show|today's editorial]
[write|code|program|implement] [a binary search|a snake game|a login page|quicksort|a tip \
calculator|a web shop|a sudoku solver|a chat room|an alarm clock app|a linked list] in [haskell|\
c sharp|python|typescript|lua|perl|scala|fortran|kotlin|assembly]
[debug|refactor|port|speed up] my [haskell program|sql query|excel macro|react component|shell \
script|vba code|arduino sketch|unity game]
[look up|google|search the web for|find online] [train times to {city}|cheap sneakers|the phone \
number of {company}|reviews of the new restaurant|pictures of otters|song lyrics|a used van]
[open|visit|download|read out] [that website|the homepage of {company}|the latest podcast|a \
youtube \
video|my inbox|the wikipedia page on bees|the pdf on my desktop]
[check|find out|report] [the cricket score|the pollen level|the tide table|the exchange rate of \
the \
day|the queue at the airport|the traffic on the ring road|the lottery numbers|the snow conditions]
[draw|sketch|paint|render|illustrate] [a heron at dawn|my family tree|a floor plan|a cartoon of my \
boss|the skyline of {city}|a birthday card|a coat of arms]
[edit|crop|describe|recognise|colourise] [this photo|the picture i took|a selfie|my scan|the x-ray]
[record|mix|transcribe|hum] [a voice message|this interview|the bass line|a tune|my lecture]
[book|reserve|cancel|rebook] [a night train|two seats at the opera|a campsite|a ferry to {city}|\
my dental appointment|a squash court|a tandem flight]
[order|buy|pick up] [flowers for {name}|groceries|a new mattress|sushi for four|printer ink|\
tickets for the derby]
[ring|text|fax|invite|wake up] [my landlady|aunt {name}|the whole family|the vet|our neighbours]
[do|finish|solve] [my geometry homework|the chemistry worksheet|a crossword clue|today's wordle|\
this sudoku|exercise nine on vectors|my latin translation]
[grade|mark|proofread|criticise] [my dissertation|this haiku|a pupil's essay|my business plan|\
the first chapter]
[plan|organise|arrange] [a hen party|our silver wedding|a hiking tour near {city}|a week of vegan \
dinners|my gap year|a murder mystery evening|the office summer party]
[recommend|suggest|pick out] [a thriller|a museum in {city}|a gift for a gardener|a nickname|\
a first instrument|a good cheese|a quiet beach|baby names|a paint colour for the hall]
[predict|forecast|guess] [the next election|the price of copper|who wins the derby|my exam grade|\
tomorrow's temperature in {city}|the end of the world]
[diagnose|examine|judge] [my rash|this mole|a strange cough|my dog's limp|these blood values]
[tell|read] my [fortune|palm|tarot cards|horoscope|tea leaves]
[teach|coach] me [the violin|some swedish|calculus|touch typing|ballroom dancing|salsa steps|\
sign language|bird calls|how to whistle]
[play|stage] [a round of hangman|blackjack|truth or dare|a quiz about rivers|a duet|chess] with me
[impersonate|imitate|speak like] [a pirate captain|yoda|my old teacher|a news reader|a robot butler]
[argue|debate|take a stand] about [gun laws|free will|pineapple on pizza|the monarchy|veganism]
[cheer|calm] me [up after a break-up|down before the exam|up on a rainy day|down, i panic]
[keep me company|be my therapist|listen to my worries|give me a pep talk|pray with me]
[calculate|work out|estimate] [my tax refund|the calories of a burrito|my body mass index|\
a mortgage plan|the tip in new york|the orbit of jupiter|my carbon footprint]
[integrate|differentiate|plot|factorise] [a cubic function|the sine of x|log x|this polynomial]
[convert|change] [my playlist to mp3|a pdf to word|roman numerals|a knitting pattern|cups to grams]
[rank|review|compare] [electric bikes|the dune films|pension plans|three vacuum cleaners|airlines|\
dog breeds|the beatles albums]
[monitor|back up|hack|unlock] [my phone|grandpa's tablet|the office alarm|a game console|my smart \
tv]
[water|feed|walk|bathe] [my plants|the goldfish|our poodle|the cat while i am away]
""".strip().splitlines()

# What somebody wants to do in the world, as a verb phrase.
HOW_TO = """
[bake|proof|score] [a sourdough loaf|rye bread|focaccia|croissants]
[make|prepare|season] [miso soup|a roux|kimchi|tzatziki|shepherd's pie|mulled wine|pad thai|\
gnocchi|a birthday cake without eggs]
[cook|grill|marinate|smoke] [mussels|a turkey|tofu|lamb chops|artichokes|a brisket|aubergines]
[keep|store|ripen] [fresh basil|avocados|a sourdough starter|oysters|cut flowers]
[travel|get|hitchhike|cycle] [from {city} to {city2}|to the airport at night|across iceland|\
through the alps]
[pack|prepare] for [a desert trek|a week in {city}|a maternity stay|a sailing trip]
[apply|qualify] for [a work permit|a student loan|a scholarship|unemployment benefit|a mortgage]
[contest|appeal|avoid] [a parking fine|a speeding ticket|an eviction|a late fee|customs duty]
[write|contest|change] [a last will|a prenuptial agreement|a lease|a non-disclosure agreement]
[sue|report|divorce] [my contractor|a noisy neighbour|my husband|an online shop]
[lower|measure|control] [my cholesterol|a fever|my blood sugar|my pulse|high blood pressure]
[treat|soothe|cure] [a bee sting|athlete's foot|a sprained ankle|sunburn|a stiff neck|chapped lips|\
eczema|motion sickness|a toothache]
[lose|gain] [five kilos|belly fat|muscle|weight before summer]
[train|prepare|warm up] for [a triathlon|my first marathon|a judo exam|the police fitness test]
[improve|fix|perfect] my [backhand|golf swing|posture|free kick|butterfly stroke|pronunciation]
[calm|toilet train|wean|raise] [a toddler|a newborn|twins|a shy child|a puppy]
[ask|invite] [my crush|a colleague|{name}] [out|to dance|on a date]
[get over|survive|handle] [a divorce|a bad boss|grief|stage fright|jealousy|homesickness|burnout]
[negotiate|save|earn] [a higher salary|for a house|money as a student|passive income]
[invest in|trade|understand] [index funds|crypto|government bonds|real estate|silver|options]
[repair|unblock|replace] [a dripping shower|a bicycle brake|the kitchen sink|a zipper|a car \
headlight|a cracked tile|a lawnmower blade]
[remove|get rid of] [candle wax|bed bugs|rust|limescale|a wasp nest|coffee stains|squeaky hinges]
[build|assemble|sand|varnish] [a bookcase|a tree house|a rabbit hutch|a deck|a guitar|a kite]
[plant|prune|repot|fertilise] [lavender|an apple tree|hydrangeas|strawberries|a bonsai|leeks]
[knit|sew|crochet|hem] [a jumper|baby booties|curtains|a scarf|a pair of trousers]
[learn|practise|play] [the cello|bridge|french verbs|the harmonica|card tricks|judo|calligraphy]
[tie|fold|wrap] [a bow tie|a paper crane|a sari|a sailor's knot|a present]
[photograph|film|paint] [the milky way|fireworks|a portrait|wild birds|a watercolour sky]
[speak|say hello|order food|swear] in [swahili|icelandic|catalan|finnish|urdu]
[solve|prove|graph] [a quadratic equation|a cubic|the four colour theorem|rubik's cube|sudoku]
[undo a merge|squash commits] in git
[centre an image|make a menu|add a shadow] in [css|html|powerpoint|figma]
[sort an array|open a socket|parse xml|draw a chart] in [ruby|c plus plus|swift|matlab|golang]
[set up|reset|update|root] [my router|an android phone|a nas|windows eleven|a playstation|an ipad]
[sell|insure|lease|register] [my motorbike|a boat|an old violin|a drone|a camper van]
[organise|cater|decorate] [a baptism|a garden party|a bachelor evening|a class reunion]
[become|train as] [a paramedic|a pilot|an actor|a beekeeper|a lawyer|a chess master]
[meditate|fall asleep|stop biting my nails|quit sugar|wake up earlier|concentrate better]
[whistle with two fingers|juggle five balls|do a cartwheel|stand on my hands|skip stones]
""".strip().splitlines()

# Something to be told about, as a noun phrase.
ABOUT = """
[the|today's|tomorrow's|this weekend's] weather [in {city}|up north|on the coast|at home|near me]
[the|this week's] [forecast|sunrise times|storm warnings|pollen count] [for {city}|for my area|]
the [rules|history|stars|scandals] of [curling|cricket|sumo|ice hockey|formula one|water polo]
[last night's|yesterday's|sunday's] [match|final|derby|race|boxing fight]
the [league table|transfer rumours|medal table|world record in the high jump|line-up of {city}]
the [life|death|childhood|music|love life] of [chopin|frida kahlo|elvis|marilyn monroe|bach|{name}|\
david bowie|princess diana]
the [plot|ending|moral|author|film version] of [macbeth|moby dick|anna karenina|the hobbit|\
pinocchio|the little mermaid]
the [causes|outcome|heroes|chronology] of [the boer war|the thirty years war|the civil war in \
spain|\
the opium wars|the trojan war]
the [reign|empire|wives|castles] of [charlemagne|the tudors|genghis khan|catherine the great|\
the habsburgs]
[ancient greece|the inca empire|the gold rush|the boston tea party|the suffragettes|the cuban \
crisis|\
the fall of constantinople|colonialism]
the [capital|population|national dish|longest river|flag|neighbours|climate] of [bolivia|estonia|\
laos|malta|namibia|new zealand|uruguay]
[the alps|lake titicaca|the gobi desert|patagonia|the great barrier reef|the suez canal|the black \
sea]
a [vegan|quick|traditional|gluten-free] [recipe|dish|menu] [for sunday|with pumpkin|from {city}|\
for two|]
the best [ramen|pizzeria|hostel|viewpoint|flea market|jazz club] in {city}
[cheap|direct|last-minute] [flights|trains|ferries] to {city}
the [side effects|dose|price|risks] of [aspirin|antibiotics|the pill|melatonin|a flu shot|cortisone]
the [signs|treatment|cause] of [diabetes|shingles|a concussion|anaemia|depression|gout|tinnitus]
my [rights as a tenant|duties as a landlord|chances in court|notice period|parental leave|tax class]
[divorce|copyright|inheritance|traffic|labour] law[ in {city}|]
the [price|market value|future|risk] of [gold|oil|bitcoin|a studio flat in {city}|first editions]
[the stock market|interest rates|the national debt|index funds|the housing bubble|a recession]
[current affairs|the headlines|world politics|the latest election|the new government|the strike]
[celebrity gossip|the royal family|reality shows|the oscars|fashion week|the newest series]
your [opinion on tattoos|favourite season|childhood|view on the death penalty|taste in music|\
feelings|\
love life|political views|religion]
[the meaning of life|free will|stoicism|reincarnation|the existence of god|existentialism|karma]
[photosynthesis|plate tectonics|black matter|supernovas|the human liver|cell division|the ozone \
layer|radioactivity|coral bleaching|the periodic table|antimatter]
[whales|tarantulas|hummingbirds|the platypus|arctic foxes|extinct birds|mushrooms|carnivorous \
plants]
[pythagoras|prime gaps|imaginary numbers|calculus|probability theory|the golden ratio|fractals]
[the best laptop under 800 euros|a good running shoe|electric scooters|noise cancelling headphones|\
robot vacuums]
[java generics|css grid|rust lifetimes|machine code|regular expressions|object orientation|sorting \
algorithms|blockchain|the linux kernel|cloud storage]
[marriage counselling|dating apps|raising teenagers|a broken heart|loneliness|small talk]
[yoga for beginners|intermittent fasting|protein shakes|muscle cramps|sleep hygiene|pilates]
[roses|compost|indoor palms|pruning shears|raised beds|greenfly on my beans]
[impressionism|baroque music|haiku|street art|gothic cathedrals|ballet|the bauhaus|surrealism]
[star signs|dream symbols|numerology|ghost sightings|crystals|lucky charms]
""".strip().splitlines()

# Indirect questions: the verb stands last, as after "do you know".
CLAUSE = """
[who|which people] [invented the compass|built machu picchu|discovered insulin|wrote beowulf|\
painted \
the water lilies|won the last derby|sings that song|killed abel|shot the sheriff]
who [the king of denmark|the mayor of {city}|the richest woman|the coach of {city}|the ceo of \
{company}] is
what [the sun is made of|a galaxy is|the capital of mongolia is|my star sign says|dreams mean|\
dolphins eat|people wear in {city}|a litre of milk costs|the time is in {city}|the news is]
when [the war in korea ended|mozart died|the next full moon is|the shops close|easter falls|the \
last \
bus leaves|my parcel will arrive|dinosaurs lived|the pope was elected]
where [the amazon begins|i left my keys|the best beaches are|pandas live|the nearest pharmacy is|\
vikings came from|{city} lies|my car is parked]
why [cats purr|leaves turn red|my back hurts|the moon has craters|people yawn|salt melts ice|my \
girlfriend is upset|ships float|babies cry|the milk boils over|zebras have stripes]
how [tall the eiffel tower is|old the earth is|far saturn is|deep the ocean is|fast a falcon dives|\
many bones a snake has|rich {name} is|big {city} is|expensive a wedding gets|planes stay up]
how [yeast works|magnets attract|volcanoes erupt|vaccines protect us|bees find home|a fridge cools|\
glass is made|stars die|rainbows form]
[whether|if] [it will rain on {day}|it snows in {city}|my boss likes me|dogs dream|i should move \
out|\
coffee is healthy|there is life on venus|i need a visa|eggs keep for a month|gold will rise|\
my lease is valid|the train is late|i am pregnant|the mushrooms are poisonous]
which [team scored first|wine suits duck|phone is better|planet is hottest|party will win|road \
leads \
to {city}|doctor i should see|dress fits the occasion|film got the oscar|bank pays most]
""".strip().splitlines()

# Direct questions.
DIRECT = """
[who|which inventor] [came up with|patented] [the safety pin|the ballpoint|the parachute|dynamite]
who [directed|starred in|wrote the music for] [jaws|the piano|vertigo|spirited away|that film]
who [rules|governs|represents|liberated] [denmark|bolivia|{city}|scotland|kenya]
what [happens|happened] [after death|in chernobyl|to the dodo|in the season finale|on d-day|at \
waterloo|on my birthday in history]
what [goes with|tastes like|can replace] [saffron|venison|coconut milk|buttermilk|rhubarb]
what time does [the museum|the pharmacy|my train|the sun|the concert|school] [open|leave|rise|start]
what [is the|was the] [tallest tower|oldest tree|shortest war|rarest stamp|deepest lake|spiciest \
pepper|longest novel|most dangerous snake]
what [rhymes with|is the opposite of|is the plural of|is another word for] [month|orange|generous|\
ox|silver|brave|cactus]
when [is|was] [diwali|labour day|the winter solstice|the next world cup|bastille day|{name} born]
when do [swallows leave|strawberries ripen|babies walk|the clocks change|tulips bloom]
where do [penguins|monarch butterflies|the best violins|hurricanes|rolling stones fans] [live|come \
from|go in winter]
where [can i|do i] [park in {city}|donate blood|swim with dolphins|see the northern lights|buy a \
wedding ring|learn tango|report a theft]
why [did|does] [the roman empire fall|bread go stale|my knee click|the phone get warm|hamlet \
hesitate|salmon swim upstream|{name} ignore me|popcorn pop]
how [long|far] is [the great wall|a marathon|the flight to {city}|the nile|a blue whale|one light \
year]
how many [players are in a rugby team|strings has a harp|moons has jupiter|teeth has a horse|\
keys has a piano|people speak welsh|calories has an avocado|chromosomes do we have]
how much [does a puppy cost|sleep do teenagers need|does {name} earn|water should i drink|is a \
stamp|\
rent is fair in {city}|salt is in the sea]
[is|are] [avocado|rye bread|olive oil|energy drinks|mussels|tap water in {city}] [healthy|safe|\
fattening|\
good for babies|vegan]
[is|was] [shakespeare|{name}|napoleon|the prime minister|batman] [married|left-handed|still alive|\
english|short]
[will|could] [prices go down|we live on mars|it freeze tonight|robots take our jobs|my plant \
survive|\
{city} win the cup]
should [i|we] [get a second cat|move to {city}|cut my hair|forgive him|sell the shares|have \
children|\
tell her the truth|study law|repaint the kitchen|call a doctor]
[do|does] [fish sleep|it snow in cairo|ghosts exist|plants feel pain|my boss hate me|antibiotics \
help|\
{name} love me|vitamin c cure colds]
[may|can] [i keep a python at home|my landlord enter|tourists work in {city}|i drink with these \
pills|minors vote|i refuse overtime|dogs eat grapes]
[which|what] [novel|board game|sport|city|perfume|career|houseplant|wine] [suits me|would you \
choose|\
is easiest|is worth it|do you like most]
[what's|what is] [your favourite dish|the score|your star sign|on tv|the worst film|for lunch|the \
meaning of my dream|trending|the traffic like|the mood in {city}]
[have you|did you] [ever been in love|read ulysses|see the game|sleep well|hear the news|visit \
{city}|\
tried sushi|miss me]
""".strip().splitlines()

# A trouble, told as a statement.
TROUBLE = """
my [landlord|landlady] [keeps my deposit|ignores the mould|wants me out by {day}|raised the rent]
my [toddler|son|daughter|nephew] [refuses vegetables|has a fever|hates school|is being bullied|\
swallowed a coin|wants a tattoo]
my [dog|cat|parrot|guinea pig] [ate chocolate|keeps sneezing|chews the sofa|is overweight|lost hair]
my [car|scooter|boiler|dishwasher|laptop screen] [makes a grinding noise|smells burnt|leaks oil|\
flickers|will not start in the cold]
my [wife|husband|best friend|sister|mother-in-law|flatmate] [stopped talking to me|gambles|snores|\
reads my messages|forgot our anniversary|is moving to {city}]
my [boss|colleague|teacher|coach] [takes credit for my work|shouts at me|failed me|never praises us]
my [tomatoes|orchid|roses|lawn|lemon tree] [turned yellow|has brown spots|stopped flowering|is \
dying]
my [tooth|lower back|left knee|wrist|throat|ear] [has been hurting|is swollen|clicks|itches] \
[since \
{day}|for a week|at night]
i [burnt the rice|oversalted the soup|have only eggs and leeks at home|forgot the yeast|expect \
eight \
guests tonight]
i [cannot sleep|feel dizzy|have cramps|am always tired|sneeze all day|gained weight|broke a nail]
i [missed my flight|lost my passport in {city}|booked the wrong hotel|have a long layover]
i [owe the bank|inherited a house|got a parking fine|was fired|signed a bad contract|found a wallet]
i [have to give a speech|must hand in an essay on kafka|have an exam in physics|have a job \
interview] \
on {day}
i [fell in love with {name}|miss my ex|quarrelled with {name}|feel lonely|am afraid of flying|am \
bored to death]
i [want to surprise {name}|need a costume|have nothing to wear|need a present for {name}]
[our|the] [kitchen tap|toilet|chimney|garage door|wifi at home|heating] [drips|is blocked|is stuck|\
keeps failing|is freezing cold]
[we are|i am] [going to {city} in {month}|visiting {city}|stuck in {city}|planning a trip to {city}]
[there is|i found] [a wasp nest in the attic|a stain on my silk tie|mould in the bath|a lump on my \
arm|a snake in the garden]
""".strip().splitlines()

# Shapes of request, by what they take.
DO_SHAPES = """
{do}
[please |kindly |just |go ahead and |now ]{do}
[could|can|will|would] you [please |kindly |maybe |quickly |]{do}[ for me| please|]
[are you able|do you know how|is it possible for you|would you be willing] to {do}
[i need|i want|i'd like|i would love|i expect|we need] you to {do}
[i need|i'm looking for|i want] [someone|an ai|a bot|something] [to|that can|who can] {do}
[your task|your job|the task|my request|my wish|task] [is to|today is to|is simple][:|] {do}
[my teacher|my boss|my wife|a friend|{name}] [said|thinks|told me] you [can|could|would] {do}
[any chance you could|is there a way you could|how about you] {do}
[do me a favour|be so kind|help me out][,|:|. could you| and] {do}
[i was hoping|it would be great if|it would help if|i'd be glad if] you [could|would] {do}
[would you mind|how about|what about|do you feel like] {doing}
[i need help|can you help me|i'd appreciate help|assist me] [with|in] {doing}
[why don't you|you should|you must|let's see you] {do}
[forget|ignore|never mind] [yaie|the docs|the project|the server][ for a moment|][,|.| and] {do}
[instead|for a change|for fun|as a test][,|:] {do}
[it is late|i am in a hurry|my phone is dead|the kids are waiting|nobody else is here][.|,|:] {do}
{do}[, i beg you|, would you|, can you|, or can't you|, quick|. thanks in advance|. take your time]
""".strip().splitlines()
HOW_SHAPES = """
how [do|can|could|should|would|might] [i|you|we|one|a beginner] {do}
[how to|steps to|instructions to|tips to|a guide to|the trick to] {do}
[what is|what's|is there] [the best|an easy|the right|a cheap|the fastest|a safe] way to {do}
[teach|show|tell] me how [to|i can|people] {do}
[i want|i'd like|i am trying|we plan|i have|i hope|i promised|my son wants] to {do}[. how|, any \
tips|\
. where do i start|. what do i need|, help|, what next|]
[can|could] you [explain|describe|walk me through|tell me] how to {do}
[i have never learned|i don't know|nobody taught me|i always wanted to know|i keep failing at] \
how to {do}
[what do i need|how long does it take|how hard is it|how much does it cost|is it hard] to {do}
[any|some|got any] [advice|hints|tips|tricks] [on|for|about] {doing}
[is|how is] {doing} [hard|dangerous|done properly|worth it|legal|expensive|fun]
[i am bad at|i struggle with|i have trouble|i am new to|i have questions about] {doing}
[what should i know|what are common mistakes|what matters|what helps] [before|when|while] {doing}
[a step by step guide|a short manual|a checklist|a beginner course] for {doing}
""".strip().splitlines()
ABOUT_SHAPES = """
[what do you know|what can you tell me|tell me something|tell me more|talk to me|do you know \
anything] \
about {np}
[give me|i need|i want|i'd like|can i have|send me] [some facts|some information|details|an \
overview|\
a summary|the latest|a short text|an explanation] [on|about|of] {np}
[explain|describe|outline|present] {np}[ to me| to a child| in simple terms| in two lines|]
[could|can|would] you [explain|describe|tell me about|look into|say something about] {np}
[i am|i'm|my daughter is|our class is] [curious|learning|reading|writing|talking] about {np}
[i have|here comes|there is] [a question|something i wonder] about {np}
[what about|how about|and what about|what's with|now] {np}
{np}[?|, please|, briefly|: tell me more|, what do you know|, anything|]
[let us|let's|can we|shall we] [talk|chat|speak] about {np}
[i wonder|i'd like to hear|i need to know more|we were arguing|i have to give a talk] about {np}
[change of topic|new topic|another topic|off topic|next topic][:|,|.] {np}
[which book|what website|who] [explains|knows about|covers] {np}
[my homework is|my essay is|the exam is|the quiz is] about {np}[. help|. what do i write|]
""".strip().splitlines()
CLAUSE_SHAPES = """
[do you know|do you happen to know|can you tell me|could you tell me|would you know|any idea|any \
clue] \
{clause}
[tell me|please tell me|find out|explain|explain to me|look up|check|say] {clause}
[i wonder|i was wondering|i want to know|i'd like to know|i need to find out|i keep asking myself|\
nobody could tell me|i forgot|i never understood|i have no idea] {clause}
[my daughter asks|my boss wants to know|we were arguing about|the quiz asks|{name} asked me|\
the kids want to know] {clause}
[it would be nice to know|what i really want to know is|the question is|my question is] {clause}
[guess|remind me|let me know|please check] {clause}
[are you able to say|is it known|does anybody know|who knows] {clause}
{clause}, [do you know|any idea|can you say]
""".strip().splitlines()
DIRECT_SHAPES = """
{q}
{q}
{q}[, do you think|, in your opinion|, honestly|, roughly|, by the way|, any idea]
[tell me|say|honestly|seriously|in your opinion|quiz question|trivia|general knowledge|riddle me \
this]\
[:|,] {q}
[my daughter asks|a friend asks|exam question|i always wondered|here is a question|off topic]\
[:|,] {q}
[i am at the station|we are having dinner|i am writing an essay|i am on the phone with {name}|i \
just \
woke up|we have a bet][.|:|,] {q}
[forget yaie|not about yaie|nothing to do with yaie|apart from the project|besides|one more]\
[,|:] {q}
{q} [i need it for school|it is for a quiz|my kids ask|just curious|asking for a friend]
""".strip().splitlines()
TROUBLE_SHAPES = """
{trouble}[.|, |. please][ what should i do| what now| what would you do| help| any advice| is \
that bad|\
 who can help| what are my options| how do i fix this]
{trouble}[. what do you recommend|. do you have a tip|. should i worry|. tell me what to do|, and \
now|\
. i need advice|. what can i say|. ideas]
[hi, |hello, |listen, |help, |so, |you see, |the thing is, ]{trouble}
[what can i do|what should i do|what would you do|what helps|who do i call] [if|when|because|now \
that] \
{trouble}
[can you help me|can you help|i need help|i need advice|give me advice][:|,|.] {trouble}
{trouble}
[imagine|suppose|let's say|assume] {trouble}[. then what|, what now|, what would you do]
""".strip().splitlines()
SHAPES: list[tuple[list[str], list[str]]] = [
    (DO_SHAPES, DO), (HOW_SHAPES, HOW_TO), (ABOUT_SHAPES, ABOUT), (CLAUSE_SHAPES, CLAUSE),
    (DIRECT_SHAPES, DIRECT), (TROUBLE_SHAPES, TROUBLE),
]  # fmt: skip
WEIGHTS = [5, 4, 4, 3, 4, 3]
# What people say when they were refused and try again. The answer stays the same.
AGAIN = """
[and|ok, and|what about|how about|then what about] {np}
[then|ok then|at least|but surely you can|come on,|all right, then] {do}
[a pity|too bad|what a shame|hm|oh][.|,] [then |could you |can you at least ]{do}
[and do you know|but you must know|then tell me|maybe you know] {clause}
[no|why not|but|come on|oh please][,|.] [i really need it|it is important|just try|try anyway]\
[:|.|,] {do}
[i'll ask something else|another question|next try|second try|one more try][:|.] {q}
[then|so|and][:|,] {q}
[there is more|also|and another thing][:|,] {trouble}
""".strip().splitlines()
_NAMES = {"{np}": ABOUT, "{do}": DO, "{doing}": DO, "{clause}": CLAUSE, "{q}": DIRECT,
          "{trouble}": TROUBLE}  # fmt: skip


def phrase(slot: str, wanted: str) -> str:
    """A wanted thing in the form that a slot of a shape takes."""
    return inflect(wanted, "ing") if slot == "{doing}" else wanted


def slot_of(shape: str) -> str:
    """The one slot of a shape that takes what is wanted."""
    return next(slot for slot in _NAMES if slot in shape)


def framed() -> list[tuple[str, list[str]]]:
    """Every shape with the phrases that may stand in its slot, which is called `{x}` here."""
    pairs = [(shape, wanted) for shapes, wanted in SHAPES for shape in shapes]
    pairs += [(shape, _NAMES[slot_of(shape)]) for shape in AGAIN]
    found = []
    for shape, wanted in pairs:
        slot = slot_of(shape)
        found.append((shape.replace(slot, "{x}"), [phrase(slot, w) for w in wanted]))
    return found


def ask(rng: Random) -> str:
    """A request: a shape and something that fits into it; slots such as `{city}` stay open."""
    shapes, wanted = rng.choices(SHAPES, WEIGHTS)[0]
    return _filled(rng.choice(shapes), wanted, rng)


def ask_again(rng: Random) -> str:
    """A second request after a refusal."""
    shape = rng.choice(AGAIN)
    return _filled(shape, _NAMES[slot_of(shape)], rng)


def _filled(shape: str, wanted: list[str], rng: Random) -> str:
    slot = slot_of(shape)
    return expand(shape.replace(slot, phrase(slot, rng.choice(wanted))), rng)
