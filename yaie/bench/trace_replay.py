"""Replay of a trace against a server, at the trace's own times. Used by `yaie bench replay`.

Each request is a stream of greedy tokens, sent at its time whatever the server does meanwhile.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import requests

from yaie.base.errors import InvalidRequest, RequestFailed
from yaie.bench.machine import describe_machine
from yaie.bench.trace import TracedRequest, reusable_tokens

_PERCENTILES = (50, 90, 99)
_TIMEOUT_S = 600.0
_MAX_OPEN = 1024  # requests in flight; more wait, and are counted as late


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Times in seconds that a request of the goodput keeps: to its first token, and per token."""

    first_token_s: float = 2.0
    token_s: float = 0.1


@dataclass(slots=True)
class TimedReply:
    """Measurement of one request. Times are in seconds."""

    late_s: float = 0.0  # the sender's delay
    first_token_s: float = 0.0
    total_s: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    failure: str = ""  # the code of the error; empty for a whole answer

    @property
    def token_s(self) -> float | None:
        """Mean time of a token after the first, if there is one."""
        later = self.completion_tokens - 1
        return (self.total_s - self.first_token_s) / later if later > 0 else None

    def meets(self, goal: Goal) -> bool:
        """Return True for a whole answer within the goal."""
        is_whole = not self.failure and self.first_token_s <= goal.first_token_s
        return is_whole and (self.token_s or 0.0) <= goal.token_s


def replay(
    trace: Sequence[TracedRequest],
    url: str,
    *,
    speed: float,
    goal: Goal,
    key: str | None = None,
    model: str | None = None,
    note: Callable[[str], None] = lambda _line: None,
) -> dict[str, Any]:
    """Send a trace to a server and return the report.

    `speed`: 2 sends twice as fast; 0 sends everything at once. Raises `InvalidRequest` for a
    negative speed, `RequestFailed` if not one request was answered.
    """
    if not speed >= 0:
        raise InvalidRequest(f"speed is {speed}; it must be at least 0", param="speed")
    replies = [TimedReply() for _ in trace]
    places = threading.BoundedSemaphore(_MAX_OPEN)
    bodies = [_body(request, number, model) for number, request in enumerate(trace)]
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    note(f"{len(trace)} requests to {url} …")

    def send(number: int) -> None:
        try:
            _ask(url, bodies[number], headers, replies[number])
        except (requests.RequestException, ValueError) as error:
            replies[number].failure = type(error).__name__
        finally:
            places.release()

    began = time.perf_counter()
    threads = []
    for number, request in enumerate(trace):
        due = request.at_s / speed if speed else 0.0
        time.sleep(max(0.0, began + due - time.perf_counter()))
        places.acquire()
        replies[number].late_s = time.perf_counter() - began - due if speed else 0.0
        threads.append(threading.Thread(target=send, args=(number,), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()
    duration_s = time.perf_counter() - began
    if all(reply.failure for reply in replies):
        raise RequestFailed(f"every request failed; first failure: {replies[0].failure}")
    settings = {"url": url, "speed": speed, "requests": len(trace)}
    return report_of(settings, trace, replies, duration_s, goal)


def _body(request: TracedRequest, number: int, model: str | None) -> dict[str, Any]:
    body: dict[str, Any] = request.fields or {"prompt": request.prompt(number)}
    body = {**body, "max_tokens": request.output_len, "temperature": 0, "stream": True}
    body |= {"stream_options": {"include_usage": True}}
    if not request.fields:
        body["ignore_eos"] = True  # the answer has the length of the trace's
    return body | ({"model": model} if model else {})


def _ask(url: str, body: dict[str, Any], headers: dict[str, str], reply: TimedReply) -> None:
    route = "/v1/chat/completions" if "messages" in body else "/v1/completions"
    began = time.perf_counter()
    with requests.post(
        url + route, json=body, headers=headers, stream=True, timeout=_TIMEOUT_S
    ) as response:
        if response.status_code != 200:
            reply.failure = _code(response)
            return
        for line in response.iter_lines(chunk_size=None):
            if not line.startswith(b"data: ") or line == b"data: [DONE]":
                continue
            event = json.loads(line[6:])
            if "error" in event:
                reply.failure = str(event["error"].get("code") or "error")
                return
            reply.total_s = time.perf_counter() - began
            if not reply.first_token_s and _has_token(event):
                reply.first_token_s = reply.total_s
            if usage := event.get("usage"):
                reply.prompt_tokens = usage["prompt_tokens"]
                reply.completion_tokens = usage["completion_tokens"]
                details = usage.get("prompt_tokens_details") or {}
                reply.cached_tokens = details.get("cached_tokens") or 0
    if not reply.completion_tokens:
        reply.failure = "no_usage"


def _has_token(event: dict[str, Any]) -> bool:
    """Return True for an event with text, or with the end of a choice without text."""
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or choice
        if any(delta.get(name) for name in ("text", "content", "reasoning_content", "tool_calls")):
            return True
        if choice.get("finish_reason"):
            return True
    return False


def _code(response: requests.Response) -> str:
    try:
        error = response.json()["error"]
        return str(error.get("code") or error.get("type") or response.status_code)
    except (ValueError, KeyError, TypeError, AttributeError):
        return str(response.status_code)


def report_of(
    settings: dict[str, Any],
    trace: Sequence[TracedRequest],
    replies: Sequence[TimedReply],
    duration_s: float,
    goal: Goal,
) -> dict[str, Any]:
    """Return the report of a replay."""
    whole = [reply for reply in replies if not reply.failure]
    met = sum(reply.meets(goal) for reply in whole)
    prompt = sum(reply.prompt_tokens for reply in whole)
    cached = sum(reply.cached_tokens for reply in whole)
    traced = sum(request.input_len for request in trace)
    reusable = reusable_tokens(trace)
    output = sum(reply.completion_tokens for reply in whole)
    return {
        "benchmark": "replay",
        "machine": describe_machine(),
        "trace": settings,
        "answered": len(whole),
        "failed": dict(Counter(reply.failure for reply in replies if reply.failure)),
        "duration_s": round(duration_s, 3),
        "latest_send_s": round(max(reply.late_s for reply in replies), 3),
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "output_tokens": output,
        "hit_rate": _share(cached, prompt),
        "reusable_share_of_trace": _share(reusable, traced),
        "prompt_tokens_per_s": round(prompt / duration_s, 1),
        "output_tokens_per_s": round(output / duration_s, 1),
        "first_token_s": _spread([reply.first_token_s for reply in whole]),
        "token_s": _spread([each for reply in whole if (each := reply.token_s) is not None]),
        "total_s": _spread([reply.total_s for reply in whole]),
        "goodput": {
            "goal": {"first_token_s": goal.first_token_s, "token_s": goal.token_s},
            "share": _share(met, len(replies)),
            "requests_per_s": round(met / duration_s, 3),
        },
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    named = {f"p{each}": float(np.percentile(values, each)) for each in _PERCENTILES}
    found = {"mean": float(np.mean(values)), **named, "max": max(values)}
    return {name: round(value, 5) for name, value in found.items()}
