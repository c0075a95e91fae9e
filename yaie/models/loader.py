"""Loads a model: checks first, then weights, then a probe that learns its attention layers.

Called by the engine core. Everything that can be refused from the config, the headers of the
weight files and the free memory is refused before weights are read. transformers is imported only
when a model is built: one whose packed weights are on disk does without.
"""

from __future__ import annotations

import logging
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from yaie.attention.choose import choose_backend
from yaie.attention.spec import AttentionSpec
from yaie.config import EngineConfig
from yaie.errors import (
    ConfigError,
    ModelUnsupported,
    NotEnoughMemory,
    StartupError,
    first_line,
)
from yaie.kvcache.pool import bytes_per_token
from yaie.models.attention_hook import IMPLEMENTATION, register
from yaie.models.checkpoint import DTYPES, Checkpoint
from yaie.models.folder import open_folder
from yaie.models.generation import read_default_sampling, read_eos_token_ids
from yaie.models.geometry import (
    check_layer_types,
    estimate_pool_shapes,
    layer_configs,
    pool_shapes,
    probe_geometry,
)
from yaie.models.loading_report import check_report
from yaie.models.memory import (
    MemoryPlan,
    activation_bytes,
    exact_bytes,
    free_bytes,
    plan_memory,
    shown,
)
from yaie.models.native.packing import KINDS
from yaie.models.quantization.layout import QuantizedLayout, read_stored_layout
from yaie.models.quantization.quantize import (
    Rounding,
    foresee_rounding,
    kind_of,
    quantize_model,
)
from yaie.models.quantization.weights import QuantizedLinear
from yaie.models.support import (
    SupportedArchitecture,
    check_supported,
    has_longrope,
    longest_context,
)
from yaie.models.threads import set_threads

log = logging.getLogger(__name__)

