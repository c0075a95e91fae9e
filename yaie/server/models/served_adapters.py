"""`ServedAdapters`: the LoRA adapters of a served model, by their names in requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from yaie.base.adapter_info import AdapterInfo
from yaie.base.errors import UnknownModel
from yaie.base.queries import AdapterChanged, LoadAdapter, UnloadAdapter
from yaie.client.engine_client import EngineClient
from yaie.models.adapters.adapter_folders import find_adapters, keep_adapters

LATEST = ":latest"  # tag that Ollama's clients add to a name without one
LOAD_S = 120.0  # limit for the load of an adapter


def spellings(name: str) -> tuple[str, ...]:
    """Return the names that a name in a request may mean, itself first."""
    bare = name.removesuffix(LATEST)
    return name, bare, bare + LATEST


class ServedAdapters:
    """Adapters' folders by name, the setting's first."""

    def __init__(self, setting: str) -> None:
        """`setting`: as `EngineConfig.lora`. Raises `ConfigError`."""
        self._folders = {name: str(path) for name, path in find_adapters(setting).items()}
        self._setting, self._first = setting, frozenset(self._folders)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def named(self, name: str | None) -> str:
        """Return the adapter that a request names as its model; empty if it names none."""
        return next((each for each in spellings(name or "") if each in self._folders), "")

    def folder_of(self, name: str) -> str:
        """Return an adapter's folder; empty for another name."""
        return self._folders.get(name, "")

    @property
    def setting(self) -> str:
        """The setting for a later start: without adapters that are unloaded or cannot be read."""
        return keep_adapters(self._setting, self._first - self._folders.keys())

    async def load(self, client: EngineClient, name: str, folder: str) -> AdapterInfo:
        """Load an adapter into the engine, and serve it under its name, which is checked.

        The engine may still have an adapter of that name, if a late request loaded it again.
        Raises `EngineUnavailable`, or `InvalidRequest` for an adapter that the engine refuses.
        """
        found = await client.ask(LoadAdapter(name, folder, replaces=True), LOAD_S)
        assert isinstance(found, AdapterChanged)
        self._folders[name] = found.adapter.path
        return found.adapter

    async def unload(self, client: EngineClient | None, name: str) -> None:
        """Serve an adapter no longer; the engine frees it when its last request has ended.

        `client`: None if no engine runs.
        """
        del self._folders[name]
        if client is not None:
            with contextlib.suppress(UnknownModel):  # lost in a restart
                await client.ask(UnloadAdapter(name))
