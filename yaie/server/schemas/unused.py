"""Known fields that have no effect here: refused ones, other names of ours, and accepted ones.

A refused field would change the answer; to ignore it silently would be wrong.
"""

from __future__ import annotations

from typing import Any

from yaie.server.schemas.base import State, Unused


def _refused(name: str, meaning: str, *harmless: Any, advice: str = "") -> Unused:
    return Unused(name=name, state=State.REFUSED, meaning=meaning, harmless=harmless, advice=advice)


def _other_name(name: str, ours: str, harmless: Any = None, place: str = "") -> Unused:
    """Return the row of another name of `ours`, or of a `place` in it."""
    meaning = f"another name of `{place or ours}`"
    harmless_values = () if harmless is None else (harmless,)
    return Unused(
        name=name,
        state=State.OTHER_NAME,
        meaning=meaning,
        harmless=harmless_values,
        ours=ours,
        advice=f"use {place or ours}",
    )


def _accepted(name: str, meaning: str) -> Unused:
    return Unused(name=name, state=State.ACCEPTED, meaning=meaning)


def _reported(name: str, meaning: str, *harmless: Any) -> Unused:
    return Unused(name=name, state=State.REPORTED, meaning=meaning, harmless=harmless)


_CONSTRAINT = "constrained output"
_SAMPLER = "a sampler of other servers"

COMMON = (
    _refused("ban_eos_token", "an end token that may not be sampled", False),
    _refused("banned_strings", "strings that may not be written", []),
    _refused("adapter_id", "an adapter of the model", ""),
    _refused("beam_width", "beam search", 1),
    _refused("custom_token_bans", "tokens that may not be sampled", ""),
    _refused("detokenize", "an answer without text", True, advice="use return_token_ids"),
    _refused("dry_multiplier", _SAMPLER, 0),
    _refused("dynatemp_range", _SAMPLER, 0),
    _refused("format", _CONSTRAINT, ""),
    _refused("guided_decoding", _CONSTRAINT, {}, advice="use structured_outputs"),
    _refused("length_penalty", "beam search", 1),
    _refused("logits_processors", "code of the client's own", []),
    _refused("lora", "adapters of the model", [], {}, ""),
    _refused("lora_path", "an adapter of the model", ""),
    _refused("mirostat", _SAMPLER, 0),
    _refused("mirostat_mode", _SAMPLER, 0),
    _refused("no_repeat_ngram_size", "runs of tokens that may not repeat", 0),
    _refused("num_beams", "beam search", 1),
    _refused("output_kind", "pieces that repeat the text before", "delta", "final"),
    _refused("penalty_alpha", "contrastive search", 0),
    _refused("prompt_embeds", "a prompt as embeddings"),
    _refused("response_schema", _CONSTRAINT),
    _refused("smoothing_factor", _SAMPLER, 0),
    _refused("structural_tag", _CONSTRAINT, ""),
    _refused("suppress_tokens", "tokens that may not be sampled", [], advice="use logit_bias"),
    _refused("tfs", _SAMPLER, 1),
    _refused("tfs_z", _SAMPLER, 1),
    _refused("top_a", _SAMPLER, 0),
    _refused("top_n_sigma", _SAMPLER, 0, -1),
    _refused("typical_p", _SAMPLER, 1),
    _refused("use_beam_search", "beam search", False),
    _refused("xtc_probability", _SAMPLER, 0),
    _other_name("do_sample", "temperature", True),
    _other_name("max_new_tokens", "max_tokens"),
    _other_name("max_time", "request_timeout_s"),
    _other_name("n_predict", "max_tokens", -1),
    _other_name("num_predict", "max_tokens", -1),
    _other_name("repeat_penalty", "repetition_penalty", 1),
    _other_name("request_timeout", "request_timeout_s"),
    _other_name("stop_pattern", "stop_regex", ""),
    _other_name("stop_sequences", "stop", []),
    _other_name("timeout", "request_timeout_s"),
    _accepted("metadata", "notes of the client on its request"),
    _accepted("prompt_cache_key", "every prefix is cached, also without a key"),
    _accepted("safety_identifier", "an id of the end user for OpenAI's reviews"),
    _accepted("store", "answers are never stored"),
)

CHAT = (
    _refused("audio", "spoken answers"),
    _refused("best_of", "more candidates than answers", 1),
    _refused("chat_template", "a template of the client's own", ""),
    _refused("documents", "documents for the template", []),
    _refused("modalities", "kinds of output besides text", ["text"]),
    _refused("web_search_options", "a search of the web"),
    _accepted("prediction", "an expected answer speeds up others' servers; the answer is the same"),
)

COMPLETION = (
    _refused("suffix", "text after the completion", ""),
    _refused("thinking_token_budget", "a limit on the tokens of the reasoning", -1),
)

_OF_RESPONSES = (
    _refused("conversation", "a stored conversation", advice="use previous_response_id"),
    _refused("echo", "the last message before the answer", False),
    _refused("messages", "the name of `input` in chats", advice="use input"),
    _refused("n", "several answers", 1, advice="send the request several times"),
    _refused("prompt", "a stored prompt", advice="send its text as instructions and input"),
    _other_name("function_call", "tool_choice", "none"),
    _other_name("functions", "tools", []),
    _other_name("logprobs", "include", False, "include with message.output_text.logprobs"),
    _other_name("max_completion_tokens", "max_output_tokens"),
    _other_name("max_new_tokens", "max_output_tokens"),
    _other_name("max_tokens", "max_output_tokens"),
    _other_name("n_predict", "max_output_tokens", -1),
    _other_name("num_predict", "max_output_tokens", -1),
    _other_name("reasoning_effort", "reasoning", None, "reasoning.effort"),
    _other_name("response_format", "text", None, "text.format"),
    _accepted("prompt_cache_retention", "every prefix stays cached while there is room"),
    _accepted("service_tier", "this server has one tier; answers name it: `default`"),
    _reported("context_management", "the time to compact a conversation"),
    _reported("moderation", "OpenAI's check of the texts"),
    _reported("prompt_logprobs", "logprobs of the prompt"),
    _reported("return_token_ids", "ids of the tokens", False),
    _reported("return_tokens_as_token_ids", "ids as names of tokens in logprobs", False),
    _reported("stream_options", "usage is in each last event; sizes of events are not hidden"),
)
_USED_BY_RESPONSES = {"metadata", "prompt_cache_key", "safety_identifier", "store"}
RESPONSES = {
    **{each.name: each for each in (*COMMON, *CHAT) if each.name not in _USED_BY_RESPONSES},
    **{each.name: each for each in _OF_RESPONSES},
}

MESSAGES = (
    _refused("container", "a container for Anthropic's tools"),
    _refused("mcp_servers", "servers of tools that Anthropic's would call", []),
    _accepted("cache_control", "every prefix is cached anyway"),
    _accepted("inference_geo", "this server is in one place"),
    _accepted("service_tier", "this server has one tier"),
    _accepted("speed", "this server has one speed"),
    _accepted("user_profile_id", "an id of the end user for Anthropic"),
    _accepted("workspace_id", "an id of the account with Anthropic"),
    _reported("context_management", "the time to drop parts of a conversation"),
)
