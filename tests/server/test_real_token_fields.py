"""Fields that name tokens by id, at a server process with a real engine."""

from __future__ import annotations

import pytest

from tests.server.real_server import Server

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("temperature", [0, 1.5])
def test_only_allowed_tokens_are_sampled(server: Server, temperature: float) -> None:
    allowed = [40, 41, 42]
    body = {"prompt": "the is", "max_tokens": 8, "n": 3, "temperature": temperature, "seed": 4}
    fields = {"allowed_token_ids": allowed, "return_token_ids": True}
    answer = server.post("/v1/completions", body | fields).json()
    for choice in answer["choices"]:
        assert len(choice["token_ids"]) == 8
        assert set(choice["token_ids"]) <= set(allowed)
    free = server.post("/v1/completions", body | {"return_token_ids": True}).json()
    assert any(set(choice["token_ids"]) - set(allowed) for choice in free["choices"])


def test_prompt_logprobs_agree_with_the_echo(server: Server) -> None:
    body = {"prompt": "the tree is", "max_tokens": 1, "return_token_ids": True, "echo": True}
    fields = {"logprobs": 1, "prompt_logprobs": 3, "return_tokens_as_token_ids": True}
    (choice,) = server.post("/v1/completions", body | fields).json()["choices"]
    prompt = choice["prompt_token_ids"]
    echoed = choice["logprobs"]
    assert echoed["tokens"][: len(prompt)] == [f"token_id:{token_id}" for token_id in prompt]
    scored = choice["prompt_logprobs"]
    assert len(scored) == len(prompt) and scored[0] is None
    for token_id, own, by_id in zip(
        prompt[1:], echoed["token_logprobs"][1:], scored[1:], strict=False
    ):
        ranks = sorted(one["rank"] for one in by_id.values())
        assert ranks[:3] == [1, 2, 3] and len(ranks) in (3, 4)
        assert by_id[str(token_id)]["logprob"] == pytest.approx(own)
        assert (by_id[str(token_id)]["rank"] > 3) == (len(ranks) == 4)


def test_prompt_logprobs_of_a_chat(server: Server) -> None:
    body = {"messages": [{"role": "user", "content": "the plan?"}], "max_tokens": 2}
    answer = server.post("/v1/chat/completions", body | {"prompt_logprobs": 0}).json()
    assert len(answer["prompt_logprobs"]) == answer["usage"]["prompt_tokens"]
    assert answer["prompt_logprobs"][0] is None
    assert all(len(by_id) == 1 for by_id in answer["prompt_logprobs"][1:])


def test_bad_words_are_not_written(server: Server) -> None:
    body = {"prompt": "the is", "max_tokens": 8, "return_token_ids": True, "temperature": 0}
    (free,) = server.post("/v1/completions", body).json()["choices"]
    tokens = server.post("/detokenize", {"tokens": free["token_ids"][:2]}).json()
    word = tokens["prompt"]
    (choice,) = server.post("/v1/completions", body | {"bad_words": [word]}).json()["choices"]
    run = server.post("/tokenize", {"prompt": word, "add_special_tokens": False}).json()["tokens"]
    written = choice["token_ids"]
    assert not any(written[at : at + len(run)] == run for at in range(len(written)))
