"""The generator of training conversations.

`train.py` calls `conversation(rng)` for short samples and `long_conversation(rng)` for samples
under a long system prompt. A sample is `(tools or None, messages)`. The project wrote all of the
text.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from . import (
    choices,
    choices_again,
    conversations,
    copying,
    extraction,
    refusals,
    sums,
    systems,
    tools_more,
)
from .facts import FACTS, ask, by_key, heap, wording
from .grammar import expand
from .noise import finish, noisy

Message = dict[str, Any]
Sample = tuple[list[dict[str, Any]] | None, list[Message]]
MIX = {
    "fact": 60, "sum": 10, "extraction": 60, "tool": 22, "choice": 38, "refusal": 18, "talk": 14,
    "lookup": 14, "copy": 4, "told": 14,
}  # fmt: skip
# Words of tools that questions about a table could be meant for.
MIGHT_TELL = ("employee", "contact", "person", "product", "menu", "call", "look", "find", "stock")


def _pair(user: str, answer: str) -> list[Message]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]


def _turns(pairs: list[tuple[str, str]], rng: Random | None = None) -> list[Message]:
    """Return exchanges; with a random generator, questions vary in case and punctuation."""
    return [m for q, a in pairs for m in _pair(finish(q, rng) if rng else q, a)]


def fact_turn(rng: Random) -> list[Message]:
    """Return a project question, sometimes with a follow-up that depends on it."""
    if rng.random() < 0.16:
        first, second, asks = rng.choice(conversations.FOLLOW)
        one, two = by_key(first), by_key(second)
        follow = finish(expand(rng.choice(asks), rng), rng)
        return _pair(noisy(ask(one, rng), rng), one.answer) + _pair(follow, two.answer)
    fact = rng.choice(FACTS)
    kind = rng.random()
    if kind < 0.01:
        return _pair(finish(heap(fact.key, rng), rng), fact.answer)
    question = wording(fact.key, rng) if kind < 0.85 else ask(fact, rng)
    return _pair(noisy(question, rng), fact.answer)


def sum_turn(rng: Random) -> list[Message]:
    """Return a sum, sometimes with another figure added to the result."""
    if rng.random() < 0.12:
        a, b, k = rng.randint(0, 50), rng.randint(0, 40), rng.randint(1, 9)
        text = expand(rng.choice(sums.T.ADD), rng, {"a": str(a), "b": str(b)})
        turns = _pair(finish(text, rng), sums.answer_add(a, b))
        more = rng.random() < 0.6 or a + b < k
        asks = conversations.T.MORE if more else conversations.T.LESS
        then = expand(rng.choice(asks), rng, {"k": str(k)})
        answer = (sums.answer_add if more else sums.answer_sub)(a + b, k)
        return turns + _pair(finish(then, rng), answer)
    text, answer = sums.sample(rng)
    if rng.random() < 0.1:
        text = rng.choice(["please: ", "hey, ", "quick: ", "hello, ", "ok, "]) + text
    return _pair(finish(text, rng), answer)


def talk_turn(rng: Random) -> list[Message]:
    """Return greetings, identity, thanks; or a fact told and asked for."""
    if rng.random() < 0.3:
        pair = conversations.told_pair if rng.random() < 0.6 else conversations.name_pair
        tell, hello, question, answer = pair(rng)
        middle = fact_turn(rng)[:2] if rng.random() < 0.5 else []
        asked = finish(question, rng)
        if rng.random() < 0.3:
            asked = conversations.led_in(asked, rng)
        return _pair(finish(tell, rng).replace("?", "."), hello) + middle + _pair(asked, answer)
    text, answer = conversations.small_talk(rng)
    return _pair(noisy(text, rng) if rng.random() < 0.7 else finish(text, rng), answer)


def choice_turn(rng: Random) -> list[Message]:
    """Return a question with a one-word answer, sometimes asked again of other words."""
    if rng.random() < 0.12:
        return _turns(choices_again.run(rng), rng)
    text, answer = choices.sample(rng)
    return _pair(finish(text, rng), answer)


def refusal_turn(rng: Random) -> list[Message]:
    """Return an off-topic request and the polite answer."""
    turns = _pair(noisy(refusals.ask(rng), rng), refusals.T.REFUSAL)
    if rng.random() < 0.12:
        turns += _pair(noisy(refusals.ask_again(rng), rng), refusals.T.REFUSAL)
    return turns


def copy_turn(rng: Random) -> list[Message]:
    """Return a request to repeat words."""
    text, answer = copying.sample(rng)
    first = text.split(" ")[0].split("\n")[0]
    if rng.random() < 0.5 and first not in answer:  # what is said again keeps its letters
        text = text[:1].upper() + text[1:]
    return _pair(text, answer)


def extraction_turn(rng: Random) -> list[Message]:
    """Return text to JSON, all in the user's message."""
    system, user, answer = extraction.sample(rng)
    return _pair(user if system is None else f"{system}\n{user}", answer)


TURNS = {
    "fact": fact_turn, "sum": sum_turn, "choice": choice_turn, "refusal": refusal_turn,
    "talk": talk_turn, "copy": copy_turn, "extraction": extraction_turn,
}  # fmt: skip


