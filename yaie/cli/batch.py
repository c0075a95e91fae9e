"""`yaie batch`: answers the requests of a file, in this process or by a server."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import EngineUnavailable, YaieError
from yaie.cli import terminal
from yaie.cli.failures import SERVER_UNREACHABLE, usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    choose_key,
    parse_count,
    read_base,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.cli.run import ApiKey, refuse_engine_flags

if TYPE_CHECKING:
    from yaie.base.settings import Settings
    from yaie.base.types import Usage
    from yaie.batch.batch_lines import BatchInput
    from yaie.batch.batch_run import BatchRun, Send

_REMOTE_AT_ONCE = 64
_POLL_S = 0.02
_NO_LIMIT_S = 1e9  # requests wait for the requests before them


@settings_options(ENGINE_FLAGS)
def batch(
    source: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="requests, in OpenAI's batch format")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT.jsonl", help="results; an interrupted batch continues")
    ],
    *,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="OpenAI-compatible server [a model here]"),
    ] = None,
    api_key: ApiKey = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            parser=parse_count,
            metavar="N",
            help=f"requests sent at once [{_REMOTE_AT_ONCE} with --url, else twice --max-running]",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="run failed requests of the output again")
    ] = False,
    settings: dict[str, Any],
) -> None:
    """Answer every request of a file; write one result per line.

    Requests run in the order of their prompts, so that common prefixes are computed once; results
    are written as they come. The same command continues after Ctrl-C, a crash or a full disk: no
    result is lost or doubled. A failed request has a status from 400 in its result, and an error.

    -m sends every request to that model; without -m the bodies name models. --url sends them to
    a server, which may stand before many replicas.
    """
    if concurrency is not None and concurrency < 1:
        raise usage_error("--concurrency must be at least 1", advice="--concurrency 64")
    warn_of_unknown_variables()
    given = read_requests(source, target, settings.get("model"))
    from yaie.batch.batch_run import BatchRun
    from yaie.batch.result_journal import ResultJournal

    with ResultJournal(target, given.lines, retries_failed=retry_failed) as journal:
        run, num_before = BatchRun(given, journal), len(journal.done)
        if not run.num_left:
            failed = journal.num_failed
            again = f"; {failed:,} failed, --retry-failed runs them again" if failed else ""
            terminal.say(f"{target} has all {num_before:,} results already{again}")
            return
        began = time.monotonic()
        if url is None:
            work = _here(run, settings, concurrency)
        else:
            refuse_engine_flags(url, settings)
            key = choose_key(api_key, is_named=True)
            work = _by_server(run, read_base(url), key, concurrency or _REMOTE_AT_ONCE)
        try:
            asyncio.run(work)
        except (KeyboardInterrupt, YaieError):
            if run.totals.num_done or num_before:
                _say_how_to_continue(run)
            raise
        terminal.say(summary(run, num_before, time.monotonic() - began))


def read_requests(source: Path, target: Path, model: str | None = None) -> BatchInput:
    """Return the checked requests of a file. Raises a usage error that lists its wrong lines."""
    from yaie.batch.batch_lines import listed, read_input

    with contextlib.suppress(OSError):
        if source.samefile(target):
            raise usage_error(
                f"{source} is both input and output", advice=f"yaie batch {source} OUT.jsonl"
            )
    try:
        given = read_input(source, model=model)
    except OSError as error:
        raise usage_error(
            f"cannot read {source}",
            why=error.strerror or str(error),
            advice="a file with one request per line",
        ) from None
    if given.problems:
        count = len(given.problems)
        raise usage_error(
            f"{source} has {count:,} wrong {'line' if count == 1 else 'lines'}; nothing was sent",
            why="\n".join(listed(given.problems)),
            advice="mend these lines and run the same command",
        )
    return given


def check_models(given: BatchInput, served: Collection[str], advice: str) -> None:
    """Raise a usage error for bodies that name a model which is not served."""
    for name, number in given.models.items():
        if name not in served:
            raise usage_error(
                f"line {number} of {given.path} asks for the model {name!r}",
                why=f"the models here are {', '.join(served)}",
                advice=advice,
            )


def summary(run: BatchRun, num_before: int, seconds: float) -> str:
    """Return the last line: all requests and failed ones, this run's tokens and speed."""
    totals, journal = run.totals, run.journal
    share = 100 * totals.cached_tokens / max(totals.prompt_tokens, 1)
    before = f" ({num_before:,} of them earlier)" if num_before else ""
    rate = totals.output_tokens / max(seconds, 1e-9)
    return (
        f"{len(journal.done):,} requests{before} · {journal.num_failed:,} failed · "
        f"prompt {totals.prompt_tokens:,} tok ({totals.cached_tokens:,} cached, {share:.1f} %) · "
        f"output {totals.output_tokens:,} tok, {rate:,.1f} tok/s · {seconds:,.1f} s"
    )


