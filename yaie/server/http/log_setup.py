"""Log set-up: one format for uvicorn, server and engine, and probes at debug level."""

from __future__ import annotations

import copy
import logging
from typing import Any

from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import ColourizedFormatter

from yaie.process.log_format import LogFormat, make_formatter
from yaie.process.log_writer import queued
from yaie.server.http.middleware import OPEN_PATHS

_OURS = ("yaie",)
_UVICORN = ("uvicorn", "uvicorn.access")
_ACCESS = "uvicorn.access"
_TARGET = 2  # index in an access record: client, method, target, version, status


def configure_logs(level: str, log_format: LogFormat = "text") -> None:
    """Show the lines of server and client, and give uvicorn's the same format.

    Handlers and formatters that the operator configured stay as they are, but handlers of standard
    streams write from a thread. A second call changes nothing.
    """
    formatter = make_formatter(log_format)
    if not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(formatter)
        for name in _OURS:
            if not logging.getLogger(name).handlers:
                logging.getLogger(name).addHandler(handler)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
    for name in _UVICORN:
        for each in logging.getLogger(name).handlers:
            if isinstance(each.formatter, ColourizedFormatter):
                each.setFormatter(formatter)
    for name in ("", *_OURS, *_UVICORN):
        for each in logging.getLogger(name).handlers:
            if type(each) is logging.StreamHandler:
                each.setStream(queued(each.stream))
    logging.getLogger(_ACCESS).addFilter(log_probes_at_debug)


def log_probes_at_debug(record: logging.LogRecord) -> bool:
    """Lower access records of probes and scrapes to debug level; drop them above that level."""
    target = record.args[_TARGET] if isinstance(record.args, tuple) else ""
    if str(target).partition("?")[0] not in OPEN_PATHS:
        return True
    record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


def uvicorn_log_config(log_format: LogFormat = "text") -> dict[str, Any]:
    """Return uvicorn's log configuration with our format, all of it on standard error."""
    config: dict[str, Any] = copy.deepcopy(LOGGING_CONFIG)
    for name in config["formatters"]:
        config["formatters"][name] = {"()": make_formatter, "log_format": log_format}
    config["handlers"]["access"]["stream"] = "ext://sys.stderr"  # stdout is for answers
    return config