_CONTEXT_WITHOUT_LIMIT = 8192  # for a model whose config names no limit
_LARGE_SHARE_LEFT = 0.1  # of the weights that `--quantization` leaves; routers and norms are less


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, and everything that was decided while loading it."""

    model: torch.nn.Module | None  # the ...ForCausalLM; None: it is packed already
    hf_config: Any
    path: Path
    architecture: str
    specs: tuple[AttentionSpec, ...]  # one for each attention layer
    dtype: torch.dtype
    kv_dtype: torch.dtype  # of the pool; int8: with a scale for each head of a slot
    device: torch.device
    vocab_size: int
    max_model_len: int  # longest prompt plus completion, in tokens
    num_slots: int
    kv_bytes_per_token: int
    eos_token_ids: tuple[int, ...]
    weight_bytes: int
    num_parameters: int
    quantization: str | None  # of linear layers: "int8", "int4", "int4+int8" or None
    default_sampling: dict[str, float | int]  # what the model's authors recommend
    facts: dict[str, Any]  # what `reload_model` has to know, as JSON holds it


def load_model(config: EngineConfig, *, may_pack: bool = True) -> LoadedModel:
    """Load the model that the config names.

    `may_pack`: whether its runner will hand the weights to the kernel library, if there is one.
    Raises `ModelNotFound`, `ModelUnsupported`, `NotEnoughMemory` or `ConfigError`; each within
    seconds, and all but damage in the weights themselves before weights are read.
    """
    set_threads(config.threads)
    folder = open_folder(config.model)
    path, stored, checkpoint = folder.path, folder.config, folder.checkpoint
    layout = read_stored_layout(stored, checkpoint)
    hf_config = _read_hf_config(path)
    settings = hf_config.to_dict()  # unlike the file, with the class's defaults filled in
    entry = check_supported(settings)
    device = _resolve_device(config.device)
    dtype = _resolve_dtype(config.dtype, checkpoint, layout, device)
    kv_dtype: torch.dtype = dtype if config.kv_dtype == "auto" else getattr(torch, config.kv_dtype)
    max_model_len = _resolve_max_model_len(config, settings)
    rounding = _foresee_rounding(config, entry, hf_config, layout)
    integers = layout or rounding
    packed = integers is not None and may_pack and _will_pack(config, device, dtype)
    widening = 0 if integers is None or packed else integers.widening_nbytes
    free = free_bytes(device)
    plan = plan_for(
        config,
        hf_config,
        free=free,
        weights=_estimate_weights(checkpoint, integers, dtype, packed=packed),
        kv_bytes_per_token=bytes_per_token(estimate_pool_shapes(hf_config), kv_dtype),
        max_model_len=max_model_len,
        device=device,
        widening=widening,
    )
    fit_to_pool(config, max_model_len, plan)  # refuses before weights are read
    _check_loading(_loading_bytes(checkpoint, integers, dtype, device), plan)
    log.info("loading %s (%s, %s, KV %s): %s", path, entry.architecture, dtype, kv_dtype, plan)

    model = _build(entry, path, hf_config, dtype, checkpoint=checkpoint, layout=layout)
    if config.quantization is not None:
        quantize_model(model, config.quantization, device)
    model = model.to(device)
    specs = probe_geometry(model, device)
    check_layer_types(specs, getattr(hf_config, "layer_types", None))
    kv_bytes_per_token = bytes_per_token(pool_shapes(specs), kv_dtype)
    if kv_bytes_per_token != plan.kv_bytes_per_token:
        plan = plan_for(
            config,
            hf_config,
            free=free,
            weights=plan.weights,
            kv_bytes_per_token=kv_bytes_per_token,
            max_model_len=max_model_len,
            device=device,
            widening=widening,
        )
    weight_bytes, num_parameters = _size(model, packed=packed)
    quantization = kind_of(model)
    eos_token_ids = read_eos_token_ids(
        path, stored, hf_config.vocab_size, default=settings.get("eos_token_id")
    )
    return LoadedModel(
        model=model,
        hf_config=hf_config,
        path=path,
        architecture=entry.architecture,
        specs=specs,
        dtype=dtype,
        kv_dtype=kv_dtype,
        device=device,
        vocab_size=hf_config.vocab_size,
        max_model_len=fit_to_pool(config, max_model_len, plan),
        num_slots=plan.num_slots,
        kv_bytes_per_token=kv_bytes_per_token,
        eos_token_ids=eos_token_ids,
        weight_bytes=weight_bytes,
        num_parameters=num_parameters,
        quantization=quantization,
        default_sampling=read_default_sampling(path),
        facts={
            "architecture": entry.architecture,
            "dtype": str(dtype).removeprefix("torch."),
            "kv_dtype": str(kv_dtype).removeprefix("torch."),
            "context_len": max_model_len,
            "kv_bytes_per_token": kv_bytes_per_token,
            "eos_token_ids": eos_token_ids,
            "planned_weights": plan.weights,
            "weight_bytes": weight_bytes,
            "num_parameters": num_parameters,
            "quantization": quantization,
            "shape": {
                "num_hidden_layers": 1,
                "hidden_size": hf_config.hidden_size,
                "intermediate_size": _inner_width(hf_config),
                "num_attention_heads": hf_config.num_attention_heads,
                "head_dim": _head_width(hf_config),
                "vocab_size": hf_config.vocab_size,
            },
        },
    )


def _read_hf_config(path: Path) -> Any:
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(
            path, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:  # transformers validates configs with errors of many types
        raise ModelUnsupported(
            f"transformers cannot read {path / 'config.json'}: {first_line(error)}",
            code="model_damaged",
        ) from error
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # else transformers asks for the library that wrote it
    config.return_dict = True  # the form in which a forward answers, which the file may change
    return config


def _resolve_device(wanted: str) -> torch.device:
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError(
            "device is cuda, but torch sees no CUDA device; use --device cpu, or install a CUDA "
            "build of torch and a driver",
            param="device",
        )
    if wanted == "cpu" or not available:
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def _resolve_dtype(
    wanted: str, checkpoint: Checkpoint, layout: QuantizedLayout | None, device: torch.device
) -> torch.dtype:
    name = checkpoint.dtype if wanted == "auto" else wanted
    if layout is not None and wanted == "auto" and name == "float16" and device.type == "cpu":
        # GPTQ and AWQ write float16, which no CPU kernel computes in; the integers stay the same.
        log.info("what is not quantized in the float16 checkpoint is held in bfloat16")
        name = "bfloat16"
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def _foresee_rounding(
    config: EngineConfig,
    entry: SupportedArchitecture,
    hf_config: Any,
    layout: QuantizedLayout | None,
) -> Rounding | None:
    """What `--quantization` will make of a plain checkpoint. Warns where that is not much."""
    if config.quantization is None or layout is not None:
        return None
    model_class = _model_class(entry)
    try:
        with torch.device("meta"):
            model = model_class._from_config(deepcopy(hf_config))
    except Exception as error:  # as where it is built with its weights
        raise ModelUnsupported(
            f"transformers cannot build {entry.architecture} from its config: {first_line(error)}",
            code="model_damaged",
        ) from error
    rounding = foresee_rounding(model, config.quantization)
    if rounding.share_left > _LARGE_SHARE_LEFT:
        log.warning(
            "--quantization %s leaves %.0f %% of the weights beside the embedding as they are: it "
            "rounds plain linear layers, but not experts, nor layers of another kind",
            config.quantization,
            100 * rounding.share_left,
        )
    return rounding


def _will_pack(config: EngineConfig, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the kernel library will hold the weights: each integer in its own bits."""
    backend = choose_backend(device, config.attention_backend, exact=config.exact)
    return backend.kernels is not None and dtype in KINDS


