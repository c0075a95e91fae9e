"""`LocalDeployment`: the replicas of one `yaie serve --ray`, on its own Ray or in a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import EngineDied, EngineDraining, StartupError, YaieError
from yaie.base.settings import Settings
from yaie.process.limits import available_bytes
from yaie.ray.ray_client import Handle
from yaie.ray.ray_output import replace_output
from yaie.ray.ray_thread import RayThread

logger = logging.getLogger(__name__)

APPLICATION = "yaie"  # in a cluster followed by the id of this process's job
CONNECT_S = 5.0
JOIN_S = 20.0
CLOSE_S = 30.0
_CLASS = re.compile(r"^yaie\.base\.errors\.\w+: ")
_VITAL = ("gcs_server", "raylet")
_OBJECT_STORE_BYTES = 100 * 2**20  # deltas and requests are far below what Ray stores there


def check_cluster(address: str) -> None:
    """Raise `AdvisedError` unless something listens at a cluster's address.

    Ray itself tries to reach it for a quarter of an hour.
    """
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address(address)
        if found is None:
            raise ValueError(f"{address} is no address of a cluster")
        host, _, port = found.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except ValueError:
        why, advice = "expected auto or HOST:PORT", "the address that `ray start --head` prints"
    except OSError as error:  # Ray's for `auto` is one
        why = error.strerror or str(error).partition(".")[0]
        advice = "`ray start --head` starts one; without --ray-address YAIE starts Ray here"
    else:
        return
    raise AdvisedError(
        f"no Ray cluster is at --ray-address {address}", why=why, advice=advice, code="no-cluster"
    )


class LocalDeployment:
    """The deployment of this process. Implements `Connection`."""

    def __init__(self, settings: Settings, on_fatal: Callable[[YaieError], None]) -> None:
        """`on_fatal` is called if Ray ends later on."""
        self._settings = settings
        self._on_fatal = on_fatal
        self._has_ended = False  # Ray
        self._thread: RayThread | None = None
        self._opening: asyncio.Future[Handle] | None = None
        self._is_closing = False
        self._application = APPLICATION

    async def open(self) -> Handle:
        """Start Ray and the deployment; replicas start meanwhile. Raises `StartupError`."""
        self._thread = RayThread()
        if self._settings.ray_address:
            joining = self._thread.call(self._join)
            try:
                await asyncio.wait_for(joining, JOIN_S)
            except TimeoutError:
                raise StartupError(
                    f"no Ray cluster answers at --ray-address {self._settings.ray_address} "
                    f"within {JOIN_S:g} s; is it the port of `ray start` (6379)?"
                ) from None
        self._opening = self._thread.call(self._open)
        handle = await asyncio.shield(self._opening)
        # Ray prints a stack before the handler of SIGTERM runs, until it is set again.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        return handle

    async def check(self, *, is_starting: bool) -> None:
        """Raise `StartupError` if Ray has given the deployment up, `EngineDied` if it ended."""
        assert self._thread is not None
        if ended := _find_ended():
            self._has_ended = True
            error = EngineDied(
                f"Ray has ended ({ended}), as at `ray stop` or without memory; "
                "start the server again"
            )
            self._on_fatal(error)
            raise error
        message = await self._thread.call(self._find_failure) if is_starting else None
        if message is not None:
            raise StartupError(f"the replicas could not start: {message}")

    async def close(self) -> None:
        """Stop the deployment, and Ray if it was started here.

        A start of Ray that is under way ends with this process.
        """
        self._is_closing = True
        if self._thread is None or self._opening is None or self._has_ended:
            return
        if not self._opening.done() and not self._settings.ray_address:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.wait([self._opening])
                await self._thread.call(self._close)
            return
        logger.warning("Ray did not stop within %g s", CLOSE_S)

    # -- in the thread --------------------------------------------------------------------------

    def _join(self) -> None:
        import ray

        ray.init(address=self._settings.ray_address, logging_level=logging.ERROR)
        replace_output()
        self._application = f"{APPLICATION}-{ray.get_runtime_context().get_job_id()}"

    def _start_ray(self, most: int, threads: int) -> None:
        import ray

        ray.init(
            address="local",  # not a cluster that happens to run here
            num_cpus=most * threads + 1,  # counted, not reserved
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            logging_level=logging.ERROR,
        )
        replace_output()

    def _open(self) -> Handle:
        import ray
        from ray import serve
        from ray.serve.config import ProxyLocation
        from ray.serve.schema import LoggingConfig

        from yaie.ray.deployments import Replicas, engine_application

        settings = self._settings
        most = settings.max_replicas or settings.replicas
        if not settings.ray_address:
            logger.info("starting Ray, then %s", _replicas(settings.replicas))
            if settings.threads is None:
                cores = len(os.sched_getaffinity(0))
                settings = replace(settings, threads=max(1, cores // most))
            self._start_ray(most, settings.threads or 1)
        has_gpus = ray.cluster_resources().get("GPU", 0) > 0
        if not settings.ray_address and not has_gpus:
            settings = _share_memory(settings, most)
        application = engine_application(settings, has_gpus=has_gpus)
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        quiet = LoggingConfig(log_level="WARNING", enable_access_log=False)
        self._continue()
        serve.start(proxy_location=ProxyLocation.Disabled, logging_config=quiet)
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        self._continue()
        if settings.ray_address:
            _delete_orphans()
            logger.info("starting %s in the cluster", _replicas(settings.replicas))
        (handle,) = serve.run_many(
            [serve.RunTarget(application, name=self._application, route_prefix=None)],
            wait_for_applications_running=False,
        )
        return Replicas(handle)

    def _continue(self) -> None:
        """Raise `EngineDraining` if the deployment is being closed."""
        if self._is_closing:
            raise EngineDraining("the start was stopped")

    def _find_failure(self) -> str | None:
        from ray import serve

        found = serve.status().applications.get(self._application)
        if found is None or found.status not in ("DEPLOY_FAILED", "UNHEALTHY"):
            return None
        messages = [str(each.message) for each in found.deployments.values() if each.message]
        last = [*messages, str(found.message)][0].strip().splitlines()[-1]
        return _CLASS.sub("", last)

    def _close(self) -> None:
        import ray
        from ray import serve

        if not ray.is_initialized():  # it failed to start, and Serve would start it again
            return
        if self._settings.ray_address:
            serve.delete(self._application)
        else:
            serve.shutdown()
        ray.shutdown()


def _find_ended() -> str:
    """Return a process that Ray's node here has lost; empty in a cluster that was joined."""
    from ray._private.worker import _global_node as node

    if node is None:
        return ""
    return next((name for name, _ in node.dead_processes() if name in _VITAL), "")


def _replicas(number: int) -> str:
    return f"{number} engine replica" + ("" if number == 1 else "s")


def _share_memory(settings: Settings, most: int) -> Settings:
    """Return the settings of one of several replicas that share this machine's memory."""
    if most == 1 or settings.num_slots is not None:
        return settings
    return replace(settings, memory_bytes=(settings.memory_bytes or available_bytes()) // most)


def _delete_orphans() -> None:
    """Delete the applications of servers that were killed; they hold cores and memory."""
    from ray import serve
    from ray._private.state import jobs

    every: list[dict[str, Any]] = jobs()
    alive = {each["JobID"] for each in every if not each["IsDead"]}
    for name in serve.status().applications:
        job = name.removeprefix(f"{APPLICATION}-")
        if job != name and job not in alive:
            logger.info("deleting %s, whose server was killed", name)
            serve.delete(name)
