"""Lists of token ids in bodies, checked against a model's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from yaie.base.errors import InvalidRequest

_INT64 = 2**63


def checked_ids(ids: Sequence[int] | None, param: str, vocab_size: int) -> tuple[int, ...]:
    """Return the ids of field `param`. Raises `InvalidRequest` with the place of a wrong one."""
    for at, token_id in enumerate(ids or ()):
        if not 0 <= token_id < vocab_size:
            raise no_such_token(token_id, f"{param}[{at}]", vocab_size)
    return tuple(ids or ())


def no_such_token(token_id: int, param: str, vocab_size: int) -> InvalidRequest:
    """Return the error of an id beyond the vocabulary."""
    shown = str(token_id) if abs(token_id) < _INT64 else "a number of more than 64 bits"
    return InvalidRequest(
        f"{param} has the token id {shown}; this model's ids are 0 to {vocab_size - 1}",
        param=param,
    )
