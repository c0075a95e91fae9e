"""Requests to a server: connections that can be cut, retries, and refusals as errors of YAIE."""

from __future__ import annotations

import contextlib
import math
import random
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from yaie.base.errors import (
    AuthenticationFailed,
    ConfigError,
    EngineUnavailable,
    InvalidRequest,
    Overloaded,
    RequestError,
    RequestFailed,
    YaieError,
)
from yaie.remote.address import open_session
from yaie.remote.replies import as_object, as_text, error_of, root_cause

CONNECT_S = 5.0
LONGEST_WAIT_S = 30.0  # before a retry
_FIRST_WAIT_S = 0.5
_TRIED_AGAIN = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
# Error classes for refusals whose code is not YAIE's.
_KINDS: dict[int, type[YaieError]] = {
    HTTPStatus.UNAUTHORIZED: AuthenticationFailed,
    HTTPStatus.FORBIDDEN: AuthenticationFailed,
    HTTPStatus.TOO_MANY_REQUESTS: Overloaded,
    HTTPStatus.SERVICE_UNAVAILABLE: EngineUnavailable,
}
# An error inside a stream has a type, but no status.
_STATUSES = {kind.type: kind.status for kind in (InvalidRequest, Overloaded, EngineUnavailable)}


class CallCancelled(Exception):
    """A call that its caller has cancelled."""


class Exchange:
    """One call of a caller, which another thread may cancel."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._used: _Watched | None = None
        self._socket: socket.socket | None = None

    def cancel(self) -> None:
        """Cut the connection, or the wait before a retry. Any thread may call it."""
        with _OWNERS:
            self._cancelled.set()
            is_ours = self._used is not None and self._used.call is self
            if is_ours and self._socket is not None:
                with contextlib.suppress(OSError):  # it has ended by itself
                    self._socket.shutdown(socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise `CallCancelled` after `cancel`."""
        if self._cancelled.is_set():
            raise CallCancelled

    def wait(self, seconds: float) -> None:
        """Sleep. Raises `CallCancelled`."""
        if self._cancelled.wait(seconds):
            raise CallCancelled

    def use(self, connection: _Watched, connected: socket.socket) -> None:
        """Own a connection until another call does. Raises `CallCancelled`."""
        with _OWNERS:
            connection.call = self
            # A connection forgets its socket once the reply is the last one on it.
            self._used, self._socket = connection, connected
            self.check()


_OWNERS = threading.Lock()  # guards connections: never cut one for its last call


class _Calls(threading.local):
    current: Exchange | None = None


_calls = _Calls()  # the call that this thread sends for


class _Watched(HTTPConnection):
    """Connection that belongs to the call which sends through it."""

    call: Exchange | None = None

    def connect(self) -> None:
        super().connect()
        self._tell()

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._tell()
        super().request(*args, **kwargs)

    def _tell(self) -> None:
        connected = self.sock  # None before `connect`, else kept alive by an earlier request
        if _calls.current is not None and connected is not None:
            _calls.current.use(self, connected)


class _WatchedTls(_Watched, HTTPSConnection):
    """The same with TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


class _Adapter(HTTPAdapter):
    """Adapter with connections that can be cut."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


