"""Random histories of one server: the cause that an explanation names is the one that was made.

Each history ends with a prompt whose cause of a miss was chosen beforehand. A history sends chats
with forks, evictions, other namespaces and changed templates before.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from tests.server.scripted_client import INFO, ScriptedClient
from yaie.kvcache.namespaces import namespace_of
from yaie.kvcache.node import Cursor, as_tokens
from yaie.kvcache.radix_tree import RadixTree

WORDS = [
    *("the", "tree", "plan", "slot", "page", "leaf", "root"),
    *("node", "edge", "path", "cache", "token", "batch", "step"),
]
CAUSES = (None, "never_seen", "evicted", "other_namespace", "template_changed", "not_computed_yet")
KEYS = ("one", "two")
Body = dict[str, Any]


class History:
    """One application with two keys, and the chats that were sent to it."""

    def __init__(self, http: TestClient, engine: ScriptedClient, seed: int) -> None:
        self.http, self.engine = http, engine
        self.rng = random.Random(seed)
        self.sent: list[tuple[str, Body]] = []
        self.live: list[Cursor] = []
        self.number = seed

    def words(self, count: int) -> str:
        return " ".join(self.rng.choices(WORDS, k=count))

    def new_chat(self) -> Body:
        """Return a conversation that no other begins like, under a system prompt of its own."""
        self.number += 1
        marks = self.rng.choices(WORDS, k=24)
        system = f"{self.number} {' '.join(marks)}"
        question = f"{self.number} {self.words(12)}"
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ]
        body: Body = {"messages": messages}
        if self.rng.random() < 0.3:
            body["tools"] = [self.tool()]
        if self.rng.random() < 0.5:
            body["cache_salt"] = self.rng.choice("ab")
        return body

    def tool(self) -> Body:
        self.number += 1
        name = f"tool_{self.number}_{self.rng.choice(WORDS)}_{self.rng.choice(WORDS)}"
        function = {"name": name, "description": self.words(8), "parameters": {"type": "object"}}
        return {"type": "function", "function": function}

    def fork(self, body: Body) -> Body:
        """Return a later turn of a chat."""
        turns = [
            {"role": "assistant", "content": self.words(6)},
            {"role": "user", "content": self.words(14)},
        ]
        return {**body, "messages": [*body["messages"], *turns]}

    def send(self, body: Body, key: str) -> None:
        reply = self.http.post(
            "/v1/chat/completions", json={"max_tokens": 1, **body}, headers={"X-API-Key": key}
        )
        assert reply.status_code == 200, reply.text
        self.sent.append((key, body))

    def explain(self, body: Body, key: str) -> Body:
        reply = self.http.post("/v1/cache/explain", json=body, headers={"X-API-Key": key})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def wander(self) -> None:
        """Send chats and forks of earlier ones; lose some of them."""
        for _ in range(self.rng.randrange(1, 4)):
            key = self.rng.choice(KEYS)
            if self.sent and self.rng.random() < 0.4:
                key, body = self.rng.choice(self.sent)
                self.send(self.fork(body), key)
            else:
                self.send(self.new_chat(), key)
        if self.rng.random() < 0.3:
            self.engine.tree.evict(self.rng.randrange(1, 120))

    def make(self, cause: str | None) -> tuple[str, Body]:
        """Bring about a cause; return the key and the prompt that misses for it."""
        key, body = self.rng.choice(KEYS), self.new_chat()
        if cause == "never_seen":
            if self.rng.random() < 0.5:  # seen by the other key alone
                self.send(body, next(other for other in KEYS if other != key))
            elif self.rng.random() < 0.5:  # a new turn of a known chat
                self.send(body, key)
                body = self.fork(body)
            return key, body
        if cause == "not_computed_yet":
            self.begin(body, key)
            return key, body
        self.send(body, key)
        if cause == "evicted":
            if self.rng.random() < 0.3:
                body = self.fork(body)
            if self.rng.random() < 0.5:
                self.engine.tree.clear()
            else:
                self.engine.tree.evict(self.engine.tree.num_cached - self.rng.randrange(9))
        elif cause == "other_namespace":
            return key, {**body, "cache_salt": f"{self.number} another"}
        elif cause == "template_changed":
            return key, self.changed(body)
        return key, body

    def changed(self, body: Body) -> Body:
        """Return a chat with another system prompt, or with other tools; perhaps a turn later."""
        if self.rng.random() < 0.5:
            body = self.fork(body)
        if self.rng.random() < 0.5:
            self.number += 1
            system = {"role": "system", "content": f"{self.number} {self.words(20)}"}
            return {**body, "messages": [system, *body["messages"][1:]]}
        return {**body, "tools": [self.tool()]}

    def begin(self, body: Body, key: str) -> None:
        """Hold the path of a prompt that a live sequence has not computed yet."""
        self.send(body, key)
        request = self.engine.requests[-1]
        self.engine.tree.clear()
        tokens = as_tokens(request.prompt_token_ids)
        namespace = namespace_of(request.owner, request.cache_salt)
        cursor = self.engine.tree.open(namespace, tokens)
        done = self.rng.randrange(len(tokens) // 2)
        for node in self.engine.tree.path(cursor):
            self.engine.tree.mark_computed(node, max(0, min(len(node.tokens), done - node.start)))
        self.live.append(cursor)

    def end(self) -> None:
        for cursor in self.live:
            self.engine.tree.close(cursor)


def check_histories(make_app: MakeApp, seeds: range) -> None:
    engine = ScriptedClient([5])
    engine.info = replace(INFO, max_model_len=2048)
    engine.tree = RadixTree(8192)
    http, _ = make_app(engine, api_key="one,two")
    for seed in seeds:
        engine.tree.clear()
        engine.tree.evicted.clear()
        history = History(http, engine, 10_000 * seed)
        history.wander()
        cause = history.rng.choice(CAUSES)
        key, body = history.make(cause)
        found = history.explain(body, key)
        assert found["cause"] == cause, (seed, body, found)
        history.end()
        engine.requests.clear()
        engine.tree.check()


def test_the_named_cause_is_the_one_that_was_made(make_app: MakeApp) -> None:
    check_histories(make_app, range(1, 25))


@pytest.mark.integration
def test_the_named_causes_of_two_hundred_histories(make_app: MakeApp) -> None:
    check_histories(make_app, range(100, 300))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_named_causes_of_a_thousand_histories(make_app: MakeApp) -> None:
    check_histories(make_app, range(1000, 2000))
