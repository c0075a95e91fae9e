"""Probes, `/metrics` and `/stats`; they neither run the model nor wait for it.

Load balancers and monitors use HEAD too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from yaie.base.errors import EngineUnavailable
from yaie.base.own_package import read_version
from yaie.base.stats import EngineStats
from yaie.base.types import EngineState
from yaie.server.http.body import json_reply
from yaie.server.http.http_errors import NotFound
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.ops.metrics_listener import text_reply
from yaie.server.schemas.probes import KVEventsState, ModelState, StateReply, StatsReply, TokenRates
from yaie.server.schemas.reply_struct import describe_reply

router = APIRouter(tags=["operation"])


_PROBE: dict[int | str, dict[str, Any]] = {
    200: describe_reply(StateReply),
    503: describe_reply(StateReply),
}


def _state(service: Service) -> dict[str, Any]:
    """Return the fields of `StateReply`."""
    is_busy = service.state is EngineState.READY and service.num_running > 0
    model = service.model()
    info, stats, age_s = model.info, model.stats, model.last_step_age_s
    return {
        "status": "healthy" if service.state is EngineState.READY else service.state.value,
        "state": "busy" if is_busy else service.state.value,
        "server_status": service.status,
        "reason": service.state_reason,
        "model": model.name,
        "restarts": service.num_restarts,
        "version": read_version(),
        "uptime_s": int(service.rate.uptime_s),
        "active_requests": len(service.active),
        "num_running": service.num_running,
        "num_waiting": service.num_waiting,
        "last_step_age_s": None if age_s is None else round(age_s, 3),
        "kv_utilization": stats.num_live_slots / max(1, info.num_slots) if info else 0.0,
        "device": info.device if info else None,
        "attention_backend": info.attention_backend if info else None,
        "warm_up_s": round(info.warm_up_s, 3) if info else None,
    }


def _model_state(model: ServedModel) -> ModelState:
    return ModelState(
        model=model.name,
        state=model.state,
        reason=model.state_reason,
        memory_bytes=model.memory_bytes if model.is_resident else 0,
        idle_s=model.idle_s,
        loads=model.num_loads,
        unloads=model.num_unloads,
    )


def _hide_tenants(service: Service, stats: EngineStats) -> EngineStats:
    """Return statistics with the public names of tenants, which are API keys or users."""
    tenants = tuple(
        replace(each, tenant=service.keyring.public_name(each.tenant))
        for each in stats.waits.tenants
    )
    return replace(stats, waits=replace(stats.waits, tenants=tenants))


def _probe(service: Service, is_good: bool, **fields: str) -> Response:
    headers = {} if is_good else {"Retry-After": str(EngineUnavailable.retry_after_s)}
    state = StateReply(**(_state(service) | fields))
    return json_reply(state, 200 if is_good else 503, headers)


@router.head("/health", include_in_schema=False)
@router.get("/health", responses=_PROBE)
async def health(request: Request) -> Response:
    """Answer 200 while requests are accepted, 503 with the state otherwise."""
    service: Service = request.app.state.service
    return _probe(service, service.state is EngineState.READY)


@router.head("/ping", include_in_schema=False)
@router.get("/ping", responses=_PROBE)
async def ping(request: Request) -> Response:
    """Answer as `/health`, under the name of SageMaker, vLLM and SGLang."""
    return await health(request)


@router.head("/readiness", include_in_schema=False)
@router.get("/readiness", responses=_PROBE)
async def readiness(request: Request) -> Response:
    """Answer 200 while requests are accepted, 503 with the state otherwise.

    `YAIE_READY_MAX_WAITING` waiting requests are too many, too.
    """
    service: Service = request.app.state.service
    most, waiting = service.settings.ready_max_waiting, service.num_waiting
    if service.state is not EngineState.READY:
        return _probe(service, False)
    if most is not None and waiting > most:
        reason = f"{waiting} requests are queued, more than YAIE_READY_MAX_WAITING ({most})"
        return _probe(service, False, status="busy", reason=reason)
    return _probe(service, True, status="ready")


@router.head("/liveness", include_in_schema=False)
@router.get("/liveness", responses=_PROBE)
async def liveness(request: Request) -> Response:
    """Answer 503 if an engine cannot start, or hung and is not ready again; else 200."""
    service: Service = request.app.state.service
    return _probe(service, True, status="alive") if service.is_alive else _probe(service, False)


@router.head("/metrics", include_in_schema=False)
@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' text format, or in JSON if `Accept` requests it.

    The series of single API keys are for requests with a key.
    """
    service: Service = request.app.state.service
    if service.settings.metrics_port is not None:
        raise NotFound("this port does not serve metrics; see YAIE_METRICS_PORT")
    with_keys = bool(getattr(request.state, "tenant", ""))
    if request.headers.get("accept", "").startswith("application/json"):
        return json_reply(service.metrics.values(with_keys=with_keys))
    return await text_reply(service, with_keys=with_keys)


@router.head("/stats", include_in_schema=False)
@router.get("/stats", responses={200: describe_reply(StatsReply)})
async def stats(request: Request) -> Response:
    """Return an engine's statistics and description as JSON: of `?model=`, else the first model.

    Raises `UnknownModel`.
    """
    service: Service = request.app.state.service
    model = service.model(request.query_params.get("model"))
    numbers, events = model.stats, request.app.state.kv_events
    rate = service.rate
    reply = StatsReply(
        **(_state(service) | {"model": model.name}),
        models=[_model_state(each) for each in service.models.values()],
        started_at=int(service.started_at),
        tokens_per_second=TokenRates(
            last_minute=round(rate.last_minute, 3), lifetime=round(rate.lifetime, 3)
        ),
        waiting_turns=len(service.next_turn_prefill),
        hit_rate=numbers.cached_tokens / max(1, numbers.prompt_tokens),
        kv_read_saved=1 - numbers.kv_tokens_read / max(1, numbers.kv_tokens_unshared)
        if numbers.kv_tokens_unshared
        else 0.0,
        info=model.info,
        kv_events=None if events is None else KVEventsState(**events.describe()),
        stats=_hide_tenants(service, numbers),
    )
    return json_reply(reply)
