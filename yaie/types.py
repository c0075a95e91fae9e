"""The values that cross borders: what a caller asks for and what the engine answers.

Everything here is frozen and plain, so that it can travel between processes as it is (msgspec
reads and writes dataclasses). Text does not exist here: front doors turn it into token ids.
"""

from __future__ import annotations

import enum
import numbers
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NoReturn

from yaie.errors import InvalidRequest, RequestError

MAX_LOGPROBS = 20
MAX_SEQUENCES_PER_REQUEST = 128

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How to continue a prompt. Field names are vLLM's, and so is None for "the default".

    Numbers of array libraries become plain ones. Raises `InvalidRequest` naming the field when a
    value is of a wrong type or out of range.
    """

    n: int = 1
    max_tokens: int | None = 16  # None: as many as the context has room for
    min_tokens: int = 0
    temperature: float = 1.0  # 0: greedy
    top_p: float = 1.0
    top_k: int = 0  # 0 or -1: off
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[int, float] | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()  # looked for by the front doors, not by the engine
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    logprobs: int | None = None  # None: none; k: of the drawn token and of the k most likely
    prompt_logprobs: int | None = None
    skip_special_tokens: bool = True
    include_stop_str_in_output: bool = False

    def __post_init__(self) -> None:
        for name, default in _DEFAULTS:
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if isinstance(self.stop, str):  # vLLM takes a single string too
            object.__setattr__(self, "stop", (self.stop,))
        plain: dict[str, object] = {
            "stop": _texts("stop", self.stop),
            "stop_token_ids": _token_ids("stop_token_ids", self.stop_token_ids),
        }
        if self.logit_bias is not None:
            plain["logit_bias"] = _biases("logit_bias", self.logit_bias)
        for name, lowest, highest in _INT_RANGES:
            value = getattr(self, name)
            if value is not None:  # only where it has a meaning: elsewhere it became the default
                plain[name] = _whole_number(name, value, lowest, highest)
        for name, low, high in _FLOAT_RANGES:
            plain[name] = _number(name, getattr(self, name), low, high)
        for name in _BOOLS:
            plain[name] = _boolean(name, getattr(self, name))
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.top_p <= 0:
            _refuse("top_p", self.top_p, "greater than 0 and at most 1")
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            _refuse("min_tokens", self.min_tokens, f"at most max_tokens ({self.max_tokens})")
        if any(not piece for piece in self.stop):
            _refuse("stop", "", "non-empty strings")

    @property
    def is_greedy(self) -> bool:
        """Whether the most likely token is always taken."""
        return self.temperature == 0.0


# Of the fields where None has no meaning of its own.
_DEFAULTS = tuple(
    (each.name, each.default)
    for each in fields(SamplingParams)
    if each.default is not None and each.name != "max_tokens"
)
_LARGEST_INT = 2**63 - 1  # what travels to the engine
_INT_RANGES: tuple[tuple[str, int, int], ...] = (
    ("n", 1, MAX_SEQUENCES_PER_REQUEST),
    ("max_tokens", 1, _LARGEST_INT),
    ("min_tokens", 0, _LARGEST_INT),
    ("top_k", -1, _LARGEST_INT),
    ("seed", -_LARGEST_INT - 1, _LARGEST_INT),
    ("logprobs", 0, MAX_LOGPROBS),
    ("prompt_logprobs", 0, MAX_LOGPROBS),
)
_FLOAT_RANGES = (
    ("temperature", 0.0, 100.0),
    ("top_p", 0.0, 1.0),
    ("min_p", 0.0, 1.0),
    ("repetition_penalty", 0.01, 100.0),  # logits stay finite
    ("presence_penalty", -2.0, 2.0),
    ("frequency_penalty", -2.0, 2.0),
)
_BOOLS = ("ignore_eos", "skip_special_tokens", "include_stop_str_in_output")


def _is_number(value: Any, kind: type) -> bool:
    """Whether it is of that kind of the numeric tower, which array libraries have joined."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _whole_number(
    name: str,
    value: Any,
    lowest: int = -_LARGEST_INT - 1,
    highest: int = _LARGEST_INT,
    wanted: str = "a whole number",
) -> int:
    if not _is_number(value, numbers.Integral):
        _refuse(name, value, wanted)
    if value < lowest:
        _refuse(name, value, f"at least {lowest}")
    if value > highest:
        _refuse(name, value, f"at most {highest}")
    return int(value)


