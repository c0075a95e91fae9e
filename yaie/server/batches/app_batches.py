"""The batches of an application: opened with its lifespan, and run after live requests."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request

from yaie.base.errors import ConfigError
from yaie.base.tenants import BATCHES
from yaie.batch.batch_lines import URLS
from yaie.batch.batch_run import Send
from yaie.server.batches.batch_jobs import BatchJobs
from yaie.server.batches.line_sender import LineSender
from yaie.server.models.request_hook import RequestHook
from yaie.server.models.service import Service
from yaie.server.requests.call import Caller

PRIORITY = 1000  # least priority number of a request in a batch, for the policy `priority`
NO_LIMIT_S = 1e9  # requests wait for live requests


class BatchHook(RequestHook):
    """Puts requests of batches after live requests, under each policy."""

    def identify(self, request: Request, caller: Caller) -> Caller:
        """See `RequestHook.identify`: requests of all batches are one tenant of little weight."""
        if not getattr(request.state, "is_in_batch", False):
            return caller
        least = max(PRIORITY, caller.least_priority or PRIORITY)
        return dataclasses.replace(caller, tenant=BATCHES, least_priority=least)


@contextlib.asynccontextmanager
async def running_batches(app: FastAPI) -> AsyncIterator[None]:
    """Run the batches of an application with `batch_dir`; fail the service for a wrong folder."""
    service: Service = app.state.service
    settings = service.settings
    if settings.batch_dir is None:
        yield
        return
    handlers = {each.path: each.handler for each in app.state.endpoints if each.path in URLS}

    def sender_of(owner: str) -> Send:
        state: dict[str, Any] = {"tenant": owner} if owner else {}
        state |= {"is_in_batch": True, "timeout_s": NO_LIMIT_S}
        return LineSender(app, handlers, service.body_memory, **state).send

    try:
        jobs = BatchJobs(
            Path(settings.batch_dir).expanduser(),
            sender_of=sender_of,
            models=lambda: [name for model in service.models.values() for name in model.all_names],
            urls=tuple(handlers),
            at_once=settings.batch_concurrency,
            max_bytes=settings.batch_bytes,
            max_line_bytes=settings.max_body_bytes,
            registry=service.metrics.registry,
        )
    except ConfigError as error:
        service.fail(error)
        yield
        return
    app.state.batch_jobs = jobs
    service.at_drain.append(jobs.stop)
    jobs.start()
    try:
        yield
    finally:
        app.state.batch_jobs = None
        service.at_drain.remove(jobs.stop)
        await jobs.stop()
        jobs.close()
