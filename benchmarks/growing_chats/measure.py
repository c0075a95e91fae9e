"""Cached share of growing chats, turn by turn, for `python -m benchmarks chats`.

Starts a server that answers whole conversations, one request at a time, as a chat completions
client sends them. From turn 2 on, the shared prefix of a prompt is everything before its new
message; a perfect cache has all of it. Servers run with and without next-turn prefill.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import requests

from benchmarks.growing_chats.families import FAMILIES, write_model
from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.base.settings import BUILTIN_MODEL
from yaie.bench.machine import describe_machine
from yaie.bench.served import served

GOAL = 0.99
_IDLE_S = 60.0  # limit for the work of idle moments
_POLL_S = 0.005
_OTHER_TEXTS = ("0", "the")
_TEXT = (
    "what is the weather on a day like this one in the town by the sea and how many people come "
    "to see it when the light of the sun falls on the old stone bridge over the river"
)
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Look up the {name.partition('_')[2]} of a place",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["place"],
            },
        },
    }
    for name in ("get_weather", "get_population")
]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatWorkload:
    """Turns per conversation, lengths in tokens, and conversation types."""

    turns: int = 10
    answer: int = 48
    thought: int = 24
    temperatures: tuple[float, ...] = (0.0, 1.0, 2.0)
    with_tools: tuple[bool, ...] = (False, True)
    with_thinking: tuple[bool, ...] = (False, True)
    # Seconds between an answer and the next message; None waits for the end of the idle work.
    pause_s: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("turns", 2), ("answer", 1), ("thought", 1)):
            if getattr(self, name) < least:
                raise InvalidRequest(f"{name} must be at least {least}", param=name)

    def kinds(self) -> Iterator[ChatKind]:
        """Yield the conversation types."""
        for tools, thinking, heat in product(
            self.with_tools, self.with_thinking, self.temperatures
        ):
            yield ChatKind(tools=tools, thinking=thinking, temperature=heat)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatKind:
    """Type of a conversation."""

    tools: bool
    thinking: bool
    temperature: float


@dataclass(slots=True)
class Figures:
    """Tokens of one conversation's prompts from the second turn on."""

    known: int = 0  # before the new message
    cached: int = 0  # cached tokens among them
    shares: list[float] = field(default_factory=list)  # one per request
    idle_rows: int = 0  # computed in idle moments
    idle_s: list[float] = field(default_factory=list)  # until the idle work of a turn was done

    def add(self, known: int, cached: int) -> None:
        """Add one prompt."""
        self.known += known
        self.cached += min(cached, known)
        self.shares.append(min(cached, known) / max(1, known))

    def report(self) -> dict[str, Any]:
        """Return the measurements as JSON values."""
        return {
            "requests": len(self.shares),
            "tokens_before_new_message": self.known,
            "cached": self.cached,
            "share": round(self.cached / max(1, self.known), 5),
            "least_share": round(min(self.shares, default=0.0), 5),
            "idle_rows": self.idle_rows,
            "longest_idle_s": round(max(self.idle_s, default=0.0), 3),
        }


