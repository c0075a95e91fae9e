"""`/v1/embeddings` over a real engine in this process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from starlette.testclient import TestClient

from tests.embedding_model import QUERY, make_embedding_model, plain_states, unit
from tests.server.unused_names import check_unused_names
from yaie.api.async_llm import AsyncLLM
from yaie.api.llm import LLM
from yaie.base.embedding_info import EmbeddingInfo
from yaie.base.errors import ContextLengthExceeded, InvalidRequest, RequestFailed
from yaie.base.model_tasks import embedding_of
from yaie.base.settings import Settings
from yaie.base.types import GenerationRequest
from yaie.engine.core import EngineCore
from yaie.remote.client import Client
from yaie.server.app import create_app
from yaie.server.requests.call import Caller
from yaie.server.requests.embedding_inputs import make_embedding_call
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.text.embeddings import vector_of
from yaie.text.tokenizer import load_tokenizer

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def folder(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_embedding_model(tiny_model_dir, tmp_path_factory.mktemp("embedding") / "model")


@pytest.fixture(scope="module")
def llm(folder: Path) -> Iterator[LLM]:
    with LLM(
        folder,
        weights_cache="off",
        served_model_name="e",
        dtype="float32",
        num_slots=4096,
        max_model_len=128,
    ) as llm:
        yield llm


@pytest.fixture(scope="module")
def http(folder: Path, llm: LLM) -> Iterator[TestClient]:
    settings = Settings(model=str(folder), served_model_name="e")
    app = create_app(settings, make_client=lambda config: llm.as_client())
    with TestClient(app, raise_server_exceptions=False) as client:
        while client.get("/readiness").status_code != 200:
            assert app.state.service.failure is None
        yield client


def vectors(answer: object) -> NDArray[np.float32]:
    assert isinstance(answer, dict), answer
    assert [each["index"] for each in answer["data"]] == [*range(len(answer["data"]))], answer
    return np.array([each["embedding"] for each in answer["data"]], dtype=np.float32)


def test_vectors_are_those_of_transformers(http: TestClient, folder: Path) -> None:
    states, tokenizer = plain_states(folder), load_tokenizer(folder)
    texts = ["The tree", "The tree is a plan.", "A slot"]
    inputs = [QUERY + text for text in texts]
    ids = [tokenizer.encode(text) for text in inputs]
    assert all(each[-1] == 1 for each in ids)
    wanted = np.array([unit(states(each)[-1]) for each in ids])
    first = http.post("/v1/embeddings", json={"input": texts, "prompt_name": "query"}).json()
    assert np.abs(vectors(first) - wanted).max() < TOLERANCE
    usage = first["usage"]
    assert usage["prompt_tokens"] == usage["total_tokens"] == sum(map(len, ids))
    for given in (inputs, ids):
        again = http.post("/v1/embeddings", json={"input": given}).json()
        assert np.abs(vectors(again) - wanted).max() < TOLERANCE
        # Warm: only the last token of each has a row.
        cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
        assert cached == usage["prompt_tokens"] - len(ids)
    short = http.post("/v1/embeddings", json={"input": ids[0], "dimensions": 8}).json()
    assert np.abs(vectors(short) - unit(wanted[0][:8])).max() < TOLERANCE
    body = {"input": inputs, "encoding_format": "base64"}
    packed = http.post("/v1/embeddings", json=body).json()["data"]
    found = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in packed]
    assert np.abs(np.array(found) - wanted).max() < TOLERANCE
    long = {"input": "tree " * 500, "truncate": True}
    cut = [*tokenizer.encode("tree " * 500)[:127], 1]
    answer = http.post("/v1/embeddings", json=long).json()
    assert np.abs(vectors(answer)[0] - unit(states(cut)[-1])).max() < TOLERANCE


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({}, "input", "input is required"),
        ({"input": []}, "input", "input must be a string, a list of strings"),
        ({"input": 5}, "input", "input must be a string, a list of strings"),
        ({"input": ["a", 5]}, "input[1]", "input[1] must be a string or a list of token ids"),
        ({"input": [3, "a"]}, "input[1]", "input[1] must be a token id"),
        ({"input": [99999]}, "input[0]", "this model's ids are 0 to"),
        ({"input": [[]]}, "input[0]", "input[0] has no tokens"),
        ({"input": ["a"] * 2049}, "input", "at most 2048"),
        ({"input": "tree " * 500}, "input", "maximum context length is 128 tokens"),
        ({"input": "a", "dimensions": 65}, "dimensions", "between 1 and 64, got 65"),
        ({"input": "a", "encoding_format": "int"}, "encoding_format", "'float' or 'base64'"),
        ({"input": "a", "prompt_name": "q"}, "prompt_name", "are: 'query', 'document'"),
        ({"input": "a", "cache_salt": ""}, "cache_salt", "1 to 256"),
    ],
)
def test_a_wrong_field_is_named(
    http: TestClient, body: dict[str, object], param: str, message: str
) -> None:
    response = http.post("/v1/embeddings", json=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert message in error["message"]


def test_the_inputs_of_a_call_are_one_call_to_the_engine(
    http: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One displaced input would fail all, so they are displaced together."""
    calls: list[str] = []
    add = EngineCore.add

    def record(core: EngineCore, request: GenerationRequest) -> None:
        calls.append(request.call)
        add(core, request)

    monkeypatch.setattr(EngineCore, "add", record)
    for texts in (["x", "y"], ["x", "y"]):
        assert http.post("/v1/embeddings", json={"input": texts}).status_code == 200
    assert calls[0] == calls[1] != calls[2] == calls[3]


