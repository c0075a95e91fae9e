"""`yaie doctor`: checks the machine and shows the settings that differ from their defaults.

Checks run in order; each runs even if an earlier check failed. The last check is a self test with
the built-in model.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from yaie.base.errors import ConfigError, YaieError
from yaie.cli import gpu_checks, terminal
from yaie.cli.failures import FAILED

if TYPE_CHECKING:
    from yaie.base.settings import Settings

Status = Literal["ok", "warning", "failed"]
_SECRET_SETTINGS = ("api_key", "admin_key", "tool_key")
_MARKS = {"ok": "ok  ", "warning": "note", "failed": "FAIL"}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    status: Status
    detail: str


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check the machine and the settings, and run a self test.

    The exit code is 1 if a service could not start. --json has every setting.
    """
    checks = [run_check(name, check) for name, check in _CHECKS.items()]
    settings = settings_with_sources()
    healthy = all(check.status != "failed" for check in checks)
    if as_json:
        report = {"ok": healthy, "checks": [asdict(c) for c in checks], "settings": settings}
        print(json.dumps(report))
    else:
        _print_report(checks, settings)
    if not healthy:
        raise typer.Exit(FAILED)


def run_check(name: str, check: Callable[[], tuple[Status, str]]) -> Check:
    """Run one check; an exception counts as failed."""
    try:
        status, detail = check()
    except YaieError as error:
        status, detail = "failed", error.message
    except Exception as error:  # one failing check must not hide later checks
        status, detail = "failed", f"{type(error).__name__}: {error}"
    return Check(name, status, detail)


def settings_with_sources(config: Path | None = None) -> list[dict[str, Any]]:
    """Return every setting and variable with its value and its source; `config` is a file."""
    from yaie.base.setting_field import CLIENT_VARIABLES, LIBRARY_VARIABLES
    from yaie.base.settings import SETTINGS, given_settings, settings_in_file

    shown = []
    path, in_file = settings_in_file(config)
    found = given_settings({}, in_file, path)
    for name, setting in SETTINGS.items():
        value, source = found.get(name, (setting.default, "default"))
        if name in _SECRET_SETTINGS and value:
            value = "(set)"
        shown.append({"name": name, "value": value, "source": source})
    for variable in sorted(CLIENT_VARIABLES | LIBRARY_VARIABLES):  # read elsewhere, as they are
        given = os.environ.get(variable) or None
        source = "default" if given is None else variable
        shown.append({"name": variable, "value": given, "source": source})
    return shown


def _print_report(checks: list[Check], settings: list[dict[str, Any]]) -> None:
    for check in checks:
        mark = _MARKS[check.status]
        paint = {"ok": terminal.green, "warning": terminal.dim, "failed": terminal.red}
        print(f"{paint[check.status](mark, sys.stdout)}  {check.name:<12} {check.detail}")
    changed = [each for each in settings if each["source"] != "default"]
    print(terminal.bold("\nSettings that differ from their defaults", sys.stdout))
    print("\n".join(f"  {setting_line(each)}" for each in changed) or "  none")
    print(f"  yaie config show lists all {len(settings)}")


def setting_line(found: dict[str, Any]) -> str:
    """Return name, value and source of one setting as a line."""
    from yaie.base.settings import SETTINGS

    setting, value = SETTINGS.get(found["name"]), found["value"]
    shown = setting.shown(value) if setting else value or "not set"
    return f"{found['name']:<22} {shown:<18} {found['source']}"


def _check_python() -> tuple[Status, str]:
    found = f"{platform.python_version()} at {sys.executable}"
    return ("ok" if sys.version_info >= (3, 11) else "failed"), found


def _check_torch() -> tuple[Status, str]:
    import torch

    return "ok", f"{torch.__version__}, {torch.get_num_threads()} threads"


def _check_transformers() -> tuple[Status, str]:
    return "ok", installed_version("transformers")


def _check_device() -> tuple[Status, str]:
    import torch

    if not torch.cuda.is_available():
        return "ok", f"cpu ({os.cpu_count()} cores), without a CUDA device"
    free, total = torch.cuda.mem_get_info()
    name = torch.cuda.get_device_name()
    return "ok", f"cuda: {name}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


def _check_kernels() -> tuple[Status, str]:
    from yaie.kernels.library_search import status

    found = status()
    if found.loaded:
        return "ok", found.reason
    return "warning", f"{found.reason}; torch computes instead, correct but slower"


def _check_memory() -> tuple[Status, str]:
    import torch

    from yaie.device.available_memory import free_bytes

    free = free_bytes(torch.device("cpu"))
    status: Status = "ok" if free > 2**30 else "warning"
    return status, f"{free / 2**30:.1f} GiB free for weights and KV cache"


def _readable_settings() -> Settings | None:
    """Return the settings, or None if they are invalid (`_check_settings` reports that)."""
    from yaie.base.settings import load_settings

    try:
        return load_settings()
    except ConfigError:
        return None


_NOT_CHECKED: tuple[Status, str] = "warning", "not checked: the settings are invalid"


def _check_weights_cache() -> tuple[Status, str]:
    from yaie.models.native.packed_cache import open_cache

    settings = _readable_settings()
    if settings is None:
        return _NOT_CHECKED
    cache = open_cache(settings.engine_config())
    if cache is None:
        return "ok", "off: each start packs the weights again"
    count, nbytes = cache.usage()
    return "ok", f"{count} packed models, {nbytes / 2**30:.2f} GiB, in {cache.folder}"


def _check_settings() -> tuple[Status, str]:
    from yaie.base.settings import load_settings
    from yaie.base.unknown_variables import unknown_variables

    load_settings()
    unknown = unknown_variables()
    return ("warning", "; ".join(unknown)) if unknown else ("ok", "all valid")


def _check_port() -> tuple[Status, str]:
    from yaie.cli.options import choose_key
    from yaie.remote.discovery import find_server

    settings = _readable_settings()
    if settings is None:
        return _NOT_CHECKED
    address = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            found = find_server(settings.port, choose_key(None, is_named=False))
            if found is not None:
                return "ok", f"{address} is in use by {found}"
            return "warning", f"{address}: {error.strerror}; choose another with --port"
    return "ok", f"{address} is free"


def _check_self_test() -> tuple[Status, str]:
    from yaie import LLM, SamplingParams

    question = "What is a radix tree?"
    with LLM(num_slots=1024, max_model_len=1024) as model:
        sampling = SamplingParams(max_tokens=200, temperature=0.0)
        output = model.chat([{"role": "user", "content": question}], sampling)[0]
        execution, reason = model.info.execution, model.info.execution_reason
    text = " ".join(output.text.split())
    if output.finish_reason != "stop" or not text:
        return "failed", f"the built-in model did not finish its answer: {text!r}"
    answer = f"{question} {textwrap.shorten(text, 120, placeholder=' …')}"
    if reason:
        return "warning", f"{execution} runs the built-in model, slower, since {reason}; {answer}"
    return "ok", f"{execution} runs the built-in model; {answer}"


_CHECKS: dict[str, Callable[[], tuple[Status, str]]] = {
    "python": _check_python,
    "torch": _check_torch,
    "transformers": _check_transformers,
    "device": _check_device,
    "kernels": _check_kernels,
    "gpu": gpu_checks.check_torch_and_driver,
    "flashinfer": gpu_checks.check_flashinfer,
    "gpu modules": gpu_checks.check_modules,
    "triton": gpu_checks.check_triton,
    "memory": _check_memory,
    "weights": _check_weights_cache,
    "settings": _check_settings,
    "port": _check_port,
    "self test": _check_self_test,
}
