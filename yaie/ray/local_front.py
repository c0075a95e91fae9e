"""`yaie serve --ray`: YAIE's server in this process, in front of replicas on Ray.

Requests skip Ray's HTTP proxy: one hop less, and TLS, keys, logs and drain work as ever.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import StartupError, YaieError
from yaie.base.own_package import install_command
from yaie.base.settings import EngineConfig, Settings
from yaie.process.limits import available_bytes
from yaie.ray.ray_client import Handle, RayClient
from yaie.ray.router_metrics import RouterLog

if TYPE_CHECKING:
    from fastapi import FastAPI

APPLICATION = "yaie"
_FAST_OPTIONS = {
    "RAY_worker_niceness": "0",  # Ray's 15 leaves the cores to every other program
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",  # half a millisecond less for each token
    "RAY_SERVE_ENABLE_DIRECT_INGRESS": "0",  # part of it, and delays a shutdown by 30 s
}
_OBJECT_STORE_BYTES = 100 * 2**20  # deltas and requests are far below what Ray stores there


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
    """Serve until a signal, as `run_server`, with the engine's replicas on Ray."""
    from yaie.server.serving import run_server

    run_server(settings, configs, listener, make_app)


def make_app(settings: Settings, on_fatal: Callable[[YaieError], None]) -> FastAPI:
    """Return the application whose engine is a deployment of replicas."""
    from yaie.server.app import create_app

    log = RouterLog()
    app = create_app(
        settings,
        make_client=lambda config: RayClient(config, LocalDeployment(settings), log),
        on_fatal=on_fatal,
    )
    app.state.service.metrics.registry.register(log)
    return app


def _share_memory(settings: Settings) -> Settings:
    """Return the settings of one of several replicas that share this machine's memory."""
    most = settings.max_replicas or settings.replicas
    if most == 1 or settings.num_slots is not None:
        return settings
    return replace(settings, memory_bytes=(settings.memory_bytes or available_bytes()) // most)


class LocalDeployment:
    """The deployment of this process: Ray is started, or a cluster joined. A `Connection`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_open = False

    async def open(self) -> Handle:
        """Start Ray and the deployment; replicas start meanwhile. Raises `StartupError`."""
        handle = await asyncio.to_thread(self._open)
        # Ray prints a stack before the handler of SIGTERM runs, until it is set again.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        return handle

    async def check(self) -> None:
        """Raise `StartupError` if Ray has given the deployment up."""
        message = await asyncio.to_thread(self._find_failure)
        if message is not None:
            raise StartupError(f"the replicas could not start: {message}")

    async def close(self) -> None:
        """Stop the deployment, and Ray if it was started here."""
        if self._is_open:
            await asyncio.to_thread(self._close)

    def _open(self) -> Handle:
        import ray
        from ray import serve
        from ray.serve.config import ProxyLocation
        from ray.serve.schema import LoggingConfig

        from yaie.ray.deployments import Replicas, engine_application

        settings = self._settings
        self._is_open = True
        if settings.ray_address:
            ray.init(address=settings.ray_address, logging_level=logging.WARNING)
        else:
            most = settings.max_replicas or settings.replicas
            if settings.threads is None:
                cores = len(os.sched_getaffinity(0))
                settings = replace(settings, threads=max(1, cores // most))
            ray.init(
                address="local",  # not a cluster that happens to run here
                num_cpus=most * (settings.threads or 1) + 1,  # counted, not reserved
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
                logging_level=logging.WARNING,
            )
        has_gpus = ray.cluster_resources().get("GPU", 0) > 0
        if not settings.ray_address and not has_gpus:
            settings = _share_memory(settings)
        application = engine_application(settings, has_gpus=has_gpus)
        quiet = LoggingConfig(log_level="WARNING", enable_access_log=False)
        serve.start(proxy_location=ProxyLocation.Disabled, logging_config=quiet)
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        (handle,) = serve.run_many(
            [serve.RunTarget(application, name=APPLICATION, route_prefix=None)],
            wait_for_applications_running=False,
        )
        return Replicas(handle)

    def _find_failure(self) -> str | None:
        from ray import serve

        found = serve.status().applications.get(APPLICATION)
        if found is None or found.status not in ("DEPLOY_FAILED", "UNHEALTHY"):
            return None
        messages = [str(each.message) for each in found.deployments.values() if each.message]
        return [*messages, str(found.message)][0].strip().splitlines()[-1]

    def _close(self) -> None:
        import ray
        from ray import serve

        if not ray.is_initialized():  # it failed to start, and Serve would start it again
            return
        if self._settings.ray_address:
            serve.delete(APPLICATION)
        else:
            serve.shutdown()
        ray.shutdown()
