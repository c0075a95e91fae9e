"""A chat's memory across sessions: the typed lines, and the last conversation.

Both are files that only their owner can read, in $XDG_STATE_HOME/yaie, by default in
~/.local/state. `YAIE_CHAT_HISTORY=off` reads and writes none.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from yaie.base.state_folder import PRIVATE_FILE, make_folder, state_folder
from yaie.cli import terminal

VARIABLE = "YAIE_CHAT_HISTORY"
MOST_LINES = 1000
_OFF = frozenset({"0", "off", "no", "false"})


def conversation_file() -> Path | None:
    """Return the file of the last conversation, which may be missing; None if history is off."""
    return _file_in_state("last-chat.json")


def _file_in_state(name: str) -> Path | None:
    if os.environ.get(VARIABLE, "").strip().lower() in _OFF:
        return None
    folder = state_folder()
    return None if folder is None else folder / name


@contextlib.contextmanager
def remember_lines() -> Iterator[None]:
    """Give `input()` the lines of earlier chats, and save its new lines at the end."""
    import readline

    path = _file_in_state("chat-lines")
    if path is None:
        yield
        return
    with contextlib.suppress(OSError):  # the first chat, or an unreadable file
        readline.read_history_file(path)
    try:
        yield
    finally:
        try:
            _make_private(path)
            readline.set_history_length(MOST_LINES)
            readline.write_history_file(path)
        except OSError as error:
            terminal.warn(f"the typed lines cannot be kept: {error.strerror or error}")


def save_conversation(saved: Mapping[str, object]) -> None:
    """Keep a conversation for `yaie chat --continue`, in place of the one before."""
    path = conversation_file()
    if path is None:
        return
    try:
        make_folder(path.parent)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, delete=False
        ) as file:  # with mode 0600
            json.dump(saved, file, ensure_ascii=False)
        Path(file.name).replace(path)
    except OSError as error:
        terminal.warn(f"the conversation cannot be kept: {error.strerror or error}")


def _make_private(path: Path) -> None:
    make_folder(path.parent)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, PRIVATE_FILE))
