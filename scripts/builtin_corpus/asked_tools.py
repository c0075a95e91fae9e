"""More ways to ask for each tool, one pattern on a line under the tool's first name."""

from __future__ import annotations

_TEXT = """
# get_weather
weather [in|for|at|] {city}
[the |]weather report for {city}
[what|how] will the weather be in {city}
[how's|hows|how is] the weather [over |down |]in {city}
[do you know|can you tell me|could you check|please check] the weather [in|for] {city}
i [want|need|would like] [to know |]the weather [in|for] {city}
[should i|must i|do i have to] [take|bring|pack] [an umbrella|a jacket|sunglasses] [to|in|for]\
 {city}
[is|will] it [rain|snow|be nice|be hot|get cold] in {city}[ today| tonight|]
[does|did] it rain in {city}[ now| today|]
[what's|what is|give me|get] the temperature [in|at|for] {city}
how many degrees [is it|are there|do they have] in {city}
temperature [in |]{city}[ now| please|]
[forecast|current weather|weather now|conditions][:| for| in] {city}
[is|can] the sun [shining|out|be seen] in {city}
[i fly|i travel|we drive|i'm off|we go] to {city} [today|soon|tonight], how is the weather[ there|]
{city}[:|,| -] [weather|how is the weather|temperature|forecast][ please|]
[can|could] we [have a picnic|go swimming|sit outside] in {city}[ today|]
[what|which] clothes [do i need|should i pack] for {city}
[let me know|inform me] [what the weather is like|about the weather] in {city}
[get|fetch|pull up|show|look at] [me |][the |]current [weather|conditions] [for|in|of] {city}
what sort of [day|weather|sky] [is it|do they have] in {city}
[my mother|my friend|my boss] lives in {city}, how is the weather there
[anything to know|any news] about the weather in {city}
is it [nice|pleasant|freezing|foggy|cloudy|stormy|humid] in {city}[ today| now|]
# get_time
time [in|at|for] {city}
[what's|what is|tell me|give me|check|show] the [local|current|exact] time [in|at|of] {city}
[do you know|can you tell me|could you say] [what time it is|the time|how late it is] in {city}
{city} time[ now| please|]
{city}[:|,| -] [what time|time|local time|what time is it there][ please|]
[what|which] hour [do they have|is it now|is it] in {city}
[i have to call|i want to phone|i need to ring] someone in {city}, what time is it there
is it [late|early|day|noon|midnight|lunch time] in {city}[ now| already|]
what would my watch [say|show] in {city}
the clock in {city}[ please| shows what|]
how late is it [now |right now |]in {city}
[are people|is everybody] [asleep|awake|at work] in {city}[ now|]
[people|my colleagues|friends] in {city}, what time [do they have|is it for them]
[i need|i want|i'd like] the [time|local time|hour] in {city}
can i [still |]call {city} [at this hour|now], what time is it
[get|fetch|look up|find] [me |]the [time|hour] [of|in] {city}
time check[:| for| in] {city}
when it is now here, what time is it in {city}
at what time are they now in {city}
time zone time [of|in] {city}
now in {city}, what [time|hour]
has the day [begun|started|ended] in {city}
[hour|clock time|time now] [in|of] {city}
say the time in {city}
how much o'clock is it in {city}
# search
[do|run|start|make] a [web |quick |]search [for|on|about] {query}
[google|bing|duckduckgo|websearch] {query}[ for me| please|]
[find|look for|search] [pages|articles|information|something|results] [on|about|for] {query}
[search|look] [online|on the internet|on the web|in the index|in the documents] for {query}
[can|could|would] you [look up|search for|find|google] {query}[ for me| please|]
i [want|need|would like] to [find|search|look up|read about] {query}
[search|query|keywords|look up|find][:| =| -] {query}
[what can you find|what is there|is there anything|see what you find] [on|about] {query}
[i am|i'm|we are] looking for {query}
[show|bring|get] me [results|pages|links|hits] [for|about|on] {query}
[use the search|use the tool|with the search tool][,|:|] [find|look for] {query}
[please |]search the [web|index|documents|internet] for {query}
what does the [web|internet] say about {query}
{query}[:|,| -] [search that|look it up|search|find it online]
help me [find|to find|look for] {query}
[try|start] searching for {query}
[could|can] you [check|see] online [for|what there is on] {query}
[dig up|hunt for|browse for] {query}
[how many|any] [pages|results|hits] for {query}
search term[:| is] {query}
i need [pages|documents|sources] about {query}
[look|go] and find {query}
let us search for {query}
[enter|type] {query} into the search
find out about {query}
# set_timer
[timer|countdown|alarm] [of |for |: |in |]{minutes} [min|mins|minutes]
{minutes} [min|mins] timer[ please| now|]
[please |][set|start] [me |]a {minutes} [minute|min|minutes] [timer|countdown]
[can|could|would] you [set|start] a timer [for|of] {minutes} minutes
[tell|warn|alert|ping|poke|notify] me [when|after|once] {minutes} minutes [are over|have passed|\
are up|]
[let|make] [it|the alarm|the bell] [ring|beep|sound] [in|after] {minutes} minutes
[the eggs|my tea|the pizza|the cake|the rice|the pasta] [need|needs|takes|takes about]\
 {minutes} minutes, [set a timer|tell me when]
i need [a timer|an alarm|a reminder] [in|for|of] {minutes} minutes
[wake|call|shake] me [up |][in|after] {minutes} minutes
[give|allow] me {minutes} minutes[ and then ring| on the clock|, start now]
[start|begin] counting[ down|] {minutes} minutes
[count|run] {minutes} minutes [down|and beep|from now]
[measure|time|clock] {minutes} minutes[ for me| please|]
{minutes} minutes[,| -| from now,] [timer|start|go|countdown|beep]
[i want|i'd like|i will] to [sleep|nap|rest|work] [for |]{minutes} minutes, set a timer
put {minutes} minutes on the [timer|clock]
alarm [in|after] {minutes} minutes[ please|]
[do|make] a countdown [from|of] {minutes} minutes
stop me [after|in] {minutes} minutes
[my break|the meeting|the lesson] [is|lasts] {minutes} minutes, start a timer
[let me know|say something|shout] [in|after] {minutes} minutes
kitchen timer[, |: ]{minutes} minutes
remind me after {minutes} minutes[ please|]
[have|set] the [timer|clock|countdown] [go off|ring|end|to ring] in {minutes} minutes
# send_message
[please |][send|write|text|drop] {name} [a line|this|the message|a short message][:|,] {text}
[message|text|note|mail] [to|for] {name}[:|,] {text}
[message|text|ping|write] {name}[:|,| -] {text}
[tell|ask|remind] {name} [this|the following|please|to do this][:|,] {text}
[can|could|would] you [text|message|write to|tell|notify] {name}[:|,] {text}
[let|make sure] {name} [knows|know|hears|reads][:| this:] {text}
[i want|i need|i would like] to [send|write|text] {name}[:| this:] {text}
[send|forward|pass|deliver] [this|the text|the note|my message] to {name}[:|,] {text}
{name} [should know|must know|needs to hear|should get this][:|,] {text}
[give|leave|hand|send] {name} [a|the] [message|note|text][:|,] {text}
say to {name}[:|,] {text}
[for|to] {name}[:|,] {text}
[new|short|quick] [message|text|note] [to|for] {name}[:|,] {text}
[inform|notify|update|contact] {name}[:|,| with] {text}
[shoot|drop|send] a [quick |short |]message to {name}[:|,| saying] {text}
[write|send] [a|the] [text|note|message] [saying|that says] {text} to {name}
[send|text|write] "{text}" to {name}
[tell|text|message] {name} "{text}"
message for {name}, it says[:|] {text}
{name} is waiting for [my message|news|a text][:|,] {text}
[use the tool and|please] [tell|notify|message] {name}[:|,] {text}
[compose|prepare and send] a [message|note] for {name}[:|,] {text}
[the message|my text|the note] for {name} [is|reads][:|] {text}
[reply|answer] to {name}[:|,| with] {text}
[send|give] [{name} word|word to {name}][:|,] {text}
# play_music
[can|could|would] you play {song}[ for me| please|]
[please |]play [me |us |][the song |the track |the title |]{song}[ now| please| again|]
[i want|i would like|i'd love|we want] to [hear|listen to] {song}
[put|turn] {song} on[ please|]
music[:|,|] {song}
[song|track|title][:| please:|] {song}
[start|begin|resume] [playing|the music with] {song}
[let's|let us] [hear|listen to|play|dance to] {song}
[time for|how about|next song:|now|next:] {song}
{song}[,| -] [play it|play that|play|please play][ now|]
[is|can] {song} [be played|possible to play], [start it|play it]
play something[:|, namely|, i mean] {song}
[i am in the mood|i feel like hearing|i'm in the mood] for {song}
[add some music|some music please|music please][:|,] {song}
[find and play|look for and play] {song}
[blast|stream|spin|sing] {song}
[give me|get me|bring me] {song} on the [speakers|speaker|player]
the song [i want is|is|should be] {song}
[our favourite|my favourite] [song |]is {song}, play it
[load|open|launch] {song} in the player
[do you know|do you have] {song}? play it
[make|let] {song} play
[use the player|with the music tool], play {song}
[change|switch] the [music|song] to {song}
[hit|press] play on {song}
# translate
[please |]translate [the word|the term|this:] {text} [to|into] {language}
[translate|put] [into|to] {language}[:|,| the word] {text}
[what's|whats|what is] [the word |]{text} [called |]in {language}
[give me|tell me] the {language} [word|term|name|translation] [for|of] {text}
[how would|how do|how does] [one|i|you|people] [say|write|call|translate] {text} in {language}
{text} in {language}[ please| is what| is|]
{language} [for|word for|translation of|of] {text}
[can|could] you [translate|put|say] {text} [in|into|to] {language}
i need [the word |]{text} in {language}
[i want|i would like] to [say|write|know] {text} in {language}
[translation|translator|translate][:|,] {text}[, | to | -> | into ]{language}
{text} [->|to|into] {language}
[say|write|express] {text} in {language}
in {language}, [what is|how do you say|what do they call|how do i say] {text}
[what|how] do [{language} speakers|people who speak {language}] call [a |]{text}
[i am learning|i'm learning|i study] {language}, what is {text}
[my {language} teacher asks|for my {language} homework][:|,] {text}
[turn|change|transform|convert|render] [the word |]{text} into {language}
[which|what] {language} word means {text}
what does {text} become in {language}
{text}[,|:| -] [translate to|to|into|now in] {language}
[help me with|i forgot the] {language}[:| word for] {text}
look up {text} in {language}
[do you know|tell me] how [to say|you say|one says] {text} in {language}
[need a translation|a translation] of {text} into {language}
""".strip()


def parse(text: str) -> dict[str, list[str]]:
    """The patterns under each `# name` heading."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            current = found.setdefault(line[2:], [])
        else:
            current.append(line)
    return found


ASKS = parse(_TEXT)
