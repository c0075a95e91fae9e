"""Requests to a server, and the reading of its replies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import UNWRITABLE, Cli, in_a_shell
from tests.cli.recording_server import RecordingServer, ask, recording_server
from yaie.base.advised_error import AdvisedError
from yaie.base.errors import (
    ContextLengthExceeded,
    EngineDied,
    EngineDraining,
    RequestFailed,
    YaieError,
)
from yaie.cli.answers import Question
from yaie.cli.failures import show_failure
from yaie.cli.remote import ServerAnswers
from yaie.cli.sampling_options import SamplingOptions
from yaie.server.http.http_errors import error_reply


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with recording_server() as server:
        yield server


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("YAIE_API_KEY", "OPENAI_API_KEY", "YAIE_BASE_URL", "YAIE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("question", ["raw text", None])
def test_the_default_length_yields_to_a_hidden_context(
    question: Question | None, server: RecordingServer
) -> None:
    server.has_room = False
    assert ask(server.url, question, shrinks_to_fit=True) == "hi"
    with pytest.raises(AdvisedError, match="too long") as failure:
        ask(server.url, question)
    assert failure.value.exit_code == 2


def details(error: YaieError) -> Any:
    return msgspec.to_builtins(error_reply(error).error)


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        *(
            (msgspec.to_builtins(error_reply(kind("gone")).error), 5)
            for kind in (EngineDied, EngineDraining)
        ),
        (msgspec.to_builtins(error_reply(RequestFailed("broken")).error), 1),
        (msgspec.to_builtins(error_reply(ContextLengthExceeded("too long")).error), 2),
        ({"message": "busy", "type": "ServiceUnavailableError", "code": 503}, 5),
        ({"message": "broken", "type": None, "code": None}, 1),
        ("broken", 1),
    ],
)
def test_an_error_in_a_stream_has_the_exit_code_of_a_reply(
    error: Any, exit_code: int, server: RecordingServer
) -> None:
    server.events = [{"choices": [{"delta": {"content": "be"}}]}, {"error": error}]
    with pytest.raises(AdvisedError) as failure:
        ask(server.url)
    assert failure.value.exit_code == exit_code
    assert failure.value.message == (error if isinstance(error, str) else error["message"])


@pytest.mark.integration
@pytest.mark.parametrize(
    "last",
    [
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"delta": None, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": [{"type": "text"}]}, "finish_reason": "stop"}]},
        {"choices": [None, {"delta": {}, "finish_reason": "stop"}], "error": None},
    ],
    ids=json.dumps,
)
def test_answers_with_nulls_and_gaps_are_read(
    last: Any, server: RecordingServer, yaie: Cli
) -> None:
    counts: tuple[Any, ...] = (
        {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None},
        {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}},
        {"prompt_tokens": "3", "completion_tokens": 1.0, "prompt_tokens_details": []},
        [3, 1],
    )
    server.events = [
        {"choices": None, "error": None},
        {"choices": [], "error": None},
        None,
        {"choices": [{"delta": {"content": "hi"}}], "error": None},
        last,
        *({"choices": None, "usage": usage} for usage in counts),
    ]
    done = yaie("run", "hello", "--url", server.url, "--stats")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    assert done.stderr.startswith("m · ")


def test_reasoning_stays_out_of_the_answer(server: RecordingServer, yaie: Cli) -> None:
    server.events = [
        {"choices": [{"delta": {"reasoning_content": "Hm."}}]},
        {"choices": [{"delta": {"content": "hi"}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    done = yaie("run", "hello", "--url", server.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")


@pytest.mark.parametrize("last", [{"text": None, "finish_reason": "stop"}, {"finish_reason": "e"}])
def test_a_raw_answer_may_end_without_a_text(last: Any, server: RecordingServer) -> None:
    server.events = [{"choices": [{"text": "hi"}]}, {"choices": [last]}]
    assert ask(server.url, "raw text") == "hi"


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"default_sampling": {}}, {"temperature": 0.7, "top_p": 0.9}),
        ({"default_sampling": {"temperature": 1.0}}, {"temperature": 1.0}),
        ({"default_sampling": {"top_k": 20}}, {"top_k": 20}),
        ({"default_sampling": None}, {}),  # a model that is not loaded yet
        ({}, {}),  # another server
    ],
)
def test_a_model_without_recommended_sampling_gets_the_default(
    reported: dict[str, Any], expected: dict[str, float], server: RecordingServer
) -> None:
    card = {"id": "m", "owned_by": "yaie", **reported}
    server.models = json.dumps({"data": [card]}).encode()
    ask(server.url)
    shaping = ("temperature", "top_p", "top_k", "min_p")
    assert {k: v for k, v in server.bodies[-1].items() if k in shaping} == expected


@pytest.mark.parametrize("texts", [["hi", " you"], []])
def test_a_broken_stream_is_reported_as_incomplete(
    texts: list[str], server: RecordingServer
) -> None:
    server.events = [{"choices": [{"text": text}]} for text in texts]
    with pytest.raises(AdvisedError) as failure:
        ask(server.url, "raw text")
    assert str(failure.value).startswith(
        "the answer is incomplete" if texts else "no answer from the server"
    )
    assert failure.value.exit_code == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 422, 429, 500, 503])
def test_a_refusal_has_the_exit_code_of_its_status(status: int, server: RecordingServer) -> None:
    source = ServerAnswers(server.url)
    server.refuses_with = status
    with pytest.raises(AdvisedError, match="no") as failure:
        source.stream("hello", SamplingOptions(max_tokens=4)).finish()
    source.close()
    expected = {404: 3, 408: 1, 429: 1, 500: 1, 503: 5}
    assert failure.value.exit_code == expected.get(status, 2)


@pytest.mark.parametrize("refusal", [b'{"error": null}', b'{"error": {}}', b"[]", b"<html>", b""])
def test_a_refusal_without_a_message_shows_its_status(
    refusal: bytes, server: RecordingServer
) -> None:
    server.refuses_with, server.refusal = 413, refusal
    with pytest.raises(AdvisedError, match="HTTP 413") as failure:
        ask(server.url)
    assert failure.value.exit_code == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    ("encoding", "text", "stdout"),
    [
        ("ascii", "é €", b"\\xe9 \\u20ac\n"),
        ("latin-1", "é €", b"\xe9 \\u20ac\n"),
        ("ascii:replace", "é €", b"? ?\n"),
        ("utf-8", "é \ud83d", b"\xc3\xa9 \\ud83d\n"),
    ],
)
def test_characters_outside_stdouts_encoding_are_escaped(
    encoding: str, text: str, stdout: bytes, server: RecordingServer, environment: dict[str, str]
) -> None:
    server.events = [{"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}]
    command = [sys.executable, "-m", "yaie.cli", "hello", "--url", server.url]

    def output(*flags: str) -> bytes:
        done = subprocess.run(
            [*command, *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment | {"PYTHONIOENCODING": encoding},
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert output() == stdout
    assert json.loads(output("--json"))["text"] == text


@pytest.mark.integration
@pytest.mark.parametrize("command", ["run", "run --json", "chat"])
@pytest.mark.parametrize(("to", "why"), UNWRITABLE)
def test_an_unwritable_answer_is_one_error_line(
    command: str, to: str, why: str, server: RecordingServer, environment: dict[str, str]
) -> None:
    shell = f"echo hello | {sys.executable} -m yaie.cli {command} --url {server.url} {to}"
    done = in_a_shell(shell, environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error[output]: cannot write the answer: {why}\n"


@pytest.mark.integration
@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_misspelt_variable_is_a_warning(command: str, server: RecordingServer, yaie: Cli) -> None:
    typed = ("run", "hello") if command == "run" else ("chat",)
    done = yaie(*typed, "--url", server.url, stdin="hello\n", YAIE_MODLE="x")
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert done.stderr.startswith("warning: YAIE_MODLE is not a setting")
    assert done.stderr.count("\n") == 1
    helped = yaie(command, "--help", YAIE_MODLE="x")
    assert (helped.returncode, helped.stderr) == (0, "")


@pytest.mark.parametrize("models", [b"<html>", b"[]", b"{}", b'{"data": [1]}', b'{"data": []}'])
def test_a_server_without_a_list_of_models_is_refused(
    models: bytes, server: RecordingServer
) -> None:
    server.models = models
    with pytest.raises(AdvisedError, match=r"not an OpenAI|no answer") as failure:
        ask(server.url)
    assert failure.value.exit_code == 5


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_web_server_is_not_an_openai_server(status: int, server: RecordingServer) -> None:
    server.refuses_with, server.refusal = status, b"<!DOCTYPE HTML><html>..."
    with pytest.raises(AdvisedError, match="is not an OpenAI-compatible server") as failure:
        ask(server.url)
    assert failure.value.exit_code == 5
    assert "HTML" not in failure.value.message + failure.value.why


@pytest.mark.parametrize(
    ("param", "advice"),
    [("messages", "a shorter prompt"), ("max_tokens", "a shorter prompt, or a smaller --max-tok")],
)
def test_fewer_tokens_are_advised_only_where_they_help(
    param: str, advice: str, server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    error = {"message": "too long", "code": "context_length_exceeded", "param": param}
    server.events = [{"error": error}]
    with pytest.raises(AdvisedError) as failure:
        ask(server.url)
    show_failure(failure.value)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"  try: {advice}")
    assert ("--max-tokens" in last) == (param == "max_tokens")


def test_use_model_accepts_models_of_the_server(server: RecordingServer) -> None:
    server.models = b'{"data": [{"id": "m"}, {"id": "other"}]}'
    source = ServerAnswers(server.url)
    assert source.models() == ["m", "other"]
    source.use_model("other")
    assert source.name == f"other at {server.url}"
    with pytest.raises(AdvisedError, match="does not serve missing"):
        source.use_model("missing")
    source.close()
