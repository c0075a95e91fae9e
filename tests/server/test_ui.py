"""`/ui`: who sees the page, its files, its rows and its series. Browsers: tests/browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_about import BROWSER
from yaie.base.errors import AuthenticationFailed, Overloaded
from yaie.base.queries import TreeView, ViewedNode
from yaie.base.stats import EngineStats
from yaie.server.http.http_errors import NotFound
from yaie.server.http.middleware import PAGE_FOLDER
from yaie.server.ui.series import LENGTH, Series
from yaie.server.ui.shown_nodes import NodeTexts, changes, rows_of, share_of_others
from yaie.server.ui.tree_feed import Page, TreeFeed
from yaie.server.ui.viewer import Viewer, is_on_this_machine, viewer_of
from yaie.text.tokenizer import Tokenizer

EVERYONE = Viewer(owner=None, tenant=None, is_admin=False, shows_text=True)


def local(http: TestClient) -> TestClient:
    return TestClient(http.app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 5))


def request_of(
    app: Any = None, *, client: str = "127.0.0.1", tenant: str | None = None, **headers: str
) -> Request:
    headers = {"host": "localhost:8000"} | headers
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    state = {} if tenant is None else {"tenant": tenant}
    return Request(
        {"type": "http", "client": (client, 1), "headers": raw, "app": app, "state": state}
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, True),
        ({"host": "127.0.0.1"}, True),
        ({"host": "[::1]:8000"}, True),
        ({"client": "::1"}, True),
        ({"client": "10.0.0.7"}, False),
        ({"host": "evil.example:8000"}, False),  # its name may point here
        ({"host": "localhost.evil.example"}, False),
        ({"host": ""}, False),
        ({"x_forwarded_for": "10.0.0.7"}, False),
        ({"forwarded": "for=10.0.0.7"}, False),
        ({"via": "1.1 proxy"}, False),
    ],
)
def test_a_browser_on_this_machine_is_known(headers: dict[str, str], expected: bool) -> None:
    assert is_on_this_machine(request_of(**headers)) is expected


def test_the_page_is_for_this_machine_unless_it_is_switched(make_app: MakeApp) -> None:
    http, _ = make_app()
    assert http.get("/ui").status_code == 404
    assert "start it with --ui" in http.get("/ui/app.js").json()["error"]["message"]
    assert "ui" not in http.get("/").json()["links"]
    here = local(http)
    assert here.get("/ui").status_code == here.get("/ui/").status_code == 200
    assert 'href="/ui"' in here.get("/", headers=BROWSER).text
    assert make_app(ui=True)[0].get("/ui").status_code == 200
    off = local(make_app(ui=False)[0])
    for path in ("/ui", "/ui/app.js", "/ui/events"):
        assert off.get(path).status_code == 404, path
    assert "ui" not in off.get("/").json()["links"]


def test_every_file_of_the_page_is_served_and_needs_nothing_from_elsewhere(
    make_app: MakeApp,
) -> None:
    http = local(make_app(api_key="k")[0])
    page = http.get("/ui")
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script[^>]*>[^<]|\sstyle=|\son\w+=", page.text), "nothing inline"
    names = [each.name for each in PAGE_FOLDER.iterdir()]
    assert "index.html" in names
    for name in set(names) - {"index.html"}:
        found = http.get(f"/ui/{name}")
        assert found.status_code == 200, name
        assert found.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"https?://(?!www\.w3\.org/)", found.text), name
        assert "innerHTML" not in found.text, "text becomes text nodes only"
    assert http.get("/ui/index.html").status_code == 404
    assert http.get("/ui/..%2fviewer.py").status_code == 401


def test_the_feed_and_the_orders_need_a_key_and_no_get_changes_anything(make_app: MakeApp) -> None:
    http = local(make_app(api_key="k", admin_key="root")[0])
    assert http.get("/ui/events").status_code == 401
    for path in ("/ui/explain", "/ui/abort"):
        assert http.post(path, json={"id": "x"}).status_code == 401
        assert http.get(path).status_code == 404  # as an unknown file
    keyed = {"Authorization": "Bearer k"}
    assert http.post("/ui/abort", json={"id": "x"}, headers=keyed).status_code == 401
    admin = {"Authorization": "Bearer root"}
    assert http.post("/ui/abort", json={"id": "x"}, headers=admin).status_code == 404
    assert http.post("/ui/explain", json={"id": "x"}, headers=keyed).status_code == 404
    form = {"Content-Type": "text/plain", **admin}  # a form of another site could send it
    assert http.post("/ui/abort", content='{"id": "x"}', headers=form).status_code == 415


def test_a_viewer_sees_its_own_part(make_app: MakeApp) -> None:
    app = make_app(api_key="k", admin_key="root")[0].app
    with pytest.raises(AuthenticationFailed):
        viewer_of(request_of(app))
    assert viewer_of(request_of(app, tenant="t")) == Viewer("t", "t", False, True)
    admin = {"authorization": "Bearer root"}
    assert viewer_of(request_of(app, **admin)) == Viewer(None, None, True, True)
    with pytest.raises(NotFound):
        viewer_of(request_of(app, client="10.0.0.7", tenant="t"))
    remote = make_app(ui=True)[0].app
    assert viewer_of(request_of(remote, client="10.0.0.7")) == Viewer(None, None, False, False)
    shown = make_app(ui=True, ui_show_text=True)[0].app
    assert viewer_of(request_of(shown, client="10.0.0.7")).shows_text


def test_a_keys_pages_leave_room_for_other_keys_and_the_admin() -> None:
    feed: Any = TreeFeed(None, None, None)  # type: ignore[arg-type]
    ada, bob = (Viewer(name, name, is_admin=False, shows_text=True) for name in ("ada", "bob"))
    admin = Viewer(None, None, is_admin=True, shows_text=True)
    feed._pages |= {Page(ada) for _ in range(16)}
    with pytest.raises(Overloaded, match="16 pages of this API key are open; close one"):
        feed.check_room(ada)
    feed.check_room(bob)
    feed._pages |= {Page(EVERYONE) for _ in range(48)}
    with pytest.raises(Overloaded, match="64 pages are open; close one"):
        feed.check_room(bob)
    feed.check_room(admin)


def view_of(tokenizer: Tokenizer) -> TreeView:
    def node(number: int, owner: str, text: str, *, is_salted: bool = False) -> ViewedNode:
        ids = b"".join(each.to_bytes(4, "little") for each in tokenizer.encode(text))
        return ViewedNode(number, 0, owner, is_salted, 0, 100, 1, 5.0, 0, 0, ids)

    nodes = (
        node(1, "ada", "plan of ada"),
        node(2, "bob", "plan of bob"),
        node(3, "bob", "salted plan", is_salted=True),
    )
    return TreeView(nodes, (), 3, 300, 0, 0, (), {"ada": 100, "bob": 200}, None, 0.0)


def test_rows_hide_text_and_shape_of_others(tokenizer: Tokenizer) -> None:
    view, texts = view_of(tokenizer), NodeTexts(tokenizer)

    def shown(viewer: Viewer) -> dict[int, Any]:
        return {row[0]: row[10] for row in rows_of(view, viewer, texts, str.upper).values()}

    assert shown(EVERYONE) == {1: "plan of ada", 2: "plan of bob", 3: None}
    admin = Viewer(None, None, is_admin=True, shows_text=True)
    assert shown(admin)[3] == "salted plan"
    ada = Viewer("ada", "ada", is_admin=False, shows_text=True)
    assert shown(ada) == {1: "plan of ada"}
    masked = Viewer(None, None, is_admin=True, shows_text=False)
    assert set(shown(masked).values()) == {None}
    rows = rows_of(view, ada, texts, str.upper)
    assert share_of_others(view, rows.values()) == pytest.approx(2 / 3)
    assert "bob" not in str(rows).lower()
    digests = [row[11] for row in rows_of(view, masked, texts, str.upper).values()]
    assert len(set(digests)) == 3


def test_changes_are_new_and_different_rows_and_lost_nodes() -> None:
    before = {1: (1, "a"), 2: (2, "b"), 3: (3, "c")}
    after = {1: (1, "a"), 2: (2, "x"), 4: (4, "d")}
    assert changes(before, after) == ([(2, "x"), (4, "d")], [3])  # type: ignore[arg-type]


def test_series_are_growth_and_restart_with_an_engine() -> None:
    series = Series()
    for step in range(LENGTH + 10):
        stats = EngineStats(
            prompt_tokens=100 * step,
            cached_tokens=75 * step,
            num_kept_by_25_tokens=5 * step,
            num_wanted_again_tokens=10 * step,
            num_evicted_tokens=step,
            num_cached_slots=50,
        )
        series.sample(stats, 200)
    columns = series.columns()
    assert {len(each) for each in columns.values()} == {LENGTH}
    assert columns["hit"][-1] == 0.75
    assert columns["pool"][-1] == 0.25
    assert columns["evicted"][-1] == 1
    assert columns["ttft"][-1] is None
    window = series.window(stats)
    assert (window["hit"], window["hit_25"], window["hit_100"]) == (0.75, 0.8, 0.85)
    assert window["prompt"] == 100 * LENGTH, "five minutes, not all"
    series.sample(EngineStats(prompt_tokens=10, cached_tokens=1), 200)
    assert series.columns()["hit"][-1] is None, "another engine counts from 0"
    assert series.window(EngineStats(prompt_tokens=20, cached_tokens=6))["hit"] == 0.5
