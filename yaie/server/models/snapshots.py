"""Snapshots of models for a scrape of the metrics."""

from __future__ import annotations

from collections.abc import Mapping

from yaie.base.types import EngineState
from yaie.server.metrics.prometheus import Snapshot
from yaie.server.models.served_model import ServedModel


def snapshots_of(models: Mapping[str, ServedModel], state: EngineState) -> dict[str, Snapshot]:
    """Return the snapshots by name. A single model has the `state` of the service."""
    return {
        name: Snapshot(
            state=state if len(models) == 1 else model.state,
            info=model.info,
            stats=model.stats,
            num_restarts=model.num_restarts,
            num_loads=model.num_loads,
            num_unloads=model.num_unloads,
        )
        for name, model in models.items()
    }
