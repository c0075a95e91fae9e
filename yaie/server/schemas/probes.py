"""Replies of the probes, `/stats`, `/version` and `/`, and error bodies."""

from __future__ import annotations

from typing import Literal

from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, EngineState
from yaie.server.metrics.status import ServerStatus
from yaie.server.schemas.reply_struct import ReplyStruct


class StateReply(ReplyStruct, kw_only=True):
    """State of the server, as probes reply it."""

    server: Literal["yaie"] = "yaie"
    status: str
    """`healthy` (of `/readiness`: `ready`; of `/liveness`: `alive`), or the state."""
    state: Literal["busy", "starting", "ready", "draining", "stalled", "dead", "unloaded", "failed"]
    """`busy` while a sequence runs."""
    server_status: ServerStatus
    """`busy` while the waiting queue is full; `error` for an engine that is dead or stalled."""
    reason: str
    """One sentence on the state; empty for a normal one."""
    model: str
    restarts: int
    """Number of times the engine died and was started again."""
    version: str
    uptime_s: int
    active_requests: int
    """Completion requests in progress."""
    num_running: int
    """Live sequences."""
    num_waiting: int
    """Waiting requests."""
    last_step_age_s: float | None
    """Seconds since steps were last seen, by a probe or a request; null before the first."""
    kv_utilization: float
    """Share of the slots that live sequences use, 0 to 1."""
    device: str | None
    attention_backend: str | None
    warm_up_s: float | None
    """Seconds of the warm-up answer; 0 without a warm-up."""


class ModelState(ReplyStruct, kw_only=True):
    """State of one served model."""

    model: str
    state: EngineState
    reason: str
    memory_bytes: int
    """Planned for weights, activations and pool; 0 while it is not loaded."""
    idle_s: float | None
    """Seconds since its last request; null while it has one, or is not loaded."""
    loads: int
    """Number of loads at a request."""
    unloads: int


class TokenRates(ReplyStruct, kw_only=True):
    """Tokens of answers a second."""

    last_minute: float
    lifetime: float


class KVEventsState(ReplyStruct, kw_only=True):
    """Sockets from which routers read changes of the cache."""

    endpoint: str
    replay_endpoint: str | None
    topic: str
    block_size: int
    """Tokens per block."""
    format: str


class StatsReply(StateReply, kw_only=True):
    """Description and statistics of one model's engine."""

    models: list[ModelState]
    started_at: int
    """Unix time in seconds."""
    tokens_per_second: TokenRates
    waiting_turns: int
    """Number of ended turns whose next prompt is to be rendered."""
    hit_rate: float
    """Share of the prompt tokens that were cached, 0 to 1."""
    kv_read_saved: float
    """Share of KV reads that prefix sharing saved, 0 to 1."""
    info: EngineInfo | None
    """Null until the engine is ready."""
    kv_events: KVEventsState | None
    """Null unless the server publishes KV events."""
    stats: EngineStats


class VersionReply(ReplyStruct, kw_only=True):
    """Version of the server."""

    version: str


class AboutServer(ReplyStruct, kw_only=True):
    """Name and version of the server, and the paths to continue with."""

    server: Literal["yaie"] = "yaie"
    version: str
    description: str
    links: dict[str, str]


class ErrorDetails(ReplyStruct, kw_only=True):
    """Fact and fix of an error."""

    message: str
    type: str
    param: str | None
    """Field that the error is about."""
    code: str | None
    """Stable name of the error, for programs."""


class ErrorReply(ReplyStruct, kw_only=True):
    """Body of errors."""

    error: ErrorDetails
    request_id: str | None
    """As in the header `X-Request-ID`; null for bytes that are not HTTP."""
    timestamp: int
    """Unix time in seconds."""


class MessagesErrorDetails(ReplyStruct, kw_only=True):
    """Kind, fact and fix of an error."""

    type: str
    message: str


class MessagesErrorReply(ReplyStruct, kw_only=True):
    """Body of an error of Anthropic's API."""

    type: Literal["error"] = "error"
    error: MessagesErrorDetails
    request_id: str | None


class OllamaErrorReply(ReplyStruct, kw_only=True):
    """Body of an error of Ollama's API."""

    error: str
    """The fact, then the fix."""
