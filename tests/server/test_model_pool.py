"""Several models under one memory budget: loads, unloads, and every request answered."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.scripted_client import INFO, ScriptedClient
from yaie.base.errors import (
    EngineUnavailable,
    ModelUnsupported,
    NotEnoughMemory,
    UnknownModel,
)
from yaie.base.settings import EngineConfig, Settings
from yaie.base.types import EngineInfo, EngineState
from yaie.server.app import create_app
from yaie.server.models.model_pool import RETRY_S, ModelPool
from yaie.server.models.served_model import Residence, ServedModel
from yaie.server.models.service import Service
from yaie.text.tokenizer import Tokenizer


class Machine:
    """Engines by model name, each of a size; together they stay within the budget."""

    def __init__(self, folder: Path, sizes: dict[str, int], budget: int) -> None:
        self.sizes, self.budget = sizes, budget
        self.loaded: dict[str, int] = {}  # bytes
        self.num_started = 0
        self.now = 0.0
        self.refused: set[str] = set()  # names whose load fails
        self.unsupported: set[str] = set()  # names that the engine refuses
        self.models = {
            name: ServedModel(
                EngineConfig(model=str(folder), served_model_name=name), self.make, self.run
            )
            for name in sizes
        }
        self.model_pool = ModelPool(list(self.models.values()), budget, clock=lambda: self.now)

    async def run(self, work: Any, *arguments: Any) -> Any:
        await asyncio.sleep(0)
        return work(*arguments)

    def make(self, config: EngineConfig) -> SizedClient:
        return SizedClient(self, config)


class SizedClient(ScriptedClient):
    """Engine that takes its size of memory until it is closed."""

    def __init__(self, machine: Machine, config: EngineConfig) -> None:
        super().__init__([5])
        self.machine, self.config, self.name = machine, config, config.model_name
        self.state, self.info = EngineState.STARTING, None

    async def start(self) -> None:
        machine, allowed = self.machine, self.config.memory_bytes
        assert allowed is not None
        assert self.name not in machine.loaded
        machine.loaded[self.name] = min(machine.sizes[self.name], allowed)
        machine.num_started += 1
        assert sum(machine.loaded.values()) <= machine.budget

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        await asyncio.sleep(0)
        allowed = self.config.memory_bytes
        if self.name in self.machine.refused:
            raise NotEnoughMemory("damaged")
        if self.name in self.machine.unsupported:
            raise ModelUnsupported("not computed right")
        if self.machine.sizes[self.name] > (allowed or 0):
            raise NotEnoughMemory(f"{self.machine.sizes[self.name]} of {allowed}")
        self.state, self.info = EngineState.READY, replace(INFO, memory_bytes=self.size)
        return self.info

    @property
    def size(self) -> int:
        return self.machine.sizes[self.name]

    async def close(self) -> None:
        await super().close()
        await asyncio.sleep(0)
        del self.machine.loaded[self.name]


@pytest.mark.parametrize("seed", range(20))
def test_random_use_stays_within_the_budget(seed: int, tiny_model_dir: Path) -> None:
    rng = random.Random(seed)
    sizes = {f"m{index}": rng.randint(1, 60) for index in range(rng.randint(2, 6))}
    budget = max(*sizes.values(), rng.randint(40, 150))

    async def use(machine: Machine, name: str) -> None:
        model = machine.models[name]
        with ExitStack() as used:
            with machine.model_pool.waiting(model):
                while not model.is_resident:
                    await asyncio.create_task(machine.model_pool.load(model))
                used.enter_context(machine.model_pool.use(model))
            machine.now += 1
            for _ in range(rng.randint(0, 5)):
                assert model.state is EngineState.READY
                assert name in machine.loaded
                await asyncio.sleep(0)

    async def run() -> None:
        machine = Machine(tiny_model_dir, sizes, budget)
        for _ in range(10):
            names = rng.choices(list(sizes), k=20)
            await asyncio.gather(*(use(machine, name) for name in names))
        assert all(model.num_uses == 0 for model in machine.models.values())
        held = {n for n, m in machine.models.items() if m.residence is Residence.RESIDENT}
        assert set(machine.loaded) == held
        loads = sum(model.num_loads for model in machine.models.values())
        unloads = sum(model.num_unloads for model in machine.models.values())
        assert loads - unloads == len(held)
        await machine.model_pool.stop()

    asyncio.run(run())


def test_many_requests_wait_for_one_load(tiny_model_dir: Path) -> None:
    async def run() -> None:
        machine = Machine(tiny_model_dir, {"a": 10, "b": 10}, 100)
        await asyncio.gather(*(machine.model_pool.load(machine.models["a"]) for _ in range(50)))
        assert machine.num_started == 1

    asyncio.run(run())


def test_a_failed_load_is_told_and_tried_again_later(tiny_model_dir: Path) -> None:
    async def run() -> None:
        machine = Machine(tiny_model_dir, {"a": 10, "b": 200}, 100)
        for _ in range(3):
            with pytest.raises(EngineUnavailable, match=r"'b' could not be loaded \(200 of 100\)"):
                await machine.model_pool.load(machine.models["b"])
        assert machine.num_started == 2  # by its share, then by the whole budget
        assert not machine.loaded
        await machine.model_pool.load(machine.models["a"])  # others go on
        machine.now += RETRY_S
        machine.sizes["b"] = 90
        await machine.model_pool.load(machine.models["b"])
        assert set(machine.loaded) == {"b"}

    asyncio.run(run())


def test_a_broken_model_unloads_no_other_until_its_files_change(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(tiny_model_dir, broken)
    weights = broken / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])

    async def run() -> None:
        machine = Machine(tiny_model_dir, {"good": 60, "bad": 60}, 100)
        pool, good, bad = machine.model_pool, machine.models["good"], machine.models["bad"]
        bad._config = replace(bad._config, model=str(broken))
        await pool.load(good)
        started = machine.num_started
        for _ in range(3):
            with pytest.raises(EngineUnavailable, match=r"'bad' could not be loaded .*is damaged"):
                await pool.load(bad)
            machine.now += 2 * RETRY_S
        assert good.is_resident and good.num_unloads == 0
        assert machine.loaded == {"good": 60}
        assert machine.num_started == started
        weights.write_bytes(whole)
        await pool.load(bad)
        assert bad.is_resident and good.num_unloads == 1
        await asyncio.gather(*(model.close() for model in machine.models.values()))

    asyncio.run(run())


def test_a_model_that_only_its_engine_refuses_unloads_another_once(tiny_model_dir: Path) -> None:
    async def run() -> None:
        machine = Machine(tiny_model_dir, {"good": 60, "bad": 60}, 100)
        machine.unsupported.add("bad")
        pool, good, bad = machine.model_pool, machine.models["good"], machine.models["bad"]
        for expected in (1, 1, 1):
            if not good.is_resident:
                await pool.load(good)
            with pytest.raises(EngineUnavailable, match="not computed right"):
                await pool.load(bad)
            machine.now += 2 * RETRY_S
            assert good.num_unloads == expected
        await good.close()

    asyncio.run(run())


def test_a_cancelled_wait_for_room_leaves_the_other_model_usable(tiny_model_dir: Path) -> None:
    async def run() -> None:
        machine = Machine(tiny_model_dir, {"a": 60, "b": 60}, 100)
        first, second = machine.models.values()
        await machine.model_pool.load(first)
        with machine.model_pool.use(first):
            waiting = asyncio.create_task(machine.model_pool.load(second))
            for _ in range(50):
                await asyncio.sleep(0)
            assert first.residence is Residence.LEAVING
            await machine.model_pool.stop()
            assert first.is_resident
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(run())


class Needy(ScriptedClient):
    """Engine that needs 600 bytes."""

    allowed = 0
    config: EngineConfig

    async def wait_ready(self, timeout_s: float | None = None) -> EngineInfo:
        if self.allowed < 600:
            raise NotEnoughMemory(f"600 of {self.allowed}")
        return await super().wait_ready(timeout_s)


@contextmanager
def served(
    folder: Path, tokenizer: Tokenizer, *, memory_bytes: int = 1200, **settings: Any
) -> Iterator[tuple[TestClient, dict[str, list[Needy]]]]:
    """Serve two models of 600 bytes that answer their names; record the engines that were made."""
    made: dict[str, list[Needy]] = {"one": [], "two": []}

    def make(config: EngineConfig) -> Needy:
        client = Needy(tokenizer.encode(f"{config.model_name}!"))
        client.config = config
        client.allowed = config.memory_bytes or 0
        client.info = replace(INFO, memory_bytes=600)
        made[config.model_name].append(client)
        return client

    models = f"one={folder}, two={folder};max_running=3"
    app = create_app(
        Settings(models=models, memory_bytes=memory_bytes, **settings), make_client=make
    )
    with TestClient(app, raise_server_exceptions=False) as http:
        yield http, made


def ask(http: TestClient, model: str, **fields: Any) -> str:
    body = {"model": model, "prompt": "x", **fields}
    response = http.post("/v1/completions", json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["model"] == model
    return str(answer["choices"][0]["text"])


def test_models_are_loaded_at_their_first_requests(
    tiny_model_dir: Path, tokenizer: Tokenizer
) -> None:
    with served(tiny_model_dir, tokenizer, lazy_load=True) as (http, made):
        assert http.get("/readiness").status_code == 200
        states = {each["model"]: each["state"] for each in http.get("/stats").json()["models"]}
        assert states == {"one": "unloaded", "two": "unloaded"}
        assert ask(http, "two") == "two!"
        assert not made["one"]
        assert http.post("/v1/completions", json={"model": "three", "prompt": "x"}).status_code == (
            404
        )
        assert http.post("/tokenize", json={"model": "one", "prompt": "x"}).status_code == 200
        assert len(made["one"]) == len(made["two"]) == 1
        assert http.get("/stats", params={"model": "two"}).json()["model"] == "two"
        assert 'yaie_model_loads_total{model="two"} 1.0' in http.get("/metrics").text


@pytest.mark.integration
@pytest.mark.parametrize("share", [1.0, 0.5], ids=["both fit", "one at a time"])
@pytest.mark.parametrize("number", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_alternating_requests_are_answered_by_their_models(
    number: int, share: float, tiny_model_dir: Path, tokenizer: Tokenizer
) -> None:
    rng = random.Random(1)
    with served(tiny_model_dir, tokenizer, memory_bytes=int(1200 * share), lazy_load=True) as (
        http,
        made,
    ):
        service: Service = http.app.state.service  # type: ignore[attr-defined]

        async def ask_all(names: list[str]) -> None:
            from httpx import ASGITransport, AsyncClient

            transport = ASGITransport(http.app)
            async with AsyncClient(transport=transport, base_url="http://test") as client:

                async def one(name: str) -> None:
                    body = {"model": name, "prompt": "x", "stream": False}
                    answer = (await client.post("/v1/completions", json=body)).json()
                    assert answer["choices"][0]["text"] == f"{name}!", answer

                for first in range(0, len(names), 50):
                    await asyncio.gather(*(one(name) for name in names[first : first + 50]))

        names = [rng.choice(("one", "two")) for _ in range(number)]
        assert http.portal is not None
        http.portal.call(ask_all, names)
        loads = {name: model.num_loads for name, model in service.models.items()}
        engines = {name: [each for each in made[name] if each.allowed >= 600] for name in made}
        assert loads == {name: len(clients) for name, clients in engines.items()}
        if share == 1.0:
            assert loads == {"one": 1, "two": 1}
        else:
            assert min(loads.values()) >= number // 100
        assert all(model.num_uses == 0 for model in service.models.values())
        answered = [request for clients in made.values() for c in clients for request in c.requests]
        assert len(answered) == number


def test_a_model_without_requests_is_unloaded(tiny_model_dir: Path, tokenizer: Tokenizer) -> None:
    with served(tiny_model_dir, tokenizer, lazy_load=True, unload_idle_s=0.05) as (http, made):
        assert ask(http, "one") == "one!"
        while http.get("/stats").json()["models"][0]["state"] != "unloaded":
            pass
        assert made["one"][0].state is EngineState.DEAD
        assert ask(http, "one") == "one!"
        first, second = made["one"]
        assert (first.config.num_slots, second.config.num_slots) == (None, INFO.num_slots)


def test_models_loaded_at_the_start_are_unloaded_without_a_request(
    tiny_model_dir: Path, tokenizer: Tokenizer
) -> None:
    with served(tiny_model_dir, tokenizer, unload_idle_s=0.05) as (http, made):
        while {model["state"] for model in http.get("/stats").json()["models"]} != {"unloaded"}:
            pass
        assert {len(clients) for clients in made.values()} == {1}


def test_models_by_name(tiny_model_dir: Path) -> None:
    app = create_app({"one": tiny_model_dir, "two": str(tiny_model_dir)})
    service: Service = app.state.service
    assert list(service.models) == ["one", "two"]
    assert service.model("two").root == str(tiny_model_dir)
    with pytest.raises(UnknownModel, match="this server has 'one', 'two'"):
        service.model("three")
