"""Agents of pydantic-ai over chat completions, by its prefix `openai-chat:`."""

from __future__ import annotations

from tests.clients import pydantic_ai_cases as cases

MODEL = "openai-chat:builtin"


def test_chat() -> None:
    cases.chat(MODEL)


def test_stream() -> None:
    cases.stream(MODEL)


def test_multi_turn() -> None:
    cases.multi_turn(MODEL)


def test_tools_auto() -> None:
    cases.tools(MODEL)


def test_tools_parallel() -> None:
    cases.one_call(MODEL)


def test_schema() -> None:
    cases.schema(MODEL)


def test_async_16() -> None:
    cases.async_16(MODEL)


def test_errors() -> None:
    cases.errors(MODEL)
