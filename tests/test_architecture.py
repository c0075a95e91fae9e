"""The architecture page: a reader finds the few files of a change, and the types of a request."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/internals/architecture.md").read_text()
MOST_FILES = 4


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


TYPES = [(name.strip("`"), path.strip("`")) for name, path, _ in rows("A chat request")]


def sources(*roots: str) -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text()
        for root in roots
        for path in sorted((ROOT / root).rglob("*.py"))
    }


@cache
def names(text: str) -> set[str]:
    """Return the names and the plain strings of a source; docstrings and comments are left out."""
    tree = ast.parse(text)
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize(
    ("example", "change"),
    [
        ("presence_penalty", "a sampling parameter"),
        ("lru", "an eviction policy"),
        ("ReferenceBackend", "an attention backend"),
        ("Qwen3ForCausalLM", "a model family"),
    ],
)
def test_the_code_names_an_example_in_few_files(example: str, change: str) -> None:
    """The files that name an example are those that the change has touched.

    A flag of the command line is a further choice.
    """
    found = [path for path, text in sources("yaie", "server").items() if example in names(text)]
    found = [path for path in found if path != "yaie/cli/sampling_options.py"]
    assert 0 < len(found) <= MOST_FILES, f"{change}: {found}"


@pytest.mark.parametrize(("name", "path"), TYPES)
def test_the_types_of_a_request_are_where_the_page_says(name: str, path: str) -> None:
    assert re.search(rf"^class {name}\b", (ROOT / path).read_text(), re.MULTILINE)


def test_only_the_engine_loop_turns_commands_into_calls_of_the_core() -> None:
    calls = {
        path: text.count("core.add(") + text.count("core.step(") + text.count("core.abort(")
        for path, text in sources("yaie", "server").items()
    }
    assert [path for path, number in calls.items() if number] == ["yaie/engine/loop.py"]
