"""Answers from a model in this process: notes of its start, and errors that blame the cause."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import ContextLengthExceeded, YaieError
from yaie.base.types import SamplingParams
from yaie.cli.answers import AnswerStream
from yaie.cli.failures import show_failure
from yaie.cli.local import ModelAnswers, notes_of_compilation
from yaie.cli.sampling_options import SamplingOptions

QUESTION = [{"role": "user", "content": "hello " * 20}]


def test_the_compilation_of_the_kernels_is_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    monkeypatch.setattr("yaie.cli.terminal.notes_are_shown", lambda: True)
    log = logging.getLogger("yaie.kernels.library_search")
    with notes_of_compilation():
        log.info("compiling the kernels, once (about %d s)", 15)
        log.warning("the library cannot be kept")
    log.info("later")
    assert capsys.readouterr().err == (
        "compiling the kernels, once (about 15 s) …\nwarning: the library cannot be kept\n"
    )


def test_a_pipe_gets_one_plain_line_of_a_compilation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("yaie.cli.terminal._quiet", False)
    with notes_of_compilation():
        logging.getLogger("yaie.kernels.library_search").info("compiling the kernels")
    assert capsys.readouterr().err == "compiling the kernels …\n"


def advice(error: YaieError, capsys: pytest.CaptureFixture[str]) -> str:
    show_failure(error)
    return capsys.readouterr().err.splitlines()[-1]


def ask(source: ModelAnswers, options: SamplingOptions) -> AnswerStream:
    stream = source.stream(QUESTION, options)
    stream.finish()
    return stream


def test_a_pool_that_is_too_small_is_blamed(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ModelAnswers({"model": str(tiny_model_dir), "num_slots": 10, "threads": 1})
    try:
        with pytest.raises(AdvisedError, match="the KV cache limits the context to 10") as failure:
            ask(source, SamplingOptions(max_tokens=512, shrinks_to_fit=True))
    finally:
        source.close()
    assert failure.value.exit_code == 2
    assert advice(failure.value, capsys).startswith("  try: a larger --num-slots (now 10)")


def test_a_prompt_that_is_too_long_is_blamed(
    tiny_model_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"model": str(tiny_model_dir), "num_slots": 4096, "threads": 1}
    source = ModelAnswers(settings | {"max_model_len": 16})
    try:
        with pytest.raises(ContextLengthExceeded) as failure:
            ask(source, SamplingOptions(max_tokens=512, shrinks_to_fit=True))
    finally:
        source.close()
    assert advice(failure.value, capsys) == "  try: a shorter prompt"


def test_the_default_sampling_is_used_where_neither_user_nor_model_says(
    tiny_model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"model": str(tiny_model_dir), "num_slots": 256, "threads": 1}
    source = ModelAnswers(settings)
    seen: list[SamplingParams] = []
    begin = source._llm.stream

    def record(question: Any, sampling: SamplingParams, **options: Any) -> Any:
        seen.append(sampling)
        return begin(question, sampling, **options)

    monkeypatch.setattr(source._llm, "stream", record)
    try:
        ask(source, SamplingOptions(max_tokens=2))
        ask(source, SamplingOptions(max_tokens=2, temperature=0.0, min_p=0.1))
    finally:
        source.close()
    assert [(s.temperature, s.top_p, s.min_p) for s in seen] == [(0.7, 0.9, 0.0), (0.0, 0.9, 0.1)]


def test_another_model_needs_another_chat(tiny_model_dir: Path) -> None:
    settings = {"model": str(tiny_model_dir), "num_slots": 256, "threads": 1}
    source = ModelAnswers(settings | {"max_model_len": 128})
    try:
        (name,) = source.models()
        source.use_model(name)
        with pytest.raises(AdvisedError, match="loaded only") as failure:
            source.use_model("other")
    finally:
        source.close()
    assert failure.value.advice == "yaie chat -m other"
