"""Known fields that have no effect here: refused ones, other names of ours, and accepted ones.

A refused field would change the answer; to ignore it silently would be wrong.
"""

from __future__ import annotations

from typing import Any

from yaie.server.schemas.base import State, Unused


def _refuse(name: str, meaning: str, *harmless: Any, advice: str = "") -> Unused:
    return Unused(name=name, state=State.REFUSED, meaning=meaning, harmless=harmless, advice=advice)


def _other_name(name: str, ours: str, harmless: Any = None, place: str = "") -> Unused:
    """Return the row of another name for `ours`, or for a `place` in it."""
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


def _accept(name: str, meaning: str) -> Unused:
    return Unused(name=name, state=State.ACCEPTED, meaning=meaning)


def _report(name: str, meaning: str, *harmless: Any) -> Unused:
    return Unused(name=name, state=State.REPORTED, meaning=meaning, harmless=harmless)


_CONSTRAINT = "constrained output"
_SAMPLER = "a sampler of other servers"

COMMON = (
    _refuse("ban_eos_token", "an end token that may not be sampled", False),
    _refuse("banned_strings", "strings that may not be written", []),
    _refuse("adapter_id", "an adapter of the model", ""),
    _refuse("beam_width", "beam search", 1),
    _refuse("custom_token_bans", "tokens that may not be sampled", ""),
    _refuse("detokenize", "an answer without text", True, advice="use return_token_ids"),
    _refuse("dry_multiplier", _SAMPLER, 0),
    _refuse("dynatemp_range", _SAMPLER, 0),
    _refuse("format", _CONSTRAINT, ""),
    _refuse("guided_decoding", _CONSTRAINT, {}, advice="use structured_outputs"),
    _refuse("length_penalty", "beam search", 1),
    _refuse("logits_processors", "code of the client's own", []),
    _refuse("lora", "adapters of the model", [], {}, ""),
    _refuse("lora_path", "an adapter of the model", ""),
    _refuse("mirostat", _SAMPLER, 0),
    _refuse("mirostat_mode", _SAMPLER, 0),
    _refuse("no_repeat_ngram_size", "runs of tokens that may not repeat", 0),
    _refuse("num_beams", "beam search", 1),
    _refuse("output_kind", "pieces that repeat the text before", "delta", "final"),
    _refuse("penalty_alpha", "contrastive search", 0),
    _refuse("prompt_embeds", "a prompt as embeddings"),
    _refuse("response_schema", _CONSTRAINT),
    _refuse("smoothing_factor", _SAMPLER, 0),
    _refuse("structural_tag", _CONSTRAINT, ""),
    _refuse("suppress_tokens", "tokens that may not be sampled", [], advice="use logit_bias"),
    _refuse("tfs", _SAMPLER, 1),
    _refuse("tfs_z", _SAMPLER, 1),
    _refuse("top_a", _SAMPLER, 0),
    _refuse("top_n_sigma", _SAMPLER, 0, -1),
    _refuse("typical_p", _SAMPLER, 1),
    _refuse("use_beam_search", "beam search", False),
    _refuse("xtc_probability", _SAMPLER, 0),
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
    _accept("metadata", "notes of the client on its request"),
    _accept("prompt_cache_key", "every prefix is cached, also without a key"),
    _accept("safety_identifier", "an id of the end user for OpenAI's reviews"),
    _accept("store", "answers are never stored"),
)

CHAT = (
    _refuse("audio", "spoken answers"),
    _refuse("best_of", "more candidates than answers", 1),
    _refuse("chat_template", "a template of the client's own", ""),
    _refuse("documents", "documents for the template", []),
    _refuse("modalities", "kinds of output besides text", ["text"]),
    _refuse("web_search_options", "a search of the web"),
)

COMPLETION = (
    _refuse("suffix", "text after the completion", ""),
    _refuse("thinking_token_budget", "a limit on the tokens of the reasoning", -1),
)

