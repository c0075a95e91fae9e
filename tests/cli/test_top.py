"""`yaie top`: the picture that a feed makes."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from yaie.base.advised_error import AdvisedError
from yaie.cli.top import Picture, _whole

WINDOW = {
    "prompt": 1000,
    "cached": 750,
    "hit": 0.75,
    "hit_25": 0.8,
    "hit_50": 0.85,
    "hit_100": 0.9,
    "missed_new": 60,
    "missed_changed": 30,
    "missed_evicted": 10,
    "ttft": 0.05,
    "cold": 1.5,
}
NOW = {
    "window": WINDOW,
    "state": "ready",
    "up_s": 90.0,
    "running": 1,
    "waiting": 3,
    "live": 100,
    "cached": 300,
    "more": {"n": 2, "tokens": 10},
}
REQUEST = {
    "id": "chatcmpl-1",
    "tenant": "[red]ada",
    "running": True,
    "prompt": 2000,
    "cached": 1500,
    "output": 7,
    "age_s": 3.25,
}


def node(number: int, parent: int, tokens: int, text: str | None, **fields: Any) -> list[Any]:
    values = {"uses": 1, "used_at": 100, "live": 0, "role": ""} | fields
    return [
        *(number, parent, 0, tokens, values["uses"], values["used_at"], "ada", values["live"], 0),
        *(values["role"], text, "4f9a"),
    ]


def picture(*nodes: list[Any], requests: tuple[Any, ...] = (REQUEST,)) -> Picture:
    made = Picture()
    made.take({"v": 1, "model": "tiny", "slots": 1000})
    made.take({"nodes": list(nodes), "held": 400, "total": 9, "others": 0.25})
    made.take(NOW | {"requests": list(requests)})
    return made


def shown(made: Picture, height: int = 40) -> list[str]:
    console = Console(width=110, force_terminal=False)
    with console.capture() as capture:
        console.print(made.render(height, now_s=160.0))
    return capture.get().splitlines()


def test_the_picture_has_figures_tree_and_requests() -> None:
    lines = shown(
        picture(
            node(1, 0, 200, "You are\x1b[31m brief", uses=8, role="system"),
            node(2, 1, 50, "[bold]hello"),
            node(3, 1, 20, None, live=1, role="user"),
        )
    )
    text = "\n".join(lines)
    assert "tiny  ready, up 90.0 s  1 running, 3 waiting" in text
    assert "75.0% of prompt tokens cached in 5 min  first token 50 ms cached, 1.5 s cold" in text
    assert "pool 40% (400 of" in text
    assert (
        "+25% 80.0%, +50% 85.0%, +100% 90.0%  computed: new 60%, changed 30%, evicted 10%" in text
    )
    assert "400 tokens in 9 nodes, others 25%" in text
    rows = [line for line in lines if "█" in line]
    assert [line.split()[0] for line in rows] == ["200", "50", "20"]
    assert "system: You are\\x1b[31m brief" in rows[0], "control characters do nothing"
    assert "[bold]hello" in rows[1], "text is no markup"
    assert "in use" in rows[2] and "user 4f9a" in rows[2]
    assert rows[0].count("█") == 16 and rows[1].count("█") == 4
    assert "[red]ada" in text and "2 more" in text and "1,500" in text


def test_a_small_screen_keeps_the_nodes_of_most_worth_under_their_parents() -> None:
    nodes = [node(1, 0, 10, "top", uses=50)]
    nodes += [node(2 + at, 1, 5 + at, f"leaf {at}") for at in range(30)]
    rows = [line for line in shown(picture(*nodes), height=16) if "█" in line]
    assert len(rows) < 12
    assert "top" in rows[0]
    assert {f"leaf {at}" in "\n".join(rows) for at in (28, 29)} == {True}
    assert "leaf 3 " not in "\n".join(rows)


def test_changes_are_applied() -> None:
    made = picture(node(1, 0, 10, "one"), node(2, 1, 10, "two"))
    made.take({"nodes": [node(3, 1, 10, "new")], "gone": [2], "held": 20, "total": 2})
    text = "\n".join(shown(made))
    assert "new" in text and "two" not in text
    made.take({"nodes": [], "held": 0, "total": 0})
    assert "█" not in "\n".join(shown(made))


def test_a_feed_that_ends_is_an_error() -> None:
    events = iter([{"v": 1}, NOW | {"requests": [], "state": "starting"}])
    whole = _whole(Picture(), events)
    next(whole)
    with pytest.raises(AdvisedError, match="ended the feed"):
        next(whole)
