"""`yaie top`: a running server's cache and requests on the terminal, from the feed of its page."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yaie.base.advised_error import AdvisedError
from yaie.cli.cache import ModelName, shown_line
from yaie.cli.failures import SERVER_UNREACHABLE
from yaie.cli.running import ApiKey, Url, open_server
from yaie.remote.replies import StreamBroke

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_AGES = ((15, "bold cyan"), (90, "cyan"), (600, "blue"))  # seconds since the last use, style
_BAR = 16  # characters
_REDRAWS = 4  # a second
_LEAST_ROWS = 4
# Places in a node's row, as `yaie.server.ui.shown_nodes` makes it.
_NUMBER, _PARENT, _TOKENS, _USES, _USED_AT, _TENANT, _LIVE, _ROLE, _TEXT, _DIGEST = (
    *(0, 1, 3, 4, 5, 6, 7),
    *(9, 10, 11),
)
Row = list[Any]


class Picture:
    """State of the feed, and its rows for a screen."""

    def __init__(self) -> None:
        self._hello: dict[str, Any] = {}
        self._now: dict[str, Any] = {}
        self._about: dict[str, Any] = {}
        self._nodes: dict[int, Row] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Take an event of the feed."""
        if "v" in event:
            self._hello = dict(event)
        elif "window" in event:
            self._now = dict(event)
        elif "nodes" in event:
            if "gone" not in event:
                self._nodes.clear()
            self._nodes |= {row[_NUMBER]: row for row in event["nodes"]}
            for number in event.get("gone", ()):
                self._nodes.pop(number, None)
            self._about = dict(event)

    @property
    def is_whole(self) -> bool:
        """True once numbers have arrived, and the tree of a server that is ready."""
        return bool(self._now) and (bool(self._about) or self._now["state"] != "ready")

    def render(self, height: int, now_s: float) -> Group:
        """Return what a screen of `height` rows shows; `now_s`: unix time."""
        from rich.console import Group

        requests = self._requests(max(3, height // 4))
        room = max(_LEAST_ROWS, height - requests.row_count - 8)
        return Group(*self._summary(), self._tree(room, now_s), requests)

    def _summary(self) -> list[Text]:
        from rich.text import Text

        hello, now = self._hello, self._now
        window = now["window"]
        held, slots = now["live"] + now["cached"], hello.get("slots", 0)
        head = Text.assemble(
            (str(hello.get("model", "")), "bold"),
            f"  {now['state']}, up {_duration(now['up_s'])}",
            f"  {now['running']} running, {now['waiting']} waiting",
        )
        share = f"  pool {held / slots:.0%} ({held:,} of {slots:,} tokens)" if slots else ""
        first = f"  first token {_duration(window['ttft'])} cached"
        figures = Text.assemble(
            (_percent(window["hit"]), "bold cyan"),
            " of prompt tokens cached in 5 min",
            f"{first}, {_duration(window['cold'])} cold{share}",
        )
        larger = [
            f"{name} {_percent(window[field])}"
            for name, field in (("+25%", "hit_25"), ("+50%", "hit_50"), ("+100%", "hit_100"))
        ]
        causes = [(name, window[f"missed_{name}"]) for name in ("new", "changed", "evicted")]
        total = sum(count for _, count in causes)
        missed = ", ".join(f"{name} {count / total:.0%}" for name, count in causes if total)
        more = Text(
            f"larger pool: {', '.join(larger)}" + (f"  computed: {missed}" if missed else ""),
            style="dim",
        )
        return [head, figures, more]

    def _tree(self, room: int, now_s: float) -> Table:
        from rich.table import Table
        from rich.text import Text

        about = self._about
        others = about.get("others", 0)
        hidden = f", others {others:.0%}" if others > 0.001 else ""
        title = f"cached prompts: {about.get('held', 0):,} tokens"
        title += f" in {about.get('total', 0):,} nodes{hidden}"
        table = Table(box=None, expand=True, padding=(0, 1), title=title, title_justify="left")
        for name, style in (("tokens", "right"), ("uses", "right"), ("age", "right")):
            table.add_column(name, justify=style, no_wrap=True)  # type: ignore[arg-type]
        table.add_column("text", ratio=1, no_wrap=True, overflow="ellipsis")
        shown = self._shown(room)
        longest = max((row[_TOKENS] for _, row in shown), default=1)
        for depth, row in shown:
            age_s = 0.0 if row[_LIVE] else now_s - row[_USED_AT] if row[_USED_AT] else None
            style = next((s for limit, s in _AGES if age_s is not None and age_s < limit), "dim")
            bar = "█" * max(1, round(_BAR * row[_TOKENS] / longest))
            name = f" {'▸ ' if row[_LIVE] else ''}{_name(row)}"
            text = Text.assemble("  " * depth, (bar, style), name)
            age = "in use" if row[_LIVE] else _duration(age_s)
            table.add_row(f"{row[_TOKENS]:,}", f"{row[_USES]:,}", age, text)
        return table

    def _shown(self, room: int) -> list[tuple[int, Row]]:
        """Return up to `room` nodes of most worth with their depths, in path order."""
        below: dict[int, list[Row]] = {}
        for row in self._nodes.values():
            below.setdefault(row[_PARENT], []).append(row)
        chosen: set[int] = set()
        waiting = [(_worth(row), row[_NUMBER]) for row in below.get(0, ())]
        heapq.heapify(waiting)
        while waiting and len(chosen) < room:
            _, number = heapq.heappop(waiting)
            chosen.add(number)
            for row in below.get(number, ()):
                heapq.heappush(waiting, (_worth(row), row[_NUMBER]))
        found: list[tuple[int, Row]] = []
        stack = [(0, row) for row in reversed(below.get(0, ()))]
        while stack:
            depth, row = stack.pop()
            if row[_NUMBER] in chosen:
                found.append((depth, row))
                stack += [(depth + 1, each) for each in reversed(below.get(row[_NUMBER], ()))]
        return found

    def _requests(self, room: int) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 1), title="requests", title_justify="left")
        for name in ("request", "tenant", "state", "cached", "prompt", "answer", "age"):
            table.add_column(name, justify="left" if name in ("request", "tenant") else "right")
        rows = self._now["requests"]
        for each in rows[:room]:
            table.add_row(
                Text(each["id"][-12:]),  # text of clients is no markup
                Text(shown_line(each["tenant"], 20) or "-"),
                "running" if each["running"] else "waiting",
                f"{each['cached']:,}",
                f"{each['prompt']:,}",
                f"{each['output']:,}",
                _duration(each["age_s"]),
            )
        if more := len(rows[room:]) + self._now["more"]["n"]:
            table.add_row(f"{more:,} more")
        return table


