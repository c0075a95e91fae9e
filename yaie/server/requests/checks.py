"""Checks of single body fields for `Translator`, as pure functions.

Errors name a field as the client named it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import MAX_LOGPROBS
from yaie.server.schemas.base import RequestBody, State, Unused
from yaie.server.schemas.chat import ChatBody
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.server.schemas.ranking import RankingBody
from yaie.server.schemas.shared_fields import GenerationBody
from yaie.text.contents import content_text
from yaie.text.stop_patterns import stop_patterns

MAX_STOPS = 16
MAX_STOP_CHARS = 1024
MAX_SALT_CHARS = 256
MAX_NAMED_IGNORED = 32
_PLAIN_NAME = re.compile(r"[!-+\--~]{1,300}")  # visible, without the comma that separates names
INT64 = 2**63
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

# What a model reads in the place of an image in a tool's result.
IMAGE_NOTE = "[an image, which this model cannot see]"


def check_common(body: GenerationBody) -> None:
    """Raise for fields that both completion endpoints refuse."""
    check_unused(body)
    if body.stream_options is not None and not body.stream:
        raise InvalidRequest("stream_options requires stream to be true", param="stream_options")
    check_limits(body)


def check_limits(body: GenerationBody | EmbeddingBody | RankingBody) -> None:
    """Raise for a salt, priority or time limit out of range."""
    if body.cache_salt is not None and not 0 < len(body.cache_salt) <= MAX_SALT_CHARS:
        raise InvalidRequest(
            f"cache_salt must have 1 to {MAX_SALT_CHARS} characters", param="cache_salt"
        )
    if body.priority is not None and not -INT64 <= body.priority < INT64:
        raise InvalidRequest("priority must be a 64-bit integer", param="priority")
    for name in ("queue_timeout_s", "request_timeout_s"):
        limit_s = getattr(body, name)
        if limit_s is not None and not limit_s > 0:
            raise InvalidRequest(
                f"{name} must be greater than 0, got {limit_s:g}; omit it to use the server's "
                f"limit",
                param=name,
            )


# Variables by which templates turn the reasoning off.
THINKING_VARIABLES = ("enable_thinking", "thinking")


def check_reasoning_effort(body: ChatBody, template_reads: Callable[[str], bool]) -> None:
    """Refuse an unknown effort, unless the template reads it and so decides itself."""
    effort = body.reasoning_effort
    if effort is None or effort in EFFORTS or template_reads("reasoning_effort"):
        return
    raise InvalidRequest(
        f"reasoning_effort must be one of {', '.join(EFFORTS)}, got {effort!r}",
        param="reasoning_effort",
    )


def check_unused(body: RequestBody) -> None:
    """Refuse known fields without effect here, unless their value means "unused"."""
    for name, value in (body.model_extra or {}).items():
        field = body.unused.get(name)
        if field is None or value is None or _is_harmless(value, field):
            continue
        is_refused = field.state is State.REFUSED
        if is_refused or (field.state is State.OTHER_NAME and not _is_given(body, field.ours)):
            advice = f"; {field.advice}" if field.advice else ""
            raise UnsupportedParameter(
                f"{name} is not supported by this server{advice}", param=name
            )


def _is_harmless(value: object, field: Unused) -> bool:
    return any(is_same(value, each) for each in field.harmless)


def _is_given(body: RequestBody, name: str) -> bool:
    names = (name, "max_completion_tokens") if name == "max_tokens" else (name,)
    return any(getattr(body, each, None) not in (None, [], "") for each in names)


def first_given(*values: int | None) -> int | None:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)


def is_same(value: object, harmless: object) -> bool:
    """Return whether the values are equal; unlike in Python, true differs from 1."""
    return value == harmless and isinstance(value, bool) == isinstance(harmless, bool)


def prediction_text(body: ChatBody) -> str:
    """Return the predicted answer; empty without one."""
    prediction = body.prediction
    if prediction is None:
        return ""
    if prediction.get("type", "content") != "content":
        raise InvalidRequest(
            f"prediction.type must be content, got {str(prediction['type'])[:40]!r}",
            param="prediction.type",
        )
    return content_text(prediction.get("content"), "prediction.content")


def thinking_budget(body: ChatBody) -> int | None:
    """Return the limit on the tokens of the reasoning; None without one."""
    budget = body.thinking_token_budget
    if budget is None or budget == -1:
        return None
    if not 0 <= budget < INT64:
        raise InvalidRequest(
            f"thinking_token_budget must be at least 0, or -1 for no limit, got {budget}",
            param="thinking_token_budget",
        )
    return budget


def chat_logprobs(body: ChatBody) -> int | None:
    """Return the requested number of top tokens; None without logprobs."""
    if body.top_logprobs is not None and not 0 <= body.top_logprobs <= MAX_LOGPROBS:
        raise InvalidRequest(
            f"top_logprobs must be between 0 and {MAX_LOGPROBS}, got {body.top_logprobs}",
            param="top_logprobs",
        )
    if not body.logprobs:
        if body.top_logprobs:
            raise InvalidRequest("top_logprobs requires logprobs to be true", param="top_logprobs")
        return None
    return body.top_logprobs or 0


def prompt_logprobs(body: GenerationBody, echoed: int | None = None) -> int | None:
    """Return the number of top tokens at each prompt position; None without logprobs.

    echoed: the number that `echo` shows, if any; the larger one serves both.
    """
    wanted = body.prompt_logprobs
    if wanted is None:
        return echoed
    if not 0 <= wanted <= MAX_LOGPROBS:
        raise InvalidRequest(
            f"prompt_logprobs must be between 0 and {MAX_LOGPROBS}, got {wanted}",
            param="prompt_logprobs",
        )
    if body.stream:
        raise InvalidRequest(
            "prompt_logprobs is not available in streams; omit stream or prompt_logprobs",
            param="prompt_logprobs",
        )
    return max(wanted, echoed or 0)


def stops(given: object) -> tuple[str, ...]:
    """Return the stop strings of a body."""
    if given is None:
        return ()
    stops = [given] if isinstance(given, str) else given
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise InvalidRequest("stop must be a non-empty string or a list of them", param="stop")
    if len(stops) > MAX_STOPS or any(len(stop) > MAX_STOP_CHARS for stop in stops):
        raise InvalidRequest(
            f"stop may have at most {MAX_STOPS} strings of at most {MAX_STOP_CHARS} characters",
            param="stop",
        )
    return tuple(stops)


def check_patterns(given: object) -> tuple[str, ...]:
    """Return the stop patterns of a body, each checked."""
    patterns = [given] if isinstance(given, str) else given or []
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise InvalidRequest(
            "stop_regex must be a regular expression or a list of them", param="stop_regex"
        )
    found = tuple(patterns)
    if found:
        stop_patterns(found)
    return found


def rename_field(error: InvalidRequest, name: str) -> InvalidRequest:
    """Return the error of a field with another name of the field."""
    message = error.message.replace(error.param or name, name, 1)
    return type(error)(message, param=name, code=error.code)


def field_name(param: str | None, body: GenerationBody) -> str | None:
    """Return the client's name for a field of `SamplingParams`."""
    if param == "max_tokens" and isinstance(body, ChatBody):
        is_newer = body.max_completion_tokens is not None
        return body.names.max_tokens or ("max_completion_tokens" if is_newer else param)
    if param == "prompt_logprobs":
        return "logprobs"
    return param


