"""The language of the project: the field's terms, and sentences that a reader reads once."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
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
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LEAST_SPACES = 2  # in a string that people read
OPENERS = re.compile(
    r"(What|Whether|Who|Whose|Where|How|Which|Whatever|Whoever|Those|Such|Nobody|Nothing)\b"
)
# Phrases that make a reader look back for the noun, and homely words, with their replacement.
HARD_PHRASES = {
    r"(that|those) of|the others|another one": "the noun again",
    r"of (its|their) own": "separate",
    r"of no (more )?use|none does|(keeps?|stores?|sends?|sets) none": "0 disables it",
    r"beside": "in addition to, next to",
    r"behind (it|the|them|each|its|their|that)": "after",
    r"le(ft|aves?|aving) ((it|them|one|some) )?out": "omit",
    r"figures": "numbers, measurements",
    r"goes on|go on": "continue",
}
# The server's room whose text is still to be cleaned, and pages that quote or date from before.
UNCLEANED = ("yaie/server/responses_api",)
UNCLEANED_PAGES = ("docs/decisions", "docs/internals/development.md", "docs/reference/responses.md")


def any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    groups = "|".join(f"(?P<w{i}>{pattern})" for i, pattern in enumerate(patterns))
    return re.compile(rf"\b(?:{groups})\b", re.IGNORECASE)


BANNED, HARD = any_of(HOUSE_WORDS), any_of(HARD_PHRASES)
SUBJECT_VERBS = ("Add", "Fix", "Remove", "Rename", "Move", "Speed up", "Test", "Document")


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def other_texts() -> list[Path]:
    docs = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    kernels = ROOT / "yaie/kernels/csrc"
    return sorted([*docs, *(path for path in kernels.iterdir() if path.is_file())])


def is_below(path: Path, places: Iterable[str]) -> bool:
    """Return True if a path is one of some places of the repository, or in one."""
    return any(path.is_relative_to(ROOT / place) for place in places)


def comments_and_strings(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or (
            token.type == getattr(tokenize, "FSTRING_MIDDLE", None)
        ):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def docstrings_of(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


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
        f"{path.relative_to(ROOT)}:{line} {text.splitlines()[0]}"
        for path in python_files("yaie", "server", "benchmarks")
        for line, text in docstrings_of(path)
        if OPENERS.match(text)
    ]
    assert not found, "\n".join(found)


def hard_phrases(lines: Iterable[tuple[str, str]]) -> list[str]:
    terms = list(HARD_PHRASES.values())
    return [
        f"{place}: {match.group()!r}; write: {terms[int(str(match.lastgroup)[1:])]}"
        for place, line in lines
        for match in HARD.finditer(line)
    ]


def prose(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the docstrings and comments of a Python file, with their places."""
    name = path.relative_to(ROOT)
    for line, text in docstrings_of(path):
        yield f"{name}:{line}", text
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            is_trailing = token.line[: token.start[1]].strip()
            yield f"{name}:{token.start[0]}", token.string if is_trailing else token.string[1:]


def messages(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the strings of a Python file that people read: help, metrics, errors, log lines."""
    tree = ast.parse(path.read_text())
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in documented and node.value.count(" ") >= LEAST_SPACES:
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def test_docstrings_and_comments_repeat_their_nouns() -> None:
    paths = [path for path in python_files("yaie", "server") if not is_below(path, UNCLEANED)]
    texts = [each for path in paths for each in prose(path)]
    assert texts
    found = hard_phrases(texts)
    assert not found, "\n".join(found)


def test_help_metrics_and_errors_repeat_their_nouns() -> None:
    texts = [each for path in python_files("yaie", "server") for each in messages(path)]
    found = hard_phrases(texts)
    assert not found, "\n".join(found)


def test_pages_repeat_their_nouns() -> None:
    pages = [path for path in other_texts() if path.suffix == ".md"]
    found = [
        phrase
        for page in pages
        if not is_below(page, UNCLEANED_PAGES)
        for phrase in hard_phrases(
            (f"{page.relative_to(ROOT)}:{number}", line)
            for number, line in enumerate(page.read_text().splitlines(), 1)
        )
    ]
    assert not found, "\n".join(found)


def test_the_subject_of_the_last_commit_opens_with_a_verb() -> None:
    command = ["git", "log", "-1", "--no-merges", "--format=%s"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("no git history: an exported source tree")
    subject = found.stdout.strip()
    assert subject.startswith(SUBJECT_VERBS), subject
    assert len(subject) <= 72


def test_a_hard_phrase_would_be_found() -> None:
    lines = [("a:1", "its rows and those of the engine"), ("a:2", "the text after the name")]
    assert hard_phrases(lines) == ["a:1: 'those of'; write: the noun again"]


def test_a_house_word_would_be_found() -> None:
    lines = iter([(7, "# the tails are cut anew"), (8, "# top-k truncation")])
    found = house_words(ROOT / "yaie/x.py", lines)
    assert [line.split("; write")[0] for line in found] == [
        "yaie/x.py:7: 'tails'",
        "yaie/x.py:7: 'anew'",
    ]
