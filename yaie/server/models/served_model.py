"""One model of the server: its engine client, tokenizer and translator.

Several models may share a `Service`.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from yaie.base.errors import (
    ConfigError,
    EngineDied,
    EngineDraining,
    EngineStarting,
    EngineUnavailable,
    ModelUnsupported,
    StartupError,
    TemplateTooCostly,
    UnknownModel,
    YaieError,
)
from yaie.base.settings import BUILTIN_MODEL, EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import EngineInfo, EngineState
from yaie.client.engine_client import EngineClient
from yaie.models.load.folder import names_repository, open_folder
from yaie.models.load.folder_process import find_folder
from yaie.server.metrics.prometheus import Snapshot
from yaie.server.models.served_adapters import ServedAdapters, spellings
from yaie.server.requests.request_defaults import RequestDefaults
from yaie.server.requests.translator import Translator
from yaie.text.chat_template import ChatTemplate
from yaie.text.template_features import TemplateAbilities, abilities_of, set_chat_template
from yaie.text.tokenizer import Tokenizer, load_tokenizer

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")
Files = tuple[tuple[str, int, int], ...]  # path, size and time of the last change, each


class Residence(enum.Enum):
    """Presence of a model in memory."""

    ABSENT = "absent"  # its next request loads it
    STARTING = "starting"  # with the service; requests are refused meanwhile
    RESIDENT = "resident"
    LEAVING = "leaving"  # unloaded once its requests have ended


class RunInThread(Protocol):
    """Runs blocking work in a thread, off the event loop."""

    async def __call__(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return the result of `work(*arguments)`."""


