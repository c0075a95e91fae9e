"""State folder: files between runs that only their user can read, and this installation's secret.

It is $XDG_STATE_HOME/yaie, by default ~/.local/state/yaie.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_SECRET_FILE, _SECRET_BYTES = "tenant-names.key", 32


def state_folder() -> Path | None:
    """Return the folder, which may be missing; None for a user without a home."""
    base = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".local" / "state") / "yaie"
    except RuntimeError:
        return None


def make_folder(folder: Path) -> None:
    """Make a folder that only its user can read, unless it exists. Raises `OSError`."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)


def installation_secret() -> bytes:
    """Return 32 random bytes, the same in each run of this installation.

    They are new in each run where no private file can hold them.
    """
    folder = state_folder()
    made = secrets.token_bytes(_SECRET_BYTES)
    if folder is None:
        return made
    path, draft = folder / _SECRET_FILE, folder / f"{_SECRET_FILE}.{secrets.token_hex(8)}"
    try:
        if not path.exists():
            make_folder(folder)
            number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            try:
                os.write(number, made)
                os.fsync(number)
            finally:
                os.close(number)
            with contextlib.suppress(FileExistsError):  # another server was first
                path.hardlink_to(draft)
        status = path.stat()
        found = path.read_bytes()
    except OSError:
        return made
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return found if is_private and len(found) == _SECRET_BYTES else made
