"""Every error that YAIE raises on purpose, as one tree.

    YaieError
    ├── InvalidRequest            400  the caller's request is wrong; names the parameter
    │   ├── ContextLengthExceeded 400  prompt (plus explicit max_tokens) longer than the context
    │   ├── UnsupportedParameter  400  a known parameter that this server does not do
    │   └── UnknownModel          404  the request names a model that is not served
    ├── AuthenticationFailed      401  API key missing or wrong
    ├── Overloaded                429  the queue is full; try again after `retry_after_s`
    ├── EngineUnavailable         503  the engine cannot take requests now
    │   ├── EngineStarting        503  weights are still loading
    │   ├── EngineDraining        503  the server is shutting down
    │   └── EngineDied            503  the engine process ended; it is being restarted
    ├── RequestFailed             500  this one request failed inside the engine; others go on
    │   └── LogitsNotFinite       500  the model gave no numbers to draw from
    ├── StartupError              503  the service cannot start
    │   ├── ConfigError           503  a setting is wrong                            exit code 2
    │   ├── ModelNotFound         503  no such model folder or repository            exit code 3
    │   ├── ModelUnsupported      503  the model would not be computed correctly     exit code 3
    │   └── NotEnoughMemory       503  weights or KV pool do not fit                 exit code 4
    └── InvariantViolated         500  our own bookkeeping is wrong; found by an audit

Front doors map these to HTTP statuses, exit codes and messages; nothing below raises anything else
for a fault that a user can cause.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestError:
    """The error that ended one request, as plain values that travel between processes."""

    message: str
    status: int = 500
    code: str | None = None
    param: str | None = None


class YaieError(Exception):
    """Base of all errors below.

    `message` says what is wrong, why, and what to do; `code` is stable and machine-readable.
    """

    status = 500
    type = "internal_error"
    code: str | None = None
    exit_code = 1

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code

    def to_wire(self) -> RequestError:
        """Return the error as plain values."""
        return RequestError(self.message, self.status, self.code, self.param)

    @staticmethod
    def from_wire(error: RequestError) -> YaieError:
        """Return the error that `to_wire` was called on, of the same class."""
        kind = _KINDS.get((error.status, error.code))
        if kind is None:
            kind = InvalidRequest if 400 <= error.status < 500 else RequestFailed
        return kind(error.message, param=error.param, code=error.code)


class InvalidRequest(YaieError):
    """The request is malformed or out of range; `param` names the offending field."""

    status = 400
    type = "invalid_request_error"
    exit_code = 2


class ContextLengthExceeded(InvalidRequest):
    """The prompt, or the prompt plus an explicit `max_tokens`, is longer than the context."""

    code = "context_length_exceeded"


class UnsupportedParameter(InvalidRequest):
    """A parameter that exists in the API but is not supported here."""

    code = "unsupported_parameter"


class UnknownModel(InvalidRequest):
    """The request names a model that this server does not serve."""

    status = 404
    code = "model_not_found"


class AuthenticationFailed(YaieError):
    """The API key is missing or wrong."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class Overloaded(YaieError):
    """The queue is full."""

    status = 429
    type = "rate_limit_error"
    code = "overloaded"
    retry_after_s = 1


class EngineUnavailable(YaieError):
    """The engine cannot take requests now; trying again later may work."""

    status = 503
    type = "service_unavailable_error"
    code = "engine_unavailable"
    exit_code = 5
    retry_after_s = 2


class EngineStarting(EngineUnavailable):
    """The weights are still loading."""

    code = "engine_starting"


class EngineDraining(EngineUnavailable):
    """The server is shutting down and takes no new requests."""

    code = "engine_draining"


class EngineDied(EngineUnavailable):
    """The engine process ended unexpectedly; requests in flight are lost."""

    code = "engine_died"


class RequestFailed(YaieError):
    """One request failed inside the engine; it was ended and the others went on."""

    code = "request_failed"


class LogitsNotFinite(RequestFailed):
    """The model gave no numbers to draw from: what was computed for the request is no good."""

    code = "logits_not_finite"


class StartupError(YaieError):
    """The service cannot start."""

    status = 503  # while the port is open
    code = "startup_failed"


class ConfigError(StartupError):
    """A setting is wrong."""

    code = "bad_config"
    exit_code = 2


class ModelNotFound(StartupError):
    """There is no such model folder or repository."""

    code = "model_not_found"
    exit_code = 3


class ModelUnsupported(StartupError):
    """The model exists, but YAIE would not compute it correctly; the message says why."""

    code = "model_unsupported"
    exit_code = 3


class NotEnoughMemory(StartupError):
    """Weights or KV pool do not fit; the message holds the numbers and a value that would."""

    code = "not_enough_memory"
    exit_code = 4


class InvariantViolated(YaieError):
    """Our own bookkeeping is wrong. Never caused by a user; always a bug."""

    code = "invariant_violated"


def _with_subclasses(kind: type[YaieError]) -> list[type[YaieError]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in _with_subclasses(sub))]


_KINDS = {(kind.status, kind.code): kind for kind in _with_subclasses(YaieError)}


def request_error(error: Exception) -> RequestError:
    """Return an exception as plain values; one that is no `YaieError` as a `RequestFailed`."""
    if not isinstance(error, YaieError):
        error = RequestFailed(
            f"the request failed inside the engine: {type(error).__name__}: {error}"
        )
    return error.to_wire()


def as_shown(value: object) -> str:
    """Return a value as an error message shows it."""
    try:
        return repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "(too many digits to show)"


def first_line(error: Exception) -> str:
    """Return the first line of another library's message, cut to 200 characters."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip()[:200] if lines else type(error).__name__
