"""Translation of bodies for rerankers into calls: one engine request for each pair of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.model_tasks import ranking_of
from yaie.base.types import EngineInfo
from yaie.server.requests.call import Call, Caller
from yaie.server.requests.checks import check_limits, check_unused
from yaie.server.requests.pooled_call import make_pooled_call
from yaie.server.schemas.ranking import RankingBody, RerankBody, ScoreBody
from yaie.text.ranking import Ranker
from yaie.text.tokenizer import Tokenizer

MAX_DOCUMENTS = 2048
MAX_TOKENS, MAX_CONTEXTS = 2**21, 16  # of all prompts of a request: the larger of both

Pairs = dict[str, tuple[str, str]]  # query and document, by the document's name in errors


def read_pairs(body: RankingBody, info: EngineInfo) -> Pairs:
    """Return a body's pairs. Raises `InvalidRequest` or a subclass, with the field's name."""
    ranking_of(info)
    check_unused(body)
    check_limits(body)
    assert isinstance(body, RerankBody | ScoreBody)
    return rerank_pairs(body) if isinstance(body, RerankBody) else score_pairs(body)


def make_ranking_call(
    body: RankingBody, pairs: Pairs, tokenizer: Tokenizer, info: EngineInfo, caller: Caller
) -> Call:
    """Translate a body and its pairs. Raises `InvalidRequest` or a subclass."""
    most, num_tokens = max(MAX_TOKENS, MAX_CONTEXTS * info.max_model_len), 0
    ranker = Ranker(tokenizer, info)
    prompts = []
    for name, (query, document) in pairs.items():
        ids = ranker.encode(
            query, document, body.instruction, truncates=bool(body.truncate), name=name
        )
        if not ids:
            raise InvalidRequest(f"{name} has no tokens; send at least one", param=name)
        num_tokens += len(ids)
        if num_tokens > most:
            raise InvalidRequest(
                f"the prompts up to {name} have {num_tokens} tokens, the query in each; at most "
                f"{most} are allowed; send fewer documents in one request",
                param=name.partition("[")[0],
            )
        prompts.append(ids)
    prefix = "rerank" if isinstance(body, RerankBody) else "score"
    return make_pooled_call(body, prompts, info, caller, prefix=prefix, ranking=ranking_of(info))


def rerank_pairs(body: RerankBody) -> Pairs:
    """Return the pairs of a query and documents. Raises `InvalidRequest`."""
    query, documents = _text_of(body.query, "query"), body.documents
    if not isinstance(documents, list) or not documents:
        raise InvalidRequest(
            "documents must be a list of strings or of objects with a text, and not empty",
            param="documents",
        )
    _check_number(documents, "documents")
    if body.top_n is not None and body.top_n < 1:
        raise InvalidRequest(f"top_n must be at least 1, got {body.top_n}", param="top_n")
    names = (f"documents[{at}]" for at in range(len(documents)))
    return {
        name: (query, _text_of(each, name)) for name, each in zip(names, documents, strict=True)
    }


def score_pairs(body: ScoreBody) -> Pairs:
    """Return the pairs of two texts or lists of texts. Raises `InvalidRequest`."""
    first, second = _list_of(body.text_1, "text_1"), _list_of(body.text_2, "text_2")
    if len(first) == 1:
        first *= len(second)
    if len(first) != len(second):
        raise InvalidRequest(
            f"text_1 has {len(first)} texts and text_2 has {len(second)}; send one text_1, or as "
            "many as text_2 has",
            param="text_1",
        )
    return {f"text_2[{at}]": pair for at, pair in enumerate(zip(first, second, strict=True))}


def document_texts(body: RerankBody) -> list[str]:
    """Return the documents' texts, in their order."""
    return [_text_of(each, "documents") for each in body.documents]


def _text_of(given: object, name: str) -> str:
    if isinstance(given, Mapping):
        given = given.get("text")
    if not isinstance(given, str) or not given:
        raise InvalidRequest(
            f"{name} must be a string or an object with a text, and not empty", param=name
        )
    return given


def _list_of(given: Any, name: str) -> list[str]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not listed:
        raise InvalidRequest(
            f"{name} must be a string or a list of strings, and not empty", param=name
        )
    _check_number(listed, name)
    return [_text_of(each, f"{name}[{at}]") for at, each in enumerate(listed)]


def _check_number(given: list[Any], name: str) -> None:
    if len(given) > MAX_DOCUMENTS:
        raise InvalidRequest(
            f"{name} has {len(given)} entries; at most {MAX_DOCUMENTS} are allowed", param=name
        )
