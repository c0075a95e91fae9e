"""Engine adapters: the LoRA adapters of one engine, by the names in requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from yaie.base.adapter_info import AdapterInfo, check_adapter_name, unknown_adapter
from yaie.base.errors import InvalidRequest, ModelUnsupported
from yaie.base.queries import ExplainPrompt, ListBranches
from yaie.base.types import ExpectedPrompt, GenerationRequest
from yaie.engine.prefill_ahead import PrefillAhead
from yaie.engine.queue.grammar_queue import GrammarQueue
from yaie.engine.scheduler import Scheduler
from yaie.kvcache.namespaces import adapter_of, namespace_of
from yaie.models.adapters.adapter import Adapted, Adapter, read_adapter
from yaie.models.adapters.adapter_folders import find_adapters

log = logging.getLogger(__name__)

Namespaced = GenerationRequest | ExpectedPrompt | ExplainPrompt | ListBranches


class EngineAdapters:
    """Loaded adapters by name. An unloaded one stays in memory while a request computes with it."""

    def __init__(
        self, adapted: Adapted | None, namespaces_in_use: Callable[[], Iterable[Hashable]]
    ) -> None:
        """`adapted`: None for an engine whose layers take no adapters."""
        self._adapted = adapted
        self._namespaces_in_use = namespaces_in_use
        self._by_name: dict[str, Adapter] = {}
        self._retired: dict[int, Adapter] = {}

    def load_all(self, setting: str) -> None:
        """Load the adapters that the setting `lora` lists. Raises `StartupError`."""
        for name, folder in find_adapters(setting).items():
            self.load(name, str(folder))

    def load(self, name: str, folder: str, *, replaces: bool = False) -> AdapterInfo:
        """Load an adapter; `replaces` allows the name of a loaded one.

        Raises `InvalidRequest` for a wrong name, a name in use, and an engine without adapters,
        `ModelUnsupported` for an adapter that cannot be computed here, `NotEnoughMemory`.
        """
        adapted = self._adapted
        if adapted is None:
            raise InvalidRequest(
                "this engine computes no adapters: its layers are fused or recurrent, or it is "
                "batch-invariant; start it without --exact, with --lora FOLDER or (to load none "
                "yet) --lora ,; merge an adapter into a model with recurrent layers",
                param="lora_path",
            )
        if name in self._by_name and not replaces:
            raise InvalidRequest(
                f"the adapter {name!r} is loaded already; unload it, or choose another name",
                param="lora_name",
            )
        check_adapter_name(name)
        found = read_adapter(name, Path(folder), adapted)
        known = self._held().get(found.number)
        if known is None:
            self.release()
            adapted.add(found)
        elif known.info.digest != found.info.digest:
            raise ModelUnsupported(f"the digest of {folder} collides with {known.info.path}")
        if name in self._by_name:
            self.unload(name)
        self._retired.pop(found.number, None)
        self._by_name[name] = replace(found, layers={})  # `adapted` has them
        log.info("loaded the adapter %s: rank %d of %s", name, found.info.rank, folder)
        return found.info

    def unload(self, name: str) -> AdapterInfo:
        """Forget an adapter for new requests; `release` frees it. Raises `UnknownModel`."""
        found = self._find(name)
        del self._by_name[name]
        if all(each.number != found.number for each in self._by_name.values()):
            self._retired[found.number] = found
        return found.info

    def release(self) -> None:
        """Free unloaded adapters that no request computes with."""
        if not self._retired:
            return
        numbers = set(map(adapter_of, self._namespaces_in_use()))
        for number in self._retired.keys() - numbers:
            del self._retired[number]
            assert self._adapted is not None
            self._adapted.remove(number)

    @property
    def has_retired(self) -> bool:
        """True if an unloaded adapter is still in memory."""
        return bool(self._retired)

    @property
    def infos(self) -> tuple[AdapterInfo, ...]:
        """The loaded adapters."""
        return tuple(each.info for each in self._by_name.values())

    def namespace_of(self, of: Namespaced) -> Hashable:
        """Return the namespace of a request, prompt or query. Raises `UnknownModel`."""
        number = 0
        if of.adapter:
            path = of.adapter_path if isinstance(of, GenerationRequest) else ""
            known = self._by_name.get(of.adapter)
            # A restarted engine lacks it, or has the one that the settings name.
            if path and (known is None or known.info.path != str(Path(path))):
                self.load(of.adapter, path, replaces=True)
            number = self._find(of.adapter).number
        return namespace_of(of.owner, of.cache_salt, number)

    def _find(self, name: str) -> Adapter:
        found = self._by_name.get(name)
        if found is None:
            raise unknown_adapter(name, list(self._by_name))
        return found

    def _held(self) -> dict[int, Adapter]:
        return self._retired | {each.number: each for each in self._by_name.values()}


def in_use(
    scheduler: Scheduler, grammars: GrammarQueue, expected: PrefillAhead
) -> Iterator[Hashable]:
    """Yield the namespaces of an engine's requests and expected prompts."""
    for request in (*scheduler.requests.values(), *grammars.requests()):
        yield request.namespace
    yield from expected.namespaces()
