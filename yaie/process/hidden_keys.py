"""Hidden keys: none on a command line that other users read, none for processes that need none."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path

# Flags of every command whose value is a key.
KEY_FLAGS = ("--api-key", "--admin-key", "--tool-key")
HUB_VARIABLES = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})  # for downloads
PROXY_VARIABLES = frozenset(
    name for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (each, each.lower())
)
_SECRET_NAME = re.compile(
    r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$|_HEADERS$", re.IGNORECASE
)
_URL_WITH_PASSWORD = re.compile(r"://[^/\s]*:[^/\s]*@")
# Places in /proc/PID/stat after the command's name; proc(5) counts from 1, and the name is 2.
_ARG_START, _ARG_END = 48 - 3, 49 - 3


def environment_without_secrets(keep: Collection[str] = ()) -> dict[str, str]:
    """Return our environment without keys, tokens and passwords, by the names of variables.

    URLs with a password are secrets too. Variables in `keep` stay.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name in keep or not (_SECRET_NAME.search(name) or _URL_WITH_PASSWORD.search(value))
    }


def hide_keys_of_arguments() -> None:
    """Overwrite keys on this process's command line, as `ps` shows it; `sys.argv` has them still.

    Linux alone shows command lines to other users and keeps them in the process's memory.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        facts = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(facts[_ARG_START]), int(facts[_ARG_END])
        known = b"".join(os.fsencode(each) + b"\0" for each in sys.orig_argv)
        if Path("/proc/self/cmdline").read_bytes() != known or end - start != len(known):
            return  # not ours as it was: nothing tells where a key is
        is_key = False
        for each in known.split(b"\0")[:-1]:
            flag, separator, _ = os.fsdecode(each).partition("=")
            begin = len(flag) + 1 if separator and flag in KEY_FLAGS else 0
            if is_key or begin:
                ctypes.memset(start + begin, ord("*"), len(each) - begin)
            is_key = not is_key and os.fsdecode(each) in KEY_FLAGS
            start += len(each) + 1
