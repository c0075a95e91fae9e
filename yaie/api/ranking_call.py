"""`RankingCall`: queries and documents as requests, and their answers as scores."""

from __future__ import annotations

from collections.abc import Sequence

from yaie.api.prompt_kinds import naming_entry
from yaie.api.prompts import ReadPrompt
from yaie.api.ranking import RankedDocument, Ranking, Scores
from yaie.api.request_maker import CallOptions, RequestMaker
from yaie.base.errors import InvalidRequest, YaieError
from yaie.text.answer import Answer
from yaie.text.ranking import Ranker, best_first


class RankingCall:
    """The pairs of one call. `answers` by request id, to be grown by an engine."""

    def __init__(
        self,
        maker: RequestMaker,
        queries: str | Sequence[str],
        documents: str | Sequence[str],
        *,
        instruction: str | None,
        truncate: bool,
        options: CallOptions,
    ) -> None:
        """Raises `InvalidRequest`; a wrong document of a list is named by its index."""
        self._ranker = Ranker(maker.tokenizer, maker.info)
        pairs = make_pairs(queries, documents)
        self._documents = [document for _, document in pairs]
        self.answers: dict[str, Answer] = {}
        for index, (query, document) in enumerate(pairs):
            name = f"documents[{index}]"
            ids = self._ranker.encode(query, document, instruction, truncates=truncate, name=name)
            with naming_entry(name):
                read = ReadPrompt(document, tuple(ids))
                request = maker.pooled(read, "score", options)
                self.answers[request.request_id] = maker.answer(request, read)

    def scores(self) -> Scores:
        """Return the scores, once every answer is over. Raises the engine's first error."""
        answers = self.answers.values()
        for answer in answers:
            if answer.error is not None:
                raise YaieError.from_wire(answer.error)
        return Scores(
            [self._ranker.score(answer.pooled) for answer in answers],
            sum(answer.usage.prompt_tokens for answer in answers),
            sum(answer.usage.cached_tokens for answer in answers),
        )

    def ranking(self, top_n: int | None) -> Ranking:
        """Return the `top_n` best documents, or all. Raises as `scores`."""
        found = self.scores()
        results = [
            RankedDocument(at, score, self._documents[at])
            for at, score in best_first(found.scores, top_n)
        ]
        return Ranking(results, found.prompt_tokens, found.cached_tokens)


def check_ranking(query: object, top_n: int | None) -> None:
    """Raise `InvalidRequest` unless there is one query, and at least one result is wanted."""
    if not isinstance(query, str) or not query:
        raise InvalidRequest(
            f"query must be a string that is not empty, got {type(query).__name__}; for pairs of "
            "two lists call score",
            param="query",
        )
    if top_n is not None and top_n < 1:
        raise InvalidRequest(f"top_n must be at least 1, got {top_n}", param="top_n")


def make_pairs(
    queries: str | Sequence[str], documents: str | Sequence[str]
) -> list[tuple[str, str]]:
    """Return pairs of one query and each document, or of two lists. Raises `InvalidRequest`."""
    first, second = _listed(queries, "query"), _listed(documents, "documents")
    if len(first) == 1:
        first *= len(second)
    if len(first) != len(second):
        raise InvalidRequest(
            f"{len(first)} queries and {len(second)} documents make no pairs; give one query, or "
            "as many as documents",
            param="query",
        )
    return list(zip(first, second, strict=True))


def _listed(texts: str | Sequence[str], name: str) -> list[str]:
    listed = [texts] if isinstance(texts, str) else list(texts)
    for text in listed:
        if not isinstance(text, str) or not text:
            raise InvalidRequest(f"{name} must be strings that are not empty", param=name)
    return listed
