"""`UnreadTokens`: the tokens of a call that its client has not read, within limits."""

from __future__ import annotations

from collections.abc import Callable

from yaie.base.types import TokenDelta
from yaie.server.http.http_errors import AnswerTooLarge, ClientTooSlow
from yaie.server.replies.logprob_formats import num_logprobs, num_prompt_logprobs
from yaie.server.requests.call import Call

# Unread tokens of a choice of a stream; more end the request.
MAX_UNREAD_TOKENS = 16_384
# Tokens and log-probabilities (half a KiB each) that are stored for a call.
MAX_STORED_NUMBERS = 2**20
# Memory for the unread tokens of all streams, by estimates; beyond it the largest stream ends.
MAX_UNREAD_BYTES = 32 * 1024**2
_TOKEN_BYTES, _LOGPROB_BYTES = 64, 512


def _do_nothing() -> None:
    """End a stream that has ended."""


class UnreadMemory:
    """Memory that the streams of a server take for slow readers. A stream is known by its end."""

    def __init__(self) -> None:
        self._sizes: dict[Callable[[], None], int] = {}
        self._num_bytes = 0

    def set(self, end: Callable[[], None], num_bytes: int) -> None:
        """Note what a stream takes now; call the `end` of the largest one beyond the limit."""
        self._num_bytes += num_bytes - self._sizes.pop(end, 0)
        if num_bytes:
            self._sizes[end] = num_bytes
        while self._num_bytes > MAX_UNREAD_BYTES:
            largest = max(self._sizes, key=lambda each: self._sizes[each])
            self._num_bytes -= self._sizes.pop(largest)
            largest()


class UnreadTokens:
    """Numbers of unread tokens by choice. Whole answers store log-probabilities to their end."""

    def __init__(self, call: Call, memory: UnreadMemory, end: Callable[[], None]) -> None:
        self._call = call
        self._memory = memory
        self._end = end  # called when the client reads too slowly for the memory
        self._taken_bytes = self._unread_bytes = 0
        self.by_choice: dict[int, int] = {}
        self._num_unread = self._num_stored = 0  # tokens and log-probabilities

    def check_prompts(self) -> None:
        """Raise `AnswerTooLarge` if the prompts alone have too many log-probabilities."""
        call = self._call
        if call.prompt_copies * num_prompt_logprobs(call.requests) > MAX_STORED_NUMBERS:
            raise self._too_large()

    def add(self, choice: int, delta: TokenDelta) -> None:
        """Count a delta. Raises `ClientTooSlow` or `AnswerTooLarge` beyond a limit."""
        num_tokens = len(delta.token_ids)
        num_unread = self.by_choice[choice] = self.by_choice.get(choice, 0) + num_tokens
        if delta.logprobs or delta.prompt_logprobs is not None:
            self._add_logprobs(delta)
        if not self._call.stream:
            return
        self._num_unread += num_tokens
        self._unread_bytes += num_tokens * _TOKEN_BYTES
        self._memory.set(self._end, self._taken_bytes + self._unread_bytes)
        if num_unread > MAX_UNREAD_TOKENS:
            raise ClientTooSlow(
                f"the client left {MAX_UNREAD_TOKENS} tokens of a choice unread; the request was "
                f"aborted"
            )
        if self._num_unread > MAX_STORED_NUMBERS:
            raise ClientTooSlow(
                f"the client left {MAX_STORED_NUMBERS} tokens and log-probabilities unread; the "
                f"request was aborted"
            )

    def take(self) -> dict[int, int]:
        """Return the numbers by choice, and begin again without unread tokens.

        Their memory is free at the next call: the client reads them meanwhile.
        """
        self._taken_bytes, self._unread_bytes = self._unread_bytes, 0
        if self._call.stream:
            self._memory.set(self._end, self._taken_bytes)
        found, self.by_choice, self._num_unread = self.by_choice, {}, 0
        return found

    def close(self) -> None:
        """Free the memory, and forget the end: it refers to the call's `Generation`."""
        self._memory.set(self._end, 0)
        self._taken_bytes = self._unread_bytes = 0
        self._end = _do_nothing

    def _add_logprobs(self, delta: TokenDelta) -> None:
        number = num_logprobs(delta.logprobs)
        if self._call.stream:
            self._num_unread += number
            self._unread_bytes += number * _LOGPROB_BYTES
        else:
            self._num_stored += number
        if delta.prompt_logprobs is not None:
            self._num_stored += num_logprobs(filter(None, delta.prompt_logprobs))
        if self._num_stored > MAX_STORED_NUMBERS:
            raise self._too_large()

    def _too_large(self) -> AnswerTooLarge:
        or_else = "" if self._call.stream else ", or for a stream"
        return AnswerTooLarge(
            f"this answer has more than {MAX_STORED_NUMBERS} log-probabilities that must be held "
            "until it is written; ask for fewer of them, or for fewer tokens, choices or prompts"
            + or_else
        )
