"""`LocalEngine`: a model in this process, and its answers to requests.

The floor below the methods of `LLM`: loading, running, closing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from yaie.api.engine_facts import Described
from yaie.api.from_module import is_module, written
from yaie.api.outputs import RequestOutput, StreamPiece, make_output, take_piece
from yaie.api.prefix_cache import PrefixCache
from yaie.api.prompt_kinds import naming_index
from yaie.api.prompt_progress import ShowProgress, progress_bar
from yaie.api.prompts import ReadPrompt
from yaie.api.request_maker import NO_OPTIONS, CallOptions, RequestMaker
from yaie.api.warmup_config import WarmupConfig
from yaie.base.adapter_info import AdapterInfo
from yaie.base.engine_keywords import EngineKeywords
from yaie.base.errors import (
    ConfigError,
    EngineUnavailable,
    YaieError,
    nearest_name_hint,
)
from yaie.base.queries import AdapterChanged, LoadAdapter, UnloadAdapter
from yaie.base.renamed_settings import advice_on, is_harmless
from yaie.base.setting_field import LARGEST_COUNT
from yaie.base.settings import BUILTIN_MODEL, ENGINE_SETTINGS, EngineConfig
from yaie.base.stats import EngineStats
from yaie.base.types import (
    EngineInfo,
    GenerationRequest,
    Grammar,
    SamplingParams,
    TokenDelta,
)
from yaie.client.core_loading import load_engine_core
from yaie.client.in_process_client import InProcessClient
from yaie.client.local_client import LocalClient
from yaie.client.submission import Submission
from yaie.models.load.folder import open_folder
from yaie.process.progress import show_progress
from yaie.text.answer import Answer
from yaie.text.template_features import set_chat_template
from yaie.text.tokenizer import Tokenizer, load_tokenizer

logger = logging.getLogger("yaie.api.llm")

DEFAULT_QUEUE = ENGINE_SETTINGS["max_waiting"].default
UNBOUNDED_QUEUE = LARGEST_COUNT  # the caller holds its list of prompts in any case


class LocalEngine(Described):
    """One loaded model, its settings and its requests."""

    def __init__(
        self,
        model: str | PathLike[str] | Any = BUILTIN_MODEL,
        *,
        tokenizer: str | PathLike[str] | Tokenizer | Any = None,
        config: EngineConfig | None = None,
        inference_name: str | None = None,
        progress: bool = True,
        **keywords: Unpack[EngineKeywords],
    ) -> None:
        """Load a model.

        Args:
            model: "builtin", a folder, a GGUF file, `org/name` or `org/name:Q4_K_M` of the hub, or
                a model that transformers has loaded, which needs a tokenizer.
            tokenizer: A folder or a loaded tokenizer that replaces the model's.
            config: Settings; `keywords` override them.
            inference_name: The model's name for callers.
            progress: Show what a slow start does, on a terminal or in a notebook.
            keywords: Fields of `EngineConfig` (`dtype`, `num_slots`, `max_model_len`, ...).

        Raises:
            StartupError: `ConfigError`, `ModelNotFound`, `ModelUnsupported` or `NotEnoughMemory`.
        """
        self._given_tokenizer = tokenizer
        settings: dict[str, Any] = dict(keywords)
        has_limit = getattr(config, "max_waiting", None) not in (None, DEFAULT_QUEUE)
        if not has_limit:
            settings = {"max_waiting": UNBOUNDED_QUEUE, **settings}
        if inference_name is not None:
            settings["served_model_name"] = inference_name
        if not is_module(model):
            resolved = engine_config(model, config, settings)
            with show_progress("importing PyTorch", wanted=progress):
                self._load(resolved, tokenizer)
            return
        module: Any = model
        name = str(module.config.name_or_path or type(module).__name__)
        settings = {"served_model_name": name, "weights_cache": "off", **settings}
        with written(module, tokenizer) as (folder, given):
            resolved = engine_config(folder, config, settings)
            with show_progress("reading the model", wanted=progress):
                self._load(resolved, given)

    def _load(self, config: EngineConfig, tokenizer: Any) -> None:
        if not isinstance(tokenizer, Tokenizer):  # first: it fails sooner than the weights
            folder = open_folder(config.source)  # a refused model may lack a tokenizer
            tokenizer = load_tokenizer(Path(tokenizer or folder.path))
        set_chat_template(tokenizer, config.chat_template)
        self._config = config
        self._warm_ups: list[WarmupConfig] = []
        core = load_engine_core(config)
        core.use_tokenizer(tokenizer)
        self._info = core.info
        self._client = LocalClient(core)
        self._maker = RequestMaker(tokenizer, core.info, config, prefix="llm")
        self._is_open = True

    @property
    def info(self) -> EngineInfo:
        """Properties of the loaded model: architecture, dtype, device, context, pool, ..."""
        return self._info

    @property
    def config(self) -> EngineConfig:
        """The settings of this engine, as given."""
        return self._config

    @property
    def model(self) -> Any:
        """The transformers module; None if packed weights from an earlier start run instead.

        It lacks the weights that the kernels run in packed layouts. Raises `EngineUnavailable` once
        closed.
        """
        core: Any = self._client.core
        return core.executor.loaded.model

    @property
    def stats(self) -> EngineStats:
        """Counters since the start and gauges of now."""
        return self._client.stats

    @property
    def cache(self) -> PrefixCache:
        """The prefix cache: `stats()`, `explain(prompt)` and `clear()`."""
        self._require_open()
        return PrefixCache(self._client.ask, self._maker)

    @property
    def adapters(self) -> tuple[AdapterInfo, ...]:
        """The LoRA adapters that are loaded."""
        return tuple(self._maker.adapters.values())

    def load_adapter(self, name: str, folder: str | PathLike[str]) -> AdapterInfo:
        """Load a LoRA adapter, for `lora=name` in later calls.

        Raises `InvalidRequest` for a name in use and for an adapter that cannot be computed with
        this model.
        """
        self._require_open()
        found = self._client.ask(LoadAdapter(name, os.fspath(folder)))
        assert isinstance(found, AdapterChanged)
        self._maker.adapters[name] = found.adapter
        return found.adapter

    def unload_adapter(self, name: str) -> None:
        """Forget a LoRA adapter; running requests end as usual. Raises `UnknownModel`."""
        self._require_open()
        self._client.ask(UnloadAdapter(name))
        del self._maker.adapters[name]

    def as_client(self) -> InProcessClient:
        """Return an asynchronous client of this engine, for `AsyncLLM` or a server.

        The engine stays this `LLM`'s to close.
        """
        self._require_open()
        return InProcessClient(self._client, self._info)

    def wait_until_saved(self, timeout_s: float | None = None) -> bool:
        """Wait until the packed weights from a first start are on disk, or failed.

        A program that ends sooner packs them again at its next start. Returns True at once if there
        is nothing to write, False if writing still runs after `timeout_s`.
        """
        return self._client.wait_until_saved(timeout_s)

    def close(self) -> None:
        """Free the model and its memory; later calls raise `EngineUnavailable`.

        Waits for the current step. In a signal handler during a step on the same thread it returns
        at once, and the step frees the model when it ends.
        """
        self._is_open = False
        self._client.close()

    def __repr__(self) -> str:
        info = self._info
        closed = "" if self._is_open else ", closed"
        return (
            f"{type(self).__name__}({info.model!r}, dtype={info.dtype!r}, device={info.device!r}, "
            f"num_slots={info.num_slots}{closed})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if not self._is_open:
            raise EngineUnavailable("this LLM is closed; create a new LLM")

    def _request(
        self,
        read: ReadPrompt,
        sampling: SamplingParams,
        grammar: Grammar | None = None,
        options: CallOptions = NO_OPTIONS,
    ) -> GenerationRequest:
        """Return a request that the engine will take. Raises `InvalidRequest`."""
        request = self._maker.request(read, sampling, grammar, options)
        if request.grammar is not None:
            self._client.check_grammar(request.grammar)
        return request

    def _run(
        self,
        read: list[ReadPrompt],
        samplings: list[SamplingParams],
        grammars: list[Grammar | None],
        options: CallOptions,
        progress: ShowProgress,
    ) -> list[RequestOutput]:
        answers = self._open_answers(read, samplings, grammars, options)
        with (
            contextlib.closing(self._grow(answers)) as deltas,
            progress_bar(len(read), progress) as show,
        ):
            for delta in deltas:
                show(len(delta.token_ids), answers[delta.request_id].is_over)
        return self._make_outputs(answers, read)

    def _open_answers(
        self,
        read: list[ReadPrompt],
        samplings: list[SamplingParams],
        grammars: list[Grammar | None],
        options: CallOptions,
    ) -> dict[str, Answer]:
        """Return empty answers by request id. Raises `InvalidRequest` with the prompt's index."""
        answers: dict[str, Answer] = {}
        for index, each in enumerate(zip(read, samplings, grammars, strict=True)):
            with naming_index(index, len(read)):
                request = self._request(*each, options)
                answers[request.request_id] = self._maker.answer(request, each[0])
        return answers

    def _make_outputs(
        self, answers: Mapping[str, Answer], read: list[ReadPrompt]
    ) -> list[RequestOutput]:
        outputs = [
            make_output(answer, prompt.text)
            for answer, prompt in zip(answers.values(), read, strict=True)
        ]
        for index, output in enumerate(outputs):
            if output.error is not None:
                logger.warning("prompt %d failed in the engine: %s", index, output.error)
        return outputs

    def _stream(self, answer: Answer) -> Generator[StreamPiece, None, None]:
        with contextlib.closing(self._grow({answer.request.request_id: answer})) as deltas:
            for delta in deltas:
                if answer.error is not None:
                    raise YaieError.from_wire(answer.error)
                piece = take_piece(answer, delta.index)
                if piece.token_ids or piece.text or piece.finish_reason or piece.reasoning:
                    yield piece

    def _grow(
        self,
        answers: Mapping[str, Answer],
        limit: int | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Generator[TokenDelta, None, None]:
        """Run the requests of `answers`; yield each delta once its answer has grown by it.

        At most `limit` requests run or wait in the engine at a time. Ends within one step of
        `is_stopped()`. Closing the generator ends within one step what still runs.
        """
        arrived: deque[TokenDelta] = deque()
        left = deque(answers.values())
        running: dict[str, Submission] = {}
        try:
            while left or running:
                self._send_more(left, running, limit or len(answers), arrived.append)
                self._client.wait_until(lambda: arrived or is_stopped())
                if is_stopped():
                    return
                while arrived:
                    delta = arrived.popleft()
                    answer = answers[delta.request_id]
                    if answer.push(delta):
                        running[delta.request_id].abort(delta.index)
                    if answer.is_over:
                        del running[delta.request_id]
                    yield delta
        finally:
            self._client.close_submissions(list(running.values()))

    def _send_more(
        self,
        left: deque[Answer],
        running: dict[str, Submission],
        limit: int,
        sink: Callable[[TokenDelta], None],
    ) -> None:
        """Send requests from `left` until `limit` are running, all before the next step."""
        sent = []
        while left and len(running) < limit:
            request = left.popleft().request
            running[request.request_id] = self._client.prepare(request, sink)
            sent.append(running[request.request_id])
        if sent:
            self._client.send(sent)


def engine_config(
    model: str | PathLike[str], config: EngineConfig | None, settings: dict[str, Any]
) -> EngineConfig:
    """Return engine settings: `settings`, then `config`, then the defaults.

    The model in `config` replaces the default model.

    Keywords of vLLM's `LLM` that change nothing here are dropped. Raises `ConfigError` for an
    unknown name, a wrong type or a value out of range.
    """
    settings = {name: each for name, each in settings.items() if not is_harmless(name, each)}
    if isinstance(drafts := settings.get("speculative_config"), dict):  # as vLLM's `LLM` takes it
        settings["speculative_config"] = json.dumps(drafts)
    for name in settings:
        if name not in ENGINE_SETTINGS:
            hint = f"; {advice}" if (advice := advice_on(name)) else ""
            hint = hint or nearest_name_hint(name, ENGINE_SETTINGS)
            raise ConfigError(f"{name} is not an engine setting{hint}", param=name)
    if config is not None and not isinstance(config, EngineConfig):
        raise ConfigError(
            f"config must be an EngineConfig, not {type(config).__name__}", param="config"
        )
    given = {} if config is None else {name: getattr(config, name) for name in ENGINE_SETTINGS}
    if config is None or name_of(model) != BUILTIN_MODEL:
        given["model"] = name_of(model)
    return EngineConfig(**{**given, **settings})


def name_of(model: object) -> str:
    """Return the name or the folder of a model as text. Raises `ConfigError`."""
    if not isinstance(model, str | PathLike):
        raise ConfigError(
            f"model must be a name or a folder, not {type(model).__name__}", param="model"
        )
    return str(os.fspath(model))
