"""`BatchJobs`: batches of clients, run while the server has room, and continued after a restart.

A client's batches run one after another, batches of different clients at the same time. Every
change of a batch is on the disk before a client sees it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import math
import os
import re
import time
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from yaie.base.errors import ConfigError, InvalidRequest, YaieError
from yaie.base.state_folder import PRIVATE_FILE, make_folder
from yaie.base.types import Usage
from yaie.batch.batch_lines import MOST_PROBLEMS, BatchInput, read_input
from yaie.batch.batch_run import BatchRun, LineReply, Send
from yaie.batch.result_journal import (
    DISK_FULL,
    BatchResult,
    ResultError,
    ResultJournal,
    split_results,
)
from yaie.server.batches.file_store import FileStore
from yaie.server.batches.record_folder import STORAGE_FAILED, RecordFolder, new_id, unwritable_disk
from yaie.server.http.http_errors import NotFound
from yaie.server.schemas.batches import (
    BatchCounts,
    BatchObject,
    BatchProblem,
    BatchProblems,
    BatchStatus,
    CreateBatchBody,
)

logger = logging.getLogger(__name__)

MAX_REQUESTS = 50_000  # of one batch, OpenAI's limit
MAX_UNFINISHED = 100  # batches of one client
MAX_ENDED = 1000  # batches of one client that are remembered
DISK_WAIT_S = 30.0
_ENDED = ("failed", "completed", "expired", "cancelled")
_WINDOW = re.compile(r"([1-9][0-9]{0,2})h")


class OwnedBatch(msgspec.Struct):
    """A batch and its owner: the tenant of an API key, empty on a server without keys."""

    batch: BatchObject
    owner: str


class BatchJobs:
    """The batches of a server in one folder, which one process uses at a time.

    `sender_of` returns the function that sends a client's requests. `models` returns the names that
    bodies may use. Raises `ConfigError` for a folder that cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sender_of: Callable[[str], Send],
        models: Callable[[], Collection[str]],
        urls: Collection[str],
        at_once: int,
        max_bytes: int,
        max_line_bytes: int,
        registry: CollectorRegistry,
    ) -> None:
        self._sender_of = sender_of
        self._models = models
        self.urls = urls
        self._at_once = at_once
        self._max_line_bytes = max_line_bytes
        self._places = asyncio.Semaphore(at_once)
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._cancelled: dict[str, asyncio.Event] = {}  # by the id of a running batch
        self._lock = _lock(folder)
        try:
            self.files = FileStore(folder / "files", max_bytes)
            self._batches = RecordFolder(folder / "batches", OwnedBatch)
        except OSError as error:
            raise _unusable(folder, error.strerror or str(error)) from None
        for name, each in self._batches.records.items():
            if each.batch.status in _ENDED:
                self._journal_path(name).unlink(missing_ok=True)
        self._is_stopping = False
        self._registry = registry
        self._num_results = Counter(
            "yaie_batch_requests", "Results of batches", ("outcome",), registry=registry
        )
        self._left = Gauge(
            "yaie_batch_requests_left", "Requests of batches without a result", registry=registry
        )
        self._left.set_function(self._count_left)

    def start(self) -> None:
        """Continue the unfinished batches."""
        for each in self._batches.listed():
            if each.batch.status not in _ENDED:
                self._begin(each.owner)

    async def stop(self) -> None:
        """Stop every batch; the next start of the server continues them."""
        self._is_stopping = True
        workers = list(self._workers.values())
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def close(self) -> None:
        """Leave the folder to another process."""
        os.close(self._lock)
        for each in (self._num_results, self._left):
            self._registry.unregister(each)

    def create(self, body: CreateBatchBody, owner: str) -> BatchObject:
        """Begin a batch. Raises `InvalidRequest` or `NotFound`."""
        hours = _WINDOW.fullmatch(body.completion_window)
        if hours is None:
            raise InvalidRequest(
                f"completion_window is {body.completion_window[:40]!r}; give hours, as '24h'",
                param="completion_window",
            )
        if body.endpoint not in self.urls:
            raise InvalidRequest(
                f"endpoint must be {' or '.join(self.urls)}, got {body.endpoint[:80]!r}",
                param="endpoint",
            )
        self.files.find(body.input_file_id, owner)
        own = self.listed(owner)
        if sum(each.status not in _ENDED for each in own) >= MAX_UNFINISHED:
            raise InvalidRequest(
                f"{MAX_UNFINISHED} batches are unfinished; wait for one of them, or cancel one",
                code="too_many_batches",
            )
        ended = [each for each in own if each.status in _ENDED]
        for old in ended[: max(0, len(ended) - MAX_ENDED + 1)]:
            self._batches.delete(old.id)
        now = int(time.time())
        batch = BatchObject(
            id=f"batch_{new_id()}",
            endpoint=body.endpoint,
            input_file_id=body.input_file_id,
            completion_window=body.completion_window,
            created_at=now,
            expires_at=now + 3600 * int(hours[1]),
            metadata=body.metadata,
        )
        self._batches.save(batch.id, OwnedBatch(batch, owner))
        self._begin(owner)
        return batch

    def listed(self, owner: str) -> list[BatchObject]:
        """Return the batches of a client, oldest first."""
        own = [each.batch for each in self._batches.listed() if each.owner == owner]
        return sorted(own, key=lambda each: (each.created_at, each.id))

    def find(self, batch_id: str, owner: str) -> BatchObject:
        """Return a batch. Raises `NotFound`, also for a batch of another client."""
        found = self._batches.records.get(batch_id)
        if found is None or found.owner != owner:
            raise NotFound(
                f"no batch has the id {batch_id[:80]!r}; GET /v1/batches lists your batches",
                param="batch_id",
            )
        return found.batch

    def cancel(self, batch_id: str, owner: str) -> BatchObject:
        """Cancel a batch; its results so far are kept. An ended batch is returned as it is."""
        batch = self.find(batch_id, owner)
        if batch.status not in (*_ENDED, "cancelling", "finalizing"):
            event = self._cancelled.get(batch_id)
            if event is not None:
                event.set()  # first: the disk may be full
            self._enter(batch, "cancelling")
            if event is None and not self._journal_path(batch_id).exists():
                self._enter(batch, "cancelled")  # it waited, and has no result
        return batch

    def delete_file(self, file_id: str, owner: str) -> None:
        """Remove a file. Raises `NotFound`, and `InvalidRequest` for the input of a batch."""
        for batch in self.listed(owner):
            if batch.input_file_id == file_id and batch.status not in _ENDED:
                raise InvalidRequest(
                    f"the batch {batch.id} needs this file; cancel the batch first",
                    param="file_id",
                )
        self.files.delete(file_id, owner)

    # -- running --------------------------------------------------------------------------------

    def _begin(self, owner: str) -> None:
        if owner not in self._workers and not self._is_stopping:
            self._workers[owner] = asyncio.create_task(self._work(owner), name="yaie-batches")

    async def _work(self, owner: str) -> None:
        """Run the batches of a client, oldest first."""
        try:
            while left := [each for each in self.listed(owner) if each.status not in _ENDED]:
                await self._run(left[0], owner)
        except Exception:  # its record could not be written
            logger.exception("batches stopped; they continue with the next one, or at a restart")
        finally:
            del self._workers[owner]

    async def _run(self, batch: BatchObject, owner: str) -> None:
        self._cancelled[batch.id] = asyncio.Event()
        if batch.cancelling_at is not None:
            self._cancelled[batch.id].set()
        try:
            await self._answer(batch, owner)
        except YaieError as error:
            if error.code in (DISK_FULL, STORAGE_FAILED):
                logger.error("%s waits for space: %s", batch.id, error.message)
                await asyncio.sleep(DISK_WAIT_S)
                return
            problem = BatchProblem(code=error.code or error.type, message=error.message)
            self._fail(batch, [problem])
        except Exception:
            logger.exception("the batch %s failed inside the server", batch.id)
            message = "the server failed on this batch; see its log, and create the batch again"
            self._fail(batch, [BatchProblem(code="internal_error", message=message)])
        finally:
            del self._cancelled[batch.id]

    async def _answer(self, batch: BatchObject, owner: str) -> None:
        source = self.files.path(batch.input_file_id, owner)
        given = await asyncio.to_thread(
            read_input,
            source,
            urls=(batch.endpoint,),
            most=MAX_REQUESTS,
            most_bytes=self._max_line_bytes,
        )
        if problems := self._problems_of(given):
            self._fail(batch, problems)
            return
        path = self._journal_path(batch.id)
        with await asyncio.to_thread(ResultJournal, path, given.lines) as journal:
            run = BatchRun(given, journal, patience_s=math.inf)

            def count(usage: Usage | None = None) -> None:
                failed, done = journal.num_failed, len(journal.done)
                before = batch.request_counts
                counts = BatchCounts(total=len(given.lines), completed=done - failed, failed=failed)
                batch.request_counts = counts
                if usage is not None:
                    has_failed = counts.failed > before.failed
                    self._num_results.labels("failed" if has_failed else "completed").inc()

            count()
            run.on_result = count
            if batch.status == "validating":
                self._enter(batch, "in_progress")
            ended = await self._run_until(run, batch, self._limited(self._sender_of(owner)))
            if ended == "expired":
                _expire(given, journal)
            count()
        await self._finish(batch, owner, ended)

    async def _run_until(self, run: BatchRun, batch: BatchObject, send: Send) -> BatchStatus:
        """Run a batch to its end, its cancellation or its expiry; return its last status."""
        work = asyncio.create_task(run.run(send, self._at_once))
        cancelled = asyncio.create_task(self._cancelled[batch.id].wait())
        try:
            left_s = max(0.0, batch.expires_at - time.time())
            await asyncio.wait(
                (work, cancelled), timeout=left_s, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done():
                work.result()
                return "completed"
            return "cancelled" if cancelled.done() else "expired"
        finally:
            for each in (work, cancelled):
                each.cancel()
            await asyncio.gather(work, cancelled, return_exceptions=True)

    async def _finish(self, batch: BatchObject, owner: str, status: BatchStatus) -> None:
        """Write the files of a batch; after a crash or a full disk they are written again."""
        self._enter(batch, "finalizing")
        path = self._journal_path(batch.id)
        with unwritable_disk(path.parent):
            output, errors = await asyncio.to_thread(split_results, path)
        number = batch.id.removeprefix("batch_")
        if output is not None:
            batch.output_file_id = self.files.adopt(output, f"file-{number}-output", owner).id
        if errors is not None:
            batch.error_file_id = self.files.adopt(errors, f"file-{number}-errors", owner).id
        self._enter(batch, status)
        path.unlink(missing_ok=True)

    def _limited(self, send: Send) -> Send:
        async def send_limited(url: str, body: bytes) -> LineReply:
            async with self._places:
                return await send(url, body)

        return send_limited

    def _problems_of(self, given: BatchInput) -> list[BatchProblem]:
        found = [
            BatchProblem(
                code="invalid_line", message=each.message, line=each.line, param=each.param
            )
            for each in given.problems[:MOST_PROBLEMS]
        ]
        names = self._models()
        for name, number in given.models.items():
            if name not in names and not found:
                message = f"the model {name[:80]!r} is not served; use {' or '.join(names)}"
                found.append(
                    BatchProblem(
                        code="model_not_found", message=message, line=number, param="body.model"
                    )
                )
        return found

    def _fail(self, batch: BatchObject, problems: list[BatchProblem]) -> None:
        batch.errors = BatchProblems(data=problems)
        self._enter(batch, "failed")

    def _enter(self, batch: BatchObject, status: BatchStatus) -> None:
        """Give a batch its next status, with the time, and write it."""
        batch.status = status
        if getattr(batch, f"{status}_at", 0) is None:
            setattr(batch, f"{status}_at", int(time.time()))
        logger.info("%s: %s", batch.id, status)
        owner = self._batches.records[batch.id].owner
        self._batches.save(batch.id, OwnedBatch(batch, owner))

    def _journal_path(self, batch_id: str) -> Path:
        return self._batches.folder / f"{batch_id}.results"

    def _count_left(self) -> int:
        counts = [
            each.batch.request_counts
            for each in self._batches.listed()
            if each.batch.status not in _ENDED
        ]
        return sum(each.total - each.completed - each.failed for each in counts)


def _expire(given: BatchInput, journal: ResultJournal) -> None:
    """Give the requests of an expired batch that have no result an error."""
    message = "the completion window of the batch ended before this request; send it again"
    for line in given.lines:
        if line.custom_id not in journal.done:
            error = ResultError("batch_expired", message)
            journal.append(BatchResult(line.result_id, line.custom_id, None, error))


def _lock(folder: Path) -> int:
    """Return the descriptor that keeps other processes out. Raises `ConfigError`."""
    try:
        make_folder(folder)
        number = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from None
    try:
        with contextlib.suppress(PermissionError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise _unusable(folder, "another server uses it") from None
    return number


def _unusable(folder: Path, why: str) -> ConfigError:
    return ConfigError(
        f"batch_dir is {str(folder)!r}, which cannot be used: {why}; give a folder that this "
        "server may write and no other server uses",
        param="batch_dir",
    )
