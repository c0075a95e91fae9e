"""The text of the package by which int4 is calibrated: its size, its origins and its variety."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from yaie.models.quantization.calibration_text import DEFAULT

PARTS: list[dict[str, Any]] = tomllib.loads(DEFAULT.read_text(encoding="utf-8"))["part"]
OWN = "written for this project"
# Bytes of 1,024 and 2,048 tokens of a usual tokenizer, which large models use.
LEAST_BYTES, FEW_BYTES = 3_000, 6_000


def content(part: dict[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    return "\n".join(message["content"] for message in part["messages"])


def kinds(text: str) -> set[str]:
    """Return the kinds of text that its marks show."""
    marks = {
        "code": r"^\s+(return|for|if) .*[:{;]$",
        "short lines": r"^(.{50,79}\n){6}",
        "long lines": r"^.{300,}$",
        "dialogue": r"[\"'`]\w.*' ?(said|she|he)\b|\" (said|Peter)",
        "list": r"^ *(-|\*|\d+\.) ",
        "table": r"^\|.*\|$",
        "numbers": r"\d.*= *\$?\d",
        "law": r"\b(Waiver|License)\b",
        "mathematics": r"\\frac|f'\(x\)",
        "other alphabets": r"[а-я]{3}.*[ぁ-ん一-龥]{3}",
        "data": r'[{\[]"\w+": ',
    }
    return {name for name, mark in marks.items() if re.search(mark, text, re.MULTILINE)}


def test_it_has_some_eight_thousand_tokens() -> None:
    """SmolLM2 makes 8,260 tokens of it, of which 8,192 are used."""
    assert 25_000 < len("".join(map(content, PARTS)).encode()) < 32_000


@pytest.mark.parametrize("part", PARTS, ids=lambda part: content(part)[:20].strip())
def test_each_part_names_its_origin(part: dict[str, Any]) -> None:
    assert set(part) in ({"origin", "text"}, {"origin", "messages"})
    assert part["origin"] == OWN or part["origin"].endswith("public domain")


def test_it_has_all_kinds_of_text() -> None:
    found = set().union(*(kinds(content(part)) for part in PARTS))
    assert found >= {
        *("code", "short lines", "long lines", "dialogue", "list", "table", "numbers"),
        *("law", "mathematics", "other alphabets", "data"),
    }
    assert sum(part["origin"] != OWN for part in PARTS) >= 4
    assert sum("messages" in part for part in PARTS) >= 5


@pytest.mark.parametrize(("used", "least"), [(LEAST_BYTES, 3), (FEW_BYTES, 5)])
def test_its_beginning_has_several_kinds(used: int, least: int) -> None:
    begun, place = [], 0
    for part in PARTS:
        begun.append(part)
        place += len(content(part).encode())
        if place >= used:
            break
    assert len(begun) >= least
    assert {"messages" in part for part in begun} == {True, False}
    found = set().union(*(kinds(content(part)) for part in begun))
    assert found >= {"code", "short lines", "list"}
