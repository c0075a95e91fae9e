"""Replies of `POST /v1/rerank` and `POST /v1/score`."""

from __future__ import annotations

from collections.abc import Mapping

from yaie.server.replies.reply import GenerationReply
from yaie.server.requests.ranking_inputs import document_texts
from yaie.server.schemas.embeddings import EmbeddingUsage
from yaie.server.schemas.generation_replies import CachedTokens
from yaie.server.schemas.ranking import (
    RankedText,
    RerankBody,
    RerankReply,
    RerankResult,
    ScoreReply,
    TextScore,
)
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.text.answer import TextPiece
from yaie.text.ranking import best_first, score_of


class PairScores(GenerationReply):
    """Reply with one score for each pair of texts; it is never a stream."""

    whole: type[ReplyStruct] = ScoreReply
    event: type[ReplyStruct] = ScoreReply

    def opening(self) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    def closing(self) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    def scores(self) -> list[float]:
        """Return the scores of the pairs, in order."""
        how = self.call.ranking
        assert how is not None
        return [
            score_of(answer.pooled, is_probability=how.is_probability)
            for answer in self.generation.answers
        ]

    def usage(self) -> EmbeddingUsage:
        """Return the numbers of tokens, over all pairs."""
        usage = self.generation.usage
        return EmbeddingUsage(
            prompt_tokens=usage.prompt_tokens,
            total_tokens=usage.prompt_tokens,
            prompt_tokens_details=CachedTokens(cached_tokens=usage.cached_tokens),
        )

    def collect(self, pieces: Mapping[int, TextPiece]) -> ReplyStruct:
        """Return the whole reply."""
        return ScoreReply(
            id=self.call.response_id,
            created=self.call.created,
            model=self.call.model,
            data=[TextScore(index=at, score=score) for at, score in enumerate(self.scores())],
            usage=self.usage(),
        )


class RankedDocuments(PairScores):
    """Reply with the best documents, best first."""

    whole: type[ReplyStruct] = RerankReply
    event: type[ReplyStruct] = RerankReply

    def collect(self, pieces: Mapping[int, TextPiece]) -> ReplyStruct:
        """Return the whole reply."""
        body = self.call.body
        assert isinstance(body, RerankBody)
        texts = None if body.return_documents is False else document_texts(body)
        return RerankReply(
            id=self.call.response_id,
            model=self.call.model,
            results=[
                RerankResult(
                    index=at,
                    relevance_score=score,
                    document=None if texts is None else RankedText(text=texts[at]),
                )
                for at, score in best_first(self.scores(), body.top_n)
            ],
            usage=self.usage(),
        )
