"""Forms: how stored tensors lie in a tensor of the model. Torch-free.

A form divides the model's tensor into views, one for each stored tensor, in the stored shape. So a
stored row is decoded straight to its place, whether tensors are joined, transposed or reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of a tensor. `width` and `num_key_heads` are known for gated delta nets only."""

    count: int
    width: int = 0
    num_key_heads: int = 1  # each serves neighbouring heads

    @property
    def each(self) -> int:
        """The heads that a key head serves."""
        return self.count // self.num_key_heads


ONE_HEAD = Heads(1)


@dataclass(frozen=True, slots=True)
class Form:
    """A form. `heads` are the heads of the tensor, for forms that depend on them."""

    shape: Callable[[Sequence[Shape], Heads], Shape]  # of the model's tensor, by the stored shapes
    views: Callable[[Any, Sequence[Shape], Heads], Sequence[Any]]  # of an array of that shape
    restore: Callable[[Any], Any] | None = None  # the model's values from the stored ones
    # Rows of each part of the first stored tensor, which stands for several; None: it is one.
    parts: Callable[[Shape, Heads], Sequence[int]] | None = None
    multiple: Callable[[Heads], int] = lambda heads: 1  # of the rows of each stored tensor
    with_equal_heads: str = ""  # the form if each head has its own key head


@dataclass(frozen=True, slots=True)
class Source:
    """Stored tensors that make one tensor of the model.

    A name without a dot stands for a layer's weight and bias, unless it `is_whole_name`; with a
    dot, for the tensor alone.
    """

    names: tuple[str, ...]
    form: str = "plain"
    whole: str = ""  # name of the tensor itself, in files that hold it instead
    is_whole_name: bool = False


def _same(shapes: Sequence[Shape], _: Heads) -> Shape:
    return shapes[0]


def _whole(array: Any, _: Sequence[Shape], __: Heads) -> Sequence[Any]:
    return (array,)


