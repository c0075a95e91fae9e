"""`RecordFolder`: records of one kind in a folder, one JSON file each, safe against crashes."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from yaie.base.errors import RequestFailed
from yaie.base.state_folder import PRIVATE_FILE, make_folder

logger = logging.getLogger(__name__)

STORAGE_FAILED = "storage_failed"  # the code of an error
_SUFFIX = ".json"
_Record = TypeVar("_Record", bound=msgspec.Struct)


class RecordFolder(Generic[_Record]):
    """Records by id. A record is written whole or not at all.

    Raises `RequestFailed` for a disk that cannot be written.
    """

    def __init__(self, folder: Path, kind: type[_Record]) -> None:
        make_folder(folder)  # prompts and answers are their owner's
        self.folder = folder
        self.records: dict[str, _Record] = {}
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            try:
                self.records[path.stem] = msgspec.json.decode(path.read_bytes(), type=kind)
            except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
                logger.warning("%s cannot be read and is ignored: %s", path, error)
        for path in folder.glob("*.tmp"):  # the rest of a crash
            path.unlink(missing_ok=True)

    def listed(self) -> list[_Record]:
        """Return every record, while another thread may save one."""
        return list(self.records.values())

    def save(self, name: str, record: _Record) -> None:
        """Write a record, a new one or instead of the old one."""
        path = self.folder / f"{name}{_SUFFIX}"
        with unwritable_disk(self.folder), replacing(path) as number:
            write_all(number, msgspec.json.encode(record))
        self.records[name] = record

    def delete(self, name: str) -> None:
        """Remove a record."""
        del self.records[name]
        (self.folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[int]:
    """Yield the descriptor of a private file that replaces `path` at the end of the block."""
    draft = path.with_name(f"{path.name}.tmp")
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        try:
            yield number
            os.fsync(number)
        finally:
            os.close(number)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def new_id() -> str:
    """Return an id that no client can guess; ids in their order are in the order of their times."""
    return f"{time.time_ns():016x}{secrets.token_hex(8)}"


def write_all(number: int, data: bytes) -> None:
    """Write all of the data to a descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


@contextlib.contextmanager
def unwritable_disk(folder: Path) -> Iterator[None]:
    """Raise `RequestFailed` for an `OSError` of the block."""
    try:
        yield
    except OSError as error:
        logger.error("cannot write below %s: %s", folder, error)
        raise RequestFailed(
            f"the server cannot store the file ({error.strerror or error}); free space on the disk "
            "of its batch_dir and in its temporary folder, and send the request again",
            code=STORAGE_FAILED,
        ) from error
