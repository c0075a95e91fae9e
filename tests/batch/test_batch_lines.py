"""Input files of batches: their checks, their order, and bodies read again."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.batch.request_files import CHAT, given, question, write
from yaie.base.errors import InvalidRequest
from yaie.batch.batch_lines import listed, read_input

GOOD = json.dumps(question("a"))


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('{"custom_id": "b"', "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"custom_id": "\xff"}', "not UTF-8 at byte 15"),
        (json.dumps(question("")), "custom_id must be a text with 1 to 512 characters"),
        (json.dumps({**question("b"), "custom_id": 7}), "custom_id must be a text"),
        (json.dumps({**question("b"), "method": "GET"}), "method must be POST, got 'GET'"),
        (json.dumps({**question("b"), "url": "/v1/embeddings"}), "/v1/embeddings is not served"),
        (json.dumps({**question("b"), "url": "/v1/chats"}), "url must be /v1/chat/completions or"),
        (json.dumps({**question("b"), "url": ["x"]}), "url must be"),
        (json.dumps({**question("b"), "body": "hi"}), "body must be the JSON object"),
        (json.dumps(question("b", stream=True)), "stream has no use in a batch"),
        (json.dumps(question("a")), "custom_id 'a' is also on line 1; give each line its own"),
    ],
)
def test_wrong_lines_are_told_with_their_number(tmp_path: Path, line: str, fact: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(f"{GOOD}\n\n{line}\n".encode("latin-1"))
    (problem,) = read_input(path).problems
    assert problem.line == 3
    assert fact in problem.message


def test_many_wrong_lines_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [{"custom_id": str(number)} for number in range(25)])
    told = list(listed(read_input(path).problems))
    assert told[0].startswith("line 1: url must be")
    assert told[-1] == "and 15 more"


def test_a_file_without_requests_and_a_file_with_too_many_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [])
    assert "no requests" in read_input(path).problems[0].message
    write(path, [question(str(number)) for number in range(3)])
    assert not read_input(path, most=3).problems
    (problem,) = read_input(path, most=2).problems
    assert problem.line == 3
    assert "more than 2 requests" in problem.message


def common(left: list[Any], right: list[Any]) -> int:
    """Return the number of equal first messages."""
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 99)


def test_the_order_walks_the_tree_of_conversations_depth_first(tmp_path: Path) -> None:
    chats = [
        [{"role": "system", "content": system}, {"role": "user", "content": first}, *rest]
        for system in ("be brief", "be kind", "be")
        for first in ("one", "two")
        for rest in ([], [{"role": "assistant", "content": "x"}, {"content": "y", "role": "user"}])
    ]
    lines = [question(str(at), messages=chat) for at, chat in enumerate(chats)]
    random.Random(5).shuffle(lines)
    batch = given(tmp_path / "in.jsonl", lines)
    order = [chats[int(line.custom_id)] for line in batch.lines]
    seen: list[list[Any]] = []
    for before, chat in pairwise(order):
        seen.append(before)
        # No earlier prompt shares more than the neighbour: a branch is never entered twice.
        assert max(common(chat, each) for each in seen) == common(chat, before)


def test_namespace_and_model_part_before_the_prompt(tmp_path: Path) -> None:
    lines = [
        question(f"{salt}{model}{at}", str(at), cache_salt=salt, model=model)
        for at in range(2)
        for salt in "pq"
        for model in "mn"
    ]
    batch = given(tmp_path / "in.jsonl", lines)
    assert [each.custom_id for each in batch.lines] == [
        f"{salt}{model}{at}" for salt in "pq" for model in "mn" for at in range(2)
    ]
    assert batch.models == {"m": 1, "n": 2}


def test_token_ids_and_texts_are_sorted_together(tmp_path: Path) -> None:
    url = "/v1/completions"
    prompts = [[5, 6, 7], "ab", [5, 6], ["a", "b"], "aa", [5, 61]]
    lines = [question(str(at), url=url, prompt=each) for at, each in enumerate(prompts)]
    order = [prompts[int(line.custom_id)] for line in given(tmp_path / "in", lines).lines]
    at = [order.index(each) for each in ([5, 6], [5, 6, 7], [5, 61])]
    assert max(at) - min(at) == 2


def test_a_body_is_read_again_and_a_changed_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    batch = given(path, [question("a", "A"), question("é", "B", url=CHAT, model="x")])
    with path.open("rb") as file:
        for line in batch.lines:
            body = json.loads(batch.read_body(file, line))
            assert body["messages"][0]["content"] == {"a": "A", "é": "B"}[line.custom_id]
        assert json.loads(batch.read_body(file, batch.lines[0], "m"))["model"] == "m"
        named = read_input(path, model="m")
        assert all(named.read_body(file, line) for line in named.lines)
        assert {each.result_id for each in named.lines}.isdisjoint(
            each.result_id for each in batch.lines
        )
    write(path, [question("a", "C")])
    with path.open("rb") as file:
        for line in batch.lines:
            with pytest.raises(InvalidRequest, match="changed while the batch ran"):
                batch.read_body(file, line)


def test_a_line_beyond_the_limit_is_named_and_not_parsed(tmp_path: Path) -> None:
    path = write(tmp_path / "in", [question("a"), question("b", "b" * 500_000)])
    (problem,) = read_input(path, most_bytes=100_000).problems
    assert problem.line == 2 and "a request at most 100000" in problem.message
    assert not read_input(path).problems


@pytest.mark.parametrize("text", ["[%s]", '"%s"', '{"a": "%s"', '{"a": "%s", "b": NaN}'])
def test_a_long_line_that_is_no_request_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "in"
    path.write_text(text % ("1" * 3 if text[0] == "[" else "a" * 100_000) + " " * 100_000)
    (problem,) = read_input(path).problems
    assert "JSON" in problem.message
