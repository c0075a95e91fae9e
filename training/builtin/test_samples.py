"""The training text is the recorded one, its samples are right, and the frozen questions honest."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.questions import accepted, read_questions
from training.builtin import (
    choices,
    choices_again,
    conversations,
    copying,
    extraction,
    extraction_marked,
    sums,
    tools,
    tools_more,
    wordings,
)
from training.builtin.digests import digests, recorded
from training.builtin.facts import FACTS, ask
from training.builtin.grammar import Part, normalise, parse
from training.builtin.values import values

QUESTIONS = Path(__file__).resolve().parents[2] / "tests/models/builtin_questions.jsonl"


@pytest.mark.parametrize("record", recorded(), ids=lambda record: record["generator"])
def test_generator_writes_the_recorded_text(record: dict[str, Any]) -> None:
    assert digests(record["generator"], record["samples"]) == record["digests"]


def test_unknown_names_in_recipes_raise() -> None:
    with pytest.raises(AttributeError, match="no recipe 'nowhere' in values"):
        values["nowhere"]
    with pytest.raises(AttributeError, match="no list 'NOWHERE' in values"):
        values.entries("NAMES+NOWHERE")


def test_extraction_answers_only_what_is_asked_and_stated() -> None:
    rng = Random(3)
    for _ in range(1500):
        system, user, answer = extraction.wide_sample(rng)
        prompt = f"{system}\n{user}"
        for key, value in json.loads(answer).items():
            assert key in prompt and str(value) in user, (prompt, answer)


def test_sums_are_right() -> None:
    """The last equation of every answer holds."""
    rng = Random(4)
    operations = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "×": lambda a, b: a * b,
    }  # fmt: skip
    for _ in range(1500):
        text, answer = sums.sample(rng)
        found = re.search(r"(\d+) (\S) (\d+) = (\d+)\.$", answer)
        assert found, (text, answer)
        a, sign, b, result = found.groups()
        assert operations[sign](int(a), int(b)) == int(result), (text, answer)


def _always(parts: tuple[Part, ...]) -> set[str]:
    found: set[str] = set()
    for part in parts:
        if isinstance(part, str):
            found |= set(re.findall(r"\{(\w+)\}", part))
        else:
            found |= set.intersection(*[_always(option) for option in part])
    return found


def test_every_tool_request_states_every_argument() -> None:
    for tool in tools.TOOLS + tools_more.TOOLS:
        for pattern in tool.asks:
            assert _always(parse(pattern)) == set(tool.params), pattern


def test_tool_calls_fit_their_definitions() -> None:
    """Arguments are parameters of the listed tool, in order; optional ones only if stated."""
    rng = Random(5)
    num_left_out = 0
    for _ in range(600):
        listed, messages = tools_more.sample(rng)
        call = messages[1]["tool_calls"][0]["function"]
        functions = [d["function"] for d in listed if d["function"]["name"] == call["name"]]
        assert len(functions) == 1
        parameters, given = functions[0]["parameters"], list(call["arguments"])
        assert given == [name for name in parameters["properties"] if name in given]
        assert set(parameters.get("required", given)) <= set(given)
        left_out = set(parameters["properties"]) - set(given)
        num_left_out += bool(left_out)
        request = messages[0]["content"].lower()
        assert all(str(value).lower() in request for value in call["arguments"].values())
    assert 0 < num_left_out < 200


def test_choices_and_drills_leave_no_slot_open() -> None:
    rng = Random(6)
    for _ in range(1500):
        assert not re.search(r"\{[a-z]\w*\}", choices.sample(rng)[0])
        text, answer = copying.drill(rng)
        assert answer and "{t}" not in text + answer and "{w}" not in text


def test_dialogues_ask_for_what_was_told() -> None:
    rng = Random(8)
    for _ in range(400):
        told, pairs = copying.dialogue(rng)
        text = told or pairs[0][0]
        for question, answer in pairs:
            assert not re.search(r"\{[a-z]\w*\}", question)
            if answer.startswith("{"):
                held = json.loads(answer)
                assert all(key in question and str(value) in text for key, value in held.items())
            else:
                assert answer in text


def test_extraction_in_turns_reads_the_text_anew() -> None:
    rng = Random(8)
    for _ in range(300):
        pairs = extraction.in_turns(rng)
        assert len(pairs) > 1
        assert all(one[1] != two[1] for one, two in pairwise(pairs))
        for question, answer in pairs:
            for key, value in json.loads(answer).items():
                assert key in question.lower() or key in question
                assert isinstance(value, int | float) or value in pairs[0][0]


def test_marked_texts_state_every_value_once() -> None:
    """Each value occurs once, and a name fits one field only."""
    rng = Random(9)
    for marked in extraction_marked.TEXTS:
        names = [name for field in marked.fields for name in field.names]
        assert len(set(names)) == len(names) and len(marked.fields) > 1, names
        text, stated = marked.stated(rng)
        assert not re.search(r"[{}<>]", text), text
        for field in marked.fields:
            value = stated[field.names[0]]
            shown = re.escape(str(value)) + ("0?" if isinstance(value, float) else "")
            assert len(re.findall(rf"(?<![\w.]){shown}(?!\w|\.\d)", text)) == 1, (value, text)


def test_what_is_told_is_asked_for_and_answered() -> None:
    rng = Random(10)
    for _ in range(500):
        told, asked, answer = conversations.told_thing(rng)
        thing, value = re.fullmatch(r"(?:Your|The) (.+?) is (?:on |at )?(.+)\.", answer).groups()
        assert value in told and thing in told and thing in asked, (told, asked, answer)
        assert not re.search(r"[\[\]{}|]", told + asked)


def test_a_word_is_picked_among_words_of_another_kind() -> None:
    rng = Random(6)
    for _ in range(3000):
        text, answer = choices._pick(rng)
        assert answer in text


def test_of_two_things_the_one_that_is_asked_for_is_named() -> None:
    rng = Random(12)
    more = {word for measure in choices.T.MEASURES for word in measure[2].split(", ")}
    less = {word for measure in choices.T.MEASURES for word in measure[3].split(", ")}
    assert not more & less
    for _ in range(1000):
        text, answer = choices.which_thing(rng)
        asked = [word for word in more | less if re.search(rf"\b{word}\b", text)]
        assert len({word in more for word in asked}) == 1, text
        figures = [int(figure) for figure in re.findall(r"\d+", text)]
        told = re.search(rf"\b{answer}\b.*?(\d+)", text)
        assert told, text
        assert int(told[1]) == (max if asked[0] in more else min)(figures), (text, answer)


def test_choices_asked_again_are_answered_for_the_new_word() -> None:
    rng = Random(8)
    for _ in range(1500):
        for asked, answer in choices_again.run(rng)[1:]:
            number = re.search(r"\d+", asked)
            if answer in ("Odd", "Even"):
                assert number and (int(number.group(0)) % 2 == 1) == (answer == "Odd")
            elif " names " in answer:
                word, kind = re.fullmatch(r"(Yes|No), (\w+) names an? (.+)\.", answer).groups()[1:]
                assert word in asked and word in choices.KINDS[kind]
            elif answer.isdigit():
                assert answer in re.findall(r"\d+", asked)


def test_no_question_is_a_wording_of_the_generator() -> None:
    asked = [q["messages"][-1]["content"] for q in read_questions(QUESTIONS)]
    assert [text for text in asked if wordings.contains(text)] == []


def test_the_generator_check_recognises_the_generator() -> None:
    rng = Random(11)
    assert all(wordings.contains(ask(rng.choice(FACTS), rng)) for _ in range(60))


def test_the_honesty_check_looks_behind_lead_ins() -> None:
    """A later turn counts as a wording of the generator with its lead-in and without it."""
    rng = Random(9)
    for _ in range(40):
        text = conversations.led_in("Which port does the server use?", rng)
        assert text.lower().endswith("which port does the server use?") and len(text) > 33
        behind = wordings.behind(conversations.LEAD_INS, normalise(text))
        assert "which port does the server use" in behind, text
    assert wordings.contains(text)
    assert wordings.contains("And 38?") and not wordings.contains("And on Mars?")


def test_the_honesty_check_recognises_wide_extraction() -> None:
    """A framed sentence of the generator counts as a wording of the generator."""
    for text in (
        "JSON with name and city: Petra Alvo left Zorin at 31",
        "Sensor KX-12 reports 21 degrees.\nJSON with sensor, temperature",
        "Parcel KX-7 could not be delivered. We left it with your neighbour Mr Dahl, "
        "612 Mill Street.\n"
        "JSON with neighbour and road",
    ):
        assert wordings.contains(text)


@pytest.mark.parametrize(
    "question", [q for q in read_questions(QUESTIONS) if q["category"] == "facts"],
    ids=lambda q: q["id"],
)  # fmt: skip
def test_a_fact_question_accepts_one_fact_only(question: dict[str, Any]) -> None:
    found = [f.key for f in FACTS if accepted(f.answer, question["accept"])]
    assert len(found) == 1