def _estimate_weights(
    checkpoint: Checkpoint,
    integers: QuantizedLayout | Rounding | None,
    dtype: torch.dtype,
    *,
    packed: bool,
) -> int:
    """Bytes of the weights once they are loaded and, where that is wanted, rounded and packed."""
    if integers is None:
        return checkpoint.num_parameters * dtype.itemsize
    return integers.nbytes(dtype.itemsize, packed=packed)


def _loading_bytes(
    checkpoint: Checkpoint,
    integers: QuantizedLayout | Rounding | None,
    dtype: torch.dtype,
    device: torch.device,
) -> int:
    """Bytes that weights with integers take at their most, before they are packed."""
    if integers is None:
        return 0
    if isinstance(integers, QuantizedLayout):
        return integers.loading_nbytes(dtype.itemsize)
    # What is converted is no longer the file's; another device gets each layer when it is rounded.
    stored = {DTYPES.get(tensor.kind) for tensor in checkpoint.tensors.values()}
    mapped = device.type != "cpu" or stored == {str(dtype).removeprefix("torch.")}
    return integers.loading_nbytes(dtype.itemsize, mapped=mapped)


def _check_loading(needed: int, plan: MemoryPlan) -> None:
    """Integers take more while they are loaded than once they are packed."""
    if needed > plan.free:
        raise NotEnoughMemory(
            f"the model does not fit: while its weights are read they take {shown(needed)} of "
            f"{shown(plan.free)} free on {plan.device}; use a smaller model or free some memory"
        )


def _resolve_max_model_len(config: EngineConfig, settings: dict[str, Any]) -> int:
    limit = longest_context(settings)
    wanted = config.max_model_len
    if wanted is None:
        return _CONTEXT_WITHOUT_LIMIT if limit is None else limit
    if limit is None or wanted <= limit:
        return wanted
    if has_longrope(settings):
        raise ModelUnsupported(
            f"max_model_len is {wanted}, but beyond {limit} tokens this model switches to its "
            f"second LongRoPE table, for every request of a batch at once; use at most {limit}",
            param="max_model_len",
        )
    raise ConfigError(
        f"max_model_len is {wanted}, but the model was made for {limit} tokens; use at most that",
        param="max_model_len",
    )


def plan_for(
    config: EngineConfig,
    hf_config: Any,
    *,
    free: int,
    weights: int,
    kv_bytes_per_token: int,
    max_model_len: int,
    device: torch.device,
    widening: int = 0,
) -> MemoryPlan:
    """The memory plan of a model, whose config needs sizes only. Raises `NotEnoughMemory`.

    `widening`: what a step needs to widen integers that are not packed.
    """
    activations = activation_bytes(
        max_step_rows=config.max_step_rows,
        hidden_width=hf_config.hidden_size,
        inner_width=_inner_width(hf_config),
        vocab_size=hf_config.vocab_size,
        max_logit_rows=min(config.max_running, config.max_step_rows),
    )
    if config.exact:
        activations += exact_bytes(
            max_step_rows=config.max_step_rows,
            max_model_len=min(max_model_len, config.num_slots or max_model_len),
            num_heads=hf_config.num_attention_heads,
            value_width=_head_width(hf_config),
        )
    return plan_memory(
        free=free,
        weights=weights,
        activations=activations + widening,
        kv_bytes_per_token=kv_bytes_per_token,
        max_model_len=max_model_len,
        num_slots=config.num_slots,
        device=device.type,
    )


def _head_width(hf_config: Any) -> int:
    """The widest head; not counting the few models whose values are wider than their keys."""
    usual = hf_config.hidden_size // hf_config.num_attention_heads
    return max(int(getattr(layer, "head_dim", None) or usual) for layer in layer_configs(hf_config))


def _inner_width(hf_config: Any) -> int:
    return max(
        int(getattr(layer, "intermediate_size", None) or 4 * hf_config.hidden_size)
        for layer in layer_configs(hf_config)
    )


