"""Query answers: reads an engine's tree for cache queries. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yaie.base.errors import InvalidRequest, ModelUnsupported, NotEnoughMemory
from yaie.base.queries import (
    AdapterChanged,
    Answer,
    Blocks,
    CacheDescription,
    DescribeCache,
    ExplainPrompt,
    Explanation,
    FlushCache,
    Flushed,
    ListBlocks,
    ListBranches,
    LoadAdapter,
    Query,
    TreeView,
    UnloadAdapter,
    ViewTree,
)
from yaie.base.settings import EngineConfig
from yaie.engine.request_views import RequestViews
from yaie.kvcache.cache_events import CacheEvents
from yaie.kvcache.explain import explain
from yaie.kvcache.largest_branches import largest_branches
from yaie.kvcache.namespaces import adapter_of, namespace_of
from yaie.kvcache.radix_tree import RadixTree
from yaie.kvcache.tree_view import view_nodes

if TYPE_CHECKING:
    from yaie.engine.engine_adapters import EngineAdapters

_MARK_S, _MOST_MARKS = 1.0, 2**14
_MOST_SALTS = 256  # namespaces of one owner that are looked into, the newest


def observe(tree: RadixTree, config: EngineConfig) -> CacheEvents | None:
    """Observe an engine's tree as `config.cache_events` says."""
    reports: dict[str, Callable[[Hashable], bool] | None] = {
        "names": None,
        "unsalted": _is_unsalted,
        "all": lambda namespace: not adapter_of(namespace),
    }
    if config.cache_events not in reports:
        return None
    return CacheEvents(
        tree,
        config.model_name,
        block_size=config.kv_block_size,
        reports=reports[config.cache_events],
    )


def _is_unsalted(namespace: Hashable) -> bool:
    """Return True for a namespace of `namespace_of` without a salt and without an adapter."""
    return isinstance(namespace, tuple) and len(namespace) == 2 and namespace[1] == ""


class ClockTimes:
    """Times at which the tree's clock had past values: one a second, for some hours."""

    def __init__(self) -> None:
        self._marks: deque[tuple[int, float]] = deque(maxlen=_MOST_MARKS)  # clock, seconds

    def note(self, clock: int, now: float) -> None:
        """Note the clock before a step."""
        if not self._marks or now - self._marks[-1][1] >= _MARK_S:
            self.mark(clock, now)

    def mark(self, clock: int, now: float) -> None:
        """Record the tree clock of the present time."""
        self._marks.append((clock, now))

    def age_s(self, clock: int, now: float) -> float | None:
        """Return the seconds since the tree had this clock, to a second or to a step.

        None if that is before the first mark.
        """
        at = self.time_of(clock)
        return now - at if at else None

    def time_of(self, clock: int) -> float:
        """Return the time at which the tree had this clock; 0 before the first mark."""
        after = bisect_right(self._marks, clock, key=_clock_of)
        return self._marks[after - 1][1] if after else 0.0


def _clock_of(mark: tuple[int, float]) -> int:
    return mark[0]


