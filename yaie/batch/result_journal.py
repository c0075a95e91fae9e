"""`ResultJournal`: the output file of a batch, which is also the record of what is done.

A result is one line, written whole or cut by a crash. The id of a result is a digest of its
request, so the file itself tells which requests are done and whether it belongs to the input.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from yaie.base.advised_error import AdvisedError
from yaie.batch.batch_lines import BatchLine

_BEGINS = b'{"id":"batch_req_'
DISK_FULL = "disk-full"  # the code of an error
_HTTP_ERROR = 400


class ResultResponse(msgspec.Struct):
    """A response: its HTTP status, its id and its body."""

    status_code: int
    request_id: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")


class ResultError(msgspec.Struct):
    """The error of a failed request."""

    code: str
    message: str


class BatchResult(msgspec.Struct):
    """One line of an output file, with OpenAI's fields."""

    id: str
    custom_id: str
    response: ResultResponse | None
    error: ResultError | None

    @property
    def has_failed(self) -> bool:
        """True for a request without an answer."""
        refused = self.response is not None and self.response.status_code >= _HTTP_ERROR
        return refused or self.error is not None


class ResultJournal:
    """The results of one batch in a file, one line each.

    Opening drops a last line that was cut, and every line from zeros on: bytes that were not on
    the disk when the machine crashed. Raises `AdvisedError` for a file of another input, or that
    another process writes, and for a full disk.
    """

    def __init__(
        self, path: Path, lines: Iterable[BatchLine], *, retries_failed: bool = False
    ) -> None:
        """Open or make the file; `retries_failed` drops the results of failed requests."""
        self.path = path
        self.num_failed = 0
        self._number = self._open(path)
        try:
            if not stat.S_ISREG(os.fstat(self._number).st_mode):
                raise AdvisedError(
                    f"{path} is not a regular file",
                    why="the output is also the record of what is done",
                    advice="a file name, such as OUT.jsonl",
                    code="usage",
                    exit_code=2,
                )
            self._lock()
            self.done = self._read({line.custom_id: line for line in lines})
            if retries_failed and self.num_failed:
                self._drop_failed()
        except BaseException:
            os.close(self._number)
            raise

    def append(self, result: BatchResult) -> None:
        """Write one result; after an error the file ends with the result before it."""
        line = memoryview(msgspec.json.encode(result) + b"\n")
        written = 0
        try:
            while written < len(line):
                written += os.write(self._number, line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._number, os.lseek(self._number, 0, os.SEEK_END) - written)
            raise self._unwritable(error) from error
        self.done.add(result.custom_id)
        self.num_failed += result.has_failed

    def close(self) -> None:
        """Write the file to the disk and close it."""
        with contextlib.suppress(OSError):  # the results are written, if not yet on the disk
            os.fsync(self._number)
        os.close(self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _drop_failed(self) -> None:
        """Replace the file by one without failed requests, at once: a crash loses nothing."""
        path = self.path.resolve()
        whole = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        number = self._open(whole)
        try:
            os.fchmod(number, stat.S_IMODE(os.fstat(self._number).st_mode))
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(number, fcntl.LOCK_EX)
            with open(self._number, "rb", closefd=False) as file, whole.open("wb") as kept:
                file.seek(0)
                for raw in file:
                    result = msgspec.json.decode(raw, type=BatchResult)
                    if result.has_failed:
                        self.done.discard(result.custom_id)
                    else:
                        kept.write(raw)
                kept.flush()
                os.fsync(kept.fileno())
            whole.replace(path)
        except OSError as error:
            os.close(number)
            whole.unlink(missing_ok=True)
            raise self._unwritable(error) from error
        os.close(self._number)
        self._number, self.num_failed = number, 0

    def _open(self, path: Path) -> int:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._unwritable(error) from error

    def _lock(self) -> None:
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self._number), self.path.stat()):
                raise BlockingIOError  # the other one has just replaced the file
        except BlockingIOError:
            raise AdvisedError(
                f"{self.path} is being written by another batch",
                why="two batches would answer the same requests twice",
                advice="another output file, or wait for its end",
                code="batch-output-in-use",
            ) from None
        except OSError:  # a file system without locks
            pass

    def _read(self, lines: Mapping[str, BatchLine]) -> set[str]:
        """Return the custom ids of the results; drop a cut last line."""
        done: set[str] = set()
        end = 0
        with open(self._number, "rb", closefd=False) as file:
            for number, raw in enumerate(file, 1):
                written, zeros, rest = raw.partition(b"\0")
                if zeros or not raw.endswith(b"\n"):
                    is_cut = not rest.strip(b"\0") and _BEGINS.startswith(written[: len(_BEGINS)])
                    has_hole = zeros and (number > 1 or written.startswith(_BEGINS))
                    if not is_cut and not has_hole:
                        raise self._foreign(number, "it is not a result of a batch")
                    os.ftruncate(self._number, end)
                    break
                end += len(raw)
                done.add(self._check(number, raw, lines, done))
        return done

    def _check(
        self, number: int, raw: bytes, lines: Mapping[str, BatchLine], done: set[str]
    ) -> str:
        try:
            result = msgspec.json.decode(raw, type=BatchResult)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._foreign(number, "it is not a result of a batch") from None
        line = lines.get(result.custom_id)
        shown = f"custom_id {result.custom_id[:80]!r}"
        if line is None:
            raise self._foreign(number, f"the input has no line with the {shown}")
        if line.result_id != result.id:
            why = f"line {line.number} of the input, {shown}, was another request or model (-m)"
            raise self._foreign(number, why)
        if result.custom_id in done:
            raise self._foreign(number, f"{shown} has two results")
        self.num_failed += result.has_failed
        return result.custom_id

    def _foreign(self, number: int, why: str) -> AdvisedError:
        return AdvisedError(
            f"line {number} of {self.path} does not belong to this batch",
            why=why,
            advice="another output file, or the input that this output was made from",
            code="batch-output-differs",
            exit_code=2,
        )

    def _unwritable(self, error: OSError) -> AdvisedError:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space and run the same command: it continues after the last result"
        return AdvisedError(
            f"the disk of {self.path} is full" if is_full else f"cannot write {self.path}",
            why=error.strerror or str(error),
            advice=advice if is_full else "an output file in a folder that you may write",
            code=DISK_FULL if is_full else "output",
        )


def error_of(body: Any, status: int) -> ResultError:
    """Return the error of a refusal from its body."""
    found = body.get("error") if isinstance(body, dict) else None
    fields = found if isinstance(found, dict) else {"message": found}
    code, message = fields.get("code") or fields.get("type"), fields.get("message")
    return ResultError(str(code or f"http_{status}"), str(message or f"HTTP {status}"))


def split_results(journal: Path) -> tuple[Path | None, Path | None]:
    """Write the answers and the errors of a journal to two files next to it; return their paths.

    None stands for a file without a line. The journal stays. Blocks; raises `OSError`.
    """
    output, errors = journal.with_suffix(".output.tmp"), journal.with_suffix(".errors.tmp")
    with journal.open("rb") as lines, output.open("wb") as good, errors.open("wb") as bad:
        for line in lines:
            has_failed = msgspec.json.decode(line, type=BatchResult).has_failed
            (bad if has_failed else good).write(line)
        num_good, num_bad = good.tell(), bad.tell()
        for file in (good, bad):
            file.flush()
            os.fsync(file.fileno())
    for path, size in ((output, num_good), (errors, num_bad)):
        if not size:
            path.unlink()
    return (output if num_good else None), (errors if num_bad else None)
