"""Log formats for the server and the engine process: text or JSON."""

from __future__ import annotations

import copy
import json
import logging
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]

LOG_FORMAT = "%(asctime)s %(levelname)s [%(process)d] %(name)s: %(message)s"
_NAMES = {"uvicorn.error": "uvicorn"}  # uvicorn's name for all that is not access
# Arguments of uvicorn's access records, in their order.
_ACCESS, _ACCESS_FIELDS = "uvicorn.access", ("client", "method", "path", "http_version", "status")


class JsonFormatter(logging.Formatter):
    """One JSON object a line.

    `time` (UTC), `level`, `process`, `logger` and `message`; then the record's fields, passed as
    `extra={"fields": {...}}`; `error` is a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "process": record.process,
            "logger": _NAMES.get(record.name, record.name),
            "message": record.getMessage(),
        }
        for name, value in _fields_of(record).items():
            line.setdefault(name, value)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)  # ASCII: a line break in a field stays inside it


class TextFormatter(logging.Formatter):
    """One line of text a record, as `LOG_FORMAT` says."""

    def __init__(self) -> None:
        super().__init__(LOG_FORMAT)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        if record.name in _NAMES:
            record = copy.copy(record)
            record.name = _NAMES[record.name]
        return super().format(record)


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    if record.name == _ACCESS and isinstance(record.args, tuple):
        return dict(zip(_ACCESS_FIELDS, record.args, strict=False))
    fields: dict[str, Any] = getattr(record, "fields", {})
    return fields


def make_formatter(log_format: LogFormat) -> logging.Formatter:
    """Return the formatter of a format."""
    return JsonFormatter() if log_format == "json" else TextFormatter()
