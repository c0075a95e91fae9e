"""Addresses and API keys of servers, and the sessions that use them."""

from __future__ import annotations

import http.client
import ipaddress
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from yaie.base.errors import ConfigError

if TYPE_CHECKING:
    import requests

DEFAULT_PORT = 8000
KEY_REFUSED = (http.client.UNAUTHORIZED, http.client.FORBIDDEN)


class WrongAddress(ConfigError):
    """Malformed server address; `fact`, `why` and `fix` make up the message."""

    def __init__(self, fact: str, why: str, fix: str) -> None:
        super().__init__(f"{fact}: {why}; give {fix}", param="url")
        self.fact = fact
        self.why = why
        self.fix = fix


def key_of(typed: str | None, *, is_named: bool) -> str | None:
    """Return the API key to send: the typed key, else YAIE_API_KEY, else OPENAI_API_KEY.

    OPENAI_API_KEY belongs to a hosted service, so only a server that the user named receives it.
    From several keys, separated by commas, the first is sent.
    """
    variables = ("YAIE_API_KEY", "OPENAI_API_KEY") if is_named else ("YAIE_API_KEY",)
    candidates = (typed, *(os.environ.get(name) for name in variables))
    return next((key for text in candidates if (key := first_key(text or ""))), None)


def first_key(text: str) -> str:
    """Return the first of several keys, separated by commas; empty without one."""
    return next((key.strip() for key in text.split(",") if key.strip()), "")


def key_header(key: str | None) -> dict[str, bytes]:
    """Return the header with the key, in UTF-8 as the server reads it (http.client: Latin-1)."""
    return {"Authorization": f"Bearer {key}".encode()} if key else {}


def read_url(text: str) -> str:
    """Return the server address as typed; on this machine the scheme is optional.

    Raises `WrongAddress` for other text, and for another machine without a scheme: guessing http
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
        raise WrongAddress(
            f"{text} could be http or https",
            "without a scheme, http:// is assumed for this machine only",
            f"https://{text} or http://{text}",
        )
    return url


def base_url(text: str) -> str:
    """Return the address of a server without the `/v1` at its end. Raises `WrongAddress`."""
    return read_url(text).rstrip("/").removesuffix("/v1")


def _not_an_address(text: str, why: str) -> WrongAddress:
    return WrongAddress(
        f"{text!r} is not a server address", why, f"http://127.0.0.1:{DEFAULT_PORT}"
    )


def open_session(url: str, key: str | None) -> requests.Session:
    """Return a session that sends the key and uses the environment's proxy for other machines.

    `trust_env` would let a login in ~/.netrc replace the key and send requests for this machine to
    a proxy, so this reads the proxy variables itself.
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
