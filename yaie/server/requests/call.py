"""`Call`: one API request, ready to run, and the `Caller` that sent it.

A `Translator` makes a call once; nothing changes it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yaie.base.types import GenerationRequest, SamplingParams
from yaie.server.requests.digests import Digest
from yaie.server.requests.next_turn import NextTurn
from yaie.text.output_parts import OutputParser, PlainText


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The client of a request: its tenant, its cache namespace and its priority limit."""

    tenant: str = ""
    owner: str = ""  # cached prefixes are shared among requests with one owner
    least_priority: int | None = None  # lowest priority number allowed; None sets no limit
    model: str | None = None  # the name by which the client knows the model

    def limit_priority(self, wanted: int) -> int:
        """Return the priority number of a request that wants `wanted`."""
        return wanted if self.least_priority is None else max(wanted, self.least_priority)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One API request, ready to run: one engine request per prompt, each with `n` choices."""

    response_id: str
    created: int  # unix time, seconds
    model: str
    requests: tuple[GenerationRequest, ...]
    sampling: SamplingParams
    stream: bool
    include_usage: bool
    return_token_ids: bool
    ignored: tuple[str, ...]  # names of fields without effect
    echoes: tuple[str, ...] = ()  # text before the answers of each prompt, with `echo`
    prompt_only: bool = False  # max_tokens 0: the single sampled token is not shown
    make_parser: Callable[[], OutputParser] = PlainText  # one for each choice
    continuous_usage: bool = False  # usage so far in each chunk
    system_fingerprint: str = ""
    service_tier: str | None = None  # named in the answer if the request named one
    prompt_logprobs: int | None = None  # most likely tokens to show beside prompt tokens
    names_by_id: bool = False  # tokens in logprobs
    prompt_copies: int = 1  # times that the logprobs of each prompt are written
    call_id_prefix: str = "call_"  # for tool calls to which the model gives no id
    next_turn: NextTurn | None = None  # set for a chat with one answer
    digest: Digest | None = None  # set for a chat
    is_compared: bool = False  # diagnostics were requested
    compared_with: str | None = None  # id of an earlier response
    calls_functions: bool = False  # a chat's calls are written in OpenAI's older form
    body: object = None  # the body of another API that was translated into this call

    @property
    def num_choices(self) -> int:
        """Number of sequences over all prompts."""
        return len(self.requests) * self.sampling.n
