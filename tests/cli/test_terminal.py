"""The command line on a terminal: chats, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.screens import CTRL_C, CTRL_D, on_a_terminal

pytestmark = pytest.mark.integration


def test_a_chat_on_a_terminal(yaie_server: str, environment: dict[str, str]) -> None:
    """The user types, stops an answer with Ctrl-C, continues, and leaves with Ctrl-D."""
    typed = ["chat", "--url", yaie_server, "-n", "8", "-t", "0", "--stats"]
    with on_a_terminal(typed, environment) as screen:
        screen.wait_for(b"/help for help")
        screen.wait_for(b"> ")
        screen.type(b"hello\n")
        screen.wait_for(b"TTFT")
        screen.wait_for(b"> ")
        screen.type(b"/set max_tokens=1800\n")
        screen.wait_for(b"max_tokens: 1800")
        screen.wait_for(b"> ")
        screen.type(b"go on for long\n")
        screen.wait_for(b"long\r\n")
        screen.wait_for_more()
        screen.type(CTRL_C)
        screen.wait_for(b"stopped")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0


def test_a_chat_remembers_lines_and_the_last_conversation(
    yaie_server: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Up brings back a line of another session; -c goes on where that session ended."""
    mine = environment | {"XDG_STATE_HOME": str(tmp_path)}
    typed = ["chat", "--url", yaie_server, "-n", "4", "-t", "0"]
    with on_a_terminal([*typed, "-c"], mine) as screen:
        screen.wait_for(b"there is no conversation to continue")
        assert screen.process.wait(30) == 2
    with on_a_terminal(typed, mine) as screen:
        screen.wait_for(b"> ")
        screen.type(b"remember the kettle\n")
        screen.wait_for(b"kettle\r\n")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0
    kept = sorted((tmp_path / "yaie").iterdir())
    assert [each.name for each in kept] == ["chat-lines", "last-chat.json"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in kept] == [0o600, 0o600]
    with on_a_terminal([*typed, "-c"], mine) as screen:
        screen.wait_for(b"2 turns of the last conversation")
        screen.wait_for(b"> ")
        screen.type(b"\x1b[A")
        screen.wait_for(b"remember the kettle")
        screen.type(b"\n")
        screen.wait_for(b"\r\n> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0
    turns = json.loads(kept[1].read_text())["turns"]
    assert [each["role"] for each in turns] == ["user", "assistant"] * 2
    assert turns[0]["content"] == turns[2]["content"] == "remember the kettle"


def test_a_chat_without_history_leaves_no_file(
    yaie_server: str, environment: dict[str, str], tmp_path: Path
) -> None:
    mine = environment | {"XDG_STATE_HOME": str(tmp_path), "YAIE_CHAT_HISTORY": "off"}
    with on_a_terminal(["chat", "--url", yaie_server, "-n", "4"], mine) as screen:
        screen.wait_for(b"> ")
        screen.type(b"hello\n")
        screen.wait_for(b"hello\r\n")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0
    assert not list(tmp_path.iterdir())


def test_tab_completes_a_command_of_the_chat(yaie_server: str, environment: dict[str, str]) -> None:
    with on_a_terminal(["chat", "--url", yaie_server], environment) as screen:
        screen.wait_for(b"> ")
        screen.type(b"/hel\t")
        screen.wait_for(b"/help")
        screen.type(b"\n")
        screen.wait_for(b"/set NAME=VALUE")
        screen.wait_for(b"\r\n> ")  # an end of file typed before the prompt could be lost
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0


def test_a_bare_call_on_a_terminal_is_a_chat(yaie_server: str, environment: dict[str, str]) -> None:
    with on_a_terminal([], environment | {"YAIE_BASE_URL": yaie_server}) as screen:
        screen.wait_for(b"/help for help")
        screen.wait_for(b"> ")
        screen.type(CTRL_D)
        assert screen.process.wait(30) == 0


def test_ctrl_c_in_a_one_off_is_exit_code_130(
    yaie_server: str, environment: dict[str, str]
) -> None:
    typed = ["run", "--url", yaie_server, "-n", "1900", "-t", "0", "hello"]
    with on_a_terminal(typed, environment, stdin=subprocess.DEVNULL) as screen:
        screen.wait_for_more()
        screen.type(CTRL_C)
        assert screen.process.wait(30) == 130
        assert b"Traceback" not in screen.rest()


def test_a_start_shows_what_it_does_and_erases_it(environment: dict[str, str]) -> None:
    typed = ["run", "-n", "3", "--temperature", "0", "--weights-cache", "off", "Hello"]
    with on_a_terminal(typed, environment) as screen:
        screen.wait_for(
            "loading builtin (a small demonstration model; -m names another) …".encode()
        )
        screen.wait_for(b"\rimporting ")
        screen.wait_for(b" \r")  # the line is overwritten by blanks
        screen.wait_for("· 3 tok".encode())
    with on_a_terminal(["run", "--quiet", *typed[1:]], environment) as screen:
        screen.wait_for_more()
        assert b"importing" not in screen.rest()
