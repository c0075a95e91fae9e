"""The errors that YAIE raises on purpose, as one tree.

    YaieError
    ├── InvalidRequest            400  the request is wrong; `param` names the parameter
    │   ├── ContextLengthExceeded 400  prompt (plus explicit max_tokens) longer than the context
    │   ├── UnsupportedParameter  400  a known parameter without support here
    │   ├── TemplateTooCostly     400  a chat template beyond its limits of time, memory and text
    │   └── UnknownModel          404  the model of the request is not served
    ├── AuthenticationFailed      401  API key missing or wrong
    ├── Overloaded                429  the waiting queue is full; retry after `retry_after_s`
    ├── QueueTimedOut             503  the request waited too long for admission
    ├── EngineUnavailable         503  the engine cannot take requests now
    │   ├── EngineStarting        503  weights are still loading
    │   ├── EngineDraining        503  the server is shutting down
    │   └── EngineDied            503  the engine process ended; it is being restarted
    ├── RequestFailed             500  one request failed inside the engine; others continue
    │   └── LogitsNotFinite       500  the model's logits are NaN or infinite
    ├── StartupError              503  the service cannot start
    │   ├── ConfigError           503  a setting is wrong                            exit code 2
    │   ├── ModelNotFound         503  the model folder or repository is missing    exit code 3
    │   ├── ModelUnsupported      503  the model would not be computed correctly     exit code 3
    │   └── NotEnoughMemory       503  weights or KV pool do not fit                 exit code 4
    └── InvariantViolated         500  our bookkeeping is inconsistent; found by an audit

The entry points map them to HTTP statuses, exit codes and messages. Lower layers raise these errors
only for faults that a user can cause.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

MAX_MESSAGE_CHARS = 4000


@dataclass(frozen=True, slots=True)
class RequestError:
    """The error of one request as plain values, for the way between processes."""

    message: str
    status: int = 500
    code: str | None = None
    param: str | None = None
    retry_after_s: float | None = None


class YaieError(Exception):
    """Base of all errors below.

    `message` states the fault and the fix; `code` is stable and machine-readable. If a retry may
    succeed, `retry_after_s` is the time until then.
    """

    status = 500
    type = "internal_error"
    code: str | None = None
    exit_code = 1
    retry_after_s: float | None = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        if len(message) > MAX_MESSAGE_CHARS:  # with a value of a model's file or a body in it
            half = MAX_MESSAGE_CHARS // 2
            message = f"{message[:half]} … {message[-half:]}"
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s

    def to_wire(self) -> RequestError:
        """Return the error as plain values."""
        return RequestError(self.message, self.status, self.code, self.param, self.retry_after_s)

    @staticmethod
    def from_wire(error: RequestError) -> YaieError:
        """Return an error of the original class."""
        kind = _KINDS.get((error.status, error.code))
        if kind is None:
            kind = InvalidRequest if 400 <= error.status < 500 else RequestFailed
        return kind(
            error.message,
            param=error.param,
            code=error.code,
            retry_after_s=error.retry_after_s,
        )


class InvalidRequest(YaieError):
    """A malformed or out-of-range request; `param` names the field."""

    status = 400
    type = "invalid_request_error"
    exit_code = 2


class ContextLengthExceeded(InvalidRequest):
    """A prompt, or a prompt plus explicit `max_tokens`, longer than the context."""

    code = "context_length_exceeded"


class UnsupportedParameter(InvalidRequest):
    """An API parameter that YAIE does not support."""

    code = "unsupported_parameter"


class TemplateTooCostly(InvalidRequest):
    """A chat template that exceeds its limits of time, memory or text for these messages."""

    code = "chat_template_limit"


class UnknownModel(InvalidRequest):
    """A request for a model that is not served."""

    status = 404
    code = "model_not_found"


class AuthenticationFailed(YaieError):
    """A missing or wrong API key."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class Overloaded(YaieError):
    """A full waiting queue."""

    status = 429
    type = "rate_limit_error"
    code = "overloaded"
    retry_after_s = 1


class QueueTimedOut(YaieError):
    """A request that exceeded its queue timeout; it never started."""

    status = 503
    type = "service_unavailable_error"
    code = "queue_timeout"
    retry_after_s = 1


class EngineUnavailable(YaieError):
    """An engine that cannot take requests now; a retry may succeed."""

    status = 503
    type = "service_unavailable_error"
    code = "engine_unavailable"
    exit_code = 5
    retry_after_s = 2


class EngineStarting(EngineUnavailable):
    """An engine whose weights are still loading."""

    code = "engine_starting"


class EngineDraining(EngineUnavailable):
    """A server that is shutting down."""

    code = "engine_draining"


class EngineDied(EngineUnavailable):
    """The engine process ended unexpectedly; requests in flight are lost."""

    code = "engine_died"


class RequestFailed(YaieError):
    """A failure of one request inside the engine; other requests continue."""

    code = "request_failed"


class LogitsNotFinite(RequestFailed):
    """Non-finite logits (NaN or infinity): the KV computed for the request is unusable."""

    code = "logits_not_finite"


class StartupError(YaieError):
    """A failed start of the service."""

    status = 503  # while the port is open
    code = "startup_failed"


class ConfigError(StartupError):
    """A wrong setting; `file` is the settings file that has it, if one does."""

    code = "bad_config"
    exit_code = 2
    file: str | None = None


class ModelNotFound(StartupError):
    """A missing model folder or repository."""

    code = "model_not_found"
    exit_code = 3


class ModelUnsupported(StartupError):
    """A model that YAIE would compute incorrectly; the message gives the reason."""

    code = "model_unsupported"
    exit_code = 3


class NotEnoughMemory(StartupError):
    """Weights or a KV pool beyond the free memory; the message suggests a value that fits."""

    code = "not_enough_memory"
    exit_code = 4


class InvariantViolated(YaieError):
    """Inconsistent bookkeeping: always a bug, never a user's fault."""

    code = "invariant_violated"


def _with_subclasses(kind: type[YaieError]) -> list[type[YaieError]]:
    return [kind, *(each for sub in kind.__subclasses__() for each in _with_subclasses(sub))]


_KINDS = {(kind.status, kind.code): kind for kind in _with_subclasses(YaieError)}


def request_error(error: Exception) -> RequestError:
    """Return an exception as plain values; other exceptions become a `RequestFailed`."""
    if not isinstance(error, YaieError):
        error = RequestFailed(
            f"the request failed inside the engine: {type(error).__name__}: {error}"
        )
    return error.to_wire()


def as_shown(value: object) -> str:
    """Return a value as an error message shows it."""
    try:
        return repr(value)
    except ValueError:  # Python refuses to print integers with thousands of digits
        return "(too many digits to show)"


def nearest_name_hint(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint at the known name most similar to `name`; empty below `cutoff` of 0 to 1."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, cut to 200 characters."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip()[:200] if lines else type(error).__name__
