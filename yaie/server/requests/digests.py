"""Conversation digests: tell which part of a recent conversation changed, without its text.

Stored by namespace, with a limit on conversations and messages. Two conversations are the same if
their first messages after the system prompt are equal.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaie.server.schemas.chat import ChatBody

MOST_DIGESTS = 1000  # limit per server: 4 MB at most
_MOST_MESSAGES = 512
_SIZE = 8  # bytes of one digest
_SYSTEM_ROLES = ("system", "developer")
Namespace = tuple[str, str]  # owner and salt


@dataclass(frozen=True, slots=True)
class Digest:
    """One conversation: a digest of each part and each message."""

    model: str
    options: bytes  # template options
    tools: bytes
    system: bytes
    messages: bytes  # 8 for each
    num_messages: int
    num_tokens: int = 0  # prompt length

    @property
    def first(self) -> bytes:
        """Digest of the first message."""
        return self.messages[:_SIZE]

    def changes(self, other: Digest) -> tuple[str, ...]:
        """Return the parts around the messages in which another conversation differs."""
        names = ("model", "system", "tools", "options")
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))

    def continues(self, other: Digest) -> bool:
        """Return whether the messages of another conversation begin this one."""
        return self.num_messages >= other.num_messages and self.messages.startswith(other.messages)


def digest_of(body: ChatBody, model: str, rendering: dict[str, Any], num_tokens: int = 0) -> Digest:
    """Return a conversation's digest, given its template options."""
    system: list[Any] = []
    messages: list[Any] = []
    for message in body.messages:
        (system if is_of_system(message) else messages).append(message)
    options = {name: value for name, value in rendering.items() if name != "tools"}
    return Digest(
        model=model,
        options=_hash(options),
        tools=_hash(rendering.get("tools") or None),
        system=_hash(system),
        messages=b"".join(map(_hash, messages[:_MOST_MESSAGES])),
        num_messages=min(len(messages), _MOST_MESSAGES),
        num_tokens=num_tokens,
    )


def is_of_system(message: Any) -> bool:
    """Return whether a message is part of the system prompt."""
    return isinstance(message, Mapping) and message.get("role") in _SYSTEM_ROLES


def _hash(value: Any) -> bytes:
    return hashlib.blake2b(repr(value).encode("utf-8", "replace"), digest_size=_SIZE).digest()


class RecentDigests:
    """Digests of the last conversations by id and namespace; used on the event loop."""

    def __init__(self, most: int = MOST_DIGESTS) -> None:
        self._most = most
        self._by_id: OrderedDict[tuple[str, str], tuple[Namespace, Digest]] = OrderedDict()
        self._by_first: dict[tuple[Namespace, bytes], dict[str, Digest]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, response_id: str, namespace: Namespace, digest: Digest) -> None:
        """Remember the conversation that a response answers."""
        self._by_id[namespace[0], response_id] = namespace, digest
        self._by_first.setdefault((namespace, digest.first), {})[response_id] = digest
        if len(self._by_id) > self._most:
            (_, oldest_id), (oldest, gone) = self._by_id.popitem(last=False)
            same = self._by_first[oldest, gone.first]
            del same[oldest_id]
            if not same:
                del self._by_first[oldest, gone.first]

    def find(self, owner: str, response_id: str) -> tuple[Namespace, Digest] | None:
        """Return the conversation that a response of this owner answered."""
        return self._by_id.get((owner, response_id))

    def find_changes(self, namespace: Namespace, digest: Digest) -> tuple[str, ...]:
        """Return what changed around a conversation since its last turn; empty if nothing did.

        It is empty for an unknown conversation, too.
        """
        same = self._by_first.get((namespace, digest.first), {})
        found: tuple[str, ...] = ()
        for other in same.values():  # oldest first
            found = digest.changes(other)
            if not found:
                return ()
        return found
