"""Settings: one name as a flag, as `YAIE_*` and as a Python keyword.

`EngineConfig` has the engine settings and travels unchanged to the engine process. `Settings` adds
the server settings (`yaie.base.server_settings`); `load_settings` reads the environment. The loader
resolves "auto", and `EngineInfo` reports the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from yaie.base import settings_file
from yaie.base.draft_settings import count_draft_tokens, read_speculative_config
from yaie.base.embedding_info import Pooling
from yaie.base.errors import ConfigError, nearest_name_hint
from yaie.base.renamed_settings import advice_on
from yaie.base.server_settings import ServerConfig
from yaie.base.setting_field import (
    LARGEST_COUNT,
    LARGEST_SIZE,
    About,
    settings_of,
    variable_value,
)
from yaie.base.tenants import BATCHES, LEAST_WEIGHT, check_names, parse_weights

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Quantization = Literal["int8", "int4"]
KVDtype = Literal["auto", "float32", "bfloat16", "float16", "float8_e4m3fn", "int8"]
Device = Literal["auto", "cpu", "cuda"]
Policy = Literal["prefix-aware", "fair", "fcfs", "lpm", "priority"]
Eviction = Literal["adaptive", "lru"]
CacheEventKind = Literal["off", "names", "unsalted", "all"]
AttentionBackendName = Literal["auto", "reference", "cpu", "flashinfer", "triton"]
ToolCallParser = Literal[
    "auto", "none", "apriel", "command", "deepseek", "deepseek_v3", "glm", "granite", "harmony",
    "hermes", "json", "kimi", "llama", "minimax", "mistral", "mistral_list", "nemotron", "phi",
    "qwen3_coder", "seed",
]  # fmt: skip

BUILTIN_MODEL = "builtin"
UNCALIBRATED = "none"  # the value of `calibrate` that rounds to nearest

LEAST_CONTEXT = 2  # tokens: one prompt token and one output token
MAX_THREADS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings for one engine. Lengths and sizes are in tokens.

    Raises:
        ConfigError: a value has the wrong type or is out of range.
    """

    model: Annotated[
        str,
        About(
            "'builtin', a folder, a GGUF file, org/name or org/name:Q4_K_M of the hub",
            short="-m",
        ),
    ] = BUILTIN_MODEL
    revision: Annotated[
        str | None,
        About("Hugging Face branch, tag or commit; name@revision does the same", unset="main"),
    ] = None
    served_model_name: Annotated[
        str | None,
        About("model name in the API; commas separate several", unset="same as the model"),
    ] = None
    dtype: Annotated[Dtype, About("data type of weights and activations")] = "auto"
    quantization: Annotated[
        Quantization | None, About("quantize the linear layers at load", unset="as stored")
    ] = None
    calibrate: Annotated[
        str | None,
        About(
            "UTF-8 text used to calibrate int4 (GPTQ); none rounds to nearest",
            unset="built-in text",
        ),
    ] = None
    kv_dtype: Annotated[KVDtype, About("data type of the KV cache", unset="same as the model")] = (
        "auto"
    )
    device: Annotated[Device, About("device to run the model on")] = "auto"
    num_slots: Annotated[
        int | None,
        About(
            "KV cache size in tokens",
            least=LEAST_CONTEXT,
            most=LARGEST_COUNT,
            unset="from free memory",
        ),
    ] = None
    state_bytes: Annotated[
        int | None,
        About(
            "memory in bytes for the states of recurrent layers",
            least=1,
            most=LARGEST_SIZE,
            unset="an eighth of the free memory, at most 4 GiB",
        ),
    ] = None
    memory_bytes: Annotated[
        int | None,
        About(
            "memory limit in bytes for weights, activations and KV cache, shared by all models",
            least=1,
            most=LARGEST_SIZE,
            unset="free memory",
        ),
    ] = None
    max_model_len: Annotated[
        int | None,
        About(
            "context length in tokens (prompt plus output)",
            least=LEAST_CONTEXT,
            most=LARGEST_COUNT,
            unset="the model's",
        ),
    ] = None
    max_step_rows: Annotated[
        int,
        About(
            "maximum tokens computed per step, prefill chunks included", least=1, most=LARGEST_COUNT
        ),
    ] = 2048
    max_running: Annotated[int, About("maximum running sequences", least=1, most=LARGEST_COUNT)] = (
        256
    )
    max_waiting: Annotated[
        int,
        About(
            "maximum queued requests beyond those that fit the next step; more get HTTP 429",
            least=1,
            most=LARGEST_COUNT,
        ),
    ] = 4096
    max_waiting_tokens: Annotated[
        int,
        About(
            "maximum queued prompt tokens beyond one step; more get HTTP 429; 0 disables the limit",
            least=0,
            most=LARGEST_COUNT,
        ),
    ] = 0
    queue_timeout_s: Annotated[float, About("queue timeout in seconds; 0 disables it", least=0)] = (
        0.0
    )
    policy: Annotated[Policy, About("scheduling policy")] = "prefix-aware"
    priority_aging: Annotated[
        int,
        About(
            "full steps a request waits before its priority number drops by one; 0 disables aging",
            least=0,
            most=LARGEST_COUNT,
        ),
    ] = 0
    tenant_weights: Annotated[
        str,
        About(
            "fair-share weights of tenants as name=weight; commas separate several", unset="1 each"
        ),
    ] = ""
    eviction: Annotated[Eviction, About("prefix cache eviction policy")] = "adaptive"
    seed: Annotated[
        int | None,
        About(
            "default sampling seed for requests that set none",
            least=0,
            most=LARGEST_SIZE,
            unset="random at each start",
        ),
    ] = None
    tool_call_parser: Annotated[
        ToolCallParser,
        About("tool-call format of the model", unset="from the chat template"),
    ] = "auto"
    chat_template: Annotated[
        str | None,
        About("chat template file, or plain for models without one", unset="the model's"),
    ] = None
    pooling: Annotated[
        Pooling | None,
        About(
            "also embed by a generating model's hidden states (last, mean), or rerank (score)",
            unset="as the model's files say",
        ),
    ] = None
    lora: Annotated[
        str,
        About("LoRA adapters as name=folder, or a folder of adapters; commas separate several"),
    ] = ""
    max_loras: Annotated[
        int | None,
        About(
            "adapters on a GPU with room for the largest rank in lora",
            least=1,
            most=4096,
            unset="the adapters in lora, at least 4",
        ),
    ] = None
    trust_markers: Annotated[
        bool,
        About("tokenize chat template markers in messages and tools as control tokens"),
    ] = False
    prefix_cache: Annotated[
        bool, About("reuse the KV cache of common prefixes across requests")
    ] = True
    cache_events: Annotated[
        CacheEventKind,
        About("record cached blocks for routers, by name or with every change"),
    ] = "off"
    kv_block_size: Annotated[
        int, About("tokens per block in KV events and block names", least=1, most=1024)
    ] = 16
    grammar_cache_bytes: Annotated[
        int, About("memory for compiled grammars in bytes", least=1 << 20, most=LARGEST_SIZE)
    ] = 67108864
    threads: Annotated[
        int | None,
        About(
            "compute threads",
            least=1,
            most=MAX_THREADS,
            unset="all cores, or the container's CPU limit",
        ),
    ] = None
    attention_backend: Annotated[
        AttentionBackendName, About("attention backend", unset="best for the device")
    ] = "auto"
    exact: Annotated[
        bool, About("batch-invariant logits: the same bits in any batch, cold or warm; slower")
    ] = False
    speculate: Annotated[
        str | int,
        About("speculative decoding: off, auto, or the maximum draft tokens per sequence and step"),
    ] = "off"
    speculative_config: Annotated[
        str | None, About("speculate as vLLM's JSON, of the methods ngram and suffix")
    ] = None
    audit: Annotated[bool, About("check internal invariants after every step; slow")] = False
    weights_cache: Annotated[
        str,
        About(
            "folder that caches packed weights for a faster next start; off disables it",
            unset="~/.cache/yaie/packed",
        ),
    ] = "auto"
    weights_cache_bytes: Annotated[
        int, About("maximum size of the packed weights in bytes", least=1, most=LARGEST_SIZE)
    ] = 32 * 1024**3

    def __post_init__(self) -> None:
        for name, each in ENGINE_SETTINGS.items():
            each.check(value := getattr(self, name))
            if each.takes_integers:
                object.__setattr__(self, name, str(value))
        if not self.model.strip():  # as a path it would be the working directory
            raise ConfigError(
                f"model is empty; give a folder, a repository id or {BUILTIN_MODEL!r}",
                param="model",
            )
        if self.calibrate not in (None, UNCALIBRATED) and self.quantization != "int4":
            raise ConfigError(
                f"calibrate is {self.calibrate!r}, but only int4 is calibrated; add --quantization "
                "int4, or omit --calibrate",
                param="calibrate",
            )
        if self.cache_events != "off" and not self.prefix_cache:
            raise ConfigError(
                "without prefix_cache no cached block is used twice, so none is recorded or "
                "published; omit --no-prefix-cache, or --cache-events and --kv-events",
                param="cache_events",
            )
        parse_weights(self.tenant_weights)
        if self.speculative_config is not None:
            wanted = read_speculative_config(self.speculative_config)
            if self.speculate not in ("off", wanted):
                raise ConfigError(
                    "speculate and speculative_config differ; give one of them",
                    param="speculative_config",
                )
            object.__setattr__(self, "speculate", wanted)
        count_draft_tokens(str(self.speculate))

    @property
    def max_draft_tokens(self) -> int:
        """Most draft tokens of one sequence in a step; 0 without speculative decoding."""
        return count_draft_tokens(str(self.speculate))

    @property
    def is_calibrated(self) -> bool:
        """True if calibration text sets the rounding of int4 weights."""
        return self.quantization == "int4" and self.calibrate != UNCALIBRATED

    @property
    def weights(self) -> dict[str, float]:
        """Tenant weights by name; live requests go before requests in batches."""
        return {BATCHES: LEAST_WEIGHT} | parse_weights(self.tenant_weights)

    @property
    def source(self) -> str:
        """The model with its revision, as `name@revision`."""
        return self.model if self.revision is None else f"{self.model}@{self.revision}"

    @property
    def model_name(self) -> str:
        """The first name under which the model is served."""
        return self.model_names[0]

    @property
    def model_names(self) -> tuple[str, ...]:
        """All names under which the model is served, without duplicates."""
        given = (name.strip() for name in (self.served_model_name or "").split(","))
        return tuple(dict.fromkeys(filter(None, given))) or (self.model,)


