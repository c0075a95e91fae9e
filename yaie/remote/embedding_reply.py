"""Replies of `/v1/embeddings`, as vectors."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from yaie.api.embedding import Embeddings, stack
from yaie.remote.replies import as_whole

MOST_TEXTS = 128  # in one request: 16 at once fit into the default queue


def read_embeddings(reply: Mapping[str, Any], count: int) -> Embeddings:
    """Return the vectors of a reply to `count` texts. Raises `ValueError` for another document."""
    import numpy as np  # programs import `Client` without it

    rows: list[Any] = [None] * count
    try:
        for entry in reply["data"]:
            given = entry["embedding"]
            if isinstance(given, str):
                given = np.frombuffer(base64.b64decode(given), dtype="<f4")
            rows[entry["index"]] = np.asarray(given, dtype=np.float32)
        if any(row is None for row in rows):
            raise ValueError("a text has no vector")
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the reply is not a list of vectors") from error
    usage = reply.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    counts = (usage.get("prompt_tokens"), details.get("cached_tokens"))
    return Embeddings(stack(rows), *(as_whole(each) or 0 for each in counts))