def fit_to_pool(config: EngineConfig, max_model_len: int, plan: MemoryPlan) -> int:
    """A sequence can never be longer than the pool."""
    if max_model_len <= plan.num_slots:
        return max_model_len
    if config.max_model_len is None:
        log.info("max_model_len is %d, as the pool holds no more", plan.num_slots)
        return plan.num_slots
    if config.num_slots is not None:
        raise ConfigError(
            f"max_model_len is {max_model_len}, but num_slots is {plan.num_slots}; raise "
            f"num_slots or lower max_model_len",
            param="max_model_len",
        )
    raise NotEnoughMemory(
        f"a sequence of max_model_len {max_model_len} does not fit: {plan}; use at most "
        f"--max-model-len {plan.num_slots}",
        param="max_model_len",
    )


def _refusal_behind(error: BaseException) -> StartupError | None:
    """The refusal during which this error came up: files that other threads still read from when
    they are closed complain, and hide why they are closed."""
    context = error.__context__
    while context is not None and not isinstance(context, StartupError):
        context = context.__context__
    return context


def _model_class(entry: SupportedArchitecture) -> Any:
    import transformers

    register()
    model_class = getattr(transformers, entry.architecture)
    if not getattr(model_class, "_supports_attention_backend", False):
        raise ModelUnsupported(
            f"{entry.architecture} of the installed transformers {transformers.__version__} does "
            f"not use its attention interface"
        )
    transformers.utils.logging.disable_progress_bar()
    # What it remarks on (generation flags, say) is not what runs here; errors still come as such.
    transformers.utils.logging.set_verbosity_error()
    return model_class


def _build(
    entry: SupportedArchitecture,
    path: Path,
    hf_config: Any,
    dtype: torch.dtype,
    *,
    checkpoint: Checkpoint,
    layout: QuantizedLayout | None,
) -> torch.nn.Module:
    from yaie.models.quantization.building import build_quantized

    model_class = _model_class(entry)
    how = {
        "config": hf_config,
        "attn_implementation": IMPLEMENTATION,
        "use_safetensors": True,
        "trust_remote_code": False,
        "local_files_only": True,
        "output_loading_info": True,
        "ignore_mismatched_sizes": True,  # reported, and refused with their names
    }
    try:
        if layout is None:
            model, report = model_class.from_pretrained(path, dtype=dtype, **how)
        else:
            model, report = build_quantized(model_class, layout, dtype, **how)
    except StartupError:
        raise
    except Exception as error:  # shapes, names, conversions: errors of many types
        refusal = _refusal_behind(error)
        if refusal is not None:
            raise refusal from None
        raise ModelUnsupported(
            f"the weights in {path} do not fit {entry.architecture}: {first_line(error)}",
            code="model_damaged",
        ) from error
    check_report(report, model, checkpoint, path)
    _check_finite(model, path)
    return model.eval().requires_grad_(False)  # type: ignore[no-any-return]


def _check_finite(model: torch.nn.Module, path: Path) -> None:
    for name, parameter in model.named_parameters():
        # A sum is finite unless an element is not (or 1e38 is reached, which no model survives).
        if not bool(torch.isfinite(parameter.detach().sum(dtype=torch.float32))):
            of_float16, or_else = "", ""
            if parameter.dtype is torch.float16:
                of_float16 = ", or too large for float16"
                or_else = ", or use --dtype bfloat16"
            raise ModelUnsupported(
                f"the weights in {path} are damaged{of_float16}: {name} holds numbers that are not "
                f"finite; download the folder again{or_else}",
                code="model_damaged",
            )


def _size(model: torch.nn.Module, *, packed: bool) -> tuple[int, int]:
    """Bytes and number of the parameters; tied ones count once, unless they are held twice."""
    linears = [module for module in model.modules() if isinstance(module, QuantizedLinear)]
    weights = [linear.quantized for linear in linears if linear.quantized is not None]
    tied = [model.get_input_embeddings().weight] if any(x.is_tied for x in linears) else []  # type: ignore[operator]
    unique = {p.data_ptr(): p for p in model.parameters() if not any(p is t for t in tied)}
    nbytes = sum(p.nbytes for p in unique.values())
    nbytes += sum(weight.nbytes(packed=packed) for weight in weights)
    if not packed:
        nbytes += sum(weight.nbytes for weight in tied)
    number = sum(p.numel() for p in unique.values()) + sum(w.values.numel() for w in weights)
    return nbytes, number
