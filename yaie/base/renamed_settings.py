"""Settings of earlier systems under their names there, each with the way to the same end here."""

from __future__ import annotations

_ONE_PROCESS = (
    "a server runs one engine process per model; start several servers behind a load balancer"
)
_ROWS = "max_step_rows limits the rows of a step and max_running the sequences"
_SLOTS = "num_slots is the KV cache size in tokens; a block has one token"
_AGAIN = "a preempted sequence keeps its cached tokens and recomputes the rest"

# Advice by name, as a keyword is written.
OLD_NAMES = {
    "workers": _ONE_PROCESS,
    "reload": f"{_ONE_PROCESS}; a restart reads changed code",
    "max_batch_size": "use max_running",
    "max_num_seqs": "use max_running",
    "max_num_tokens": "use max_step_rows",
    "max_num_batched_tokens": "use max_step_rows",
    "max_prefill_batch_size": _ROWS,
    "max_decode_batch_size": _ROWS,
    "max_seq_len": "use max_model_len",
    "block_size": _SLOTS,
    "num_blocks": _SLOTS,
    "num_gpu_blocks": _SLOTS,
    "num_cpu_blocks": _AGAIN,
    "swap_space": _AGAIN,
    "gpu_memory_utilization": "use memory_bytes, or num_slots",
    "gpu_memory_util": "use memory_bytes, or num_slots",
    "tensor_parallel_size": "a model runs on one device",
    "schedule_policy": "use policy",
    "enable_prefix_caching": "use prefix_cache",
    "enable_radix_cache": "use prefix_cache",
    "enable_chunked_prefill": "chunked prefill is always on; max_step_rows sets the chunk size",
    "max_num_schedule_steps": "each step is scheduled; stream_interval sets the tokens per "
    "streamed chunk",
    "drain_timeout": "use drain_s",
    "model_name": "use model",
    "log_file": "redirect standard error to a file",
    "verbose": "use log_level debug",
}
# Variables of an earlier system, without a prefix, that are recognised in a warning.
_OLD_VARIABLES = ("MAX_BATCH_SIZE", "GPU_MEMORY_UTIL", "ENABLE_RADIX_CACHE")


def advice_on(name: str) -> str:
    """Return the advice on a flag, a variable or a keyword of earlier systems; empty for others."""
    plain = name.lower().lstrip("-").replace("-", "_").removeprefix("yaie_").removeprefix("no_")
    return OLD_NAMES.get(plain, "")


def old_variables(environment: dict[str, str]) -> list[str]:
    """Return a warning for each variable of an earlier system."""
    return [
        f"{name} is not read: {advice_on(name)}" for name in _OLD_VARIABLES if environment.get(name)
    ]
