"""`ServerConfig`: settings of the server, the part of `Settings` that the engine never sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from yaie.base.default_sampling import parse_default_sampling
from yaie.base.errors import ConfigError
from yaie.base.setting_field import LARGEST_COUNT, LARGEST_SIZE, About, settings_of
from yaie.base.tenants import PRIORITIES, check_names, parse_priorities
from yaie.process.log_format import LogFormat

LogLevel = Literal["debug", "info", "warning", "error"]

METRICS_OFF = -1  # the value of `metrics_port` without any metrics


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """Settings of the server: addresses, keys, limits, and the form of its answers.

    `check_server` checks them.
    """

    models: Annotated[
        str,
        About(
            "models of the server as name=model; commas separate several, semicolons a model's own "
            "settings"
        ),
    ] = ""
    lazy_load: Annotated[bool, About("load each model at its first request")] = False
    unload_idle_s: Annotated[
        float, About("seconds without a request after which a model is unloaded; 0: never", least=0)
    ] = 0.0
    warmup: Annotated[
        bool, About("compute a first answer before the server is ready, so that none waits for it")
    ] = True
    host: Annotated[str, About("address to listen on")] = "127.0.0.1"
    port: Annotated[int, About("port to listen on; 0 takes any free one", least=0, most=65535)] = (
        8000
    )
    root_path: Annotated[str, About("path in front of every path, behind a proxy")] = ""
    ssl_certfile: Annotated[
        str | None, About("file with the certificate for TLS, in PEM", unset="no TLS")
    ] = None
    ssl_keyfile: Annotated[
        str | None, About("file with the key of that certificate, in PEM", unset="no TLS")
    ] = None
    api_key: Annotated[str | None, About("key that clients must send; commas separate several")] = (
        None
    )
    admin_key: Annotated[
        str | None, About("key for the administration of the cache", unset="no administration")
    ] = None
    share_cache: Annotated[
        bool, About("share cached prefixes between the requests of different API keys")
    ] = False
    max_body_bytes: Annotated[int, About("largest request body", least=1024, most=LARGEST_SIZE)] = (
        10 * 1024**2
    )
    request_timeout_s: Annotated[
        float, About("longest time of one request in seconds", above=0)
    ] = 600.0
    keep_alive_s: Annotated[
        int, About("seconds that an idle connection stays open", least=1, most=LARGEST_COUNT)
    ] = 80
    requests_per_minute: Annotated[
        int,
        About("completion requests of one client in a minute; 0 sets no limit", 0, LARGEST_COUNT),
    ] = 0
    tokens_per_minute: Annotated[
        int,
        About("tokens of one client in a minute; 0 sets no limit", 0, LARGEST_COUNT),
    ] = 0
    tokens_per_day: Annotated[
        int,
        About("tokens of one client in 24 hours; 0 sets no limit", 0, LARGEST_COUNT),
    ] = 0
    max_concurrent: Annotated[
        int,
        About("completion requests of one client at a time; 0 sets no limit", 0, LARGEST_COUNT),
    ] = 0
    tenant_priorities: Annotated[
        str,
        About(
            "lowest priority numbers of tenants as name=number; commas separate several",
            unset="any number for each",
        ),
    ] = ""
    trusted_proxies: Annotated[
        str,
        About("addresses of proxies whose X-Forwarded-For is read; commas separate several"),
    ] = "127.0.0.1"
    response_cache_bytes: Annotated[
        int,
        About("largest size of kept answers in bytes; 0 keeps none", least=0, most=LARGEST_SIZE),
    ] = 0
    response_cache_s: Annotated[
        float, About("longest age of a kept answer in seconds", above=0)
    ] = 3600.0
    default_max_tokens: Annotated[
        int | None,
        About(
            "limit on the tokens of answers to requests without one",
            least=1,
            most=LARGEST_COUNT,
            unset="16 for texts, the rest of the context for chats",
        ),
    ] = None
    default_sampling: Annotated[
        str,
        About(
            "sampling of requests that leave it open, as name=value; commas separate several",
            unset="the model's",
        ),
    ] = ""
    model_sampling: Annotated[bool, About("use the sampling that the model recommends")] = True
    tools: Annotated[bool, About("accept tools in requests")] = True
    stream_interval: Annotated[
        int,
        About("tokens of a choice in one write of a stream, after the first", least=1, most=1024),
    ] = 1
    stream_ping_s: Annotated[
        float, About("seconds after which a silent stream sends a comment; 0 sends none", least=0)
    ] = 0.0
    response_store_bytes: Annotated[
        int,
        About(
            "largest size of stored responses in bytes; 0 stores none", least=0, most=LARGEST_SIZE
        ),
    ] = 64 * 1024**2
    text_threads: Annotated[int, About("threads for tokens and templates", least=1, most=64)] = 2
    prepare_turns: Annotated[
        bool, About("compute the known part of a chat's next turn while the engine is idle")
    ] = True
    drain_s: Annotated[float, About("seconds for running requests at shutdown", least=0)] = 30.0
    stall_s: Annotated[
        float, About("seconds without a step after which an engine with work is restarted", above=0)
    ] = 300.0
    log_level: Annotated[LogLevel, About("least severe messages to log")] = "info"
    log_format: Annotated[LogFormat, About("form of log lines")] = "text"
    cors_origins: Annotated[
        str, About("origins that browsers may call from; commas separate several")
    ] = ""
    ready_max_waiting: Annotated[
        int | None,
        About(
            "waiting requests beyond which /readiness answers 503",
            least=0,
            most=LARGEST_COUNT,
            unset="no limit",
        ),
    ] = None
    tool_functions: Annotated[
        str, About("functions of the server, listed by /v1/tools, as module:name")
    ] = ""
    tool_key: Annotated[
        str | None,
        About("key that clients send to run the server's functions", unset="none are run"),
    ] = None
    tool_timeout_s: Annotated[
        float, About("longest time of one of the server's functions in seconds", above=0)
    ] = 30.0
    metrics_port: Annotated[
        int | None,
        About(
            "port of the metrics; -1 shows none, 0 takes any free one",
            least=METRICS_OFF,
            most=65535,
            unset="the server's port",
        ),
    ] = None
    metrics_auth: Annotated[bool, About("require an API key for the metrics too")] = False
    traces: Annotated[
        str,
        About(
            "address of the OTLP/HTTP collector that traces are sent to",
            unset="that of OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
    ] = ""
    workload_trace: Annotated[
        str, About("file that gets a line a request with lengths and hashed blocks, without text")
    ] = ""
    server_name: Annotated[str, About("name of the server, in its documents")] = "YAIE"
    server_description: Annotated[
        str, About("description of the server, in its documents", unset="that of the API")
    ] = ""
    auth_ui: Annotated[bool, About("show the Authorize button on the page /docs")] = True

    def check_server(self) -> None:
        """Raise `ConfigError` for a value out of range, or for values that exclude each other."""
        for name, each in SERVER_SETTINGS.items():
            each.check(getattr(self, name))
        if self.api_key and not self.api_keys:
            raise ConfigError(
                f"api_key (--api-key, YAIE_API_KEY) is {self.api_key!r}, which holds no key, so "
                "that anyone could use the server; give a key, or several separated by commas, or "
                "leave it empty to require none",
                param="api_key",
            )
        if bool(self.ssl_certfile) != bool(self.ssl_keyfile):
            given, missing = ("ssl_certfile", "ssl_keyfile")
            if self.ssl_keyfile:
                given, missing = missing, given
            raise ConfigError(
                f"{given} is set without {missing}, so that the server would speak plain HTTP; "
                "give both files for TLS, or neither",
                param=missing,
            )
        if self.traces and not self.traces.startswith(("http://", "https://")):
            raise ConfigError(
                f"traces is {self.traces!r}, which is no address; give one such as "
                "http://localhost:4318",
                param="traces",
            )
        parse_default_sampling(self.default_sampling)
        check_names(self.least_priorities, self.api_keys, PRIORITIES)
        if self.root_path and (self.root_path[0] != "/" or self.root_path[-1] == "/"):
            raise ConfigError(
                f"root_path is {self.root_path!r}; it must begin with a slash and end without one",
                param="root_path",
            )
        if self.metrics_auth and not self.api_keys:
            raise ConfigError("metrics_auth needs a key; set api_key too", param="metrics_auth")
        if self.metrics_auth and self.metrics_port is not None:
            raise ConfigError(
                "metrics_auth is for the server's own port; a port of their own has no keys, so "
                "leave metrics_port or metrics_auth out",
                param="metrics_auth",
            )

    @property
    def least_priorities(self) -> dict[str, int]:
        """The lowest priority number of each tenant; `*` stands for the others."""
        return parse_priorities(self.tenant_priorities)

    @property
    def api_keys(self) -> tuple[str, ...]:
        """The accepted API keys; an empty tuple admits every client."""
        return tuple(key.strip() for key in (self.api_key or "").split(",") if key.strip())


SERVER_SETTINGS = settings_of(ServerConfig)
