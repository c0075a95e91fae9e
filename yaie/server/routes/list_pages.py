"""Pages of lists, by OpenAI's query parameters `order`, `after` and `limit`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from yaie.base.errors import InvalidRequest

MAX_PAGE = 100
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items of a list, the ids of the first and the last one, and whether there are more."""

    items: list[Item]
    first_id: str | None
    last_id: str | None
    has_more: bool


def take_page(
    items: Sequence[Item],
    query: Mapping[str, str],
    id_of: Callable[[Item], str],
    *,
    most: int = MAX_PAGE,
    default: int = 20,
) -> Page[Item]:
    """Return a page of a list that is oldest first; newest first unless `order` is `asc`.

    A page has `limit` items, by default `default` and at most `most`, from the item behind `after`.
    Raises `InvalidRequest`.
    """
    order, after = query.get("order", "desc"), query.get("after")
    limit = query.get("limit", str(default))
    if order not in ("asc", "desc"):
        raise InvalidRequest("order must be 'asc' or 'desc'", param="order")
    if not re.fullmatch(r"[0-9]{1,6}", limit, re.ASCII) or not 1 <= int(limit) <= most:
        raise InvalidRequest(f"limit must be between 1 and {most}", param="limit")
    shown = list(items if order == "asc" else reversed(items))
    if after is not None:
        at = next((at for at, item in enumerate(shown) if id_of(item) == after), None)
        if at is None:
            raise InvalidRequest(
                f"after is {after[:80]!r}, which is not in the list", param="after"
            )
        shown = shown[at + 1 :]
    taken = shown[: int(limit)]
    return Page(
        taken,
        id_of(taken[0]) if taken else None,
        id_of(taken[-1]) if taken else None,
        len(taken) < len(shown),
    )


def list_parameters(**types: str) -> dict[str, Any]:
    """Return query parameters for the OpenAPI page; the handlers read them themselves."""
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": kind}}
            for name, kind in types.items()
        ]
    }
