"""Features and clients of the table in `docs/guides/clients.md`, and the outcomes of its cells."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build/clients/results.json"

# Name of the test without "test_", and heading of the column.
FEATURES = {
    "chat": "chat",
    "stream": "stream",
    "multi_turn": "turns",
    "tools_auto": "tools: auto",
    "tools_required": "required",
    "tools_named": "named",
    "tools_parallel": "parallel",
    "schema": "schema",
    "async_16": "16 at once",
    "errors": "errors",
    "embeddings": "embeddings",
    "rerank": "rerank",
}

# Name of the test module without "test_", or its parameter `client`; and the row's heading.
CLIENTS = {
    "openai_python": "openai (Python), strict validation",
    "openai_responses": "openai (Python), Responses",
    "openai_js": "openai (npm)",
    "openai_agents": "openai-agents",
    "anthropic": "anthropic",
    "ollama": "ollama",
    "litellm": "litellm",
    "langchain": "LangChain",
    "instructor": "instructor",
    "pydantic_ai": "pydantic-ai, `openai-chat:`",
    "pydantic_ai_responses": "pydantic-ai, `openai:`",
    "llama_index": "llama-index",
    "cohere": "cohere",
    "ai_sdk": "AI SDK",
    "llm": "llm",
}

Outcome = tuple[str, str]  # "ok", "fails", "expected" or "skipped"; the reason


def load() -> dict[str, Outcome]:
    """Return the outcomes of the last run by "client/feature"."""
    found: dict[str, Outcome] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def save(outcomes: dict[str, Outcome]) -> None:
    """Write the outcomes of a run, with those of cells that it left out."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    known = load() if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(known | outcomes, indent=1, sort_keys=True), encoding="utf-8")