def test_fields_without_effect_are_named(http: TestClient) -> None:
    """This server's policy does not look at priorities."""
    answer = http.post("/v1/embeddings", json={"input": "x", "priority": 2, "other": 1})
    assert answer.headers["X-YAIE-Ignored-Params"] == "other, priority"
    answer = http.post("/v1/embeddings", json={"input": "x", "priority": 0})
    assert "X-YAIE-Ignored-Params" not in answer.headers


def test_names_of_other_servers_are_refused_or_named(http: TestClient) -> None:
    check_unused_names(http, "/v1/embeddings", EmbeddingBody, {"input": "x"})
    answer = http.post("/v1/embeddings", json={"texts": ["x"]})
    assert answer.json()["error"]["message"] == "texts is not supported by this server; use input"


@pytest.mark.parametrize(
    ("how", "is_refused"),
    [
        ({"prompts": {"query": "query: ", "document": ""}}, False),
        ({"prompts": {"passage": "passage: "}}, True),
        ({"prompts": {"query": "query: "}, "default_prompt": "query"}, True),
    ],
)
def test_a_kind_of_texts_is_refused_where_it_would_change_the_vector(
    llm: LLM, how: dict[str, Any], is_refused: bool
) -> None:
    info = replace(llm.info, embedding=replace(embedding_of(llm.info), **how))
    body = EmbeddingBody.model_validate({"input": "x", "input_type": "passage"})
    refused = (
        pytest.raises(InvalidRequest, match="use prompt_name") if is_refused else nullcontext()
    )
    with refused:
        make_embedding_call(body, llm.get_tokenizer(), info, Caller())


def test_a_mean_is_explained_by_its_rows(tiny_model_dir: Path) -> None:
    with LLM(tiny_model_dir, pooling="mean", num_slots=512, weights_cache="off") as llm:
        settings = Settings(model=str(tiny_model_dir), ui=True)
        app = create_app(settings, make_client=lambda config: llm.as_client())
        with TestClient(app) as http:
            while http.get("/readiness").status_code != 200:
                assert app.state.service.failure is None
            for _ in range(2):
                http.post("/v1/embeddings", json={"input": "The tree is the plan"})
            (name,) = {app.state.pages.recent.calls[-1].id}
            found = http.post("/ui/explain", json={"id": name}).json()
    assert (found["cause"], found["cached"], found["held"]) == ("whole", 0, [])


