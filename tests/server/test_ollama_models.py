"""Ollama's paths about models and versions, and the refusals of its other paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.server.conftest import MakeApp
from yaie.base.errors import ModelNotFound
from yaie.server.models.served_model import ServedModel
from yaie.server.ollama import ollama_models
from yaie.server.ollama.ollama_models import tagged
from yaie.server.schemas import ollama_replies


def test_the_list_of_models(http: TestClient) -> None:
    answer = http.get("/api/tags").json()
    (model,) = answer["models"]
    assert model["name"] == model["model"] == "tiny:latest"
    assert model["size"] == 1 and len(bytes.fromhex(model["digest"])) == 32
    assert model["details"] == {
        "parent_model": "",
        "format": "safetensors",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "1",
        "quantization_level": "INT4",
    }
    assert http.head("/api/tags").status_code == 200
    msgspec.convert(answer, ollama_replies.OllamaModelList)


def test_every_listed_name_is_served(make_app: MakeApp) -> None:
    http, _ = make_app()
    names = [model["name"] for model in http.get("/api/tags").json()["models"]]
    for name in names:
        body = {"model": name, "prompt": "x", "stream": False}
        assert http.post("/api/generate", json=body).json()["model"] == name


def test_names_get_a_tag() -> None:
    assert tagged("tiny") == "tiny:latest"
    assert tagged("tiny:7b") == "tiny:7b"
    assert tagged("host:80/tiny") == "host:80/tiny:latest"


def test_models_in_memory(make_app: MakeApp) -> None:
    http, _ = make_app()
    (model,) = http.get("/api/ps").json()["models"]
    assert model["model"] == "tiny:latest" and model["context_length"] == 256
    assert (model["size_vram"], model["expires_at"]) == (0, ollama_models.NEVER)
    http, _ = make_app(unload_idle_s=3600.0)
    (model,) = http.get("/api/ps").json()["models"]
    assert model["expires_at"] < ollama_models.NEVER


def test_a_model_is_unloaded_and_loaded_again(make_app: MakeApp) -> None:
    http, engine = make_app()
    unloaded = http.post("/api/generate", json={"keep_alive": 0}).json()
    assert unloaded["done_reason"] == "unload"
    assert http.get("/api/ps").json() == {"models": []}
    (listed,) = http.get("/api/tags").json()["models"]
    assert listed["details"]["family"] == "llama", "the last engine has told"
    assert http.get("/health").status_code == 200
    engine.state = type(engine.state).READY
    answer = http.post("/api/generate", json={"prompt": "x", "stream": False}).json()
    assert answer["done_reason"] == "stop" and answer["load_duration"] > 0
    assert answer["total_duration"] >= answer["load_duration"]
    assert len(http.get("/api/ps").json()["models"]) == 1


@pytest.mark.parametrize("path", ["/api/generate", "/api/chat"])
def test_unloading_needs_the_admin_key(make_app: MakeApp, path: str) -> None:
    http, _ = make_app(api_key="user", admin_key="admin")
    user = {"Authorization": "Bearer user"}
    refused = http.post(path, json={"keep_alive": "0s"}, headers=user)
    assert refused.status_code == 401 and "admin key" in refused.json()["error"]
    assert http.get("/api/ps", headers=user).json()["models"]
    both = {**user, "X-API-Key": "admin"}
    assert http.post(path, json={"keep_alive": 0}, headers=both).json()["done_reason"] == "unload"


def test_a_description(http: TestClient) -> None:
    for body in ({"model": "tiny"}, {"name": "tiny:latest"}, {"model": "tiny", "verbose": True}):
        answer = http.post("/api/show", json=body).json()
        assert answer["capabilities"] == ["completion", "tools"]
        assert answer["model_info"]["general.architecture"] == "llama"
        assert answer["model_info"]["llama.context_length"] == 256
        assert "messages" in answer["template"]
        msgspec.convert(answer, ollama_replies.OllamaModel)
    assert http.post("/api/show", json={"model": "x"}).status_code == 404


def test_versions(http: TestClient) -> None:
    answer = http.get("/api/version").json()
    assert answer["yaie_version"] == http.get("/version").json()["version"]
    assert tuple(map(int, answer["version"].split("."))) >= (0, 12, 11), "the one with logprobs"
    assert http.head("/api/version").status_code == 200
    assert http.head("/").status_code == 200


def pull(http: TestClient, **fields: Any) -> list[Any]:
    response = http.post("/api/pull", json=fields)
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_pull_of_a_served_model(http: TestClient, tiny_model_dir: Path) -> None:
    first, loaded, last = pull(http, model="tiny:latest")
    assert (first, last) == ({"status": "pulling manifest"}, {"status": "success"})
    size = sum(file.stat().st_size for file in tiny_model_dir.rglob("*") if file.is_file())
    assert loaded["total"] == loaded["completed"] == size
    whole = http.post("/api/pull", json={"name": "tiny", "stream": False})
    assert whole.json() == {"status": "success"}


def test_other_models_are_not_pulled(http: TestClient) -> None:
    response = http.post("/api/pull", json={"model": "llama3"})
    assert response.status_code == 404
    assert response.json()["error"].endswith(
        "this server has 'tiny'; start another with `yaie serve --models`"
    )


def test_a_pull_that_fails(http: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find(model: ServedModel) -> Path:
        raise ModelNotFound("no such model")

    monkeypatch.setattr(ServedModel, "find_folder", find)
    assert pull(http, model="tiny")[1:] == [{"error": "no such model"}]
    whole = http.post("/api/pull", json={"model": "tiny", "stream": False})
    assert whole.status_code >= 400 and whole.json() == {"error": "no such model"}


@pytest.mark.parametrize(
    ("path", "reason"), [("/api/embed", "no embeddings"), ("/api/embeddings", "to /api/embed")]
)
def test_embeddings_are_refused(http: TestClient, path: str, reason: str) -> None:
    response = http.post(path, json={"model": "tiny", "input": "x"})
    assert response.status_code == 400 and reason in response.json()["error"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/create"),
        ("POST", "/api/copy"),
        ("POST", "/api/push"),
        ("DELETE", "/api/delete"),
        ("POST", f"/api/blobs/sha256:{'0' * 64}"),
        ("HEAD", f"/api/blobs/sha256:{'0' * 64}"),
    ],
)
def test_changes_of_models_are_refused(http: TestClient, method: str, path: str) -> None:
    response = http.request(method, path, json={"model": "x"})
    assert response.status_code == 400
    if method != "HEAD":
        assert f"{path} is not supported" in response.json()["error"]


def test_unknown_paths_have_errors_of_this_api(http: TestClient) -> None:
    for response in (http.get("/api/none"), http.get("/api/chat")):
        assert response.status_code in (404, 405) and set(response.json()) == {"error"}
