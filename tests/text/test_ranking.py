"""Prompts of rerankers: the tokens of the whole text, although the query is encoded once."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers.processors import TemplateProcessing

from tests.ranking_model import BEGIN, END, TASK
from yaie.base.ranking_info import RankingInfo
from yaie.text.ranking import _GEMMA_TASK, Ranker
from yaie.text.tokenizer import Tokenizer, load_tokenizer

PARTS = ("the tree", " ", "\n", "  ", "?", "a", "Grüße", "\r\n", "<", "is", "🙂", ": ", "0")
LONGEST = 10_000


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(PARTS, k=rng.randint(1, 8)))


def ranker_of(form: Any, tokenizer: Tokenizer) -> Ranker:
    info: Any = SimpleNamespace(
        max_model_len=LONGEST, ranking=RankingInfo(form=form, is_probability=True), model="m"
    )
    return Ranker(tokenizer, info)


@pytest.mark.parametrize("form", ["qwen3", "gemma", "pair"])
@pytest.mark.parametrize("kind", ["byte_level", "sentencepiece_like"])
def test_prompts_are_those_of_whole_texts(
    form: str, kind: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = load_tokenizer(request.getfixturevalue(kind).path)  # a copy, to be changed
    rng = random.Random(form + kind)

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    if form == "pair":
        marks = ["<|im_start|>", "<|im_end|>"]
        tokenizer.fast.post_processor = TemplateProcessing(
            single="<|im_start|> $A <|im_end|>",
            pair="<|im_start|> $A <|im_end|> <|im_end|> $B:1 <|im_end|>:1",
            special_tokens=[(mark, tokenizer.marker_ids[mark]) for mark in marks],
        )
    ranker = ranker_of(form, tokenizer)
    for _ in range(40):
        query, document = random_text(rng), random_text(rng)
        if form == "pair":
            wanted = list(tokenizer.encode_pair(query, document).ids)
        elif form == "qwen3":
            asked = f"<Instruct>: {TASK}\n<Query>: {query}\n<Document>: {document}"
            wanted = encode(BEGIN) + encode(asked) + encode(END)
        else:
            first = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
            parts = (f"A: {query}", "\n", f"B: {document}", "\n", _GEMMA_TASK)
            wanted = first + [token for part in parts for token in encode(part)]
        assert ranker.encode(query, document) == wanted, (query, document)
