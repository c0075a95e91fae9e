"""Probes, `/metrics` and `/stats`; they neither run the model nor wait for it.

Load balancers and monitors use HEAD too.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from server.errors import NotFound
from server.schemas.operation import StateAnswer, StatsAnswer
from server.served_model import ServedModel
from server.service import Service
from yaie.errors import EngineUnavailable
from yaie.stats import EngineStats
from yaie.tenants import tenant_digest
from yaie.types import EngineState

router = APIRouter(tags=["operation"])


_PROBE: dict[int | str, dict[str, Any]] = {200: {"model": StateAnswer}, 503: {"model": StateAnswer}}


def _state_json(service: Service) -> dict[str, Any]:
    is_busy = service.state is EngineState.READY and service.num_running > 0
    return {
        "server": "yaie",
        "status": "healthy" if service.state is EngineState.READY else service.state.value,
        "state": "busy" if is_busy else service.state.value,
        "reason": service.state_reason,
        "model": service.model().name,
        "restarts": service.num_restarts,
    }


def _residence_json(model: ServedModel) -> dict[str, Any]:
    return {
        "model": model.name,
        "state": model.state.value,
        "reason": model.state_reason,
        "memory_bytes": model.memory_bytes if model.is_resident else 0,
        "loads": model.num_loads,
        "unloads": model.num_unloads,
    }


def _public(service: Service, stats: EngineStats) -> EngineStats:
    """Return statistics with tenants by digest: names of users are hashed, as keys are already."""
    if service.settings.api_keys:
        return stats
    tenants = tuple(
        replace(each, tenant=each.tenant and tenant_digest(each.tenant.encode("utf-8", "replace")))
        for each in stats.waits.tenants
    )
    return replace(stats, waits=replace(stats.waits, tenants=tenants))


def _probe(service: Service, is_good: bool) -> Response:
    headers = {} if is_good else {"Retry-After": str(EngineUnavailable.retry_after_s)}
    return JSONResponse(_state_json(service), 200 if is_good else 503, headers)


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
    """Answer 200 while requests are accepted, 503 with the state otherwise."""
    service: Service = request.app.state.service
    return _probe(service, service.state is EngineState.READY)


@router.head("/liveness", include_in_schema=False)
@router.get("/liveness", responses=_PROBE)
async def liveness(request: Request) -> Response:
    """Answer 503 if the engine cannot start, else 200: a crashed engine restarts by itself."""
    service: Service = request.app.state.service
    return _probe(service, service.state is not EngineState.FAILED)


@router.head("/metrics", include_in_schema=False)
@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' text format, or in JSON if `Accept` requests it."""
    service: Service = request.app.state.service
    if service.settings.metrics_port is not None:
        raise NotFound("this port has no metrics; see YAIE_METRICS_PORT")
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse(service.metrics.values())
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.head("/stats", include_in_schema=False)
@router.get("/stats", responses={200: {"model": StatsAnswer}})
async def stats(request: Request) -> Response:
    """Return an engine's statistics and description as JSON: of `?model=`, else the first model.

    Raises `UnknownModel`.
    """
    service: Service = request.app.state.service
    model = service.model(request.query_params.get("model"))
    numbers = model.stats
    return JSONResponse(
        {
            **_state_json(service),
            "model": model.name,
            "models": [_residence_json(each) for each in service.models.values()],
            "uptime_s": int(time.time()) - service.started_at,
            "active_requests": service.num_active,
            "hit_rate": numbers.cached_tokens / max(1, numbers.prompt_tokens),
            "kv_read_saved": 1 - numbers.kv_tokens_read / max(1, numbers.kv_tokens_unshared)
            if numbers.kv_tokens_unshared
            else 0.0,
            "info": None if model.info is None else asdict(model.info),
            "stats": asdict(_public(service, numbers)),
        }
    )
