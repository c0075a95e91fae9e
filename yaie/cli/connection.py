"""Addresses and API keys of servers, and the search for a YAIE server on this machine.

Only a server that identifies itself as YAIE is used without being named.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from yaie.cli.failures import CommandFailed, usage_error

if TYPE_CHECKING:
    import requests

DEFAULT_PORT = 8000
PROBE_S = 0.05
KEY_REFUSED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)


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
    `owned_by` yaie, which holds from the start of loading. A server that refuses the key counts
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


def choose_key(typed: str | None, *, is_named: bool) -> str | None:
    """Return the API key to send: --api-key, else YAIE_API_KEY, else OPENAI_API_KEY.

    The last one belongs to a hosted service, so only a server that the user named gets it. Of
    several keys, separated by commas, the first is sent.
    """
    if typed is not None and not _first_key(typed):
        raise usage_error("--api-key holds no key", advice="--api-key KEY, or leave it out")
    variables = ("YAIE_API_KEY", "OPENAI_API_KEY") if is_named else ("YAIE_API_KEY",)
    candidates = (typed, *(os.environ.get(name) for name in variables))
    return next((key for text in candidates if (key := _first_key(text or ""))), None)


def _first_key(text: str) -> str:
    return next((key.strip() for key in text.split(",") if key.strip()), "")


def key_header(key: str | None) -> dict[str, bytes]:
    """Return the header with the key, in UTF-8 as the server reads it (http.client: Latin-1)."""
    return {"Authorization": f"Bearer {key}".encode()} if key else {}


def read_url(text: str) -> str:
    """Return the address of a server as typed; on this machine the scheme may be left out.

    Raises a usage error for other text, and for another machine without a scheme: a guess of http
    would send the key in clear text.
    """
    text = text.strip()
    has_scheme = "://" in text
    url = text if has_scheme else f"http://{text}"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # reading an impossible port raises
    except ValueError as error:
        raise _not_an_address(text, str(error)) from None
    if parts.scheme not in ("http", "https") or not host:
        raise _not_an_address(text, "it needs http:// or https:// and a host name")
    if not (has_scheme or _is_this_machine(host)):
        raise usage_error(
            f"{text} could be http or https",
            why="without a scheme, http:// is assumed for this machine only",
            advice=f"--url https://{text}    or --url http://{text}",
        )
    return url


def _not_an_address(text: str, why: str) -> CommandFailed:
    return usage_error(
        f"{text!r} is not a server address",
        why=why,
        advice=f"--url http://127.0.0.1:{DEFAULT_PORT}",
    )


def open_session(url: str, key: str | None) -> requests.Session:
    """Return a session that sends the key and uses the environment's proxy for other machines.

    `trust_env` would let a login in ~/.netrc replace the key and send requests for this machine
    to a proxy, so the wanted parts of the environment are read here.
    """
    import requests
    from requests.utils import get_environ_proxies

    session = requests.Session()
    session.trust_env = False
    session.headers.update(key_header(key))
    if not _is_this_machine(urlsplit(url).hostname or ""):
        session.proxies.update(get_environ_proxies(url))
    session.verify = (
        os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    )
    return session


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False  # a name of another machine
    return address.is_loopback or address.is_unspecified
