"""`yaie.ray:app`: the application for `serve run`, `serve deploy` and KubeRay.

An ingress deployment runs the server's application behind Ray's HTTP proxy; the engine's replicas
are a second deployment. Keys stay out of Ray's store: the ingress reads them from its environment.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ray
from ray import serve
from ray.serve.schema import LoggingConfig

from yaie.base.errors import ConfigError, YaieError
from yaie.base.settings import SETTINGS, Settings, load_settings
from yaie.base.types import EngineState
from yaie.ray.deployments import SHUTDOWN_S, Replicas, engine_application
from yaie.ray.ray_client import Handle, RayClient
from yaie.ray.router_metrics import RouterLog

if TYPE_CHECKING:
    from yaie.server.models.service import Service

logger = logging.getLogger(__name__)

SECRETS = ("api_key", "admin_key", "tool_key")
START_POLL_S = 0.1
MAX_REQUESTS = 4096  # in one ingress replica; the queue limits are the engine's
# Settings of a web server that is Ray's proxy here; value: where Ray has them.
_PROXY_SETTINGS = {
    "ssl_certfile": "http_options.ssl_certfile of the Serve config",
    "ssl_keyfile": "http_options.ssl_keyfile of the Serve config",
    "keep_alive_s": "http_options.keep_alive_timeout_s of the Serve config",
    "root_path": "route_prefix of the application in the Serve config",
    "trusted_proxies": "nothing: Ray's proxy passes its own address on",
    "metrics_port": "/metrics of the ingress",
    "batch_dir": "`yaie batch --url`, since two ingresses have the folder during an update",
    "ray_address": "the address of `serve run` or `serve deploy`",
}
_IGNORED = ("host", "port")  # images set them for `yaie serve`


class BoundReplicas:
    """Connection to a deployment that Ray binds to the ingress. Implements `Connection`."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def open(self) -> Handle:
        """Return the handle."""
        return Replicas(self._handle)

    async def check(self, *, is_starting: bool) -> None:
        """Leave failures to Ray, which reports them as the application's status."""

    async def close(self) -> None:
        """Leave the deployment to Ray."""


class IngressReplica:
    """The server's application in a Ray actor."""

    def __init__(self, engine: Any, given: dict[str, Any], secrets: tuple[str, ...]) -> None:
        """`given`: settings without keys. `secrets`: names of the keys that must be set here."""
        settings = load_settings(**given)
        for name in secrets:
            if not getattr(settings, name):
                raise ConfigError(
                    f"{name} is set where the application was built, and not here; set "
                    f"{SETTINGS[name].variable} in the environment of every Ray node",
                    param=name,
                )
        self._engine, self._settings = engine, settings
        self._service: Service | None = None
        self._was_checked = False

    def __serve_build_asgi_app__(self) -> Any:
        """Return the application; Ray calls it in the actor."""
        from yaie.server.app import create_app

        log = RouterLog()
        app = create_app(
            self._settings,
            make_client=lambda config: RayClient(config, BoundReplicas(self._engine), log),
            on_fatal=_leave_to_ray,
        )
        self._service = app.state.service
        self._service.metrics.registry.register(log)
        return app

    async def check_health(self) -> None:
        """Raise the error of a failed start; Ray then replaces the actor.

        Ray sends requests here after the first check. In a rolling update it also stops the old
        replica then, so the check waits until requests are accepted. At the first start requests
        get status 503 until an engine is ready.
        """
        assert self._service is not None
        is_first, self._was_checked = not self._was_checked, True
        while is_first and self._service.failure is None:
            if self._service.state is EngineState.READY:
                break
            if not await asyncio.to_thread(_is_update):
                break
            await asyncio.sleep(START_POLL_S)
        if self._service.failure is not None:
            raise self._service.failure


def _is_update() -> bool:
    """Return True if a replica of the application, ingress or engine, has been started before."""
    name = serve.get_replica_context().app_name
    deployments = serve.status().applications[name].deployments.values()
    return any(each.replica_states.keys() - {"STARTING"} for each in deployments)


def _leave_to_ray(error: YaieError) -> None:
    """Leave a failed start to the health check."""


def app(given: dict[str, Any]) -> Any:
    """Build the application from settings by name, and from `YAIE_*` for settings not given.

    `serve run yaie.ray:app model=... replicas=4`. Raises `ConfigError`.
    """
    for name in SECRETS:
        if name in given:
            raise ConfigError(
                f"{name} would be stored in Ray's control store; set {SETTINGS[name].variable} in "
                "the environment of the Ray nodes instead",
                param=name,
            )
    settings = load_settings(**given)
    check_proxy(settings)
    values = asdict(settings)
    changed = {
        name: values[name]
        for name, each in SETTINGS.items()
        if values[name] != each.default and name not in SECRETS and name not in _IGNORED
    }
    secrets = tuple(name for name in SECRETS if values[name])
    engine = engine_application(settings, has_gpus=_has_gpus())
    ingress = serve.deployment(serve.ingress()(IngressReplica)).options(
        name="Ingress",
        max_ongoing_requests=MAX_REQUESTS,
        ray_actor_options={"num_cpus": 0},  # the cores are the engines'
        graceful_shutdown_timeout_s=settings.drain_s + SHUTDOWN_S,
        graceful_shutdown_wait_loop_s=0.5,
        logging_config=LoggingConfig(enable_access_log=False, log_level="WARNING"),
    )
    return ingress.bind(engine, changed, secrets)


def check_proxy(settings: Settings) -> None:
    """Raise `ConfigError` for settings of YAIE's own web server; Ray's proxy has its own."""
    for name, instead in _PROXY_SETTINGS.items():
        if getattr(settings, name) != SETTINGS[name].default:
            raise ConfigError(
                f"{name} does not apply behind Ray's proxy; use {instead}, or `yaie serve --ray`, "
                "whose own server has it",
                param=name,
            )


def _has_gpus() -> bool:
    """Return True if the cluster has GPUs; False without a cluster, as in `serve build`."""
    return bool(ray.is_initialized() and ray.cluster_resources().get("GPU", 0) > 0)
