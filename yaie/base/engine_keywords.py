"""Keywords of `LLM` and `AsyncLLM` with their types, for type checkers and editors.

A test compares them with the settings and with the accepted keywords of vLLM.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from yaie.base.embedding_info import Pooling
from yaie.base.settings import (
    AttentionBackendName,
    CacheEventKind,
    Device,
    Dtype,
    Eviction,
    KVDtype,
    Policy,
    Quantization,
    ToolCallParser,
)


class SettingKeywords(TypedDict, total=False):
    """The fields of `EngineConfig`, which `docs/reference/settings.md` explains."""

    revision: str | None
    served_model_name: str | None
    dtype: Dtype
    quantization: Quantization | None
    calibrate: str | None
    kv_dtype: KVDtype
    device: Device
    num_slots: int | None
    memory_bytes: int | None
    state_bytes: int | None
    max_model_len: int | None
    max_step_rows: int
    max_running: int
    max_waiting: int
    max_waiting_tokens: int
    queue_timeout_s: float
    policy: Policy
    priority_aging: int
    tenant_weights: str
    eviction: Eviction
    seed: int | None
    tool_call_parser: ToolCallParser
    chat_template: str | None
    pooling: Pooling | None
    lora: str
    max_loras: int | None
    trust_markers: bool
    prefix_cache: bool
    cache_events: CacheEventKind
    kv_block_size: int
    grammar_cache_bytes: int
    threads: int | None
    attention_backend: AttentionBackendName
    exact: bool
    speculate: str | int
    speculative_config: str | None
    audit: bool
    weights_cache: str
    weights_cache_bytes: int


class EngineKeywords(SettingKeywords, total=False):
    """Settings, and keywords of vLLM that change nothing here."""

    cpu_offload_gb: Literal[0]
    data_parallel_size: Literal[1]
    disable_custom_all_reduce: bool
    disable_log_requests: bool
    disable_log_stats: bool
    enable_chunked_prefill: Literal[True] | None
    enable_lora: Literal[False]
    enable_sleep_mode: Literal[False]
    enforce_eager: bool
    generation_config: Literal["auto"]
    kv_cache_dtype: Literal["auto"]
    limit_mm_per_prompt: Any
    load_format: Literal["auto", "safetensors"]
    pipeline_parallel_size: Literal[1]
    runner: Literal["auto", "generate"]
    swap_space: float
    task: Literal["auto", "generate"]
    tensor_parallel_size: Literal[1]
    tokenizer_mode: Literal["auto"]
    trust_remote_code: bool
