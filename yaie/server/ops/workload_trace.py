"""Trace of the served requests, for `yaie bench replay`: lengths and hashed blocks, without text.

A hash stands for a block and all tokens before it, for prompts with the same API key and salt. Its
key is random and ends with the process, so that equal prompts are recognized within one run, and
guessed texts cannot be looked up. Times are wall-clock times, in order over several runs of a
server.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import secrets
import time
from array import array
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from starlette.requests import Request

from yaie.base.errors import ConfigError
from yaie.server.models.request_hook import RequestHook
from yaie.server.replies.ended_call import EndedCall
from yaie.server.replies.generation import Generation

logger = logging.getLogger(__name__)

BLOCK_LEN = 64  # tokens
_HASH_BYTES = 6  # fits the integers of JSON readers


class WorkloadTrace(RequestHook):
    """File with one line a request. Raises `ConfigError` if it cannot be written."""

    def __init__(self, path: str) -> None:
        self._key = secrets.token_bytes(32)
        try:
            self._file: TextIO | None = Path(path).expanduser().open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"workload_trace is {path!r}, which cannot be written "
                f"({error.strerror or error}); name a file in a writable folder",
                param="workload_trace",
            ) from None

    def on_open(self, request: Request, generation: Generation) -> None:
        """See `RequestHook.on_open`: the lines of a call are written once it has ended."""
        at_ms = round(time.time() * 1000)
        generation.at_close.append(partial(self._write, at_ms))

    def close(self) -> None:
        """Close the file; of a full disk it loses the last lines."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # it writes what is left in its buffer
                file.close()

    def _write(self, at_ms: int, ended: EndedCall) -> None:
        if self._file is None:
            return
        try:
            for usage, request in zip(ended.usages, ended.call.requests, strict=True):
                ids = request.prompt_token_ids
                namespace = f"{request.owner}\0{request.cache_salt}"
                if request.adapter:
                    namespace += f"\0{request.adapter}"
                line = {
                    "timestamp": at_ms,
                    "input_length": len(ids),
                    "output_length": usage.completion_tokens,
                    "hash_ids": self._hashes(namespace, ids),
                    "block_size": BLOCK_LEN,
                }
                self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:  # a full disk must not fail a request
            logger.warning("the workload trace ends here: %s", error)
            self.close()

    def _hashes(self, namespace: str, ids: Sequence[int]) -> list[int]:
        own_key = hashlib.blake2b(namespace.encode(), key=self._key, digest_size=32).digest()
        digest = hashlib.blake2b(key=own_key, digest_size=_HASH_BYTES)
        hashes = []
        for first in range(0, len(ids), BLOCK_LEN):
            digest.update(array("q", ids[first : first + BLOCK_LEN]).tobytes())
            hashes.append(int.from_bytes(digest.copy().digest()))
        return hashes
