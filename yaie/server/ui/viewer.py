"""Viewers of `/ui`: which part of the cache a request may see, and whether with its text.

Text of a prompt belongs to its sender. Browsers on this machine see it, unless a salt or an API key
separates it. "On this machine" needs a loopback address, a loopback host name in the request, which
a page of another site cannot forge, and no trace of a proxy.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from starlette.requests import Request

from yaie.base.errors import AuthenticationFailed
from yaie.server.http.api_keys import has_admin_key, read_keys
from yaie.server.http.http_errors import NotFound
from yaie.server.models.service import Service

_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "via")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A kind of viewer; all viewers of one kind get the same bytes."""

    owner: str | None  # of the cache that is shown; None: every owner
    tenant: str | None  # whose requests are shown; None: every tenant
    is_admin: bool
    shows_text: bool

    def sees_text(self, *, is_salted: bool) -> bool:
        """Return True if the text of a namespace is shown."""
        return self.shows_text and (self.is_admin or not is_salted)


def viewer_of(request: Request) -> Viewer:
    """Return the viewer who sent a request. Raises `NotFound` or `AuthenticationFailed`."""
    service: Service = request.app.state.service
    settings = service.settings
    is_local = check_page(request)
    is_admin = has_admin_key(request.scope, settings.admin_key)
    tenant: str | None = getattr(request.state, "tenant", None)
    if settings.has_keys and tenant is None and not is_admin:
        fact = "the key is wrong" if read_keys(request.scope) else "the page needs a key"
        raise AuthenticationFailed(f"{fact}; enter an API key or the admin key of this server")
    is_open = is_admin or not settings.has_keys
    return Viewer(
        owner=None if is_open else tenant,
        tenant=None if is_open else tenant,
        is_admin=is_admin,
        shows_text=is_local or settings.ui_show_text,
    )


def check_page(request: Request) -> bool:
    """Return True for a browser on this machine. Raises `NotFound` where no page is served."""
    service: Service = request.app.state.service
    is_local = is_on_this_machine(request)
    wanted = service.settings.ui
    if wanted is False:
        raise NotFound("this server has no page; start it without --no-ui")
    if wanted is None and not is_local:
        raise NotFound("the page is for browsers on the server's machine; start it with --ui")
    return is_local


def shows_page(request: Request) -> bool:
    """Return True if the page is for the browser that sent a request."""
    wanted: bool | None = request.app.state.service.settings.ui
    return is_on_this_machine(request) if wanted is None else wanted


def is_on_this_machine(request: Request) -> bool:
    """Return True if a request came from this machine, without a proxy, under a local name."""
    if any(name in request.headers for name in _PROXY_HEADERS):
        return False
    client = request.client.host if request.client is not None else ""
    host = request.headers.get("host", "").rpartition("]")
    name = host[0][1:] if host[0] else host[2].partition(":")[0]
    return _is_loopback(client) and (name.lower() == "localhost" or _is_loopback(name))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
