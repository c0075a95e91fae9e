"""`/v1/rerank` and `/v1/score` over a real engine in this process, and their Python twins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.ranking_model import (
    BEGIN,
    END,
    TASK,
    make_classifier,
    make_reranker,
    plain_classifier,
    plain_difference,
)
from tests.server.unused_names import check_unused_names
from yaie.api.async_llm import AsyncLLM
from yaie.api.llm import LLM
from yaie.base.errors import InvalidRequest, ModelUnsupported
from yaie.base.settings import Settings
from yaie.models.load.folder import open_folder
from yaie.remote.client import Client
from yaie.server.app import create_app
from yaie.server.requests import ranking_inputs
from yaie.server.schemas.ranking import RerankBody, ScoreBody
from yaie.text.ranking import Ranker
from yaie.text.tokenizer import Tokenizer

TOLERANCE = 1e-4
QUERY = "What is the tree?"
DOCUMENTS = ["The tree is a plan.", "A slot", "the fox", "The tree is the cache, so the tree"]


@pytest.fixture(scope="module")
def folder(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_reranker(tiny_model_dir, tmp_path_factory.mktemp("ranking") / "Tiny-Reranker")


@pytest.fixture(scope="module")
def llm(folder: Path) -> Iterator[LLM]:
    with LLM(
        folder,
        weights_cache="off",
        served_model_name="r",
        dtype="float32",
        num_slots=4096,
        max_model_len=320,
        audit=True,
    ) as llm:
        yield llm


@pytest.fixture(scope="module")
def http(folder: Path, llm: LLM) -> Iterator[TestClient]:
    settings = Settings(model=str(folder), served_model_name="r")
    app = create_app(settings, make_client=lambda config: llm.as_client())
    with TestClient(app, raise_server_exceptions=False) as client:
        while client.get("/readiness").status_code != 200:
            assert app.state.service.failure is None
        yield client


def prompt_of(tokenizer: Tokenizer, query: str, document: str, task: str = TASK) -> list[int]:
    """Return the ids of the model's prompt, made as its authors make it."""
    middle = f"<Instruct>: {task}\n<Query>: {query}\n<Document>: {document}"
    return [i for text in (BEGIN, middle, END) for i in tokenizer.encode(text, False)]


def test_the_query_is_computed_once_and_scores_are_those_of_transformers(
    folder: Path, llm: LLM, http: TestClient
) -> None:
    score = plain_difference(folder)
    prompts = [prompt_of(llm.tokenizer, QUERY, document) for document in DOCUMENTS]
    wanted = [score(ids) for ids in prompts]
    llm.cache.clear()
    before = llm.stats.rows_computed
    body = {"query": QUERY, "documents": DOCUMENTS}
    answer = http.post("/v1/rerank", json=body).json()
    rows = llm.stats.rows_computed - before
    found = {each["index"]: each for each in answer["results"]}
    for index, document in enumerate(DOCUMENTS):
        assert found[index]["relevance_score"] == pytest.approx(wanted[index], abs=TOLERANCE)
        assert found[index]["document"] == {"text": document}
    scores = [each["relevance_score"] for each in answer["results"]]
    assert all(first >= second for first, second in pairwise(scores))

    # One row for each distinct prefix of the prompts: the query once, and each document.
    prefixes = {tuple(ids[:end]) for ids in prompts for end in range(1, len(ids) + 1)}
    assert rows == len(prefixes)
    num_asked = len(prompt_of(llm.tokenizer, QUERY, "")) - len(llm.tokenizer.encode(END, False))
    assert rows < num_asked + sum(len(ids) - num_asked + 2 for ids in prompts)
    usage = answer["usage"]
    assert usage["prompt_tokens"] == usage["total_tokens"] == sum(map(len, prompts))
    assert usage["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"] - rows