class Conversation:
    """One chat as its client sees it."""

    def __init__(
        self, http: requests.Session, url: str, kind: ChatKind, workload: ChatWorkload, seed: int
    ) -> None:
        self._http, self._url, self._kind, self._workload = http, url, kind, workload
        self._random = random.Random(seed)
        self._messages: list[Message] = [
            {"role": "system", "content": f"You answer questions briefly. Conversation {seed}."}
        ]
        self._results: list[Message] = []  # tool results for the next request
        self.figures = Figures()

    def run(self) -> Figures:
        """Have the conversation and return its measurements."""
        before = self._stats()["stats"]["idle_rows_computed"]
        for turn in range(1, self._workload.turns + 1):
            calls = self._kind.tools and turn % 2 == 1
            self._ask({"role": "user", "content": self._sentence()}, turn, calls=calls)
            if calls and self._results:
                self._ask(None, turn, calls=False)
        self.figures.idle_rows = self._stats()["stats"]["idle_rows_computed"] - before
        return self.figures

    def _ask(self, message: Message | None, turn: int, *, calls: bool) -> None:
        """Send tool results and a user message; keep the answer."""
        new = [*self._results, *([message] if message else [])]
        self._results = []
        body = self._prompt([*self._messages, *new]) | {
            "temperature": self._kind.temperature,
            "seed": self._random.randrange(2**31),
            "max_tokens": self._workload.answer
            + self._workload.thought * self._kind.thinking
            + 48 * calls,
        }
        if self._kind.thinking:
            body["thinking_token_budget"] = self._workload.thought
        if calls:
            body["tool_choice"] = "required"
        else:  # a small model would say little
            body["min_tokens"] = self._workload.answer // 2
        answer = self._post("/v1/chat/completions", body)
        self._pause()
        if turn > 1:
            cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            self.figures.add(self._count_known(new), cached)
        said = answer["choices"][0]["message"]
        self._messages += [*new, said]
        self._results = [
            {"role": "tool", "tool_call_id": call["id"], "content": self._sentence()}
            for call in said.get("tool_calls") or ()
        ]

    def _count_known(self, new: list[Message]) -> int:
        """Return the number of prompt tokens before the new messages."""
        ids = self._token_ids(new)
        others = (
            self._token_ids([{**message, "content": text} for message in new])
            for text in _OTHER_TEXTS
        )
        return min(_common_length(ids, other) for other in others)

    def _token_ids(self, new: list[Message]) -> list[int]:
        tokens: list[int] = self._post("/tokenize", self._prompt([*self._messages, *new]))["tokens"]
        return tokens

    def _prompt(self, messages: list[Message]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": messages,
            "chat_template_kwargs": {"enable_thinking": self._kind.thinking},
        }
        return body | {"tools": _TOOLS} if self._kind.tools else body

    def _pause(self) -> None:
        if self._workload.pause_s is not None:
            time.sleep(self._workload.pause_s)
            return
        began = time.perf_counter()
        while time.perf_counter() < began + _IDLE_S:
            stats = self._stats()
            if not (stats["waiting_turns"] or stats["stats"]["num_expected_prompts"]):
                self.figures.idle_s.append(time.perf_counter() - began)
                return
            time.sleep(_POLL_S)
        raise RequestFailed(f"next-turn prefill did not finish within {_IDLE_S:g} s")

    def _stats(self) -> dict[str, Any]:
        found: dict[str, Any] = self._http.get(f"{self._url}/stats", timeout=60).json()
        return found

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(f"{self._url}{path}", json=body, timeout=600)
        if answer.status_code != 200:
            raise RequestFailed(f"the server answered {answer.status_code}: {answer.text[:300]}")
        found: dict[str, Any] = answer.json()
        return found

    def _sentence(self) -> str:
        words = self._random.choices(_TEXT.split(), k=self._random.randint(6, 20))
        return " ".join(words).capitalize() + "?"


def measure_chats(
    settings: dict[str, Any],
    workload: ChatWorkload,
    *,
    families: Iterable[str] = tuple(FAMILIES),
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Have conversations with servers that use these settings (`Settings` names); return the
    report.

    The built-in model uses each family's chat template; another model uses only its template, and
    has conversations with tools only if the template shows them. `note` is called with a line
    before each server. Raises `RequestFailed`.
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="yaie-chat-") as folder:
        for name, model in _models(settings, families, Path(folder)):
            figures = {}
            for is_on in (False, True):
                note(f"{name}, next turns {'prepared' if is_on else 'not prepared'} …")
                own = {"model": model, "prepare_turns": is_on, "weights_cache": "off"}
                figures[is_on] = _conversations({**settings, **own}, workload)
            for kind, on in figures[True].items():
                sides = {"off": figures[False][kind].report(), "on": on.report()}
                rows.append({"family": name, **asdict(kind), **sides})
    return {
        "benchmark": "chat",
        "machine": describe_machine(),
        "workload": asdict(workload),
        "goal": GOAL,
        "conversations": rows,
        "summary": _summary(rows),
    }


def _models(
    settings: dict[str, Any], families: Iterable[str], folder: Path
) -> Iterator[tuple[str, str]]:
    given = settings.get("model") or BUILTIN_MODEL
    if given != BUILTIN_MODEL:
        yield Path(given).name, given
        return
    for name in families:
        if name not in FAMILIES:
            raise InvalidRequest(
                f"{name[:40]!r} is not a chat template family; choose from {', '.join(FAMILIES)}",
                param="families",
            )
        yield name, str(write_model(name, folder / name))


def _conversations(settings: dict[str, Any], workload: ChatWorkload) -> dict[ChatKind, Figures]:
    with served(settings) as url, contextlib.closing(requests.Session()) as http:
        card = http.get(f"{url}/v1/models", timeout=60).json()["data"][0]
        has_tools = card["capabilities"]["tools"]
        return {
            kind: Conversation(http, url, kind, workload, seed).run()
            for seed, kind in enumerate(workload.kinds())
            if has_tools or not kind.tools
        }


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def total(side: str, name: str) -> int:
        return sum(row[side][name] for row in rows)

    shares = {
        side: round(total(side, "cached") / max(1, total(side, "tokens_before_new_message")), 5)
        for side in ("off", "on")
    }
    least = min((row["on"]["least_share"] for row in rows), default=0.0)
    return {
        "share_off": shares["off"],
        "share_on": shares["on"],
        "least_share_on": least,
        "is_met": all(row["on"]["share"] >= GOAL for row in rows),
        "idle_rows_per_request": round(
            total("on", "idle_rows") / max(1, total("on", "requests")), 1
        ),
    }


def _common_length(first: list[int], second: list[int]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
