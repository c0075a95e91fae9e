"""The flags that several commands share; each is a setting and a `YAIE_*` variable of that name.

A test holds this table against `yaie.config.Settings`; the table exists because reading the
settings' own fields would import pydantic for `--help`.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from yaie.cli import terminal

_MULTIPLIERS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}


def parse_count(text: str) -> int:
    """Read a count as people write it: 8000, 8k (8,000), 8K or 8Ki (8,192), 10MiB.

    Lower case is decimal and upper case binary, as vLLM reads them.
    """
    plain = str(text).strip().replace(",", "").replace("_", "")
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)(?:([kmgKMG])(?:i?B|i)?)?", plain)
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is not a count; write it as 8000, 8k (8,000) or 8K (8,192)"
        )
    value = float(found[1]) * _MULTIPLIERS[found[2] or ""]
    if not value.is_integer():
        raise typer.BadParameter(f"{text!r} is not a whole number")
    return int(value)


@dataclass(frozen=True, slots=True)
class Flag:
    """One setting as a flag. `kind` is str, float, bool or `parse_count`."""

    name: str
    kind: Callable[[str], Any]
    help: str
    short: str = ""

    def parameter(self) -> inspect.Parameter:
        """The keyword-only parameter that typer turns into the flag; None: not given."""
        flag = f"--{self.name.replace('_', '-')}"
        hint: Any = int if self.kind is parse_count else self.kind
        if self.kind is bool:
            option = typer.Option(f"{flag}/--no-{flag[2:]}", help=self.help, show_default=False)
        else:
            spelled = (flag, self.short) if self.short else (flag,)
            parser = parse_count if self.kind is parse_count else None
            metavar = "N" if parser or self.kind is float else "TEXT"
            option = typer.Option(*spelled, help=self.help, parser=parser, metavar=metavar)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[hint | None, option],
        )


ENGINE_FLAGS = (
    Flag("model", str, "'builtin', a folder, or a Hugging Face repository id", "-m"),
    Flag("served_model_name", str, "the name under which the model is served [as --model]"),
    Flag("dtype", str, "auto, float32, bfloat16 or float16"),
    Flag("quantization", str, "round the weights at load: int8 or int4 [as they are]"),
    Flag(
        "kv_dtype", str, "of the KV pool: auto (as the model), float32, bfloat16, float16 or int8"
    ),
    Flag("device", str, "auto, cpu or cuda"),
    Flag("num_slots", parse_count, "size of the KV pool in tokens [from free memory]"),
    Flag("max_model_len", parse_count, "longest prompt plus answer in tokens [the model's]"),
    Flag("max_step_rows", parse_count, "rows (tokens) computed in one step [2048]"),
    Flag("max_running", parse_count, "live sequences at a time [256]"),
    Flag("max_waiting", parse_count, "waiting requests; more get a 429 [4096]"),
    Flag("policy", str, "who is admitted first: prefix-aware, fcfs, lpm or priority"),
    Flag("eviction", str, "what leaves the cache first: lru, lfu or cost"),
    Flag("prefix_cache", bool, "share the KV of common prefixes between requests [on]"),
    Flag("threads", parse_count, "threads that compute [all cores]"),
    Flag("attention_backend", str, "auto, reference or cpu [the best for the device]"),
    Flag("exact", bool, "bitwise equal logits in any batch, cold or warm; slower [off]"),
    Flag("audit", bool, "check every invariant after every step; slow [off]"),
    Flag("weights_cache", str, "folder for packed weights, which quicken the next start; or off"),
    Flag("weights_cache_bytes", parse_count, "the most that folder may hold [32GiB]"),
)
SERVER_FLAGS = (
    Flag("host", str, "address to listen on [127.0.0.1]"),
    Flag("port", parse_count, "port to listen on; 0 takes any free one [8000]"),
    Flag("api_key", str, "key that clients must send; several separated by commas"),
    Flag("max_body_bytes", parse_count, "largest request body [10MiB]"),
    Flag("request_timeout_s", float, "longest time one request may take, in seconds [600]"),
    Flag("drain_s", float, "time to finish running requests at shutdown, in seconds [30]"),
    Flag("stall_s", float, "restart an engine that finished no step for so long [300]"),
    Flag("log_level", str, "debug, info, warning or error [info]"),
    Flag("cors_origins", str, "origins that browsers may call from, separated by commas"),
)

# Known without reading the settings; a test holds them against what is.
KNOWN_VARIABLES = frozenset(
    {"YAIE_BASE_URL", "YAIE_DEBUG", "YAIE_KERNELS"}
    | {f"YAIE_{flag.name.upper()}" for flag in (*ENGINE_FLAGS, *SERVER_FLAGS)}
)


def warn_of_unknown_variables() -> None:
    """One line on stderr for each `YAIE_*` variable that is no setting, unless --quiet was given.

    The settings are imported only to say which name was meant: a question to a server needs none.
    """
    if all(name in KNOWN_VARIABLES for name in os.environ if name.startswith("YAIE_")):
        return
    from yaie.config import unknown_variables

    for warning in unknown_variables():
        terminal.warn(warning)


def settings_options(
    flags: Iterable[Flag], *, leave_out: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these flags; it receives those that were typed as one dict, `settings`."""
    wanted = [flag for flag in flags if flag.name not in leave_out]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [parameter for name, parameter in own.items() if name != "settings"]
        added = [flag.parameter() for flag in wanted]

        @functools.wraps(command)
        def with_settings(**values: Any) -> None:
            given = {flag.name: values.pop(flag.name) for flag in wanted}
            given = {name: value for name, value in given.items() if value is not None}
            command(**values, settings=given)

        with_settings.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in kept] + added
        )
        with_settings.__annotations__ = {p.name: p.annotation for p in (*kept, *added)}
        del with_settings.__wrapped__
        return with_settings

    return decorate
