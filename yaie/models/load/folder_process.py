"""Folder process: finds and checks a model folder outside the server process.

`python -m yaie.models.load.folder_process MODEL` runs it.

A download takes minutes, and the hub library's threads cannot be stopped. A server that shuts down
ends this process instead of waiting for them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from yaie.base import errors
from yaie.base.errors import StartupError
from yaie.models.load.folder import open_folder
from yaie.process.hidden_keys import HUB_VARIABLES, PROXY_VARIABLES
from yaie.process.spawn import module_command, module_environment


async def find_folder(model: str) -> Path:
    """Run `open_folder` in a child process and return the path; cancelling ends the child.

    Raises the child's `StartupError`.
    """
    process = await asyncio.create_subprocess_exec(
        *module_command(__name__, model),
        env=module_environment(keep=HUB_VARIABLES | PROXY_VARIABLES),
        stdin=DEVNULL,
        stdout=PIPE,
    )
    try:
        output, _ = await process.communicate()
    finally:
        await _end(process)
    try:
        answer = json.loads(output)
    except ValueError:
        raise StartupError(
            f"looking for {model} ended with exit code {process.returncode}; see the lines above"
        ) from None
    if "path" in answer:
        return Path(answer["path"])
    kind = getattr(errors, answer["error"], StartupError)
    raise kind(answer["message"], param=answer["param"], code=answer["code"])


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def main(model: str) -> None:
    """Print the path, or the error with its fields, as a JSON object."""
    try:
        answer: dict[str, str | None] = {"path": str(open_folder(model).path)}
    except StartupError as error:
        answer = {
            "error": type(error).__name__,
            "message": error.message,
            "param": error.param,
            "code": error.code,
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C reaches every process of the terminal
        main(sys.argv[1])
