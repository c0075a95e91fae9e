"""`ResponseCache`: answers to identical deterministic requests, without the engine.

It stores engine deltas, so a hit may be streamed or whole, in any API's format. The key is the
whole request with its tenant: two tenants never share an answer. 0 bytes disable it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from yaie.base.fair_shares import FairShares
from yaie.base.server_settings import ServerConfig
from yaie.base.types import GenerationRequest, TokenDelta
from yaie.client.submission import Sink, Submission, Submitter
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation
from yaie.server.requests.call import Call

HEADER = "X-YAIE-Response-Cache"
_ENTRY_BYTES = 512  # objects around an answer
_TOKEN_BYTES = 16
_LOGPROB_BYTES = 128
_MAX_SHARE = 4  # an answer beyond this part of the cache would empty it


@dataclass(frozen=True, slots=True)
class _Entry:
    answers: tuple[tuple[TokenDelta, ...], ...]  # by prompt
    tenant: str
    nbytes: int
    stored_at: float


class Recorder:
    """Submitter that records the engine's deltas, up to a number of bytes."""

    def __init__(self, client: Submitter, key: bytes, most_bytes: int, epoch: int) -> None:
        self.key = key
        self.epoch = epoch
        self.answers: list[list[TokenDelta]] = []
        self.nbytes = len(key) + _ENTRY_BYTES
        self._client = client
        self._most_bytes = most_bytes

    @property
    def is_too_large(self) -> bool:
        """True if the answer exceeds its limit; then it is not cached."""
        return self.nbytes > self._most_bytes

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Send the request to the engine, and record its deltas."""
        said: list[TokenDelta] = []
        self.answers.append(said)

        def record(delta: TokenDelta) -> None:
            if not self.is_too_large:
                said.append(delta)
                self.nbytes += _size(delta)
                if self.is_too_large:
                    self.answers = []
            sink(delta)

        return self._client.submit(request, record)


class Replay:
    """Submitter that gives recorded answers, prompt by prompt."""

    def __init__(self, answers: Sequence[Sequence[TokenDelta]]) -> None:
        self._answers = iter(answers)

    def submit(self, request: GenerationRequest, sink: Sink) -> Submission:
        """Push the recorded deltas of the next prompt, once the caller has the submission."""
        submission = Submission(request, sink, lambda submission, index: None)
        loop = asyncio.get_running_loop()
        loop.call_soon(_push, submission, next(self._answers))
        return submission


def _push(submission: Submission, deltas: Sequence[TokenDelta]) -> None:
    request = submission.request
    for delta in deltas:
        if not submission.is_open:
            return
        submission.sink(
            msgspec.structs.replace(
                delta,
                request_id=request.request_id,
                num_cached_tokens=len(request.prompt_token_ids),  # none was computed
                num_accepted=0,
                num_rejected=0,
            )
        )


class ResponseCache:
    """Answers by request; the tenant that holds the most loses its least recently used one first.

    Without API keys all clients are one tenant, since a client could choose any. `clock`: monotonic
    seconds.
    """

    def __init__(
        self,
        settings: ServerConfig,
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_tenant = settings.has_keys
        self._most_bytes = settings.response_cache_bytes
        self._longest_s = settings.response_cache_s
        self._clock = clock
        self._epoch = 0  # number of the last `clear`
        self._entries: dict[bytes, _Entry] = {}
        self._shares: FairShares[bytes] = FairShares()
        if not self._most_bytes:
            return
        self._hits = Counter(
            "yaie_response_cache_hits",
            "Requests answered from the response cache",
            registry=registry,
        )
        self._misses = Counter(
            "yaie_response_cache_misses",
            "Deterministic requests not found in the response cache",
            registry=registry,
        )
        size = Gauge("yaie_response_cache_bytes", "Response cache size in bytes", registry=registry)
        size.set_function(lambda: self.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of all answers."""
        return self._shares.num_bytes

    def clear(self) -> None:
        """Forget all answers, and answers under way: a name has another model."""
        self._epoch += 1
        for key in list(self._entries):
            self._remove(key)

    def submitter(self, model: str, client: Submitter, call: Call) -> Submitter:
        """Return the submitter for a call: the engine, a recorder of it, or the cache."""
        if not self._most_bytes or not _is_deterministic(call):
            return client
        key = _key(model, call)
        entry = self._entries.get(key)
        if entry is not None and self._clock() - entry.stored_at <= self._longest_s:
            self._shares.add(entry.tenant, key)
            self._hits.inc()
            return Replay(entry.answers)
        self._misses.inc()
        return Recorder(client, key, self._most_bytes // _MAX_SHARE, self._epoch)

    def watch(self, generation: Generation) -> dict[str, str]:
        """Cache a generation's answer when it ends; return the header of its reply."""
        if isinstance(generation.client, Replay):
            return {HEADER: "hit"}
        if isinstance(generation.client, Recorder):
            generation.at_close.append(partial(self._keep, generation.client))
            return {HEADER: "miss"}
        return {}

    def _keep(self, recorded: Recorder, ended: EndedCall) -> None:
        is_old = recorded.epoch != self._epoch
        if is_old or not ended.is_answered or recorded.is_too_large:
            return
        self._remove(recorded.key)
        answers = tuple(map(tuple, recorded.answers))
        tenant = ended.call.requests[0].tenant if self._by_tenant else ""
        entry = _Entry(answers, tenant, recorded.nbytes, self._clock())
        self._entries[recorded.key] = entry
        self._shares.add(tenant, recorded.key)
        self._shares.charge(tenant, entry.nbytes)
        while self.nbytes > self._most_bytes:
            self._remove(self._shares.next_to_leave())

    def _remove(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._shares.remove(entry.tenant, key)
            self._shares.charge(entry.tenant, -entry.nbytes)


def _is_deterministic(call: Call) -> bool:
    return call.sampling.is_greedy or call.sampling.seed is not None


def _key(model: str, call: Call) -> bytes:
    """Return everything that determines the answer, so no ids and no priorities."""
    plain = [
        replace(
            each,
            request_id="",
            call="",
            priority=0,
            queue_timeout_s=None,
            prediction=(),
            speculate=True,
        )
        for each in call.requests
    ]
    return model.encode() + b"\0" + msgspec.msgpack.encode(plain)


def _size(delta: TokenDelta) -> int:
    logprobs = [*delta.logprobs, *filter(None, delta.prompt_logprobs or ())]
    num_logprobs = sum(1 + len(each.top) for each in logprobs)
    return _ENTRY_BYTES + _TOKEN_BYTES * len(delta.token_ids) + _LOGPROB_BYTES * num_logprobs
