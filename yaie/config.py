"""Settings: one name each, the same as a flag, as `YAIE_*` and as a Python keyword.

`EngineConfig` is what the engine needs; it crosses to the engine process as it is. `Settings` adds
what the server needs and reads the environment. "auto" is resolved by the loader and reported in
`EngineInfo`; nothing else is decided twice.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from yaie.errors import ConfigError

ENV_PREFIX = "YAIE_"

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Quantization = Literal["int8", "int4"]
KVDtype = Literal["auto", "float32", "bfloat16", "float16", "int8"]
Device = Literal["auto", "cpu", "cuda"]
Policy = Literal["prefix-aware", "fcfs", "lpm", "priority"]
Eviction = Literal["lru", "lfu", "cost"]
AttentionBackendName = Literal["auto", "reference", "cpu"]

BUILTIN_MODEL = "builtin"

LARGEST_COUNT = 2**31 - 1  # of tokens, rows and requests: more than any machine holds
LARGEST_SIZE = 2**63 - 1  # in bytes: what travels to the engine
LEAST_CONTEXT = 2  # tokens: one that is asked, and one that is answered
MAX_THREADS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """What one engine is made from. Lengths and sizes are in tokens."""

    model: str = BUILTIN_MODEL  # "builtin", a folder, or a Hugging Face repository id
    served_model_name: str | None = None  # None: as `model`
    dtype: Dtype = "auto"
    quantization: Quantization | None = None  # of the weights at load; None: as they are
    kv_dtype: KVDtype = "auto"  # of the KV pool: as the model, or int8 for half the memory
    device: Device = "auto"
    num_slots: int | None = None  # size of the KV pool; None: from free memory
    max_model_len: int | None = None  # None: the model's own, at most num_slots
    max_step_rows: int = 2048  # rows computed in one step
    max_running: int = 256  # live sequences
    max_waiting: int = 4096  # requests without room; beyond it one is refused with 429
    policy: Policy = "prefix-aware"
    eviction: Eviction = "lru"
    prefix_cache: bool = True  # False: nothing is shared between requests (for comparison)
    threads: int | None = None  # torch threads; None: all cores
    attention_backend: AttentionBackendName = "auto"  # the best that the device has
    exact: bool = False  # logits do not depend on batch, chunks and cache, to the last bit
    audit: bool = False  # check every invariant after every step
    weights_cache: str = "auto"  # where packed weights are kept: "auto", "off", or a folder
    weights_cache_bytes: int = 32 * 1024**3  # the most that the folder may hold

    def __post_init__(self) -> None:
        if not self.model.strip():  # as a path it would be the folder one stands in
            raise ConfigError(
                f"no model is named; give a folder, a repository id or {BUILTIN_MODEL!r}",
                param="model",
            )
        for name, choices in (
            ("dtype", get_args(Dtype)),
            ("quantization", get_args(Quantization)),
            ("kv_dtype", get_args(KVDtype)),
            ("device", get_args(Device)),
            ("policy", get_args(Policy)),
            ("eviction", get_args(Eviction)),
            ("attention_backend", get_args(AttentionBackendName)),
        ):
            value = getattr(self, name)
            if value is None and name == "quantization":
                continue
            if value not in choices:
                raise ConfigError(
                    f"{name} is {value!r}; it must be one of {', '.join(choices)}", param=name
                )
        for name, largest in _COUNTS.items():
            value = getattr(self, name)
            least = LEAST_CONTEXT if name in ("num_slots", "max_model_len") else 1
            if value is not None and value < least:
                raise ConfigError(f"{name} is {value}; it must be at least {least}", param=name)
            if value is not None and value > largest:
                raise ConfigError(f"{name} is {value}; it must be at most {largest}", param=name)

    @property
    def model_name(self) -> str:
        """The name under which the model is served."""
        return self.served_model_name or self.model


_COUNTS = {
    "num_slots": LARGEST_COUNT,
    "max_model_len": LARGEST_COUNT,
    "max_step_rows": LARGEST_COUNT,
    "max_running": LARGEST_COUNT,
    "max_waiting": LARGEST_COUNT,
    "threads": MAX_THREADS,
    "weights_cache_bytes": LARGEST_SIZE,
}


_SERVICE_LINK = re.compile(
    rf"{ENV_PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://.*")


def is_service_link(variable: str, value: str) -> bool:
    """Whether Kubernetes set this variable: for a service `yaie` or `yaie-…`, in every pod.

    `YAIE_PORT` is then an address, as `tcp://10.96.1.2:8000`, and not the setting.
    """
    if _SERVICE_LINK.fullmatch(variable):
        return True
    return variable.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(value) is not None


class _Environment(EnvSettingsSource):
    """The `YAIE_*` variables, except an address that Kubernetes put into `YAIE_PORT`."""

    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        if is_service_link(f"{ENV_PREFIX}PORT", str(found.get("port", ""))):
            del found["port"]
        return found


class Settings(BaseSettings):
    """Everything the service can be told, from `YAIE_*` variables or keyword arguments."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_ignore_empty=True,  # compose files make empty variables of those that are not set
        extra="forbid",
        frozen=True,
    )

    model: str = BUILTIN_MODEL
    served_model_name: str | None = None
    dtype: Dtype = "auto"
    quantization: Quantization | None = None
    kv_dtype: KVDtype = "auto"
    device: Device = "auto"
    num_slots: int | None = Field(default=None, ge=LEAST_CONTEXT, le=LARGEST_COUNT)
    max_model_len: int | None = Field(default=None, ge=LEAST_CONTEXT, le=LARGEST_COUNT)
    max_step_rows: int = Field(default=2048, ge=1, le=LARGEST_COUNT)
    max_running: int = Field(default=256, ge=1, le=LARGEST_COUNT)
    max_waiting: int = Field(default=4096, ge=1, le=LARGEST_COUNT)
    policy: Policy = "prefix-aware"
    eviction: Eviction = "lru"
    prefix_cache: bool = True
    threads: int | None = Field(default=None, ge=1, le=MAX_THREADS)
    attention_backend: AttentionBackendName = "auto"
    exact: bool = False
    audit: bool = False
    weights_cache: str = "auto"
    weights_cache_bytes: int = Field(default=32 * 1024**3, ge=1, le=LARGEST_SIZE)

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    api_key: str | None = None  # several: separated by commas
    max_body_bytes: int = Field(default=10 * 1024 * 1024, ge=1024, le=LARGEST_SIZE)
    request_timeout_s: float = Field(default=600.0, gt=0)
    drain_s: float = Field(default=30.0, ge=0)
    stall_s: float = Field(default=300.0, gt=0)  # work waiting but no step finished: restart
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    cors_origins: str = ""  # separated by commas; empty: none

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Where the settings come from; the first source that has one wins."""
        return init_settings, _Environment(settings_cls), dotenv_settings, file_secret_settings

    @field_validator(
        "dtype",
        "quantization",
        "kv_dtype",
        "device",
        "policy",
        "eviction",
        "attention_backend",
        "log_level",
        mode="wrap",
    )
    @classmethod
    def _in_any_case(cls, choice: object, validate: ValidatorFunctionWrapHandler) -> object:
        if isinstance(choice, str):
            with contextlib.suppress(ValidationError):
                return validate(choice.lower())
        return validate(choice)  # whose error shows what was written

    @field_validator("api_key")
    @classmethod
    def _holds_a_key(cls, api_key: str | None) -> str | None:
        if api_key and not _split_keys(api_key):
            # No ValueError: of that pydantic would make an error that is not ours.
            raise ConfigError(
                f"api_key (--api-key, YAIE_API_KEY) is {api_key!r}, which holds no key; anyone "
                "could use the server; give a key, or several separated by commas, or nothing at "
                "all to ask for none",
                param="api_key",
            )
        return api_key

    def engine_config(self) -> EngineConfig:
        """The engine's part of the settings."""
        names = EngineConfig.__dataclass_fields__
        return EngineConfig(**{name: getattr(self, name) for name in names})

    @property
    def api_keys(self) -> tuple[str, ...]:
        """The accepted API keys; none means that no key is asked for."""
        return _split_keys(self.api_key or "")


