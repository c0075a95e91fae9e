"""Table of clients and features in `docs/guides/clients.md`, written from test outcomes.

`python -m tests.clients.document` writes it after a run, as `make test-clients` does.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients import matrix

PAGE = matrix.ROOT / "docs/guides/clients.md"
FOLDER = Path(__file__).parent
# The newest openai is in the first one.
LOCKS = [FOLDER / "requirements.txt", FOLDER / "openai_2/requirements.txt"]
BEGIN, END = "<!-- clients: begin -->", "<!-- clients: end -->"

# Package of a client, where its module has another name.
PACKAGES = {
    "openai_python": "openai",
    "openai_responses": "openai",
    "openai_agents": "openai-agents",
    "openai_js": "npm:openai",
    "langchain": "langchain-openai",
    "pydantic_ai": "pydantic-ai-slim",
    "pydantic_ai_responses": "pydantic-ai-slim",
    "llama_index": "llama-index-llms-openai-like",
    "ai_sdk": "npm:ai",
}


def version_of(client: str) -> str:
    """Return the locked version of a client's package."""
    package = PACKAGES.get(client, client)
    if package.startswith("npm:"):
        text = (FOLDER / "js/package.json").read_text(encoding="utf-8")
        pattern = rf'"{package.removeprefix("npm:")}": "([\d.]+)"'
    else:
        text = "\n".join(lock.read_text(encoding="utf-8") for lock in LOCKS)
        pattern = rf"^{package}==(\S+)"
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{package} is not in the lock file"
    return found.group(1)


def table(outcomes: dict[str, matrix.Outcome]) -> str:
    """Return the table in Markdown, and under it a reason for each cell without an "ok"."""
    heads = ["client", "version", *matrix.FEATURES.values()]
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    reasons: list[str] = []
    for client, name in matrix.CLIENTS.items():
        if not any(key.startswith(f"{client}/") for key in outcomes):
            continue
        cells = [name, version_of(client)]
        for feature in matrix.FEATURES:
            outcome, reason = outcomes.get(f"{client}/{feature}", ("skipped", ""))
            word = {"ok": "ok", "skipped": "–", "expected": "no", "fails": "fails"}[outcome]
            if reason:
                if reason not in reasons:
                    reasons.append(reason)
                word += f" ({reasons.index(reason) + 1})"
            cells.append(word)
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{at}. {reason}" for at, reason in enumerate(reasons, 1))]
    return "\n".join(lines).strip()


def main() -> None:
    """Write the table between the marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{before}{BEGIN}\n{table(matrix.load())}\n{END}{after}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
