"""What chat and text completions have in common.

Types are strict: a number in quotes or a float where a whole number belongs is refused. Null is
the same as leaving a field out. Ranges are checked where the values are used, in `translate`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


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
        "guided_choice": (),
        "guided_grammar": (),
        "guided_json": (),
        "guided_regex": (),
        "length_penalty": (1, 1.0),
        "logits_processors": ([],),
        "prompt_embeds": (),
        "prompt_logprobs": (),
        "structured_outputs": (),
        "truncate_prompt_tokens": (),
        "use_beam_search": (False,),
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
    n: int | None = None
    seed: int | None = None
    stop: Any = None  # a string or a list of strings
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None

    # Beyond OpenAI's API; names as in vLLM.
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    min_tokens: int | None = None
    ignore_eos: bool | None = None
    stop_token_ids: list[int] | None = None
    skip_special_tokens: bool | None = None
    include_stop_str_in_output: bool | None = None
    return_token_ids: bool | None = None
    cache_salt: str | None = None
    priority: int | None = None
