"""Known fields that have no effect here: refused ones, other names of ours, and accepted ones.

A refused field would change the answer; to ignore it silently would be wrong.
"""

from __future__ import annotations

from typing import Any

from server.schemas.field import State, Unused


def _refused(name: str, meaning: str, *harmless: Any) -> Unused:
    return Unused(name=name, state=State.REFUSED, meaning=meaning, harmless=harmless)


def _other_name(name: str, ours: str, harmless: Any = None) -> Unused:
    meaning = f"another name of `{ours}`"
    harmless_values = () if harmless is None else (harmless,)
    return Unused(
        name=name, state=State.OTHER_NAME, meaning=meaning, harmless=harmless_values, ours=ours
    )


def _accepted(name: str, meaning: str) -> Unused:
    return Unused(name=name, state=State.ACCEPTED, meaning=meaning)


def _reported(name: str, meaning: str) -> Unused:
    return Unused(name=name, state=State.REPORTED, meaning=meaning)


_CONSTRAINT = "constrained output"
_SAMPLER = "a sampler of other servers"

COMMON = (
    _refused("ban_eos_token", "an end token that may not be sampled", False),
    _refused("banned_strings", "strings that may not be written", []),
    _refused("beam_width", "beam search", 1),
    _refused("custom_token_bans", "tokens that may not be sampled", ""),
    _refused("dry_multiplier", _SAMPLER, 0),
    _refused("dynatemp_range", _SAMPLER, 0),
    _refused("format", _CONSTRAINT, ""),
    _refused("length_penalty", "beam search", 1),
    _refused("logits_processors", "code of the client's own", []),
    _refused("lora_path", "an adapter of the model", ""),
    _refused("mirostat", _SAMPLER, 0),
    _refused("mirostat_mode", _SAMPLER, 0),
    _refused("no_repeat_ngram_size", "runs of tokens that may not repeat", 0),
    _refused("penalty_alpha", "contrastive search", 0),
    _refused("prompt_embeds", "a prompt as embeddings"),
    _refused("response_schema", _CONSTRAINT),
    _refused("smoothing_factor", _SAMPLER, 0),
    _refused("structural_tag", _CONSTRAINT, ""),
    _refused("tfs", _SAMPLER, 1),
    _refused("tfs_z", _SAMPLER, 1),
    _refused("thinking_token_budget", "a limit on the tokens of the reasoning", -1),
    _refused("top_a", _SAMPLER, 0),
    _refused("top_n_sigma", _SAMPLER, 0, -1),
    _refused("typical_p", _SAMPLER, 1),
    _refused("use_beam_search", "beam search", False),
    _refused("xtc_probability", _SAMPLER, 0),
    _other_name("max_new_tokens", "max_tokens"),
    _other_name("n_predict", "max_tokens", -1),
    _other_name("num_predict", "max_tokens", -1),
    _other_name("repeat_penalty", "repetition_penalty", 1),
    _other_name("stop_sequences", "stop", []),
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

COMPLETION = (_refused("suffix", "text after the completion", ""),)
