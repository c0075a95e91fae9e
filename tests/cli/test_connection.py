"""Addresses, proxies and keys of servers, and the search for a YAIE server."""

from __future__ import annotations

import functools
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.recording_server import RecordingServer, ask, recording_server
from yaie.base.advised_error import AdvisedError
from yaie.cli.main import run_command_line
from yaie.cli.options import choose_key, read_base
from yaie.cli.remote import ServerAnswers
from yaie.remote.discovery import FoundServer, find_server


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


@pytest.fixture
def netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("default login bob password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_requests_to_this_machine_bypass_the_proxy(
    host: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # a closed port
    assert ask(f"http://{host}:{server.server_port}") == "hi"
    assert [path for path, _ in server.asked] == ["/v1/models", "/v1/chat/completions"]


def test_other_machines_are_reached_through_the_proxy(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    assert ask("http://model.test:8000/v1") == "hi"
    routes = ("/v1/models", "/v1/chat/completions")
    assert [path for path, _ in server.asked] == [f"http://model.test:8000{r}" for r in routes]
    server.asked.clear()
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *rest: look_up("127.0.0.1", *rest))
    monkeypatch.setenv("no_proxy", "model.test")
    assert ask(f"http://model.test:{server.server_port}") == "hi"
    assert [path for path, _ in server.asked] == list(routes)


@pytest.mark.usefixtures("netrc")
@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_the_key_wins_over_netrc_and_survives_redirects(
    place: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_API_KEY", "sesame")
    monkeypatch.setenv("http_proxy", server.url)
    url = server.url if place == "here" else "http://model.test"
    assert ask(url) == "hi"
    assert {key for _, key in server.asked} == {"Bearer sesame"}
    server.asked.clear()
    server.moved_to = f"{'' if place == 'here' else url}/moved"
    assert ask(url) == "hi"
    assert [key for _, key in server.asked] == ["Bearer sesame"] * 4


@pytest.mark.usefixtures("netrc")
def test_without_a_key_no_password_is_sent(server: RecordingServer) -> None:
    assert ask(server.url) == "hi"
    assert {key for _, key in server.asked} == {None}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_of_this_machine_needs_no_scheme(host: str, server: RecordingServer) -> None:
    assert ask(f"{host}:{server.server_port}") == "hi"
    assert ask(f" {host}:{server.server_port}/v1/ ") == "hi"
    assert {path for path, _ in server.asked} == {"/v1/models", "/v1/chat/completions"}


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("[::1]:8000", "http://[::1]:8000"),
        ("localhost", "http://localhost"),
        ("https://model.test/v1", "https://model.test"),
        ("HTTP://model.test", "HTTP://model.test"),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, url: str) -> None:
    assert read_base(text) == url


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("model.test:8000", "--url https://model.test:8000"),
        ("192.0.2.1:8000", "--url http://192.0.2.1:8000"),
        ("http://", "--url http://127.0.0.1:8000"),
        ("http://:8000", "--url http://127.0.0.1:8000"),
        ("ftp://model.test", "--url http://127.0.0.1:8000"),
        ("http://127.0.0.1:99999", "--url http://127.0.0.1:8000"),
        ("http://[::1", "--url http://127.0.0.1:8000"),
        (" ", "--url http://127.0.0.1:8000"),
    ],
)
def test_a_malformed_address_is_a_usage_error_with_advice(text: str, advice: str) -> None:
    with pytest.raises(AdvisedError) as failure:
        ServerAnswers(text)
    assert failure.value.exit_code == 2
    assert advice in failure.value.advice


@pytest.mark.parametrize("refusal", [b'{"error": {"message": "no key"}}', b"<html>"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_found_server_that_refuses_the_key_is_reported(
    status: int,
    refusal: bytes,
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("yaie.remote.discovery.PROBE_S", 30.0)
    found = functools.partial(find_server, server.server_port)
    monkeypatch.setattr("yaie.remote.discovery.find_server", found)
    monkeypatch.setattr("yaie.cli.local.ModelAnswers", pytest.fail)
    server.refuses_with, server.refusal = status, refusal
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert run_command_line(["what is a tree?"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"127.0.0.1:{server.server_port}" in shown.err
    assert "--api-key" in shown.err and "YAIE_API_KEY" in shown.err and "--local" in shown.err


@pytest.mark.parametrize("key", ["sécond", "ключ"])
def test_a_key_is_sent_in_utf_8_as_the_server_reads_it(
    key: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yaie.remote.discovery.PROBE_S", 30.0)
    monkeypatch.setenv("YAIE_API_KEY", f" {key} , other")
    found = find_server(server.server_port, choose_key(None, is_named=False))
    assert found == FoundServer(server.url, ("m",))
    assert ask(server.url) == "hi"
    sent = [(value or "").encode("latin-1").decode() for _, value in server.asked]
    assert sent == ["", *[f"Bearer {key}"] * 3]


@pytest.mark.parametrize(
    ("texts", "is_named", "key"),
    [
        (("a", "b", "c"), True, "a"),
        ((None, "b", "c"), True, "b"),
        ((None, "", "c"), True, "c"),
        ((None, "", "c"), False, None),
        ((None, " , ", "c"), True, "c"),
        ((None, " first , second", ""), False, "first"),
        ((None, "", ""), True, None),
    ],
)
def test_the_key_comes_from_the_flag_or_a_variable(
    texts: tuple[str | None, str, str],
    is_named: bool,
    key: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed, ours, openai = texts
    monkeypatch.setenv("YAIE_API_KEY", ours)
    monkeypatch.setenv("OPENAI_API_KEY", openai)
    assert choose_key(typed, is_named=is_named) == key


def test_a_blank_key_flag_is_a_usage_error() -> None:
    with pytest.raises(AdvisedError, match="--api-key is empty"):
        choose_key(" , ", is_named=True)


@pytest.mark.parametrize("command", ["run", "chat"])
def test_the_api_key_flag_reaches_the_server(
    command: str, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAIE_API_KEY", "other")
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        typed = ["hello"] if command == "run" else []
        arguments = [command, *typed, "--url", server.url, "--api-key", "sesame"]
        assert run_command_line(arguments) == 0
    assert {key for _, key in server.asked} == {"Bearer sesame"}
