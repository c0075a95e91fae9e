"""What is known of a model whose packed weights are on disk, without building it.

Called by the engine when the cache holds a model; the loader wrote the facts.
"""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from yaie.attention.spec import AttentionSpec
from yaie.config import EngineConfig
from yaie.models.generation import read_default_sampling
from yaie.models.loader import LoadedModel, fit_to_pool, plan_for
from yaie.models.memory import free_bytes
from yaie.models.threads import set_threads

log = logging.getLogger(__name__)


def reload_model(
    config: EngineConfig, path: Path, facts: dict[str, Any], specs: tuple[AttentionSpec, ...]
) -> LoadedModel:
    """What an earlier start found out about a model whose packed weights are on disk.

    The memory is planned anew. Raises as `load_model` does.
    """
    set_threads(config.threads)
    device = torch.device("cpu")
    plan = plan_for(
        config,
        SimpleNamespace(**facts["shape"]),
        free=free_bytes(device),
        weights=facts["planned_weights"],
        kv_bytes_per_token=facts["kv_bytes_per_token"],
        max_model_len=facts["context_len"],
        device=device,
    )
    log.info("loading %s (%s, packed before): %s", path, facts["architecture"], plan)
    return LoadedModel(
        model=None,
        hf_config=None,
        path=path,
        architecture=facts["architecture"],
        specs=specs,
        dtype=getattr(torch, facts["dtype"]),
        kv_dtype=getattr(torch, facts["kv_dtype"]),
        device=device,
        vocab_size=facts["shape"]["vocab_size"],
        max_model_len=fit_to_pool(config, facts["context_len"], plan),
        num_slots=plan.num_slots,
        kv_bytes_per_token=facts["kv_bytes_per_token"],
        eos_token_ids=tuple(facts["eos_token_ids"]),
        weight_bytes=facts["weight_bytes"],
        num_parameters=facts["num_parameters"],
        quantization=facts["quantization"],
        default_sampling=read_default_sampling(path),
        facts=facts,
    )
