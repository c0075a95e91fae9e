"""The language of the project: the field's terms, docstrings that open with a verb or a noun."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = ("yaie", "server", "benchmarks", "tests", "training", "scripts")

# Pattern of a house word, and the term that the field uses for it.
HOUSE_WORDS = {
    r"the line is full|stand(s|ing)? in line": "the waiting queue",
    r"stretch(es)?": "unary chain, run of slots",
    r"loose": "trimmable",
    r"no numbers": "non-finite (NaN, Inf)",
    r"to score a prompt|scor(es|ing) of prompts?": "prompt logprobs",
    r"cut tails|tails": "top-k, top-p and min-p truncation",
    r"weighs all": "full-vocabulary sampling",
    r"gives? way|victim standing": "is preempted, priority order",
    r"dear(er|est)? (request|one|prompt)s?": "expensive",
    r"wish(es)?": "option",
    r"front doors?": "client, entry point",
    r"last words": "final message",
    r"crumbs?|snug": "fragment, best fit",
    r"control groups?": "cgroup",
    r"past the caches": "non-temporal store",
    r"soften(s|ed|ing)?\w*": "softmax",
    r"put_line|lay_out": "store cache line, pack",
    r"foresee(s|n|ing)?": "estimate",
    r"owed": "reply pending",
    r"anew": "again",
    r"of no use|no good": "unusable, invalid",
    r"whoever|nobody|somebody|everybody|anybody": "the subject's name",
    r"but for": "except",
    r"in the midst of": "inside",
    r"heed(s|ed)?": "obey",
    r"at its most": "peak",
}
BANNED = re.compile(
    "|".join(f"(?P<w{i}>\\b(?:{pattern})\\b)" for i, pattern in enumerate(HOUSE_WORDS)),
    re.IGNORECASE,
)
OPENERS = re.compile(
    r"(What|Whether|Who|Whose|Where|How|Which|Whatever|Whoever|Those|Such|Nobody|Nothing)\b"
)


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def other_texts() -> list[Path]:
    docs = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    kernels = ROOT / "yaie/kernels/csrc"
    return sorted([*docs, *(path for path in kernels.iterdir() if path.is_file())])


def comments_and_strings(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or (
            token.type == getattr(tokenize, "FSTRING_MIDDLE", None)
        ):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


@cache
def docstrings() -> tuple[tuple[str, str], ...]:
    found = []
    for path in python_files("yaie", "server", "benchmarks"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    line = getattr(node, "lineno", 1)
                    found.append((f"{path.relative_to(ROOT)}:{line}", text))
    return tuple(found)


def house_words(path: Path, lines: Iterator[tuple[int, str]]) -> list[str]:
    terms = list(HOUSE_WORDS.values())
    return [
        f"{path.relative_to(ROOT)}:{number}: {match.group()!r}; write: "
        + terms[int(str(match.lastgroup)[1:])]
        for number, line in lines
        for match in BANNED.finditer(line)
    ]


@pytest.mark.parametrize("folder", CODE)
def test_comments_and_strings_use_the_terms_of_the_field(folder: str) -> None:
    found = []
    for path in python_files(folder):
        if path != Path(__file__).resolve():
            found += house_words(path, comments_and_strings(path))
    assert not found, "\n".join(found)


def test_documents_and_kernels_use_the_terms_of_the_field() -> None:
    found = []
    for path in other_texts():
        found += house_words(path, enumerate(path.read_text().splitlines(), 1))
    assert not found, "\n".join(found)


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    found = [
        f"{place} {text.splitlines()[0]}" for place, text in docstrings() if OPENERS.match(text)
    ]
    assert not found, "\n".join(found)


def test_a_house_word_would_be_found() -> None:
    lines = iter([(7, "# the tails are cut anew"), (8, "# top-k truncation")])
    found = house_words(ROOT / "yaie/x.py", lines)
    assert [line.split("; write")[0] for line in found] == [
        "yaie/x.py:7: 'tails'",
        "yaie/x.py:7: 'anew'",
    ]
