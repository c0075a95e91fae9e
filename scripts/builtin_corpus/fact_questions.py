"""Puts the wordings of `facts.py` into question frames: thousands of sentences for each fact."""

from __future__ import annotations

from random import Random

from .facts import FACTS, MACROS, Fact
from .grammar import expand

ABOUT = "[| in yaie| with yaie| of yaie| for yaie| here| in this engine| in this project| now| again]"
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
    "[explain|describe] how [i can|one can|to|i should|we could] {x}" + ABOUT,
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


def patterns(fact: Fact) -> list[str]:
    """Every wording of a fact as one pattern each, frames included (used by the tests)."""
    found = [with_macros(p) for p in fact.q]
    for frames, kind in ((NP_FRAMES, fact.np), (VP_FRAMES, fact.vp), (NAME_FRAMES, fact.name)):
        for frame in frames:
            for p in kind:
                found.append(frame.replace("{x}", with_macros(p)))
    return found


def ask(fact: Fact, rng: Random) -> str:
    """One random wording of the question that the fact answers."""
    kinds = []
    if fact.q:
        kinds += ["q"] * 3
    if fact.np:
        kinds += ["np"] * 2
    if fact.vp:
        kinds += ["vp"] * 3
    if fact.name:
        kinds += ["name"] * 2
    kind = rng.choice(kinds)
    pattern = with_macros(rng.choice(getattr(fact, kind)))
    if kind == "q":
        return expand(pattern, rng)
    frames = {"np": NP_FRAMES, "vp": VP_FRAMES, "name": NAME_FRAMES}[kind]
    return expand(rng.choice(frames).replace("{x}", pattern), rng)


def by_key(key: str) -> Fact:
    """The fact with that key."""
    return next(fact for fact in FACTS if fact.key == key)
