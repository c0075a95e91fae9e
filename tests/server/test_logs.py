"""Log lines of server and uvicorn."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import logging.config
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from uvicorn.config import LOGGING_CONFIG

from yaie.base.types import SamplingParams, Usage
from yaie.process.log_format import JsonFormatter
from yaie.server.http.log_setup import configure_logs, uvicorn_log_config
from yaie.server.metrics.prometheus import Metrics
from yaie.server.replies.ended_call import EndedCall, report_end
from yaie.server.requests.call import Call

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|DEBUG) \[\d+\] [a-z._]+: .+")
NAMES = ("", "server", "yaie", "uvicorn", "uvicorn.error", "uvicorn.access")


@contextlib.contextmanager
def unconfigured_log() -> Iterator[io.StringIO]:
    """Standard error and output of a process without log set-up.

    Not a fixture: pytest installs its own streams and handlers after the fixtures.
    """
    out = io.StringIO()
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(each.handlers, each.level, each.propagate, each.filters) for each in loggers]
    for each in loggers:
        each.handlers, each.filters = [], []
        each.setLevel(logging.NOTSET)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out
    for each, (handlers, level, propagate, filters) in zip(loggers, before, strict=True):
        each.handlers, each.filters, each.propagate = handlers, filters, propagate
        each.setLevel(level)


def access(target: str, status: int = 200) -> None:
    message = '%s - "%s %s HTTP/%s" %d'
    logging.getLogger("uvicorn.access").info(message, "127.0.0.1:9", "GET", target, "1.1", status)


@pytest.mark.parametrize("config", [LOGGING_CONFIG, uvicorn_log_config()], ids=["uvicorn", "yaie"])
def test_all_lines_have_one_format_with_time(config: dict[str, object]) -> None:
    with unconfigured_log() as log:
        logging.config.dictConfig(config)
        configure_logs("info")
        configure_logs("info")  # once at import of `server.api`, once in the lifespan
        for name in ("yaie.server.models.service", "yaie.client.process_client", "uvicorn.error"):
            logging.getLogger(name).info("started")
        access("/v1/models")
        lines = log.getvalue().splitlines()
        assert len(lines) == 4
        assert [line for line in lines if not LINE.fullmatch(line)] == []
        assert lines[-1].endswith('127.0.0.1:9 - "GET /v1/models HTTP/1.1" 200')


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_probes_and_scrapes_are_logged_at_debug(level: str) -> None:
    with unconfigured_log() as log:
        logging.config.dictConfig(uvicorn_log_config())
        logging.getLogger("uvicorn.access").setLevel(level)
        configure_logs(level.lower())
        for target in ("/health", "/readiness?x=1", "/liveness", "/metrics"):
            access(target)
        access("/health", 503)
        lines = log.getvalue().splitlines()
        assert len(lines) == (5 if level == "DEBUG" else 0)
        assert all(" DEBUG " in line for line in lines)


def test_a_configured_log_is_left_alone() -> None:
    with unconfigured_log() as log:
        own = logging.StreamHandler(log)
        own.setFormatter(logging.Formatter("mine %(message)s"))
        logging.getLogger().addHandler(own)
        logging.getLogger("uvicorn").addHandler(own)
        logging.getLogger("uvicorn").propagate = False
        configure_logs("info")
        logging.getLogger("yaie.server.models.service").info("one")
        logging.getLogger("uvicorn.error").warning("two")
        assert log.getvalue().splitlines() == ["mine one", "mine two"]


def ended_call(usage: Usage) -> EndedCall:
    call = Call(
        response_id="cmpl-1",
        created=0,
        model="tiny",
        requests=(),
        sampling=SamplingParams(),
        stream=False,
        include_usage=False,
        return_token_ids=False,
        ignored=(),
    )
    return EndedCall(
        call=call,
        http_id="id-1",
        outcome="stop",
        finish_reasons=("stop",),
        usage=usage,
        usages=(usage,),
        num_tokens=((1,),),
        timings=(),
        first_token_s=None,
        total_s=0.25,
        is_lost=False,
        turn=None,
    )


def test_every_line_is_a_json_object_with_its_fields() -> None:
    message = "two\nlines \u2028 and \ud800"
    usage = Usage(prompt_tokens=3, cached_tokens=2, completion_tokens=1)
    with unconfigured_log() as log:
        logging.config.dictConfig(uvicorn_log_config("json"))
        configure_logs("info", "json")
        logging.getLogger("uvicorn.error").info(message, extra={"color_message": "x"})
        access("/v1/models?a=%s", 404)
        report_end(ended_call(usage), Metrics(dict))
        try:
            raise KeyError("why")
        except KeyError:
            logging.getLogger("yaie.client.process_client").exception("failed: %s", Path("x"))
        plain, accessed, request, failed = map(json.loads, log.getvalue().split("\n")[:-1])
    assert plain.pop("time").endswith("+00:00") and plain.pop("process") == os.getpid()
    assert plain == {"level": "INFO", "logger": "uvicorn", "message": message}
    assert accessed["message"] == '127.0.0.1:9 - "GET /v1/models?a=%s HTTP/1.1" 404'
    assert (accessed["method"], accessed["path"]) == ("GET", "/v1/models?a=%s")
    assert (accessed["client"], accessed["http_version"], accessed["status"]) == (
        "127.0.0.1:9", "1.1", 404,
    )  # fmt: skip
    fields = {"request_id", "response_id", "outcome", "prompt", "cached", "completion"}
    assert {name: request[name] for name in fields} == {
        "request_id": "id-1",
        "response_id": "cmpl-1",
        "outcome": "stop",
        "prompt": 3,
        "cached": 2,
        "completion": 1,
    }
    assert (request["first_token_s"], request["total_s"]) == (None, 0.25)
    assert request["message"].startswith("request id-1, cmpl-1 outcome=stop prompt=3 ")
    assert failed["message"] == "failed: x"
    assert failed["error"].endswith("KeyError: 'why'")


def test_a_field_never_replaces_a_part_of_the_line() -> None:
    record = logging.LogRecord("server", logging.INFO, "", 1, "said", (), None)
    record.fields = {"message": "other", "level": 3, "own": 4}
    line = json.loads(JsonFormatter().format(record))
    assert (line["message"], line["level"], line["own"]) == ("said", "INFO", 4)
