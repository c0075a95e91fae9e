"""Tool and question that the built-in model answers with a call."""

from __future__ import annotations

from typing import Any

FUNCTION: dict[str, Any] = {
    "name": "get_weather",
    "description": "Return the weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city"}},
        "required": ["city"],
    },
}
TOOL: dict[str, Any] = {"type": "function", "function": FUNCTION}
QUESTION = {"role": "user", "content": "What is the weather in Paris?"}
