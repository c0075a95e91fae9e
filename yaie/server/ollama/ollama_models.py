"""Served models in the words of Ollama's API."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.models.files.gguf.hf_folder import LINK
from yaie.server.models.served_adapters import LATEST
from yaie.server.models.served_model import ServedModel
from yaie.server.ollama.ollama_reply import timestamp
from yaie.server.schemas.ollama_replies import (
    OllamaCapability,
    OllamaListedModel,
    OllamaLoadedModel,
    OllamaModel,
    OllamaModelDetails,
)
from yaie.text.template_features import template_source

NEVER = "9999-12-31T23:59:59Z"  # the unload of a model that stays
# Sampling defaults by the names of Ollama's options.
_PARAMETERS = {"repetition_penalty": "repeat_penalty", "max_tokens": "num_predict"}
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def tagged(name: str) -> str:
    """Return a name with a tag, as Ollama shows names; clients may send either."""
    return name if ":" in name.rpartition("/")[2] else name + LATEST


def list_model(model: ServedModel) -> Iterator[OllamaListedModel]:
    """Yield the entry of a model for each of its names."""
    for name in model.all_names:
        yield OllamaListedModel(
            name=tagged(name),
            model=tagged(name),
            modified_at=timestamp(model.created),
            size=model.info.weight_bytes if model.info is not None else 0,
            digest=digest_of(model),
            details=describe(model),
        )


def list_loaded(model: ServedModel, unload_idle_s: float) -> OllamaLoadedModel:
    """Return the entry of a model in memory; `unload_idle_s`: 0 keeps it there."""
    info = model.info
    assert info is not None
    left_s = model.last_used + unload_idle_s - time.monotonic()
    return OllamaLoadedModel(
        name=tagged(model.name),
        model=tagged(model.name),
        size=model.memory_bytes,
        digest=digest_of(model),
        details=describe(model),
        expires_at=timestamp(time.time() + max(left_s, 0.0)) if unload_idle_s else NEVER,
        size_vram=0 if info.device.startswith("cpu") else model.memory_bytes,
        context_length=info.max_model_len,
    )


def show_model(model: ServedModel) -> OllamaModel:
    """Return the description of a model; facts that an unloaded model cannot tell are omitted."""
    info, abilities, details = model.info, model.abilities, describe(model)
    facts: dict[str, Any] = {"general.basename": model.name}
    parameters: dict[str, Any] = {}
    if info is not None:
        parameters = model.defaults.sampling_of(info.default_sampling)
        facts |= {
            "general.architecture": details.family,
            "general.parameter_count": info.num_parameters,
            f"{details.family}.context_length": info.max_model_len,
            f"{details.family}.vocab_size": info.vocab_size,
        }
    how = None if info is None else info.embedding
    capabilities: list[OllamaCapability] = [] if how is None else ["embedding"]
    ranking = None if info is None else info.ranking
    if all(each is None or each.generates for each in (how, ranking)):
        capabilities.append("completion")
        if abilities is not None and abilities.tools and model.defaults.tools:
            capabilities.append("tools")
        if abilities is not None and abilities.reasoning:
            capabilities.append("thinking")
    lines = [f"{_PARAMETERS.get(name, name):<30} {value}" for name, value in parameters.items()]
    has_template = abilities is not None and abilities.chat
    return OllamaModel(
        modelfile="\n".join([f"FROM {model.root}", *(f"PARAMETER {line}" for line in lines)]),
        parameters="\n".join(lines),
        template=template_source(model.tokenizer) if has_template else "",
        details=details,
        model_info=facts,
        capabilities=capabilities,
        modified_at=timestamp(model.created),
    )


def describe(model: ServedModel) -> OllamaModelDetails:
    """Return the kind of a model."""
    info = model.info
    if info is None:
        return OllamaModelDetails()
    family = info.architecture.partition("For")[0].lower()
    return OllamaModelDetails(
        format="gguf" if (Path(info.model_path) / LINK).exists() else "safetensors",
        family=family,
        families=(family,),
        parameter_size=_short(info.num_parameters),
        quantization_level=(info.quantization or info.dtype).upper(),
    )


def digest_of(model: ServedModel) -> str:
    """Return the SHA-256 of a model's source, and of its folder once that is known."""
    path = model.info.model_path if model.info is not None else ""
    return hashlib.sha256(f"{model.root}\n{path}".encode("utf-8", "replace")).hexdigest()


def _short(number: int) -> str:
    """Return a count such as 134.5M."""
    for unit, sign in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f}{sign}"
    return str(number)


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_STEP = r"(\d{1,12}(?:\.\d{0,12})?)(ns|us|µs|ms|s|m|h)"
_DURATION = re.compile(rf"([+-]?)((?:{_STEP})+)", re.ASCII)
_STEPS = re.compile(_STEP, re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,12}(\.\d{0,12})?", re.ASCII)


def read_keep_alive(given: object) -> float | None:
    """Return the seconds of a number or of a text such as `1h30m`; negative ones are no limit.

    None for an omitted field. Raises `InvalidRequest`.
    """
    if given is None or given == "":
        return None
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    if isinstance(given, str):
        if _NUMBER.fullmatch(given):
            return float(given)
        if (found := _DURATION.fullmatch(given)) is not None:
            seconds = sum(
                float(number) * _SECONDS[unit] for number, unit in _STEPS.findall(found[2])
            )
            return -seconds if found[1] == "-" else seconds
    raise InvalidRequest(
        "keep_alive must be a number of seconds, or a text such as '5m' or '1h30m'",
        param="keep_alive",
    )
