"""The models of one server, as the setting `models` lists them.

`code=/models/coder, small=builtin;num_slots=4096`: commas separate models, semicolons separate a
model's own settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from yaie.base.errors import ConfigError, nearest_name_hint
from yaie.base.settings import BUILTIN_MODEL, ENGINE_SETTINGS, EngineConfig, Settings

SEPARATOR = ","
_OF_SETTINGS = ";"


@dataclass(frozen=True, slots=True)
class ServedModelEntry:
    """One entry: the served name, the model, and its engine settings as text."""

    name: str
    model: str
    settings: dict[str, str] = field(default_factory=dict)


def parse_models(text: str) -> tuple[ServedModelEntry, ...]:
    """Parse the setting `models`. Raises `ConfigError` with the wrong entry."""
    found: dict[str, ServedModelEntry] = {}
    for entry in filter(str.strip, text.split(SEPARATOR)):
        first, *settings = (part.strip() for part in entry.split(_OF_SETTINGS))
        name, separator, model = (part.strip() for part in first.partition("="))
        if not separator or not name or not model:
            raise _wrong(entry, "must be name=model, such as small=builtin")
        if name in found:
            raise _wrong(entry, f"repeats the name {name!r}; give each model its name")
        own = {}
        for each in filter(None, settings):
            key, separator, value = (part.strip() for part in each.partition("="))
            if not separator or not key:
                raise _wrong(entry, f"has {each!r}, which must be setting=value")
            own[key.replace("-", "_")] = value
        found[name] = ServedModelEntry(name, model, own)
    return tuple(found.values())


def engine_configs(settings: Settings) -> tuple[EngineConfig, ...]:
    """Return the engine settings for each model; the first model is the default.

    `model` comes first, unless it has its default value and `models` is set. Shared settings apply
    to every model, except `lora`, which is for the first one. Raises `ConfigError` for a wrong
    entry, or for a name that two models share.
    """
    listed = parse_models(settings.models)
    shared = settings.engine_settings()
    is_default = settings.model == BUILTIN_MODEL and settings.served_model_name is None
    configs = [] if listed and is_default else [EngineConfig(**shared)]
    for each in listed:
        own: dict[str, object] = {
            "served_model_name": each.name,
            "model": each.model,
            "revision": None,
        }
        if configs:
            own["lora"] = ""  # an adapter is made for one model
        configs.append(EngineConfig(**shared | own | _own_settings(each)))
    names = [name for config in configs for name in config.model_names]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two models have the name {name!r}; rename one", param="models")
    if len(configs) > 1 and settings.kv_events_stream is not None:
        raise ConfigError(
            f"kv_events publishes the cache of one model, but {len(configs)} are served; start a "
            "server for each model, or unset kv_events",
            param="kv_events",
        )
    return tuple(configs)


def _own_settings(listed: ServedModelEntry) -> dict[str, object]:
    """Parse the settings of one listed model. Raises `ConfigError`."""
    values = {}
    for name, text in listed.settings.items():
        each = ENGINE_SETTINGS.get(name)
        if each is None or name in ("model", "served_model_name"):
            raise ConfigError(
                f"models: {name} of {listed.name!r} is not an engine setting"
                f"{nearest_name_hint(name, ENGINE_SETTINGS)}",
                param="models",
            )
        values[name] = each.parse(text)
        each.check(values[name], f"models: {name} of {listed.name!r}")
    return values


def _wrong(entry: str, problem: str) -> ConfigError:
    return ConfigError(f"models: {entry.strip()[:200]!r} {problem}", param="models")
