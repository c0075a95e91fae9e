"""API keys of requests: `Keyring`, the keys and their tenants, and `ApiKeys`, their check.

A tenant is a key, or all keys with one name: its requests share the engine fairly with other
tenants, and its cache, files and responses are its alone.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Callable, Collection
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send

from yaie.base.errors import AuthenticationFailed, ConfigError, InvalidRequest
from yaie.base.server_settings import ServerConfig
from yaie.base.state_folder import installation_secret
from yaie.base.tenants import BATCHES, tenant_digest
from yaie.server.http.http_errors import error_response, route_path

logger = logging.getLogger(__name__)

ADMIN_PATHS = frozenset(  # check the admin key themselves
    {"/v1/cache/flush", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"}
)
_NAME_DIGITS = 16
_HEADERS = (b"authorization", b"x-api-key")


class Keyring:
    """The API keys of a server and their tenants. Raises `ConfigError` for a bad file."""

    def __init__(self, settings: ServerConfig) -> None:
        self._settings = settings
        self.is_needed = settings.has_keys
        self._take(settings.tenants_by_key())

    def _take(self, found: dict[str, str]) -> None:
        keys = [(key.encode(), tenant) for key, tenant in found.items()]
        self._named = {tenant for key, tenant in keys if tenant != tenant_digest(key)} | {BATCHES}
        self._tenants = [(hashlib.sha256(key).digest(), tenant) for key, tenant in keys]

    def reload(self) -> None:
        """Read the file of keys again; a bad file leaves the keys as they are, with a log line."""
        try:
            self._take(self._settings.tenants_by_key())
        except ConfigError as error:
            logger.error("the API keys stay as they were: %s", error.message)
        else:
            logger.info("read the API keys again: %d keys", len(self._tenants))

    def tenant_of(self, scope: Scope) -> str | None:
        """Return the tenant of a request's key; None without a known key.

        Raises `InvalidRequest` for keys of two tenants: a gateway that checks one header would
        mistake the tenant.
        """
        found = None
        for given in read_keys(scope):
            digest = hashlib.sha256(given).digest()
            # Compare with every key, each in constant time, to reveal no key by timing.
            known = [each for key, each in self._tenants if hmac.compare_digest(digest, key)]
            if known and found not in (None, known[0]):
                raise InvalidRequest(
                    "Authorization and X-API-Key have API keys of two clients; send one of them"
                )
            found = known[0] if known else found
        return found

    def public_name(self, tenant: str) -> str:
        """Return the tenant's name for metrics and statistics, which tells nothing about a key.

        It is the name in the file of keys, else a digest keyed by the installation's secret.
        """
        if not tenant or tenant in self._named:
            return tenant
        name = hmac.digest(self._secret, tenant.encode("utf-8", "replace"), "sha256")
        return name.hex()[:_NAME_DIGITS]

    def hide_block(self, name: int) -> int:
        """Return a KV block's public name, which tells nothing about its key and its salt."""
        hidden = hmac.digest(self._secret, name.to_bytes(8, "little"), "sha256")
        return int.from_bytes(hidden[:8], "little") or 1

    @cached_property
    def _secret(self) -> bytes:
        return installation_secret()


class ApiKeys:
    """Check of the API key, except on open paths; off without keys.

    `on_refusal` is called for each request without a right key.
    """

    def __init__(
        self,
        app: ASGIApp,
        keyring: Keyring,
        open_paths: Collection[str],
        on_refusal: Callable[[], None],
    ) -> None:
        self._app = app
        self._keyring = keyring
        self._open_paths = open_paths
        self._on_refusal = on_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's scope."""
        if scope["type"] == "http" and self._keyring.is_needed:
            try:
                tenant = self._keyring.tenant_of(scope)
            except InvalidRequest as refusal:
                self._on_refusal()
                await error_response(refusal, scope)(scope, receive, send)
                return
            if tenant is not None:
                scope.setdefault("state", {})["tenant"] = tenant
            elif not self._is_open(scope):
                self._on_refusal()
                error = AuthenticationFailed(
                    f"{_fault_of(scope)}; send Authorization: Bearer <key> or X-API-Key: <key>"
                )
                await error_response(error, scope)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        """Return whether a request needs no API key; browsers send OPTIONS without one."""
        path, method = route_path(scope), scope["method"]
        is_for_admin = method == "POST" and path in ADMIN_PATHS
        return method == "OPTIONS" or path in self._open_paths or is_for_admin


def read_keys(scope: Scope) -> list[bytes]:
    """Return the keys of both headers: a proxy may use Authorization for another login."""
    found: list[bytes] = []
    for header in _HEADERS:
        values = [bytes(value) for name, value in scope["headers"] if name == header]
        if len(values) != 1:
            continue  # missing or ambiguous
        kind, _, key = values[0].partition(b" ")
        if header == b"x-api-key":
            found.append(values[0])
        elif kind.lower() == b"bearer":
            found.append(key.strip())
    return found


def _fault_of(scope: Scope) -> str:
    """Return what is wrong with the keys of a request that has no right one."""
    names = [name for name, _ in scope["headers"]]
    if max(map(names.count, _HEADERS)) > 1:
        return "the request repeats the header of its API key"
    return "the API key is wrong" if read_keys(scope) else "the request has no API key"


def has_admin_key(scope: Scope, admin_key: str | None) -> bool:
    """Return whether a request has the admin key; no request has it where none is set."""
    if not admin_key:
        return False
    return any(hmac.compare_digest(key, admin_key.encode()) for key in read_keys(scope))


def require_admin(scope: Scope, admin_key: str | None, what: str) -> None:
    """Raise `AuthenticationFailed` unless a request has the admin key; `what` it is for."""
    if not admin_key:
        raise AuthenticationFailed(f"{what} is disabled; start the server with YAIE_ADMIN_KEY")
    if not has_admin_key(scope, admin_key):
        raise AuthenticationFailed(
            "the admin key is wrong or missing; send Authorization: Bearer <YAIE_ADMIN_KEY>"
        )
