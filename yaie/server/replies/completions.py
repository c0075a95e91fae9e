"""Replies of `POST /v1/completions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from yaie.base.types import TokenLogprobs
from yaie.server.replies.chunked_reply import ChunkedReply, end_of
from yaie.server.replies.generation import Generation
from yaie.server.replies.logprob_formats import CompletionLogprobs, EchoedLogprobs
from yaie.server.requests.comparison import NO_NOTES, CacheNotes
from yaie.server.schemas.generation_replies import (
    TextChoice,
    TextChunkChoice,
    TextCompletion,
    TextCompletionChunk,
    TextLogprobs,
    WholeCompletion,
)
from yaie.text.answer import TextPiece
from yaie.text.tokenizer import Tokenizer


class CompletionReply(ChunkedReply):
    """Reply with text, and the prompt in front of it with `echo`."""

    whole = TextCompletion
    event = TextCompletionChunk

    def __init__(
        self, generation: Generation, tokenizer: Tokenizer, notes: CacheNotes = NO_NOTES
    ) -> None:
        super().__init__(generation, tokenizer, notes)
        self._logprobs = [self._writer() for _ in range(self.call.num_choices)]
        self._echoed: dict[int, EchoedLogprobs] = {}  # by prompt
        self._is_opened = [False] * self.call.num_choices

    def _writer(self) -> CompletionLogprobs:
        skips = self.call.sampling.skip_special_tokens
        return CompletionLogprobs(self.tokenizer, skips, by_id=self.call.names_by_id)

    def opening(self) -> bytes:
        """Return an empty opening: a completion begins with its first text."""
        return b""

    def events(self, pieces: Mapping[int, TextPiece]) -> bytes:
        """Return one chunk per choice; its last one has the finish reason."""
        body = b""
        for index, piece in pieces.items():
            body += self._event_of(index, piece)
        return body

    def num_logprobs(self, pieces: Mapping[int, TextPiece]) -> int:
        """Return the number of tokens whose logprobs `events` would write, echoed ones included."""
        opened = {
            index // self.call.sampling.n for index in pieces if not self._is_opened[index]
        } - self._echoed.keys()
        of_prompts = (self.generation.answers[prompt].prompt_logprobs for prompt in opened)
        return super().num_logprobs(pieces) + sum(len(each or ()) for each in of_prompts)

    def _event_of(self, index: int, piece: TextPiece) -> bytes:
        is_first = not self._is_opened[index]
        if self._is_text_only and not (
            is_first or self.call.prompt_only or piece.finish_reason is not None
        ):
            self.count(piece)
            return self.text_chunk(index, piece.text, _chunk_choice) if piece.text else b""
        if not self.call.prompt_only:
            self.count(piece)
        text, token_ids, logprobs = self._select(
            index, piece.text, piece.token_ids, piece.logprobs, is_first
        )
        extra = self.prompt_ids() if is_first else {}
        self._is_opened[index] = True
        wants_ids = self.call.return_token_ids and (token_ids or is_first)
        if not (text or logprobs or wants_ids or piece.finish_reason):
            return b""
        choice = _chunk_choice(index, text)
        choice.logprobs = logprobs
        if piece.finish_reason is not None:
            choice.finish_reason = end_of(piece)
            choice.stop_reason = piece.stop_reason
        if self.call.return_token_ids:
            choice.token_ids = token_ids
            if is_first:
                choice.prompt_token_ids = self._prompt_of(index)
        return self.chunk(choice, **extra)

    def collect(self, pieces: Mapping[int, TextPiece]) -> WholeCompletion:
        """Return the whole reply."""
        choices = []
        for index, piece in pieces.items():
            text, token_ids, logprobs = self._select(
                index, piece.text, piece.token_ids, piece.logprobs, True
            )
            choice = TextChoice(
                index=index,
                text=text,
                logprobs=logprobs,
                finish_reason=end_of(piece),
                stop_reason=piece.stop_reason,
                **self.prompt_logprobs(index // self.call.sampling.n),
            )
            if self.call.return_token_ids:
                choice.token_ids = token_ids
                choice.prompt_token_ids = self._prompt_of(index)
            choices.append(choice)
        return self.document(choices)

    def _prompt_of(self, index: int) -> tuple[int, ...]:
        return self.call.requests[index // self.call.sampling.n].prompt_token_ids

    def _select(
        self,
        index: int,
        text: str,
        token_ids: Sequence[int],
        logprobs: Sequence[TokenLogprobs],
        is_first: bool,
    ) -> tuple[str, Sequence[int], TextLogprobs | None]:
        """Return text, token ids and logprobs to show; the first of a choice has the echo."""
        call = self.call
        if call.prompt_only:
            text, token_ids, logprobs = "", (), ()
        echoed: EchoedLogprobs | None = None
        if is_first and call.echoes:
            prompt = index // call.sampling.n
            text = call.echoes[prompt] + text
            if call.sampling.logprobs is not None:
                echoed = self._echo_logprobs(prompt, call.sampling.logprobs)
        if call.sampling.logprobs is None or not (logprobs or echoed):
            return text, token_ids, None
        writer = self._logprobs[index]
        if echoed is None:
            return text, token_ids, writer.write(token_ids, logprobs)
        writer.continue_after(echoed)
        return text, token_ids, echoed.before(writer.write(token_ids, logprobs))

    def _echo_logprobs(self, prompt: int, num_top: int) -> EchoedLogprobs | None:
        of_prompt = self.generation.answers[prompt].prompt_logprobs
        if of_prompt is not None and prompt not in self._echoed:
            token_ids = self.call.requests[prompt].prompt_token_ids
            writer = self._writer()
            # `prompt_logprobs` may have asked for more of them.
            shown = [one and replace(one, top=one.top[:num_top]) for one in of_prompt]
            self._echoed[prompt] = writer.write_echo(token_ids, shown, self.call.echoes[prompt])
        return self._echoed.get(prompt)


def _chunk_choice(index: int, text: str) -> TextChunkChoice:
    return TextChunkChoice(index=index, text=text, logprobs=None, finish_reason=None)