def list_ignored(
    body: GenerationBody, template_reads: Callable[[str], bool], policy: str
) -> tuple[str, ...]:
    """Return the names of fields without effect on server, scheduling policy or chat template.

    Null counts as omitted.
    """
    names = list_without_effect(body, policy)
    if body.stream_options is not None:
        others = body.stream_options.model_extra or {}
        names += [f"stream_options.{plain(name)}" for name in others if others[name] is not None]
    if isinstance(body, ChatBody):
        names += _unread_by_template(body, template_reads)
    return tuple(names[:MAX_NAMED_IGNORED])


def list_without_effect(
    body: GenerationBody | EmbeddingBody | RankingBody, policy: str
) -> list[str]:
    """Return the names of fields without effect on server or scheduling policy."""
    unused = ["priority"] if body.priority and policy != "priority" else []
    return list_reported(body) + unused


def list_reported(body: RequestBody) -> list[str]:
    """Return the names of given fields that the body's class has not, and that have no effect."""
    return [
        plain(name)
        for name, value in (body.model_extra or {}).items()
        if value is not None and _is_reported(value, body.unused.get(name))
    ]


def _is_reported(value: object, field: Unused | None) -> bool:
    """Return True for an unknown field, or for another name of a field that is given too."""
    if field is None:
        return True
    return field.state in (State.REPORTED, State.OTHER_NAME) and not _is_harmless(value, field)


def _unread_by_template(body: ChatBody, template_reads: Callable[[str], bool]) -> list[str]:
    names = []
    effort = body.reasoning_effort
    read = ("reasoning_effort", *(THINKING_VARIABLES if effort == "none" else ()))
    if effort is not None and not any(map(template_reads, read)):
        names.append("reasoning_effort")
    if body.tools and body.tool_choice != "none" and not template_reads("tools"):
        names.append("tools")
    for name in body.chat_template_kwargs or {}:
        if not template_reads(name):
            names.append(f"chat_template_kwargs.{plain(name)}")
    return names


def plain(name: str) -> str:
    """Return the name if a header may contain it, else a question mark."""
    return name if _PLAIN_NAME.fullmatch(name) else "?"
