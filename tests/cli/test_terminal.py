"""The command line on a terminal: chats, Ctrl-C and Ctrl-D."""

from __future__ import annotations

import subprocess

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
