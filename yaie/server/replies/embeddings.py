"""Reply of `POST /v1/embeddings`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from yaie.server.replies.reply import GenerationReply
from yaie.server.schemas.embeddings import (
    Embedding,
    EmbeddingBody,
    EmbeddingList,
    EmbeddingUsage,
)
from yaie.server.schemas.generation_replies import CachedTokens
from yaie.server.schemas.reply_struct import ReplyStruct
from yaie.text.answer import TextPiece
from yaie.text.embeddings import vector_of

if TYPE_CHECKING:
    from yaie.text.embeddings import Vector


class EmbeddingReply(GenerationReply):
    """Reply with one vector for each input; it is never a stream."""

    whole: type[ReplyStruct] = EmbeddingList
    event: type[ReplyStruct] = EmbeddingList

    def opening(self) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    def closing(self) -> bytes:
        """Return nothing: there is no stream."""
        return b""

    @property
    def body(self) -> EmbeddingBody:
        """The request."""
        body = self.call.body
        assert isinstance(body, EmbeddingBody)
        return body

    def vectors(self) -> list[Vector]:
        """Return the vectors of the inputs, in order."""
        how, dimensions = self.call.embedding, self.body.dimensions
        assert how is not None
        return [vector_of(answer.pooled, how, dimensions) for answer in self.generation.answers]

    def collect(self, pieces: Mapping[int, TextPiece]) -> ReplyStruct:
        """Return the whole reply."""
        usage, as_text = self.generation.usage, self.body.encoding_format == "base64"
        return EmbeddingList(
            data=[
                Embedding(
                    index=index,
                    embedding=base64.b64encode(vector.astype("<f4").tobytes()).decode()
                    if as_text
                    else vector.tolist(),
                )
                for index, vector in enumerate(self.vectors())
            ],
            model=self.call.model,
            usage=EmbeddingUsage(
                prompt_tokens=usage.prompt_tokens,
                total_tokens=usage.prompt_tokens,
                prompt_tokens_details=CachedTokens(cached_tokens=usage.cached_tokens),
            ),
        )
