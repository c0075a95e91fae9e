"""Forms: how stored tensors lie in a tensor of the model. Torch-free.

A form divides the model's tensor into views, one for each stored tensor, in the stored shape. So a
stored row is decoded straight to its place, whether tensors are joined, transposed or reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A form. `heads` is the number of heads, for forms that depend on it."""

    shape: Callable[[Sequence[Shape], int], Shape]  # of the model's tensor, by the stored shapes
    views: Callable[[Any, Sequence[Shape], int], Sequence[Any]]  # of an array of that shape
    num_sources: int | None = 1  # None: any
    added: float = 0.0  # to each stored value, by llama.cpp's converter


@dataclass(frozen=True, slots=True)
class Source:
    """Stored tensors that make one tensor of the model.

    A name without a dot stands for a layer's weight and bias; with one, for the tensor alone.
    """

    names: tuple[str, ...]
    form: str = "plain"
    whole: str = ""  # name of the tensor itself, in files that hold it instead


def _same(shapes: Sequence[Shape], _: int) -> Shape:
    return shapes[0]


def _whole(array: Any, _: Sequence[Shape], __: int) -> Sequence[Any]:
    return (array,)


def _halves(array: Any, shapes: Sequence[Shape], heads: int) -> Sequence[Any]:
    """llama.cpp rotates neighbouring rows of a head, transformers those half a head apart."""
    return (array.reshape(heads, 2, -1, *shapes[0][1:]).swapaxes(1, 2),)


def _joined_shape(axis: int) -> Callable[[Sequence[Shape], int], Shape]:
    def shape(shapes: Sequence[Shape], _: int) -> Shape:
        first = shapes[0]
        return (*first[:axis], sum(each[axis] for each in shapes), *first[axis + 1 :])

    return shape


def _joined_views(axis: int) -> Callable[[Any, Sequence[Shape], int], Sequence[Any]]:
    def views(array: Any, shapes: Sequence[Shape], _: int) -> Sequence[Any]:
        ends = [sum(each[axis] for each in shapes[:count]) for count in range(len(shapes) + 1)]
        before = (slice(None),) * axis
        return [array[(*before, slice(begin, end))] for begin, end in pairwise(ends)]

    return views


def _interleaved_shape(shapes: Sequence[Shape], _: int) -> Shape:
    experts, inner, *hidden = shapes[0]
    return (experts, *hidden, 2 * inner)


def _interleaved(array: Any, shapes: Sequence[Shape], _: int) -> Sequence[Any]:
    """Experts [E, H, 2I] whose gates and values alternate; stored [E, I, H], or biases [E, I]."""
    pairs = array.reshape(*array.shape[:-1], shapes[0][1], 2)
    parts = [pairs[..., 0], pairs[..., 1]]
    return parts if len(shapes[0]) == 2 else [part.swapaxes(1, 2) for part in parts]


def _swapped_shape(shapes: Sequence[Shape], _: int) -> Shape:
    *before, rows, columns = shapes[0]
    return (*before, columns, rows)


def _swapped(array: Any, _: Sequence[Shape], __: int) -> Sequence[Any]:
    return (array.swapaxes(-1, -2),)


def _latent_shape(shapes: Sequence[Shape], _: int) -> Shape:
    (heads, rank, keys), (_, values, _) = shapes
    return (heads * (keys + values), rank)


def _latent(array: Any, shapes: Sequence[Shape], _: int) -> Sequence[Any]:
    """Latent attention: keys [heads, rank, width], transposed, and values [heads, width, rank]."""
    heads, rank, keys = shapes[0]
    by_head = array.reshape(heads, -1, rank)
    return (by_head[:, :keys].swapaxes(1, 2), by_head[:, keys:])


def _thirds(array: Any, shapes: Sequence[Shape], heads: int) -> Sequence[Any]:
    """Queries, keys and values by head in the model, one after the other in the file."""
    return (array.reshape(heads, 3, -1, *shapes[0][1:]).swapaxes(0, 1),)


def _flat_shape(shapes: Sequence[Shape], _: int) -> Shape:
    return (1, shapes[0][-1])


FORMS = {
    "plain": Form(_same, _whole),
    "permuted": Form(_same, _halves),
    "one more": Form(_same, _whole, added=1.0),
    "joined": Form(_joined_shape(0), _joined_views(0), None),
    "joined experts": Form(_joined_shape(1), _joined_views(1), None),
    "interleaved": Form(_interleaved_shape, _interleaved, 2),
    "transposed": Form(_swapped_shape, _swapped),
    "latent": Form(_latent_shape, _latent, 2),
    "thirds": Form(_same, _thirds),
    "row": Form(_flat_shape, _whole),
}
# Forms of matrices that move whole rows, and change none.
FORMS_OF_ROWS = ("plain", "permuted", "joined", "thirds")
