"""A loop of tool calls: the model asks for the weather, Python answers, the model tells it.

    python examples/tools_loop.py [MODEL]

The model's chat template must support tools, as those of Qwen3 and of the built-in model do.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from yaie import LLM, SamplingParams

MODEL = sys.argv[1] if len(sys.argv) > 1 else "builtin"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]


def get_weather(city: str) -> dict[str, Any]:
    """Return the weather; a real program would ask a service."""
    return {"city": city, "temperature": 21}


def main() -> None:
    """Run calls until the model answers with text."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather in Paris?"}]
    with LLM(MODEL) as llm:
        for _ in range(4):
            params = SamplingParams(max_tokens=256, temperature=0)
            [output] = llm.chat(messages, params, tools=TOOLS)
            if not output.tool_calls:
                print(output.text)
                return
            calls, results = [], []
            for i, call in enumerate(output.tool_calls):
                function = {"name": call.name, "arguments": call.arguments}
                calls.append({"id": f"call_{i}", "type": "function", "function": function})
                content = json.dumps(get_weather(**json.loads(call.arguments)))
                print(f"{call.name}({call.arguments}) -> {content}")
                results.append({"role": "tool", "tool_call_id": f"call_{i}", "content": content})
            turn = {"role": "assistant", "content": output.text, "tool_calls": calls}
            messages += [turn, *results]


if __name__ == "__main__":
    main()
