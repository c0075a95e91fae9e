"""Makes wordings look typed by people: greetings, case, punctuation, synonyms, typos, lost words.

Applied to questions about facts, greetings and off-topic requests. Never applied to text whose
letters must be copied (extraction, tool arguments): there only case and punctuation vary.
"""

from __future__ import annotations

import re
from random import Random

from . import words
from .grammar import expand

PREFIXES = [
    "[hi|hello|hey|hey there|good morning|good evening|hi there|greetings][,|!|.|] ",
    "[please|pls|ok|okay|so|well|um|right|now|also|and|but|quick question|question|one question|"
    "one more thing|another question|sorry|excuse me|just wondering|help][,|:|] ",
    "[i am new here|i'm new to this|i am a beginner|i just installed yaie|my colleague asked me|"
    "a friend asked|i am reading the docs|i looked everywhere|for my notes|for a talk|i was "
    "wondering|my boss wants to know|someone on my team asked|i am setting this up|working on my "
    "laptop|i have been trying for an hour|not sure about this|i read the readme|maybe a silly "
    "question][,|.|:|;|] ",
    "[can|could|would] you [please |kindly |] [tell me|explain|say|answer|help]: ",
    "[tell me|i want to know|do you know|any idea|i need to know|explain|say][:|,|] ",
]
SUFFIXES = [
    "[, please| please| pls|, thanks| thanks|, thank you| thank you|, cheers]",
    "[ by default| exactly| actually| anyway| then| at all| really| again| right now| today|"
    " in practice| in short| briefly]",
    "[? i forgot|? i can't find it|? i need it for work|? it is urgent|? short answer please|"
    "? one sentence is enough|? just the answer|? thanks|? thanks in advance|? i am curious]",
]
SYNONYMS: dict[str, list[str]] = {
    "start": ["launch", "run", "boot", "fire up", "bring up", "spin up", "begin"],
    "starts": ["launches", "runs", "boots", "fires up", "brings up"],
    "stop": ["quit", "halt", "end", "shut down", "kill", "terminate"],
    "show": ["display", "print", "present", "reveal"],
    "see": ["view", "look at", "check", "watch", "inspect"],
    "list": ["show", "enumerate", "print"],
    "change": ["modify", "alter", "adjust", "edit", "set", "tweak"],
    "set": ["configure", "define", "specify", "adjust"],
    "choose": ["pick", "select", "decide on"],
    "picks": ["selects", "chooses"],
    "use": ["employ", "utilise", "apply", "work with", "rely on"],
    "used": ["employed", "utilised", "taken", "chosen"],
    "need": ["require", "want", "must have"],
    "get": ["receive", "obtain", "fetch", "have"],
    "find": ["locate", "discover", "get"],
    "send": ["submit", "post", "pass", "transmit"],
    "tests": ["unit tests", "test suite", "test cases", "checks"],
    "server": ["service", "backend", "http server", "api server"],
    "default": ["standard", "preset", "normal", "usual", "built-in"],
    "engine": ["system", "program", "tool", "inference engine"],
    "model": ["llm", "language model", "network", "checkpoint"],
    "models": ["llms", "language models", "checkpoints"],
    "happens": ["occurs", "takes place", "results", "goes on"],
    "endpoint": ["route", "url", "path"],
    "variable": ["setting", "env var"],
    "error": ["failure", "problem"],
    "errors": ["failures", "problems"],
    "prompt": ["input", "question", "text"],
    "full": ["filled up", "at its limit", "saturated"],
    "supported": ["available", "possible", "allowed", "accepted"],
    "support": ["allow", "handle", "offer", "provide"],
    "explain": ["describe", "clarify", "tell me"],
    "mean": ["signify", "say", "stand for"],
    "meaning": ["definition", "sense"],
    "word": ["term", "notion", "concept"],
    "command": ["instruction", "shell command", "cli command"],
    "measure": ["benchmark", "time", "test"],
    "machine": ["computer", "laptop", "box", "pc"],
    "evicted": ["removed", "dropped", "thrown out", "discarded"],
    "evict": ["remove", "drop", "throw out", "discard"],
    "requests": ["calls", "queries", "jobs"],
    "way": ["method", "approach"],
    "big": ["large"],
    "long": ["lengthy"],
    "waiting": ["queued", "pending"],
    "order": ["sequence", "ordering"],
    "kept": ["held", "stored", "saved"],
    "stored": ["kept", "held", "saved"],
    "computed": ["calculated", "processed"],
    "crashes": ["dies", "breaks down", "fails"],
    "size": ["capacity", "dimension"],
    "check": ["verify", "test", "look"],
    "users": ["people", "customers", "clients"],
    "tenants": ["customers", "users", "clients"],
    "allowed": ["permitted", "possible", "ok"],
    "license": ["licence"],
    "licence": ["license"],
}
COMMANDS = "run|chat|serve|demo|bench|doctor|models"
FUNCTION_WORDS = {
    "a", "an", "the", "do", "does", "is", "are", "i", "of", "to", "in", "for", "can", "it", "that",
    "me", "you", "be", "please", "with", "my", "your", "we", "at", "on", "and",
}  # fmt: skip


