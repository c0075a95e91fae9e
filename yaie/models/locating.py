"""Finds the folder of a model in a process of its own: `python -m yaie.models.locating MODEL`.

A download takes minutes, and the threads of the hub's library cannot be stopped: a server that is
told to leave ends this process instead of waiting for them. Called by `server/service.py`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from yaie import errors
from yaie.errors import StartupError
from yaie.models.locate import resolve_model_path


async def locate(model: str) -> Path:
    """As `resolve_model_path`, and ended at once when cancelled. Raises what that raises."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, model, stdin=DEVNULL, stdout=PIPE
    )
    try:
        output, _ = await process.communicate()
    finally:
        await _end(process)
    try:
        kind, text = json.loads(output)
    except ValueError:
        raise StartupError(
            f"looking for {model} ended with exit code {process.returncode}; see the lines above"
        ) from None
    if kind == "path":
        return Path(text)
    known = getattr(errors, kind, StartupError)
    raise known(text)


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def main(model: str) -> None:
    """Print the folder, or the refusal, as a pair in JSON."""
    try:
        found = ("path", str(resolve_model_path(model)))
    except StartupError as error:
        found = (type(error).__name__, error.message)
    print(json.dumps(found))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C reaches every process of the terminal
        main(sys.argv[1])
