"""Encoder: a model that transformers builds, run over packed texts.

The texts of a step are one row of tokens, [1, rows], without padding. The attention function cuts
this row into texts, and everything else in the model works on single tokens.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from yaie.base.errors import ConfigError, ModelUnsupported, NotEnoughMemory, first_line
from yaie.base.settings import EngineConfig
from yaie.device.available_memory import free_bytes
from yaie.models.architecture.loaded_model import (
    LoadedModel,
    ModelMetadata,
    ModelSizes,
    name_of,
)
from yaie.models.files.checkpoint import read_json
from yaie.models.files.encoder_classes import encoder_config, first_position
from yaie.models.files.pooling_files import DenseStep, RowPooling, read_encoder_steps
from yaie.models.files.ranking_files import CLASSIFIER, read_vocabulary
from yaie.models.load.folder import open_folder
from yaie.models.load.memory_plan import format_size
from yaie.models.load.packed_attention import attend, of_lengths, pack_biased
from yaie.models.load.placement import resolve_device, resolve_dtype, set_threads
from yaie.process.progress import report

log = logging.getLogger(__name__)

IMPLEMENTATION = "yaie_encoder"
_SLOTS = 131_072  # places of tokens in texts that run or wait; they hold nothing


class Encoder:
    """A loaded encoder: texts in, one vector or score for each out."""

    def __init__(self, model: Any, config: dict[str, Any], folder: Path) -> None:
        self._model = model
        self._base = model.base_model
        self._first = first_position(config)
        self._is_classifier = type(model).__name__.endswith(CLASSIFIER)
        self._pooling: RowPooling = "cls"
        self._dense: list[Any] = []
        if not self._is_classifier:
            steps = read_encoder_steps(folder)
            self._pooling = steps.pooling
            self._dense = [_build_dense(step, model.dtype, model.device) for step in steps.dense]
        elif config.get("classifier_pooling") == "mean":  # ModernBERT's
            self._pooling = "mean"
        separator = read_vocabulary(folder).get("[SEP]")
        has_types = self._is_classifier and int(config.get("type_vocab_size") or 0) > 1
        self._separator = separator if has_types else None
        self._takes_types = config.get("type_vocab_size") is not None

    @torch.inference_mode()
    def encode(self, token_ids: NDArray[np.int64], lengths: list[int]) -> torch.Tensor:
        """Return a row for each text: its vector [texts, hidden], or its score [texts, 1]."""
        device = self._model.device
        ids = torch.from_numpy(token_ids).to(device)
        positions = np.concatenate([np.arange(length) for length in lengths]) + self._first
        fields: dict[str, Any] = {"position_ids": torch.from_numpy(positions).to(device)[None]}
        if self._takes_types:
            types = self._types(token_ids, lengths)
            fields["token_type_ids"] = torch.from_numpy(types).to(device)[None]
        with of_lengths(lengths):
            rows = self._base(input_ids=ids[None], attention_mask=None, **fields)[0][0]
        texts = torch.split(rows, lengths)
        pooled = torch.stack(
            [text.mean(dim=0) if self._pooling == "mean" else text[0] for text in texts]
        )
        if self._is_classifier:
            return self._classify(pooled).float()
        for layer in self._dense:
            pooled = layer(pooled)
        return pooled.float()

    def _types(self, token_ids: NDArray[np.int64], lengths: list[int]) -> NDArray[np.int64]:
        """Return the type of each token: 1 after the first separator, in a pair of texts."""
        types = np.zeros(len(token_ids), dtype=np.int64)
        if self._separator is None:
            return types
        end = 0
        for length in lengths:
            first, end = end, end + length
            (at,) = np.nonzero(token_ids[first:end] == self._separator)
            if len(at):
                types[first + int(at[0]) + 1 : end] = 1
        return types

    def _classify(self, pooled: torch.Tensor) -> torch.Tensor:
        """Return the labels [texts, 1] of pooled rows, by the head of the model's class."""
        model = self._model
        pooler = getattr(self._base, "pooler", None)
        if pooler is not None:  # BERT's
            return model.classifier(pooler(pooled[:, None]))  # type: ignore[no-any-return]
        if hasattr(model, "head"):  # ModernBERT's
            return model.classifier(model.head(pooled))  # type: ignore[no-any-return]
        return model.classifier(pooled[:, None])  # type: ignore[no-any-return]