def test_other_paths_and_python_give_the_same_scores(http: TestClient, llm: LLM) -> None:
    body = {"query": QUERY, "documents": [{"text": each} for each in DOCUMENTS], "top_n": 2}
    first = http.post("/v1/rerank", json={**body, "return_documents": False}).json()["results"]
    assert len(first) == 2
    assert first[0].get("document") is None
    for path in ("/rerank", "/v2/rerank"):
        found = http.post(path, json=body).json()["results"]
        assert [each["index"] for each in found] == [each["index"] for each in first]
    by_place = llm.score(QUERY, DOCUMENTS).scores
    assert by_place[first[0]["index"]] == pytest.approx(first[0]["relevance_score"], abs=TOLERANCE)
    for path in ("/v1/score", "/score"):
        answer = http.post(path, json={"text_1": QUERY, "text_2": DOCUMENTS}).json()
        scores = [each["score"] for each in answer["data"]]
        assert scores == pytest.approx(by_place, abs=TOLERANCE)
    pairs = http.post("/v1/score", json={"text_1": ["a", QUERY], "text_2": DOCUMENTS[:2]}).json()
    assert pairs["data"][1]["score"] == pytest.approx(by_place[1], abs=TOLERANCE)

    ranking = llm.rerank(QUERY, DOCUMENTS, top_n=3)
    best = sorted(by_place, reverse=True)[:3]
    assert [each.score for each in ranking.results] == pytest.approx(best, abs=TOLERANCE)
    assert all(each.document == DOCUMENTS[each.index] for each in ranking.results)
    over = AsyncLLM.over(llm)

    async def ask() -> None:
        found = (await over.rerank(QUERY, DOCUMENTS, top_n=3)).results
        assert [each.document for each in found] == [each.document for each in ranking.results]
        scores = (await over.score("a", "b")).scores
        assert scores == pytest.approx(llm.score("a", "b").scores, abs=TOLERANCE)

    asyncio.run(ask())
    other = llm.score(QUERY, DOCUMENTS, instruction="Find the fox").scores
    assert other != pytest.approx(by_place, abs=TOLERANCE)
    assert llm.rerank(QUERY, []).results == []
    with pytest.raises(InvalidRequest, match="2 queries and 4 documents"):
        llm.score(["a", "b"], DOCUMENTS)
    for wrong, named in (({"top_n": 0}, "top_n"), ({"top_n": -1}, "top_n"), ({}, "query")):
        queries: Any = QUERY if wrong else ["a"] * 4
        with pytest.raises(InvalidRequest) as refused:
            llm.rerank(queries, DOCUMENTS, **wrong)
        assert refused.value.param == named
    for query, document, named in (("tree " * 400, "a", "query"), ("\ud800", "a", "query")):
        with pytest.raises(InvalidRequest) as refused:
            llm.rerank(query, ["b", document])
        assert refused.value.param == named


def test_a_client_reads_rankings_and_scores(
    http: TestClient, llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Client, route: str, body: dict[str, Any], call: object) -> Any:
        return http.post(route, json=body).json()

    monkeypatch.setattr(Client, "_ask", answer)
    client = Client("http://localhost:1")
    wanted = llm.rerank(QUERY, DOCUMENTS, top_n=2).results
    found = client.rerank(QUERY, DOCUMENTS, top_n=2)
    assert [each.document for each in found.results] == [each.document for each in wanted]
    assert [each.index for each in found.results] == [each.index for each in wanted]
    assert found.prompt_tokens > found.cached_tokens > 0
    assert client.score(QUERY, "a").scores == pytest.approx(llm.score(QUERY, "a").scores)
    assert client.rerank(QUERY, []).results == []


def test_long_documents_are_refused_or_cut(http: TestClient, llm: LLM, folder: Path) -> None:
    body: dict[str, Any] = {"query": QUERY, "documents": ["a", "tree " * 400]}
    error = http.post("/v1/rerank", json=body).json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == "documents[1]"
    assert 'the document is too long; shorten it, or set "truncate": true' in error["message"]
    answer = http.post("/v1/rerank", json={**body, "truncate": True}).json()
    cut = prompt_of(llm.tokenizer, QUERY, "tree " * 400)
    end = llm.tokenizer.encode(END, False)
    cut = [*cut[: 320 - len(end)], *end]
    found = {each["index"]: each["relevance_score"] for each in answer["results"]}
    assert found[1] == pytest.approx(plain_difference(folder)(cut), abs=TOLERANCE)
    long = {"query": "tree " * 400, "documents": ["a"], "truncate": True}
    for body in (long, {**long, "truncate": False}):
        error = http.post("/v1/rerank", json=body).json()["error"]
        assert "query has" in error["message"] and "truncate" not in error["message"]
        assert error["param"] == "query"


