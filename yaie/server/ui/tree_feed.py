"""`TreeFeed`: events of one model for its pages, made once however many pages are open.

The engine is asked only while a page is open and only if its statistics have changed, at most four
times a second, and so that the views take at most a two-hundredth of its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from yaie.base.errors import Overloaded, YaieError
from yaie.base.queries import TreeView, Twins, ViewedRequest, ViewTree
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, EngineState
from yaie.server.models.served_model import ServedModel
from yaie.server.models.service import Service
from yaie.server.ui.recent_calls import RecentCall, RecentCalls
from yaie.server.ui.series import LENGTH, STEP_S
from yaie.server.ui.shown_nodes import (
    NUM_SHOWN,
    NodeTexts,
    Row,
    changes,
    rows_of,
    share_of_others,
)
from yaie.server.ui.viewer import Viewer

logger = logging.getLogger(__name__)

INTERVAL_S = 0.25
SHARE = 200  # seconds of the engine for each second of views
_NOW_S = 0.5  # between two events with numbers
_ASK_S = 10.0
_MOST_PAGES = 64
_MOST_OF_A_TENANT = 16  # pages: the rest is for other keys
_MOST_WAITING = 16  # events that a slow page may leave unread
_SHOWN_CALLS = 12
_MOST_NAME_CHARS = 64


class Page:
    """One open page: the events that wait for it."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self.is_new = True  # gets the whole tree next
        self._events: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._is_closed = False

    def add(self, event: bytes) -> None:
        """Add an event; a page that reads too slowly starts again with the whole tree."""
        if len(self._events) >= _MOST_WAITING:
            self._events.clear()
            self.is_new = True
            return
        self._events.append(event)
        self._wake.set()

    def close(self) -> None:
        """End the events."""
        self._is_closed = True
        self._wake.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield events until the page is closed."""
        while not self._is_closed:
            await self._wake.wait()
            self._wake.clear()
            while self._events:
                yield self._events.popleft()


class TreeFeed:
    """Pages of one model and the task that serves them; without a page there is no task."""

    def __init__(self, service: Service, model: ServedModel, recent: RecentCalls) -> None:
        self._service = service
        self._model = model
        self._recent = recent
        self._pages: set[Page] = set()
        self._rows: dict[Viewer, dict[int, Row]] = {}
        self._task: asyncio.Task[None] | None = None
        self._texts: NodeTexts | None = None
        self._view: TreeView | None = None
        self._seen: tuple[float, ...] = ()
        self._now_at = 0.0
        self._step = 0
        self._info: EngineInfo | None = None  # that pages know

    async def events(self, viewer: Viewer) -> AsyncIterator[bytes]:
        """Yield a page's events until it is closed."""
        page = Page(viewer)
        self._pages.add(page)
        page.add(_event("hello", self._hello(viewer)))
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="yaie-ui")
        try:
            async for event in page.events():
                yield event
        finally:
            self._pages.discard(page)

    def check_room(self, viewer: Viewer) -> None:
        """Raise `Overloaded` if too many pages are open, a tenant's or all.

        Pages of tenants take no room from an administrator's pages.
        """
        num_open = sum(page.viewer == viewer for page in self._pages)
        if viewer.tenant is not None and num_open >= _MOST_OF_A_TENANT:
            raise Overloaded(f"{num_open} pages of this API key are open; close one")
        num_counted = num_open if viewer.is_admin else len(self._pages)
        if num_counted >= _MOST_PAGES:
            raise Overloaded(f"{num_counted} pages are open; close one")

    def close(self) -> None:
        """End every page."""
        for page in self._pages:
            page.close()

    async def _run(self) -> None:
        try:
            while self._pages:
                interval_s = INTERVAL_S
                try:
                    await self._serve()
                except Exception:
                    logger.exception("the feed of %s failed", self._model.name)
                    interval_s = 5.0
                if self._view is not None:
                    interval_s = max(interval_s, SHARE * self._view.seconds)
                await asyncio.sleep(interval_s)
        finally:
            self._task, self._view, self._rows, self._seen = None, None, {}, ()

    async def _serve(self) -> None:
        if self._model.info is not self._info:  # loaded meanwhile, or loaded again
            self._info = self._model.info
            for page in self._pages:
                page.add(_event("hello", self._hello(page.viewer)))
        has_changed = await self._look()
        groups: dict[Viewer, list[Page]] = {}
        for page in self._pages:
            groups.setdefault(page.viewer, []).append(page)
        self._rows = {viewer: rows for viewer, rows in self._rows.items() if viewer in groups}
        for viewer, pages in groups.items():
            await self._send_tree(viewer, pages, has_changed=has_changed)
        if time.monotonic() - self._now_at >= _NOW_S or has_changed:
            self._now_at = time.monotonic()
            num_steps = self._recent.series_of(self._model.name).num_steps
            is_new, self._step = num_steps != self._step, num_steps
            for viewer, pages in groups.items():
                event = _event("now", self._now(viewer, with_point=is_new))
                for page in pages:
                    page.add(event)

    async def _look(self) -> bool:
        """View the engine's tree if it has changed; return whether it was viewed."""
        model = self._model
        stats = model.stats
        seen = (
            model.num_restarts,
            stats.num_steps,
            stats.num_requests,
            stats.num_nodes,
            stats.num_evicted_tokens,
            stats.num_running,
            stats.num_waiting,
        )
        if model.state is not EngineState.READY or (self._view is not None and seen == self._seen):
            return False
        with contextlib.suppress(YaieError):  # it may die, or be in a long step
            found = await model.client.ask(ViewTree(num_shown=NUM_SHOWN), _ASK_S)
            assert isinstance(found, TreeView)
            self._view, self._seen = found, seen
            return True
        return False

    async def _send_tree(self, viewer: Viewer, pages: list[Page], *, has_changed: bool) -> None:
        view, before = self._view, self._rows.get(viewer)
        if view is None or not (has_changed or any(page.is_new for page in pages)):
            return
        rows = await self._service.run_in_thread(self._rows_for, view, viewer)
        self._rows[viewer] = rows
        about = {
            "held": view.num_held
            if viewer.owner is None
            else sum(_tokens(each) for each in rows.values()),
            "total": view.num_nodes if viewer.owner is None else len(rows),
            "others": share_of_others(view, rows.values()),
            "twins": _twins(view, rows),
        }
        whole = delta = b""
        for page in pages:
            if page.is_new or before is None:
                whole = whole or _event("tree", {"nodes": list(rows.values()), **about})
                page.is_new = False
                page.add(whole)
            elif has_changed:
                if not delta:
                    changed, gone = changes(before, rows)
                    delta = _event("delta", {"nodes": changed, "gone": gone, **about})
                page.add(delta)

    def _rows_for(self, view: TreeView, viewer: Viewer) -> dict[int, Row]:
        if self._texts is None:
            self._texts = NodeTexts(self._model.tokenizer)
        return rows_of(view, viewer, self._texts, self._name_of)

    def _name_of(self, tenant: str) -> str:
        """Return a tenant's name: the client's own where no key is needed, else the public one."""
        keyring = self._service.keyring
        return keyring.public_name(tenant) if keyring.is_needed else tenant[:_MOST_NAME_CHARS]

    def _hello(self, viewer: Viewer) -> dict[str, Any]:
        model, settings = self._model, self._service.settings
        info = model.info
        known = (
            {}
            if info is None
            else {
                "dtype": info.dtype,
                "quantization": info.quantization,
                "device": info.device,
                "slots": info.num_slots,
                "kv_bytes_per_token": info.kv_bytes_per_token,
                "max_model_len": info.max_model_len,
            }
        )
        return {
            "v": 1,
            "model": model.name,
            "models": list(self._service.models),
            **known,
            "text": viewer.shows_text,
            "admin": viewer.is_admin,
            "has_admin_key": bool(settings.admin_key),
            "up_s": self._service.rate.uptime_s,
            "step_s": STEP_S,
            "length": LENGTH,
            "series": self._recent.series_of(model.name).columns(),
        }

    def _now(self, viewer: Viewer, *, with_point: bool) -> dict[str, Any]:
        model = self._model
        stats, series = model.stats, self._recent.series_of(model.name)
        return {
            "t": time.time(),
            "state": model.state.value,
            "reason": model.state_reason,
            "restarts": model.num_restarts,
            "up_s": self._service.rate.uptime_s,
            "running": stats.num_running,
            "waiting": stats.num_waiting,
            "live": stats.num_live_slots,
            "cached": stats.num_cached_slots,
            "free": stats.num_free_slots,
            "window": series.window(stats),
            "point": series.last() if with_point else None,
            **self._requests(viewer, stats),
            "recent": self._calls(viewer),
        }

    def _requests(self, viewer: Viewer, stats: EngineStats) -> dict[str, Any]:
        view = self._view
        if view is None or not (stats.num_running or stats.num_waiting):
            return {"requests": [], "more": {"n": 0, "tokens": 0}}
        names = self._service.active.names()
        shown = [each for each in view.requests if viewer.tenant in (None, each.tenant)]
        hidden = len(view.requests) - len(shown) + view.num_more
        return {
            "requests": [_request(each, self._name_of, names) for each in shown],
            "more": {"n": hidden, "tokens": view.num_more_tokens},
        }

    def _calls(self, viewer: Viewer) -> list[dict[str, Any]]:
        calls = [
            each
            for each in self._recent.calls
            if each.model == self._model.name and viewer.tenant in (None, each.tenant)
        ]
        return [self._call(each) for each in calls[-_SHOWN_CALLS:]]

    def _call(self, call: RecentCall) -> dict[str, Any]:
        return {
            "id": call.id,
            "at": call.at,
            "tenant": self._name_of(call.tenant),
            "prompt": call.num_prompt,
            "cached": call.num_cached,
            "output": call.num_output,
            "ttft": call.first_token_s,
            "total": call.total_s,
        }


def _request(
    request: ViewedRequest, name_of: Callable[[str], str], names: dict[str, str]
) -> dict[str, Any]:
    return {
        "id": names.get(request.request_id, request.request_id),
        "tenant": name_of(request.tenant),
        "running": request.is_running,
        "prompt": request.num_prompt,
        "cached": request.num_cached,
        "output": request.num_output,
        "age_s": request.age_s,
        "node": request.node,
    }


def _twins(view: TreeView, rows: dict[int, Row]) -> Twins | None:
    """Return the view's twins for a viewer who may see both."""
    twins = view.twins
    return twins if twins is not None and {twins.first, twins.second} <= rows.keys() else None


def _tokens(row: Row) -> int:
    return int(row[3] or 0)


def _event(name: str, data: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
