"""Errors as values that travel between processes."""

from __future__ import annotations

import pytest

from yaie.base import errors
from yaie.base.errors import RequestError, YaieError, request_error


def kinds(kind: type[YaieError] = YaieError) -> list[type[YaieError]]:
    found = [kind, *(each for sub in kind.__subclasses__() for each in kinds(sub))]
    return [each for each in found if each.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_survives_the_wire(kind: type[YaieError]) -> None:
    wire = kind("because", param="prompt").to_wire()
    assert wire == RequestError("because", kind.status, kind.code, "prompt", kind.retry_after_s)
    back = YaieError.from_wire(wire)
    assert type(back) is kind
    assert (back.message, back.param, back.code) == ("because", "prompt", kind.code)
    later = YaieError.from_wire(kind("because", retry_after_s=7.5).to_wire())
    assert later.retry_after_s == 7.5


@pytest.mark.parametrize(
    ("status", "kind"), [(418, errors.InvalidRequest), (500, errors.RequestFailed)]
)
def test_an_unknown_code_keeps_its_side_of_the_fault(status: int, kind: type[YaieError]) -> None:
    back = YaieError.from_wire(RequestError("because", status, "a_new_code"))
    assert (type(back), back.code) == (kind, "a_new_code")


def test_a_long_value_in_a_message_is_cut() -> None:
    error = errors.ModelUnsupported(f"the name is {'x' * 10**6}; download it again")
    assert len(error.message) < 4100
    assert error.message.startswith("the name is") and error.message.endswith("download it again")


def test_a_foreign_exception_is_a_failed_request() -> None:
    error = request_error(KeyError("a bug"))
    assert (error.status, error.code, error.param) == (500, "request_failed", None)
    assert "KeyError: 'a bug'" in error.message
