"""`LaterStarts`: the settings of an engine process, at its first start and at restarts."""

from __future__ import annotations

from dataclasses import replace

from yaie.base.queries import Query, UnloadAdapter
from yaie.base.settings import EngineConfig
from yaie.base.types import EngineInfo
from yaie.models.adapters.adapter_folders import keep_adapters


class LaterStarts:
    """Settings by start. A restart loads no adapter that was unloaded, or whose files are gone."""

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._unloaded: set[str] = set()

    def note(self, query: Query) -> None:
        """Note an order that the engine has carried out."""
        if isinstance(query, UnloadAdapter):
            self._unloaded.add(query.name)

    def config(self, last: EngineInfo | None) -> EngineConfig:
        """Return the settings of the next start; `last`: the last engine, None at the first."""
        if last is None or not self._config.lora:
            return self._config
        return replace(self._config, lora=keep_adapters(self._config.lora, self._unloaded))