def _halves(array: Any, shapes: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    """llama.cpp rotates neighbouring rows of a head, transformers those half a head apart."""
    return (array.reshape(heads.count, 2, -1, *shapes[0][1:]).swapaxes(1, 2),)


def _joined_shape(axis: int) -> Callable[[Sequence[Shape], Heads], Shape]:
    def shape(shapes: Sequence[Shape], _: Heads) -> Shape:
        first = shapes[0]
        return (*first[:axis], sum(each[axis] for each in shapes), *first[axis + 1 :])

    return shape


def _joined_views(axis: int) -> Callable[[Any, Sequence[Shape], Heads], Sequence[Any]]:
    def views(array: Any, shapes: Sequence[Shape], _: Heads) -> Sequence[Any]:
        ends = [sum(each[axis] for each in shapes[:count]) for count in range(len(shapes) + 1)]
        before = (slice(None),) * axis
        return [array[(*before, slice(begin, end))] for begin, end in pairwise(ends)]

    return views


def _interleaved_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    experts, inner, *hidden = shapes[0]
    return (experts, *hidden, 2 * inner)


def _interleaved(array: Any, shapes: Sequence[Shape], _: Heads) -> Sequence[Any]:
    """Experts [E, H, 2I] whose gates and values alternate; stored [E, I, H], or biases [E, I]."""
    pairs = array.reshape(*array.shape[:-1], shapes[0][1], 2)
    parts = [pairs[..., 0], pairs[..., 1]]
    return parts if len(shapes[0]) == 2 else [part.swapaxes(1, 2) for part in parts]


def _swapped_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    *before, rows, columns = shapes[0]
    return (*before, columns, rows)


def _swapped(array: Any, _: Sequence[Shape], __: Heads) -> Sequence[Any]:
    return (array.swapaxes(-1, -2),)


def _latent_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    (heads, rank, keys), values = shapes[0], shapes[1][1]
    return (heads * (keys + values), rank)


def _latent(array: Any, shapes: Sequence[Shape], _: Heads) -> Sequence[Any]:
    """Latent attention: keys [heads, rank, width], transposed, and values [heads, width, rank]."""
    heads, rank, keys = shapes[0]
    by_head = array.reshape(heads, -1, rank)
    return (by_head[:, :keys].swapaxes(1, 2), by_head[:, keys:])


def _thirds(array: Any, shapes: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    """Queries, keys and values by head in the model, one after the other in the file."""
    return (array.reshape(heads.count, 3, -1, *shapes[0][1:]).swapaxes(0, 1),)


def _flat_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    return (1, shapes[0][-1])


def _flattened_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    return (prod(shapes[0]),)


def _flattened(array: Any, shapes: Sequence[Shape], _: Heads) -> Sequence[Any]:
    return (array.reshape(shapes[0]),)


def _taps_shape(shapes: Sequence[Shape], _: Heads) -> Shape:
    (*_rows, taps) = shapes[0]
    return (sum(each[0] for each in shapes), 1, taps)


def _taps(array: Any, _: Sequence[Shape], __: Heads) -> Sequence[Any]:
    """A convolution of each channel: weights [channels, 1, taps]."""
    return (array[:, 0],)


# Gated delta nets. A model has a key head's value heads side by side; llama.cpp has the first value
# head of each key head, then the second: tiles of heads.


def _tiled(array: Any, _: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    by_head = array.reshape(heads.num_key_heads, heads.each, -1, *array.shape[1:])
    return (by_head.swapaxes(0, 1),)


def _tiled_columns(array: Any, _: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    return (array.reshape(len(array), heads.num_key_heads, heads.each, -1).swapaxes(1, 2),)


def _keys_and_values(shape: Shape, heads: Heads) -> Sequence[int]:
    """Rows of queries and keys, and of values."""
    return shape[0] - heads.count * heads.width, heads.count * heads.width


def _tiled_tail(array: Any, shapes: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    keys = shapes[0][0]
    return (array[:keys], *_tiled(array[keys:], shapes, heads))


def _tiled_taps(array: Any, shapes: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    return _tiled_tail(array[:, 0], shapes, heads)


def _three_parts(shape: Shape, heads: Heads) -> Sequence[int]:
    """Rows of queries, of keys and of values."""
    keys, values = _keys_and_values(shape, heads)
    return keys // 2, keys - keys // 2, values


def _by_key_head(array: Any, shapes: Sequence[Shape], heads: Heads) -> Sequence[Any]:
    """Parts whose rows of one key head lie side by side in the model."""
    count = heads.num_key_heads
    rows = [shape[0] // count for shape in shapes]
    by_head = array.reshape(count, sum(rows), *array.shape[1:])
    ends = [sum(rows[:number]) for number in range(len(rows) + 1)]
    return [by_head[:, begin:end] for begin, end in pairwise(ends)]


def _logarithms(rates: Any) -> Any:
    """Files hold the negative exponentials. A damaged rate has no logarithm, which is refused."""
    with np.errstate(all="ignore"):
        return np.log(-rates.astype(np.float64)).astype(np.float32)


def _heads(heads: Heads) -> int:
    return heads.count


def _pairs(heads: Heads) -> int:
    return 2 * heads.count


FORMS = {
    "plain": Form(_same, _whole),
    "permuted": Form(_same, _halves, multiple=_pairs),
    "one more": Form(_same, _whole, restore=lambda values: values - np.float32(1)),
    "joined": Form(_joined_shape(0), _joined_views(0)),
    "joined experts": Form(_joined_shape(1), _joined_views(1)),
    "interleaved": Form(_interleaved_shape, _interleaved),
    "transposed": Form(_swapped_shape, _swapped),
    "latent": Form(_latent_shape, _latent),
    "thirds": Form(_same, _thirds, multiple=_pairs),
    "row": Form(_flat_shape, _whole),
    "flattened": Form(_flattened_shape, _flattened),
    "taps": Form(_taps_shape, _taps),
    "rates": Form(_flattened_shape, _flattened, restore=_logarithms),
    "tiled": Form(_same, _tiled, multiple=_heads, with_equal_heads="plain"),
    "tiled rates": Form(_same, _tiled, restore=_logarithms, multiple=_heads),
    "tiled columns": Form(_same, _tiled_columns, with_equal_heads="plain"),
    "tiled tail": Form(
        _joined_shape(0), _tiled_tail, parts=_keys_and_values, with_equal_heads="plain"
    ),
    "tiled taps": Form(_taps_shape, _tiled_taps, parts=_keys_and_values, with_equal_heads="taps"),
    "by key head": Form(
        _joined_shape(0), _by_key_head, parts=_three_parts, multiple=lambda each: each.num_key_heads
    ),
}
FORMS_OF_DELTA_NETS = tuple(name for name in FORMS if name.startswith(("tiled", "by key head")))
FORM_OF_COLUMNS = "tiled columns"
# Forms of matrices that keep each stored row.
FORMS_OF_ROWS = (
    *("plain", "permuted", "joined", "thirds", "tiled", "tiled tail", "by key head"),
    FORM_OF_COLUMNS,
)