def test_the_query_is_encoded_once_and_all_prompts_have_a_limit(
    http: TestClient, llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, texts = Tokenizer.encode_pieces, []

    def note(self: Tokenizer, pieces: Any, *arguments: Any) -> list[int]:
        texts.append("".join(pieces))
        return encode(self, pieces, *arguments)

    monkeypatch.setattr(Tokenizer, "encode_pieces", note)
    body = {"query": QUERY, "documents": ["the fox"] * 20}
    assert http.post("/v1/rerank", json=body).is_success
    assert sum(QUERY in text for text in texts) == 2  # once more to see where tokens end
    monkeypatch.setattr(ranking_inputs, "MAX_TOKENS", 0)
    monkeypatch.setattr(ranking_inputs, "MAX_CONTEXTS", 1)
    texts.clear()
    error = http.post("/v1/rerank", json=body).json()["error"]
    assert "the prompts up to documents[1] have" in error["message"]
    assert "at most 320 are allowed; send fewer documents" in error["message"]
    assert error["param"] == "documents"
    assert texts.count("<Document>: the fox") == 2


def test_markers_in_texts_stay_text(llm: LLM) -> None:
    ranker, tokenizer = Ranker(llm.tokenizer, llm.info), llm.tokenizer
    marker = "<|im_end|>"
    plain = ranker.encode("a", "b", "c")
    ids = ranker.encode(f"a{marker}", f"{marker}b<|im_start|>{marker}", f"c{marker}")
    for text in (marker, "<|im_start|>"):
        token_id = tokenizer.marker_ids[text]
        assert ids.count(token_id) == plain.count(token_id)
    shown = tokenizer.decode(ids, skip_special_tokens=False)
    assert f"<Instruct>: c{marker}\n<Query>: a{marker}\n<Document>: {marker}b" in shown


@pytest.mark.parametrize(
    ("path", "body", "param", "message"),
    [
        ("rerank", {"documents": ["a"]}, "query", "query must be a string"),
        ("rerank", {"query": "", "documents": ["a"]}, "query", "query must be a string"),
        ("rerank", {"query": "a"}, "documents", "documents must be a list"),
        ("rerank", {"query": "a", "documents": []}, "documents", "documents must be a list"),
        ("rerank", {"query": "a", "documents": ["b", 5]}, "documents[1]", "must be a string"),
        ("rerank", {"query": "a", "documents": [{"x": 1}]}, "documents[0]", "with a text"),
        ("rerank", {"query": "a", "documents": ["b"], "top_n": 0}, "top_n", "at least 1"),
        ("rerank", {"query": ["a", "c"], "documents": ["b", "d"]}, "query", "must be a string"),
        ("rerank", {"query": "a", "documents": ["b"] * 2049}, "documents", "at most 2048"),
        ("score", {"text_1": "a"}, "text_2", "text_2 must be a string or a list"),
        ("score", {"text_1": ["a", "b"], "text_2": ["c"] * 3}, "text_1", "2 texts and text_2 has"),
        ("score", {"text_1": "a", "text_2": ["b", ""]}, "text_2[1]", "must be a string"),
    ],
)
def test_a_wrong_field_is_named(
    http: TestClient, path: str, body: dict[str, object], param: str, message: str
) -> None:
    response = http.post(f"/v1/{path}", json=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert message in error["message"]


def test_names_of_other_servers_are_refused_or_named(http: TestClient) -> None:
    ranked = {"query": QUERY, "documents": DOCUMENTS[:1]}
    check_unused_names(http, "/v1/rerank", RerankBody, ranked)
    check_unused_names(http, "/v1/score", ScoreBody, {"text_1": QUERY, "text_2": "a"})
    answer = http.post("/v1/rerank", json={**ranked, "top-n": 1})
    assert answer.headers["X-YAIE-Ignored-Params"] == "top-n"


def test_each_model_names_its_task(http: TestClient, llm: LLM, tiny_model_dir: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "x"}]}
    error = http.post("/v1/chat/completions", json=chat).json()["error"]
    assert error["code"] == "unsupported_endpoint"
    assert "'r' reranks documents and generates no text" in error["message"]
    error = http.post("/v1/embeddings", json={"input": "x"}).json()["error"]
    assert "'r' reranks documents and computes no embeddings" in error["message"]
    capabilities = http.get("/v1/models").json()["data"][0]["capabilities"]
    assert capabilities["rerank"]
    assert not capabilities["chat"]
    with pytest.raises(InvalidRequest, match="generates no text"):
        llm.generate("x")
    with (
        LLM(tiny_model_dir, num_slots=64, weights_cache="off") as other,
        pytest.raises(InvalidRequest, match="generates text and reranks no documents"),
    ):
        other.rerank("a", ["b"])


def test_a_classifier_scores_the_pair_of_its_tokenizer(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    folder = make_classifier(tiny_model_dir, tmp_path / "classifier")
    score = plain_classifier(folder)
    with LLM(
        folder, dtype="float32", num_slots=512, max_model_len=24, weights_cache="off", audit=True
    ) as llm:
        assert llm.info.execution == "native"
        found = llm.score(QUERY, DOCUMENTS).scores
        for document, each in zip(DOCUMENTS, found, strict=True):
            ids = llm.tokenizer.hf(QUERY, document)["input_ids"]
            assert each == pytest.approx(score(ids), abs=TOLERANCE)
        whole = llm.tokenizer.hf(QUERY, "tree " * 30)["input_ids"]
        (cut,) = llm.score(QUERY, "tree " * 30, truncate=True).scores
        assert cut == pytest.approx(score(whole[:24]), abs=TOLERANCE)
        ranker, marker = Ranker(llm.tokenizer, llm.info), "<|im_end|>"
        ids = ranker.encode(marker, f"{marker}a", truncates=True)
        assert llm.tokenizer.marker_ids[marker] not in ids
        with pytest.raises(InvalidRequest, match="without an instruction"):
            llm.rerank(QUERY, ["a"], instruction="b")
    several = make_classifier(tiny_model_dir, tmp_path / "several", labels=3)
    with pytest.raises(ModelUnsupported, match="classifier of 3 labels"):
        open_folder(str(several))
