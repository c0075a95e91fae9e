"""Block names: the chain's properties that routers and event consumers rely on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaie.kvcache.block_names import block_names, root_name, routing_names
from yaie.kvcache.node import as_tokens

TOKENS = st.lists(st.integers(0, 2**31 - 1), max_size=100)
NameBlocks = Callable[..., list[int]]
both = pytest.mark.parametrize("name_blocks", [block_names, routing_names])


@both
@given(tokens=TOKENS, more=TOKENS, size=st.sampled_from([1, 4, 16]))
def test_names_depend_on_the_prefix_alone(
    name_blocks: NameBlocks, tokens: list[int], more: list[int], size: int
) -> None:
    root = root_name("model", ("owner", "salt"))
    names = name_blocks(as_tokens(tokens), root, size)
    assert len(names) == len(tokens) // size
    assert name_blocks(as_tokens(tokens + more), root, size)[: len(names)] == names
    assert all(0 < name < 2**64 for name in names)


@both
@given(tokens=TOKENS, cut=st.integers(0, 100))
def test_a_chain_continues_behind_its_last_name(
    name_blocks: NameBlocks, tokens: list[int], cut: int
) -> None:
    root = root_name("model")
    whole = name_blocks(as_tokens(tokens), root, 4)
    first = whole[: cut // 4]
    rest = name_blocks(as_tokens(tokens[len(first) * 4 :]), first[-1] if first else root, 4)
    assert first + rest == whole


@both
def test_models_namespaces_and_earlier_tokens_change_every_name(name_blocks: NameBlocks) -> None:
    def names(model: str, namespace: str, first: int) -> set[int]:
        tokens = as_tokens([first, *range(63)])
        return set(name_blocks(tokens, root_name(model, namespace)))

    every = [names(*each) for each in [("a", "x", 0), ("b", "x", 0), ("a", "y", 0), ("a", "x", 1)]]
    assert len(set.union(*every)) == 16


def test_names_are_the_same_in_every_process() -> None:
    assert root_name("builtin", ("", "")) == 1671965591286021120
    assert block_names(as_tokens(range(16)), 1) == [16421513093407227046]
    assert routing_names(as_tokens(range(16)), 1) == [11371682407937345577]
