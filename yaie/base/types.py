"""Values that travel between callers, clients and the engine: requests, deltas, information.

All are frozen and plain, so that msgspec can send them between processes unchanged. Text is
converted to token ids above this layer.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from yaie.base.errors import InvalidRequest, RequestError, nearest_name_hint
from yaie.base.sampling_fields import (
    Biases,
    Bool,
    FieldKind,
    Real,
    Texts,
    TokenIds,
    TokenRuns,
    Whole,
    reject,
)

MAX_LOGPROBS = 20
MAX_SEQUENCES_PER_REQUEST = 128
MIN_PROMPT_LOGITS = 32  # rows of a step for prompt logprobs, however many sequences sample

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """Parameters of the continuation of a prompt, with vLLM's names.

    A field that cannot be None takes None as its default. Numbers of array libraries become
    plain ones.

    Raises:
        InvalidRequest: a field is unknown, or a value has the wrong type or is out of range;
            `param` names the field.
    """

    n: Annotated[int, Whole(1, MAX_SEQUENCES_PER_REQUEST)] = 1
    max_tokens: Annotated[int | None, Whole(1)] = 16  # None: up to the end of the context
    min_tokens: Annotated[int, Whole(0)] = 0
    temperature: Annotated[float, Real(0.0, 100.0, is_recommended=True)] = 1.0  # 0: greedy
    top_p: Annotated[float, Real(0.0, 1.0, excludes_least=True, is_recommended=True)] = 1.0
    top_k: Annotated[int, Whole(-1, is_recommended=True)] = 0  # 0 or -1: off
    min_p: Annotated[float, Real(0.0, 1.0, is_recommended=True)] = 0.0
    # The range keeps logits finite.
    repetition_penalty: Annotated[float, Real(0.01, 100.0, is_recommended=True)] = 1.0
    presence_penalty: Annotated[float, Real(-2.0, 2.0)] = 0.0
    frequency_penalty: Annotated[float, Real(-2.0, 2.0)] = 0.0
    logit_bias: Annotated[dict[int, float] | None, Biases(100.0)] = None
    # Only these are sampled; None: every token.
    allowed_token_ids: Annotated[tuple[int, ...] | None, TokenIds(least=1)] = None
    # Runs of tokens that the output never contains.
    bad_words_token_ids: Annotated[tuple[tuple[int, ...], ...], TokenRuns()] = ()
    seed: Annotated[int | None, Whole()] = None
    stop: Annotated[tuple[str, ...], Texts()] = ()  # matched in text, above the engine
    # Regular expressions, searched in text too; syntax in docs/reference/http-api.md.
    stop_regex: Annotated[tuple[str, ...], Texts()] = ()
    stop_token_ids: Annotated[tuple[int, ...], TokenIds()] = ()
    ignore_eos: Annotated[bool, Bool()] = False
    # k: of the sampled token and of the k most likely ones; None: no logprobs.
    logprobs: Annotated[int | None, Whole(0, MAX_LOGPROBS)] = None
    prompt_logprobs: Annotated[int | None, Whole(0, MAX_LOGPROBS)] = None
    skip_special_tokens: Annotated[bool, Bool()] = True
    include_stop_str_in_output: Annotated[bool, Bool()] = False

    def __new__(cls, **values: object) -> SamplingParams:
        """Raise `InvalidRequest` with the nearest name for an unknown field."""
        for name in values:
            if name not in cls.__dataclass_fields__:
                hint = nearest_name_hint(
                    name, cls.__dataclass_fields__, cutoff=0.5
                )  # temp: temperature
                raise InvalidRequest(f"{name} is not a sampling parameter{hint}", param=name)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name, each in SAMPLING_FIELDS.items():
            value = getattr(self, name)
            if value is None and each.is_optional:
                continue
            plain = each.default if value is None else each.kind.convert(name, value)
            object.__setattr__(self, name, plain)
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            reject("min_tokens", self.min_tokens, f"at most max_tokens ({self.max_tokens})")

    @property
    def is_greedy(self) -> bool:
        """True if the most likely token is always taken."""
        return self.temperature == 0.0


@dataclass(frozen=True, slots=True)
class SamplingField:
    """Name, kind and default of one field of `SamplingParams`."""

    name: str
    kind: FieldKind
    default: Any
    is_optional: bool  # None has its own meaning

    @property
    def is_recommended(self) -> bool:
        """True if a model's generation_config.json may set the default."""
        return getattr(self.kind, "is_recommended", False)


def _sampling_fields() -> dict[str, SamplingField]:
    hints = get_type_hints(SamplingParams, include_extras=True)
    found = {}
    for each in fields(SamplingParams):
        hint, kind = get_args(hints[each.name])
        is_optional = type(None) in get_args(hint)
        found[each.name] = SamplingField(each.name, kind, each.default, is_optional)
    return found