class QueryAnswers:
    """Answers queries about one tree."""

    def __init__(
        self,
        tree: RadixTree,
        forget_past: Callable[[], None],
        requests: RequestViews | None = None,
        adapters: EngineAdapters | None = None,
    ) -> None:
        """`forget_past` unpins ended turns' paths; `requests` answers `ViewTree`."""
        self._tree = tree
        self._adapters = adapters
        self._forget_past = forget_past
        self._requests = requests
        self.times = ClockTimes()

    def answer(self, query: Query, now: float) -> Answer:
        """Answer a query. Raises `InvalidRequest` for an unknown query type."""
        tree = self._tree
        found: Answer
        if isinstance(query, ExplainPrompt):
            found = self._explain(query, now)
        elif isinstance(query, DescribeCache):
            found = _describe(tree)
        elif isinstance(query, ListBranches):
            namespace = self._namespace_of(query)
            found = largest_branches(tree, namespace, limit=query.limit, num_shown=query.num_shown)
        elif isinstance(query, ListBlocks):
            found = _list_blocks(tree, query)
        elif isinstance(query, ViewTree):
            found = self._view(query)
        elif isinstance(query, FlushCache):
            self.times.mark(tree.clock, now)
            self._forget_past()
            found = Flushed(tree.clear(), tree.num_slots - tree.num_free)
        elif isinstance(query, LoadAdapter):
            found = self._load(query)
        elif isinstance(query, UnloadAdapter):
            assert self._adapters is not None
            found = AdapterChanged(self._adapters.unload(query.name))
        else:
            raise InvalidRequest(f"{type(query).__name__} is not a query")
        return found

    def _namespace_of(self, query: ExplainPrompt | ListBranches) -> Hashable:
        if self._adapters is None:
            return namespace_of(query.owner, query.cache_salt)
        return self._adapters.namespace_of(query)

    def _load(self, query: LoadAdapter) -> AdapterChanged:
        assert self._adapters is not None
        try:
            info = self._adapters.load(query.name, query.path, replaces=query.replaces)
        except (ModelUnsupported, NotEnoughMemory) as error:
            raise InvalidRequest(error.message, param="lora_path") from None
        return AdapterChanged(info)

    def _explain(self, query: ExplainPrompt, now: float) -> Explanation:
        found = explain(
            self._tree,
            self._namespace_of(query),
            query.token_ids,
            elsewhere=_elsewhere(self._tree, query),
            num_shown=query.num_shown,
        )
        if (eviction := found.eviction) is None:
            return found
        age_s = self.times.age_s(eviction.clock, now)
        return replace(found, eviction=replace(eviction, age_s=age_s))

    def _view(self, query: ViewTree) -> TreeView:
        tree = self._tree
        live = () if self._requests is None else self._requests.live_nodes()
        nodes, twins = view_nodes(
            tree, live, limit=query.limit, num_shown=query.num_shown, time_of=self.times.time_of
        )
        requests, num_more, num_more_tokens = (
            ([], 0, 0) if self._requests is None else self._requests.view(query.num_requests)
        )
        held: Counter[str] = Counter()
        for node in nodes:
            held[node.owner] += node.num_tokens
        return TreeView(
            nodes=tuple(nodes),
            requests=tuple(requests),
            num_nodes=tree.num_nodes,
            num_held=tree.num_slots - tree.num_free,
            num_more=num_more,
            num_more_tokens=num_more_tokens,
            misses=() if self._requests is None else self._requests.misses(),
            held_by_owner=dict(held),
            twins=twins,
            seconds=0.0,  # the core measures it
        )


def _elsewhere(tree: RadixTree, query: ExplainPrompt) -> list[Hashable]:
    """Return the namespaces that the answer may mention."""
    if not query.names_salts:
        return [namespace_of(query.owner, "")]
    return [root for root, _ in zip(_of_owner(tree, query.owner), range(_MOST_SALTS), strict=False)]


def _of_owner(tree: RadixTree, owner: str) -> Iterator[Hashable]:
    return (
        root
        for root in reversed(tree.roots)
        if isinstance(root, tuple) and len(root) >= 2 and root[0] == owner
    )


def _list_blocks(tree: RadixTree, query: ListBlocks) -> Blocks:
    if tree.observer is None:
        raise InvalidRequest(
            "the engine keeps no block names; start it with --cache-events names",
        )
    names, num_omitted = tree.observer.newest(query.limit)
    return Blocks(names, num_omitted, tree.observer.block_size)


def _describe(tree: RadixTree) -> CacheDescription:
    return CacheDescription(
        num_slots=tree.num_slots,
        num_free=tree.num_free,
        num_live=tree.num_live,
        num_cached=tree.num_cached,
        num_nodes=tree.num_nodes,
        num_namespaces=len(tree.roots),
        clock=tree.clock,
        num_evicted_tokens=tree.num_evicted_tokens,
        num_evicted_nodes=tree.num_evicted_nodes,
        num_remembered_branches=len(tree.evicted),
        remembered_bytes=tree.evicted.num_bytes,
    )
