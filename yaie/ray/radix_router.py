"""`RadixRouter`: Ray Serve's interface to `RadixPlacement`. One instance per deployment handle.

Ray sends the source of this module to every process, so the module keeps no state. Its base
class is alpha in Ray 2.60: the extra pins the release.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from yaie.ray.engine_replica import read_report
from yaie.ray.radix_placement import Placement, RadixPlacement
from yaie.ray.route import Event, Route


class RadixRouter(RequestRouter):  # type: ignore[misc]  # Any where ray is not installed
    """Router by predicted cached tokens and load. Calls without a `Route` go to any replica."""

    def initialize_state(self, **options: Any) -> None:
        """Make the placement; `options` are arguments of `RadixPlacement`."""
        self._placement = RadixPlacement(**options)
        self._inbox: deque[Event] = deque()
        self._seen: dict[str, Any] = {}  # the last report by replica
        self._ranked: dict[str, list[Placement]] = {}  # requests that no replica has accepted yet

    async def choose_replicas(
        self,
        candidate_replicas: list[RunningReplica],
        pending_request: PendingRequest | None = None,
    ) -> list[list[RunningReplica]]:
        """Return the replicas one by one, best first."""
        if pending_request is None:
            return [candidate_replicas]
        # Without it Ray asks again and again while every replica is full.
        pending_request.routing_context.should_backoff = True
        route = pending_request.kwargs.get("route")
        if not isinstance(route, Route):
            return [candidate_replicas]
        self._catch_up(candidate_replicas)
        by_name = {each.replica_id.unique_id: each for each in candidate_replicas}
        ranked = self._placement.rank(route.names, route.num_tokens, list(by_name), route.tried)
        request_id = pending_request.metadata.internal_request_id
        route.open(request_id, self._inbox)
        self._ranked[request_id] = ranked
        # Now, not when the replica accepts it: a burst is ranked before the first one is accepted.
        self._placement.routed(request_id, ranked[0], route.names, route.num_tokens)
        return [[by_name[each.replica]] for each in ranked]

    def on_request_routed(
        self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any
    ) -> None:
        """Note the replica that accepted a request; it may not be the best one."""
        request_id = pending_request.metadata.internal_request_id
        ranked = self._ranked.pop(request_id, [])
        route = pending_request.kwargs.get("route")
        for each in ranked:
            if each.replica == replica_id.unique_id and isinstance(route, Route):
                route.placement = each
                if each != ranked[0]:
                    self._placement.routed(request_id, each, route.names, route.num_tokens)

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """Note the end of a request."""
        self._forget(internal_request_id)

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Take over the set of replicas."""
        gone = self._seen.keys() - {each.replica_id.unique_id for each in replicas}
        for name in gone:
            self._remove(name)
        super().update_replicas(replicas)

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        """Forget a replica, and what it held."""
        super().on_replica_actor_died(replica_id)
        self._remove(replica_id.unique_id)

    def _catch_up(self, replicas: list[RunningReplica]) -> None:
        """Read what clients noted, and the reports that arrived since the last request."""
        while self._inbox:
            event, request_id = self._inbox.popleft()
            if event == "first_token":
                self._placement.first_token(request_id)
            else:
                self._forget(request_id)
        for each in replicas:
            name, report = each.replica_id.unique_id, each.routing_stats
            if report and self._seen.get(name) is not report:
                self._seen[name] = report
                self._placement.report(name, read_report(report))

    def _forget(self, request_id: str) -> None:
        self._ranked.pop(request_id, None)
        self._placement.completed(request_id)

    def _remove(self, name: str) -> None:
        self._seen.pop(name, None)
        self._placement.remove(name)
