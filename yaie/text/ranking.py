"""Ranking: queries and documents as the tokens that a reranker reads, and its rows as scores."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.base.model_tasks import ranking_of
from yaie.base.types import EngineInfo
from yaie.text.content_markers import TextMarkers, find_markers
from yaie.text.tokenizer import TextKind, Tokenizer, encode_start, too_long

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


@dataclass(frozen=True, slots=True)
class _Question:
    """A prompt without a document. `lead` is encoded with the document."""

    begin: list[int]
    lead: str
    end: list[int]


class Ranker:
    """The text side of one reranker. Markers in queries and documents stay text."""

    def __init__(self, tokenizer: Tokenizer, info: EngineInfo) -> None:
        """Raises `InvalidRequest` for a model that is no reranker."""
        self._tokenizer = tokenizer
        self._longest = info.max_model_len
        self._how = ranking_of(info)
        ids, special = tokenizer.marker_ids, tokenizer.special_ids
        self._markers = TextMarkers(find_markers(ids, special, _QWEN3_BEGIN + _QWEN3_END))
        self._asked: tuple[str, str | None, bool] | None = None
        self._question: _Question | None = None  # the last one: documents share it

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
        asked = query, instruction, truncates
        if self._question is None or asked != self._asked:
            self._question, self._asked = self._ask(*asked), asked
        question = self._question
        ids = self._encode(question.lead + document, name, truncates=truncates)
        excess = len(question.begin) + len(ids) + len(question.end) - self._longest
        if excess > 0:
            if not truncates:
                raise too_long(name, self._longest + excess, self._longest, "document")
            ids = ids[: len(ids) - excess]
        return question.begin + ids + question.end

    def _ask(self, query: str, instruction: str | None, truncates: bool) -> _Question:
        encode = partial(self._encode, name="query", truncates=truncates, kind="query")
        form, lead = self._how.form, ""
        if form == "pair":
            if instruction is not None:
                raise InvalidRequest(
                    "this model reads a query and a document without an instruction; omit it",
                    param="instruction",
                )
            before, between, end = self._frame()
            begin = [*before, *encode(query), *between]
        elif form == "qwen3":
            task = _QWEN3_TASK if instruction is None else instruction
            asked, lead = f"<Instruct>: {task}\n<Query>: {query}\n", "<Document>: "
            begin, end = self._tokens(_QWEN3_BEGIN), self._tokens(_QWEN3_END)
            ids = encode(asked)
            if encode(f"{asked}{lead}a") == ids + encode(f"{lead}a"):
                begin = begin + ids
            else:  # the tokenizer joins texts in another way
                lead = asked + lead
        else:
            lead = "B: "
            begin = [*self._first(), *encode(f"A: {query}"), *encode("\n")]
            task = _GEMMA_TASK if instruction is None else instruction
            end = encode("\n") + encode(task, name="instruction")
        num_tokens = len(begin) + len(encode(lead)) + len(end)
        if num_tokens >= self._longest:
            raise too_long("query", num_tokens, self._longest, "query")
        return _Question(begin, lead, end)

    def _encode(
        self, text: str, name: str, *, truncates: bool, kind: TextKind = "document"
    ) -> list[int]:
        def encode(part: str, most: int | None = None) -> list[int]:
            return self._tokenizer.encode_pieces(self._markers.cut(part), most, name, kind)

        if truncates:
            return encode_start(encode, text, self._longest)
        return encode(text, self._longest)

    def _tokens(self, text: str) -> list[int]:
        """Return the token ids of the model's text, with its markers."""
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _frame(self) -> tuple[list[int], list[int], list[int]]:
        """Return the special tokens before, between and after the two texts of a pair."""
        found = self._tokenizer.encode_pair("a", "a")
        places = found.sequence_ids
        ends = [len(places) - places[::-1].index(sequence) for sequence in (0, 1)]
        starts = [places.index(sequence) for sequence in (0, 1)]
        ids = list(found.ids)
        return ids[: starts[0]], ids[ends[0] : starts[1]], ids[ends[1] :]

    def score(self, pooled: bytes) -> float:
        """Return a score of an answer. Raises `RequestFailed` for an aborted one, without it."""
        return score_of(pooled, is_probability=self._how.is_probability)

    def _first(self) -> list[int]:
        begin = self._tokenizer.bos_token_id
        return [] if begin is None else [begin]


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
