"""`yaie serve --ray` with two routers: YAIE's, and Ray's `PrefixCacheAffinityRouter`.

A request whose `cache_salt` begins with `THEIRS` is routed by Ray's router. That router compares
texts; here a character stands for a token. `python -m benchmarks.fleet.both_routers serve --ray`.
"""

from __future__ import annotations

from typing import Any

from ray.llm._internal.serve.routing_policies.prefix_aware.prefix_aware_router import (
    PrefixCacheAffinityRouter,
)
from ray.serve.request_router import PendingRequest, ReplicaID, RunningReplica

from benchmarks.fleet.routers import THEIRS
from yaie.ray import deployments
from yaie.ray.engine_replica import read_request
from yaie.ray.radix_placement import Placement
from yaie.ray.radix_router import RadixRouter
from yaie.ray.route import Route

_FIRST_CHARACTER = 0x4E00  # beyond it no surrogates for some 30,000 tokens


class BothRouters(RadixRouter, PrefixCacheAffinityRouter):  # type: ignore[misc]  # as RadixRouter
    """Two routers over the same replicas, each with its defaults and its own history."""

    def initialize_state(self, **options: Any) -> None:
        """Make both histories."""
        RadixRouter.initialize_state(self)
        PrefixCacheAffinityRouter.initialize_state(self)

    async def choose_replicas(
        self,
        candidate_replicas: list[RunningReplica],
        pending_request: PendingRequest | None = None,
    ) -> list[list[RunningReplica]]:
        """Return the replicas as the request's router ranks them."""
        chosen = PrefixCacheAffinityRouter if _is_theirs(pending_request) else RadixRouter
        ranked: list[list[RunningReplica]] = await chosen.choose_replicas(
            self, candidate_replicas, pending_request
        )
        return ranked

    def on_request_routed(
        self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any
    ) -> None:
        """Note the request in the history of its router."""
        if not _is_theirs(pending_request):
            RadixRouter.on_request_routed(self, pending_request, replica_id, result)
            return
        PrefixCacheAffinityRouter.on_request_routed(self, pending_request, replica_id, result)
        route: Route = pending_request.kwargs["route"]
        route.placement = Placement(replica_id.unique_id, "cold", 0)  # for the metrics

    def _extract_text_from_request(self, pending_request: PendingRequest) -> str:
        """Return the prompt's tokens as characters."""
        tokens = read_request(pending_request.args[0]).prompt_token_ids
        return "".join(chr(_FIRST_CHARACTER + token) for token in tokens)


def _is_theirs(pending_request: PendingRequest | None) -> bool:
    return (
        pending_request is not None
        and isinstance(pending_request.kwargs.get("route"), Route)
        and THEIRS.encode() in pending_request.args[0]
    )


if __name__ == "__main__":
    from yaie.cli.main import main

    deployments.ROUTER = "benchmarks.fleet.both_routers:BothRouters"
    main()
