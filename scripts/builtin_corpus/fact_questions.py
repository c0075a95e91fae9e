"""Puts the wordings of `facts.py` into question frames: thousands of sentences for each fact."""

from __future__ import annotations

from random import Random

from .facts import FACTS, MACROS, Fact
from .grammar import expand, inflect

ABOUT = (
    "[| in yaie| with yaie| of yaie| for yaie| here| in this engine| in this project| now| again]"
)
NP_FRAMES = [
    "[what is|what's|what are|whats|what was] {x}" + ABOUT,
    "[which is|what would be|what might be|what exactly is] {x}" + ABOUT,
    "{x}" + ABOUT,
    "[tell me|give me|show me|name|state|mention|describe|explain|outline] {x}" + ABOUT,
    "[i need|i want|i forgot|i am looking for|i'm looking for|i would like|i'd like to know|"
    "i want to know|i need to know|i wonder about|i have a question about|i do not know|"
    "i don't know|i can't find|i cannot find|i don't remember|i have forgotten] {x}" + ABOUT,
    "[do you know|could you tell me|can you tell me|would you tell me|can you explain|"
    "could you explain|remind me of|remind me what is|let me know|help me with|say|can you "
    "give me|would you describe] {x}" + ABOUT,
    "[info|information|details|facts|a word|a few words|something|a question|question] "
    "[about|on|regarding|concerning] {x}" + ABOUT,
    "[tell me about|what about|how about|what do you know about|talk about|teach me about|"
    "what can you tell me about|what can you say about] {x}" + ABOUT,
    "[where do i find|where can i find|where is|where's] {x}" + ABOUT,
    "[could|can|would] [someone|anybody|you] [please |]"
    "[spell out|write down|quote|list|state|repeat|sum up] {x}" + ABOUT,
    "[i never understood|i keep forgetting|i always forget|i was asked about|i am confused by|i'm "
    "unsure about|we are discussing|i read about|i came across] {x}" + ABOUT,
    "what [would|could|might|may|can] {x} be" + ABOUT,
    "[in short|in a nutshell|in one line|in plain words|precisely|exactly|for beginners], [what is|"
    "what are|explain|describe] {x}",
    "{x} [is what|is|means what|please|, what is it|, what was it|= ?]",
]
VP_FRAMES = [
    "how [do|can|could|should|would|might|must|does] [i|we|you|one|someone|a user|a beginner|my "
    "team] {x}" + ABOUT,
    "how to {x}" + ABOUT,
    "[what|which] [command|commands|step|steps|line] [do i need|do i use|do i type|do i run|should "
    "i run|is needed|must i type|will|would|is used|lets me|helps me] [to |]{x}" + ABOUT,
    "what [do i|should i|must i|can i|would i|do we|does one] [do|type|enter|run|write|need|"
    "execute|use] [to|in order to|if i want to|when i want to|so that i can] {x}" + ABOUT,
    "[what is|what's|whats] the [way|command|right way|easiest way|best way|trick|simplest way|"
    "recommended way|quickest way|correct way|proper way] to {x}" + ABOUT,
    "i [want|would like|need|am trying|have|plan|wish|tried|hope|am supposed|intend] to {x}"
    + ABOUT,
    "i'd like to {x}" + ABOUT,
    "[is there|do you have|does yaie have|do you know] a [way|command|trick|method|means] to {x}"
    + ABOUT,
    "[show|tell|teach|explain to] me how to {x}" + ABOUT,
    "[can|could|may|might] [i|we|you|one|it|yaie] {x}" + ABOUT,
    "[is it possible|am i able|are we able] to {x}" + ABOUT,
    "[help me|let me|please help me|i need help to|assist me to|instructions to|the steps to|"
    "a way to|command to|commands to|the command to] {x}" + ABOUT,
    "i [can't|cannot|don't know how to|do not know how to|can't figure out how to|have no idea "
    "how to|am not sure how to|need to know how to|wonder how to|forgot how to] {x}" + ABOUT,
    "{x}" + ABOUT,
    "what if i [want|need|have] to {x}",
    "[with|using|through] [which|what] [command|line|call|means] [do|can|could|would|should] [i|"
    "one|we|you] {x}" + ABOUT,
    "what [would|could|might|shall|will] [i|one|we] [type|run|enter|write|do] to {x}" + ABOUT,
    "[my|our] [goal|aim|plan|task|job|wish|problem] [is|was] to {x}" + ABOUT,
    "[i'd|i would|we'd|we would] [love|like|prefer|be happy|be glad] to {x}" + ABOUT,
    "so [how|what] [would|do] [i do to|one|we|i] {x}" + ABOUT,
    "[any|some|a few] [hints|tips|advice|idea|clue|help] [on how|how] [to|i can|one could] {x}",
    "[in order |]to {x}[,|] [what|which command] [do|should|must] i [run|type|enter|use|do]",
    "[explain|describe] how [i can|one can|to|i should|we could] {x}" + ABOUT,
]
ING_FRAMES = [
    "[what|which] [is the|is a|is your|would be the] [command|way|line|method|call|step] [for|of] "
    "{x}" + ABOUT,
    "[which|what] [command|line|call] is [there |used |meant |][for|to use for] {x}" + ABOUT,
    "[is there|do you have|does yaie have] "
    "[something|a command|anything|support|a tool|help] for {x}" + ABOUT,
    "[any|some|i need] [hints|tips|advice|help|instructions|information|docs] "
    "[on|about|for|with] {x}",
    "[how about|what about|tell me about|explain|describe|teach me|walk me through|i am interested "
    "in|i have trouble|i have a problem|i have difficulties|talk me through] {x}" + ABOUT,
    "{x}" + ABOUT,
    "how does {x} work" + ABOUT,
    "[is|how is] {x} [possible|done|supported|easy]" + ABOUT,
]
S_FRAMES = [
    "[which|what] [command|call|line|subcommand|thing|instruction|tool] {x}" + ABOUT,
    "[what|who] {x}" + ABOUT,
    "[is there|do you have|give me|show me|name|tell me|i need|i want|i am looking for] [a|the] "
    "[command|line|call|tool|thing] [that|which] {x}" + ABOUT,
    "[what is|what's] the [command|line|name of the command] [that|which] {x}" + ABOUT,
    "how [does one|do people] see what {x}",
]
NAME_FRAMES = [
    "what does {x} do" + ABOUT,
    "what does {x} [mean|stand for|say|represent|give me|refer to]" + ABOUT,
    "what is {x} [for|good for|used for|about|]" + ABOUT,
    "[what's|whats] {x} [for|]" + ABOUT,
    "{x}",
    "[explain|describe|define|clarify] {x} [to me|for me|briefly|in one sentence|please|]" + ABOUT,
    "[what is|explain|tell me|what's] the [purpose|meaning|role|job|use|point|function|definition|"
    "sense|effect] of {x}" + ABOUT,
    "[when|why] [do i|should i|would i|would one|do people|must i|might i] [use|need|want|call|"
    "run|set|care about] {x}" + ABOUT,
    "what [happens|will happen] [if|when|after] i [run|call|use|set|try|type|start] {x}",
    "[tell me about|what about|how about|talk about|i want to know about|info on|more on|"
    "information about|a short explanation of] {x}" + ABOUT,
    "what do you [mean by|call|understand by] {x}",
    "how does {x} work" + ABOUT,
    "how do i use {x}",
    "i do not [understand|get|know] {x}",
    "[can|could] you [explain|define|describe|tell me about] {x}" + ABOUT,
    "what [is meant by|do they mean by|kind of thing is|exactly is] {x}" + ABOUT,
    "i [saw|read|found|keep reading|came across|stumbled over] {x}[, what is it|, what is that|, "
    "what does it mean|. what is it]",
]