def _split_keys(api_key: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in api_key.split(",") if key.strip())


def load_settings(**overrides: object) -> Settings:
    """Read the environment; keyword arguments win over it.

    Raises `ConfigError` that names the setting, its value and what it may be.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        raise ConfigError(_explain(error, given)) from None


def _explain(error: ValidationError, given: dict[str, object]) -> str:
    lines = []
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else "settings"
        flag = f"--{name.replace('_', '-')}"
        source = flag if name in given else f"{ENV_PREFIX}{name.upper()}"
        lines.append(f"{source} is {problem.get('input')!r}: {problem['msg']}")
    return "; ".join(lines)


def unknown_variables(environment: dict[str, str] | None = None) -> list[str]:
    """One warning for each `YAIE_*` variable that is no setting, with the nearest name.

    None for what Kubernetes says of its services: nobody meant it as a setting.
    """
    environment = dict(os.environ) if environment is None else environment
    known = {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields}
    known |= CLIENT_VARIABLES | LIBRARY_VARIABLES
    warnings = []
    for name, value in sorted(environment.items()):
        if not name.startswith(ENV_PREFIX) or name in known or is_service_link(name, value):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        warnings.append(f"{name} is not a setting and was ignored{hint}")
    return warnings


# Read by the command line only: where a running server is, and whether to show tracebacks.
CLIENT_VARIABLES = frozenset({"YAIE_BASE_URL", "YAIE_DEBUG"})
# Read by the kernel library (`yaie.kernels.loader`): off, or the instruction set to use.
LIBRARY_VARIABLES = frozenset({"YAIE_KERNELS"})
