"""Values that travel between callers, clients and the engine: requests, deltas, engine info.

All are frozen and plain, so that msgspec can send them between processes unchanged. Text is
converted to token ids above this layer.
"""

from __future__ import annotations

import enum
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from yaie.base.adapter_info import AdapterInfo
from yaie.base.embedding_info import EmbeddingInfo, Pooling
from yaie.base.errors import InvalidRequest, RequestError, nearest_name_hint
from yaie.base.ranking_info import RankingInfo
from yaie.base.sampling_fields import (
    Biases,
    Bool,
    Constraint,
    FieldKind,
    Real,
    StructuredOutputsParams,
    Texts,
    TokenIds,
    TokenRuns,
    Whole,
    old_parameter_hint,
    reject,
)

MAX_LOGPROBS = 20
MAX_SEQUENCES_PER_REQUEST = 128
MIN_PROMPT_LOGITS = 32  # rows of a step for prompt logprobs, however many sequences sample

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(slots=True, kw_only=True)
class SamplingParams:
    """Sampling parameters for requests, with vLLM's names.

    Fields can be set later; a request keeps the values that it began with. A field that cannot be
    None replaces None by its default. Scalars from array libraries become plain numbers.

    Raises:
        InvalidRequest: a field is unknown, or a value has the wrong type or is out of range;
            `param` names the field.

    Attributes:
        n: Sequences per prompt.
        max_tokens: Most output tokens per sequence; None allows the rest of the context.
        min_tokens: Output tokens before an end token or a stop may end the sequence.
        temperature: Randomness; 0 takes the most likely token.
        top_p: Probability mass of the most likely tokens to sample from; 1 allows all.
        top_k: Number of the most likely tokens to sample from; 0 or -1 allows all.
        min_p: Least probability of a token, as a share of the most likely token's; 0 allows all.
        repetition_penalty: Divides the logits of tokens in prompt and output; 1 disables it.
        presence_penalty: Subtracted from the logits of tokens in the output; 0 disables it.
        frequency_penalty: The same, times the token's count in the output.
        logit_bias: Added to logits, by token id.
        allowed_token_ids: The only tokens to sample; None allows every token.
        bad_words_token_ids: Token sequences that the output never contains.
        seed: Makes the samples repeatable; None uses the engine's.
        stop: Texts that end the output.
        stop_regex: Regular expressions that end the output (syntax: docs/reference/http-api.md).
        stop_token_ids: Tokens that end the output.
        ignore_eos: True continues after an end token.
        logprobs: Return the log-probabilities of each sampled token and of this many most likely
            tokens; None returns none.
        prompt_logprobs: The same for each prompt token.
        skip_special_tokens: True omits special tokens from the text.
        include_stop_str_in_output: True keeps the stop text in the output.
        structured_outputs: Constraint on the output, as `StructuredOutputsParams`.
    """

    n: Annotated[int, Whole(1, MAX_SEQUENCES_PER_REQUEST)] = 1
    max_tokens: Annotated[int | None, Whole(1)] = 16
    min_tokens: Annotated[int, Whole(0)] = 0
    temperature: Annotated[float, Real(0.0, 100.0, is_recommended=True)] = 1.0
    top_p: Annotated[float, Real(0.0, 1.0, excludes_least=True, is_recommended=True)] = 1.0
    top_k: Annotated[int, Whole(-1, is_recommended=True)] = 0
    min_p: Annotated[float, Real(0.0, 1.0, is_recommended=True)] = 0.0
    # The range keeps logits finite.
    repetition_penalty: Annotated[float, Real(0.01, 100.0, is_recommended=True)] = 1.0
    presence_penalty: Annotated[float, Real(-2.0, 2.0)] = 0.0
    frequency_penalty: Annotated[float, Real(-2.0, 2.0)] = 0.0
    logit_bias: Annotated[dict[int, float] | None, Biases(100.0)] = None
    allowed_token_ids: Annotated[tuple[int, ...] | None, TokenIds(least=1)] = None
    bad_words_token_ids: Annotated[tuple[tuple[int, ...], ...], TokenRuns()] = ()
    seed: Annotated[int | None, Whole()] = None
    stop: Annotated[tuple[str, ...], Texts()] = ()
    stop_regex: Annotated[tuple[str, ...], Texts()] = ()
    stop_token_ids: Annotated[tuple[int, ...], TokenIds()] = ()
    ignore_eos: Annotated[bool, Bool()] = False
    logprobs: Annotated[int | None, Whole(0, MAX_LOGPROBS)] = None
    prompt_logprobs: Annotated[int | None, Whole(0, MAX_LOGPROBS)] = None
    skip_special_tokens: Annotated[bool, Bool()] = True
    include_stop_str_in_output: Annotated[bool, Bool()] = False
    # Read where a request is made; the engine's requests have a grammar instead.
    structured_outputs: Annotated[StructuredOutputsParams | None, Constraint()] = None

    def __new__(cls, **values: object) -> SamplingParams:
        """Raise `InvalidRequest` with the nearest name for an unknown field."""
        for name in values:
            if name not in cls.__dataclass_fields__:
                hint = old_parameter_hint(name) or nearest_name_hint(
                    name, cls.__dataclass_fields__, cutoff=0.5
                )  # temp: temperature
                raise InvalidRequest(f"{name} is not a sampling parameter{hint}", param=name)
        return object.__new__(cls)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a field to the checked and converted value. msgspec decodes without it."""
        each = SAMPLING_FIELDS.get(name)
        if each is None:
            raise InvalidRequest(f"{name} is not a sampling parameter", param=name)
        plain = each.plain(value)
        if name in ("min_tokens", "max_tokens"):
            least = plain if name == "min_tokens" else getattr(self, "min_tokens", 0)
            most = plain if name == "max_tokens" else self.max_tokens  # the earlier field
            if most is not None and least > most:
                reject("min_tokens", least, f"at most max_tokens ({most})")
        object.__setattr__(self, name, plain)

    @property
    def is_greedy(self) -> bool:
        """True if the most likely token is always taken."""
        return self.temperature == 0.0


@dataclass(frozen=True, slots=True)
class SamplingField:
    """Name, type and default of one `SamplingParams` field."""

    name: str
    kind: FieldKind
    default: Any
    is_optional: bool  # None is a valid value

    def plain(self, value: object) -> Any:
        """Return the checked value as a plain one; the default for a None that is not valid."""
        if value is None:
            return None if self.is_optional else self.default
        return self.kind.convert(self.name, value)

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


def _plain_signature() -> inspect.Signature:
    """Return the constructor's signature for `help()`, without the annotations of fields."""
    hints = get_type_hints(SamplingParams)
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=hints[each.name],
            )
            for each in fields(SamplingParams)
        ]
    )


