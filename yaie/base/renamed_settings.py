"""Settings of earlier systems under their names there, each with the way to the same end here.

Names are vLLM's, SGLang's and earlier YAIE's. The advice names our settings as the caller spells
them: flags for a flag, variables for a variable, keywords for a keyword.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PREFIX = "YAIE_"
_ONE_PROCESS = (
    "one engine uses all processors of a machine; replicas are `yaie serve --ray --replicas N`"
)
_ONE_DEVICE = "a model runs on one device"
_ROWS = "{max_step_rows} limits the rows of a step and {max_running} the sequences"
_SLOTS = "{num_slots} is the KV cache size in tokens; a block has one token"
_AGAIN = "a preempted sequence keeps its cached tokens and recomputes the rest"
_MEMORY = "use {memory_bytes}, or {num_slots}"
_CHUNKS = "chunked prefill is always on; {max_step_rows} sets the chunk size"
_LORA = "use {lora}"
_DRAFTS = "use {speculate} auto: drafts come from known text, without a draft model"
_NO_OFFLOAD = "weights stay on one device; {quantization} makes them smaller"
_REASONING = "reasoning is found by the chat template"

# Advice by name, as a keyword is written. Our settings are in braces.
OLD_NAMES = {
    "attention_config": "use {attention_backend}",
    "block_size": "use {kv_block_size} for KV events; the KV cache has no blocks",
    "chat_template_content_format": "the form of contents is found by the chat template",
    "chunked_prefill_size": "use {max_step_rows}",
    "context_length": "use {max_model_len}",
    "cpu_offload_gb": _NO_OFFLOAD,
    "data_parallel_size": _ONE_PROCESS,
    "disable_log_requests": "use {log_level} warning",
    "disable_log_stats": "use {log_level} warning",
    "disable_radix_cache": "use {prefix_cache} off",
    "download_dir": "set HF_HUB_CACHE to the folder",
    "dp_size": _ONE_PROCESS,
    "drain_timeout": "use {drain_s}",
    "enable_auto_tool_choice": "automatic tool choice is always on",
    "enable_chunked_prefill": _CHUNKS,
    "enable_lora": _LORA,
    "enable_metrics": "/metrics is always there",
    "enable_prefix_caching": "use {prefix_cache}",
    "enable_radix_cache": "use {prefix_cache}",
    "enable_reasoning": _REASONING,
    "enable_sleep_mode": "use {unload_idle_s}",
    "enforce_eager": "answers are the same with CUDA graphs; omit it",
    "generation_config": "the model's generation_config.json applies; use {default_sampling} to "
    "replace its values",
    "gpu_memory_util": _MEMORY,
    "gpu_memory_utilization": _MEMORY,
    "guided_decoding_backend": "llguidance compiles every grammar",
    "hf_token": "set HF_TOKEN",
    "kv_cache_dtype": "use {kv_dtype}",
    "kv_cache_memory_bytes": _MEMORY,
    "limit_mm_per_prompt": "images and audio are not supported",
    "load_format": "the format is found by the model's files",
    "log_file": "redirect standard error to a file",
    "lora_modules": _LORA,
    "lora_paths": _LORA,
    "max_lora_rank": "ranks up to 256 are computed; omit it",
    "max_batch_size": "use {max_running}",
    "max_decode_batch_size": _ROWS,
    "max_num_batched_tokens": "use {max_step_rows}",
    "max_num_schedule_steps": "each step is scheduled; {stream_interval} sets the tokens per "
    "streamed chunk",
    "max_num_seqs": "use {max_running}",
    "max_num_tokens": "use {max_step_rows}",
    "max_prefill_batch_size": _ROWS,
    "max_prefill_tokens": "use {max_step_rows}",
    "max_queued_requests": "use {max_waiting}",
    "max_running_requests": "use {max_running}",
    "max_seq_len": "use {max_model_len}",
    "max_total_tokens": "use {num_slots}",
    "mem_fraction_static": _MEMORY,
    "model_name": "use {model}",
    "model_path": "use {model}",
    "nnodes": _ONE_DEVICE,
    "num_blocks": _SLOTS,
    "num_cpu_blocks": _AGAIN,
    "num_gpu_blocks": _SLOTS,
    "num_gpu_blocks_override": _SLOTS,
    "pipeline_parallel_size": _ONE_DEVICE,
    "pp_size": _ONE_DEVICE,
    "prefix_caching_hash_algo": "routers compute block hashes from token ids; omit it",
    "random_seed": "use {seed}",
    "reasoning_parser": _REASONING,
    "reload": f"{_ONE_PROCESS}; a restart reads changed code",
    "schedule_conservativeness": "use {max_running}",
    "schedule_policy": "use {policy}",
    "scheduling_policy": "use {policy}",
    "served_name": "use {served_model_name}",
    "speculative_algorithm": _DRAFTS,
    "speculative_model": _DRAFTS,
    "swap_space": _AGAIN,
    "tensor_parallel_size": _ONE_DEVICE,
    "tokenizer_mode": "the tokenizer is found by the model's files",
    "tokenizer_path": "put the tokenizer into the model's folder",
    "tool_parser": "use {tool_call_parser}",
    "tp_size": _ONE_DEVICE,
    "trust_remote_code": "code of a model is never run; omit it",
    "uvicorn_log_level": "use {log_level}",
    "verbose": "use {log_level} debug",
    "workers": _ONE_PROCESS,
}
# vLLM's keywords of `LLM` with the values that change nothing here; None for every value.
HARMLESS: Mapping[str, tuple[object, ...] | None] = {
    "cpu_offload_gb": (0,),
    "data_parallel_size": (1,),
    "disable_custom_all_reduce": None,
    "disable_log_requests": None,
    "disable_log_stats": None,
    "enable_chunked_prefill": (True, None),
    "enable_lora": (False,),
    "enable_sleep_mode": (False,),
    "enforce_eager": None,
    "generation_config": ("auto",),
    "kv_cache_dtype": ("auto",),
    "limit_mm_per_prompt": None,
    "load_format": ("auto", "safetensors"),
    "pipeline_parallel_size": (1,),
    "runner": ("auto", "generate"),
    "swap_space": None,
    "task": ("auto", "generate"),
    "tensor_parallel_size": (1,),
    "tokenizer_mode": ("auto",),
    "trust_remote_code": None,
}
# Variables of an earlier system, without a prefix, that are recognised in a warning.
_OLD_VARIABLES = ("MAX_BATCH_SIZE", "GPU_MEMORY_UTIL", "ENABLE_RADIX_CACHE")


def advice_on(name: str) -> str:
    """Return the advice on a flag, a variable or a keyword of earlier systems; empty for others."""
    plain = name.lower().lstrip("-").replace("-", "_").removeprefix(_PREFIX.lower())
    advice = OLD_NAMES.get(plain) or OLD_NAMES.get(plain.removeprefix("no_"), "")
    return re.sub(r"\{(\w+)\}", lambda found: _spell(found[1], name), advice)


def is_harmless(name: str, value: object) -> bool:
    """Return True for a keyword of vLLM's `LLM` with a value that changes nothing here."""
    values = HARMLESS.get(name, ())
    return values is None or value in values


def old_variables(environment: dict[str, str]) -> list[str]:
    """Return a warning for each variable of an earlier system."""
    return [
        f"{name} is not read: {advice_on(name)}" for name in _OLD_VARIABLES if environment.get(name)
    ]


def _spell(setting: str, like: str) -> str:
    """Return a setting's name as a flag, a variable or a keyword, like the name in `like`."""
    if like.startswith("-"):
        return f"--{setting.replace('_', '-')}"
    return f"{_PREFIX}{setting.upper()}" if like.isupper() else setting
