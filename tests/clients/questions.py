"""Questions, tools and schemas that the tests of all clients share."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

MODEL = "builtin"
HELLO = "Say hello."
WEATHER = "What is the weather in Paris?"
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


def check_call(name: str, arguments: str | dict[str, Any], city: str | None = "Paris") -> None:
    """Check that a call is one of the weather tool, for a city or for any."""
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert name == "get_weather"
    assert set(read) == {"city"} and isinstance(read["city"], str)
    assert city in (None, read["city"])