def synonyms(text: str, rng: Random, chance: float) -> str:
    """Replace some words by others of like meaning."""

    def swap(match: re.Match[str]) -> str:
        word = match.group(0)
        options = SYNONYMS.get(word)
        return rng.choice(options) if options and rng.random() < chance else word

    return re.sub(r"(?<![-_/.`])\b[a-z]+\b(?![-_/.`])", swap, text)


def typo(text: str, rng: Random) -> str:
    """One slip of the fingers inside a word of at least four letters."""
    found = list(re.finditer(r"(?<![-_/.\w])[a-z]{4,}(?![-_/.\w])", text))
    if not found:
        return text
    word = rng.choice(found)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at] + text[at:]
    if kind == 2:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[at + 1 :]


def drop_words(text: str, rng: Random, chance: float) -> str:
    """Leave out some function words, as people do in a hurry."""
    kept = [w for w in text.split(" ") if w not in FUNCTION_WORDS or rng.random() > chance]
    return " ".join(kept) if len(kept) >= 2 else text


def scatter(text: str, rng: Random) -> str:
    """Strew in words that mean nothing here, so that the model looks for those that do."""
    parts = text.split(" ")
    for _ in range(rng.randint(1, 4)):
        word = rng.choice(words.FILLERS) if rng.random() < 0.85 else words.invented(rng)
        parts.insert(rng.randint(0, len(parts)), word)
    return " ".join(parts)


def finish(text: str, rng: Random) -> str:
    """Case and final punctuation."""
    if not re.search(r"[.?!]$", text):
        text += rng.choice(["?", "?", "?", "", "", ".", "??", " ?"])
    roll = rng.random()
    if roll < 0.65:
        text = text[:1].upper() + text[1:]
    elif roll < 0.72:
        text = text.lower()
    elif roll < 0.73:
        text = text.upper()
    if rng.random() < 0.7:
        text = re.sub(rf"\byaie\b(?! (?:{COMMANDS})\b)", "YAIE", text)
    if rng.random() < 0.7:
        text = re.sub(r"\bi\b", "I", text)
    return text


def noisy(text: str, rng: Random) -> str:
    """A wording as a person might type it."""
    if rng.random() < 0.5:
        text = synonyms(text, rng, 0.4)
    if rng.random() < 0.08:
        text = drop_words(text, rng, 0.6)
    if rng.random() < 0.04:
        text = typo(text, rng)
    if rng.random() < 0.01:
        text = scatter(text, rng)
    if rng.random() < 0.22:
        text = expand(rng.choice(PREFIXES), rng) + " " + text
    if rng.random() < 0.12:
        text = text.rstrip("?. ") + expand("x" + rng.choice(SUFFIXES), rng)[1:]
    return finish(text, rng)
