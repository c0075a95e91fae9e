"""The workloads share exactly the stated tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers.workloads import (
    SHAPES,
    build,
    choose_shapes,
    count_distinct,
    read_vocabulary,
)
from yaie.base.errors import InvalidRequest, ModelNotFound
from yaie.models.builtin import BUILTIN_MODEL_DIR
from yaie.text.tokenizer import load_tokenizer

WORDS = range(100, 20_000)
# Conversations, turns of each, prompt tokens of all first turns, and of these the distinct ones.
EXPECTED = {
    "w1": (32, 1, 32 * 1088, 1024 + 32 * 64),
    "w2": (8, 4, 8 * 560, 2 * 512 + 8 * 48),
    "w3": (16, 1, 16 * 512, 16 * 512),
    "w4": (1, 1, 128, 128),
    "w5": (8, 1, 8 * 256, 8 * 256),
    "w6": (16, 1, 16 * 3648, 3584 + 16 * 64),
    "w6-8k": (16, 1, 16 * 8256, 8192 + 16 * 64),
    "w7": (32, 1, 32 * 1088, 1024 + 32 * 64),
}


@pytest.mark.parametrize("name", SHAPES)
def test_first_turns_form_the_workload_s_tree(name: str) -> None:
    workload = build(name, SHAPES[name], 5, WORDS)
    first = [turns[0] for turns in workload.conversations]
    turns = {len(turns) for turns in workload.conversations}
    found = (len(first), *turns, sum(map(len, first)), count_distinct(first))
    # Two random own parts may begin with the same token.
    assert found[:3] == EXPECTED[name][:3]
    assert EXPECTED[name][3] - 2 <= found[3] <= EXPECTED[name][3]


def test_answers_have_the_stated_lengths_and_numbers() -> None:
    out = {name: build(name, shape, 1, WORDS).num_output_tokens for name, shape in SHAPES.items()}
    assert out == {
        "w1": 32 * 32,
        "w2": 8 * 4 * 32,
        "w3": 16 * 32,
        "w4": 128,
        "w5": 8 * 8 * 64,
        "w6": 16 * 64,
        "w6-8k": 16 * 64,
        "w7": 32 * 32,
    }


def test_a_turn_is_sent_with_its_history() -> None:
    workload = build("w2", SHAPES["w2"], 1, WORDS)
    of_one = sum(512 + 48 * (turn + 1) + 32 * turn for turn in range(4))
    assert workload.num_prompt_tokens == 8 * of_one
    # Held by then: all but the own tokens of a turn and the last token of the answer before.
    expected = 2 * 512 + 8 * 48 + 8 * 3 * (48 + 1)
    assert expected - 2 <= workload.num_distinct_prompt_tokens <= expected


def test_a_replay_repeats_and_another_seed_differs() -> None:
    w1, w7 = (build(name, SHAPES[name], 3, WORDS) for name in ("w1", "w7"))
    assert w1.conversations == w7.conversations
    other = build("w1", SHAPES["w1"], 4, WORDS)
    assert count_distinct([c[0] for c in (*w1.conversations, *other.conversations)]) > 6000


def test_distinct_tokens_are_the_nodes_of_a_trie() -> None:
    prompts = [(1, 2, 3), (1, 2, 4), (1, 2, 3), (5,), (2, 2, 3)]
    nodes = {prompt[:end] for prompt in prompts for end in range(1, len(prompt) + 1)}
    assert count_distinct(prompts) == len(nodes) == 8


def test_requests_hold_whole_words_without_special_tokens() -> None:
    vocabulary = read_vocabulary(BUILTIN_MODEL_DIR)
    tokenizer = load_tokenizer(BUILTIN_MODEL_DIR)
    assert len(vocabulary) > 200
    words = [tokenizer.decode([index]) for index in vocabulary]
    assert all(word.strip().isalpha() and word.startswith(" ") for word in words)


def test_a_tokenizer_with_few_words_gives_all_usual_tokens(tmp_path: Path) -> None:
    described = {
        "added_tokens": [{"id": 0, "content": "<s>"}],
        "model": {"vocab": {"<s>": 0, "a": 1, "b": 2}},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    assert read_vocabulary(tmp_path) == [1, 2]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"tokenizer\.json"):
        read_vocabulary(tmp_path)


def test_an_unknown_workload_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match=r"'w9'; there are w1, .*w6-8k"):
        choose_shapes(["w1", "w9"])


def test_quick_keeps_the_structure() -> None:
    for name, shape in choose_shapes([], quick=True).items():
        full = SHAPES[name]
        assert shape.longest < full.longest
        assert (shape.num_turns, shape.is_replay) == (full.num_turns, full.is_replay)
        assert (shape.num_prefixes > 0, shape.num_samples > 1) == (
            full.num_prefixes > 0,
            full.num_samples > 1,
        )
