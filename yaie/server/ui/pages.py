"""`Pages`: the feeds of one application, and the task that samples the charts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI

from yaie.server.models.service import Service
from yaie.server.ui.recent_calls import RecentCalls
from yaie.server.ui.series import STEP_S
from yaie.server.ui.tree_feed import TreeFeed


class Pages:
    """The feeds by model, made at the first page."""

    def __init__(self, service: Service) -> None:
        self.recent = RecentCalls(keeps_bodies=service.settings.ui is not False)
        self._service = service
        self._feeds: dict[str, TreeFeed] = {}

    def feed(self, name: str | None) -> TreeFeed:
        """Return the feed of a model, by default the first. Raises `UnknownModel`."""
        model = self._service.model(name)
        if model.name not in self._feeds:
            self._feeds[model.name] = TreeFeed(self._service, model, self.recent)
        return self._feeds[model.name]

    async def stop(self) -> None:
        """End every page, so that the server does not wait for them."""
        for feed in self._feeds.values():
            feed.close()

    async def sample(self) -> None:
        """Sample the charts of every model until cancelled; no engine is asked."""
        while True:
            for model in self._service.models.values():
                slots = model.info.num_slots if model.info is not None else 0
                self.recent.series_of(model.name).sample(model.stats, slots)
            await asyncio.sleep(STEP_S)


@contextlib.asynccontextmanager
async def running_pages(app: FastAPI) -> AsyncIterator[None]:
    """Sample the charts while the application runs, unless it has no page."""
    service: Service = app.state.service
    if service.settings.ui is False:
        yield
        return
    pages: Pages = app.state.pages
    task = asyncio.create_task(pages.sample(), name="yaie-charts")
    service.at_drain.append(pages.stop)
    try:
        yield
    finally:
        task.cancel()
        service.at_drain.remove(pages.stop)
        await pages.stop()
