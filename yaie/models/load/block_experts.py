"""Block experts: a module's joined experts, read from the blocks of a GGUF file one at a time.

A file stacks the gates, the values and the outputs of all experts in three tensors, and each expert
is a run of whole rows in them. So a row keeps its blocks wherever the model's class puts it.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch
from torch import nn

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.moe import experts_of
from yaie.models.files.checkpoint import DTYPES, StoredTensor
from yaie.models.files.gguf.header import GgufTensor, read_model
from yaie.models.files.gguf.hf_config import read_gguf_config
from yaie.models.files.gguf.hf_names import NamedTensor, name_tensors
from yaie.models.load.expert_parameters import rounded_nbytes
from yaie.models.load.expert_tensors import WEIGHTS, ExpertSource, gather
from yaie.models.load.unmapped_tensors import UnmappedTensors
from yaie.models.native.packed_experts import ExpertsLayout, UnknownExperts, read_layout
from yaie.models.quantization.block_layout import HELD_AS, held_kind, held_nbytes
from yaie.models.quantization.block_weights import BlockWeight, decode_rows, encode_rows

_PLAIN = torch.bfloat16  # of experts that are in blocks in part
_UNKNOWN = "its experts are stored in another way"
_FILES = UnmappedTensors()

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class BlockParameter:
    """A parameter of experts that a GGUF file stores."""

    tensor: NamedTensor
    order: torch.Tensor | None  # of an expert's stored rows or numbers; None: as they are
    held_as: str | None  # kind of the blocks; None: plain numbers
    is_rounded: bool  # read as numbers, to be rounded again

    @property
    def names(self) -> set[str]:
        """The checkpoint's name of the tensor."""
        return {self.tensor.name}

    @property
    def kind(self) -> str | None:
        """The type of the weights in memory; None if they are rounded."""
        return None if self.is_rounded else self.held_as or "BF16"

    def nbytes(self, kind: str | None) -> int:
        """Return the bytes of all experts; `kind`: of weights that are rounded."""
        if self.is_rounded:
            assert kind is not None
            matrices = (source.shape for source in self.tensor.sources)
            return sum(each[0] * rounded_nbytes(each[1], each[2], kind) for each in matrices)
        if self.held_as is None:
            return prod(self.tensor.shape) * _PLAIN.itemsize
        return held_nbytes(self.held_as, prod(self.tensor.shape))

    def read(self, index: int) -> BlockWeight | torch.Tensor:
        """Return one expert's weights [outputs, inputs] or bias [outputs], gates first.

        Raises `ModelUnsupported` for a file that has become shorter, and for numbers that are not
        finite.
        """
        sources = self.tensor.sources
        stored = [(source.kind, _FILES.read(_expert_of(source, index))) for source in sources]
        if self.is_rounded or self.held_as is None:
            decoded = [decode_rows(kind, rows) for kind, rows in stored]
            is_bias = len(self.tensor.shape) == 2
            wide = torch.cat([each.flatten() if is_bias else each for each in decoded])
            if not bool(torch.isfinite(wide.sum())):
                raise ModelUnsupported(
                    f"{sources[0].path} is damaged: {sources[0].name} contains non-finite numbers "
                    f"for expert {index}; download it again",
                    code="model_damaged",
                )
            wide = wide if self.order is None else wide[self.order]
            return wide if self.is_rounded or is_bias else wide.to(_PLAIN)
        blocks = [
            rows if kind == self.held_as else encode_rows(self.held_as, decode_rows(kind, rows))
            for kind, rows in stored
        ]
        rows = blocks[0] if len(blocks) == 1 else torch.cat(blocks)
        return BlockWeight(self.held_as, rows if self.order is None else rows[self.order])


