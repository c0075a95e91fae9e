"""Answers from a model in this process: `LLM` with the settings of flags and variables."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import ContextLengthExceeded
from yaie.base.types import Grammar, Usage
from yaie.cli import terminal
from yaie.cli.answers import AnswerStream, FinishedAnswer, Question, ReasoningOnScreen
from yaie.cli.failures import USAGE, usage_error
from yaie.cli.sampling_options import SamplingOptions, default_sampling
from yaie.process.progress import show_progress
from yaie.process.spawn import gc_paused_then_frozen

if TYPE_CHECKING:
    from yaie.api.llm import LLM, StreamPiece

_SAVING_BEFORE_A_NOTE_S = 0.5
_SAVING_S = 60.0  # enough for a small model; a server also waits for gigabytes on a slow disk


def load_model(settings: dict[str, Any], *, takes_several_adapters: bool = True) -> LLM:
    """Return an `LLM` made from flags and `YAIE_*` variables; raises their `StartupError`.

    Without `takes_several_adapters`, several are a usage error.
    """
    from yaie.base.settings import BUILTIN_MODEL, load_settings

    config = load_settings(**settings).engine_config()
    if not takes_several_adapters:
        _refuse_several(config.lora)
    given = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    hint = (
        " (a small demonstration model; -m names another)" if config.model == BUILTIN_MODEL else ""
    )
    terminal.note(f"loading {config.source}{hint} …")
    is_shown = terminal.notes_are_shown()
    with (
        gc_paused_then_frozen(),
        notes_of_compilation(),
        show_progress("importing PyTorch", wanted=is_shown),
    ):
        from yaie.api.llm import LLM

        return LLM(given.pop("model"), progress=is_shown, **given)


def _refuse_several(lora: str) -> None:
    from yaie.models.adapters.adapter_folders import find_adapters

    names = list(find_adapters(lora))
    if len(names) > 1:
        raise usage_error(
            f"--lora names {len(names)} adapters ({', '.join(names)[:200]})",
            why="this command computes with one",
            advice="--lora NAME=FOLDER once, or yaie serve with all and -m NAME",
        )


def only_adapter(llm: LLM) -> str:
    """Return the name of the one adapter that is loaded; empty for none or several."""
    return llm.adapters[0].name if len(llm.adapters) == 1 else ""


class _Notes(logging.Handler):
    """Log records as notes and warnings on the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno > logging.INFO:
            terminal.warn(record.getMessage())
        else:
            terminal.say(f"{record.getMessage()} …")


@contextlib.contextmanager
def notes_of_compilation() -> Iterator[None]:
    """Say that the kernels are compiled, also on a pipe: once on a machine, for half a minute."""
    log, notes = logging.getLogger("yaie.kernels"), _Notes()
    level = log.level
    log.addHandler(notes)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(notes)


class ModelAnswers:
    """A model in this process."""

    def __init__(self, settings: dict[str, Any], *, takes_several_adapters: bool = True) -> None:
        self._llm = load_model(settings, takes_several_adapters=takes_several_adapters)
        self._lora = only_adapter(self._llm)

    @property
    def name(self) -> str:
        """The model and its device."""
        info = self._llm.info
        adapter = f"{self._lora}, an adapter of " if self._lora else ""
        return f"{adapter}{info.model} ({info.num_parameters / 1e6:.1f} M, {info.device})"

    @property
    def sampling(self) -> dict[str, float]:
        """The model's recommended sampling, else the default of the command line."""
        return default_sampling(self._llm.info.default_sampling)

    def models(self) -> list[str]:
        """Return the model that is loaded, and its adapters."""
        return [self._llm.info.model, *(each.name for each in self._llm.adapters)]

    def use_model(self, name: str) -> None:
        """Answer by the model or an adapter of it; refuse every other model."""
        loaded = self.models()
        if name not in loaded:
            adapters = f" and the adapters {', '.join(loaded[1:])}"[:200] if loaded[1:] else ""
            raise usage_error(
                f"this chat loaded only {loaded[0]}{adapters}, not {name}",
                advice=f"/model {loaded[1]}" if adapters else f"yaie chat -m {name}",
            )
        self._lora = "" if name == self._llm.info.model else name

    def stream(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None = None
    ) -> AnswerStream:
        """Begin an answer; the engine runs while pieces are read."""
        if not isinstance(question, str) and not self._llm.get_tokenizer().has_chat_template:
            raise usage_error(
                f"{self._llm.info.model} has no chat template",
                why="it continues text instead of answering questions",
                advice="yaie run --raw …",
            )
        return AnswerStream(self._pieces(question, options, grammar))

    def settle(self) -> None:
        """Wait until the packed weights of a first start are saved; Ctrl-C skips the wait."""
        with contextlib.suppress(KeyboardInterrupt):
            if not self._llm.wait_until_saved(_SAVING_BEFORE_A_NOTE_S):
                terminal.note("saving packed weights for the next start …")
                self._llm.wait_until_saved(_SAVING_S)

    def close(self) -> None:
        """Free the model."""
        self._llm.close()

    def _pieces(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None
    ) -> Generator[str, None, FinishedAnswer]:
        began = time.perf_counter()
        first_s: float | None = None
        text, reason, reasoning = "", "error", ReasoningOnScreen()
        usage = Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0)
        for piece in self._begin(question, options, grammar):
            if first_s is None:
                first_s = time.perf_counter() - began
            usage, reason = piece.usage, piece.finish_reason or reason
            text += piece.text
            if piece.reasoning:
                reasoning.show(piece.reasoning)
            if piece.text:
                reasoning.show("")
                yield piece.text
        total_s = time.perf_counter() - began
        info = self._llm.info
        return FinishedAnswer(
            text=text,
            finish_reason=reason,
            usage=usage,
            first_token_s=total_s if first_s is None else first_s,
            total_s=total_s,
            model=self._lora or info.model,
            place=info.device,
        )

    def _begin(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None
    ) -> Generator[StreamPiece, None, None]:
        # Without max_tokens an answer is unlimited, as in the server's chat; `LLM` defaults to 16.
        given = {"max_tokens": None, **self.sampling, **options.given()}
        sampling = dataclasses.replace(self._llm.default_sampling, **given)
        try:
            return self._llm.stream(question, sampling, grammar=grammar, lora=self._lora)
        except ContextLengthExceeded as error:
            raise self._blame_the_pool(error) from None

    def _blame_the_pool(self, error: ContextLengthExceeded) -> Exception:
        """Return the error, or an error about --num-slots if the KV cache limits the context."""
        info = self._llm.info
        if info.max_model_len < info.num_slots:
            return error
        return AdvisedError(
            f"the KV cache limits the context to {info.num_slots:,} tokens",
            why=error.message.partition(";")[0],
            advice=f"a larger --num-slots (now {info.num_slots:,}), or a shorter prompt",
            code=str(error.code),
            exit_code=USAGE,
        )
