"""Errors of one sequence in sampling. Used by the samplers of all devices."""

from __future__ import annotations

from collections.abc import Sequence

from yaie.base.errors import (
    InvalidRequest,
    InvariantViolated,
    LogitsNotFinite,
    RequestFailed,
    YaieError,
    as_shown,
)
from yaie.engine.sampling.logit_rules import LogitRule, select_rules
from yaie.engine.sampling_state import SamplingState


def no_token(rules: Sequence[LogitRule], state: SamplingState) -> YaieError:
    """Return the error of a sequence whose rules forbid every token."""
    position = f"no token is allowed at output position {state.num_output}"
    for rule in select_rules(rules, state):
        if rule.param is not None and rule.applies(state):
            setting, value = rule.param, getattr(state.params, rule.param, None)
            if value is not None:
                setting += f" ({as_shown(value):.80})"
            return InvalidRequest(
                f"{position}: {setting} forbids every token with a finite logit",
                param=rule.param,
            )
    if state.grammar is not None:
        return InvalidRequest(
            f"{position}: {state.grammar.param} leaves no token with a finite logit",
            param=state.grammar.param,
        )
    return InvalidRequest(f"{position}: bias and penalties leave no finite logit")


def check_row(row: int, num_rows: int) -> int:
    """Return `row` if the logits have it. Raises `InvariantViolated`."""
    if not 0 <= row < num_rows:
        raise InvariantViolated(
            f"a sample task names logits row {row}, but the step has {num_rows} rows"
        )
    return row


def non_finite(token: str) -> YaieError:
    """Return the error of logits that are not finite; `token` names what they are for."""
    return LogitsNotFinite(
        f"the logits for {token} are not finite; the weights may be damaged or overflow the data "
        "type; try dtype float32"
    )


def wrap_error(error: Exception) -> YaieError:
    """Return an exception as its sequence's error."""
    if isinstance(error, YaieError):
        return error
    return RequestFailed(f"sampling a token failed: {type(error).__name__}: {error}")
