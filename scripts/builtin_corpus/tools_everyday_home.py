"""The everyday tools of travel, home, media, language and money, read by `tools_everyday.py`."""

# ruff: noqa: E501  (one request on a line)

TEXT = r"""
% travel # I am planning a trip.|We leave soon.|My suitcase is packed.|I travel with my wife.|My boss pays.|It is for the holidays.
# search_flights|find_flights|flight_search|list_flights # [Search|Find|List] flights [between two cities|from one airport to another] # origin:city:origin|from|from_city|departure destination:city:destination|to|to_city|arrival date?:date:date|day|when
> [find|search|look for] [me |][a flight|flights] from {origin} to {destination}
> [find|look up|show me] flights from {origin} to {destination} on {date}
> find a plane to {destination} from {origin}
what flights go from {origin} to {destination}
how can I fly from {origin} to {destination} on {date}
I have to be in {destination} soon. I am in {origin} now, so look for a flight
which planes leave {origin} for {destination} on {date}
is there a flight to {destination} from {origin}
+ a flight to {destination}, leaving from {origin}
flights {origin} to {destination}
{origin} to {destination} by plane on {date}, what is there
I live in {origin} and want to fly to {destination} on {date}
on {date} I fly to {destination}. I start in {origin}
= {"flight": "<flight>", "departure": "<time>"} => Flight <flight> leaves at <time>.
= {"flights_found": <number>, "cheapest": <price>} => There are <number> flights, and the cheapest costs <price>.
= {"flight": "<flight>", "price": <price>, "currency": "<curcode>"} => Flight <flight> costs <price> <curcode>.
# get_flight_status|flight_status|check_flight|flight_info # [Get|Check] the [current |]status of a flight # flight:flight:flight_number|flight|flight_no
> [check|look up|tell me about] [flight |]{flight}
is [flight |]{flight} [on time|late|delayed]
my sister sits in {flight}. Has it landed
when does {flight} take off
has {flight} already left
+ the status of flight {flight}
flight {flight}
I am waiting for {flight}. Any delay
which gate does {flight} leave from
what about my flight? It is {flight}
my flight number is {flight}, is everything on schedule
= {"flight": "{flight}", "status": "<state>"} => Flight {flight} is <state>.
= {"gate": "<gate>", "departure": "<time>"} => The flight leaves at <time> from gate <gate>.
= {"delay_minutes": <minutes>} => The flight is <minutes> minutes late.
# book_hotel|reserve_hotel|hotel_booking|book_room # [Book|Reserve] a [hotel room|room in a hotel] [in a city|] # city:city:city|location|town|place nights:few:nights|num_nights|duration guests?:few:guests|people|adults
> [book|reserve|get] [me |us |][a hotel|a hotel room] in {city} for {nights} nights
> reserve {nights} nights in {city} for {guests} people
> book a room for {nights} nights, in {city}
I need a bed in {city} for {nights} nights
we are {guests} people and stay {nights} nights in {city}. Book us a hotel
I stay in {city} for {nights} nights and have no hotel yet
+ a hotel room in {city}, {nights} nights
hotel {city}, {nights} nights
{nights} nights in {city}, book a room for {guests} guests
where could I sleep in {city}? It is {nights} nights. Reserve something
our trip to {city} lasts {nights} nights. Take care of the hotel
= {"booking_id": <id>, "hotel": "<book>"} => Your booking <id> is at the hotel <book>.
= {"status": "confirmed", "total": <price>} => The hotel is confirmed and costs <price> in total.
= {"booked": true} => The room in {city} is booked for {nights} nights.
# get_distance|distance|calculate_distance|distance_between # [Get|Compute|Calculate] the distance between two [places|cities] # start:city:origin|from|start|city1|a end:city:destination|to|end|city2|b
> [calculate|measure|look up] the distance [from|between] {start} [and|to] {end}
how far is [it from |]{start} from {end}
how far is it from {start} to {end}
how many kilometres are there between {start} and {end}
how long is the road from {start} to {end}
I drive from {start} to {end}. How many miles is that
+ the distance from {start} to {end}
distance {start} {end}
is {end} far from {start}
how many km to {end} if I start in {start}
{start} and {end}: how far apart are they
= {"distance_km": <number>} => It is <number> km.
= {"kilometers": <number>, "hours": <few>} => It is <number> km, about <few> hours.
= {"distance": <number>, "unit": "miles"} => It is <number> miles from {start} to {end}.
# get_weather|current_weather|weather|fetch_weather|get_current_weather # [Get|Return|Fetch] the [current |]weather [of a city|in a place|for a location|conditions of a city] # city:city:city|location|place unit?:=celsius/fahrenheit:unit|units
> [check|look up|tell me] the weather [in|for] {city}
> show the temperature in {city} in {unit}
what is the weather [like |]in {city}
do I need [an umbrella|a warm coat|gloves] in {city}
is it [raining|snowing|windy|sunny] in {city}
how warm is it in {city}, in {unit}
+ the weather in {city}
I am off to {city} and do not know what to wear
weather {city}
we want to eat outside in {city}. Will that work with this weather
{city}: hot or cold today
will I freeze in {city}
= {"temperature": <temperature>, "sky": "<sky>"} => It is <temperature> degrees and <sky> in {city}.
= {"condition": "<sky>"} => It is <sky> in {city}.
= {"temp": <temperature>, "wind": <number>} => It is <temperature> degrees with a wind of <number> in {city}.
= {"humidity": <percent>, "temperature": <temperature>} => It is <temperature> degrees and the humidity is <percent> percent.
# rent_car|book_car|car_rental|reserve_car # [Rent|Book|Reserve] a [car|rental car] # city:city:city|location|pickup days:few:days|num_days|duration type?:=small/family/van/electric:type|car_type|category
> [rent|book|hire] [me |]a car in {city} for {days} days
> get me a {type} car in {city} for {days} days
I need wheels in {city} for {days} days
we want to drive around {city} for {days} days, rent something
+ a {type} rental car for {days} days in {city}
car rental {city}, {days} days
for {days} days I need a car in {city}
could we have a car in {city}? Say {days} days
a car, please: {city}, {days} days, {type}
there are no buses in {city}, so I need a car for {days} days
= {"car": "<colour> van", "price": <price>} => You get a <colour> van for <price>.
= {"reservation": "<code>"} => Your car is reserved under <code>.
# find_trains|search_trains|train_times|get_trains # [Find|List] trains [between two stations|from one city to another] # origin:city:from|origin|start destination:city:to|destination|end time?:time:time|departure|after
> [find|search|look up] [a train|trains] from {origin} to {destination}
> find a train to {destination} from {origin} at {time}
when does the train from {origin} to {destination} leave
is there a train from {origin} to {destination} at {time}
I hate flying. How do I get from {origin} to {destination} by rail
which trains run from {origin} to {destination}
+ train times from {origin} to {destination}
trains {origin} {destination}
I sit in {origin} and must take the train to {destination}
rail connection to {destination}, I start in {origin}
my mother lives in {destination}, and I want to go there by train from {origin} at {time}
= {"departure": "<time>", "platform": <few>} => The train leaves at <time> from platform <few>.
= {"next_train": "<time>"} => The next train leaves at <time>.
= {"trains": <few>, "first": "<time>"} => There are <few> trains, the first at <time>.
# find_restaurants|search_restaurants|nearby_restaurants|list_restaurants # [Find|Search|List] restaurants [in a city|near a place] # city:city:city|location|near cuisine?:=italian/chinese/indian/french/thai/vegan:cuisine|food|kind
> [find|search for|recommend] [a restaurant|restaurants] in {city}
> find a good {cuisine} restaurant in {city}
where can I eat in {city}
I am hungry and in {city}. Any place to eat
I am in {city} and want {cuisine} food
which {cuisine} places are there in {city}
+ a list of restaurants in {city}
restaurants {city}
{city}, {cuisine} food
where do people have dinner in {city}
we would like to eat {cuisine} tonight. We are in {city}
= {"name": "<restaurant>", "rating": <few>} => <restaurant> is rated <few>.
= {"restaurants": ["The Oak", "<restaurant>"]} => You can eat at The Oak and <restaurant>.
= {"count": <number>} => There are <number> restaurants in {city}.
# book_table|reserve_table|make_reservation|table_reservation # [Book|Reserve] a table [at|in] a restaurant # restaurant:restaurant:restaurant|name|place people:few:people|guests|party_size|seats time:time:time|hour|at
> [book|reserve] a table at {restaurant} for {people} at {time}
> reserve a table for {people} people at {restaurant}, {time}
> get us {people} seats at {restaurant} for {time}
we want to eat at {restaurant} at {time}. We are {people}
I have guests, {people} in all. Can we come to {restaurant} at {time}
+ a table at {restaurant} at {time} for {people} people
table for {people}, {time}, {restaurant}
dinner at {restaurant} at {time} for {people} people
at {time} there will be {people} of us at {restaurant}. Book it
is {restaurant} free for {people} people at {time}? If so, book it
= {"status": "confirmed"} => The table at {restaurant} is confirmed.
= {"reservation": "<code>", "time": "<time>"} => Your table is reserved for <time> under <code>.
% home # I am on the sofa.|I just came home.|The kids are asleep.|My hands are full.|It is getting late.|We have guests.
# set_temperature|set_thermostat|change_temperature|set_room_temperature|thermostat_set # [Set|Change] the [temperature of a room|thermostat][ in degrees|] # room:room:room|zone|location temperature:degrees:temperature|degrees|target|value
> [set|change|adjust] the {room} to {temperature} degrees
> [heat|warm|bring] the {room} to {temperature} degrees
> set the temperature in the {room} to {temperature}
> put the thermostat of the {room} at {temperature}
I am freezing in the {room}. {temperature} degrees would be fine
it should be {temperature} degrees in the {room}
I want {temperature} degrees in the {room} tonight
+ {temperature} degrees in the {room}
{room} {temperature} degrees
the {room} is too cold, I want it at {temperature}
can the {room} be {temperature} degrees
{temperature} is a good temperature for the {room}
= {"room": "{room}", "target": {temperature}} => The {room} is set to {temperature} degrees.
= {"status": "heating", "current": <degrees>} => The {room} is heating and has <degrees> degrees now.
= {"ok": true} => The {room} will be {temperature} degrees.
# turn_on_light|light_on|switch_on_light|lights_on # [Turn|Switch] on the [light|lights] [of a room|in a room] # room:room:room|location|area|where color?:colour:color|colour
> [turn|switch|put] on the [light|lights] in the {room}
> turn the {room} [light|lights] on
> light up the {room} in {color}
it is dark in the {room}
I cannot see anything in the {room}
the {room} needs light
I go into the {room} now and want some light
+ light in the {room}
{room} lights on
lights on: {room}
make the {room} lights {color}
could it be brighter in the {room}
= {"light": "on"} => The light in the {room} is on.
= {"room": "{room}", "status": "on"} => The {room} light is on.
= {"room": "{room}", "brightness": <percent>} => The {room} light is on at <percent> percent.
# turn_off_light|light_off|switch_off_light|lights_off # [Turn|Switch] off the [light|lights] [of a room|in a room] # room:room:room|location|area|where
> [turn|switch|put] off the [light|lights] in the {room}
> turn the {room} [light|lights] off
> make it dark in the {room}
nobody is in the {room}, so no light is needed there
I want to sleep. Lights out in the {room}
the light in the {room} is still on, and it should not be
the lamp in the {room} hurts my eyes. Off with it
{room} lights off
lights out: {room}
kill the {room} lights
did I leave the light on in the {room}? Put it out
= {"light": "off"} => The light in the {room} is off.
= {"room": "{room}", "status": "off"} => The {room} light is off.
# set_timer|start_timer|create_timer|new_timer # [Set|Start|Create] a [timer|countdown] # minutes:minutes:minutes|duration|mins|duration_minutes label?:=tea/eggs/pasta/laundry/pizza/nap:label|name|title
> [set|start] a [timer|countdown] [for|of] {minutes} minutes
> set a {label} timer for {minutes} minutes
> wake me in {minutes} minutes
the {label} takes {minutes} minutes. Tell me when the time is up
I put {label} on. It takes {minutes} minutes, so set a timer
how about a timer? {minutes} minutes will do
+ a timer of {minutes} minutes
timer {minutes} min
{minutes} minutes from now I want to hear a bell
in {minutes} minutes I must leave. Ring then
count {minutes} minutes for me
{minutes} minutes for the {label}, start the clock
= {"timer_id": <id>, "status": "running"} => Timer <id> is running.
= {"ends_at": "<time>"} => The timer ends at <time>.
= {"started": true} => The timer for {minutes} minutes is started.
# set_alarm|create_alarm|add_alarm|wake_up_alarm # [Set|Create|Add] an alarm [clock |][at a time of day|] # time:time:time|at|alarm_time day?:day:day|date|weekday
> [set|create] an alarm [for|at] {time}
> wake me up at {time}
> wake me at {time} on {day}
I have to be awake at {time}
my train leaves early, so I must get up at {time}
on {day} I get up at {time}. Set the alarm
+ an alarm for {time} on {day}
alarm {time}
don't let me sleep past {time}
could the alarm ring at {time}
{day}, {time}: wake me
I always oversleep. Ring at {time}
= {"alarm": "{time}"} => The alarm is set for {time}.
= {"status": "set", "in_hours": <few>} => The alarm is set and rings in <few> hours.
# lock_door|lock|secure_door|close_lock # [Lock|Secure] a door # door:=front/back/garage/side/cellar/garden:door|which|name
> lock the {door} door
> make sure the {door} door is locked
> secure the {door} door
I think I left the {door} door unlocked
did I lock the {door} door? If not, do it
nobody should come in through the {door} door
we are going to bed, so close the lock of the {door} door
{door} door, lock it
lock up the {door} door
the {door} door must not stay unlocked
we drive off now. The {door} door still has to be locked
= {"door": "{door}", "locked": true} => The {door} door is locked.
= {"battery": <percent>, "locked": true} => The door is locked and its battery is at <percent> percent.
# start_vacuum|vacuum_room|clean_room|run_vacuum # [Start|Run|Send] the [vacuum cleaner|robot vacuum] [in a room|] # room:room:room|area|zone
> [vacuum|clean] the {room}
> send the vacuum to the {room}
> start the robot in the {room}
there are crumbs all over the {room}
the {room} is dirty
the dog was in the {room}, it needs a cleaning
guests are coming and the {room} is full of dust
vacuum {room}
could the robot do the {room}
the floor of the {room} should be clean when I come back
= {"status": "cleaning", "minutes": <minutes>} => The {room} is being cleaned and takes <minutes> minutes.
= {"battery": <percent>} => The vacuum has <percent> percent battery.
# turn_on_device|switch_on|power_on|device_on # [Turn|Switch] on [a device|an appliance] # device:device:device|appliance|name
> [turn|switch] on the {device}
> start the {device}
> turn the {device} on
the {device} should run now
I want to use the {device}, so put it on
{device} on
power up the {device}
could the {device} be running when I come home
I need the {device} now
why is the {device} still off? Start it
= {"device": "{device}", "state": "on"} => The {device} is on.
= {"power": <number>} => The {device} is on and uses <number> watts.
# set_brightness|dim_lights|brightness|change_brightness # [Set|Change] the brightness of the lights [in percent|] # room:room:room|location|area level:percent:level|brightness|percent
> [set|dim] the {room} lights to {level} percent
> set the brightness in the {room} to {level}
> bring the lights in the {room} to {level} percent
the light in the {room} is wrong, {level} percent is better
we watch a film in the {room}. Set the lights to {level} percent
+ {level} percent brightness in the {room}
{room} lights {level} percent
brightness {level}, {room}
could the lamps in the {room} go to {level} percent
only {level} percent light in the {room}
= {"brightness": {level}} => The brightness in the {room} is {level} percent.
= {"room": "{room}", "level": {level}} => The {room} is at {level} percent.
# add_to_shopping_list|add_shopping_item|shopping_list_add|add_grocery # [Add|Put] an item [to|on] the shopping list # item:=milk/bread/eggs/butter/rice/olive_oil/soap/coffee/cheese/orange_juice/toilet_paper:item|product|name|article quantity?:few:quantity|count|amount
> [add|put] {item} [to|on] the shopping list
> put {item} on my groceries, {quantity} of them
> remember to buy {item}
we are out of {item}
there is no {item} left
I used up the {item}
we need {item} from the store
{item}, {quantity} packs, on the list
shopping list: {item}
the fridge has no {item}, so I must buy {quantity}
{item} should be on the list
= {"items": <few>} => The list has <few> items now.
= {"added": "{item}"} => I added {item} to the list.
# open_blinds|raise_blinds|blinds_up|open_curtains # [Open|Raise] the [blinds|curtains] [of a room|] # room:room:room|location|area
> [open|raise|pull up] the [blinds|curtains] in the {room}
> let the sun into the {room}
> open the {room} [blinds|curtains]
the sun is out, so the blinds in the {room} should go up
I want to see the sky from the {room}
{room} blinds up
could the curtains in the {room} be open
it is morning. Raise the blinds in the {room}
I like daylight in the {room}
blinds: {room}, up
= {"blinds": "open"} => The blinds in the {room} are open.
= {"position": <percent>} => The blinds are at <percent> percent.
% media # I am in a good mood.|We have a party.|I am at the gym.|I am bored.|My friends are here.|The evening is long.
# play_song|play_track|start_song|play_music # [Play|Start] a [song|track][ by title|] # song:song:song|title|track|name artist?:full:artist|singer|by
> play [the song |]{song}
> play {song} by {artist}
> put on {song}
I want to hear {song}
my favourite song is {song}. Let me hear it
do you have {song} by {artist}
+ the song {song}
music: {song}
could we listen to {song}
{song} would be nice now
nothing cheers me up like {song} by {artist}, play it
= {"playing": "{song}"} => {song} is playing.
= {"status": "playing", "length_minutes": <few>} => The song is playing and lasts <few> minutes.
# play_genre|play_radio|start_station|genre_radio # [Play|Start] music of a [genre|style] # genre:genre:genre|style|kind
> play some {genre} [music|]
> put on a {genre} station
I am in the mood for {genre}
I feel like listening to some {genre}
+ {genre} music
{genre} radio
could we have some {genre}
background music would be nice, something like {genre}
we want to dance to {genre}
any good {genre} to listen to
= {"station": "<book>"} => The station <book> is playing.
= {"genre": "{genre}", "songs": <number>} => There are <number> {genre} songs playing.
# set_volume|change_volume|volume|adjust_volume # [Set|Change] the volume [in percent|of the speaker|] # level:percent:level|volume|percent|value
> [set|change|turn] the volume to {level}
> turn the sound to {level} percent
it is too loud, go to {level} percent
I can hardly hear it. Volume {level}
volume {level}
+ the volume at {level} percent
the neighbours complain, so {level} percent is enough
could the volume be {level}
sound at {level}
{level} percent volume is right for me
= {"volume": {level}} => The volume is {level}.
= {"level": {level}, "muted": false} => The volume is at {level} percent.
# create_playlist|new_playlist|make_playlist|add_playlist # [Create|Make] a [new |]playlist # name:song:name|title|playlist_name public?:=private/public:visibility|access
> [create|make|start] a [new |]playlist called {name}
> create a {public} playlist named {name}
> open a new playlist with the name {name}
I want a playlist of my own. The name is {name}
my next playlist should be called {name}
+ a new playlist, {name}
new playlist {name}
playlist {name}, make it {public}
could there be a playlist named {name}
I collect songs and need a list called {name} for them
= {"playlist_id": <id>} => The playlist {name} has the id <id>.
= {"created": true} => The playlist {name} is created.
# search_books|find_book|book_search|lookup_book # [Search|Find|Look up] a book [by title|in the library|] # title:book:title|query|name|book author?:full:author|writer|by
> [find|search|look up] the book {title}
> look for {title} by {author} in the library
is there a book called {title}
who knows the book {title} by {author}? Look it up
I would like to read {title}
my teacher recommends the novel {title} by {author}. Do you have it
+ the book {title}
book: {title}
does the library have the novel {title}
I lost my copy of {title}, is the book there
= {"author": "<full>", "year": <id>} => The book is by <full>.
= {"shelf": "<gate>", "copies": <few>} => There are <few> copies on shelf <gate>.
= {"available": false} => The book {title} is not available.
# get_news|latest_news|news_headlines|fetch_news # [Get|Fetch] the latest news [on a topic|about a topic] # topic:topic:topic|category|subject|query
> [get|fetch|show me] the news about {topic}
> tell me the latest {topic} headlines
what happened in {topic} today
what is new in {topic}
I missed the news on {topic}
anything interesting in {topic} today
+ the latest {topic} news
{topic} news
headlines: {topic}
is there something new about {topic}
keep me up to date on {topic}
= {"headline": "<subject>"} => The headline is <subject>.
= {"articles": <number>} => There are <number> articles about {topic}.
# get_recipe|find_recipe|recipe_search|search_recipes # [Get|Find|Search] a recipe [for a dish|] # dish:dish:dish|name|query|meal servings?:few:servings|people|portions
> [find|get|show me] a recipe for {dish}
> find a recipe for {dish} for {servings} people
how do I cook {dish}
how is {dish} made
what goes into {dish}
I want to make {dish} tonight
we are {servings} people and want to cook {dish}
+ a recipe for {dish}
{dish} recipe
I have guests and no idea how to make {dish}
teach me to make {dish}
= {"minutes": <minutes>, "servings": <few>} => The recipe takes <minutes> minutes and serves <few>.
= {"title": "{dish}", "calories": <number>} => The {dish} has <number> calories.
= {"ingredients": ["flour", "salt"]} => You need flour and salt.
% language # I have a test soon.|My teacher asked.|It is for a letter.|I am learning.|It is homework.|I am writing a text.
# translate_text|translate|translation|translate_phrase # [Translate|Convert] [a text|text|a phrase] [into|to] [another|a target] language # text:phrase:text|phrase|input|q language:language:target_language|language|to|target|lang
> translate the [words|phrase|text] {text} [into|to] {language}
> translate [into|to] {language}: {text}
> translate {text} for my friend, who speaks {language}
> translate this [into|to] {language}: {text}
> put {text} into {language}
> say {text} in {language}
how do [I|you|people] say {text} in {language}
how would one say {text} in {language}
what is {text} in {language}
what is the {language} for {text}
I want to write {text} in {language}
{language} for {text}
{text} in {language}
my friend speaks only {language}, and I want to tell her {text}
in {language}, what do you say for {text}
I need this in {language}: {text}
this should be {language}: {text}
take the translator and turn {text} into {language}
= {"translation": "<translated>"} => In {language}, {text} is <translated>.
= {"text": "<translated>", "language": "{language}"} => It is <translated> in {language}.
= {"result": "<translated>"} => The translation is <translated>.
# detect_language|identify_language|guess_language|language_of # [Detect|Identify|Guess] the language of a text # text:phrase:text|input|sentence|content
> [detect|identify|guess] the language of {text}
which language is {text}
what language is this: {text}
somebody wrote {text} to me, and I do not know which language that is
what language did he use when he said {text}
is it possible to tell the language of {text}
+ the language of {text}
language of {text}
{text}: which language is that
I found a note that says {text}. What language is it
= {"language": "<language>"} => The language is <language>.
= {"language": "<language>", "confidence": <percent>} => It is <language> with <percent> percent confidence.
# lookup_word|define_word|get_definition|dictionary_lookup # [Look up|Get|Find] [the definition|the meaning] of a word # word:word:word|term|entry
> [look up|define|explain] the word {word}
> find {word} in the dictionary
what does {word} mean
what is the meaning of {word}
I do not know the word {word}
I read the word {word} in a book. What is that
+ a definition of {word}
define {word}
{word}, meaning
is {word} in the dictionary? What does it say
= {"word": "{word}", "type": "noun"} => The word {word} is a noun.
= {"meanings": <few>} => The word {word} has <few> meanings.
= {"definition": "<subject>"} => It means <subject>.
# check_spelling|spell_check|spellcheck|correct_spelling # [Check|Correct] the spelling of a text # text:phrase:text|input|sentence|content
> [check|correct] the spelling of {text}
> look for typing mistakes in {text}
did I spell this right: {text}
is {text} spelled correctly
I am not sure how to spell {text}. Check it
I wrote {text}. Are there any spelling mistakes
spelling: {text}
+ a spell check of {text}
are there typos in {text}
my boss will read this, so check the spelling: {text}
= {"errors": 0} => There are no mistakes.
= {"mistakes": <few>} => There are <few> mistakes.
# count_words|word_count|text_length|count_text # [Count|Return] the number of words [in|of] a text # text:say:text|input|content
> count the words in {text}
how many words are in {text}
how many words does this have: {text}
I may use ten words only. Does this fit: {text}
what is the word count of {text}
+ the number of words in {text}
word count: {text}
is this too long? Count the words of {text}
tell me how many words I wrote: {text}
the length in words of {text}
= {"words": <number>} => The text has <number> words.
= {"words": <number>, "letters": <number>} => The text has <number> words.
% money # I am paying bills.|My accountant asked.|I want to save money.|It is for my taxes.|We are going abroad.|I invest a little.
# convert_currency|currency_converter|exchange_money|convert_money # [Convert|Exchange] an amount [of money|] [from one currency to another|between currencies|into another currency] # amount:amount:amount|value|sum source:currency:from_currency|from|source|base target:currency:to_currency|to|target
> [convert|change|exchange] {amount} {source} [to|into] {target}
> turn {amount} {source} into {target}
> convert to {target}: {amount} {source}
how much is {amount} {source} in {target}
how many {target} do I get for {amount} {source}
what are {amount} {source} worth in {target}
I have {amount} {source} and need {target}
the hotel costs {amount} {source}. What is that in {target}
+ {amount} {source} in {target}
{amount} {source} to {target}
my salary is {amount} {source}. I think in {target}, so convert it
in {target}, how much would {amount} {source} be
the bill says {amount} {source} but I only know {target}
= {"result": <price>} => {amount} {source} are <price> {target}.
= {"amount": <price>, "currency": "{target}"} => That is <price> {target}.
= {"rate": <rate>, "result": <price>} => That is <price> {target} at a rate of <rate>.
# get_exchange_rate|exchange_rate|fx_rate|currency_rate # [Get|Return|Look up] the exchange rate [of|between] two currencies # base:curcode:base|from|source|base_currency quote:curcode:quote|to|target|quote_currency
> [get|check|look up] the exchange rate [from|between] {base} [to|and] {quote}
what is the rate of {base} to {quote}
what is the {base} to {quote} rate today
how does {base} stand against {quote}
how strong is {base} against {quote}
is it a good day to buy {quote} with {base}? Check the rate
+ the rate for {base} to {quote}
{base}/{quote} rate
exchange rate {base} {quote}
I wonder how {base} and {quote} stand today
= {"rate": <rate>} => The rate is <rate>.
= {"base": "{base}", "quote": "{quote}", "rate": <rate>} => One {base} is <rate> {quote}.
# get_stock_price|stock_price|stock_quote|share_price # [Get|Return|Look up] the [current |]price of a [stock|share][ by its symbol|] # symbol:symbol:symbol|ticker|stock
> [get|check|look up] the [stock price|share price] of {symbol}
what is {symbol} [trading at|worth|at]
how is {symbol} doing [today|on the stock market]
how much does a share of {symbol} cost
I own some {symbol} shares. What are they worth
should I be happy with my {symbol} shares today
+ the price of {symbol} stock
{symbol} stock
stock price {symbol}
what do I pay for one {symbol} share
did {symbol} go up
= {"price": <price>, "currency": "<curcode>"} => {symbol} stands at <price> <curcode>.
= {"symbol": "{symbol}", "price": <price>} => {symbol} costs <price>.
= {"change_percent": <few>} => {symbol} changed by <few> percent.
# get_balance|account_balance|check_balance|get_account_balance # [Get|Check|Return] the balance of [an account|a bank account] # account:id:account|account_id|account_number|id
> [check|get|show me] the balance of account {account}
how much money is [on|in] account {account}
what is left in account {account}
am I in the red? My account is {account}
my account number is {account}. How much do I have
can I still spend something? Look at account {account}
+ the balance of account {account}
balance {account}
account {account}, how much is there
is there any money on account {account}
= {"balance": <price>, "currency": "<curcode>"} => Account {account} holds <price> <curcode>.
= {"account": {account}, "balance": <price>} => The balance of account {account} is <price>.
= {"available": <price>} => You have <price> available.
# transfer_money|send_money|make_transfer|bank_transfer # [Transfer|Send] money to [a person|someone] # amount:amount:amount|sum|value recipient:name:recipient|to|receiver|payee currency?:curcode:currency|unit
> [send|transfer] {amount} {currency} to {recipient}
> transfer {amount} to {recipient}
> pay {recipient} {amount} {currency}
I owe {recipient} {amount} {currency}
{recipient} lent me {amount}, so pay it back
{recipient} should get {amount} {currency} from me
+ to send {recipient} {amount} {currency}
transfer: {amount} {currency}, {recipient}
give {recipient} {amount} {currency} from my account
could {recipient} receive {amount} {currency} from me
= {"status": "sent", "transfer_id": <id>} => Transfer <id> is sent.
= {"sent": {amount}, "balance": <price>} => {recipient} gets {amount} and your balance is <price>.
# calculate_tip|tip_calculator|get_tip|compute_tip # [Calculate|Compute] the tip [for a bill|] # bill:amount:bill|amount|total percent:percent:percent|tip_percent|rate
> [calculate|work out] a {percent} percent tip on a bill of {bill}
> figure out the tip: the bill is {bill}, and I give {percent} percent
how much is a {percent} percent tip on {bill}
we paid {bill} for dinner. I want to tip {percent} percent
what tip do I leave at {percent} percent? The bill is {bill}
+ the tip for {bill} at {percent} percent
tip {percent} percent of {bill}
the waiter was nice: {percent} percent on {bill}
bill {bill}, tip {percent} percent
with {percent} percent, what tip does a bill of {bill} make
= {"tip": <price>} => The tip is <price>.
= {"tip": <few>, "total": <price>} => The tip is <few> and the total is <price>.
# add_expense|log_expense|record_expense|track_expense # [Add|Record|Log] an expense # amount:amount:amount|sum|cost|value category:=food/rent/travel/clothes/health/books/transport:category|type|kind
> [add|record|log|note] an expense of {amount} for {category}
> write down that I spent {amount} on {category}
I spent {amount} on {category} today
{amount} went to {category} this week, note that
I just paid {amount} for {category}
+ {amount} under {category} in my expenses
expense {category} {amount}
{category}: {amount} spent
keep track of this: {amount} for {category}
my {category} cost me {amount} again, put it in the books
= {"category": "{category}", "total": <price>} => You have spent <price> on {category}.
= {"expense_id": <id>} => The expense is saved under <id>.
# pay_invoice|settle_invoice|invoice_pay|pay_bill # [Pay|Settle] an invoice # invoice:code:invoice|invoice_id|number|invoice_number
> [pay|settle] [the |]invoice {invoice}
> take care of bill {invoice}
invoice {invoice} is due, so pay it
I forgot to pay {invoice}
they sent me a reminder for {invoice}. Pay that
+ invoice {invoice} paid
pay {invoice}
the money for {invoice} should go out today
could {invoice} be paid now
bill {invoice} is still open. Please settle that
= {"invoice": "{invoice}", "status": "paid"} => Invoice {invoice} is paid.
= {"paid": <price>} => I paid <price> for {invoice}.
"""