def _number(name: str, value: Any, low: float, high: float) -> float:
    if not _is_number(value, numbers.Real):
        _refuse(name, value, "a number")
    if not low <= value <= high:  # also refuses NaN
        _refuse(name, value, f"between {low:g} and {high:g}")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _boolean(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        _refuse(name, value, "True or False")
    return value


def _texts(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        _refuse(name, values, "a list of str")
    for value in values:
        if not isinstance(value, str):
            _refuse(name, value, "a list of str only")
    return tuple(values)


def _token_ids(name: str, values: object) -> tuple[int, ...]:
    if not isinstance(values, list | tuple):
        _refuse(name, values, "a list of int")
    return tuple(_whole_number(name, value, wanted="a list of int only") for value in values)


def _biases(name: str, biases: object) -> dict[int, float]:
    if not isinstance(biases, dict):
        _refuse(name, biases, "a mapping from token ids to numbers")
    keyed = "keyed by token ids, which are whole numbers"
    return {
        _whole_number(name, token_id, wanted=keyed): _number(name, bias, -100.0, 100.0)
        for token_id, bias in biases.items()
    }


def as_shown(value: object) -> str:
    """A value as an error message shows it."""
    try:
        return repr(value)
    except ValueError:  # Python does not write out whole numbers of thousands of digits
        return "(too many digits to show)"


def _refuse(name: str, value: object, wanted: str) -> NoReturn:
    raise InvalidRequest(f"{name} must be {wanted}, got {as_shown(value)}", param=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One request as the engine sees it."""

    request_id: str  # unlike those of all requests that are being answered
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    cache_salt: str = ""  # requests share prefixes only with requests of the same salt
    priority: int = 0  # under the `priority` policy lower runs first and is preempted last
    submission: int = 0  # filled in by clients; tells apart requests that used one id in turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """Log-probabilities at one position: of the token itself and of the most likely ones."""

    token_id: int
    logprob: float
    rank: int  # 1: the most likely token
    top: tuple[tuple[int, float], ...] = ()  # (token id, logprob), most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where one sequence spent its time, in seconds."""

    queued_s: float = 0.0  # from arrival to admission
    first_token_s: float = 0.0  # from arrival to the first token
    total_s: float = 0.0  # from arrival to the end


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDelta:
    """What one step added to one sequence; the last one carries `finish_reason`."""

    request_id: str
    submission: int = 0  # the request's
    index: int  # which of the request's `n` sequences
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()  # as long as token_ids where asked for, else empty
    finish_reason: FinishReason | None = None
    stop_token_id: int | None = None  # the token that ended it, where one did
    error: RequestError | None = None  # with finish_reason "error"
    # Of the request's prompt: tokens that no row was computed for on this request's behalf.
    # Known from the first token on.
    num_cached_tokens: int = 0
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None  # with the first delta
    timings: Timings | None = None  # with the last delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one request, summed over its sequences."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class EngineState(enum.StrEnum):
    """What the engine is doing, as `/health` reports it."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STALLED = "stalled"
    DEAD = "dead"
    FAILED = "failed"  # it cannot start; restarting will not help


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """What a ready engine says of itself; fixed for its life."""

    model: str  # the name it is served under
    model_path: str
    architecture: str
    dtype: str
    quantization: str | None = None  # of linear layers: "int8", "int4", "int4+int8" or None
    kv_dtype: str  # of the pool
    device: str
    attention_backend: str
    execution: str = "transformers"  # who runs the layers: "native" is the kernel library
    exact: bool = False  # whether logits are the same bits in any batch, cold or warm
    vocab_size: int
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    kv_bytes_per_token: int
    weight_bytes: int
    num_parameters: int
    policy: str
    eviction: str
    max_step_rows: int
    max_running: int  # live sequences
    max_waiting: int  # requests without room; beyond it one is refused
    eos_token_ids: tuple[int, ...] = ()
    # What the model's authors recommend (temperature, top_p, ...), for requests that say nothing.
    default_sampling: dict[str, int | float] = field(default_factory=dict)
