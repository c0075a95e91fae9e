"""Request traces: JSON Lines with one timed request per line, for `yaie bench replay`.

Lines use the format of public traces, with `timestamp` (ms), `input_length`, `output_length` and
`hash_ids`, one per prompt block; equal ids mean equal blocks after equal blocks. A line may have
the request (`prompt` or `messages`) instead of its lengths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from yaie.base.errors import InvalidRequest

PUBLIC_BLOCK_LEN = 512  # tokens of a block in traces whose lines name no other length
_FIRST_ID, _NUM_IDS = 256, 768  # ids of the replayed prompts: those that most vocabularies have
_DEFAULT_OUTPUT = 16
_TEXTS = ("prompt", "messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRequest:
    """One request: its arrival in seconds, and either its text or its length and blocks."""

    at_s: float
    output_len: int
    input_len: int = 0
    block_ids: tuple[int, ...] = ()
    block_len: int = PUBLIC_BLOCK_LEN
    fields: dict[str, Any] = field(default_factory=dict)  # prompt or messages of the request

    def prompt(self, number: int) -> list[int]:
        """Return token ids for the blocks; `number` seeds the tokens outside blocks."""
        blocks = [_tokens(each, self.block_len) for each in self.block_ids]
        tokens = [token for block in blocks for token in block]
        missing = self.input_len - len(tokens)
        if missing > 0:
            tokens += _tokens(-1 - number, missing)
        return tokens[: self.input_len]


def _tokens(seed: int, length: int) -> list[int]:
    random = np.random.default_rng(abs(seed) * 2 + (seed < 0))
    ids: list[int] = random.integers(_FIRST_ID, _FIRST_ID + _NUM_IDS, length).tolist()
    return ids


def read_trace(
    path: Path, *, block_len: int | None = None, most: int | None = None
) -> list[TracedRequest]:
    """Return a file's requests by arrival time, the first at 0 s.

    `block_len`: tokens per block; lengths scale with it. `most`: maximum lines to read. Raises
    `InvalidRequest` with the wrong line.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            found = list(_parse(path, lines, block_len, most))
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path} is not UTF-8 text; a trace is JSON Lines") from None
    if not found:
        raise InvalidRequest(f"{path} has no requests; a trace has one JSON request per line")
    first_s = min(request.at_s for request in found)  # a line is written when its request ends
    found = [replace(request, at_s=request.at_s - first_s) for request in found]
    return sorted(found, key=lambda request: request.at_s)


def _parse(
    path: Path, lines: Iterable[str], block_len: int | None, most: int | None
) -> Iterator[TracedRequest]:
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if count == most:
            return
        try:
            entry = json.loads(line)
            at_s = float(entry.get("timestamp", 0)) / 1000
            request = _request(entry, at_s, block_len)
        except (ArithmeticError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise InvalidRequest(
                f"line {number} of {path} is not a request ({error!r}); give timestamp, "
                f"input_length "
                "and output_length, or a prompt, or messages"
            ) from None
        yield request
        count += 1


def _request(entry: dict[str, Any], at_s: float, block_len: int | None) -> TracedRequest:
    if not math.isfinite(at_s):
        raise ValueError("timestamp")
    text: dict[str, Any] = {name: entry[name] for name in _TEXTS if name in entry}
    output_len = int(entry.get("output_length", entry.get("max_tokens", _DEFAULT_OUTPUT)))
    if text:
        return TracedRequest(at_s=at_s, output_len=max(1, output_len), fields=text)
    traced_len = int(entry.get("block_size", PUBLIC_BLOCK_LEN))
    if traced_len < 1:
        raise ValueError("block_size")
    scale = (block_len or traced_len) / traced_len
    return TracedRequest(
        at_s=at_s,
        input_len=max(1, round(int(entry["input_length"]) * scale)),
        output_len=max(1, round(output_len * scale)),
        block_ids=tuple(int(each) for each in entry.get("hash_ids", ())),
        block_len=block_len or traced_len,
    )


def reusable_tokens(requests: Iterable[TracedRequest]) -> int:
    """Return the prompt tokens in blocks that an earlier request of the trace begins with too."""
    seen: set[tuple[int, ...]] = set()
    total = 0
    for request in requests:
        blocks, length = request.block_ids, request.block_len
        known = 0
        while known < len(blocks) and blocks[: known + 1] in seen:
            known += 1
        total += min(known * length, max(0, request.input_len - 1))
        seen.update(blocks[: end + 1] for end in range(known, len(blocks)))
    return total