def _say_how_to_continue(run: BatchRun) -> None:
    terminal.say(
        f"{len(run.journal.done):,} of {len(run.batch.lines):,} results are in {run.journal.path}; "
        "the same command continues with the rest"
    )


async def _by_server(run: BatchRun, url: str, key: str | None, at_once: int) -> None:
    """Send the requests to a server."""
    from yaie.batch.remote_sender import RemoteSender

    sender = RemoteSender(url, key, at_once)
    try:
        served, model = await sender.models(), run.batch.model
        if model is None:
            check_models(run.batch, served, f"-m {next(iter(served), 'NAME')} for every request")
        elif model not in served:
            raise usage_error(
                f"{url} does not serve {model}",
                why=f"it serves {', '.join(served)}",
                advice=f"-m {next(iter(served), 'NAME')}",
            )
        await _watch(run, sender.send, at_once, model)
    except EngineUnavailable as error:
        raise AdvisedError(
            error.message,
            advice="the same command once the server answers",
            code="server-unreachable",
            exit_code=SERVER_UNREACHABLE,
        ) from error
    finally:
        sender.close()


async def _here(run: BatchRun, settings: dict[str, Any], concurrency: int | None) -> None:
    """Run the requests on an engine of this command, through the endpoints of the server."""
    from yaie.base.served_models import engine_configs
    from yaie.base.settings import load_settings

    loaded = load_settings(**settings)
    configs = engine_configs(loaded)
    names = [name for each in configs for name in each.model_names]
    if run.batch.model is None:
        check_models(run.batch, names, "-m MODEL for every request, whatever its body names")
    at_once = concurrency or 2 * configs[0].max_running
    async with open_app(loaded) as send:
        await _watch(run, send, at_once, names[0] if run.batch.model else None)


@contextlib.asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[Send]:
    """Start the server's application without a socket; yield the function that asks it."""
    from yaie.cli.serve import check_model
    from yaie.process.progress import show_progress
    from yaie.process.spawn import gc_paused_then_frozen

    terminal.note(f"loading {settings.engine_config().source} …")
    check_model(settings.engine_config().source)
    with (
        gc_paused_then_frozen(),
        show_progress("loading the model", wanted=terminal.notes_are_shown()),
    ):
        from yaie.base.types import EngineState
        from yaie.server.app import create_app
        from yaie.server.batches.line_sender import LineSender

        app = create_app(alone(settings), on_fatal=lambda _: None)
        service = app.state.service
        service.start()
        try:
            while service.state is not EngineState.READY and service.failure is None:
                await asyncio.sleep(_POLL_S)
        except BaseException:
            await service.stop()
            raise
    try:
        if service.failure is not None:
            raise service.failure
        handlers = {each.path: each.handler for each in app.state.endpoints if each.generates}
        yield LineSender(app, handlers).send
    finally:
        await service.stop()


def alone(settings: Settings) -> Settings:
    """Return the settings of a server with one client, which is patient and sends no next turn."""
    return dataclasses.replace(
        settings,
        lazy_load=False,
        warmup=False,
        prepare_turns=False,
        request_timeout_s=_NO_LIMIT_S,
        requests_per_minute=0,
        tokens_per_minute=0,
        tokens_per_day=0,
        max_concurrent=0,
    )


async def _watch(run: BatchRun, send: Send, at_once: int, model: str | None) -> None:
    """Run with a progress bar on a terminal."""
    from yaie.api.prompt_progress import progress_bar

    with progress_bar(run.num_left, terminal.notes_are_shown()) as show:

        def see(usage: Usage) -> None:
            show(usage.completion_tokens, True)

        run.on_result = see
        await run.run(send, at_once, model)
