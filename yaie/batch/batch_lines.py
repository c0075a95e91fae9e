"""Lines of an input file in OpenAI's batch format, checked before any of them runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from yaie.base.errors import InvalidRequest, as_shown
from yaie.base.sliced_json import LARGE_BYTES, parse_body

URLS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")
MOST_PROBLEMS = 10  # listed of one file
_EMBEDDINGS = "/v1/embeddings"
_MAX_ID_CHARS = 512


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that cannot be sent: its number from 1, and the fact with its fix."""

    line: int
    message: str
    param: str | None = None


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of an input file, without its body."""

    number: int  # from 1
    start: int  # in bytes
    num_bytes: int
    custom_id: str
    url: str
    result_id: str  # of its result: a digest of the line


@dataclass(slots=True)
class BatchInput:
    """The requests of an input file in the order in which they run."""

    path: Path
    model: str | None = None  # that was asked for instead of the model in each body
    lines: list[BatchLine] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)
    models: dict[str, int] = field(default_factory=dict)  # names in bodies; their first line

    def read_body(self, file: BinaryIO, line: BatchLine, model: str | None = None) -> bytes:
        """Return a line's body as JSON, for `model` if given; several threads may share the file.

        Raises `InvalidRequest` if the line has changed.
        """
        raw = os.pread(file.fileno(), line.num_bytes, line.start)
        try:
            fields = _decode(raw)
        except (ValueError, InvalidRequest):
            fields = {}
        if _result_id(fields, self.model) != line.result_id:
            raise InvalidRequest(
                f"line {line.number} of {self.path} changed while the batch ran; restore the file "
                "and run the batch again"
            )
        body = fields["body"]
        return msgspec.json.encode(body | {"model": model} if model else body)


def read_input(
    path: Path,
    *,
    model: str | None = None,
    urls: Collection[str] = URLS,
    most: int | None = None,
    most_bytes: int | None = None,
) -> BatchInput:
    """Read and check a file, at most `most` lines of it; sort its requests by their prompts.

    Neighbours share the longest prefixes, as in `LLM.generate`. `model` replaces the model in each
    body. Wrong lines, or lines of more than `most_bytes`, are in `problems`. Raises `OSError`.
    """
    found = BatchInput(path, model)
    numbers: dict[str, int] = {}
    keyed: list[tuple[bytes, BatchLine]] = []
    start = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            begin, start = start, start + len(raw)
            if not raw.strip():
                continue
            if most is not None and len(keyed) == most:
                problem = f"the file has more than {most:,} requests; split it into several files"
                found.problems.append(LineProblem(number, problem))
                break
            try:
                if most_bytes is not None and len(raw) > most_bytes:
                    raise InvalidRequest(
                        f"the line has {len(raw)} bytes, and a request at most {most_bytes}; send "
                        "a shorter request"
                    )
                fields = check_line(raw, urls)
                earlier = numbers.setdefault(fields["custom_id"], number)
                if earlier != number:
                    raise InvalidRequest(
                        f"custom_id {as_shown(fields['custom_id']):.80} is also on line {earlier}; "
                        "give each line its own",
                        param="custom_id",
                    )
            except InvalidRequest as error:
                found.problems.append(LineProblem(number, error.message, error.param))
                continue
            body = fields["body"]
            name = fields["custom_id"]
            line = BatchLine(
                number, begin, len(raw), name, fields["url"], _result_id(fields, model)
            )
            keyed.append((prompt_key(fields["url"], body), line))
            if isinstance(named := body.get("model"), str) and named:
                found.models.setdefault(named, number)
    keyed.sort(key=lambda each: each[0])
    found.lines = [line for _, line in keyed]
    if not keyed and not found.problems:
        found.problems.append(LineProblem(1, "the file has no requests; write one on each line"))
    return found


def check_line(raw: bytes, urls: Collection[str] = URLS) -> dict[str, Any]:
    """Return the fields of a line. Raises `InvalidRequest`, which names the field."""
    try:
        fields = _decode(raw)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"not UTF-8 at byte {error.start}; write the file as UTF-8") from None
    except (msgspec.DecodeError, RecursionError, InvalidRequest) as error:
        raise InvalidRequest(
            f"not a JSON object ({error}); write one object on each line"
        ) from None
    custom_id = fields.get("custom_id")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= _MAX_ID_CHARS:
        raise InvalidRequest(
            f"custom_id must be a text with 1 to {_MAX_ID_CHARS} characters, got "
            f"{as_shown(custom_id):.80}; it names the result",
            param="custom_id",
        )
    if fields.get("method", "POST") != "POST":
        raise InvalidRequest(
            f"method must be POST, got {as_shown(fields['method']):.40}", param="method"
        )
    _check_url(fields.get("url"), urls)
    body = fields.get("body")
    if not isinstance(body, dict):
        raise InvalidRequest("body must be the JSON object of the request", param="body")
    for name in ("stream", "background"):
        if body.get(name):
            raise InvalidRequest(
                f"{name} has no use in a batch, whose results are whole; remove it",
                param=f"body.{name}",
            )
    return fields


def listed(problems: Collection[LineProblem], count: int = MOST_PROBLEMS) -> Iterator[str]:
    """Yield the first problems as text, and how many more there are."""
    for each in list(problems)[:count]:
        yield f"line {each.line}: {each.message}"
    if len(problems) > count:
        yield f"and {len(problems) - count:,} more"


def _check_url(url: object, urls: Collection[str]) -> None:
    if url == _EMBEDDINGS:
        raise InvalidRequest(
            f"{_EMBEDDINGS} is not served in batches; use {' and '.join(urls)}, or "
            "`yaie embed -f FILE.jsonl`",
            param="url",
        )
    if url not in urls:
        raise InvalidRequest(
            f"url must be {' or '.join(urls)}, got {as_shown(url):.80}", param="url"
        )


def _decode(raw: bytes) -> dict[str, Any]:
    if len(raw) > LARGE_BYTES:
        fields = parse_body(raw)
        if not isinstance(fields, dict):
            raise InvalidRequest("a value of another kind")
        return fields
    raw.decode()  # msgspec looks at texts only
    return msgspec.json.decode(raw, type=dict[str, Any])


def _result_id(fields: dict[str, Any], model: str | None) -> str:
    known = [model, *(fields.get(name) for name in ("custom_id", "url", "body"))]
    digest = hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()
    return f"batch_req_{digest[:24]}"


# Fields of bodies in the order in which chat templates write them; the first ones part the cache.
_BEFORE = ("cache_salt", "model", "tools", "functions", "instructions")
_PROMPTS = {"/v1/chat/completions": "messages", "/v1/completions": "prompt"}


def prompt_key(url: str, body: dict[str, Any]) -> bytes:
    """Return the sort key of a request: a text that begins as the prompt does.

    Prompts share tokens as far as they share text, so sorted requests walk the radix tree depth
    first, and only the model's tokenizer has to know tokens.
    """
    before = [body.get(name) for name in _BEFORE]
    prompt = body.get(_PROMPTS.get(url, "input"))
    return msgspec.json.encode([*before, url, prompt], order="sorted")
