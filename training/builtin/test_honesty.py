"""The frozen questions are honest: the generator cannot write them, and each accepts one fact."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.questions import accepted, read_questions
from training.builtin import conversations, wordings
from training.builtin.facts import FACTS, ask
from training.builtin.grammar import normalise

QUESTIONS = Path(__file__).resolve().parents[2] / "tests/models/builtin_questions.jsonl"


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
