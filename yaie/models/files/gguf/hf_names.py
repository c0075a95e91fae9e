"""transformers' names of the tensors of a GGUF file. Torch-free."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from yaie.base.errors import ModelUnsupported
from yaie.models.files.gguf.families import find_family
from yaie.models.files.gguf.family import Family, Tensors
from yaie.models.files.gguf.gguf_settings import HOW_TO_HELP, GgufSettings
from yaie.models.files.gguf.header import GgufFile, GgufTensor
from yaie.models.files.gguf.rope_tables import FACTORS, FREQUENCIES
from yaie.models.files.gguf.tensor_forms import (
    FORMS,
    FORMS_OF_DELTA_NETS,
    ONE_HEAD,
    Form,
    Heads,
    Shape,
    Source,
)
from yaie.models.files.gguf.tensor_kinds import KINDS

_IN_BLOCK = re.compile(r"blk\.(\d+)\.")
_IN_THE_CONFIG = {FREQUENCIES, *FACTORS}
_OF_IMAGES = ("v.", "mm.", "a.")  # encoders of images and audio, in one file with the text
_MATRIX = 2  # dimensions
_QKV, _PARTS_OF_QKV = "attn_qkv", ("attn_q", "attn_k", "attn_v")


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """A tensor of the model, as transformers names it, and the stored tensors that make it."""

    name: str
    shape: Shape
    sources: tuple[GgufTensor, ...]
    form_name: str = "plain"
    heads: Heads = ONE_HEAD  # for forms that depend on them

    @property
    def form(self) -> Form:
        """The form in which the stored tensors lie in it."""
        return FORMS[self.form_name]

    @property
    def stored(self) -> GgufTensor:
        """The first stored tensor."""
        return self.sources[0]

    @property
    def kind(self) -> str:
        """The kind of the stored tensors; BF16 if they differ, as which they are decoded."""
        kinds = {source.kind for source in self.sources}
        return kinds.pop() if len(kinds) == 1 else "BF16"

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return sum(source.nbytes for source in self.sources)


def name_tensors(file: GgufFile, config: Mapping[str, Any]) -> dict[str, NamedTensor]:
    """Return the tensors of a file by transformers' names; `config` is the file's.

    Raises `ModelUnsupported` for a tensor without a meaning in the model.
    """
    settings = GgufSettings(file)
    naming = _Naming(file, find_family(settings), config)
    named = {tensor.name: tensor for tensor in naming.tensors()}
    count = config["num_hidden_layers"]
    further = settings.size("block_count")
    for name in file.tensors.keys() - naming.used - _IN_THE_CONFIG:
        found = _IN_BLOCK.match(name)
        if name.startswith(_OF_IMAGES):
            continue
        if found is None or not count <= int(found[1]) < further:
            raise ModelUnsupported(
                f"{file.path} holds {name[:80]!r}, a tensor that models of its architecture "
                f"lack; {HOW_TO_HELP}"
            )
    return named


class _Naming:
    """The tensors of a file, and those that have a name already."""

    def __init__(self, file: GgufFile, family: Family, config: Mapping[str, Any]) -> None:
        self._file = file
        self._family = family
        self._config = config
        self.used: set[str] = set()

    def tensors(self) -> Iterator[NamedTensor]:
        """Yield the model's tensors that the file holds."""
        for name, given in self._family.outside.items():
            yield from self._named(name, given, "")
        for layer in range(self._config["num_hidden_layers"]):
            for name, given in self._tensors_of(layer).items():
                yield from self._named(f"model.layers.{layer}.{name}", given, f"blk.{layer}.")

    def _tensors_of(self, layer: int) -> Tensors:
        family = self._family
        if not family.by_kind:
            return family.tensors
        return {**family.tensors, **family.by_kind[self._config[family.kinds][layer]]}

    def _named(self, name: str, given: str | Source, block: str) -> Iterator[NamedTensor]:
        """Yield a tensor of the model, or the weight and the bias of a module."""
        source = given if isinstance(given, Source) else Source((given,))
        if source.is_whole_name or any("." in each for each in source.names):
            yield from self._bare(name, source, block)
            return
        for end in (".weight", ".bias"):
            names = tuple(each + end for each in source.names)
            whole = source.whole and source.whole + end
            yield from self._bare(name + end, replace(source, names=names, whole=whole), block)

    def _bare(self, name: str, source: Source, block: str) -> Iterator[NamedTensor]:
        if source.whole and block + source.names[0] not in self._file.tensors:
            source = Source((source.whole,))
        found = [self._stored(block, each) for each in source.names]
        stored = tuple(each for each in found if each is not None)
        if len(stored) < len(found):
            return  # the loader names tensors that are missing
        if "{}" in name:  # one tensor for each index
            count, *shape = stored[0].shape
            if len(shape) != _MATRIX:
                raise self._damaged(stored[0])
            for index in range(count):
                part = _part(stored[0], index * shape[0], shape[0], tuple(shape))
                yield NamedTensor(name.format(index), part.shape, (part,))
            return
        yield self._formed(name, source, stored)

    def _formed(self, name: str, source: Source, stored: tuple[GgufTensor, ...]) -> NamedTensor:
        form_name, heads = source.form, self._heads(source.form, stored[0])
        whole, form = stored[0], FORMS[form_name]
        if form.with_equal_heads and heads.each == 1:
            form_name, form = form.with_equal_heads, FORMS[form.with_equal_heads]
        try:
            if form.parts is not None:
                stored = (*_split(whole, form.parts(whole.shape, heads)), *stored[1:])
            if any(each.shape[0] % form.multiple(heads) for each in stored):
                raise ValueError
            shape = form.shape([each.shape for each in stored], heads)
        except (IndexError, ValueError, ZeroDivisionError):
            raise self._damaged(whole, heads) from None
        return NamedTensor(name, shape, stored, form_name, heads)

    def _damaged(self, tensor: GgufTensor, heads: Heads | None = None) -> ModelUnsupported:
        of_heads = "" if heads is None else f" for {heads.count} heads"
        return ModelUnsupported(
            f"{self._file.path} is damaged: {tensor.name} has the shape {tensor.shape}{of_heads}; "
            f"download it again",
            code="model_damaged",
        )

    def _heads(self, form: str, stored: GgufTensor) -> Heads:
        config = self._config
        if form in FORMS_OF_DELTA_NETS:
            return Heads(
                config["linear_num_value_heads"],
                config["linear_value_head_dim"],
                config["linear_num_key_heads"],
            )
        is_key = "attn_k." in stored.name
        return Heads(int(config["num_key_value_heads" if is_key else "num_attention_heads"]))

    def _stored(self, block: str, name: str) -> GgufTensor | None:
        """Return a stored tensor, from within a joined one if need be, and mark it as used."""
        part, _, end = name.partition(".")
        if block + name not in self._file.tensors and part in _PARTS_OF_QKV:
            whole = self._file.tensors.get(f"{block}{_QKV}.{end}")
            return None if whole is None else self._projection(whole, _PARTS_OF_QKV.index(part))
        self.used.add(block + name)
        return self._file.tensors.get(block + name)

    def _projection(self, whole: GgufTensor, place: int) -> GgufTensor:
        """Return the queries, keys or values of a tensor that holds all three."""
        self.used.add(whole.name)
        if len(whole.shape) > _MATRIX:
            raise self._damaged(whole)
        heads, width = self._config["num_attention_heads"], self._config["head_dim"]
        other = self._config["num_key_value_heads"] * width
        rows = [whole.shape[0] - 2 * other, other, other]
        # Gated attention has queries and gates.
        if rows[0] not in (heads * width, 2 * heads * width):
            raise ModelUnsupported(
                f"{self._file.path} is damaged: {whole.name} has {whole.shape[0]} rows instead of "
                f"{heads * width + 2 * other}; download it again",
                code="model_damaged",
            )
        shape = (rows[place], *whole.shape[1:])
        return replace(
            _part(whole, sum(rows[:place]), rows[place], shape),
            name=whole.name.replace(_QKV, _PARTS_OF_QKV[place]),
        )


def _split(whole: GgufTensor, counts: Sequence[int]) -> Iterator[GgufTensor]:
    """Yield parts of a stored tensor with these numbers of rows."""
    first = 0
    for count in counts:
        if count <= 0:
            raise ValueError
        yield _part(whole, first, count, (count, *whole.shape[1:]))
        first += count


def _part(whole: GgufTensor, first: int, count: int, shape: Shape) -> GgufTensor:
    """Return rows of a stored tensor as a stored tensor; a row is its last dimension.

    Raises `ValueError` for a shape of other rows.
    """
    columns = whole.shape[-1] if len(shape) > 1 else 1
    kind = KINDS[whole.kind]
    nbytes = columns * kind.nbytes // kind.num_values
    if prod(shape) != count * columns:
        raise ValueError
    return replace(whole, shape=shape, first_byte=whole.first_byte + first * nbytes)
