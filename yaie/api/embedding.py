"""`Embeddings`: vectors of texts, and the forms in which texts are given. It imports no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from yaie.base.errors import InvalidRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Texts = str | Sequence[int] | Sequence[str | Sequence[int]]  # one text or several; ids stay ids


class Embeddings(NamedTuple):
    """Vectors of texts, and the token counts of their call."""

    vectors: NDArray[np.float32]  # [texts, numbers]
    prompt_tokens: int
    cached_tokens: int  # prompt tokens that were not computed for this call


def stack(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return vectors as one array [texts, numbers]; [0, 0] without any."""
    import numpy as np

    return np.stack(rows) if len(rows) else np.empty((0, 0), dtype=np.float32)


def join(parts: Sequence[Embeddings]) -> Embeddings:
    """Return the vectors of successive parts of a list as one."""
    return Embeddings(
        stack([vector for part in parts for vector in part.vectors]),
        sum(part.prompt_tokens for part in parts),
        sum(part.cached_tokens for part in parts),
    )


def is_list_of_ids(value: object) -> bool:
    """Return True for a non-empty list of token ids, by its first entry."""
    return isinstance(value, Sequence) and bool(value) and type(value[0]) is int


def list_texts(texts: Any) -> list[Any]:
    """Return one text, or one list of token ids, as a list. Raises `InvalidRequest`."""
    if isinstance(texts, str) or is_list_of_ids(texts):
        return [texts]
    if not isinstance(texts, Sequence):
        raise InvalidRequest(
            "texts must be a string, or a list of strings or of lists of token ids, "
            f"not {type(texts).__name__}",
            param="texts",
        )
    return list(texts)