_OF_RESPONSES = (
    _refuse("conversation", "a stored conversation", advice="use previous_response_id"),
    _refuse("echo", "the last message before the answer", False),
    _refuse("messages", "the name of `input` in chats", advice="use input"),
    _refuse("n", "several answers", 1, advice="send the request several times"),
    _refuse("prompt", "a stored prompt", advice="send its text as instructions and input"),
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
    _accept("prediction", "an expected answer only saves time; the answer is the same"),
    _accept("prompt_cache_retention", "every prefix stays cached while there is room"),
    _accept("service_tier", "this server has one tier; answers name it: `default`"),
    _report("context_management", "the time to compact a conversation"),
    _report("include_reasoning", "an answer without the reasoning"),
    _report("moderation", "OpenAI's check of the texts"),
    _report("prompt_logprobs", "logprobs of the prompt"),
    _report("return_token_ids", "ids of the tokens", False),
    _report("return_tokens_as_token_ids", "ids as names of tokens in logprobs", False),
    _report("stream_options", "usage is in each last event; sizes of events are not hidden"),
)
_USED_BY_RESPONSES = {"metadata", "prompt_cache_key", "safety_identifier", "store"}
RESPONSES = {
    **{each.name: each for each in (*COMMON, *CHAT) if each.name not in _USED_BY_RESPONSES},
    **{each.name: each for each in _OF_RESPONSES},
}

OLLAMA = (
    _refuse("images", "pictures for the model", []),
    _report("shift", "an answer longer than the context; it ends with the context", False),
    _report("truncate", "omitting old messages of a long conversation, which is refused", False),
)
OLLAMA_GENERATE = (
    _refuse(
        "context",
        "the tokens of an earlier answer",
        [],
        advice="send the conversation to /api/chat, whose prefix is cached",
    ),
    _refuse("suffix", "text after the completion", ""),
    _refuse(
        "template",
        "a template of the client's own",
        "",
        advice="send the rendered prompt with raw",
    ),
)

MESSAGES = (
    _accept("cache_control", "every prefix is cached anyway"),
    _accept("inference_geo", "this server is in one place"),
    _accept("service_tier", "this server has one tier"),
    _accept("speed", "this server has one speed"),
    _accept("user_profile_id", "an id of the end user for Anthropic"),
    _accept("workspace_id", "an id of the account with Anthropic"),
    _report("container", "a container for Anthropic's tools"),
    _report("context_management", "the time to drop parts of a conversation"),
    _report("mcp_servers", "servers of tools that Anthropic's would call", []),
)

_SHORTENED = "texts cut to fewer tokens than the context"

EMBEDDING = (
    _refuse("add_special_tokens", "texts without the tokenizer's special tokens", True),
    _refuse(
        "input_type",
        "a prompt by the kind of texts",
        "document",
        "passage",
        "search_document",
        advice="use prompt_name",
    ),
    _refuse("late_chunking", "inputs read as parts of one text", False),
    _refuse("normalize", "vectors with another length than the model gives them", True),
    _refuse("normalized", "vectors with another length than the model gives them", True),
    _refuse("return_multivector", "a vector for each token", False),
    _refuse(
        "task", "a prompt or an adapter of the model", "", advice="use prompt_name, or model: name"
    ),
    _refuse("truncate_prompt_tokens", _SHORTENED, advice="use truncate"),
    _other_name("embedding_type", "encoding_format", "float"),
    _other_name("embedding_types", "encoding_format", ["float"]),
    _other_name("output_dimension", "dimensions"),
    _other_name("output_dimensionality", "dimensions"),
    _other_name("output_dtype", "encoding_format", "float"),
    _other_name("texts", "input"),
    _other_name("truncation", "truncate", False),
    _accept("metadata", "notes of the client on its request"),
    _accept("safety_identifier", "an id of the end user for OpenAI's reviews"),
)

RANKING = (
    _refuse("activation", "a score without the model's sigmoid", True),
    _refuse("raw_scores", "a score without the model's sigmoid", False),
    _refuse("use_activation", "a score without the model's sigmoid", True),
    _refuse("truncate_prompt_tokens", _SHORTENED, advice="use truncate"),
    _other_name("instruct", "instruction"),
    _other_name("truncation", "truncate", False),
    _report("max_chunks_per_doc", "parts of long documents, which are read as a whole"),
    _report("max_tokens_per_doc", "a cut of documents below the context"),
)
RERANK = (
    _refuse("rank_fields", "fields of documents to read besides `text`", [], ["text"]),
    _other_name("return_text", "return_documents", True),
    _other_name("texts", "documents"),
    _other_name("top_k", "top_n"),
)
SCORE = (
    _other_name("data_1", "text_1"),
    _other_name("data_2", "text_2"),
    _other_name("documents", "text_2"),
    _other_name("queries", "text_1"),
    _other_name("query", "text_1"),
)
