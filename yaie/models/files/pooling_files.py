"""Pooling files: what sentence-transformers stores next to an embedding model. Torch-free.

`modules.json` lists the steps after the tokenizer: the model, a pooling, and mostly a
normalization. `config_sentence_transformers.json` has the prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

from yaie.base.embedding_info import EmbeddingInfo, Pooling
from yaie.base.errors import ModelUnsupported
from yaie.base.json_reader import read_json_file
from yaie.models.files.checkpoint import read_config
from yaie.models.files.encoder_classes import find_encoder
from yaie.models.files.ranking_files import MODULES, is_cross_encoder

RowPooling = Literal["cls", "last", "mean"]  # first row, last row, or the mean
DenseActivation = Literal["Identity", "Tanh"]

PROMPTS = "config_sentence_transformers.json"
# Names of the poolings: in the files of today, and as the switches of older files.
_OF_DECODERS: dict[str, RowPooling] = {"lasttoken": "last", "mean": "mean"}
_OF_ENCODERS: dict[str, RowPooling] = {"cls": "cls", "mean": "mean"}
_SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}


def read_embedding(folder: Path, wanted: Pooling | None, size: int) -> EmbeddingInfo | None:
    """Return how a model makes vectors of `size` numbers; None for one that only writes text.

    `wanted`: the pooling that the settings name, for a model whose files name none. Raises
    `ModelUnsupported` for damaged files, and for steps that are not computed here.
    """
    stated, config = (folder / MODULES).is_file(), read_config(folder)
    is_encoder = find_encoder(config) is not None
    if wanted == "score" or is_cross_encoder(folder, config):
        return None
    poolings = _OF_ENCODERS if is_encoder else _OF_DECODERS
    pooling, dense, normalizes = (
        _read_modules(folder, poolings, takes_dense=is_encoder) if stated else (None, (), True)
    )
    if pooling is None and wanted is None and not is_encoder:
        return None
    settings = _read(folder / PROMPTS) if (folder / PROMPTS).is_file() else {}
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(each, str) for each in prompts.values()):
        raise _damage_error(folder / PROMPTS, "its prompts are not texts by name")
    default = settings.get("default_prompt_name")
    # An encoder's last row is the vector of its text.
    chosen = "last" if is_encoder or pooling == "cls" else wanted or pooling
    assert chosen is not None
    return EmbeddingInfo(
        pooling=chosen,
        normalizes=normalizes,
        size=dense[-1].num_outputs if dense else size,
        generates=not stated and not is_encoder,
        prompts=prompts,
        default_prompt=default if isinstance(default, str) and default in prompts else None,
    )


class DenseStep(NamedTuple):
    """A linear layer after the pooling, with its weights in `folder`."""

    folder: Path
    num_inputs: int
    num_outputs: int
    has_bias: bool
    activation: DenseActivation


class EncoderSteps(NamedTuple):
    """Steps from the rows of an encoder to the vector of a text."""

    pooling: RowPooling
    dense: tuple[DenseStep, ...]
    normalizes: bool


def read_encoder_steps(folder: Path) -> EncoderSteps:
    """Return an encoder's steps; the mean, if its files do not say it.

    Raises as `read_embedding`.
    """
    if not (folder / MODULES).is_file():
        return EncoderSteps("mean", (), normalizes=True)
    return _read_modules(folder, _OF_ENCODERS, takes_dense=True)


def _read_modules(
    folder: Path, poolings: Mapping[str, RowPooling], *, takes_dense: bool
) -> EncoderSteps:
    modules = _read(folder / MODULES, list)
    pooling: RowPooling | None = None
    dense: list[DenseStep] = []
    normalizes = False
    for module in modules:
        kind, path = _module(folder, module)
        if kind == "Pooling":
            pooling = _read_pooling(folder / path / "config.json", poolings)
        elif kind == "Normalize":
            normalizes = True
        elif kind == "Dense" and takes_dense and pooling is not None and not normalizes:
            dense.append(_read_dense(folder / path))
        elif kind != "Transformer":
            raise ModelUnsupported(
                f"{folder / MODULES} has a step of type {kind!r}; YAIE computes embeddings by "
                "Transformer, Pooling and Normalize, and with encoders by Dense after the pooling"
            )
    if pooling is None:
        raise _damage_error(folder / MODULES, "it has no step of type Pooling")
    return EncoderSteps(pooling, tuple(dense), normalizes)


def _read_dense(folder: Path) -> DenseStep:
    config = _read(folder / "config.json")
    inputs, outputs = config.get("in_features"), config.get("out_features")
    if not all(type(size) is int and size > 0 for size in (inputs, outputs)):
        raise _damage_error(folder / "config.json", "it has no in_features or out_features")
    function = str(config.get("activation_function") or "Tanh").rpartition(".")[2]
    known = {each.lower(): each for each in get_args(DenseActivation)}
    if function.lower() not in known:
        raise ModelUnsupported(
            f"{folder} has the activation {function}; YAIE computes {' and '.join(known.values())}"
        )
    has_bias = config.get("bias", True) is True
    return DenseStep(folder, inputs, outputs, has_bias=has_bias, activation=known[function.lower()])


def _module(folder: Path, module: Any) -> tuple[str, str]:
    try:
        kind, path = str(module["type"]).rpartition(".")[2], str(module.get("path") or "")
    except (TypeError, KeyError, AttributeError):
        raise _damage_error(folder / MODULES, "a step has no type") from None
    inner = PurePosixPath(path)
    if inner.is_absolute() or ".." in inner.parts or "\\" in path:
        raise _damage_error(folder / MODULES, f"it names {path[:80]}, which is outside the folder")
    return kind, path


def _read_pooling(path: Path, poolings: Mapping[str, RowPooling]) -> RowPooling:
    config = _read(path)
    stated = config.get("pooling_mode")
    modes = [stated] if isinstance(stated, str) else stated
    if not isinstance(modes, list):
        modes = [mode for name, mode in _SWITCHES.items() if config.get(name)]
    if len(modes) != 1 or not isinstance(modes[0], str) or modes[0] not in poolings:
        shown = " + ".join(map(str, modes)) or "none"
        raise ModelUnsupported(
            f"{path} names the pooling {shown}; YAIE pools by {' or '.join(poolings)}"
        )
    if modes == ["mean"] and config.get("include_prompt") is False:
        raise ModelUnsupported(
            f"{path} leaves the prompt out of the mean (include_prompt: false), which is not "
            "supported"
        )
    return poolings[modes[0]]


def _read(path: Path, kind: type[Any] = dict) -> Any:
    try:
        value = read_json_file(path)
    except (OSError, ValueError) as error:
        raise _damage_error(path, f"it is not readable JSON ({error})") from None
    if not isinstance(value, kind):
        raise _damage_error(path, f"it is not a JSON {'list' if kind is list else 'object'}")
    return value


def _damage_error(path: Path, why: str) -> ModelUnsupported:
    return ModelUnsupported(f"{path} is damaged: {why}; download it again", code="model_damaged")
