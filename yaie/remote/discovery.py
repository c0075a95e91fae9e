"""The search for a YAIE server on this machine.

Only a server that identifies itself as YAIE is used without being named.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from yaie.remote.address import DEFAULT_PORT, KEY_REFUSED, key_header

PROBE_S = 0.05


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A YAIE server on this machine; its models are unknown where it refuses our key."""

    url: str
    models: tuple[str, ...] = ()

    def __str__(self) -> str:
        serving = f" serving {', '.join(self.models)}" if self.models else ""
        return f"a YAIE server{serving}"


def find_server(port: int = DEFAULT_PORT, key: str | None = None) -> FoundServer | None:
    """Return the YAIE server on this port of 127.0.0.1, or None.

    Waits `PROBE_S` per reply. A server counts if its /health says `yaie` and all its models are
    `owned_by` yaie, which is true from the start of loading. A server that refuses the key counts
    too: the user then reads the refusal instead of another model's answer. The key is sent only
    after /health has identified the server.
    """
    url = f"http://127.0.0.1:{port}"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_S)
    try:
        status, body = _get(connection, "/health", {})
        # 503: the server takes no requests now, for example while it drains.
        answers = status in (http.client.OK, http.client.SERVICE_UNAVAILABLE)
        if not answers or json.loads(body).get("server") != "yaie":
            return None
        status, body = _get(connection, "/v1/models", key_header(key))
        if status in KEY_REFUSED:
            return FoundServer(url)
        if status != http.client.OK:
            return None
        owners = {str(model["id"]): model["owned_by"] for model in json.loads(body)["data"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, http.client.HTTPException):
        return None  # no server, or another kind of server
    finally:
        connection.close()
    return FoundServer(url, tuple(owners)) if set(owners.values()) == {"yaie"} else None


def _get(
    connection: http.client.HTTPConnection, path: str, headers: dict[str, bytes]
) -> tuple[int, bytes]:
    """Return the status and the body of the server's reply."""
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    return reply.status, reply.read(65536)