def load_encoder(config: EngineConfig) -> tuple[Encoder, LoadedModel]:
    """Load the encoder that the config names.

    Raises `ModelUnsupported`, `NotEnoughMemory` or `ConfigError`.
    """
    set_threads(config.threads)
    folder = open_folder(config.source)
    if config.quantization is not None or config.lora or config.exact:
        raise ConfigError(
            "encoders run as they are, without --quantization, --lora and --exact; omit it",
            param="quantization",
        )
    device = resolve_device(config.device)
    dtype = resolve_dtype(config.dtype, folder.checkpoint, None, device)
    weights = folder.checkpoint.num_parameters * dtype.itemsize
    if weights > free_bytes(device):
        raise NotEnoughMemory(
            f"the model does not fit: its weights take {format_size(weights)} of "
            f"{format_size(free_bytes(device))} free; use a smaller model or free some memory"
        )
    fields = encoder_config(folder.config)
    model = _build(folder.path, folder.architecture, dtype, fields).to(device)
    encoder = Encoder(model, fields, folder.path)
    limit = _longest(folder.path, fields)
    wanted = config.max_model_len
    if wanted is not None and wanted > limit:
        raise ConfigError(
            f"max_model_len is {wanted}, but the model's context length is {limit} tokens; lower "
            "max_model_len",
            param="max_model_len",
        )
    context_len = wanted or limit
    num_slots = config.num_slots or max(_SLOTS, 4 * context_len)
    hf = model.config
    metadata = ModelMetadata(
        architecture=folder.architecture,
        dtype=name_of(dtype),
        kv_dtype=name_of(dtype),
        quantization=None,
        sizes=ModelSizes(
            hidden=hf.hidden_size,
            inner=getattr(hf, "intermediate_size", None) or hf.hidden_dim,
            head=hf.hidden_size // hf.num_attention_heads,
            num_heads=hf.num_attention_heads,
            vocab=hf.vocab_size,
        ),
        specs=(),
        context_len=context_len,
        kv_bytes_per_token=0,
        planned_weight_bytes=weights,
        weight_bytes=sum(each.nbytes for each in model.parameters()),
        num_parameters=sum(each.numel() for each in model.parameters()),
        eos_token_ids=(),
        default_sampling={},
    )
    loaded = LoadedModel(
        model=model,
        path=folder.path,
        metadata=metadata,
        device=device,
        max_model_len=min(context_len, num_slots),
        num_slots=num_slots,
        memory_bytes=weights,
    )
    return encoder, loaded


def _build_dense(step: DenseStep, dtype: torch.dtype, device: torch.device) -> torch.nn.Module:
    """Return a linear layer and its activation. Raises `ModelUnsupported` for other weights."""
    file = step.folder / "model.safetensors"
    linear = torch.nn.Linear(step.num_inputs, step.num_outputs, bias=step.has_bias)
    try:
        stored = load_file(file)
        linear.load_state_dict({n.removeprefix("linear."): each for n, each in stored.items()})
    except (OSError, RuntimeError, SafetensorError) as error:
        raise ModelUnsupported(
            f"{file} does not fit its config.json: {first_line(error)}; download it again",
            code="model_damaged",
        ) from None
    activation = torch.nn.Tanh() if step.activation == "Tanh" else torch.nn.Identity()
    return torch.nn.Sequential(linear, activation).to(device, dtype).requires_grad_(False)


def _build(path: Path, architecture: str, dtype: torch.dtype, fields: dict[str, Any]) -> Any:
    """Build a model with the fields of its config."""
    import transformers
    from transformers import AttentionInterface

    report("reading weights")
    AttentionInterface.register(IMPLEMENTATION, attend)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    model_class = getattr(transformers, architecture)
    try:
        model, found = model_class.from_pretrained(
            path,
            config=model_class.config_class.from_dict(fields),
            dtype=dtype,
            attn_implementation=IMPLEMENTATION,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:  # shapes, names, conversions: errors of many types
        raise ModelUnsupported(
            f"the weights in {path} do not fit {architecture}: {first_line(error)}",
            code="model_damaged",
        ) from error
    # Vectors are pooled from the last layer's rows: a missing pooler is not used.
    missing = [name for name in sorted(found["missing_keys"]) if not name.startswith("pooler.")]
    if missing:
        raise ModelUnsupported(
            f"the weights in {path} lack {len(missing)} tensors of {architecture}, such as "
            f"{missing[0]}; download it again",
            code="model_damaged",
        )
    if model.config.model_type == "mpnet":
        pack_biased(model.base_model)
    return model.eval().requires_grad_(False)


def _longest(folder: Path, config: dict[str, Any]) -> int:
    """Return the longest text in tokens: as sentence-transformers cuts it, or all positions."""
    limit = int(config.get("max_position_embeddings") or 512) - first_position(config)
    settings = folder / "sentence_bert_config.json"
    stated = read_json(settings).get("max_seq_length") if settings.is_file() else None
    return min(limit, stated) if isinstance(stated, int) and stated > 0 else limit
