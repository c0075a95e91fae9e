"""`return_tokens_as_token_ids`: tokens in logprobs are named by their ids."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server import test_chat, test_completions
from yaie.text.tokenizer import Tokenizer

SAID = test_chat.SAID
BY_ID = {"return_tokens_as_token_ids": True}


def names(token_ids: list[int]) -> list[str]:
    return [f"token_id:{token_id}" for token_id in token_ids]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_in_chats(http: TestClient, tokenizer: Tokenizer, is_streamed: bool) -> None:
    def content(**fields: Any) -> list[Any]:
        fields = {"logprobs": True, "top_logprobs": 2, **fields}
        if not is_streamed:
            return list(test_chat.chat(http, **fields)["choices"][0]["logprobs"]["content"])
        choices = [chunk["choices"][0] for chunk in test_chat.stream(http, **fields)]
        return [one for each in choices if each["logprobs"] for one in each["logprobs"]["content"]]

    shown, plain = content(**BY_ID), content()
    said = tokenizer.encode(SAID)
    assert [one["token"] for one in shown] == names(said)
    for token_id, one in zip(said, shown, strict=True):
        assert [top["token"] for top in one["top_logprobs"]] == names([token_id, token_id + 1])
    assert [one["bytes"] for one in shown] == [one["bytes"] for one in plain]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_in_completions_with_an_echo(
    http: TestClient, tokenizer: Tokenizer, is_streamed: bool
) -> None:
    fields = {"prompt": [5, 6, 7], "echo": True, "logprobs": 2, **BY_ID}
    if is_streamed:
        parts = [
            chunk["choices"][0]["logprobs"] for chunk in test_completions.stream(http, **fields)
        ]
    else:
        parts = [test_completions.complete(http, **fields)["choices"][0]["logprobs"]]
    tokens = [name for part in parts if part for name in part["tokens"]]
    tops = [top for part in parts if part for top in part["top_logprobs"]]
    ids = [5, 6, 7, *tokenizer.encode(SAID)]
    assert tokens == names(ids)
    assert tops[0] is None
    assert [list(top) for top in tops[1:]] == [names([each, each + 1]) for each in ids[1:]]