def top(
    *,
    once: Annotated[bool, typer.Option("--once", help="print one picture and end")] = False,
    model: ModelName = None,
    url: Url = None,
    api_key: ApiKey = None,
) -> None:
    """Show a running server's cache and requests live: its page /ui on the terminal."""
    from rich.console import Console
    from rich.live import Live

    server = open_server(url, api_key, why="yaie top shows a running server", model=model or "")
    server.key_advice = "--api-key (or YAIE_API_KEY) with an API key or the admin key"
    route = "/ui/events" + (f"?model={model}" if model else "")
    picture, console = Picture(), Console()
    events = _whole(picture, server.events(route))
    if once:
        next(events)
        console.print(picture.render(40, time.time()))
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for _ in events:
            live.update(picture.render(console.height, time.time()), refresh=True)


def _whole(picture: Picture, events: Iterator[dict[str, Any]]) -> Iterator[None]:
    """Yield whenever the picture has changed, at most some times a second.

    Raises `AdvisedError` when the server ends the feed.
    """
    drawn_at = 0.0
    try:
        for event in events:
            picture.take(event)
            now = time.monotonic()
            if picture.is_whole and now - drawn_at >= 1 / _REDRAWS:
                drawn_at = now
                yield
    except StreamBroke:
        pass
    raise AdvisedError(
        "the server has ended the feed",
        advice="yaie top    (once it runs again)",
        code="server-unreachable",
        exit_code=SERVER_UNREACHABLE,
    )


def _worth(row: Row) -> int:
    return -(10**9 if row[_LIVE] else 0) - int((row[_USES] + 1) * row[_TOKENS])


def _name(row: Row) -> str:
    role = row[_ROLE] or "text"
    if row[_TEXT] is None:
        return f"{role} {row[_DIGEST]}"
    return shown_line(f"{role}: {row[_TEXT]}" if row[_ROLE] else row[_TEXT], 200)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{1000 * max(0.0, seconds):.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
