"""`ModelPool`: loads models at their first use, unloads the least recently used for others.

One load runs at a time. A model that has to leave answers its requests in flight and is unloaded;
its next request loads it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from yaie.base.errors import (
    EngineUnavailable,
    ModelNotFound,
    ModelUnsupported,
    NotEnoughMemory,
    YaieError,
)
from yaie.process.limits import available_bytes
from yaie.server.models.served_model import Files, Residence, ServedModel

logger = logging.getLogger(__name__)

RETRY_S = 10.0  # after a failed load; requests in between get its error


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed load; a model that is broken stays so until its files change."""

    error: YaieError
    at: float
    files: Files | None  # of a broken model


class ModelPool:
    """Loads and unloads a service's models within `budget` bytes in total.

    `budget`: None takes the memory that is free at the first load. One model alone takes what its
    settings allow. `unload_idle_s`: idle seconds until a model is unloaded; 0 keeps it.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        budget: int | None,
        unload_idle_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = models
        self._budget = budget
        self._unload_idle_s = unload_idle_s
        self._clock = clock
        self._lock = asyncio.Lock()  # one load or unload at a time
        self._changed = asyncio.Event()  # a request has ended, or no longer waits
        self._loads: dict[ServedModel, asyncio.Task[None]] = {}
        self._failures: dict[ServedModel, _Failure] = {}
        self._idle_checks: dict[ServedModel, asyncio.TimerHandle] = {}
        self._unloading: set[asyncio.Task[None]] = set()

    async def start(self, model: ServedModel) -> None:
        """Load a model at the start of the service. Raises `YaieError`.

        Its requests are refused meanwhile. A model without room waits for its first request.
        """
        model.residence = Residence.STARTING
        async with self._lock:
            began = self._clock()
            if len(self._models) == 1:
                await model.load()
                self._note_load(model, began)
                return
            share, left = self._share(model), self.budget - self._sum_shares(but=model)
            if share > left:
                model.residence = Residence.ABSENT
                logger.info("%s is loaded at its first request: too little memory", model.name)
                return
            try:
                await model.load(share)
            except NotEnoughMemory:
                if share == left:
                    raise
                await model.unload()
                model.residence = Residence.STARTING
                await model.load(left)
            self._note_load(model, began)

    @contextlib.contextmanager
    def use(self, model: ServedModel) -> Iterator[None]:
        """Keep a resident model loaded."""
        self.enter(model)
        try:
            yield
        finally:
            self.leave(model)

    @contextlib.contextmanager
    def waiting(self, model: ServedModel) -> Iterator[None]:
        """Surround `load` and the first `use` after it, between which the model stays."""
        model.num_waiting += 1
        try:
            yield
        finally:
            model.num_waiting -= 1
            self._changed.set()

    def enter(self, model: ServedModel) -> None:
        """Count a use of a resident model; `leave` ends it."""
        model.num_uses += 1
        model.last_used = self._clock()

    def leave(self, model: ServedModel) -> None:
        """End a use of a model."""
        model.num_uses -= 1
        model.last_used = self._clock()
        if model.num_uses == 0:
            self._changed.set()
            self._check_idle_later(model, self._unload_idle_s)

    async def load(self, model: ServedModel) -> None:
        """Wait until a model is resident, and load it unless another request does already.

        The caller is `waiting`. Raises `EngineUnavailable` if it cannot be loaded.
        """
        while not model.is_resident:
            task = self._loads.get(model)
            if task is None:
                task = asyncio.create_task(self._load(model), name=f"yaie-load {model.name}")
                self._loads[model] = task
                task.add_done_callback(lambda done: self._finish_load(model, done))
            await asyncio.shield(task)  # a client that leaves does not end the load

    async def unload(self, model: ServedModel) -> None:
        """Unload a model once its requests have ended; its next request loads it again."""
        async with self._lock:
            if model.residence is Residence.RESIDENT:
                await self._unload(model)

    async def stop(self) -> None:
        """Cancel every load."""
        for timer in self._idle_checks.values():
            timer.cancel()
        tasks = [*self._loads.values(), *self._unloading]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def budget(self) -> int:
        """Bytes for all models together."""
        if self._budget is None:
            self._budget = available_bytes()
        return self._budget

    def _finish_load(self, model: ServedModel, task: asyncio.Task[None]) -> None:
        del self._loads[model]
        if not task.cancelled():
            task.exception()  # retrieved, also if no request waits any more

    async def _load(self, model: ServedModel) -> None:
        files, failure = await model.list_files(), self._failures.get(model)
        if failure is not None and self._is_still_so(failure, files):
            raise failure.error
        try:
            if len(self._models) > 1:
                await model.check()  # before others are unloaded for it
            async with self._lock:
                began = self._clock()
                await self._load_within(model)
                self._failures.pop(model, None)
                model.num_loads += 1
                self._note_load(model, began)
        except YaieError as cause:
            reason = f"the model {model.name!r} could not be loaded ({cause.message})"
            is_broken = isinstance(cause, ModelNotFound | ModelUnsupported)
            failure = _Failure(
                EngineUnavailable(reason), self._clock(), files if is_broken else None
            )
            self._failures[model] = failure
            logger.error("%s", reason)
            raise failure.error from cause
        logger.info("loaded %s in %.1f s", model.name, model.load_s)

    def _is_still_so(self, failure: _Failure, files: Files | None) -> bool:
        """Return whether a load would fail again."""
        if failure.files is not None:
            return failure.files == files
        return self._clock() - failure.at < RETRY_S

    def _note_load(self, model: ServedModel, began: float) -> None:
        """Note the times of a load, and watch whether the model is used."""
        model.loaded_at = model.last_used = self._clock()
        model.load_s = model.loaded_at - began
        self._check_idle_later(model, self._unload_idle_s)

    async def _load_within(self, model: ServedModel) -> None:
        """Make room for a model and load it; with its share first, then with the whole budget."""
        if len(self._models) == 1:
            await model.load()
            return
        share = self._share(model)
        await self._make_room(model, share)
        try:
            await model.load(share)
        except NotEnoughMemory as error:
            if share == self.budget:
                raise
            logger.info("%s needs more than its share: %s", model.name, error.message)
            await self._make_room(model, self.budget)
            await model.load(self.budget)

    def _share(self, model: ServedModel) -> int:
        """Return the bytes of a model: those it took before, else an equal share."""
        return min(model.memory_bytes or self.budget // len(self._models), self.budget)

    def _sum_shares(self, but: ServedModel) -> int:
        return sum(
            self._share(each)
            for each in self._models
            if each is not but and each.residence in (Residence.RESIDENT, Residence.LEAVING)
        )

    async def _make_room(self, model: ServedModel, nbytes: int) -> None:
        """Unload others, idle and least recently used ones first, until `nbytes` are left."""
        while self._sum_shares(but=model) + nbytes > self.budget:
            leaving = min(
                (each for each in self._models if each.residence is Residence.RESIDENT),
                key=lambda each: (each.num_uses > 0, each.last_used),
                default=None,
            )
            if leaving is None:
                return
            await self._unload(leaving)

    async def _unload(self, model: ServedModel) -> None:
        """Unload a model once its requests have ended; new ones wait for its next load."""
        # Those that waited for the last load come first, or two models could alternate forever.
        await self._until(lambda: not model.num_waiting)
        # A model in use stays for as long as its load took: half of the time serves requests.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(model.loaded_at + model.load_s - self._clock()):
                await self._until(lambda: not model.num_uses)
        model.residence = Residence.LEAVING
        try:
            await self._until(lambda: not model.num_uses)
        except asyncio.CancelledError:
            model.residence = Residence.RESIDENT
            raise
        await model.unload()
        model.num_unloads += 1
        logger.info("unloaded %s", model.name)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    def _check_idle_later(self, model: ServedModel, delay_s: float) -> None:
        if not self._unload_idle_s or model in self._idle_checks:
            return
        loop = asyncio.get_running_loop()
        self._idle_checks[model] = loop.call_later(delay_s, self._check_idle, model)

    def _check_idle(self, model: ServedModel) -> None:
        del self._idle_checks[model]
        if not model.is_resident or model.num_uses:
            return  # its next `leave` sets the timer again
        left_s = model.last_used + self._unload_idle_s - self._clock()
        if left_s > 0:
            self._check_idle_later(model, left_s)
            return
        task = asyncio.create_task(self._unload_idle(model))
        self._unloading.add(task)
        task.add_done_callback(self._unloading.discard)

    async def _unload_idle(self, model: ServedModel) -> None:
        async with self._lock:
            if model.is_resident and not model.num_uses:
                await self._unload(model)