def _echo(turns: list[Message], rng: Random) -> list[Message]:
    """Sometimes ask to repeat or confirm the last answer (but not "Yes. No")."""
    last = turns[-1]["content"]
    if rng.random() < 0.04:
        return _pair(finish(expand(rng.choice(conversations.T.REPEAT), rng), rng), last)
    if rng.random() < 0.02 and last.endswith("."):
        return _pair(finish(expand(rng.choice(conversations.T.SURE), rng), rng), f"Yes. {last}")
    return []


def _later_turn(kind: str, rng: Random) -> list[Message]:
    """Return one more exchange of a kind, often with a word about the answer before."""
    messages = TURNS[kind](rng)
    if kind not in ("copy", "extraction") and rng.random() < 0.4:
        messages[0]["content"] = conversations.led_in(messages[0]["content"], rng)
    return messages


def _any_kind(rng: Random, without: tuple[str, ...] = ()) -> str:
    kinds = {k: v for k, v in MIX.items() if k not in without}
    return rng.choices(list(kinds), list(kinds.values()))[0]


def _lookups(rng: Random) -> tuple[str | None, list[Message]]:
    """Return records in the system prompt or in the message, and questions about them."""
    roll = rng.random()
    if roll < 0.45:
        words_wanted = rng.randint(20, 60) if roll < 0.25 else rng.randint(60, 260)
        system, table = systems.prompt(rng, words_wanted)
        runs = systems.runs(table, rng.choice([1, 1, 2, 3]), rng)
        return system, _turns([pair for run in runs for pair in run], rng)
    if roll < 0.65:
        system, pairs = systems.task(rng, rng.randint(20, 260))
        return system, _turns(pairs[:3])
    lines, pairs = systems.records(rng, rng.randint(1, 6))
    rng.shuffle(pairs)
    messages = _turns(pairs[:2], rng)
    if rng.random() < 0.4:
        facts = " ".join(lines) + rng.choice([" ", "\n"])
        messages[0]["content"] = facts + messages[0]["content"]
        return None, messages
    return " ".join(lines), messages


def conversation(rng: Random) -> Sample:
    """Return a conversation without, or with a short, system prompt."""
    kind = _any_kind(rng)
    listed: list[dict[str, Any]] | None = None
    system: str | None = rng.choice(systems.SHORT) if rng.random() < 0.3 else None
    messages: list[Message]
    if kind == "tool":
        listed, messages = tools_more.sample(rng)
        if rng.random() < 0.15:
            plain = [k for k in ("fact", "sum", "talk") if k not in tools_more.tempted(listed)]
            messages = messages + _later_turn(rng.choice(plain), rng)
    elif kind == "extraction" and rng.random() < 0.25:
        messages = _turns(extraction.in_turns(rng))
    elif kind == "extraction":
        rules, user, answer = extraction.sample(rng)
        system, messages = rules or system, _pair(user, answer)
    elif kind == "lookup":
        system, messages = _lookups(rng)
    elif kind == "told":
        told, pairs = copying.dialogue(rng)
        system, messages = told or system, _turns(pairs)
    else:
        messages = TURNS[kind](rng)
        if rng.random() < 0.1:
            listed = tools_more.listed(rng, kind)
    if kind in ("fact", "sum", "refusal", "talk"):
        messages = messages + _echo(messages, rng)
    while rng.random() < 0.28 and len(messages) < 8:
        without = ("tool", "lookup", "told", "extraction", *tools_more.tempted(listed))
        more = _later_turn(_any_kind(rng, without), rng)
        messages = messages + more + _echo(more, rng)
    if system is not None:
        messages = [{"role": "system", "content": system}, *messages]
    return listed, messages


def _fits(more: list[Message], table: systems.Table | None) -> bool:
    """Return True if an exchange has nothing in common with the table of the system prompt."""
    return table is None or not any(table.mentioned(m["content"]) for m in more)


def _tool_might_tell(listed: list[dict[str, Any]] | None, table: systems.Table | None) -> bool:
    """Return True if a question about the table could mean a listed tool."""
    if not listed or not table:
        return False
    text = json.dumps(listed).lower()
    return any(word in text for word in (*table.attributes, *MIGHT_TELL))


def long_conversation(rng: Random) -> Sample:
    """Return several exchanges of all kinds under a system prompt of 60 to 800 words."""
    table: systems.Table | None = None
    roll = rng.random()
    if roll < 0.25:
        system, pairs = systems.task(rng, rng.randint(60, 500))
        messages = _turns(pairs)
        return None, [{"role": "system", "content": system}, *messages]
    if roll < 0.6:
        system, table = systems.prompt(rng, rng.randint(60, 500))
        lookups, share = systems.runs(table, 5, rng), 0.45
    else:
        system, pairs = systems.long_prompt(rng, rng.randint(150, 800))
        lookups, share = [[pair] for pair in pairs], 0.2
    listed: list[dict[str, Any]] | None = None
    messages = []
    if rng.random() < 0.25:
        listed, messages = tools_more.sample(rng)
        if _tool_might_tell(listed, table):
            lookups = []
    for _ in range(rng.randint(4, 9)):
        if lookups and rng.random() < share:
            messages += _turns(lookups.pop(), rng)
            continue
        kind = _any_kind(rng, ("tool", "lookup", "told", *tools_more.tempted(listed)))
        more = _later_turn(kind, rng) if messages else TURNS[kind](rng)
        if _fits(more, table):
            messages += more + _echo(more, rng)
    if not messages:
        messages = fact_turn(rng)
    return listed, [{"role": "system", "content": system}, *messages]