def with_macros(pattern: str) -> str:
    """The pattern with its `@NAME` shorthands written out."""
    for name in sorted(MACROS, key=len, reverse=True):
        pattern = pattern.replace(name, MACROS[name])
    return pattern


FRAMES = [
    ("np", NP_FRAMES, ""),
    ("vp", VP_FRAMES, ""),
    ("vp", ING_FRAMES, "ing"),
    ("vp", S_FRAMES, "s"),
    ("name", NAME_FRAMES, ""),
]
"""Kind of phrase, frames for it, and the ending that its verb takes in these frames."""


def phrases(fact: Fact, kind: str, ending: str) -> list[str]:
    """The fact's phrases of a kind, as they stand in a frame."""
    found = [with_macros(p) for p in getattr(fact, kind)]
    return [inflect(p, ending) for p in found] if ending else found


def ask(fact: Fact, rng: Random) -> str:
    """One random wording of the question that the fact answers."""
    options = [
        (2.0 if kind == "np" else 1.2, kind, frames, ending) for kind, frames, ending in FRAMES
    ]
    options = [option for option in options if getattr(fact, option[1])]
    weights = [option[0] for option in options]
    if fact.q and rng.random() < 3.0 / (3.0 + sum(weights)):
        return expand(with_macros(rng.choice(fact.q)), rng)
    _, kind, frames, ending = rng.choices(options, weights)[0]
    phrase = rng.choice(phrases(fact, kind, ending))
    return expand(rng.choice(frames).replace("{x}", phrase), rng)


def by_key(key: str) -> Fact:
    """The fact with that key."""
    return next(fact for fact in FACTS if fact.key == key)
