"""Grammar faults: errors and costs of a grammar in a request's words, with the fix."""

from __future__ import annotations

import signal

from yaie.base.errors import first_line
from yaie.engine.grammar.grammar_process import Outcome

LONGEST_S = 20.0  # of a job by the wall clock, for a machine without time for the process
LIMIT_ERRORS = (  # llguidance's words for a grammar beyond its limits
    "Current row has",
    "Too many items",
    "fuel exhausted",
    "too many expressions",
    "too many states",
    "limits.",
)
_SHORTEN = "shorten long literals and bounded repetitions"
ADVICE = "remove ambiguous rules (such as s: s s), nested repetitions and long literals"


def describe_fault(outcome: Outcome, limit_s: float, budget_bytes: int) -> str:
    """Return what was too costly or wrong in a job, and the fix; empty if nothing was."""
    if outcome.signal == signal.SIGPROF:
        return f"it takes more than {limit_s:g} s of processor time; {ADVICE}"
    if outcome.is_too_large or outcome.signal == signal.SIGABRT:
        return f"it needs more than {budget_bytes >> 20} MiB of memory; {_SHORTEN}"
    if outcome.signal == signal.SIGALRM:
        return f"it takes more than {LONGEST_S:g} s; {ADVICE}"
    if outcome.signal:
        return f"the grammar library ended with signal {outcome.signal}; {ADVICE}"
    return explain_error(outcome.fault) if outcome.fault else ""


def explain_error(reason: str) -> str:
    """Return llguidance's error in a request's words, with the fix."""
    if "NoExtension" in reason:
        return "no finite text matches; give each rule that leads back to itself another way to end"
    if "Current row has" in reason or "Too many items" in reason:
        return "too many alternatives are open at once; use fewer, or join them in one terminal"
    if any(each in reason for each in LIMIT_ERRORS):
        return f"{first_line(ValueError(reason))}; {_SHORTEN}"
    return " ".join(reason.removesuffix("<non-verbose/>").split())[:400]