ENGINE_SETTINGS = settings_of(EngineConfig)


@dataclass(frozen=True, kw_only=True)
class Settings(ServerConfig, EngineConfig):
    """Settings for the service: engine and server settings."""

    def __post_init__(self) -> None:
        EngineConfig.__post_init__(self)
        self.check_server()
        if self.has_keys:
            check_names(self.weights, self.tenants_by_key().values())

    def engine_config(self) -> EngineConfig:
        """Return the engine settings."""
        return EngineConfig(**self.engine_settings())

    def engine_settings(self) -> dict[str, Any]:
        """Return the engine settings by name; KV events need recorded changes."""
        found = {name: getattr(self, name) for name in ENGINE_SETTINGS}
        if self.kv_events_stream is not None:
            found["cache_events"] = "all" if self.kv_events_salted else "unsalted"
        return found


SETTINGS = settings_of(Settings)


def load_settings(config: Path | None = None, **overrides: object) -> Settings:
    """Read the settings from keyword arguments, then the environment, then a file.

    `config`: None uses `YAIE_CONFIG`, if set. Text is parsed; choices are accepted in any case. An
    override of None and an empty variable count as unset.

    Raises:
        ConfigError: an override is unknown, or a value is wrong; the message names its source.
    """
    for name in overrides:
        if name not in SETTINGS:
            hint = f"; {advice}" if (advice := advice_on(name)) else ""
            hint = hint or nearest_name_hint(name, SETTINGS)
            raise ConfigError(f"{name} is not a setting{hint}", param=name)
    path, in_file = settings_in_file(config)
    found = given_settings(overrides, in_file, path)
    problems = []
    for name, (value, source) in found.items():
        try:
            SETTINGS[name].check(value, f"{name} in {path}" if source == str(path) else source)
        except ConfigError as error:
            problems.append(error)
    if not problems:
        try:
            return Settings(**{name: value for name, (value, _) in found.items()})  # type: ignore[arg-type]
        except ConfigError as error:
            problems.append(error)
    whole = ConfigError("; ".join(each.message for each in problems), param=problems[0].param)
    sources = {found[each.param or ""][1] for each in problems if each.param in found}
    whole.file = str(path) if str(path) in sources else None
    raise whole from None


def given_settings(
    overrides: Mapping[str, object], in_file: Mapping[str, object], path: Path | None
) -> dict[str, tuple[object, str]]:
    """Return value and source (flag, variable or file) of each setting that has no default.

    Text is parsed, not checked.
    """
    found: dict[str, tuple[object, str]] = {}
    for name, each in SETTINGS.items():
        given, source = overrides.get(name), each.flag
        if given is None:
            given, source = variable_value(each.variable), each.variable
        if given is None:
            given, source = in_file.get(name), str(path)
        if given is not None:
            found[name] = (each.parse(given) if isinstance(given, str) else given), source
    return found


def settings_in_file(path: Path | None = None) -> tuple[Path | None, dict[str, object]]:
    """Return the settings file (default: `YAIE_CONFIG`) and its values by setting.

    Raises `ConfigError`.
    """
    if path is None and (named := variable_value(settings_file.VARIABLE)) is not None:
        path = Path(named)
    return path, {} if path is None else settings_file.read_config_file(path, SETTINGS)