class ServedModel:
    """Model under its name in requests.

    `make_client` builds the engine client once the model's folder is known.
    """

    def __init__(
        self,
        config: EngineConfig,
        make_client: Callable[[EngineConfig], EngineClient],
        run_in_thread: RunInThread,
        defaults: RequestDefaults | None = None,
    ) -> None:
        self.name = config.model_name
        self.names = config.model_names  # in requests, the first one included
        self.adapters = ServedAdapters(config.lora)
        self.root = config.source  # the repository or folder that the settings name
        self.created = int(time.time())  # unix time, seconds
        self.abilities: TemplateAbilities | None = None  # once the tokenizer is loaded
        self.failure: YaieError | None = None  # final: the engine cannot start
        self.residence = Residence.ABSENT
        self.num_uses = 0  # requests that need it loaded
        self.num_waiting = 0  # requests that wait for its load
        self.last_used = 0.0  # monotonic, seconds
        self.loaded_at = self.load_s = 0.0  # monotonic time of its last load, and its duration
        self.num_loads = self.num_unloads = 0
        self.memory_bytes = 0  # taken by its last engine: weights, activations and pool
        self._last_info: EngineInfo | None = None
        self.defaults = defaults or RequestDefaults()
        self._config = config
        self._make_client = make_client
        self._run_in_thread = run_in_thread
        self._client: EngineClient | None = None
        self._seen_steps, self._stepped_at = 0, 0.0
        self._tokenizer: Tokenizer | None = None
        self._translator: Translator | None = None
        self._translator_info: EngineInfo | None = None  # engine that it was made for

    @property
    def state(self) -> EngineState:
        """State of the model for requests: starting until its tokenizer is loaded too."""
        if self.failure is not None:
            return EngineState.FAILED
        client = self._client  # read once: another thread's scrape may meet an unload
        if client is None:
            is_absent = self.residence is Residence.ABSENT
            return EngineState.UNLOADED if is_absent else EngineState.STARTING
        if self._tokenizer is None and client.state is EngineState.READY:
            return EngineState.STARTING
        return client.state

    @property
    def state_reason(self) -> str:
        """One sentence on the state; empty for a normal one."""
        if self.failure is not None:
            return self.failure.message
        client = self._client
        return "" if client is None else client.state_reason

    @property
    def is_resident(self) -> bool:
        """True if requests go to its engine, which may still be starting."""
        return self.residence in (Residence.STARTING, Residence.RESIDENT)

    @property
    def info(self) -> EngineInfo | None:
        """Description by the engine, or by its last one, once it was ready."""
        client = self._client
        return self._last_info if client is None else client.info

    @property
    def stats(self) -> EngineStats:
        """Latest statistics of the engine."""
        client = self._client
        stats = EngineStats() if client is None else client.stats
        if stats.num_steps != self._seen_steps:
            self._seen_steps, self._stepped_at = stats.num_steps, time.monotonic()
        return stats

    @property
    def idle_s(self) -> float | None:
        """Seconds since its last request; None while it has one, or is not loaded."""
        if self.num_uses or self.residence is not Residence.RESIDENT:
            return None
        return round(time.monotonic() - self.last_used, 3)

    @property
    def is_full(self) -> bool:
        """True if its waiting queue is full."""
        if self.info is None:
            return False
        stats, tokens = self.stats, self.info.max_waiting_tokens
        has_many = bool(tokens) and stats.num_waiting_tokens >= tokens
        return has_many or stats.num_waiting >= self.info.max_waiting

    @property
    def last_step_age_s(self) -> float | None:
        """Seconds since steps were last seen, by a probe or a request; None before the first."""
        if not self.stats.num_steps:
            return None
        return time.monotonic() - self._stepped_at

    @property
    def pid(self) -> int | None:
        """Process id of the engine; None for one in this process."""
        return getattr(self._client, "pid", None)

    @property
    def num_restarts(self) -> int:
        """Number of times the engine died and was started again."""
        client = self._client
        return 0 if client is None else client.num_restarts

    @property
    def client(self) -> EngineClient:
        """Engine client, once `check_available` has passed."""
        assert self._client is not None
        return self._client

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer, once `check_available` has passed."""
        assert self._tokenizer is not None
        return self._tokenizer

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names in requests: the model's, then its adapters'."""
        return (*self.names, *self.adapters)

    async def load(self, memory_bytes: int | None = None) -> None:
        """Start the engine within `memory_bytes`, by default as the settings say.

        Waits until it is ready. Raises `YaieError`, and then uses no memory.
        """
        try:
            await self.start(memory_bytes)
        except BaseException:
            if self.failure is None and self.residence is not Residence.STARTING:
                await self.unload()
            raise
        self.residence = Residence.RESIDENT
        assert self.info is not None
        self.memory_bytes = self.info.memory_bytes

    async def unload(self) -> None:
        """Stop the engine and free its memory."""
        self._last_info = self.info
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        self.residence = Residence.ABSENT

    async def start(self, memory_bytes: int | None = None) -> None:
        """Find the model, start its engine and wait until it is ready. Raises `YaieError`."""
        path = await self.find_folder()
        # The engine process gets the folder: the name is resolved only once.
        config = replace(self._config, model=str(path), revision=None, served_model_name=self.name)
        if memory_bytes is not None:
            config = replace(config, memory_bytes=memory_bytes)
        if self._last_info is not None:  # an automatic pool keeps its size
            config = replace(config, num_slots=self._last_info.num_slots)
        if self._last_info is not None and config.lora:
            config = replace(config, lora=self.adapters.setting)
        self._client = self._make_client(config)
        await self._client.start()
        await self._load_tokenizer(path)
        info = await self._client.wait_ready()
        with contextlib.suppress(EngineUnavailable):  # it may have ended meanwhile
            self.translator()  # before the first request
        weights = info.dtype + (f", {info.quantization}" if info.quantization else "")
        logger.info("ready: %s (%s, %s) on %s", info.model, info.architecture, weights, info.device)

    async def check(self) -> None:
        """Check the model's config, weight headers and tokenizer. Raises `YaieError`."""
        await self._load_tokenizer(await self.find_folder())

    async def _load_tokenizer(self, path: Path) -> None:
        if self._tokenizer is not None:
            return
        tokenizer = await self._run_in_thread(load_tokenizer, path)
        set_chat_template(tokenizer, self._config.chat_template)
        self.abilities = await self._run_in_thread(
            _check_template, tokenizer, self._config.tool_call_parser
        )
        self._tokenizer = tokenizer

    async def list_files(self) -> Files | None:
        """Return the model's files, none for a missing folder; None for no folder of the user."""
        source = self._config.source
        if source == BUILTIN_MODEL or names_repository(source):
            return None
        return await self._run_in_thread(_list_files, Path(source).expanduser())

    async def find_folder(self) -> Path:
        """Return the model's folder, downloaded if it has to be. Raises `StartupError`."""
        if names_repository(self._config.source):
            return await find_folder(self._config.source)
        return (await self._run_in_thread(open_folder, self._config.source)).path

    async def close(self) -> None:
        """Stop the engine."""
        if self._client is not None:
            await self._client.close()

    def expect_request(self) -> AbstractContextManager[None]:
        """Announce a request while it is read: an idle engine waits for it."""
        return nullcontext() if self._client is None else self._client.expect_request()

    def translator(self) -> Translator:
        """Return the translator for the present engine. Raises `EngineUnavailable`."""
        self.check_available()
        info = self.info
        assert info is not None
        if self._translator is None or self._translator_info is not info:
            parser = self._config.tool_call_parser
            sampling = self.defaults.sampling_of(info.default_sampling)
            shown = replace(info, default_sampling=sampling)
            self._translator = Translator(
                self.tokenizer,
                shown,
                parser,
                self.defaults,
                trust_markers=self._config.trust_markers,
            )
            self._translator_info = info
        return self._translator

    def check_available(self) -> None:
        """Raise `EngineUnavailable` with the reason unless the model takes requests."""
        state = self.state
        if state is EngineState.READY:
            return
        reason = self.state_reason
        if state is EngineState.STARTING:
            raise EngineStarting(_sentence("the model is loading", reason, "retry in a moment"))
        if state is EngineState.DRAINING:
            raise EngineDraining("the server is shutting down and takes no new requests")
        if state is EngineState.FAILED:
            raise EngineUnavailable(_sentence("the engine could not start", reason))
        if state is EngineState.UNLOADED:
            raise EngineStarting("the model is not loaded; send the request again")
        raise EngineDied(_sentence("the engine is being restarted", reason, "retry in a moment"))