class Sender:
    """Sender of requests to one server. Any thread may call it.

    `timeout_s` is the longest silence of the server within a request, in seconds. Refusals with the
    status 429 or 503 are sent again up to `max_retries` times, after the time in `Retry-After`.
    """

    def __init__(
        self, url: str, key: str | None, timeout_s: float, max_retries: int, num_connections: int
    ) -> None:
        if not (isinstance(timeout_s, int | float) and 0 < timeout_s < math.inf):
            raise ConfigError(
                f"timeout_s must be seconds above 0, got {timeout_s!r:.40}", param="timeout_s"
            )
        if not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigError(
                f"max_retries must be a whole number from 0, got {max_retries!r:.40}",
                param="max_retries",
            )
        self.url = url
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._http = open_session(url, key)
        for scheme in ("http://", "https://"):
            self._http.mount(scheme, _Adapter(pool_maxsize=num_connections))

    @contextlib.contextmanager
    def sent(
        self,
        method: str,
        route: str,
        call: Exchange,
        body: dict[str, Any] | None = None,
        *,
        accepted: tuple[int, ...] = (),
    ) -> Iterator[requests.Response]:
        """Open the reply to a request; raise for a status other than 2xx or `accepted`.

        Closes the connection at the end of the block, unless the reply was read to its end. Raises
        the `YaieError` that fits the refusal, and `EngineUnavailable` without a reply.
        """
        attempt = 0
        while True:
            reply = self._send(method, route, call, body)
            with contextlib.closing(reply):
                if reply.ok or reply.status_code in accepted:
                    yield reply
                    return
                wait_s = _wait_before_retry(reply, attempt)
                if attempt == self._max_retries or wait_s is None:
                    raise self._refusal(reply, f"{method} {route}")
            attempt += 1
            call.wait(wait_s)

    def document(
        self,
        method: str,
        route: str,
        call: Exchange,
        body: dict[str, Any] | None = None,
        *,
        accepted: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        """Return the JSON object that answers a request. Raises as `sent` does."""
        with self.sent(method, route, call, body, accepted=accepted) as reply:
            try:
                return as_object(reply.json())
            except requests.JSONDecodeError:
                raise self.not_openai(f"{route} did not return JSON") from None
            except requests.RequestException as error:
                call.check()
                raise self._unreachable(error) from error

    def close(self) -> None:
        """Close the connections that are kept alive."""
        self._http.close()

    def stream_error(self, detail: Any) -> YaieError:
        """Return the error of an event inside a stream."""
        fields = as_object(detail)
        status = _STATUSES.get(as_text(fields.get("type")), fields.get("code"))
        return _error_of(detail, status if isinstance(status, int) else 500, None)

    def broken(self, why: str) -> EngineUnavailable:
        """Return the error for a stream that ended early."""
        return EngineUnavailable(
            f"the response from {self.url} is incomplete ({why}); send the request again",
            code="stream_broke",
        )

    def not_openai(self, why: str) -> EngineUnavailable:
        """Return the error of a server with another API than OpenAI's."""
        return EngineUnavailable(
            f"{self.url} is not an OpenAI-compatible server ({why}); give another url",
            code="server_unreachable",
        )

    def _send(
        self, method: str, route: str, call: Exchange, body: dict[str, Any] | None
    ) -> requests.Response:
        call.check()
        _calls.current = call
        try:
            return self._http.request(
                method,
                self.url + route,
                json=body,
                timeout=(CONNECT_S, self._timeout_s),
                stream=True,
            )
        except requests.exceptions.InvalidJSONError as error:
            raise InvalidRequest(f"the request is not JSON: {error}") from None
        except requests.RequestException as error:
            call.check()
            raise self._unreachable(error) from error
        finally:
            _calls.current = None

    def _unreachable(self, error: Exception) -> EngineUnavailable:
        if isinstance(error, requests.ReadTimeout):
            return EngineUnavailable(
                f"{self.url} sent nothing for {self._timeout_s:g} s; raise timeout_s, or request "
                f"fewer tokens",
                code="server_timeout",
            )
        return EngineUnavailable(
            f"no response from the server at {self.url} ({root_cause(error)}); start one with "
            "`yaie serve`, or give another url (YAIE_BASE_URL)",
            code="server_unreachable",
        )

    def _refusal(self, reply: requests.Response, request: str) -> YaieError:
        detail = error_of(reply)
        if detail is None and reply.status_code in (404, 405, 501):
            return self.not_openai(f"it answered {request} with HTTP {reply.status_code}")
        shown = detail or f"HTTP {reply.status_code} from {self.url}: {reply.text[:200]}"
        return _error_of(shown, reply.status_code, retry_after_s(reply))


def _error_of(detail: Any, status: int, retry_after_s: float | None) -> YaieError:
    fields = detail if isinstance(detail, dict) else {"message": str(detail)}
    wire = RequestError(
        as_text(fields.get("message")) or str(detail),
        status,
        as_text(fields.get("code")) or None,
        as_text(fields.get("param")) or None,
        retry_after_s,
    )
    error = YaieError.from_wire(wire)
    if type(error) in (InvalidRequest, RequestFailed) and status in _KINDS:
        error = _KINDS[status](
            wire.message, code=wire.code, param=wire.param, retry_after_s=retry_after_s
        )
    return error


def _wait_before_retry(reply: requests.Response, attempt: int) -> float | None:
    """Return the seconds until a request may be sent again; None if it may not."""
    if reply.status_code not in _TRIED_AGAIN:
        return None
    told_s = retry_after_s(reply)
    wait_s = _FIRST_WAIT_S * 2**attempt if told_s is None else told_s
    # Callers that were refused together come back one after another.
    return None if wait_s > LONGEST_WAIT_S else wait_s * random.uniform(1.0, 1.2)


def retry_after_s(reply: requests.Response) -> float | None:
    """Return the seconds of a reply's `Retry-After`; None if it is missing or a date."""
    try:
        seconds = float(reply.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