def find_block_experts(model: nn.Module, path: Path, *, rounds: bool) -> list[ExpertSource]:
    """Return the experts in blocks of a GGUF file, for a model on the meta device.

    rounds: all weights are rounded, plain ones too; otherwise modules of plain experts are not
    packed. Raises `UnknownExperts` if no module can be.
    """
    file = read_model(path)
    named = name_tensors(file, read_gguf_config(file))

    def make(name: str, module: nn.Module) -> ExpertSource | None:
        tensors = {part: named.get(f"{name}.{part}") for part, _ in module.named_parameters()}
        found = {part: each for part, each in tensors.items() if each is not None}
        layout = read_layout(module)
        if len(found) < len(tensors):
            raise UnknownExperts(_UNKNOWN)
        kinds = {source.kind for part in WEIGHTS for source in found[part].sources}
        if not rounds and kinds <= DTYPES.keys():
            return None
        return ExpertSource(
            name,
            layout,
            {
                part: _parameter(layout, part, each, module.get_parameter(part), rounds=rounds)
                for part, each in found.items()
            },
        )

    experts = gather(experts_of(model), make)
    _log_changed(experts)
    return experts


def _parameter(
    layout: ExpertsLayout, part: str, tensor: NamedTensor, like: torch.Tensor, *, rounds: bool
) -> BlockParameter:
    if tensor.shape != tuple(like.shape) or tensor.form.restore is not None:
        raise UnknownExperts(_UNKNOWN)
    try:
        order = _order_of(layout, tensor, is_gated=part.startswith("gate_up"))
    except (IndexError, RuntimeError, ValueError) as error:
        raise UnknownExperts(_UNKNOWN) from error
    is_weight = part in WEIGHTS
    held_as = _common_kind(tensor.sources) if is_weight else None
    return BlockParameter(tensor, order, held_as, rounds and is_weight)


def _common_kind(sources: tuple[GgufTensor, ...]) -> str | None:
    """Return the kind that holds all sources; None: plain numbers."""
    kinds = {held_kind(source.kind) for source in sources}
    if None in kinds:
        return None
    return kinds.pop() if len(kinds) == 1 else HELD_AS


def _order_of(layout: ExpertsLayout, tensor: NamedTensor, *, is_gated: bool) -> torch.Tensor | None:
    """Return the order of an expert's stored rows, by placing numbers instead of weights.

    Raises `UnknownExperts` for forms that do not keep rows.
    """
    is_bias = len(tensor.shape) == 2
    narrow = [(1, source.shape[1], *(() if is_bias else (2,))) for source in tensor.sources]
    counts = [prod(each) for each in narrow]
    whole = torch.full(tensor.form.shape(narrow, tensor.heads), -1).numpy()
    views = tensor.form.views(whole, narrow, tensor.heads)
    numbers = torch.arange(sum(counts))
    for view, part in zip(views, torch.split(numbers, counts), strict=True):
        view[...] = part.numpy().reshape(view.shape)
    joined = layout.matrix(torch.from_numpy(whole[0]), is_gated=is_gated)
    by_row = numbers if is_bias else numbers.view(-1, 2)
    order = joined if is_bias else joined[:, 0] // 2
    if not torch.equal(joined, by_row[order]):
        raise UnknownExperts(_UNKNOWN)
    return None if torch.equal(joined, by_row) else order


def _expert_of(source: GgufTensor, index: int) -> StoredTensor:
    """Return an expert's rows of a stored tensor, as bytes."""
    rows = source.shape[1] if len(source.shape) == 3 else 1
    nbytes = source.nbytes // source.shape[0]
    first = source.first_byte + index * nbytes
    return StoredTensor(source.path, source.name, "U8", (rows, nbytes // rows), first)


def _log_changed(experts: list[ExpertSource]) -> None:
    """Log the tensors that are held in another kind than the file's."""
    parameters = [each for found in experts for each in found.parameters.values()]
    changed = Counter(
        (source.kind, each.kind)
        for each in parameters
        if isinstance(each, BlockParameter) and each.held_as is not None and not each.is_rounded
        for source in each.tensor.sources
        if source.kind != each.held_as
    )
    for (stored, held), count in changed.items():
        log.info("%d tensors of experts in %s are held in %s", count, stored, held)
