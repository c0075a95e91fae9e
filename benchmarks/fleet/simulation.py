"""Discrete-event simulation of a fleet: real schedulers, trees and placement, modelled step times.

Every replica computes its steps on its own; the router learns of first tokens and ends at once, and
of trees by a report once a period. Hops between processes are left out.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.fleet.replica import MODEL, NAMESPACE, Replica
from benchmarks.fleet.routers import Router
from benchmarks.schedule.sessions import Call, Session
from benchmarks.schedule.simulation import Setting, StepCost
from benchmarks.schedule.workloads import Workload
from yaie.base.types import Timings
from yaie.kvcache.block_names import root_name, routing_names


@dataclass(frozen=True, slots=True)
class Change:
    """A replica that joins the fleet, empty, or leaves it."""

    at_s: float
    replica: str
    joins: bool


@dataclass(slots=True)
class Sent:
    """A call in the fleet, with its times in seconds."""

    request_id: str
    session: Session
    call: Call
    replica: str
    sent_s: float
    num_open: int
    timings: Timings = field(default_factory=Timings)  # of the first sequence that ended


@dataclass
class Fleet:
    """One run of a workload on replicas behind a router."""

    setting: Setting
    cost: StepCost
    report_s: float = 0.5
    changes: Sequence[Change] = ()
    now: float = 0.0
    served: list[Sent] = field(default_factory=list)
    replicas: dict[str, Replica] = field(default_factory=dict)  # that take requests
    gone: list[Replica] = field(default_factory=list)
    _events: list[tuple[float, int, tuple[object, ...]]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _open: dict[str, Sent] = field(default_factory=dict)
    _num_expected: int = 0  # calls that have not been sent

    def run(self, workload: Workload, router: Router, arrivals_s: Iterable[float]) -> Fleet:
        """Run until every session has ended."""
        self._router, self._root = router, root_name(MODEL, NAMESPACE)
        for change in self.changes:
            self._at(change.at_s, (self._change, change))
        for at_s, session in zip(arrivals_s, workload.sessions, strict=True):
            for call in session.first():
                self._expect(at_s, session, call)
        while self._num_expected or self._open:
            self.now, _, (action, *arguments) = heapq.heappop(self._events)
            action(*arguments)  # type: ignore[operator]
        return self

    def _at(self, at_s: float, event: tuple[object, ...]) -> None:
        heapq.heappush(self._events, (at_s, next(self._numbers), event))

    def _change(self, change: Change) -> None:
        if change.joins:
            made = Replica(change.replica, self.setting, self.cost, lambda: self.now)
            self.replicas[change.replica] = made
            self._report(made)
        else:
            self.gone.append(self.replicas.pop(change.replica))
            self._router.remove(change.replica)

    def _report(self, replica: Replica) -> None:
        if self.replicas.get(replica.name) is replica:
            self._router.report(replica)
            self._at(self.now + self.report_s, (self._report, replica))

    def _expect(self, at_s: float, session: Session, call: Call) -> None:
        self._num_expected += 1
        self._at(at_s, (self._send, session, call))

    def _send(self, session: Session, call: Call) -> None:
        self._num_expected -= 1
        request_id = f"r{len(self.served) + len(self._open)}"
        prompt = np.concatenate(call.prompt)
        names = routing_names(prompt, self._root)
        name = self._router.choose(request_id, names, len(prompt), list(self.replicas))
        replica = self.replicas[name]
        self._open[request_id] = Sent(request_id, session, call, name, self.now, len(call.outputs))
        replica.add(request_id, call)
        if replica.step is None:
            self._begin(replica)

    def _begin(self, replica: Replica) -> None:
        if replica.step is None and (duration_s := replica.begin_step()) is not None:
            self._at(self.now + duration_s, (self._end, replica))

    def _end(self, replica: Replica) -> None:
        """End a step. The next calls arrive before the tree ranks the leaves of ended ones."""
        result = replica.sample()
        for request_id in result.first_tokens:
            self._router.first_token(request_id)
        replica.end_step(result)
        for request_id, timings in result.ended:
            sent = self._open[request_id]
            if sent.num_open == len(sent.call.outputs):
                sent.timings = timings
            sent.num_open -= 1
            if not sent.num_open:
                del self._open[request_id]
                self.served.append(sent)
                self._router.completed(request_id)
                for call in sent.session.after(sent.call):
                    self._expect(
                        self.now + max(call.think_s, self.setting.reply_s), sent.session, call
                    )
        self._at(self.now, (self._begin, replica))
