"""`FileStore`: uploaded inputs and results of batches, each file owned by one client."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from yaie.base.errors import InvalidRequest
from yaie.server.batches.record_folder import (
    RecordFolder,
    new_id,
    replacing,
    unwritable_disk,
    write_all,
)
from yaie.server.http.http_errors import NotFound
from yaie.server.schemas.batches import FileObject

MAX_FILE_BYTES = 200 * 1024**2  # OpenAI's limit
MAX_FILES = 1000  # of one client
FORM_BYTES = 64 * 1024  # of a form in addition to its file
_MAX_NAME_CHARS = 256
_COPIED_BYTES = 1024**2


class OwnedFile(msgspec.Struct):
    """A file and its owner: the tenant of an API key, empty on a server without keys."""

    file: FileObject
    owner: str


@dataclass(eq=False, slots=True)
class Upload:
    """A file that is being uploaded, and the room that is reserved for it."""

    owner: str
    num_bytes: int = 0


class FileStore:
    """Files in a folder, at most `max_bytes` of each client. Its loads and copies block."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()  # uploads are stored by several threads
        self._uploads: set[Upload] = set()  # in progress
        self._folder = RecordFolder(folder, OwnedFile)
        records = self._folder.records
        for name in [name for name in records if not self._path(name).exists()]:
            self._folder.delete(name)
        for path in folder.glob("*.jsonl"):
            if path.stem not in records:
                path.unlink()

    @contextlib.contextmanager
    def uploading(self, least_bytes: int, owner: str) -> Iterator[Upload]:
        """Reserve room for a file of at least `least_bytes` meanwhile, before it is read.

        Raises `InvalidRequest` beyond a limit, with the uploads in progress.
        """
        upload = Upload(owner)
        self._reserve(upload, least_bytes)
        try:
            yield upload
        finally:
            self._end(upload)

    def grow(self, upload: Upload, least_bytes: int) -> None:
        """Reserve room for what has arrived of a file. Raises `InvalidRequest` without it."""
        if least_bytes >= upload.num_bytes + _COPIED_BYTES:
            self._reserve(upload, least_bytes)

    def add(self, upload: Upload, content: BinaryIO, num_bytes: int, filename: str) -> FileObject:
        """Store an upload. Raises `InvalidRequest` beyond a limit, `RequestFailed` for the disk."""
        self._reserve(upload, num_bytes)
        file_id = f"file-{new_id()}"
        with unwritable_disk(self._folder.folder), replacing(self._path(file_id)) as number:
            while piece := content.read(_COPIED_BYTES):
                write_all(number, piece)
        name = filename[:_MAX_NAME_CHARS] or "upload.jsonl"
        stored = self._record(file_id, name, "batch", upload.owner)
        self._end(upload)
        return stored

    def _end(self, upload: Upload) -> None:
        with self._lock:
            self._uploads.discard(upload)

    def _reserve(self, upload: Upload, num_bytes: int) -> None:
        """Reserve room for a file in place of the upload's earlier reservation."""
        with self._lock:
            own = self.listed(upload.owner)
            others = [
                each.num_bytes
                for each in self._uploads
                if each.owner == upload.owner and each is not upload
            ]
            used, num_files = sum(each.bytes for each in own) + sum(others), len(own) + len(others)
            if (
                num_bytes <= MAX_FILE_BYTES
                and used + num_bytes <= self._max_bytes
                and num_files < MAX_FILES
            ):
                upload.num_bytes = num_bytes
                self._uploads.add(upload)
                return
            raise InvalidRequest(
                f"the file has {num_bytes:,} bytes, and {num_files:,} files, with uploads in "
                f"progress, have {used:,}; a file may have {MAX_FILE_BYTES:,} bytes, and a client "
                f"{self._max_bytes:,} bytes in {MAX_FILES:,} files, so delete files that are not "
                "needed",
                param="file",
                code="storage_limit",
            )

    def adopt(self, path: Path, file_id: str, owner: str) -> FileObject:
        """Take over a file of results under an id, instead of an earlier one of that id."""
        with unwritable_disk(self._folder.folder):
            shutil.move(path, self._path(file_id))
        return self._record(file_id, f"{file_id}.jsonl", "batch_output", owner)

    def listed(self, owner: str) -> list[FileObject]:
        """Return the files of a client, oldest first."""
        own = [each.file for each in self._folder.listed() if each.owner == owner]
        return sorted(own, key=lambda each: (each.created_at, each.id))

    def find(self, file_id: str, owner: str) -> FileObject:
        """Return a file. Raises `NotFound`, also for a file of another client."""
        found = self._folder.records.get(file_id)
        if found is None or found.owner != owner:
            raise NotFound(
                f"no file has the id {file_id[:80]!r}; GET /v1/files lists your files",
                param="file_id",
            )
        return found.file

    def path(self, file_id: str, owner: str) -> Path:
        """Return the path of a file's content. Raises `NotFound`."""
        return self._path(self.find(file_id, owner).id)

    def delete(self, file_id: str, owner: str) -> None:
        """Remove a file. Raises `NotFound`."""
        path = self.path(file_id, owner)
        self._folder.delete(file_id)
        path.unlink(missing_ok=True)

    def _path(self, file_id: str) -> Path:
        return self._folder.folder / f"{file_id}.jsonl"

    def _record(
        self, file_id: str, filename: str, purpose: Literal["batch", "batch_output"], owner: str
    ) -> FileObject:
        file = FileObject(
            id=file_id,
            bytes=self._path(file_id).stat().st_size,
            created_at=int(time.time()),
            filename=filename,
            purpose=purpose,
        )
        self._folder.save(file_id, OwnedFile(file, owner))
        return file
