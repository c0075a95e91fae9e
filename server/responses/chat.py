"""Responses of `POST /v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.responses.base import GenerationResponse
from server.responses.logprobs import chat_logprobs
from yaie.text.answer import TextPiece


class ChatResponse(GenerationResponse):
    """Response with messages; their content is all that the model writes, tool calls included."""

    object_name = "chat.completion"
    chunk_name = "chat.completion.chunk"

    def opening(self) -> bytes:
        """Return a chunk with the role for each choice."""
        extra = self.prompt_ids()
        delta = {"role": "assistant", "content": ""}
        return b"".join(
            self.chunk({"index": index, "delta": delta, "logprobs": None, "finish_reason": None},
                       **extra)
            for index in range(self.call.num_choices)
        )  # fmt: skip

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return chunks with content, then an empty delta with the finish reason."""
        return b"".join(self._events_of(index, piece) for index, piece in pieces.items())

    def _events_of(self, index: int, piece: TextPiece) -> bytes:
        body = b""
        wants_ids = self.call.return_token_ids and piece.token_ids
        if piece.text or piece.logprobs or wants_ids:
            choice: dict[str, Any] = {
                "index": index,
                "delta": {"content": piece.text},
                "logprobs": self._logprobs(piece.logprobs),
                "finish_reason": None,
            }
            if self.call.return_token_ids:
                choice["token_ids"] = piece.token_ids
            body = self.chunk(choice)
        if piece.finish_reason is not None:
            body += self.chunk(
                {
                    "index": index,
                    "delta": {},
                    "logprobs": None,
                    "finish_reason": piece.finish_reason,
                    "stop_reason": piece.stop_reason,
                }
            )
        return body

    def reply(self, pieces: Mapping[int, TextPiece]) -> dict[str, Any]:
        """Return the whole response."""
        choices = []
        for index, piece in pieces.items():
            written: dict[str, Any] = {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": piece.text,
                    "refusal": None,
                },
                "logprobs": self._logprobs(piece.logprobs),
                "finish_reason": piece.finish_reason,
                "stop_reason": piece.stop_reason,
            }
            if self.call.return_token_ids:
                written["token_ids"] = piece.token_ids
            choices.append(written)
        return self.document(choices)

    def _logprobs(self, given: Any) -> dict[str, Any] | None:
        if self.call.sampling.logprobs is None:
            return None
        return chat_logprobs(self.tokenizer, given)