def _check_template(tokenizer: Tokenizer, tool_call_parser: str) -> TemplateAbilities:
    """Render the chat template while the engine loads: no request waits for it, nor meets a bomb.

    Returns its abilities. Raises `ModelUnsupported` for a template beyond its limits.
    """
    try:
        ChatTemplate(tokenizer, tool_call_parser).check()
        return abilities_of(tokenizer, tool_call_parser)
    except TemplateTooCostly as error:
        fact = error.message.partition(";")[0]
        raise ModelUnsupported(
            f"{fact}; repair it, or give another template (--chat-template)", param="model"
        ) from None
    except EngineUnavailable as error:
        raise StartupError(error.message) from None


def _list_files(folder: Path) -> Files:
    found = folder.rglob("*") if folder.is_dir() else [folder]
    with contextlib.suppress(OSError):  # a file that was there is gone
        states = [(str(path), path.stat()) for path in sorted(found) if path.exists()]
        return tuple((path, state.st_size, state.st_mtime_ns) for path, state in states)
    return ()


def _sentence(fact: str, reason: str, advice: str = "") -> str:
    return fact + (f" ({reason})" if reason else "") + (f"; {advice}" if advice else "")


def find_model(models: Collection[ServedModel], name: str) -> ServedModel:
    """Return the model with a name, or with an adapter of that name.

    The name may have or lack the tag `:latest`.

    Raises `UnknownModel`.
    """
    for wanted in spellings(name):
        for model in models:
            if wanted in model.all_names:
                return model
    names = ", ".join(repr(each) for model in models for each in model.all_names)
    raise UnknownModel(
        f"the model {name[:100]!r} is not served here; this server has {names}", param="model"
    )


def check_adapter_names(models: Collection[ServedModel]) -> None:
    """Raise `ConfigError` if an adapter has the name of a model or of another model's adapter."""
    taken = [name for model in models for name in model.names]
    for model in models:
        for name in model.adapters:
            if not set(taken).isdisjoint(spellings(name)):
                raise ConfigError(
                    f"lora: the name {name!r} is taken; write name=folder with another name",
                    param="lora",
                )
            taken.append(name)


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
