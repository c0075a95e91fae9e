"""`AdapterInfo`: a LoRA adapter that an engine has loaded."""

from __future__ import annotations

from dataclasses import dataclass

from yaie.base.errors import InvalidRequest, UnknownModel


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterInfo:
    """An adapter's name in requests, and its size."""

    name: str
    path: str  # its folder
    digest: str  # SHA-256 of its files: its keys and values are cached under it
    rank: int  # largest of its layers
    num_layers: int  # linear layers that it changes
    nbytes: int  # in memory


def check_adapter_name(name: str) -> None:
    """Raise `InvalidRequest` for a name that is blank or has characters without a picture."""
    if not name or name != name.strip() or not name.isprintable():
        raise InvalidRequest(
            f"the name {name[:100]!r} is empty, has spaces at an end, or has control characters; "
            "choose another name",
            param="lora_name",
        )


def unknown_adapter(name: str, known: list[str]) -> UnknownModel:
    """Return the error of a request for an adapter that the engine has not loaded."""
    loaded = f"has {', '.join(map(repr, known))}" if known else "has none"
    return UnknownModel(
        f"the adapter {name[:100]!r} is not loaded; this engine {loaded}", param="model"
    )
