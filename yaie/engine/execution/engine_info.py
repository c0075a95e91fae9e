"""`EngineInfo` for a ready engine, made from model metadata and settings."""

from __future__ import annotations

from dataclasses import asdict

from yaie.base.adapter_info import AdapterInfo
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineInfo
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import TokenSampler
from yaie.models.files.checkpoint import read_config
from yaie.models.files.pooling_files import read_embedding
from yaie.models.files.ranking_files import read_ranking


def describe_engine(
    config: EngineConfig,
    executor: Executor,
    sampler: TokenSampler,
    adapters: tuple[AdapterInfo, ...] = (),
) -> EngineInfo:
    """Return the properties that a ready engine reports to clients."""
    loaded = executor.loaded
    metadata = loaded.metadata
    traits = executor.attention_traits
    ranking = read_ranking(loaded.path, read_config(loaded.path), config.pooling)
    graphs = executor.graphs.report if executor.graphs else None
    return EngineInfo(
        model=config.model_name,
        model_path=str(loaded.path),
        architecture=metadata.architecture,
        dtype=metadata.dtype,
        quantization=metadata.quantization,
        kv_dtype=metadata.kv_dtype,
        device=str(loaded.device),
        attention_backend=executor.attention_backend,
        attention_traits=asdict(traits) if traits is not None else {},
        truncation_kernel=sampler.truncation_kernel,
        execution=executor.name,
        execution_reason=executor.reason,
        exact=config.exact,
        graph_sizes=graphs.sizes if graphs else (),
        graph_bytes=graphs.nbytes if graphs else 0,
        graph_capture_s=graphs.capture_s if graphs else 0.0,
        vocab_size=loaded.vocab_size,
        max_model_len=loaded.max_model_len,
        num_slots=loaded.num_slots,
        kv_bytes_per_token=metadata.kv_bytes_per_token,
        weight_bytes=metadata.weight_bytes,
        memory_bytes=loaded.memory_bytes,
        num_parameters=metadata.num_parameters,
        policy=config.policy,
        eviction=config.eviction,
        max_step_rows=config.max_step_rows,
        max_running=config.max_running,
        num_states=loaded.num_states,
        max_draft_tokens=config.max_draft_tokens,
        max_waiting=config.max_waiting,
        max_waiting_tokens=config.max_waiting_tokens,
        eos_token_ids=metadata.eos_token_ids,
        embedding=read_embedding(loaded.path, config.pooling, metadata.sizes.hidden),
        adapters=adapters,
        ranking=None if ranking is None else ranking.info,
        default_sampling=dict(metadata.default_sampling),
    )
