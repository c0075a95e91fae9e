"""Text and chats of the measurement, both from the repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.questions import read_questions
from yaie.cli.failures import usage_error

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "tests/models/builtin_questions.jsonl"

Conversation = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """One measurement's input: the same for every kind."""

    text: str
    chunks: int  # of the text, at most
    chunk_tokens: int
    conversations: list[Conversation]
    answer_tokens: int
    repeats: int  # answers alone, of which the fastest counts

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt whose speed is measured."""
        return min(512, self.chunk_tokens)


def read_text(path: Path | None) -> str:
    """Return a UTF-8 file, or the documents of the repository in the order of their names.

    Raises a usage error for a file that is missing or holds other bytes.
    """
    files = sorted((ROOT / "docs").glob("[gir]*/*.md")) if path is None else [path]
    try:
        return "\n".join(file.read_text(encoding="utf-8") for file in files)
    except OSError as error:
        raise usage_error(
            f"--text: cannot read {path}: {error.strerror}", advice="the path of a text file"
        ) from error
    except UnicodeDecodeError as error:
        raise usage_error(
            f"--text: {path} is not UTF-8: byte {error.start}", advice="a text file in UTF-8"
        ) from error


def read_conversations(number: int) -> list[Conversation]:
    """Return evenly spaced questions of the built-in model's set, the ones without tools.

    Raises a usage error if the set has fewer.
    """
    asked = [question for question in read_questions(QUESTIONS) if "tools" not in question]
    if number > len(asked):
        raise usage_error(f"--chats: {number} are too many; there are {len(asked)}")
    return [asked[index * len(asked) // number]["messages"] for index in range(number)]


def cut_chunks(token_ids: list[int], chunks: int, chunk_tokens: int) -> list[list[int]]:
    """Return the first whole chunks of a text; the rest is left out.

    Raises a usage error if the text is shorter than one.
    """
    whole = min(chunks, len(token_ids) // chunk_tokens)
    if not whole:
        raise usage_error(
            f"--text: {len(token_ids)} tokens are less than one chunk of {chunk_tokens}",
            advice="a longer text, or a smaller --chunk-tokens",
        )
    return [token_ids[at * chunk_tokens : (at + 1) * chunk_tokens] for at in range(whole)]
