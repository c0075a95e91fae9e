"""KV events configuration: where a server publishes its cache's changes, and vLLM's JSON form."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

from yaie.base.errors import ConfigError, as_shown, nearest_name_hint

FORMAT = "vllm-map-1"  # events as maps, in the frames of vLLM 0.32
_ENDPOINT = re.compile(r"tcp://[^/\s]+:(\*|\d{1,5})|ipc://\S+")
_EXAMPLE = "tcp://*:5557"


@dataclass(frozen=True, slots=True, kw_only=True)
class KVEventsConfig:
    """Sockets and limits of the publisher, under vLLM's names."""

    endpoint: str = _EXAMPLE
    replay_endpoint: str | None = None
    topic: str = ""
    buffer_steps: int = 10_000  # batches kept for replays
    hwm: int = 10_000  # batches that wait for one slow subscriber
    max_queue_size: int = 100_000  # batches that wait for the publishing thread

    def checked(self, param: str) -> KVEventsConfig:
        """Return these settings. Raises `ConfigError` about the setting `param`."""
        _check_endpoint(self.endpoint, param)
        if self.replay_endpoint is not None:
            _check_endpoint(
                self.replay_endpoint, "kv_events_replay" if param == "kv_events" else param
            )
        return self


def is_bound(endpoint: str) -> bool:
    """Return True for an endpoint that listens: `*`, an IP address or a file.

    A host name connects, as in vLLM.
    """
    if endpoint.startswith("ipc://"):
        return True
    host = endpoint.removeprefix("tcp://").rpartition(":")[0]
    if host == "*":
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def config_of_flags(endpoint: str, replay: str, topic: str) -> KVEventsConfig | None:
    """Return the configuration in plain settings; None without `endpoint`.

    Raises `ConfigError`.
    """
    if not endpoint:
        for name, value in (("kv_events_replay", replay), ("kv_events_topic", topic)):
            if value:
                raise ConfigError(
                    f"{name} needs kv_events; set it to an endpoint such as {_EXAMPLE}", param=name
                )
        return None
    config = KVEventsConfig(endpoint=endpoint, replay_endpoint=replay or None, topic=topic)
    return config.checked("kv_events")


def config_of_json(text: str) -> KVEventsConfig | None:
    """Return the configuration in vLLM's JSON; None if it enables no events.

    Raises `ConfigError`.
    """
    param = "kv_events_config"
    try:
        given: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{param} is not valid JSON: {error}; write it as "
            '\'{"enable_kv_cache_events": true, "endpoint": "tcp://*:5557"}\'',
            param=param,
        ) from None
    if not isinstance(given, dict):
        raise ConfigError(f"{param} is {as_shown(given)}; it must be a JSON object", param=param)
    is_on = _take(given, "enable_kv_cache_events", False, bool)
    publisher = _take(given, "publisher", None, str)
    if publisher not in (None, "zmq", "null"):
        raise ConfigError(
            f"publisher in {param} is {as_shown(publisher)}; it must be zmq or null", param=param
        )
    types = get_type_hints(KVEventsConfig)
    config = KVEventsConfig()
    for each in fields(KVEventsConfig):
        if given.get(each.name) is not None:
            kind = int if types[each.name] is int else str
            config = replace(config, **{each.name: _take(given, each.name, None, kind)})
        given.pop(each.name, None)
    for name in given:
        known = ["enable_kv_cache_events", "publisher", *types]
        raise ConfigError(
            f"{name[:100]} in {param} is unknown{nearest_name_hint(name, known)}", param=param
        )
    return config.checked(param) if is_on and publisher != "null" else None


def _take(given: dict[str, Any], name: str, default: Any, kind: type) -> Any:
    value = given.pop(name, default)
    if value is default:
        return value
    is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if is_right and not (kind is int and value < 1):
        return value
    wanted = {bool: "true or false", int: "a whole number above 0", str: "text"}[kind]
    raise ConfigError(
        f"{name} in kv_events_config is {as_shown(value)}; it must be {wanted}",
        param="kv_events_config",
    )


def _check_endpoint(endpoint: str, param: str) -> None:
    if not _ENDPOINT.fullmatch(endpoint):
        raise ConfigError(
            f"{param} is {as_shown(endpoint)}, which is not a ZeroMQ endpoint; give {_EXAMPLE} to "
            "listen, or tcp://HOST:PORT with a host name to connect",
            param=param,
        )