SAMPLING_FIELDS = _sampling_fields()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Constraint on the text of an answer, for llguidance."""

    kind: Literal["json_object", "json_schema", "regex", "choice", "lark"]
    source: str = ""  # a schema or a list of choices as JSON, a regular expression, or Lark
    param: str = "grammar"  # the caller's field, for errors

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | bool) -> Grammar:
        """Return the grammar of JSON that is valid under `schema`.

        Raises `InvalidRequest` if the schema cannot be written as JSON.
        """
        try:
            return cls(kind="json_schema", source=json.dumps(schema))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequest(f"the schema is not JSON: {error}", param="grammar") from None

    @classmethod
    def regex(cls, pattern: str) -> Grammar:
        """Return the grammar of texts that `pattern` matches as a whole."""
        return cls(kind="regex", source=pattern)

    @classmethod
    def choice(cls, texts: Sequence[str]) -> Grammar:
        """Return the grammar of exactly these texts."""
        return cls(kind="choice", source=json.dumps(list(texts)))

    @classmethod
    def lark(cls, source: str) -> Grammar:
        """Return a grammar in llguidance's dialect of Lark."""
        return cls(kind="lark", source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningLimit:
    """Most tokens of the reasoning of an answer, and the tokens that open and close it."""

    max_tokens: int
    opener_id: int
    closer_id: int
    is_open: bool  # the prompt ends with the opener


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One request to the engine."""

    request_id: str  # unique among requests in progress
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    grammar: Grammar | None = None
    reasoning_limit: ReasoningLimit | None = None
    tenant: str = ""  # tenants share the engine equally, or by their weights
    owner: str = ""  # name of the API key's tenant, or empty
    cache_salt: str = ""  # prefixes are shared among requests of equal owner and salt
    priority: int = 0  # with the `priority` policy: lower runs first and is preempted last
    # Longest wait for admission; beside the engine's own limit, of which the lower holds.
    queue_timeout_s: float | None = None
    submission: int = 0  # set by clients; distinguishes successive requests with one id


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPrompt:
    """Tokens with which a later prompt will begin, to be computed while the engine is idle."""

    token_ids: tuple[int, ...]
    owner: str = ""  # as of the requests that will have the prompt
    cache_salt: str = ""
    # A turn as it was generated. Once the prompt is computed, the tokens behind the first
    # `num_kept` are of no more use.
    replaces: tuple[int, ...] = ()
    num_kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """Log-probabilities at one position, of the token and of the most likely alternatives."""

    token_id: int
    logprob: float
    rank: int  # 1: the most likely token
    top: tuple[tuple[int, float], ...] = ()  # (token id, logprob), most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Waiting and running times of one sequence in seconds."""

    queued_s: float = 0.0  # from arrival to admission
    first_token_s: float = 0.0  # from arrival to the first token
    total_s: float = 0.0  # from arrival to the end


class TokenDelta(
    msgspec.Struct, frozen=True, kw_only=True, array_like=True, omit_defaults=True, gc=False
):
    """The tokens that one step added to one sequence; the last delta has a `finish_reason`.

    A structure of msgspec, as each step makes, sends and reads one for each sequence: a tenth of
    the time of a frozen dataclass.
    """

    request_id: str
    submission: int = 0  # the request's
    index: int  # of the sequence, below the request's `n`
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()  # as long as token_ids, or empty if not requested
    finish_reason: FinishReason | None = None
    stop_token_id: int | None = None  # the token that ended the sequence
    error: RequestError | None = None  # with finish_reason "error"
    # Prompt tokens that were not computed for this request; known from the first token on.
    num_cached_tokens: int = 0
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None  # with the first delta
    timings: Timings | None = None  # with the last delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one request, summed over its sequences."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int = 0  # of the completion tokens

    @property
    def total_tokens(self) -> int:
        """Number of tokens in prompt and completion."""
        return self.prompt_tokens + self.completion_tokens


class EngineState(enum.StrEnum):
    """State of the engine, as `/health` reports it."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STALLED = "stalled"
    DEAD = "dead"
    UNLOADED = "unloaded"  # its next request loads the model
    FAILED = "failed"  # cannot start; a restart would not help


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """Description of a ready engine; constant until it ends."""

    model: str  # name under which it is served
    model_path: str
    architecture: str
    dtype: str
    quantization: str | None = None  # of linear layers: "int8", "int4", "int4+int8" or None
    kv_dtype: str  # of the pool
    device: str
    attention_backend: str
    # Figures of the GPU that the choice of attention rests on, as in `DeviceTraits`; empty without
    # a choice.
    attention_traits: dict[str, float] = field(default_factory=dict)
    # What keeps the tokens of top_k, top_p and min_p on a GPU: "triton", "torch", which is slower
    # and only serves where the kernel cannot, or None on a CPU.
    truncation_kernel: str | None = None
    execution: str = "transformers"  # executor of the layers, or "native" or "fused"
    exact: bool = False  # batch-invariant: logits have the same bits in any batch, cold or warm
    graph_sizes: tuple[int, ...] = ()  # rows of captured decode steps
    graph_bytes: int = 0
    graph_capture_s: float = 0.0
    warm_up_s: float = 0.0  # seconds of the first batch, before the engine was ready; 0: none
    vocab_size: int
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    kv_bytes_per_token: int
    weight_bytes: int
    memory_bytes: int = 0  # planned: weights, activations and pool
    num_parameters: int
    policy: str
    eviction: str
    max_step_rows: int
    max_running: int  # live sequences
    max_waiting: int  # waiting requests beyond those that fit; more are rejected
    max_waiting_tokens: int = 0  # of their prompts, beyond those of a step; 0: no limit
    eos_token_ids: tuple[int, ...] = ()
    # Recommendations of the model's authors (temperature, top_p, ...): defaults of requests.
    default_sampling: dict[str, int | float] = field(default_factory=dict)