SamplingParams.__signature__ = _plain_signature()  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Grammar that constrains an output's text, for llguidance."""

    kind: Literal["json_object", "json_schema", "regex", "choice", "lark"]
    source: str = ""  # a schema or a list of choices as JSON, a regular expression, or Lark
    param: str = "grammar"  # the caller's field, for errors

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any] | bool) -> Grammar:
        """Return the grammar for JSON that is valid under `schema`.

        Raises `InvalidRequest` if the schema cannot be written as JSON.
        """
        try:
            return cls(kind="json_schema", source=json.dumps(schema))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequest(f"the schema is not JSON: {error}", param="grammar") from None

    @classmethod
    def regex(cls, pattern: str) -> Grammar:
        """Return the grammar for texts that `pattern` matches as a whole."""
        return cls(kind="regex", source=pattern)

    @classmethod
    def choice(cls, texts: Sequence[str]) -> Grammar:
        """Return the grammar for exactly these texts."""
        return cls(kind="choice", source=json.dumps(list(texts)))

    @classmethod
    def lark(cls, source: str) -> Grammar:
        """Return a grammar in llguidance's dialect of Lark."""
        return cls(kind="lark", source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningLimit:
    """Maximum reasoning tokens, and the tokens that open and close the reasoning."""

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
    # Maximum queue time; the lower of this and the engine's limit applies.
    queue_timeout_s: float | None = None
    submission: int = 0  # set by clients; distinguishes successive requests with one id
    call: str = ""  # requests of one call fail together; empty: a call of this request alone
    # Last prompt tokens that are output of an earlier run, which this one continues.
    num_resumed: int = 0
    # Ends after the prompt: the answer is the pooled row of its tokens, and no text.
    pooling: Pooling | None = None
    prediction: tuple[int, ...] = ()  # the likely answer: drafts that the engine verifies
    speculate: bool = True  # False: no drafts for this request
    adapter: str = ""  # name of a LoRA adapter; empty: the model alone
    adapter_path: str = ""  # folder from which an engine loads it that lacks it since a restart


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPrompt:
    """First tokens of a later prompt, to prefill while the engine is idle."""

    token_ids: tuple[int, ...]
    owner: str = ""  # owner of the later request
    cache_salt: str = ""
    adapter: str = ""
    # The turn as generated. Once the prompt is computed, tokens past the first `num_kept`
    # can be evicted.
    replaces: tuple[int, ...] = ()
    num_kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """Logprobs at one position: the token and the most likely alternatives."""

    token_id: int
    logprob: float
    rank: int  # 1: the most likely token
    top: tuple[tuple[int, float], ...] = ()  # (token id, logprob), most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Queue and run times of one sequence in seconds."""

    queued_s: float = 0.0  # from arrival to admission
    first_token_s: float = 0.0  # from arrival to the first token
    total_s: float = 0.0  # from arrival to the end


class TokenDelta(
    msgspec.Struct, frozen=True, kw_only=True, array_like=True, omit_defaults=True, gc=False
):
    """Tokens that one step added to one sequence; the last delta has a `finish_reason`.

    A msgspec structure, since each step makes, sends and reads one for each sequence: it takes a
    tenth of the time of a frozen dataclass.
    """

    request_id: str
    submission: int = 0  # the request's
    index: int  # sequence index, below the request's `n`
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprobs, ...] = ()  # as long as token_ids, or empty if not requested
    finish_reason: FinishReason | None = None
    stop_token_id: int | None = None  # the token that ended the sequence
    error: RequestError | None = None  # with finish_reason "error"
    # Prompt tokens served from the cache; known from the first token on.
    num_cached_tokens: int = 0
    prompt_logprobs: tuple[TokenLogprobs | None, ...] | None = None  # with the first delta
    timings: Timings | None = None  # with the last delta
    pooled: bytes = b""  # of a request with pooling: its row, as little-endian float32
    num_accepted: int = 0  # draft tokens that became tokens of this delta
    num_rejected: int = 0  # draft tokens that did not


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one request, summed over its sequences."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int = 0  # included in completion_tokens
    accepted_prediction_tokens: int = 0  # draft tokens, included in completion_tokens
    rejected_prediction_tokens: int = 0  # draft tokens, not in completion_tokens

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
    quantization: str | None = None  # linear layers: "int8", "int4", "int4+int8" or None
    kv_dtype: str  # data type of the KV cache
    device: str
    attention_backend: str
    # GPU numbers that select the attention method, as in `DeviceTraits`; empty without
    # a selection.
    attention_traits: dict[str, float] = field(default_factory=dict)
    # What keeps the tokens of top_k, top_p and min_p on a GPU: "triton", "torch", which is slower
    # and only serves where the kernel cannot, or None on a CPU.
    truncation_kernel: str | None = None
    execution: str = "transformers"  # executor of the layers, or "native" or "fused"
    execution_reason: str = ""  # why no faster executor runs; empty for the fastest
    exact: bool = False  # batch-invariant: logits have the same bits in any batch, cold or warm
    graph_sizes: tuple[int, ...] = ()  # rows of captured decode steps
    graph_bytes: int = 0
    graph_capture_s: float = 0.0
    warm_up_s: float = 0.0  # warm-up time before the engine was ready; 0 without a warm-up
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
    num_states: int = 0  # slots for the states of recurrent layers; 0 without such layers
    max_draft_tokens: int = 0  # of one sequence in a step; 0 without speculative decoding
    max_waiting: int  # waiting requests beyond those that fit; more are rejected
    max_waiting_tokens: int = 0  # queued prompt tokens beyond one step; 0 disables the limit
    eos_token_ids: tuple[int, ...] = ()
    embedding: EmbeddingInfo | None = None  # set for a model that makes embeddings
    adapters: tuple[AdapterInfo, ...] = ()  # LoRA adapters loaded at its start
    ranking: RankingInfo | None = None  # set for a reranker
    # Sampling defaults recommended by the model's authors (temperature, top_p, ...).
    default_sampling: dict[str, int | float] = field(default_factory=dict)
