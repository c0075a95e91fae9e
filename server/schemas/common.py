"""What chat and text completions have in common.

Types are strict: a number in quotes or 1.5 where a whole number belongs is refused; 8.0 is one, as
in JSON Schema. Null is the same as leaving a field out. Ranges are checked where the values are
used, in `translate`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

LARGEST_EXACT_FLOAT = 2.0**53


def _whole(value: Any) -> Any:
    """8 for 8.0, which some languages write for every number."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and abs(value) <= LARGEST_EXACT_FLOAT else value


Whole = Annotated[int, BeforeValidator(_whole)]


class StreamOptions(BaseModel):
    """OpenAI's `stream_options`."""

    model_config = ConfigDict(strict=True, extra="ignore")

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None  # vLLM's; named as ignored


class GenerationBody(BaseModel):
    """The fields of both completion endpoints."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    # Known fields of these or of other servers' APIs that would change the answer if they were
    # obeyed: ignoring them silently would be wrong. The value that means "not used" is accepted.
    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        "allowed_token_ids": ([],),
        "bad_words": ([],),
        "beam_width": (1,),
        "dry_multiplier": (0,),
        "ebnf": ("",),
        "grammar": ("",),
        "guided_choice": (),
        "guided_grammar": (),
        "guided_json": (),
        "guided_regex": (),
        "json_schema": (),
        "length_penalty": (1,),
        "logits_processors": ([],),
        "mirostat": (0,),
        "no_repeat_ngram_size": (0,),
        "prompt_embeds": (),
        "prompt_logprobs": (),
        "regex": ("",),
        "repeat_penalty": (1,),
        "stop_regex": ([],),
        "stop_sequences": ([],),
        "structural_tag": (),
        "structured_outputs": (),
        "thinking_token_budget": (),
        "truncate_prompt_tokens": (),
        "typical_p": (1,),
        "use_beam_search": (False,),
        "xtc_probability": (0,),
    }
    # Accepted: they need nothing done, because they do not change the answer.
    accepted: ClassVar[frozenset[str]] = frozenset(
        {
            "metadata",
            "prompt_cache_key",
            "safety_identifier",
            "service_tier",
            "store",
            "user",
        }
    )

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Whole | None = None
    seed: Whole | None = None
    stop: Any = None  # a string or a list of strings
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None

    # Beyond OpenAI's API; names as in vLLM.
    top_k: Whole | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    min_tokens: Whole | None = None
    ignore_eos: bool | None = None
    stop_token_ids: list[Whole] | None = None
    skip_special_tokens: bool | None = None
    include_stop_str_in_output: bool | None = None
    return_token_ids: bool | None = None
    cache_salt: str | None = None
    priority: Whole | None = None
