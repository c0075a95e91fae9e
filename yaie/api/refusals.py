"""Errors of the prompt methods: YAIE's own that are built-in ones too.

Callers of the methods with the names of other engines catch `TypeError`, `ValueError` and
`RuntimeError`; callers of YAIE catch `YaieError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from yaie.base.errors import InvalidRequest, YaieError


class WrongType(InvalidRequest, TypeError):
    """A prompt or parameters of the wrong type, or messages for a model without a template."""


class WrongValue(InvalidRequest, ValueError):
    """A prompt or a parameter that the engine refuses, such as a prompt longer than the context."""


class ProcessingFailed(YaieError, RuntimeError):
    """An engine that failed or was closed during a call."""


@contextlib.contextmanager
def as_builtin_errors() -> Iterator[None]:
    """Raise refusals of the block as `WrongValue`, with message, code and parameter."""
    try:
        yield
    except (WrongType, WrongValue):
        raise
    except InvalidRequest as error:
        raise WrongValue(error.message, param=error.param, code=error.code) from error


def processing_failed(error: YaieError) -> ProcessingFailed:
    """Return the error of a whole call for a failure of the engine."""
    return ProcessingFailed(error.message, param=error.param, code=error.code)
