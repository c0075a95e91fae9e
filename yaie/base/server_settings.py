"""`ServerConfig`: server settings, which the engine never sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from yaie.base.api_keys import split_keys, tenants_by_key
from yaie.base.default_sampling import parse_default_sampling
from yaie.base.errors import ConfigError
from yaie.base.kv_events_config import KVEventsConfig, config_of_flags, config_of_json
from yaie.base.setting_field import LARGEST_COUNT, LARGEST_SIZE, About, settings_of
from yaie.base.tenants import PRIORITIES, check_names, parse_priorities
from yaie.process.log_format import LogFormat

LogLevel = Literal["debug", "info", "warning", "error"]
MetricsNames = Literal["vllm", "sglang"]  # engines whose metric names can be added

LARGEST_REPLICAS = 1024
METRICS_OFF = -1  # the value of `metrics_port` without any metrics


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """Server settings: addresses, keys, limits, and reply formats.

    `check_server` checks them.
    """

    models: Annotated[
        str,
        About(
            "models to serve as name=model; commas separate models, semicolons a model's settings"
        ),
    ] = ""
    lazy_load: Annotated[bool, About("load a model at its first request")] = False
    unload_idle_s: Annotated[
        float, About("unload a model after this many idle seconds; 0 disables it", least=0)
    ] = 0.0
    warmup: Annotated[bool, About("run a warm-up request before the server is ready")] = True
    host: Annotated[str, About("address to listen on")] = "127.0.0.1"
    port: Annotated[int, About("port to listen on; 0 picks a free port", least=0, most=65535)] = (
        8000
    )
    root_path: Annotated[str, About("URL path prefix behind a proxy")] = ""
    ssl_certfile: Annotated[str | None, About("TLS certificate file (PEM)", unset="no TLS")] = None
    ssl_keyfile: Annotated[str | None, About("TLS private key file (PEM)", unset="no TLS")] = None
    api_key: Annotated[
        str | None, About("API key that clients must send; commas separate several")
    ] = None
    api_key_file: Annotated[
        str | None, About("file of API keys, one a line, each after an optional name")
    ] = None
    admin_key: Annotated[
        str | None, About("key for the administration endpoints", unset="endpoints disabled")
    ] = None
    share_cache: Annotated[bool, About("share cached prefixes between API keys")] = False
    max_body_bytes: Annotated[
        int, About("maximum request body size in bytes", least=1024, most=LARGEST_SIZE)
    ] = 10 * 1024**2
    request_timeout_s: Annotated[float, About("request timeout in seconds", above=0)] = 600.0
    keep_alive_s: Annotated[
        int, About("close idle connections after this many seconds", least=1, most=LARGEST_COUNT)
    ] = 80
    requests_per_minute: Annotated[
        int,
        About(
            "maximum completion requests per client and minute; 0 disables the limit",
            0,
            LARGEST_COUNT,
        ),
    ] = 0
    tokens_per_minute: Annotated[
        int,
        About("maximum tokens per client and minute; 0 disables the limit", 0, LARGEST_COUNT),
    ] = 0
    tokens_per_day: Annotated[
        int,
        About("maximum tokens per client and 24 hours; 0 disables the limit", 0, LARGEST_COUNT),
    ] = 0
    max_concurrent: Annotated[
        int,
        About(
            "maximum concurrent completion requests per client; 0 disables the limit",
            0,
            LARGEST_COUNT,
        ),
    ] = 0
    tenant_priorities: Annotated[
        str,
        About(
            "lowest priority number a tenant may use, as name=number; commas separate several",
            unset="any number",
        ),
    ] = ""
    trusted_proxies: Annotated[
        str,
        About("proxy addresses trusted for X-Forwarded-For; commas separate several"),
    ] = "127.0.0.1"
    response_cache_bytes: Annotated[
        int,
        About("response cache size in bytes; 0 disables it", least=0, most=LARGEST_SIZE),
    ] = 0
    response_cache_s: Annotated[
        float, About("maximum age of a cached response in seconds", above=0)
    ] = 3600.0
    default_max_tokens: Annotated[
        int | None,
        About(
            "max_tokens for requests that set none",
            least=1,
            most=LARGEST_COUNT,
            unset="16 for completions, the rest of the context for chats",
        ),
    ] = None
    default_sampling: Annotated[
        str,
        About(
            "default sampling parameters as name=value; commas separate several",
            unset="the model's",
        ),
    ] = ""
    model_sampling: Annotated[
        bool, About("use the sampling parameters of the model's generation_config.json")
    ] = True
    tools: Annotated[bool, About("accept tools in requests")] = True
    stream_interval: Annotated[
        int,
        About("tokens per streamed chunk, after the first token", least=1, most=1024),
    ] = 1
    stream_ping_s: Annotated[
        float,
        About("send a comment on a stream after this many silent seconds; 0 disables it", least=0),
    ] = 0.0
    response_store_bytes: Annotated[
        int,
        About("response store size in bytes; 0 disables it", least=0, most=LARGEST_SIZE),
    ] = 64 * 1024**2
    batch_dir: Annotated[
        str | None,
        About(
            "folder of uploaded files and batch results", unset="/v1/files, /v1/batches disabled"
        ),
    ] = None
    batch_bytes: Annotated[
        int, About("maximum bytes of stored files per client", least=1, most=LARGEST_SIZE)
    ] = 4 * 1024**3
    batch_concurrency: Annotated[
        int, About("maximum concurrent requests of batches", least=1, most=LARGEST_COUNT)
    ] = 64
    text_threads: Annotated[
        int,
        About(
            "threads for tokenization and chat templates, for short and long texts each",
            least=1,
            most=64,
        ),
    ] = 2
    prepare_turns: Annotated[
        bool, About("prefill the known part of a chat's next turn while the engine is idle")
    ] = True
    drain_s: Annotated[
        float, About("seconds that running requests get to finish at shutdown", least=0)
    ] = 30.0
    stall_s: Annotated[
        float, About("restart an engine without a sign of life for this many seconds", above=0)
    ] = 300.0
    log_level: Annotated[LogLevel, About("minimum log level")] = "info"
    log_format: Annotated[LogFormat, About("log format")] = "text"
    cors_origins: Annotated[
        str,
        About("origins allowed by CORS, localhost for any port of it; commas separate several"),
    ] = ""
    ready_max_waiting: Annotated[
        int | None,
        About(
            "queued requests above which /readiness returns 503",
            least=0,
            most=LARGEST_COUNT,
            unset="no limit",
        ),
    ] = None
    tool_functions: Annotated[
        str, About("server-side functions as module:name, listed by /v1/tools")
    ] = ""
    tool_key: Annotated[
        str | None,
        About("key that clients send to run server-side functions", unset="functions disabled"),
    ] = None
    tool_timeout_s: Annotated[
        float, About("timeout of a server-side function in seconds", above=0)
    ] = 30.0
    metrics_port: Annotated[
        int | None,
        About(
            "metrics port; -1 disables metrics, 0 picks a free port",
            least=METRICS_OFF,
            most=65535,
            unset="the server's port",
        ),
    ] = None
    metrics_auth: Annotated[bool, About("require an API key for /metrics")] = False
    metrics_compat: Annotated[
        str,
        About(
            "add metrics under the names of these engines: vllm, sglang; commas separate several"
        ),
    ] = ""
    traces: Annotated[
        str,
        About(
            "OTLP/HTTP endpoint that receives traces",
            unset="OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
    ] = ""
    workload_trace: Annotated[
        str, About("write one line per request (lengths and block hashes, no text) to this file")
    ] = ""
    replicas: Annotated[
        int, About("engine replicas on Ray; with --ray", least=1, most=LARGEST_REPLICAS)
    ] = 1
    max_replicas: Annotated[
        int | None,
        About(
            "most engine replicas on Ray, started by queued tokens; with --ray",
            least=1,
            most=LARGEST_REPLICAS,
            unset="replicas",
        ),
    ] = None
    ray_address: Annotated[
        str, About("Ray cluster to use, such as auto; with --ray", unset="a new one, local")
    ] = ""
    kv_events: Annotated[
        str,
        About("ZeroMQ endpoint that publishes KV cache events for routers, such as tcp://*:5557"),
    ] = ""
    kv_events_replay: Annotated[
        str, About("ZeroMQ endpoint that sends missed KV events again, such as tcp://*:6557")
    ] = ""
    kv_events_topic: Annotated[str, About("topic of KV events", unset="an empty topic")] = ""
    kv_events_salted: Annotated[
        bool, About("publish KV events of requests with a cache_salt too")
    ] = False
    kv_events_config: Annotated[
        str, About("the KV events settings as vLLM's JSON, instead of the flags")
    ] = ""
    server_name: Annotated[str, About("server name in the API documents")] = "YAIE"
    server_description: Annotated[
        str, About("server description in the API documents", unset="the API's")
    ] = ""
    ui: Annotated[
        bool | None, About("serve the page /ui", unset="to browsers on this machine only")
    ] = None
    ui_show_text: Annotated[
        bool, About("show cached text on /ui to browsers on other machines too")
    ] = False
    auth_ui: Annotated[bool, About("show the Authorize button in /docs")] = True

    def check_server(self) -> None:
        """Raise `ConfigError` for a value out of range, or for values that exclude each other."""
        for name, each in SERVER_SETTINGS.items():
            each.check(getattr(self, name))
        if self.api_key and not split_keys(self.api_key):
            raise ConfigError(
                f"api_key (--api-key, YAIE_API_KEY) is {self.api_key!r}, which contains no key; "
                "give one or more keys separated by commas, or unset it to require no key",
                param="api_key",
            )
        if self.max_replicas is not None and self.max_replicas < self.replicas:
            raise ConfigError(
                f"max_replicas is {self.max_replicas}, below replicas ({self.replicas}); raise it, "
                "or lower replicas",
                param="max_replicas",
            )
        if bool(self.ssl_certfile) != bool(self.ssl_keyfile):
            given, missing = ("ssl_certfile", "ssl_keyfile")
            if self.ssl_keyfile:
                given, missing = missing, given
            raise ConfigError(
                f"{given} is set without {missing}; set both for TLS, or neither",
                param=missing,
            )
        if self.traces and not self.traces.startswith(("http://", "https://")):
            raise ConfigError(
                f"traces is {self.traces!r}, which is not an HTTP URL; give one such as "
                "http://localhost:4318",
                param="traces",
            )
        parse_default_sampling(self.default_sampling)
        _ = self.kv_events_stream
        _ = self.compatible_metrics
        check_names(self.least_priorities, self.tenants_by_key().values(), PRIORITIES)
        if self.root_path and (self.root_path[0] != "/" or self.root_path[-1] == "/"):
            raise ConfigError(
                f"root_path is {self.root_path!r}; it must begin with a slash and end without one",
                param="root_path",
            )
        if self.metrics_auth and not self.has_keys:
            raise ConfigError("metrics_auth needs api_key; set both", param="metrics_auth")
        if self.metrics_auth and self.metrics_port is not None:
            raise ConfigError(
                "metrics_auth does not apply to a separate metrics_port; omit one of them",
                param="metrics_auth",
            )

    @property
    def least_priorities(self) -> dict[str, int]:
        """The lowest priority number per tenant; `*` covers all other tenants."""
        return parse_priorities(self.tenant_priorities)

    @property
    def compatible_metrics(self) -> tuple[MetricsNames, ...]:
        """The engines of `metrics_compat`. Raises `ConfigError` for an unknown engine."""
        known: tuple[MetricsNames, ...] = get_args(MetricsNames)
        wanted = {each.strip().lower() for each in self.metrics_compat.split(",")} - {""}
        if unknown := sorted(wanted.difference(known)):
            raise ConfigError(
                f"metrics_compat is {self.metrics_compat!r}, and {unknown[0]!r} is not an engine "
                f"with known metrics; name one or more of {', '.join(known)}",
                param="metrics_compat",
            )
        return tuple(each for each in known if each in wanted)

    @property
    def kv_events_stream(self) -> KVEventsConfig | None:
        """The KV events to publish; None without any. Raises `ConfigError`."""
        flags = (self.kv_events, self.kv_events_replay, self.kv_events_topic)
        if not self.kv_events_config:
            return config_of_flags(*flags)
        if any(flags):
            raise ConfigError(
                "kv_events_config is set together with kv_events, kv_events_replay or "
                "kv_events_topic; put the endpoints and the topic into the JSON, or omit it",
                param="kv_events_config",
            )
        return config_of_json(self.kv_events_config)

    @property
    def has_keys(self) -> bool:
        """True if clients must send an API key."""
        return bool(self.api_key or self.api_key_file)

    def tenants_by_key(self) -> dict[str, str]:
        """Return the tenant of each API key, from the setting and the file as it is now.

        Raises `ConfigError`.
        """
        return tenants_by_key(self.api_key, self.api_key_file)


SERVER_SETTINGS = settings_of(ServerConfig)
