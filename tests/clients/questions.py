"""Questions, tools and schemas that the tests of all clients share."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

MODEL = "builtin"
KEY = "none"  # the key of the examples in `docs/guides/clients.md`
WRONG_KEY = "wrong"
HELLO = "Say hello."
WEATHER = "What is the weather in Paris?"
BOTH = "What is the weather in Paris and in Rome?"
UNKNOWN = "nowhere-1"
# More than the 4,096 tokens that the built-in model takes.
TOO_LONG = "word " * 9000

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
    "additionalProperties": False,
}
DESCRIPTION = "Return the weather of a city."
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS},
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
RESULT = '{"temperature": 21}'
RESULTS = (RESULT, '{"temperature": 17}')
# With a required choice: one call is shorter, so the grammar leaves only a second one.
TWO_CALLS: dict[str, Any] = {"min_tokens": 40}

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PERSON_QUESTION = "Ada is 36. Who is it?"


class Person(BaseModel):
    name: str
    age: int


def user(text: str) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": text}


class Weather:
    """Function that counts its calls and returns the results one after the other."""

    def __init__(self) -> None:
        self.num_calls = 0

    def result(self) -> str:
        """Return the next result."""
        self.num_calls += 1
        return RESULTS[(self.num_calls - 1) % len(RESULTS)]


def check_both(text: object) -> None:
    """Check that an answer has the results of both calls."""
    assert "21" in str(text) and "17" in str(text), text


def check_call(name: str, arguments: str | dict[str, Any], city: str | None = "Paris") -> None:
    """Check that a call is one of the weather tool, for a city or for any."""
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert name == "get_weather"
    assert set(read) == {"city"} and isinstance(read["city"], str)
    assert city in (None, read["city"])
