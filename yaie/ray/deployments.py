"""Deployments of Ray Serve: the engine's replicas, and a handle of them for `RayClient`."""

from __future__ import annotations

from typing import Any

from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig
from ray.serve.schema import LoggingConfig

from yaie.base.errors import ConfigError
from yaie.base.served_models import engine_configs
from yaie.base.settings import SETTINGS, Settings
from yaie.base.types import ExpectedPrompt
from yaie.kvcache.block_names import BLOCK_SIZE
from yaie.ray.engine_replica import EngineReplica, ReplicaOptions
from yaie.ray.relay import ReplicaStream
from yaie.ray.route import Route

ROUTER = "yaie.ray.radix_router:RadixRouter"
REPORT_S = 0.5  # between reports of a replica to the routers; Ray's default of 10 s is too old
HEALTH_S = 2.0  # between health checks of a replica
SHUTDOWN_S = 10.0  # after the drain
_REFUSED_AT_ONCE = 4096  # requests on their way to or from a full engine
# A load of weights takes longer than a short burst; a replica that leaves takes its cache along.
LOOK_BACK_S, UPSCALE_S, DOWNSCALE_S = 15.0, 10.0, 300.0

# Settings that several engines of one model cannot follow; value: the reason, and the fix.
_SINGLE = {
    **dict.fromkeys(
        ("models", "lazy_load", "unload_idle_s"),
        "replicas serve one model; run one service for each model",
    ),
    **dict.fromkeys(
        ("kv_events", "kv_events_replay", "kv_events_config"),
        "the router learns the replicas' blocks without events",
    ),
}


class Replicas:
    """Handle of a deployment of `EngineReplica`s. Implements `Handle`."""

    def __init__(self, handle: Any) -> None:
        self._one = handle
        self._stream = handle.options(stream=True)

    def generate(self, packed: bytes, route: Route) -> ReplicaStream:
        """See `Handle`."""
        stream: ReplicaStream = self._stream.generate.remote(packed, route=route)
        return stream

    def expect(self, prompt: ExpectedPrompt, route: Route) -> None:
        """See `Handle`."""
        self._one.expect.remote(prompt, route=route)

    async def ask_all(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        """See `Handle`."""
        response = self._one.broadcast(method, *arguments)
        results: list[Any] = await response.results_async(
            timeout_s=timeout_s, return_exceptions=True
        )
        return results


def check_applicable(settings: Settings) -> None:
    """Raise `ConfigError` for settings of several models, or of one engine alone."""
    for name, reason in _SINGLE.items():
        if getattr(settings, name) != SETTINGS[name].default:
            raise ConfigError(
                f"{name} does not apply to replicas on Ray: {reason}; omit {SETTINGS[name].flag}",
                param=name,
            )


def engine_application(settings: Settings, *, has_gpus: bool) -> Any:
    """Return the deployment of the engine, bound to its settings. Raises `ConfigError`."""
    check_applicable(settings)
    if settings.kv_block_size != BLOCK_SIZE:
        raise ConfigError(
            f"kv_block_size is {settings.kv_block_size}, and the router of replicas needs "
            f"{BLOCK_SIZE}; omit --kv-block-size",
            param="kv_block_size",
        )
    config = engine_configs(settings)[0]
    uses_gpu = config.device == "cuda" or (config.device == "auto" and has_gpus)
    if not uses_gpu:
        _check_memory(settings)
    options = ReplicaOptions(settings.stall_s, settings.warmup, settings.log_format)
    # Another name than the class has in its module: Ray then pickles the class by reference.
    engine = serve.deployment(EngineReplica).options(
        name="Engine",
        **_scale(settings),
        # The queue is the engine's, which orders it by prefix and refuses what it cannot hold.
        # Ray would let a request wait, without a limit.
        max_ongoing_requests=config.max_running + config.max_waiting + _REFUSED_AT_ONCE,
        ray_actor_options={"num_cpus": config.threads or 1, "num_gpus": int(uses_gpu)},
        health_check_period_s=HEALTH_S,
        graceful_shutdown_timeout_s=settings.drain_s + SHUTDOWN_S,
        graceful_shutdown_wait_loop_s=0.5,
        max_constructor_retry_count=2,
        logging_config=LoggingConfig(enable_access_log=False, log_level="WARNING"),
        request_router_config=RequestRouterConfig(
            request_router_class=ROUTER,
            request_routing_stats_period_s=REPORT_S,
            request_routing_stats_timeout_s=4 * REPORT_S,
        ),
    )
    return engine.bind(config, options)


def _scale(settings: Settings) -> dict[str, Any]:
    """Return the options for a fixed or a growing number of replicas."""
    most = settings.max_replicas or settings.replicas
    if most == settings.replicas:
        return {"num_replicas": most}
    return {
        "autoscaling_config": AutoscalingConfig(
            min_replicas=settings.replicas,
            max_replicas=most,
            upscale_delay_s=UPSCALE_S,
            downscale_delay_s=DOWNSCALE_S,
            look_back_period_s=LOOK_BACK_S,
            policy=AutoscalingPolicy(policy_function="yaie.ray.autoscaling:QueuedTokens"),
        )
    }


def _check_memory(settings: Settings) -> None:
    """Raise `ConfigError` where several engines would each take all memory of a node."""
    most = settings.max_replicas or settings.replicas
    if most > 1 and settings.num_slots is None and settings.memory_bytes is None:
        raise ConfigError(
            f"{most} replicas may share a node, and each would take its free memory; set "
            "memory_bytes (--memory-bytes, YAIE_MEMORY_BYTES) or num_slots for one replica",
            param="memory_bytes",
        )
