"""Loading through transformers: its config, its model class, and the model with its weights.

transformers is imported when first needed, as that takes seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from yaie.base.errors import ModelUnsupported, StartupError, first_line
from yaie.models.architecture.architectures import OF_WRAPPERS
from yaie.models.architecture.attention_hook import IMPLEMENTATION, register
from yaie.models.architecture.support import check_supported, is_recurrent
from yaie.models.architecture.text_backbones import (
    TIES,
    Wrapper,
    as_renamed,
    as_twin,
    is_renamed,
    text_config,
)
from yaie.models.files.checkpoint import read_json
from yaie.models.load.expert_tensors import ExpertSource, names_of
from yaie.models.load.folder import ModelFolder
from yaie.models.load.loading_report import check_report
from yaie.models.load.packed_experts import prepare_class
from yaie.models.quantization.quantized_layers import QuantizedLayout
from yaie.models.quantization.readers import TensorFiles
from yaie.process.progress import report, report_each

logger = logging.getLogger(__name__)

_SUMMED_AT_ONCE = 2**24  # numbers
_UNUSED_IDS = ("bos_token_id", "pad_token_id", "sep_token_id")  # YAIE never pads


def read_hf_config(path: Path, wrapper: Wrapper | None = None) -> Any:
    """Return a folder's config as transformers reads it; for a wrapper, its text class's config.

    Raises `ModelUnsupported`.
    """
    report("importing transformers")
    import transformers

    try:
        stored = read_json(path / "config.json")
        if is_renamed(stored) and stored["model_type"] not in transformers.CONFIG_MAPPING:
            config = _make_renamed_config(stored)
        elif wrapper is not None and not wrapper.is_in_transformers:
            return _ready(_config_of(text_config(stored)))
        else:
            config = transformers.AutoConfig.from_pretrained(
                path, trust_remote_code=False, local_files_only=True
            )
            if is_renamed(stored):
                config = _make_renamed_config({**config.to_dict(), "architectures": None})
        if wrapper is not None:
            config = _text_class_config(config, wrapper)
    except Exception as error:  # transformers validates configs with errors of many types
        raise ModelUnsupported(
            f"transformers cannot read {path / 'config.json'}: {first_line(error)}",
            code="model_damaged",
        ) from error
    return _ready(config)


def _ready(config: Any) -> Any:
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # transformers would require the library that wrote it
    size = getattr(config, "vocab_size", None) or 0
    for name in _UNUSED_IDS:
        stated = getattr(config, name, None)
        if type(stated) is int and not 0 <= stated < size:
            logger.warning("ignoring %s, which is outside the vocabulary: %.200r", name, stated)
            setattr(config, name, None)
    config.return_dict = True  # the file may ask for a forward that returns tuples
    return config


def _make_renamed_config(settings: dict[str, Any]) -> Any:
    """Return a renamed model's config as an instance of its class's config."""
    return _config_of(as_renamed(settings))


def _config_of(settings: dict[str, Any]) -> Any:
    """Return a text-only class's config with these settings."""
    entry = check_supported(settings)
    config_class = _class_named(entry.architecture).config_class
    return config_class(**{**settings, "architectures": [entry.architecture]})


def _text_class_config(config: Any, wrapper: Wrapper) -> Any:
    """Return a wrapper's config as its text class's config, with the wrapper's defaults."""
    if wrapper.thinker is not None:
        config = getattr(config, wrapper.thinker)
    found = config.get_text_config()
    settings = as_twin(found.to_dict(), wrapper)
    ties = getattr(config, TIES, None)
    if ties is not None:  # the wrapper owns the head
        settings[TIES] = ties
    return _config_of(settings)


def build_without_weights(architecture: str, hf_config: Any) -> torch.nn.Module:
    """Return the model on the meta device. Raises `ModelUnsupported` if that fails."""
    model_class = _model_class(architecture)
    try:
        with torch.device("meta"):
            model: torch.nn.Module = model_class._from_config(deepcopy(hf_config))
    except Exception as error:  # raised by the model's own constructor: of any type
        raise ModelUnsupported(
            f"transformers cannot build {architecture} from its config: {first_line(error)}",
            code="model_damaged",
        ) from error
    return model


