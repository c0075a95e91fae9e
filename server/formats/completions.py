"""The answers of `POST /v1/completions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server.formats.common import AnswerForm
from server.formats.logprobs import CompletionLogprobs
from server.generation import Generation
from yaie.text.assemble import TextPiece
from yaie.text.tokenizer import Tokenizer
from yaie.types import TokenLogprobs


class CompletionForm(AnswerForm):
    """Text, with the prompt before it where `echo` asks for it."""

    object_name = "text_completion"
    chunk_name = "text_completion"

    def __init__(self, generation: Generation, tokenizer: Tokenizer) -> None:
        super().__init__(generation, tokenizer)
        skips = generation.call.sampling.skip_special_tokens
        self._logprobs = [CompletionLogprobs(tokenizer, skips) for _ in self.choices]
        self._is_opened = [False] * len(self.choices)

    def opening(self) -> bytes:
        """Nothing: a completion begins with its first text."""
        return b""

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """One chunk per choice; the last carries the finish reason."""
        return b"".join(self._event_of(index, piece) for index, piece in pieces.items())

    def _event_of(self, index: int, piece: TextPiece) -> bytes:
        text, token_ids, logprobs = self._shown(
            index, piece.text, piece.token_ids, piece.logprobs, not self._is_opened[index]
        )
        extra = {} if self._is_opened[index] else self.prompt_ids()
        self._is_opened[index] = True
        wants_ids = self.call.return_token_ids and token_ids
        if not (text or logprobs or wants_ids or extra or piece.finish_reason):
            return b""
        choice: dict[str, Any] = {
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": piece.finish_reason,
        }
        if piece.finish_reason is not None:
            choice["stop_reason"] = piece.stop_reason
        if self.call.return_token_ids:
            choice["token_ids"] = token_ids
        return self.chunk(choice, **extra)

    def reply(self) -> dict[str, Any]:
        """The whole answer."""
        choices = []
        for index, choice in enumerate(self.choices):
            text, token_ids, logprobs = self._shown(
                index, "".join(choice.texts), choice.token_ids, choice.logprobs, True
            )
            written: dict[str, Any] = {
                "index": index,
                "text": text,
                "logprobs": logprobs,
                "finish_reason": choice.finish_reason,
                "stop_reason": choice.stop_reason,
            }
            if self.call.return_token_ids:
                written["token_ids"] = token_ids
                request = self.call.requests[index // self.call.sampling.n]
                written["prompt_token_ids"] = request.prompt_token_ids
            choices.append(written)
        return self.document(choices)

    def _shown(
        self,
        index: int,
        text: str,
        token_ids: Sequence[int],
        logprobs: Sequence[TokenLogprobs],
        is_first: bool,
    ) -> tuple[str, Sequence[int], dict[str, Any] | None]:
        """What is shown of some tokens: with the prompt before the first, where it is echoed."""
        call = self.call
        if call.prompt_only:
            text, token_ids, logprobs = "", (), ()
        listed: list[TokenLogprobs | None] = list(logprobs)
        listed_ids = list(token_ids)
        echo, num_echoed = "", 0
        if is_first and call.echoes:
            prompt = index // call.sampling.n
            echo = call.echoes[prompt]
            text = echo + text
            of_prompt = self.generation.prompt_logprobs[prompt]
            if of_prompt is not None:
                num_echoed = len(of_prompt)
                listed = [*of_prompt, *listed]
                listed_ids = [*call.requests[prompt].prompt_token_ids, *listed_ids]
        if call.sampling.logprobs is None or not listed:
            return text, token_ids, None
        written = self._logprobs[index].write(listed_ids, listed, echo, num_echoed)
        return text, token_ids, written
