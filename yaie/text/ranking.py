"""Ranking: queries and documents as the tokens that a reranker reads, and its rows as scores."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import partial

from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.base.model_tasks import ranking_of
from yaie.base.types import EngineInfo
from yaie.text.tokenizer import Tokenizer, too_long

# The prompts that the models were trained with.
_QWEN3_BEGIN = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
_QWEN3_END = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
_QWEN3_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_GEMMA_TASK = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the "
    "query by providing a prediction of either 'Yes' or 'No'."
)


class Ranker:
    """The text side of one reranker."""

    def __init__(self, tokenizer: Tokenizer, info: EngineInfo) -> None:
        """Raises `InvalidRequest` for a model that is no reranker."""
        self._tokenizer = tokenizer
        self._longest = info.max_model_len
        self._how = ranking_of(info)

    def encode(
        self,
        query: str,
        document: str,
        instruction: str | None = None,
        *,
        truncates: bool = False,
        name: str = "documents",
    ) -> list[int]:
        """Return the token ids of the prompt that asks about a document.

        Everything before the document is the same for all documents, and so are its tokens.
        `truncates` cuts the end of a document beyond the context. Raises `InvalidRequest` for an
        instruction that the model does not read, and `ContextLengthExceeded`; `name` is the
        document's name in errors.
        """
        form = self._how.form
        if instruction is not None and form == "pair":
            raise InvalidRequest(
                "this model reads a query and a document without an instruction; omit it",
                param="instruction",
            )
        if form == "pair":
            return self._encode_pair(query, document, truncates=truncates, name=name)
        encode = partial(
            self._tokenizer.encode,
            add_special_tokens=False,
            max_tokens=None if truncates else self._longest,
            name=name,
        )
        if form == "qwen3":
            task = _QWEN3_TASK if instruction is None else instruction
            begin, end = encode(_QWEN3_BEGIN), encode(_QWEN3_END)
            asked = f"<Instruct>: {task}\n<Query>: {query}\n<Document>: "
            middle = encode(asked + document)
            num_asked = len(begin) + len(encode(asked))
        else:
            begin = [*self._first(), *encode(f"A: {query}"), *encode("\n")]
            middle = encode(f"B: {document}")
            end = encode("\n") + encode(_GEMMA_TASK if instruction is None else instruction)
            num_asked = len(begin)
        excess = len(begin) + len(middle) + len(end) - self._longest
        if excess > 0:
            self._check_room(num_asked + len(end), excess, truncates=truncates, name=name)
            middle = middle[: len(middle) - excess]
        return begin + middle + end

    def score(self, pooled: bytes) -> float:
        """Return a score of an answer. Raises `RequestFailed` for an aborted one, without it."""
        return score_of(pooled, is_probability=self._how.is_probability)

    def _first(self) -> list[int]:
        begin = self._tokenizer.bos_token_id
        return [] if begin is None else [begin]

    def _encode_pair(self, query: str, document: str, *, truncates: bool, name: str) -> list[int]:
        found = self._tokenizer.encode_pair(query, document)
        excess = len(found.ids) - self._longest
        if excess <= 0:
            return list(found.ids)
        own = [at for at, sequence in enumerate(found.sequence_ids) if sequence == 1]
        self._check_room(len(found.ids) - len(own), excess, truncates=truncates, name=name)
        cut = set(own[-excess:])
        return [token_id for at, token_id in enumerate(found.ids) if at not in cut]

    def _check_room(self, num_asked: int, excess: int, *, truncates: bool, name: str) -> None:
        """Raise `ContextLengthExceeded` unless the document's end can be cut."""
        if not truncates:
            raise too_long(name, self._longest + excess, self._longest)
        if num_asked >= self._longest:
            raise too_long("query", num_asked, self._longest)


def score_of(pooled: bytes, *, is_probability: bool) -> float:
    """Return a score of an answer. Raises `RequestFailed` for an aborted one, without it."""
    if not pooled:
        raise RequestFailed("a document was aborted before its score was computed", code="aborted")
    (logit,) = struct.unpack("<f", pooled)
    if not is_probability:
        return float(logit)
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def best_first(scores: Sequence[float], top_n: int | None) -> list[tuple[int, float]]:
    """Return the places and scores of the `top_n` best, or of all; of equals the first is first."""
    places = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [(at, scores[at]) for at in places[:top_n]]
