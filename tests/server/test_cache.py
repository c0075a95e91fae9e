"""Explanations of the cache over HTTP: held tokens, the place that differs, the cause."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.test_openapi import check_described
from yaie.base.errors import EngineDied
from yaie.server.models.served_model import Residence
from yaie.server.requests.digests import RecentDigests, digest_of
from yaie.server.schemas.cache import CacheBranches, CacheExplanation, CacheStats
from yaie.server.schemas.chat import ChatBody

SYSTEM = "You are a librarian who knows each tree of the land by its name."
TOOL = {"name": "find", "description": "Find a page", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": TOOL}]


def chat(*contents: str, system: str = SYSTEM, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant") * len(contents)
    turns = [{"role": r, "content": c} for r, c in zip(roles, contents, strict=False)]
    return {"messages": [{"role": "system", "content": system}, *turns], **fields}


def explain(http: TestClient, body: dict[str, Any], key: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    response = http.post("/v1/cache/explain", json=body, headers=headers)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    check_described(CacheExplanation, answer)
    return answer


def send(http: TestClient, body: dict[str, Any], key: str = "") -> None:
    path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    response = http.post(path, json={"max_tokens": 1, **body}, headers=headers)
    assert response.status_code == 200, response.text


def test_a_prompt_is_explained_before_and_after_it_was_sent(http: TestClient) -> None:
    body = chat("What is a radix tree?")
    cold = explain(http, body)
    assert (cold["cached_tokens"], cold["cause"]) == (0, "never_seen")
    assert cold["divergence"]["field"] == "template"
    send(http, body)
    warm = explain(http, body)
    assert warm["cached_tokens"] == warm["prompt_tokens"] - 1
    assert warm["cause"] is None and warm["divergence"] is None


@pytest.mark.parametrize(
    ("other", "field", "mine", "theirs"),
    [
        (chat("What is a radix plan?"), "messages[1].content", "plan?", "tree?"),
        (chat("What is a radix tree?", system=SYSTEM[:-5] + "size."), "messages[0].content",
         "size.", "name."),
        (chat("What is a radix tree?", "A plan."), "messages[2].content", "A plan.", ""),
    ],
)  # fmt: skip
def test_the_first_difference_is_shown_with_its_field(
    http: TestClient, other: dict[str, Any], field: str, mine: str, theirs: str
) -> None:
    send(http, chat("What is a radix tree?"))
    found = explain(http, other)
    place = found["divergence"]
    assert place["field"] == field
    assert place["position"] == found["cached_tokens"] > 10
    before = place["before"]
    assert (before + place["text"]).find(mine) >= 0
    assert not theirs or (before + place["held"][0]["text"]).find(theirs) >= 0


def test_two_bodies_are_compared(http: TestClient) -> None:
    one, other = chat("What is a radix tree?"), chat("What is a radix plan?")
    found = explain(http, {**one, "compare_with": other})["comparison"]
    assert found["is_same_namespace"] and found["position"] == found["shared_tokens"] > 10
    assert found["this"]["field"] == found["other"]["field"] == "messages[1].content"
    assert found["this"]["text"] != found["other"]["text"]
    same = explain(http, {**one, "compare_with": one})["comparison"]
    assert same["position"] is None and same["this"] is None
    salted = explain(http, {**one, "compare_with": {**one, "cache_salt": "x"}})["comparison"]
    assert not salted["is_same_namespace"] and salted["shared_tokens"] == 0


@pytest.mark.parametrize(
    ("side", "field"), [("left", "messages[3].content"), ("right", "messages[0].content")]
)
def test_a_truncated_prompt_keeps_its_fields(http: TestClient, side: str, field: str) -> None:
    cut = {"truncate_prompt_tokens": 12, "truncation_side": side}
    one = chat("What is a radix tree?", "A plan.", "And a tree?", **cut)
    other = chat("What is it?", "A plan.", "And a plan?", system="No plan. " + SYSTEM, **cut)
    found = explain(http, {**one, "compare_with": other})["comparison"]
    assert found["this"]["field"] == found["other"]["field"] == field


def test_prompts_of_every_form_are_explained(http: TestClient) -> None:
    assert explain(http, {"prompt": "The tree"})["divergence"]["field"] == "prompt"
    assert explain(http, {"prompt": [5, 6, 7, 8]})["prompt_tokens"] == 4
    turns = [{"role": "user", "content": "a plan"}, {"role": "assistant", "content": "no plan"}]
    anthropic = {"system": SYSTEM, "messages": [*turns, {"role": "user", "content": "a tree"}]}
    found = explain(http, {**anthropic, "compare_with": chat("a plan", "no plan", "a tree")})
    assert found["comparison"]["position"] is None
    changed = {**anthropic, "messages": [*turns, {"role": "user", "content": "a slot"}]}
    found = explain(http, {**anthropic, "compare_with": changed})
    assert found["comparison"]["this"]["field"] == "messages[2].content"
    changed = {**anthropic, "system": SYSTEM + " Yes."}
    found = explain(http, {**anthropic, "compare_with": changed})
    assert found["comparison"]["other"]["field"] == "system"


def test_an_evicted_prompt_is_told_from_one_never_seen(make_app: MakeApp) -> None:
    http, engine = make_app()
    send(http, chat("What is a radix tree?"))
    engine.tree.clear()
    found = explain(http, chat("What is a radix tree?"))
    assert found["cause"] == "evicted"
    assert found["eviction"]["tokens"] == found["prompt_tokens"]
    assert found["eviction"]["reason"] == "flushed"
    assert explain(http, {"prompt": "A plan of another tree, and more."})["cause"] == "never_seen"


def test_what_one_key_asked_is_hidden_from_another(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="one,two")
    body = chat("What is a radix tree?")
    send(http, body, "one")
    salted = {**body, "cache_salt": "s"}
    assert explain(http, body, "one")["cause"] is None
    found = explain(http, salted, "one")
    assert found["cause"] == "other_namespace"
    assert found["cached_tokens_elsewhere"] == found["prompt_tokens"] - 1
    for asked in (body, salted):
        other = explain(http, asked, "two")
        assert (other["cached_tokens"], other["cause"]) == (0, "never_seen")
        assert other["cached_tokens_elsewhere"] == 0 and other["divergence"]["held"] == []
    engine.tree.clear()
    assert explain(http, body, "one")["cause"] == "evicted"
    assert explain(http, body, "two")["cause"] == "never_seen"


def test_keys_that_share_the_cache_see_no_text_of_each_other(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="one,two", share_cache=True)
    send(http, chat("What is a radix tree?"), "one")
    assert explain(http, chat("What is a radix tree?"), "two")["cause"] is None
    found = explain(http, chat("What is a radix plan?"), "two")
    assert found["cached_tokens"] > 10 and found["divergence"]["held"] == []
    assert [request.owner for request in engine.requests] == [""]


def test_without_keys_only_the_unsalted_namespace_is_named(http: TestClient) -> None:
    body = chat("What is a radix tree?")
    send(http, {**body, "cache_salt": "mine"})
    assert explain(http, body)["cause"] == "never_seen"
    assert explain(http, {**body, "cache_salt": "other"})["cause"] == "never_seen"
    send(http, body)
    assert explain(http, {**body, "cache_salt": "other"})["cause"] == "other_namespace"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"prompt": "a", "messages": [{"role": "user", "content": "x"}]}, None),
        ({"messages": []}, "messages"),
        ({"messages": [], "system": "x", "cache_salt": 7}, "cache_salt"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_use"}]}]},
         "messages[0].content[0].type"),
        ({"prompt": "a", "compare_with": {"prompt": 7}}, "prompt"),
        ({"prompt": "a", "compare_with": 7}, "compare_with"),
        ({"prompt": "a", "compare_with": {"messages": 7}}, "messages"),
        ({"prompt": "a", "cache_salt": ""}, "cache_salt"),
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused(http: TestClient, body: dict[str, Any], param: str) -> None:
    response = http.post("/v1/cache/explain", json=body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param


def test_a_dead_engine_is_an_error(make_app: MakeApp) -> None:
    http, engine = make_app()
    engine.refusal = EngineDied("the engine died")
    response = http.post("/v1/cache/explain", json={"prompt": "x"})
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "engine_died"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({}, {"tools": TOOLS}, "tools"),
        ({"tools": TOOLS}, {}, "tools"),
        ({}, {"system": SYSTEM + " Answer in rhymes."}, "system"),
        ({"system": "Today is Monday. " + SYSTEM}, {"system": "Today is Friday. " + SYSTEM},
         "system"),
        ({}, {"chat_template_kwargs": {"shout": "loud and clear and long"}}, "options"),
        ({"chat_template_kwargs": {"shout": "quiet"}},
         {"chat_template_kwargs": {"shout": "loud and clear"}}, "options"),
    ],
)  # fmt: skip
def test_a_change_around_a_conversation_is_told_from_a_new_one(
    http: TestClient, before: dict[str, Any], after: dict[str, Any], changed: str
) -> None:
    asked = ("What is a radix tree?", "A plan.", "And a slot?")
    send(http, chat(*asked[:1], **before))
    found = explain(http, chat(*asked, **after))
    if changed == "options":  # the end of the prompt; the turns before it are new
        assert found["cause"] == "never_seen"
        found = explain(http, chat(*asked[:1], **after))
    assert (found["cause"], found["changed"]) == ("template_changed", [changed])
    send(http, chat(*asked, **after))
    assert explain(http, chat(*asked, **after))["cause"] is None
    found = explain(http, chat(*asked, "Yes.", "Which of the two is the larger one?", **after))
    assert (found["cause"], found["changed"]) == ("never_seen", [])


def test_a_change_in_another_namespace_is_not_told(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="one,two")
    send(http, chat("What is a radix tree?"), "one")
    changed = chat("What is a radix tree?", tools=TOOLS)
    assert explain(http, changed, "one")["cause"] == "template_changed"
    assert explain(http, changed, "two")["cause"] == "never_seen"
    assert explain(http, {**changed, "cache_salt": "x"}, "one")["cause"] == "never_seen"


def test_digests_are_bounded() -> None:
    recent = RecentDigests(most=3)
    for number in range(10):
        body = ChatBody(messages=[{"role": "user", "content": str(number)}])
        recent.add(str(number), ("", ""), digest_of(body, "tiny", {}))
    assert len(recent) == len(recent._by_first) == 3
    assert recent.find("", "9") is not None and recent.find("", "6") is None


def test_the_largest_branches_are_listed(make_app: MakeApp) -> None:
    http, engine = make_app()
    for question in ("What is a radix tree?", "What is a radix plan?", "Why?"):
        send(http, chat(question))
    found = http.post("/v1/cache/branches", json={}).json()
    check_described(CacheBranches, found)
    assert found["is_complete"] and found["tokens"] == engine.tree.num_cached
    first, *others = found["branches"]
    assert first["text"].startswith("<|im_start|>system") and first["depth"] == 0
    assert first["uses"] == 3 and first["tokens"] + first["tokens_below"] == found["tokens"]
    assert sum(each["tokens"] for each in found["branches"]) == found["tokens"]
    assert all(each["start"] >= first["tokens"] and each["depth"] >= 1 for each in others)
    few = http.post("/v1/cache/branches", json={"limit": 1}).json()
    assert few["branches"] == [first] and not few["is_complete"]
    other = http.post("/v1/cache/branches", json={"cache_salt": "x"}).json()
    assert other["branches"] == [] and other["tokens"] == 0
    for wrong in (0, 1001, 10**40, -1):
        refused = http.post("/v1/cache/branches", json={"limit": wrong})
        assert refused.status_code == 400 and refused.json()["error"]["param"] == "limit"


def test_branches_of_one_key_are_hidden_from_another(make_app: MakeApp) -> None:
    http, _ = make_app(api_key="one,two")
    send(http, chat("What is a radix tree?"), "one")
    lists = {
        key: http.post("/v1/cache/branches", json={}, headers={"X-API-Key": key}).json()
        for key in ("one", "two")
    }
    assert len(lists["one"]["branches"]) == 1 and lists["two"]["branches"] == []


def test_numbers_of_the_cache(make_app: MakeApp) -> None:
    http, engine = make_app()
    send(http, chat("What is a radix tree?"))
    found = http.get("/v1/cache/stats").json()
    check_described(CacheStats, found)
    (model,) = found["data"]
    assert model["num_cached"] == engine.tree.num_cached > 10
    assert model["num_cached"] + model["num_free"] == model["num_slots"]
    assert (model["num_namespaces"], model["num_remembered_branches"]) == (1, 0)
    engine.tree.clear()
    (model,) = http.get("/v1/cache/stats").json()["data"]
    assert (model["num_namespaces"], model["num_remembered_branches"]) == (0, 1)


def test_an_engine_that_is_not_made_yet_has_no_numbers(make_app: MakeApp) -> None:
    http, _ = make_app()
    (model,) = http.app.state.service.models.values()  # type: ignore[attr-defined]
    model.residence, model._client = Residence.STARTING, None
    answer = http.get("/v1/cache/stats")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "engine_starting"


def test_the_flush_needs_the_admin_key(make_app: MakeApp) -> None:
    http, engine = make_app(api_key="one", admin_key="root")
    send(http, chat("What is a radix tree?"), "one")
    cached = engine.tree.num_cached
    for headers in ({}, {"X-API-Key": "one"}, {"Authorization": "Bearer rot"}):
        assert http.post("/v1/cache/flush", headers=headers).status_code == 401
    assert engine.tree.num_cached == cached
    flushed = http.post("/v1/cache/flush", headers={"Authorization": "Bearer root"})
    assert flushed.json() == {
        "object": "cache.flushed",
        "evicted_tokens": cached,
        "kept_tokens": 0,
    }
    assert explain(http, chat("What is a radix tree?"), "one")["eviction"]["reason"] == "flushed"
    admin = {"X-API-Key": "root"}
    assert http.get("/v1/models", headers=admin).status_code == 401  # no key for answers


def test_without_an_admin_key_there_is_no_flush(make_app: MakeApp) -> None:
    http, _ = make_app()
    for headers in ({}, {"Authorization": "Bearer "}, {"X-API-Key": ""}):
        response = http.post("/v1/cache/flush", headers=headers)
        assert response.status_code == 401
        assert "YAIE_ADMIN_KEY" in response.json()["error"]["message"]
