"""Namespaces of the tree: requests of one namespace share prefixes.

The keys and values of an adapter are in namespaces of the adapter.
"""

from __future__ import annotations

from collections.abc import Hashable


def namespace_of(owner: str, cache_salt: str, adapter: int = 0) -> Hashable:
    """Return a request's namespace.

    `adapter`: the adapter's number, made of its digest; 0 for the model alone.
    """
    return (owner, cache_salt, adapter) if adapter else (owner, cache_salt)


def adapter_of(namespace: Hashable) -> int:
    """Return the number of a namespace's adapter; 0 for the model alone."""
    if not isinstance(namespace, tuple) or not namespace:
        return 0
    if isinstance(namespace[0], tuple):  # of one request alone
        return adapter_of(namespace[0])
    number: int = namespace[2] if len(namespace) == 3 else 0
    return number
