"""Requests of all topics that are out of reach: concrete ones, one pattern on a line."""

from __future__ import annotations

OFF_TOPIC = """
[name|tell me|what's|what is|do you know] the capital [city |][of|for] [austria|bolivia|canada|\
chile|\
cuba|ghana|greece|hungary|iceland|iran|ireland|kenya|mongolia|nepal|norway|poland|portugal|senegal|\
turkey|vietnam|texas|california|the netherlands|south africa|new zealand]
[which|what] [city|town] is the capital of [sweden|denmark|egypt|morocco|thailand|argentina|\
ukraine|\
belgium|colombia|ecuador|latvia|florida]
[how many|roughly how many] [citizens|residents] [has|live in] [tokyo|india|russia|norway|the usa|\
africa|scotland|mexico]
[what|which] [currency|money|coins] [is used|do they use|do people pay with] in [{city}|sweden|\
thailand|poland|hungary|morocco|chile]
[which|what] [continent|country|region|hemisphere] [is|lies] [{city}|madagascar|the sahara|peru|\
mount fuji|the amazon|lake victoria] in
[what|which] is the [longest river|highest mountain|largest lake|deepest ocean|biggest desert|\
smallest country|largest island|driest place|coldest place|oldest city] [in|of|on] [europe|asia|\
the world|africa|south america|earth|{city}]
[which|what] [river|sea|mountain|ocean] [flows through|is next to|is near|borders] [{city}|paris|\
vienna|spain|chile|cairo]
[what|which] countries [border|are next to|touch|surround] [germany|brazil|switzerland|laos|mali|\
france|iran]
how [many|large] [are|is] [the states of the usa|the oceans|the continents|alaska|greenland|\
the pacific ocean|lake baikal]
[when|in which year] did [napoleon die|columbus sail|the berlin wall fall|the titanic sink|rome \
burn|\
elvis die|man land on the moon|the war end|the plague start|queen victoria reign]
[who|which man|which woman] [discovered|invented|found|first described] [penicillin|america|\
gravity|\
the telephone|dynamite|radium|the light bulb|dna|x rays|the steam engine|the printing press|oxygen|\
the zipper|paper|the wheel|vaccination]
[who|which author|which writer] [wrote|is the author of] [hamlet|faust|war and peace|don quixote|\
the odyssey|dracula|frankenstein|pride and prejudice|the hobbit|1984|moby dick|les miserables]
[who|which artist|which painter] [painted|made|created|drew] [guernica|the scream|the mona lisa|\
the night watch|sunflowers|the sistine chapel|the kiss|water lilies]
[who|which composer] [composed|wrote] [the magic flute|the four seasons|swan lake|the ninth \
symphony|\
carmen|bolero|the planets|the ring]
[who|which actor|which actress] [plays|played|stars in|starred in] [batman|james bond|titanic|\
the godfather|the matrix|casablanca|harry potter|rocky|the last episode]
[what|which] [was|were] the [causes|results|reasons|consequences] of [the french revolution|\
the first world war|the cold war|the civil war|the crusades|the fall of rome|the industrial \
revolution]
[give me an overview of|i need notes on|what do we know about|write an article about] [the roman \
empire|the vikings|the aztecs|\
ancient egypt|the renaissance|the ottoman empire|the ming dynasty|the french revolution|world \
war two|\
the cold war|the stone age|the silk road|the black death|the space race|napoleon|genghis khan|\
alexander the great|marie curie|nelson mandela|gandhi]
[what|which] [battle|war|treaty|king|emperor|pope|president] [ended|started|ruled|signed|won] \
[in 1066|in 1648|in 1815|in 1945|the hundred years war|over spain|after lincoln]
[my|i have a] [head|tooth|knee|back|ear|throat|stomach|neck|shoulder|foot|elbow|chest|ankle] \
[hurts|\
aches|is swollen|pain|burns|is itching][, what now|. what can i take|, what should i do|. is it \
bad|]
[i have|i caught|i got|my child has|my wife has] [a fever|the flu|a cold|a cough|a migraine|a rash|\
diarrhea|high blood pressure|an allergy|hay fever|insomnia|sunburn|a hangover|the hiccups|\
a broken toe|heartburn|diabetes][, what now|. what helps|, what should i do|. which pill|]
[what|which] [medicine|pill|drug|herb|tea|ointment|vitamin|home remedy] [helps|is good|works|\
should i take] [against|for|with] [headaches|a cold|insomnia|stress|acne|allergies|nausea|\
back pain|a sore throat|hair loss|warts|fever|cramps]
[how much|how many] [aspirin|ibuprofen|paracetamol|water|coffee|sleep|protein|sugar|alcohol|\
vitamin d] [is safe|may i take|should i have|do i need|can i drink|is healthy][ a day| per day|]
[is|are] [sugar|coffee|milk|red wine|eggs|butter|vaping|fasting|meat|gluten|energy drinks|\
microwaves] [healthy|bad for me|dangerous|good for you|unhealthy|harmful]
[how do i|how can i|how to|what is the best way to] [lower my blood pressure|lose weight|gain \
muscle|\
stop snoring|get rid of a cold|treat a burn|stop a nosebleed|remove a splinter|cure a hangover|\
whiten my teeth|grow taller|run a marathon|quit smoking|sleep better|breathe better|\
improve my eyesight|reduce stress]
[am i|could i be|is my baby|is my cat] [pregnant|ill|depressed|too fat|underweight|allergic|sick|\
contagious|anaemic][, how do i tell|. how do i know|]
[what are|what is|tell me] [the symptoms of|the cure for|the cause of|the treatment of] [covid|\
measles|malaria|cancer|anemia|a stroke|asthma|appendicitis|the flu|lyme disease|gout|arthritis|\
ebola]
[how do i|how do you|how long do i|how to|what is the best way to] [boil an egg|cook rice|\
bake bread|make pancakes|roast a chicken|fry fish|cook pasta|make pizza dough|grill a steak|\
make soup|peel garlic|make yoghurt|cook lentils|poach an egg|make sushi|brew beer|make jam|\
pickle cucumbers|steam vegetables|whip cream|melt chocolate|make coffee|knead dough|cut an onion]
[recipe|a recipe|the recipe|a simple recipe|grandma's recipe] [for|of] [apple pie|lasagne|curry|\
tomato soup|pancakes|cheesecake|tacos|paella|goulash|ramen|hummus|brownies|risotto|chili|falafel|\
banana bread|pumpkin soup|tiramisu|gazpacho|dumplings]
[what can i|what should i|what do i] [cook|make|prepare|eat] [tonight|for dinner|for lunch|\
with tofu|with leftover rice|for ten guests|for a vegan|for breakfast|on a diet|with chickpeas|\
in an air fryer]
[which|what] [wine|sauce|spice|herb|side dish|cheese|beer] [goes with|fits|suits|do i serve with] \
[lamb|fish|steak|asparagus|duck|pasta|pizza|sushi|turkey]
[can i|may i|is it ok to] [freeze|reheat|eat|microwave|replace|leave out] [cooked rice|raw eggs|\
old milk|mushrooms|butter|bread|the yeast|expired yoghurt|green potatoes]
[how do i|how can i|how to|can you help me] [fix|repair|mend|replace|unclog|patch] [a flat tyre|\
a leaking tap|my washing machine|the toilet|a broken window|my bike chain|a zip|the dishwasher|\
a cracked screen|the drain|my fridge|the boiler|a hole in the wall|my lawnmower|the car battery|\
a wobbly chair|the doorbell|a squeaky door]
[my|the] [car|bike|fridge|oven|tv|washing machine|phone|heater|toilet|boiler|vacuum|printer|\
dishwasher|drill|lawnmower|radio|drain] [does not start|is broken|leaks|makes a noise|\
will not turn on|smells|is blocked|stopped working|overheats][, what now|. how do i fix it|\
, what should i do|. what is wrong|]
[how do i|how to|what is the best way to] [paint a wall|lay tiles|hang a picture|build a shed|\
remove wallpaper|clean an oven|remove red wine stains|wash wool|iron a shirt|clean windows|\
get rid of ants|get rid of mould|descale a kettle|sharpen a knife|change a light bulb|\
assemble a wardrobe|change the oil|jump start a car|tie a tie|sew on a button|fold a fitted sheet]
[how do i|how to|when do i|when should i] [plant tomatoes|prune roses|water orchids|grow basil|\
mow the lawn|sow carrots|repot a cactus|fertilise the garden|harvest potatoes|get rid of slugs|\
plant tulips|cut a hedge|grow mushrooms|keep bees]
[how do i|how to|can i] [train|feed|wash|brush|calm|name|adopt] [my dog|a puppy|my cat|a parrot|\
a hamster|my horse|a rabbit|a goldfish|a tortoise]
[my|our] [dog|cat|hamster|parrot|horse|goldfish|rabbit] [does not eat|barks all night|scratches|\
bites|ran away|is sick|sleeps all day|limps][, what now|. what should i do|, why|]
[can|may] [my landlord|my boss|the police|my neighbour|my bank|my school|the airline|my ex] \
[evict me|fire me|search my bag|raise the rent|read my mail|keep the deposit|cut my hours|\
cancel my flight|take my dog]
[is it|would it be] [legal|illegal|a crime|allowed|forbidden] to [download films|park on the \
pavement|\
record a phone call|keep a fox|drive barefoot|work without a contract|carry a knife|burn leaves|\
sell homemade food|fly a drone|ride without a helmet|jaywalk]
[how do i|how can i|how to] [write a will|get divorced|file a lawsuit|apply for a visa|\
get a passport|register a company|contest a ticket|adopt a child|change my name|get citizenship|\
sue my landlord|claim a refund|patent an idea|get out of a contract]
[what is|explain|define] [the statute of limitations|a power of attorney|copyright law|a mortgage|\
double jeopardy|inheritance tax|a prenup|bail|a tort|the constitution|due process]
[should i|is it wise to|is now the time to|would you] [buy bitcoin|sell my shares|buy a house|\
invest in gold|take out a loan|open a savings account|lease a car|rent or buy|pay off my mortgage|\
trust my broker|retire at fifty]
[what is|explain|how does|tell me about] [compound interest|inflation|a hedge fund|an etf|\
the stock market|a bond|short selling|a credit score|value added tax|a pension|crypto|\
a blockchain|quantitative easing|a recession]
[how can i|how do i|help me] [save money|earn more|get out of debt|ask for a raise|find a job|\
write my cv|prepare for an interview|quit my job|start a business|negotiate a salary|\
do my taxes|make money online|become famous|get promoted]
[who|which team|which country|which player] [won|lost|hosted|will win|scored in] [the world cup|\
the super bowl|the olympics|wimbledon|the tour de france|the champions league|the stanley cup|\
the masters|the marathon|the euros][ in 1998| in 2012| last year| yesterday|]
[what|explain|tell me] [are |is |][the offside rule|a googly|a hat trick|the rules of rugby|\
a birdie|a home run|the rules of poker|castling|a slam dunk|how snooker works|how cricket works]
[how do i|how to|teach me to|how can i learn to] [swim|ski|juggle|dance salsa|play chess|skate|\
surf|\
play the guitar|sing|draw|paint|knit|meditate|do a handstand|ride a horse|play tennis|box|fish|sail]
[who is|who was|tell me about] [pele|messi|serena williams|muhammad ali|usain bolt|mozart|the \
beatles|\
madonna|elvis|beyonce|picasso|van gogh|frida kahlo|einstein|newton|darwin|tesla|freud|plato|\
shakespeare|goethe|tolstoy|caesar|cleopatra|churchill|lincoln|the dalai lama|the queen|{name}]
[i love|i miss|i hate|i like|i kissed|i met] [my ex|a girl|a boy|my colleague|someone|{name}|\
my best friend|my neighbour][, what should i do|. help me|. what now|, what do i say|]
[my|the] [girlfriend|boyfriend|wife|husband|friend|mother|father|son|daughter|boss|sister|brother] \
[is mad at me|left me|does not listen|lies to me|is sad|wants to move out|drinks too much|\
never calls|forgot my birthday][, what should i do|. what now|. help|]
[how do i|how can i|how should i] [tell her i love her|ask him out|say sorry|make friends|\
get over a breakup|propose|write a love letter|flirt|save my marriage|talk to my teenager|\
find a girlfriend|plan a wedding|comfort a friend|end a friendship]
[write|compose|make|create|invent|give me] [me |][a|an|one|some] [poem|sonnet|haiku|limerick|\
ballad|\
rap|rhyme|verse|song|lullaby|story|tale|fable|essay|speech|toast|riddle|joke|pun|tongue twister|\
slogan|love letter|birthday card|obituary|script|dialogue|short story|ghost story|\
fairy tale] [about|for|on] [spring|the sea|my cat|love|autumn|a dragon|the moon|{name}|friendship|\
a lonely robot|winter|my grandmother|{city}|a lighthouse|rain|mondays|coffee]
[tell|read|sing] [me|us] [a|another|one more] [bedtime story|joke|poem|song|fairy tale|lullaby|\
legend|\
riddle|fun fact|ghost story|secret]
[continue|finish|rewrite|begin] [the story|this poem|my novel|the song|once upon a time|this \
chapter|\
my essay]
[show me|code|create|i need] [a|some|the] [python|java|javascript|rust|go|php|ruby|swift|kotlin|\
bash|css] [code|loop|class|snippet|program] [to|that|which] [draws a circle|counts words|\
parses dates|plays snake|scrapes a page|finds primes|sends mail|opens a window|makes a login form]
[sorts a list|reads a file|draws a circle|counts words|reverses a string|parses dates|plays snake|\
scrapes a page|finds primes|sends mail|opens a window|makes a login form]
[how do i|how to|how can i] [merge two lists in python|center a div|exit vim|undo a git commit|\
write a loop in java|join two tables in sql|install ubuntu|make a pivot table|sort in excel|\
format a usb stick|reset my iphone|update windows|clear my browser cache|connect to wifi|\
deploy with kubernetes|set up wordpress|rename a branch|write a regex|use photoshop]
[why|explain why] [does my code crash|is my loop endless|does python say index error|\
is my website slow|is my wifi slow|does my laptop freeze|is my css broken|do i get a null pointer|\
does excel crash|is my phone hot]
[what is|what's|explain|tell me] the [default port|latest version|newest release|config file|\
licence|default user|log folder] [of|for|in] [postgres|mysql|redis|nginx|apache|mongodb|grafana|\
docker|kafka|elasticsearch|rabbitmq|windows|ubuntu|wordpress|jenkins|minecraft]
[book|reserve|find|order|get] [me |us |][a|the|some] [flight|hotel|taxi|train ticket|rental car|\
table|\
pizza|room|cruise|tour|concert ticket|babysitter|plumber] [to {city}|in {city}|for two|for tonight|\
for sunday|near me|at once|for my parents]
[what|which] [sights|museums|beaches|restaurants|bars|parks|markets] [should i see|are worth a \
visit|\
do you recommend|are nice|are open] in {city}
[do i need|where do i get|how much is] a [visa|vaccination|passport|train ticket|sim card|\
driving permit] [for|to|in] [{city}|china|india|brazil|egypt|the usa]
[how long|how far|how expensive] is [the flight|the drive|the trip|the train ride|the walk] \
[from|to] \
[{city}|rome|new york|the beach|the airport]
[plan|organise|suggest|plan me] [a|my] [weekend|honeymoon|road trip|city break|birthday party|\
wedding|\
vacation|family reunion|barbecue] [in|around|for|near] [{city}|tuscany|the alps|two people|my \
son|june]
[what|which] [book|novel|film|movie|series|album|song|podcast|game|play] [should i|can i|do you] \
[read|watch|listen to|play|recommend][ next| tonight| with my kids| on a plane|]
[what is|what's] [your favourite|the best|the funniest|the saddest] [film|book|song|colour|animal|\
food|band|joke|season|number|country|game|word|painting]
[explain|how does|why does|what causes|tell me how] [photosynthesis|gravity|a rainbow|the tide|\
thunder|lightning|an earthquake|a volcano|the greenhouse effect|evolution|a black hole|magnetism|\
electricity|the northern lights|an eclipse|continental drift|osmosis|relativity|\
quantum entanglement|nuclear fusion|a vaccine|the immune system|the water cycle][ work| happen|]
why [is|are|do|does|did] [the sky blue|the sea salty|leaves green|stars twinkle|cats purr|we dream|\
dogs bark|ice float|bees dance|onions make me cry|we yawn|the dinosaurs die out|snow white|\
flamingos pink|people lie|birds migrate|the moon shine|popcorn pop]
how [many|fast|heavy|old|far|hot|big|deep|long] [legs has a spider|can a cheetah run|is an \
elephant|\
is the universe|is the sun|is the moon|planets are there|bones do we have|is the mariana trench|\
hearts has an octopus|is light|is a blue whale|is the amazon|do turtles live|is mars|\
teeth has a shark|stars are there]
[what|which] is the [speed of light|boiling point of water|chemical formula of salt|atomic \
number of \
gold|largest planet|nearest star|hardest mineral|mass of the earth|distance to the sun|\
fastest animal|largest mammal|value of pi|square root of two|periodic table|formula for area]
[solve|prove|factor|differentiate|integrate|simplify|plot|derive] [x squared plus one|\
this equation|the quadratic formula|sine of x|a polynomial|the pythagorean theorem|\
this system|a matrix|the integral of x|fermat's theorem]
[translate|say|put|write] [good morning|thank you|i love you|hello world|where is the station|\
cheers|\
happy birthday|good luck|my letter|this menu|a proverb] [in|into|to] [french|spanish|german|\
italian|\
japanese|chinese|arabic|russian|latin|hindi|greek|turkish|swahili|dutch|korean]
[how do you|how do i|how does one] [say|spell|pronounce|write] [goodbye|thank you|cheese|\
rendezvous|\
worcestershire|please|water|quinoa|schedule|beer] in [french|spanish|italian|japanese|english|\
polish|finnish|hebrew]
[what|which] [does|is] the [word|phrase|idiom|proverb|saying] [ubiquitous|carpe diem|break a leg|\
schadenfreude|ephemeral|piece of cake|serendipity|raining cats and dogs|bite the bullet][ mean|]
[give me|find|what is] [a synonym|an antonym|a rhyme|another word|the plural|the past tense] \
[for|of] [happy|beautiful|orange|go|octopus|big|angry|mouse|nice|bring|quick]
[correct|improve|proofread|shorten|check|polish|rewrite] my [essay|cover letter|email|thesis|\
speech|\
grammar|english|homework|blog post|cv|poem|report|application]
[what|which] day [is it|is easter|is christmas|was the 4th of july|will new year be][ this year|\
 today| next year|]
[what time|when] [does|do|is] [the sun set|the shop close|the bank open|the film start|the game \
begin|\
high tide|the bus leave|ramadan begin|the sale end|the next full moon]
[turn on|turn off|dim|open|close|start|stop] the [light|tv|radio|heating|garage|blinds|music|oven|\
alarm|coffee machine|robot vacuum]
[call|text|email|message|remind|wake] [me|mum|dad|my boss|the doctor|{name}|my wife|a taxi] \
[at seven|tomorrow|please|now|back|that i am late|about the party|to buy milk]
[play|put on|sing|hum] [some jazz|my playlist|a song by the beatles|beethoven|the radio|a podcast|\
happy birthday|the anthem|christmas songs|white noise|rock music]
[draw|paint|sketch|generate|design|show|photograph] [me |][a|an|the] [cat|sunset|logo|portrait|\
horse|\
picture of {city}|house|unicorn|map|tattoo|poster|dragon|comic|icon][ for my company|]
[is there|do you believe in|does] [god|life on mars|an afterlife|free will|santa|aliens|fate|karma|\
magic|true love|heaven][ exist| or not|]
[what is|what's] the [meaning of life|point of it all|secret of happiness|nature of time|best \
religion|\
trolley problem|difference between good and evil|categorical imperative|soul]
[who|what] should i [vote for|marry|trust|become|study|name my baby|wear tonight|give my mother|\
be for halloween|do with my life|call my boat]
[what do you think|your opinion|your view] [of|about|on] [the president|the war|abortion|taxes|\
immigration|the election|nuclear power|veganism|tattoos|the royal family|electric cars|my haircut]
[what is|tell me|read me] my [horoscope|fortune|future|lucky number|star sign|iq|blood type|\
personality]
[pretend|act|imagine|talk|behave] [to be|as if you were|like|you are] [a pirate|my mother|\
sherlock holmes|a cat|a king|my therapist|shakespeare|a grumpy teacher|a medieval knight|an alien]
[let us|let's|shall we|can we|want to] [play hangman|play tic tac toe|play a game|have a debate|\
go out|\
dance|watch a film|talk about love|gossip|get married|play twenty questions|be friends]
[i am|i'm|i feel] [bored|sad|lonely|tired|hungry|angry|in love|scared|homesick|anxious|drunk|lost|\
jealous|nervous|heartbroken|stressed out][, cheer me up|, what should i do|. help|. any advice|]
[what is|what's|how is] the [weather|forecast|temperature|traffic|pollen count|air quality|snow \
depth|\
surf] [today|tomorrow|in {city}|this weekend|outside|on the coast|near me|on {day}]
[what's|what is|any] [in the news|new in politics|trending|on tv tonight|on at the cinema|\
happening in {city}|the latest gossip|new on netflix]
[how much|what] [does|do|is|are] [a tesla|a pint|a house|a litre of petrol|gold|a wedding|a \
dentist|\
an iphone|a cup of coffee|a semester|a lawyer|diamonds][ cost| worth| in {city}|]
[where|in which shop] [can i|do i] [buy|find|get|rent|sell|recycle] [a tent|cheap flights|\
stamps|a used car|old batteries|organic food|a costume|furniture|a bike|my wedding dress|firewood]
[which|what] [is better|do you prefer|should i buy|is best][,|:] [tea or coffee|cats or dogs|\
android or iphone|mac or windows|python or java|gas or electric|summer or winter|{city} or {city2}|\
a van or a car|skiing or snowboarding|rent or buy]
[compare|contrast|difference between] [socialism and capitalism|cats and dogs|jazz and blues|\
a virus and a bacterium|islam and christianity|butter and margarine|weather and climate|\
an alligator and a crocodile|plato and aristotle|mass and weight|beer and ale]
[what|who|which] [are|is|were|was] the [seven wonders|ten commandments|beatles|founding fathers|\
muses|planets in order|months in french|kings of england|primary colours|great lakes|\
wives of henry the eighth|zodiac signs|noble gases]
[give|tell] me [five|ten|some|a few|three] [facts|tips|ideas|reasons|examples|names|quotes|jokes] \
[about|for|on] [penguins|saving money|my startup|a first date|a school project|public speaking|\
a healthy diet|dinosaurs|{city}|studying|gift wrapping|a baby girl|space]
[can you|could you|are you able to|will you] [order a pizza|call a taxi|drive me home|cook dinner|\
see my screen|hear music|hack my ex|write my thesis|do my homework|walk my dog|lend me money|\
read my mind|predict the lottery|browse the internet|watch films|taste food|book a table|\
play chess with me|teach me french|marry me|keep a secret]
[do you|did you|have you] [sleep|eat|dream|have feelings|have a body|like pizza|watch football|\
fall in love|have a family|go to school|ever lie|get bored|feel pain|drink coffee|have a birthday|\
believe in me|been to {city}|seen titanic|have a pet|read books]
[help me|i need help|i struggle|i need advice] with [my homework|my marriage|my garden|my taxes|\
a crossword|my diet|my physics exam|my resume|moving house|a bully|my visa|algebra|a speech|\
my guitar|a chess problem|my knitting]
[summarise|explain|review|quote from|what happens in|who dies in] [romeo and juliet|the bible|\
the great gatsby|star wars|the lion king|game of thrones|harry potter|the iliad|les mis|\
animal farm|the matrix|the little prince|crime and punishment]
[make|write|draw up|give me] [a|me a] [shopping list|packing list|meal plan|workout plan|budget|\
study plan|to do list|training schedule|diet plan|guest list|timeline of rome|quiz about space]
[what|which] [exercise|workout|diet|stretch|yoga pose] [is good|helps|works|burns most|do i do] \
[for abs|for my back|for beginners|after fifty|in the morning|to lose belly fat|for runners]
[what|how] [to|do i|should i] [wear|say|bring|give|do] [to a wedding|at a funeral|to a job \
interview|\
for a christening|on a first date|to a baby shower|in case of fire|in an earthquake|at the opera]
[unlock|hack|track|spy on|break into|bypass] [my neighbour's wifi|a phone|an account|my ex|a safe|\
a car|someone's email|a parking meter|the school server]
[which|what] [chemical|gas|element|metal|acid|particle] [is|makes|has] [in the air|the lightest|\
water hard|the symbol fe|in batteries|iron rust|the nucleus|in the sun|the heaviest]
[the|a] [history|meaning|future|theory|price|beauty|origin] of [opera|feminism|pizza|chess|money|\
coffee|the internet|democracy|buddhism|tattoos|photography|tea|the novel|ballet|hip hop]
[who|what] [is|was] the [first|last|current|youngest|oldest|richest] [president of {city}|\
woman in space|man on the moon|king of france|emperor of china|nobel prize winner|pope|\
chancellor|astronaut|prime minister of india|ceo of {company}]
[how|why|when] [was|were] [the pyramids built|the internet invented|the euro introduced|\
stonehenge built|the moon formed|paper invented|the great wall built|dinosaurs discovered|\
the suez canal dug|tea brought to europe]
""".strip().splitlines()