def test_an_embedding_model_refuses_to_write(http: TestClient) -> None:
    turn = [{"role": "user", "content": "x"}]
    for path, body in (
        ("/v1/chat/completions", {"messages": turn}),
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/responses", {"input": "x"}),
    ):
        response = http.post(path, json=body)
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["code"] == "unsupported_endpoint"
        assert "'e' computes embeddings and generates no text" in error["message"]
    assert http.get("/v1/models").json()["data"][0]["capabilities"]["completion"] is False


def test_ollama_and_python_give_the_same_vectors(http: TestClient, llm: LLM) -> None:
    texts = ["The tree", "A slot"]
    wanted = vectors(http.post("/v1/embeddings", json={"input": texts}).json())
    answer = http.post("/api/embed", json={"model": "e", "input": texts}).json()
    assert np.abs(np.array(answer["embeddings"]) - wanted).max() < TOLERANCE
    assert answer["prompt_eval_count"] > 0
    long = http.post("/api/embed", json={"input": "tree " * 500, "dimensions": 3})
    assert np.array(long.json()["embeddings"]).shape == (1, 3)
    refused = http.post("/api/embed", json={"input": "tree " * 500, "truncate": False})
    assert (refused.status_code, "128 tokens" in refused.json()["error"]) == (400, True)

    empty = http.post("/api/generate", json={"model": "e"})
    assert (empty.status_code, "generates no text" in empty.json()["error"]) == (400, True)

    found = llm.embed(texts)
    assert np.abs(found.vectors - wanted).max() < TOLERANCE
    assert found.cached_tokens == found.prompt_tokens - len(texts)
    over = AsyncLLM.over(llm)
    same = asyncio.run(over.embed(texts, dimensions=8))
    assert same.vectors.shape == (2, 8)
    assert np.abs(np.linalg.norm(same.vectors, axis=1) - 1).max() < TOLERANCE
    ids = llm.tokenizer.encode("A slot")
    assert np.abs(llm.embed(ids).vectors[0] - wanted[1]).max() < TOLERANCE
    assert llm.embed([]).vectors.shape == (0, 0)
    with pytest.raises(InvalidRequest, match="are: 'query', 'document'"):
        llm.embed("x", prompt_name="other")
    with pytest.raises(ContextLengthExceeded, match=r'text is too long; .* "truncate": true') as no:
        llm.embed(["a", "b", "tree " * 500])
    assert no.value.param == "input[2]"
    with pytest.raises(InvalidRequest, match=r"^input\[1\]: prompt has the token id") as no:
        llm.embed([[1], [-1]])
    assert no.value.param == "input[1]"
    with pytest.raises(InvalidRequest, match="generates no text"):
        llm.generate("x")


def test_a_client_joins_the_parts_of_a_list(
    http: TestClient, llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    def answer(self: Client, route: str, body: dict[str, Any], call: object) -> Any:
        sent.append(len(body["input"]))
        reply = http.post(route, json=body).json()
        if error := reply.get("error"):
            raise ContextLengthExceeded(error["message"], param=error["param"])
        return reply

    monkeypatch.setattr(Client, "_ask", answer)
    monkeypatch.setattr("yaie.remote.client.MOST_TEXTS", 2)
    texts = ["The tree", "A slot", "A node"]
    found = Client("http://localhost:1").embed(texts, dimensions=8)
    assert sorted(sent) == [1, 2]
    assert np.abs(found.vectors - llm.embed(texts, dimensions=8).vectors).max() < TOLERANCE
    assert found.prompt_tokens == llm.embed(texts).prompt_tokens
    with pytest.raises(ContextLengthExceeded, match=r"but input\[3\] has") as refused:
        Client("http://localhost:1").embed([*texts, "tree " * 500])
    assert refused.value.param == "input[3]"


def test_an_aborted_text_is_no_empty_vector() -> None:
    how = EmbeddingInfo(pooling="last", normalizes=True, size=4, generates=False)
    with pytest.raises(RequestFailed, match="aborted"):
        vector_of(b"", how, None)
