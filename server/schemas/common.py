"""Fields shared by chat and text completions.

Types are strict: a number in quotes, or 1.5 for an integer, is refused. 8.0 is an integer, as in
JSON Schema. Null counts as left out. `translate` checks the ranges.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError

from server.schemas.base import RequestBody

LARGEST_EXACT_FLOAT = 2.0**53
MAX_LISTED = 1024  # ids, biases, or values for the chat template


def _whole_number(value: Any) -> Any:
    """Return 8 for 8.0: some languages write every number as a float."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and abs(value) <= LARGEST_EXACT_FLOAT else value


def _short(value: Any) -> Any:
    """Refuse a long list before pydantic builds one error for each wrong entry."""
    if isinstance(value, list | dict) and len(value) > MAX_LISTED:
        raise PydanticCustomError(
            "too_long",
            "has {number} entries; at most {limit} are allowed",
            {"number": len(value), "limit": MAX_LISTED},
        )
    return value


WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Short = BeforeValidator(_short)


class StreamOptions(BaseModel):
    """OpenAI's `stream_options`."""

    model_config = ConfigDict(strict=True, extra="ignore")

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None  # vLLM's; reported as ignored


MAX_TENANT_CHARS = 256


class GenerationBody(RequestBody):
    """The fields of both completion endpoints."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    # Known fields of this or another server's API with an effect on the answer: to ignore them
    # silently would be wrong. The listed values mean "unused" and are accepted.
    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        "allowed_token_ids": ([],),
        "bad_words": ([],),
        "ban_eos_token": (False,),
        "banned_strings": ([],),
        "beam_width": (1,),
        "custom_token_bans": ("",),
        "dry_multiplier": (0,),
        "dynatemp_range": (0,),
        "ebnf": ("",),
        "format": ("",),
        "grammar": ("",),
        "guided_choice": ([],),
        "guided_grammar": ("",),
        "guided_json": ("",),
        "guided_regex": ("",),
        "json_schema": ("",),
        "length_penalty": (1,),
        "logits_processors": ([],),
        "mirostat": (0,),
        "mirostat_mode": (0,),
        "no_repeat_ngram_size": (0,),
        "penalty_alpha": (0,),
        "prompt_embeds": (),
        "prompt_logprobs": (),
        "regex": ("",),
        "response_schema": (),
        "smoothing_factor": (0,),
        "stop_regex": ([],),
        "structural_tag": ("",),
        "structured_outputs": (),
        "tfs": (1,),
        "tfs_z": (1,),
        "thinking_token_budget": (-1,),
        "top_a": (0,),
        "top_n_sigma": (0, -1),
        "truncate_prompt_tokens": (),
        "typical_p": (1,),
        "use_beam_search": (False,),
        "xtc_probability": (0,),
    }
    # Other servers' names for fields of ours: refused unless ours is given too, as by clients for
    # several servers.
    other_names: ClassVar[dict[str, tuple[str, Any]]] = {
        "max_new_tokens": ("max_tokens", None),
        "n_predict": ("max_tokens", -1),
        "num_predict": ("max_tokens", -1),
        "repeat_penalty": ("repetition_penalty", 1),
        "stop_sequences": ("stop", []),
    }
    # Accepted without effect, since they do not change the answer.
    accepted: ClassVar[frozenset[str]] = frozenset(
        {
            "metadata",
            "prompt_cache_key",
            "safety_identifier",
            "service_tier",
            "store",
            "user",  # names the tenant on a server without API keys
        }
    )

    @property
    def tenant(self) -> str:
        """Tenant of the request by its `user` field; empty without one."""
        user = (self.model_extra or {}).get("user")
        return user[:MAX_TENANT_CHARS] if isinstance(user, str) else ""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: WholeNumber | None = None
    seed: WholeNumber | None = None
    stop: Any = None  # a string or a list of strings
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Annotated[dict[str, float] | None, Short] = None

    # Beyond OpenAI's API; names as in vLLM.
    top_k: WholeNumber | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    min_tokens: WholeNumber | None = None
    ignore_eos: bool | None = None
    stop_token_ids: Annotated[list[WholeNumber] | None, Short] = None
    skip_special_tokens: bool | None = None
    include_stop_str_in_output: bool | None = None
    return_token_ids: bool | None = None
    cache_salt: str | None = None
    priority: WholeNumber | None = None
