"""`yaie serve --ray`: YAIE's server in this process, in front of replicas on Ray.

Requests skip Ray's HTTP proxy: one hop less, and TLS, keys, logs and drain work as ever.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import YaieError
from yaie.base.own_package import install_command
from yaie.base.settings import EngineConfig, Settings
from yaie.ray.local_deployment import LocalDeployment, check_cluster
from yaie.ray.ray_client import RayClient
from yaie.ray.router_metrics import RouterLog

if TYPE_CHECKING:
    from fastapi import FastAPI

_FAST_OPTIONS = {
    "RAY_worker_niceness": "0",  # Ray's 15 leaves the cores to every other program
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",  # half a millisecond less for each token
    "RAY_SERVE_ENABLE_DIRECT_INGRESS": "0",  # part of it, and delays a shutdown by 30 s
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # it logs each start of an engine
}


def import_ray(settings: Settings) -> None:
    """Import Ray Serve with the options for this service. Raises `AdvisedError` without it."""
    if not settings.ray_address:  # a cluster has its own options
        for name, value in _FAST_OPTIONS.items():
            os.environ.setdefault(name, value)
    # A handle that a thread makes needs it.
    os.environ["RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP"] = "1"
    try:
        import ray.serve  # noqa: F401
    except ImportError as error:
        raise AdvisedError(
            "--ray needs Ray Serve",
            why=str(error),
            advice=install_command("ray"),
            code="not_installed",
        ) from None


def run_on_ray(
    settings: Settings, configs: Sequence[EngineConfig], listener: socket.socket
) -> None:
    """Serve until a signal, as `run_server`, with the engine's replicas on Ray.

    Raises `AdvisedError` if there is no cluster at the given address.
    """
    from yaie.server.serving import run_server

    if settings.ray_address:
        check_cluster(settings.ray_address)
    run_server(settings, configs, listener, make_app)


def make_app(settings: Settings, on_fatal: Callable[[YaieError], None]) -> FastAPI:
    """Return the application whose engine is a deployment of replicas."""
    from yaie.server.app import create_app

    log = RouterLog()
    app = create_app(
        settings,
        make_client=lambda config: RayClient(config, LocalDeployment(settings, on_fatal), log),
        on_fatal=on_fatal,
    )
    app.state.service.metrics.registry.register(log)
    return app
