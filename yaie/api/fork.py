"""`Fork`: one prefix and its continuations, which share it in the radix tree."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from yaie.api.outputs import RequestOutput, StreamPiece
from yaie.api.prompt_kinds import GrammarLike, grammars_of, samplings_of
from yaie.api.prompts import ReadPrompt
from yaie.api.ranked_choice import Choice
from yaie.api.request_maker import CallOptions
from yaie.base.types import SamplingParams

if TYPE_CHECKING:
    from yaie.api.llm import LLM

Continuation = str | Sequence[int]


class Fork:
    """A prefix whose tokens stay the same, whatever follows. Made by `LLM.fork`.

    Each continuation is encoded separately, so all continuations share every token of the prefix.
    The first continuation computes the prefix, which then stays cached like any other prefix.
    """

    def __init__(
        self, llm: LLM, prefix: ReadPrompt, default: SamplingParams, options: CallOptions
    ) -> None:
        self._llm = llm
        self._prefix = prefix
        self._default = default
        self._options = options

    @property
    def token_ids(self) -> tuple[int, ...]:
        """Tokens of the prefix."""
        return self._prefix.token_ids

    def __len__(self) -> int:
        return len(self._prefix.token_ids)

    def generate(
        self,
        continuations: Continuation | Sequence[Continuation] = "",
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        grammar: GrammarLike | Sequence[GrammarLike | None] | None = None,
        progress: bool = True,
    ) -> list[RequestOutput]:
        """Answer the prefix followed by each continuation; as `LLM.generate`."""
        read = [self._follow(each) for each in _list_continuations(continuations)]
        samplings = samplings_of(sampling_params, len(read), self._default)
        grammars = grammars_of(grammar, len(read))
        return self._llm._run(read, samplings, grammars, self._options, progress)

    def stream(
        self,
        continuation: Continuation = "",
        sampling_params: SamplingParams | None = None,
        *,
        grammar: GrammarLike | None = None,
    ) -> Generator[StreamPiece, None, None]:
        """Answer the prefix plus one continuation as a stream; as `LLM.stream`."""
        (sampling,) = samplings_of(sampling_params, 1, self._default)
        (following,) = grammars_of(grammar, 1)
        return self._llm._stream_read(
            self._follow(continuation), sampling, following, self._options
        )

    def fork(self, continuation: Continuation) -> Fork:
        """Return a longer prefix: this one and the continuation."""
        return Fork(self._llm, self._follow(continuation), self._default, self._options)

    def choose(self, choices: Sequence[str], *, per_token: bool = False) -> Choice:
        """Rank texts as continuations of the prefix; as `LLM.choose`."""
        return self._llm._rank(self._prefix, choices, self._options, per_token=per_token)

    def _follow(self, continuation: Continuation) -> ReadPrompt:
        read = self._llm._read_continuation(continuation)
        prefix = self._prefix
        known = prefix.text is not None and read.text is not None
        return replace(
            prefix,
            text=(prefix.text or "") + (read.text or "") if known else None,
            token_ids=prefix.token_ids + read.token_ids,
        )


def _list_continuations(continuations: Any) -> list[Continuation]:
    """Return continuations as a list; one of token ids is a list too."""
    if isinstance(continuations, str):
        return [continuations]
    listed = list(continuations)
    is_one = bool(listed) and all(hasattr(item, "__index__") for item in listed)
    return [listed] if is_one else listed