def build_model(
    architecture: str,
    folder: ModelFolder,
    hf_config: Any,
    dtype: torch.dtype,
    layout: QuantizedLayout | None,
    *,
    experts: Sequence[ExpertSource] = (),
    keeps_blocks: bool = False,
) -> torch.nn.Module:
    """Build the model and read its weights, in evaluation mode.

    `layout` describes the checkpoint's quantized layers. `experts` are omitted from it and from the
    model, whose modules of experts are empty. `keeps_blocks`: layers of a GGUF file stay in its
    blocks. Raises `ModelUnsupported` if the weights do not fit the model, or are not finite.
    """
    from transformers import GenerationConfig

    from yaie.models.quantization.quantized_model import build_quantized

    report("reading weights")
    model_class, path = _model_class(architecture), folder.path
    how = {
        "config": hf_config,
        "attn_implementation": IMPLEMENTATION,
        "use_safetensors": True,
        "trust_remote_code": False,
        "local_files_only": True,
        "output_loading_info": True,
        "ignore_mismatched_sizes": True,  # reported, and refused with their names
        "generation_config": GenerationConfig(),  # transformers generates nothing here
    }
    prepared, omitted = prepare_class(model_class, experts), names_of(experts)
    try:
        if folder.checkpoint.gguf is not None and keeps_blocks:
            from yaie.models.quantization.block_model import build_in_blocks

            model, found = build_in_blocks(
                prepared, folder.checkpoint.gguf, dtype, omitted=omitted, **how
            )
        elif folder.checkpoint.gguf is not None:
            from yaie.models.files.gguf.hf_weights import unread_weights

            tensors = unread_weights(folder.checkpoint.gguf, dtype)
            tensors = {name: each for name, each in tensors.items() if name not in omitted}
            model, found = prepared.from_pretrained(None, state_dict=tensors, dtype=dtype, **how)
        elif layout is None and (folder.checkpoint.is_renamed or experts):
            with TensorFiles() as files:
                tensors = {
                    each.name: files.unread(each)
                    for each in folder.checkpoint.tensors.values()
                    if each.name not in omitted
                }
                model, found = prepared.from_pretrained(
                    None, state_dict=tensors, dtype=dtype, **how
                )
        elif layout is None:
            model, found = model_class.from_pretrained(path, dtype=dtype, **how)
        else:
            model, found = build_quantized(prepared, layout, dtype, **how)
    except StartupError:
        raise
    except Exception as error:  # shapes, names, conversions: errors of many types
        refusal = _refusal_behind(error)
        if refusal is not None:
            raise refusal from None
        raise ModelUnsupported(
            f"the weights in {path} do not fit {architecture}: {first_line(error)}",
            code="model_damaged",
        ) from error
    model.__class__ = model_class
    check_report(found, model, folder.checkpoint, path)
    _check_finite(model, path)
    return model.eval().requires_grad_(False)  # type: ignore[no-any-return]


def _model_class(architecture: str) -> Any:
    import transformers

    register()
    model_class = _class_named(architecture)
    if is_recurrent(architecture):
        # Several of these classes do not declare it, and their attention layers use it.
        model_class._supports_attention_backend = True
    if not getattr(model_class, "_supports_attention_backend", False):
        raise ModelUnsupported(
            f"{architecture} of the installed transformers {transformers.__version__} does "
            f"not use its attention interface"
        )
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_tqdm_hook(_report_tensors)
    # Its warnings (generation flags, say) do not apply here; errors are raised all the same.
    transformers.utils.logging.set_verbosity_error()
    return model_class


def _report_tensors(make: Any, arguments: Sequence[Any], fields: dict[str, Any]) -> Any:
    """Stand in for transformers' bars, of which one is drawn around the tensors that it reads."""
    if arguments and hasattr(arguments[0], "__len__"):
        items, *others = arguments
        fields = {"total": len(items), **fields}
        items = report_each(items, "reading weights", len(items), "tensors")
        return make(items, *others, **fields)
    return make(*arguments, **fields)


def _class_named(architecture: str) -> Any:
    import transformers

    if architecture in {entry.architecture for entry in OF_WRAPPERS}:
        from yaie.models.architecture import text_classes

        return getattr(text_classes, architecture)
    return getattr(transformers, architecture)


def _refusal_behind(error: BaseException) -> StartupError | None:
    """Return the `StartupError` during whose handling this error was raised, if any.

    Files that other threads still read raise errors when they are closed, and would hide it.
    """
    context = error.__context__
    while context is not None and not isinstance(context, StartupError):
        context = context.__context__
    return context


def _check_finite(model: torch.nn.Module, path: Path) -> None:
    for name, parameter in model.named_parameters():
        # A sum is finite unless an element is not (or it reaches 1e38, as in no usable model). In
        # chunks, because torch first copies the numbers to float32.
        parts = torch.split(parameter.detach().flatten(), _SUMMED_AT_ONCE)
        if all(bool(torch.isfinite(part.sum(dtype=torch.float32))) for part in parts):
            continue
        cause, advice = "", "save the model again from finite weights, or use another checkpoint"
        if parameter.dtype is torch.float16:
            cause = ", or too large for float16"
            advice = "use --dtype bfloat16, or another checkpoint"
        raise ModelUnsupported(
            f"the weights in {path} are damaged{cause}: {name} contains non-finite numbers; "
            f"{advice}",
            code="model_damaged",
        )
