"""HTTP server over the engine: `yaie serve`, `uvicorn server.api:app`, or `run` from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaie.base.settings import EngineConfig, Settings
    from yaie.server.api_server import OwnEngine
    from yaie.server.ops.operator_tools import OperatorTool


def run(
    model: OwnEngine | Settings | EngineConfig | str | PathLike[str] | None = None,
    host: str | None = None,
    port: int | None = None,
    *,
    workers: int = 1,
    reload: bool = False,
    tools: Iterable[OperatorTool | Callable[..., Any]] = (),
    **settings: Any,
) -> None:
    """Serve a model until a signal, as `yaie serve` does; return after the drain.

    `model`, `tools` and `settings` are the arguments of `ApiServer`: names of flags with `_`, such
    as `num_slots`, `api_key`, `log_level`, `ssl_certfile` and `ssl_keyfile`. The address is
    127.0.0.1:8000 unless given. Raises `ConfigError`, and the error of an engine that cannot start.
    """
    from yaie.server.api_server import ApiServer

    server = ApiServer(model, tools=tools, **settings)
    server.run(host, port, workers=workers, reload=reload)


fire = run
