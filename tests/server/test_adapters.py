"""LoRA adapters over HTTP: as models of their own names, loaded and unloaded by the admin."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from transformers import AutoModelForCausalLM

from tests.adapters import greedy, merge, write_adapter
from yaie.api.async_llm import AsyncLLM
from yaie.api.llm import LLM
from yaie.base.errors import ConfigError, InvalidRequest, UnknownModel
from yaie.base.queries import LoadAdapter
from yaie.base.settings import Settings
from yaie.models.adapters.adapter_folders import find_adapters
from yaie.server.app import create_app
from yaie.server.models.served_adapters import ServedAdapters

PROMPT = [*range(20, 50)]
GREEDY: dict[str, Any] = {"max_tokens": 6, "temperature": 0, "ignore_eos": True}
ADMIN = {"Authorization": "Bearer root"}


@pytest.fixture(scope="module")
def adapters(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    model: Any = AutoModelForCausalLM.from_pretrained(tiny_model_dir)
    write_adapter(folder / "served/sql", model, seed=1)
    write_adapter(folder / "late", model, seed=2)
    return folder


@pytest.fixture(scope="module")
def wanted(tiny_model_dir: Path, adapters: Path) -> dict[str, list[int]]:
    """Return the answers to `PROMPT` of merged weights, by model name."""
    found = {}
    for name, folder in (("m", None), ("sql", "served/sql"), ("late", "late")):
        model: Any = AutoModelForCausalLM.from_pretrained(tiny_model_dir).float().eval()
        if folder is not None:
            merge(model, adapters / folder, 2.0)
        found[name] = greedy(model, PROMPT, 6)
    return found


@pytest.fixture(scope="module")
def llm(tiny_model_dir: Path, adapters: Path) -> Iterator[LLM]:
    with LLM(
        tiny_model_dir,
        weights_cache="off",
        served_model_name="m",
        dtype="float32",
        num_slots=2048,
        lora=str(adapters / "served"),
    ) as llm:
        yield llm


@pytest.fixture(scope="module")
def http(tiny_model_dir: Path, adapters: Path, llm: LLM) -> Iterator[TestClient]:
    settings = Settings(
        model=str(tiny_model_dir),
        served_model_name="m",
        lora=str(adapters / "served"),
        admin_key="root",
        response_cache_bytes=1 << 20,
    )
    app = create_app(settings, make_client=lambda config: llm.as_client())
    with TestClient(app, raise_server_exceptions=False) as client:
        while client.get("/readiness").status_code != 200:
            assert app.state.service.failure is None
        yield client


def answer(http: TestClient, model: str) -> list[int]:
    body = {"model": model, "prompt": PROMPT, "return_token_ids": True, **GREEDY}
    reply = http.post("/v1/completions", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["model"] == model
    ids: list[int] = reply.json()["choices"][0]["token_ids"]
    return ids


def test_the_name_of_an_adapter_is_a_model(http: TestClient, wanted: dict[str, list[int]]) -> None:
    for _ in range(2):
        for name in ("sql", "m"):
            assert answer(http, name) == wanted[name]
    assert answer(http, "sql:latest") == wanted["sql"]
    cards = {card["id"]: card for card in http.get("/v1/models").json()["data"]}
    assert list(cards) == ["m", "sql"]
    assert cards["m"]["parent"] is None
    assert cards["sql"]["parent"] == "m"
    assert cards["sql"]["root"].endswith("/served/sql")
    assert http.get("/v1/models/sql").json() == cards["sql"]
    assert [each["name"] for each in http.get("/api/tags").json()["models"]] == [
        "m:latest",
        "sql:latest",
    ]
    chat = {"model": "sql", "messages": [{"role": "user", "content": "Hi"}], **GREEDY}
    first = http.post("/v1/chat/completions", json=chat).json()
    assert first["model"] == "sql"
    plain = http.post("/v1/chat/completions", json=chat | {"model": "m"}).json()
    assert first["choices"][0]["message"] != plain["choices"][0]["message"]
    unknown = http.post("/v1/completions", json={"model": "none", "prompt": "a"})
    assert unknown.status_code == 404
    assert "this server has 'm', 'sql'" in unknown.json()["error"]["message"]


def test_the_cache_of_an_adapter_is_explained_under_its_name(http: TestClient) -> None:
    http.post("/v1/cache/flush", headers=ADMIN)
    body = {"model": "sql", "prompt": PROMPT, "max_tokens": 1, "temperature": 1}
    http.post("/v1/completions", json=body)
    for model, held in (("sql", len(PROMPT)), ("m", 0)):
        named = {"model": model, "prompt": PROMPT}
        explained = http.post("/v1/cache/explain", json=named).json()
        assert (explained["model"], explained["cached_tokens"]) == (model, max(0, held - 1))
        counted = http.post("/v1/count_tokens", json=named | {"return_cached_tokens": True}).json()
        assert bool(counted["cached_tokens"]) == bool(held)
        branches = http.post("/v1/cache/branches", json={"model": model}).json()
        assert bool(branches["branches"]) == bool(held)


def test_requests_are_counted_by_model_and_adapter(http: TestClient) -> None:
    def counted() -> dict[str, float]:
        lines = http.get("/metrics").text.splitlines()
        return {
            name: float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines if "yaie_adapter" in line)
            if not name.startswith("#")
        }

    before, labels = counted(), 'adapter="sql",model="m"'
    answer(http, "sql")
    answer(http, "m")
    after = counted()
    change = {name: value - before.get(name, 0.0) for name, value in after.items()}
    assert change[f"yaie_adapter_requests_total{{{labels}}}"] == 1
    assert change['yaie_adapter_tokens_total{adapter="sql",kind="completion",model="m"}'] == 6


def test_the_admin_loads_and_unloads_adapters(
    http: TestClient, llm: LLM, adapters: Path, wanted: dict[str, list[int]]
) -> None:
    body = {"lora_name": "late", "lora_path": str(adapters / "late")}
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        for path in ("load", "unload"):
            refused = http.post(f"/v1/{path}_lora_adapter", json=body, headers=headers)
            assert refused.status_code == 401, refused.text

    def post(path: str, **fields: object) -> Any:
        return http.post(f"/v1/{path}_lora_adapter", json=body | fields, headers=ADMIN)

    loaded = post("load")
    assert loaded.status_code == 200, loaded.text
    assert {**loaded.json(), "bytes": 0} == {
        "object": "lora_adapter",
        "id": "late",
        "parent": "m",
        "root": str(adapters / "late"),
        "loaded": True,
        "rank": 4,
        "bytes": 0,
    }
    assert answer(http, "late") == wanted["late"]
    for fields, words in (
        ({}, "the name 'late' is in use; send \"load_inplace\": true to replace the adapter"),
        ({"lora_name": "m"}, "the name 'm' is in use; choose another name"),
        ({"lora_name": "m:latest"}, "the name 'm' is in use"),
        ({"lora_name": "late:latest", "load_inplace": True}, "the name 'late' is in use"),
        ({"lora_name": " "}, "the name ' ' is empty"),
        ({"lora_name": "x", "lora_path": "x" * 5000}, "cannot be read: File name too long"),
        ({"lora_name": "x", "lora_path": str(adapters)}, "give the folder of an adapter"),
        ({"lora_name": "x", "lora_path": "/nowhere"}, "the folder '/nowhere' does not exist"),
        ({"lora_name": ""}, "lora_name must not be empty"),
        ({"lora_path": ""}, "lora_path must not be empty"),
    ):
        refused = post("load", **fields)
        assert refused.status_code == 400, fields
        assert words in refused.json()["error"]["message"], fields
    # In place: the same name, other weights.
    assert post("load", lora_path=str(adapters / "served/sql"), load_inplace=True).is_success
    assert answer(http, "late") == wanted["sql"]
    assert post("unload").json()["loaded"] is False
    assert post("unload").status_code == 404
    gone = http.post("/v1/completions", json={"model": "late", "prompt": "a"})
    assert gone.status_code == 404
    assert [card["id"] for card in http.get("/v1/models").json()["data"]] == ["m", "sql"]
    # A request that was read before the unload may have loaded the adapter again.
    llm._client.ask(LoadAdapter("late", str(adapters / "served/sql")))
    assert post("load").is_success
    assert answer(http, "late") == wanted["late"]
    assert post("unload").is_success


def test_a_model_that_is_loaded_again_gets_no_unloaded_adapter(adapters: Path) -> None:
    served = ServedAdapters(f"{adapters / 'served'},late={adapters / 'late'}")
    assert set(find_adapters(served.setting)) == {"sql", "late"}
    asyncio.run(served.unload(None, "sql"))
    assert set(find_adapters(served.setting)) == {"late"}


def test_names_are_of_one_model_or_adapter(tiny_model_dir: Path, adapters: Path) -> None:
    for name in ("sql", "sql:latest"):
        settings = Settings(
            model=str(tiny_model_dir), served_model_name=name, lora=str(adapters / "served")
        )
        with pytest.raises(ConfigError, match="the name 'sql' is taken"):
            create_app(settings)


def test_calls_of_python_name_an_adapter(
    llm: LLM, adapters: Path, wanted: dict[str, list[int]]
) -> None:
    prompts = [{"prompt_token_ids": PROMPT}]

    def generate(name: str) -> list[int]:
        (output,) = llm.generate(prompts, GREEDY, lora=name)
        return list(output.outputs[0].token_ids)

    assert generate("sql") == wanted["sql"]
    assert generate("") == wanted["m"]
    assert [each.name for each in llm.adapters] == ["sql"]
    with pytest.raises(UnknownModel, match="'late' is not loaded; this engine has 'sql'"):
        generate("late")
    assert llm.load_adapter("late", adapters / "late").rank == 4
    assert generate("late") == wanted["late"]
    with pytest.raises(InvalidRequest, match="loaded already"):
        llm.load_adapter("late", adapters / "late")
    streamed = llm.stream({"prompt_token_ids": PROMPT}, GREEDY, lora="late")
    assert [token for piece in streamed for token in piece.token_ids] == wanted["late"]
    llm.unload_adapter("late")
    with pytest.raises(UnknownModel):
        llm.chat([{"role": "user", "content": "Hi"}], lora="late")

    async def ask() -> list[int]:
        engine = AsyncLLM.over(llm)
        (output,) = await engine.generate(prompts, GREEDY, lora="sql")
        await engine.close()
        return list(output.outputs[0].token_ids)

    assert asyncio.run(ask()) == wanted["sql"]
